//! Code that still names declarations that a change removed. Such names bind to nothing, so a walk over uses does not reach them; the texts before
//! and after the change, and the unbound names of the workspace, give their places.

use super::call_graph::path_of;
use super::calls::possible_overloads;
use super::impact::{Affected, Reached};
use super::index::Symbols;
use super::lost_names::{MOST_READERS, last_name};
use super::outputs::{Outputs, SymbolError, file_label, type_label};
use super::overloads;
use super::source::enclosing;
use super::unbound::Bound;
use super::unbound_places::place_at;
use engine::values::label::halves;
use engine::values::table::Table;
use producers::csharp::lexer::{Kind, lex};
use producers::csharp::types::symbol_of;
use producers::csharp::usages::{NOTHING, Place, UseKind};
use std::collections::{BTreeMap, BTreeSet};

/// The users of removed declarations.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RemovedUses {
    /// The members and types whose code names a removed declaration, each with its first place.
    pub users: Vec<Affected>,
    /// Number of types that were not searched.
    pub left_out: usize,
}

/// A removed member: symbol of its type, name, path.
type RemovedMember<'r> = (&'r str, &'r str, &'r str);

/// Finds the code that names removed declarations, which are given by their paths. `files` are the changed files.
pub fn uses_of_removed<O: Outputs>(
    outputs: &mut O,
    symbols: &Symbols,
    removed: &BTreeSet<String>,
    files: &BTreeSet<String>,
) -> Result<RemovedUses, O::Error> {
    let mut found = RemovedUses::default();
    if removed.is_empty() {
        return Ok(found);
    }
    let members = removed
        .iter()
        .filter_map(|path| halves(path).map(|(of, member)| (of, name_of_member(member), path.as_str())));
    let members: Vec<RemovedMember<'_>> = members.collect();
    let types: Vec<&str> = removed.iter().filter(|path| halves(path).is_none()).map(String::as_str).collect();
    let bound = Bound::from_outputs(outputs)?;
    let owners: BTreeSet<String> = members.iter().map(|(of, ..)| (*of).to_owned()).collect();
    let mut looked: BTreeSet<String> = files
        .iter()
        .flat_map(|file| symbols.types_of_file(file))
        .map(str::to_owned)
        .collect();
    let readers = bound.naming(&owners);
    found.left_out = readers.len().saturating_sub(MOST_READERS);
    looked.extend(readers.into_iter().take(MOST_READERS));
    let mut places = uses_of_members(outputs, symbols, &members, &looked)?;
    places.extend(uses_of_types(outputs, symbols, &types, &bound)?);
    let around = enclosing(outputs, &places.keys().collect::<Vec<_>>())?;
    let mut seen = BTreeSet::new();
    for ((place, path), around) in places.into_iter().zip(around) {
        let user = path_of(symbols, &place.file, around);
        if seen.insert((user.clone(), path)) {
            found.users.push(Affected {
                file: Some(place.file),
                line: Some(place.line),
                ..Affected::new(1, &user, Reached::Lost, Some(path))
            });
        }
    }
    Ok(found)
}

/// Returns the name by which code refers to a member, by its key.
fn name_of_member(key: &str) -> &str {
    let name = &key[..key.find(['`', '(']).filter(|end| *end > 0).unwrap_or(key.len())];
    match name.rsplit_once('.') {
        // Of an explicit implementation.
        Some((before, name)) if !before.is_empty() => name,
        _ => name,
    }
}

/// Places of removed names, with the path of the removed declaration.
type RemovedPlaces<'r> = BTreeMap<Place, &'r str>;

/// Returns the uses of removed members in the code of some types: names that mean nothing, and calls that fit none of the overloads that remain.
fn uses_of_members<'r, O: Outputs>(
    outputs: &mut O,
    symbols: &Symbols,
    members: &[RemovedMember<'r>],
    types: &BTreeSet<String>,
) -> Result<RemovedPlaces<'r>, O::Error> {
    let mut found = RemovedPlaces::new();
    if members.is_empty() {
        return Ok(found);
    }
    let mut calls: BTreeMap<String, RemovedPlaces<'r>> = BTreeMap::new();
    let labels: Vec<String> = types.iter().map(|key| type_label(key, "usages")).collect();
    for output in outputs.read(&labels)? {
        let Some(bytes) = output.bytes else { continue };
        let damaged = || SymbolError::damaged().at_label(&output.label);
        let table = Table::open(&bytes).ok_or_else(damaged)?;
        for (key, value) in table.rows() {
            let Some((owner, name)) = halves(key) else { continue };
            let of_name = members.iter().filter(|(_, removed, _)| *removed == name);
            let is_owner = |of: &str| of_name.clone().find(|(owner, ..)| *owner == symbol_of(of)).map(|(.., path)| *path);
            let receiver = owner.strip_prefix(NOTHING);
            let path = match receiver {
                Some(receiver) => is_owner(receiver).or_else(|| of_name.clone().next().map(|(.., path)| *path)),
                None => is_owner(owner),
            };
            let Some(path) = path else { continue };
            let places: Vec<Place> = serde_json::from_slice(value).map_err(|_| damaged())?;
            let in_code = places.into_iter().filter(|place| place.kind != UseKind::Cref);
            let into = match receiver {
                Some(_) => &mut found,
                None => calls.entry(key.to_owned()).or_default(),
            };
            into.extend(in_code.map(|place| (place, path)));
        }
    }
    let keys: BTreeSet<&str> = calls.keys().filter_map(|key| Some(halves(key)?.0)).collect();
    let keys: Vec<&str> = keys.into_iter().collect();
    let rows: BTreeMap<&str, _> = keys.iter().copied().zip(overloads::read_overloads(outputs, &keys)?).collect();
    for (key, places) in &calls {
        let Some((owner, name)) = halves(key) else { continue };
        let mut own = rows.get(owner).cloned().unwrap_or_default();
        own.retain(|one| one.name == name);
        if own.is_empty() {
            continue;
        }
        overloads::bind(symbols, owner, &mut own)?;
        for (place, path) in places {
            let call = place.call.as_ref().filter(|_| !place.elsewhere);
            if call.is_some_and(|call| possible_overloads(&own, call).is_empty()) {
                found.insert(place.clone(), *path);
            }
        }
    }
    Ok(found)
}

/// Returns the places that write the names of removed types, in types with such an unbound name.
fn uses_of_types<'r, O: Outputs>(
    outputs: &mut O,
    symbols: &Symbols,
    types: &[&'r str],
    bound: &Bound,
) -> Result<RemovedPlaces<'r>, O::Error> {
    let mut wanted: BTreeMap<String, BTreeSet<&'r str>> = BTreeMap::new();
    for one in bound.unbound.iter().filter(|one| one.meanings.is_empty()) {
        let Some(path) = types.iter().find(|path| last_name(path) == last_name(&one.name)) else {
            continue;
        };
        let Some(at) = symbols.find(&one.of) else { continue };
        for file in symbols.type_row(at)?.files {
            wanted.entry(file).or_default().insert(*path);
        }
    }
    let mut found = RemovedPlaces::new();
    if wanted.is_empty() {
        return Ok(found);
    }
    let labels: Vec<String> = wanted.keys().map(|file| file_label(file, "source")).collect();
    for ((file, paths), output) in wanted.iter().zip(outputs.read(&labels)?) {
        let Some(bytes) = output.bytes else { continue };
        let text = String::from_utf8_lossy(&bytes);
        for token in lex(&text).tokens.iter().filter(|token| token.kind == Kind::Word) {
            let word = token.text(&text);
            let is_named = |path: &&&str| {
                let name = last_name(path);
                word == name || name.strip_suffix("Attribute") == Some(word)
            };
            if let Some(path) = paths.iter().find(is_named) {
                found.insert(place_at(file, &text, token.start as usize), *path);
            }
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::super::impact::impact_with_users;
    use super::super::samples::Sample;
    use super::*;

    const SHOP: &str = "namespace N; class Shop { public int Price(int a, int b) => 1; }\n";
    const USERS: &str = "namespace N;\nclass User {\nint Old(Shop shop) => shop.Tax();\nint Other(Shop shop) => shop.Price(1);\nint Fine(Shop shop) => shop.Price(1, 2);\nGone next;\n}\nclass Test {\n[Fact] void Runs() => new User().Old(null);\n}\n";

    #[test]
    fn users_of_removed_declarations_are_found_and_followed() {
        let mut sample = Sample::from_files(&[("shop.cs", SHOP), ("users.cs", USERS)]);
        let symbols = sample.names();
        let removed = ["N.Gone", "N.Shop#Price(int)", "N.Shop#Tax()"].map(str::to_owned);
        let files = BTreeSet::from(["shop.cs".to_owned()]);
        let found = uses_of_removed(&mut sample, &symbols, &removed.into(), &files).expect("outputs");
        let row = |one: &Affected| {
            let place = format!("{}:{}", one.file.as_deref().unwrap_or_default(), one.line.unwrap_or_default());
            format!(
                "{place} {} {} {}",
                one.path,
                one.how.as_str(),
                one.by.as_deref().unwrap_or_default()
            )
        };
        let rows: Vec<String> = found.users.iter().map(row).collect();
        assert_eq!(
            rows,
            [
                "users.cs:3 N.User#Old(Shop) names the removed N.Shop#Tax()",
                "users.cs:4 N.User#Other(Shop) names the removed N.Shop#Price(int)",
                "users.cs:6 N.User#next names the removed N.Gone",
            ]
        );
        assert_eq!(found.left_out, 0);
        let reached = impact_with_users(&mut sample, &symbols, &BTreeSet::new(), found.users, 5, &BTreeSet::new()).expect("outputs");
        let paths: Vec<(u32, &str, bool)> = reached
            .affected
            .iter()
            .map(|one| (one.distance, one.path.as_str(), one.test))
            .collect();
        assert_eq!(
            paths,
            [
                (1, "N.User#Old(Shop)", false),
                (1, "N.User#Other(Shop)", false),
                (1, "N.User#next", false),
                (2, "N.Test#Runs()", true),
            ]
        );
        let nothing = uses_of_removed(&mut sample, &symbols, &BTreeSet::new(), &files).expect("outputs");
        assert_eq!(nothing, RemovedUses::default());
    }

    #[test]
    fn names_of_members_are_those_of_code() {
        for (key, name) in [
            ("Get(int)", "Get"),
            ("Map`1(T)", "Map"),
            ("Count", "Count"),
            (".ctor(int)", ".ctor"),
            ("N.IStore.Get(int)", "Get"),
        ] {
            assert_eq!(name_of_member(key), name, "{key}");
        }
    }
}
