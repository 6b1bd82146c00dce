//! Expressions: operators by precedence, prefix operators, postfix links, lambdas.

use super::ast::{Argument, Designation, Expression, Link, Literal, Operator, Parameter, Passing, Statement, TypeRef};
use super::cursor::Cursor;
use super::integer_range::IntegerRange;
use super::primary::integer_value;
use super::types::Around;
use crate::keywords::{is_infix, is_predefined, is_reserved};
use crate::lexer::Kind;

/// Maximum run of nested operators at one level; the rest is unknown.
const LONGEST_NEST: usize = 64;

/// Returns the class, the precedence and the number of tokens of a binary operator.
fn binary(cursor: &Cursor<'_>) -> Option<(Operator, u8, usize)> {
    Some(match cursor.peek() {
        "??" => (Operator::Coalesce, 1, 1),
        "||" => (Operator::Truth, 2, 1),
        "&&" => (Operator::Truth, 3, 1),
        "|" => (Operator::Arithmetic, 4, 1),
        "^" => (Operator::Arithmetic, 5, 1),
        "&" => (Operator::Arithmetic, 6, 1),
        "==" | "!=" => (Operator::Truth, 7, 1),
        "<" | "<=" => (Operator::Truth, 8, 1),
        ">" if cursor.ahead(1) == ">" && touching(cursor) => {
            let unsigned = cursor.ahead(2) == ">";
            let length = if unsigned { 3 } else { 2 };
            if matches!(cursor.ahead(length), "=" | "==") {
                return None;
            }
            (Operator::Arithmetic, 9, length)
        }
        ">" => (Operator::Truth, 8, 1 + usize::from(cursor.ahead(1) == "=" && touching(cursor))),
        "<<" => (Operator::Arithmetic, 9, 1),
        "+" | "-" => (Operator::Arithmetic, 10, 1),
        "*" | "/" | "%" => (Operator::Arithmetic, 11, 1),
        ".." => (Operator::Range, 12, 1),
        _ => return None,
    })
}

fn touching(cursor: &Cursor<'_>) -> bool {
    match cursor.tokens.get(cursor.at..cursor.at + 2) {
        Some([left, right]) => left.end == right.start,
        _ => false,
    }
}

impl Cursor<'_> {
    /// Parses an expression; [`Expression::Unknown`] if none begins here.
    pub(super) fn expression(&mut self) -> Expression {
        self.deeper(Expression::Unknown, Self::assignment)
    }

    /// Parses the condition of an arm of a `switch` expression. It is no lambda, because `=>` ends it.
    pub(super) fn guard(&mut self) -> Expression {
        let outer = std::mem::replace(&mut self.may_be_lambda, false);
        let guard = self.deeper(Expression::Unknown, |cursor| cursor.operators(0));
        self.may_be_lambda = outer;
        guard
    }

    fn assignment(&mut self) -> Expression {
        if let Some(lambda) = self.lambda() {
            return lambda;
        }
        if self.is("from") && self.is_query() {
            return self.query();
        }
        let left = self.conditional();
        match self.peek() {
            "=" | "+=" | "-=" | "*=" | "/=" | "%=" | "&=" | "|=" | "^=" | "<<=" | "??=" => {}
            // `>>=`: single tokens.
            ">" if self.ahead(1) == ">" => {}
            _ => return left,
        }
        let length = (0..).take_while(|by| self.ahead(*by) == ">").count();
        let sign = self.sign(length + usize::from(length == 0 || self.ahead(length) == "="));
        self.consume_token("ref");
        let right = self.expression();
        Expression::Assign(Box::new(left), Box::new(right), sign)
    }

    fn conditional(&mut self) -> Expression {
        let start = self.at;
        let condition = self.operators(0);
        let condition = self.folded(start, condition);
        if !self.is("?") {
            return condition;
        }
        self.at += 1;
        self.consume_token("ref");
        let yes = self.expression();
        if !self.consume_token(":") {
            return yes;
        }
        self.consume_token("ref");
        let no = self.expression();
        Expression::Conditional(Box::new(condition), Box::new(yes), Box::new(no))
    }

    /// Parses operands and the operators that bind tighter than `floor`.
    fn operators(&mut self, floor: u8) -> Expression {
        let mut left = if self.is("..") {
            Expression::Literal(Literal::Integer(IntegerRange::SByte), self.present_place())
        } else {
            self.unary()
        };
        let mut nested = 0;
        while nested < LONGEST_NEST {
            match self.peek() {
                "is" if floor < 8 => {
                    self.at += 1;
                    let pattern = self.pattern();
                    left = Expression::Is(Box::new(left), Box::new(pattern));
                    nested += 1;
                    continue;
                }
                "as" if floor < 8 => {
                    self.at += 1;
                    let Some(kind) = self.type_ref(Around::Test) else { return left };
                    left = Expression::As(Box::new(left), kind);
                    nested += 1;
                    continue;
                }
                "switch" if self.ahead(1) == "{" => {
                    left = self.switch_expression(left);
                    nested += 1;
                    continue;
                }
                "with" if self.ahead(1) == "{" => {
                    self.at += 1;
                    let entries = self.initializers();
                    left = Expression::With(Box::new(left), entries);
                    nested += 1;
                    continue;
                }
                _ => {}
            }
            let Some((class, level, length)) = binary(self).filter(|(_, level, _)| *level > floor) else {
                return left;
            };
            let sign = self.sign(length);
            let right = if class == Operator::Range && !self.starts_operand() {
                Expression::Literal(Literal::Integer(IntegerRange::SByte), self.present_place())
            } else if class == Operator::Coalesce {
                // Right associative, and `?? throw` ends there.
                self.deeper(Expression::Unknown, |cursor| match cursor.lambda() {
                    Some(lambda) => lambda,
                    None => cursor.operators(level - 1),
                })
            } else {
                self.deeper(Expression::Unknown, |cursor| cursor.operators(level))
            };
            match &mut left {
                Expression::Operation(other, operands, signs) if *other == class => {
                    operands.push(right);
                    signs.push(sign);
                }
                _ => {
                    left = Expression::Operation(class, vec![left, right], vec![sign]);
                    nested += 1;
                }
            }
        }
        left
    }

    fn starts_operand(&self) -> bool {
        !self.done() && !matches!(self.peek(), ")" | "]" | "}" | "," | ";" | ":" | "=>")
    }

    pub(super) fn unary(&mut self) -> Expression {
        match self.peek() {
            "+" | "-" | "~" | "++" | "--" | "&" | "*" | "^" => {
                let number = self.ahead(1).replace('_', "");
                let sign = self.sign(1);
                match self.deeper(Expression::Unknown, Self::unary) {
                    Expression::Literal(literal, _) if sign.text == "-" && literal != Literal::Char => {
                        Expression::Literal(negated(literal, &number), sign.place)
                    }
                    Expression::Literal(literal, _) if sign.text == "+" && literal != Literal::Char => {
                        Expression::Literal(literal, sign.place)
                    }
                    value if sign.text == "&" => value,
                    value => Expression::Unary(sign, Box::new(value)),
                }
            }
            "!" => {
                let sign = self.sign(1);
                let value = self.deeper(Expression::Unknown, Self::unary);
                Expression::Unary(sign, Box::new(value))
            }
            "await" if self.begins_operand_at(self.at + 1) || is_infix(self.ahead(1)) && self.ahead(2) == "(" => {
                let place = self.sign(1).place;
                let value = self.deeper(Expression::Unknown, Self::unary);
                Expression::Await(Box::new(value), place)
            }
            "throw" => {
                self.at += 1;
                let value = self.expression();
                Expression::Throw(Box::new(value))
            }
            "ref" | "out" | "in" => {
                self.at += 1;
                self.deeper(Expression::Unknown, Self::unary)
            }
            "(" => match self.cast() {
                Some(cast) => cast,
                None => self.postfix(),
            },
            _ => self.postfix(),
        }
    }

    /// Whether an expression begins at a token, judged by the token alone.
    fn begins_operand_at(&self, index: usize) -> bool {
        match self.text_at(index) {
            "" => false,
            "(" => true,
            "this" | "base" | "new" | "typeof" | "default" | "null" | "true" | "false" | "await" | "nameof" | "sizeof" | "checked"
            | "unchecked" | "stackalloc" | "throw" | "static" | "delegate" => true,
            word if is_predefined(word) => true,
            // A contextual keyword of a query without an operand after it is a name.
            word if is_infix(word) => {
                !matches!(word, "is" | "as") && matches!(self.text_at(index + 1), "" | ")" | "]" | "}" | "," | ";" | ".")
            }
            word if self.is_word_at(index) => !is_reserved(word),
            _ => self.tokens[index].kind != Kind::Punctuation,
        }
    }

    fn cast(&mut self) -> Option<Expression> {
        let start = self.at;
        let close = self.mate(start)?;
        let kind = self
            .inside(|cursor| cursor.type_ref(Around::Type).filter(|_| cursor.done()))
            .flatten();
        let operand = self.begins_operand_at(close + 1)
            || matches!(self.text_at(close + 1), "!" | "~")
            || matches!(kind, Some(TypeRef::Predefined(_)))
                && (matches!(self.text_at(close + 1), "-" | "+" | "&" | "*") || self.is_word_at(close + 1));
        let kind = kind.filter(|_| operand && self.text_at(close + 1) != "=>");
        let Some(kind) = kind else {
            self.at = start;
            return None;
        };
        let value = self.deeper(Expression::Unknown, Self::unary);
        Some(Expression::Cast(kind, Box::new(value), self.byte_of_token(start)))
    }

    // ── postfix links ───────────────────────────────────────────────────────────────────────────────────────────────────────

    fn postfix(&mut self) -> Expression {
        let root = self.deeper(Expression::Unknown, Self::primary);
        let (mut links, mut signs) = (Vec::new(), Vec::new());
        loop {
            match self.peek() {
                dot @ ("." | "?." | "->") if self.is_word_at(self.at + 1) => {
                    links.extend((dot == "?.").then_some(Link::Maybe));
                    links.extend((dot == "->").then_some(Link::Pointed));
                    self.at += 1;
                    let name = self.name_with_arguments();
                    links.push(Link::Member(name));
                }
                // White space may separate the tokens of `?.`; no operand begins with `.`.
                "?" if self.ahead(1) == "." && self.is_word_at(self.at + 2) => {
                    self.at += 2;
                    let name = self.name_with_arguments();
                    links.extend([Link::Maybe, Link::Member(name)]);
                }
                "(" => {
                    let args = self.parse_arguments();
                    links.push(Link::Call(args));
                }
                "[" => {
                    let place = self.byte_of_token(self.at);
                    let args = self.parse_arguments();
                    links.push(Link::Index(args, place));
                }
                "?" if self.ahead(1) == "[" && self.conditional_index() => {
                    self.at += 1;
                    let place = self.byte_of_token(self.at);
                    let args = self.parse_arguments();
                    links.extend([Link::Maybe, Link::Index(args, place)]);
                }
                "++" | "--" => signs.push(self.sign(1)),
                "!" if !self.begins_operand_at(self.at + 1) || self.ahead(1) == "(" => self.at += 1,
                _ => break,
            }
        }
        let value = match root {
            root if links.is_empty() => root,
            Expression::Chain(inner, mut before) if !before.contains(&Link::Maybe) => {
                before.extend(links);
                Expression::Chain(inner, before)
            }
            root => Expression::Chain(Box::new(root), links),
        };
        match signs.pop() {
            Some(sign) => Expression::Unary(sign, Box::new(value)),
            None => value,
        }
    }

    /// Whether `?[` is a conditional access, not a conditional with a collection expression: no `:` follows it in this list.
    fn conditional_index(&self) -> bool {
        let mut at = self.next_after_group(self.at + 1);
        while at < self.end {
            match self.text_at(at) {
                ":" => return false,
                ";" | "," | "" => return true,
                "?" => return true,
                _ => at = self.next_after_group(at),
            }
        }
        true
    }

    pub(super) fn name_with_arguments(&mut self) -> super::ast::Name {
        let mut name = self.parse_name();
        if self.is("<") && self.is_angle(self.at) {
            let start = self.at;
            match self.type_arguments() {
                Some(args) => name.args = args,
                None => self.at = start,
            }
        }
        name
    }

    pub(super) fn parse_arguments(&mut self) -> Vec<Argument> {
        self.inside(|cursor| cursor.read_list(Self::argument)).unwrap_or_default()
    }

    fn argument(&mut self) -> Argument {
        let named = self.is_identifier() && self.ahead(1) == ":";
        let name = named.then(|| {
            let word = self.take_word().text;
            self.at += 1;
            word
        });
        let passing = Passing::from_word(self.peek());
        self.at += usize::from(passing.is_some());
        let value = self.declaration().unwrap_or_else(|| self.expression());
        Argument {
            name,
            value,
            passing: passing.unwrap_or_default(),
        }
    }

    /// Parses `T x` or `var (a, b)` where an expression may occur as well.
    fn declaration(&mut self) -> Option<Expression> {
        let start = self.at;
        if !(self.is_identifier() || is_predefined(self.peek()) || self.is("(")) {
            return None;
        }
        if self.is("(") && self.mate(start).is_none_or(|close| !self.is_new_name_at(close + 1)) {
            return None;
        }
        if self.is("await") {
            return None;
        }
        let kind = self.type_ref(Around::Type);
        let designation = match &kind {
            Some(TypeRef::Var(_)) if self.is("(") => Some(self.designation()),
            // `a ? b = c : d` declares nothing.
            Some(TypeRef::Nullable(_)) if self.ahead(1) == "=" => None,
            Some(_) if self.is_new_name_at(self.at) && matches!(self.ahead(1), "," | ")" | "=" | "") => Some(self.designation()),
            _ => None,
        };
        if let (Some(kind), Some(designation)) = (kind, designation) {
            return Some(Expression::Declaration(kind, designation));
        }
        self.at = start;
        None
    }

    pub(super) fn designation(&mut self) -> Designation {
        if self.is("(") {
            return self.deeper(Designation::Discard, |cursor| {
                Designation::Tuple(cursor.inside(|cursor| cursor.read_list(Self::designation)).unwrap_or_default())
            });
        }
        match self.take_word().text {
            text if text == "_" => Designation::Discard,
            text => Designation::Name(text),
        }
    }

    // ── lambdas ─────────────────────────────────────────────────────────────────────────────────────────────────────────────

    fn lambda(&mut self) -> Option<Expression> {
        if !self.may_be_lambda {
            return None;
        }
        let start = self.at;
        while self.is("[") && self.mate(self.at).is_some() && self.continues_lambda(self.next_after_group(self.at)) {
            self.skip_group();
        }
        let mut is_async = false;
        while matches!(self.peek(), "async" | "static") && !matches!(self.ahead(1), "=>" | "." | "," | ")" | "=") {
            is_async |= self.is("async");
            self.at += 1;
        }
        let result = self.lambda_result(self.at > start);
        let parameters = match self.peek() {
            "(" if self.mate(self.at).is_some_and(|close| self.text_at(close + 1) == "=>") => {
                self.inside(|cursor| cursor.read_list(Self::lambda_parameter))
            }
            "delegate" if self.ahead(1) != "*" => {
                self.at += 1;
                let parameters = if self.is("(") {
                    self.inside(|cursor| cursor.read_list(Self::lambda_parameter))
                } else {
                    Some(vec![Parameter::any_list()])
                };
                if !self.is("{") {
                    self.at = start;
                    return None;
                }
                let body = self.block();
                return Some(self.attributed_lambda(start, (parameters.unwrap_or_default(), None), body, is_async));
            }
            _ if self.is_identifier() && self.ahead(1) == "=>" => {
                let name = self.take_word().text;
                Some(vec![Parameter::plain(name, None)])
            }
            _ => None,
        };
        let Some(parameters) = parameters.filter(|_| self.consume_token("=>")) else {
            self.at = start;
            return None;
        };
        let body = if self.is("{") {
            self.block()
        } else {
            self.consume_token("ref");
            vec![Statement::Return(self.expression())]
        };
        Some(self.attributed_lambda(start, (parameters, result), body, is_async))
    }

    /// Whether the token after the attributes of a lambda may belong to the lambda.
    fn continues_lambda(&self, at: usize) -> bool {
        let word = self.text_at(at);
        matches!(word, "(" | "[" | "static") || is_predefined(word) || self.is_identifier_at(at) && !is_infix(word)
    }

    /// Parses the type before the parameters of a lambda: `T (x) => …`. A `?` after the type counts as that of a conditional, unless attributes
    /// or modifiers precede the type (`is_marked`).
    fn lambda_result(&mut self, is_marked: bool) -> Option<TypeRef> {
        let mut end = self.at;
        while self.is_identifier_at(end) || is_predefined(self.text_at(end)) {
            end += 1;
            if !matches!(self.text_at(end), "." | "::") {
                break;
            }
            end += 1;
        }
        let is_lambda =
            |cursor: &Self, at: usize| cursor.text_at(at) == "(" && cursor.mate(at).is_some_and(|close| cursor.text_at(close + 1) == "=>");
        let is_longer = matches!(self.text_at(end), "<" | "[") || is_marked && self.text_at(end) == "?";
        if end == self.at || !(is_longer || is_lambda(self, end)) {
            return None;
        }
        let start = self.at;
        let result = self.type_ref(Around::Type).filter(|_| is_lambda(self, self.at));
        if result.is_none() {
            self.at = start;
        }
        result
    }

    /// Creates a lambda whose attributes, if it has any, begin at the token `start`. They are parsed once it is known to be a lambda.
    fn attributed_lambda(
        &mut self,
        start: usize,
        (parameters, result): (Vec<Parameter>, Option<TypeRef>),
        mut body: Vec<Statement>,
        is_async: bool,
    ) -> Expression {
        let attributes = self.attributes_at(start);
        if !attributes.is_empty() {
            body.insert(0, Statement::Attributes(attributes));
        }
        Expression::Lambda(parameters, body, is_async, result.map(Box::new))
    }

    fn lambda_parameter(&mut self) -> Parameter {
        self.parse_lambda_parameter(true)
    }

    /// Parses a parameter of a lambda, whose type may be missing, or of a function.
    pub(super) fn parse_lambda_parameter(&mut self, lambda: bool) -> Parameter {
        let (mut passing, mut many, mut receiver) = (Passing::Value, false, false);
        let attributes = self.attributes();
        while matches!(self.peek(), "out" | "ref" | "in" | "params" | "this" | "readonly" | "scoped") && self.is_word_at(self.at + 1)
            || self.is("params") && !lambda
        {
            passing = match self.peek() {
                // After `ref`.
                "readonly" => Passing::In,
                word => Passing::from_word(word).unwrap_or(passing),
            };
            many |= self.is("params");
            receiver |= self.is("this");
            self.at += 1;
        }
        let bare = lambda && self.is_identifier() && matches!(self.ahead(1), "" | "," | "=");
        let kind = if bare { None } else { self.declared_type() };
        let name = if self.is_word_at(self.at) {
            self.take_word().text
        } else {
            String::new()
        };
        let default = self.consume_token("=").then(|| self.expression());
        Parameter {
            name,
            kind,
            passing,
            many,
            default,
            receiver,
            attributes,
        }
    }
}

/// Returns the type of a literal after a minus sign. `number`: its text without separators.
fn negated(literal: Literal, number: &str) -> Literal {
    let negative = || Some(IntegerRange::of_value(-i64::from(u32::try_from(integer_value(number)?).ok()?)));
    match literal {
        Literal::Integer(range) => Literal::Integer(negative().unwrap_or(range)),
        Literal::UInt if number == "2147483648" => Literal::Integer(IntegerRange::NegativeInt),
        Literal::UInt => Literal::Long,
        Literal::ULong if number.trim_end_matches(['l', 'L']) == "9223372036854775808" => Literal::Long,
        other => other,
    }
}
