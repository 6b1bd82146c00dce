//! Where the text of an edit goes: in a declaration's place, or before or behind it on lines of its own.

use super::lines::{Ends, body, end, split};
use super::symbol::{Asked, Where};
use producers::csharp::lexer::{comment_end, lex};
use std::ops::Range;

/// The text with the new one in its place, and what it took the place of. Before and behind a symbol it gets lines of its own, unless others share
/// them.
pub(super) fn put(text: &str, own: &Range<usize>, asked: &Asked) -> (String, Range<usize>) {
    let usual = Ends::of(text).usual();
    let new = asked.new.as_str();
    let start = text[..own.start].rfind(['\n', '\r']).map_or(0, |at| at + 1);
    let rest = &text[own.end..];
    let insert = |at: usize, parts: [&str; 3]| ([&text[..at], &parts.concat(), &text[at..]].concat(), at..at);
    // A comma parts it from the next one: a member of an enumeration, a parameter of a record.
    let behind = own.end + rest.trim_start().strip_prefix(',').map_or(0, |others| rest.len() - others.len());
    match (asked.at, tail(&text[behind..])) {
        (Where::Replace, _) => {
            let new = if end(new).is_empty() { new } else { body(new) };
            // Its first line begins where that of the old one did.
            let indent = &text[start..own.start];
            let new = if indent.trim().is_empty() {
                new.strip_prefix(indent).unwrap_or(new)
            } else {
                new
            };
            ([&text[..own.start], new, rest].concat(), own.clone())
        }
        (Where::Before, _) if text[start..own.start].trim().is_empty() => {
            let end = if end(new).is_empty() { usual } else { "" };
            insert(start, [new, end, ""])
        }
        (Where::Before, _) => insert(own.start, [new, " ", ""]),
        (Where::After, Some(tail)) => {
            let at = behind + tail;
            let (before, after) = match text[..at].ends_with(['\n', '\r']) {
                false => (usual, ""),
                true => ("", if end(new).is_empty() { usual } else { "" }),
            };
            insert(at, [before, new, after])
        }
        (Where::After, None) => insert(behind, [" ", new, ""]),
    }
}

/// How many bytes behind a declaration are its own: comments that begin on its last line, and the end of the line. `None` where another one
/// stands there, or its documentation.
fn tail(rest: &str) -> Option<usize> {
    let mut at = 0;
    loop {
        let line = &rest[at..];
        at += line.len()
            - line
                .trim_start_matches(|c: char| c.is_whitespace() && !matches!(c, '\n' | '\r'))
                .len();
        match rest.as_bytes()[at..] {
            [] | [b'\n' | b'\r', ..] => return Some(at + split(&rest[at..]).next().map_or(0, str::len)),
            [b'/', b'/' | b'*', ..] => {
                let end = comment_end(rest.as_bytes(), at);
                if !lex(&rest[at..end]).docs.is_empty() {
                    return None;
                }
                at = end;
            }
            _ => return None,
        }
    }
}
