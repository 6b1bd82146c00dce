//! `csharp/groups`: the groups of mutually dependent types as a table, group → {"dependencies", "types"}.
//!
//! A group is summarized as one unit (seed 000 §7): its row lists its types and their dependencies outside the group.

use super::graph::GraphRow;
use super::graph_update::Versions;
use engine::seams::producer::{Failure, Inputs, Output, Producer, ProducerId};
use engine::seams::update::{TableChanges, TableUpdate, UpdatedRows};
use engine::values::json;
use engine::values::table::{Table, write_table};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// One row of `//index:groups`. Fields are in alphabetical order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct GroupRow {
    /// Types outside the group that the structure of a member names.
    pub dependencies: BTreeSet<String>,
    /// Its members.
    pub types: BTreeSet<String>,
}

/// The producer `csharp/groups`.
#[derive(Debug)]
pub struct Groups;

impl Producer for Groups {
    fn id(&self) -> ProducerId {
        ProducerId::new("csharp/groups", 1)
    }

    fn update(&self) -> Option<&dyn TableUpdate> {
        Some(self)
    }

    fn produce(&self, inputs: &Inputs<'_>) -> Result<Output, Failure> {
        let broken = || Failure::permanent("input 'graph' is not the table of //index:graph");
        let table = Table::open(&inputs.single("graph")?.bytes).ok_or_else(broken)?;
        let mut groups: BTreeMap<String, GroupRow> = BTreeMap::new();
        for (key, value) in table.rows().filter(|(_, value)| is_grouped(value)) {
            let row: GraphRow = serde_json::from_slice(value).map_err(|_| broken())?;
            if let Some(group) = row.group {
                let group = groups.entry(group).or_default();
                group.types.insert(key.to_owned());
                group.dependencies.extend(row.outside);
            }
        }
        let rows: BTreeMap<&str, Vec<u8>> = groups.iter().map(|(group, row)| (group.as_str(), json::encode(row))).collect();
        Ok(Output::new(write_table(&rows)))
    }
}

/// Whether a type is in a group. Searches the bytes, without decoding: no string within a row can contain these.
fn is_grouped(row: &[u8]) -> bool {
    memchr::memmem::find(row, br#""group":null"#).is_none()
}

impl TableUpdate for Groups {
    /// Keeps all rows if each changed type is in no group, or in the same group with the same outside types.
    fn update(&self, moves: &dyn TableChanges) -> Option<UpdatedRows> {
        let graph = Versions::from_moves(moves, "graph")?;
        for key in &graph.changed {
            let read = |row: Option<Arc<[u8]>>| match row.filter(|row| is_grouped(row)) {
                Some(row) => serde_json::from_slice::<GraphRow>(&row)
                    .ok()
                    .map(|row| Some((row.group, row.outside))),
                None => Some(None),
            };
            if read(graph.before.row(key)?)? != read(graph.now.row(key)?)? {
                return None;
            }
        }
        Some(UpdatedRows::default())
    }
}
