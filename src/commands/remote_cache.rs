//! `cortex remote`: asks the remote cache that the manifest names.

use super::show;
use crate::cli::RemoteCommand;
use crate::context::{Context, Failed, Outcome};
use crate::exit::Code;
use crate::render::{duration, printable, size};
use crate::sharing;
use engine::values::diagnostic::Diagnostic;
use remote::{Function, Ping};
use std::io::Write;

/// Runs it.
pub fn run(context: &Context, command: &RemoteCommand) -> Outcome {
    match command {
        RemoteCommand::Ping { json } => ping(context, *json || context.json()),
    }
}

/// Why there is nothing to ask.
pub fn none() -> Failed {
    let why = Diagnostic::error("E_NO_REMOTE", "cortex.toml names no remote cache");
    Failed::new(
        Code::Usage,
        why.hint("write a [remote] table with an endpoint; cortex.toml.example has one"),
    )
}

/// Why a cache cannot be used.
pub fn unavailable(why: &str) -> Failed {
    let error = Diagnostic::error("E_REMOTE", "the remote cache cannot be used").found(why.to_owned());
    Failed::new(
        Code::RemoteUnavailable,
        error.hint("check endpoint, credentials and tls in [remote]"),
    )
}

fn ping(context: &Context, json: bool) -> Outcome {
    let workspace = context.workspace("remote ping")?;
    let manifest = workspace.manifest()?;
    let def = manifest.remote.as_ref().ok_or_else(none)?;
    if context.is_offline() {
        return Err(unavailable("--offline: nothing leaves this machine"));
    }
    if workspace.remote_waits()? {
        return Err(sharing::untrusted());
    }
    let usage = sharing::usage(def);
    let client = sharing::client(def, &workspace.root, usage).map_err(|error| unavailable(&error.to_string()))?;
    let answer = client.ping().map_err(|why| unavailable(&why))?;
    let text = match json {
        true => {
            let mut document = serde_json::json!(answer);
            document["read"] = usage.read.into();
            document["write"] = (usage.write && answer.terms.takes_results).into();
            format!("{document:#}\n")
        }
        false => told(&def.endpoint, &answer, usage),
    };
    show::written(write!(context.stdout(), "{text}"))
}

fn told(endpoint: &str, answer: &Ping, usage: remote::Use) -> String {
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
        size(terms.batch as u64),
    )
}
