//! Trust in the programs of a workspace and in the addresses that it sends keys to: the user must have approved them.

use engine::seams::producer::{Failure, Params};
use engine::values::codes::ErrorCode;
use engine::values::diagnostic::Diagnostic;
use engine::values::digest::Digest;
use serde_json::Value;

/// Knows the approved definitions.
pub trait Trust: Send + Sync {
    /// Whether the action with this [definition] may be done.
    ///
    /// [digest_of_program]: definition
    fn trusts(&self, definition: &Digest) -> bool;
}

/// Trusts everything, for callers that run only their own programs.
pub struct All;

impl Trust for All {
    fn trusts(&self, _: &Digest) -> bool {
        true
    }
}

/// Trusts nothing, for callers that run no program.
pub struct Nothing;

impl Trust for Nothing {
    fn trusts(&self, _: &Digest) -> bool {
        false
    }
}

/// Returns the digest of how a program is run (its parameters and bounds, as bound), or of the
/// [settings to approve](settings_to_approve). Another argument, variable, bound or address is another definition.
pub fn digest_of_program(params: &Params, settings: &Params) -> Digest {
    let text = serde_json::json!([params, settings]).to_string();
    let mut hasher = blake3::Hasher::new_derive_key("cortex 2026-11 trusted program 1");
    hasher.update(text.as_bytes());
    Digest(*hasher.finalize().as_bytes())
}

/// Returns the part of a model's settings that needs approval: a program that prints a key and the address that receives it, or environment variables
/// that go to an address that the manifest chooses. `None` when there is none.
pub fn settings_to_approve(settings: &Params) -> Option<Params> {
    let has = |name: &str| settings.contains_key(name);
    let names_variable = |headers: &Value| headers.as_object().is_some_and(|headers| headers.values().any(is_variable));
    let headers = settings.get("headers").is_some_and(names_variable);
    let is_sent = has("api_key_command") || has("base_url") && (has("api_key_env") || headers);
    let names = ["api_key_command", "api_key_env", "base_url", "headers"];
    let names = names
        .into_iter()
        .filter_map(|name| Some((name.to_owned(), settings.get(name)?.clone())));
    is_sent.then(|| names.collect())
}

fn is_variable(value: &Value) -> bool {
    value.as_str().is_some_and(|text| text.contains('$'))
}

/// Returns the parameters of a model that is a program.
pub fn program_params(argv: &[impl AsRef<str>]) -> Params {
    let argv: Vec<&str> = argv.iter().map(AsRef::as_ref).collect();
    Params::from_iter([("command".to_owned(), argv.into())])
}

/// Returns the failure for a program that is not run or a key that is not sent.
pub fn untrusted_failure(waits: &Params) -> Failure {
    let named = ["argv", "shell", "command", "api_key_command", "base_url"];
    let words = match named.iter().find_map(|name| waits.get(*name)) {
        Some(Value::Array(words)) => words.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" "),
        Some(word) => word.as_str().unwrap_or_default().to_owned(),
        None => String::new(),
    };
    let why = Diagnostic::error(
        ErrorCode::E_UNTRUSTED,
        "commands that this workspace runs, or addresses that it sends keys to, are not trusted yet",
    );
    let hint = "`cortex trust --list` shows them, `cortex trust` allows them; then build again";
    Failure::Limit(Box::new(why.found(words).hint(hint)))
}
