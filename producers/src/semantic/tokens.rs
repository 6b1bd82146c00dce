//! Tokens of canonical C# text, sufficient to find statements by their words: names, literals, punctuation.
//!
//! It skips the contents of strings and knows no grammar; any text gives some tokens, in linear time.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TokenKind {
    Word,
    Text,
    Mark,
}

/// A token with its position in the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Token<'a> {
    pub(crate) kind: TokenKind,
    pub(crate) text: &'a str,
    pub(crate) start: usize,
}

impl Token<'_> {
    pub(crate) fn is(&self, text: &str) -> bool {
        self.kind != TokenKind::Text && self.text == text
    }

    pub(crate) fn end(&self) -> usize {
        self.start + self.text.len()
    }
}

/// Splits canonical text into tokens.
pub(crate) fn tokens(text: &str) -> Vec<Token<'_>> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(c) = text[at..].chars().next() {
        if c.is_whitespace() {
            at += c.len_utf8();
            continue;
        }
        let rest = &text[at..];
        let (kind, len) = if let Some(len) = literal(rest) {
            (TokenKind::Text, len)
        } else if c.is_alphanumeric() || c == '_' || c == '@' {
            let len = rest[c.len_utf8()..]
                .find(|c: char| !c.is_alphanumeric() && c != '_')
                .map_or(rest.len(), |len| len + c.len_utf8());
            (TokenKind::Word, len)
        } else {
            let two = ["=>", "==", "!=", "??", "&&", "||", "<=", ">=", "?."]
                .iter()
                .any(|mark| rest.starts_with(mark));
            (TokenKind::Mark, if two { 2 } else { c.len_utf8() })
        };
        found.push(Token {
            kind,
            text: &rest[..len],
            start: at,
        });
        at += len;
    }
    found
}

/// Returns the length of a literal at the beginning of `text`. Holes of interpolated strings count as text.
fn literal(text: &str) -> Option<usize> {
    let prefix = text.bytes().take_while(|byte| matches!(byte, b'$' | b'@')).count();
    let body = &text[prefix..];
    if prefix == 0 && body.starts_with('\'') {
        return Some(escaped_length(body, '\''));
    }
    if !body.starts_with('"') {
        return None;
    }
    let quotes = body.bytes().take_while(|byte| *byte == b'"').count();
    if quotes >= 3 && !text[..prefix].contains('@') {
        let fence = &body[..quotes];
        return Some(prefix + body[quotes..].find(fence).map_or(body.len(), |end| end + 2 * quotes));
    }
    if text[..prefix].contains('@') {
        let mut at = 1;
        while let Some(quote) = body[at..].find('"') {
            at += quote + 1;
            if !body[at..].starts_with('"') {
                return Some(prefix + at);
            }
            at += 1;
        }
        return Some(text.len());
    }
    Some(prefix + escaped_length(body, '"'))
}

/// Returns the length of a literal with backslash escapes.
fn escaped_length(body: &str, quote: char) -> usize {
    let mut skip = false;
    for (at, c) in body.char_indices().skip(1) {
        match c {
            _ if skip => skip = false,
            '\\' => skip = true,
            c if c == quote => return at + c.len_utf8(),
            _ => {}
        }
    }
    body.len()
}

/// Returns the text inside the quotes of a literal.
pub(crate) fn unquote_literal(literal: &str) -> &str {
    let literal = literal.trim_start_matches(['$', '@']);
    // Three or more quotes open a raw text, and as many close it; in other literals an inner quote may be next to the closing one.
    let opening = literal.bytes().take_while(|byte| *byte == b'"').count();
    let quotes = if opening >= 3 { opening } else { opening.min(1) };
    literal.get(quotes..literal.len().saturating_sub(quotes)).unwrap_or_default()
}

/// Returns, for every opening bracket, the index of its partner; the number of tokens where there is none.
pub(crate) fn partners(tokens: &[Token<'_>]) -> Vec<usize> {
    let mut partner = vec![tokens.len(); tokens.len()];
    let mut open = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        if token.kind != TokenKind::Mark {
            continue;
        }
        match token.text {
            "(" | "{" | "[" => open.push(at),
            ")" | "}" | "]" => {
                if let Some(start) = open.pop() {
                    partner[start] = at;
                }
            }
            _ => {}
        }
    }
    partner
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn strings_are_one_token() {
        let texts: Vec<&str> = tokens(r#"throw new E("a \" ; b", @"c ""d""", """e "f" g""", ';') ?? x"#)
            .iter()
            .map(|token| token.text)
            .collect();
        assert_eq!(
            texts,
            [
                "throw", "new", "E", "(", r#""a \" ; b""#, ",", r#"@"c ""d""""#, ",", r#""""e "f" g""""#, ",", "';'", ")", "??", "x"
            ]
        );
    }

    proptest! {
        #[test]
        fn any_text_is_cut_without_loss(text: String) {
            let kept: String = tokens(&text).iter().map(|token| token.text).collect();
            let expected: String = text.chars().filter(|c| !c.is_whitespace()).collect();
            let kept: String = kept.chars().filter(|c| !c.is_whitespace()).collect();
            prop_assert_eq!(kept, expected);
            let found = tokens(&text);
            prop_assert!(partners(&found).iter().enumerate().all(|(at, end)| *end > at));
        }
    }

    #[test]
    fn quotes_at_the_end_of_a_text_stay() {
        for (literal, text) in [
            (r#""bad \"n\"""#, r#"bad \"n\""#),
            (r#"@"a ""b""""#, r#"a ""b"""#),
            (r#"$"x""#, "x"),
            (r#""""#, ""),
            (r#"""""a "b" c"""""#, r#"a "b" c"#),
            (r#"""#, ""),
        ] {
            assert_eq!(unquote_literal(literal), text, "{literal}");
        }
    }
}
