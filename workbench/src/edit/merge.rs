//! Differences between two texts in whole lines, and edits carried from one text to another. An edit is carried if the other side left its lines
//! unchanged; otherwise it is a conflict. Nothing is guessed.

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
    let before = line_start(old, floor(old, same)).min(line_start(new, floor(new, same)));
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

fn floor(text: &str, at: usize) -> usize {
    (0..=at).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0)
}

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

/// Edits carried to another text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TransferredEdits {
    /// The other text with the edits.
    pub text: String,
    /// Whether the other text already had some of the edits.
    pub alike: bool,
}

/// Carries the edits from `base` to `ours` over to `theirs`; `None` when both change the same lines. Inserted lines belong to their neighbours, from
/// which they may be derived: a change of these by the other side is a conflict.
pub fn carry(base: &str, ours: &str, theirs: &str) -> Option<TransferredEdits> {
    if base == theirs || ours == theirs {
        return Some(TransferredEdits {
            text: ours.to_owned(),
            alike: base != theirs,
        });
    }
    let (own, other) = (changes(base, ours), changes(base, theirs));
    let mut carried = String::with_capacity(theirs.len() + ours.len().saturating_sub(base.len()));
    let mut alike = false;
    // Offset in `base` up to which all edits are carried.
    let mut done = 0;
    let (mut own, mut other) = (own.iter().peekable(), other.iter().peekable());
    loop {
        let (change, text) = match (own.peek(), other.peek()) {
            (None, None) => break,
            (Some(mine), Some(yours)) => {
                let (a, b) = (&mine.old, &yours.old);
                let meet = match a.is_empty() {
                    true => b.start <= a.start && a.start <= b.end,
                    false => a.start < b.end && b.start < a.end,
                };
                if meet {
                    // The same edit on both sides is not a conflict.
                    if mine.old == yours.old && ours[mine.new.clone()] == theirs[yours.new.clone()] {
                        own.next();
                        alike = true;
                        continue;
                    }
                    return None;
                }
                if mine.old.start < yours.old.start {
                    (own.next()?, ours)
                } else {
                    (other.next()?, theirs)
                }
            }
            (Some(_), None) => (own.next()?, ours),
            (None, Some(_)) => (other.next()?, theirs),
        };
        append_lines(&mut carried, &base[done..change.old.start])?;
        append_lines(&mut carried, &text[change.new.clone()])?;
        done = change.old.end;
    }
    append_lines(&mut carried, &base[done..])?;
    Some(TransferredEdits { text: carried, alike })
}

/// Appends lines; `None` if the last line has no end, so that two lines would join.
fn append_lines(text: &mut String, lines: &str) -> Option<()> {
    let apart = match text.as_bytes() {
        [] | [.., b'\n'] => true,
        [.., b'\r'] => !lines.starts_with('\n'),
        _ => lines.is_empty(),
    };
    text.push_str(lines);
    apart.then_some(())
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
}
