//! Versions in gc: the newest of each node protect their results; versions of nodes that disappeared long ago are removed.
//!
//! A node has disappeared if it is in no graph of any view; long ago if its newest version is older than the policy says and its result was not
//! used since. The build that removes a node counts as a use. Versions without a build (answers to questions, corrections) are in no graph and are
//! kept; so are nodes with a pinned version, and views without a graph.

use super::schema::{self, HISTORY};
use super::sweep::{Marks, Policy};
use super::{DiskStore, write};
use crate::store::records::HistoryRecord;
use crate::store::{Inventory, StoreError, ViewId, codec, superseded};

/// The key of a version's row.
pub(super) type VersionKey = [u8; 28];

/// The versions of a store, as gc treats them.
#[derive(Debug, Default)]
pub(super) struct Versions {
    /// Results that the newest versions protect.
    pub(super) protected: Marks,
    /// Versions of nodes that disappeared long ago.
    pub(super) gone: Vec<VersionKey>,
}

/// The versions of one node, oldest first.
type Node = Vec<(VersionKey, HistoryRecord)>;

impl Versions {
    fn retain_versions(&mut self, node: &Node, policy: &Policy) {
        for (_, version) in node.iter().rev().take(policy.keep_versions) {
            self.protected.mark_result(&version.key, &version.output);
            self.protected
                .mark_result(&superseded::key_of(&version.key, &version.output), &version.output);
        }
    }
}

impl DiskStore {
    pub(super) fn versions(&self, marks: &Marks, policy: &Policy) -> Result<Versions, StoreError> {
        let mut versions = Versions::default();
        let mut old: Vec<Node> = Vec::new();
        let mut node: Node = Vec::new();
        let mut end = |node: Node, versions: &mut Versions| match is_old(&node, marks, policy) {
            true => old.push(node),
            false => versions.retain_versions(&node, policy),
        };
        self.walk(HISTORY, |_, key, _, body| {
            let (Some(version), Ok(key)) = (schema::version_of(key), VersionKey::try_from(key)) else {
                return Ok(());
            };
            if marks.forgotten.contains(&view_of(&key)) {
                return Ok(());
            }
            if node.last().is_some_and(|(before, _)| before[..24] != key[..24]) {
                end(std::mem::take(&mut node), &mut versions);
            }
            if let Ok(record) = codec::decode_history(version, body) {
                node.push((key, record));
            }
            Ok(())
        })?;
        end(node, &mut versions);
        if old.is_empty() {
            return Ok(versions);
        }
        let pinned = self.run_reading(|database| write::pinned_keys(&database.begin_read()?))?;
        // A running build may have found one of them and recorded that.
        let since = self.handle.medium().building_since().unwrap_or(u64::MAX);
        for node in old {
            let Some((_, newest)) = node.last() else { continue };
            let used = self.last_use(&newest.key)?.unwrap_or(0).max(newest.at).min(policy.now);
            let lately = policy.now - used < policy.older_than || used >= since;
            if lately || node.iter().any(|(key, _)| pinned.contains(&key[..])) {
                versions.retain_versions(&node, policy);
            } else {
                versions.gone.extend(node.iter().map(|(key, _)| *key));
            }
        }
        Ok(versions)
    }
}

fn view_of(key: &VersionKey) -> ViewId {
    let (view, _) = key.split_first_chunk().expect("invariant: a key has 28 bytes");
    ViewId(u64::from_be_bytes(*view))
}

/// Whether a build produced a node, it is in no graph, and its newest version is old.
fn is_old(node: &Node, marks: &Marks, policy: &Policy) -> bool {
    let Some((key, newest)) = node.last() else { return false };
    let is_gone = marks.planned.contains(&view_of(key)) && !marks.labels_in_graphs.contains(&key[8..24]);
    is_gone && newest.build.is_some() && policy.now - newest.at.min(policy.now) >= policy.older_than
}

/// Removes versions; returns how many existed.
pub(super) fn remove_versions(database: &redb::Database, keys: &[VersionKey]) -> Result<u64, redb::Error> {
    let mut removed = 0;
    let mut txn = database.begin_write()?;
    txn.set_quick_repair(true);
    {
        let mut table = txn.open_table(HISTORY.definition())?;
        for key in keys {
            removed += u64::from(table.remove(&key[..])?.is_some());
        }
    }
    txn.commit()?;
    Ok(removed)
}
