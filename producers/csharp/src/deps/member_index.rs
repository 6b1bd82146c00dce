//! `csharp/member-index`: the types that declare a member of a given name.
//!
//! One row per word. A type adds `=key` to the row of its simple name, and `.key flags arity result parameters` for each constructor. For each
//! other member it adds `key flags arity result parameters` to the row of the member's name. Lines are in the order of the types' keys.

use super::chunk_signatures::{signatures, signatures_by_type};
use super::declarations::{insert_lines, remove_lines};
use super::world::{BOUNDS, BUILDER};
use crate::types::simple_name;
use engine::seams::fold::Fold;
use engine::seams::producer::{Failure, Input, Inputs, Output, Producer, ProducerId};
use engine::values::table::write_table;
use std::collections::BTreeMap;

/// The producer `csharp/member-index`.
#[derive(Debug)]
pub struct MemberIndex;

impl Producer for MemberIndex {
    fn id(&self) -> ProducerId {
        ProducerId::new("csharp/member-index", 4)
    }

    fn fold(&self) -> Option<&dyn Fold> {
        Some(self)
    }

    fn produce(&self, inputs: &Inputs<'_>) -> Result<Output, Failure> {
        let mut rows: BTreeMap<String, String> = BTreeMap::new();
        for text in signatures(inputs)? {
            add_lines(text, &mut rows);
        }
        Ok(Output::new(write_table(&rows)))
    }
}

impl Fold for MemberIndex {
    fn role(&self) -> &'static str {
        "members"
    }

    fn rows_of_input(&self, input: &Input) -> Result<BTreeMap<String, Vec<u8>>, Failure> {
        let mut rows = BTreeMap::new();
        for text in signatures_by_type(input)? {
            add_lines(text, &mut rows);
        }
        Ok(rows.into_iter().map(|(key, row)| (key, row.into_bytes())).collect())
    }

    fn remove_part(&self, _: &str, row: &[u8], _: &str, part: &[u8]) -> Option<Vec<u8>> {
        remove_lines(row, part)
    }

    fn add_part(&self, _: &str, row: Option<&[u8]>, _: &str, part: &[u8]) -> Vec<u8> {
        insert_lines(row, part)
    }
}

/// Adds the lines of one type to the rows.
fn add_lines(text: &str, rows: &mut BTreeMap<String, String>) {
    let mut members = text.lines();
    let Some(key) = members.next().and_then(|head| head.split('\t').next()) else {
        return;
    };
    let simple = simple_name(key);
    let mut add = |name: &str, parts: &[&str]| {
        let row = match rows.get_mut(name) {
            Some(row) => row,
            None => rows.entry(name.to_owned()).or_default(),
        };
        parts.iter().for_each(|part| row.push_str(part));
    };
    add(simple, &["=", key, "\n"]);
    for line in members {
        match line.strip_prefix('\t').and_then(|line| line.split_once('\t')) {
            Some((".ctor", rest)) => add(simple, &[".", key, "\t", rest, "\n"]),
            // Code does not name operators.
            Some((_, rest)) if rest.starts_with('o') => {}
            // Code does not name explicit implementations, and bounds and a builder are no members.
            Some((name, _)) if name.contains('.') || matches!(name, BOUNDS | BUILDER) => {}
            Some((name, rest)) => add(name, &[key, "\t", rest, "\n"]),
            None => {}
        }
    }
}
