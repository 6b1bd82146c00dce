//! Decides which words of a declaration name a type (not the declared name or a parameter's), and finds the qualifiers of a nested type's name.

use super::lexer::{Kind, Token, lex};
use super::types::symbol_of;
use std::ops::Range;

/// Tokens of declarations, with their text.
#[derive(Clone, Copy)]
pub struct Words<'t> {
    pub text: &'t str,
    pub tokens: &'t [Token],
}

impl<'t> Words<'t> {
    /// Returns the text of a token; empty past the end.
    fn text_of_token(self, at: usize) -> &'t str {
        self.tokens.get(at).map_or("", |token| token.text(self.text))
    }

    /// Returns the word at a token, without `@`; empty if the token is no word.
    pub fn identifier_at(self, at: usize) -> &'t str {
        let text = self.text_of_token(at);
        match self.tokens.get(at).is_some_and(|token| token.kind == Kind::Word) {
            true => text.strip_prefix('@').unwrap_or(text),
            false => "",
        }
    }

    /// Whether a word is the name of a parameter or of a tuple element: it follows a type.
    pub fn is_name_of_parameter(self, at: usize) -> bool {
        const MODIFIERS: [&str; 7] = ["in", "out", "params", "readonly", "ref", "scoped", "this"];
        let before = at.checked_sub(1).map_or("", |before| self.text_of_token(before));
        let is_word = at.checked_sub(1).is_some_and(|before| !self.identifier_at(before).is_empty());
        let is_behind_type = matches!(before, ">" | ">>" | "]" | "?" | "*" | ")") || is_word && !MODIFIERS.contains(&before);
        matches!(self.text_of_token(at + 1), "," | ")" | "=" | "]") && is_behind_type
    }

    /// Whether a type's name at a token calls a constructor: the name of a base with arguments, or of an attribute. `first` is the first token
    /// of the declaration.
    pub fn is_constructed(self, at: usize, first: usize) -> bool {
        let is_converted = at.checked_sub(1).is_some_and(|before| self.text_of_token(before) == "operator");
        let next = self.text_of_token(self.after_type_arguments(at));
        next == "(" && !is_converted || matches!(next, "," | "]") && self.is_attribute(at, first)
    }

    /// Counts the type arguments written after a name.
    pub fn arity_at(self, at: usize) -> u32 {
        let arguments = at + 1..self.after_type_arguments(at);
        let mut depth = 0_usize;
        let mut commas = 0;
        for next in arguments.clone() {
            match self.text_of_token(next) {
                "<" | "(" | "[" => depth += 1,
                ">" | ")" | "]" => depth = depth.saturating_sub(1),
                ">>" => depth = depth.saturating_sub(2),
                "," if depth == 1 => commas += 1,
                _ => {}
            }
        }
        if arguments.is_empty() { 0 } else { commas + 1 }
    }

    /// Returns the token after a name and its type arguments.
    fn after_type_arguments(self, at: usize) -> usize {
        let mut depth = 0_usize;
        for next in at + 1..self.tokens.len() {
            match self.text_of_token(next) {
                "<" => depth += 1,
                ">" => depth = depth.saturating_sub(1),
                ">>" => depth = depth.saturating_sub(2),
                ";" | "{" => break,
                _ => {}
            }
            if depth == 0 {
                return if next == at + 1 { next } else { next + 1 };
            }
        }
        at + 1
    }

    /// Whether a type's name at a token is an attribute's: directly in square brackets and not followed by a name, as the type of an indexer's
    /// parameter is. `first` is the first token of the declaration.
    pub fn is_attribute(self, at: usize, first: usize) -> bool {
        let before = at.checked_sub(1).map_or("", |before| self.text_of_token(before));
        if !matches!(self.text_of_token(at + 1), "," | "]" | "(" | "<") || !matches!(before, "[" | ":" | "," | "." | "::") {
            return false;
        }
        let mut depth = 0_usize;
        for before in (first..at).rev() {
            match self.text_of_token(before) {
                ")" | "]" | "}" => depth += 1,
                "(" | "[" | "{" if depth > 0 => depth -= 1,
                bracket @ ("(" | "[" | "{" | "<") if depth == 0 => return bracket == "[",
                _ => {}
            }
        }
        false
    }

    /// Returns the token of the name that a member or delegate declares: the last such word outside all brackets, before constraints and
    /// initializers.
    pub fn declared_by_member(self, header: Range<usize>, name: &str) -> Option<usize> {
        let (mut depth, mut found) = (0_usize, None);
        for at in header {
            match self.text_of_token(at) {
                "(" | "[" | "<" => depth += 1,
                ")" | "]" | ">" => depth = depth.saturating_sub(1),
                ">>" => depth = depth.saturating_sub(2),
                "where" | ":" if depth == 0 => break,
                _ if depth == 0 && self.identifier_at(at) == name => found = Some(at),
                _ => {}
            }
        }
        found
    }

    /// Returns the token of the name of the type that a header declares.
    pub fn declared_by_type(self, mut header: Range<usize>, name: &str) -> Option<usize> {
        header.find(|&at| {
            let before = at.checked_sub(1).map_or("", |before| self.identifier_at(before));
            self.identifier_at(at) == name && matches!(before, "class" | "struct" | "interface" | "enum" | "record" | "union")
        })
    }

    /// Returns the tokens of a member before its body, accessors or value.
    pub fn header_of_member(self, member: Range<usize>) -> Range<usize> {
        let mut depth = 0_usize;
        let end = member.clone().find(|&at| {
            match self.text_of_token(at) {
                "(" | "[" => depth += 1,
                ")" | "]" => depth = depth.saturating_sub(1),
                "{" | "=>" | "=" | ";" => return depth == 0,
                _ => {}
            }
            false
        });
        member.start..end.unwrap_or(member.end)
    }

    /// Returns the attribute lists on accessors, without brackets; `rest` follows the member's header.
    pub fn accessor_attributes(self, rest: Range<usize>) -> Vec<Range<usize>> {
        if self.text_of_token(rest.start) != "{" {
            return Vec::new();
        }
        let (mut depth, mut found, mut open) = (0_usize, Vec::new(), None);
        for at in rest.start + 1..rest.end {
            match self.text_of_token(at) {
                "[" if depth == 0 && matches!(self.text_of_token(at - 1), "{" | "}" | ";" | "]") => {
                    open = Some(at);
                    depth += 1;
                }
                "(" | "[" | "{" => depth += 1,
                ")" | "]" | "}" => {
                    depth = depth.saturating_sub(1);
                    found.extend(open.take_if(|_| depth == 0).map(|open| open..at + 1));
                }
                _ => {}
            }
        }
        found
    }

    /// Returns keys and tokens of the enclosing types written before a nested type's name, as `Outer` in `Outer.Inner`.
    pub fn qualifiers(self, key: &str, at: usize, first: usize) -> Vec<(String, usize)> {
        let (symbol, project) = key.split_at(symbol_of(key).len());
        let (mut symbol, mut at, mut found) = (symbol, at, Vec::new());
        while let Some((outer, _)) = symbol.rsplit_once('+') {
            let Some(dot) = at.checked_sub(1).filter(|&dot| dot > first && self.text_of_token(dot) == ".") else {
                break;
            };
            // The qualifier may have type arguments.
            let mut depth = 0_usize;
            let name = (first..dot).rev().find(|&before| {
                match self.text_of_token(before) {
                    ">" => depth += 1,
                    ">>" => depth += 2,
                    "<" => depth = depth.saturating_sub(1),
                    _ => return depth == 0,
                }
                false
            });
            let simple = outer.rsplit(['.', '+']).next().and_then(|last| last.split('`').next());
            let Some(name) = name.filter(|&name| Some(self.identifier_at(name)) == simple) else {
                break;
            };
            found.push((format!("{outer}{project}"), name));
            (symbol, at) = (outer, name);
        }
        found
    }

    /// Returns the token that identifies an operator or conversion.
    fn operator_sign(&self, header: Range<usize>) -> Option<usize> {
        let keyword = header.clone().find(|at| self.text_of_token(*at) == "operator")?;
        let before = keyword
            .checked_sub(1)
            .filter(|at| matches!(self.text_of_token(*at), "implicit" | "explicit"));
        let behind = (keyword + 1..header.end).find(|at| self.text_of_token(*at) != "checked");
        before.or(behind)
    }
}

/// Returns the byte of the name in a declaration's text, or of its first token. The name of an operator is its sign, of a conversion
/// `implicit` or `explicit`.
pub fn name_in_declaration(text: &str, name: &str, is_type: bool) -> Option<usize> {
    let tokens = lex(text).tokens;
    let words = Words { text, tokens: &tokens };
    let header = words.header_of_member(0..tokens.len());
    let is_last_of_several = |at: &usize| words.identifier_at(*at) == name && matches!(words.text_of_token(*at + 1), "," | "=" | ";");
    let found = match is_type {
        true => words.declared_by_type(header.clone(), name),
        false => None,
    };
    let found = found.or_else(|| words.operator_sign(header.clone()).filter(|_| name.starts_with("op_")));
    let found = found.or_else(|| words.declared_by_member(header, name));
    let found = found.or_else(|| (0..tokens.len()).find(is_last_of_several));
    tokens.get(found.unwrap_or(0)).map(|token| token.start as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a member's header with `^` before each word that names the type `Foo`.
    fn marked(text: &str) -> String {
        let tokens = lex(text).tokens;
        let words = Words { text, tokens: &tokens };
        let header = words.header_of_member(0..tokens.len());
        let declared = words.declared_by_member(header.clone(), "Foo");
        let is_use = |at: &usize| words.identifier_at(*at) == "Foo" && Some(*at) != declared && !words.is_name_of_parameter(*at);
        let mut marked = text.to_owned();
        for at in header.filter(is_use).collect::<Vec<_>>().into_iter().rev() {
            marked.insert(tokens[at].start as usize, '^');
        }
        marked
    }

    #[test]
    fn attributes_and_bases_with_arguments_call_constructors() {
        let text = "[Foo, Foo] [x: Foo] [Foo(1)] class A(Foo[] a) : Foo(a), I<B, Foo> [B(1, Foo), N.Foo, C]";
        let tokens = lex(text).tokens;
        let words = Words { text, tokens: &tokens };
        let is_call = |at: &usize| words.identifier_at(*at) == "Foo" && words.is_constructed(*at, 0);
        let found: Vec<u32> = (0..tokens.len()).filter(is_call).map(|at| tokens[at].start).collect();
        let expected = [1, 6, 15, 21, 48, 80];
        assert_eq!(found, expected);
    }

    #[test]
    fn the_name_of_an_operator_is_its_sign() {
        for (text, name, found) in [
            ("[A] public static V operator +(V a, V b) => a;", "op_Addition", "+("),
            ("public static V operator checked -(V a) => a;", "op_CheckedUnaryNegation", "-("),
            ("static bool operator true(V a) => true;", "op_True", "true("),
            ("public static implicit operator int(V a) => 0;", "op_Implicit", "implicit operator"),
            ("public int op_Addition() => 0;", "op_Addition", "op_Addition("),
        ] {
            let at = name_in_declaration(text, name, false).expect("a name");
            assert!(text[at..].starts_with(found), "{text}: {}", &text[at..]);
        }
    }

    #[test]
    fn attributes_of_accessors_are_found() {
        let text = "int A { [X, Y(1)] get => a[0]; [Z] [W] private set { b = [1]; [L] void Go() { } } }";
        let tokens = lex(text).tokens;
        let words = Words { text, tokens: &tokens };
        let header = words.header_of_member(0..tokens.len());
        let found = words.accessor_attributes(header.end..tokens.len());
        let text_of = |range: &Range<usize>| &text[tokens[range.start].start as usize..tokens[range.end - 1].end as usize];
        assert_eq!(found.iter().map(text_of).collect::<Vec<_>>(), ["[X, Y(1)]", "[Z]", "[W]"]);
    }

    #[test]
    fn only_words_that_name_the_type_are_uses_of_it() {
        for expected in [
            "public ^Foo Foo { get; }",
            "public ^Foo Foo(^Foo Foo, ref ^Foo other) => Foo;",
            "^Foo[] Foo<T>(int a = 1, List<^Foo> Foo = null) where T : ^Foo { }",
            "(^Foo Foo, ^Foo) Foo;",
            "public Foo(^Foo a) : base(a) { }",
            "^Foo IFoo.Foo { get; }",
            "event Action<^Foo> Foo;",
            "^Foo? Foo = new Foo();",
        ] {
            assert_eq!(marked(&expected.replace('^', "")), expected);
        }
    }

    #[test]
    fn type_arguments_are_counted() {
        for (text, arity) in [
            ("Foo, I", 0),
            ("Foo<A>, I<B, C>", 1),
            ("Foo<(A, B), C[,], I<D, E>>[] x", 3),
            ("Foo<A<B>>(1)", 1),
            ("Foo", 0),
        ] {
            let tokens = lex(text).tokens;
            assert_eq!(Words { text, tokens: &tokens }.arity_at(0), arity, "{text}");
        }
    }

    #[test]
    fn types_around_a_nested_type_are_told() {
        let text = "A.Outer<int>.Middle.Inner x";
        let tokens = lex(text).tokens;
        let words = Words { text, tokens: &tokens };
        let inner = (0..tokens.len()).find(|&at| words.identifier_at(at) == "Inner").unwrap();
        let found = words.qualifiers("A.Outer`1+Middle+Inner@P", inner, 0);
        let names: Vec<_> = found.iter().map(|(key, at)| (key.as_str(), words.identifier_at(*at))).collect();
        assert_eq!(names, [("A.Outer`1+Middle@P", "Middle"), ("A.Outer`1@P", "Outer")]);
    }
}
