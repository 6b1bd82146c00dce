//! Canonical text of a token sequence: hashes and readers see it instead of the source's layout.
//!
//! The text is a pure function of the tokens, and lexing it gives the tokens back, so no two sequences share a text. Spacing:
//! * no space after `(` `[` `.` `::` `?.` `..` `~` `!` or a unary operator, none before `)` `]` `,` `;` `.` `::` `?.` `++` `--`;
//! * none around the brackets of type arguments, none before a nullable `?`, none between a name and `(`, `[` or `<`;
//! * none before `:` except in a conditional or a constraint, none around `->`;
//! * a space after `,` and `;`, around `{`, `}`, binary operators, `=>` and `=`, the `?` and `:` of a conditional, and between words;
//! * keywords that take an expression (`return (x)`, `if (x)`, `in (a, b)`) keep the space before a bracket;
//! * a space where two adjacent tokens would read as another token; a line end after a literal that only its line ends.
//!
//! One pass with a stack decides from the adjacent tokens whether `<` opens type arguments and whether `?` belongs to a conditional.

use super::lexer::{Kind, Token};

/// Role of a bracket, question mark or colon.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
enum Role {
    #[default]
    Plain,
    /// `<` or `>` of a type argument or type parameter list.
    Angle,
    /// `?` of a conditional expression, or its `:`.
    Conditional,
}

/// Appends the canonical text of `tokens`.
pub fn append_canonical(source: &str, tokens: &[Token], out: &mut String) {
    let roles = roles(source, tokens);
    let mut previous: Option<(usize, bool)> = None;
    for (index, token) in tokens.iter().enumerate() {
        let text = token.text(source);
        if let Some((before, unary)) = previous {
            let left = &tokens[before];
            if left.kind == Kind::Unterminated {
                out.push('\n');
            } else if names_constrained(source, tokens, index)
                || !names_operator(source, tokens, index) && is_spaced(source, (left, roles[before], unary), (token, roles[index]))
            {
                out.push(' ');
            }
        }
        out.push_str(text);
        let unary = is_unary(source, tokens, &roles, index);
        previous = Some((index, unary));
    }
}

/// Whether `index` is the colon of `where T : …`.
fn names_constrained(source: &str, tokens: &[Token], index: usize) -> bool {
    index >= 2 && tokens[index].text(source) == ":" && tokens[index - 2].text(source) == "where"
}

/// Whether `index` is the bracket after the symbol of `operator +(…)`.
fn names_operator(source: &str, tokens: &[Token], index: usize) -> bool {
    tokens[index].text(source) == "("
        && index > 1
        && tokens[index - 1].kind == Kind::Punctuation
        && (1..=4)
            .take_while(|back| *back <= index)
            .map(|back| &tokens[index - back])
            .find(|token| token.kind != Kind::Punctuation || matches!(token.text(source), "(" | ")"))
            .is_some_and(|token| token.text(source) == "operator")
}

pub fn canonical_text(source: &str, tokens: &[Token]) -> String {
    let mut out = String::with_capacity(tokens.len() * 5);
    append_canonical(source, tokens, &mut out);
    out
}

/// Returns for every token whether it is a bracket of a type argument list.
pub fn find_type_argument_brackets(source: &str, tokens: &[Token]) -> Vec<bool> {
    roles(source, tokens).into_iter().map(|role| role == Role::Angle).collect()
}

/// Finds the roles of tokens, in one pass.
struct RoleReader<'t> {
    source: &'t str,
    tokens: &'t [Token],
    roles: Vec<Role>,
    /// `<` and brackets that may still enclose type arguments; a token that no type contains clears the list.
    open: Vec<usize>,
    /// Each `?` that a `:` may complete, with its bracket depth.
    questions: Vec<(usize, u32)>,
    /// Length of `open` inside the attribute of a type parameter.
    attribute: Option<usize>,
    /// The `]` that closed the last attribute list of a type parameter; another list may follow it.
    closed: Option<usize>,
    depth: u32,
}

fn roles(source: &str, tokens: &[Token]) -> Vec<Role> {
    let mut reader = RoleReader {
        source,
        tokens,
        roles: vec![Role::Plain; tokens.len()],
        open: Vec::new(),
        questions: Vec::new(),
        attribute: None,
        closed: None,
        depth: 0,
    };
    for (index, token) in tokens.iter().enumerate() {
        if token.kind != Kind::Word {
            reader.read_symbol(index, token);
        }
    }
    reader.roles
}

impl RoleReader<'_> {
    /// Reads a token that is no word.
    fn read_symbol(&mut self, index: usize, token: &Token) {
        let first = self.source.as_bytes()[token.start as usize];
        let len = token.end - token.start;
        if self.attribute.is_some_and(|level| self.open.len() < level) {
            self.attribute = None;
        }
        // Attributes of type parameters may contain any value.
        if self.attribute.is_some() && !(len == 1 && matches!(first, b'(' | b')' | b'[' | b']')) {
            return;
        }
        if token.kind != Kind::Punctuation {
            self.open.clear();
            return;
        }
        match (first, len) {
            (b'<', 1) if index > 0 && self.tokens[index - 1].kind == Kind::Word => self.open.push(index),
            (b'<', 1) if index > 0 && is_operator_angle(self.source, self.tokens, index) => self.open.push(index),
            (b'>', 1) => self.close_angle(index),
            (b'(' | b'[', 1) => self.open_bracket(index, first),
            (b')' | b']', 1) => self.close_bracket(index, first),
            (b'?', 1) => self.questions.push((index, self.depth)),
            (b':', 1) => self.read_colon(index),
            (b',' | b';' | b'{' | b'}', 1) => self.read_separator(first),
            (b'.' | b'*', 1) | (b':', 2) => {}
            _ => self.open.clear(),
        }
    }

    fn close_angle(&mut self, index: usize) {
        if let Some(&last) = self.open.last()
            && self.source.as_bytes()[self.tokens[last].start as usize] == b'<'
        {
            self.open.pop();
            self.roles[last] = Role::Angle;
            self.roles[index] = Role::Angle;
        } else {
            self.open.clear();
        }
    }

    fn open_bracket(&mut self, index: usize, first: u8) {
        self.depth += 1;
        if !self.open.is_empty() {
            self.open.push(index);
            // After `<`, `,` or another attribute list, a `[` opens an attribute list, not an array rank.
            let before = index - 1;
            let in_list = self.closed == Some(before) || matches!(self.source.as_bytes()[self.tokens[before].start as usize], b'<' | b',');
            if first == b'[' && in_list && self.attribute.is_none() {
                self.attribute = Some(self.open.len());
            }
        }
    }

    fn close_bracket(&mut self, index: usize, first: u8) {
        self.depth = self.depth.saturating_sub(1);
        let opener = if first == b')' { b'(' } else { b'[' };
        match self.open.last() {
            Some(&last) if self.source.as_bytes()[self.tokens[last].start as usize] == opener => {
                let closes_attribute = self.attribute == Some(self.open.len());
                self.open.pop();
                self.closed = closes_attribute.then_some(index).or(self.closed);
                if closes_attribute
                    && !self
                        .tokens
                        .get(index + 1)
                        .is_some_and(|next| next.kind == Kind::Word || next.text(self.source) == "[")
                {
                    self.open.clear();
                }
            }
            _ => self.open.clear(),
        }
        while self.questions.last().is_some_and(|&(_, level)| level > self.depth) {
            self.questions.pop();
        }
    }

    /// Completes a conditional `?`.
    fn read_colon(&mut self, index: usize) {
        self.open.clear();
        if let Some(&(question, level)) = self.questions.last()
            && level == self.depth
        {
            self.questions.pop();
            self.roles[question] = Role::Conditional;
            self.roles[index] = Role::Conditional;
        }
    }

    fn read_separator(&mut self, first: u8) {
        match first {
            b'{' => self.depth += 1,
            b'}' => self.depth = self.depth.saturating_sub(1),
            _ => {}
        }
        if first != b'{' {
            while self.questions.last().is_some_and(|&(_, level)| level >= self.depth) {
                self.questions.pop();
            }
        }
        if first != b',' {
            self.open.clear();
        }
    }
}

/// Whether the `<` at `index` follows `delegate*` or `delegate* unmanaged[Cdecl]`; places such as `operator <T>` do not exist.
fn is_operator_angle(source: &str, tokens: &[Token], index: usize) -> bool {
    matches!(tokens[index - 1].text(source), "*" | "]")
        && tokens[..index].iter().rev().take(8).any(|token| token.text(source) == "delegate")
}

/// Whether the operator at `index` has no left operand.
fn is_unary(source: &str, tokens: &[Token], roles: &[Role], index: usize) -> bool {
    if tokens[index].kind != Kind::Punctuation
        || !matches!(
            tokens[index].text(source),
            "+" | "-" | "*" | "&" | "!" | "~" | "^" | "++" | "--" | ".."
        )
    {
        return false;
    }
    let Some(before) = index.checked_sub(1).map(|before| &tokens[before]) else {
        return true;
    };
    match before.kind {
        Kind::Word => takes_operand(before.text(source)),
        Kind::Punctuation => match before.text(source) {
            ")" | "]" | "}" | "++" | "--" => false,
            ">" => roles[index - 1] != Role::Angle,
            // After a nullable `?`, as in `int?*`, an operator has a left operand.
            "?" => roles[index - 1] == Role::Conditional,
            _ => true,
        },
        _ => false,
    }
}

/// Whether an expression follows the keyword.
#[rustfmt::skip]
fn takes_operand(word: &str) -> bool {
    matches!(
        word,
        "return" | "throw" | "case" | "in" | "is" | "as" | "and" | "or" | "not" | "when" | "await" | "yield" | "else"
        | "do" | "out" | "ref" | "select" | "where" | "on" | "equals" | "by" | "goto"
    )
}

/// Whether a space separates the keyword from a bracket.
#[rustfmt::skip]
fn keeps_bracket_apart(word: &str) -> bool {
    takes_operand(word)
        || matches!(
            word,
            "if" | "var" | "while" | "for" | "foreach" | "switch" | "using" | "lock" | "fixed" | "catch" | "public"
            | "private" | "protected" | "internal" | "static" | "readonly" | "params" | "scoped" | "async" | "from"
            | "let" | "join" | "with" | "const" | "virtual" | "override" | "abstract" | "sealed" | "unsafe" | "partial"
            | "required"
        )
}

fn is_spaced(source: &str, (left, left_role, unary): (&Token, Role, bool), (right, right_role): (&Token, Role)) -> bool {
    let (a, b) = (left.text(source), right.text(source));
    wants_space((left.kind, a, left_role, unary), (right.kind, b, right_role)) || glues(left.kind, a, right.kind, b)
}

fn wants_space((left, a, left_role, unary): (Kind, &str, Role, bool), (right, b, right_role): (Kind, &str, Role)) -> bool {
    if left == Kind::Unknown || right == Kind::Unknown {
        return true;
    }
    if left != Kind::Punctuation && right != Kind::Punctuation {
        return true;
    }
    if a == "operator" {
        return true;
    }
    if right == Kind::Punctuation {
        match b {
            ")" | "]" | "," | ";" | "." | "::" | "?." | "->" => return false,
            "(" | "[" if left == Kind::Word => return keeps_bracket_apart(a),
            "(" | "[" if left != Kind::Punctuation || matches!(a, ")" | "]" | "?") && left_role != Role::Conditional => return false,
            "(" | "[" if a == ">" && left_role == Role::Angle => return false,
            "<" | ">" if right_role == Role::Angle => return false,
            "?" if right_role != Role::Conditional => return false,
            "++" | "--" if left == Kind::Word || matches!(a, ")" | "]") => return left == Kind::Word && takes_operand(a),
            "!" if left == Kind::Word && !takes_operand(a) || matches!(a, ")" | "]") || left == Kind::Text => return false,
            ":" if right_role != Role::Conditional => return false,
            ".." => return left == Kind::Punctuation && matches!(a, "," | "{" | "}" | ";" | "=" | "=>"),
            "*" if left == Kind::Word && is_predefined(a) || a == "*" && !unary => return false,
            // `>` `>` of a shift and `>` `=` of a comparison are one operator.
            ">" if a == ">" && left_role != Role::Angle => return false,
            "=" if a == ">" && left_role != Role::Angle => return false,
            _ => {}
        }
    }
    if left == Kind::Punctuation {
        match a {
            "(" | "[" | "." | "::" | "?." | "->" | ".." | "~" => return false,
            "<" if left_role == Role::Angle => return false,
            "!" => return right == Kind::Punctuation && !matches!(b, "(" | "[" | "!" | "~" | "-" | "+"),
            _ if unary => return false,
            _ => {}
        }
    }
    true
}

#[rustfmt::skip]
fn is_predefined(word: &str) -> bool {
    matches!(
        word,
        "int" | "uint" | "long" | "ulong" | "short" | "ushort" | "byte" | "sbyte" | "char" | "bool" | "float" | "double"
        | "decimal" | "void" | "nint" | "nuint" | "delegate"
    )
}

/// Whether two tokens without a space between them would be read as other tokens.
fn glues(left: Kind, a: &str, right: Kind, b: &str) -> bool {
    let (Some(last), Some(first)) = (a.chars().next_back(), b.chars().next()) else {
        return false;
    };
    match (left, right) {
        (Kind::Punctuation, Kind::Punctuation) => glues_operators(last, first),
        (Kind::Punctuation, Kind::Number) => {
            if first == '.' {
                matches!(last, '.' | '?')
            } else {
                last == '.' && a != ".."
            }
        }
        (Kind::Number, Kind::Punctuation) => matches!(last, 'e' | 'E') && matches!(first, '+' | '-'),
        (Kind::Punctuation, _) | (_, Kind::Punctuation) => false,
        _ => true,
    }
}

fn glues_operators(last: char, first: char) -> bool {
    match last {
        '<' => matches!(first, '<' | '='),
        '?' => matches!(first, '?' | '.' | '='),
        '+' => matches!(first, '+' | '='),
        '-' => matches!(first, '-' | '=' | '>'),
        '&' => matches!(first, '&' | '='),
        '|' => matches!(first, '|' | '='),
        '=' => matches!(first, '=' | '>'),
        '/' => matches!(first, '/' | '*' | '='),
        '*' | '%' | '^' | '!' => first == '=',
        ':' => first == ':',
        '.' => first == '.',
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lexer::lex;
    use proptest::prelude::*;

    fn canonical(source: &str) -> String {
        canonical_text(source, &lex(source).tokens)
    }

    fn token_texts(source: &str) -> Vec<String> {
        lex(source).tokens.iter().map(|token| token.text(source).to_owned()).collect()
    }

    /// Texts that are already canonical.
    #[test]
    fn spacing() {
        for source in [
            "Dictionary<string, int> Get(string key)",
            "x => x + 1",
            "List<int>? a",
            "int[] b",
            "int?[] b",
            "a.B()",
            "a?.B?[0]!.C",
            "a ?? b",
            "a ? b : c",
            "a ? [] : [1]",
            "f(x: 1, y: -1)",
            "if (a < b && c > d) { return -x; }",
            "a >> b >= c",
            "List<List<int>> x = new List<List<int>>();",
            "where T : class, new()",
            "public static A operator +(A a, A b)",
            "x++; --y;",
            "!a && ~b",
            "a::b.C",
            "[Foo(1), Bar]",
            "var (a, b) = (1, 2);",
            "p->X",
            "int* p = &x;",
            "a[1..^2]",
            "case 1: break;",
            "x is > 3 and < 5",
            "$\"{a}\" + @\"b\" + 'c' + 1.5f",
            "foreach (var x in (a, b)) { }",
            "typeof(Dictionary<,>)",
        ] {
            assert_eq!(canonical(source), source);
        }
        assert_eq!(canonical("a /* x */ . b ( c ,d )//e\n;"), "a.b(c, d);");
    }

    proptest! {
        /// Distinct token sequences have distinct texts: lexing the text returns the tokens.
        #[test]
        fn lexing_undoes_writing(source in r#"([a-c<>=?:.,;!&|+*/%^~(){}\[\]@$"'\\#\- \n]|=>|\?\?|\.\.|::|"x"|@"|\$"|"""|1|\.5|1e|0x|é|new|where|int|operator){0,24}"#) {
            let text = canonical(&source);
            prop_assert_eq!(token_texts(&text), token_texts(&source), "{:?} -> {:?}", source, text);
        }

        #[test]
        fn layout_is_nothing(parts in proptest::collection::vec("[a-z]{1,3}|[<>(){},;.?]|=>|::", 0..30)) {
            let tight: String = parts.join(" ");
            let loose: String = parts.join(" /* c */\n\t");
            prop_assert_eq!(canonical(&tight), canonical(&loose));
        }
    }
}
