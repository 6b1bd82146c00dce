//! Finds code that names a type of an imported namespace in a project without a reference to a project that compiles the type. The reference may have
//! a condition that is false here, or refer to a package built from the same sources. Such uses are unknown.

use super::index::{Symbols, is_within, namespace, simple_name};
use super::outputs::SymbolError;
use super::usages::{Subject, Usages};
use super::visibility::{Audience, Visibility};
use super::word_index::WordIndex;
use producers::csharp::deps::dotnet;
use std::collections::{BTreeMap, BTreeSet, HashSet};

/// For each subject, the types whose code has its words, with whether a using directive opens the namespace of the subject's type.
pub(super) type Naming = Vec<BTreeMap<String, bool>>;

/// Returns the types whose code mentions the words of a subject, with whether their code opens the namespace of the subject's type.
pub(super) fn mentioning_types(words: &WordIndex, subject: &Subject) -> Vec<(String, bool)> {
    let of = namespace(&subject.key);
    if of.is_empty() {
        return Vec::new();
    }
    let opening: HashSet<String> = words.holders(&format!("ns:{of}"), "").map(|(user, _)| user.name()).collect();
    let named = words
        .holders(subject.name_in_uses(), simple_name(&subject.key))
        .filter(|(_, names_type)| *names_type);
    let named = named.map(|(user, _)| user.name());
    named.map(|user| (user.clone(), opening.contains(&user))).collect()
}

/// Adds a sentence to each subject about the projects that name it without a reference.
pub(super) fn note_unreferenced(
    symbols: &Symbols,
    visibility: &Visibility,
    subjects: &[Subject],
    naming: &Naming,
    found: &mut [Usages],
) -> Result<(), SymbolError> {
    for ((subject, naming), found) in subjects.iter().zip(naming).zip(found) {
        if naming.is_empty() {
            continue;
        }
        let of = namespace(&subject.key);
        let audience = Audience {
            is_internal: false,
            ..visibility.audience_of(symbols, &subject.key)?
        };
        // Projects, with whether a using directive opens the namespace there.
        let mut projects: BTreeMap<String, bool> = BTreeMap::new();
        let mut known: BTreeMap<(String, bool), bool> = BTreeMap::new();
        for (user, is_opened) in naming {
            let Some(at) = symbols.find(user) else { continue };
            for file in symbols.type_row(at)?.files {
                let own = visibility.projects_of_file(&file);
                let is_opened = *is_opened || own.iter().any(|project| visibility.opens(project, of));
                if own.is_empty() || visibility.sees(&file, &audience) || !is_opened && !is_within(namespace(user), of) {
                    continue;
                }
                let place = (own.join("|"), is_opened);
                let is_meant = match known.get(&place) {
                    Some(is_meant) => *is_meant,
                    None => {
                        is_opened && !sees_namespace(symbols, visibility, of, &file)? || !means_other(symbols, visibility, subject, &file)?
                    }
                };
                known.insert(place, is_meant);
                if is_meant {
                    own.into_iter()
                        .for_each(|project| *projects.entry(project).or_default() |= is_opened);
                }
            }
        }
        let others = match projects.len() {
            0 => continue,
            1 => String::new(),
            count => format!(" (and {} more)", count - 1),
        };
        let Some((first, is_opened)) = projects.first_key_value() else {
            continue;
        };
        let verb = if *is_opened { "opens" } else { "has code in" };
        found.unseen.push(format!(
            "{first}{others} {verb} {of} and names {} without a reference to a project that compiles it; what it uses there is not known",
            subject.name_in_uses()
        ));
    }
    Ok(())
}

/// Whether code in a file sees any type of a namespace, so that a name may refer to another one.
fn sees_namespace(symbols: &Symbols, visibility: &Visibility, of: &str, file: &str) -> Result<bool, SymbolError> {
    for key in symbols.keys().filter(|key| namespace(key) == of) {
        if visibility.sees(file, &visibility.audience_of(symbols, key)?) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Whether the name of the subject's type may refer to something else in a file: a visible type or member, or a .NET type.
fn means_other(symbols: &Symbols, visibility: &Visibility, subject: &Subject, file: &str) -> Result<bool, SymbolError> {
    let name = simple_name(&subject.key);
    if dotnet::has_type_named(name) {
        return Ok(true);
    }
    let types: BTreeSet<&str> = symbols.types_named(name).chain(symbols.owners(name)).collect();
    for key in types.into_iter().filter(|key| *key != subject.key) {
        if visibility.sees(file, &visibility.audience_of(symbols, key)?) {
            return Ok(true);
        }
    }
    Ok(false)
}
