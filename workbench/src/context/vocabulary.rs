//! Numbers for the words of a search index. Documents refer to words by number, so that building and comparing them costs no text.

use rustc_hash::FxHashMap;
use std::sync::{Arc, PoisonError, RwLock};

/// Texts with numbers in the order in which they were added.
#[derive(Clone, Debug, Default)]
pub struct Numbered {
    texts: Vec<Arc<str>>,
    numbers: FxHashMap<Arc<str>, u32>,
}

impl Numbered {
    /// Returns the number of a text, and whether it is new.
    pub fn number(&mut self, text: &str) -> (u32, bool) {
        match self.numbers.get(text) {
            Some(known) => (*known, false),
            None => (self.append(text.into()), true),
        }
    }

    fn append(&mut self, text: Arc<str>) -> u32 {
        let number = u32::try_from(self.texts.len()).expect("invariant: a workspace has fewer words than that");
        self.texts.push(text.clone());
        self.numbers.insert(text, number);
        number
    }
}

impl From<Vec<String>> for Numbered {
    fn from(texts: Vec<String>) -> Self {
        let mut numbered = Self::default();
        texts.into_iter().for_each(|text| _ = numbered.append(text.into()));
        numbered
    }
}

/// The words of an index and of those that take over its documents. It only grows, so that a document keeps the numbers of its words.
#[derive(Debug, Default)]
pub struct Vocabulary(RwLock<Numbered>);

impl Vocabulary {
    /// Creates a vocabulary of words that have numbers already.
    pub fn new(words: Numbered) -> Self {
        Self(RwLock::new(words))
    }

    /// Adds words, and returns the number of each.
    pub fn number_all(&self, words: &Numbered) -> Vec<u32> {
        let mut known = self.0.write().unwrap_or_else(PoisonError::into_inner);
        let number = |word: &Arc<str>| match known.numbers.get(word) {
            Some(number) => *number,
            None => known.append(word.clone()),
        };
        words.texts.iter().map(number).collect()
    }

    /// Returns the number of a word, if a document of any index has it.
    pub fn number_of(&self, word: &str) -> Option<u32> {
        let known = self.0.read().unwrap_or_else(PoisonError::into_inner);
        known.numbers.get(word).copied()
    }

    pub fn all_words(&self) -> Vec<Arc<str>> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).texts.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_keep_their_numbers() {
        let vocabulary = Vocabulary::new(vec!["box".to_owned(), "lid".to_owned()].into());
        let mut more = Numbered::default();
        let numbers = ["jar", "lid", "jar"].map(|word| more.number(word));
        assert_eq!(numbers, [(0, true), (1, true), (0, false)]);
        assert_eq!(vocabulary.number_all(&more), [2, 1]);
        assert_eq!(
            ["box", "lid", "jar", "cup"].map(|word| vocabulary.number_of(word)),
            [Some(0), Some(1), Some(2), None]
        );
        assert_eq!(
            vocabulary.all_words().iter().map(|word| &**word).collect::<Vec<_>>(),
            ["box", "lid", "jar"]
        );
    }
}
