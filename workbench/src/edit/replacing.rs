//! Inserts the new text of an edit: in place of a declaration, or before or after it on lines of its own.

use super::indent::set_indent;
use super::symbol::Where;
use crate::code_text::lines::{Ends, body, line_end, line_start, split};
use producers::csharp::lexer::{comment_end, lex};
use producers::csharp::preprocess::blank;
use std::collections::BTreeSet;
use std::ops::Range;

/// Place of a declaration.
pub(super) struct DeclarationSpan<'s> {
    /// Bytes of the declaration.
    pub(super) own: &'s Range<usize>,
    /// Bytes of the declaration with surrounding lines that belong to it.
    pub(super) around: &'s Range<usize>,
}

/// Returns the edited text and the replaced range. Text before or after a symbol gets lines of its own, unless other declarations share the line, and
/// a comma where the declarations are separated by commas.
pub(super) fn place_declaration(
    text: &str,
    span: &DeclarationSpan<'_>,
    where_to: Where,
    new: &str,
    defines: &BTreeSet<String>,
) -> (String, Range<usize>) {
    let usual = Ends::from_text(text).most_frequent();
    let (own, around) = (span.own, span.around);
    let parted = Parted::from_text(text, own);
    let start = line_start(text, around.start);
    let plain = parted.fit(new, where_to, defines);
    let new = match &text[start..around.start] {
        indent if indent.trim().is_empty() => set_indent(&plain, indent_of(text, own).unwrap_or(indent)),
        _ => plain.clone(),
    };
    let new = new.as_str();
    let gap = if matches!(parted, Parted::Not) && gap(text, around, new) {
        usual
    } else {
        ""
    };
    let insert = |at: usize, parts: [&str; 3]| ([&text[..at], &parts.concat(), &text[at..]].concat(), at..at);
    match where_to {
        Where::Replace => {
            let new = if line_end(new).is_empty() { new } else { body(new) };
            // The first line starts where the old one did.
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
            // Next to other declarations on a line, it starts where it is inserted.
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

/// Returns the white space before a declaration, if nothing else precedes it on its line.
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

/// Whether a blank line separates a declaration from the next one, or, for the last, from the previous one. Beside the only one of its braces a
/// text of several lines gets one.
fn gap(text: &str, own: &Range<usize>, new: &str) -> bool {
    let behind: Vec<&str> = split(&text[own.end..]).skip(1).take(2).map(|line| body(line).trim()).collect();
    let is_last = behind.first().is_none_or(|line| line.starts_with('}'));
    let start = line_start(text, own.start);
    let before = split(&text[..start]).last().map(|line| body(line).trim());
    match is_last {
        true => before == Some("") || before.is_some_and(|before| before.ends_with('{')) && new.trim().contains('\n'),
        false => behind.first() == Some(&""),
    }
}

/// Separator after a declaration.
enum Parted {
    /// None: the declaration ends itself.
    Not,
    /// A comma, as for a member of an enumeration or a parameter of a record.
    Followed,
    /// None, because it is the last of a list with commas.
    Last {
        /// Whether the list allows a trailing comma.
        may_end: bool,
    },
}

impl Parted {
    fn from_text(text: &str, own: &Range<usize>) -> Self {
        let rest = text[own.end..].trim_start();
        match text[own.clone()].ends_with([';', '}']) {
            true => Self::Not,
            false if comma(rest).is_some() => Self::Followed,
            false => Self::Last {
                may_end: !rest.starts_with(')'),
            },
        }
    }

    /// Adds the comma that a text needs after its code, or removes one that it must not have.
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

/// Returns the length up to and including the comma after a declaration, if there is one.
pub(super) fn comma(rest: &str) -> Option<usize> {
    rest.trim_start().strip_prefix(',').map(|others| rest.len() - others.len())
}

/// Returns the length of the text after a declaration that belongs to it: comments that begin on its last line, and the line end. `None` if another
/// declaration or its documentation follows on the line.
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
    use super::super::symbol::{HeadPolicy, SymbolEdit, edit_symbol};
    use super::*;

    fn edit(text: &str, symbol: &str, at: Where, new: &str) -> Result<String, String> {
        let request = SymbolEdit {
            symbol: symbol.to_owned(),
            at,
            new: new.to_owned(),
            head: HeadPolicy::Replaced,
            defines: None,
        };
        edit_symbol(text, &request).map(|(made, _)| made).map_err(|refused| refused.why)
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
