//! Written types: `A.B<C>[]?`, tuples, function pointers.

use super::ast::{Name, TypeRef};
use super::cursor::Cursor;
use crate::keywords::is_predefined;

/// The context of a type; it decides the meaning of a `?` after the type.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Around {
    /// Only a type is possible here.
    Type,
    /// After `is` or `as`, or in a pattern: `?` may begin a conditional.
    Test,
}

impl Cursor<'_> {
    /// Parses the type at the cursor; without one, returns `None` and leaves the cursor.
    pub(super) fn type_ref(&mut self, around: Around) -> Option<TypeRef> {
        let start = self.at;
        let found = self.deeper(None, |cursor| cursor.bare_type().map(|bare| cursor.suffixes(bare, around)));
        if found.is_none() {
            self.at = start;
        }
        found
    }

    /// Parses the type of a declaration: a name follows it, so a `*` is that of a pointer.
    pub(super) fn declared_type(&mut self) -> Option<TypeRef> {
        let mut kind = self.type_ref(Around::Type)?;
        while self.is("*") && (self.is_word_at(self.at + 1) || self.ahead(1) == "*") {
            self.at += 1;
            kind = TypeRef::Pointer(Box::new(kind));
        }
        Some(kind)
    }

    fn bare_type(&mut self) -> Option<TypeRef> {
        while matches!(self.peek(), "ref" | "readonly" | "scoped" | "in" | "out" | "params" | "this") && self.ahead(1) != "." {
            if self.is("scoped") && !self.is_word_at(self.at + 1) {
                break;
            }
            self.at += 1;
        }
        let word = self.peek();
        if word == "(" {
            return self.tuple_type();
        }
        if word == "delegate" && self.ahead(1) == "*" {
            return self.function_pointer();
        }
        if is_predefined(word) || word == "dynamic" && self.ahead(1) != "." {
            self.at += 1;
            return Some(TypeRef::Predefined(word.to_owned()));
        }
        if !self.is_identifier() {
            return None;
        }
        if word == "var" && !matches!(self.ahead(1), "." | "::" | "<") {
            self.at += 1;
            return Some(TypeRef::Var(self.byte_of_token(self.at - 1)));
        }
        let mut segments = Vec::new();
        loop {
            segments.push(self.type_segment()?);
            let dotted = self.is(".") || self.is("::") && segments.len() == 1;
            if !dotted || !self.is_identifier_at(self.at + 1) || segments.len() > 32 {
                break;
            }
            if self.is("::") && segments[0].word.text != "global" {
                // After an extern or using alias, the following segments decide.
                segments[0].word.text.push_str("::");
            }
            self.at += 1;
        }
        Some(TypeRef::Named(segments))
    }

    fn type_segment(&mut self) -> Option<Name> {
        let mut name = self.parse_name();
        if self.is("<") && self.is_angle(self.at) {
            name.args = self.type_arguments()?;
        }
        Some(name)
    }

    /// Parses `<A, B>` at the cursor; empty positions of `<,>` are unknown types.
    pub(super) fn type_arguments(&mut self) -> Option<Vec<TypeRef>> {
        let mut args = Vec::new();
        self.at += 1;
        loop {
            if self.is("[") {
                self.skip_group();
            }
            while matches!(self.peek(), "in" | "out") {
                self.at += 1;
            }
            match self.peek() {
                "," => args.push(TypeRef::Predefined(String::new())),
                ">" => {
                    args.push(TypeRef::Predefined(String::new()));
                    self.at += 1;
                    return Some(args);
                }
                _ => {
                    args.push(self.type_ref(Around::Type)?);
                    if self.consume_token(">") {
                        return Some(args);
                    }
                }
            }
            if !self.consume_token(",") {
                return None;
            }
        }
    }

    fn tuple_type(&mut self) -> Option<TypeRef> {
        let close = self.mate(self.at)?;
        let parts = self.inside(|cursor| {
            let mut parts = Vec::new();
            while !cursor.done() {
                let kind = cursor.type_ref(Around::Type)?;
                let name = cursor.is_identifier().then(|| cursor.take_word().text);
                parts.push((name, kind));
                if !cursor.consume_token(",") && !cursor.done() {
                    return None;
                }
            }
            (parts.len() > 1).then_some(parts)
        });
        debug_assert!(self.at == close + 1);
        parts.flatten().map(TypeRef::Tuple)
    }

    fn function_pointer(&mut self) -> Option<TypeRef> {
        self.at += 2;
        while matches!(self.peek(), "managed" | "unmanaged" | "[") {
            self.skip_group();
        }
        if !self.is("<") {
            return None;
        }
        self.type_arguments().map(TypeRef::Function)
    }

    fn suffixes(&mut self, mut kind: TypeRef, around: Around) -> TypeRef {
        for _ in 0..16 {
            match self.peek() {
                "?" if around == Around::Type || self.ends_type_at(self.at + 1) => {
                    self.at += 1;
                    kind = TypeRef::Nullable(Box::new(kind));
                }
                "[" if self.empty_brackets() => {
                    self.skip_group();
                    kind = TypeRef::Array(Box::new(kind));
                }
                "*" if around == Around::Type && matches!(self.ahead(1), "" | "*" | ")" | ">" | "," | "[") => {
                    self.at += 1;
                    kind = TypeRef::Pointer(Box::new(kind));
                }
                "*" if matches!(kind, TypeRef::Predefined(_) | TypeRef::Pointer(_)) => {
                    self.at += 1;
                    kind = TypeRef::Pointer(Box::new(kind));
                }
                _ => break,
            }
        }
        kind
    }

    fn ends_type_at(&self, index: usize) -> bool {
        matches!(
            self.text_at(index),
            ")" | ";" | "," | "]" | "}" | ">" | "&&" | "||" | "==" | "!=" | "??" | "[" | ""
        )
    }

    fn empty_brackets(&self) -> bool {
        let mut at = self.at + 1;
        while self.text_at(at) == "," {
            at += 1;
        }
        self.text_at(at) == "]"
    }
}
