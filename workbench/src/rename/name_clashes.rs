//! Clashes of a new name with symbols that already have it.

use super::Obstacles;
use super::family::{Family, accessed_by, renamed_key};
use crate::symbols::calls::counterparts;
use crate::symbols::index::{Symbols, simple_name};
use crate::symbols::outputs::{Outputs, SymbolError};
use crate::symbols::overloads::{self, short_of};
use engine::values::label::halves;
use producers::csharp::related_types::{dotnet_bases_with_member, related_types};
use producers::csharp::types::symbol_of;

impl Family {
    /// Adds obstacles for other symbols that already have the new name there.
    pub(super) fn check_clashes<O: Outputs>(
        &self,
        outputs: &mut O,
        symbols: &Symbols,
        new: &str,
        way: &mut Obstacles,
    ) -> Result<(), O::Error> {
        for path in &self.paths {
            let (key, member) = halves(path).map_or((path.as_str(), None), |(key, member)| (key, Some(member)));
            match member {
                None => self.check_type(symbols, key, new, way),
                Some(member) => self.check_member(outputs, symbols, (key, member), new, way)?,
            }
        }
        Ok(())
    }

    fn check_type(&self, symbols: &Symbols, key: &str, new: &str, way: &mut Obstacles) {
        let plain = renamed_key(key, new);
        if symbols.keys().any(|other| symbol_of(other) == plain) {
            way.add_obstacle(format!("there is a {plain} already"));
        }
        if symbols.declares(key, new) {
            way.add_obstacle(format!("{key} has a member {new}"));
        }
        let path = plain.split('`').next().unwrap_or_default();
        if symbols.namespaces().iter().any(|namespace| namespace == path) {
            way.add_obstacle(format!("there is a namespace {path}"));
        }
        if let Some((outer, _)) = key.rsplit_once('+')
            && (symbols.declares(outer, new) || simple_name(outer) == new)
        {
            way.add_obstacle(format!("{outer} already has {new}"));
        }
    }

    fn check_member<O: Outputs>(
        &self,
        outputs: &mut O,
        symbols: &Symbols,
        (key, member): (&str, &str),
        new: &str,
        way: &mut Obstacles,
    ) -> Result<(), O::Error> {
        let damaged = |_| SymbolError::damaged();
        if simple_name(key) == new {
            way.add_obstacle(format!("a member of {key} cannot have the name of its type"));
        }
        if let Some(of) = accessed_by(new).filter(|of| symbols.declares(key, of)) {
            way.add_obstacle(format!("{new} is the name of an accessor of {key}#{of}"));
        }
        let nested = format!("{}+{new}", symbol_of(key));
        if symbols.keys().any(|other| symbol_of(other) == nested) {
            way.add_obstacle(format!("{key} has a type {new}"));
        }
        for base in dotnet_bases_with_member(symbols.declarations(), key, new).map_err(damaged)? {
            way.add_obstacle(format!("{base}, a base of {key}, already has {new}"));
        }
        let owners = symbols.owners(new);
        let mut others: Vec<String> = related_types(symbols.declarations(), key, &owners)
            .map_err(damaged)?
            .into_iter()
            .collect();
        others.extend(symbols.declares(key, new).then(|| key.to_owned()));
        if others.is_empty() {
            return Ok(());
        }
        let keys: Vec<&str> = std::iter::once(key).chain(others.iter().map(String::as_str)).collect();
        let mut rows = overloads::read_overloads(outputs, &keys)?.into_iter();
        let own = rows.next().unwrap_or_default().into_iter().find(|one| one.key == member);
        for (other, mut rows) in others.iter().zip(rows) {
            rows.retain(|one| one.name == new || short_of(&one.name) == Some(new));
            // Another overload of a method's name does not clash.
            let is_apart = own
                .as_ref()
                .is_some_and(|own| own.kind == "method" && counterparts(own, &rows).is_empty());
            if !(is_apart && rows.iter().all(|one| one.kind == "method")) {
                way.add_obstacle(format!("{other} already has {new}"));
            }
        }
        Ok(())
    }
}
