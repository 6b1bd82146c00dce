//! Symbol paths, as people write names (seed 000 §4.1): `Namespace.Type`, `Outer+Nested` or `Outer.Nested`, `Type.Member`, `Type#Member`, each with
//! or without `(parameter types)`, `` Type`1 `` or `Type<T>`, `Name@Project` where projects share a name, and `*` and `?` in names.
//!
//! A wildcard stays within its name: `*` matches no separator. Case is ignored. Type arguments count only by number, where types differ in nothing
//! else. `global::` precedes a whole name from the root namespace. A path knows no types; `resolve` resolves it.

use super::outputs::{SymbolError, Trouble};
use engine::values::case_folding::fold;
use engine::values::codes::ErrorCode;
use engine::values::diagnostic::Diagnostic;
use engine::values::label::halves;
use std::str::Chars;

/// Longest path, in characters.
pub const MOST_CHARS: usize = 1024;

/// Most wildcards in a path.
pub const MOST_WILDCARDS: usize = 32;

/// A name in a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Name as written, without type arguments; may end in an arity mark.
    pub name: String,
    /// Whether a `+` precedes the name.
    pub nested: bool,
    /// Number of written type arguments.
    pub arguments: Option<usize>,
}

/// A parsed path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SymbolPath {
    pub text: String,
    /// Whether the path begins at the root namespace: the names before `#` are then whole, not an ending.
    pub rooted: bool,
    /// The names before `#`; without a `#`, all of them, the last of which may be a member's.
    pub segments: Vec<Segment>,
    /// The text after `@`: a project or a file.
    pub scope: Option<String>,
    /// The text after `#`, without parameters.
    pub member: Option<String>,
    pub parameters: Option<Vec<String>>,
    /// The names before `#` with their scope, as written, if there are no type arguments in them.
    pub plain: Option<String>,
}

impl SymbolPath {
    /// Parses a path. Fails when it is empty, over a limit, or its brackets or names are incomplete; the error has the column.
    pub fn parse(text: &str) -> Result<Self, SymbolError> {
        let text = text.trim();
        if text.chars().nth(MOST_CHARS).is_some() {
            let why = format!(
                "a symbol has at most {MOST_CHARS} characters, this one has {}",
                text.chars().count()
            );
            return Err(syntax_error(text, 0, &why));
        }
        let whole = text.strip_prefix("global::").unwrap_or(text);
        if whole.is_empty() {
            return Err(syntax_error(text, 0, "a symbol has at least one name"));
        }
        let (head, behind) = match halves(whole) {
            Some((head, member)) => (head, Some(member)),
            None if whole.ends_with('#') => return Err(syntax_error(text, text.len(), "there is no member behind '#'")),
            None => match whole
                .find(".this[")
                .filter(|_| whole.ends_with(']'))
                .or_else(|| whole.strip_suffix(".this").map(str::len))
                .filter(|at| *at > 0)
            {
                Some(at) => (&whole[..at], Some(&whole[at + 1..])),
                None => (whole, None),
            },
        };
        let offset = text.len() - whole.len();
        let (names, scope) = split_scope(head);
        let (names, listed) = match (behind, scope) {
            (None, None) => split_parameters(names).map_err(|(at, why)| syntax_error(text, offset + at, why))?,
            _ => (names, None),
        };
        let at_member = offset + head.len() + 1;
        let (member, parameters) = match behind {
            Some(member) => {
                let member = indexer(member).unwrap_or_else(|| member.to_owned());
                let split = split_parameters(&member).map_err(|(at, why)| syntax_error(text, at_member + at, why))?;
                (Some(without_arguments(split.0)), split.1)
            }
            None => (None, listed),
        };
        let segments = segments(names).map_err(|(at, why)| syntax_error(text, offset + at, why))?;
        let plain = segments.iter().all(|segment| segment.arguments.is_none());
        let path = Self {
            plain: plain.then(|| head[..names.len() + scope.map_or(0, |scope| scope.len() + 1)].to_owned()),
            text: text.to_owned(),
            rooted: offset > 0,
            segments,
            scope: scope.map(str::to_owned),
            member,
            parameters,
        };
        let wild = |name: &str| name.bytes().filter(|byte| matches!(byte, b'*' | b'?')).count();
        let wildcards: usize = path.segments.iter().map(|segment| wild(&segment.name)).sum();
        let wildcards = wildcards + path.member.as_deref().map_or(0, wild);
        if wildcards > MOST_WILDCARDS {
            let why = format!("a symbol has at most {MOST_WILDCARDS} wildcards, this one has {wildcards}");
            return Err(syntax_error(text, 0, &why));
        }
        Ok(path)
    }

    /// Returns `Type@Project#Member` for `Type@Project.Member`; a name after `@` may contain dots, so that either may be meant.
    pub fn with_member_behind_scope(&self) -> Option<String> {
        let scope = self.scope.as_deref().filter(|_| self.member.is_none())?;
        let names = scope.split('(').next().unwrap_or(scope);
        let (owner, name) = names.rsplit_once('.')?;
        // A constructor's own name begins with a dot.
        let owner = owner.trim_end_matches('.');
        let types = self.text.strip_suffix(scope).filter(|_| !owner.is_empty() && !name.is_empty())?;
        Some(format!("{types}{owner}#{}", &scope[owner.len() + 1..]))
    }

    pub fn is_wild(&self) -> bool {
        self.segments.iter().any(|segment| is_wild(&segment.name)) || self.member.as_deref().is_some_and(is_wild)
    }
}

/// Whether a name contains a wildcard.
pub fn is_wild(name: &str) -> bool {
    name.contains(['*', '?'])
}

fn syntax_error(text: &str, at: usize, why: &str) -> SymbolError {
    let column = text.get(..at).map_or(0, |before| before.chars().count()) + 1;
    let hint = match at {
        0 => "write Namespace.Type, Type.Member, Type#Member(int) or a part of it with * and ?".to_owned(),
        _ => format!("look at column {column}"),
    };
    let shown: String = text.chars().take(120).collect();
    SymbolError::new(Trouble::Asked, Diagnostic::error(ErrorCode::E_SYMBOL, why).found(shown).hint(hint))
}

/// Splits off `@Project`. An `@` at the beginning of a name is C#'s escape of a keyword.
fn split_scope(head: &str) -> (&str, Option<&str>) {
    let mark = head
        .match_indices('@')
        .find(|(at, _)| *at > 0 && !head[..*at].ends_with(['.', '+', '<', ',', ' ', '@']));
    match mark {
        Some((at, _)) => (&head[..at], Some(&head[at + 1..])),
        None => (head, None),
    }
}

/// Converts `this[int]`, C#'s notation of indexers, to the form of keys: `this[](int)`. `this` alone means all indexers: `this[]`.
fn indexer(member: &str) -> Option<String> {
    if member == "this" || member.ends_with(".this") {
        return Some(format!("{member}[]"));
    }
    let open = member
        .to_ascii_lowercase()
        .rfind("this[")
        .filter(|at| *at == 0 || member[..*at].ends_with('.'))?;
    let inner = member[open + "this[".len()..].strip_suffix(']')?;
    (!inner.is_empty()).then(|| format!("{}this[]({inner})", &member[..open]))
}

/// A name, and its parameters if written.
type Split<'n> = (&'n str, Option<Vec<String>>);

/// Splits off `(a, b)`; the text after it (`->int` of conversions, `~2` of repeated members) is ignored.
fn split_parameters(names: &str) -> Result<Split<'_>, (usize, &'static str)> {
    let mut depth = 0_i32;
    let open = names.char_indices().find(|(at, c)| {
        depth += match c {
            '<' if *at > 0 => 1,
            '>' => -1,
            _ => 0,
        };
        *c == '(' && *at > 0 && depth <= 0
    });
    let Some((open, _)) = open else { return Ok((names, None)) };
    let inner = &names[open + 1..];
    let (mut depth, mut start, mut listed) = (0_i32, 0, Vec::new());
    for (at, c) in inner.char_indices() {
        match c {
            ')' if depth == 0 => {
                let rest = &inner[at + 1..];
                let is_repeated = rest
                    .strip_prefix('~')
                    .is_some_and(|count| count.bytes().all(|byte| byte.is_ascii_digit()));
                if !rest.is_empty() && !rest.starts_with("->") && !is_repeated {
                    return Err((open + at + 2, "nothing can follow the parameters"));
                }
                let last = inner[start..at].trim();
                if !last.is_empty() || !listed.is_empty() {
                    listed.push(normalize_spaces(last));
                }
                return Ok((&names[..open], Some(listed)));
            }
            '(' | '<' | '[' | '{' => depth += 1,
            ')' | '>' | ']' | '}' => depth -= 1,
            ',' if depth == 0 => {
                listed.push(normalize_spaces(&inner[start..at]));
                start = at + 1;
            }
            _ => {}
        }
    }
    Err((open, "the parenthesis is not closed"))
}

/// Normalizes a type: single spaces between words and none elsewhere.
fn normalize_spaces(written: &str) -> String {
    let mut text = String::with_capacity(written.len());
    for c in written.trim().chars() {
        let word = |c: char| c.is_alphanumeric() || c == '_';
        if !c.is_whitespace() {
            if text.ends_with(' ') && !(word(c) && text.trim_end().ends_with(word)) {
                text.pop();
            }
            text.push(c);
        } else if !text.ends_with(' ') {
            text.push(' ');
        }
    }
    text
}

/// Returns a member's name without type arguments; names such as `<Main>$` begin with `<` but have none.
fn without_arguments(member: &str) -> String {
    match member.find('<').filter(|at| *at > 0) {
        Some(at) if member.ends_with('>') => member[..at].to_owned(),
        _ => member.to_owned(),
    }
}

fn segments(names: &str) -> Result<Vec<Segment>, (usize, &'static str)> {
    let mut found: Vec<Segment> = Vec::new();
    let mut name = String::new();
    let (mut nested, mut arguments, mut depth, mut opened) = (false, None, 0_usize, 0);
    for (at, c) in names.char_indices() {
        match c {
            '<' if depth > 0 || !name.is_empty() => {
                if depth == 0 {
                    (opened, arguments) = (at, Some(1));
                }
                depth += 1;
            }
            '>' if depth > 0 => depth -= 1,
            ',' if depth == 1 => arguments = arguments.map(|count| count + 1),
            _ if depth > 0 => {}
            '@' if name.is_empty() => {}
            // A constructor's own name begins with a dot.
            '.' if name.is_empty() && at > 0 && matches!(&names[at..], ".ctor" | ".cctor") => name.push(c),
            '.' | '+' => {
                if name.is_empty() {
                    return Err((at, "a name is missing before this separator"));
                }
                found.push(Segment {
                    name: std::mem::take(&mut name),
                    nested,
                    arguments: arguments.take(),
                });
                nested = c == '+';
            }
            c => name.push(c),
        }
    }
    if depth > 0 {
        return Err((opened, "the bracket is not closed"));
    }
    if name.is_empty() {
        return Err((names.len(), "a name is missing at the end"));
    }
    found.push(Segment { name, nested, arguments });
    Ok(found)
}

/// A pattern of one name. Matching takes at most the product of both lengths.
#[derive(Clone, Debug)]
pub struct Glob(Vec<char>);

impl Glob {
    /// Reads `*` and `?` as wildcards.
    pub fn new(pattern: &str) -> Self {
        let mut chars: Vec<char> = pattern.chars().map(fold).collect();
        chars.dedup_by(|one, other| *one == '*' && *other == '*');
        Self(chars)
    }

    /// Whether the pattern matches all of a name; case is ignored.
    pub fn matches(&self, name: &str) -> bool {
        let (mut at, mut rest) = (0, name.chars());
        // Backtrack to the last star only: it can take whatever an earlier star could.
        let mut back: Option<(usize, Chars<'_>)> = None;
        loop {
            let mut ahead = rest.clone();
            let Some(c) = ahead.next() else {
                return self.0[at..].iter().all(|wanted| *wanted == '*');
            };
            match self.0.get(at) {
                Some('*') => {
                    at += 1;
                    back = Some((at, rest.clone()));
                }
                Some(&wanted) if wanted == '?' || wanted == fold(c) => {
                    at += 1;
                    rest = ahead;
                }
                _ => match &mut back {
                    Some((after, from)) => {
                        from.next();
                        (at, rest) = (*after, from.clone());
                    }
                    None => return false,
                },
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn shape(text: &str) -> String {
        match SymbolPath::parse(text) {
            Ok(path) => {
                let names: Vec<String> = path
                    .segments
                    .iter()
                    .map(|segment| {
                        let mark = if segment.nested { "+" } else { "" };
                        let arguments = segment.arguments.map_or(String::new(), |count| format!("<{count}>"));
                        format!("{mark}{}{arguments}", segment.name)
                    })
                    .collect();
                let scope = path.scope.map_or(String::new(), |scope| format!(" @ {scope}"));
                let member = path.member.map_or(String::new(), |member| format!(" # {member}"));
                let listed = path.parameters.map_or(String::new(), |types| format!(" ({})", types.join("; ")));
                format!("{}{scope}{member}{listed}", names.join(" "))
            }
            Err(error) => format!("{}: {}", error.diagnostic.message, error.diagnostic.hint.unwrap_or_default()),
        }
    }

    #[test]
    fn forms() {
        for (text, expected) in [
            ("A.B.Type", "A B Type"),
            ("global::A.Type", "A Type"),
            ("Outer+Nested", "Outer +Nested"),
            ("Outer`1.Nested`2", "Outer`1 Nested`2"),
            ("Cache<K, List<int>>.Entry", "Cache<2> Entry"),
            (
                "Type.Get(int, Dictionary<string, int>,ref  byte [])",
                "Type Get (int; Dictionary<string,int>; ref byte[])",
            ),
            ("Type.Get()", "Type Get ()"),
            ("Type#Get", "Type # Get"),
            ("Type#this[int, ref  string]", "Type # this[] (int; ref string)"),
            ("Type#IMap.this[]", "Type # IMap.this[]"),
            ("A.Type.this[A.B]", "A Type # this[] (A.B)"),
            ("A.Type.this", "A Type # this[]"),
            ("Type#this", "Type # this[]"),
            ("Type#M(int)~2", "Type # M (int)"),
            ("Type#Map`1(T)", "Type # Map`1 (T)"),
            ("Type#Map<T>(T)", "Type # Map (T)"),
            ("Type#op_Implicit(T)->int", "Type # op_Implicit (T)"),
            ("Program#<Main>$", "Program # <Main>$"),
            ("Type#IFoo.Bar(string?)", "Type # IFoo.Bar (string?)"),
            ("Type..ctor", "Type .ctor"),
            ("A.@class", "A class"),
            ("P.Q@Some.Cli", "P Q @ Some.Cli"),
            ("P.Q@a b/C#/x.csproj", "P Q @ a b/C#/x.csproj"),
            ("P.Q@src/x.csproj#Get(int)", "P Q @ src/x.csproj # Get (int)"),
            ("*.N?de*", "* N?de*"),
            (
                "",
                "a symbol has at least one name: write Namespace.Type, Type.Member, Type#Member(int) or a part of it with * and ?",
            ),
            ("Type#", "there is no member behind '#': look at column 6"),
            ("A..B", "a name is missing before this separator: look at column 3"),
            ("A.", "a name is missing at the end: look at column 3"),
            ("A<B", "the bracket is not closed: look at column 2"),
            ("A.Get(int", "the parenthesis is not closed: look at column 6"),
            ("A.Get(int)x", "nothing can follow the parameters: look at column 11"),
        ] {
            assert_eq!(shape(text), expected, "{text}");
        }
    }

    #[test]
    fn a_member_may_follow_the_project() {
        for (text, expected) in [
            ("N.T@A.Go", Some("N.T@A#Go")),
            ("T@Some.Cli.Go(List<int>, a.B)", Some("T@Some.Cli#Go(List<int>, a.B)")),
            ("T@A..ctor", Some("T@A#.ctor")),
            ("T@A", None),
            ("T@A.", None),
            ("T@A#Go", None),
            ("T.Go", None),
        ] {
            let path = SymbolPath::parse(text).expect("a path");
            assert_eq!(path.with_member_behind_scope().as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn limits() {
        let most = "*a".repeat(MOST_WILDCARDS);
        assert!(SymbolPath::parse(&most).is_ok());
        for (text, word) in [
            ("*a".repeat(MOST_WILDCARDS + 1), "wildcards"),
            ("x".repeat(100_000), "characters"),
            ("*a".repeat(50_000), "characters"),
            ("A#".to_owned() + &"?".repeat(33), "wildcards"),
        ] {
            let error = SymbolPath::parse(&text).expect_err("over a limit");
            assert_eq!((error.trouble, error.diagnostic.code.as_str()), (Trouble::Asked, "E_SYMBOL"));
            assert!(error.diagnostic.message.contains(word), "{error}");
            assert!(error.diagnostic.found.is_some_and(|found| found.len() <= 120));
        }
    }

    #[test]
    fn a_wildcard_bomb_ends() {
        // Backtracking to every star would take more steps than there are atoms.
        let glob = Glob::new(&"*a".repeat(32));
        assert!(!glob.matches(&("a".repeat(31) + &"b".repeat(5_000))));
        assert!(glob.matches("ab".repeat(32).repeat(100).trim_end_matches('b')));
    }

    fn naive(pattern: &[char], name: &[char]) -> bool {
        match (pattern.split_first(), name.split_first()) {
            (None, rest) => rest.is_none(),
            (Some(('*', more)), rest) => naive(more, name) || rest.is_some_and(|(_, rest)| naive(pattern, rest)),
            (Some((wanted, more)), Some((c, rest))) => (*wanted == '?' || wanted.eq_ignore_ascii_case(c)) && naive(more, rest),
            (Some(_), None) => false,
        }
    }

    proptest! {
        #[test]
        fn globs_match_what_they_say(pattern in "[abAé*?]{0,8}", name in "[abBé]{0,10}") {
            let (chars, of): (Vec<char>, Vec<char>) = (pattern.chars().collect(), name.chars().collect());
            prop_assert_eq!(Glob::new(&pattern).matches(&name), naive(&chars, &of));
        }

        #[test]
        fn any_text_is_read_or_refused(text in "[A-Ca-c.+#@<>(),`*?é 1]{0,40}") {
            if let Ok(path) = SymbolPath::parse(&text) {
                prop_assert!(!path.segments.is_empty());
                prop_assert!(path.segments.iter().all(|segment| !segment.name.is_empty()));
            }
        }
    }
}
