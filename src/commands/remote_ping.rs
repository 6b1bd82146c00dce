//! `cortex remote ping`: asks the server of the remote cache for its terms.

use crate::command_context::CommandContext;
use crate::{remote_client, worker};
use engine::manifest::remote::RemoteDef;
use engine::values::codes::ErrorCode;
use engine::values::diagnostic::Diagnostic;
use methods::code::Code;
use methods::commands::remote_stats::{no_remote_cache, offline};
use methods::commands::sharing;
use methods::failed::{Failed, Outcome, outcome_of_write};
use methods::render::{duration, format_size, printable};
use remote::{CacheUse, Function, Ping};
use std::io::Write as _;
use std::path::Path;

/// Builds the failure of a cache that cannot be used.
fn unavailable(def: &RemoteDef, root: &Path, why: &str) -> Failed {
    let error = Diagnostic::error(ErrorCode::E_REMOTE, "the remote cache cannot be used").found(why.to_owned());
    let hint = match def.endpoint.strip_prefix("dir:").map(|folder| root.join(folder)) {
        Some(folder) if !folder.exists() => "mount the share, or make that folder; `endpoint` in [remote] names it",
        Some(_) => "check endpoint, instance and keys in [remote]",
        None => "check endpoint, credentials and tls in [remote]",
    };
    Failed::new(Code::RemoteUnavailable, error.hint(hint))
}

/// Builds the failure of workers that cannot be used.
fn no_workers(why: &str, hint: &str) -> Failed {
    let error = Diagnostic::error(ErrorCode::E_WORKERS, "workers cannot be given anything").found(why.to_owned());
    Failed::new(Code::RemoteUnavailable, error.hint(hint.to_owned()))
}

/// Formats the signing keys of results, and the program that workers run.
fn also(answer: &Ping, worker: Option<&Path>) -> String {
    let signs = answer.signs_as.iter().map(|key| format!("results are signed by {key}\n"));
    let runs = worker.map(|worker| format!("its workers run {}\n", printable(&worker.display().to_string())));
    signs.chain(runs).collect()
}

/// Runs `cortex remote ping`: asks the server for its terms and prints them.
pub fn run_ping(context: &CommandContext) -> Outcome {
    let workspace = context.workspace("remote ping")?;
    let manifest = workspace.manifest()?;
    let def = manifest.remote.as_ref().ok_or_else(no_remote_cache)?;
    if context.is_offline() {
        return Err(offline());
    }
    if workspace.remote_waits()? {
        return Err(sharing::untrusted_cache());
    }
    let usage = remote_client::usage(def);
    let worker = def.execute.then(|| worker::program(def, &workspace.root)).transpose();
    let worker = worker.map_err(|why| no_workers(&why, "`worker` in [remote] names the program"))?;
    let client = remote_client::client(def, &workspace.root, usage);
    let client = client.map_err(|error| unavailable(def, &workspace.root, &error.to_string()))?;
    let answer = client.ping().map_err(|why| unavailable(def, &workspace.root, &why))?;
    if def.execute && !answer.terms.executes {
        return Err(no_workers(
            "it says that it executes nothing",
            "execute = false in [remote] if it is a cache only",
        ));
    }
    let text = match context.prints_json() {
        true => {
            let mut document = serde_json::json!(answer);
            document["worker"] = serde_json::json!(worker);
            document["read"] = usage.read.into();
            document["write"] = (usage.write && answer.terms.takes_results).into();
            format!("{document:#}\n")
        }
        false => describe_server(&def.endpoint, &answer, usage) + &also(&answer, worker.as_deref()),
    };
    outcome_of_write(write!(context.stdout(), "{text}"))
}

fn describe_server(endpoint: &str, answer: &Ping, usage: CacheUse) -> String {
    let terms = &answer.terms;
    let function = match terms.function {
        Function::Blake3 => "BLAKE3",
        Function::Sha256 => "SHA-256",
    };
    let allowed = match (usage.read, usage.write && terms.takes_results) {
        (true, true) => "read and written",
        (true, false) => "read",
        (false, true) => "written",
        (false, false) => "not used",
    };
    let zstd = if terms.zstd { ", zstd" } else { "" };
    format!(
        "{} answers in {}: {function}{zstd}, batches of {}; it is {allowed} here\n",
        printable(endpoint),
        duration(answer.round_trip_us),
        format_size(terms.batch as u64),
    )
}
