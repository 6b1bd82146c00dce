//! `cortex show`: builds a target and prints its output.

use super::unpack::unpack;
use crate::cli::ShowArgs;
use crate::command_context::CommandContext;
use engine::build::remarks::FailedTry;
use engine::build::session::Session;
use engine::values::codes::ErrorCode;
use engine::values::diagnostic::{Diagnostic, Severity};
use engine::values::digest::Digest;
use engine::values::table::{Table, to_json};
use methods::code::Code;
use methods::desk::one_output::{LabelledOutput, build_and_read, read_stored_output};
use methods::desk::outputs::build_outputs;
use methods::desk::{last_good, names};
use methods::failed::{Failed, Outcome};
use methods::render::printable;
use std::io::Write;
use std::path::Path;

/// Runs `cortex show`.
pub fn run_show(context: &CommandContext, args: &ShowArgs) -> Outcome {
    let workspace = match args.allow_stale || args.rejected {
        true => context.workspace("show")?,
        false if args.refresh => context.asking("show", &args.asking)?,
        false => context.reading("show", &args.asking, true)?,
    };
    let mut session = workspace.session()?;
    context.say_of_manifest(&workspace);
    if !args.allow_stale && names::needs_types(&mut session, &args.label)? {
        build_outputs(context, &mut session, "show", &[names::TYPES.to_owned()], false)?;
    }
    let args = &ShowArgs {
        label: names::label_or_source(&mut session, &args.label)?.into_owned(),
        ..args.clone()
    };
    if args.rejected {
        return print_rejected(context, args, &workspace.root, &mut session);
    }
    // Show a paid answer that was rejected; asking again needs `--refresh`.
    if args.raw && !args.refresh && only_rejected(&mut session, &args.label)? {
        print_rejected(context, args, &workspace.root, &mut session)?;
        return Ok(Code::TargetFailed);
    }
    if args.allow_stale || !args.refresh {
        // Show a paid summary as it is: asking again costs money, and the user may only want to read.
        let label = names::one_label(&mut session, &args.label, "shown");
        let paid = label.as_ref().is_ok_and(|label| workbench::paid::is_paid(&session, label));
        if args.allow_stale || paid {
            let label = label.or_else(|failed| {
                last_good::remark_missing(context, &workspace, &session, None, &args.label)?;
                Err(failed)
            })?;
            if let Some((shown, _)) = read_stored_output(context, &mut session, &label, args.allow_stale)? {
                return give(context, args, &session, &shown);
            }
        }
    }
    if args.last_good {
        let shown = last_good::last_good_output(context, &mut session, "show", &args.label)?;
        return give(context, args, &session, &shown);
    }
    let shown = match build_and_read(context, &mut session, &args.label) {
        Ok(shown) => shown,
        Err(failed) => {
            // Show the rejected answer in place of the missing output.
            if args.raw {
                let _ = print_rejected(context, args, &workspace.root, &mut session);
            }
            last_good::remark_missing(context, &workspace, &session, Some("show"), &args.label)?;
            return Err(failed);
        }
    };
    last_good::remark(context, &session, "show", std::iter::once(shown.label.as_str()))?;
    give(context, args, &session, &shown)
}

/// Prints an output, or writes it to a folder.
fn give(context: &CommandContext, args: &ShowArgs, session: &Session, shown: &LabelledOutput) -> Outcome {
    match &args.into {
        Some(folder) => unpack(context, session, shown, folder),
        None => print(context, args, shown),
    }
}

/// Prints the rejected answer of the last try.
fn print_rejected(context: &CommandContext, args: &ShowArgs, root: &Path, session: &mut Session) -> Outcome {
    if args.label.starts_with("//investigations/") {
        return rejected_investigation(context, args, root);
    }
    let label = names::one_label(session, &args.label, "shown")?;
    let Some((label, failure)) = last_failed_try(session, &label)? else {
        let why = Diagnostic::error(ErrorCode::E_NO_OUTPUT, "the last try rejected no answer for it").label(&label);
        return Err(Failed::new(Code::Usage, why.hint("omit --rejected to see its output")));
    };
    context.say(&[Diagnostic {
        severity: Severity::Note,
        ..failure.why
    }]);
    let shown = LabelledOutput {
        label,
        digest: Digest::of(&failure.raw),
        bytes: failure.raw.as_slice().into(),
    };
    print(context, args, &shown)
}

/// Returns the last failed try with a stored answer, of a label or of its group, which shares its question.
fn last_failed_try(session: &mut Session, label: &str) -> Result<Option<(String, FailedTry)>, Failed> {
    let group = workbench::paid::target_that_asks(session, label)?;
    let mut remarks = session.remarks().map_err(Failed::from)?;
    let mut last_try = |label: String| -> Option<(String, FailedTry)> {
        let failure = remarks.remove(&label)?.failure.filter(|failure| !failure.raw.is_empty())?;
        Some((label, failure))
    };
    Ok(last_try(label.to_owned()).or_else(|| group.and_then(last_try)))
}

/// Returns whether a label has a rejected answer but no output.
fn only_rejected(session: &mut Session, label: &str) -> Result<bool, Failed> {
    let Ok(label) = names::one_label(session, label, "shown") else {
        return Ok(false);
    };
    if !workbench::paid::is_paid(session, &label) || session.last(&label)?.is_some() {
        return Ok(false);
    }
    Ok(last_failed_try(session, &label)?.is_some())
}

/// Prints the rejected answer to a question.
fn rejected_investigation(context: &CommandContext, args: &ShowArgs, root: &Path) -> Outcome {
    let Some(raw) = workbench::investigation::rejected_answer(root, &args.label) else {
        let why = Diagnostic::error(ErrorCode::E_NO_OUTPUT, "the last try rejected no answer to this question").label(&args.label);
        return Err(Failed::new(Code::Usage, why.hint("ask it with `cortex investigate`")));
    };
    let shown = LabelledOutput {
        label: args.label.clone(),
        digest: Digest::of(raw.as_bytes()),
        bytes: raw.as_bytes().into(),
    };
    print(context, args, &shown)
}

fn print(context: &CommandContext, args: &ShowArgs, shown: &LabelledOutput) -> Outcome {
    let mut out = context.stdout();
    let printed = if context.prints_json() {
        writeln!(
            out,
            "{}",
            serde_json::json!({"label": shown.label, "digest": shown.digest.to_string(), "output": to_json(&shown.bytes)})
        )
    } else if args.raw {
        out.write_all(&shown.bytes)
    } else if Table::is_table(&shown.bytes) {
        writeln!(out, "{}", serde_json::to_string_pretty(&to_json(&shown.bytes)).unwrap_or_default())
    } else {
        match std::str::from_utf8(&shown.bytes) {
            Ok(text) => out.write_all(printable(text).as_bytes()),
            // The reader of a pipe is unknown, so binary output needs `--raw`.
            Err(_) => {
                let why = Diagnostic::error(
                    ErrorCode::E_BINARY,
                    format!("the output is {} bytes, and not text", shown.bytes.len()),
                )
                .label(&shown.label);
                return Err(Failed::new(
                    Code::Usage,
                    why.hint("pass --raw, and redirect it to a file or a program"),
                ));
            }
        }
    };
    outcome_of_write(printed)
}

/// Converts the result of a write to standard output. A closed pipe is not an error.
pub fn outcome_of_write(result: std::io::Result<()>) -> Outcome {
    match result {
        Ok(()) => Ok(Code::Ok),
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(Code::Ok),
        Err(error) => Err(Failed::new(
            Code::Io,
            Diagnostic::error(ErrorCode::E_WRITE, format!("standard output cannot be written: {error}"))
                .hint("free space, or redirect it elsewhere"),
        )),
    }
}
