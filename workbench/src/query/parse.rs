//! Reading queries. Depth is bounded, so no text overflows the stack.

use super::{Expr, MAX_NESTING, Operator, Query, QueryError};
use engine::values::pattern::Pattern;
use engine::values::suggest::nearest;

const FUNCTIONS: [&str; 4] = ["deps", "rdeps", "somepath", "kind"];

/// Parses a query.
///
/// # Errors
/// The first thing that is wrong with it.
pub fn parse(text: &str) -> Result<Query, QueryError> {
    let mut parser = Parser {
        text,
        at: 0,
        patterns: Vec::new(),
    };
    let expr = parser.expr(0)?;
    parser.space();
    match parser.rest().chars().next() {
        None => Ok(Query {
            patterns: parser.patterns,
            expr,
        }),
        Some(')') => Err(parser.wrong("this parenthesis closes nothing", "take it away, or open one before it")),
        Some(_) => Err(parser.wrong(
            "an operator was expected here",
            "join two sets with +, - or ^ (union, except, intersect)",
        )),
    }
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
    patterns: Vec<Pattern>,
}

impl<'a> Parser<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn space(&mut self) {
        self.at = self.text.len() - self.rest().trim_start().len();
    }

    fn wrong(&self, message: impl Into<String>, hint: impl Into<String>) -> QueryError {
        self.wrong_at(self.at, 1, message, hint)
    }

    fn wrong_at(&self, at: usize, len: usize, message: impl Into<String>, hint: impl Into<String>) -> QueryError {
        QueryError {
            message: message.into(),
            at,
            len,
            hint: hint.into(),
        }
    }

    /// Takes `token` if it comes next.
    fn take(&mut self, token: char) -> bool {
        self.space();
        let found = self.rest().starts_with(token);
        if found {
            self.at += token.len_utf8();
        }
        found
    }

    fn expr(&mut self, depth: usize) -> Result<Expr, QueryError> {
        if depth > MAX_NESTING {
            return Err(self.wrong(
                format!("a query may nest {MAX_NESTING} deep"),
                "take away parentheses, or ask in two steps",
            ));
        }
        let first = self.term(depth)?;
        let mut others = Vec::new();
        while let Some(operator) = self.operator() {
            others.push((operator, self.term(depth)?));
        }
        Ok(if others.is_empty() {
            first
        } else {
            Expr::Chain(Box::new(first), others)
        })
    }

    fn operator(&mut self) -> Option<Operator> {
        self.space();
        let rest = self.rest();
        let all = [("+", Operator::Union), ("-", Operator::Except), ("^", Operator::Intersect)];
        if let Some((_, operator)) = all.into_iter().find(|(sign, _)| rest.starts_with(sign)) {
            self.at += 1;
            return Some(operator);
        }
        let word = word(rest);
        let operator = match word {
            "union" => Operator::Union,
            "except" => Operator::Except,
            "intersect" => Operator::Intersect,
            _ => return None,
        };
        self.at += word.len();
        Some(operator)
    }

    fn term(&mut self, depth: usize) -> Result<Expr, QueryError> {
        self.space();
        let rest = self.rest();
        if self.take('(') {
            let inner = self.expr(depth + 1)?;
            self.close()?;
            return Ok(inner);
        }
        if rest.starts_with("//") || rest.starts_with(['"', '\'']) {
            return self.pattern();
        }
        let (start, name) = (self.at, word(rest));
        self.at += name.len();
        if !name.is_empty() && self.take('(') {
            return self.function(start, name, depth + 1);
        }
        self.at = start;
        if rest.is_empty() {
            return Err(self.wrong(
                "the query ends where a set was expected",
                "write a pattern such as //types/...:outline",
            ));
        }
        let len = name.len().max(1);
        let hint = if name.is_empty() {
            "a set is a pattern such as //types/...:outline or a function such as deps(//index:json)".to_owned()
        } else {
            format!("write //types/{name}:outline, or quote a pattern")
        };
        Err(self.wrong_at(start, len, "a set was expected here", hint))
    }

    fn function(&mut self, start: usize, name: &str, depth: usize) -> Result<Expr, QueryError> {
        let expr = match name {
            "deps" | "rdeps" => {
                let inner = Box::new(self.expr(depth)?);
                let limit = if self.take(',') { Some(self.number()?) } else { None };
                if name == "deps" {
                    Expr::Deps(inner, limit)
                } else {
                    Expr::Rdeps(inner, limit)
                }
            }
            "somepath" => {
                let from = self.expr(depth)?;
                self.comma("somepath takes two sets", "write somepath(from, to)")?;
                Expr::SomePath(Box::new(from), Box::new(self.expr(depth)?))
            }
            "kind" => {
                self.space();
                let quoted = self.quoted()?;
                let producer = match quoted {
                    Some(text) => text,
                    None => {
                        let end = self.rest().find([',', ')', '(']).unwrap_or(self.rest().len());
                        let text = self.rest()[..end].trim_end();
                        self.at += end;
                        text
                    }
                };
                self.comma("kind takes a producer and a set", "write kind(csharp/*, //...)")?;
                Expr::Kind(producer.to_owned(), Box::new(self.expr(depth)?))
            }
            _ => {
                let near = nearest(name, FUNCTIONS.into_iter(), 1);
                let hint = near.first().map_or_else(
                    || format!("there are {}", FUNCTIONS.join(", ")),
                    |near| format!("did you mean {near}?"),
                );
                return Err(self.wrong_at(start, name.len(), format!("there is no function '{name}'"), hint));
            }
        };
        self.close()?;
        Ok(expr)
    }

    fn number(&mut self) -> Result<u32, QueryError> {
        self.space();
        let rest = self.rest();
        let digits = &rest[..rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len()];
        let number = digits
            .parse()
            .map_err(|_| self.wrong("a depth is a whole number", "write deps(//index:json, 2), or leave the depth out"))?;
        self.at += digits.len();
        Ok(number)
    }

    fn comma(&mut self, message: &str, hint: &str) -> Result<(), QueryError> {
        if self.take(',') { Ok(()) } else { Err(self.wrong(message, hint)) }
    }

    fn close(&mut self) -> Result<(), QueryError> {
        if self.take(')') {
            Ok(())
        } else {
            Err(self.wrong("a closing parenthesis was expected here", "close what was opened with ')'"))
        }
    }

    fn quoted(&mut self) -> Result<Option<&'a str>, QueryError> {
        let Some(quote) = self.rest().chars().next().filter(|c| matches!(c, '"' | '\'')) else {
            return Ok(None);
        };
        let inner = &self.rest()[1..];
        let Some(end) = inner.find(quote) else {
            return Err(self.wrong("this quote has no partner", "close it"));
        };
        self.at += end + 2;
        Ok(Some(&inner[..end]))
    }

    fn pattern(&mut self) -> Result<Expr, QueryError> {
        let start = self.at;
        let (text, shift) = match self.quoted()? {
            Some(text) => (text, start + 1),
            None => {
                let text = pattern_text(self.rest());
                self.at += text.len();
                (text, start)
            }
        };
        let pattern = Pattern::parse(text).map_err(|error| {
            let at = (shift + error.at).min(self.text.len());
            self.wrong_at(
                at,
                1,
                error.message,
                error.hint.unwrap_or_else(|| "write //package:target".to_owned()),
            )
        })?;
        if pattern.is_negative() {
            return Err(self.wrong_at(
                shift,
                1,
                "a pattern in a query does not begin with '-'",
                "take sets away with the operator: //types/... - //types/*Tests",
            ));
        }
        self.patterns.push(pattern);
        Ok(Expr::Pattern(self.patterns.len() - 1))
    }
}

fn word(text: &str) -> &str {
    let end = text
        .find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '/' | ':' | '#' | '`')))
        .unwrap_or(text.len());
    &text[..end]
}

/// An unquoted pattern: its parentheses belong to it when it opened them.
fn pattern_text(text: &str) -> &str {
    let mut open = 0usize;
    for (at, c) in text.char_indices() {
        let ends = match c {
            '(' => {
                open += 1;
                false
            }
            ')' if open > 0 => {
                open -= 1;
                false
            }
            ')' => true,
            ',' => open == 0,
            '+' | '-' | '^' => open == 0 && text[at + 1..].starts_with("//"),
            c => c.is_whitespace(),
        };
        if ends {
            return &text[..at];
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn at(text: &str) -> (usize, String) {
        let error = parse(text).expect_err(text);
        (error.at, error.message)
    }

    #[test]
    fn forms() {
        let query = parse("kind(csharp/*, deps(//a/B#Get(int,string):x, 2) - //c:d) ^ (//e:f union //g:h+//i:j)").expect("well-formed");
        let texts: Vec<String> = query.patterns.iter().map(ToString::to_string).collect();
        assert_eq!(texts, ["//a/B#Get(int,string):x", "//c:d", "//e:f", "//g:h", "//i:j"]);
        let Expr::Chain(kind, others) = query.expr else { panic!("a chain") };
        assert!(matches!(*kind, Expr::Kind(ref name, _) if name == "csharp/*"));
        assert!(matches!(others.as_slice(), [(Operator::Intersect, Expr::Chain(_, inner))] if inner.len() == 2));
        assert_eq!(parse("'//a b:c'").expect("quoted").patterns[0].to_string(), "//a b:c");
    }

    #[test]
    fn errors_have_a_place() {
        assert_eq!(at(""), (0, "the query ends where a set was expected".into()));
        assert_eq!(at("deps(//a:b"), (10, "a closing parenthesis was expected here".into()));
        assert_eq!(at("//a:b)"), (5, "this parenthesis closes nothing".into()));
        assert_eq!(at("dep(//a:b)"), (0, "there is no function 'dep'".into()));
        assert_eq!(at("deps(//a:b, x)"), (12, "a depth is a whole number".into()));
        assert_eq!(at("somepath(//a:b)"), (14, "somepath takes two sets".into()));
        assert_eq!(at("//a:b //c:d"), (6, "an operator was expected here".into()));
        assert_eq!(at("//a:b + NodeStore").0, 8);
        assert_eq!(at("//a//b:c").0, 4);
    }

    #[test]
    fn nesting_is_bounded_and_chains_are_not() {
        let deep = "(".repeat(100_000);
        assert_eq!(at(&deep).1, "a query may nest 100 deep");
        let long = vec!["//a:b"; 20_000].join(" + ");
        assert_eq!(parse(&long).expect("flat").patterns.len(), 20_000);
    }

    proptest! {
        #[test]
        fn parsing_never_panics(text in "[a-z/:(),+^' é-]{0,60}") {
            if let Err(error) = parse(&text) {
                prop_assert!(error.at <= text.len());
            }
        }
    }
}
