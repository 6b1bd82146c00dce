//! Code that `#if` excludes, in which no name is bound: the type around each token, and names that certainly declare something or are members of that
//! type.

use producers::csharp::keywords::{is_predefined, is_reserved};
use producers::csharp::lexer::{Kind, Token};
use std::ops::Range;

/// Words before an expression that are not reserved.
const BEFORE_EXPRESSIONS: [&str; 19] = [
    "and", "ascending", "async", "await", "by", "descending", "equals", "from", "group", "into", "join", "let", "not", "on", "or",
    "orderby", "select", "when", "where",
];

/// The tokens of a text with all branches of its directives.
pub(super) struct ExcludedCode<'t> {
    text: &'t str,
    /// The text with directives and excluded code blanked.
    compiled: &'t str,
    tokens: &'t [Token],
    /// The tokens of each directive.
    directives: Vec<Range<usize>>,
    /// By token, the token with the name of the innermost type around it; `None` where that is not known.
    around: Vec<Option<usize>>,
}

/// The types around a place while tokens are read.
#[derive(Clone, Default, PartialEq)]
struct Open {
    /// For each open brace, the name of the innermost type.
    braces: Vec<Option<usize>>,
    /// Name of the type whose header is read.
    header: Option<usize>,
}

/// A section of branches: what is open at its `#if`, and at the end of its first branch.
struct Section {
    start: Open,
    end: Option<Open>,
}

impl Section {
    /// Ends a branch; whether it leaves the same open as the first one.
    fn end_branch(&mut self, open: &Open) -> bool {
        *self.end.get_or_insert_with(|| open.clone()) == *open
    }
}

impl<'t> ExcludedCode<'t> {
    /// Reads the tokens of a text.
    pub(super) fn of_tokens(text: &'t str, compiled: &'t str, tokens: &'t [Token]) -> Self {
        let mut code = Self {
            text,
            compiled,
            tokens,
            directives: Vec::new(),
            around: vec![None; tokens.len()],
        };
        let mut at = 0;
        while at < tokens.len() {
            let end = if code.text_at(at) == "#" { code.end_of_line(at) } else { at };
            if end > at {
                code.directives.push(at..end);
            }
            at = end.max(at + 1);
        }
        code.around = code.types_around();
        code
    }

    /// Returns the name of the innermost type around each token, up to a directive behind which branches leave different braces open.
    fn types_around(&self) -> Vec<Option<usize>> {
        let mut around = vec![None; self.tokens.len()];
        let (mut open, mut sections) = (Open::default(), Vec::new());
        let mut directives = self.directives.iter().peekable();
        let mut at = 0;
        while at < self.tokens.len() {
            if let Some(directive) = directives.next_if(|directive| directive.start == at) {
                if !self.follow_branch(at, &mut open, &mut sections) {
                    break;
                }
                at = directive.end;
                continue;
            }
            around[at] = open.braces.last().copied().flatten();
            match self.text_at(at) {
                "{" => open.braces.push(open.header.take().or(around[at])),
                "}" => _ = open.braces.pop(),
                ";" => open.header = None,
                "class" | "struct" | "interface" | "record" | "enum"
                    if self.is_word(at + 1) && !matches!(self.text_before(at), ":" | ",") =>
                {
                    let is_second = matches!(self.text_at(at + 1), "class" | "struct");
                    open.header = Some(at + 1 + usize::from(is_second));
                }
                _ => {}
            }
            at += 1;
        }
        around
    }

    /// Follows the directive at a token; whether what is open behind it is known.
    fn follow_branch(&self, at: usize, open: &mut Open, sections: &mut Vec<Section>) -> bool {
        match (self.text_at(at + 1), sections.last_mut()) {
            ("if", _) => {
                // A base that only one branch lists is not known.
                open.header = open.header.map(|_| at);
                sections.push(Section {
                    start: open.clone(),
                    end: None,
                });
                true
            }
            ("elif" | "else", Some(section)) => {
                let is_same = section.end_branch(open);
                open.clone_from(&section.start);
                is_same
            }
            ("endif", Some(section)) => {
                // Without `#else`, all of the section may be missing.
                let is_same = section.end_branch(open) && section.start == *open;
                sections.pop();
                is_same
            }
            _ => true,
        }
    }

    /// Whether a token is a part of a directive.
    pub(super) fn is_of_directive(&self, at: usize) -> bool {
        let before = self.directives.partition_point(|directive| directive.start <= at);
        before.checked_sub(1).is_some_and(|before| self.directives[before].contains(&at))
    }

    /// Whether a token is not compiled.
    pub(super) fn is_excluded(&self, at: usize) -> bool {
        let range = self.tokens[at].start as usize..self.tokens[at].end as usize;
        self.compiled.get(range.clone()) != self.text.get(range)
    }

    /// Returns the name of the innermost type around a token, if it is known. Excluded code may declare a type again with other bases.
    pub(super) fn type_around(&self, at: usize) -> Option<&'t str> {
        let name = self.around[at].filter(|name| !self.is_excluded(*name))?;
        Some(self.text_at(name).trim_start_matches('@'))
    }

    /// Whether the word is certainly the name of a member, local or parameter that the code declares.
    pub(super) fn is_declared(&self, at: usize) -> bool {
        let (before, next) = (self.text_before(at), self.text_at(at + 1));
        if at > 0 && self.is_word(at - 1) {
            return is_predefined(before) || !is_reserved(before) && !BEFORE_EXPRESSIONS.contains(&before);
        }
        match before {
            "]" => matches!(next, "(" | "{" | ";" | "=" | ","),
            // In an expression, `>` and `?` are operators.
            ">" | "?" => next == "{",
            _ => false,
        }
    }

    /// Whether the word is written behind `this.` or `base.`.
    pub(super) fn is_of_this(&self, at: usize) -> bool {
        at > 1 && self.text_before(at) == "." && matches!(self.text_before(at - 1), "this" | "base")
    }

    fn text_at(&self, at: usize) -> &'t str {
        self.tokens.get(at).map_or("", |token| token.text(self.text))
    }

    fn text_before(&self, at: usize) -> &'t str {
        at.checked_sub(1).map_or("", |before| self.text_at(before))
    }

    fn is_word(&self, at: usize) -> bool {
        self.tokens.get(at).is_some_and(|token| token.kind == Kind::Word)
    }

    /// Returns the first token behind the line of a token.
    fn end_of_line(&self, at: usize) -> usize {
        let start = self.tokens[at].start as usize;
        let end = self.text[start..].find('\n').map_or(self.text.len(), |length| start + length);
        at + self.tokens[at..].iter().take_while(|token| (token.start as usize) < end).count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use producers::csharp::lexer::lex;
    use producers::csharp::preprocess::blank;
    use std::collections::BTreeSet;

    fn code_at(text: &str, name: &str) -> (Option<String>, bool, bool) {
        let (tokens, compiled) = (lex(text).tokens, blank(text, &BTreeSet::new()));
        let code = ExcludedCode::of_tokens(text, &compiled, &tokens);
        let at = tokens.iter().position(|token| token.text(text) == name).expect("the name");
        (code.type_around(at).map(str::to_owned), code.is_declared(at), code.is_of_this(at))
    }

    #[test]
    fn declarations_and_members_of_this_are_told_from_other_names() {
        for (member, is_declared, is_of_this) in [
            ("int X(int a) { }", true, false),
            ("void X();", true, false),
            ("N.Q X { get; }", true, false),
            ("int[] X;", true, false),
            ("List<int> X { get; }", true, false),
            ("int? X { get; }", true, false),
            ("int A => this.X(1);", false, true),
            ("int A => base.X;", false, true),
            ("int A => q.X;", false, false),
            ("int A() { return X(1); }", false, false),
            ("async void A() { await X(1); }", false, false),
            ("bool A => 1 > X(1);", false, false),
            ("int A => b ? X : 2;", false, false),
            ("int A => X(1);", false, false),
            ("object A => new X(1);", false, false),
        ] {
            let text = format!("class C {{\n#if OLD\n{member}\n#endif\n}}\n");
            assert_eq!(code_at(&text, "X"), (Some("C".to_owned()), is_declared, is_of_this), "{member}");
        }
    }

    #[test]
    fn the_type_around_a_name_is_unknown_where_branches_differ() {
        let around = |text: &str| code_at(text, "X").0;
        assert_eq!(
            around("class A { class B<T> where T : class, new() { } void X() { } }").as_deref(),
            Some("A")
        );
        assert_eq!(around("record struct R(int A) { int X; }").as_deref(), Some("R"));
        assert_eq!(
            around("class A {\n#if Q\nclass B { }\n#elif R\nclass C { }\n#else\nclass D { }\n#endif\nint X; }").as_deref(),
            Some("A")
        );
        assert_eq!(
            around("#if !Q\nclass A {\n#if R\nint X;\n#endif\n}\n#endif\n").as_deref(),
            Some("A")
        );
        assert_eq!(around("class A {\n#if Q\nclass B { X a; }\n#endif\n}"), None);
        assert_eq!(around("class A {\n#region class E {\n#endregion\nint X; }").as_deref(), Some("A"));
        assert_eq!(around("#if Q\nclass A {\n#else\nclass A : B {\n#endif\nint X; }").as_deref(), None);
        assert_eq!(around("class A\n#if Q\n : B\n#endif\n{ int X; }"), None);
        assert_eq!(around("int X;"), None);
        let text = "class A {\n#if X\nint Y;\n#endif\n}";
        let (tokens, compiled) = (lex(text).tokens, blank(text, &BTreeSet::new()));
        let code = ExcludedCode::of_tokens(text, &compiled, &tokens);
        let parts: Vec<&str> = (0..tokens.len())
            .filter(|at| code.is_of_directive(*at))
            .map(|at| code.text_at(at))
            .collect();
        assert_eq!(parts, ["#", "if", "X", "#", "endif"]);
    }
}
