//! `trust`: shows which programs this workspace runs and where it sends data, and trusts them. Runs and sends nothing itself.

use super::{Effect, Method};
use crate::code::Code;
use crate::desk::Desk;
use crate::failed::Failed;
use crate::render::printable;
use engine::seams::producer::Params;
use engine::values::codes::ErrorCode;
use engine::values::diagnostic::Diagnostic;
use producers::command::Trust as _;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::fmt::Write as _;
use workbench::edit::disk::Disk;
use workbench::edit::files::Files;
use workbench::trust::{Trusted, Waiting, check_of_edits, foreign_owner, waiting};

/// Trust the programs, key addresses and remote cache of this workspace. Review them first (`--list`).
///
/// Without trust, cortex runs no program of `cortex.toml`, sends no key to its addresses, and does not use its remote cache. A changed definition
/// (arguments, environment, limits, address, headers) needs trust again. CORTEX_TRUST=all trusts everything, for machines that build whatever is
/// checked out.
#[derive(Debug, Default, clap::Args, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Trust {
    /// Only list the programs, keys and caches, and whether they are trusted.
    #[arg(long, conflicts_with = "revoke")]
    list: bool,
    /// Revoke the trust.
    #[arg(long)]
    revoke: bool,
    /// Trust them although the workspace belongs to another user.
    #[arg(long, conflicts_with_all = ["list", "revoke"])]
    foreign: bool,
}

/// What a workspace runs, and where it sends data.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct Programs {
    /// The programs, keys and caches: `of` (the producer or model), `definition`, `params`, `bounds`, `trusted`.
    programs: Vec<Program>,
    /// The other user who owns the workspace.
    foreign_owner: Option<u32>,
}

/// A program, or an address that data is sent to.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct Program {
    /// The producer or model; `remote` for the cache.
    of: String,
    /// Its parameters.
    params: Params,
    /// Its limits.
    bounds: Params,
    /// Digest of the definition that is trusted.
    definition: String,
    /// Whether it is trusted.
    trusted: bool,
}

/// Parameters with a command line.
const LINES: [&str; 5] = ["argv", "shell", "command", "api_key_command", "credential_helper"];

impl Method for Trust {
    const NAME: &'static str = "trust";
    const EFFECT: Effect = Effect::Sets;
    const SERVED: bool = false;
    type Answer = Programs;

    fn answer(&self, desk: &mut Desk<'_>) -> Result<Programs, Failed> {
        let context = desk.context;
        let workspace = context.workspace(Self::NAME)?;
        let manifest = workspace.manifest()?;
        let mut programs = waiting(&manifest);
        let read = Disk::new(&workspace.root).read("cortex.toml").ok().flatten();
        programs.extend(read.and_then(|read| check_of_edits(&read.bytes)));
        let trusted = Trusted::in_repository(context.settings().trust.clone(), &workspace.root);
        let foreign_owner = foreign_owner(&workspace.root);
        if let (Some(owner), false) = (foreign_owner, self.list || self.revoke || self.foreign) {
            let why = format!("this workspace belongs to user {owner}, who can change its programs");
            let hint = "review it with `cortex trust --list`; `cortex trust --foreign` trusts its programs all the same";
            return Err(Failed::new(Code::Usage, Diagnostic::error(ErrorCode::E_FOREIGN, why).hint(hint)));
        }
        if !self.list {
            let definitions: Vec<_> = programs.iter().map(|program| program.definition).collect();
            trusted.set_trusted(&definitions, !self.revoke).map_err(|error| {
                let why = Diagnostic::error(ErrorCode::E_TRUST, format!("the trust cannot be recorded: {error}"));
                let hint = "it is stored in $XDG_STATE_HOME/cortex or ~/.local/state/cortex; set XDG_STATE_HOME or HOME";
                Failed::new(Code::Io, why.hint(hint))
            })?;
        }
        let program = |program: Waiting| Program {
            trusted: trusted.trusts(&program.definition),
            of: program.of,
            params: program.params,
            bounds: program.bounds,
            definition: program.definition.to_string(),
        };
        Ok(Programs {
            programs: programs.into_iter().map(program).collect(),
            foreign_owner,
        })
    }

    fn text(answer: &Programs) -> String {
        let mut text = String::new();
        if let Some(owner) = answer.foreign_owner {
            let _ = writeln!(text, "this workspace belongs to user {owner}");
        }
        if answer.programs.is_empty() {
            text.push_str("it runs no programs and sends nothing\n");
        }
        let width = answer.programs.iter().map(|program| program.of.chars().count()).max().unwrap_or(0);
        for program in &answer.programs {
            let state = if program.trusted { "trusted" } else { "waits  " };
            let _ = write!(text, "{state}  {:width$}  {}", program.of, printable(&command_line(program)));
            let others = program.params.iter().chain(&program.bounds);
            for (name, value) in others.filter(|(name, _)| !LINES.contains(&name.as_str())) {
                let _ = write!(text, "  {name}={}", printable(&value.to_string()));
            }
            text.push('\n');
        }
        text
    }
}

/// Formats a program's command line as a user would type it.
fn command_line(program: &Program) -> String {
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
