//! The tables, their names and keys, and the format number. The document is `store-layout.md`; a test ties the two together.

use super::frame;
use crate::store::{Part, ViewId};
use redb::{Database, ReadTransaction, ReadableDatabase, TableDefinition, TableError};

/// The format that this version writes.
pub(super) const FORMAT: u32 = 3;

/// The oldest format that a reader must know to read the present one.
pub(super) const MIN_READER: u32 = 3;

/// A table of bytes to bytes: numbers in keys are big-endian, so that byte order is numeric order.
pub(super) type Definition = TableDefinition<'static, &'static [u8], &'static [u8]>;

/// A table with the form of its keys and values, as in `store-layout.md`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Table {
    /// Its name in redb, with its form number.
    pub(super) name: &'static str,
    /// The form of its keys.
    pub(super) key: &'static str,
    /// The form of its bodies.
    pub(super) value: &'static str,
}

impl Table {
    pub(super) const fn definition(&self) -> Definition {
        TableDefinition::new(self.name)
    }
}

/// The format number and the store's name. This table never changes its form: every later format must be able to read it.
pub(super) const META: Table = Table {
    name: "meta.1",
    key: "name, UTF-8",
    value: "by name",
};
/// Location of each blob.
pub(super) const BLOBS: Table = Table {
    name: "blobs.1",
    key: "digest [32]",
    value: "BlobRecord",
};
/// The bytes of blobs, by sequence number: rising keys pack better than random ones.
pub(super) const BLOB_DATA: Table = Table {
    name: "blob_data.1",
    key: "seq u64, chunk u32",
    value: "bytes",
};
/// Usage of each block of blobs.
pub(super) const BLOCKS: Table = Table {
    name: "blocks.1",
    key: "seq u64",
    value: "blobs u32, their bytes u32, bytes u32",
};
/// Results by action key.
pub(super) const ACTIONS: Table = Table {
    name: "actions.1",
    key: "action key [32]",
    value: "packed ActionRecord",
};
/// Versions of nodes.
pub(super) const HISTORY: Table = Table {
    name: "history.1",
    key: "view u64, label hash [16], version u32",
    value: "HistoryRecord",
};
/// Declares the table of a part: rows of a view by the caller's key, packed.
const fn packed_rows(name: &'static str) -> Table {
    Table {
        name,
        key: "view u64, row key",
        value: "packed row",
    }
}

const NODES: Table = packed_rows("nodes.2");
const LINKS: Table = packed_rows("links.1");
const LOOKUPS: Table = packed_rows("lookups.3");
const STATE: Table = packed_rows("state.1");
const DIRECTORIES: Table = packed_rows("directories.1");
const EXPORTS: Table = packed_rows("exports.1");
const REQUESTS: Table = packed_rows("requests.1");
const MANIFESTS: Table = packed_rows("manifests.1");
/// Remarks about nodes.
pub(super) const REMARKS: Table = packed_rows("remarks.1");
/// Costs of models.
pub(super) const LEDGER: Table = packed_rows("ledger.1");
const EXCHANGE: Table = packed_rows("exchange.1");
const UNCONFIRMED: Table = packed_rows("unconfirmed.1");
const VOLUMES: Table = packed_rows("volumes.1");
/// Corrections by people.
pub(super) const CORRECTIONS: Table = Table {
    name: "corrections.1",
    key: "0 u64, label, 0 u8, view u64",
    value: "packed row",
};
/// The log of builds.
pub(super) const BUILDS: Table = packed_rows("builds.1");

/// The checkouts.
pub(super) const VIEWS: Table = Table {
    name: "views.1",
    key: "view u64",
    value: "packed ViewRecord",
};
/// Pinned versions.
pub(super) const PINS: Table = packed_rows("pins.1");
/// Times at which earlier results were last found again.
pub(super) const LAST_USE: Table = Table {
    name: "last_use.1",
    key: "action key [32]",
    value: "seconds u64",
};
const WATCH: Table = packed_rows("watch.1");

/// Keys and digests that commits relied on while gc ran.
pub(super) const TOUCHED: Table = Table {
    name: "touched.1",
    key: "action key or digest [32]",
    value: "empty",
};

/// Every table of the format.
pub(super) const SCHEMA: [Table; 26] = [
    META, BLOBS, BLOB_DATA, BLOCKS, ACTIONS, HISTORY, NODES, LINKS, LOOKUPS, STATE, DIRECTORIES, EXPORTS, REQUESTS, MANIFESTS, REMARKS,
    LEDGER, CORRECTIONS, BUILDS, VIEWS, LAST_USE, TOUCHED, PINS, WATCH, EXCHANGE, UNCONFIRMED, VOLUMES,
];

pub(super) const fn table_of(part: Part) -> Table {
    match part {
        Part::Nodes => NODES,
        Part::Links => LINKS,
        Part::Lookups => LOOKUPS,
        Part::State => STATE,
        Part::Directories => DIRECTORIES,
        Part::Exports => EXPORTS,
        Part::Requests => REQUESTS,
        Part::Manifests => MANIFESTS,
        Part::Remarks => REMARKS,
        Part::Ledger => LEDGER,
        Part::Corrections => CORRECTIONS,
        Part::Builds => BUILDS,
        Part::View => VIEWS,
        Part::Pins => PINS,
        Part::Watch => WATCH,
        Part::Exchange => EXCHANGE,
        Part::Unconfirmed => UNCONFIRMED,
        Part::Volumes => VOLUMES,
    }
}

/// Whether rows of a part are compressed. Every command reads all links and stamps: their speed matters, not their size. Of the records of a graph
/// few pages are read, and every checkout has its own.
pub(super) const fn compresses(part: Part) -> bool {
    matches!(part, Part::Manifests | Part::Nodes)
}

/// Returns the key of a row: the view, then the caller's key.
pub(super) fn row_key(view: ViewId, key: &[u8]) -> Vec<u8> {
    [&view.0.to_be_bytes(), key].concat()
}

/// Returns the key of a blob's chunk.
pub(super) fn chunk_key(seq: u64, chunk: u32) -> [u8; 12] {
    let mut key = [0; 12];
    key[..8].copy_from_slice(&seq.to_be_bytes());
    key[8..].copy_from_slice(&chunk.to_be_bytes());
    key
}

/// Returns the key of a version: 28 bytes. All versions of a node share the first 24.
pub(super) fn history_key(view: ViewId, label: &str, version: u32) -> [u8; 28] {
    let mut key = [0; 28];
    key[..8].copy_from_slice(&view.0.to_be_bytes());
    key[8..24].copy_from_slice(&blake3::hash(label.as_bytes()).as_bytes()[..16]);
    key[24..].copy_from_slice(&version.to_be_bytes());
    key
}

/// Returns the version number in a key of [`HISTORY`].
pub(super) fn version_of(key: &[u8]) -> Option<u32> {
    key.last_chunk::<4>()
        .filter(|_| key.len() == 28)
        .map(|version| u32::from_be_bytes(*version))
}

/// Opens a table for reading; `None` in a store older than the table.
pub(super) fn open_table_to_read(txn: &ReadTransaction, table: Table) -> Result<Option<ReadTable>, redb::Error> {
    match txn.open_table(table.definition()) {
        Ok(table) => Ok(Some(table)),
        Err(TableError::TableDoesNotExist(_)) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

pub(super) type ReadTable = redb::ReadOnlyTable<&'static [u8], &'static [u8]>;

#[derive(Debug, PartialEq, Eq)]
pub(super) enum StoreKind {
    /// A readable store, with its name.
    Ours(String),
    /// A store of a later cortex; the format that a reader must know.
    Newer(u32),
    /// A redb file that is no store, or one with damaged meta rows.
    Alien,
}

const FORMAT_KEY: &[u8] = b"format";
const ID_KEY: &[u8] = b"store_id";

/// Creates all tables and the meta rows, in one durable transaction.
pub(super) fn create(database: &Database, store_id: &str) -> Result<(), redb::Error> {
    create_as(database, store_id, FORMAT, MIN_READER)
}

/// As [`create`], but records another format.
pub(super) fn create_as(database: &Database, store_id: &str, format: u32, min_reader: u32) -> Result<(), redb::Error> {
    let mut txn = database.begin_write()?;
    txn.set_quick_repair(true);
    for table in SCHEMA {
        txn.open_table(table.definition())?;
    }
    write_format(&txn, format, min_reader)?;
    {
        let mut meta = txn.open_table(META.definition())?;
        meta.insert(ID_KEY, &frame::framed(META.name, ID_KEY, store_id.as_bytes())[..])?;
    }
    txn.commit()?;
    Ok(())
}

/// Marks a store of an earlier format as of this one: its contents have the same meaning here.
pub(super) fn upgrade_format(database: &Database) -> Result<(), redb::Error> {
    if format(database)?.is_none_or(|found| found >= FORMAT) {
        return Ok(());
    }
    let mut txn = database.begin_write()?;
    txn.set_quick_repair(true);
    write_format(&txn, FORMAT, MIN_READER)?;
    txn.commit()?;
    Ok(())
}

/// Returns the format recorded in a store.
pub(super) fn format(database: &Database) -> Result<Option<u32>, redb::Error> {
    let txn = database.begin_read()?;
    let meta = txn.open_table(META.definition())?;
    let value = meta.get(FORMAT_KEY)?;
    Ok(value.and_then(|value| {
        let body = frame::verified_body(META.name, FORMAT_KEY, value.value()).ok()?;
        body.first_chunk().map(|format| u32::from_be_bytes(*format))
    }))
}

/// Writes the format and the oldest one that can read it.
pub(super) fn write_format(txn: &redb::WriteTransaction, format: u32, min_reader: u32) -> Result<(), redb::Error> {
    let body = [format.to_be_bytes(), min_reader.to_be_bytes()].concat();
    let mut meta = txn.open_table(META.definition())?;
    meta.insert(FORMAT_KEY, &frame::framed(META.name, FORMAT_KEY, &body)[..])?;
    Ok(())
}

pub(super) fn kind_of_store(database: &dyn ReadableDatabase) -> Result<StoreKind, redb::Error> {
    let txn = database.begin_read()?;
    let meta = match txn.open_table(META.definition()) {
        Ok(meta) => meta,
        Err(TableError::Storage(error)) => return Err(error.into()),
        Err(_) => return Ok(StoreKind::Alien),
    };
    let Some(value) = meta.get(FORMAT_KEY)? else {
        return Ok(StoreKind::Alien);
    };
    let Some(min_reader) = frame::verified_body(META.name, FORMAT_KEY, value.value())
        .ok()
        .and_then(|body| body.get(4..8)?.try_into().ok())
    else {
        return Ok(StoreKind::Alien);
    };
    let min_reader = u32::from_be_bytes(min_reader);
    if min_reader > FORMAT {
        return Ok(StoreKind::Newer(min_reader));
    }
    let Some(value) = meta.get(ID_KEY)? else {
        return Ok(StoreKind::Alien);
    };
    let id = frame::verified_body(META.name, ID_KEY, value.value())
        .ok()
        .and_then(|body| String::from_utf8(body.to_vec()).ok());
    Ok(id.map_or(StoreKind::Alien, StoreKind::Ours))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    const DOCUMENT: &str = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../store-layout.md"));

    #[test]
    fn the_document_lists_exactly_the_tables_of_the_schema() {
        let rows = DOCUMENT.lines().filter_map(|line| line.strip_prefix("| `"));
        let documented: BTreeSet<Vec<String>> = rows
            .map(|row| {
                row.split('|')
                    .take(3)
                    .map(|cell| cell.trim().trim_end_matches('`').to_owned())
                    .collect()
            })
            .collect();
        let schema = SCHEMA
            .iter()
            .map(|table| vec![table.name.to_owned(), table.key.to_owned(), table.value.to_owned()])
            .collect();
        assert_eq!(documented, schema);
    }

    #[test]
    fn the_document_states_the_numbers_of_the_code() {
        let stated = [
            format!("This is format {FORMAT}, readable from format {MIN_READER} on."),
            format!("`[record version u8 = {}][check, 8 bytes][body]`", frame::RECORD_VERSION),
            format!("at most {} bytes", super::super::write::CHUNK),
            format!("newest {} versions", crate::store::KEEP_VERSIONS),
        ];
        for sentence in stated {
            assert!(DOCUMENT.contains(&sentence), "store-layout.md does not say: {sentence}");
        }
    }

    #[test]
    fn every_part_has_its_own_table() {
        let names: BTreeSet<_> = Part::ALL.into_iter().map(|part| table_of(part).name).collect();
        assert_eq!(names.len(), Part::ALL.len());
    }
}
