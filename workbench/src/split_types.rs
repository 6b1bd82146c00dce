//! Types that were split off from others, from the History of this checkout: new types most of whose members a changed or removed type had.

use crate::aliases::{States, TYPES};
use crate::last_good::label_of_type;
use crate::renamed_members::ChangedType;
use crate::type_versions::TypeVersion;
use engine::seams::paid::{FormerName, FormerNames};
use engine::store::StoreError;
use engine::values::digest::Digest;
use producers::csharp::split_types::TypeMembers;

/// Number of versions of the table of types in which a type counts as new.
const NEWEST_VERSIONS: usize = 8;

/// A type that lost members, as far as it was summarised.
struct Origin<'t> {
    /// Its key before.
    key: &'t str,
    earlier: Vec<TypeMembers>,
    now: TypeMembers,
}

/// Returns the types from which new ones were split off, by name of the new one. Types with `former` names are not new.
///
/// # Errors
/// When the store cannot be read.
pub(crate) fn origins(states: &States<'_>, changed: &[ChangedType<'_>], former: &FormerNames) -> Result<FormerNames, StoreError> {
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
    for key in come.keys().filter(|key| !former.contains_key(*key)) {
        if !is_summarised(states, key)? {
            new.push((key, last_members(states, key)?));
        }
    }
    if new.is_empty() {
        return Ok(FormerNames::new());
    }
    let renamed = |key: &String| former.values().flatten().any(|name| name.item == *key);
    let removed = gone.keys().filter(|key| !renamed(key)).map(String::as_str);
    let origins = summarised_origins(states, changed, removed)?;
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

fn summarised_origins<'t>(
    states: &States<'_>,
    changed: &[ChangedType<'t>],
    removed: impl Iterator<Item = &'t str>,
) -> Result<Vec<Origin<'t>>, StoreError> {
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
        origins.push(Origin {
            key: of.then,
            earlier,
            now: now.unwrap_or_default(),
        });
    }
    for key in removed {
        if is_summarised(states, key)? {
            origins.push(Origin {
                key,
                earlier: vec![last_members(states, key)?],
                now: TypeMembers::default(),
            });
        }
    }
    Ok(origins)
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
