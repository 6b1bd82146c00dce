//! Suggestions: the known names nearest to an unknown one ("did you mean"). A distant name is no suggestion.

use std::cmp::Reverse;

/// Maximum length of compared names, in characters: longer ones are not mistyped, and a distance costs the product of both lengths.
const MAX_CHARS: usize = 200;

/// Separators at which a name may be cut to its ending (`NodeStore` for `MemoTree.Core.NodeStore`).
const SEPARATORS: [char; 4] = ['.', '+', '/', ':'];

/// Nearness of a name; smaller is nearer.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Nearness {
    /// Equal except for case.
    Case,
    /// The wanted text is its ending, from a separator on.
    End,
    /// Number of edits, and the length of the common prefix.
    Edits(usize, Reverse<usize>),
    /// Number of edits of its last part.
    EndEdits(usize),
}

/// Returns at most `limit` names nearest to `wanted`, best first; equally near ones by name. Ignores case. Compares names of several parts
/// (`a/b.c`) only in the parts that differ, with at most one edit in four characters.
pub fn nearest<'a>(wanted: &str, known: impl Iterator<Item = &'a str>, limit: usize) -> Vec<String> {
    if wanted.is_empty() || limit == 0 || wanted.chars().nth(MAX_CHARS).is_some() {
        return Vec::new();
    }
    let wanted = Word::new(wanted);
    let whole = !wanted.text.contains(SEPARATORS);
    let mut found: Vec<(Nearness, &str)> = Vec::new();
    for name in known {
        if let Some(nearness) = nearness(&wanted, whole, name) {
            found.push((nearness, name));
        }
        // Bounds memory and the final sort, however many names are near.
        if found.len() >= 4096.max(limit * 2) {
            keep_best(&mut found, limit);
        }
    }
    keep_best(&mut found, limit);
    found.into_iter().map(|(_, name)| name.to_owned()).collect()
}

fn keep_best(found: &mut Vec<(Nearness, &str)>, limit: usize) {
    found.sort_unstable();
    found.dedup();
    found.truncate(limit);
}

/// A lower-case text with data for the prefilter.
struct Word {
    text: String,
    chars: usize,
    letters: [u8; 32],
}

impl Word {
    fn new(text: &str) -> Self {
        let text = text.to_lowercase();
        Self {
            chars: text.chars().count(),
            letters: letters(&text),
            text,
        }
    }

    fn allowed(&self) -> usize {
        Self::allowed_of(self.chars)
    }

    fn allowed_of(chars: usize) -> usize {
        match chars {
            0 | 1 => 0,
            2..8 => 1,
            chars => (chars / 4).min(6),
        }
    }
}

/// Counts the bytes of each class.
fn letters(text: &str) -> [u8; 32] {
    let mut counts = [0_u8; 32];
    for byte in text.bytes() {
        let count = &mut counts[usize::from(byte & 31)];
        *count = count.saturating_add(1);
    }
    counts
}

/// One edit changes the letter counts by at most two for ASCII, and by eight bytes otherwise.
fn letters_allow(one: &Word, other: &Word, allowed: usize) -> bool {
    let difference: usize = one
        .letters
        .iter()
        .zip(&other.letters)
        .map(|(a, b)| usize::from(a.abs_diff(*b)))
        .sum();
    difference <= allowed * 8 && (difference <= allowed * 2 || !one.text.is_ascii() || !other.text.is_ascii())
}

fn nearness(wanted: &Word, whole: bool, name: &str) -> Option<Nearness> {
    if name.len() > MAX_CHARS * 8 {
        return None;
    }
    let known = Word::new(name);
    if known.text == wanted.text {
        return Some(Nearness::Case);
    }
    if known.text.strip_suffix(&wanted.text).is_some_and(|head| head.ends_with(SEPARATORS)) {
        return Some(Nearness::End);
    }
    if let Some(edits) = edits(wanted, &known) {
        let common = wanted.text.chars().zip(known.text.chars()).take_while(|(a, b)| a == b).count();
        return Some(Nearness::Edits(edits, Reverse(common)));
    }
    let (_, end) = known.text.rsplit_once(SEPARATORS).filter(|_| whole)?;
    edits(wanted, &Word::new(end)).map(Nearness::EndEdits)
}

fn edits(wanted: &Word, known: &Word) -> Option<usize> {
    let allowed = wanted.allowed();
    if wanted.chars.abs_diff(known.chars) > allowed || !letters_allow(wanted, known, allowed) {
        return None;
    }
    let (own, other) = different_parts(&wanted.text, &known.text);
    let (chars, others) = (own.chars().count(), other.chars().count());
    let allowed = Word::allowed_of(chars).min(allowed);
    if chars.abs_diff(others) > allowed {
        return None;
    }
    let edits = strsim::osa_distance(own, other);
    // Parts that differ in every character are different words.
    (edits <= allowed && edits < chars.max(others)).then_some(edits)
}

/// Removes common leading and trailing parts from two texts.
fn different_parts<'t>(one: &'t str, other: &'t str) -> (&'t str, &'t str) {
    let whole_parts = |pairs: &mut dyn Iterator<Item = (char, char)>| {
        let (mut length, mut whole) = (0, 0);
        for (c, _) in pairs.take_while(|(a, b)| a == b) {
            length += c.len_utf8();
            if SEPARATORS.contains(&c) {
                whole = length;
            }
        }
        whole
    };
    let head = whole_parts(&mut one.chars().zip(other.chars()));
    let (one, other) = (&one[head..], &other[head..]);
    let tail = whole_parts(&mut one.chars().rev().zip(other.chars().rev()));
    (&one[..one.len() - tail], &other[..other.len() - tail])
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn nearest_first() {
        let known = ["semantic", "semantics", "structure", "syntax", "outline"];
        assert_eq!(nearest("semantik", known.into_iter(), 3), ["semantic", "semantics"]);
        assert_eq!(nearest("Outline", known.into_iter(), 3), ["outline"]);
        assert_eq!(nearest("oultine", known.into_iter(), 1), ["outline"]);
        assert_eq!(nearest("zzzz", known.into_iter(), 3), Vec::<String>::new());
        assert_eq!(nearest("x", ["y"].into_iter(), 3), Vec::<String>::new());
    }

    #[test]
    fn distant_names_are_not_suggested() {
        for (wanted, known) in [
            ("E_NOPE", "E_NAME"),
            ("README", "rename"),
            ("NoMatch", "N_WATCH"),
            ("docs", "types/Program@cake.cs"),
            ("src/Polly.Core/Nope.cs", "src/Polly.Core/Outcome.cs"),
            ("docs/c.md", "docs/a.md"),
        ] {
            assert_eq!(nearest(wanted, [known].into_iter(), 3), Vec::<String>::new(), "{wanted}");
        }
        for (wanted, known) in [
            ("src/Polly.Core/Outcom.cs", "src/Polly.Core/Outcome.cs"),
            ("NodeStroe:outline", "NodeStore:outline"),
            ("src/Polly.Cor/Outcome.cs", "src/Polly.Core/Outcome.cs"),
        ] {
            assert_eq!(nearest(wanted, [known].into_iter(), 3), [known], "{wanted}");
        }
    }

    #[test]
    fn ends_count_from_a_separator_on() {
        let known = ["MemoTree.Core.NodeStore", "MemoTree.Core.MyNodeStore", "Outer+Nested", "types/A"];
        assert_eq!(nearest("NodeStore", known.into_iter(), 3)[0], "MemoTree.Core.NodeStore");
        assert_eq!(nearest("core.nodestore", known.into_iter(), 1), ["MemoTree.Core.NodeStore"]);
        assert_eq!(nearest("NodeStroe", known.into_iter(), 1), ["MemoTree.Core.NodeStore"]);
        assert_eq!(nearest("nested", known.into_iter(), 3), ["Outer+Nested"]);
    }

    #[test]
    fn many_names_take_time_in_proportion() {
        crate::testing::assert_linear(5_000, |count| {
            let names: Vec<String> = (0..count)
                .map(|n| format!("Company.Product.Area{}.SomeTypeWithALongName{n}", n % 97))
                .collect();
            let wanted = "Company.Product.Area5.SomeTypeWithALongNam4999x";
            assert_eq!(nearest(wanted, names.iter().map(String::as_str), 5).len(), 5);
        });
    }

    proptest! {
        #[test]
        fn order_of_the_names_does_not_matter(wanted in "[a-c.]{1,6}", mut known in prop::collection::vec("[a-cé.]{0,6}", 0..20), limit in 0_usize..6) {
            let forth = nearest(&wanted, known.iter().map(String::as_str), limit);
            known.reverse();
            prop_assert_eq!(&forth, &nearest(&wanted, known.iter().map(String::as_str), limit));
            prop_assert!(forth.len() <= limit);
        }

        #[test]
        fn the_prefilter_drops_nothing_near(wanted in "[a-d]{3,9}", known in "[a-d]{3,9}") {
            let (one, other) = (Word::new(&wanted), Word::new(&known));
            let near = strsim::osa_distance(&wanted, &known) <= one.allowed();
            prop_assert!(!near || letters_allow(&one, &other, one.allowed()));
        }
    }
}
