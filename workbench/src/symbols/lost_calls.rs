//! Calls that an edit leaves without a fitting overload: by the number and names of their arguments, and by their types if certainly no conversion
//! exists.

use super::calls::{none_takes, possible_overloads, simple};
use super::index::Symbols;
use super::lost_names::EditedFile;
use super::lost_types::may_be_generated;
use super::outputs::{Outputs, SymbolError};
use super::overloads::{self, Overload};
use crate::code_text::declared::declared_names;
use engine::values::label::halves;
use producers::csharp::deps::lookups::{Lookups, TableRows};
use producers::csharp::deps::shape::Shape;
use producers::csharp::deps::world::World;
use producers::csharp::types::symbol_of;
use producers::csharp::usages::{Call, Place};
use std::collections::{BTreeMap, BTreeSet};

/// Places that call each member, by its type and name.
pub(super) type Calls = BTreeMap<(String, String), BTreeSet<Place>>;

/// Describes calls that no overload accepts, among the calls that the edit added and the calls of members that it changed.
pub(super) fn misfits<O: Outputs>(
    outputs: &mut O,
    symbols: &Symbols,
    calls: &Calls,
    files: &[EditedFile],
) -> Result<BTreeSet<String>, O::Error> {
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
    let rows: BTreeMap<&str, Vec<Overload>> = keys.iter().copied().zip(overloads::read_overloads(outputs, &keys)?).collect();
    if wanted.is_empty() {
        return Ok(BTreeSet::new());
    }
    let declared = TableRows::read(symbols.declarations()).map_err(|_| SymbolError::damaged())?;
    let lookups = Lookups::new(&declared);
    let world = World::new(&lookups);
    let mut messages = BTreeSet::new();
    for ((key, name), places) in &wanted {
        let all = rows.get(key.as_str()).into_iter().flatten();
        let mut own: Vec<Overload> = all.filter(|one| one.name == *name).cloned().collect();
        // Skip members that are called as delegates, and types whose only constructor is not written.
        let are_called = own.iter().all(|one| matches!(one.kind.as_str(), "method" | "constructor"));
        if own.is_empty() || !are_called {
            continue;
        }
        overloads::bind(symbols, key, &mut own)?;
        let mut at: Vec<String> = Vec::new();
        for place in places {
            let Some(call) = place.call.as_ref().filter(|call| name != ".ctor" || !call.arguments.is_empty()) else {
                continue;
            };
            // A range of a value has another type than one of its elements.
            let are_types_known = !place.text.contains("..");
            let is_misfit = possible_overloads(&own, &without_types(call)).is_empty()
                || are_types_known
                    && none_takes(&own, call, &|argument, parameter| excludes(&world, argument, parameter))
                    && are_whole(outputs, symbols, &own, call)?;
            if is_misfit {
                at.push(format!("{}:{}:{}", place.file, place.line, place.column));
            }
        }
        if let Some(first) = at.first() {
            let more = if at.len() > 1 {
                format!(" and {} more places", at.len() - 1)
            } else {
                String::new()
            };
            let shown = if name == ".ctor" { symbol_of(key) } else { name };
            let takes: Vec<&str> = own.iter().map(|one| one.key.as_str()).collect();
            messages.insert(format!(
                "no {shown} takes the arguments at {first}{more} (there is {})",
                takes.join(", ")
            ));
        }
    }
    Ok(messages)
}

/// Whether certainly no value of one type can be passed as the other: each is a type of the workspace or a simple type, the first is not derived from
/// the second, and neither declares a conversion.
fn excludes(world: &World<'_>, argument: &str, parameter: &str) -> bool {
    let (from, to) = (Shape::read(argument, false), Shape::read(parameter, false));
    let (Some(from_key), Some(to_key)) = (from.key(), to.key()) else {
        return false;
    };
    let is_own = |key: &str| world.type_line(key).is_some() && world.kind(key) != 'd' && !key.contains("InterpolatedString");
    let is_clear = |key: &str| simple(key).is_some() || !key.starts_with(['~', '^']) && is_own(key);
    // Zero converts to every enumeration.
    let may_be_zero = simple(from_key).is_some() && world.kind(to_key) == 'e';
    let are_simple = simple(from_key).is_some() && simple(to_key).is_some();
    if !is_clear(from_key) || !is_clear(to_key) || may_be_zero || are_simple {
        return false;
    }
    let (sources, targets) = (world.levels(&from), world.levels(&to));
    let all = || sources.iter().chain(&targets);
    let is_known = |level: &Shape| level.key().is_some_and(|key| !key.starts_with('^'));
    let is_base = |level: &Shape| level.key().is_some_and(|key| symbol_of(key) == symbol_of(to_key));
    let mut conversions = Vec::new();
    let own = all().filter(|level| level.key().is_some_and(|key| !key.starts_with('~')));
    own.for_each(|level| world.declared(level, "op_Implicit", &mut conversions));
    all().all(is_known) && !sources.iter().any(is_base) && conversions.is_empty()
}

/// Whether no type of an argument or parameter can have generated parts.
fn are_whole<O: Outputs>(outputs: &mut O, symbols: &Symbols, own: &[Overload], call: &Call) -> Result<bool, O::Error> {
    let parameters = own.iter().flat_map(|one| &one.bound);
    for one in call.arguments.iter().chain(parameters) {
        if let Some(key) = Shape::read(one, false).key()
            && may_be_generated(outputs, symbols, key)?
        {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Reduces a call to the number and names of its arguments.
fn without_types(call: &Call) -> Call {
    Call {
        arguments: vec![String::new(); call.arguments.len()],
        exact: Vec::new(),
        ..call.clone()
    }
}

/// Returns the types and names of the members whose parameters differ after an edit.
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

/// Returns the members of a text with their parameters, including names and default values.
fn signatures(text: &str) -> BTreeSet<String> {
    let syntax = crate::code_text::declared::parse_code(text, &BTreeSet::new());
    let mut found = declared_names(text);
    for decl in &syntax.types {
        let members = decl.members.iter().filter(|member| member.signature.contains('('));
        found.extend(members.map(|member| format!("{}#{}\0{}", decl.symbol(), member.name, member.signature)));
    }
    found
}

/// Whether the edit wrote the line of a place.
pub(super) fn is_new(files: &[EditedFile], place: &Place) -> bool {
    let Some(file) = files.iter().find(|file| file.path == place.file) else {
        return false;
    };
    let line = file.after.lines().nth(place.line as usize - 1).unwrap_or_default();
    !file.before.lines().any(|one| one == line)
}
