//! Splicing: replaces the sections that a patch answers, and no others.

use super::answer::Summaries;
use std::collections::BTreeSet;

/// An earlier answer with a patch applied.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Spliced {
    pub(super) summaries: Summaries,
    /// Sections whose text changed.
    pub(super) changed: Vec<String>,
    /// Sections whose old text stayed although they were answered, each with the reason.
    pub(super) kept: Vec<(String, &'static str)>,
}

/// Returns an answer in which sections that the model was not shown have their old claims before the new ones.
pub(super) fn with_unshown(old: &Summaries, answered: &Summaries, unshown: &BTreeSet<(String, String)>) -> Summaries {
    let mut all = answered.clone();
    for (key, name) in unshown {
        let before = old.get(key).and_then(|sections| sections.get(name));
        let Some((before, text)) = before.zip(all.get_mut(key).and_then(|sections| sections.get_mut(name))) else {
            continue;
        };
        let is_new = |line: &&str| line.trim() != "- None." && !before.lines().any(|old| old == *line);
        *text = before.lines().chain(text.lines().filter(is_new)).collect::<Vec<_>>().join("\n");
    }
    all
}

/// Puts `answered` into `old`. A section stays if `keep` returns a reason.
pub(super) fn splice(old: &Summaries, answered: &Summaries, keep: impl Fn(&str, &str, &str, &str) -> Option<&'static str>) -> Spliced {
    let mut spliced = Spliced {
        summaries: old.clone(),
        ..Spliced::default()
    };
    for (key, sections) in answered {
        for (name, new) in sections {
            let Some(place) = spliced.summaries.get_mut(key).and_then(|sections| sections.get_mut(name)) else {
                continue;
            };
            let shown = if old.len() > 1 { format!("{key}/{name}") } else { name.clone() };
            match keep(key, name, place, new) {
                Some(why) => spliced.kept.push((shown, why)),
                None => {
                    new.clone_into(place);
                    spliced.changed.push(shown);
                }
            }
        }
    }
    spliced
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn summaries() -> impl Strategy<Value = Summaries> {
        let sections = proptest::collection::btree_map("[A-E]", "[a-z ]{1,6}", 0..5);
        proptest::collection::btree_map("[TU]", sections, 1..3)
    }

    proptest! {
        /// Only sections in both change, and they get the answered text.
        #[test]
        fn nothing_else_moves(old in summaries(), answered in summaries(), corrected in "[A-E]") {
            let keep = |_: &str, name: &str, _: &str, _: &str| (name == corrected).then_some("a person wrote it");
            let spliced = splice(&old, &answered, keep);
            for (key, sections) in &old {
                for (name, text) in sections {
                    let new = answered.get(key).and_then(|sections| sections.get(name)).filter(|_| *name != corrected);
                    prop_assert_eq!(&spliced.summaries[key][name], new.unwrap_or(text));
                }
            }
            prop_assert_eq!(spliced.summaries.len(), old.len());
            prop_assert_eq!(splice(&old, &Summaries::new(), keep).summaries, old);
        }
    }
}
