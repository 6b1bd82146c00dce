//! Explains the removal of a target: the build that removed it, and the source files behind that. Reads the log, History and records of results.

use crate::build_log::read_build_log;
use crate::location::MANIFEST;
use crate::packs_file;
use engine::build::file_path;
use engine::build::session::Session;
use engine::build::{shared_records, version_read};
use engine::manifest::model::SetSpec;
use engine::planning::expand::set_node;
use engine::store::StoreError;
use engine::values::digest::{ActionKey, Digest};
use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

/// The cause of a target's removal.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct TargetRemoval {
    /// The number of the build, if the log names it.
    pub build: Option<u64>,
    /// When that build ended, in seconds since 1970.
    pub at: Option<u64>,
    /// When the last version was built, in seconds since 1970.
    pub made: u64,
    /// Source files of the target that no longer exist.
    pub removed: Vec<String>,
    /// Files that declare targets and no longer declare this one: no rule matches it, or its row of a table was removed.
    pub undeclared: Vec<&'static str>,
    /// If both lists above are empty: existing source files that no target reads.
    pub unread: Vec<String>,
    /// If those are empty too: source files with other content now.
    pub changed: Vec<String>,
}

impl TargetRemoval {
    /// Whether the cause is known.
    pub(super) fn is_explained(&self) -> bool {
        !(self.removed.is_empty() && self.undeclared.is_empty() && self.unread.is_empty() && self.changed.is_empty())
    }
}

/// Limit of results that are followed from a target down to its files.
const STEPS: usize = 400;

/// Returns why a target of that label no longer exists; `None` when neither History nor the log knows it, or it exists.
pub fn target_removal(session: &Session, label: &str) -> Result<Option<TargetRemoval>, StoreError> {
    let (store, view) = (&*session.engine.store, session.engine.view);
    if session.graph.find(label).is_some() {
        return Ok(None);
    }
    let last = store.history(view, label)?.pop();
    let builds = read_build_log(store, view)?;
    let mut removal = TargetRemoval {
        made: last.as_ref().map_or(0, |last| last.at),
        ..TargetRemoval::default()
    };
    if let Some(build) = builds.iter().rev().find(|build| build.gone.labels.iter().any(|gone| gone == label)) {
        (removal.build, removal.at) = (Some(build.number), Some(build.end_seconds()));
    }
    let Some(last) = last else {
        // The log has the removal of an evicted target.
        return Ok(removal.build.map(|_| removal));
    };
    let files = files_behind(session, label, last.key)?;
    removal.removed = files.removed;
    removal.undeclared = files_without_target(session, label);
    if removal.removed.is_empty() && removal.undeclared.is_empty() {
        removal.unread = files.unread;
        if removal.unread.is_empty() {
            removal.changed = files.changed;
        }
    }
    Ok(Some(removal))
}

/// The state of the source files behind a result.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Files {
    /// Files that no longer exist.
    pub removed: Vec<String>,
    /// Existing files that no target reads.
    pub unread: Vec<String>,
    /// Files with other content now.
    pub changed: Vec<String>,
}

/// Returns the state of the source files behind a target's result under `key`, as far as records of results lead there.
pub fn files_behind(session: &Session, label: &str, key: ActionKey) -> Result<Files, StoreError> {
    let (store, view) = (&*session.engine.store, session.engine.view);
    let (mut removed, mut unread, mut changed) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
    let mut seen: BTreeSet<Arc<str>> = BTreeSet::new();
    let of_key = store.history(view, label)?.into_iter().rev().find(|version| version.key == key);
    let mut next = VecDeque::from([(Arc::<str>::from(label), key, of_key.and_then(|version| version.build))]);
    for _ in 0..STEPS {
        let Some((label, key, build)) = next.pop_front() else { break };
        let Some(record) = store.action(&key)? else { continue };
        let record = shared_records::record_for(&session.rules, &label, record);
        // Follow removed inputs first; otherwise inputs with another output now, or possibly so.
        let mut inputs: Vec<(Arc<str>, Digest)> = record.inputs.into_iter().map(|input| (input.label, input.digest)).collect();
        if inputs.iter().any(|(input, _)| session.graph.find(input).is_none()) {
            inputs.retain(|(input, _)| session.graph.find(input).is_none());
        }
        for (input, digest) in inputs {
            let node = session.graph.find(&input);
            let now = node.and_then(|id| session.graph.node(id).result);
            let same = now.is_some_and(|filed| filed.output == digest);
            if let Some(path) = file_path(&input) {
                if !is_there(session, &path) {
                    removed.insert(path);
                } else if now.is_none() {
                    unread.insert(path);
                } else if !same {
                    changed.insert(path);
                }
                continue;
            }
            if same && !node.is_some_and(|id| session.graph.is_stale(id)) || !seen.insert(input.clone()) {
                continue;
            }
            let history = store.history(view, &input)?;
            let read = version_read(&history, digest, build).map(|at| &history[at]);
            next.extend(read.map(|version| (input.clone(), version.key, version.build)));
        }
    }
    Ok(Files {
        removed: removed.into_iter().collect(),
        unread: unread.into_iter().collect(),
        changed: changed.into_iter().collect(),
    })
}

/// Whether a file exists, even if it is no longer a source.
fn is_there(session: &Session, path: &str) -> bool {
    let world = &session.engine.world;
    match world.root() {
        Some(root) => root.join(path).symlink_metadata().is_ok(),
        None => world.read(path).is_ok(),
    }
}

/// Returns the files that should declare a target and do not.
fn files_without_target(session: &Session, label: &str) -> Vec<&'static str> {
    let Some(found) = session.rules.find(label) else {
        return vec![MANIFEST];
    };
    let vars = session.rules.vars(found.rule, found.value);
    let Ok(Some((set, item))) = session.rules.membership(found.rule, &vars) else {
        return Vec::new();
    };
    if let SetSpec::List(items) = &*set {
        let is_listed = items.iter().any(|one| one.literal() == Some(&*item));
        return if is_listed { Vec::new() } else { vec![MANIFEST] };
    }
    match set_node(&set, &vars) {
        Ok(Some(table)) if table.as_str() == packs_file::LABEL => vec![MANIFEST, packs_file::FILE],
        Ok(Some(table)) if table.as_str().starts_with("//manifest/") => vec![MANIFEST],
        _ => Vec::new(),
    }
}
