//! Words in the sentences of an answer: whether a word is a name, and whether a sentence is about a name.

use super::answer::Summaries;
use std::collections::BTreeSet;

/// Words of sentences that are about a name.
const NAMING: [&str; 6] = ["name", "names", "named", "naming", "called", "suggests"];

/// Verbs that are also names of types, and verbs that begin sentences about a type.
const VERBS: [&str; 62] = [
    "accept", "add", "allow", "build", "cache", "call", "check", "close", "contain", "copy", "create", "dispose", "document", "expose",
    "filter", "format", "get", "give", "group", "handle", "hold", "index", "keep", "link", "load", "lock", "log", "make", "map", "match",
    "monitor", "move", "need", "open", "order", "own", "parse", "process", "provide", "query", "read", "register", "remove", "report",
    "represent", "request", "return", "run", "send", "set", "signal", "sort", "start", "stop", "store", "take", "test", "throw", "trace",
    "use", "watch", "write",
];

/// Words after which the first word of a sentence is a name, not a verb.
const AUXILIARIES: [&str; 12] = [
    "is", "was", "has", "does", "can", "cannot", "may", "must", "will", "itself", "and", "or",
];

/// Whether a sentence of an answer explains a name.
pub(super) fn explains(summaries: &Summaries, name: &str) -> bool {
    let lines = summaries
        .values()
        .flat_map(|sections| sections.values())
        .flat_map(|text| text.lines());
    lines.into_iter().any(|line| {
        let words: BTreeSet<&str> = line.split(|c| !is_word(c)).collect();
        words.contains(name) && NAMING.iter().any(|naming| words.contains(naming))
    })
}

/// Whether an answer has a word.
pub(super) fn mentions(summaries: &Summaries, name: &str) -> bool {
    let mut texts = summaries.values().flat_map(|sections| sections.values());
    texts.any(|text| text.split(|c| !is_word(c)).any(|word| word == name))
}

/// Whether the first word of a sentence is more likely its verb than a name: `Store nodes …`, not `Store keeps …`.
pub(super) fn is_verb(before: &str, word: &str, behind: &str) -> bool {
    let is_verb = |word: &str| VERBS.binary_search(&word).is_ok();
    let begins = before
        .trim_end_matches([' ', '*', '"'])
        .chars()
        .next_back()
        .is_none_or(|c| matches!(c, '-' | '.' | ':' | '\n' | '!' | '?'));
    if !begins || !is_verb(&word.to_lowercase()) {
        return false;
    }
    let next = behind.strip_prefix(' ').unwrap_or_default();
    let next = next.split(|c| !is_word(c)).next().unwrap_or_default();
    let third_person = ["s", "es"].iter().filter_map(|end| next.strip_suffix(end)).any(is_verb);
    !(next.is_empty() || third_person || AUXILIARIES.contains(&next))
}

pub(super) fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verbs_are_sorted() {
        assert!(VERBS.is_sorted());
    }
}
