//! The churn guard: a section that a patch rewords needlessly keeps its old text.
//!
//! A rewording is needless if its section depends on nothing that changed (neither text names a changed member, a member whose code reaches one, or a
//! changed dependency, or has evidence on a changed line), or if it says the same in other words: the same evidence, numbers, names and negations,
//! and [`SAME_WORDS`] of the words.

use super::changed_texts::ChangedTexts;
use super::evidence::{self, EvidenceNames};
use super::prompt_slots::simple;
use std::collections::BTreeSet;

/// Share of common words above which a text with the same facts is a mere rewording.
pub(super) const SAME_WORDS: f64 = 0.6;

/// The reason to keep a text that the new answer only rewords.
pub(super) const REWORDED: &str = "it only words the same anew";

/// Returns why the old text is kept; `None` if the new one may replace it.
pub(super) fn needless(old: &str, new: &str, key: &str, changes: &ChangedTexts, names: &EvidenceNames) -> Option<&'static str> {
    if old == new {
        return Some("nothing is different");
    }
    let evidence = |text: &str| evidence::check_evidence(text, key, names).valid;
    let rests = |text: &str| rests_on_changes(text, key, changes, names);
    // A text without evidence may depend on any part of its own type.
    let bare = || evidence(old).is_empty() && evidence(new).is_empty();
    let anything = changes.whole.contains(key) || changes.constructed.contains(key) || changes.own && bare();
    if !anything && !rests(old) && !rests(new) {
        return Some("it rests on nothing that changed");
    }
    let (before, after) = (Words::from_text(old), Words::from_text(new));
    (evidence(old) == evidence(new) && before.facts == after.facts && before.likeness(&after) >= SAME_WORDS).then_some(REWORDED)
}

/// Whether a text names a changed member, a member whose code reaches one, or a changed dependency, or has evidence on a changed line.
pub(super) fn rests_on_changes(text: &str, key: &str, changes: &ChangedTexts, names: &EvidenceNames) -> bool {
    depends_on_changes(text, key, changes, &changes.reached, names)
}

/// As [`rests_on_changes`], but only for members whose own code names a changed one; members further away count as unaffected.
pub(super) fn is_near_changes(text: &str, key: &str, changes: &ChangedTexts, names: &EvidenceNames) -> bool {
    depends_on_changes(text, key, changes, &changes.near, names)
}

fn depends_on_changes(text: &str, key: &str, changes: &ChangedTexts, members: &BTreeSet<String>, names: &EvidenceNames) -> bool {
    let touched = |item: &String| {
        let name = evidence::simple_member_name(item);
        evidence::is_lines(item) || changes.touched.contains(name) || members.contains(name)
    };
    mentions_changes(text, changes, members) || evidence::check_evidence(text, key, names).valid.iter().any(touched)
}

/// Whether a member has no name that a text could use: a constructor, a finalizer, an operator, an indexer.
pub(super) fn is_odd(name: &str) -> bool {
    let name = evidence::simple_member_name(name);
    name.is_empty() || name == "Finalize" || !name.chars().all(|c| c.is_alphanumeric() || c == '_')
}

/// Whether a text contains a negation.
pub(super) fn denies(text: &str) -> bool {
    let mut words = text.split(|c: char| !(c.is_alphanumeric() || c == '\''));
    words.any(|word| is_negation(&word.to_lowercase()))
}

/// Whether a text names a changed member, one of these members, or a changed dependency.
fn mentions_changes(text: &str, changes: &ChangedTexts, members: &BTreeSet<String>) -> bool {
    let words: BTreeSet<&str> = text.split(|c: char| !(c.is_alphanumeric() || c == '_')).collect();
    let names = changes.names.iter().map(|name| evidence::simple_member_name(name));
    let names = names.chain(members.iter().map(String::as_str));
    let types = changes.dependencies.iter().map(|key| simple(key));
    names.chain(types).any(|name| words.contains(name))
}

/// A text as a bag of words.
struct Words {
    /// Words that carry a fact: numbers, names as code writes them, negations; sorted, with repeats.
    facts: Vec<String>,
    /// All other words.
    plain: BTreeSet<String>,
}

impl Words {
    fn from_text(text: &str) -> Self {
        let mut words = Self {
            facts: Vec::new(),
            plain: BTreeSet::new(),
        };
        let mut quoted = false;
        for part in text.split('`') {
            for word in part
                .split(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '\'')))
                .filter(|word| !word.is_empty())
            {
                let lower = word.to_lowercase();
                if quoted || is_fact(word) || is_negation(&lower) {
                    words.facts.push(if quoted || is_fact(word) { word.to_owned() } else { lower });
                } else {
                    words.plain.insert(lower);
                }
            }
            quoted = !quoted;
        }
        words.facts.sort();
        words
    }

    /// Returns the share of common words.
    fn likeness(&self, other: &Self) -> f64 {
        let all = self.plain.union(&other.plain).count();
        if all == 0 {
            return 1.0;
        }
        self.plain.intersection(&other.plain).count() as f64 / all as f64
    }
}

/// Whether a word has digits, underscores, or a capital after the first letter.
fn is_fact(word: &str) -> bool {
    word.chars().any(|c| c.is_ascii_digit() || c == '_') || word.chars().skip(1).any(char::is_uppercase)
}

fn is_negation(word: &str) -> bool {
    word.ends_with("n't")
        || matches!(
            word,
            "no" | "not"
                | "never"
                | "none"
                | "nothing"
                | "without"
                | "cannot"
                | "unless"
                | "except"
                | "only"
                | "always"
                | "null"
                | "true"
                | "false"
        )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::semantic::prompt_slots::{Slot, SlotKind};

    fn names() -> EvidenceNames {
        EvidenceNames::from_slots(&[Slot {
            kind: SlotKind::Code,
            key: "N.A".into(),
            pieces: vec![
                ("Get".into(), "Get".into()),
                ("Put".into(), "Put".into()),
                ("_kept".into(), "_kept".into()),
            ],
        }])
    }

    #[test]
    fn rewording_is_refused_and_news_is_not() {
        let own = ChangedTexts {
            own: true,
            names: BTreeSet::from(["Get".to_owned(), "Put".to_owned()]),
            ..ChangedTexts::default()
        };
        let old = "- Keeps nodes in memory and throws when the key is missing [Get].";
        for (new, refused) in [
            ("- Keeps the nodes in memory, and throws when a key is missing [Get].", true),
            ("- Keeps nodes in memory and throws when the key is not missing [Get].", false),
            ("- Keeps nodes in memory and throws when the key is missing [Put].", false),
            ("- Keeps 16 nodes in memory and throws when the key is missing [Get].", false),
            (
                "- Keeps nodes in memory and throws KeyNotFoundException when the key is missing [Get].",
                false,
            ),
            ("- Writes every change to the journal before it answers [Get].", false),
        ] {
            assert_eq!(needless(old, new, "N.A", &own, &names()).is_some(), refused, "{new}");
        }
    }

    #[test]
    fn sentences_about_unchanged_members_stay() {
        let get = ChangedTexts {
            own: true,
            names: BTreeSet::from(["Get(int)".to_owned()]),
            touched: BTreeSet::from(["_kept".to_owned(), "return".to_owned()]),
            ..ChangedTexts::default()
        };
        let needless = |old: &str, new: &str, changes: &ChangedTexts| needless(old, new, "N.A", changes, &names()).is_some();
        assert!(needless("- Begins empty [Put].", "- Something else [Put].", &get));
        assert!(needless("- None.", "- Grows without end [Put].", &get));
        assert!(!needless("- None.", "- Grows without end [Get].", &get));
        assert!(!needless("- None.", "- Grows without end [_kept].", &get));
        assert!(!needless("- Grows when Get is called [Put].", "- Never grows [Put].", &get));
        // Without evidence it is unknown; and a changed head may concern every section.
        assert!(!needless("- None.", "- Something else altogether.", &get));
        let head = ChangedTexts {
            whole: BTreeSet::from(["N.A".to_owned()]),
            ..get
        };
        assert!(!needless("- Begins empty [Put].", "- Something else [Put].", &head));
    }

    #[test]
    fn sentences_that_rest_on_no_change_stay() {
        let role = ChangedTexts {
            dependencies: BTreeSet::from(["N.Clock`1".to_owned()]),
            ..ChangedTexts::default()
        };
        assert!(needless("- A.", "- Something else entirely.", "N.A", &role, &names()).is_some());
        assert_eq!(needless("- A.", "- Uses Clock for time.", "N.A", &role, &names()), None);
        assert_eq!(needless("- Uses Clock.", "- Nothing.", "N.A", &role, &names()), None);
    }
}
