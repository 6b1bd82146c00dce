//! `cortex mcp install`: shows the change of a client's configuration, and writes it once it is confirmed.

use crate::cli::InstallArgs;
use crate::command_context::CommandContext;
use engine::values::codes::ErrorCode;
use engine::values::diagnostic::Diagnostic;
use methods::code::Code;
use methods::commands::mcp_install::plan_install;
use methods::failed::{Failed, Outcome, outcome_of_write};
use methods::render::printable;
use std::io::{IsTerminal, Write};

/// Shows the change, and writes it once it is confirmed.
pub fn run_mcp_install(context: &CommandContext, args: &InstallArgs) -> Outcome {
    let mut plan = plan_install(context, args.client.into(), args.agents_md)?;
    let (mut out, is_json) = (context.stdout(), context.prints_json());
    if plan.changes.is_empty() && !is_json {
        return outcome_of_write(writeln!(out, "{} has the server already", plan.config_path));
    }
    if !is_json {
        for change in &plan.changes {
            outcome_of_write(write!(out, "{}", printable(&change.diff)))?;
        }
    }
    let is_confirmed = plan.changes.is_empty() || args.yes || !is_json && ask_person(&mut out)?;
    if is_confirmed {
        for at in 0..plan.changes.len() {
            let change = plan.write_change(at)?;
            if !is_json {
                let (path, session) = (change.path, change.session.as_deref().unwrap_or_default());
                outcome_of_write(writeln!(out, "wrote {path}; `cortex edit undo --session {session}` reverts this"))?;
            }
        }
    }
    if is_json {
        let is_written = is_confirmed && !plan.changes.is_empty();
        let answer = serde_json::json!({"file": plan.config_path, "written": is_written, "changes": plan.changes});
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
