//! Status: the state of a workspace in numbers. Runs and writes nothing.

use crate::edit::disk::Disk;
use crate::edit::edit_counts::EditCounts;
use crate::error::WorkbenchError;
use crate::generating;
use crate::health::Health;
use crate::workspace::Workspace;
use engine::build::engine::EngineError;
use engine::build::outlook::RunForecast;
use engine::build::query::{NodeState, NodeStatus};
use engine::build::ruled_nodes::RuledNodes;
use engine::build::session::Session;
use engine::graph::NodeId;
use engine::manifest::model::Rule;
use engine::manifest::template::Piece;
use engine::planning::rules::target_name;
use engine::store::{Inventory, Usage};
use engine::values::diagnostic::Diagnostic;
use engine::values::pages;
use engine::values::table::Table;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashSet};
use std::path::Path;

/// The target of a summary.
const SUMMARY: &str = "semantic";
/// The table of all types.
const TYPES: &str = "//index:types";

/// Number of nodes of one target name, by state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Stored under their present key.
    pub current: usize,
    /// To be built again.
    pub stale: usize,
    /// Stale if an input that has to be built first gets another output.
    pub maybe_stale: usize,
    /// Without output at their present inputs, although a build requested one: the last try failed, or they wait.
    pub pending: usize,
    /// Being built at this moment.
    pub generating: usize,
    /// Known by name, never built.
    pub none: usize,
}

impl Counts {
    fn count_state(&mut self, state: NodeState) {
        let count = match state {
            NodeState::Current => &mut self.current,
            NodeState::Stale => &mut self.stale,
            NodeState::MaybeStale => &mut self.maybe_stale,
            NodeState::Pending => &mut self.pending,
            NodeState::Generating => &mut self.generating,
            NodeState::None => &mut self.none,
        };
        *count += 1;
    }

    fn add_all(&mut self, other: Self) {
        self.current += other.current;
        self.stale += other.stale;
        self.maybe_stale += other.maybe_stale;
        self.pending += other.pending;
        self.generating += other.generating;
        self.none += other.none;
    }
}

/// Returns the state of a target: that of the engine, or `generating` while a build of this checkout asks a model for it. Every answer about one
/// target takes its state from here.
pub fn target_status(root: &Path, session: &mut Session, label: &str) -> Result<NodeStatus, EngineError> {
    if generating::labels(root).contains(label) {
        return Ok(NodeState::Generating.into());
    }
    session.status_of(label)
}

/// The status of a workspace.
#[derive(Debug, Default)]
pub struct Status {
    /// `[workspace] name`.
    pub name: String,
    pub files: usize,
    /// Sources that were added, removed or changed since the last build.
    pub changed: Vec<String>,
    /// Whether the manifest, a ruleset or a producer's version changed since the last build.
    pub redefined: bool,
    pub nodes: usize,
    /// Nodes by target name.
    pub targets: BTreeMap<String, Counts>,
    /// Runs that are needed to build all targets.
    pub outlook: RunForecast,
    /// Types, as they were last counted.
    pub types: usize,
    /// Types by the state of their summary (seed 000 §3.2).
    pub semantic: Counts,
    /// Health of the workspace's projects.
    pub health: Health,
    /// Diagnostics of current targets, and of reading the sources.
    pub diagnostics: Vec<Diagnostic>,
    /// Reasons why targets failed at their present inputs.
    pub failures: Vec<Diagnostic>,
    /// Usage of the store, if there is one on disk.
    pub usage: Option<Usage>,
    /// Edits of the checkout so far.
    pub edits: EditCounts,
}

/// Computes the status. Fails when the manifest is wrong, or the store or the sources cannot be read.
pub fn status(workspace: &Workspace, session: &mut Session) -> Result<Status, WorkbenchError> {
    let nodes = session.ruled_nodes();
    let ids = &nodes.ids;
    let (statuses, outlook) = session.statuses_and_outlook(ids)?;
    let mut states: Vec<NodeState> = statuses.into_iter().map(|status| status.state).collect();
    let generating = generating::labels(&workspace.root);
    for (&id, state) in ids.iter().zip(&mut states) {
        if !generating.is_empty() && generating.contains(&*session.graph.node(id).label) {
            *state = NodeState::Generating;
        }
    }
    let mut status = Status {
        name: session.rules.manifest().name.clone(),
        files: session.sources.files().len(),
        changed: session.refresh.changes.iter().map(|change| change.path.clone()).collect(),
        redefined: session.is_redefined(),
        nodes: session.graph.len(),
        diagnostics: session.refresh.diagnostics.clone(),
        usage: workspace.disk.as_ref().map(|disk| disk.usage()).transpose()?,
        outlook,
        edits: EditCounts::read_counts(&Disk::new(&workspace.root)),
        ..Status::default()
    };
    let mut of_rules: BTreeMap<u32, Counts> = BTreeMap::new();
    for (&number, state) in nodes.rules.iter().zip(&states) {
        of_rules.entry(number).or_default().count_state(*state);
    }
    for (number, counts) in of_rules {
        let rule = session.rules.rule(number);
        status.targets.entry(target_name(rule).to_owned()).or_default().add_all(counts);
        if target_name(rule) == SUMMARY && is_of_types(rule) {
            status.semantic.add_all(counts);
        }
    }
    // A first build stores its graph only at its end.
    let begun = generating.iter().filter(|label| session.graph.find(label).is_none());
    status.semantic.generating += begun.filter(|label| label.ends_with(":semantic")).count();
    status.types = counted(session)?;
    status.semantic.none += types_without_summary(session, &nodes, status.types)?;
    status.health = Health::from_session(session)?;
    collect_diagnostics(session, ids, &states, &mut status)?;
    Ok(status)
}

/// Whether a target is the summary of a type, as counted in [`Status::semantic`].
pub fn is_type_summary(session: &Session, label: &str) -> bool {
    let found = session.rules.find(label);
    found.is_some_and(|found| {
        let rule = session.rules.rule(found.rule);
        target_name(rule) == SUMMARY && is_of_types(rule)
    })
}

/// Whether a rule's targets belong to types, and not to members.
fn is_of_types(rule: &Rule) -> bool {
    let head = rule.target.pieces.first();
    rule.inner.is_none() && matches!(head, Some(Piece::Text(text)) if text.starts_with("//types/"))
}

/// Counts the types without a summary in the graph: of those with targets, or if `//index:types` has another number of them, `count`, of those that
/// it lists. Targets of a removed type stay in the graph until a build requests them.
fn types_without_summary(session: &Session, nodes: &RuledNodes, count: usize) -> Result<usize, WorkbenchError> {
    let rules = session.rules.manifest().rules.iter();
    let summaries: Vec<Option<bool>> = rules.map(|rule| is_of_types(rule).then(|| target_name(rule) == SUMMARY)).collect();
    // By value: whether the type has a summary; none for what is no type.
    let mut types: Vec<Option<bool>> = vec![None; nodes.values.len()];
    for (&rule, &value) in nodes.rules.iter().zip(&nodes.value_of) {
        types[value as usize] = types[value as usize].max(summaries[rule as usize]);
    }
    let (of, summarised) = (types.iter().flatten().count(), types.iter().flatten().filter(|has| **has).count());
    if count == 0 || of == count {
        return Ok(of - summarised);
    }
    let Some(last) = session.last(TYPES)? else {
        return Ok(of - summarised);
    };
    let listed = session.engine.store.output(&last.result.output)?;
    let Some(table) = listed.as_deref().and_then(Table::open) else {
        return Ok(of - summarised);
    };
    let with_summary: HashSet<&str> = nodes
        .values
        .iter()
        .zip(&types)
        .filter(|(_, has)| **has == Some(true))
        .map(|(name, _)| &**name)
        .collect();
    Ok(table.keys().filter(|key| !with_summary.contains(key)).count())
}

fn counted(session: &Session) -> Result<usize, WorkbenchError> {
    let Some(last) = session.last(TYPES)? else { return Ok(0) };
    let table = session.engine.store.blob(&last.result.output)?;
    Ok(table.as_deref().and_then(pages::count).unwrap_or_default())
}

/// Collects the diagnostics of current targets, and the causes of failures.
fn collect_diagnostics(session: &Session, ids: &[NodeId], states: &[NodeState], status: &mut Status) -> Result<(), WorkbenchError> {
    for (label, remark) in session.remarks()? {
        let place = session.graph.find(&label).and_then(|id| ids.binary_search(&id).ok());
        let Some(at) = place else { continue };
        match states[at] {
            NodeState::Current => status.diagnostics.extend(remark.diagnostics),
            NodeState::Pending => status.failures.extend(remark.failure.map(|failed| failed.diagnostic())),
            _ => {}
        }
    }
    status.diagnostics.sort();
    status.diagnostics.dedup();
    status.failures.sort();
    Ok(())
}
