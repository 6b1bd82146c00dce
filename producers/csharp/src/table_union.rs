//! Producer `table-union`: the rows of several tables as one table. The tables have no key in common.
//!
//! It is a fold: if one of the tables changes, only that one is read.

use engine::seams::fold::Fold;
use engine::seams::producer::{Failure, Input, Inputs, Output, Producer, ProducerId};
use engine::values::table::{Table, write_table};
use std::collections::BTreeMap;

/// The producer `table-union`. It reads the role `tables`.
#[derive(Debug)]
pub struct TableUnion;

impl Producer for TableUnion {
    fn id(&self) -> ProducerId {
        ProducerId::new("table-union", 1)
    }

    fn fold(&self) -> Option<&dyn Fold> {
        Some(self)
    }

    fn produce(&self, inputs: &Inputs<'_>) -> Result<Output, Failure> {
        let mut rows: BTreeMap<&str, &[u8]> = BTreeMap::new();
        for input in inputs.all(self.role()) {
            rows.extend(open_table(input)?.rows());
        }
        Ok(Output::new(write_table(&rows)))
    }
}

impl Fold for TableUnion {
    fn role(&self) -> &'static str {
        "tables"
    }

    fn rows_of_input(&self, input: &Input) -> Result<BTreeMap<String, Vec<u8>>, Failure> {
        let rows = open_table(input)?.rows();
        Ok(rows.map(|(key, row)| (key.to_owned(), row.to_vec())).collect())
    }
}

fn open_table(input: &Input) -> Result<Table<'_>, Failure> {
    Table::open(&input.bytes).ok_or_else(|| Failure::permanent(format!("the input {} is not a table", input.item)))
}
