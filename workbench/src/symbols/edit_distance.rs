//! Edit distance between two names, up to a small limit.

use engine::values::case_folding::{fold, folded};
use std::borrow::Cow;

/// Most edits between a name and a suggested one.
pub const MOST_EDITS: usize = 2;

/// Longest name that is compared, in characters; longer names get no suggestions.
const LONGEST: usize = 100;

/// A name that others are compared with.
#[derive(Clone, Debug)]
pub struct Word {
    chars: Vec<char>,
    letters: u64,
}

impl Word {
    /// Reads a name; case is ignored.
    pub fn new(name: &str) -> Self {
        let name: String = name.chars().take(LONGEST + 1).map(fold).collect();
        Self {
            letters: letters(&name),
            chars: name.chars().collect(),
        }
    }

    /// Returns the edits allowed for a name of this length: one per three characters, at most [`MOST_EDITS`].
    pub fn allowed(&self) -> usize {
        (self.chars.len() / 3).min(MOST_EDITS)
    }

    /// Returns the number of edits (insertions, deletions, replacements, swaps of neighbours) from this word to `name`, if within the limit.
    pub fn edits(&self, name: &str) -> Option<usize> {
        let allowed = self.allowed();
        let name = match name.is_ascii() {
            true => Cow::Borrowed(name),
            false => Cow::Owned(folded(name)),
        };
        // An edit removes at most one letter class and adds at most one.
        if allowed == 0 || (self.letters ^ letters(&name)).count_ones() as usize > 2 * allowed {
            return None;
        }
        let other: Vec<char> = name.chars().take(LONGEST + 1).map(fold).collect();
        if self.chars.len().max(other.len()) > LONGEST || self.chars.len().abs_diff(other.len()) > allowed {
            return None;
        }
        let wide = other.len() + 1;
        let (mut before, mut last, mut row) = (vec![0; wide], (0..wide).collect::<Vec<usize>>(), vec![0; wide]);
        for (i, one) in self.chars.iter().enumerate() {
            row[0] = i + 1;
            let mut least = row[0];
            for (j, two) in other.iter().enumerate() {
                let mut cost = (last[j] + usize::from(one != two)).min(last[j + 1] + 1).min(row[j] + 1);
                if i > 0 && j > 0 && *one == other[j - 1] && self.chars[i - 1] == *two {
                    cost = cost.min(before[j - 1] + 1);
                }
                row[j + 1] = cost;
                least = least.min(cost);
            }
            // A swap reaches back two rows, so one row over the limit is not yet the end.
            if least > allowed + 1 {
                return None;
            }
            (before, last, row) = (last, row, before);
        }
        Some(last[wide - 1]).filter(|edits| *edits <= allowed)
    }
}

/// Returns the set of letter classes in a name, one bit each.
fn letters(name: &str) -> u64 {
    name.chars()
        .fold(0, |seen, letter| seen | 1 << (u32::from(letter.to_ascii_lowercase()) & 63))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The distance by its definition.
    fn naive(one: &[char], two: &[char]) -> usize {
        let (Some((a, one_less)), Some((b, two_less))) = (one.split_last(), two.split_last()) else {
            return one.len().max(two.len());
        };
        let mut least = (naive(one_less, two_less) + usize::from(a != b))
            .min(naive(one_less, two) + 1)
            .min(naive(one, two_less) + 1);
        if let (Some((c, one_two)), Some((d, two_two))) = (one_less.split_last(), two_less.split_last())
            && (a, c) == (d, b)
        {
            least = least.min(naive(one_two, two_two) + 1);
        }
        least
    }

    proptest! {
        #[test]
        fn edits_are_counted(one in "[a-cé]{0,7}", two in "[a-cé]{0,7}") {
            let word = Word::new(&one);
            let (chars, other): (Vec<char>, Vec<char>) = (one.chars().collect(), two.chars().collect());
            let expected = Some(naive(&chars, &other)).filter(|edits| *edits <= word.allowed() && word.allowed() > 0);
            prop_assert_eq!(word.edits(&two), expected);
        }
    }

    #[test]
    fn case_does_not_count_and_long_names_are_not_compared() {
        assert_eq!(Word::new("NodeStroe").edits("nodestore"), Some(1));
        assert_eq!(Word::new("ГЛАВНЫЙ").edits("главынй"), Some(1));
        assert_eq!(Word::new("No").edits("No"), None);
        assert_eq!(Word::new(&"a".repeat(100_000)).edits(&"a".repeat(100_000)), None);
    }
}
