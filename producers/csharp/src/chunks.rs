//! `csharp/chunks`: runs of adjacent types of `//index:types` as a table, chunk → {"types"}, in the order of types.
//!
//! A table of all types is built from one table per chunk. An edit then changes the inputs of one chunk and the list of chunks, not a list
//! of all types. A type ends a chunk if the digest of its key says so (content-defined chunking), so the cuts depend on no history. Adding
//! or removing a type changes one chunk, or splits or joins two. A chunk is named after its last type. The last chunk of all, which no type
//! ends, is named [`LAST`].

use super::graph_update::Versions;
use engine::seams::producer::{Failure, Inputs, Output, Producer, ProducerId};
use engine::seams::update::{TableChanges, TableUpdate, TableView, UpdatedRows};
use engine::values::digest::Digest;
use engine::values::json;
use engine::values::table::{Table, write_table};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// Average number of types in a chunk.
const AVERAGE: u32 = 128;

/// Name of the chunk after the last type that ends one. No key of a type has this character.
pub const LAST: &str = "~";

/// One row of `//index:chunks`.
#[derive(Debug, Serialize, Deserialize)]
struct ChunkRow {
    /// Its types, sorted.
    types: Vec<String>,
}

pub(super) fn ends_chunk(key: &str) -> bool {
    let [a, b, c, d, ..] = Digest::of(key.as_bytes()).0;
    u32::from_le_bytes([a, b, c, d]).is_multiple_of(AVERAGE)
}

/// Returns the sort key of a chunk: chunks sort in the order of their types.
pub fn order_of_chunk(name: &str) -> (bool, &str) {
    (name == LAST, name)
}

/// Cuts sorted types into chunks. Returns the types after the last end of a chunk.
fn cut_chunks(types: impl IntoIterator<Item = String>, mut add: impl FnMut(String, Vec<String>)) -> Vec<String> {
    let mut open: Vec<String> = Vec::new();
    for key in types {
        let ends = ends_chunk(&key);
        open.push(key);
        if ends && let Some(name) = open.last().cloned() {
            add(name, std::mem::take(&mut open));
        }
    }
    open
}

fn row_of_types(types: Vec<String>) -> Vec<u8> {
    json::encode(&ChunkRow { types })
}

/// The producer `csharp/chunks`.
#[derive(Debug)]
pub struct Chunks;

impl Producer for Chunks {
    fn id(&self) -> ProducerId {
        ProducerId::new("csharp/chunks", 1)
    }

    fn update(&self) -> Option<&dyn TableUpdate> {
        Some(self)
    }

    fn produce(&self, inputs: &Inputs<'_>) -> Result<Output, Failure> {
        let broken = || Failure::permanent("input 'types' is not the table of //index:types");
        let types = Table::open(&inputs.single("types")?.bytes).ok_or_else(broken)?;
        let mut rows: BTreeMap<String, Vec<u8>> = BTreeMap::new();
        let rest = cut_chunks(types.keys().map(str::to_owned), |name, types| {
            rows.insert(name, row_of_types(types));
        });
        if !rest.is_empty() {
            rows.insert(LAST.to_owned(), row_of_types(rest));
        }
        Ok(Output::new(write_table(&rows)))
    }
}

impl TableUpdate for Chunks {
    /// Cuts the chunks again that gained or lost a type.
    fn update(&self, moves: &dyn TableChanges) -> Option<UpdatedRows> {
        let mut rows: BTreeMap<String, Option<Vec<u8>>> = BTreeMap::new();
        let mut moved = moved_types(moves)?;
        while let Some((first, _)) = moved.first_key_value() {
            let (mut name, mut types) = chunk_from(moves.last(), first)?;
            loop {
                rows.insert(name.clone(), None);
                let mut present: BTreeSet<String> = types.into_iter().collect();
                while let Some(entry) = moved.first_entry().filter(|entry| name == LAST || *entry.key() <= name) {
                    let (key, exists) = entry.remove_entry();
                    if exists {
                        present.insert(key)
                    } else {
                        present.remove(&key)
                    };
                }
                let open = cut_chunks(present, |name, types| {
                    rows.insert(name, Some(row_of_types(types)));
                });
                if open.is_empty() {
                    break;
                }
                if name == LAST {
                    rows.insert(name, Some(row_of_types(open)));
                    break;
                }
                // The type that ended this chunk is gone: its types join the next one.
                let (next, further) = chunk_from(moves.last(), &format!("{name}\0"))?;
                (name, types) = (next, [open, further].concat());
            }
        }
        Some(UpdatedRows {
            rows,
            ..UpdatedRows::default()
        })
    }
}

/// Returns the types that were added (`true`) or removed.
fn moved_types(moves: &dyn TableChanges) -> Option<BTreeMap<String, bool>> {
    let types = Versions::from_moves(moves, "types")?;
    let mut moved = BTreeMap::new();
    for key in types.changed {
        let exists = types.now.row(&key)?.is_some();
        if types.before.row(&key)?.is_some() != exists {
            moved.insert(key, exists);
        }
    }
    Some(moved)
}

/// Returns the chunk that has, or would have, the type `key`.
fn chunk_from(table: &dyn TableView, key: &str) -> Option<(String, Vec<String>)> {
    let types = |row: &[u8]| serde_json::from_slice::<ChunkRow>(row).ok().map(|row| row.types);
    let mut found = None;
    table.rows_from(key, &mut |name, row| {
        if name != LAST {
            found = Some((name.to_owned(), types(row)));
        }
        name == LAST
    })?;
    match found {
        Some((name, types)) => Some((name, types?)),
        None => {
            let row = table.row(LAST)?;
            Some((LAST.to_owned(), row.map_or(Some(Vec::new()), |row| types(&row))?))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{blob, run};
    use super::*;

    fn chunks_of(keys: &BTreeSet<String>) -> BTreeMap<String, Vec<String>> {
        let rows: BTreeMap<&str, &[u8]> = keys.iter().map(|key| (key.as_str(), &b"{}"[..])).collect();
        let made = run(&Chunks, "", "{}", vec![("types", vec![blob("", write_table(&rows))])]).expect("chunks");
        let table = Table::open(&made.bytes).expect("a table");
        let row = |row: &[u8]| serde_json::from_slice::<ChunkRow>(row).expect("a row").types;
        table.rows().map(|(name, types)| (name.to_owned(), row(types))).collect()
    }

    #[test]
    fn chunks_have_all_types_in_order() {
        let keys: BTreeSet<String> = (0..2_000).map(|number| format!("N.É{number}")).collect();
        let chunks = chunks_of(&keys);
        let mut names: Vec<&String> = chunks.keys().collect();
        names.sort_by_key(|name| order_of_chunk(name));
        let types: Vec<&String> = names.iter().flat_map(|name| &chunks[*name]).collect();
        assert!(types.iter().eq(&keys.iter().collect::<Vec<_>>()));
        assert!((5..40).contains(&chunks.len()), "{}", chunks.len());
        let ends = |name: &String| name == LAST || chunks[name].last() == Some(name);
        assert!(chunks.keys().all(ends));
    }
}
