//! Related types: bases, heirs, and interfaces that heirs implement. A call of a member of one may run the member of that name of another.
//! All functions read `//index:declarations`.

use super::deps::dotnet;
use super::deps::lookups::{Lookups, TableRows};
use super::deps::shape::Shape;
use super::deps::world::World;
use super::usages::is_dotnet_interface;
use engine::seams::producer::Failure;
use std::collections::BTreeSet;

/// Returns the bases and heirs of `key` among `declaring`, the types that declare a member of one name: a call of the member of a base may
/// run that of `key`, and an heir may override or implement it. `declarations` is the blob of `//index:declarations`. Fails when the blob
/// is not an output of the producer.
pub fn related_types(declarations: &[u8], key: &str, declaring: &[&str]) -> Result<BTreeSet<String>, Failure> {
    let rows = TableRows::read(declarations)?;
    let lookups = Lookups::new(&rows);
    let world = World::new(&lookups);
    let has = |heir: &str, base: &str| {
        world
            .levels(&Shape::of_key(heir))
            .iter()
            .skip(1)
            .any(|shape| shape.key() == Some(base))
    };
    let related = declaring
        .iter()
        .filter(|other| **other != key && (has(key, other) || has(other, key)));
    Ok(related.map(|key| (*key).to_owned()).collect())
}

/// Returns the interfaces among `declaring` that heirs of a class implement: a member of the class may implement one of theirs, although
/// the class does not list the interface. `heirs`: all heirs of `key`. Fails when the blob is not an output of the producer.
pub fn interfaces_of_heirs(declarations: &[u8], key: &str, heirs: &[&str], declaring: &[&str]) -> Result<BTreeSet<String>, Failure> {
    let rows = TableRows::read(declarations)?;
    let lookups = Lookups::new(&rows);
    let world = World::new(&lookups);
    let interfaces: Vec<&str> = declaring.iter().copied().filter(|one| world.kind(one) == 'i').collect();
    let mut found = BTreeSet::new();
    if interfaces.is_empty() || world.kind(key) == 'i' {
        return Ok(found);
    }
    for heir in heirs {
        let levels = world.levels(&Shape::of_key(heir));
        let is_level = |one: &&&str| levels.iter().any(|level| level.key() == Some(**one));
        found.extend(interfaces.iter().filter(is_level).map(|one| (*one).to_owned()));
    }
    Ok(found)
}

/// Returns the interfaces of .NET that heirs of a class implement and that have a member of that name; see [`interfaces_of_heirs`]. Fails
/// when the blob is not an output of the producer.
pub fn dotnet_interfaces_of_heirs(declarations: &[u8], heirs: &[&str], member: &str) -> Result<BTreeSet<String>, Failure> {
    let rows = TableRows::read(declarations)?;
    let lookups = Lookups::new(&rows);
    let world = World::new(&lookups);
    let mut found = BTreeSet::new();
    for heir in heirs {
        let levels = world.levels(&Shape::of_key(heir));
        let bases = levels.iter().filter_map(|base| base.key()?.strip_prefix('~'));
        let declares =
            |base: &&str| is_dotnet_interface(base) && dotnet::get(base).is_some_and(|base| base.members(member).next().is_some());
        found.extend(bases.filter(declares).map(str::to_owned));
    }
    Ok(found)
}

/// Returns the bases of a type outside the workspace that declare a member of that name: full names of .NET. `declarations` is the blob of
/// `//index:declarations`.
/// Fails when the blob is not an output of the producer.
pub fn dotnet_bases_with_member(declarations: &[u8], key: &str, member: &str) -> Result<Vec<String>, Failure> {
    let rows = TableRows::read(declarations)?;
    let lookups = Lookups::new(&rows);
    let levels = World::new(&lookups).levels(&Shape::of_key(key));
    let bases = levels.iter().filter_map(|base| base.key()?.strip_prefix('~'));
    let declares = |base: &&str| dotnet::get(base).is_some_and(|base| base.members(member).next().is_some());
    Ok(bases.chain(["System.Object"]).filter(declares).map(str::to_owned).collect())
}
