//! Matches brackets in text that may be malformed.

use super::lexer::{Kind, Token};

/// Mate of an unmatched bracket.
pub(crate) const NO_MATE: u32 = u32::MAX;

/// Returns, for every token, the index of the matching bracket, and the deepest nesting. A brace closes all round and square brackets left
/// open inside it; the other brackets close only their own kind.
pub(crate) fn mates(text: &str, tokens: &[Token]) -> (Vec<u32>, u32) {
    let byte = |index: usize| text.as_bytes()[tokens[index].start as usize];
    let mut mates = vec![NO_MATE; tokens.len()];
    let mut open: Vec<usize> = Vec::new();
    let mut depth = 0;
    for (index, token) in tokens.iter().enumerate() {
        if token.kind != Kind::Punctuation || token.end - token.start != 1 {
            continue;
        }
        let opener = match byte(index) {
            b'(' | b'[' | b'{' => {
                open.push(index);
                depth = depth.max(open.len());
                continue;
            }
            b')' => b'(',
            b']' => b'[',
            b'}' => b'{',
            _ => continue,
        };
        if opener == b'{' {
            while open.last().is_some_and(|&last| byte(last) != b'{') {
                open.pop();
            }
        }
        if let Some(&last) = open.last()
            && byte(last) == opener
        {
            open.pop();
            mates[last] = index as u32;
            mates[index] = last as u32;
        }
    }
    (mates, depth as u32)
}
