//! `cortex prompt`: prints the prompt that a model would get. Sends nothing.

use super::CommandAnswer;
use crate::code::Code;
use crate::desk::request_context::RequestContext;
use crate::desk::{build, names};
use crate::failed::Failed;
use crate::render::{money, printable};
use clap::Args;
use engine::build::request::Request;
use engine::build::{BuildMode, Options};
use engine::values::codes::ErrorCode;
use engine::values::diagnostic::{Diagnostic, Severity};
use engine::values::digest::Digest;
use std::collections::BTreeSet;
use workbench::short_names::{expand_short_name, with_target};

/// Print the prompt for a target without sending it.
#[derive(Debug, Args)]
pub struct PromptArgs {
    /// The target.
    pub label: String,
    /// Print the prompt for a whole new answer, even if the earlier one would be patched or is still valid.
    #[arg(long)]
    pub full: bool,
}

/// Runs `cortex prompt`.
///
/// # Errors
/// When no model is asked for the target, or its inputs cannot be built.
pub fn run_prompt(context: &RequestContext, args: &PromptArgs) -> Result<CommandAnswer, Failed> {
    let workspace = context.building("prompt")?;
    let mut session = workspace.session()?;
    context.say_of_manifest(&workspace);
    let text = with_target(&args.label, "semantic");
    let label = match names::one_label(&mut session, &text, "asked for") {
        Ok(label) => label,
        // A label that is unknown before its sets are built is found by the build below.
        Err(_) => expand_short_name(&text).into_owned(),
    };
    let fresh: BTreeSet<String> = match args.full {
        true => workbench::paid::group_of(&session, &label)
            .into_iter()
            .chain([label.clone()])
            .collect(),
        false => BTreeSet::new(),
    };
    let request = Request {
        patterns: build::patterns(std::slice::from_ref(&label))?,
        digest: Digest::of(format!("prompt\0{label}").as_bytes()),
        options: Options {
            jobs: build::default_jobs(),
            keep_going: false,
            mode: BuildMode::Price,
            insist: true,
            fresh,
            ..Options::default()
        },
        list: true,
        outputs: false,
    };
    let report = build::build(context, &mut session, &request)?;
    let code = build::code(&report);
    if code != Code::Ok {
        return Ok(CommandAnswer::of_bytes(Vec::new()).with_outcome(Ok(code)));
    }
    let [root] = report.roots.as_slice() else {
        let why = Diagnostic::error(
            ErrorCode::E_SEVERAL,
            format!("{label} names {} targets; `prompt` takes one", report.roots.len()),
        );
        return Err(Failed::new(Code::Usage, why.hint("name one label, with its ':target'")));
    };
    let label = root.label.to_string();
    let Some(priced) = report.plans.iter().find(|priced| *priced.label == *label) else {
        return Err(no_prompt(&label, root.output.is_some()));
    };
    // For a type in a group of mutually dependent types, the model gets the prompt of the group.
    let whole = match priced.plan.mode.as_str() {
        "part" => {
            let group = workbench::paid::group_of(&session, &label);
            group.and_then(|group| report.plans.iter().find(|priced| *priced.label == *group))
        }
        _ => None,
    };
    if let Some(whole) = whole {
        let why = format!("cortex asks about it with its group: this is the prompt of {}", whole.label);
        context.say(&[Diagnostic::new(Severity::Note, ErrorCode::N_GROUP, why).label(&label)]);
    }
    let priced = whole.unwrap_or(priced);
    let label = priced.label.to_string();
    if !priced.certain {
        let others = report.plans.iter().filter(|other| *other.label != *label).count();
        let why = format!("the prompt depends on {others} other answers; this is its known part");
        context.say(&[Diagnostic::new(Severity::Note, ErrorCode::N_NOT_YET, why).label(&label)]);
    }
    let plan = &priced.plan;
    context.print_status(&format!("{} ({}): {}", plan.mode, plan.why, money::spent(&plan.cost)));
    Ok(CommandAnswer::new(printable(&plan.prompt), &serde_json::json!(priced)))
}

/// Builds the failure of a target that no model answers.
fn no_prompt(label: &str, has_output: bool) -> Failed {
    let why = Diagnostic::error(ErrorCode::E_NO_PROMPT, "no model is asked for it").label(label);
    let hint = match has_output {
        true => "the summary is current, or no model writes it; `--full` prints the prompt for a new answer",
        false => "its producer asks no model: see its rule with `cortex rules show`",
    };
    Failed::new(Code::Usage, why.hint(hint))
}
