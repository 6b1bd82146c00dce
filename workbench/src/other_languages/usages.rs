//! Usages of a definition of another language: a use that an index bound is certain; a use found by name is possible and marked so.

use super::files;
use super::names::{OtherNames, OtherSymbol};
use crate::symbols::outputs::{Outputs, SymbolError, file_label};
use crate::symbols::usages::{Usages, UseDoubt};
use engine::values::table::Table;
use producers::csharp::deps::flow::UseKind;
use producers::csharp::usages::{LONGEST_LINE, Place};
use producers::languages::model::{FileSymbols, TagUse};
use producers::languages::names::{Uses, name_of_use, type_made};
use std::collections::{BTreeMap, BTreeSet};

/// The tables of used names of all languages and indexes.
const TABLES: &str = "//index/...:uses";

/// Finds the usages. An index that bound the definition is trusted for its own files; elsewhere, and where nothing is bound, uses are found by name.
pub fn usages<O: Outputs>(outputs: &mut O, names: &OtherNames, symbol: &OtherSymbol) -> Result<Usages, O::Error> {
    let mut found = Usages::default();
    let own = files::symbols_of_file(outputs, names, &symbol.file)?.unwrap_or_default();
    // Overloads and accessors of one path are separate symbols.
    let all = files::definitions(&own, symbol).map(|one| one.symbol.as_str());
    let bound: BTreeSet<&str> = all.filter(|symbol| !symbol.is_empty()).collect();
    let written: BTreeSet<String> = bound
        .iter()
        .map(|symbol| name_of_use(symbol))
        .chain([symbol.name.clone()])
        .collect();
    let users = users(outputs, names, &written, &mut found)?;
    for (file, target) in users {
        let labels = [file_label(&file, target), file_label(&file, "bytes")];
        let mut read = outputs.read(&labels)?.into_iter();
        let (Some(names_file), Some(bytes)) = (read.next(), read.next()) else {
            continue;
        };
        let (Some(names_file), Some(bytes)) = (names_file.bytes, bytes.bytes) else {
            found.unread.push(labels[0].clone());
            continue;
        };
        let symbols = FileSymbols::from_json(&names_file).ok_or_else(|| SymbolError::damaged().at_label(&labels[0]))?;
        let text = producers::text::decode(&bytes, &file).0;
        let lines: Vec<&str> = text.split('\n').collect();
        let is_bound = target == "scip" && !bound.is_empty();
        let is_use = |key: &str| match is_bound {
            true => bound.contains(key) || type_made(key).is_some_and(|made| bound.contains(made)),
            false => name_of_use(key) == symbol.name,
        };
        for (_, places) in symbols.uses.iter().filter(|(key, _)| is_use(key)) {
            for place in places.iter().map(|one| place_of_use(&file, one, &lines)) {
                match is_bound {
                    true => _ = found.certain.insert(place),
                    false => _ = found.possible.insert(place, UseDoubt::ByName),
                }
            }
        }
    }
    found.possible.retain(|place, _| !found.certain.contains(place));
    Ok(found)
}

/// Returns the files that use one of these names, each with its target.
fn users<O: Outputs>(
    outputs: &mut O,
    names: &OtherNames,
    written: &BTreeSet<String>,
    found: &mut Usages,
) -> Result<BTreeMap<String, &'static str>, O::Error> {
    let mut users = BTreeMap::new();
    for output in outputs.read(&[TABLES.to_owned()])? {
        let target = if output.label == "//index/scip:uses" { "scip" } else { "tags" };
        let Some(bytes) = output.bytes else {
            found.unread.push(output.label);
            continue;
        };
        let damaged = || SymbolError::damaged().at_label(&output.label);
        let table = Table::open(&bytes).ok_or_else(damaged)?;
        for row in written.iter().filter_map(|name| table.get(name)) {
            let row: Uses = serde_json::from_slice(row).map_err(|_| damaged())?;
            // A file without definitions is described by any table that has its uses.
            let others = row.into_keys().filter(|file| names.target(file).is_none_or(|own| own == target));
            users.extend(others.map(|file| (file, target)));
        }
    }
    Ok(users)
}

fn place_of_use(file: &str, TagUse(line, column, kind): &TagUse, lines: &[&str]) -> Place {
    let text = lines.get(*line as usize - 1).map_or("", |line| line.trim());
    Place {
        file: file.to_owned(),
        line: *line,
        column: *column,
        text: text[..text.floor_char_boundary(LONGEST_LINE)].to_owned(),
        kind: match kind.as_str() {
            "call" => UseKind::Call,
            "construct" => UseKind::Construct,
            "convert" => UseKind::Convert,
            "read" => UseKind::Read,
            "write" => UseKind::Write,
            _ => UseKind::Name,
        },
        ..Place::default()
    }
}
