//! The difference between two versions of a document, as a unified diff, with the lines of the later one that it touches.

use crate::code_text::lines::split;
use similar::{Algorithm, DiffOp, TextDiff};

/// Context lines around a change.
const AROUND: usize = 3;
/// Limit of bytes of a patch: a line may be as long as its file.
const LONGEST: usize = 32 << 10;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Difference {
    /// The hunks of a unified diff; empty when nothing differs.
    pub patch: String,
    /// First and last touched line of the later version, from 1; for a mere removal the line before it.
    pub lines: Option<(usize, usize)>,
    /// Column of the first differing character in the first of these lines, from 1; `None` where the line differs from its beginning.
    pub column: Option<usize>,
}

impl Difference {
    /// Computes the difference between two texts.
    pub fn between(before: &str, after: &str) -> Self {
        if before == after {
            return Self::default();
        }
        let diff = TextDiff::configure().algorithm(Algorithm::Patience).diff_lines(before, after);
        let touched = diff
            .ops()
            .iter()
            .filter(|op| !matches!(op, DiffOp::Equal { .. }))
            .map(DiffOp::new_range);
        let (first, last) = touched.fold((usize::MAX, 0), |(first, last), range| {
            (first.min(range.start), last.max(range.end))
        });
        let first = first.saturating_add(1).min(last.max(1));
        let (line, column) = parting(before, after);
        Self {
            patch: diff.unified_diff().context_radius(AROUND).to_string(),
            lines: Some((first, last.max(1))),
            column: (line == first && column > 1).then_some(column),
        }
    }

    /// Limits the patch to `most` lines and 32 KiB, and adds a line about the omitted ones.
    #[must_use]
    pub fn with_line_limit(mut self, most: usize) -> Self {
        let all = self.patch.split_inclusive('\n').count();
        let kept: usize = self.patch.split_inclusive('\n').take(most).map(str::len).sum();
        if kept > LONGEST {
            let end = self.patch.floor_char_boundary(LONGEST);
            self.patch.truncate(end);
            self.patch.push_str("\n… the rest is left out\n");
        } else if all > most {
            self.patch.truncate(kept);
            self.patch.push_str(&format!("… {} more lines\n", all - most));
        }
        self
    }
}

/// Returns the line and the column at which the later of two texts begins to differ, from 1.
fn parting(before: &str, after: &str) -> (usize, usize) {
    let same = before.bytes().zip(after.bytes()).take_while(|(one, other)| one == other).count();
    let same = after.floor_char_boundary(same);
    let (mut line, mut begin) = (1, 0);
    for part in split(after) {
        if begin + part.len() > same {
            break;
        }
        begin += part.len();
        line += 1;
    }
    (line, after[begin..same].chars().count() + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn changes_and_where_they_are() {
        let before = "a\nb\nc\nd\n";
        for (after, lines) in [
            ("a\nB\nc\nd\n", (2, 2)),
            ("a\nb\nc\nd\ne\nf\n", (5, 6)),
            ("b\nc\nd\n", (1, 1)),
            ("a\nb\nc\n", (3, 3)),
            ("", (1, 1)),
            ("x\na\nb\nc\nD\n", (1, 5)),
        ] {
            assert_eq!(Difference::between(before, after).lines, Some(lines), "{after:?}");
        }
        assert_eq!(Difference::between(before, before), Difference::default());
        for (before, after, column) in [("é a\n", "é b\n", Some(3)), ("a\n", "b\n", None), ("x\nab", "x\nabc", Some(3))] {
            assert_eq!(Difference::between(before, after).column, column, "{after:?}");
        }
        assert_eq!(
            Difference::between("a", "b").patch,
            "@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+b\n\\ No newline at end of file\n"
        );
        assert_eq!(
            Difference::between("", "1\n2\n3\n").with_line_limit(2).patch,
            "@@ -0,0 +1,3 @@\n+1\n… 2 more lines\n"
        );
        let long = Difference::between("", &"é".repeat(LONGEST)).with_line_limit(200).patch;
        assert!(
            long.len() < LONGEST + 40 && long.ends_with("é\n… the rest is left out\n"),
            "{}",
            long.len()
        );
    }

    proptest! {
        #[test]
        fn a_difference_lies_in_the_text(before in "[ab\n]{0,20}", after in "[ab\n]{0,20}") {
            let made = Difference::between(&before, &after);
            prop_assert_eq!(made.patch.is_empty(), before == after);
            if let Some((first, last)) = made.lines {
                prop_assert!(1 <= first && first <= last && last <= after.lines().count().max(1), "{:?}", made);
            }
        }
    }
}
