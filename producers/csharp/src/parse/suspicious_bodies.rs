//! Decides whether the grammar must parse a body: looks for adjacent tokens that no C# code has.
//!
//! Bodies are hidden from the grammar, because parsing them would take most of its time. A body with suspicious tokens makes the grammar parse the
//! file's bodies. So a doubt is never a verdict: it costs a parse, and all reported errors come from that parse. An error that leaves the order of
//! tokens plausible goes unnoticed.

use super::tokens::Tokens;
use crate::keywords::{is_infix, is_predefined, is_reserved};
use crate::lexer::Kind;
use std::ops::Range;

/// Class of a token with respect to its neighbors.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    Name,
    /// A word with a meaning between or before names: `and`, `await`.
    Contextual,
    /// A reserved word that is a value: `this`, `null`.
    Operand,
    /// Another reserved word.
    Keyword,
    Literal,
    Open,
    Close,
    Semicolon,
    Comma,
    /// An operator that needs a value on both sides.
    Binary,
    /// `+`, `|`, `<=`: needs a value on its right.
    Prefix,
    /// A token possible nearly anywhere: `<`, `*`, `?`.
    Other,
    Wrong,
}

/// A body hidden from the grammar, as token ranges.
pub(crate) enum Body {
    /// Statements with their braces.
    Block(Range<usize>),
    Accessors(Range<usize>),
    /// The value after `=` or `=>`.
    Value(Range<usize>),
}

/// Whether any of these bodies contains tokens that no code has.
pub(crate) fn any(tokens: &Tokens<'_>, bodies: &[Body]) -> bool {
    bodies.iter().any(|body| match body {
        Body::Block(range) => in_code(tokens, range, true),
        // The token after a value shows whether the value is complete.
        Body::Value(range) => in_code(tokens, &(range.start..(range.end + 1).min(tokens.all.len())), false),
        Body::Accessors(range) => in_accessors(tokens, range),
    })
}

/// Whether a list contains anything but accessors, or an accessor contains tokens that no code has.
fn in_accessors(tokens: &Tokens<'_>, list: &Range<usize>) -> bool {
    let mut at = list.start + 1;
    let close = list.end - 1;
    while at < close {
        while tokens.is(at, "[") || matches!(tokens.text(at), "private" | "protected" | "internal" | "public" | "readonly") {
            at = tokens.next_after_group(at);
        }
        if !matches!(tokens.text(at), "get" | "set" | "init" | "add" | "remove") {
            return true;
        }
        at = match tokens.text(at + 1) {
            ";" => at + 2,
            "{" => {
                let end = tokens.next_after_group(at + 1);
                if in_code(tokens, &(at + 1..end), true) {
                    return true;
                }
                end
            }
            "=>" => match tokens.find_outside_brackets(at + 2..close, |at| tokens.is(at, ";")) {
                Some(end) if !in_code(tokens, &(at + 2..end + 1), false) => end + 1,
                _ => return true,
            },
            _ => return true,
        };
    }
    false
}

/// Whether statements or a value contain adjacent tokens that no code has.
fn in_code(tokens: &Tokens<'_>, body: &Range<usize>, block: bool) -> bool {
    /// An open brace, and whether it directly contains a `;`.
    struct Brace {
        block: bool,
        statements: bool,
    }
    let mut braces: Vec<Option<Brace>> = Vec::new();
    let mut before = Class::Other;
    for at in body.clone() {
        let class = class(tokens, at);
        if class == Class::Wrong
            || at == body.start && class == Class::Binary
            || at > body.start && (pair(tokens, at, before, class) || is_declared_twice(tokens, at, before, class))
        {
            return true;
        }
        match (class, tokens.text(at)) {
            (Class::Open | Class::Close, _) if tokens.mate(at).is_none() => return true,
            (Class::Open, "{") => braces.push(Some(Brace {
                block: block && at == body.start || opens_block(tokens, at),
                statements: false,
            })),
            (Class::Open, _) => braces.push(None),
            (Class::Semicolon, _) => {
                if let Some(Some(brace)) = braces.last_mut() {
                    brace.statements = true;
                }
            }
            (Class::Close, _) => {
                let ended = matches!(before, Class::Semicolon) || matches!(tokens.text(at - 1), "}" | "{" | ":");
                if let Some(Some(brace)) = braces.pop()
                    && (brace.block || brace.statements)
                    && !ended
                {
                    return true;
                }
            }
            _ => {}
        }
        before = class;
    }
    false
}

fn class(tokens: &Tokens<'_>, at: usize) -> Class {
    let text = tokens.text(at);
    match tokens.all[at].kind {
        Kind::Text if text.starts_with('\'') && !is_character(text) => Class::Wrong,
        Kind::Number | Kind::Text => Class::Literal,
        Kind::Unterminated | Kind::Unknown => Class::Wrong,
        Kind::Word => match text {
            "this" | "base" | "true" | "false" | "null" => Class::Operand,
            "await" | "async" | "yield" | "not" | "scoped" | "partial" | "global" | "required" | "file" | "record" => Class::Contextual,
            word if is_infix(word) && !is_reserved(word) => Class::Contextual,
            word if is_reserved(word) => Class::Keyword,
            _ => Class::Name,
        },
        Kind::Punctuation => match text {
            "(" | "[" | "{" => Class::Open,
            ")" | "]" | "}" => Class::Close,
            ";" => Class::Semicolon,
            "," => Class::Comma,
            "=" | "+=" | "-=" | "*=" | "/=" | "%=" | "&=" | "|=" | "^=" | "<<=" | "??=" | "/" | "%" | "==" | "!=" | "&&" | "||" | "??"
            | "=>" | "." | "?." | "->" | "::" => Class::Binary,
            "+" | "-" | "|" | "^" | "<=" => Class::Prefix,
            _ => Class::Other,
        },
    }
}

/// Whether this token cannot follow the preceding one.
fn pair(tokens: &Tokens<'_>, at: usize, before: Class, class: Class) -> bool {
    use Class::{Binary, Close, Comma, Contextual, Keyword, Literal, Name, Open, Operand, Prefix, Semicolon};
    let (last, text) = (tokens.text(at - 1), tokens.text(at));
    match (before, class) {
        (Binary | Prefix, Close | Comma | Semicolon) | (Binary | Open | Semicolon, Binary) => true,
        (Binary, class) if matches!(last, "." | "->") => !matches!(class, Name | Contextual),
        (Open, Comma) => last != "[" && !tokens.is(at + 1, ">"),
        (Open, Close) => last == "(" && at > 1 && is_control(tokens.text(at - 2)),
        (Comma, Close) => text == ")",
        (Comma, Semicolon) => true,
        (Comma, Comma) => !matches!(tokens.text(at - 2), "," | "<" | "[") && !matches!(tokens.text(at + 1), "," | ">" | "]"),
        (Literal | Operand, Literal | Name | Operand) | (Name, Literal | Operand) => true,
        (Literal | Operand | Name, Keyword) => !matches!(text, "is" | "as" | "in" | "switch"),
        (Close, Literal | Name | Operand | Keyword) if last == ")" => {
            !matches!(text, "is" | "as" | "in" | "switch") && tokens.mate(at - 1).is_some_and(|open| is_call(tokens, open))
        }
        (Close, Literal) => last == "]",
        (_, Keyword) if text == "else" => !matches!(last, ";" | "}"),
        (_, Keyword) if matches!(text, "namespace" | "interface" | "enum") => true,
        (Class::Other, Class::Other) if matches!(last, "<" | "<<") => matches!(text, "<" | "<<"),
        (Keyword, _) => after_keyword(last, text, class),
        (_, Comma | Close) if last == ":" => matches!(text, "," | ")"),
        _ => false,
    }
}

/// Whether a character literal contains exactly one character.
fn is_character(text: &str) -> bool {
    let inner = text.get(1..text.len() - 1).unwrap_or("");
    inner.starts_with('\\') && inner.len() > 1 || inner.encode_utf16().count() == 1
}

fn after_keyword(last: &str, text: &str, class: Class) -> bool {
    match last {
        "if" | "while" | "for" | "foreach" | "lock" | "fixed" | "typeof" | "sizeof" => text != "(",
        "finally" => text != "{",
        "is" | "as" | "in" | "out" | "new" | "case" if matches!(class, Class::Comma | Class::Semicolon) || text == ")" => true,
        "new" => text == "new" || matches!(class, Class::Literal | Class::Operand | Class::Binary),
        "return" => is_control(text) && text != "switch" || matches!(text, "return" | "try" | "break"),
        _ => is_predefined(last) && is_predefined(text),
    }
}

/// Whether two names precede a token that continues no declaration, or occur where no declaration can be.
fn is_declared_twice(tokens: &Tokens<'_>, at: usize, before: Class, now: Class) -> bool {
    if before != Class::Name || at < 3 || class(tokens, at - 2) != Class::Name {
        return false;
    }
    let first = tokens.text(at - 3);
    match class(tokens, at - 3) {
        // A qualified type.
        Class::Binary if matches!(first, "." | "::") => {}
        Class::Binary | Class::Prefix => return true,
        Class::Contextual if first == "await" => return true,
        Class::Keyword => return matches!(first, "return" | "new" | "throw"),
        Class::Open | Class::Comma if first != "{" => {
            return matches!(now, Class::Binary | Class::Prefix) && !matches!(tokens.text(at), "=" | "=>") || tokens.is(at, "(");
        }
        Class::Open | Class::Semicolon => {}
        _ if first == "}" => {}
        _ if first == "<" && tokens.is_angle(at - 3) => return true,
        _ => return false,
    }
    match now {
        Class::Name | Class::Prefix => true,
        Class::Binary => !matches!(tokens.text(at), "=" | "=>"),
        // A local function.
        Class::Open if tokens.is(at, "(") => tokens
            .mate(at)
            .is_some_and(|close| !matches!(tokens.text(close + 1), "{" | "=>" | "where")),
        _ => matches!(tokens.text(at), "++" | "--" | ">"),
    }
}

/// Whether a `(` opens the arguments of a call.
fn is_call(tokens: &Tokens<'_>, open: usize) -> bool {
    open > 0 && (class(tokens, open - 1) == Class::Name || tokens.is(open - 1, ">") && tokens.is_angle(open - 1))
}

fn is_control(word: &str) -> bool {
    matches!(
        word,
        "if" | "while" | "for" | "foreach" | "lock" | "switch" | "using" | "catch" | "fixed"
    )
}

/// Whether a `{` certainly opens statements.
fn opens_block(tokens: &Tokens<'_>, open: usize) -> bool {
    match open.checked_sub(1).map_or("", |before| tokens.text(before)) {
        ";" | "{" | "}" | "=>" | "else" | "do" | "try" | "finally" | "checked" | "unchecked" | "unsafe" => {
            // `{ { 1, 2 }, { 3, 4 } }` are values, `{ { A: 1 } => 2 }` is an arm.
            !matches!(tokens.text(open - 1), "{" | "}")
                || !tokens
                    .mate(open)
                    .is_some_and(|close| matches!(tokens.text(close + 1), "," | "}" | "=>"))
        }
        ")" => tokens
            .mate(open - 1)
            .is_some_and(|paren| paren > 0 && is_control(tokens.text(paren - 1)) && !tokens.is(paren - 1, "switch")),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lexer::lex;
    use crate::model::Tier;
    use crate::parse::hidden_code::skeleton;
    use crate::parse::tests::files_of;
    use crate::parse::{grammar, read};
    use std::collections::BTreeSet;

    fn tier(text: &str) -> Tier {
        read(text, &BTreeSet::new(), "f.cs").0.tier
    }

    /// Returns copies of a file with one token of a body deleted, doubled, or swapped with the next.
    fn with_a_wrong_token(text: &str, each: usize) -> Vec<String> {
        let tokens = Tokens::new(text, lex(text));
        let skeleton = skeleton(&tokens, &[]);
        let in_bodies = skeleton.bodies.iter().flat_map(|body| {
            let (Body::Block(range) | Body::Accessors(range) | Body::Value(range)) = body;
            range.start + 1..range.end.saturating_sub(1)
        });
        let wrong = in_bodies.step_by(each).map(|at| {
            let (token, next) = (tokens.all[at], tokens.all[at + 1]);
            let (own, other) = (tokens.text(at), tokens.text(at + 1));
            let (with, end) = match at % 3 {
                0 => (String::new(), token.end),
                1 => (format!("{own} {own}"), token.end),
                _ => (format!("{other} {own}"), next.end),
            };
            format!("{} {with} {}", &text[..token.start as usize], &text[end as usize..])
        });
        wrong.collect()
    }

    #[test]
    fn most_errors_in_bodies_are_noticed() {
        let (mut faulty, mut noticed) = (0, 0);
        let folders = ["", "/Exchange", "/Query", "/Storage", "/Views"].map(|folder| format!("memotree/src/MemoTree.Core{folder}"));
        for (name, text) in folders
            .iter()
            .flat_map(|folder| files_of(folder))
            .filter(|(_, text)| !text.contains('#'))
        {
            assert_eq!(tier(&text), Tier::Whole, "{name}");
            for wrong in with_a_wrong_token(&text, 3) {
                if grammar::parse_tree(&wrong).is_none_or(|tree| tree.root_node().has_error()) {
                    faulty += 1;
                    noticed += u32::from(tier(&wrong) != Tier::Whole);
                } else {
                    assert!(tier(&wrong) != Tier::Skeleton, "{name}: what the grammar takes is no error");
                }
            }
        }
        assert!(faulty > 300 && noticed * 4 > faulty * 3, "{noticed} of {faulty}");
    }
}
