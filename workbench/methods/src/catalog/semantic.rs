//! `semantic`: the summary of a type or member.

use super::resolved::{Resolved, resolve_target};
use super::symbols::{lines_of_notes, one_by_name};
use super::{AsTool, Effect, Method};
use crate::code::Code;
use crate::desk::Desk;
use crate::desk::model_limits::AskingArgs;
use crate::desk::{build, names, one_output};
use crate::failed::Failed;
use crate::render::printable;
use engine::build::query::{NodeState, NodeStatus, Reach};
use engine::build::remarks::Wait;
use engine::values::codes::ErrorCode;
use engine::values::diagnostic::Diagnostic;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use workbench::exported_states::semantic_state;
use workbench::generating;
use workbench::status::target_status;
use workbench::symbols::answer_state::{AnswerState, Freshness};
use workbench::symbols::outputs::file_label;
use workbench::symbols::path::is_wild;

/// Print the summary of a type: its role, life cycle, edge cases, limitations.
///
/// A free summary is built first. A summary by a model is printed as it is, with its state; --refresh requests a new one, which may cost money.
#[derive(Debug, clap::Args, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SemanticOf {
    /// A type, by any unambiguous name, or a label; if a language model writes summaries, also a member (NodeStore#Get).
    #[serde(alias = "path", alias = "typeId", alias = "id")]
    pub symbol: String,
    /// Build it first, even if a model must be asked.
    #[arg(long)]
    #[serde(default)]
    pub refresh: bool,
    #[command(flatten)]
    #[serde(default)]
    pub asking: AskingArgs,
}

/// A summary.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Summary {
    resolved: Resolved,
    /// The summary as Markdown; absent if there is none yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    semantic_text: Option<String>,
    /// `none`, `pending`, `generating`, `cached`, `stale` or `maybeStale`: stale if an input that a model writes changes (seed 000 §3.2).
    semantic_state: String,
    /// Why the last attempt failed, or that of a node that it waits for, if it is `pending` (seed 000 §3.2).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    last_error: Option<String>,
    state: AnswerState,
}

/// Returns why a summary is not current.
fn describe_state(desk: &mut Desk<'_>, label: &str, status: &NodeStatus, last_error: Option<&str>) -> Result<String, Failed> {
    Ok(match (last_error, &status.waits_for) {
        _ if status.state == NodeState::Generating => "a build asks a model for it now".to_owned(),
        (Some(error), Some(Wait::Target(_))) => format!("{error}; --refresh tries again"),
        (Some(error), _) => format!("the last attempt failed: {error}; --refresh tries again"),
        _ if workbench::agent_questions::is_answered_by_agent(desk.open_to_build()?.1, label) => {
            "an agent answers for it: `cortex work next` gives the question, `cortex work submit` takes the answer".to_owned()
        }
        (None, Some(wait)) => format!("{wait}; --refresh requests it again"),
        (None, None) if status.state == NodeState::Pending => {
            "the last build requested it and did not build it; --refresh requests it again".to_owned()
        }
        (None, None) => "a model writes it, and was not asked: --refresh asks it".to_owned(),
    })
}

impl Method for SemanticOf {
    const NAME: &'static str = "semantic";
    const ALSO: &'static [&'static str] = &["GetSemantic"];
    const EFFECT: Effect = Effect::Reads;
    const TOOL: AsTool = AsTool::Own;
    const WITHIN: bool = true;
    const ASKS: bool = true;
    const DEPENDS_ON: Option<&'static [&'static str]> = Some(&[generating::NOTE]);
    type Answer = Summary;

    fn reads(&self) -> bool {
        !self.refresh
    }

    fn answer(&self, desk: &mut Desk<'_>) -> Result<Summary, Failed> {
        let context = desk.context;
        desk.limit_models(self.asking.clone());
        // Names are looked up in the index of types.
        if desk.reads_csharp()? {
            desk.outputs_of_labels(&["//index:types".to_owned()], true)?;
        }
        // The path of a file of another language refers to its summary.
        let symbol = match desk.other_names()?.known_file(&self.symbol) {
            Some(file) => file_label(file, "semantic"),
            None => self.symbol.clone(),
        };
        let text = match symbol.starts_with("//") {
            true => symbol.clone(),
            false => format!("//types/{symbol}:semantic"),
        };
        // Patterns and members are resolved by the symbol index; a summary is of one symbol.
        let is_in_index = (is_wild(&symbol) || symbol.contains('#')) && !symbol.starts_with("//");
        let known = match build::patterns(std::slice::from_ref(&text)) {
            _ if is_in_index => false,
            Ok(patterns) => desk
                .open_to_build()?
                .1
                .survey(patterns.patterns(), Reach::Named)?
                .refused
                .is_empty(),
            Err(failed) if symbol.starts_with("//") => return Err(failed),
            Err(_) => false,
        };
        let text = match known || symbol.starts_with("//") {
            true => text,
            false => one_by_name(desk, "show", &symbol, "semantic")?,
        };
        let label = expanded_label(desk, &text)?;
        let (workspace, session) = desk.open_to_build()?;
        let paid = workbench::paid::is_paid(session, &label);
        if !paid && !label.ends_with(SUMMARY) {
            return Err(no_summary(&label));
        }
        let mut status = target_status(&workspace.root, session, &label)?;
        if paid && !self.refresh && matches!(status.state, NodeState::Stale | NodeState::MaybeStale | NodeState::Pending) {
            desk.settle_free(&label)?;
            let (workspace, session) = desk.open_to_build()?;
            status = target_status(&workspace.root, session, &label)?;
        }
        let (_, session) = desk.open_to_build()?;
        if paid && !self.refresh && status.state != NodeState::Current {
            let shown = match session.last(&label)? {
                Some(_) => Some(one_output::read_stored_output(context, session, &label, true)?),
                None => None,
            };
            let (resolved, files) = resolve_target(desk, &label)?;
            let last_error = status.error_message();
            let why = describe_state(desk, &label, &status, last_error.as_deref())?;
            let mut as_it_is = AnswerState::default().of_files(&*desk.flaws()?, files.iter());
            as_it_is.complete &= shown.is_some();
            return Ok(Summary {
                resolved,
                state: as_it_is.as_of(Freshness::Stale, why),
                semantic_text: shown.flatten().map(|(shown, _)| String::from_utf8_lossy(&shown.bytes).into_owned()),
                semantic_state: semantic_state(status.state).to_owned(),
                last_error,
            });
        }
        let shown = desk.output_of_label(&label)?;
        let (resolved, files) = resolve_target(desk, &shown.label)?;
        Ok(Summary {
            resolved,
            state: AnswerState::default().of_files(&*desk.flaws()?, files.iter()),
            semantic_text: Some(String::from_utf8_lossy(&shown.bytes).into_owned()),
            semantic_state: "cached".to_owned(),
            last_error: None,
        })
    }

    fn text(answer: &Summary) -> String {
        match &answer.semantic_text {
            Some(text) => text.clone(),
            None => {
                let none = format!("there is no summary of {} yet\n", answer.resolved.path);
                printable(&format!("{none}{}", lines_of_notes(&answer.state)))
            }
        }
    }
}

fn expanded_label(desk: &mut Desk<'_>, text: &str) -> Result<String, Failed> {
    let of_member = text
        .strip_prefix("//types/")
        .and_then(|rest| rest.strip_suffix(SUMMARY)?.split_once('#'));
    let Some((key, member)) = of_member else {
        return names::one_label(desk.open_to_build()?.1, text, "shown");
    };
    let outline = build::patterns(&[format!("//types/{key}#{member}:outline")])?;
    // The members of a type are known only once it was analysed.
    if !desk.open_to_build()?.1.survey(outline.patterns(), Reach::Named)?.unknown.is_empty() {
        desk.outputs_of_labels(&[format!("//types/{key}:members")], true)?;
    }
    let session = desk.open_to_build()?.1;
    match names::one_label(session, text, "shown") {
        Err(failed) if failed.diagnostics.iter().any(|why| why.code == ErrorCode::E_NO_TARGET) => {
            let is_member = session.survey(outline.patterns(), Reach::Named)?.refused.is_empty();
            Err(if is_member { of_types_only(text, key) } else { failed })
        }
        label => label,
    }
}

/// Returns the failure for a member in a workspace that only summarizes types.
fn of_types_only(label: &str, key: &str) -> Failed {
    let message = "summaries of members are written by a language model only, and none is named here";
    let hint = format!("`cortex semantic '{key}'` prints that of the type; [producer.semantic] params.model names a model");
    Failed::new(
        Code::Usage,
        Diagnostic::error(ErrorCode::E_NO_TARGET, message).label(label).hint(hint),
    )
}

/// Ending of the labels of summaries.
const SUMMARY: &str = ":semantic";

/// Returns the failure for a label of another kind of target.
fn no_summary(label: &str) -> Failed {
    let why = Diagnostic::error(ErrorCode::SymbolNotFound, "this is the label of something else than a summary").found(label);
    let of_type = label.strip_prefix("//types/").and_then(|rest| rest.rsplit_once(':'));
    let summary = of_type.map(|(symbol, _)| format!("//types/{symbol}{SUMMARY}"));
    let hint = match &summary {
        Some(summary) => format!("the summary is {summary}; `cortex show '{label}'` prints what was named"),
        None => format!("name a type, a member, or a label that ends with {SUMMARY}; `cortex show '{label}'` prints what was named"),
    };
    Failed::new(Code::Usage, why.hint(hint).candidates(summary.into_iter().collect()))
}
