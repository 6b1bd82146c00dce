//! `csharp/member-index`: who declares a member of a name.
//!
//! One row per word: a line for each member of that name of all types, sorted by the key of the type, `key flags arity result parameters`, and
//! `.key …` for each constructor of the types of that simple name. Every simple name of a type has a row.

use super::declarations::signatures;
use super::shape::Shape;
use super::world::{MOST_BASES, is_value};
use crate::csharp::types::symbol_of;
use engine::seams::producer::{Failure, Inputs, Output, Producer, ProducerId};
use engine::values::table::write_table;
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeMap;

/// The producer `csharp/member-index`.
#[derive(Debug)]
pub struct MemberIndex;

impl Producer for MemberIndex {
    fn id(&self) -> ProducerId {
        ProducerId::new("csharp/member-index", 4)
    }

    fn produce(&self, inputs: &Inputs<'_>) -> Result<Output, Failure> {
        Ok(Output::new(write_table(&rows(&signatures(inputs)?))))
    }
}

/// Kind letters and direct bases of types.
type Bases<'t> = FxHashMap<&'t str, (&'t str, Vec<Shape>)>;

fn rows(texts: &[&str]) -> BTreeMap<String, String> {
    let mut types: Bases<'_> = FxHashMap::default();
    for text in texts {
        let mut fields = text.lines().next().unwrap_or_default().split('\t');
        let mut field = || fields.next().unwrap_or("");
        let (key, kind, _, _, bases) = (field(), field(), field(), field(), field());
        let bases = bases.split(' ').filter(|base| !base.is_empty());
        types.insert(key, (kind, bases.map(|base| Shape::read(base, false)).collect()));
    }
    let values = values(texts);
    let mut rows: BTreeMap<String, String> = BTreeMap::new();
    for text in texts {
        let mut members = text.lines();
        let Some(key) = members.next().and_then(|head| head.split('\t').next()) else {
            continue;
        };
        let simple = simple_name(key);
        rows.entry(simple.to_owned()).or_default();
        for line in members {
            let Some((name, rest)) = line.strip_prefix('\t').and_then(|line| line.split_once('\t')) else {
                continue;
            };
            if rest.starts_with("pr\t") && inherits_value(key, name, &types, &values) {
                continue;
            }
            let (name, mark) = if name == ".ctor" { (simple, ".") } else { (name, "") };
            let row = match rows.get_mut(name) {
                Some(row) => row,
                None => rows.entry(name.to_owned()).or_default(),
            };
            for part in [mark, key, "\t", rest, "\n"] {
                row.push_str(part);
            }
        }
    }
    rows
}

/// Type and name of every value member that heirs may have.
fn values<'t>(texts: &[&'t str]) -> FxHashSet<(&'t str, &'t str)> {
    let mut found = FxHashSet::default();
    for text in texts {
        let mut lines = text.lines();
        let Some(key) = lines.next().and_then(|head| head.split('\t').next()) else {
            continue;
        };
        let names = lines.filter_map(|line| line.strip_prefix('\t')?.split_once('\t'));
        let values = names.filter(|(_, rest)| is_value(rest.split('\t').next().unwrap_or_default()));
        found.extend(values.map(|(name, _)| (key, name)));
    }
    found
}

/// Whether a base class has a value of that name, so that a positional parameter makes none.
fn inherits_value<'t>(key: &'t str, name: &str, types: &Bases<'t>, values: &FxHashSet<(&'t str, &'t str)>) -> bool {
    let mut seen = vec![key];
    let mut at = 0;
    while at < seen.len() && seen.len() <= MOST_BASES {
        for base in types.get(seen[at]).into_iter().flat_map(|(_, bases)| bases) {
            let known = base.key().and_then(|key| types.get_key_value(key));
            if let Some((base, _)) = known.filter(|(base, (kind, _))| *kind != "i" && !seen.contains(base)) {
                if values.contains(&(*base, name)) {
                    return true;
                }
                seen.push(base);
            }
        }
        at += 1;
    }
    false
}

/// The last name of a key without its arity.
pub(super) fn simple_name(key: &str) -> &str {
    let symbol = symbol_of(key);
    let last = symbol.rsplit(['.', '+']).next().unwrap_or(symbol);
    last.split('`').next().unwrap_or(last)
}
