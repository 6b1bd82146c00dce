//! The language of filters (seed 000 §10.1): parses a text into an expression, or into an error with its position.
//!
//! ```text
//! expr    = term { ("OR" | "||") term }
//! term    = factor { ["AND" | "&&"] factor }
//! factor  = {"!"} primary | {"!" "!"} "(" expr ")"
//! primary = ("namespace:" | "type:" | "access:" | "tag:" | "depends:" | "file:") token
//! token   = one or more of A–Z a–z 0–9 _ . * + ? - /
//! ```
//! `file:` and the slash are not in the seed. Keywords are case-insensitive. The parser knows no types: [`super::select`] gives primaries their
//! meaning. Filters are bounded, see below, so no filter can exhaust the stack or the time of a build.

use super::glob::{Glob, LONGEST};
use engine::values::codes::ErrorCode;
use engine::values::diagnostic::{Diagnostic, Excerpt};
use engine::values::suggest::nearest;
use std::fmt;

/// Maximum size of a filter, in bytes.
pub const MOST_BYTES: usize = 16 << 10;
/// Maximum number of primaries in a filter.
pub const MOST_PRIMARIES: usize = 256;
/// Maximum nesting of parentheses.
pub const DEEPEST: usize = 64;
/// Maximum characters of a filter shown in a message.
const SHOWN: usize = 80;
/// File name in the place of an error in a filter.
pub const PLACE: &str = "filter";

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Filter {
    /// Its expression, in which numbers refer to `primaries`.
    pub root: Expr,
    /// Its primaries in source order.
    pub primaries: Vec<Primary>,
}

/// An expression over primaries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Expr {
    /// At least one of them.
    Any(Vec<Expr>),
    All(Vec<Expr>),
    /// A primary, by its number, or its negation.
    Is {
        primary: usize,
        not: bool,
    },
}

impl Expr {
    /// Returns the numbers of the negated primaries.
    pub fn excluding(&self) -> Vec<usize> {
        self.primaries(true)
    }

    /// Returns the numbers of the primaries that are not negated.
    pub fn including(&self) -> Vec<usize> {
        self.primaries(false)
    }

    fn primaries(&self, negated: bool) -> Vec<usize> {
        match self {
            Self::Any(parts) | Self::All(parts) => parts.iter().flat_map(|part| part.primaries(negated)).collect(),
            Self::Is { primary, not } => (*not == negated).then_some(*primary).into_iter().collect(),
        }
    }
}

/// Property of a type that a primary tests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Field {
    Namespace,
    Type,
    Access,
    Tag,
    Depends,
    File,
}

const FIELDS: [(&str, Field); 6] = [
    ("namespace", Field::Namespace),
    ("type", Field::Type),
    ("access", Field::Access),
    ("tag", Field::Tag),
    ("depends", Field::Depends),
    ("file", Field::File),
];

/// `type:Node*`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Primary {
    pub field: Field,
    pub token: String,
    /// The token as a pattern.
    pub glob: Glob,
    /// Byte offset of the token in the filter.
    pub at: usize,
}

impl fmt::Display for Primary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = FIELDS.iter().find(|(_, field)| *field == self.field).map_or("", |(name, _)| name);
        write!(f, "{name}:{}", self.token)
    }
}

/// Error in a filter: invalid syntax, or an unknown name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct InvalidFilter {
    pub message: String,
    /// Byte offset.
    pub at: usize,
    /// Length in bytes of the invalid text.
    pub len: usize,
    pub hint: String,
    /// Likely intended names, best first.
    pub candidates: Vec<String>,
}

impl InvalidFilter {
    pub(super) fn new(at: usize, len: usize, message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            at,
            len,
            hint: hint.into(),
            candidates: Vec::new(),
        }
    }

    /// Converts the error to a diagnostic with the seed's code. The place is in the filter, which counts as one line; columns count characters.
    pub fn diagnostic(&self, filter: &str) -> Diagnostic {
        let column = filter.get(..self.at).unwrap_or(filter).chars().count();
        let all: Vec<char> = filter.chars().collect();
        let from = column.saturating_sub(SHOWN / 2).min(all.len());
        let shown = all[from..].iter().take(SHOWN);
        let text: String = shown.map(|c| if c.is_control() { ' ' } else { *c }).collect();
        let meant = filter.get(self.at..self.at + self.len).unwrap_or_default();
        let small = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
        let excerpt = Excerpt {
            text,
            start: small(column - from),
            len: small(meant.chars().count().clamp(1, SHOWN)),
        };
        let diagnostic = Diagnostic::error(ErrorCode::InvalidFilter, self.message.clone())
            .at(PLACE, 1, small(column + 1))
            .hint(self.hint.clone())
            .candidates(self.candidates.clone());
        Diagnostic {
            excerpt: Some(excerpt),
            ..diagnostic
        }
    }
}

/// Parses a filter. Errors: the first error, or the exceeded limit.
pub fn parse_filter(text: &str) -> Result<Filter, InvalidFilter> {
    if text.len() > MOST_BYTES {
        let message = format!("a filter has at most {} KiB", MOST_BYTES >> 10);
        return Err(InvalidFilter::new(0, 0, message, "name many things by a wildcard or a tag"));
    }
    let mut parser = Parser {
        text,
        at: 0,
        depth: 0,
        primaries: Vec::new(),
    };
    let root = parser.expr()?;
    match parser.peek() {
        Token::End => Ok(Filter {
            root,
            primaries: parser.primaries,
        }),
        Token::Close => Err(parser.error_here("this parenthesis closes no other", "remove it, or write a '(' before")),
        _ => Err(parser.odd()),
    }
}

const PRIMARY_HINT: &str = "write one of namespace:NAME, type:NAME, access:LEVEL, tag:NAME, depends:NAME and file:PATH";

/// The next token.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Token {
    Open,
    Close,
    Not,
    And,
    Or,
    /// Letters and other token characters, up to the next space, parenthesis or operator.
    Word,
    /// A character that no filter contains.
    Odd,
    End,
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
    primaries: Vec<Primary>,
}

impl<'a> Parser<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    /// Skips spaces and returns the kind of the next token.
    fn peek(&mut self) -> Token {
        let rest = self.rest();
        self.at += rest.len() - rest.trim_start().len();
        let rest = self.rest();
        match rest.chars().next() {
            None => Token::End,
            Some('(') => Token::Open,
            Some(')') => Token::Close,
            Some('!') => Token::Not,
            _ if rest.starts_with("&&") => Token::And,
            _ if rest.starts_with("||") => Token::Or,
            Some(c) if in_token(c) => match self.next_word() {
                word if word.eq_ignore_ascii_case("and") => Token::And,
                word if word.eq_ignore_ascii_case("or") => Token::Or,
                _ => Token::Word,
            },
            Some(_) => Token::Odd,
        }
    }

    /// Returns the next word, including a colon and the text after it.
    fn next_word(&self) -> &'a str {
        let rest = self.rest();
        let end = rest.find(|c: char| !in_token(c) && c != ':').unwrap_or(rest.len());
        &rest[..end]
    }

    fn skip(&mut self) {
        let len = match self.rest().as_bytes() {
            [b'&', b'&', ..] | [b'|', b'|', ..] => 2,
            [b'(' | b')' | b'!', ..] => 1,
            _ => self.next_word().len(),
        };
        self.at += len;
    }

    fn error_here(&self, message: &str, hint: &str) -> InvalidFilter {
        let rest = self.rest();
        let len = rest.find(char::is_whitespace).unwrap_or(rest.len());
        InvalidFilter::new(self.at, len, message, hint)
    }

    /// Returns the error for text that is valid nowhere in a filter.
    fn odd(&self) -> InvalidFilter {
        let hint =
            "join by AND (&&) and OR (||); names contain letters from A to Z, digits and _ . + - /, write ? or * for any other character";
        self.error_here("this is not part of a filter", hint)
    }

    fn expr(&mut self) -> Result<Expr, InvalidFilter> {
        let mut terms = vec![self.term()?];
        while self.peek() == Token::Or {
            self.skip();
            terms.push(self.term()?);
        }
        Ok(unwrap_single(terms, Expr::Any))
    }

    fn term(&mut self) -> Result<Expr, InvalidFilter> {
        let mut factors = vec![self.factor()?];
        loop {
            match self.peek() {
                Token::And => self.skip(),
                Token::Open | Token::Not | Token::Word => {}
                _ => return Ok(unwrap_single(factors, Expr::All)),
            }
            factors.push(self.factor()?);
        }
    }

    fn factor(&mut self) -> Result<Expr, InvalidFilter> {
        match self.peek() {
            Token::Open => self.group(),
            Token::Not => {
                let mut not = false;
                // Double negation cancels out.
                while self.peek() == Token::Not {
                    self.skip();
                    not = !not;
                }
                match self.peek() {
                    Token::Word => self.primary(not),
                    Token::Open if !not => self.group(),
                    Token::Open => Err(self.error_here(
                        "a '!' precedes one primary, not a parenthesis",
                        "negate each part: instead of !(a or b) write !a !b, instead of !(a b) write !a or !b",
                    )),
                    _ => Err(self.error_here("nothing follows this '!'", PRIMARY_HINT)),
                }
            }
            Token::Word => self.primary(false),
            Token::And | Token::Or => Err(self.error_here("nothing precedes this word", "write what it joins on both sides")),
            Token::Close => Err(self.error_here("nothing precedes this parenthesis", PRIMARY_HINT)),
            Token::End => Err(self.error_here("the filter ends where a name must follow", PRIMARY_HINT)),
            Token::Odd => Err(self.odd()),
        }
    }

    fn group(&mut self) -> Result<Expr, InvalidFilter> {
        let open = self.at;
        if self.depth == DEEPEST {
            let message = format!("parentheses are nested more than {DEEPEST} deep");
            return Err(self.error_here(&message, "remove those that are not needed"));
        }
        self.skip();
        self.depth += 1;
        let inner = self.expr()?;
        self.depth -= 1;
        match self.peek() {
            Token::Close => self.skip(),
            Token::End => return Err(InvalidFilter::new(open, 1, "this parenthesis is not closed", "write a ')' for it")),
            _ => return Err(self.odd()),
        }
        Ok(inner)
    }

    fn primary(&mut self, not: bool) -> Result<Expr, InvalidFilter> {
        let word = self.next_word();
        let Some((name, token)) = word.split_once(':') else {
            let hint = format!(
                "write type:{}, or namespace:, access:, tag:, depends: or file: before it",
                shortened(word)
            );
            return Err(InvalidFilter::new(self.at, word.len(), "a name needs a prefix", hint));
        };
        let Some(&(_, field)) = FIELDS.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)) else {
            let known = FIELDS.map(|(name, _)| name);
            let near = nearest(name, known.into_iter(), 3);
            let hint = match near.first() {
                Some(best) => format!("did you mean '{best}:'?"),
                None => PRIMARY_HINT.to_owned(),
            };
            let message = format!("there is no '{}:' in filters", shortened(name));
            let mut error = InvalidFilter::new(self.at, name.len(), message, hint);
            error.candidates = near;
            return Err(error);
        };
        let at = self.at + name.len() + 1;
        if token.is_empty() || token.contains(':') {
            let message = format!("'{}:' is followed by a name", name.to_ascii_lowercase());
            let hint = "write it without a space, such as type:Node*; names contain letters from A to Z, digits and _ . + - /, and the wildcards * and ?";
            return Err(InvalidFilter::new(at, token.len(), message, hint));
        }
        if token.len() > LONGEST {
            let message = format!("a name has at most {LONGEST} characters");
            return Err(InvalidFilter::new(at, token.len(), message, "use a wildcard"));
        }
        if self.primaries.len() == MOST_PRIMARIES {
            let message = format!("a filter has at most {MOST_PRIMARIES} names");
            return Err(InvalidFilter::new(
                self.at,
                word.len(),
                message,
                "name many things by a wildcard or a tag",
            ));
        }
        self.primaries.push(Primary {
            field,
            token: token.to_owned(),
            glob: Glob::new(token),
            at,
        });
        self.at += word.len();
        let primary = self.primaries.len() - 1;
        Ok(Expr::Is { primary, not })
    }
}

fn in_token(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '*' | '+' | '?' | '-' | '/')
}

fn shortened(word: &str) -> String {
    word.chars().take(40).collect()
}

/// Returns the single element of a list, or the joined list.
fn unwrap_single(mut list: Vec<Expr>, many: fn(Vec<Expr>) -> Expr) -> Expr {
    if list.len() == 1 { list.remove(0) } else { many(list) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Returns an expression as parsed, with all parentheses.
    fn parsed_text(filter: &str) -> String {
        fn of(expr: &Expr, primaries: &[Primary]) -> String {
            let list = |parts: &[Expr], word: &str| {
                let parts: Vec<String> = parts.iter().map(|part| of(part, primaries)).collect();
                format!("({})", parts.join(word))
            };
            match expr {
                Expr::Any(parts) => list(parts, " | "),
                Expr::All(parts) => list(parts, " & "),
                Expr::Is { primary, not } => {
                    let Primary { field, token, .. } = &primaries[*primary];
                    format!("{}{field:?}={token}", if *not { "!" } else { "" })
                }
            }
        }
        match parse_filter(filter) {
            Ok(Filter { root, primaries }) => of(&root, &primaries),
            Err(error) => {
                let place = error.diagnostic(filter).place.expect("a place");
                format!("{}:{} {} ({})", place.line, place.column, error.message, error.hint)
            }
        }
    }

    #[test]
    fn filters_parse_to_their_meaning() {
        for (filter, meaning) in [
            ("type:A", "Type=A"),
            ("type:A type:B", "(Type=A & Type=B)"),
            ("type:A and type:B AND !access:public", "(Type=A & Type=B & !Access=public)"),
            ("type:A or type:B type:C", "(Type=A | (Type=B & Type=C))"),
            ("(type:A||type:B)&&tag:x", "((Type=A | Type=B) & Tag=x)"),
            ("! type:A", "!Type=A"),
            ("!!type:A !! !type:B", "(Type=A & !Type=B)"),
            ("!!(type:A)", "Type=A"),
            ("depends:A.B+C* OR (namespace:N.*)", "(Depends=A.B+C* | Namespace=N.*)"),
            ("TYPE:or Or\ntype:and", "(Type=or | Type=and)"),
            ("((((type:A))))", "Type=A"),
        ] {
            assert_eq!(parsed_text(filter), meaning, "{filter}");
        }
    }

    #[test]
    fn errors_in_filters_name_their_place() {
        let cases = [
            "", "type:A or", "and type:A", "NodeStore", "type:", "type: A", "tpye:A", "color:red", "type:A)", "(type:A",
            "type:A (\n type:B", "type:A\n && type", "()", "!(type:A)", "!!!(type:A)", "!", "type:A & type:B", "(type:A & type:B)",
            "type:日本", "type:List`1", "type:a:b",
        ];
        // Hints that several cases share.
        let name_hint = "write it without a space, such as type:Node*; names contain letters from A to Z, digits and _ . + - /, and the wildcards * and ?";
        let odd_hint =
            "join by AND (&&) and OR (||); names contain letters from A to Z, digits and _ . + - /, write ? or * for any other character";
        let messages = cases.map(|case| format!("{case:?} → {}", parsed_text(case)));
        let messages = messages
            .join("\n")
            .replace(PRIMARY_HINT, "PRIM")
            .replace(name_hint, "NAME")
            .replace(odd_hint, "ODD");
        insta::assert_snapshot!(messages, @r#"
        "" → 1:1 the filter ends where a name must follow (PRIM)
        "type:A or" → 1:10 the filter ends where a name must follow (PRIM)
        "and type:A" → 1:1 nothing precedes this word (write what it joins on both sides)
        "NodeStore" → 1:1 a name needs a prefix (write type:NodeStore, or namespace:, access:, tag:, depends: or file: before it)
        "type:" → 1:6 'type:' is followed by a name (NAME)
        "type: A" → 1:6 'type:' is followed by a name (NAME)
        "tpye:A" → 1:1 there is no 'tpye:' in filters (did you mean 'type:'?)
        "color:red" → 1:1 there is no 'color:' in filters (PRIM)
        "type:A)" → 1:7 this parenthesis closes no other (remove it, or write a '(' before)
        "(type:A" → 1:1 this parenthesis is not closed (write a ')' for it)
        "type:A (\n type:B" → 1:8 this parenthesis is not closed (write a ')' for it)
        "type:A\n && type" → 1:12 a name needs a prefix (write type:type, or namespace:, access:, tag:, depends: or file: before it)
        "()" → 1:2 nothing precedes this parenthesis (PRIM)
        "!(type:A)" → 1:2 a '!' precedes one primary, not a parenthesis (negate each part: instead of !(a or b) write !a !b, instead of !(a b) write !a or !b)
        "!!!(type:A)" → 1:4 a '!' precedes one primary, not a parenthesis (negate each part: instead of !(a or b) write !a !b, instead of !(a b) write !a or !b)
        "!" → 1:2 nothing follows this '!' (PRIM)
        "type:A & type:B" → 1:8 this is not part of a filter (ODD)
        "(type:A & type:B)" → 1:9 this is not part of a filter (ODD)
        "type:日本" → 1:6 'type:' is followed by a name (NAME)
        "type:List`1" → 1:10 this is not part of a filter (ODD)
        "type:a:b" → 1:6 'type:' is followed by a name (NAME)
        "#);
    }

    #[test]
    fn nothing_exhausts_the_stack_or_the_time() {
        let deep = |levels: usize| format!("{}type:A{}", "(".repeat(levels), ")".repeat(levels));
        assert!(parse_filter(&deep(DEEPEST)).is_ok());
        for (filter, message) in [
            (deep(DEEPEST + 1), "are nested more than"),
            ("(".repeat(10_000), "are nested more than"),
            (deep(10_000), "at most 16 KiB"),
            ("!".repeat(10_000), "nothing follows"),
            ("type:A ".repeat(1_000), "at most 256 names"),
            ("x".repeat(1 << 20), "at most 16 KiB"),
            (format!("type:{}", "*a".repeat(1_000)), "at most 256 characters"),
        ] {
            let error = parse_filter(&filter).expect_err("a limit");
            assert!(error.message.contains(message), "{error:?}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_a_filter_or_told_at_its_place(text in r"([a-z:()!&| *?\n]|type:|or|é){0,30}") {
            if let Err(error) = parse_filter(&text) {
                let diagnostic = error.diagnostic(&text);
                let place = diagnostic.place.expect("a place");
                prop_assert!(place.line >= 1 && place.column >= 1);
                prop_assert!(text.is_char_boundary(error.at));
                let excerpt = diagnostic.excerpt.expect("an excerpt");
                prop_assert!(excerpt.start as usize <= excerpt.text.chars().count());
            }
        }
    }
}
