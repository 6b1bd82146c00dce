//! `csharp/dependencies`: the types on which each type of a chunk depends, as one table: symbol path → {"body", "structure"}. The tables of
//! all chunks together are `//index:dependencies`.
//!
//! It repeats `//types/T:deps` without evidence, for readers that need all types at once.

use super::deps;
use engine::seams::fold::Fold;
use engine::seams::producer::{Failure, Input, Inputs, Output, Producer, ProducerId};
use engine::values::json;
use engine::values::table::write_table;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// One row of `//index:dependencies`. Fields are in alphabetical order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DependencyRow {
    /// Types named only in bodies, sorted.
    pub body: Vec<String>,
    /// Types named in declarations, sorted.
    pub structure: Vec<String>,
}

impl DependencyRow {
    /// Reads the row of a type. Fails if the bytes are no such row.
    pub fn from_row(key: &str, row: &[u8]) -> Result<Self, Failure> {
        serde_json::from_slice(row).map_err(|error| Failure::permanent(format!("the row of {key} cannot be read: {error}")))
    }
}

/// The producer `csharp/dependencies`.
#[derive(Debug)]
pub struct DependencyTable;

impl Producer for DependencyTable {
    fn id(&self) -> ProducerId {
        ProducerId::new("csharp/dependencies", 1)
    }

    fn fold(&self) -> Option<&dyn Fold> {
        Some(self)
    }

    fn produce(&self, inputs: &Inputs<'_>) -> Result<Output, Failure> {
        let rows: BTreeMap<String, Vec<u8>> = inputs.all("deps").par_iter().map(dependency_row).collect::<Result<_, _>>()?;
        Ok(Output::new(write_table(&rows)))
    }
}

impl Fold for DependencyTable {
    fn role(&self) -> &'static str {
        "deps"
    }

    fn rows_of_input(&self, input: &Input) -> Result<BTreeMap<String, Vec<u8>>, Failure> {
        dependency_row(input).map(|row| BTreeMap::from([row]))
    }
}

fn dependency_row(input: &Input) -> Result<(String, Vec<u8>), Failure> {
    let deps::Dependencies { own, body, structure, .. } = deps::decode_dependencies(input)?;
    Ok((own, json::encode(&DependencyRow { body, structure })))
}
