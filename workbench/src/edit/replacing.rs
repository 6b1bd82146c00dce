//! Where the text of an edit goes: in a declaration's place, or before or behind it on lines of its own.

use super::indent::indented;
use super::lines::{Ends, body, line_end, line_start, split};
use super::symbol::Where;
use producers::csharp::lexer::{comment_end, lex};
use producers::csharp::preprocess::blank;
use std::collections::BTreeSet;
use std::ops::Range;

/// Where a declaration stands.
pub(super) struct Stand<'s> {
    /// Its own bytes.
    pub(super) own: &'s Range<usize>,
    /// Those with the lines around it that are its own, too.
    pub(super) around: &'s Range<usize>,
}

/// The text with the new one in its place, and what it took the place of. Before and behind a symbol it gets lines of its own, unless others share
/// them, and where commas part what is declared, one.
pub(super) fn place_declaration(
    text: &str,
    stand: &Stand<'_>,
    where_to: Where,
    new: &str,
    defines: &BTreeSet<String>,
) -> (String, Range<usize>) {
    let usual = Ends::of(text).most_frequent();
    let (own, around) = (stand.own, stand.around);
    let parted = Parted::of(text, own);
    let start = line_start(text, around.start);
    let plain = parted.fit(new, where_to, defines);
    let new = match &text[start..around.start] {
        indent if indent.trim().is_empty() => indented(&plain, indent_of(text, own).unwrap_or(indent)),
        _ => plain.clone(),
    };
    let new = new.as_str();
    let gap = if matches!(parted, Parted::Not) && gap(text, around) {
        usual
    } else {
        ""
    };
    let insert = |at: usize, parts: [&str; 3]| ([&text[..at], &parts.concat(), &text[at..]].concat(), at..at);
    match where_to {
        Where::Replace => {
            let new = if line_end(new).is_empty() { new } else { body(new) };
            // Its first line begins where that of the old one did.
            let indent = &text[start..around.start];
            let new = if indent.trim().is_empty() {
                new.strip_prefix(indent).unwrap_or(new)
            } else {
                new
            };
            ([&text[..around.start], new, &text[around.end..]].concat(), around.clone())
        }
        Where::Before if text[start..around.start].trim().is_empty() => {
            let end = if line_end(new).is_empty() { usual } else { "" };
            let gap = if ends_blank(new) { "" } else { gap };
            insert(start, [new, end, gap])
        }
        Where::Before => insert(around.start, [new, " ", ""]),
        Where::After => {
            let behind = around.end + comma(&text[around.end..]).unwrap_or(0);
            let (at, before, after) = match tail(&text[behind..]).map(|tail| behind + tail) {
                Some(at) if text[..at].ends_with(['\n', '\r']) => (at, "", if line_end(new).is_empty() { usual } else { "" }),
                Some(at) => (at, usual, ""),
                None => (behind, " ", ""),
            };
            // Beside others on a line it begins where it is put.
            let new = if before == " " { plain.as_str() } else { new };
            match parted {
                Parted::Last { .. } => {
                    let made = [&text[..own.end], ",", &text[own.end..at], before, new, after, &text[at..]];
                    (made.concat(), own.end..at)
                }
                Parted::Not | Parted::Followed => {
                    let gap = if before == " " || begins_blank(new) { "" } else { gap };
                    insert(at, [&[before, gap].concat(), new, after])
                }
            }
        }
    }
}

/// What stands before the first line of a declaration, if nothing but white space does.
fn indent_of<'t>(text: &'t str, own: &Range<usize>) -> Option<&'t str> {
    let start = line_start(text, own.start);
    Some(&text[start..own.start]).filter(|indent| indent.trim().is_empty())
}

fn begins_blank(text: &str) -> bool {
    split(text).next().is_some_and(|line| body(line).trim().is_empty())
}

fn ends_blank(text: &str) -> bool {
    split(text).last().is_some_and(|line| body(line).trim().is_empty())
}

/// Whether a blank line parts a declaration from those beside it: from the one behind it, or of a last one from the one before it.
fn gap(text: &str, own: &Range<usize>) -> bool {
    let behind: Vec<&str> = split(&text[own.end..]).skip(1).take(2).map(|line| body(line).trim()).collect();
    let is_last = behind.first().is_none_or(|line| line.starts_with('}'));
    let start = line_start(text, own.start);
    let before = split(&text[..start]).last().map(|line| body(line).trim());
    match is_last {
        true => before == Some(""),
        false => behind.first() == Some(&""),
    }
}

/// How a declaration is parted from what stands behind it.
enum Parted {
    /// It ends itself.
    Not,
    /// By a comma, as a member of an enumeration or a parameter of a record is.
    Followed,
    /// It would be by a comma, and is the last one.
    Last {
        /// Whether a comma may stand behind the last one.
        may_end: bool,
    },
}

impl Parted {
    fn of(text: &str, own: &Range<usize>) -> Self {
        let rest = text[own.end..].trim_start();
        match text[own.clone()].ends_with([';', '}']) {
            true => Self::Not,
            false if comma(rest).is_some() => Self::Followed,
            false => Self::Last {
                may_end: !rest.starts_with(')'),
            },
        }
    }

    /// A text with the comma behind its code that it needs, or without the one that it may not have.
    fn fit(&self, new: &str, at: Where, defines: &BTreeSet<String>) -> String {
        let lexed = lex(&blank(new, defines)).tokens;
        let last = lexed
            .last()
            .map(|token| (token.start as usize..token.end as usize, token.text(new) == ","));
        let needs = match (self, at) {
            (Self::Not, _) => None,
            (_, Where::Before) | (Self::Followed, Where::After) => Some(true),
            (Self::Followed, Where::Replace) | (Self::Last { may_end: false }, _) => Some(false),
            (Self::Last { may_end: true }, _) => None,
        };
        match (needs, last) {
            (Some(true), Some((token, false))) => [&new[..token.end], ",", &new[token.end..]].concat(),
            (Some(false), Some((token, true))) => [&new[..token.start], &new[token.end..]].concat(),
            _ => new.to_owned(),
        }
    }
}

/// How many bytes there are up to the end of the comma that stands behind a declaration, if one does.
pub(super) fn comma(rest: &str) -> Option<usize> {
    rest.trim_start().strip_prefix(',').map(|others| rest.len() - others.len())
}

/// How many bytes behind a declaration are its own: comments that begin on its last line, and the end of the line. `None` where another one
/// stands there, or its documentation.
pub(super) fn tail(rest: &str) -> Option<usize> {
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

#[cfg(test)]
mod tests {
    use super::super::symbol::{Head, SymbolEdit, edited};
    use super::*;

    fn edit(text: &str, symbol: &str, at: Where, new: &str) -> Result<String, String> {
        let asked = SymbolEdit {
            symbol: symbol.to_owned(),
            at,
            new: new.to_owned(),
            head: Head::Replaced,
            defines: None,
        };
        edited(text, &asked).map(|(made, _)| made).map_err(|refused| refused.why)
    }

    #[test]
    fn commas_part_members_of_an_enumeration_and_parameters_of_a_record() {
        use Where::{After, Before, Replace};
        let lines = "enum E\r\n{\r\n    A, // a\r\n    B = 1 /* b */ // B\r\n}\r\n";
        for (text, symbol, at, new, made) in [
            ("enum E { A, B }", "B", After, "C", "enum E { A, B, C }"),
            ("enum E { A, B }", "B", After, "C,", "enum E { A, B, C, }"),
            ("enum E { A, B, }", "B", After, "C", "enum E { A, B, C, }"),
            ("enum E { A, B }", "A", After, "C", "enum E { A, C, B }"),
            ("enum E { A, B }", "A", Before, "C, D = 2", "enum E { C, D = 2, A, B }"),
            ("enum E { A, B }", "B", Before, "C,", "enum E { A, C, B }"),
            ("enum E { A, B }", "A", Replace, "A = 1,", "enum E { A = 1, B }"),
            ("enum E { A, B }", "B", Replace, "B = 1", "enum E { A, B = 1 }"),
            ("enum E { A, B }", "B", Replace, "B = 1,", "enum E { A, B = 1, }"),
            ("enum E { A }", "A", After, "[Old] C // c\n", "enum E { A, [Old] C // c\n }"),
            (
                lines,
                "B",
                After,
                "    C // c\r\n",
                &lines.replace(" /* b */ // B\r\n", ", /* b */ // B\r\n    C // c\r\n"),
            ),
            (
                lines,
                "A",
                After,
                "    C // c, or\r\n",
                &lines.replace("// a\r\n", "// a\r\n    C, // c, or\r\n"),
            ),
            (
                lines,
                "A",
                Before,
                "    /// <summary>C.</summary>\r\n    C",
                &lines.replace("    A", "    /// <summary>C.</summary>\r\n    C,\r\n    A"),
            ),
            ("record E(int A, int B);", "B", After, "int C", "record E(int A, int B, int C);"),
            (
                "record E(int A, int B);",
                "B",
                After,
                "int C = 1,",
                "record E(int A, int B, int C = 1);",
            ),
            ("record E(int A, int B);", "A", Before, "int C", "record E(int C, int A, int B);"),
            ("record E(int A, int B);", "B", Replace, "long B,", "record E(int A, long B);"),
            (
                "enum E {\n    A,\n#pragma warning disable X\n    B\n#pragma warning restore X\n}",
                "B",
                After,
                "    C",
                "enum E {\n    A,\n#pragma warning disable X\n    B,\n#pragma warning restore X\n    C\n}",
            ),
            (
                "enum E {\n    A\n#if !NEVER\n#endif\n}",
                "A",
                After,
                "    C",
                "enum E {\n    A,\n    C\n#if !NEVER\n#endif\n}",
            ),
        ] {
            assert_eq!(edit(text, &format!("E.{symbol}"), at, new).as_deref(), Ok(made));
        }
        let text = "class E { int A; int B; }";
        assert!(edit(text, "E.B", After, "int C").is_err());
    }
}
