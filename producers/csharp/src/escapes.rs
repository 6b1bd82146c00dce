//! Decodes names with Unicode escapes: `\u0041bc` is `Abc`.

use super::keywords::{is_infix, is_reserved};
use super::lexer::{Kind, Token};

/// Returns the text with escaped names decoded and padded with blanks, and trims the tokens to match; `None` if no name has escapes. Byte
/// offsets stay valid: an escape is longer than its character.
pub(crate) fn plain_names(text: &str, tokens: &mut [Token]) -> Option<String> {
    let mut plain: Option<String> = None;
    let mut done = 0;
    for token in tokens.iter_mut().filter(|token| token.kind == Kind::Word) {
        let word = token.text(text);
        let Some(name) = word.contains('\\').then(|| decoded(word)).flatten() else {
            continue;
        };
        let into = plain.get_or_insert_with(|| String::with_capacity(text.len()));
        into.push_str(&text[done..token.start as usize]);
        into.push_str(&name);
        done = token.end as usize;
        into.extend(std::iter::repeat_n(' ', word.len() - name.len()));
        token.end = token.start + name.len() as u32;
    }
    if let Some(plain) = &mut plain {
        plain.push_str(&text[done..]);
    }
    plain
}

/// Decodes the escapes of a word; a result that would be a keyword gets `@`.
fn decoded(word: &str) -> Option<String> {
    let mut name = String::with_capacity(word.len());
    let mut rest = word;
    while let Some(at) = rest.find('\\') {
        name.push_str(&rest[..at]);
        let digits = if rest[at..].starts_with("\\U") { 8 } else { 4 };
        let end = at + 2 + digits;
        let code = u32::from_str_radix(rest.get(at + 2..end)?, 16).ok()?;
        name.push(char::from_u32(code)?);
        rest = &rest[end..];
    }
    name.push_str(rest);
    if is_reserved(&name) || is_infix(&name) {
        name.insert(0, '@');
    }
    Some(name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lexer::lex;

    #[test]
    fn bytes_stay_where_they_are() {
        for (text, expected) in [
            (r"class \u0041bc { }", r"class Abc      { }"),
            (r"int a\U00000062c = \u0069nt;", r"int abc          = @int    ;"),
            (r#"var s = "\u0041"; // \u0041"#, r#"var s = "\u0041"; // \u0041"#),
            (r"\uD800x", r"\uD800x"),
        ] {
            let mut tokens = lex(text).tokens;
            let starts: Vec<u32> = tokens.iter().map(|token| token.start).collect();
            let plain = plain_names(text, &mut tokens).unwrap_or_else(|| text.to_owned());
            assert_eq!(plain, expected);
            assert_eq!(plain.len(), text.len());
            assert_eq!(tokens, lex(&plain).tokens);
            assert_eq!(starts, tokens.iter().map(|token| token.start).collect::<Vec<_>>());
        }
    }
}
