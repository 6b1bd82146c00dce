//! Renames whole words in string literals, on request.

use super::Planning;
use crate::symbols::outputs::Outputs;
use producers::csharp::lexer::{Kind, Token, lex};
use std::ops::Range;

/// Renames the symbol in string literals of all sources, and in the text parts of interpolated strings.
pub(super) fn change_in_strings<O: Outputs>(planning: &mut Planning<'_, O>) {
    let (texts, change) = (&mut planning.texts, &mut planning.change);
    let name = planning.family.old.as_str();
    for file in texts.read_naming(planning.request.sources, name) {
        let text = texts.text_of(&file).unwrap_or_default();
        let literals = lex(text).tokens.into_iter().filter(|token| token.kind == Kind::Text);
        let pieces = literals.flat_map(|token| pieces_of_text(text, token));
        let found: Vec<usize> = pieces.flat_map(|piece| words_in(text, piece, name)).collect();
        found.into_iter().for_each(|at| change.add_place(&file, at, false));
    }
}

/// Returns the ranges of a literal's text: all of it, or the parts between the holes of an interpolated string.
fn pieces_of_text(text: &str, token: Token) -> Vec<Range<usize>> {
    let (start, end) = (token.start as usize, token.end as usize);
    let literal = &text[start..end];
    let head = literal.find(['"', '\'']).map_or("", |quote| &literal[..quote]);
    match head.matches('$').count() {
        0 => std::iter::once(start..end).collect(),
        1 => {
            let (mut pieces, mut from, mut open) = (Vec::new(), start, 0_usize);
            let bytes = literal.as_bytes();
            let mut at = 0;
            while at < bytes.len() {
                match bytes[at] {
                    b'{' if open == 0 && bytes.get(at + 1) == Some(&b'{') => at += 1,
                    b'{' => {
                        if open == 0 {
                            pieces.push(from..start + at);
                        }
                        open += 1;
                    }
                    b'}' if open > 0 => {
                        open -= 1;
                        from = start + at + 1;
                    }
                    _ => {}
                }
                at += 1;
            }
            pieces.extend((open == 0).then_some(from..end));
            pieces
        }
        // Skip literals with several dollars: there, that number of braces opens a hole.
        _ => Vec::new(),
    }
}

/// Returns the offsets of a whole word.
fn words_in(text: &str, piece: Range<usize>, name: &str) -> Vec<usize> {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let stands_alone = |at: &usize| !text[..*at].ends_with(is_word) && !text[at + name.len()..].starts_with(is_word);
    let all = text[piece.clone()].match_indices(name).map(|(at, _)| piece.start + at);
    all.filter(stands_alone).collect()
}
