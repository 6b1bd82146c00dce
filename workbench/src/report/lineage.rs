//! Versions of a target, each with its difference from the one before: the output, the inputs, and the source files behind them.

use crate::builds::Past;
use crate::error::WorkbenchError;
use crate::versions::{self, InputChange, Version, blob_of_version, input_changes};
use crate::workspace::Workspace;
use engine::build::engine::EngineError;
use engine::build::file_path;
use engine::build::session::Session;
use engine::store::StoreError;
use engine::store::records::ActionRecord;
use engine::values::digest::Digest;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

/// Bytes before and after.
type BeforeAndAfter = (Arc<[u8]>, Arc<[u8]>);

/// Digests before and after, if any.
type FromTo = (Option<Digest>, Option<Digest>);

/// Limit of versions of a target that are compared.
const VERSIONS: usize = 6;

/// Limit of inputs of one version whose bytes are reported.
const INPUTS: usize = 12;

/// Limit of source files of one version that are reported.
const FILES: usize = 6;

/// Limit of source files that are looked up in total: each may run git.
const LOOKUPS: usize = 40;

/// Limit of results that are followed from one version down to source files.
const STEPS: usize = 400;

/// Bytes, if they are still available.
pub type AvailableBytes = Option<Arc<[u8]>>;

/// The versions of a target.
#[derive(Debug)]
pub struct Lineage {
    pub label: Arc<str>,
    /// The newest versions, the newest first.
    pub versions: Vec<Version>,
    /// Number of older versions.
    pub older: usize,
    /// Difference of each version from the version before, in their order; the very first version has none.
    pub changes: Vec<VersionDifference>,
}

/// The difference of a version from the one before.
#[derive(Debug)]
pub struct VersionDifference {
    pub numbers: (i64, i64),
    pub outputs: (AvailableBytes, AvailableBytes),
    /// The inputs whose digests differ, with their outputs; `None` when the inputs of either are unknown.
    pub inputs: Option<Vec<(InputChange, AvailableBytes, AvailableBytes)>>,
    /// Number of further differing inputs.
    pub more_inputs: usize,
    /// The source files behind them.
    pub files: Vec<SourceChange>,
    /// Number of further source files.
    pub more_files: usize,
}

/// A source file that was read with other content.
#[derive(Debug)]
pub struct SourceChange {
    pub path: String,
    /// Whether the older version read the file.
    pub before: bool,
    /// Whether the newer version reads the file.
    pub after: bool,
    /// Bytes of the file before and after, if both are available.
    pub bytes: Option<BeforeAndAfter>,
}

/// Finds earlier bytes of source files, within a limit for the whole report.
pub struct Sources<'s> {
    past: Past<'s>,
    left: usize,
}

impl<'s> Sources<'s> {
    /// Creates one that searches the store, the workspace and git.
    pub fn new(root: &'s Path, session: &'s Session) -> Result<Self, WorkbenchError> {
        let past = Past::new(root, session, &[]).map_err(EngineError::from)?;
        Ok(Self { past, left: LOOKUPS })
    }

    fn change_of_source(&mut self, path: String, from: Option<Digest>, to: Option<Digest>) -> Result<SourceChange, StoreError> {
        let mut bytes = None;
        if let (Some(from), Some(to)) = (&from, &to)
            && self.left > 0
        {
            self.left -= 1;
            bytes = self.past.change_of_file(&path, from, to)?.map(|change| (change.from, change.to));
        }
        Ok(SourceChange {
            path,
            before: from.is_some(),
            after: to.is_some(),
            bytes,
        })
    }
}

/// Returns the versions of a target; `None` when it has none.
pub fn lineage(
    workspace: &Workspace,
    session: &Session,
    label: &Arc<str>,
    sources: &mut Sources<'_>,
) -> Result<Option<Lineage>, WorkbenchError> {
    let all = versions::lineage(&workspace.root, session, label)?;
    if all.is_empty() {
        return Ok(None);
    }
    let older = all.len().saturating_sub(VERSIONS);
    let mut changes = Vec::new();
    for pair in all[older.saturating_sub(1)..].windows(2).rev() {
        let (from, to) = (&pair[0], &pair[1]);
        let mut change = VersionDifference {
            numbers: (from.number, to.number),
            outputs: (
                blob_of_version(session, Some(&from.output))?,
                blob_of_version(session, Some(&to.output))?,
            ),
            inputs: None,
            more_inputs: 0,
            files: Vec::new(),
            more_files: 0,
        };
        if let (Some(before), Some(after)) = (&from.record, &to.record) {
            let moved = input_changes(before, after);
            change.more_inputs = moved.len().saturating_sub(INPUTS);
            let mut inputs = Vec::new();
            for one in moved.into_iter().take(INPUTS) {
                let bytes = (
                    blob_of_version(session, one.from.as_ref())?,
                    blob_of_version(session, one.to.as_ref())?,
                );
                inputs.push((one, bytes.0, bytes.1));
            }
            change.inputs = Some(inputs);
            let files = files_behind(session, before, after).map_err(EngineError::from)?;
            change.more_files = files.len().saturating_sub(FILES);
            for (path, (from, to)) in files.into_iter().take(FILES) {
                change
                    .files
                    .push(sources.change_of_source(path, from, to).map_err(EngineError::from)?);
            }
        }
        changes.push(change);
    }
    Ok(Some(Lineage {
        label: label.clone(),
        versions: all.into_iter().skip(older).rev().collect(),
        older,
        changes,
    }))
}

/// Returns the source files behind the difference of two results, with the digests that each of them read: follows differing inputs, as far as
/// History and the records of results reach.
fn files_behind(session: &Session, from: &ActionRecord, to: &ActionRecord) -> Result<BTreeMap<String, FromTo>, StoreError> {
    let (store, view) = (&session.engine.store, session.engine.view);
    let mut files = BTreeMap::new();
    let mut seen: BTreeSet<Arc<str>> = BTreeSet::new();
    let mut todo = vec![input_changes(from, to)];
    let mut steps = 0;
    while let Some(moved) = todo.pop() {
        for one in moved {
            if let Some(path) = file_path(&one.label) {
                files.insert(path, (one.from, one.to));
                continue;
            }
            let (Some(from), Some(to)) = (one.from, one.to) else { continue };
            if steps == STEPS || !seen.insert(one.label.clone()) {
                continue;
            }
            steps += 1;
            let history = store.history(view, &one.label)?;
            let last = |wanted: Digest, before: usize| history[..before].iter().rposition(|version| version.output == wanted);
            let Some(made) = last(to, history.len()) else { continue };
            let Some(earlier) = last(from, made) else { continue };
            if let (Some(then), Some(now)) = (store.action(&history[earlier].key)?, store.action(&history[made].key)?) {
                todo.push(input_changes(&then, &now));
            }
        }
    }
    Ok(files)
}
