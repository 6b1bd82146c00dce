//! Former names of members, from the History of this checkout: members of a type whose code is equal but for a name.

use crate::aliases::States;
use engine::seams::paid::{FormerName, FormerNames};
use engine::store::StoreError;
use engine::values::digest::Digest;
use producers::csharp::renamed_members::renamed_members;

/// Limit of earlier versions of a type's code that are compared with its present one.
const MOST_VERSIONS: usize = 4;

/// Limit of types whose code is compared: those that changed last.
const MOST_TYPES: usize = 200;

/// A type whose code changed.
pub(crate) struct ChangedType<'t> {
    pub(crate) key: &'t str,
    /// Former key of the type, or the present one.
    pub(crate) then: &'t str,
    /// Time of the type's last change, in seconds since 1970.
    at: u64,
    pub(crate) now: Digest,
    pub(crate) earlier: Vec<Digest>,
}

/// Returns the types whose code changed last, of the present types, under each of their names.
///
/// # Errors
/// When the store cannot be read.
pub(crate) fn changed_types<'t>(
    states: &States<'_>,
    types: impl Iterator<Item = &'t String>,
    former_types: &'t FormerNames,
) -> Result<Vec<ChangedType<'t>>, StoreError> {
    let mut changed = Vec::new();
    for key in types {
        let former = former_types.get(key).into_iter().flatten().map(|name| name.item.as_str());
        for then in former.chain([key.as_str()]) {
            changed.extend(changed_type(states, key, then)?);
        }
    }
    changed.sort_by_key(|of| std::cmp::Reverse(of.at));
    changed.truncate(MOST_TYPES);
    Ok(changed)
}

/// Returns former names of members by present name, both written as `TYPE#MEMBER`.
///
/// # Errors
/// When the store cannot be read.
pub(crate) fn former(states: &States<'_>, changed: &[ChangedType<'_>]) -> Result<FormerNames, StoreError> {
    let mut found = FormerNames::new();
    for ChangedType {
        key, then, now, earlier, ..
    } in changed
    {
        let Some(now) = states.implementation(now)? else { continue };
        for digest in earlier {
            let Some(earlier) = states.implementation(digest)? else { continue };
            for (old, new) in renamed_members(&earlier, &now) {
                let names = found.entry(format!("{key}#{new}")).or_default();
                let item = format!("{then}#{old}");
                if names.iter().all(|name| name.item != item) {
                    let (id, is_origin) = (String::new(), false);
                    names.push(FormerName { item, id, is_origin });
                }
            }
        }
    }
    Ok(found)
}

fn changed_type<'t>(states: &States<'_>, key: &'t str, then: &'t str) -> Result<Option<ChangedType<'t>>, StoreError> {
    let versions = states.code_versions(key)?;
    let Some(&(at, now)) = versions.last() else { return Ok(None) };
    let earlier = match then == key {
        true => versions,
        false => states.code_versions(then)?,
    };
    let mut earlier: Vec<Digest> = earlier
        .into_iter()
        .map(|(_, output)| output)
        .filter(|output| *output != now)
        .collect();
    earlier.dedup();
    let earlier = earlier.split_off(earlier.len().saturating_sub(MOST_VERSIONS));
    Ok((!earlier.is_empty()).then_some(ChangedType {
        key,
        then,
        at,
        now,
        earlier,
    }))
}
