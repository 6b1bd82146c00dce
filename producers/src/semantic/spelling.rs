//! Spelling of code: changes of code that mean the same, such as `new[] { a }` and `[a]`, are no changes for a summary.
//!
//! Two texts of a member are spelled differently if their tokens are equal after rewriting: collection expressions, `new()` and `default` without
//! their type, `is null`, braces around one statement, bodies of one expression, parentheses around the parameter of a lambda. A type may be left
//! out on one side only; two different types are a change.

use super::prompt_slots::{Slot, SlotKind};
use super::tokens::{Token, TokenKind, partners, tokens};
use std::collections::{BTreeMap, BTreeSet};

/// First words of statements that keep their braces.
const COMPOUND: [&str; 11] = [
    "do", "fixed", "for", "foreach", "if", "lock", "switch", "try", "unsafe", "using", "while",
];

/// A rewritten token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Spelled<'t> {
    kind: TokenKind,
    text: &'t str,
    /// The type that other spellings leave out.
    type_name: Option<&'t str>,
}

/// Rewrites the tokens of a text.
struct Speller<'t> {
    text: &'t str,
    tokens: Vec<Token<'t>>,
    partner: Vec<usize>,
    /// Closing brackets that are written as another text; an empty one is left out.
    closing: Vec<Option<&'static str>>,
    depth: usize,
    /// Whether the head of the member has ended.
    is_in_body: bool,
    spelled: Vec<Spelled<'t>>,
}

impl<'t> Speller<'t> {
    fn spell(text: &'t str) -> Vec<Spelled<'t>> {
        let tokens = tokens(text);
        let mut speller = Self {
            text,
            partner: partners(&tokens),
            closing: vec![None; tokens.len()],
            tokens,
            depth: 0,
            is_in_body: false,
            spelled: Vec::new(),
        };
        let mut at = 0;
        let mut is_expression = false;
        while at < speller.tokens.len() {
            let is_head = speller.depth == 0 && !speller.is_in_body;
            if is_head && speller.is(at, "=>") && speller.follows(at, ")") {
                (speller.is_in_body, is_expression) = (true, true);
                at += 1;
                continue;
            }
            speller.is_in_body |= is_head && (speller.is(at, "=") || speller.is(at, "=>"));
            at = speller.respell_token(at);
        }
        if is_expression {
            speller.push(";", None);
        }
        speller.spelled
    }

    fn is(&self, at: usize, text: &str) -> bool {
        self.tokens.get(at).is_some_and(|token| token.is(text))
    }

    fn is_word(&self, at: usize) -> bool {
        self.tokens.get(at).is_some_and(|token| token.kind == TokenKind::Word)
    }

    fn follows(&self, at: usize, text: &str) -> bool {
        at > 0 && self.is(at - 1, text)
    }

    fn push(&mut self, text: &'t str, type_name: Option<&'t str>) {
        let kind = if text.starts_with(char::is_alphabetic) {
            TokenKind::Word
        } else {
            TokenKind::Mark
        };
        self.spelled.push(Spelled { kind, text, type_name });
    }

    /// Returns the source between two tokens, without the second one; `None` if that is nothing.
    fn source(&self, from: usize, to: usize) -> Option<&'t str> {
        (from < to).then(|| &self.text[self.tokens[from].start..self.tokens[to - 1].end()])
    }

    /// Rewrites what begins at a token; returns the next one.
    fn respell_token(&mut self, at: usize) -> usize {
        if let Some(closing) = self.closing[at] {
            self.depth = self.depth.saturating_sub(1);
            if closing == "]" {
                self.drop_last_comma();
            }
            if !closing.is_empty() {
                self.push(closing, None);
            }
            return at + 1;
        }
        let special = match self.tokens[at].text {
            "new" => self.creation(at),
            "{" => self.braces(at),
            "(" => self.parameter(at),
            "default" if self.is(at + 1, "(") && self.partner[at + 1] < self.tokens.len() => {
                let end = self.partner[at + 1];
                self.push("default", self.source(at + 2, end));
                Some(end + 1)
            }
            "==" | "!=" if self.is(at + 1, "null") => {
                self.push("is", None);
                if self.tokens[at].text == "!=" {
                    self.push("not", None);
                }
                Some(at + 1)
            }
            _ => None,
        };
        special.unwrap_or_else(|| self.plain(at))
    }

    fn plain(&mut self, at: usize) -> usize {
        let token = self.tokens[at];
        if token.kind == TokenKind::Mark {
            match token.text {
                "(" | "[" | "{" => self.depth += 1,
                ")" | "}" => self.depth = self.depth.saturating_sub(1),
                "]" => {
                    self.depth = self.depth.saturating_sub(1);
                    self.drop_last_comma();
                }
                _ => {}
            }
        }
        self.spelled.push(Spelled {
            kind: token.kind,
            text: token.text,
            type_name: None,
        });
        at + 1
    }

    /// Leaves out the comma after the last item of a list, but not one of `[,]`.
    fn drop_last_comma(&mut self) {
        if let [.., before, last] = self.spelled[..]
            && last.text == ","
            && !matches!(before.text, "[" | ",")
        {
            self.spelled.pop();
        }
    }

    /// Writes an opening bracket of a list and, later, the closing one.
    fn open_list(&mut self, brace: usize, type_name: Option<&'t str>) -> Option<usize> {
        let end = self.partner[brace];
        *self.closing.get_mut(end)? = Some("]");
        self.depth += 1;
        self.push("[", type_name);
        Some(brace + 1)
    }

    /// Rewrites `new T[] { … }`, `new T { … }` and `new T()` as lists, and `new T(…)` without its type.
    fn creation(&mut self, at: usize) -> Option<usize> {
        let mut end = at + 1;
        let mut depth = 0_usize;
        let is_any = |speller: &Self, at: usize, marks: &[&str]| marks.iter().any(|mark| speller.is(at, mark));
        while self.is_word(end) || is_any(self, end, &[".", "<", ">", "?"]) || depth > 0 && is_any(self, end, &[",", "(", ")", "[", "]"]) {
            depth = depth + usize::from(self.is(end, "<")) - usize::from(depth > 0 && self.is(end, ">"));
            end += 1;
        }
        let type_name = self.source(at + 1, end);
        if self.is(end, "[") && self.is(end + 1, "]") && self.is(end + 2, "{") {
            return self.open_list(end + 2, type_name);
        }
        if self.is(end, "(") && self.is(end + 1, ")") {
            if self.is(end + 2, "{") {
                return self.open_list(end + 2, type_name);
            }
            self.push("[", type_name);
            self.push("]", None);
            return Some(end + 2);
        }
        if self.is(end, "{") && type_name.is_some() {
            return self.open_list(end, type_name);
        }
        let has_arguments = self.is(end, "(");
        has_arguments.then(|| {
            self.push("new", type_name);
            end
        })
    }

    /// Rewrites the braces of an array that initialises a field as a list, and leaves out those around one statement.
    fn braces(&mut self, at: usize) -> Option<usize> {
        let end = self.partner[at];
        if self.depth == 0 && self.follows(at, "=") {
            return self.open_list(at, None);
        }
        let is_statement = self.follows(at, ")") || self.follows(at, "else");
        let content = self.tokens.get(at + 1..end).filter(|_| end < self.tokens.len())?;
        let (last, others) = content.split_last()?;
        let is_one = last.is(";") && !others.iter().any(|token| token.is(";"));
        let is_compound = COMPOUND.iter().any(|word| content[0].is(word));
        if !is_statement || !is_one || is_compound {
            return None;
        }
        self.closing[end] = Some("");
        // The body of a member that returns is its expression.
        let is_member = self.depth == 0 && !self.is_in_body && end + 1 == self.tokens.len();
        let returns = is_member && content[0].is("return") && content.len() > 2;
        self.depth += 1;
        self.is_in_body |= is_member;
        Some(at + 1 + usize::from(returns))
    }

    /// Leaves out the parentheses of the only parameter of a lambda.
    fn parameter(&mut self, at: usize) -> Option<usize> {
        let is_lambda = self.is_word(at + 1) && self.is(at + 2, ")") && self.is(at + 3, "=>");
        let is_of_name = at > 0 && (self.is_word(at - 1) || self.follows(at, ">"));
        (is_lambda && !is_of_name).then(|| {
            self.plain(at + 1);
            at + 3
        })
    }
}

/// Whether two texts of a member differ in spelling only.
pub(super) fn is_same_spelled(one: &str, other: &str) -> bool {
    let [one, other] = [one, other].map(Speller::spell);
    let is_same = |(one, other): (&Spelled<'_>, &Spelled<'_>)| {
        let is_same_type = one.type_name.is_none() || other.type_name.is_none() || one.type_name == other.type_name;
        (one.kind, one.text) == (other.kind, other.text) && is_same_type
    };
    one.len() == other.len() && one.iter().zip(&other).all(is_same)
}

/// Returns the earlier texts with the present spelling of the members that differ in nothing else, and whether there are any.
pub(super) fn with_present_spelling(then: &[Slot], now: &[Slot]) -> (Vec<Slot>, bool) {
    let mut is_any = false;
    let mut slots = then.to_vec();
    for slot in slots.iter_mut().filter(|slot| slot.kind == SlotKind::Code) {
        let Some(present) = now.iter().find(|other| other.kind == slot.kind && other.key == slot.key) else {
            continue;
        };
        let (before, after) = (only_pieces(slot), only_pieces(present));
        let is_respelled = |(name, old): &(&str, &str)| after.get(name).is_some_and(|new| old != new && is_same_spelled(old, new));
        let respelled: BTreeSet<String> = before.into_iter().filter(is_respelled).map(|(name, _)| name.to_owned()).collect();
        is_any |= !respelled.is_empty();
        for (name, text) in slot.pieces.iter_mut().filter(|(name, _)| respelled.contains(name)) {
            after[name.as_str()].clone_into(text);
        }
    }
    (slots, is_any)
}

/// Returns the pieces of members that have one piece.
fn only_pieces(slot: &Slot) -> BTreeMap<&str, &str> {
    let mut pieces = BTreeMap::new();
    let mut several = BTreeSet::new();
    for (name, text) in &slot.pieces {
        if pieces.insert(name.as_str(), text.as_str()).is_some() {
            several.insert(name.as_str());
        }
    }
    pieces.retain(|name, _| !several.contains(name));
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn spellings_of_one_meaning_are_the_same() {
        for (one, other) in [
            ("a = new[] { 1, 2, }", "a = [1, 2]"),
            ("a = new List<(int, B<C>)>()", "a = []"),
            ("a = new List<int> { 1, 2 }", "a = [1, 2]"),
            (
                "static readonly string[] a = {\n\"b\", C }",
                "static readonly string[] a = [\"b\", C]",
            ),
            ("M() { F(new object[] { a }); }", "M() { F([a]); }"),
            ("M() { F(new Dictionary<A, B>(c)); }", "M() { F(new(c)); }"),
            ("M() { var a = new A { B = 1 }; }", "M() { var a = new A() { B = 1 }; }"),
            ("M() { F(default(Token)); }", "M() { F(default); }"),
            ("M() { if (a == null) return; G(); }", "M() { if (a is null) { return; } G(); }"),
            (
                "M() { if (a != null) B(); else C(); }",
                "M() { if (a is not null) { B(); } else { C(); } }",
            ),
            ("M(int) {\nreturn a + 1;\n}", "M(int) => a + 1"),
            ("M(int) {\nG();\n}", "M(int) => G()"),
            ("M() { F((a) => a.B, c); }", "M() { F(a => a.B, c); }"),
        ] {
            assert!(is_same_spelled(one, other) && is_same_spelled(other, one), "{one} | {other}");
        }
    }

    #[test]
    fn other_meanings_are_not() {
        for (one, other) in [
            ("a = new int[] { 1 }", "a = new long[] { 1 }"),
            ("a = new A()", "a = new B()"),
            ("a = new A(1)", "a = new A(2)"),
            ("a = [1, 2]", "a = [2, 1]"),
            ("a = [1]", "a = [\"1\"]"),
            ("int[,] a", "int[] a"),
            ("M() { a = new { B }; }", "M() { a = new C { B }; }"),
            ("M() { F(default(A)); }", "M() { F(default(B)); }"),
            ("M() { if (a == null) return; }", "M() { if (a != null) return; }"),
            ("M() { if (a) { B(); C(); } }", "M() { if (a) B(); C(); }"),
            ("M() { if (a) { if (b) C(); } else D(); }", "M() { if (a) if (b) C(); else D(); }"),
            ("M(int) => a + 1", "M(int) => a + 2"),
            ("M() { G(); return 1; }", "M() => 1"),
            ("M() { F(a => a); }", "M() { F(b => b); }"),
            ("M() { F(\"new[] { 1 }\"); }", "M() { F(\"[1]\"); }"),
        ] {
            assert!(!is_same_spelled(one, other), "{one} | {other}");
        }
    }

    #[test]
    fn members_get_their_present_spelling() {
        let code = |pieces: &[(&str, &str)]| {
            let pieces = pieces.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned()));
            [Slot::new(SlotKind::Code, "N.A", pieces.collect())]
        };
        let then = code(&[("a", "a = new()"), ("b", "b = 1"), ("c", "c = new()"), ("c", "c = 2")]);
        let now = code(&[("a", "a = []"), ("b", "b = 2"), ("c", "c = []"), ("c", "c = 2")]);
        let expected = code(&[("a", "a = []"), ("b", "b = 1"), ("c", "c = new()"), ("c", "c = 2")]);
        assert_eq!(with_present_spelling(&then, &now), (expected.to_vec(), true));
        assert_eq!(with_present_spelling(&now, &now), (now.to_vec(), false));
    }

    proptest! {
        #[test]
        fn any_text_can_be_spelled(text in "(new|\\[|\\]|\\{|\\}|\\(|\\)|=>|==|null|default|return|else|;|,|a|<|>| |\"){0,30}") {
            prop_assert!(is_same_spelled(&text, &text));
        }
    }
}
