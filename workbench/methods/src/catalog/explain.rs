//! `explain`: why a target is in its state, and the differences between two builds.

use super::explain_answer::{ChainStep, Explained, ExplainedTarget, FileDiff, FoundAt, Provenance, TargetState};
use super::explanation;
use super::{AsTool, Effect, Method};
use crate::code::Code;
use crate::desk::Desk;
use crate::desk::request_context::RequestContext;
use crate::desk::{build, last_good, names};
use crate::failed::Failed;
use crate::render::{Style, builds as build_pages, diagnostic};
use engine::build::explain::Explanation;
use engine::build::file_path;
use engine::build::input_changes::InputChangeKind;
use engine::build::query::NodeState;
use engine::build::session::Session;
use engine::store::records::ActionRecord;
use engine::values::codes::ErrorCode;
use engine::values::diagnostic::Diagnostic;
use engine::values::digest::Digest;
use engine::values::event::Reason;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use workbench::builds::{self, DiffReason, Difference, FileChange, Past};
use workbench::former_types;
use workbench::generating;
use workbench::versions::{Version, versions};
use workbench::workspace::Workspace;

/// Most causes whose changed lines are shown.
const FILES: usize = 50;

/// Explain why a target is in its state, or how two builds differ. Builds nothing.
///
/// Shows whether the target is current, which inputs changed and why; why it last ran, or which build found its result under its key. The cause is
/// followed down to the source file. If the earlier bytes of the file are available (in the store, or in git by `git cat-file`), the changed lines
/// are shown.
#[derive(Debug, clap::Args, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Explain {
    /// A label, or the name of a type or member: NodeStore is its outline, NodeStore:semantic its summary.
    #[arg(required_unless_present = "diff")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// List the outputs that differ between two builds, given by their numbers in `cortex log`, and the files that caused it.
    #[arg(long, num_args = 2, value_names = ["BUILD_A", "BUILD_B"], conflicts_with = "label")]
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-tool" = false))]
    pub diff: Vec<u64>,
}

impl Method for Explain {
    const NAME: &'static str = "explain";
    const ALSO: &'static [&'static str] = &["node.why"];
    const EFFECT: Effect = Effect::Reads;
    const TOOL: AsTool = AsTool::Under("node");
    const WITHIN: bool = true;
    type Answer = Explained;

    fn answer(&self, desk: &mut Desk<'_>) -> Result<Explained, Failed> {
        let context = desk.context;
        let (workspace, session) = desk.open_to_read()?;
        match (&self.label, &*self.diff) {
            (Some(label), []) => explain_target(context, workspace, session, label).map(|target| Explained::Target(Box::new(target))),
            (None, &[from, to]) => compare_builds(workspace, session, from, to).map(|found| Explained::Builds(Box::new(found))),
            _ => {
                let why = Diagnostic::error(ErrorCode::E_PARAM, "give 'label', or two builds as 'diff'");
                Err(Failed::new(Code::Usage, why.hint("give one of the two")))
            }
        }
    }

    fn text(answer: &Explained) -> String {
        Self::styled(answer, Style::plain())
    }

    fn styled(answer: &Explained, style: Style) -> String {
        match answer {
            Explained::Target(target) => explanation::format_explanation(target, style),
            Explained::Builds(found) => build_pages::difference(found, style),
        }
    }
}

/// Explains the one target that a label refers to.
fn explain_target(context: &RequestContext, workspace: &Workspace, session: &mut Session, label: &str) -> Result<ExplainedTarget, Failed> {
    let label = &*names::label_or_source(session, label)?;
    let patterns = build::patterns(&[label.to_owned()])?;
    let mut explanation = match session.explain(&patterns)? {
        Ok(explained) => explained,
        Err(diagnostics) => {
            last_good::remark_missing(context, workspace, session, None, label)?;
            let code = Code::Usage;
            return Err(Failed { code, diagnostics });
        }
    };
    if !explanation.leaf && generating::labels(&workspace.root).contains(&*explanation.label) {
        explanation.state = NodeState::Generating;
    }
    let failure = explanation.failure.take();
    explanation.failure = failure.and_then(|why| context.placed(&[why]).pop());
    let found = find_result(session, &explanation)?;
    let change = change(workspace, session, &explanation)?;
    let took = explanation.record.as_ref().map(|record| record.took_us);
    let remote = session.remote_choice(&explanation.label, explanation.output.as_ref(), took)?;
    Ok(ExplainedTarget {
        found: found.map(|version| FoundAt {
            build: version.build,
            at: version.at,
        }),
        file: change.map(|change| FileDiff {
            diff: build_pages::diff_lines(&change).concat(),
            path: change.path,
        }),
        former: former_types::former_histories(&workspace.root, session, &explanation.label)?,
        remote,
        ..ExplainedTarget::from_explanation(explanation)
    })
}

impl ExplainedTarget {
    /// Whether the target is a source file or set.
    pub fn is_source(&self) -> bool {
        self.state == TargetState::Source
    }

    /// Whether its result comes from another run under its present key.
    pub fn is_filed(&self) -> bool {
        self.result_from.as_deref() == Some("same_key")
    }

    /// Converts the engine's explanation.
    fn from_explanation(explanation: Explanation) -> Self {
        let is_current = explanation.state == NodeState::Current && !explanation.leaf;
        let result_from = if explanation.is_cached { "same_key" } else { "last_run" };
        Self {
            label: explanation.label.to_string(),
            state: match explanation.leaf {
                true => TargetState::Source,
                false => TargetState::Made(explanation.state),
            },
            result_from: is_current.then(|| result_from.to_owned()),
            found: None,
            file: None,
            output: explanation.output,
            key: explanation.key.map(|key| key.0),
            made: explanation.record.map(Provenance::from_record),
            fields: explanation
                .fields
                .into_iter()
                .map(|field| (field.name.to_owned(), field.value))
                .collect(),
            inputs: explanation.inputs,
            inputs_known: explanation.inputs_known,
            moved: explanation.changes,
            chain: explanation
                .chain
                .into_iter()
                .map(|step| ChainStep {
                    text: step.reason.as_ref().map(ToString::to_string),
                    step,
                })
                .collect(),
            only_if: explanation.gates,
            versions: explanation.versions,
            last_moved: explanation.last_changes,
            last_chain: explanation.last_chain,
            last_redefined: explanation.last_redefined,
            before_collected: explanation.before_collected,
            producer_before: explanation.producer_before,
            failure: explanation.failure.as_ref().map(diagnostic::diagnostic_json),
            waits_for: explanation.waits_for,
            remote: None,
            former: Vec::new(),
        }
    }
}

impl Provenance {
    fn from_record(record: ActionRecord) -> Self {
        Self {
            label: record.label,
            producer: record.producer,
            at: record.made_at,
            took_us: record.took_us,
            bytes: record.len,
            sandbox: record.notes.get("sandbox").cloned(),
            diagnostics: record.diagnostics.iter().map(diagnostic::diagnostic_json).collect(),
        }
    }
}

/// Returns the present version, if a build found it under its key instead of running the target.
fn find_result(session: &Session, explained: &Explanation) -> Result<Option<Version>, Failed> {
    let versions = versions(session, &explained.label)?;
    Ok(versions
        .into_iter()
        .rfind(|version| version.present)
        .filter(|version| version.found))
}

/// Returns the change of the file at the end of the chain.
fn change(workspace: &Workspace, session: &Session, explained: &Explanation) -> Result<Option<FileChange>, Failed> {
    let reason = explained.chain.last().and_then(|step| step.reason.as_ref());
    let last = explained.last_chain.last().or(explained.last_changes.first());
    let (path, from, to): (String, Digest, Digest) = match (reason, last.map(|last| (file_path(&last.label), &last.how))) {
        (Some(Reason::FileChanged { path, from, to }), _) => (path.clone(), *from, *to),
        (None, Some((Some(path), InputChangeKind::Changed { from, to }))) => (path, *from, *to),
        _ => return Ok(None),
    };
    Ok(Past::new(&workspace.root, session, &[])?.change_of_file(&path, &from, &to)?)
}

/// Compares two builds, with the changed lines of the files that caused the differences.
fn compare_builds(workspace: &Workspace, session: &Session, from: u64, to: u64) -> Result<Difference, Failed> {
    let mut difference = builds::difference(session, from, to)?.map_err(|unknown| {
        let numbers: Vec<String> = unknown.iter().map(ToString::to_string).collect();
        let message = format!("the log has no build {}", numbers.join(" and no build "));
        let why = Diagnostic::error(ErrorCode::E_NO_BUILD, message);
        Failed::new(Code::Usage, why.hint("`cortex log` lists what there is"))
    })?;
    let past = Past::new(&workspace.root, session, &[&difference.from, &difference.to])?;
    for cause in difference.causes.iter_mut().take(FILES) {
        if let DiffReason::File {
            path,
            from: Some(from),
            to: Some(to),
        } = &cause.why
        {
            let change = past.change_of_file(path, from, to)?;
            cause.diff = change.map(|change| build_pages::diff_lines(&change).concat());
        }
    }
    Ok(difference)
}
