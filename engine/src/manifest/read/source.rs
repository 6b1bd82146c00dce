//! A manifest's text for messages: lines, columns, and excerpts with masked secrets. Knows no TOML.

use crate::values::diagnostic::{Excerpt, SourceLocation};
use crate::values::visible::is_invisible;
use std::ops::Range;

/// Maximum length of an excerpt, in characters.
const EXCERPT_CHARS: usize = 160;
/// Maximum length of a shown value, in characters.
const FOUND_CHARS: usize = 120;
/// Names whose values are never shown.
const SECRET_NAMES: [&str; 8] = ["api_key", "apikey", "api-key", "token", "secret", "password", "auth", "key"];
/// Prefixes of the keys of well-known services.
const SECRET_PREFIXES: [&str; 7] = ["sk-", "sk_", "ghp_", "github_pat_", "xoxb-", "AKIA", "Bearer "];

/// Bytes `start..end` of file number `file`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Span {
    pub(super) file: u32,
    pub(super) start: u32,
    pub(super) end: u32,
}

impl Span {
    pub(super) fn new(file: u32, range: Range<usize>) -> Self {
        let small = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
        Self {
            file,
            start: small(range.start),
            end: small(range.end),
        }
    }
}

/// One file with the starts of its lines.
pub(super) struct Source<'a> {
    name: String,
    text: &'a str,
    lines: Vec<u32>,
    secrets: Vec<Range<usize>>,
}

impl<'a> Source<'a> {
    pub(super) fn new(name: &str, text: &'a str) -> Self {
        let ends = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(at, _)| at + 1);
        let lines = std::iter::once(0)
            .chain(ends)
            .map(|at| u32::try_from(at).unwrap_or(u32::MAX))
            .collect();
        Self {
            name: name.to_owned(),
            text,
            lines,
            secrets: Vec::new(),
        }
    }

    pub(super) fn text(&self) -> &'a str {
        self.text
    }

    /// Hides these bytes from all later messages.
    pub(super) fn hide(&mut self, span: Span) {
        self.secrets.push(span.start as usize..span.end as usize);
    }

    /// Returns the line number from 0, and the byte range of its text.
    pub(super) fn line_at(&self, at: u32) -> (usize, Range<usize>) {
        let line = self.lines.partition_point(|start| *start <= at).saturating_sub(1);
        let start = self.lines[line] as usize;
        let end = self.lines.get(line + 1).map_or(self.text.len(), |next| *next as usize);
        let end = start + self.text[start..end].trim_end_matches(['\n', '\r']).len();
        (line, start..end)
    }

    pub(super) fn place_of(&self, span: Span) -> SourceLocation {
        let (line, range) = self.line_at(span.start);
        let column = self.chars_before(range.start, span.start as usize) + 1;
        SourceLocation {
            file: self.name.clone(),
            line: small(line + 1),
            column: small(column),
        }
    }

    /// Counts characters between two offsets; if `to` is inside a character, up to its start.
    fn chars_before(&self, from: usize, to: usize) -> usize {
        let to = self.text.floor_char_boundary(to);
        self.text.get(from..to).map_or(0, |text| text.chars().count())
    }

    /// Returns the line of a span, cut around it, with control characters as spaces and secrets as stars.
    pub(super) fn excerpt(&self, span: Span) -> Excerpt {
        let (_, range) = self.line_at(span.start);
        let shown = self.masked(range.clone());
        let start = self.chars_before(range.start, span.start as usize);
        let end = self.chars_before(range.start, (span.end as usize).min(range.end)).max(start + 1);
        let first = if shown.len() <= EXCERPT_CHARS {
            0
        } else {
            start.saturating_sub(40).min(shown.len().saturating_sub(EXCERPT_CHARS - 1))
        };
        let room = if shown.len() <= EXCERPT_CHARS {
            EXCERPT_CHARS
        } else {
            EXCERPT_CHARS - 2
        };
        let last = (first + room).min(shown.len());
        let mut text: String = shown[first.min(last)..last].iter().collect();
        let lead = usize::from(first > 0);
        if first > 0 {
            text.insert(0, '…');
        }
        if last < shown.len() {
            text.push('…');
        }
        let len = end.min(last.max(start + 1)) - start;
        Excerpt {
            text,
            start: small(start - first + lead),
            len: small(len),
        }
    }

    /// Returns the first line of a span's text: escaped, cut, with secrets as stars.
    pub(super) fn excerpt_of(&self, span: Span) -> String {
        let (_, range) = self.line_at(span.start);
        let shown = self.masked(range.clone());
        let start = self.chars_before(range.start, span.start as usize);
        let end = self.chars_before(range.start, (span.end as usize).min(range.end)).max(start);
        let more = span.end as usize > range.end;
        let shown: String = shown.get(start..end).unwrap_or_default().iter().collect();
        cut_value(&if more { format!("{shown}…") } else { shown })
    }

    fn masked(&self, range: Range<usize>) -> Vec<char> {
        let line = &self.text[range.clone()];
        let mut hidden: Vec<Range<usize>> = secrets_of(line);
        let overlapping = self
            .secrets
            .iter()
            .filter(|secret| secret.start < range.end && secret.end > range.start);
        hidden.extend(overlapping.map(|secret| secret.start.saturating_sub(range.start)..secret.end.min(range.end) - range.start));
        let show = |(at, c): (usize, char)| {
            if hidden.iter().any(|secret| secret.contains(&at)) {
                '*'
            } else if is_invisible(c) {
                ' '
            } else {
                c
            }
        };
        line.char_indices().map(show).collect()
    }
}

/// Formats a value for a message: escaped and at most 120 characters.
pub(super) fn cut_value(value: &str) -> String {
    let mut shown = String::new();
    let mut count = 0;
    for c in value.chars() {
        let escaped: String = if is_invisible(c) {
            c.escape_default().collect()
        } else {
            c.to_string()
        };
        count += escaped.chars().count();
        if count >= FOUND_CHARS {
            shown.push('…');
            break;
        }
        shown.push_str(&escaped);
    }
    shown
}

/// Whether a text looks like a key of a service.
pub(super) fn looks_secret(text: &str) -> bool {
    let text = text.trim_start();
    SECRET_PREFIXES
        .iter()
        .any(|prefix| text.strip_prefix(prefix).is_some_and(|rest| word_len(rest) >= 12))
}

fn word_len(text: &str) -> usize {
    text.bytes()
        .take_while(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.'))
        .count()
}

/// Finds parts of a line that may be keys: values of telling names, and words that look like keys. Works on malformed TOML, too, so that
/// the report of a syntax error next to a key does not print the key.
fn secrets_of(line: &str) -> Vec<Range<usize>> {
    let mut hidden = Vec::new();
    for prefix in SECRET_PREFIXES {
        for (at, _) in line.match_indices(prefix) {
            let len = word_len(&line[at + prefix.len()..]);
            if len >= 6 {
                hidden.push(at..at + prefix.len() + len);
            }
        }
    }
    let mut at = 0;
    while let Some(equals) = line[at..].find(['=', ':']).map(|offset| at + offset) {
        at = equals + 1;
        let name = lower_tail(line[..equals].trim_end_matches([' ', '\t', '"', '\'']));
        let word = name
            .rsplit(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '_' | '-')))
            .next()
            .unwrap_or_default();
        if !SECRET_NAMES.contains(&word) {
            continue;
        }
        let value = &line[at..];
        let start = at + value.len() - value.trim_start_matches([' ', '\t', '"', '\'']).len();
        let len = line[start..].find(['"', '\'']).unwrap_or(line.len() - start);
        hidden.push(start..start + len);
        at = start + len;
    }
    hidden
}

/// Returns the last few characters in lower case: enough for any name above.
fn lower_tail(text: &str) -> String {
    let from = text.ceil_char_boundary(text.len().saturating_sub(32));
    text[from..].to_ascii_lowercase()
}

fn small(value: usize) -> u32 {
    u32::try_from(value).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn source(text: &str) -> Source<'_> {
        Source::new("cortex.toml", text)
    }

    #[test]
    fn columns_count_characters() {
        let source = source("a = 1\r\né🦀 = \"x\"\n");
        let at = source.text().find("\"x\"").expect("there");
        let span = Span::new(0, at..at + 3);
        assert_eq!(source.place_of(span).to_string(), "cortex.toml:2:6");
        assert_eq!(
            source.excerpt(span),
            Excerpt {
                text: "é🦀 = \"x\"".into(),
                start: 5,
                len: 3
            }
        );
        assert_eq!(source.excerpt_of(span), "\"x\"");
    }

    #[test]
    fn long_lines_are_cut_around_the_span() {
        let text = format!("x = \"{}BAD{}\"", "a".repeat(100_000), "b".repeat(100_000));
        let source = source(&text);
        let at = text.find("BAD").expect("there");
        let excerpt = source.excerpt(Span::new(0, at..at + 3));
        assert!(excerpt.text.chars().count() <= EXCERPT_CHARS);
        assert_eq!(
            excerpt
                .text
                .chars()
                .skip(excerpt.start as usize)
                .take(excerpt.len as usize)
                .collect::<String>(),
            "BAD"
        );
        assert!(source.excerpt_of(Span::new(0, 0..text.len())).chars().count() <= FOUND_CHARS);
    }

    #[test]
    fn secrets_are_stars_even_in_broken_lines() {
        for line in [
            "api_key = \"hunter2hunter2\"",
            "api_key = hunter2hunter2",
            "'Token'=\"hunter2hunter2",
            "m = { secret = 'hunter2hunter2', a = 1 }",
            "x = sk-hunter2hunter2",
            "h = \"Authorization: Bearer hunter2hunter2\"",
        ] {
            let source = source(line);
            let whole = Span::new(0, 0..line.len());
            assert!(!source.excerpt(whole).text.contains("hunter2"), "{line}");
            assert!(!source.excerpt_of(whole).contains("hunter2"), "{line}");
        }
        let source = source("api_key_env = \"TEAM_KEY\"");
        assert!(source.excerpt(Span::default()).text.contains("TEAM_KEY"));
    }

    proptest! {
        #[test]
        fn any_span_of_any_text_can_be_shown(text: String, from in 0_usize..60, len in 0_usize..60) {
            let source = source(&text);
            let span = Span::new(0, from..from + len);
            let excerpt = source.excerpt(span);
            prop_assert!(excerpt.len >= 1 && excerpt.text.chars().count() <= EXCERPT_CHARS);
            prop_assert!(!source.excerpt_of(span).chars().any(char::is_control));
            prop_assert!(source.place_of(span).line >= 1);
        }
    }
}
