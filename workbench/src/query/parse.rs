//! Parses queries. Nesting is bounded, so no text overflows the stack.

use super::{ATTRIBUTES, Attribute, Expr, MAX_NESTING, Operator, Query, QueryError, Test};
use crate::short_names::expand_short_name;
use engine::values::pattern::Pattern;
use engine::values::suggest::nearest;
use engine::values::wildcard::Wildcard;
use regex::RegexBuilder;
use std::borrow::Cow;

const FUNCTIONS: [&str; 8] = ["deps", "rdeps", "somepath", "allpaths", "kind", "attr", "filter", "stale"];

/// Limit of memory of a regular expression, in bytes.
const REGEX_SIZE: usize = 1 << 20;

/// Parses a query. Errors: the first syntax error.
pub fn parse(text: &str) -> Result<Query, QueryError> {
    let mut parser = Parser {
        text,
        at: 0,
        patterns: Vec::new(),
        names: Vec::new(),
        bound: 0,
    };
    let expr = parser.expr(0)?;
    parser.space();
    match parser.rest().chars().next() {
        None => Ok(Query {
            patterns: parser.patterns,
            variables: parser.bound,
            expr,
        }),
        Some(')') => Err(parser.error_here("this parenthesis closes nothing", "take it away, or open one before it")),
        Some(_) => Err(parser.error_here(
            "an operator was expected here",
            "join two sets with +, - or ^ (union, except, intersect)",
        )),
    }
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
    patterns: Vec<Pattern>,
    /// The names in scope, the innermost last.
    names: Vec<(&'a str, usize)>,
    /// The number of names bound so far.
    bound: usize,
}

impl<'a> Parser<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn space(&mut self) {
        self.at = self.text.len() - self.rest().trim_start().len();
    }

    fn error_here(&self, message: impl Into<String>, hint: impl Into<String>) -> QueryError {
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

    /// Consumes `token` if it is next.
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
            return Err(self.error_here(
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
        let word = first_word(rest);
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
        if self.take('$') {
            return self.variable();
        }
        let (start, name) = (self.at, first_word(rest));
        self.at += name.len();
        if name == "let" {
            return self.binding(depth + 1);
        }
        if !name.is_empty() && self.take('(') {
            return self.function(start, name, depth + 1);
        }
        self.at = start;
        if rest.is_empty() {
            return Err(self.error_here(
                "the query ends where a set was expected",
                "write a pattern such as //types/...:outline",
            ));
        }
        let is_bound = self.names.iter().any(|(known, _)| *known == name);
        let short = pattern_text(rest);
        if !is_bound
            && let Cow::Owned(label) = expand_short_name(short)
            && let Ok(pattern) = Pattern::parse(&label)
        {
            self.at += short.len();
            self.patterns.push(pattern);
            return Ok(Expr::Pattern(self.patterns.len() - 1));
        }
        let len = name.len().max(1);
        let hint = if is_bound {
            format!("use a name that let binds with a dollar sign: ${name}")
        } else if name.is_empty() {
            "a set is a pattern such as //types/...:outline or a function such as deps(//index:json)".to_owned()
        } else {
            format!("write //types/{name}:outline, or quote a pattern")
        };
        Err(self.wrong_at(start, len, "a set was expected here", hint))
    }

    fn function(&mut self, start: usize, name: &str, depth: usize) -> Result<Expr, QueryError> {
        let expr = match name {
            "deps" => Expr::Deps(Box::new(self.expr(depth)?), self.limit()?),
            "rdeps" => self.rdeps(depth)?,
            "somepath" | "allpaths" => {
                let from = Box::new(self.expr(depth)?);
                self.comma(&format!("{name} takes two sets"), &format!("write {name}(from, to)"))?;
                let to = Box::new(self.expr(depth)?);
                if name == "somepath" {
                    Expr::SomePath(from, to)
                } else {
                    Expr::AllPaths(from, to)
                }
            }
            "kind" => {
                let test = self.name_test()?;
                self.comma("kind takes a name and a set", "write kind(csharp/*, //...)")?;
                Expr::Kind(test, Box::new(self.expr(depth)?))
            }
            "attr" => {
                let attribute = self.attribute()?;
                let usage = (
                    "attr takes an attribute, a regular expression and a set",
                    "write attr(producer, ^outline$, //...)",
                );
                self.comma(usage.0, usage.1)?;
                let test = self.regex()?;
                self.comma(usage.0, usage.1)?;
                Expr::Attr(attribute, test, Box::new(self.expr(depth)?))
            }
            "filter" => {
                let test = self.regex()?;
                self.comma("filter takes a regular expression and a set", "write filter(Store, //...)")?;
                Expr::Filter(test, Box::new(self.expr(depth)?))
            }
            "stale" => Expr::Stale(Box::new(self.expr(depth)?)),
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

    /// Parses the rest of a `let`.
    fn binding(&mut self, depth: usize) -> Result<Expr, QueryError> {
        let name = self.name("a name was expected here", "write let types = //types/... in deps($types)")?;
        if !self.take('=') {
            return Err(self.error_here("an equals sign was expected here", format!("write let {name} = SET in SET")));
        }
        let value = self.expr(depth)?;
        self.space();
        if first_word(self.rest()) != "in" {
            return Err(self.error_here(
                "'in' was expected here",
                format!("write let {name} = SET in a set that uses ${name}"),
            ));
        }
        self.at += "in".len();
        let number = self.bound;
        self.bound += 1;
        self.names.push((name, number));
        let body = self.expr(depth);
        self.names.pop();
        Ok(Expr::Let(number, Box::new(value), Box::new(body?)))
    }

    /// Parses the name after `$`.
    fn variable(&mut self) -> Result<Expr, QueryError> {
        let start = self.at;
        let name = self.name("a name was expected here", "write $ and a name that let binds")?;
        if let Some((_, number)) = self.names.iter().rev().find(|(known, _)| *known == name) {
            return Ok(Expr::Variable(*number));
        }
        let near = nearest(name, self.names.iter().map(|(known, _)| *known), 1);
        let hint = near.first().map_or_else(
            || format!("bind it: let {name} = SET in …"),
            |near| format!("did you mean ${near}?"),
        );
        Err(self.wrong_at(start, name.len(), format!("nothing is called ${name} here"), hint))
    }

    fn name(&mut self, message: &str, hint: &str) -> Result<&'a str, QueryError> {
        self.space();
        let rest = self.rest();
        let end = rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(rest.len());
        if end == 0 || rest.starts_with(|c: char| c.is_ascii_digit()) {
            return Err(self.error_here(message, hint));
        }
        self.at += end;
        Ok(&rest[..end])
    }

    /// Parses `rdeps(set)` or `rdeps(universe, set)`, both with an optional depth.
    fn rdeps(&mut self, depth: usize) -> Result<Expr, QueryError> {
        let first = Box::new(self.expr(depth)?);
        self.space();
        let second = self.rest().strip_prefix(',').map(str::trim_start);
        if second.is_none_or(|rest| rest.starts_with(|c: char| c.is_ascii_digit())) {
            return Ok(Expr::Rdeps {
                universe: None,
                of: first,
                depth: self.limit()?,
            });
        }
        self.take(',');
        Ok(Expr::Rdeps {
            universe: Some(first),
            of: Box::new(self.expr(depth)?),
            depth: self.limit()?,
        })
    }

    fn limit(&mut self) -> Result<Option<u32>, QueryError> {
        if self.take(',') { Ok(Some(self.number()?)) } else { Ok(None) }
    }

    /// Parses a name with stars, or a quoted regular expression.
    fn name_test(&mut self) -> Result<Test, QueryError> {
        self.space();
        if self.rest().starts_with(['"', '\'']) {
            return self.regex();
        }
        let end = self.rest().find([',', ')', '(']).unwrap_or(self.rest().len());
        let name = self.rest()[..end].trim_end();
        self.at += end;
        Ok(Test::Name(Wildcard::new(name)))
    }

    /// Parses a regular expression, in quotes or up to a comma outside of its brackets.
    fn regex(&mut self) -> Result<Test, QueryError> {
        self.space();
        let start = self.at;
        let (text, shift) = match self.quoted_text()? {
            Some(text) => (text, start + 1),
            None => {
                let text = regex_text(self.rest());
                self.at += text.len();
                (text.trim_end(), start)
            }
        };
        let hint = "write one such as ^//types/.*Store, in quotes if it has a comma";
        if text.is_empty() {
            return Err(self.error_here("a regular expression was expected here", hint));
        }
        let regex = RegexBuilder::new(text).size_limit(REGEX_SIZE).build();
        regex.map(Test::Regex).map_err(|error| {
            let words = error.to_string();
            let why = words.lines().last().unwrap_or_default().trim_start_matches("error: ").to_owned();
            self.wrong_at(shift, text.len(), format!("this is not a regular expression: {why}"), hint)
        })
    }

    fn attribute(&mut self) -> Result<Attribute, QueryError> {
        self.space();
        let start = self.at;
        let rest = self.rest();
        let end = rest
            .find(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '-' | '.')))
            .unwrap_or(rest.len());
        let name = &rest[..end];
        self.at += end;
        if let Some((_, attribute)) = ATTRIBUTES.into_iter().find(|(known, _)| *known == name) {
            return Ok(attribute);
        }
        match name.split_once('.') {
            Some(("param", of)) if !of.is_empty() => return Ok(Attribute::Param(of.to_owned())),
            Some(("var", of)) if !of.is_empty() => return Ok(Attribute::Var(of.to_owned())),
            _ => {}
        }
        let near = nearest(name, ATTRIBUTES.iter().map(|(known, _)| *known), 1);
        let hint = near.first().map_or_else(
            || {
                let names: Vec<&str> = ATTRIBUTES.iter().map(|(known, _)| *known).collect();
                format!("there are {}, param.NAME and var.NAME", names.join(", "))
            },
            |near| format!("did you mean {near}?"),
        );
        Err(self.wrong_at(start, name.len().max(1), format!("there is no attribute '{name}'"), hint))
    }

    fn number(&mut self) -> Result<u32, QueryError> {
        self.space();
        let rest = self.rest();
        let digits = &rest[..rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len()];
        let number = digits
            .parse()
            .map_err(|_| self.error_here("a depth is a whole number", "write deps(//index:json, 2), or leave the depth out"))?;
        self.at += digits.len();
        Ok(number)
    }

    fn comma(&mut self, message: &str, hint: &str) -> Result<(), QueryError> {
        if self.take(',') {
            Ok(())
        } else {
            Err(self.error_here(message, hint))
        }
    }

    fn close(&mut self) -> Result<(), QueryError> {
        if self.take(')') {
            Ok(())
        } else {
            Err(self.error_here("a closing parenthesis was expected here", "close the parenthesis with ')'"))
        }
    }

    fn quoted_text(&mut self) -> Result<Option<&'a str>, QueryError> {
        let Some(quote) = self.rest().chars().next().filter(|c| matches!(c, '"' | '\'')) else {
            return Ok(None);
        };
        let inner = &self.rest()[1..];
        let Some(end) = inner.find(quote) else {
            return Err(self.error_here("this quote has no partner", "close it"));
        };
        self.at += end + 2;
        Ok(Some(&inner[..end]))
    }

    fn pattern(&mut self) -> Result<Expr, QueryError> {
        let start = self.at;
        let (text, shift) = match self.quoted_text()? {
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

fn first_word(text: &str) -> &str {
    let end = text
        .find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '/' | ':' | '#' | '`')))
        .unwrap_or(text.len());
    &text[..end]
}

/// Returns an unquoted pattern: closing parentheses belong to it if it opened them.
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

/// Returns an unquoted regular expression: commas inside its brackets and escaped characters belong to it.
fn regex_text(text: &str) -> &str {
    let mut open = 0usize;
    let mut escaped = false;
    for (at, c) in text.char_indices() {
        match c {
            _ if escaped => {
                escaped = false;
                continue;
            }
            '\\' => escaped = true,
            '(' | '[' | '{' => open += 1,
            ',' | ')' if open == 0 => return &text[..at],
            ')' | ']' | '}' => open = open.saturating_sub(1),
            _ => {}
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
        assert!(matches!(*kind, Expr::Kind(Test::Name(ref name), _) if name.text() == "csharp/*"));
        assert!(matches!(others.as_slice(), [(Operator::Intersect, Expr::Chain(_, inner))] if inner.len() == 2));
        assert_eq!(parse("'//a b:c'").expect("quoted").patterns[0].to_string(), "//a b:c");
        let short = parse("deps(A.B:impl, 1) + C").expect("names");
        let texts: Vec<String> = short.patterns.iter().map(ToString::to_string).collect();
        assert_eq!(texts, ["//types/A.B:impl", "//types/C:outline"]);
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
        assert_eq!(at("//a:b + a/NodeStore").0, 8);
        assert_eq!(at("//a//b:c").0, 4);
        assert_eq!(at("let x = //a:b in x"), (17, "a set was expected here".into()));
        assert_eq!(at("let x = //a:b + $x"), (17, "nothing is called $x here".into()));
        assert_eq!(at("let x //a:b in $x"), (6, "an equals sign was expected here".into()));
        assert_eq!(at("let x = //a:b $x"), (14, "'in' was expected here".into()));
        assert_eq!(at("filter(*, //a:b)").0, 7);
        assert_eq!(at("filter('a{1000000}', //a:b)").0, 8);
        assert_eq!(at("filter(, //a:b)"), (7, "a regular expression was expected here".into()));
        assert_eq!(at("attr(produce, x, //a:b)"), (5, "there is no attribute 'produce'".into()));
        assert_eq!(
            at("attr(paid, //a:b)"),
            (16, "attr takes an attribute, a regular expression and a set".into())
        );
        let hint = parse("attr(produce, x, //a:b)").expect_err("unknown").hint;
        assert_eq!(hint, "did you mean producer?");
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
        fn parsing_never_panics(text in "(let|in|attr|filter|rdeps|kind|[a-z$=\\[{/:(),+^' é-]){0,40}") {
            if let Err(error) = parse(&text) {
                prop_assert!(error.at <= text.len());
            }
        }
    }
}
