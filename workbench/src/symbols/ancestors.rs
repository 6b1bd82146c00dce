//! Finds the bases of a type, and the members that a member overrides or implements: the reverse of [`super::hierarchy`].

use super::calls::counterparts;
use super::hierarchy::{Implementation, Relation, implementations};
use super::index::Symbols;
use super::outputs::{Outputs, SymbolError};
use super::overloads::{self, Overload, short_of};
use super::resolve::Candidate;
use producers::csharp::deps::dotnet;
use producers::csharp::deps::lookups::{Lookups, TableRows};
use producers::csharp::deps::shape::Shape;
use producers::csharp::deps::world::World;
use producers::csharp::related_types::{interfaces_of_heirs, related_types};
use std::collections::BTreeSet;

/// The base of every class.
const OBJECT: &str = "System.Object";

/// Returns the bases of a symbol, nearest first, then by path. Bases outside of the workspace have a name and no place; [`super::hierarchy::locate`]
/// adds the places of others.
pub fn ancestors<O: Outputs>(outputs: &mut O, symbols: &Symbols, of: &Candidate) -> Result<Vec<Implementation>, O::Error> {
    let types = types_above(symbols, of.key())?;
    match of.member() {
        None => Ok(types),
        Some(member) => members_above(outputs, symbols, (of.key(), member), &types),
    }
}

fn types_above(symbols: &Symbols, key: &str) -> Result<Vec<Implementation>, SymbolError> {
    let rows = TableRows::read(symbols.declarations()).map_err(|_| SymbolError::damaged())?;
    let lookups = Lookups::new(&rows);
    let world = World::new(&lookups);
    let is_interface = world.kind(key) == 'i';
    let mut seen = BTreeSet::from([key.to_owned()]);
    let (mut found, mut here) = (Vec::new(), vec![key.to_owned()]);
    for distance in 1.. {
        let bound: BTreeSet<String> = here.iter().flat_map(|key| direct_bases(&world, key)).collect();
        here = bound.into_iter().filter(|base| seen.insert(base.clone())).collect();
        found.extend(here.iter().map(|base| Implementation {
            distance,
            path: base.trim_start_matches(['~', '^']).to_owned(),
            relation: match is_interface_key(&world, base) && !is_interface {
                true => Relation::Implements,
                false => Relation::Derives,
            },
            through: None,
            place: None,
        }));
        if here.is_empty() {
            break;
        }
    }
    found.sort();
    found.dedup_by(|one, other| one.path == other.path);
    Ok(found)
}

/// Returns the keys of the known bases that a type names.
fn direct_bases(world: &World<'_>, key: &str) -> Vec<String> {
    let keys = |bases: &mut dyn Iterator<Item = Shape>| bases.filter_map(|base| base.key().map(str::to_owned)).collect();
    let mut bases: Vec<String> = match key.strip_prefix('~') {
        Some(outside) => dotnet::get(outside).map_or_else(Vec::new, |outside| keys(&mut outside.bases())),
        // The underlying type of an enumeration is not a base.
        None => world
            .type_line(key)
            .filter(|line| line.kind != 'e')
            .map_or_else(Vec::new, |line| keys(&mut line.bases.iter().cloned())),
    };
    bases.retain(|base| base.strip_prefix('~') != Some(OBJECT));
    bases
}

/// Whether a type is an interface. An unresolved name is one by convention: `I` before another capital.
fn is_interface_key(world: &World<'_>, key: &str) -> bool {
    let Some(name) = key.strip_prefix('^') else {
        return world.kind(key) == 'i';
    };
    let mut letters = name.chars();
    letters.next() == Some('I') && letters.next().is_some_and(char::is_uppercase)
}

fn members_above<O: Outputs>(
    outputs: &mut O,
    symbols: &Symbols,
    (key, member): (&str, &str),
    types: &[Implementation],
) -> Result<Vec<Implementation>, O::Error> {
    let Some(own) = overloads::read_overload(outputs, key, member)? else {
        return Ok(Vec::new());
    };
    let name = short_of(&own.name).unwrap_or(&own.name).to_owned();
    let path = format!("{key}#{member}");
    let declaring = symbols.owners(&name);
    let mut others = related_types(symbols.declarations(), key, &declaring).map_err(|_| SymbolError::damaged())?;
    let heirs: Vec<&str> = symbols.all_heirs(key).into_iter().collect();
    others.extend(interfaces_of_heirs(symbols.declarations(), key, &heirs, &declaring).map_err(|_| SymbolError::damaged())?);
    let others: Vec<&str> = others.iter().map(String::as_str).collect();
    let mut found = Vec::new();
    for (other, mut rows) in others.iter().zip(overloads::read_overloads(outputs, &others)?) {
        rows.retain(|one| one.name == name || short_of(&one.name) == Some(&name));
        for one in counterparts(&own, &rows) {
            let base = format!("{other}#{}", one.key);
            let carried_on = implementations(outputs, symbols, &Candidate::from_path(&base, &[]), true)?;
            found.extend(
                carried_on
                    .into_iter()
                    .filter(|one| one.path == path)
                    .map(|one| Implementation { path: base.clone(), ..one }),
            );
        }
    }
    found.extend(outside_members(symbols, &own, &name, types)?);
    found.sort();
    Ok(found)
}

/// Returns the .NET members that a member overrides or implements, compared by the number of parameters.
fn outside_members(symbols: &Symbols, own: &Overload, name: &str, types: &[Implementation]) -> Result<Vec<Implementation>, SymbolError> {
    let object = Implementation {
        distance: types.iter().map(|one| one.distance).max().unwrap_or_default() + 1,
        path: OBJECT.to_owned(),
        relation: Relation::Derives,
        through: None,
        place: None,
    };
    let is_explicit = short_of(&own.name).is_some();
    if own.is_static || !(own.is_override || own.accessibility == "public" || is_explicit) {
        return Ok(Vec::new());
    }
    let rows = TableRows::read(symbols.declarations()).map_err(|_| SymbolError::damaged())?;
    let lookups = Lookups::new(&rows);
    let world = World::new(&lookups);
    let declares = |base: &&Implementation| {
        let mut declared = Vec::new();
        world.declared(&Shape::of_key(&format!("~{}", base.path)), name, &mut declared);
        declared
            .iter()
            .any(|one| !one.is_method() || one.parameters().len() == own.parameters.len())
    };
    let relation = |base: &Implementation| match base.relation {
        Relation::Implements => (!own.is_override).then_some(Relation::Implements),
        _ => own.is_override.then_some(Relation::Overrides),
    };
    let bases = types.iter().chain([&object]).filter(declares);
    Ok(bases
        .filter_map(|base| {
            Some(Implementation {
                path: format!("{}#{name}", base.path),
                relation: relation(base)?,
                ..base.clone()
            })
        })
        .collect())
}

#[cfg(test)]
mod tests {
    use super::super::hierarchy::locate;
    use super::super::resolve::{Options, resolve};
    use super::super::samples::Sample;
    use super::*;

    fn rows_of(sample: &mut Sample, symbol: &str) -> Vec<String> {
        let symbols = sample.names();
        let found = resolve(&symbols, sample, symbol, &Options::default()).expect("a resolution");
        let of = found.candidate().expect("one").clone();
        let mut found = ancestors(sample, &symbols, &of).expect("an answer");
        locate(sample, &symbols, &mut found).expect("places");
        let line = |one: &Implementation| {
            let place = one.place.as_ref().map_or_else(|| "outside".to_owned(), ToString::to_string);
            format!("{} {} {} {place}", one.distance, one.relation.as_str(), one.path)
        };
        found.iter().map(line).collect()
    }

    #[test]
    fn bases_are_told_up_to_those_outside() {
        let text = "using System;\ninterface I : IDisposable { }\nclass A<T> : Web.Controller, I, Web.IFilter<T> { public void Dispose() { } }\nclass B : A<int>, IComparable<B> { }\nenum E : byte { X }\n";
        let mut sample = Sample::from_files(&[("a.cs", text)]);
        assert_eq!(
            rows_of(&mut sample, "B"),
            [
                "1 derives A`1 a.cs:3:7",
                "1 implements System.IComparable`1 outside",
                "2 derives Controller outside",
                "2 implements I a.cs:2:11",
                "2 implements IFilter outside",
                "3 implements System.IDisposable outside",
            ]
        );
        assert_eq!(rows_of(&mut sample, "I"), ["1 derives System.IDisposable outside"]);
        assert_eq!(rows_of(&mut sample, "E"), [""; 0]);
    }

    #[test]
    fn members_are_told_with_what_they_override_and_implement() {
        let text = "using System;
interface I { void Go(int x); void Go(string x); }
class A : I, IDisposable { public virtual void Go(int x) { } void I.Go(string x) { } public void Dispose() { } public void Dispose(bool all) { } }
class B : A { public override void Go(int x) { } public override string ToString() => \"\"; }
";
        let mut sample = Sample::from_files(&[("a.cs", text)]);
        assert_eq!(
            rows_of(&mut sample, "B#Go(int)"),
            ["1 overrides A#Go(int) a.cs:3:48", "2 overrides I#Go(int) a.cs:2:20"]
        );
        assert_eq!(rows_of(&mut sample, "A#I.Go(string)"), ["1 implements I#Go(string) a.cs:2:36"]);
        assert_eq!(
            rows_of(&mut sample, "A#Dispose()"),
            ["1 implements System.IDisposable#Dispose outside"]
        );
        assert_eq!(rows_of(&mut sample, "A#Dispose(bool)"), [""; 0]);
        assert_eq!(rows_of(&mut sample, "B#ToString()"), ["3 overrides System.Object#ToString outside"]);
    }
}
