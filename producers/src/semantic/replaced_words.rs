//! Words that differ between two texts: whether only names do, and which names replace others throughout.

use super::prose::is_word;
use super::renames::{Renames, Words};
use std::collections::{BTreeMap, BTreeSet};

/// Replaced words, and old words that stayed.
#[derive(Default)]
pub(super) struct ReplacedWords {
    replaced: BTreeSet<(String, String)>,
    pub(super) stayed: BTreeSet<String>,
}

impl ReplacedWords {
    /// Whether two texts differ only in renamed names.
    pub(super) fn same(&mut self, then: &str, now: &str, words: &Words, renames: &Renames) -> bool {
        let (mut at, mut rest) = (0, now);
        loop {
            let (before, left) = then.split_at(at);
            if let Some((len, new)) = renames.whole_name(before, left)
                && let Some(behind) = rest.strip_prefix(new)
                && !(behind.starts_with(is_word) && new.ends_with(is_word))
            {
                (at, rest) = (at + len, behind);
                continue;
            }
            let (old, new) = match (token(left), token(rest)) {
                (None, None) => return true,
                (Some(old), Some(new)) => (old, new),
                _ => return false,
            };
            (at, rest) = (at + old.len(), &rest[new.len()..]);
            match words.get(old) {
                Some(_) if old == new => {
                    self.stayed.insert(old.to_owned());
                }
                Some(others) if others.contains_key(new) => {
                    self.replaced.insert((old.to_owned(), new.to_owned()));
                }
                _ if old == new => {}
                _ => return false,
            }
        }
    }

    pub(super) fn extend(&mut self, other: Self) {
        self.replaced.extend(other.replaced);
        self.stayed.extend(other.stayed);
    }

    /// Returns the names that one other name replaces everywhere.
    pub(super) fn replaced_names(&self, words: &Words) -> BTreeMap<String, String> {
        let mut found: BTreeMap<String, Option<String>> = BTreeMap::new();
        for (old, new) in &self.replaced {
            let only = found.entry(old.clone()).or_insert_with(|| Some(new.clone()));
            if only.as_ref() != Some(new) {
                *only = None;
            }
        }
        let is_name = |old: &str, new: &str| words.get(old).and_then(|others| others.get(new)).copied().unwrap_or_default();
        found
            .into_iter()
            .filter_map(|(old, new)| Some((new?, old)))
            .filter(|(new, old)| is_name(old, new) && !self.stayed.contains(old))
            .map(|(new, old)| (old, new))
            .collect()
    }
}

/// Returns the first word, or the first other character, of a text.
pub(super) fn token(text: &str) -> Option<&str> {
    let first = text.chars().next()?;
    let len = if is_word(first) {
        text.find(|c| !is_word(c)).unwrap_or(text.len())
    } else {
        first.len_utf8()
    };
    Some(&text[..len])
}
