//! Primary expressions: names, literals, `new`, parentheses, interpolated strings, `switch` expressions, queries.

use super::ast::{Clause, Expression, Initializer, Literal, TypeRef, Word};
use super::cursor::Cursor;
use super::integer_range::IntegerRange;
use super::types::Around;
use crate::keywords::is_predefined;
use crate::lexer::Kind;

impl Cursor<'_> {
    pub(super) fn primary(&mut self) -> Expression {
        match self.kind_of_token() {
            None => return Expression::Unknown,
            Some(Kind::Text | Kind::Unterminated) => return self.text_literal(),
            Some(Kind::Number) => {
                let literal = Expression::Literal(literal_number(self.peek()), self.present_place());
                self.at += 1;
                return literal;
            }
            Some(Kind::Unknown) => {
                self.at += 1;
                return Expression::Unknown;
            }
            Some(Kind::Word | Kind::Punctuation) => {}
        }
        match self.peek() {
            "(" => self.bracketed(),
            "[" => {
                let place = self.present_place();
                let parts = self.inside(|cursor| {
                    cursor.read_list(|cursor| {
                        cursor.consume_token("..");
                        cursor.expression()
                    })
                });
                Expression::Collection(parts.unwrap_or_default(), place)
            }
            "this" => self.parse_postfix(Expression::This(self.present_place())),
            "base" => self.parse_postfix(Expression::Base(self.present_place())),
            "true" | "false" => self.parse_postfix(Expression::Literal(Literal::Truth, self.present_place())),
            "null" => self.parse_postfix(Expression::Literal(Literal::Null, self.present_place())),
            "default" if self.ahead(1) != "(" => self.parse_postfix(Expression::Literal(Literal::Default, self.present_place())),
            "typeof" | "default" => self.of_type(),
            "sizeof" => {
                let sign = Word {
                    text: "sizeof".to_owned(),
                    place: self.present_place(),
                };
                Expression::Unary(sign, Box::new(self.of_type()))
            }
            "checked" | "unchecked" => {
                let sign = self.sign(1);
                Expression::Unary(sign, Box::new(self.bracketed()))
            }
            "new" => self.creation(),
            "stackalloc" => self.creation(),
            "nameof" if self.ahead(1) == "(" => {
                let place = self.present_place();
                self.at += 1;
                let value = self.inside(Self::expression).unwrap_or(Expression::Unknown);
                Expression::NameOf(Box::new(value), place)
            }
            "global" if self.ahead(1) == "::" => self.aliased(),
            word if is_predefined(word) => self.typed_root(),
            _ if self.is_identifier() && self.ahead(1) == "::" => self.aliased(),
            _ if self.is_identifier() => self.named_root(),
            _ => Expression::Unknown,
        }
    }

    fn parse_postfix(&mut self, value: Expression) -> Expression {
        self.at += 1;
        value
    }

    /// Parses a predefined type as in `int.Parse`; `string[]` does not occur here.
    fn typed_root(&mut self) -> Expression {
        let word = self.take_word();
        Expression::Type(TypeRef::Predefined(word.text), word.place)
    }

    /// Parses `global::A.B.C(…)`: the whole path, because only the binder knows where the type ends.
    fn aliased(&mut self) -> Expression {
        let alias = self.parse_name();
        let place = alias.word.place;
        self.at += 1;
        if !self.is_identifier() {
            return Expression::Unknown;
        }
        let name = self.name_with_arguments();
        let mut alias = alias;
        if alias.word.text != "global" {
            alias.word.text.push_str("::");
        }
        Expression::Type(TypeRef::Named(vec![alias, name]), place)
    }

    fn named_root(&mut self) -> Expression {
        let name = self.name_with_arguments();
        Expression::Name(name)
    }

    fn of_type(&mut self) -> Expression {
        let (is_typeof, place) = (self.is("typeof"), self.present_place());
        self.at += 1;
        let kind = self.inside(|cursor| cursor.type_ref(Around::Type)).flatten();
        match kind {
            Some(kind) if is_typeof => Expression::TypeOf(kind, place),
            Some(kind) => Expression::Default(kind, place),
            None => Expression::Unknown,
        }
    }

    /// Parses `(e)` or a tuple.
    fn bracketed(&mut self) -> Expression {
        let mut args = self.parse_arguments();
        if args.len() == 1 {
            return match args.pop().map(|only| only.value) {
                // Do not merge an operation in parentheses with the operation around it.
                Some(operation @ Expression::Operation(..)) => Expression::Chain(Box::new(operation), Vec::new()),
                only => only.unwrap_or(Expression::Unknown),
            };
        }
        Expression::Tuple(args)
    }

    // ── new ─────────────────────────────────────────────────────────────────────────────────────────────────────────────────

    fn creation(&mut self) -> Expression {
        let place = self.present_place();
        self.at += 1;
        match self.peek() {
            "(" if !self.is_array_of_tuples() => {
                let args = self.parse_arguments();
                let entries = self.initializers();
                Expression::New(None, args, entries, place)
            }
            "[" => {
                // `new[] { … }`, `new[,] { … }`.
                self.skip_group();
                Expression::NewArray(None, self.elements(), Vec::new(), place)
            }
            "{" => self.anonymous(),
            _ => {
                // A `?` is part of the type only before brackets.
                let Some(kind) = self.type_ref(Around::Test) else {
                    return Expression::Unknown;
                };
                if self.is("[") {
                    return self.array_creation(kind, place);
                }
                if let TypeRef::Array(element) = kind {
                    let parts = self.elements();
                    return Expression::NewArray(Some(*element), parts, Vec::new(), place);
                }
                let args = if self.is("(") { self.parse_arguments() } else { Vec::new() };
                let entries = self.initializers();
                Expression::New(Some(kind), args, entries, place)
            }
        }
    }

    /// Whether the parentheses here are a tuple type, followed by the brackets of an array: `new (A, B)[] { … }`.
    fn is_array_of_tuples(&self) -> bool {
        let after = self.next_after_group(self.at);
        self.text_at(after + usize::from(self.text_at(after) == "?")) == "["
    }

    fn array_creation(&mut self, element: TypeRef, place: u32) -> Expression {
        let sizes = self.parse_arguments().into_iter().map(|argument| argument.value).collect();
        let mut kind = element;
        while self.is("[") {
            self.skip_group();
            kind = TypeRef::Array(Box::new(kind));
        }
        let elements = self.elements();
        Expression::NewArray(Some(kind), elements, sizes, place)
    }

    /// Parses the elements of an array in braces as a collection.
    pub(super) fn array_elements(&mut self) -> Expression {
        let place = self.present_place();
        Expression::Collection(self.elements(), place)
    }

    /// Parses `{ a, { b, c } }` at the cursor; returns nothing if there is none.
    pub(super) fn elements(&mut self) -> Vec<Expression> {
        if !self.is("{") {
            return Vec::new();
        }
        self.inside(|cursor| {
            cursor.read_list(|cursor| {
                if cursor.is("{") {
                    cursor.deeper(Expression::Unknown, Self::array_elements)
                } else {
                    cursor.expression()
                }
            })
        })
        .unwrap_or_default()
    }

    fn anonymous(&mut self) -> Expression {
        let members = self.inside(|cursor| {
            cursor.read_list(|cursor| {
                if cursor.is_identifier() && cursor.ahead(1) == "=" {
                    let name = cursor.take_word().text;
                    cursor.at += 1;
                    return (name, cursor.expression());
                }
                let value = cursor.expression();
                (last_name(&value), value)
            })
        });
        Expression::Anonymous(members.unwrap_or_default())
    }

    /// Parses `{ … }` after `new T(…)` or `with`; returns nothing if there is none.
    pub(super) fn initializers(&mut self) -> Vec<Initializer> {
        if !self.is("{") {
            return Vec::new();
        }
        self.deeper(Vec::new(), |cursor| {
            cursor.inside(|cursor| cursor.read_list(Self::initializer)).unwrap_or_default()
        })
    }

    fn initializer(&mut self) -> Initializer {
        if self.is_identifier() && self.ahead(1) == "=" {
            let word = self.take_word();
            self.at += 1;
            if self.is("{") {
                return Initializer::Nested(word, self.initializers());
            }
            return Initializer::Member(word, self.expression());
        }
        if self.is("[") && self.text_at(self.next_after_group(self.at)) == "=" {
            let place = self.byte_of_token(self.at);
            let index = self.parse_arguments().into_iter().map(|argument| argument.value).collect();
            self.at += 1;
            if self.is("{") {
                return Initializer::NestedIndex(index, self.initializers(), place);
            }
            return Initializer::Index(index, self.expression(), place);
        }
        let place = self.byte_of_token(self.at);
        if self.is("{") {
            return Initializer::Element(self.elements(), place);
        }
        Initializer::Element(vec![self.expression()], place)
    }

    // ── switch, text, queries ───────────────────────────────────────────────────────────────────────────────────────────────

    pub(super) fn switch_expression(&mut self, value: Expression) -> Expression {
        self.at += 1;
        let arms = self.deeper(None, |cursor| {
            cursor.inside(|cursor| {
                cursor.read_list(|cursor| {
                    let pattern = cursor.pattern();
                    let when = cursor.consume_token("when").then(|| cursor.guard());
                    cursor.consume_token("=>");
                    (pattern, when, cursor.expression())
                })
            })
        });
        Expression::Switch(Box::new(value), arms.unwrap_or_default())
    }

    fn text_literal(&mut self) -> Expression {
        let (index, place) = (self.at, self.present_place());
        let text = self.peek();
        self.at += 1;
        if !is_interpolated(text) {
            let literal = match text {
                _ if text.starts_with('\'') => Literal::Char,
                _ if text.ends_with("u8") => Literal::Bytes,
                _ => Literal::String,
            };
            return Expression::Literal(literal, place);
        }
        let start = self.tokens[index].start;
        let mut values = Vec::new();
        for hole in holes(text) {
            if self.depth >= super::cursor::DEEPEST {
                break;
            }
            let base = self.base.map(|base| base + start + hole.start as u32);
            let mut inner = Cursor::new(&text[hole], base, self.depth + 1);
            values.push(inner.expression());
        }
        Expression::Interpolated(values, place)
    }

    pub(super) fn is_query(&self) -> bool {
        // `from x in`, `from T x in`: the word before `in` is a name.
        (2..12)
            .take_while(|by| !matches!(self.ahead(*by), ";" | ")" | "(" | "=" | "{" | ""))
            .any(|by| self.ahead(by) == "in")
            && self.is_word_at(self.at + 1)
    }

    pub(super) fn query(&mut self) -> Expression {
        let outer = std::mem::replace(&mut self.in_query, true);
        let clauses = self.clauses();
        self.in_query = outer;
        Expression::Query(clauses)
    }

    fn clauses(&mut self) -> Vec<Clause> {
        let mut clauses = Vec::new();
        loop {
            let before = self.at;
            match self.peek() {
                "from" | "join" => {
                    let keyword = self.sign(1);
                    let kind = if self.ahead(1) == "in" { None } else { self.type_ref(Around::Type) };
                    let name = self.take_word().text;
                    self.consume_token("in");
                    let source = self.expression();
                    clauses.push(Clause::From(kind, name, source, keyword));
                }
                "let" => {
                    let keyword = self.sign(1);
                    let name = self.take_word().text;
                    self.consume_token("=");
                    let value = self.expression();
                    clauses.push(Clause::Let(name, value, keyword));
                }
                "select" | "group" => {
                    let is_group = self.is("group");
                    let keyword = self.sign(1);
                    let value = self.expression();
                    clauses.push(Clause::Select(value, keyword));
                    // The query ends here. If it is the source of another one, the other one's clauses follow.
                    if !is_group && !self.is("into") {
                        break;
                    }
                }
                "into" => {
                    self.at += 1;
                    let name = self.take_word().text;
                    clauses.push(Clause::Into(name));
                }
                "where" | "orderby" | "on" | "equals" | "by" | "ascending" | "descending" | "," => {
                    let is_key_of_group = self.is("by");
                    let mut keyword = self.sign(1);
                    if !matches!(self.peek(), "," | "select" | "group" | "where" | "from" | "let" | "join") {
                        let value = self.expression();
                        if self.is("descending") {
                            keyword.text.push_str("descending");
                        }
                        clauses.push(Clause::Value(value, keyword));
                    }
                    if is_key_of_group && !self.is("into") {
                        break;
                    }
                }
                _ => break,
            }
            if self.at == before || self.done() {
                break;
            }
        }
        clauses
    }
}

/// Returns the name that a member of an anonymous type takes from its value.
fn last_name(value: &Expression) -> String {
    match value {
        Expression::Name(name) => name.word.text.clone(),
        Expression::Chain(_, links) => match links.last() {
            Some(super::ast::Link::Member(name)) => name.word.text.clone(),
            _ => String::new(),
        },
        _ => String::new(),
    }
}

/// Splits a number without separators, in lower case, into its digits with the suffix and their base.
fn split_base(number: &str) -> (&str, u32) {
    match number.get(..2) {
        Some("0x") => (&number[2..], 16),
        Some("0b") => (&number[2..], 2),
        _ => (number, 10),
    }
}

/// Returns the value of an integer without separators; `None` if the text is no integer.
pub(super) fn integer_value(number: &str) -> Option<u64> {
    let number = number.to_ascii_lowercase();
    let (digits, base) = split_base(&number);
    u64::from_str_radix(digits.trim_end_matches(['u', 'l']), base).ok()
}

/// Returns the type of a number: by its suffix, else the first of `int`, `uint`, `long` and `ulong` that can represent it.
pub(super) fn literal_number(text: &str) -> Literal {
    let plain = text.replace('_', "").to_ascii_lowercase();
    let (digits, base) = split_base(&plain);
    if base == 10 {
        match digits.as_bytes().last() {
            Some(b'f') => return Literal::Float,
            Some(b'm') => return Literal::Decimal,
            _ if digits.contains(['.', 'e', 'd']) => return Literal::Real,
            _ => {}
        }
    }
    let suffix = digits.trim_start_matches(|c: char| c.is_digit(base));
    let value = integer_value(&plain).unwrap_or(0);
    let (is_unsigned, is_long) = (suffix.contains('u'), suffix.contains('l'));
    match (is_unsigned, is_long) {
        (false, false) if i32::try_from(value).is_ok() => Literal::Integer(IntegerRange::of_value(value.cast_signed())),
        (_, false) if u32::try_from(value).is_ok() => Literal::UInt,
        (false, _) if i64::try_from(value).is_ok() => Literal::Long,
        _ => Literal::ULong,
    }
}

fn is_interpolated(text: &str) -> bool {
    text.starts_with('$') || text.starts_with("@$")
}

/// Returns the ranges of the values in an interpolated string, with format clauses (parsing stops before them); none for other literals.
pub(super) fn holes(text: &str) -> Vec<std::ops::Range<usize>> {
    let bytes = text.as_bytes();
    let mut holes = Vec::new();
    if !is_interpolated(text) {
        return holes;
    }
    let mut at = bytes.iter().take_while(|byte| matches!(byte, b'$' | b'@')).count();
    let raw = text[at..].starts_with("\"\"\"");
    let needed = if raw { text[..at].matches('$').count() } else { 1 };
    while at < bytes.len() {
        if bytes[at] != b'{' {
            at += 1;
            continue;
        }
        let run = bytes[at..].iter().take_while(|byte| **byte == b'{').count();
        let opens = if raw { run >= needed } else { run % 2 == 1 };
        at += run;
        if !opens {
            continue;
        }
        let start = at;
        let mut depth = 0_usize;
        while at < bytes.len() {
            match bytes[at] {
                b'"' | b'\'' | b'$' | b'@' => {
                    if let Some((end, _)) = crate::lexer::literal_end(text, at) {
                        at = end.max(at + 1);
                        continue;
                    }
                }
                b'(' | b'[' | b'{' => depth += 1,
                b'}' if depth == 0 => break,
                b')' | b']' | b'}' => depth = depth.saturating_sub(1),
                b':' if depth == 0 && bytes.get(at + 1) != Some(&b':') && bytes[at - 1] != b':' => break,
                _ => {}
            }
            at += 1;
        }
        holes.push(start..at.min(bytes.len()));
        while at < bytes.len() && bytes[at] != b'}' {
            at += 1;
        }
        at += if raw { needed } else { 1 };
    }
    holes
}
