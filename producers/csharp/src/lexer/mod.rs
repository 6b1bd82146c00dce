//! Lexes C# source text into tokens: byte ranges and a coarse kind, without white space and comments.
//!
//! Iterative and linear: each byte is read a bounded number of times, and an explicit stack tracks nesting (interpolations in interpolations).
//! Every text is a token sequence; there are no errors. `>` is always a separate token (as in Roslyn), so `List<List<int>>` and a shift need no
//! context here.
//!
//! The lexer knows no directives: [`super::preprocess`] blanks them before.

mod interpolation;

use interpolation::{interpolated_end, raw_spans_lines};

/// Kind of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Identifier or keyword, `@` included.
    Word,
    /// Numeric literal.
    Number,
    /// String or character literal of any form, complete.
    Text,
    /// String or character literal ended by its line or the end of the file.
    Unterminated,
    Punctuation,
    /// A character without meaning in C#.
    Unknown,
}

/// A token: a range of the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Token {
    /// First byte.
    pub start: u32,
    /// Past the last byte.
    pub end: u32,
    pub kind: Kind,
}

#[cfg(test)]
thread_local! {
    /// Number of [`Token::text`] calls on this thread; measures the work of token readers.
    pub(crate) static LOOKS: std::cell::Cell<u64> = const { std::cell::Cell::new(0) };
}

impl Token {
    pub fn text<'t>(&self, source: &'t str) -> &'t str {
        #[cfg(test)]
        LOOKS.with(|looks| looks.set(looks.get() + 1));
        &source[self.start as usize..self.end as usize]
    }
}

/// The tokens of a text and its documentation comments.
#[derive(Clone, Debug, Default)]
pub struct Lexed {
    /// Tokens in order.
    pub tokens: Vec<Token>,
    /// Byte ranges of `///` and `/** */` comments in order.
    pub docs: Vec<(u32, u32)>,
    /// Start of an unterminated `/*`.
    pub open_comment: Option<u32>,
}

/// Bytes after unterminated literals that may be lexed again (at least the text's length); bounds texts with many of these.
const MOST_READ_AGAIN: usize = 1 << 16;

/// Lexes a text. Texts above 4 GiB are not read (producers cap far below).
pub fn lex(source: &str) -> Lexed {
    let bytes = source.as_bytes();
    let mut lexed = Lexed {
        tokens: Vec::with_capacity(bytes.len() / 5),
        docs: Vec::new(),
        open_comment: None,
    };
    let mut read_again = 0;
    let mut at = 0;
    while at < bytes.len() {
        let start = at;
        let kind = match bytes[at] {
            b' ' | b'\t' | b'\n' | b'\r' | 0x0b | 0x0c => {
                at += 1;
                continue;
            }
            b'/' if matches!(bytes.get(at + 1), Some(b'/' | b'*')) => {
                at = comment_end(bytes, at);
                if bytes[start + 1] == b'*' && (at < start + 4 || !bytes[start..at].ends_with(b"*/")) {
                    lexed.open_comment = Some(start as u32);
                }
                if is_doc(&bytes[start..at]) {
                    lexed.docs.push((start as u32, at as u32));
                }
                continue;
            }
            _ => {
                let (kind, end) = token_at(source, at);
                at = end;
                if kind == Some(Kind::Unterminated) {
                    let cut = without_closers(bytes, start, end);
                    read_again += end - cut;
                    if read_again <= MOST_READ_AGAIN.max(bytes.len()) {
                        at = cut;
                    }
                }
                match kind {
                    Some(kind) => kind,
                    None => continue,
                }
            }
        };
        lexed.tokens.push(Token {
            start: start as u32,
            end: at as u32,
            kind,
        });
    }
    lexed
}

/// Whether a comment is documentation: `///` but not `////`, `/**` but neither `/***` nor `/**/`.
fn is_doc(comment: &[u8]) -> bool {
    match comment {
        [b'/', b'/', b'/', rest @ ..] => rest.first() != Some(&b'/'),
        [b'/', b'*', b'*', rest @ ..] => !matches!(rest.first(), None | Some(b'*' | b'/')),
        _ => false,
    }
}

/// Returns the end of the comment at `at`: before the line end, or past `*/`.
pub fn comment_end(bytes: &[u8], at: usize) -> usize {
    if bytes.get(at + 1) == Some(&b'/') {
        line_end(bytes, at)
    } else {
        let mut end = at + 2;
        while end < bytes.len() {
            if bytes[end] == b'*' && bytes.get(end + 1) == Some(&b'/') {
                return end + 2;
            }
            end += 1;
        }
        bytes.len()
    }
}

/// Returns the next line end at or after `at`, or the end of the text.
pub fn line_end(bytes: &[u8], at: usize) -> usize {
    bytes[at..]
        .iter()
        .position(|byte| matches!(byte, b'\n' | b'\r'))
        .map_or(bytes.len(), |offset| at + offset)
}

/// Returns kind and end of the token at `at`; no kind for white space beyond ASCII.
fn token_at(source: &str, at: usize) -> (Option<Kind>, usize) {
    let bytes = source.as_bytes();
    let (kind, end) = match bytes[at] {
        b'a'..=b'z' | b'A'..=b'Z' | b'_' => (Kind::Word, word_end(source, at)),
        b'0'..=b'9' => (Kind::Number, number_end(bytes, at)),
        b'.' if bytes.get(at + 1).is_some_and(u8::is_ascii_digit) => (Kind::Number, number_end(bytes, at)),
        b'"' | b'\'' | b'$' | b'@' => match literal_end(source, at) {
            Some((end, true)) => (Kind::Text, end),
            Some((end, false)) => (Kind::Unterminated, end),
            None if bytes[at] == b'@' && starts_word(source, at + 1) => (Kind::Word, word_end(source, at + 1)),
            None => (Kind::Unknown, at + 1),
        },
        b'\\' if escape(bytes, at) > 0 => (Kind::Word, word_end(source, at)),
        byte if byte < 0x80 => punctuation(bytes, at),
        _ => {
            let c = source[at..].chars().next().unwrap_or(' ');
            if c.is_alphabetic() || c.is_alphanumeric() {
                (Kind::Word, word_end(source, at))
            } else if c.is_whitespace() || c == '\u{feff}' {
                return (None, at + c.len_utf8());
            } else {
                (Kind::Unknown, at + c.len_utf8())
            }
        }
    };
    (Some(kind), end)
}

pub(crate) fn token_end(source: &str, at: usize) -> usize {
    token_at(source, at).1
}

/// Returns where to cut an unterminated literal: in its first line, before the trailing brackets and semicolons, which most likely followed
/// the missing quote. A raw literal of several lines extends to the end of the text.
fn without_closers(bytes: &[u8], start: usize, end: usize) -> usize {
    let opening = bytes[start..end]
        .iter()
        .take_while(|byte| matches!(byte, b'$' | b'@' | b'"' | b'\''))
        .count()
        .max(1);
    let raw = bytes[start..end].iter().take(opening).filter(|byte| **byte == b'"').count() >= 3;
    let line = line_end(bytes, start).min(end);
    if line == bytes.len() || raw && line < end {
        return end;
    }
    let mut cut = line;
    while cut > start + opening && matches!(bytes[cut - 1], b')' | b']' | b'{' | b'}' | b';' | b' ' | b'\t') {
        cut -= 1;
    }
    cut
}

fn starts_word(source: &str, at: usize) -> bool {
    source
        .get(at..)
        .and_then(|rest| rest.chars().next())
        .is_some_and(|c| c == '_' || c.is_alphabetic())
}

/// Returns the length of the escape at `at` (`\u` and four hexadecimal digits, or `\U` and eight); 0 without an escape.
fn escape(bytes: &[u8], at: usize) -> usize {
    let digits = match bytes.get(at..at + 2) {
        Some(b"\\u") => 4,
        Some(b"\\U") => 8,
        _ => return 0,
    };
    let hex = bytes.get(at + 2..at + 2 + digits);
    if hex.is_some_and(|hex| hex.iter().all(u8::is_ascii_hexdigit)) {
        2 + digits
    } else {
        0
    }
}

fn word_end(source: &str, start: usize) -> usize {
    let bytes = source.as_bytes();
    let mut at = start;
    loop {
        while at < bytes.len() && (bytes[at].is_ascii_alphanumeric() || bytes[at] == b'_') {
            at += 1;
        }
        let escaped = escape(bytes, at);
        if escaped > 0 {
            at += escaped;
            continue;
        }
        // Combining marks and joiners belong to identifiers (Unicode classes Mn, Mc, Cf). Exact classes would need tables, so only the block of
        // combining diacritics and three joiners count.
        match source[at..].chars().next() {
            Some(c)
                if !c.is_ascii() && (c.is_alphanumeric() || matches!(c, '\u{300}'..='\u{36f}' | '\u{200c}' | '\u{200d}' | '\u{203f}')) =>
            {
                at += c.len_utf8()
            }
            _ => return at,
        }
    }
}

fn number_end(bytes: &[u8], start: usize) -> usize {
    let radix_prefix = bytes[start] == b'0' && matches!(bytes.get(start + 1), Some(b'x' | b'X' | b'b' | b'B'));
    let mut at = start;
    while at < bytes.len() {
        let exponent_sign = matches!(bytes[at], b'+' | b'-')
            && !radix_prefix
            && at > start
            && matches!(bytes[at - 1], b'e' | b'E')
            && bytes.get(at + 1).is_some_and(u8::is_ascii_digit);
        let fraction = bytes[at] == b'.'
            && !radix_prefix
            && bytes.get(at + 1).is_some_and(u8::is_ascii_digit)
            && (at == start || bytes[at - 1] != b'.');
        if bytes[at].is_ascii_alphanumeric() || bytes[at] == b'_' || exponent_sign || fraction {
            at += 1;
        } else {
            break;
        }
    }
    at
}

fn punctuation(bytes: &[u8], at: usize) -> (Kind, usize) {
    let next = bytes.get(at + 1).copied().unwrap_or(0);
    let third = bytes.get(at + 2).copied().unwrap_or(0);
    let len = match (bytes[at], next) {
        (b'<', b'<') => 2 + usize::from(third == b'='),
        (b'?', b'?') => 2 + usize::from(third == b'='),
        // `a ?.5 : b` is a conditional with the number .5.
        (b'?', b'.') => 1 + usize::from(!third.is_ascii_digit()),
        (b'+', b'+' | b'=') | (b'-', b'-' | b'=' | b'>') | (b'*' | b'/' | b'%' | b'^' | b'!' | b'<', b'=') => 2,
        (b'&', b'&' | b'=') | (b'|', b'|' | b'=') | (b'=', b'=' | b'>') | (b':', b':') | (b'.', b'.') => 2,
        (b'{' | b'}' | b'(' | b')' | b'[' | b']' | b'.' | b',' | b':' | b';' | b'+' | b'-' | b'*' | b'/' | b'%', _) => 1,
        (b'&' | b'|' | b'^' | b'!' | b'~' | b'=' | b'<' | b'>' | b'?', _) => 1,
        _ => return (Kind::Unknown, at + 1),
    };
    (Kind::Punctuation, at + len)
}

/// Returns the end of the literal at `at` and whether it is complete; `None` if no literal begins there (`@name`, a lone `$`).
pub fn literal_end(source: &str, at: usize) -> Option<(usize, bool)> {
    let bytes = source.as_bytes();
    let (end, complete) = match bytes[at] {
        b'\'' => quoted_end(bytes, at, b'\''),
        _ => match opening(bytes, at)? {
            Opening {
                dollars: 0,
                raw: 0,
                verbatim: false,
                ..
            } => quoted_end(bytes, at, b'"'),
            Opening {
                dollars: 0,
                raw: 0,
                verbatim: true,
                content,
            } => verbatim_end(bytes, content),
            Opening {
                dollars: 0, raw, content, ..
            } => raw_end(bytes, content, raw),
            interpolated => interpolated_end(bytes, interpolated),
        },
    };
    // `"text"u8`.
    let suffix = complete
        && bytes[at] != b'\''
        && matches!(bytes.get(end..end + 2), Some([b'u' | b'U', b'8']))
        && !bytes.get(end + 2).is_some_and(u8::is_ascii_alphanumeric);
    Some((if suffix { end + 2 } else { end }, complete))
}

/// Maximum `$` signs of a literal; keeps long runs linear.
const MOST_DOLLARS: usize = 64;

/// The start of a string literal.
#[derive(Clone, Copy, Debug)]
pub(super) struct Opening {
    pub(super) dollars: usize,
    pub(super) verbatim: bool,
    /// Number of quotes of a raw literal; 0 for other literals.
    pub(super) raw: usize,
    /// First byte after the opening quotes.
    pub(super) content: usize,
}

pub(super) fn opening(bytes: &[u8], at: usize) -> Option<Opening> {
    let mut quote = at;
    let mut dollars = 0;
    let mut verbatim = false;
    while let Some(byte) = bytes.get(quote) {
        match byte {
            b'$' if dollars < MOST_DOLLARS => dollars += 1,
            b'@' if !verbatim => verbatim = true,
            _ => break,
        }
        quote += 1;
    }
    let quotes = end_of_run(bytes, quote, b'"');
    match quotes {
        0 => None,
        _ if verbatim => Some(Opening {
            dollars,
            verbatim,
            raw: 0,
            content: quote + 1,
        }),
        1 => Some(Opening {
            dollars,
            verbatim,
            raw: 0,
            content: quote + 1,
        }),
        2 => Some(Opening {
            dollars,
            verbatim,
            raw: 0,
            content: quote + 1,
        }),
        _ => Some(Opening {
            dollars,
            verbatim,
            raw: quotes,
            content: quote + quotes,
        }),
    }
}

pub(super) fn end_of_run(bytes: &[u8], at: usize, byte: u8) -> usize {
    bytes[at.min(bytes.len())..].iter().take_while(|&&other| other == byte).count()
}

pub(super) fn quoted_end(bytes: &[u8], at: usize, quote: u8) -> (usize, bool) {
    let mut end = at + 1;
    while end < bytes.len() {
        match bytes[end] {
            b'\\' if !matches!(bytes.get(end + 1), None | Some(b'\n' | b'\r')) => end += 2,
            b'\n' | b'\r' => return (end, false),
            byte if byte == quote => return (end + 1, true),
            _ => end += 1,
        }
    }
    (floor(bytes, end), false)
}

/// Caps an end at the text's length: a backslash may precede a multi-byte character.
pub(super) fn floor(bytes: &[u8], end: usize) -> usize {
    end.min(bytes.len())
}

pub(super) fn verbatim_end(bytes: &[u8], content: usize) -> (usize, bool) {
    let mut end = content;
    while end < bytes.len() {
        if bytes[end] != b'"' {
            end += 1;
        } else if bytes.get(end + 1) == Some(&b'"') {
            end += 2;
        } else {
            return (end + 1, true);
        }
    }
    (bytes.len(), false)
}

pub(super) fn raw_end(bytes: &[u8], content: usize, quotes: usize) -> (usize, bool) {
    let lines = raw_spans_lines(bytes, content);
    let mut end = content;
    while end < bytes.len() {
        match bytes[end] {
            b'"' => {
                let found = end_of_run(bytes, end, b'"');
                end += found;
                if found >= quotes {
                    return (end, true);
                }
            }
            b'\n' | b'\r' if !lines => return (end, false),
            _ => end += 1,
        }
    }
    (bytes.len(), false)
}
