//! Bracketed lists in code: parameters of a declaration, arguments of a call. Items are cut out unchanged, and joined again with the same white
//! space.

use producers::csharp::lexer::{Kind, Token, lex};
use std::ops::Range;

/// Most bytes that are read from the beginning of a list.
const LONGEST: usize = 1 << 17;

/// A list in brackets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct List {
    /// Byte range between the brackets.
    pub(crate) inside: Range<usize>,
    /// Ranges of the items between the commas, with the white space around them.
    pub(crate) pieces: Vec<Range<usize>>,
}

/// Returns the text from an offset on, up to the longest supported list, with its tokens; their offsets are relative to that text.
pub(crate) fn tokens_behind(text: &str, at: usize) -> (&str, Vec<Token>) {
    let mut end = text.len().min(at + LONGEST);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let rest = &text[at..end];
    (rest, lex(rest).tokens)
}

/// Kind of a list. Names follow types in parameters only.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum ListKind {
    Parameters,
    Arguments,
}

/// Returns the list that an opening bracket begins; `None` if the bracket is not closed.
pub(crate) fn list_at(text: &str, open: usize, of: ListKind) -> Option<List> {
    let (rest, tokens) = tokens_behind(text, open);
    let word = |at: usize| tokens.get(at).map_or("", |token| token.text(rest));
    let (mut depth, mut at, mut start) = (0_usize, 0, 0);
    let mut pieces = Vec::new();
    let declares = |start: usize| of == ListKind::Parameters || text[start..].trim_start().starts_with("out ");
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

/// Returns the index of the `>` that closes the type arguments opened at a token; `None` if the `<` is a comparison. `declares`: whether a name may
/// follow.
pub(crate) fn type_arguments_end(text: &str, tokens: &[Token], open: usize, declares: bool) -> Option<usize> {
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

/// Trims the white space around an item.
pub(crate) fn trim_item(text: &str, piece: &Range<usize>) -> Range<usize> {
    let own = &text[piece.clone()];
    let start = piece.start + own.len() - own.trim_start().len();
    start..start + own.trim().len()
}

/// Whether a list contains a line comment, to whose line no following text must move.
pub(crate) fn has_line_comment(text: &str, list: &List) -> bool {
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

/// Trims the white space and comments around an item.
pub(crate) fn code(text: &str, piece: &Range<usize>) -> Range<usize> {
    let tokens = lex(&text[piece.clone()]).tokens;
    match (tokens.first(), tokens.last()) {
        (Some(first), Some(last)) => piece.start + first.start as usize..piece.start + last.end as usize,
        _ => trim_item(text, piece),
    }
}

/// The texts around the code of an item.
#[derive(Clone, Debug, Default)]
struct Around<'t> {
    /// White space before the item.
    lead: &'t str,
    /// Comments before the code, on its line or above it.
    head: &'t str,
    /// A comment before the comma.
    behind: &'t str,
    /// A comment at the end of the line, after the comma if there is one.
    line: &'t str,
}

/// Returns the texts around each item, and the white space before the closing bracket.
fn texts_around_items<'t>(text: &'t str, list: &List) -> (Vec<Around<'t>>, &'t str) {
    let mut all: Vec<Around<'_>> = Vec::with_capacity(list.pieces.len());
    let mut rest = "";
    for piece in &list.pieces {
        let code = code(text, piece);
        let (mut before, after) = (&text[piece.start..code.start], &text[code.end..piece.end]);
        if let Some(last) = all.last_mut()
            && before.trim_start_matches([' ', '\t']).starts_with("//")
        {
            (last.line, before) = before.split_at(before.find(['\n', '\r']).unwrap_or(before.len()));
        }
        let lead = &before[..before.len() - before.trim_start().len()];
        let comment = after.trim_end();
        rest = &after[comment.len()..];
        let is_line = comment.contains("//");
        all.push(Around {
            lead,
            head: &before[lead.len()..],
            behind: if is_line { "" } else { comment },
            line: if is_line { comment } else { "" },
        });
    }
    (all, rest)
}

/// An item of a new list, with the number of the old item that it was, if any.
pub(crate) type ListItem = (Option<usize>, String);

/// Returns the text of a list with new items: each gets the white space at its position, and keeps its comments.
pub(crate) fn rewrite_list(text: &str, list: &List, entries: &[ListItem]) -> String {
    let (around, rest) = texts_around_items(text, list);
    let lead = |at: usize| match (around.get(at), around.last()) {
        (Some(one), _) => one.lead,
        (None, Some(last)) if around.len() > 1 || last.lead.contains('\n') => last.lead,
        (None, _) if at == 0 => "",
        (None, _) => " ",
    };
    let none = Around::default();
    let (mut made, mut line) = (String::new(), "");
    for (at, (from, entry)) in entries.iter().enumerate() {
        if at > 0 {
            made.push(',');
        }
        made.push_str(line);
        if !line.is_empty() && !lead(at).contains('\n') {
            made.push('\n');
        }
        made.push_str(lead(at));
        let own = from.and_then(|from| around.get(from)).unwrap_or(&none);
        [own.head, entry.as_str(), own.behind].iter().for_each(|part| made.push_str(part));
        line = own.line;
    }
    made.push_str(line);
    if !line.is_empty() && !rest.contains('\n') {
        made.push('\n');
    }
    if !entries.is_empty() || rest.contains('\n') {
        made.push_str(rest);
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
            let of = if text.starts_with("([") {
                ListKind::Parameters
            } else {
                ListKind::Arguments
            };
            let list = list_at(text, 0, of).expect("a list");
            let found: Vec<&str> = list.pieces.iter().map(|piece| &text[trim_item(text, piece)]).collect();
            assert_eq!(found, pieces, "{text}");
            let same: Vec<ListItem> = (0..).map(Some).zip(found.iter().map(|one| (*one).to_owned())).collect();
            assert_eq!(
                rewrite_list(text, &list, &same),
                text[list.inside.clone()].trim_matches(|_| pieces.is_empty())
            );
        }
        assert_eq!(list_at("(a, b", 0, ListKind::Arguments), None);
    }

    #[test]
    fn entries_get_the_white_space_of_their_places() {
        let text = "(\n    a,\n    b\n)";
        let list_at = |text, at| list_at(text, at, ListKind::Arguments);
        let list = list_at(text, 0).expect("a list");
        let made = rewrite_list(
            text,
            &list,
            &[(Some(1), "b".to_owned()), (Some(0), "a".to_owned()), (None, "c".to_owned())],
        );
        assert_eq!(made, "\n    b,\n    a,\n    c\n");
        let one = list_at("(a)", 0).expect("a list");
        assert_eq!(
            rewrite_list("(a)", &one, &[(Some(0), "a".to_owned()), (None, "b".to_owned())]),
            "a, b"
        );
        let commented = "(\n    a, // one\n    // of two\n    b /* two */, c // three\n)";
        let list = list_at(commented, 0).expect("a list");
        let turned = [
            (Some(2), "c".to_owned()),
            (Some(1), "b".to_owned()),
            (None, "d".to_owned()),
            (Some(0), "a".to_owned()),
        ];
        assert_eq!(
            rewrite_list(commented, &list, &turned),
            "\n    c, // three\n    // of two\n    b /* two */, d, a // one\n"
        );
        assert_eq!(
            rewrite_list(commented, &list, &[(Some(1), "b".to_owned())]),
            "\n    // of two\n    b /* two */\n"
        );
        assert!(has_line_comment("(a, // x\n b)", &list_at("(a, // x\n b)", 0).expect("a list")));
        assert!(!has_line_comment("(\"//\")", &list_at("(\"//\")", 0).expect("a list")));
    }
}
