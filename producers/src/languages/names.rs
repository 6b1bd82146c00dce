//! `tags/names` and `tags/uses`: the files that define a name, and those that use it, one row per name. After a change only the changed file is read.

use super::model::FileSymbols;
use crate::scip_symbol::{descriptors, is_constructor, name_in_code};
use engine::seams::fold::Fold;
use engine::seams::producer::{Failure, Input, Inputs, Output, Producer, ProducerId};
use engine::values::json;
use engine::values::table::write_table;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// A definition of a file under a name: its path in the file and its kind.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Named(pub String, pub String);

/// A row of `tags/names`: by file, its definitions of the name.
pub type Definitions = BTreeMap<String, Vec<Named>>;

/// A row of `tags/uses`: by file, the number of its uses of the name.
pub type Uses = BTreeMap<String, usize>;

/// Adds the part of one file to a row: the row, the file, its part; returns the new row.
type AddToRow = fn(Option<&[u8]>, &str, &[u8]) -> Vec<u8>;

/// Removes the part of one file from a row: the row, the file; returns the new row if there is anything left.
type RemoveFromRow = fn(&[u8], &str) -> Option<Vec<u8>>;

/// A table of names, from the parts of all files.
pub struct NameTable {
    id: &'static str,
    rows: fn(&FileSymbols) -> BTreeMap<String, Vec<u8>>,
    add: AddToRow,
    remove: RemoveFromRow,
}

/// The producer `tags/names`.
pub const NAMES: NameTable = NameTable {
    id: "tags/names",
    rows: definitions,
    add: add_to_row::<Vec<Named>>,
    remove: remove_from_row::<Vec<Named>>,
};

/// The producer `tags/uses`.
pub const USES: NameTable = NameTable {
    id: "tags/uses",
    rows: rows_of_uses,
    add: add_to_row::<usize>,
    remove: remove_from_row::<usize>,
};

impl Producer for NameTable {
    fn id(&self) -> ProducerId {
        ProducerId::new(self.id, 2)
    }

    fn fold(&self) -> Option<&dyn Fold> {
        Some(self)
    }

    fn produce(&self, inputs: &Inputs<'_>) -> Result<Output, Failure> {
        let mut rows: BTreeMap<String, Vec<u8>> = BTreeMap::new();
        for input in inputs.all(self.role()) {
            for (name, part) in self.rows_of_input(input)? {
                let row = self.add_part(&name, rows.get(&name).map(Vec::as_slice), &input.item, &part);
                rows.insert(name, row);
            }
        }
        Ok(Output::new(write_table(&rows)))
    }
}

impl Fold for NameTable {
    fn role(&self) -> &'static str {
        "tags"
    }

    fn rows_of_input(&self, input: &Input) -> Result<BTreeMap<String, Vec<u8>>, Failure> {
        let symbols =
            FileSymbols::from_json(&input.bytes).ok_or_else(|| Failure::permanent("the input says nothing of a file's symbols"))?;
        Ok((self.rows)(&symbols))
    }

    fn remove_part(&self, _: &str, row: &[u8], item: &str, _: &[u8]) -> Option<Vec<u8>> {
        (self.remove)(row, item)
    }

    fn add_part(&self, _: &str, row: Option<&[u8]>, item: &str, part: &[u8]) -> Vec<u8> {
        (self.add)(row, item, part)
    }
}

fn definitions(symbols: &FileSymbols) -> BTreeMap<String, Vec<u8>> {
    let mut named: BTreeMap<&str, BTreeSet<Named>> = BTreeMap::new();
    for one in &symbols.definitions {
        named
            .entry(&one.name)
            .or_default()
            .insert(Named(one.path.clone(), one.kind.clone()));
    }
    named.into_iter().map(|(name, all)| (name.to_owned(), json::encode(&all))).collect()
}

fn rows_of_uses(symbols: &FileSymbols) -> BTreeMap<String, Vec<u8>> {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for (key, places) in &symbols.uses {
        *counts.entry(name_of_use(key)).or_default() += places.len();
    }
    counts.into_iter().map(|(name, count)| (name, json::encode(&count))).collect()
}

/// Returns the name that code writes for a key of [`FileSymbols::uses`]: the key, or the last name of a symbol; for a constructor that of its type.
pub fn name_of_use(key: &str) -> String {
    let Some(way) = descriptors(key) else { return key.to_owned() };
    match way.as_slice() {
        [.., made, last] if is_constructor(last) => made.name.clone(),
        [.., last] => name_in_code(last).to_owned(),
        [] => key.to_owned(),
    }
}

/// Returns the symbol of the type that a constructor creates.
pub fn type_made(key: &str) -> Option<&str> {
    let last = descriptors(key)?.pop().filter(is_constructor)?;
    let end = key.rfind(&last.name)?;
    Some(key[..end].trim_end_matches('`'))
}

/// Returns the parts of a row by file. An unreadable row counts as empty: only this producer writes them.
fn parts_of_row<T: DeserializeOwned>(row: &[u8]) -> BTreeMap<String, T> {
    serde_json::from_slice(row).unwrap_or_default()
}

fn add_to_row<T: Serialize + DeserializeOwned>(row: Option<&[u8]>, item: &str, part: &[u8]) -> Vec<u8> {
    let mut parts: BTreeMap<String, T> = row.map(parts_of_row).unwrap_or_default();
    if let Ok(part) = serde_json::from_slice(part) {
        parts.insert(item.to_owned(), part);
    }
    json::encode(&parts)
}

fn remove_from_row<T: Serialize + DeserializeOwned>(row: &[u8], item: &str) -> Option<Vec<u8>> {
    let mut parts: BTreeMap<String, T> = parts_of_row(row);
    parts.remove(item);
    (!parts.is_empty()).then(|| json::encode(&parts))
}

#[cfg(test)]
mod tests {
    use super::super::grammar::language;
    use super::super::tags::parse_tags;
    use super::*;
    use engine::seams::fold::{Contribution, changed_rows};
    use proptest::prelude::*;

    fn input(file: &str, text: &str) -> Input {
        let read = parse_tags(language("typescript").expect("it"), file, text).expect("read");
        Input::of(file, read.symbols.to_json())
    }

    #[test]
    fn a_constructor_is_used_by_the_name_of_its_type() {
        let symbol = |end: &str| format!("scip-typescript npm web 1.0.0 src/`api.ts`/Client#{end}");
        let names = ["", "`<get>size`().", "`<constructor>`().", "get()."].map(|end| name_of_use(&symbol(end)));
        assert_eq!(names, ["Client", "size", "Client", "get"]);
        assert_eq!(type_made(&symbol("`<constructor>`().")), Some(symbol("").as_str()));
        assert_eq!((type_made(&symbol("get().")), type_made("get")), (None, None));
    }

    proptest! {
        /// The table after a change of one file equals that of all files built at once.
        #[test]
        fn a_row_follows_the_files(texts in proptest::collection::vec("(class [AB] \\{ [ab]\\(\\) \\{ [ab]\\(\\) \\} \\}\n){0,3}", 1..4), edited in "(class [AC] \\{ \\}\n){0,2}") {
            for table in [NAMES, USES] {
                let file = |at: usize| format!("f{at}.ts");
                let mut rows: BTreeMap<String, Vec<u8>> = BTreeMap::new();
                let mut replace = |item: &str, before: BTreeMap<String, Vec<u8>>, now: BTreeMap<String, Vec<u8>>| {
                    let change = Contribution { item, before, now };
                    let changed = changed_rows(&table, &[change], &mut |key| Some(rows.get(key).cloned()));
                    for (name, row) in changed.expect("rows are at hand") {
                        match row {
                            Some(row) => _ = rows.insert(name, row),
                            None => _ = rows.remove(&name),
                        }
                    }
                };
                for (at, text) in texts.iter().enumerate() {
                    let given = table.rows_of_input(&input(&file(at), text)).expect("rows");
                    replace(&file(at), BTreeMap::new(), given);
                }
                let [before, after] = [&texts[0], &edited].map(|text| table.rows_of_input(&input("f0.ts", text)).expect("rows"));
                replace("f0.ts", before, after);
                let mut clean: BTreeMap<String, Vec<u8>> = BTreeMap::new();
                for (at, text) in std::iter::once(&edited).chain(&texts[1..]).enumerate() {
                    for (name, part) in table.rows_of_input(&input(&file(at), text)).expect("rows") {
                        let row = table.add_part(&name, clean.get(&name).map(Vec::as_slice), &file(at), &part);
                        clean.insert(name, row);
                    }
                }
                prop_assert_eq!(&rows, &clean);
            }
        }
    }
}
