//! A file's tokens with the lookups that extraction needs: matching brackets, brackets of type arguments, lines, documentation comments, dotted
//! paths, lists split at commas.

use crate::brackets::{self, NO_MATE};
use crate::canonical;
use crate::lexer::{self, Kind, Lexed, Token};
use crate::model::Span;
use std::borrow::Cow;
use std::ops::Range;

/// Maximum segments of a dotted path that counts as a name; longer chains are chained calls, not types.
const LONGEST_PATH: usize = 32;

/// Tokens of one file.
pub(crate) struct Tokens<'t> {
    /// The lexed text, with escapes in names decoded.
    pub(crate) source: &'t str,
    /// The text as written; every token has the same start as in `source`.
    written: &'t str,
    pub(crate) all: Vec<Token>,
    pub(crate) depth: u32,
    docs: Vec<(u32, u32)>,
    mates: Vec<u32>,
    angles: Vec<bool>,
    /// For each `<` of type arguments, its `>`.
    angle_mates: Vec<u32>,
    lines: Vec<u32>,
}

/// A dotted path read from tokens.
pub(crate) struct Path<'t> {
    /// Path without `@`, white space and type arguments.
    pub(crate) text: Cow<'t, str>,
    /// Number of type arguments of the last segment.
    pub(crate) arity: u32,
    /// First token after the path.
    pub(crate) end: usize,
}

impl<'t> Tokens<'t> {
    /// Creates the tokens of a text without escapes in names.
    #[cfg(test)]
    pub(crate) fn new(source: &'t str, lexed: Lexed) -> Self {
        Self::from_lexed(source, source, lexed)
    }

    /// Creates the tokens of `source`, which is `written` with decoded names.
    pub(crate) fn from_lexed(source: &'t str, written: &'t str, lexed: Lexed) -> Self {
        let angles = canonical::find_type_argument_brackets(source, &lexed.tokens);
        let (mates, depth) = brackets::mates(source, &lexed.tokens);
        let lines = std::iter::once(0)
            .chain(
                source
                    .bytes()
                    .enumerate()
                    .filter(|(_, byte)| *byte == b'\n')
                    .map(|(at, _)| at as u32 + 1),
            )
            .collect();
        let all = lexed.tokens;
        Self {
            source,
            written,
            depth,
            docs: lexed.docs,
            angle_mates: angle_mates(source, &all, &angles, &mates),
            all,
            mates,
            angles,
            lines,
        }
    }

    /// Returns the text of a token; `""` past the end.
    pub(crate) fn text(&self, index: usize) -> &'t str {
        self.all.get(index).map_or("", |token| token.text(self.source))
    }

    /// Whether the token's text is `text`.
    pub(crate) fn is(&self, index: usize, text: &str) -> bool {
        self.text(index) == text
    }

    pub(crate) fn is_word(&self, index: usize) -> bool {
        self.all.get(index).is_some_and(|token| token.kind == Kind::Word)
    }

    /// Whether the token is `<` or `>` of type arguments.
    pub(crate) fn is_angle(&self, index: usize) -> bool {
        self.angles.get(index).copied().unwrap_or(false)
    }

    /// Returns the bracket that matches the one at `index`.
    pub(crate) fn mate(&self, index: usize) -> Option<usize> {
        self.mates.get(index).filter(|mate| **mate != NO_MATE).map(|mate| *mate as usize)
    }

    /// Returns the first token at or after a byte.
    pub(crate) fn at_byte(&self, byte: usize) -> usize {
        self.all.partition_point(|token| (token.start as usize) < byte)
    }

    pub(crate) fn range(&self, bytes: Range<usize>) -> Range<usize> {
        let start = self.at_byte(bytes.start);
        start..self.at_byte(bytes.end).max(start)
    }

    /// Returns the line of a byte, from 1.
    pub(crate) fn line_of_byte(&self, byte: u32) -> u32 {
        self.lines.partition_point(|start| *start <= byte) as u32
    }

    /// Returns line and column (in characters) of a byte, from 1.
    pub(crate) fn line_and_column(&self, byte: usize) -> (u32, u32) {
        let line = self.line_of_byte(byte as u32);
        let start = self.lines[line as usize - 1] as usize;
        let column = self.source.get(start..byte).map_or(1, |before| before.chars().count() + 1);
        (line, column as u32)
    }

    /// Returns the span of a non-empty token range, with the documentation comments before it.
    pub(crate) fn span(&self, range: &Range<usize>) -> Span {
        let (Some(first), Some(last)) = (
            self.all.get(range.start),
            range.end.checked_sub(1).and_then(|last| self.all.get(last)),
        ) else {
            return Span::default();
        };
        let start = self.docs_before(range.start).first().map_or(first.start, |(start, _)| *start);
        let mut end = last.end.max(first.end);
        if end == last.end && last.kind == Kind::Word && !std::ptr::eq(self.source, self.written) {
            end = lexer::token_end(self.written, last.start as usize) as u32;
        }
        let (first, last) = (self.line_of_byte(start), self.line_of_byte(end - 1));
        Span {
            first,
            from: start - self.lines[first as usize - 1],
            last,
            to: end - self.lines[last as usize - 1],
        }
    }

    /// Returns the canonical text of a token range; empty if the range ends before it begins, as in incomplete code.
    pub(crate) fn canonical(&self, range: Range<usize>) -> String {
        self.all
            .get(range)
            .map_or_else(String::new, |tokens| canonical::canonical_text(self.source, tokens))
    }

    /// Returns the token after the group or token at `index`; skips whole brackets.
    pub(crate) fn next_after_group(&self, index: usize) -> usize {
        if matches!(self.text(index), "(" | "[" | "{")
            && let Some(mate) = self.mate(index)
        {
            return mate + 1;
        }
        index + 1
    }

    /// Returns the `>` that matches the `<` at `index`, if before `limit`.
    pub(crate) fn angle_end(&self, index: usize, limit: usize) -> Option<usize> {
        let mate = self
            .angle_mates
            .get(index)
            .filter(|mate| **mate != NO_MATE)
            .map(|mate| *mate as usize);
        mate.filter(|mate| *mate < limit)
    }

    /// Returns the first token of `range` outside all brackets and type arguments that passes the test.
    pub(crate) fn find_outside_brackets(&self, range: Range<usize>, test: impl Fn(usize) -> bool) -> Option<usize> {
        let mut depth = 0_i32;
        let mut at = range.start;
        while at < range.end {
            if depth == 0 && test(at) {
                return Some(at);
            }
            if let Some(mate) = self.angle_end(at, range.end) {
                at = mate + 1;
            } else if self.is_angle(at) {
                depth += if self.is(at, "<") { 1 } else { -1 };
                at += 1;
            } else {
                at = self.next_after_group(at);
            }
        }
        None
    }

    /// Splits a range at top-level commas. An empty range has no parts.
    pub(crate) fn split_range(&self, range: Range<usize>) -> Vec<Range<usize>> {
        let mut parts = Vec::new();
        let mut start = range.start;
        while start < range.end {
            let end = self
                .find_outside_brackets(start..range.end, |at| self.is(at, ","))
                .unwrap_or(range.end);
            if end > start {
                parts.push(start..end);
            }
            start = end + 1;
        }
        parts
    }

    /// Counts the top-level commas.
    fn commas(&self, range: Range<usize>) -> u32 {
        let mut count = 0;
        let mut at = range.start;
        while let Some(comma) = self.find_outside_brackets(at..range.end, |at| self.is(at, ",")) {
            count += 1;
            at = comma + 1;
        }
        count
    }

    /// Returns the dotted path that begins at `start`, if any. The number of type arguments follows an inner name: ``A`1.B``.
    pub(crate) fn path_at(&self, start: usize, limit: usize) -> Option<Path<'t>> {
        let mut text: Cow<'t, str> = Cow::Borrowed("");
        let mut at = start;
        let mut segments = 0;
        loop {
            if at >= limit || !self.is_word(at) || segments > LONGEST_PATH {
                return None;
            }
            let token = self.all[at];
            let word = token.text(self.source);
            let plain = word.strip_prefix('@').unwrap_or(word);
            if segments == 0 {
                text = Cow::Borrowed(plain);
            } else {
                text.to_mut().push_str(plain);
            }
            segments += 1;
            let mut arity = 0;
            at += 1;
            if at < limit && self.is_angle(at) && self.is(at, "<") {
                let close = self.angle_end(at, limit)?;
                arity = self.commas(at + 1..close) + 1;
                at = close + 1;
            }
            let separator = self.text(at);
            if at + 1 < limit && matches!(separator, "." | "::") && self.is_word(at + 1) {
                if arity > 0 {
                    text.to_mut().push_str(&format!("`{arity}"));
                }
                text.to_mut().push_str(separator);
                at += 1;
            } else {
                return Some(Path { text, arity, end: at });
            }
        }
    }

    /// Returns the documentation comments between the token before `first` and `first`.
    fn docs_before(&self, first: usize) -> &[(u32, u32)] {
        let Some(token) = self.all.get(first) else { return &[] };
        let after = first.checked_sub(1).map_or(0, |before| self.all[before].end);
        let begin = self.docs.partition_point(|(start, _)| *start < after);
        let count = self.docs[begin..].partition_point(|(_, end)| *end <= token.start);
        &self.docs[begin..begin + count]
    }

    /// Returns the raw text of the documentation comments between the token before `first` and `first`.
    pub(crate) fn doc(&self, first: usize) -> String {
        let mut text = String::new();
        for &(start, end) in self.docs_before(first) {
            let comment = &self.source[start as usize..end as usize];
            for line in doc_lines(comment) {
                text.push_str(line.trim_end());
                text.push('\n');
            }
        }
        text.truncate(text.trim_end().len());
        text
    }
}

/// Returns for each `<` of type arguments the `>` that closes it inside the same brackets.
fn angle_mates(source: &str, tokens: &[Token], angles: &[bool], mates: &[u32]) -> Vec<u32> {
    let mut found = vec![NO_MATE; tokens.len()];
    // Open `<`; `None` for an open bracket.
    let mut open: Vec<Option<usize>> = Vec::new();
    for at in 0..tokens.len() {
        if angles[at] {
            if tokens[at].text(source) == "<" {
                open.push(Some(at));
            } else if let Some(Some(start)) = open.last() {
                found[*start] = at as u32;
                open.pop();
            }
        } else if mates[at] != NO_MATE && mates[at] as usize > at {
            open.push(None);
        } else if mates[at] != NO_MATE {
            while open.pop().is_some_and(|entry| entry.is_some()) {}
        }
    }
    found
}

/// Returns the lines of one documentation comment, without its markers.
fn doc_lines(comment: &str) -> Vec<&str> {
    if let Some(line) = comment.strip_prefix("///") {
        return vec![line.strip_prefix(' ').unwrap_or(line)];
    }
    let inner = comment.strip_prefix("/**").unwrap_or(comment);
    let inner = inner.strip_suffix("*/").unwrap_or(inner);
    inner
        .lines()
        .map(|line| {
            let line = line.trim_start();
            let line = line.strip_prefix('*').unwrap_or(line);
            line.strip_prefix(' ').unwrap_or(line)
        })
        .skip_while(|line| line.trim().is_empty())
        .collect()
}
