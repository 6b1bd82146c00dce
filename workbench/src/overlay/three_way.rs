//! Three-way merge by whole lines: regions that one side changed are taken from that side, and equal changes of both sides once. Where both changed
//! the same or adjacent lines, nothing is guessed: that is a conflict, reported with its lines on all sides.

use crate::edit::lines::split;
use similar::{Algorithm, DiffOp, capture_diff_slices};
use std::ops::Range;

/// Lines that both sides changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Clash {
    /// Lines of the base, from 0.
    pub base: Range<usize>,
    /// Lines of `ours`, from 0.
    pub ours: Range<usize>,
    /// Lines of `theirs`, from 0.
    pub theirs: Range<usize>,
}

/// A region of lines that one side replaced.
#[derive(Clone, Debug)]
struct Hunk {
    old: Range<usize>,
    new: Range<usize>,
}

/// Returns the changes of a side, in order.
fn hunks(old: &[&str], new: &[&str]) -> Vec<Hunk> {
    let before = old.iter().zip(new).take_while(|(a, b)| a == b).count();
    let (a, b) = (&old[before..], &new[before..]);
    let behind = a.iter().rev().zip(b.iter().rev()).take_while(|(a, b)| a == b).count();
    let (a, b) = (&a[..a.len() - behind], &b[..b.len() - behind]);
    let moved = |range: Range<usize>| range.start + before..range.end + before;
    let ops = capture_diff_slices(Algorithm::Myers, a, b);
    let changed = ops.iter().filter(|op| !matches!(op, DiffOp::Equal { .. }));
    changed
        .map(|op| Hunk {
            old: moved(op.old_range()),
            new: moved(op.new_range()),
        })
        .collect()
}

/// Joins the changes of two sides to a text.
///
/// # Errors
/// The regions where both changed the same or adjacent lines.
pub fn join(base: &str, ours: &str, theirs: &str) -> Result<String, Vec<Clash>> {
    let [old, mine, yours] = [base, ours, theirs].map(|text| split(text).collect::<Vec<&str>>());
    let (own, other) = (hunks(&old, &mine), hunks(&old, &yours));
    let mut joined = String::with_capacity(ours.len().max(theirs.len()));
    let mut clashes = Vec::new();
    // Lines up to here are joined.
    let (mut done, mut at_mine, mut at_yours) = (0, 0, 0);
    let (mut own, mut other) = (own.as_slice(), other.as_slice());
    while let Some(start) = first_conflict(own, other) {
        // Collect all changes that touch one region.
        let (mut end, mut of_own, mut of_other) = (start, 0, 0);
        loop {
            let meets = |hunk: Option<&Hunk>| hunk.filter(|hunk| hunk.old.start <= end).map(|hunk| hunk.old.end);
            if let Some(further) = meets(own.get(of_own)) {
                (end, of_own) = (end.max(further), of_own + 1);
            } else if let Some(further) = meets(other.get(of_other)) {
                (end, of_other) = (end.max(further), of_other + 1);
            } else {
                break;
            }
        }
        let base = start..end;
        let mine_lines = range_on_side(&own[..of_own], &base, at_mine + (start - done));
        let yours_lines = range_on_side(&other[..of_other], &base, at_yours + (start - done));
        joined.extend(old[done..start].iter().copied());
        match (&mine[mine_lines.clone()], &yours[yours_lines.clone()]) {
            (text, _) if of_other == 0 => joined.extend(text.iter().copied()),
            (_, text) if of_own == 0 => joined.extend(text.iter().copied()),
            (text, same) if text == same => joined.extend(text.iter().copied()),
            _ => clashes.push(Clash {
                base,
                ours: mine_lines.clone(),
                theirs: yours_lines.clone(),
            }),
        }
        (done, at_mine, at_yours) = (end, mine_lines.end, yours_lines.end);
        (own, other) = (&own[of_own..], &other[of_other..]);
    }
    joined.extend(old[done..].iter().copied());
    if clashes.is_empty() { Ok(joined) } else { Err(clashes) }
}

fn first_conflict(own: &[Hunk], other: &[Hunk]) -> Option<usize> {
    own.first().into_iter().chain(other.first()).map(|hunk| hunk.old.start).min()
}

/// Returns the lines of a side that correspond to `base`, whose first line is at `at` there.
fn range_on_side(hunks: &[Hunk], base: &Range<usize>, at: usize) -> Range<usize> {
    let (gone, come) = hunks
        .iter()
        .fold((0, 0), |(gone, come), hunk| (gone + hunk.old.len(), come + hunk.new.len()));
    at..at + base.len() - gone + come
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn lines(clash: &Clash) -> [(usize, usize); 3] {
        [&clash.base, &clash.ours, &clash.theirs].map(|range| (range.start, range.end))
    }

    #[test]
    fn edits_of_other_lines_are_joined_and_of_the_same_are_not() {
        let base = "one\ntwo\nthree\nfour\nfive\n";
        let with = |from: &str, to: &str| base.replace(from, to);
        assert_eq!(
            join(base, &with("one", "ONE"), &with("five", "FIVE")),
            Ok("ONE\ntwo\nthree\nfour\nFIVE\n".to_owned())
        );
        assert_eq!(join(base, &with("two", "TWO"), &with("two", "TWO")), Ok(with("two", "TWO")));
        assert_eq!(join(base, base, &with("two\n", "")), Ok(with("two\n", "")));
        // Two edits of one line, however far apart in it, and edits of adjacent lines.
        let clash = join("int a = 1; // x\n", "int b = 1; // x\n", "int a = 1; // y\n").expect_err("one line");
        assert_eq!(lines(&clash[0]), [(0, 1), (0, 1), (0, 1)]);
        let clash = join(base, &with("two", "TWO\n2"), &with("three", "3")).expect_err("they meet");
        assert_eq!(clash.iter().map(lines).collect::<Vec<_>>(), [[(1, 3), (1, 4), (1, 3)]]);
        let clash = join(base, &with("one", "1\n1\n1").replace("four", "4"), &with("four", "vier")).expect_err("both");
        assert_eq!(clash.iter().map(lines).collect::<Vec<_>>(), [[(3, 4), (5, 6), (3, 4)]]);
        // Both add at the same position.
        assert!(join("a\n", "a\nb\n", "a\nc\n").is_err());
        assert!(join("", "a", "b").is_err());
    }

    #[test]
    fn line_ends_are_part_of_lines() {
        let base = "a\r\nb\rc\nd";
        assert_eq!(join(base, "a\nb\rc\nd", "a\r\nb\rc\nD\n"), Ok("a\nb\rc\nD\n".to_owned()));
        assert_eq!(join(base, "a\r\nB\rc\nd", "a\r\nb\rc\nd\n").as_deref(), Ok("a\r\nB\rc\nd\n"));
    }

    /// A line, and its replacement on either side.
    type Side = (String, Option<String>, Option<String>);

    /// Lines of which each side may change some, combined by the test.
    fn sides() -> impl Strategy<Value = Vec<Side>> {
        let line = "[ab]{0,2}(\r\n|\n)";
        let other = prop::option::weighted(0.3, "([xy]{1,2}\n){0,2}");
        prop::collection::vec((line, other.clone(), other), 0..9)
    }

    proptest! {
        #[test]
        fn a_join_has_the_changed_form_of_each_line(sides in sides()) {
            let of = |pick: fn(&Side) -> &str| sides.iter().map(pick).collect::<String>();
            let base = of(|(line, ..)| line);
            let ours = of(|(line, mine, _)| mine.as_deref().unwrap_or(line));
            let theirs = of(|(line, _, yours)| yours.as_deref().unwrap_or(line));
            let both = of(|(line, mine, yours)| mine.as_deref().or(yours.as_deref()).unwrap_or(line));
            if let Ok(joined) = join(&base, &ours, &theirs) {
                // With equal lines, several diffs are possible: compare only unambiguous texts.
                let same = sides.iter().all(|(_, mine, yours)| mine.is_none() || yours.is_none() || mine == yours);
                let mut seen = std::collections::BTreeSet::new();
                if same && sides.iter().all(|(line, ..)| seen.insert(line)) {
                    prop_assert_eq!(&joined, &both);
                }
                prop_assert_eq!(join(&base, &theirs, &ours), Ok(joined), "either way round");
            }
            prop_assert_eq!(join(&base, &ours, &base), Ok(ours.clone()));
            prop_assert_eq!(join(&base, &base, &theirs), Ok(theirs.clone()));
            prop_assert_eq!(join(&base, &ours, &ours), Ok(ours));
        }

        #[test]
        fn clashes_name_lines_that_there_are(base in "([ab]?(\r\n|\n|\r)){0,6}[ab]?", ours in "([ab]?(\r\n|\n|\r)){0,6}[ab]?", theirs in "([ab]?(\r\n|\n|\r)){0,6}[ab]?") {
            prop_assert_eq!(join(&base, &ours, &base), Ok(ours.clone()));
            if let Err(clashes) = join(&base, &ours, &theirs) {
                for clash in clashes {
                    prop_assert!(clash.base.end <= split(&base).count());
                    prop_assert!(clash.ours.end <= split(&ours).count());
                    prop_assert!(clash.theirs.end <= split(&theirs).count());
                }
            }
        }
    }
}
