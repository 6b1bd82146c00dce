//! `investigate`: a question about the code, answered from outlines and summaries.

use super::symbols::{found_by_name, lines_of_notes};
use super::{AsTool, Effect, Method};
use crate::code::Code;
use crate::desk::Desk;
use crate::desk::build;
use crate::desk::model_limits::AskingArgs;
use crate::desk::request_context::RequestContext;
use crate::failed::Failed;
use crate::render::{Style, diagnostic, money, plural, printable};
use engine::build::ad_hoc::AdHocRequest;
use engine::build::query::{NodeState, Reach};
use engine::build::request::Report;
use engine::build::session::Session;
use engine::graph::NodeId;
use engine::seams::paid::Spent;
use engine::seams::producer::{Failure, Params};
use engine::values::codes::ErrorCode;
use engine::values::diagnostic::{Diagnostic, Severity};
use producers::investigate::Findings;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::path::Path;
use workbench::context::withheld_files::WithheldFiles;
use workbench::context::withheld_files::never_send;
use workbench::investigation::{Candidate, Material, Operation, Stage, gather};
use workbench::symbols::answer_state as symbols;

/// Answer a question about the code from outlines and summaries.
///
/// The answer is stored under the question and the shown texts: the same question about unchanged code is free. `.cortex/out/ops/ID.json` shows
/// the progress.
#[derive(Clone, Debug, clap::Args, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Investigate {
    /// The question.
    pub question: String,
    /// Types to show: patterns or names.
    #[arg(long, value_name = "PATTERN", default_value = ALL, num_args = 1..)]
    #[serde(default = "all_findings", alias = "scopePaths", deserialize_with = "super::arguments::one_or_many")]
    pub scope: Vec<String>,
    /// Approximate limit of tokens shown to a model.
    #[arg(long, value_name = "TOKENS", default_value_t = BUDGET)]
    #[serde(default = "budget")]
    #[schemars(extend("x-tool" = false))]
    pub budget: u64,
    /// Model to ask [default: that of the summaries].
    #[arg(long, value_name = "NAME")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-tool" = false))]
    pub model: Option<String>,
    /// Ask even if an answer is stored.
    #[arg(long)]
    #[serde(default)]
    #[schemars(extend("x-tool" = false))]
    pub fresh: bool,
    /// Limits and ways of asking models.
    #[command(flatten)]
    #[serde(default)]
    pub asking: AskingArgs,
    /// Return the operation at once; `operation` shows its progress. Only a service can do so.
    #[arg(skip)]
    #[serde(default)]
    #[schemars(extend("x-tool" = false))]
    pub background: bool,
}

/// Note on an answer in a workspace with other languages.
const CSHARP_ALONE: &str = "only C# was looked into: files of other languages are not part of a scope; `context build` shows them";

/// Default scope.
const ALL: &str = "//types/...:outline";
/// Note on an answer in the background.
const IN_BACKGROUND: &str =
    "it runs in the background: `operation` shows its progress, and the same question without `background` waits for it";
/// Default budget, in tokens.
const BUDGET: u64 = 16_000;

fn all_findings() -> Vec<String> {
    vec![ALL.to_owned()]
}

fn budget() -> u64 {
    BUDGET
}

/// Answer of `investigate`.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct InvestigateAnswer {
    /// The operation, for `operation`.
    op_id: String,
    /// Label of the stored answer.
    label: String,
    /// Whether a stored answer about the same code was used.
    cached: bool,
    /// Its cost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Value")]
    spent: Option<Spent>,
    /// The answer; absent while the operation runs in the background.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Value")]
    answer: Option<Findings>,
    state: symbols::AnswerState,
}

impl Method for Investigate {
    const NAME: &'static str = "investigate";
    const ALSO: &'static [&'static str] = &["Investigate"];
    const EFFECT: Effect = Effect::Acts;
    const TOOL: AsTool = AsTool::Own;
    const ASKS: bool = true;
    type Answer = InvestigateAnswer;

    fn answer(&self, desk: &mut Desk<'_>) -> Result<InvestigateAnswer, Failed> {
        let question = self.question.trim();
        if question.is_empty() {
            let why = Diagnostic::error(ErrorCode::E_PARAM, "there is no question");
            let hint = "ask one: `cortex investigate 'How are batches saved?' --scope NAMESPACE`";
            return Err(Failed::new(Code::Usage, why.hint(hint)));
        }
        let mut operation = Operation::start_operation(question, &self.scope);
        if self.background && desk.is_served() {
            let root = desk.context.root_around().unwrap_or_default();
            record_progress(desk.context, &root, &mut operation, Stage::Gathering, "is to begin".to_owned());
            desk.later(
                Self::NAME,
                &Self {
                    background: false,
                    ..self.clone()
                },
            );
            return Ok(InvestigateAnswer {
                op_id: operation.op_id,
                label: operation.label,
                cached: false,
                spent: None,
                answer: None,
                state: symbols::AnswerState::default().lacking(&[IN_BACKGROUND.to_owned()]),
            });
        }
        desk.limit_models(self.asking.clone());
        let found = self.look_into(desk, question, &mut operation);
        if let (Err(failed), true) = (&found, operation.state < Stage::Done) {
            // A client that follows the operation sees that it ended.
            let why = failed.diagnostics.first().cloned().or_else(|| desk.context.complaint());
            operation.error = why.as_ref().map(diagnostic::diagnostic_json);
            let words = why.map_or_else(|| "it came to no answer".to_owned(), |why| why.message);
            let root = desk.context.root_around().unwrap_or_default();
            record_progress(desk.context, &root, &mut operation, Stage::Failed, words);
        }
        found
    }

    fn text(answer: &InvestigateAnswer) -> String {
        Self::styled(answer, Style::plain())
    }

    fn styled(answer: &InvestigateAnswer, style: Style) -> String {
        match &answer.answer {
            Some(findings) => format_findings(findings, &answer.state.notes, style),
            None => format!(
                "begun: operation {0} (cortex://operation/{0})\n{1}",
                answer.op_id,
                lines_of_notes(&answer.state)
            ),
        }
    }
}

/// Returns the outputs of types.
fn candidates_of(report: &Report) -> Vec<Candidate> {
    report
        .roots
        .iter()
        .zip(&report.outputs)
        .filter_map(|(root, bytes)| {
            Some(Candidate {
                label: root.label.clone(),
                bytes: bytes.clone()?,
            })
        })
        .filter(|candidate| candidate.label.starts_with("//types/"))
        .collect()
}

impl Investigate {
    fn look_into(&self, desk: &mut Desk<'_>, question: &str, operation: &mut Operation) -> Result<InvestigateAnswer, Failed> {
        let context = desk.context;
        let root = desk.open_to_build()?.0.root.clone();
        let step = |operation: &mut Operation, state: Stage, event: String| record_progress(context, &root, operation, state, event);
        step(operation, Stage::Gathering, format!("gathers what is in {}", self.scope.join(" ")));
        // Names are looked up in the index of types.
        desk.outputs_of_labels(&["//index:types".to_owned()], true)?;
        let mut patterns = Vec::new();
        for scope in &self.scope {
            patterns.extend(resolve_scope(desk, scope)?);
        }
        let report = desk.outputs_of_labels(&patterns, true)?;
        let candidates = candidates_of(&report);
        let (workspace, session) = desk.open_to_build()?;
        let withheld = WithheldFiles::new(&workspace.root, &never_send(session));
        let material = gather(session, question, candidates, self.budget, &withheld)?;
        let stale = stale(session, &material)?;
        if material.shown == 0 {
            let why = nothing_shown(&material, self.budget).label(&operation.label);
            operation.error = Some(diagnostic::diagnostic_json(&why));
            step(operation, Stage::Failed, why.message.clone());
            return Err(Failed::new(Code::Usage, why));
        }
        step(operation, Stage::Asking, describe_material(&material));
        let label = operation.label.clone();
        let params = params(question, self.model.as_deref(), session);
        let wanted = AdHocRequest {
            label: &label,
            uses: "investigate",
            params: &params,
            roles: &material.roles,
            fresh: self.fresh,
        };
        let made = match session.produce_ad_hoc(&wanted, &context.cancel())? {
            Ok(made) => made,
            Err(failure) => {
                if let Failure::Rejected(rejected) = &failure {
                    operation.rejected = Some(String::from_utf8_lossy(&rejected.raw).into_owned()).filter(|raw| !raw.is_empty());
                }
                let (code, why) = as_failed(failure, &label);
                operation.error = Some(diagnostic::diagnostic_json(&why));
                step(operation, Stage::Failed, why.message.clone());
                return Err(Failed::new(code, why));
            }
        };
        context.say(
            &made
                .diagnostics
                .iter()
                .cloned()
                .map(|diagnostic| diagnostic.label(&label))
                .collect::<Vec<_>>(),
        );
        let mut findings: Findings = serde_json::from_slice(&made.bytes).map_err(|error| {
            let why = Diagnostic::error(ErrorCode::E_ANSWER, format!("the stored answer cannot be read: {error}")).label(&label);
            Failed::new(Code::TargetFailed, why.hint("ask again with --fresh"))
        })?;
        let mut state = self.state_of_material(&material, stale, &findings).of_workspace(&*desk.flaws()?);
        if !desk.other_names()?.is_empty() {
            state.notes.push(CSHARP_ALONE.to_owned());
        }
        findings.left_out = material.left_out;
        operation.result = Some(serde_json::json!(findings));
        let cost = match (&made.spent, made.cached) {
            (_, true) => "was asked before about the same code: free".to_owned(),
            (Some(spent), false) => money::spent(spent),
            (None, false) => "asked no model".to_owned(),
        };
        step(operation, Stage::Done, cost);
        Ok(InvestigateAnswer {
            op_id: operation.op_id.clone(),
            label,
            cached: made.cached,
            spent: made.spent,
            answer: Some(findings),
            state,
        })
    }

    /// Returns freshness and completeness of the shown material, with the number of `stale` summaries.
    fn state_of_material(&self, material: &Material, stale: usize, findings: &Findings) -> symbols::AnswerState {
        let (shown, withheld) = (material.shown, material.withheld.len());
        let left_out = &material.left_out;
        let names: Vec<&str> = left_out.iter().take(LEFT_OUT).map(String::as_str).collect();
        let more = match left_out.len().saturating_sub(LEFT_OUT) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let names = names.join(", ");
        let why = format!("types of the scope do not fit the budget ({names}{more}): raise it or narrow the scope");
        let mut state = symbols::AnswerState::default().cut(shown, shown + left_out.len(), &why);
        if withheld > 0 {
            state = state.lacking(&[format!(
                "{withheld} types of the scope are in files that are never sent, and were not shown"
            )]);
        }
        if stale > 0 {
            let why = format!(
                "{stale} summaries that were shown are of earlier versions: `semantic` rebuilds them, with --refresh where a model does"
            );
            state = state.as_of(symbols::Freshness::Stale, why);
        }
        if findings.evidence.is_empty() {
            let why = format!("the answer names no evidence in the {shown} types that were shown");
            state.notes.push(why);
        }
        state
    }
}

/// Counts the shown summaries of earlier versions.
fn stale(session: &mut Session, material: &Material) -> Result<usize, Failed> {
    let summaries = material.roles.get("summary").into_iter().flatten();
    let nodes: Vec<NodeId> = summaries.filter_map(|summary| session.graph.find(&summary.label)).collect();
    let (statuses, _) = session.statuses_and_outlook(&nodes)?;
    Ok(statuses.iter().filter(|status| status.state != NodeState::Current).count())
}

/// Records an event and the new state of an operation.
fn record_progress(context: &RequestContext, root: &Path, operation: &mut Operation, state: Stage, event: String) {
    context.print_status(&format!("{}: {event}", operation.op_id));
    operation.state = state;
    operation.events.push(event);
    if let Err(error) = operation.write_operation(root) {
        let why = format!("the operation cannot be written down: {error}");
        context.say(&[Diagnostic::warning(ErrorCode::W_OPERATION, why).label(&operation.label)]);
    }
}

fn describe_material(material: &Material) -> String {
    format!(
        "shows {}, about {} tokens; {} more did not fit{}",
        plural(material.shown as u64, "type"),
        material.tokens,
        material.left_out.len(),
        match material.withheld.len() {
            0 => String::new(),
            number => format!(", {number} are in files that are never sent"),
        }
    )
}

/// Explains why no type can be shown, so that no model is called.
fn nothing_shown(material: &Material, budget: u64) -> Diagnostic {
    let why = |message: String, hint: &str| Diagnostic::error(ErrorCode::E_NOTHING_SHOWN, message).hint(hint);
    match (material.left_out.len(), material.withheld.len()) {
        (0, 0) => why(
            "there is no type in the scope".to_owned(),
            "name a namespace or a type: --scope NAME",
        ),
        (0, withheld) => why(
            format!("nothing in the scope may be shown: {withheld} of its types are in files that are never sent"),
            "choose another --scope, or change never_send of the producer",
        ),
        (left_out, _) => why(
            format!("none of {left_out} types of the scope fits into {budget} tokens"),
            "raise --budget or narrow --scope",
        ),
    }
}

/// Resolves a scope: a pattern stays as it is, a name resolves to the types of that namespace, or else to the types of that name.
fn resolve_scope(desk: &mut Desk<'_>, scope: &str) -> Result<Vec<String>, Failed> {
    if scope.starts_with("//") || scope.starts_with("-//") {
        let last = scope.rsplit('/').next().unwrap_or_default();
        return Ok(vec![match last.contains(':') {
            true => scope.to_owned(),
            false => format!("{scope}:outline"),
        }]);
    }
    for pattern in [format!("//types/{scope}.*:outline"), format!("//types/{scope}:outline")] {
        // A text that is not a label may be a name.
        if let Ok(patterns) = build::patterns(std::slice::from_ref(&pattern))
            && !desk
                .open_to_build()?
                .1
                .survey(patterns.patterns(), Reach::Named)?
                .targets
                .concat()
                .is_empty()
        {
            return Ok(vec![pattern]);
        }
    }
    found_by_name(desk, Investigate::NAME, scope, "outline")
}

fn params(question: &str, model: Option<&str>, session: &Session) -> Params {
    let mut params = Params::new();
    params.insert("question".to_owned(), question.into());
    let manifest = session.rules.manifest();
    let summaries = manifest.producers.iter().find(|producer| producer.uses == "semantic");
    let of_summaries = summaries
        .and_then(|producer| producer.settings.get("model"))
        .and_then(|model| model.as_str());
    if let Some(model) = model.or(of_summaries) {
        params.insert("model".to_owned(), model.into());
    }
    params
}

pub(super) fn as_failed(failure: Failure, label: &str) -> (Code, Diagnostic) {
    let (code, why) = match failure {
        Failure::Permanent(why) | Failure::Transient(why) => (Code::TargetFailed, *why),
        Failure::Rejected(rejected) => match ErrorCode::parse(&rejected.why.code) {
            Some(ErrorCode::E_LIMIT) => (Code::Limit, rejected.why),
            Some(ErrorCode::E_CANCELLED) => (Code::Interrupted, rejected.why),
            _ => (Code::TargetFailed, rejected.why),
        },
        Failure::Limit(why) if why.code == ErrorCode::E_LIMIT => (Code::Limit, *why),
        Failure::Limit(why) => (Code::TargetFailed, *why),
        Failure::Deferred => {
            let why = Diagnostic::new(
                Severity::Note,
                ErrorCode::N_DEFERRED,
                "it was handed to the provider's batch interface",
            );
            (Code::Ok, why.hint("ask the same again later"))
        }
        Failure::Awaited => (
            Code::Ok,
            Diagnostic::new(Severity::Note, ErrorCode::N_DEFERRED, "it waits for an agent"),
        ),
        Failure::Cancelled => (Code::Interrupted, Diagnostic::error(ErrorCode::E_CANCELLED, "it was stopped")),
    };
    (code, why.label(label))
}

/// Most omitted types that a note names.
const LEFT_OUT: usize = 5;

pub(super) fn format_findings(findings: &Findings, notes: &[String], style: Style) -> String {
    let mut text = format!("{}\n", printable(&findings.conclusion));
    if !findings.evidence.is_empty() {
        text.push_str(&format!("\n{}\n", style.bold("Evidence")));
    }
    for evidence in &findings.evidence {
        let member = evidence.member.as_ref().map_or(String::new(), |member| format!(".{member}"));
        let name = style.cyan(&printable(&format!("{}{member}", evidence.key)));
        text.push_str(&format!("  {name} {}\n", printable(&evidence.text)));
    }
    if !findings.paths.is_empty() {
        text.push_str(&format!("\n{}\n", style.bold("Paths")));
    }
    for path in &findings.paths {
        text.push_str(&format!("  {}\n", printable(path)));
    }
    let mut remarks = Vec::new();
    if findings.dropped > 0 {
        remarks.push(format!(
            "{} pieces of evidence named nothing that was shown, and were dropped",
            findings.dropped
        ));
    }
    for remark in remarks.iter().chain(notes) {
        text.push_str(&format!("\n{}\n", style.dim(&printable(remark))));
    }
    text
}
