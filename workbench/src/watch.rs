//! Reports of a watch: changed files and members, the number of possibly stale targets, and the targets to build ahead.

use crate::paid::is_paid;
use crate::status::is_type_summary;
use crate::window::state::Window;
use engine::build::engine::EngineError;
use engine::build::query::NodeState;
use engine::build::session::Session;
use engine::build::state::CurrentRequest;
use engine::build::{file_label, file_path};
use engine::graph::stale::spread_stale_marks;
use engine::graph::{Graph, NodeId};
use engine::store::{Part, Store, ViewId};
use engine::values::cbor::decode;
use engine::values::diagnostic::Diagnostic;
use engine::values::digest::Digest;
use engine::values::label::{escape, unescape};
use engine::values::pattern::PatternSet;
use engine::values::table::Table;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

/// Number of requests that are built ahead.
const HOT: usize = 3;

/// Number of recently viewed types of the window that are built ahead.
const RECENT: usize = 16;

/// Limit of changed files whose members are compared.
const MOST_FILES: usize = 50;

/// The change of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FileChangeKind {
    /// The file became a source.
    Added,
    /// The file's bytes changed.
    Edited,
    /// The file is no longer a source.
    Removed,
    /// The file is again as last built.
    Back,
    /// A checkout changed the file, and a build read it before the watch reported it.
    Built,
}

#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct ChangedFile {
    pub path: String,
    pub change: FileChangeKind,
}

/// The changes reported so far, so that each batch reports only its own.
#[derive(Debug, Default)]
pub struct ReportedChanges {
    generation: u64,
    files: BTreeMap<String, Option<Digest>>,
}

impl ReportedChanges {
    /// Returns the changes since the last call, as a session sees them.
    pub fn news(&mut self, session: &Session) -> Vec<ChangedFile> {
        let now: BTreeMap<String, Option<Digest>> = session
            .refresh
            .changes
            .iter()
            .map(|change| (change.path.clone(), change.to))
            .collect();
        let mut news = Vec::new();
        for change in &session.refresh.changes {
            if self.files.get(&change.path) != Some(&change.to) {
                let kind = match (change.from, change.to) {
                    (None, _) => FileChangeKind::Added,
                    (_, None) => FileChangeKind::Removed,
                    _ => FileChangeKind::Edited,
                };
                news.push(ChangedFile {
                    path: change.path.clone(),
                    change: kind,
                });
            }
        }
        // A change that disappeared was built, or was reverted.
        if session.state.generation == self.generation {
            let back = self.files.keys().filter(|path| !now.contains_key(*path));
            news.extend(back.map(|path| ChangedFile {
                path: path.clone(),
                change: FileChangeKind::Back,
            }));
        }
        news.sort_by(|a, b| a.path.cmp(&b.path));
        (self.generation, self.files) = (session.state.generation, now);
        news
    }

    /// Returns the sources changed by a checkout that a build has taken in since the last call of [`Self::news`].
    pub fn sources_from_checkout(&self, session: &Session, checked_out: &BTreeSet<String>) -> Vec<ChangedFile> {
        if session.state.generation == self.generation {
            return Vec::new();
        }
        let changed = |path: &str| session.refresh.changes.iter().any(|change| change.path == path);
        let taken = checked_out
            .iter()
            .filter(|path| session.sources.digest(path).is_some() && !changed(path));
        taken
            .map(|path| ChangedFile {
                path: path.clone(),
                change: FileChangeKind::Built,
            })
            .collect()
    }

    /// Marks everything reported so far as built.
    pub fn built(&mut self, session: &Session) {
        self.generation = session.state.generation;
        self.files.clear();
    }
}

/// Counts the targets that may be stale.
pub fn stale_targets(session: &Session) -> usize {
    let maybe_stale = spread_stale_marks(&session.graph, &session.links);
    let is_target = |id: &NodeId| {
        let label = &session.graph.node(*id).label;
        file_path(label).is_none() && session.rules.find(label).is_some()
    };
    maybe_stale.iter().filter(is_target).count()
}

/// The part of a type that an edit changed (seed 000 §13).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ChangedPart {
    /// Declarations of the type.
    Structure,
    /// Code of the type's members.
    Body,
    Documentation,
    /// White space, comments or order only.
    Layout,
}

impl ChangedPart {
    /// The targets whose outputs show a change, each with its kind.
    const TARGETS: [(&'static str, Self); 3] = [
        ("structure", Self::Structure),
        ("impl", Self::Body),
        ("xmldoc", Self::Documentation),
    ];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Structure => "structure",
            Self::Body => "body",
            Self::Documentation => "documentation",
            Self::Layout => "layout only",
        }
    }
}

/// The change of one type by an edit.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Edited {
    #[serde(rename = "type")]
    pub name: String,
    pub kinds: Vec<ChangedPart>,
}

/// Summaries that an edit reaches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Reached {
    /// Number of stale ones.
    pub stale: usize,
    /// Number of maybe stale ones.
    pub maybe_stale: usize,
}

/// Returns the targets to build, without cost, so that it is certain which summaries an edit reaches; `None` if no model writes them: the build would
/// then build the summaries themselves.
pub fn settling_patterns(session: &Session) -> Option<PatternSet> {
    let is_paid = |label: &str| label.ends_with(":semantic") && is_type_summary(session, label) && is_paid(session, label);
    let mut labels = session.graph.iter().map(|(_, node)| &*node.label);
    labels
        .any(is_paid)
        .then(|| PatternSet::parse(&["//types/...:semantic".to_owned()]).ok())
        .flatten()
}

/// Counts the stale summaries of types, as `status` does, after all free targets of the edited types were built.
pub fn reached(session: &mut Session) -> Result<Reached, EngineError> {
    let mut summaries = Vec::new();
    session.graph.each_label(|id, label| {
        if label.ends_with(":semantic") {
            summaries.push(id);
        }
    });
    summaries.retain(|&id| session.graph.has_result(id) && is_type_summary(session, &session.graph.node(id).label));
    if summaries.is_empty() {
        return Ok(Reached::default());
    }
    let mut reached = Reached::default();
    for summary in session.statuses_and_outlook(&summaries)?.0 {
        match summary.state {
            NodeState::Stale => reached.stale += 1,
            NodeState::MaybeStale => reached.maybe_stale += 1,
            _ => {}
        }
    }
    Ok(reached)
}

/// The members of the types in some files, as they were last built.
#[derive(Debug, Default)]
pub struct Members {
    /// By label of the table: its output.
    tables: BTreeMap<String, Option<Arc<[u8]>>>,
    /// By label of a target in [`ChangedPart::TARGETS`], or of dependencies: its last output.
    digests: BTreeMap<String, Digest>,
}

impl Members {
    /// Reads those of the types that the graph builds from these files.
    pub fn from_session(session: &Session, paths: &[ChangedFile]) -> Result<Self, EngineError> {
        let mut tables = BTreeMap::new();
        if paths.len() > MOST_FILES {
            return Ok(Self::default());
        }
        let mut todo: Vec<NodeId> = paths
            .iter()
            .filter_map(|moved| session.graph.find(&file_label(&moved.path)))
            .collect();
        let mut seen: BTreeSet<NodeId> = todo.iter().copied().collect();
        while let Some(id) = todo.pop() {
            for reader in session.links.readers(id) {
                let label = session.graph.node(reader).label.clone();
                if let Some(whole) = label.strip_prefix("//types/").and_then(|rest| rest.strip_suffix(":complete")) {
                    tables.entry(format!("//types/{whole}:members")).or_insert(None);
                } else if label.starts_with("//files/") && seen.insert(reader) {
                    todo.push(reader);
                }
            }
        }
        for (label, table) in &mut tables {
            let filed = session.graph.find(label).and_then(|id| session.graph.node(id).result);
            if let Some(filed) = filed {
                *table = session.engine.store.output(&filed.output)?;
            }
        }
        let mut digests = BTreeMap::new();
        for table in tables.keys() {
            // A summary also depends on the types that its type refers to.
            for target in ChangedPart::TARGETS.map(|(target, _)| target).into_iter().chain(["deps"]) {
                let label = of_type(table, target);
                let filed = session.graph.find(&label).and_then(|id| session.graph.node(id).result);
                digests.extend(filed.map(|filed| (label, filed.output)));
            }
        }
        Ok(Self { tables, digests })
    }

    /// Returns the patterns to build to learn their present state; `None` if there are no patterns.
    pub fn patterns(&self) -> Option<PatternSet> {
        let labels: Vec<String> = self.tables.keys().chain(self.digests.keys()).cloned().collect();
        (!labels.is_empty()).then(|| PatternSet::parse(&labels).ok()).flatten()
    }

    /// Removes the types whose tables can no longer be built, as their file was removed. Returns whether there were any.
    pub fn drop_removed_types(&mut self, refused: &[Diagnostic]) -> bool {
        let before = self.tables.len();
        self.tables
            .retain(|label, _| refused.iter().all(|why| why.label.as_deref() != Some(label.as_str())));
        let tables = &self.tables;
        self.digests.retain(|label, _| {
            label
                .rsplit_once(':')
                .is_some_and(|(name, _)| tables.contains_key(&format!("{name}:members")))
        });
        self.tables.len() < before
    }

    /// Returns the changes of each type that was known before.
    pub fn edited(&self, session: &Session) -> Vec<Edited> {
        let changed = |label: &str, before: &Digest| {
            let filed = session.graph.find(label).and_then(|id| session.graph.node(id).result);
            filed.is_some_and(|filed| filed.output != *before)
        };
        let mut edited = Vec::new();
        for table in self.tables.keys() {
            let known: Vec<(String, ChangedPart)> = ChangedPart::TARGETS.map(|(target, kind)| (of_type(table, target), kind)).into();
            if known.iter().any(|(label, _)| !self.digests.contains_key(label)) {
                continue;
            }
            let kinds = known.iter().filter(|(label, _)| changed(label, &self.digests[label]));
            let mut kinds: Vec<ChangedPart> = kinds.map(|(_, kind)| *kind).collect();
            if kinds.is_empty() {
                kinds.push(ChangedPart::Layout);
            }
            edited.push(Edited {
                name: unescape(table.trim_start_matches("//types/").trim_end_matches(":members")),
                kinds,
            });
        }
        edited
    }

    /// Returns the members that were added, removed or changed since the tables were built: `Type#Member`.
    pub fn touched(&self, session: &Session) -> Result<Vec<String>, EngineError> {
        let mut touched = Vec::new();
        for (label, before) in &self.tables {
            // Without an earlier table every member would be new.
            let Some(before) = before else { continue };
            let filed = session.graph.find(label).and_then(|id| session.graph.node(id).result);
            let after = filed.map(|filed| session.engine.store.output(&filed.output)).transpose()?.flatten();
            let rows = |blob: &Arc<[u8]>| -> BTreeMap<String, Vec<u8>> {
                let table = Table::open(blob);
                let rows = table.into_iter().flat_map(Table::rows);
                rows.map(|(key, row)| (key.to_owned(), without_place(row))).collect()
            };
            let (before, after) = (rows(before), after.as_ref().map(rows).unwrap_or_default());
            let keys: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
            let name = label.trim_start_matches("//types/").trim_end_matches(":members");
            touched.extend(
                keys.into_iter()
                    .filter(|key| before.get(*key) != after.get(*key))
                    .map(|key| format!("{name}#{key}")),
            );
        }
        Ok(touched)
    }
}

/// Returns the row of a member without its file: a member that only changed its position is not touched.
fn without_place(row: &[u8]) -> Vec<u8> {
    let Ok(mut member) = serde_json::from_slice::<serde_json::Value>(row) else {
        return row.to_vec();
    };
    if let Some(fields) = member.as_object_mut() {
        fields.remove("file");
    }
    member.to_string().into_bytes()
}

/// Returns the label of another target of the type that a table of members belongs to.
fn of_type(members: &str, target: &str) -> String {
    format!("{}{target}", members.trim_end_matches("members"))
}

/// Returns the labels of the outlines of the window's types that the graph knows: pinned ones, and those viewed last.
pub fn window_outlines(root: &Path, graph: &Graph) -> Vec<String> {
    // Ignore a window that cannot be read: commands that show it report that.
    let window = Window::read_window(root).unwrap_or_default();
    let recent = window.recent.iter().take(RECENT).map(|recent| &recent.path);
    let types = window.pinned.iter().map(|pin| &pin.path).chain(recent);
    let outlines: BTreeSet<String> = types.map(|path| format!("//types/{}:outline", escape(path))).collect();
    outlines.into_iter().filter(|label| graph.find(label).is_some()).collect()
}

/// Returns the patterns of the requests that were last found current, newest first.
pub fn recently_current_requests(store: &dyn Store, view: ViewId) -> Result<Vec<Vec<String>>, EngineError> {
    let rows = store.rows(view, Part::Requests)?;
    let mut known: Vec<CurrentRequest> = rows.iter().filter_map(|(_, row)| decode::<CurrentRequest>(row)).collect();
    known.retain(|known| !known.patterns.is_empty());
    known.sort_by(|a, b| (b.at, &a.patterns).cmp(&(a.at, &b.patterns)));
    Ok(known.into_iter().take(HOT).map(|known| known.patterns).collect())
}
