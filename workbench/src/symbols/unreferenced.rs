//! Code that opens the namespace of a type and names the type, in a project without a reference to one that compiles it: a reference may stand under a
//! condition that is false here, or be to a package made from the same sources. What it uses there nobody can tell.

use super::index::{Symbols, namespace, simple_name};
use super::outputs::SymbolError;
use super::usages::{Subject, Usages};
use super::visibility::{Audience, Visibility};
use std::collections::{BTreeMap, BTreeSet};

/// The types whose code opens the namespace of each subject's type and has the words of the subject, by subject.
pub(super) type Opening = Vec<BTreeSet<String>>;

/// Whether the names that code mentions open the namespace of a subject's type and have its words.
pub(super) fn opens(names: &std::collections::HashSet<String>, subject: &Subject) -> bool {
    let of = namespace(&subject.key);
    !of.is_empty()
        && names.contains(simple_name(&subject.key))
        && names.contains(subject.name_in_uses())
        && names.contains(&format!("ns:{of}"))
}

/// Says of each subject which projects name it without a reference.
pub(super) fn note_unreferenced(
    symbols: &Symbols,
    visibility: &Visibility,
    subjects: &[Subject],
    opening: &Opening,
    found: &mut [Usages],
) -> Result<(), SymbolError> {
    for ((subject, opening), found) in subjects.iter().zip(opening).zip(found) {
        if opening.is_empty() {
            continue;
        }
        let audience = Audience {
            is_internal: false,
            ..visibility.audience_of(symbols, &subject.key)?
        };
        let mut projects: BTreeSet<String> = BTreeSet::new();
        let mut known: BTreeMap<String, bool> = BTreeMap::new();
        for user in opening {
            let Some(at) = symbols.find(user) else { continue };
            for file in symbols.row(at)?.files {
                let own = visibility.projects_of_file(&file);
                let is_blind = !own.is_empty() && !visibility.sees(&file, &audience);
                if !is_blind || own.iter().all(|project| projects.contains(project)) {
                    continue;
                }
                let place = own.join("|");
                let sees_namespace = match known.get(&place) {
                    Some(sees) => *sees,
                    None => sees_namespace(symbols, visibility, namespace(&subject.key), &file)?,
                };
                known.insert(place, sees_namespace);
                if !sees_namespace {
                    projects.extend(own);
                }
            }
        }
        let others = match projects.len() {
            0 => continue,
            1 => String::new(),
            count => format!(" (and {} more)", count - 1),
        };
        let first = projects.first().cloned().unwrap_or_default();
        found.unseen.push(format!(
            "{first}{others} opens {} and names {} without a reference to a project that compiles it; what it uses there is not known",
            namespace(&subject.key),
            subject.name_in_uses()
        ));
    }
    Ok(())
}

/// Whether code in a file sees any type of a namespace: names there may be of another one.
fn sees_namespace(symbols: &Symbols, visibility: &Visibility, of: &str, file: &str) -> Result<bool, SymbolError> {
    for key in symbols.keys().filter(|key| namespace(key) == of) {
        if visibility.sees(file, &visibility.audience_of(symbols, key)?) {
            return Ok(true);
        }
    }
    Ok(false)
}
