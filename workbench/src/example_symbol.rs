//! An example type of the workspace for help texts: one that many others refer to.

use crate::code_survey::is_among_tests;
use engine::build::engine::EngineError;
use engine::build::session::Session;
use engine::values::table::{Table, to_json};
use producers::csharp::types::TypeRow;
use serde_json::{Map, Value};
use std::cmp::Reverse;
use std::collections::HashMap;

/// Returns the name of such a type, only its last part if that is unique. Prefers types that are neither tests nor generated. `None` before the type
/// graph was built.
pub fn find_example(session: &mut Session) -> Result<Option<String>, EngineError> {
    let mut tables = Vec::new();
    for label in ["//index:graph", "//index:types"] {
        let Some(last) = session.last(label)? else { return Ok(None) };
        let Some(bytes) = session.engine.store.output(&last.result.output)? else {
            return Ok(None);
        };
        tables.push(bytes);
    }
    let Value::Object(graph) = to_json(&tables[0]) else {
        return Ok(None);
    };
    Ok(Table::open(&tables[1]).and_then(|types| choose_example(&graph, &types)))
}

fn choose_example(graph: &Map<String, Value>, types: &Table<'_>) -> Option<String> {
    let mut bearers: HashMap<&str, usize> = HashMap::new();
    for name in graph.keys() {
        *bearers.entry(last_name(name)).or_default() += 1;
    }
    let is_alone = |name: &str| bearers.get(last_name(name)) == Some(&1);
    let references = |row: &Value| row["references"].as_u64().unwrap_or(0);
    let is_the_programs_own = |name: &str| {
        let row = types.get(name).and_then(|row| serde_json::from_slice::<TypeRow>(row).ok());
        let is_own = |row: TypeRow| !row.generated && row.files.iter().any(|file| !is_among_tests(file));
        !name.contains("Test") && row.is_none_or(is_own)
    };
    // The name of a generic type contains characters that are special in shells.
    let plain = graph.iter().filter(|(name, _)| !name.contains(['`', '+', '<']));
    let (name, _) = plain.max_by_key(|(name, row)| (is_the_programs_own(name), is_alone(name), references(row), Reverse(name.len())))?;
    Some(if is_alone(name) { last_name(name).to_owned() } else { name.clone() })
}

fn last_name(name: &str) -> &str {
    name.rsplit(['.', '+']).next().unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use engine::values::table::write_table;
    use std::collections::BTreeMap;

    fn chosen(types: &[(&str, &str, bool, u64)]) -> Option<String> {
        let graph = types
            .iter()
            .map(|(name, .., references)| ((*name).to_owned(), serde_json::json!({"references": references})));
        let rows: BTreeMap<&str, Vec<u8>> = types
            .iter()
            .map(|&(name, file, generated, _)| {
                let row = serde_json::json!({
                    "accessibility": "public", "arity": 0, "assembly": "A", "files": [file], "generated": generated, "id": "T_1",
                    "kind": "class", "namespace": "N", "project": null, "symbol": name, "widened": false,
                });
                (name, row.to_string().into_bytes())
            })
            .collect();
        let bytes = write_table(&rows);
        choose_example(&graph.collect(), &Table::open(&bytes).expect("a table"))
    }

    #[test]
    fn the_programs_own_types_go_first() {
        let own = ("N.Core", "src/Core.cs", false, 3);
        assert_eq!(
            chosen(&[own, ("N.Culture", "tests/Culture.cs", false, 90)]).as_deref(),
            Some("Core")
        );
        assert_eq!(chosen(&[own, ("N.Made", "src/Made.cs", true, 90)]).as_deref(), Some("Core"));
        assert_eq!(chosen(&[own, ("N.More", "src/More.cs", false, 4)]).as_deref(), Some("More"));
        assert_eq!(chosen(&[("N.Culture", "tests/Culture.cs", false, 90)]).as_deref(), Some("Culture"));
        assert_eq!(chosen(&[own, ("M.Core", "src/M.cs", false, 1)]).as_deref(), Some("N.Core"));
        assert_eq!(chosen(&[]), None);
    }
}
