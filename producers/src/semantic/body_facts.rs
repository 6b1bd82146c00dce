//! Facts about a body that a caller must know: exceptions and their conditions, null results, catches, waits.

use super::tokens::{Token, TokenKind, partners, tokens, unquote_literal};

/// Limit of characters of a quoted condition or message.
const LONGEST_QUOTE: usize = 100;

/// Limit of tokens of an argument list that are examined: keeps the time linear for any nesting.
const FURTHEST_ARGUMENT: usize = 64;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Throw {
    /// Type of the exception as written.
    pub(crate) exception: String,
    /// The condition that guards it, as written.
    pub(crate) guard: Option<String>,
    /// First text literal among its arguments.
    pub(crate) message: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct BodyFacts {
    pub(crate) throws: Vec<Throw>,
    /// `return null`, `return default`, `=> null`.
    pub(crate) returns_null: bool,
    /// Caught exceptions: type, and whether nothing is rethrown.
    pub(crate) catches: Vec<(String, bool)>,
    pub(crate) locks: bool,
    /// Waits for a task without `await`.
    pub(crate) blocks_on_task: bool,
    pub(crate) yields: bool,
}

pub(crate) fn facts(body: &str) -> BodyFacts {
    let tokens = tokens(body);
    let partners = partners(&tokens);
    let mut facts = BodyFacts::default();
    let guards = guards(body, &tokens, &partners);
    let throws_before = throws_before(&tokens);
    for (at, token) in tokens.iter().enumerate() {
        let next = |ahead: usize| tokens.get(at + ahead);
        let next_is = |ahead: usize, text: &str| next(ahead).is_some_and(|token| token.is(text));
        if token.kind != TokenKind::Word {
            if token.is("=>") && (next_is(1, "null") || next_is(1, "default")) && next(2).is_none_or(|token| token.is(";") || token.is("}"))
            {
                facts.returns_null = true;
            }
            continue;
        }
        match token.text {
            "throw" if next_is(1, "new") => facts.throws.push(throw(body, &tokens, &partners, at, &guards)),
            "return" if (next_is(1, "null") || next_is(1, "default")) && (next_is(2, ";") || next_is(2, "!")) => facts.returns_null = true,
            "catch" => facts.catches.push(catch(&tokens, &partners, &throws_before, at)),
            "lock" if next_is(1, "(") => facts.locks = true,
            "yield" if next_is(1, "return") => facts.yields = true,
            "GetResult" if next_is(1, "(") && at >= 4 && tokens[at - 4].is("GetAwaiter") => facts.blocks_on_task = true,
            _ if token.text.starts_with("ThrowIf") && next_is(1, "(") => facts.throws.extend(throw_if(body, &tokens, &partners, at)),
            _ => {}
        }
    }
    facts
}

/// Returns the condition of every token that begins a guarded statement.
fn guards(body: &str, tokens: &[Token<'_>], partners: &[usize]) -> Vec<(usize, String)> {
    let mut guards = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        if token.is("if") && tokens.get(at + 1).is_some_and(|token| token.is("(")) {
            let close = partners[at + 1];
            if close < tokens.len() {
                let brace = usize::from(tokens.get(close + 1).is_some_and(|token| token.is("{")));
                guards.push((close + 1 + brace, quote(&body[tokens[at + 1].end()..tokens[close].start])));
            }
        }
    }
    guards.sort();
    guards
}

fn throw(body: &str, tokens: &[Token<'_>], partners: &[usize], at: usize, guards: &[(usize, String)]) -> Throw {
    let mut exception = String::new();
    let mut cursor = at + 2;
    while let Some(token) = tokens.get(cursor).filter(|token| token.kind == TokenKind::Word || token.is(".")) {
        exception.push_str(token.text);
        cursor += 1;
    }
    let mut message = None;
    if tokens.get(cursor).is_some_and(|token| token.is("(")) {
        let end = partners[cursor].min(tokens.len()).min(cursor + FURTHEST_ARGUMENT);
        message = tokens[cursor..end]
            .iter()
            .find(|token| token.kind == TokenKind::Text)
            .map(|token| quote(unquote_literal(token.text)));
    }
    let guard = guards
        .binary_search_by_key(&at, |(place, _)| *place)
        .ok()
        .map(|found| guards[found].1.clone());
    let guard = guard.or_else(|| {
        let before = tokens.get(at.checked_sub(1)?)?;
        match before.text {
            "??" => operand(body, tokens, at - 1).map(|name| format!("{name} is null")),
            ":" if at >= 2 && tokens[at - 2].is("default") => Some("no case matches".to_owned()),
            "=>" if at >= 2 && tokens[at - 2].is("_") => Some("no case matches".to_owned()),
            _ => None,
        }
    });
    Throw { exception, guard, message }
}

/// Returns the dotted name that ends before token `at`.
fn operand(body: &str, tokens: &[Token<'_>], at: usize) -> Option<String> {
    let mut first = at;
    while first > 0
        && (tokens[first - 1].kind == TokenKind::Word || tokens[first - 1].is(".") || tokens[first - 1].is("?."))
        && !tokens[first - 1].is("return")
    {
        first -= 1;
    }
    (first < at).then(|| quote(&body[tokens[first].start..tokens[at - 1].end()]))
}

/// Parses `ArgumentNullException.ThrowIfNull(x)` and its relatives.
fn throw_if(body: &str, tokens: &[Token<'_>], partners: &[usize], at: usize) -> Option<Throw> {
    let exception = tokens.get(at.checked_sub(2)?).filter(|token| token.text.ends_with("Exception"))?;
    let close = partners[at + 1];
    let arguments = if close < tokens.len() {
        &body[tokens[at + 1].end()..tokens[close].start]
    } else {
        ""
    };
    let end = close.min(tokens.len()).min(at + FURTHEST_ARGUMENT).max(at + 2);
    let first = tokens[at + 2..end.min(tokens.len())]
        .iter()
        .find(|token| token.is(","))
        .map_or(arguments, |comma| &body[tokens[at + 1].end()..comma.start]);
    let what = tokens[at].text["ThrowIf".len()..].chars().fold(String::new(), |mut words, c| {
        if c.is_uppercase() {
            words.push(' ');
        }
        words.extend(c.to_lowercase());
        words
    });
    let condition = if what.is_empty() {
        quote(first)
    } else {
        format!("{} is{what}", quote(first))
    };
    Some(Throw {
        exception: exception.text.to_owned(),
        guard: Some(condition),
        message: None,
    })
}

/// Returns the number of `throw`s before each token, and before the end.
fn throws_before(tokens: &[Token<'_>]) -> Vec<usize> {
    let mut count = 0;
    let mut counts = Vec::with_capacity(tokens.len() + 1);
    for token in tokens {
        counts.push(count);
        count += usize::from(token.is("throw"));
    }
    counts.push(count);
    counts
}

fn catch(tokens: &[Token<'_>], partners: &[usize], throws_before: &[usize], at: usize) -> (String, bool) {
    let mut block = at + 1;
    let mut caught = String::new();
    if tokens.get(block).is_some_and(|token| token.is("(")) {
        for token in &tokens[block + 1..] {
            if token.kind != TokenKind::Word && !token.is(".") || caught.ends_with(|c: char| c != '.') && token.kind == TokenKind::Word {
                break;
            }
            caught.push_str(token.text);
        }
        block = partners[block].saturating_add(1);
    }
    while tokens.get(block).is_some_and(|token| !token.is("{") && !token.is(";")) {
        block = if tokens[block].is("(") {
            partners[block].saturating_add(1)
        } else {
            block + 1
        };
    }
    let end = partners.get(block).map_or(tokens.len(), |end| (*end).min(tokens.len()));
    let swallowed = block >= end || throws_before[end] == throws_before[block];
    (caught, swallowed)
}

/// Returns a text for quotation: bounded, on one line.
pub(crate) fn quote(text: &str) -> String {
    // Four times the length leaves room for white space; the rest is ignored, however long it is.
    let near = text.char_indices().nth(4 * LONGEST_QUOTE).map_or(text, |(end, _)| &text[..end]);
    let text = csharp::hashes::one_line(near);
    if text.chars().count() <= LONGEST_QUOTE {
        return text;
    }
    let mut cut: String = text.chars().take(LONGEST_QUOTE - 1).collect();
    cut.push('…');
    cut
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn thrown(body: &str) -> Vec<(String, Option<String>, Option<String>)> {
        facts(body)
            .throws
            .into_iter()
            .map(|throw| (throw.exception, throw.guard, throw.message))
            .collect()
    }

    #[test]
    fn throws_with_their_guards() {
        let some = |text: &str| Some(text.to_owned());
        for (body, expected) in [
            (
                "{ if (x == null) throw new ArgumentNullException(nameof(x)); }",
                ("ArgumentNullException", some("x == null"), None),
            ),
            (
                "{ if (a[(1)] > 2) { throw new System.Exception(\"too big\"); } }",
                ("System.Exception", some("a[(1)] > 2"), some("too big")),
            ),
            ("{ y = this.x ?? throw new E(); }", ("E", some("this.x is null"), None)),
            (
                "=> k switch { 1 => 2, _ => throw new E(\"no\") };",
                ("E", some("no case matches"), some("no")),
            ),
            (
                "{ ArgumentException.ThrowIfNullOrEmpty(name, \"n\"); }",
                ("ArgumentException", some("name is null or empty"), None),
            ),
            (
                "{ Go(); throw new NotSupportedException(); }",
                ("NotSupportedException", None, None),
            ),
        ] {
            let (exception, guard, message) = expected;
            assert_eq!(thrown(body), [(exception.to_owned(), guard, message)], "{body}");
        }
    }

    #[test]
    fn other_facts() {
        let all = facts(
            "{ lock (gate) { try { return null; } catch (IO.Error e) when (e.Code > 1) { } catch { throw; } } var x = t.GetAwaiter().GetResult(); yield return 1; }",
        );
        assert!(all.returns_null && all.locks && all.blocks_on_task && all.yields);
        assert_eq!(all.catches, [("IO.Error".to_owned(), true), (String::new(), false)]);
        assert!(facts("=> null;").returns_null && !facts("=> null ?? x;").returns_null);
    }

    #[test]
    fn a_hundred_thousand_open_brackets() {
        for piece in ["if (", "catch (", "throw new E(", "{", "ThrowIf("] {
            let _ = facts(&piece.repeat(100_000));
        }
    }

    proptest! {
        #[test]
        fn any_text_has_facts(body in "(if|\\(|\\)|\\{|\\}|throw|new|catch|ThrowIfNull|XException|\\.|\\?\\?|=>|;|\"|lock|[a-z ]){0,40}") {
            let _ = facts(&body);
        }
    }
}
