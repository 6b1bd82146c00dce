//! Differences between two texts in whole lines, and the three-way merge: changes that one side made are taken from that side, equal changes of both
//! sides once. Where both changed one place, nothing is guessed: that is a conflict, with its lines on all sides.

use super::lines::split;
use similar::{Algorithm, DiffOp, TextDiff, capture_diff_slices};
use std::ops::Range;

/// A range of one text and its replacement in the other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangedRange {
    /// Bytes of the old text.
    pub old: Range<usize>,
    /// Bytes of the new text.
    pub new: Range<usize>,
}

/// Returns the ranges of lines in which `new` differs from `old`, in order and as few as possible.
pub fn changes(old: &str, new: &str) -> Vec<ChangedRange> {
    if old == new {
        return Vec::new();
    }
    // Common beginning and end, in whole lines.
    let same = same_before(old.as_bytes(), new.as_bytes());
    let before = line_start(old, old.floor_char_boundary(same)).min(line_start(new, new.floor_char_boundary(same)));
    let same = same_behind(&old.as_bytes()[before..], &new.as_bytes()[before..]);
    let behind = {
        let (a, b) = (old.len() - same, new.len() - same);
        // The first line start at or after the difference, measured from the end, where both texts are equal.
        let (a, b) = (line_end(old, a), line_end(new, b));
        (old.len() - a).min(new.len() - b)
    };
    let (a, b) = (&old[before..old.len() - behind], &new[before..new.len() - behind]);
    let (left, right): (Vec<&str>, Vec<&str>) = (split(a).collect(), split(b).collect());
    let starts = |lines: &[&str]| {
        let ends = lines.iter().scan(before, |at, line| {
            *at += line.len();
            Some(*at)
        });
        std::iter::once(before).chain(ends).collect::<Vec<usize>>()
    };
    let (left_at, right_at) = (starts(&left), starts(&right));
    let ops = capture_diff_slices(Algorithm::Myers, &left, &right);
    let mut found: Vec<ChangedRange> = Vec::new();
    for op in ops.iter().filter(|op| !matches!(op, DiffOp::Equal { .. })) {
        let (a, b) = (op.old_range(), op.new_range());
        let change = ChangedRange {
            old: left_at[a.start]..left_at[a.end],
            new: right_at[b.start]..right_at[b.end],
        };
        match found.last_mut() {
            Some(last) if last.old.end == change.old.start && last.new.end == change.new.start => {
                last.old.end = change.old.end;
                last.new.end = change.new.end;
            }
            _ => found.push(change),
        }
    }
    found
}

/// Returns the length of the common beginning of two texts.
fn same_before(a: &[u8], b: &[u8]) -> usize {
    // Comparing blocks is faster than comparing bytes.
    let blocks = a
        .chunks(BLOCK)
        .zip(b.chunks(BLOCK))
        .take_while(|(a, b)| a == b)
        .map(|(a, _)| a.len())
        .sum::<usize>();
    blocks + a[blocks..].iter().zip(&b[blocks..]).take_while(|(a, b)| a == b).count()
}

/// Returns the length of the common end of two texts.
fn same_behind(a: &[u8], b: &[u8]) -> usize {
    let blocks = a
        .rchunks(BLOCK)
        .zip(b.rchunks(BLOCK))
        .take_while(|(a, b)| a == b)
        .map(|(a, _)| a.len())
        .sum::<usize>();
    let (a, b) = (&a[..a.len() - blocks], &b[..b.len() - blocks]);
    blocks + a.iter().rev().zip(b.iter().rev()).take_while(|(a, b)| a == b).count()
}

const BLOCK: usize = 4096;

fn line_start(text: &str, at: usize) -> usize {
    text.as_bytes()[..at]
        .iter()
        .rposition(|byte| *byte == b'\n')
        .map_or(0, |end| end + 1)
}

fn line_end(text: &str, at: usize) -> usize {
    text.as_bytes()[at..]
        .iter()
        .position(|byte| *byte == b'\n')
        .map_or(text.len(), |end| at + end + 1)
}

/// Two texts joined.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Joined {
    /// The text with the changes of both sides.
    pub text: String,
    /// Whether both sides made some of the changes.
    pub alike: bool,
}

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

/// The treatment of changes of adjacent lines by both sides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AdjacentChanges {
    Conflict,
    /// They are joined. Only lines that `ours` inserts conflict with changes of their neighbours, from which they may be derived.
    Join,
}

impl AdjacentChanges {
    /// Whether changes of these ranges of the base are about one place.
    fn meet(self, mine: &Range<usize>, yours: &Range<usize>) -> bool {
        match self {
            Self::Join if !mine.is_empty() => mine.start < yours.end && yours.start < mine.end,
            Self::Conflict | Self::Join => mine.start <= yours.end && yours.start <= mine.end,
        }
    }

    /// Returns the numbers of changes of each side that are about the next place.
    fn next_place(self, own: &[ChangedRange], other: &[ChangedRange]) -> (usize, usize) {
        let (Some(mine), Some(yours)) = (own.first(), other.first()) else {
            return (own.len().min(1), other.len().min(1));
        };
        if !self.meet(&mine.old, &yours.old) {
            return if mine.old.start < yours.old.start { (1, 0) } else { (0, 1) };
        }
        let (mut of_own, mut of_other) = (1, 1);
        loop {
            let meets_other = |mine: &ChangedRange| other[..of_other].iter().any(|yours| self.meet(&mine.old, &yours.old));
            let meets_own = |yours: &ChangedRange| own[..of_own].iter().any(|mine| self.meet(&mine.old, &yours.old));
            match (own.get(of_own).is_some_and(meets_other), other.get(of_other).is_some_and(meets_own)) {
                (true, _) => of_own += 1,
                (false, true) => of_other += 1,
                (false, false) => return (of_own, of_other),
            }
        }
    }
}

/// Joins the changes of two sides to a text. Where both changed one place, they made the same change, or it is a conflict. Errors: the
/// places of the conflicts.
pub fn join(base: &str, ours: &str, theirs: &str, adjacent: AdjacentChanges) -> Result<Joined, Vec<Clash>> {
    let (own, other) = (changes(base, ours), changes(base, theirs));
    let (mut own, mut other) = (own.as_slice(), other.as_slice());
    let mut text = String::with_capacity(theirs.len() + ours.len().saturating_sub(base.len()));
    let (mut alike, mut is_of_lines, mut clashes) = (false, true, Vec::new());
    // Offset in `base` up to which all changes are joined.
    let mut done = 0;
    loop {
        let (of_own, of_other) = adjacent.next_place(own, other);
        let (mine, yours) = (&own[..of_own], &other[..of_other]);
        (own, other) = (&own[of_own..], &other[of_other..]);
        let changed = || mine.iter().chain(yours).map(|change| &change.old);
        let (Some(start), Some(end)) = (changed().map(|old| old.start).min(), changed().map(|old| old.end).max()) else {
            break;
        };
        let place = start..end;
        is_of_lines &= append_lines(&mut text, &base[done..start]);
        let (own_lines, other_lines) = (range_on_side(mine, &place), range_on_side(yours, &place));
        let lines = match (&own_lines, &other_lines) {
            (Some(own), Some(other)) if ours[own.clone()] != theirs[other.clone()] => {
                clashes.push(Clash {
                    base: line_numbers(base, &place),
                    ours: line_numbers(ours, own),
                    theirs: line_numbers(theirs, other),
                });
                ""
            }
            (Some(own), other) => {
                alike |= other.is_some();
                &ours[own.clone()]
            }
            (None, Some(other)) => &theirs[other.clone()],
            (None, None) => "",
        };
        is_of_lines &= append_lines(&mut text, lines);
        done = end;
    }
    is_of_lines &= append_lines(&mut text, &base[done..]);
    if clashes.is_empty() && !is_of_lines {
        // The last line of a side has no end, and the other side adds lines behind it.
        let [base, ours, theirs] = [base, ours, theirs].map(|text| 0..split(text).count());
        clashes.push(Clash { base, ours, theirs });
    }
    if clashes.is_empty() {
        Ok(Joined { text, alike })
    } else {
        Err(clashes)
    }
}

/// Returns the range in the text of a side that corresponds to a range of the base around its changes; `None` if the side has none there.
fn range_on_side(changes: &[ChangedRange], base: &Range<usize>) -> Option<Range<usize>> {
    let (first, last) = (changes.first()?, changes.last()?);
    Some(first.new.start - (first.old.start - base.start)..last.new.end + (base.end - last.old.end))
}

/// Returns the numbers of the lines in a range of bytes, from 0.
fn line_numbers(text: &str, range: &Range<usize>) -> Range<usize> {
    let first = split(&text[..range.start]).count();
    first..first + split(&text[range.clone()]).count()
}

/// Carries the edits from `base` to `ours` over to `theirs`; `None` when both change the same lines.
pub fn carry(base: &str, ours: &str, theirs: &str) -> Option<Joined> {
    join(base, ours, theirs, AdjacentChanges::Join).ok()
}

/// Appends lines; returns whether the last line has an end, so that two lines do not become one.
fn append_lines(text: &mut String, lines: &str) -> bool {
    let is_apart = match text.as_bytes() {
        [] | [.., b'\n'] => true,
        [.., b'\r'] => !lines.starts_with('\n'),
        _ => lines.is_empty(),
    };
    text.push_str(lines);
    is_apart
}

/// Returns a unified diff with three context lines. Differences of line ends are shown.
pub fn unified_diff(old: &str, new: &str, old_name: &str, new_name: &str) -> String {
    unified_by(old, new, old_name, new_name, |text| split(text).collect())
}

/// Returns the same with git's definition of lines: only LF ends a line.
pub fn unified_for_git(old: &str, new: &str, old_name: &str, new_name: &str) -> String {
    unified_by(old, new, old_name, new_name, |text| text.split_inclusive('\n').collect())
}

fn unified_by(old: &str, new: &str, old_name: &str, new_name: &str, lines: fn(&str) -> Vec<&str>) -> String {
    if old == new {
        return String::new();
    }
    let all = changes(old, new);
    let (Some(first), Some(last)) = (all.first(), all.last()) else {
        return String::new();
    };
    let (a, b) = (
        with_context_lines(old, &(first.old.start..last.old.end)),
        with_context_lines(new, &(first.new.start..last.new.end)),
    );
    // Both texts are equal before the first change, so the line numbers shift by the same count.
    let skipped = lines(&old[..a.start]).len();
    let (left, right) = (lines(&old[a]), lines(&new[b]));
    let diff = TextDiff::configure().newline_terminated(true).diff_slices(&left, &right);
    let text = diff.unified_diff().context_radius(CONTEXT).header(old_name, new_name).to_string();
    text.split_inclusive('\n')
        .map(|line| match line.strip_prefix("@@ ").and_then(|line| line.split_once(" @@")) {
            Some((ranges, rest)) => format!("@@ {} @@{rest}", shift_ranges(ranges, skipped)),
            None => line.to_owned(),
        })
        .collect()
}

const CONTEXT: usize = 3;

/// Extends a range by the context lines of a diff, and one more to show that the text continues.
fn with_context_lines(text: &str, stretch: &Range<usize>) -> Range<usize> {
    let mut start = line_start(text, stretch.start);
    let mut end = line_end(text, stretch.end);
    for _ in 0..=CONTEXT {
        start = line_start(text, start.saturating_sub(1));
        end = line_end(text, end);
    }
    start..end
}

/// Formats `-1,7 +1,8` as if `lines` lines preceded.
fn shift_ranges(ranges: &str, lines: usize) -> String {
    let one = |range: &str| {
        let (sign, numbers) = range.split_at(1);
        let (start, length) = numbers
            .split_once(',')
            .map_or((numbers, None), |(start, length)| (start, Some(length)));
        let start = start.parse::<usize>().unwrap_or_default() + lines;
        match length {
            Some(length) => format!("{sign}{start},{length}"),
            None => format!("{sign}{start}"),
        }
    };
    ranges.split(' ').map(one).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn carry(base: &str, ours: &str, theirs: &str) -> Option<String> {
        super::carry(base, ours, theirs).map(|carried| carried.text)
    }

    fn replaced_pairs(old: &str, new: &str) -> Vec<(String, String)> {
        changes(old, new)
            .into_iter()
            .map(|change| (old[change.old].to_owned(), new[change.new].to_owned()))
            .collect()
    }

    #[test]
    fn changes_are_of_whole_lines() {
        let pair = |a: &str, b: &str| (a.to_owned(), b.to_owned());
        assert_eq!(replaced_pairs("a\nbcd\ne\n", "a\nbXd\ne\n"), [pair("bcd\n", "bXd\n")]);
        assert_eq!(
            replaced_pairs("a\nb\nc\nd\n", "A\nb\nc\nD\n"),
            [pair("a\n", "A\n"), pair("d\n", "D\n")]
        );
        assert_eq!(replaced_pairs("", "é"), [pair("", "é")]);
        assert_eq!(
            replaced_pairs("a\raé\rb\n", "a\raè\rb\n"),
            [pair("aé\r", "aè\r")],
            "CR alone ends lines"
        );
        assert_eq!(replaced_pairs("x", "x"), []);
    }

    #[test]
    fn edits_of_untouched_lines_are_transferred_and_no_others() {
        let base = "one\ntwo\nthree\nfour\nfive\n";
        let ours = base.replace("two", "TWO");
        let with = |theirs: &str| carry(base, &ours, theirs);
        assert_eq!(
            with(&base.replace("five", "FIVE")),
            Some("one\nTWO\nthree\nfour\nFIVE\n".to_owned())
        );
        assert_eq!(with(&format!("zero\n{base}six\n")), Some(format!("zero\n{ours}six\n")));
        assert_eq!(with(&base.replace("two", "2")), None);
        assert_eq!(with(&ours), Some(ours.clone()), "the same edit");
        assert_eq!(with(""), None);
        assert_eq!(carry("a\n", "a\nb\n", "a\nc\n"), None, "both add at one place");
        // Edits touch whole lines: two numbers never mix to a third.
        let timeout = |ours: &str, theirs: &str| carry("timeout = 10\nother = 1\n", ours, theirs);
        assert_eq!(timeout("timeout = 100\nother = 1\n", "timeout = 20\nother = 1\n"), None);
        assert_eq!(carry("a b c d", "A b c d", "a b c D"), None);
        assert_eq!(carry("a\nb\n", "a\nb", "a\nb\nc\n"), None, "`bc` is a line of nobody");
        // The adjacent line may change, unless inserted lines may derive from it.
        assert_eq!(
            timeout("timeout = 100\nother = 1\n", "timeout = 10\nother = 2\n").as_deref(),
            Some("timeout = 100\nother = 2\n")
        );
        assert_eq!(
            timeout("timeout = 10\nother = 2\n", "timeout = 10\nmore\nother = 1\nmore\n").as_deref(),
            Some("timeout = 10\nmore\nother = 2\nmore\n")
        );
        for theirs in ["timeout = 20\nother = 1\n", "timeout = 10\nother = 2\n", "other = 1\n"] {
            assert_eq!(timeout("timeout = 10\nmore\nother = 1\n", theirs), None, "{theirs}");
        }
    }

    #[test]
    fn edits_that_the_other_side_made_too_are_reported() {
        let alike = |theirs: &str| super::carry("1\n2\n3\n", "one\n2\nthree\n", theirs).map(|carried| carried.alike);
        assert_eq!(alike("one\n2\n3\n"), Some(true));
        assert_eq!(alike("one\n2\nthree\n"), Some(true));
        assert_eq!(alike("1\n2\n3\n4\n"), Some(false));
        assert_eq!(alike("1\n2\n3\n"), Some(false));
    }

    #[test]
    fn edits_far_from_each_other_are_two() {
        let base: String = (0..60_000).map(|line| format!("line {line}\n")).collect();
        let ours = base.replace("line 0\n", "first\n").replace("line 59999\n", "last\n");
        let theirs = base.replace("line 30000\n", "middle\n");
        assert_eq!(changes(&base, &ours).len(), 2);
        assert_eq!(carry(&base, &ours, &theirs), Some(ours.replace("line 30000\n", "middle\n")));
    }

    #[test]
    fn diffs_have_the_lines_of_the_whole() {
        let old: String = (1..=40).map(|line| format!("line {line}\n")).collect();
        let new = old.replace("line 20\n", "line 20a\nline 20b\n").replace("line 38\n", "line 38!\n");
        let whole = TextDiff::from_lines(old.as_str(), new.as_str());
        let expected = whole.unified_diff().context_radius(3).header("a", "b").to_string();
        assert_eq!(unified_diff(&old, &new, "a", "b"), expected);
        assert_eq!(unified_diff("a\n", "a\r\n", "a", "b").lines().count(), 5);
        assert_eq!(
            unified_diff("", "a", "a", "b").lines().filter(|line| line.starts_with('+')).count(),
            2
        );
    }

    fn join(base: &str, ours: &str, theirs: &str) -> Result<String, Vec<Clash>> {
        super::join(base, ours, theirs, AdjacentChanges::Conflict).map(|joined| joined.text)
    }

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

    /// Lines; each side may change some of them, and the test combines the sides.
    fn sides() -> impl Strategy<Value = Vec<Side>> {
        let line = "[ab]{0,2}(\r\n|\n)";
        let other = prop::option::weighted(0.3, "([xy]{1,2}\n){0,2}");
        prop::collection::vec((line, other.clone(), other), 0..9)
    }

    proptest! {
        #[test]
        fn changes_make_the_new_text(old in "([ab]{0,2}(\r\n|\n|é)){0,8}", new in "([ab]{0,2}(\r\n|\n|é)){0,8}") {
            let mut made = String::new();
            let mut done = 0;
            for change in changes(&old, &new) {
                made.push_str(&old[done..change.old.start]);
                made.push_str(&new[change.new]);
                done = change.old.end;
            }
            made.push_str(&old[done..]);
            prop_assert_eq!(&made, &new);
            // No edit to carry, or no change on the other side.
            prop_assert_eq!(carry(&old, &old, &new), Some(new.clone()));
            prop_assert_eq!(carry(&old, &new, &old), Some(new));
        }

        #[test]
        fn every_merged_line_comes_from_a_side(
            base in "([01]{1,2}(\n|\r)){0,5}[01]?",
            ours in "([01]{0,2}(\n|\r)){0,5}[01]?",
            theirs in "([01]{0,2}(\n|\r)){0,5}[01]?",
        ) {
            if let Some(carried) = carry(&base, &ours, &theirs) {
                let wrote = |line: &str| split(&ours).chain(split(&theirs)).any(|other| other == line);
                prop_assert!(split(&carried).all(wrote), "{:?}", carried);
            }
        }

        #[test]
        fn edits_of_two_ends_are_both_there(middle in "[a-c\n]{0,20}", mine in "[x\n]{0,4}", yours in "[y\n]{0,4}") {
            let base = format!("<\n1\n2\n{middle}\n3\n4\n>");
            let ours = base.replacen('<', &mine, 1);
            let theirs = base.replacen('>', &yours, 1);
            prop_assert_eq!(carry(&base, &ours, &theirs), Some(format!("{mine}\n1\n2\n{middle}\n3\n4\n{yours}")));
        }
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
