//! `cortex show`: builds a target and prints its output.

use super::CommandAnswer;
use super::unpack::unpack;
use crate::code::Code;
use crate::desk::model_limits::AskingArgs;
use crate::desk::one_output::{LabelledOutput, build_and_read, read_stored_output};
use crate::desk::outputs::build_outputs;
use crate::desk::request_context::RequestContext;
use crate::desk::{last_good, names};
use crate::failed::Failed;
use crate::render::printable;
use clap::Args;
use engine::build::remarks::FailedTry;
use engine::build::session::Session;
use engine::values::codes::ErrorCode;
use engine::values::diagnostic::{Diagnostic, Severity};
use engine::values::digest::Digest;
use engine::values::table::{Table, to_json};
use std::path::Path;
use std::path::PathBuf;

/// Print the output of a target, building it first.
///
/// A summary by a model is printed as it is, with its state; --refresh updates it first.
#[derive(Clone, Debug, Args)]
pub struct ShowArgs {
    /// A label, or the name of a type or member: NodeStore is its outline, NodeStore:semantic its summary.
    pub label: String,
    /// Print the bytes unchanged, even to a terminal. If there is no output, print a model's rejected answer.
    #[arg(long)]
    pub raw: bool,
    /// Write the files of an output that is a tree to this folder, which must not exist.
    #[arg(long, value_name = "FOLDER", conflicts_with_all = ["raw", "rejected"])]
    pub into: Option<PathBuf>,
    /// For targets of types and members: print the newest version from files that all parsed.
    #[arg(long)]
    pub last_good: bool,
    /// Print the present output, however old, with its state. Builds nothing.
    #[arg(long, conflicts_with_all = ["last_good", "refresh"])]
    pub allow_stale: bool,
    /// Build the target first, even if a model must be asked.
    #[arg(long, conflicts_with = "last_good")]
    pub refresh: bool,
    /// Print the rejected answer of the last attempt.
    #[arg(long, conflicts_with_all = ["last_good", "refresh", "allow_stale"])]
    pub rejected: bool,
    /// Limits of costs.
    #[command(flatten)]
    pub asking: AskingArgs,
}

/// Runs `cortex show`. Fails when the target has no output, or it cannot be printed as text.
pub fn run_show(context: &RequestContext, args: &ShowArgs) -> Result<CommandAnswer, Failed> {
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
        return rejected_answer(context, args, &workspace.root, &mut session);
    }
    // Show a paid answer that was rejected; asking again needs `--refresh`.
    if args.raw && !args.refresh && only_rejected(&mut session, &args.label)? {
        let answer = rejected_answer(context, args, &workspace.root, &mut session)?;
        return Ok(answer.with_outcome(Ok(Code::TargetFailed)));
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
            let rejected = match args.raw {
                true => rejected_answer(context, args, &workspace.root, &mut session).ok(),
                false => None,
            };
            last_good::remark_missing(context, &workspace, &session, Some("show"), &args.label)?;
            return match rejected {
                Some(answer) => Ok(answer.with_outcome(Err(failed))),
                None => Err(failed),
            };
        }
    };
    last_good::remark(context, &session, "show", std::iter::once(shown.label.as_str()))?;
    give(context, args, &session, &shown)
}

/// Answers with an output, or writes it to a folder.
fn give(context: &RequestContext, args: &ShowArgs, session: &Session, shown: &LabelledOutput) -> Result<CommandAnswer, Failed> {
    match &args.into {
        Some(folder) => unpack(context, session, shown, folder),
        None => answer_of_output(context, args, shown),
    }
}

/// Answers with the rejected answer of the last try.
fn rejected_answer(context: &RequestContext, args: &ShowArgs, root: &Path, session: &mut Session) -> Result<CommandAnswer, Failed> {
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
    answer_of_output(context, args, &shown)
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

/// Answers with the rejected answer to a question.
fn rejected_investigation(context: &RequestContext, args: &ShowArgs, root: &Path) -> Result<CommandAnswer, Failed> {
    let Some(raw) = workbench::investigation::rejected_answer(root, &args.label) else {
        let why = Diagnostic::error(ErrorCode::E_NO_OUTPUT, "the last try rejected no answer to this question").label(&args.label);
        return Err(Failed::new(Code::Usage, why.hint("ask it with `cortex investigate`")));
    };
    let shown = LabelledOutput {
        label: args.label.clone(),
        digest: Digest::of(raw.as_bytes()),
        bytes: raw.as_bytes().into(),
    };
    answer_of_output(context, args, &shown)
}

/// Creates the answer of an output. Its document has the output as JSON.
fn answer_of_output(context: &RequestContext, args: &ShowArgs, shown: &LabelledOutput) -> Result<CommandAnswer, Failed> {
    if context.prints_json() {
        let document = serde_json::json!({"label": shown.label, "digest": shown.digest.to_string(), "output": to_json(&shown.bytes)});
        return Ok(CommandAnswer::of_line("", &document));
    }
    if args.raw {
        return Ok(CommandAnswer::of_bytes(&*shown.bytes));
    }
    if Table::is_table(&shown.bytes) {
        let text = serde_json::to_string_pretty(&to_json(&shown.bytes)).unwrap_or_default();
        return Ok(CommandAnswer::of_bytes(text + "\n"));
    }
    match std::str::from_utf8(&shown.bytes) {
        Ok(text) => Ok(CommandAnswer::of_bytes(printable(text))),
        // The reader of a pipe is unknown, so binary output needs `--raw`.
        Err(_) => {
            let why = Diagnostic::error(
                ErrorCode::E_BINARY,
                format!("the output is {} bytes, and not text", shown.bytes.len()),
            )
            .label(&shown.label);
            Err(Failed::new(
                Code::Usage,
                why.hint("pass --raw, and redirect it to a file or a program"),
            ))
        }
    }
}
