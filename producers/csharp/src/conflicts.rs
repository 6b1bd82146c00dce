//! `csharp/conflicts`: the seed's `hash_conflicts.log` (000 §3.3). It lists the identifiers that had to be lengthened, one per line, grouped by
//! their common short form. Empty without conflicts.

use super::types::TypeRow;
use engine::seams::producer::{Failure, Inputs, Output, Producer, ProducerId};
use engine::values::table::Table;

/// The producer `csharp/conflicts`.
#[derive(Debug)]
pub struct Conflicts;

impl Producer for Conflicts {
    fn id(&self) -> ProducerId {
        ProducerId::new("csharp/conflicts", 1)
    }

    fn produce(&self, inputs: &Inputs<'_>) -> Result<Output, Failure> {
        let types = inputs.single("types")?;
        let table = Table::open(&types.bytes).ok_or_else(|| Failure::permanent("input 'types' is not a table"))?;
        let mut lines = Vec::new();
        // Decode few rows: these bytes occur in no string of a row.
        let is_widened = |value: &[u8]| memchr::memmem::find(value, br#""widened":true"#).is_some();
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
