//! Former names of members, from the History of this checkout: members of a type that are equal but for a name.

use crate::earlier_states::{States, Versions};
use engine::seams::paid::{FormerName, FormerNames};
use engine::store::StoreError;
use engine::values::digest::Digest;
use producers::csharp::renamed_members::{RenamedMember, code_of_members, renamed_declarations, renamed_members, uses_follow};
use std::collections::{BTreeMap, BTreeSet};

/// Limit of earlier versions of a type's code that are compared with its present one.
const MOST_VERSIONS: usize = 4;

/// Limit of types whose code is compared: those that changed last.
const MOST_TYPES: usize = 200;

/// Finds the versions of a text of a type.
pub(crate) type VersionsOf<'a> = &'a dyn Fn(&str) -> Result<Versions, StoreError>;

/// A type that has another text than before.
pub(crate) struct ChangedType<'t> {
    pub(crate) key: &'t str,
    /// Former key of the type, or the present one.
    pub(crate) then: &'t str,
    /// Time of the type's last change, in seconds since 1970.
    at: u64,
    pub(crate) now: Digest,
    pub(crate) earlier: Vec<Digest>,
}

/// Returns the present types whose text changed last, under each of their names. `versions` returns the versions of that text by key of the type.
///
/// # Errors
/// When the store cannot be read.
pub(crate) fn changed_types<'t>(
    versions: VersionsOf<'_>,
    types: impl Iterator<Item = &'t String>,
    former_types: &'t FormerNames,
) -> Result<Vec<ChangedType<'t>>, StoreError> {
    let mut changed = Vec::new();
    for key in types {
        let former = former_types.get(key).into_iter().flatten().map(|name| name.item.as_str());
        for then in former.chain([key.as_str()]) {
            changed.extend(changed_type(versions, key, then)?);
        }
    }
    changed.sort_by_key(|of| std::cmp::Reverse(of.at));
    changed.truncate(MOST_TYPES);
    Ok(changed)
}

/// Returns former names of members by present name, both written as `TYPE#MEMBER`, of types with changed code and with changed declarations. Members
/// whose own text does not show that they are the same are renamed if code of any changed type follows, or if another type has the same rename.
///
/// # Errors
/// When the store cannot be read.
pub(crate) fn former(states: &States<'_>, changed: &[ChangedType<'_>], declared: &[ChangedType<'_>]) -> Result<FormerNames, StoreError> {
    let mut found = FormerNames::new();
    let mut open = Vec::new();
    for of in changed {
        let Some(now) = states.implementation(&of.now)? else { continue };
        for digest in &of.earlier {
            let Some(earlier) = states.implementation(digest)? else { continue };
            for member in renamed_members(&earlier, &now) {
                match member.is_certain {
                    true => add_member(&mut found, of, &member),
                    false => open.push((of, member)),
                }
            }
        }
    }
    for of in declared {
        let Some(now) = (states.bytes)(&of.now)? else { continue };
        for digest in &of.earlier {
            let Some(earlier) = (states.bytes)(digest)? else { continue };
            let renamed = renamed_declarations(&earlier, &now);
            if renamed.is_empty() {
                continue;
            }
            let with_code = members_with_code(states, of)?;
            let renamed = renamed
                .into_iter()
                .filter(|member| member.keys.iter().all(|key| !with_code.contains(key)));
            open.extend(renamed.map(|member| (of, member)));
        }
    }
    if open.is_empty() {
        return Ok(found);
    }
    let mut codes = Vec::new();
    for of in changed {
        let Some(now) = states.implementation(&of.now)? else { continue };
        for digest in &of.earlier {
            let earlier = states.implementation(digest)?;
            codes.extend(earlier.map(|earlier| [code_of_members(&earlier), code_of_members(&now)]));
        }
    }
    let mut owners: BTreeMap<[String; 2], BTreeSet<&str>> = BTreeMap::new();
    for (of, member) in &open {
        owners.entry(member.keys.clone()).or_default().insert(of.key);
    }
    open.retain(|(_, member)| {
        let [old, new] = &member.names;
        let has_namesake = || owners.get(&member.keys).is_some_and(|owners| owners.len() > 1) || has_same_rename(&found, member);
        codes.iter().any(|[then, now]| uses_follow([then, now], [old, new])) || has_namesake()
    });
    for (of, member) in open {
        add_member(&mut found, of, &member);
    }
    Ok(found)
}

fn add_member(found: &mut FormerNames, of: &ChangedType<'_>, member: &RenamedMember) {
    let [old, new] = &member.keys;
    let names = found.entry(format!("{}#{new}", of.key)).or_default();
    let item = format!("{}#{old}", of.then);
    if names.iter().all(|name| name.item != item) {
        let (id, is_origin) = (String::new(), false);
        names.push(FormerName { item, id, is_origin });
    }
}

/// Whether a member of any type was renamed likewise.
fn has_same_rename(found: &FormerNames, member: &RenamedMember) -> bool {
    let is_key = |name: &str, key: &str| name.split_once('#').is_some_and(|(_, member)| member == key);
    let [old, new] = &member.keys;
    let mut same = found.iter().filter(|(name, _)| is_key(name, new));
    same.any(|(_, former)| former.iter().any(|name| is_key(&name.item, old)))
}

/// Returns the keys of the members that have code in the last versions of a type.
fn members_with_code(states: &States<'_>, of: &ChangedType<'_>) -> Result<BTreeSet<String>, StoreError> {
    let mut versions: Versions = states.code_versions(of.then)?.into_iter().rev().take(MOST_VERSIONS).collect();
    versions.extend(states.code_versions(of.key)?.pop());
    let mut keys = BTreeSet::new();
    for (_, digest) in versions {
        let code = states.implementation(&digest)?.map(|text| code_of_members(&text));
        keys.extend(code.into_iter().flatten().filter(|(_, body)| !body.is_empty()).map(|(key, _)| key));
    }
    Ok(keys)
}

fn changed_type<'t>(versions: VersionsOf<'_>, key: &'t str, then: &'t str) -> Result<Option<ChangedType<'t>>, StoreError> {
    let present = versions(key)?;
    let Some(&(at, now)) = present.last() else { return Ok(None) };
    let earlier = match then == key {
        true => present,
        false => versions(then)?,
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
