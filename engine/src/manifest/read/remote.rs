//! `[remote]`: the remote cache that machines share. Tokens are never read from a manifest.

use super::fields::{Fields, Item};
use super::json::refuse_secret;
use super::models::{has_user, is_literal_secret, is_variable_name};
use super::report::Report;
use super::source::looks_secret;
use crate::manifest::remote::{Credential, RemoteDef, SigningKey, Tls, Write};
use crate::seams::remote::Prefer;
use crate::values::codes::ErrorCode;
use crate::values::diagnostic::Diagnostic;
use crate::values::digest::Digest;
use std::collections::BTreeMap;

const KEYS: [&str; 19] = [
    "credential_helper", "endpoint", "execute", "headers", "instance", "platform", "prefer", "read", "required", "salt", "signing_key_env",
    "signing_key_file", "tls", "token_env", "token_file", "trusted_keys", "upload_inputs", "worker", "write",
];
const TLS_KEYS: [&str; 3] = ["ca", "cert", "key"];
/// Keys that would contain a token itself.
const SECRETS: [&str; 6] = ["token", "password", "secret", "key", "api_key", "authorization"];
/// Words that names of instances must not contain, because the protocol uses them in paths of blobs.
const RESERVED: [&str; 8] = [
    "blobs", "uploads", "actions", "actionResults", "operations", "capabilities", "compressed-blobs", "toolchains",
];
/// Headers that the protocol sets itself.
const OWN_HEADERS: [&str; 6] = ["host", "content-type", "te", "user-agent", "grpc-timeout", "connection"];
const LONGEST: usize = 200;
const ENDPOINT: &str = "write endpoint = \"grpcs://cache.example:443\", or grpc:// within a trusted network, unix:PATH, dir:PATH for a shared folder, or s3://BUCKET/PREFIX";

/// Hides tokens in the table before the reader reports anything.
pub(super) fn hide_secrets(report: &mut Report<'_>, remote: Fields<'_, '_>) {
    for (key, item) in remote.entries() {
        if is_secret(key.text, item) {
            report.hide(item.span);
        }
        for (name, value) in item.value.as_table().filter(|_| key.text == "headers").into_iter().flatten() {
            let inner = Item::new(remote.span.file, value);
            if is_literal_secret(name.get_ref(), inner) {
                report.hide(inner.span);
            }
        }
    }
}

fn is_secret(key: &str, item: Item<'_, '_>) -> bool {
    let text = item.value.as_str().unwrap_or_default();
    SECRETS.contains(&key.to_ascii_lowercase().as_str())
        || looks_secret(text)
        || match key {
            "token_env" | "signing_key_env" => !is_variable_name(text) && item.value.is_str(),
            "endpoint" => has_user(text),
            _ => false,
        }
}

/// Reads the table; `None` without an endpoint.
pub(super) fn read_remote(report: &mut Report<'_>, fields: Fields<'_, '_>) -> Option<RemoteDef> {
    for (key, item) in fields.entries() {
        if is_secret(key.text, item) {
            refuse_secret(report, item.span);
        } else if !KEYS.contains(&key.text) {
            fields.unknown_key(report, key, &KEYS);
        }
    }
    let endpoint = fields.required(report, "endpoint", ENDPOINT);
    let endpoint = endpoint.filter(|_| fields.get("endpoint").is_some_and(|item| !is_secret("endpoint", item)));
    if let Some(text) = endpoint.filter(|text| !is_endpoint(text.text)) {
        let diagnostic = Diagnostic::error(ErrorCode::E_REMOTE, "this is not the address of a remote cache");
        report.error(text.span, diagnostic.hint(ENDPOINT));
    }
    let execute = fields.boolean(report, "execute").unwrap_or_default();
    let is_secure = endpoint.is_some_and(|text| text.text.starts_with("grpcs://"));
    let def = RemoteDef {
        endpoint: endpoint.map(|text| text.text.to_owned()).unwrap_or_default(),
        instance: read_instance(report, fields).unwrap_or_default(),
        read: fields.boolean(report, "read").unwrap_or(true),
        write: read_write_policy(report, fields).unwrap_or_default(),
        prefer: read_prefer(report, fields).unwrap_or_default(),
        required: fields.boolean(report, "required").unwrap_or_default(),
        salt: short_text(report, fields, "salt").unwrap_or_default(),
        credential: read_credential(report, fields),
        tls: read_tls(report, fields, is_secure),
        headers: read_headers(report, fields),
        signing_key: read_signing_key(report, fields),
        trusted_keys: read_trusted_keys(report, fields),
        upload_inputs: read_upload_inputs(report, fields, execute),
        execute,
        worker: is_set_with_workers(report, fields, "worker", execute)
            .then(|| read_worker(report, fields))
            .flatten(),
        platform: match is_set_with_workers(report, fields, "platform", execute) {
            true => read_platform(report, fields),
            false => BTreeMap::new(),
        },
    };
    endpoint.map(|_| def)
}

fn is_endpoint(text: &str) -> bool {
    if let Some(path) = text.strip_prefix("unix:").or_else(|| text.strip_prefix("dir:")) {
        return !path.trim_start_matches('/').is_empty() && !path.contains(char::is_control);
    }
    if let Some(place) = text.strip_prefix("s3://") {
        let (bucket, prefix) = place.split_once('/').unwrap_or((place, ""));
        let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '-' | '.');
        let is_part = |part: &str| !matches!(part, "." | "..") && !part.contains(char::is_control);
        return (3..=63).contains(&bucket.len()) && bucket.chars().all(is_plain) && prefix.split('/').all(is_part);
    }
    let Some(host) = text.strip_prefix("grpc://").or_else(|| text.strip_prefix("grpcs://")) else {
        return false;
    };
    let host = host.strip_suffix('/').unwrap_or(host);
    let (name, port) = match host.rsplit_once(':') {
        Some((name, port)) if !port.ends_with(']') => (name, Some(port)),
        _ => (host, None),
    };
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_' | '[' | ']' | ':');
    !name.is_empty() && name.chars().all(is_plain) && port.is_none_or(|port| port.parse::<u16>().is_ok_and(|port| port > 0))
}

/// Reads a short text on one line.
fn short_text(report: &mut Report<'_>, fields: Fields<'_, '_>, key: &str) -> Option<String> {
    let text = fields.text(report, key)?;
    let good = text.text.len() <= LONGEST && !text.text.contains(char::is_control);
    if !good {
        let diagnostic = Diagnostic::error(ErrorCode::E_REMOTE, format!("'{key}' is at most {LONGEST} bytes on one line"));
        report.error(text.span, diagnostic.hint("write a short name"));
    }
    good.then(|| text.text.to_owned())
}

fn read_instance(report: &mut Report<'_>, fields: Fields<'_, '_>) -> Option<String> {
    let text = short_text(report, fields, "instance")?;
    let reserved = text.split('/').find(|part| RESERVED.contains(part));
    if let (Some(word), Some(item)) = (reserved, fields.get("instance")) {
        let diagnostic = Diagnostic::error(ErrorCode::E_REMOTE, format!("the name of an instance must not contain '{word}'"));
        report.error(item.span, diagnostic.hint("use the name that the server's configuration gives it"));
    }
    Some(text)
}

fn read_write_policy(report: &mut Report<'_>, fields: Fields<'_, '_>) -> Option<Write> {
    let text = fields.text(report, "write")?;
    match text.text {
        "never" => Some(Write::Never),
        "ci" => Some(Write::Ci),
        "always" => Some(Write::Always),
        other => {
            let known = ["never", "ci", "always"];
            let diagnostic = Diagnostic::error(ErrorCode::E_REMOTE, "this is not a value of 'write'");
            report.report_unknown_name(text.span, diagnostic, other, known.into_iter(), "write one of never, ci, always");
            None
        }
    }
}

fn read_prefer(report: &mut Report<'_>, fields: Fields<'_, '_>) -> Option<Prefer> {
    let text = fields.text(report, "prefer")?;
    match text.text {
        "auto" => Some(Prefer::Auto),
        "fetch" => Some(Prefer::Fetch),
        "make" => Some(Prefer::Make),
        other => {
            let known = ["auto", "fetch", "make"];
            let diagnostic = Diagnostic::error(ErrorCode::E_REMOTE, "this is not a value of 'prefer'");
            report.report_unknown_name(text.span, diagnostic, other, known.into_iter(), "write one of auto, fetch, make");
            None
        }
    }
}

fn read_credential(report: &mut Report<'_>, fields: Fields<'_, '_>) -> Option<Credential> {
    let clean = |key: &str| fields.get(key).is_some_and(|item| !is_secret(key, item));
    let env = fields.text(report, "token_env").filter(|_| clean("token_env"));
    let file = fields.text(report, "token_file").filter(|_| clean("token_file"));
    let helper = fields.texts(report, "credential_helper");
    if let (Some(helper), Some(item)) = (&helper, fields.get("credential_helper"))
        && helper.is_empty()
    {
        let diagnostic = Diagnostic::error(ErrorCode::E_REMOTE, "a credential helper is a program with its arguments");
        report.error(item.span, diagnostic.hint("write credential_helper = [\"my-helper\"]"));
    }
    let written: Vec<&str> = ["token_env", "token_file", "credential_helper"]
        .into_iter()
        .filter(|key| fields.get(key).is_some())
        .collect();
    if let [first, .., last] = written[..]
        && let Some(item) = fields.get(last)
    {
        let diagnostic = Diagnostic::error(
            ErrorCode::E_REMOTE,
            format!("a token comes from one place: '{first}' names it already"),
        );
        report.error(item.span, diagnostic.hint("remove one of them"));
    }
    let helper = helper.map(|texts| Credential::Helper(texts.iter().map(|text| text.text.to_owned()).collect()));
    env.map(|text| Credential::Env(text.text.to_owned()))
        .or_else(|| file.map(|text| Credential::File(text.text.to_owned())))
        .or(helper)
}

fn read_tls(report: &mut Report<'_>, fields: Fields<'_, '_>, is_secure: bool) -> Tls {
    let Some(item) = fields.get("tls") else { return Tls::default() };
    let Some(table) = Fields::from_item(report, item, "'tls'") else {
        return Tls::default();
    };
    table.report_unknown_keys(report, &TLS_KEYS);
    if !is_secure && fields.get("endpoint").is_some() {
        let diagnostic = Diagnostic::error(ErrorCode::E_REMOTE, "'tls' applies only to grpcs://");
        report.error(item.span, diagnostic.hint("remove it, or write endpoint = \"grpcs://…\""));
    }
    let mut path = |key: &str| table.text(report, key).map(|text| text.text.to_owned());
    let tls = Tls {
        ca: path("ca"),
        cert: path("cert"),
        key: path("key"),
    };
    if tls.cert.is_some() != tls.key.is_some() {
        let missing = if tls.cert.is_some() { "key" } else { "cert" };
        table.report_missing(
            report,
            missing,
            "a certificate goes with its key: cert = \"me.pem\", key = \"me.key\"",
        );
    }
    tls
}

fn read_signing_key(report: &mut Report<'_>, fields: Fields<'_, '_>) -> Option<SigningKey> {
    let clean = |key: &str| fields.get(key).is_some_and(|item| !is_secret(key, item));
    let env = fields.text(report, "signing_key_env").filter(|_| clean("signing_key_env"));
    let file = fields.text(report, "signing_key_file").filter(|_| clean("signing_key_file"));
    if let (Some(_), Some(file)) = (env, file) {
        let diagnostic = Diagnostic::error(
            ErrorCode::E_REMOTE,
            "a key that signs comes from one place: 'signing_key_env' names it already",
        );
        report.error(file.span, diagnostic.hint("remove one of them"));
    }
    env.map(|text| SigningKey::Env(text.text.to_owned()))
        .or_else(|| file.map(|text| SigningKey::File(text.text.to_owned())))
}

fn read_trusted_keys(report: &mut Report<'_>, fields: Fields<'_, '_>) -> Vec<String> {
    let mut keys = Vec::new();
    let texts = fields.texts(report, "trusted_keys");
    if let (Some([]), Some(value)) = (texts.as_deref(), fields.get("trusted_keys")) {
        let nobody = Diagnostic::error(
            ErrorCode::E_REMOTE,
            "`trusted_keys` names no key: this checkout could use no result of the cache",
        );
        report.error(
            value.span,
            nobody.hint("name a public key, or remove `trusted_keys` to use unsigned results"),
        );
    }
    for text in texts.unwrap_or_default() {
        if Digest::parse(text.text).is_some() {
            keys.push(text.text.to_owned());
        } else {
            let diagnostic = Diagnostic::error(ErrorCode::E_REMOTE, "a public key is 64 hexadecimal digits");
            report.error(
                text.span,
                diagnostic.hint("`cortex remote ping` prints it on a machine that signs results"),
            );
        }
    }
    keys
}

/// Whether this machine may send source code: workers need it to run producers.
fn read_upload_inputs(report: &mut Report<'_>, fields: Fields<'_, '_>, execute: bool) -> bool {
    let declared = fields.boolean(report, "upload_inputs");
    if let (true, Some(false), Some(item)) = (execute, declared, fields.get("upload_inputs")) {
        let diagnostic = Diagnostic::error(
            ErrorCode::E_REMOTE,
            "workers get source code, and 'upload_inputs' forbids sending it",
        );
        report.error(item.span, diagnostic.hint("remove 'upload_inputs', or execute = true"));
    }
    declared.unwrap_or(execute)
}

/// Whether a key about workers is present; reports it if workers are not used.
fn is_set_with_workers(report: &mut Report<'_>, fields: Fields<'_, '_>, key: &str, execute: bool) -> bool {
    let item = fields.get(key);
    if let (false, Some(item)) = (execute, item) {
        let diagnostic = Diagnostic::error(ErrorCode::E_REMOTE, format!("'{key}' applies to workers, which are not used"));
        report.error(item.span, diagnostic.hint(format!("remove '{key}', or write execute = true")));
    }
    execute && item.is_some()
}

fn read_worker(report: &mut Report<'_>, fields: Fields<'_, '_>) -> Option<String> {
    let text = fields.text(report, "worker")?;
    let good = !text.text.is_empty() && !text.text.contains(char::is_control);
    if !good {
        let diagnostic = Diagnostic::error(ErrorCode::E_REMOTE, "'worker' is the path of a program");
        report.error(text.span, diagnostic.hint("write worker = \"tools/cortex-static\""));
    }
    good.then(|| text.text.to_owned())
}

fn read_platform(report: &mut Report<'_>, fields: Fields<'_, '_>) -> BTreeMap<String, String> {
    let table = fields
        .get("platform")
        .and_then(|item| Fields::from_item(report, item, "'platform'"));
    let mut found = BTreeMap::new();
    for (name, item) in table.into_iter().flat_map(|table| table.entries()) {
        if let Some(value) = item.text(report, &format!("'{}'", name.text)) {
            found.insert(name.text.to_owned(), value.text.to_owned());
        }
    }
    found
}

fn read_headers(report: &mut Report<'_>, fields: Fields<'_, '_>) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let table = fields.get("headers").and_then(|item| Fields::from_item(report, item, "'headers'"));
    for (name, item) in table.into_iter().flat_map(|table| table.entries()) {
        let lower = name.text.to_ascii_lowercase();
        let is_token = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        let own = OWN_HEADERS.contains(&lower.as_str()) || lower.starts_with("grpc-") || lower.ends_with("-bin");
        if lower.is_empty() || !lower.chars().all(is_token) || own {
            let diagnostic = Diagnostic::error(ErrorCode::E_REMOTE, "this header cannot be set");
            report.error(name.span, diagnostic.hint("write headers = { x-team = \"docs\" }"));
        } else if is_literal_secret(&lower, item) {
            refuse_secret(report, item.span);
        } else if let Some(value) = item.text(report, &format!("'{}'", name.text)) {
            found.insert(lower, value.text.to_owned());
        }
    }
    found
}
