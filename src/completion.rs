//! Shell completion of a command line: labels, targets, and names of types and members of the current workspace.
//!
//! A shell runs this program with `COMPLETE=SHELL`, by the protocol of `clap_complete`. Commands, flags and their values come from the flag
//! definitions; labels and names from `cortex ls` and `cortex search`, run as child processes for at most [`PATIENCE`].

mod bash;

use crate::book::BOOK;
use crate::cli::{Cli, Shell};
use clap::{Arg, Command, CommandFactory};
use clap_complete::engine::{ArgValueCompleter, CompletionCandidate};
use clap_complete::env::{CompleteEnv, Elvish, EnvCompleter, Fish, Powershell, Shells, Zsh};
use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::io::Read;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

/// Variable that marks a completion request and names the shell.
const VARIABLE: &str = "COMPLETE";
/// Time-out of a child process that looks up labels or names.
const PATIENCE: Duration = Duration::from_secs(2);
/// Script for Nushell, for which `clap_complete` has no protocol. It uses that of fish: lines of a value, and optionally a tab and a description.
const NUSHELL: &str = r#"def "nu-complete cortex" [line: string, position: int] {
    let words = ($line | str substring 0..<$position | split row " ")
    with-env { COMPLETE: fish } { ^cortex -- ...$words }
    | lines
    | each {|row| let parts = ($row | split row "\t"); { value: $parts.0, description: ($parts.1? | default "") } }
}
export extern cortex [...words: string@"nu-complete cortex"]
"#;
/// Limit of candidates per kind: a shell asks the user before it lists more.
const MOST: usize = 200;
/// Answers a completion request, if this is one. Returns whether it was.
pub fn answer_completion(arguments: &[OsString]) -> bool {
    let directory = std::env::current_dir().ok();
    CompleteEnv::with_factory(command)
        .var(VARIABLE)
        .shells(Shells(&[&bash::Bash, &Elvish, &Fish, &Powershell, &Zsh]))
        .try_complete(arguments.iter().cloned(), directory.as_deref())
        .unwrap_or_else(|error| error.exit())
}

/// Returns the script that registers completion in a shell.
pub fn registration(shell: Shell) -> std::io::Result<Vec<u8>> {
    let of: &dyn EnvCompleter = match shell {
        Shell::Bash => &bash::Bash,
        Shell::Elvish => &Elvish,
        Shell::Fish => &Fish,
        Shell::Nushell => return Ok(NUSHELL.as_bytes().to_vec()),
        Shell::Powershell => &Powershell,
        Shell::Zsh => &Zsh,
    };
    let mut text = Vec::new();
    of.write_registration(VARIABLE, "cortex", "cortex", "cortex", &mut text)?;
    Ok(text)
}

/// Returns the command definitions, with candidates for their arguments.
fn command() -> Command {
    with_candidates(Cli::command())
}

fn with_candidates(command: Command) -> Command {
    let candidates = |arg: Arg| match arg.get_id().as_str() {
        "pattern" | "patterns" | "label" | "labels" | "target" => arg.add(ArgValueCompleter::new(targets)),
        "topic" => arg.add(ArgValueCompleter::new(topics)),
        "symbol" | "symbols" | "name" | "names" | "path" => arg.add(ArgValueCompleter::new(matching_symbols)),
        _ => arg,
    };
    command.mut_args(candidates).mut_subcommands(with_candidates)
}

/// Returns labels with a prefix, completed name by name; for a bare name, the types and their targets.
fn targets(current: &OsStr) -> Vec<CompletionCandidate> {
    let Some(current) = current.to_str() else { return Vec::new() };
    if current.starts_with('/') {
        return candidates(labels(current));
    }
    match current.rsplit_once(':') {
        None => matching_symbols(OsStr::new(current)),
        Some((name, target)) => candidates(
            ls(&[name])
                .iter()
                .filter_map(|label| label.rsplit_once(':'))
                .filter(|(_, kind)| kind.starts_with(target))
                .map(|(_, kind)| format!("{name}:{kind}")),
        ),
    }
}

/// Completes labels up to the next name: `//ty` gives `//types/`, `//types/A` all packages with that prefix, a single package its targets.
fn labels(current: &str) -> BTreeSet<String> {
    let current = if current.len() < 2 { "//" } else { current };
    if current.contains(':') {
        return ls(&[&format!("{current}*")]).into_iter().collect();
    }
    let below = ls(&[&format!("{current}*:*"), &format!("{current}*/...")]);
    let steps: BTreeSet<String> = below
        .iter()
        .filter_map(|label| {
            let rest = label.strip_prefix(current)?;
            let end = rest.find(['/', ':'])?;
            Some(label[..current.len() + end + 1].to_owned())
        })
        .collect();
    match steps.iter().next() {
        Some(package) if steps.len() == 1 && package.ends_with(':') => {
            below.into_iter().filter(|label| label.starts_with(package)).collect()
        }
        _ => steps,
    }
}

/// Returns commands and topics of `cortex help`.
fn topics(current: &OsStr) -> Vec<CompletionCandidate> {
    let current = current.to_str().unwrap_or_default();
    let command = Cli::command();
    let commands = command.get_subcommands().filter(|one| !one.is_hide_set()).map(Command::get_name);
    let all = commands.chain(BOOK.iter().map(|(topic, _)| *topic));
    candidates(all.filter(|one| one.starts_with(current)).map(str::to_owned))
}

/// Returns types and members with matching names.
fn matching_symbols(current: &OsStr) -> Vec<CompletionCandidate> {
    let Some(current) = current.to_str().filter(|current| !current.is_empty()) else {
        return Vec::new();
    };
    let limit = MOST.to_string();
    let ask = |command: &str, wanted: &str, list: &str| -> Vec<serde_json::Value> {
        let answer = run_own_program(&[command, wanted, "--limit", &limit, "--json"]);
        let mut answer: serde_json::Value = serde_json::from_str(&answer).unwrap_or_default();
        answer[list].as_array_mut().map(std::mem::take).unwrap_or_default()
    };
    // After a separator, list the contents of a type or namespace.
    let mut found = match current.contains(['.', '#', '+']) {
        true => ask("resolve", &format!("{current}*"), "candidates"),
        false => Vec::new(),
    };
    if found.is_empty() {
        found = ask("search", current, "hits");
    }
    let paths = found.iter().filter_map(|hit| hit["path"].as_str());
    // A member takes the separator of the typed word; after a dot it has no parameters.
    let paths = paths.filter_map(|path| match path.split_once('#') {
        Some((_, member)) if !current.contains('#') && member.starts_with('.') => None,
        Some((of, member)) if !current.contains('#') => Some(format!("{of}.{}", member.split('(').next().unwrap_or(member))),
        _ => Some(path.to_owned()),
    });
    // A shell keeps only candidates that start with the word, so a short name replaces the full one.
    candidates(paths.filter_map(|path| {
        let starts = path.starts_with(current);
        let short = || {
            path.match_indices(['.', '+', '#'])
                .map(|(at, _)| &path[at + 1..])
                .find(|end| end.starts_with(current))
        };
        if starts { Some(path.as_str()) } else { short() }.map(str::to_owned)
    }))
}

fn candidates(values: impl IntoIterator<Item = String>) -> Vec<CompletionCandidate> {
    let values: BTreeSet<String> = values.into_iter().collect();
    values.into_iter().take(MOST).map(CompletionCandidate::new).collect()
}

fn ls(patterns: &[&str]) -> Vec<String> {
    patterns
        .iter()
        .flat_map(|pattern| run_own_program(&["ls", pattern]).lines().map(str::to_owned).collect::<Vec<_>>())
        .collect()
}

/// Runs this program in the folder of the typed `-C`. Returns its output; empty if it fails or takes too long.
fn run_own_program(arguments: &[&str]) -> String {
    let Ok(program) = std::env::current_exe() else {
        return String::new();
    };
    let mut command = std::process::Command::new(program);
    command
        .env_remove(VARIABLE)
        .args(folder_option())
        .args(["--no-wait", "--offline"])
        .args(arguments);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    command.spawn().map(text_within_patience).unwrap_or_default()
}

fn text_within_patience(mut child: Child) -> String {
    let mut text = String::new();
    let Some(mut out) = child.stdout.take() else { return text };
    let (send, receive) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let mut text = String::new();
        let _ = out.read_to_string(&mut text);
        let _ = send.send(text);
    });
    let start = Instant::now();
    if let Ok(answer) = receive.recv_timeout(PATIENCE.saturating_sub(start.elapsed())) {
        text = answer;
    }
    let _ = child.kill();
    let _ = child.wait();
    text
}

/// Returns `-C DIR` of the typed line.
fn folder_option() -> Vec<OsString> {
    let words: Vec<OsString> = std::env::args_os().collect();
    let at = words.iter().rposition(|word| word == "-C");
    at.and_then(|at| words.get(at..at + 2))
        .map(<[OsString]>::to_vec)
        .unwrap_or_default()
}
