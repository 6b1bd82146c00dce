//! Draws an answer on a terminal: Markdown line by line, so that each complete line is drawn once while the rest still grows. Formats headings,
//! emphasis, code, lists, quotes and fences; leaves the rest as written.

use super::cells::{cells, clusters, printable_clusters};
use super::paint::DrawnLine;
use methods::render::Style;

/// Style of a piece of a line.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Ink {
    Plain,
    Strong,
    Code,
    Faint,
}

/// Draws the lines of one answer in order.
#[derive(Clone, Debug)]
pub struct Markdown {
    style: Style,
    width: usize,
    /// Marker of the open fence, and the language after it.
    fence: Option<(String, String)>,
}

impl Markdown {
    /// Creates a drawer for lines of at most `width` cells.
    pub fn new(style: Style, width: usize) -> Self {
        Self {
            style,
            width: width.max(1),
            fence: None,
        }
    }

    pub fn rows_of_line(&mut self, line: &str) -> Vec<DrawnLine> {
        let line = printable_clusters(line.trim_end_matches(['\n', '\r']));
        let bare = line.trim_start();
        if let Some((marks, _)) = &self.fence {
            if bare.starts_with(marks.as_str()) && bare.trim_end().chars().all(|c| marks.starts_with(c)) {
                self.fence = None;
                return self.wrap_pieces(&[(Ink::Faint, bare.to_owned())], "", "");
            }
            return self.code(&line);
        }
        let run = bare.len() - bare.trim_start_matches(['`', '~']).len();
        if run >= 3 && !bare[run..].contains('`') {
            self.fence = Some((bare[..run].to_owned(), bare[run..].trim().to_owned()));
            return self.wrap_pieces(&[(Ink::Faint, bare.to_owned())], "", "");
        }
        let hashes = bare.len() - bare.trim_start_matches('#').len();
        if (1..=6).contains(&hashes) && bare[hashes..].starts_with(' ') {
            return self.wrap_pieces(&[(Ink::Strong, bare[hashes..].trim().to_owned())], "", "");
        }
        // Tables and indented code keep their columns.
        if bare.starts_with('|') || line.starts_with("    ") {
            return self.wrap_pieces(&[(Ink::Plain, line)], "", "");
        }
        let indent = &line[..line.len() - bare.len()];
        match marker(bare) {
            Some((mark, rest)) => {
                let first = format!("{indent}{mark}");
                let next = " ".repeat(cells(&first));
                self.wrap_pieces(&inline(rest), &first, &next)
            }
            None => self.wrap_pieces(&inline(bare), indent, indent),
        }
    }

    /// Returns the rows of a line of code: never joined with others, cut if too long. Diffs get their colours.
    fn code(&self, line: &str) -> Vec<DrawnLine> {
        let is_diff = self.fence.as_ref().is_some_and(|(_, language)| language == "diff");
        let paint = |text: &str| match line.as_bytes().first() {
            Some(b'+') if is_diff => self.style.green(text),
            Some(b'-') if is_diff => self.style.red(text),
            _ if is_diff => text.to_owned(),
            _ => self.style.cyan(text),
        };
        let indent = if self.width > 8 { "  " } else { "" };
        let width = self.width - indent.len();
        let pieces = split_after(line, width, width);
        let row = |piece: String| DrawnLine {
            cells: indent.len() + cells(&piece),
            drawn: format!("{indent}{}", paint(&piece)),
        };
        pieces.into_iter().map(row).collect()
    }

    /// Wraps pieces into rows, at words if possible; `first` and `next` are the prefixes of the first row and the others.
    fn wrap_pieces(&self, pieces: &[(Ink, String)], first: &str, next: &str) -> Vec<DrawnLine> {
        // A very narrow terminal gets no indentation.
        let fits = |lead: &str| cells(lead) * 2 < self.width;
        let (first, next) = if fits(first) { (first, next) } else { ("", "") };
        let mut rows = vec![DrawnLine::plain(first.to_owned())];
        for (ink, text) in pieces {
            for word in text.split_inclusive(' ') {
                let row = rows.last().expect("invariant: there is a row");
                let is_begun = row.cells > cells(if rows.len() == 1 { first } else { next });
                if is_begun && row.cells + cells(word.trim_end()) > self.width {
                    rows.push(DrawnLine::plain(next.to_owned()));
                }
                let left = self.width - rows.last().map_or(0, |row| row.cells);
                let mut pieces = if cells(word.trim_end()) <= left {
                    vec![word.to_owned()]
                } else {
                    split_after(word, left, self.width - cells(next))
                };
                let last = pieces.len() - 1;
                for (at, piece) in pieces.drain(..).enumerate() {
                    let row = rows.last_mut().expect("invariant: there is a row");
                    // A space at the end of a row is not drawn.
                    let piece = if row.cells + cells(&piece) > self.width {
                        piece.trim_end()
                    } else {
                        &piece
                    };
                    row.cells += cells(piece);
                    row.drawn.push_str(&self.paint(*ink, piece));
                    if at < last {
                        rows.push(DrawnLine::plain(next.to_owned()));
                    }
                }
            }
        }
        rows
    }

    fn paint(&self, ink: Ink, text: &str) -> String {
        let text: String = clusters(text).map(|cluster| cluster.drawn(usize::MAX)).collect();
        match ink {
            Ink::Plain => text,
            Ink::Strong => self.style.bold(&text),
            Ink::Code => self.style.cyan(&text),
            Ink::Faint => self.style.dim(&text),
        }
    }
}

/// Splits a line into the mark of its list or quote, and the rest.
fn marker(bare: &str) -> Option<(&str, &str)> {
    let digits = bare.len() - bare.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let len = match bare.as_bytes() {
        [b'-' | b'*' | b'+' | b'>', b' ', ..] => 2,
        _ if (1..=3).contains(&digits) && (bare[digits..].starts_with(". ") || bare[digits..].starts_with(") ")) => digits + 2,
        _ => return None,
    };
    Some(bare.split_at(len))
}

/// Splits a line into code, strong and plain pieces.
fn inline(text: &str) -> Vec<(Ink, String)> {
    let mut pieces: Vec<(Ink, String)> = Vec::new();
    let mut plain = Ink::Plain;
    let mut rest = text;
    while !rest.is_empty() {
        let at = rest.find(['`', '*']).unwrap_or(rest.len());
        if at > 0 {
            pieces.push((plain, rest[..at].to_owned()));
            rest = &rest[at..];
            continue;
        }
        let ticks = rest.len() - rest.trim_start_matches('`').len();
        let close = (ticks > 0).then(|| rest[ticks..].find(&rest[..ticks])).flatten();
        if let Some(close) = close {
            pieces.push((Ink::Code, rest[ticks..ticks + close].to_owned()));
            rest = &rest[ticks + close + ticks..];
        } else if rest.starts_with("**") && (plain == Ink::Strong || rest[2..].contains("**")) {
            plain = if plain == Ink::Strong { Ink::Plain } else { Ink::Strong };
            rest = &rest[2..];
        } else {
            let len = ticks.max(1);
            pieces.push((plain, rest[..len].to_owned()));
            rest = &rest[len..];
        }
    }
    pieces
}

/// Splits a text into pieces of at most `width` cells, the first of at most `first`.
fn split_after(text: &str, first: usize, width: usize) -> Vec<String> {
    let width = width.max(1);
    let (mut pieces, mut left) = (vec![String::new()], first);
    for cluster in clusters(text) {
        let takes = cluster.cells(width);
        if takes > left {
            pieces.push(String::new());
            left = width;
        }
        left -= takes.min(left);
        pieces
            .last_mut()
            .expect("invariant: there is a piece")
            .push_str(&cluster.drawn(width));
    }
    pieces
}

/// Draws a growing answer: rows of each complete line once, and rows of the incomplete last line.
pub struct Growing {
    markdown: Markdown,
    /// Number of bytes already drawn.
    drawn: usize,
    text: String,
}

impl Growing {
    /// Creates an empty answer.
    pub fn new(style: Style, width: usize) -> Self {
        Self {
            markdown: Markdown::new(style, width),
            drawn: 0,
            text: String::new(),
        }
    }

    /// Sets the answer so far, and returns the rows that are complete since. If a retry changed the drawn text, draws from its beginning. The final
    /// answer may lack line ends at its end that were already drawn.
    pub fn grow(&mut self, text: &str) -> Vec<DrawnLine> {
        let drawn = &self.text[..self.drawn];
        if text.len() < drawn.len() && drawn.trim_end() == text.trim_end() {
            self.drawn = text.len();
        } else if !text.starts_with(drawn) {
            self.drawn = 0;
            self.markdown.fence = None;
        }
        text.clone_into(&mut self.text);
        let end = text.rfind('\n').map_or(0, |at| at + 1).max(self.drawn);
        let whole = text[self.drawn..end]
            .lines()
            .flat_map(|line| self.markdown.rows_of_line(line))
            .collect();
        self.drawn = end;
        whole
    }

    /// Returns the rows of the incomplete line.
    pub fn tail(&self) -> Vec<DrawnLine> {
        let rest = &self.text[self.drawn..];
        match rest.is_empty() {
            true => Vec::new(),
            false => self.markdown.clone().rows_of_line(rest),
        }
    }

    /// Returns the remaining rows of the complete answer.
    pub fn remaining_rows(&mut self, text: &str) -> Vec<DrawnLine> {
        let mut rows = self.grow(text);
        rows.extend(self.tail());
        self.drawn = self.text.len();
        rows
    }

    /// Draws the following rows in another width.
    pub fn resize(&mut self, width: usize) {
        self.markdown.width = width.max(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn rows(text: &str, width: usize) -> Vec<String> {
        let mut markdown = Markdown::new(Style::plain(), width);
        text.lines()
            .flat_map(|line| markdown.rows_of_line(line))
            .map(|line| line.drawn)
            .collect()
    }

    #[test]
    fn lines_are_wrapped_at_words_and_lists_hang() {
        let shown = rows(
            "# Heading\nOne **strong** `code word` and the rest.\n- a list that goes on\n  10. inner numbers\n> a quote\n```csharp\nvar answer = 42; // long\n```\n| a | b |\n中文字中文字中文字",
            16,
        );
        let shown: Vec<&str> = shown.iter().map(|row| row.trim_end()).collect();
        insta::assert_snapshot!(shown.join("\n"), @r"
        Heading
        One strong code
        word and the
        rest.
        - a list that
          goes on
          10. inner
              numbers
        > a quote
        ```csharp
          var answer = 4
          2; // long
        ```
        | a | b |
        中文字中文字中文
        字
        ");
        assert_eq!(rows("a\u{1b}[31mb", 80), ["a\\u{1b}[31mb"]);
        assert_eq!(rows("2 * 3 * `4", 80), ["2 * 3 * `4"]);
        assert_eq!(rows("👩‍👧 ❤\u{fe0f} a\u{200d}b", 80), ["👩‍👧 ❤\u{fe0f} a\\u{200d}b"]);
    }

    #[test]
    fn an_answer_that_lost_line_ends_is_drawn_once() {
        for (grown, whole) in [
            ("Let me look.\n", "Let me look."),
            ("One.\n\n", "One."),
            ("```\na\n```\n", "```\na\n```"),
        ] {
            let mut growing = Growing::new(Style::plain(), 40);
            assert!(!growing.grow(grown).is_empty());
            assert!(growing.remaining_rows(whole).is_empty(), "{whole}");
        }
    }

    proptest! {
        #[test]
        fn a_growing_answer_ends_as_the_whole_one(text in "([a-d \n]|```\n|`|\\*\\*|- |中|👩‍👧){0,40}", cuts in proptest::collection::vec(any::<prop::sample::Index>(), 0..6), width in 1_usize..30) {
            let mut ends: Vec<usize> = cuts.iter().map(|cut| cut.index(text.len() + 1)).filter(|at| text.is_char_boundary(*at)).collect();
            ends.sort_unstable();
            let mut growing = Growing::new(Style::plain(), width);
            let mut drawn = Vec::new();
            for end in ends {
                drawn.extend(growing.grow(&text[..end]));
                growing.tail();
            }
            drawn.extend(growing.remaining_rows(text.trim_end_matches('\n')));
            let mut drawn: Vec<String> = drawn.into_iter().map(|line| {
                assert!(line.cells <= width.max(1), "{line:?}");
                line.drawn
            }).collect();
            // Trailing line ends may be on screen before the final answer arrives without them.
            let mut expected = rows(&text, width);
            for rows in [&mut drawn, &mut expected] {
                rows.truncate(rows.iter().rposition(|row| !row.trim().is_empty()).map_or(0, |at| at + 1));
            }
            prop_assert_eq!(drawn, expected);
        }
    }
}
