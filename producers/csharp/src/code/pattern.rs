//! Patterns: types, constants, properties, lists, `and`/`or`/`not`.

use super::ast::{Designation, Expression, Literal, Operator, Pattern, TypeRef, Word};
use super::cursor::Cursor;
use super::types::Around;
use crate::keywords::is_predefined;
use crate::lexer::Kind;

impl Cursor<'_> {
    /// Parses the pattern at the cursor, with all patterns joined by `and` and `or`.
    pub(super) fn pattern(&mut self) -> Pattern {
        self.deeper(Pattern::Any, |cursor| {
            cursor.joined_patterns("or", Pattern::Or, |cursor| {
                cursor.joined_patterns("and", Pattern::And, Self::negated_pattern)
            })
        })
    }

    /// Parses patterns between the words `join`.
    fn joined_patterns(&mut self, join: &str, all: fn(Vec<Pattern>) -> Pattern, one: impl Fn(&mut Self) -> Pattern) -> Pattern {
        let first = one(self);
        let mut parts = vec![first];
        while self.consume_token(join) {
            parts.push(one(self));
        }
        match parts.pop() {
            Some(only) if parts.is_empty() => only,
            last => {
                parts.extend(last);
                all(parts)
            }
        }
    }

    fn negated_pattern(&mut self) -> Pattern {
        let mut is_negated = false;
        while self.consume_token("not") {
            is_negated = !is_negated;
        }
        let pattern = self.single_pattern();
        if is_negated { Pattern::Not(Box::new(pattern)) } else { pattern }
    }

    fn single_pattern(&mut self) -> Pattern {
        match self.peek() {
            "_" if !matches!(self.ahead(1), "." | "<") => {
                self.at += 1;
                return Pattern::Any;
            }
            ".." => {
                self.at += 1;
                return if self.done() || self.is(",") {
                    Pattern::Any
                } else {
                    Pattern::Slice(Box::new(self.pattern()))
                };
            }
            "<" | "<=" | ">" | ">=" | "==" => {
                self.at += 1;
                self.consume_token("=");
                return Pattern::Value(self.shift_level());
            }
            "var" if self.is_word_at(self.at + 1) || self.ahead(1) == "(" => {
                self.at += 1;
                return Pattern::Var(self.designation());
            }
            "{" => return self.recursive(None),
            "[" => {
                let place = self.present_place();
                let parts = self.inside(|cursor| cursor.read_list(Self::pattern)).unwrap_or_default();
                let name = self.pattern_name();
                return Pattern::List(parts, name, place);
            }
            "(" if self.is_cast_of_constant() => return Pattern::Value(self.shift_level()),
            "(" => return self.positional(),
            "null" | "true" | "false" | "-" | "+" | "typeof" | "default" | "nameof" | "'" | "sizeof" => {
                return Pattern::Value(self.shift_level());
            }
            _ => {}
        }
        if matches!(self.kind_of_token(), Some(Kind::Text | Kind::Number | Kind::Unterminated)) {
            return Pattern::Value(self.shift_level());
        }
        if !(self.is_identifier() || is_predefined(self.peek())) {
            self.skip_group();
            return Pattern::Any;
        }
        let start = self.at;
        if let Some(kind) = self.type_ref(Around::Test) {
            match self.peek() {
                "{" => return self.recursive(Some(kind)),
                "(" if self.mate(self.at).is_some() => return self.recursive(Some(kind)),
                _ => {}
            }
            if let Some(name) = self.pattern_name() {
                return Pattern::Type(kind, Some(name));
            }
            let plain = matches!(&kind, TypeRef::Named(segments) if segments.iter().all(|segment| segment.args.is_empty()));
            // `int.MaxValue` is a constant.
            if !plain && !self.is(".") {
                return Pattern::Type(kind, None);
            }
            // `A.B` may be a constant that begins a constant expression.
            if !matches!(self.peek(), "." | "+" | "-" | "*" | "/" | "|" | "&" | "<<" | "%" | "^" | "!") {
                return Pattern::Type(kind, None);
            }
        }
        self.at = start;
        Pattern::Value(self.shift_level())
    }

    /// Whether the brackets at the cursor are a cast, as in `(long)Kind.Old`: a literal, a sign or a dotted name follows.
    fn is_cast_of_constant(&self) -> bool {
        let Some(next) = self.mate(self.at).map(|close| close + 1) else {
            return false;
        };
        let text = self.text_at(next);
        text.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '"' | '\'' | '-'))
            || self.is_word_at(next) && self.text_at(next + 1) == "."
    }

    /// Parses a constant: no comparison, no `is`, no conditional.
    fn shift_level(&mut self) -> Expression {
        self.deeper(Expression::Literal(Literal::Null, 0), |cursor| {
            let (mut parts, mut signs) = (vec![cursor.unary()], Vec::new());
            while matches!(cursor.peek(), "+" | "-" | "*" | "/" | "|" | "<<" | "%") && parts.len() < 1_000 {
                signs.push(cursor.sign(1));
                parts.push(cursor.unary());
            }
            match parts.pop() {
                Some(only) if parts.is_empty() => only,
                last => {
                    parts.extend(last);
                    Expression::Operation(Operator::Arithmetic, parts, signs)
                }
            }
        })
    }

    /// Parses the name after a pattern.
    fn pattern_name(&mut self) -> Option<Designation> {
        self.is_new_name_at(self.at).then(|| self.designation())
    }

    /// Parses `(p)` or `(p, q) { … } x`.
    fn positional(&mut self) -> Pattern {
        let (start, place) = (self.at, self.byte_of_token(self.at));
        let parts = self.inside(|cursor| cursor.read_list(Self::subpattern)).unwrap_or_default();
        let alone = parts.len() == 1 && !self.is("{");
        // No name follows a single pattern in parentheses: these are the parentheses of a cast.
        if alone && self.is_new_name_at(self.at) && matches!(parts[0], (ref path, Pattern::Type(_, None)) if path.is_empty()) {
            self.at = start;
            return Pattern::Value(self.shift_level());
        }
        let name = if self.is("{") { None } else { self.pattern_name() };
        let mut parts = parts;
        if alone && name.is_none() {
            return parts.pop().map_or(Pattern::Any, |(_, pattern)| pattern);
        }
        let positional = parts.into_iter().map(|(_, pattern)| pattern).collect();
        if self.is("{") {
            return match self.recursive(None) {
                Pattern::Recursive(kind, _, properties, name, _) => Pattern::Recursive(kind, positional, properties, name, place),
                other => other,
            };
        }
        Pattern::Recursive(None, positional, Vec::new(), name, place)
    }

    fn recursive(&mut self, kind: Option<TypeRef>) -> Pattern {
        let place = self.byte_of_token(self.at);
        let mut positional = Vec::new();
        let mut properties = Vec::new();
        if self.is("(") {
            let parts = self.inside(|cursor| cursor.read_list(Self::subpattern)).unwrap_or_default();
            positional = parts.into_iter().map(|(_, pattern)| pattern).collect();
        }
        if self.is("{") {
            properties = self.inside(|cursor| cursor.read_list(Self::subpattern)).unwrap_or_default();
        }
        let name = self.pattern_name();
        Pattern::Recursive(kind, positional, properties, name, place)
    }

    /// Parses `A.B: p` or `p`.
    fn subpattern(&mut self) -> (Vec<Word>, Pattern) {
        let start = self.at;
        let mut path = Vec::new();
        while self.is_identifier() {
            path.push(self.take_word());
            if !self.consume_token(".") {
                break;
            }
        }
        if path.is_empty() || !self.consume_token(":") {
            self.at = start;
            path.clear();
        }
        (path, self.pattern())
    }
}
