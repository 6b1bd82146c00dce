//! `prompt`: the prompt that a model would get. Sends nothing.

use super::{Effect, Method};
use crate::code::Code;
use crate::desk::{Desk, build, names};
use crate::failed::Failed;
use crate::render::{money, printable};
use engine::build::request::Request;
use engine::build::session::Session;
use engine::build::{BuildMode, Options};
use engine::seams::paid::Plan;
use engine::values::codes::ErrorCode;
use engine::values::diagnostic::{Diagnostic, Severity};
use engine::values::digest::Digest;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeSet;
use workbench::short_names::{expand_short_name, with_target};

/// Print the prompt for a target without sending it.
#[derive(Debug, clap::Args, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Prompt {
    /// The target.
    label: String,
    /// Print the prompt for a whole new answer, even if the earlier one would be patched or is still valid.
    #[arg(long)]
    #[serde(default)]
    full: bool,
}

/// The question that a model would be asked.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct Question {
    /// The target, or the group that it is asked about with.
    label: String,
    /// Whether the prompt is complete. Otherwise it depends on other answers.
    certain: bool,
    /// The question: `mode`, `why`, `prompt`, `cost`, `joint`.
    #[schemars(with = "Value")]
    plan: Plan,
}

impl Method for Prompt {
    const NAME: &'static str = "prompt";
    const EFFECT: Effect = Effect::Reads;
    type Answer = Question;

    fn reads(&self) -> bool {
        // Builds the inputs of the prompt in the checkout.
        false
    }

    fn answer(&self, desk: &mut Desk<'_>) -> Result<Question, Failed> {
        let context = desk.context;
        let (_, session) = desk.open_to_build()?;
        let (label, request) = self.label_and_request(session)?;
        let report = build::build(context, session, &request)?;
        let code = build::code(&report);
        if code != Code::Ok {
            return Err(Failed {
                code,
                diagnostics: Vec::new(),
            });
        }
        let [root] = report.roots.as_slice() else {
            let several = format!("{label} names {} targets; `prompt` takes one", report.roots.len());
            let why = Diagnostic::error(ErrorCode::E_SEVERAL, several);
            return Err(Failed::new(Code::Usage, why.hint("name one label, with its ':target'")));
        };
        let label = root.label.to_string();
        let Some(priced) = report.plans.iter().find(|priced| *priced.label == *label) else {
            return Err(no_prompt(&label, root.output.is_some()));
        };
        // For a type in a group of mutually dependent types, the model gets the prompt of the group.
        let whole = match priced.plan.mode.as_str() {
            "part" => {
                let group = workbench::paid::group_of(session, &label);
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
        let plan = priced.plan.clone();
        context.print_status(&format!("{} ({}): {}", plan.mode, plan.why, money::spent(&plan.cost)));
        Ok(Question {
            label,
            certain: priced.certain,
            plan,
        })
    }

    fn text(answer: &Question) -> String {
        printable(&answer.plan.prompt)
    }
}

impl Prompt {
    /// Returns the label, and the request that prices its question.
    fn label_and_request(&self, session: &mut Session) -> Result<(String, Request), Failed> {
        let text = with_target(&self.label, "semantic");
        let label = match names::one_label(session, &text, "asked for") {
            Ok(label) => label,
            // A label that is unknown before its sets are built is found by the build.
            Err(_) => expand_short_name(&text).into_owned(),
        };
        let fresh: BTreeSet<String> = match self.full {
            true => workbench::paid::group_of(session, &label)
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
        Ok((label, request))
    }
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
