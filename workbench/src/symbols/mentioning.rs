//! Finds the code that names a symbol: `//types/T:mentions`, `//types/T:deps`.

use super::implied_members::{IMPLIED, IMPLIED_IN_VALUES};
use super::index::simple_name;
use super::outputs::Outputs;
use super::unreferenced::{Naming, mentioning_types};
use super::usages::{Subject, Usages, is_nameless};
use super::word_index::WordSource;
use producers::csharp::deps::declarations::member_key;
use producers::csharp::deps::flow::IMPLICIT;
use std::collections::BTreeMap;

/// For each subject, labels of usages of types, with whether the type's code names the subject's type.
pub(super) type Mentioning = Vec<BTreeMap<String, bool>>;

/// Returns, for each subject, the labels of usages of the types whose code may use it, with whether that code names its type; then the types whose
/// code has its words.
pub(super) fn mentioning<O: Outputs>(
    outputs: &mut O,
    subjects: &[Subject],
    found: &mut [Usages],
) -> Result<(Mentioning, Naming), O::Error> {
    let mut mentioning: Mentioning = vec![BTreeMap::new(); subjects.len()];
    let mut naming: Naming = vec![BTreeMap::new(); subjects.len()];
    for source in [WordSource::Dependencies, WordSource::Mentions, WordSource::Reach] {
        let is_source_of = |subject: &Subject| match (source, subject.name_in_uses()) {
            (WordSource::Reach, word) => word == IMPLICIT,
            (WordSource::Dependencies, word) => {
                is_nameless(word) || IMPLIED.contains(&word) || IMPLIED_IN_VALUES.contains(&word) || may_build(subject)
            }
            (_, word) => !is_nameless(word),
        };
        if !subjects.iter().any(is_source_of) {
            continue;
        }
        let words = outputs.word_index(source)?;
        for (((subject, mentioning), naming), found) in subjects.iter().zip(&mut mentioning).zip(&mut naming).zip(&mut *found) {
            if source == WordSource::Mentions {
                naming.extend(mentioning_types(&words, subject));
            }
            if !is_source_of(subject) {
                continue;
            }
            found.unread.extend(words.unread().map(str::to_owned));
            let own = simple_name(&subject.key);
            match source {
                WordSource::Dependencies => {
                    let users = words.holders(&subject.key, &subject.key);
                    mentioning.extend(users.map(|(user, _)| (user.label("usages"), true)));
                }
                // A conversion may be used where no code names its type.
                WordSource::Reach => {
                    for (user, _) in words.holders(&member_key(&subject.key, subject.name_in_uses()), "") {
                        mentioning.entry(user.label("usages")).or_default();
                    }
                }
                _ => {
                    for (user, names_type) in words.holders(subject.name_in_uses(), own) {
                        *mentioning.entry(user.label("usages")).or_default() |= names_type;
                    }
                }
            }
        }
    }
    Ok((mentioning, naming))
}

/// Whether a collection expression may call a method without naming it: one that takes the elements.
fn may_build(subject: &Subject) -> bool {
    subject.is_member() && subject.paths.iter().any(|path| path.contains("ReadOnlySpan<"))
}
