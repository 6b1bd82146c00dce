//! `csharp/groups`: the groups of mutually dependent types as a table, group → {"dependencies", "types"}.
//!
//! A group is summarised as one (seed 000 §7): its row says whom it is about and what they depend on outside of it.

use super::graph::GraphRow;
use super::structure::check_flags;
use super::types::json;
use engine::seams::producer::{Failure, Inputs, Output, ParamError, Params, Producer, ProducerId};
use engine::values::table::{Table, write_table};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// One row of `//index:groups`. Fields stand in the order of their names.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct GroupRow {
    /// Types outside that the structure of some member names.
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

    fn check(&self, params: &Params) -> Result<(), Vec<ParamError>> {
        check_flags(params, &[])
    }

    fn produce(&self, inputs: &Inputs<'_>) -> Result<Output, Failure> {
        let broken = || Failure::permanent("input 'graph' is not the table of //index:graph");
        let table = Table::open(&inputs.single("graph")?.bytes).ok_or_else(broken)?;
        let mut groups: BTreeMap<String, GroupRow> = BTreeMap::new();
        // Most types are in no group, and say so in bytes that no text within a row can hold.
        let is_grouped = |value: &[u8]| memchr::memmem::find(value, br#""group":null"#).is_none();
        for (key, value) in table.rows().filter(|(_, value)| is_grouped(value)) {
            let row: GraphRow = serde_json::from_slice(value).map_err(|_| broken())?;
            if let Some(group) = row.group {
                let group = groups.entry(group).or_default();
                group.types.insert(key.to_owned());
                group.dependencies.extend(row.outside);
            }
        }
        let rows: BTreeMap<&str, Vec<u8>> = groups.iter().map(|(group, row)| (group.as_str(), json(row))).collect();
        Ok(Output::new(write_table(&rows)))
    }
}
