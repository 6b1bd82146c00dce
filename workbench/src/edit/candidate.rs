//! Candidates: occurrences to choose from, with the text around each, and the document with marks at them. Marks are only displayed, never saved; a
//! similar text in the document is not a mark.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// Most candidates shown at once.
pub const SHOWN: usize = 5;
/// Characters shown before and after a match, within its line.
const AROUND: usize = 24;
/// Most characters shown of a match.
const LONGEST: usize = 80;

/// An occurrence to choose. Places are counted in characters (Unicode code points) of the text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Candidate {
    /// Its number, from 1, for `replace_selection`.
    pub id: usize,
    /// The mark before it in the displayed text.
    pub marker_start: String,
    /// The mark after it in the displayed text.
    pub marker_end: String,
    /// The match with the text around it, on one line.
    pub preview: String,
    /// Number of occurrences before it.
    pub occurrence: usize,
    /// Offset of the start of the previewed text.
    pub context_start: usize,
    /// Offset of its end.
    pub context_end: usize,
    /// Line of the match, from 1.
    pub line: usize,
}

/// Returns a mark word that does not occur in the text: `SEL`, with a number if that is taken.
pub fn unused_mark(text: &str) -> String {
    let taken = |word: &str| {
        memchr::memmem::find(text.as_bytes(), format!("[[{word}#").as_bytes()).is_some()
            || memchr::memmem::find(text.as_bytes(), format!("[[/{word}#").as_bytes()).is_some()
    };
    let numbered = (2_usize..).map(|number| format!("SEL{number}"));
    std::iter::once("SEL".to_owned())
        .chain(numbered)
        .find(|word| !taken(word))
        .unwrap_or_default()
}

/// Returns the candidates for matches of `length` bytes at these offsets, numbered on from `from` (from 0).
pub fn candidates(text: &str, length: usize, at: &[usize], from: usize) -> Vec<Candidate> {
    let word = unused_mark(text);
    let (mut bytes, mut chars, mut line) = (0, 0, 1);
    let mut made = Vec::new();
    for (number, at) in (from..).zip(at) {
        chars += text[bytes..*at].chars().count();
        line += count_line_ends(text.as_bytes(), bytes..*at);
        bytes = *at;
        let before: Vec<char> = text[..*at]
            .chars()
            .rev()
            .take_while(|c| !matches!(c, '\n' | '\r'))
            .take(AROUND + 1)
            .collect();
        let cut_before = before.len() > AROUND;
        let before: String = before.into_iter().take(AROUND).rev().collect();
        let whole = &text[*at..*at + length];
        let shown: String = whole.chars().take(LONGEST).collect();
        let behind: Vec<char> = match shown.len() < whole.len() {
            true => Vec::new(),
            false => text[*at + length..]
                .chars()
                .take_while(|c| !matches!(c, '\n' | '\r'))
                .take(AROUND + 1)
                .collect(),
        };
        let cut_behind = shown.len() < whole.len() || behind.len() > AROUND;
        let behind: String = behind.into_iter().take(AROUND).collect();
        let preview = format!(
            "{}{}{}",
            if cut_before { "..." } else { "" },
            on_one_line(&format!("{before}{shown}{behind}")),
            if cut_behind { "..." } else { "" }
        );
        made.push(Candidate {
            id: number + 1,
            marker_start: format!("[[{word}#{}]]", number + 1),
            marker_end: format!("[[/{word}#{}]]", number + 1),
            preview,
            occurrence: number,
            context_start: chars - before.chars().count(),
            context_end: chars + shown.chars().count() + behind.chars().count(),
            line,
        });
    }
    made
}

/// Counts the line ends in a range of a text; CR LF counts once, at the LF.
fn count_line_ends(text: &[u8], stretch: Range<usize>) -> usize {
    let places = memchr::memchr2_iter(b'\r', b'\n', &text[stretch.clone()]).map(|at| stretch.start + at);
    places.filter(|at| text[*at] == b'\n' || text.get(at + 1) != Some(&b'\n')).count()
}

/// Replaces line ends and tabs with visible signs.
fn on_one_line(text: &str) -> String {
    let text = text.replace("\r\n", "⏎");
    let sign = |c| match c {
        '\r' | '\n' => '⏎',
        '\t' => '→',
        c if c.is_control() => '\u{fffd}',
        c => c,
    };
    text.chars().map(sign).collect()
}

/// Returns the lines around matches with marks, `around` lines on each side; `…` replaces skipped lines. Marks of overlapping matches overlap.
pub fn mark_matches(text: &str, length: usize, at: &[usize], shown: &[Candidate], around: usize) -> String {
    let lines: Vec<&str> = crate::code_text::lines::split(text).collect();
    let mut starts: Vec<usize> = Vec::with_capacity(lines.len());
    let mut sum = 0;
    for line in &lines {
        starts.push(sum);
        sum += line.len();
    }
    let line_of = |byte: usize| starts.partition_point(|start| *start <= byte).saturating_sub(1);
    let mut wanted = std::collections::BTreeSet::new();
    let mut marks: Vec<(usize, u8, &str)> = Vec::new();
    for (at, candidate) in at.iter().zip(shown) {
        let (first, last) = (line_of(*at), line_of((*at + length).saturating_sub(1).max(*at)));
        // For a long match, show its beginning and its end.
        let head = first.saturating_sub(around)..(first + around + 1).min(lines.len());
        let tail = last.saturating_sub(around)..(last + around + 1).min(lines.len());
        wanted.extend(head.chain(tail));
        marks.push((*at, 1, &candidate.marker_start));
        marks.push((*at + length, 0, &candidate.marker_end));
    }
    marks.sort();
    let mut marks = marks.into_iter().peekable();
    let width = wanted.last().map_or(1, |last| (last + 1).to_string().len());
    let (mut excerpt, mut before) = (String::new(), None);
    for number in wanted {
        if before.is_some_and(|before: usize| before + 1 < number) {
            excerpt.push_str("…\n");
        }
        before = Some(number);
        let (start, line) = (starts[number], crate::code_text::lines::body(lines[number]));
        while marks.next_if(|(at, ..)| *at < start).is_some() {}
        let mut done = 0;
        let mut shown = String::new();
        while let Some((at, _, mark)) =
            marks.next_if(|(at, kind, _)| *at < start + lines[number].len() || *kind == 0 && *at == start + lines[number].len())
        {
            let cut = (at - start).min(line.len());
            shown.push_str(&line[done..cut.max(done)]);
            done = cut.max(done);
            shown.push_str(mark);
        }
        shown.push_str(&line[done..]);
        excerpt.push_str(&format!("{:>width$}  {shown}\n", number + 1));
    }
    excerpt
}

#[cfg(test)]
mod tests {
    use super::super::matching::find_occurrences;
    use super::*;

    fn of(text: &str, needle: &str) -> Vec<Candidate> {
        candidates(text, needle.len(), &find_occurrences(text, needle, 0, SHOWN).at, 0)
    }

    #[test]
    fn candidates_say_what_stands_around_them() {
        let text = "日本😀 void Foo() {\n\tFoo();\n}\nvoid Foo(int some_quite_long_name_of_a_parameter) { }\n";
        let found = of(text, "Foo");
        let answer: Vec<_> = found
            .iter()
            .map(|one| (one.id, one.line, one.preview.as_str(), one.context_start, one.context_end))
            .collect();
        assert_eq!(
            answer,
            [
                (1, 1, "日本😀 void Foo() {", 0, 16),
                (2, 2, "→Foo();", 17, 24),
                (3, 4, "void Foo(int some_quite_long_nam...", 27, 59),
            ]
        );
        let context = |one: &Candidate| {
            text.chars()
                .skip(one.context_start)
                .take(one.context_end - one.context_start)
                .collect::<String>()
        };
        assert_eq!(context(&found[0]), "日本😀 void Foo() {");
        assert_eq!(context(&found[1]), "\tFoo();");
    }

    #[test]
    fn lines_are_counted_as_the_file_ends_them() {
        let text = "x\rx\r\nx\nx\r\rx";
        let lines: Vec<usize> = of(text, "x").iter().map(|one| one.line).collect();
        assert_eq!(lines, [1, 2, 3, 4, 6]);
    }

    #[test]
    fn marks_are_none_that_the_text_has() {
        assert_eq!(unused_mark("a [[SELF]] b"), "SEL");
        assert_eq!(unused_mark("[[SEL#1]]"), "SEL2");
        assert_eq!(unused_mark("[[/SEL#1]] [[SEL2#9]]"), "SEL3");
        let text = "[[SEL#1]] x\nx\n";
        let found = of(text, "x");
        assert_eq!(
            mark_matches(text, 1, &[10, 12], &found, 0),
            "1  [[SEL#1]] [[SEL2#1]]x[[/SEL2#1]]\n2  [[SEL2#2]]x[[/SEL2#2]]\n"
        );
    }

    #[test]
    fn marks_stand_at_matches_that_overlap_or_have_lines() {
        let text = "aaa\n";
        assert_eq!(
            mark_matches(text, 2, &find_occurrences(text, "aa", 0, 9).at, &of(text, "aa"), 1),
            "1  [[SEL#1]]a[[SEL#2]]a[[/SEL#1]]a[[/SEL#2]]\n"
        );
        let text = "1\n2\n3\nx\ny\n6\n7\nx\ny";
        let found = find_occurrences(text, "x\ny", 0, 9).at;
        assert_eq!(
            mark_matches(text, 3, &found, &of(text, "x\ny"), 0),
            "4  [[SEL#1]]x\n5  y[[/SEL#1]]\n…\n8  [[SEL#2]]x\n9  y[[/SEL#2]]\n"
        );
        let text = "x\r\nx\r\n";
        assert_eq!(
            mark_matches(text, 3, &find_occurrences(text, "x\r\n", 0, 9).at, &of(text, "x\r\n"), 0),
            "1  [[SEL#1]]x[[/SEL#1]]\n2  [[SEL#2]]x[[/SEL#2]]\n"
        );
    }
}
