//! The data of a workspace report: the state of every target, the builds, the graph near one target with the cause of its state, versions with their
//! differences. This module runs and writes nothing; others render the report.

pub mod drawing;
pub mod drawn_nodes;
pub mod lineage;
pub mod timeline;

use crate::error::WorkbenchError;
use crate::spending::{Spending, spending};
use crate::workspace::Workspace;
use drawn_nodes::{Neighbourhood, neighbourhood};
use engine::build::engine::EngineError;
use engine::build::explain::Explanation;
use engine::build::query::NodeState;
use engine::build::session::Session;
use engine::graph::NodeId;
use engine::graph::stale::Marked;
use engine::seams::paid::Spent;
use engine::store::builds::BuildRecord;
use engine::values::codes::ErrorCode;
use engine::values::diagnostic::Diagnostic;
use engine::values::event::Reason;
use engine::values::pattern::{Pattern, PatternSet};
use lineage::{Lineage, Sources, lineage};
use serde::Serialize;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use timeline::timeline;

/// State of a node: that of the engine, with separate states for sources.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum DrawnState {
    /// A build requested the target without success: the last try failed, or it waits.
    Pending,
    /// The target's key changed.
    Stale,
    /// The target is stale if a target that has to be built first gets another output.
    MaybeStale,
    /// The target was never built here.
    None,
    /// A source file or set that changed since the last build.
    Moved,
    /// The output is stored under the target's present key.
    Current,
    /// A source file or set as the last build saw it.
    Source,
}

impl DrawnState {
    /// All states, the most pressing first.
    pub const ALL: [Self; 7] = [
        Self::Pending,
        Self::Stale,
        Self::MaybeStale,
        Self::None,
        Self::Moved,
        Self::Current,
        Self::Source,
    ];
}

/// A node of the graph, as a report shows it.
#[derive(Clone, Debug)]
pub struct ReportTarget {
    pub label: Arc<str>,
    pub state: DrawnState,
    /// Implementation and version of the last result; `None` for sources and targets that were never built.
    pub producer: Option<String>,
    /// Bytes of the last output.
    pub len: Option<u64>,
    /// Microseconds of the last run.
    pub took_us: Option<u64>,
    /// Seconds since 1970 of the run that built the last output.
    pub made_at: Option<u64>,
    /// Cost of the last output.
    pub spent: Option<Spent>,
    /// Number of versions in History.
    pub versions: usize,
    /// Number of versions whose output differs from that of the version before.
    pub moved: usize,
    /// Number of nodes that the node reads.
    pub inputs: usize,
    /// Number of nodes that read the node.
    pub readers: usize,
    /// Whether the node's rule builds many targets.
    pub each: bool,
}

/// A step of the path to the cause of a stale node: the node, and at the end of the path the cause.
#[derive(Clone, Debug)]
pub struct CauseStep {
    pub label: Arc<str>,
    /// The cause, at the end of the path.
    pub reason: Option<Reason>,
}

/// A node of the drawing.
#[derive(Clone, Debug)]
pub struct Drawn {
    /// Index of the node's target.
    pub target: usize,
    /// The path to the cause of the node's staleness, if it is stale.
    pub because: Vec<CauseStep>,
    /// Number of inputs of the node that are not drawn.
    pub more_inputs: usize,
    /// Number of readers of the node that are not drawn.
    pub more_readers: usize,
}

/// The graph near a target.
#[derive(Debug)]
pub struct FocusGraph {
    /// The nodes; the first is the focus.
    pub nodes: Vec<Drawn>,
    /// Edges from an input to its reader, as indices of `nodes`.
    pub edges: Vec<(usize, usize)>,
    /// The path from the target to the cause of its staleness, as indices of `nodes`; empty when it is current.
    pub way: Vec<usize>,
    /// Everything known about the target.
    pub explanation: Explanation,
}

/// The data of a report.
#[derive(Debug)]
pub struct Report {
    /// `[workspace] name`.
    pub name: String,
    pub files: usize,
    /// Source files that changed since the last build.
    pub changed: Vec<String>,
    /// Whether the manifest, a ruleset or a producer's version changed since the last build.
    pub redefined: bool,
    /// Every node, by label.
    pub targets: Vec<ReportTarget>,
    /// Reasons why targets failed at their present inputs.
    pub failures: Vec<Diagnostic>,
    /// The newest builds, the oldest of them first.
    pub builds: Vec<BuildRecord>,
    /// The cost of models.
    pub spending: Spending,
    pub currency: Option<String>,
    /// The graph near one target; `None` when nothing was ever built.
    pub near: Option<FocusGraph>,
    /// Versions of that target first, then of those that changed most often.
    pub lineages: Vec<Lineage>,
}

/// Number of often changed targets whose versions are reported, in addition to the focus.
const LINEAGES: usize = 5;

impl Report {
    /// Gathers everything about the workspace, with the graph near `label`, or else near the hottest target: the one whose output changed most often,
    /// with the longest run among equals; targets of the whole workspace only if there are no others. Fails when the manifest is wrong, or
    /// the store or the sources cannot be read.
    pub fn gather(workspace: &Workspace, label: Option<&str>) -> Result<Self, WorkbenchError> {
        // A dry run settles the nodes that it visits, so read the marks with their causes first.
        let mut session = workspace.session()?;
        let marked: HashMap<NodeId, Marked> = session.marked().into_iter().map(|marked| (marked.node, marked)).collect();
        let reasons: HashMap<NodeId, Reason> = marked
            .values()
            .filter(|marked| marked.via.is_none())
            .map(|marked| (marked.node, session.reason(marked)))
            .collect();
        let survey = Survey::from_session(&mut session)?;
        let focus = match label {
            Some(label) => survey.index_of(label),
            None => survey.hottest(&session),
        };
        let near = match focus {
            Some(focus) => Some(survey.graph_near_focus(workspace, &session, focus, &marked, &reasons)?),
            None => None,
        };
        let mut sources = Sources::new(&workspace.root, &session)?;
        let mut lineages = Vec::new();
        let looked_at = focus.map(|focus| survey.targets[focus].label.clone());
        let gone = label.filter(|_| focus.is_none()).map(Arc::from);
        let others = survey.hot().map(|at| survey.targets[at].label.clone());
        let others = others.filter(|label| Some(label) != looked_at.as_ref()).take(LINEAGES);
        for label in looked_at.iter().cloned().chain(gone).chain(others.collect::<Vec<_>>()) {
            lineages.extend(lineage(workspace, &session, &label, &mut sources)?);
        }
        Ok(Self {
            name: session.rules.manifest().name.clone(),
            files: session.sources.files().len(),
            changed: session.refresh.changes.iter().map(|change| change.path.clone()).collect(),
            redefined: session.is_redefined(),
            failures: survey.failures,
            spending: spending(&session, 0).map_err(EngineError::from)?,
            currency: crate::paid::currency(&session),
            targets: survey.targets,
            near,
            lineages,
            builds: timeline(&session)?,
        })
    }

    /// Counts the targets by state.
    pub fn states(&self) -> BTreeMap<DrawnState, usize> {
        let mut states = BTreeMap::new();
        for target in &self.targets {
            *states.entry(target.state).or_default() += 1;
        }
        states
    }
}

/// Every node of the graph, examined.
struct Survey {
    targets: Vec<ReportTarget>,
    ids: Vec<NodeId>,
    places: HashMap<NodeId, usize>,
    failures: Vec<Diagnostic>,
}

impl Survey {
    fn from_session(session: &mut Session) -> Result<Self, WorkbenchError> {
        let known: Vec<NodeId> = session.graph.iter().map(|(id, _)| id).collect();
        let is_made = |session: &Session, id: &NodeId| session.rules.find(&session.graph.node(*id).label).is_some();
        let (made, leaves): (Vec<NodeId>, Vec<NodeId>) = known.into_iter().partition(|id| is_made(session, id));
        let (statuses, _) = session.statuses_and_outlook(&made)?;
        let statuses = made.iter().zip(&statuses).map(|(id, status)| (*id, reported_state(status.state)));
        let leaf = |id: NodeId| {
            let state = if session.origins.contains(&id) {
                DrawnState::Moved
            } else {
                DrawnState::Source
            };
            (id, state)
        };
        let mut nodes: Vec<(NodeId, DrawnState)> = statuses.chain(leaves.into_iter().map(leaf)).collect();
        nodes.sort_by(|(a, _), (b, _)| session.graph.node(*a).label.cmp(&session.graph.node(*b).label));
        let mut readers: HashMap<NodeId, usize> = HashMap::new();
        for (id, _) in &nodes {
            for read in distinct(session.graph.reads(*id)) {
                *readers.entry(read).or_default() += 1;
            }
        }
        let (store, view) = (&session.engine.store, session.engine.view);
        let mut targets = Vec::with_capacity(nodes.len());
        for &(id, state) in &nodes {
            let node = session.graph.node(id);
            let rule = session.rules.find(&node.label);
            let filed = node.result.filter(|_| rule.is_some());
            let record = filed.map(|filed| store.action(&filed.key)).transpose()?.flatten();
            let history = match filed {
                Some(_) => store.history(view, &node.label)?,
                None => Vec::new(),
            };
            let made = record.as_ref();
            targets.push(ReportTarget {
                label: node.label.clone(),
                state,
                len: made.map(|record| record.len),
                took_us: made.map(|record| record.took_us),
                made_at: made.map(|record| record.made_at),
                spent: made.and_then(|record| record.spent.clone()),
                producer: record.map(|record| record.producer),
                versions: history.len(),
                moved: history.windows(2).filter(|pair| pair[0].output != pair[1].output).count(),
                inputs: distinct(session.graph.reads(id)).len(),
                readers: readers.get(&id).copied().unwrap_or_default(),
                each: rule.is_some_and(|found| session.rules.rule(found.rule).each.is_some()),
            });
        }
        let mut remarks = session.remarks()?;
        let failed = targets.iter().filter(|target| target.state == DrawnState::Pending);
        let failures = failed.filter_map(|target| Some(remarks.remove(&*target.label)?.failure?.diagnostic()));
        Ok(Self {
            failures: failures.collect(),
            places: nodes.iter().enumerate().map(|(at, (id, _))| (*id, at)).collect(),
            ids: nodes.into_iter().map(|(id, _)| id).collect(),
            targets,
        })
    }

    fn index_of(&self, label: &str) -> Option<usize> {
        self.targets.binary_search_by(|target| (*target.label).cmp(label)).ok()
    }

    /// Returns the built targets, the hottest first.
    fn hot(&self) -> impl Iterator<Item = usize> {
        let mut made: Vec<usize> = (0..self.targets.len()).filter(|at| self.targets[*at].versions > 0).collect();
        let heat = |target: &ReportTarget| (target.each, target.moved, target.versions, target.took_us.unwrap_or_default());
        made.sort_by(|a, b| heat(&self.targets[*b]).cmp(&heat(&self.targets[*a])).then(a.cmp(b)));
        made.into_iter()
    }

    /// Returns the hottest target that still has a rule: the others have no graph.
    fn hottest(&self, session: &Session) -> Option<usize> {
        self.hot().find(|at| session.rules.find(&self.targets[*at].label).is_some())
    }

    fn graph_near_focus(
        &self,
        workspace: &Workspace,
        session: &Session,
        focus: usize,
        marked: &HashMap<NodeId, Marked>,
        reasons: &HashMap<NodeId, Reason>,
    ) -> Result<FocusGraph, WorkbenchError> {
        let explanation = explain(workspace, &self.targets[focus].label)?;
        let way: Vec<usize> = explanation.chain.iter().filter_map(|step| self.index_of(&step.label)).collect();
        let mut readers: HashMap<usize, Vec<usize>> = HashMap::new();
        let mut inputs: Vec<Vec<usize>> = Vec::with_capacity(self.ids.len());
        for (at, id) in self.ids.iter().enumerate() {
            let reads = distinct(session.graph.reads(*id)).into_iter();
            let reads: Vec<usize> = reads.filter_map(|read| self.places.get(&read).copied()).collect();
            for &read in &reads {
                readers.entry(read).or_default().push(at);
            }
            inputs.push(reads);
        }
        let weight = |at: usize| {
            let target = &self.targets[at];
            (std::cmp::Reverse(target.state), target.moved, target.versions)
        };
        let found: Neighbourhood = neighbourhood(
            focus,
            &way,
            &|at| inputs[at].clone(),
            &|at| readers.get(&at).cloned().unwrap_or_default(),
            &weight,
        );
        let nodes = found
            .nodes
            .iter()
            .zip(&found.more)
            .map(|(&target, &(more_inputs, more_readers))| Drawn {
                target,
                because: match self.targets[target].state {
                    DrawnState::Current | DrawnState::Source => Vec::new(),
                    _ => self.reasons_of_marks(self.ids[target], session, marked, reasons),
                },
                more_inputs,
                more_readers,
            });
        let place = |target: &usize| found.nodes.iter().position(|node| node == target);
        Ok(FocusGraph {
            nodes: nodes.collect(),
            way: way.iter().filter_map(place).collect(),
            edges: found.edges,
            explanation,
        })
    }

    /// Follows the marks to their origin.
    fn reasons_of_marks(
        &self,
        id: NodeId,
        session: &Session,
        marked: &HashMap<NodeId, Marked>,
        reasons: &HashMap<NodeId, Reason>,
    ) -> Vec<CauseStep> {
        let mut way = Vec::new();
        let mut at = Some(id);
        while let Some(mark) = at.take().and_then(|id| marked.get(&id)) {
            way.push(CauseStep {
                label: session.graph.node(mark.node).label.clone(),
                reason: reasons.get(&mark.node).cloned(),
            });
            at = mark.via;
        }
        way
    }
}

fn reported_state(state: NodeState) -> DrawnState {
    match state {
        NodeState::Current => DrawnState::Current,
        NodeState::Stale => DrawnState::Stale,
        NodeState::MaybeStale => DrawnState::MaybeStale,
        NodeState::None => DrawnState::None,
        NodeState::Pending | NodeState::Generating => DrawnState::Pending,
    }
}

fn distinct(mut nodes: Vec<NodeId>) -> Vec<NodeId> {
    nodes.sort_unstable();
    nodes.dedup();
    nodes
}

/// Returns the explanation of `cortex explain`, from a new session: it needs the marks as they were loaded.
fn explain(workspace: &Workspace, label: &str) -> Result<Explanation, WorkbenchError> {
    let unknown = |why: Vec<Diagnostic>| WorkbenchError::Manifest(why);
    let pattern = Pattern::parse(label).map_err(|why| unknown(vec![Diagnostic::error(ErrorCode::E_LABEL, why.to_string())]))?;
    workspace.session()?.explain(&PatternSet::from(pattern))?.map_err(unknown)
}
