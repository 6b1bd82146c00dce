//! `cortex mcp install`: adds the server to the configuration of a client.

use crate::cli::InstallArgs;
use crate::command_context::CommandContext;
use crate::commands::show::outcome_of_write;
use engine::values::codes::ErrorCode;
use engine::values::diagnostic::Diagnostic;
use methods::code::Code;
use methods::desk::clock::current_seconds;
use methods::failed::{Failed, Outcome};
use methods::render::printable;
use serde::Serialize;
use std::io::{IsTerminal, Write};
use workbench::edit::disk::Disk;
use workbench::edit::encoding::decode;
use workbench::edit::files::Files;
use workbench::edit::merge::unified_diff;
use workbench::edit::order::{EditRequest, Order};
use workbench::edit::perform::perform;
use workbench::edit::state::Status;
use workbench::mcp_clients::{Client, GUIDE, with_guidance};

/// Shows the change, and writes it once it is confirmed.
pub fn run_mcp_install(context: &CommandContext, args: &InstallArgs) -> Outcome {
    let root = context.workspace("mcp install")?.root.clone();
    context.release_locks_to_reopen();
    let disk = Disk::new(&root);
    let client = Client::from(args.client);
    let before = read_if_exists(&disk, client.config_path())?;
    let configured = client.configured(before.as_deref()).map_err(|why| {
        let why = Diagnostic::error(ErrorCode::E_CLIENT, why.to_string());
        Failed::new(
            Code::Usage,
            why.hint("fix the file, or add the server by hand as in docs/agents.md"),
        )
    })?;
    let mut files = vec![(client.config_path(), before, configured)];
    if args.agents_md {
        let before = read_if_exists(&disk, GUIDE)?;
        let after = with_guidance(before.as_deref());
        files.push((GUIDE, before, after));
    }
    files.retain(|(_, before, after)| before.as_ref() != Some(after));
    let mut out = context.stdout();
    if files.is_empty() && !context.prints_json() {
        return outcome_of_write(writeln!(out, "{} has the server already", client.config_path()));
    }
    let mut changes: Vec<FileRewrite> = files.into_iter().map(FileRewrite::from_files).collect();
    if !context.prints_json() {
        for change in &changes {
            outcome_of_write(write!(out, "{}", printable(&change.diff)))?;
        }
    }
    let is_confirmed = changes.is_empty() || args.yes || !context.prints_json() && ask_person(&mut out)?;
    if is_confirmed {
        for change in &mut changes {
            change.write_change(&disk)?;
            if !context.prints_json() {
                let session = change.session.as_deref().unwrap_or_default();
                let path = change.path;
                outcome_of_write(writeln!(out, "wrote {path}; `cortex edit undo --session {session}` reverts this"))?;
            }
        }
    }
    if context.prints_json() {
        let answer = serde_json::json!({"file": client.config_path(), "written": is_confirmed && !changes.is_empty(), "changes": changes});
        outcome_of_write(writeln!(out, "{answer:#}"))?;
    }
    if is_confirmed {
        return Ok(Code::Ok);
    }
    let hint = "review the change, then answer yes, or run this with --yes";
    Err(Failed::new(
        Code::Usage,
        Diagnostic::error(ErrorCode::E_UNCONFIRMED, "nothing was written: the change was not confirmed").hint(hint),
    ))
}

/// Change of one file.
#[derive(Serialize)]
struct FileRewrite {
    path: &'static str,
    diff: String,
    #[serde(skip)]
    after: String,
    /// Edit session that reverts the change, once it is written.
    session: Option<String>,
}

impl FileRewrite {
    fn from_files((path, before, after): (&'static str, Option<String>, String)) -> Self {
        let old = if before.is_some() { path } else { "/dev/null" };
        Self {
            path,
            diff: unified_diff(before.as_deref().unwrap_or_default(), &after, old, path),
            after,
            session: None,
        }
    }

    fn write_change(&mut self, disk: &Disk) -> Result<(), Failed> {
        let path = self.path;
        let request = EditRequest {
            order: Order::Write(self.after.clone()),
            session: None,
            path: Some(path.to_owned()),
            mode: None,
            fit: false,
        };
        let response = perform(disk, &request, current_seconds());
        if response.status != Status::Success {
            let why = Diagnostic::error(ErrorCode::E_WRITE, format!("{path} was not written: {}", response.summary));
            return Err(Failed::new(
                Code::Io,
                why.hint("check the permissions of the folder, then run this again"),
            ));
        }
        self.session = response.session;
        Ok(())
    }
}

/// Reads a file, if it exists.
fn read_if_exists(disk: &Disk, path: &str) -> Result<Option<String>, Failed> {
    let unread = |why: String| {
        let why = Diagnostic::error(ErrorCode::E_READ, format!("{path} cannot be read: {why}"));
        Failed::new(Code::Io, why.hint("the configuration of a client is a text file of the workspace"))
    };
    let resolved = disk.resolve(path).map_err(|why| unread(why.to_string()))?;
    let found = disk.read(&resolved).map_err(|error| unread(error.to_string()))?;
    let decoded = found.map(|found| decode(&found.bytes).map(|(text, _)| text));
    decoded.transpose().map_err(|why| unread(why.to_string()))
}

/// Asks the person at the terminal. Returns false without a terminal.
fn ask_person(out: &mut impl Write) -> Result<bool, Failed> {
    if !std::io::stdin().is_terminal() {
        return Ok(false);
    }
    outcome_of_write(write!(out, "write this? [y/N] "))?;
    outcome_of_write(out.flush())?;
    let mut answer = String::new();
    // A failed read counts as no.
    let _ = std::io::stdin().read_line(&mut answer);
    Ok(matches!(answer.trim().to_lowercase().as_str(), "y" | "yes"))
}
