//! The head of a member's declaration: modifiers, signature and accessors.

use producers::csharp::lexer::{Token, lex};

/// A declaration without documentation, attributes and bodies.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct MemberHead {
    /// Modifiers as written.
    pub(crate) modifiers: Vec<String>,
    /// Signature on one line: `int Get<T>(int id = 0) where T : class`.
    pub(crate) text: String,
    /// Accessors of a property, indexer or event.
    pub(crate) accessors: Vec<Accessor>,
    /// Whether the member or one of its accessors has a body.
    pub(crate) has_body: bool,
}

/// An accessor, such as `private set`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Accessor {
    /// `get`, `set`, `init`, `add` or `remove`.
    pub(crate) name: String,
    /// Accessibility of the accessor with a space, `private `, if it is less accessible than the member.
    pub(crate) accessibility: String,
}

const MODIFIERS: [&str; 18] = [
    "public", "private", "protected", "internal", "static", "abstract", "virtual", "override", "sealed", "new", "async", "extern",
    "partial", "readonly", "unsafe", "required", "volatile", "const",
];

pub(crate) const ACCESSIBILITIES: [&str; 4] = ["public", "private", "protected", "internal"];

impl MemberHead {
    /// Parses the text of a declaration, from which code excluded by `#if` is already removed.
    pub(crate) fn from_declaration(text: &str) -> Self {
        let tokens = lex(text).tokens;
        let word = |at: usize| tokens.get(at).map_or("", |token| token.text(text));
        let mut at = 0;
        while word(at) == "[" {
            at = behind_brackets(text, &tokens, at);
        }
        let mut head = Self::default();
        while MODIFIERS.contains(&word(at)) {
            head.modifiers.push(word(at).to_owned());
            at += 1;
        }
        let mut end = at;
        while end < tokens.len() && !matches!(word(end), "{" | "=>" | ";" | "=") {
            end = match word(end) {
                "(" | "[" => behind_brackets(text, &tokens, end),
                _ => end + 1,
            };
        }
        head.text = on_one_line(text, &tokens[at.min(end)..end.min(tokens.len())]);
        head.has_body = matches!(word(end), "=>" | "{");
        let is_called = head.text.contains('(') && !head.text.contains("this[");
        if is_called {
            return head;
        }
        match word(end) {
            "=>" => head.accessors.push(Accessor {
                name: "get".to_owned(),
                accessibility: String::new(),
            }),
            "{" => head.read_accessors(text, &tokens, end + 1),
            _ => {}
        }
        head
    }

    fn read_accessors(&mut self, text: &str, tokens: &[Token], mut at: usize) {
        let word = |at: usize| tokens.get(at).map_or("", |token| token.text(text));
        let (mut accessibility, mut has_body) = (String::new(), false);
        while at < tokens.len() && word(at) != "}" {
            match word(at) {
                "[" => at = behind_brackets(text, tokens, at) - 1,
                one if ACCESSIBILITIES.contains(&one) => {
                    accessibility.push_str(one);
                    accessibility.push(' ');
                }
                one @ ("get" | "set" | "init" | "add" | "remove") => {
                    self.accessors.push(Accessor {
                        name: one.to_owned(),
                        accessibility: std::mem::take(&mut accessibility),
                    });
                    while at + 1 < tokens.len() && !matches!(word(at + 1), ";" | "{" | "=>") {
                        at += 1;
                    }
                    at += 1;
                    has_body |= word(at) != ";";
                    while at < tokens.len() && !matches!(word(at), ";" | "{") {
                        at += 1;
                    }
                    if word(at) == "{" {
                        at = behind_brackets(text, tokens, at) - 1;
                    }
                }
                _ => {}
            }
            at += 1;
        }
        self.has_body = has_body;
    }

    pub(crate) fn has(&self, modifier: &str) -> bool {
        self.modifiers.iter().any(|one| one == modifier)
    }

    /// Returns the declaration of the member in an interface.
    pub(crate) fn of_interface(&self) -> String {
        let accessors: Vec<String> = self
            .accessors
            .iter()
            .filter(|one| one.accessibility.is_empty() && !matches!(one.name.as_str(), "add" | "remove"))
            .map(|one| format!("{};", one.name))
            .collect();
        let unsafely = if self.has("unsafe") { "unsafe " } else { "" };
        match accessors.is_empty() {
            true => format!("{unsafely}{};", self.text),
            false => format!("{unsafely}{} {{ {} }}", self.text, accessors.join(" ")),
        }
    }
}

/// Returns the index of the token after the bracket that matches the one at `open`.
fn behind_brackets(text: &str, tokens: &[Token], open: usize) -> usize {
    let mut depth = 0_usize;
    for (at, token) in tokens.iter().enumerate().skip(open) {
        match token.text(text) {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 {
            return at + 1;
        }
    }
    tokens.len()
}

/// Joins tokens with single spaces in place of the white space, comments and line ends between them.
fn on_one_line(text: &str, tokens: &[Token]) -> String {
    let mut made = String::new();
    let mut last: Option<&Token> = None;
    for token in tokens {
        if let Some(last) = last {
            let gap = &text[last.end as usize..token.start as usize];
            let is_plain = gap.chars().all(|c| matches!(c, ' ' | '\t'));
            let is_inside = matches!(last.text(text), "(" | "[") || matches!(token.text(text), ")" | "]");
            match (is_plain, is_inside) {
                (true, _) if gap.is_empty() => {}
                (true, _) => made.push(' '),
                (false, true) => {}
                (false, false) => made.push(' '),
            }
        }
        made.push_str(token.text(text));
        last = Some(token);
    }
    made
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interface_has_the_head_alone() {
        for (text, made) in [
            (
                "[A(\"]\")] public async Task<int> M(int a = 1, [B] params string[] b) { return 1; }",
                "Task<int> M(int a = 1, [B] params string[] b);",
            ),
            (
                "public T Get<T>(\n    int a, // which\n    (int, int) b)\n    where T : class, new()\n    => null;",
                "T Get<T>(int a, (int, int) b) where T : class, new();",
            ),
            ("public int  P { get; private set; } = 3;", "int P { get; }"),
            (
                "public virtual int P { get => F(x => { return 1; }); set { P = value; } }",
                "int P { get; set; }",
            ),
            ("public string P => \"{\";", "string P { get; }"),
            ("public required int P { get; init; }", "int P { get; init; }"),
            ("public int this[int at] { get { return 1; } }", "int this[int at] { get; }"),
            ("public event Action<int> E;", "event Action<int> E;"),
            ("public event Action E { add { } remove { } }", "event Action E;"),
            ("public readonly ref readonly int M() => ref x;", "ref readonly int M();"),
            ("public unsafe int* M();", "unsafe int* M();"),
        ] {
            assert_eq!(MemberHead::from_declaration(text).of_interface(), made, "{text}");
        }
    }

    #[test]
    fn bodies_are_told_from_declarations() {
        for (text, has_body) in [
            ("int M(int a = 1);", false),
            ("int M() => 1;", true),
            ("void M() { }", true),
            ("int P { get; set; }", false),
            ("int P { get => 1; }", true),
            ("int P { get { return 1; } set; }", true),
            ("int P => 1;", true),
            ("event Action E;", false),
        ] {
            assert_eq!(MemberHead::from_declaration(text).has_body, has_body, "{text}");
        }
    }
}
