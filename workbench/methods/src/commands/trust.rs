//! `cortex trust`: shows which programs this workspace runs and where it sends data, and trusts them. Runs and sends nothing itself.

use super::CommandAnswer;
use crate::code::Code;
use crate::desk::request_context::RequestContext;
use crate::failed::Failed;
use crate::render::printable;
use clap::Args;
use engine::values::codes::ErrorCode;
use engine::values::diagnostic::Diagnostic;
use producers::command::Trust;
use serde_json::{Value, json};
use std::fmt::Write as _;
use workbench::edit::disk::Disk;
use workbench::edit::files::Files;
use workbench::trust::{Trusted, Waiting, check_of_edits, foreign_owner, waiting};

/// `trust`.
#[derive(Debug, Args)]
pub struct TrustArgs {
    /// Only list the programs, keys and caches, and whether they are trusted.
    #[arg(long, conflicts_with = "revoke")]
    pub list: bool,
    /// Revoke the trust.
    #[arg(long)]
    pub revoke: bool,
    /// Trust them although the workspace belongs to another user.
    #[arg(long, conflicts_with_all = ["list", "revoke"])]
    pub foreign: bool,
}

/// Parameters with a command line.
const LINES: [&str; 5] = ["argv", "shell", "command", "api_key_command", "credential_helper"];

/// Shows the programs and destinations, and trusts them unless `--list` is given.
///
/// # Errors
/// When the workspace belongs to another user, or the trust cannot be recorded.
pub fn run_trust(context: &RequestContext, args: &TrustArgs) -> Result<CommandAnswer, Failed> {
    let workspace = context.workspace("trust")?;
    let manifest = workspace.manifest()?;
    let mut programs = waiting(&manifest);
    let read = Disk::new(&workspace.root).read("cortex.toml").ok().flatten();
    programs.extend(read.and_then(|read| check_of_edits(&read.bytes)));
    let trusted = Trusted::in_repository(context.settings().trust.clone(), &workspace.root);
    let owner = foreign_owner(&workspace.root);
    if let (Some(owner), false) = (owner, args.list || args.revoke || args.foreign) {
        let why = Diagnostic::error(
            ErrorCode::E_FOREIGN,
            format!("this workspace belongs to user {owner}, who can change its programs"),
        );
        let hint = "review it with `cortex trust --list`; `cortex trust --foreign` trusts its programs all the same";
        return Err(Failed::new(Code::Usage, why.hint(hint)));
    }
    if !args.list {
        let definitions: Vec<_> = programs.iter().map(|program| program.definition).collect();
        trusted.set_trusted(&definitions, !args.revoke).map_err(|error| {
            let why = Diagnostic::error(ErrorCode::E_TRUST, format!("the trust cannot be recorded: {error}"));
            Failed::new(
                Code::Io,
                why.hint("it is stored in $XDG_STATE_HOME/cortex or ~/.local/state/cortex; set XDG_STATE_HOME or HOME"),
            )
        })?;
    }
    let rows: Vec<Value> = programs.iter().map(|program| program_row(program, &trusted)).collect();
    let document = json!({"programs": rows, "foreign_owner": owner});
    Ok(CommandAnswer::new(programs_text(&programs, &trusted, owner), &document))
}

fn program_row(program: &Waiting, trusted: &Trusted) -> Value {
    json!({
        "of": program.of,
        "params": program.params,
        "bounds": program.bounds,
        "definition": program.definition.to_string(),
        "trusted": trusted.trusts(&program.definition),
    })
}

fn programs_text(programs: &[Waiting], trusted: &Trusted, owner: Option<u32>) -> String {
    let mut text = String::new();
    if let Some(owner) = owner {
        let _ = writeln!(text, "this workspace belongs to user {owner}");
    }
    if programs.is_empty() {
        text.push_str("it runs no programs and sends nothing\n");
    }
    let width = programs.iter().map(|program| program.of.chars().count()).max().unwrap_or(0);
    for program in programs {
        let state = if trusted.trusts(&program.definition) {
            "trusted"
        } else {
            "waits  "
        };
        let _ = write!(text, "{state}  {:width$}  {}", program.of, printable(&command_line(program)));
        for (name, value) in program
            .params
            .iter()
            .chain(&program.bounds)
            .filter(|(name, _)| !LINES.contains(&name.as_str()))
        {
            let _ = write!(text, "  {name}={}", printable(&value.to_string()));
        }
        text.push('\n');
    }
    text
}

/// Formats a program's command line as a user would type it.
fn command_line(program: &Waiting) -> String {
    if let Some(line) = program.params.get("shell").and_then(Value::as_str) {
        return format!("sh -c {}", quote_word(line));
    }
    let words = LINES
        .iter()
        .find_map(|name| program.params.get(*name)?.as_array())
        .into_iter()
        .flatten();
    let words: Vec<String> = words.filter_map(Value::as_str).map(quote_word).collect();
    match words.is_empty() {
        true => "sends".to_owned(),
        false => words.join(" "),
    }
}

/// Quotes a word for a shell if necessary.
fn quote_word(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./{}=:,+".contains(c);
    match !word.is_empty() && word.chars().all(plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}
