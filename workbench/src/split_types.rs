//! Types that were split off from others, from the History of this checkout: new types most of whose members another type had. That one changed, was
//! removed, or is in the same namespace and was not built since.

use crate::earlier_states::States;
use crate::last_good::label_of_type;
use crate::renamed_members::ChangedType;
use crate::type_versions::{TYPES, TypeVersion};
use engine::seams::paid::{FormerName, FormerNames};
use engine::store::StoreError;
use engine::values::digest::Digest;
use producers::csharp::split_types::TypeMembers;
use producers::csharp::types::symbol_of;
use std::collections::BTreeSet;

/// Number of versions of the table of types in which a type counts as new.
const NEWEST_VERSIONS: usize = 8;

/// Limit of types of the namespaces of new types that are compared with these.
const MOST_NEIGHBOURS: usize = 200;

/// Limit of new types.
const MOST_NEW: usize = 1_000;

/// A type that may have lost members.
struct Origin<'t> {
    /// Its key before.
    key: &'t str,
    earlier: Vec<TypeMembers>,
    now: TypeMembers,
}

/// Returns the types from which new ones were split off, by name of the new one. `types`: the present types; those with `former` names are not new.
///
/// # Errors
/// When the store cannot be read.
pub(crate) fn origins<'t>(
    states: &States<'_>,
    types: impl Iterator<Item = &'t String>,
    changed: &[ChangedType<'_>],
    former: &FormerNames,
) -> Result<FormerNames, StoreError> {
    let versions = (states.versions)(TYPES)?;
    let first = versions.get(versions.len().saturating_sub(NEWEST_VERSIONS));
    let (Some((_, first)), Some((_, last))) = (first, versions.last()) else {
        return Ok(FormerNames::new());
    };
    let open = |digest: &Digest| TypeVersion::from_digest(&*states.page, digest);
    let (Some(then), Some(now)) = (open(first)?, open(last)?) else {
        return Ok(FormerNames::new());
    };
    let (gone, come) = then.difference(&now).unwrap_or_default();
    let mut new = Vec::new();
    for key in come.keys().filter(|key| !former.contains_key(*key)).take(MOST_NEW) {
        if !is_summarised(states, key)? {
            new.push((key, last_members(states, key)?));
        }
    }
    if new.is_empty() {
        return Ok(FormerNames::new());
    }
    let renamed = |key: &String| former.values().flatten().any(|name| name.item == *key);
    let removed = gone.keys().filter(|key| !renamed(key));
    let namespaces: BTreeSet<&str> = new.iter().map(|(key, _)| namespace_of(key)).collect();
    let is_known = |key: &str| come.contains_key(key) || changed.iter().any(|of| of.key == key);
    let neighbours = types.filter(|key| namespaces.contains(namespace_of(key)) && !is_known(key));
    let neighbours: Vec<&str> = neighbours.take(MOST_NEIGHBOURS).map(String::as_str).collect();
    let mut origins = changed_origins(states, changed)?;
    for key in removed.map(String::as_str).chain(neighbours.iter().copied()) {
        if is_summarised(states, key)? {
            let members = last_members(states, key)?;
            let now = if gone.contains_key(key) {
                TypeMembers::default()
            } else {
                members.clone()
            };
            let earlier = vec![members];
            origins.push(Origin { key, earlier, now });
        }
    }
    let mut found = FormerNames::new();
    for (key, members) in new {
        let shared = |origin: &Origin<'_>| {
            let earlier = origin.earlier.iter();
            earlier.filter_map(|earlier| members.count_members_of(earlier, &origin.now)).max()
        };
        let others = origins.iter().filter(|origin| origin.key != key);
        let most = others.filter_map(|origin| Some((shared(origin)?, origin.key))).max();
        if let Some((_, origin)) = most {
            let name = FormerName {
                item: origin.to_owned(),
                id: String::new(),
                is_origin: true,
            };
            found.insert(key.clone(), vec![name]);
        }
    }
    Ok(found)
}

/// Returns those of the changed types that have a summary.
fn changed_origins<'t>(states: &States<'_>, changed: &[ChangedType<'t>]) -> Result<Vec<Origin<'t>>, StoreError> {
    let mut origins = Vec::new();
    for of in changed {
        if !is_summarised(states, of.then)? {
            continue;
        }
        let mut earlier = Vec::new();
        for digest in &of.earlier {
            earlier.extend(
                states
                    .implementation(digest)?
                    .map(|text| TypeMembers::from_implementation(of.then, &text)),
            );
        }
        let now = states
            .implementation(&of.now)?
            .map(|text| TypeMembers::from_implementation(of.key, &text));
        // If it was not built since the split, its present members are the earlier ones.
        earlier.extend(now.clone());
        origins.push(Origin {
            key: of.then,
            earlier,
            now: now.unwrap_or_default(),
        });
    }
    Ok(origins)
}

/// Returns the namespace of a type.
fn namespace_of(key: &str) -> &str {
    let outer = symbol_of(key).split('+').next().unwrap_or(key);
    outer.rsplit_once('.').map_or("", |(namespace, _)| namespace)
}

fn is_summarised(states: &States<'_>, key: &str) -> Result<bool, StoreError> {
    Ok(!(states.versions)(&label_of_type(key, ":semantic"))?.is_empty())
}

/// Returns the members of the last version of a type.
fn last_members(states: &States<'_>, key: &str) -> Result<TypeMembers, StoreError> {
    let versions = states.code_versions(key)?;
    let text = versions.last().map_or(Ok(None), |(_, digest)| states.implementation(digest))?;
    Ok(text.map(|text| TypeMembers::from_implementation(key, &text)).unwrap_or_default())
}
