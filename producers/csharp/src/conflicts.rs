//! `csharp/conflicts`: the seed's `hash_conflicts.log` (000 §3.3). It lists the identifiers that had to be lengthened, one per line, grouped by
//! their common short form. Empty without conflicts.

use super::types::TypeRow;
use engine::seams::producer::{Failure, Inputs, Output, Producer, ProducerId};
use engine::seams::update::{ChangedInput, TableChanges, TableUpdate, TableView, UpdatedRows};
use engine::values::table::Table;

/// The producer `csharp/conflicts`.
#[derive(Debug)]
pub struct Conflicts;

impl Producer for Conflicts {
    fn id(&self) -> ProducerId {
        ProducerId::new("csharp/conflicts", 1)
    }

    fn update(&self) -> Option<&dyn TableUpdate> {
        Some(self)
    }

    fn produce(&self, inputs: &Inputs<'_>) -> Result<Output, Failure> {
        let types = inputs.single("types")?;
        let table = Table::open(&types.bytes).ok_or_else(|| Failure::permanent("input 'types' is not a table"))?;
        let mut lines = Vec::new();
        for (key, value) in table.rows().filter(|(_, value)| is_widened(value)) {
            let row: TypeRow =
                serde_json::from_slice(value).map_err(|error| Failure::permanent(format!("the row of {key} cannot be read: {error}")))?;
            let short: String = row.id.chars().take("T_".len() + 8).collect();
            lines.push(format!("{short} {} {key}\n", row.id));
        }
        lines.sort();
        Ok(Output::new(lines.concat()))
    }
}

impl TableUpdate for Conflicts {
    fn update(&self, changes: &dyn TableChanges) -> Option<UpdatedRows> {
        let [ChangedInput { before, now, .. }] = changes.changed_inputs("types")? else {
            return None;
        };
        let (before, now) = (before.as_ref()?, now.as_ref()?);
        let tables = [changes.table(before)?, changes.table(now)?];
        let is_narrow = |table: &dyn TableView, key: &str| Some(table.row(key)?.is_none_or(|row| !is_widened(&row)));
        for key in changes.changed_rows(before, now)? {
            for table in &tables {
                if !is_narrow(&**table, &key)? {
                    return None;
                }
            }
        }
        Some(UpdatedRows::default())
    }
}

/// Whether a row is that of a lengthened identifier, without decoding it: these bytes occur in no string of a row.
fn is_widened(row: &[u8]) -> bool {
    memchr::memmem::find(row, br#""widened":true"#).is_some()
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{blob, run};
    use super::*;
    use engine::values::json;
    use engine::values::table::write_table;
    use std::collections::BTreeMap;

    #[test]
    fn widened_identifiers_stand_together() {
        let row = |id: &str, widened| {
            let row = TypeRow {
                id: id.into(),
                widened,
                accessibility: "public".into(),
                arity: 0,
                assembly: String::new(),
                files: vec![],
                generated: false,
                kind: "class".into(),
                namespace: String::new(),
                project: None,
                symbol: String::new(),
            };
            json::encode(&row)
        };
        let table = write_table(&BTreeMap::from([
            ("A", row("T_aaaaaaaabbbb", true)),
            ("B", row("T_cccccccc", false)),
            ("C", row("T_aaaaaaaadddd", true)),
        ]));
        let log = run(&Conflicts, "", "{}", vec![("types", vec![blob("", table)])])
            .expect("a log")
            .bytes;
        assert_eq!(
            String::from_utf8(log).expect("text"),
            "T_aaaaaaaa T_aaaaaaaabbbb A\nT_aaaaaaaa T_aaaaaaaadddd C\n"
        );
    }
}
