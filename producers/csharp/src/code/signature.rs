//! Parses headers of members and types from the signatures that readers see.

use super::ast::{Argument, Expression, Parameter, Statement, TypeRef};
use super::cursor::Cursor;
use super::types::Around;
use crate::model::MemberKind;

/// The types in a member's header.
#[derive(Clone, Debug, Default, PartialEq, Eq, minicbor::Encode, minicbor::Decode)]
pub struct Signature {
    /// Result type of a method; type of a field, property or event.
    #[n(0)]
    pub result: Option<TypeRef>,
    #[n(1)]
    pub parameters: Vec<Parameter>,
    /// Constraints: type parameter and type; `class` and `struct` (`unmanaged` is one) as predefined types.
    #[n(2)]
    pub constraints: Vec<(String, TypeRef)>,
    #[n(3)]
    pub is_async: bool,
}

/// Parses the header of a member of `kind`.
pub fn signature(kind: MemberKind, text: &str) -> Signature {
    let mut cursor = Cursor::new(text, None, 0);
    let mut found = Signature::default();
    if kind == MemberKind::EnumMember {
        return found;
    }
    while is_modifier(cursor.peek()) && (cursor.is_word_at(cursor.at + 1) || cursor.ahead(1) == "(") && cursor.ahead(1) != "." {
        found.is_async |= cursor.is("async");
        cursor.at += 1;
    }
    match kind {
        MemberKind::Constructor | MemberKind::Finalizer => {}
        MemberKind::Conversion => {
            while !cursor.done() && !cursor.consume_token("operator") {
                cursor.at += 1;
            }
            cursor.consume_token("checked");
            found.result = cursor.declared_type();
        }
        _ => found.result = cursor.declared_type(),
    }
    // A member of an extension block: `extension<T>(T of).Name`.
    if cursor.is("extension") && matches!(cursor.ahead(1), "(" | "<") {
        cursor.at += 1;
        if cursor.is("<") {
            cursor.type_arguments();
        }
        let receivers = cursor.inside(|cursor| cursor.read_list(|cursor| cursor.parse_lambda_parameter(false)));
        if let Some(mut first) = receivers.and_then(|list| list.into_iter().next()) {
            first.receiver = true;
            found.parameters.push(first);
        }
    }
    let opener = if kind == MemberKind::Indexer { "[" } else { "(" };
    let takes = matches!(
        kind,
        MemberKind::Method | MemberKind::Constructor | MemberKind::Operator | MemberKind::Conversion | MemberKind::Indexer
    );
    if takes {
        while !cursor.done() && !cursor.is(opener) {
            cursor.at += 1;
        }
        if cursor.is(opener) {
            let list = cursor
                .inside(|cursor| cursor.read_list(|cursor| cursor.parse_lambda_parameter(false)))
                .unwrap_or_default();
            found.parameters.extend(list);
        }
        found.constraints = cursor.constraints();
    }
    found
}

/// Parses the parameters of a primary constructor, or the parameters and result of a delegate, and constraints if the text has any.
pub fn header_parameters(header: &str, delegate: bool) -> Signature {
    let mut cursor = Cursor::new(header, None, 0);
    let mut found = Signature::default();
    while !cursor.done()
        && matches!(
            cursor.peek(),
            "class"
                | "struct"
                | "record"
                | "interface"
                | "delegate"
                | "enum"
                | "ref"
                | "readonly"
                | "partial"
                | "unsafe"
                | "static"
                | "sealed"
                | "abstract"
                | "public"
                | "internal"
                | "private"
                | "protected"
                | "file"
                | "new"
        )
        && (cursor.is_word_at(cursor.at + 1) || cursor.is("delegate") && cursor.ahead(1) == "(")
    {
        cursor.at += 1;
    }
    if delegate {
        found.result = cursor.declared_type();
    }
    while !(cursor.done() || cursor.is("(") || cursor.is("where") && cursor.ahead(2) == ":") {
        cursor.at += 1;
    }
    if cursor.is("(") {
        found.parameters = cursor
            .inside(|cursor| cursor.read_list(|cursor| cursor.parse_lambda_parameter(false)))
            .unwrap_or_default();
    }
    found.constraints = cursor.constraints();
    found
}

#[rustfmt::skip]
fn is_modifier(word: &str) -> bool {
    matches!(
        word,
        "public" | "private" | "protected" | "internal" | "static" | "abstract" | "sealed" | "virtual" | "override"
        | "readonly" | "const" | "extern" | "unsafe" | "volatile" | "new" | "fixed" | "partial" | "async" | "required"
        | "ref" | "event" | "implicit" | "explicit" | "scoped"
    )
}

impl Cursor<'_> {
    /// Parses `where T : A, B` clauses up to the end.
    pub(super) fn constraints(&mut self) -> Vec<(String, TypeRef)> {
        let mut found = Vec::new();
        while !self.done() {
            if !(self.is("where") && self.ahead(2) == ":") {
                self.skip_group();
                continue;
            }
            self.at += 1;
            let name = self.take_word().text;
            self.at += 1;
            loop {
                let word = match self.peek() {
                    "class" => Some("class"),
                    "struct" | "unmanaged" => Some("struct"),
                    _ => None,
                };
                let limit = match word {
                    Some(word) => Some(TypeRef::Predefined(word.to_owned())),
                    None => self.type_ref(Around::Type),
                };
                if word.is_some() || limit.is_none() {
                    while !self.done() && !matches!(self.peek(), "," | "where") {
                        self.skip_group();
                    }
                }
                found.extend(
                    limit
                        .filter(|limit| word.is_some() || matches!(limit, TypeRef::Named(_)))
                        .map(|limit| (name.clone(), limit)),
                );
                if !self.consume_token(",") {
                    break;
                }
            }
        }
        found
    }

    /// Parses the arguments of an attribute, including `Name = value`.
    pub(super) fn attribute_list(&mut self) -> Vec<Argument> {
        self.parse_arguments()
    }

    /// Parses default values of parameters (`name = value`, one per line), then the rest of the declaration.
    pub(super) fn member_body(&mut self) -> Vec<Statement> {
        let mut list = Vec::new();
        while !self.done() {
            let before = self.at;
            match self.peek() {
                "{" if self.holds_elements() => {
                    let elements = self.array_elements();
                    list.push(Statement::Return(elements));
                }
                "{" => {
                    let block = self.block();
                    list.push(Statement::Block(block));
                }
                "=>" => {
                    self.at += 1;
                    self.consume_token("ref");
                    let value = self.expression();
                    list.push(Statement::Block(vec![Statement::Return(value)]));
                }
                "=" => {
                    self.at += 1;
                    let value = self.parse_initializer();
                    list.push(Statement::Return(value));
                }
                ":" if matches!(self.ahead(1), "base" | "this") && self.ahead(2) == "(" => {
                    self.at += 1;
                    let value = self.expression();
                    list.push(Statement::Expression(value));
                }
                "get" | "set" | "init" | "add" | "remove" if matches!(self.ahead(1), "{" | "=>") => {
                    self.at += 1;
                    let accessor = self.at - 1;
                    let writes = matches!(self.text_at(accessor), "set" | "init" | "add" | "remove");
                    let mut inner = Vec::new();
                    if writes {
                        inner.push(Statement::Local(TypeRef::Var(0), vec![("value".to_owned(), None)], false));
                    }
                    if self.is("{") {
                        let block = self.block();
                        inner.extend(block);
                    } else if self.consume_token("=>") {
                        self.consume_token("ref");
                        let value = self.expression();
                        inner.push(if writes {
                            Statement::Expression(value)
                        } else {
                            Statement::Return(value)
                        });
                    }
                    list.push(Statement::Block(inner));
                }
                _ if self.is_identifier() && self.ahead(1) == "=" && self.ahead(2) != "=" => {
                    // The default value of a parameter.
                    self.at += 2;
                    // The arrow of the member may follow the value, so read no lambda: a constant is never one.
                    let value = match self.is_identifier() && self.ahead(1) == "=>" {
                        true => Expression::Name(super::ast::Name {
                            word: self.take_word(),
                            args: Vec::new(),
                        }),
                        false => self.expression(),
                    };
                    list.push(Statement::Expression(value));
                }
                ";" => self.at += 1,
                _ => {
                    let value = self.parse_initializer();
                    list.push(Statement::Return(value));
                }
            }
            if self.at == before {
                self.skip_group();
            }
        }
        list
    }

    /// Parses an initializer: an expression, or the elements of an array.
    fn parse_initializer(&mut self) -> Expression {
        if self.is("{") {
            return self.array_elements();
        }
        self.expression()
    }

    /// Whether the braces at the cursor enclose the elements of an array (`X[] a = { b, c };`), not statements. Elements have no top-level
    /// semicolon; they have a comma, end with another token than `}`, or begin with `new`.
    fn holds_elements(&self) -> bool {
        let Some(close) = self.mate(self.at).filter(|close| *close > self.at + 1) else {
            return false;
        };
        let mut commas = false;
        let mut at = self.at + 1;
        while at < close {
            match self.text_at(at) {
                ";" => return false,
                "," => commas = true,
                _ => {}
            }
            at = self.next_after_group(at);
        }
        commas || self.text_at(close - 1) != "}" || self.ahead(1) == "new"
    }
}
