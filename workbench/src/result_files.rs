//! Export and import of results: the results of a pattern with all their inputs into a file, and from a file into a store.

use engine::build::session::Session;
use engine::graph::NodeId;
use engine::store::parcel::{self, Parcel, ParcelError, Writer};
use engine::store::records::{Class, NewResult};
use engine::store::{Commit, Store, StoreError, ViewId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeSet, HashSet};
use std::path::Path;

/// Bytes of results that are stored in one commit.
const BATCH: usize = 16 << 20;

/// The reason why an export or import failed.
#[derive(Debug, thiserror::Error)]
pub enum ResultFileError {
    /// The store cannot be read or written.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The file cannot be read or written.
    #[error(transparent)]
    Parcel(#[from] ParcelError),
}

/// The report of an export.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Exported {
    /// Nodes that the patterns match.
    pub targets: u64,
    /// Results, including those of inputs.
    pub actions: u64,
    /// Paid results among them.
    pub paid: u64,
    /// Nodes on the way whose result the store does not have.
    pub missing: u64,
    /// Length of the file in bytes.
    pub bytes: u64,
}

/// Whether a file begins like an export.
pub fn is_export(bytes: &[u8]) -> bool {
    parcel::is_parcel(bytes)
}

/// Writes the results of nodes, as they are, and of all their inputs. Fails when the store cannot be read or the file cannot be written.
pub fn export(session: &Session, wanted: Vec<NodeId>, path: &Path) -> Result<Exported, ResultFileError> {
    let graph = &session.graph;
    let mut exported = Exported {
        targets: wanted.len() as u64,
        ..Exported::default()
    };
    let (mut seen, mut todo) = (HashSet::new(), wanted);
    let mut keys = BTreeSet::new();
    while let Some(id) = todo.pop() {
        if seen.insert(id) {
            let node = graph.node(id);
            todo.extend(node.reads());
            if session.rules.find(&node.label).is_some() {
                if let Some(filed) = node.result {
                    keys.insert(filed.key);
                } else {
                    exported.missing += 1;
                }
            }
        }
    }
    let store = &session.engine.store;
    let mut writer = Writer::create(path)?;
    for key in keys {
        let Some(record) = store.action(&key)? else {
            exported.missing += 1;
            continue;
        };
        exported.actions += 1;
        exported.paid += u64::from(record.class == Class::Paid);
        let output = store.blob(&record.output)?;
        let parts: Vec<_> = record.parts.iter().map(|part| store.blob(part)).collect::<Result<_, _>>()?;
        writer.add_result(&key, &record, output.as_deref(), &parts)?;
    }
    exported.bytes = writer.finish_parcel(path)?;
    Ok(exported)
}

/// The report of an import.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Imported {
    /// Stored results.
    pub actions: u64,
    /// Results that were stored already; they stay as they are.
    pub known: u64,
    /// Paid results that were not requested, and results without their output.
    pub refused: u64,
}

/// Stores the results of a file. None replaces a stored one. Paid results are imported only with `paid`, because no build can repeat them to check
/// that they are right. Fails when the file is incomplete (results before the fault stay) or the store cannot be written.
pub fn import(store: &dyn Store, parcel: Parcel, paid: bool, now: u64) -> Result<Imported, ResultFileError> {
    let mut imported = Imported::default();
    let (mut batch, mut size) = (Vec::<NewResult>::new(), 0);
    let file = |batch: &mut Vec<NewResult>| {
        let commit = Commit {
            results: std::mem::take(batch),
            ..Commit::default()
        };
        store.commit(ViewId(0), commit)
    };
    parcel::unpack_results::<ResultFileError>(parcel, now, |result| {
        if store.action(&result.key)?.is_some() {
            imported.known += 1;
            return Ok(());
        }
        let is_paid = result.record.class == Class::Paid;
        if is_paid && (!paid || result.blob.is_none() && !store.has_blob(&result.record.output)?) {
            imported.refused += 1;
            return Ok(());
        }
        size += 512 + result.blobs().map(|(_, blob)| blob.len()).sum::<usize>();
        imported.actions += 1;
        batch.push(result);
        if size >= BATCH {
            size = 0;
            file(&mut batch)?;
            store.release_if_wanted();
        }
        Ok(())
    })?;
    file(&mut batch)?;
    Ok(imported)
}
