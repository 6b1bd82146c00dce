//! Attributes inside a header (on parameters, type parameters and accessors) and inside a body (on lambdas, local functions and their parameters).

use super::ast::Attribute;
use super::cursor::Cursor;
use super::types::Around;
use crate::brackets::{self, NO_MATE};
use crate::keywords::is_reserved;
use crate::lexer::{Kind, Token, lex};

impl Cursor<'_> {
    /// Parses the attribute lists at the cursor.
    pub(super) fn attributes(&mut self) -> Vec<Attribute> {
        let mut found = Vec::new();
        while self.is("[") {
            let list = self.inside(|cursor| cursor.read_list(|cursor| cursor.deeper(None, Self::parse_attribute_at_cursor)));
            found.extend(list.into_iter().flatten().flatten());
        }
        found
    }

    /// Parses the attribute lists at a token, and leaves the cursor where it is.
    pub(super) fn attributes_at(&mut self, index: usize) -> Vec<Attribute> {
        let here = std::mem::replace(&mut self.at, index);
        let found = self.attributes();
        self.at = here;
        found
    }

    /// Parses `target: Name(args)` at the cursor.
    pub(super) fn parse_attribute_at_cursor(&mut self) -> Option<Attribute> {
        if self.ahead(1) == ":" {
            self.at += 2;
        }
        let kind = self.type_ref(Around::Type)?;
        let arguments = if self.is("(") { self.attribute_list() } else { Vec::new() };
        Some((kind, arguments))
    }
}

/// Returns the attributes of parameters, type parameters and accessors in a header, each as `Name(args)` with its optional target.
pub fn attributes_in_header(header: &str) -> Vec<String> {
    if !header.contains('[') {
        return Vec::new();
    }
    let tokens = lex(header).tokens;
    let text = |at: usize| tokens.get(at).map_or("", |token: &Token| token.text(header));
    let before = |at: usize, by: usize| at.checked_sub(by).map_or("", text);
    let mut found = Vec::new();
    // For each open bracket, whether it opens an attribute list.
    let mut open: Vec<bool> = Vec::new();
    let mut begin = 0;
    let mut ended_at = None;
    for (at, token) in tokens.iter().enumerate() {
        let is_in_list = open.last() == Some(&true);
        match text(at) {
            "[" => {
                let begins_parameter = match before(at, 1) {
                    "(" | "," | "<" | "{" | "}" | ";" => true,
                    "[" => before(at, 2) == "this",
                    _ => false,
                };
                let is_list =
                    !open.contains(&true) && !open.is_empty() && (begins_parameter || ended_at.is_some() && ended_at == at.checked_sub(1));
                open.push(is_list);
                begin = if is_list { token.end } else { begin };
            }
            "(" | "<" | "{" => open.push(false),
            close @ ("]" | ")" | "}" | ">") => {
                // Comparison operators are not brackets.
                if close == "]" && is_in_list {
                    push_attribute(&header[begin as usize..token.start as usize], &mut found);
                    ended_at = Some(at);
                }
                open.pop();
            }
            "," if is_in_list => {
                push_attribute(&header[begin as usize..token.start as usize], &mut found);
                begin = token.end;
            }
            _ => {}
        }
    }
    found
}

/// Returns the possible names of attributes of lambdas, local functions and their parameters in a body. These are the last words of the
/// paths in brackets that may precede a lambda, a function or a parameter.
pub fn attributes_in_body(body: &str) -> Vec<String> {
    if !body.contains('[') {
        return Vec::new();
    }
    let tokens = lex(body).tokens;
    let text = |at: usize| tokens.get(at).map_or("", |token: &Token| token.text(body));
    let is_word = |at: usize| tokens.get(at).is_some_and(|token| token.kind == Kind::Word);
    let (mates, _) = brackets::mates(body, &tokens);
    let mut found = Vec::new();
    for at in (0..tokens.len()).filter(|at| text(*at) == "[") {
        // Brackets after a value or a type are an index or an array.
        let is_indexed = at > 0 && (is_word(at - 1) && !is_reserved(text(at - 1)) || matches!(text(at - 1), ")" | ">" | "?"));
        let Some(close) = mates.get(at).filter(|close| **close != NO_MATE).map(|close| *close as usize) else {
            continue;
        };
        if is_indexed || !(is_word(close + 1) || matches!(text(close + 1), "(" | "[")) {
            continue;
        }
        let mut next = at + 1;
        while next < close {
            let begins = matches!(text(next - 1), "[" | "," | ":") && is_word(next);
            while begins && text(next + 1) == "." {
                next += 2;
            }
            if begins && text(next + 1) != ":" {
                found.push(text(next).to_owned());
            }
            next = match mates.get(next) {
                Some(mate) if *mate != NO_MATE && matches!(text(next), "(" | "[" | "{") => *mate as usize + 1,
                _ => next + 1,
            };
        }
    }
    found
}

fn push_attribute(text: &str, found: &mut Vec<String>) {
    let text = text.trim();
    if !text.is_empty() {
        found.push(text.to_owned());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_of_parameters_and_type_parameters_are_found() {
        for (header, expected) in [
            (
                "void M<[A(K.Go)] T>([B(1, \"]\")] int a, [C] [D(2), E] int[] b)",
                vec!["A(K.Go)", "B(1, \"]\")", "C", "D(2)", "E"],
            ),
            ("int this[[A(1)] int at, int[,] more]", vec!["A(1)"]),
            ("class C<[A] T>([param: B(2)] int[] c) : D<int[]>", vec!["A", "param: B(2)"]),
            ("int P { [A(1)] get; [B] [C(2)] set; }", vec!["A(1)", "B", "C(2)"]),
            ("int[] M(int[] a, List<int[]> b)", vec![]),
        ] {
            assert_eq!(attributes_in_header(header), expected, "{header}");
        }
    }

    #[test]
    fn attributes_of_lambdas_and_functions_are_found() {
        for (body, expected) in [
            ("{ [A, N.B(x)] static void F([C] int y) { } }", vec!["A", "B", "C"]),
            ("=> M([return: A(1)] [B] async (x) => 1, [D] () => 2)", vec!["A", "B", "D"]),
            ("{ a[i] = b[j](k); int[] c = [d, e]; }", vec![]),
        ] {
            assert_eq!(attributes_in_body(body), expected, "{body}");
        }
    }
}
