//! Lists in brackets, as code writes them: parameters of a declaration, arguments of a call. What stands between the commas is cut out as it is, and
//! put together anew with the white space that stood there.

use producers::csharp::lexer::{Kind, Token, lex};
use std::ops::Range;

/// Bytes that are read behind the beginning of a list at most.
const LONGEST: usize = 1 << 17;

/// A list in brackets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct List {
    /// What stands between the brackets, in bytes of the text.
    pub(super) inside: Range<usize>,
    /// What stands between the commas, with the white space around it.
    pub(super) pieces: Vec<Range<usize>>,
}

/// The tokens behind a byte, as far as a list may go; their bytes are counted from it.
pub(super) fn tokens_behind(text: &str, at: usize) -> (&str, Vec<Token>) {
    let mut end = text.len().min(at + LONGEST);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let rest = &text[at..end];
    (rest, lex(rest).tokens)
}

/// What a list is of: names follow types in the one, and not in the other.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Of {
    Parameters,
    Arguments,
}

/// The list that an opening bracket begins; `None` where it does not end.
pub(super) fn list_at(text: &str, open: usize, of: Of) -> Option<List> {
    let (rest, tokens) = tokens_behind(text, open);
    let word = |at: usize| tokens.get(at).map_or("", |token| token.text(rest));
    let (mut depth, mut at, mut start) = (0_usize, 0, 0);
    let mut pieces = Vec::new();
    let declares = |start: usize| of == Of::Parameters || text[start..].trim_start().starts_with("out ");
    while at < tokens.len() {
        match word(at) {
            "(" | "[" | "{" => {
                depth += 1;
                if depth == 1 {
                    start = open + tokens[at].end as usize;
                }
            }
            ")" | "]" | "}" => {
                depth = depth.checked_sub(1)?;
                if depth == 0 {
                    let end = open + tokens[at].start as usize;
                    pieces.push(start..end);
                    let inside = pieces[0].start..end;
                    if text[inside.clone()].trim().is_empty() {
                        pieces.clear();
                    }
                    return Some(List { inside, pieces });
                }
            }
            "<" if depth > 0 => at = type_arguments_end(rest, &tokens, at, declares(start)).unwrap_or(at),
            "," if depth == 1 => {
                pieces.push(start..open + tokens[at].start as usize);
                start = open + tokens[at].end as usize;
            }
            _ => {}
        }
        at += 1;
    }
    None
}

/// The token that ends the type arguments which begin at one; `None` where it compares. A name follows only where something is declared.
pub(super) fn type_arguments_end(text: &str, tokens: &[Token], open: usize, declares: bool) -> Option<usize> {
    let mut depth = 0_usize;
    for (at, token) in tokens.iter().enumerate().skip(open) {
        match token.text(text) {
            "<" => depth += 1,
            ">" => {
                depth -= 1;
                if depth == 0 {
                    let next = tokens.get(at + 1);
                    let ends = next.is_none_or(|next| {
                        let ended = [
                            "(", ")", "]", "}", "{", ":", ";", ",", ".", "?", "==", "!=", "|", "^", "&&", "||", "&", "[",
                        ];
                        (declares && next.kind == Kind::Word) || next.kind == Kind::Unknown || ended.contains(&next.text(text))
                    });
                    return ends.then_some(at);
                }
            }
            "," | "." | "?" | "[" | "]" | "::" | "(" | ")" | "*" => {}
            _ if matches!(token.kind, Kind::Word | Kind::Unknown) => {}
            _ => return None,
        }
    }
    None
}

/// A piece without the white space around it.
pub(super) fn trimmed(text: &str, piece: &Range<usize>) -> Range<usize> {
    let own = &text[piece.clone()];
    let start = piece.start + own.len() - own.trim_start().len();
    start..start + own.trim().len()
}

/// Whether a comment to the end of its line stands in a list: what follows it must not come to stand on that line.
pub(super) fn has_line_comment(text: &str, list: &List) -> bool {
    let own = &text[list.inside.clone()];
    let mut end = 0;
    for token in lex(own).tokens {
        if own[end..token.start as usize].contains("//") {
            return true;
        }
        end = token.end as usize;
    }
    own[end..].contains("//")
}

/// A list with other entries: each gets the white space of the one that stood in its place.
pub(super) fn rewritten(text: &str, list: &List, entries: &[String]) -> String {
    let leads: Vec<&str> = list
        .pieces
        .iter()
        .map(|piece| &text[piece.start..trimmed(text, piece).start])
        .collect();
    let lead = |at: usize| match (leads.get(at), leads.last()) {
        (Some(lead), _) => *lead,
        (None, Some(last)) if leads.len() > 1 || last.contains('\n') => *last,
        (None, _) if at == 0 => "",
        (None, _) => " ",
    };
    let behind = list.pieces.last().map_or("", |piece| &text[trimmed(text, piece).end..piece.end]);
    let mut made = String::new();
    for (at, entry) in entries.iter().enumerate() {
        if at > 0 {
            made.push(',');
        }
        made.push_str(lead(at));
        made.push_str(entry);
    }
    if !entries.is_empty() || behind.contains('\n') {
        made.push_str(behind);
    }
    made
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_cut_at_their_own_commas() {
        for (text, pieces) in [
            ("()", &[][..]),
            ("( )", &[]),
            ("(a, b)", &["a", "b"]),
            ("(F<A, B>(x), c)", &["F<A, B>(x)", "c"]),
            ("(a < b, c > d)", &["a < b", "c > d"]),
            (
                "(new D<A, B> { { 1, 2 } }, (x, y) => x + y)",
                &["new D<A, B> { { 1, 2 } }", "(x, y) => x + y"],
            ),
            ("(\"a,b\", ',', $\"{F(1, 2)},\")", &["\"a,b\"", "','", "$\"{F(1, 2)},\""]),
            (
                "([A(1, 2)] Dictionary<int, (int a, int b)> x = null, params int[] y)",
                &["[A(1, 2)] Dictionary<int, (int a, int b)> x = null", "params int[] y"],
            ),
        ] {
            let of = if text.starts_with("([") { Of::Parameters } else { Of::Arguments };
            let list = list_at(text, 0, of).expect("a list");
            let found: Vec<&str> = list.pieces.iter().map(|piece| &text[trimmed(text, piece)]).collect();
            assert_eq!(found, pieces, "{text}");
            let same: Vec<String> = found.iter().map(|one| (*one).to_owned()).collect();
            assert_eq!(
                rewritten(text, &list, &same),
                text[list.inside.clone()].trim_matches(|_| pieces.is_empty())
            );
        }
        assert_eq!(list_at("(a, b", 0, Of::Arguments), None);
    }

    #[test]
    fn entries_get_the_white_space_of_their_places() {
        let text = "(\n    a,\n    b\n)";
        let list_at = |text, at| list_at(text, at, Of::Arguments);
        let list = list_at(text, 0).expect("a list");
        let made = rewritten(text, &list, &["b".to_owned(), "a".to_owned(), "c".to_owned()]);
        assert_eq!(made, "\n    b,\n    a,\n    c\n");
        let one = list_at("(a)", 0).expect("a list");
        assert_eq!(rewritten("(a)", &one, &["a".to_owned(), "b".to_owned()]), "a, b");
        assert!(has_line_comment("(a, // x\n b)", &list_at("(a, // x\n b)", 0).expect("a list")));
        assert!(!has_line_comment("(\"//\")", &list_at("(\"//\")", 0).expect("a list")));
    }
}
