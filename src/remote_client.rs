//! Client of the remote cache and workers that the manifest names, and `cortex remote ping`.

use crate::command_context::CommandContext;
use crate::worker;
use engine::build::sharing::Sharing;
use engine::manifest::remote::{RemoteDef, Write};
use engine::seams::farm::Farm;
use engine::values::codes::ErrorCode;
use engine::values::diagnostic::Diagnostic;
use methods::code::Code;
use methods::commands::remote_stats::{no_remote_cache, offline};
use methods::commands::sharing;
use methods::failed::{Failed, Outcome, outcome_of_write};
use methods::render::{duration, format_size, printable};
use remote::{CacheUse, Client, Deadlines, Function, Ping, Surroundings};
use std::io::Write as _;
use std::path::Path;
use std::sync::Arc;
use workbench::nearby_trees::GitTrees;
use workbench::workspace::Connect;

/// Returns whether this process may read and write the cache.
fn usage(def: &RemoteDef) -> CacheUse {
    let is_ci = std::env::var_os("CI").is_some_and(|value| !value.is_empty() && value != "false");
    let write = match def.write {
        Write::Never => false,
        Write::Ci => is_ci,
        Write::Always => true,
    };
    CacheUse { read: def.read, write }
}

/// Creates the client of the cache that the manifest at `root` names.
fn client(def: &RemoteDef, root: &Path, usage: CacheUse) -> std::io::Result<Client> {
    let around = Surroundings {
        folder: root.to_path_buf(),
        variables: Arc::new(|name| std::env::var(name).ok()),
        deadlines: Deadlines::default(),
    };
    Client::new(def.clone(), usage, around)
}

/// Returns a function that connects builds to the cache and the workers of their manifest, as far as it allows.
pub fn connect() -> Connect {
    Arc::new(|def, root| {
        let usage = usage(def);
        let used = usage.read || usage.write || def.execute;
        let client = used.then(|| client(def, root, usage).ok()).flatten()?;
        let workers = def
            .execute
            .then(|| Arc::new(client.workers(worker::program(def, root))) as Arc<dyn Farm>);
        Some(Sharing {
            cache: Arc::new(client),
            farm: workers,
            nearby: Some(Arc::new(GitTrees {
                root: root.to_path_buf(),
                variables: Arc::new(|name| std::env::var(name).ok()),
            })),
            prefer: def.prefer,
        })
    })
}

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
pub fn ping(context: &CommandContext) -> Outcome {
    let workspace = context.workspace("remote ping")?;
    let manifest = workspace.manifest()?;
    let def = manifest.remote.as_ref().ok_or_else(no_remote_cache)?;
    if context.is_offline() {
        return Err(offline());
    }
    if workspace.remote_waits()? {
        return Err(sharing::untrusted_cache());
    }
    let usage = usage(def);
    let worker = def.execute.then(|| worker::program(def, &workspace.root)).transpose();
    let worker = worker.map_err(|why| no_workers(&why, "`worker` in [remote] names the program"))?;
    let client = client(def, &workspace.root, usage).map_err(|error| unavailable(def, &workspace.root, &error.to_string()))?;
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
