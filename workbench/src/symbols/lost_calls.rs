//! Calls that an edit left without an overload that takes their arguments: by their number and by the names that they are written with.

use super::calls::possible;
use super::lost_names::EditedFile;
use super::outputs::Outputs;
use super::overloads::{self, Overload};
use crate::edit::declared::declared_names;
use engine::values::label::halves;
use producers::csharp::types::symbol_of;
use producers::csharp::usages::{Call, Place};
use std::collections::{BTreeMap, BTreeSet};

/// Places that call each member, by its type and its name.
pub(super) type Calls = BTreeMap<(String, String), BTreeSet<Place>>;

/// Calls that came with an edit, or of members that it changed, and that no overload takes.
pub(super) fn misfits<O: Outputs>(outputs: &mut O, calls: &Calls, files: &[EditedFile]) -> Result<BTreeSet<String>, O::Error> {
    let changed = changed_members(files);
    let mut wanted: Calls = BTreeMap::new();
    for ((key, name), places) in calls {
        let is_changed = changed.contains(&(symbol_of(key).to_owned(), name.clone()));
        let some = places.iter().filter(|place| is_changed || is_new(files, place));
        let some: BTreeSet<Place> = some.filter(|place| place.call.is_some() && !place.elsewhere).cloned().collect();
        if !some.is_empty() {
            wanted.insert((key.clone(), name.clone()), some);
        }
    }
    let keys: BTreeSet<&str> = wanted.keys().map(|(key, _)| key.as_str()).collect();
    let keys: Vec<&str> = keys.into_iter().collect();
    let rows: BTreeMap<&str, Vec<Overload>> = keys.iter().copied().zip(overloads::of(outputs, &keys)?).collect();
    let mut told = BTreeSet::new();
    for ((key, name), places) in &wanted {
        let all = rows.get(key.as_str()).into_iter().flatten();
        let own: Vec<Overload> = all.filter(|one| one.name == *name).cloned().collect();
        // What is no method is called as a delegate, and a type without constructors has one that is not written.
        let are_called = own.iter().all(|one| matches!(one.kind.as_str(), "method" | "constructor"));
        if own.is_empty() || !are_called {
            continue;
        }
        let misfit = |place: &&Place| place.call.as_ref().is_some_and(|call| possible(&own, &untyped(call)).is_empty());
        let is_value = |place: &&Place| name != ".ctor" || place.call.as_ref().is_some_and(|call| !call.arguments.is_empty());
        let at: Vec<String> = places
            .iter()
            .filter(misfit)
            .filter(is_value)
            .map(|place| format!("{}:{}:{}", place.file, place.line, place.column))
            .collect();
        if let Some(first) = at.first() {
            let more = if at.len() > 1 {
                format!(" and {} more places", at.len() - 1)
            } else {
                String::new()
            };
            let shown = if name == ".ctor" { symbol_of(key) } else { name };
            let takes: Vec<&str> = own.iter().map(|one| one.key.as_str()).collect();
            told.insert(format!(
                "no {shown} takes the arguments at {first}{more} (there is {})",
                takes.join(", ")
            ));
        }
    }
    Ok(told)
}

/// A call, described by the number and the names of its arguments.
fn untyped(call: &Call) -> Call {
    Call {
        arguments: vec![String::new(); call.arguments.len()],
        exact: Vec::new(),
        ..call.clone()
    }
}

/// Types and names of the members whose parameters differ after an edit.
pub(super) fn changed_members(files: &[EditedFile]) -> BTreeSet<(String, String)> {
    let all = |text: fn(&EditedFile) -> &str| -> BTreeSet<String> { files.iter().flat_map(|file| signatures(text(file))).collect() };
    let (before, after) = (all(|file| &file.before), all(|file| &file.after));
    let name = |path: &String| {
        let (key, member) = halves(path)?;
        let member = member.split(['`', '(', '\0']).next().unwrap_or(member);
        Some((key.to_owned(), member.to_owned()))
    };
    before.symmetric_difference(&after).filter_map(name).collect()
}

/// Members with their parameters, whose names and default values count, too.
fn signatures(text: &str) -> BTreeSet<String> {
    let syntax = crate::edit::symbol::read(text, &BTreeSet::new());
    let mut found = declared_names(text);
    for decl in &syntax.types {
        let members = decl.members.iter().filter(|member| member.signature.contains('('));
        found.extend(members.map(|member| format!("{}#{}\0{}", decl.symbol(), member.name, member.signature)));
    }
    found
}

/// Whether the line of a place is one that the edit wrote.
pub(super) fn is_new(files: &[EditedFile], place: &Place) -> bool {
    let Some(file) = files.iter().find(|file| file.path == place.file) else {
        return false;
    };
    let line = file.after.lines().nth(place.line as usize - 1).unwrap_or_default();
    !file.before.lines().any(|one| one == line)
}
