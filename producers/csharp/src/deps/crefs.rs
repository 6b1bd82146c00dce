//! References in documentation, `cref="…"`: the names in them, and the types and members that the names refer to.
//!
//! A reference of the form `T:A.B` is an identifier, not a name by the rules of C#.

use super::binder::{Binder, Bound, Surroundings, enclosing_key};
use super::flow::operator_of;
use super::index::NameIndex;
use super::shape::Shape;
use super::world::{Candidate, World};
use crate::lexer::lex;
use crate::mention_model::Place;
use crate::types::simple_name;
use std::borrow::Cow;
use std::ops::Range;

/// A parsed reference.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reference {
    pub path: Vec<Name>,
    /// Number of written parameters, if there is a list: the reference is then to a callable member.
    pub parameter_count: Option<usize>,
    /// Dotted names of types in its parameters.
    pub parameters: Vec<Vec<Name>>,
    /// Types of its parameters as code writes them, if there is a list.
    pub written: Option<Vec<String>>,
}

/// A name in a reference.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Name {
    /// The name; `this[]` for an indexer, `op_Addition` for an operator.
    pub word: String,
    /// Byte of the name in the reference.
    pub at: usize,
    /// Number of its type arguments.
    pub arity: u32,
    /// Whether `global::` precedes it.
    pub is_rooted: bool,
}

/// Returns the byte ranges of the references in a documentation text, without quotes.
pub fn references(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(next) = text[at..].find("cref") {
        at += next + "cref".len();
        // Blanks may surround the sign.
        let Some(value) = text[at..].trim_start().strip_prefix('=').map(str::trim_start) else {
            continue;
        };
        let Some(quote @ ('"' | '\'')) = value.chars().next() else {
            continue;
        };
        let start = text.len() - value.len() + 1;
        let Some(mut length) = text[start..].find([quote, '\n']) else {
            break;
        };
        if text[start + length..].starts_with('\n') {
            // In a further line, a tag shows that the reference lacks its end.
            let Some(more) = text[start + length..].find([quote, '<']) else {
                break;
            };
            length += more;
        }
        if text[start + length..].starts_with(quote) {
            found.push(start..start + length);
        }
        at = start + length;
    }
    found
}

/// Returns the byte ranges of the references in the documentation comments of code, without quotes. A reference may continue in the next comment.
pub fn references_in_code(code: &str) -> Vec<Range<usize>> {
    let mut texts: Vec<Range<usize>> = Vec::new();
    for (from, to) in lex(code).docs {
        let (from, to) = (from as usize, to as usize);
        match texts.last_mut() {
            Some(last) if code[last.end..from].trim().is_empty() => last.end = to,
            _ => texts.push(from..to),
        }
    }
    let in_code = |text: Range<usize>| {
        let found = references(&code[text.clone()]).into_iter();
        found.map(move |one| text.start + one.start..text.start + one.end)
    };
    texts.into_iter().flat_map(in_code).collect()
}

/// Returns all simple names in the references of a documentation text.
pub fn names_in_documentation(text: &str) -> impl Iterator<Item = String> + '_ {
    let read = references(text).into_iter().filter_map(|range| read(&text[range]));
    read.flat_map(|found| found.path.into_iter().chain(found.parameters.into_iter().flatten()))
        .map(|name| name.word)
}

/// Parses a reference; `None` for an identifier such as `T:A.B` and for a text without a name.
pub fn read(text: &str) -> Option<Reference> {
    let is_identifier = text.as_bytes().get(1) == Some(&b':') && !text.starts_with(|c: char| !c.is_ascii_alphabetic());
    if is_identifier && !text[2..].starts_with(':') {
        return None;
    }
    let joined = in_one_line(text);
    let text: &str = &in_braces(&joined);
    let open = parameters_at(text);
    let (head, rest) = text.split_at(open.unwrap_or(text.len()));
    let mut path = dotted_names(head, 0, 0).into_iter().next()?;
    if let Some(name) = path.last_mut().filter(|name| name.word == "this") {
        name.word = "this[]".to_owned();
    }
    let is_operator = |name: &Name| matches!(name.word.as_str(), "operator" | "implicit" | "explicit");
    let mut parameters = dotted_names(rest, head.len(), 0);
    if let Some(at) = path.iter().position(is_operator) {
        path.truncate(at + 1);
        let name = &mut path[at];
        let keyword = name.at + head[name.at..].find("operator")?;
        name.word = operator_name(&head[name.at..], rest)?;
        name.at = keyword;
        if matches!(name.word.as_str(), "op_Implicit" | "op_Explicit") {
            // A conversion names its result type.
            let behind = keyword + "operator".len();
            parameters.extend(dotted_names(&head[behind..], behind, 0));
        }
    }
    Some(Reference {
        path,
        parameter_count: open.is_some().then(|| count_of_parameters(rest)),
        parameters,
        written: open.map(|_| written_parameters(rest)),
    })
}

/// Returns the types of a list of parameters, `(A, List{B})`, as code writes them: `A`, `List<B>`.
fn written_parameters(list: &str) -> Vec<String> {
    let inner = list.trim().trim_start_matches(['(', '[']).trim_end_matches([')', ']']);
    let (mut depth, mut found) = (0_i32, vec![String::new()]);
    for c in inner.chars() {
        match c {
            '{' | '<' | '(' | '[' => depth += 1,
            '}' | '>' | ')' | ']' => depth -= 1,
            ',' if depth == 0 => {
                found.push(String::new());
                continue;
            }
            _ => {}
        }
        if let Some(last) = found.last_mut() {
            last.push(match c {
                '{' => '<',
                '}' => '>',
                c => c,
            });
        }
    }
    let found: Vec<String> = found.iter().map(|one| one.trim().to_owned()).collect();
    if found == [""] { Vec::new() } else { found }
}

/// Returns the name of the operator that `operator +` or `implicit operator T` means with these parameters, `(A, B)`.
fn operator_name(written: &str, parameters: &str) -> Option<String> {
    let (before, sign) = written.split_once("operator")?;
    let name = match before.trim() {
        "implicit" => "op_Implicit",
        "explicit" => "op_Explicit",
        _ => {
            let sign = sign.trim().replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&");
            let is_unary = !parameters.is_empty() && commas(parameters.trim_matches(['(', ')'])) == 0;
            operator_of(&sign, if is_unary { 1 } else { 2 }).or_else(|| operator_of(&sign, 1))?
        }
    };
    Some(name.to_owned())
}

/// Returns the start of the parameters: the first bracket outside type arguments.
fn parameters_at(text: &str) -> Option<usize> {
    let mut depth = 0_usize;
    text.char_indices().find_map(|(at, c)| {
        match c {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            '(' | '[' if depth == 0 => return Some(at),
            _ => {}
        }
        None
    })
}

/// Maximum nesting of type arguments that are parsed.
const DEEPEST: u32 = 16;

/// Returns the dotted names of a text that begins at byte `from` of the reference; names in type arguments follow the name around them.
fn dotted_names(text: &str, from: usize, depth: u32) -> Vec<Vec<Name>> {
    let (mut found, mut inner) = (Vec::new(), Vec::new());
    let (mut path, mut at): (Vec<Name>, usize) = (Vec::new(), 0);
    while let Some(c) = text[at..].chars().next() {
        if c.is_alphabetic() || c == '_' {
            let end = text[at..].find(|c: char| !(c.is_alphanumeric() || c == '_'));
            let end = end.map_or(text.len(), |length| at + length);
            path.push(Name {
                word: text[at..end].to_owned(),
                at: from + at,
                arity: 0,
                is_rooted: false,
            });
            at = end;
        } else if c == '{' {
            let end = closing(text, at);
            let arguments = &text[at + 1..end];
            if let Some(name) = path.last_mut() {
                name.arity = 1 + commas(arguments);
            }
            if depth < DEEPEST {
                inner.extend(dotted_names(arguments, from + at + 1, depth + 1));
            }
            at = (end + 1).min(text.len());
        } else {
            let rest = text[at..].trim_start();
            let blanks = text.len() - at - rest.len();
            // Blanks may surround a dot.
            let is_joined = blanks > 0 && (rest.starts_with('.') || text[..at].ends_with('.'));
            if !matches!(c, '.' | ':' | '@') && !is_joined && !path.is_empty() {
                found.push(std::mem::take(&mut path));
            }
            at += blanks.max(c.len_utf8());
        }
    }
    if !path.is_empty() {
        found.push(path);
    }
    for path in &mut found {
        if path.first().is_some_and(|name| name.word == "global") && path.len() > 1 {
            path.remove(0);
            path[0].is_rooted = true;
        }
        if matches!(path[0].word.as_str(), "ref" | "out" | "in" | "params") {
            path.clear();
        }
    }
    found.retain(|path| !path.is_empty());
    found.extend(inner);
    found
}

/// Returns a reference with blanks in place of line ends and of the marks of comments after them.
fn in_one_line(text: &str) -> Cow<'_, str> {
    let Some((first, others)) = text.split_once('\n') else {
        return Cow::Borrowed(text);
    };
    let mut joined = first.to_owned();
    for line in others.split('\n') {
        let rest = line.trim_start();
        let rest = rest.strip_prefix("///").or_else(|| rest.strip_prefix('*')).unwrap_or(rest);
        joined.extend(std::iter::repeat_n(' ', 1 + line.len() - rest.len()));
        joined.push_str(rest);
    }
    Cow::Owned(joined)
}

/// Returns a reference in which the brackets of type arguments, `&lt;` and `&gt;`, are braces at the same bytes.
fn in_braces(text: &str) -> Cow<'_, str> {
    match text.contains("&lt;") && !text.contains("operator") {
        true => Cow::Owned(text.replace("&lt;", "{   ").replace("&gt;", "   }")),
        false => Cow::Borrowed(text),
    }
}

/// Returns the byte of the brace that closes the one at `open`, or the end.
fn closing(text: &str, open: usize) -> usize {
    let mut depth = 0_usize;
    let close = text[open..].char_indices().find(|(_, c)| {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => {}
        }
        depth == 0
    });
    close.map_or(text.len(), |(at, _)| open + at)
}

/// Counts the parameters of a list with its parentheses.
fn count_of_parameters(list: &str) -> usize {
    let inside = list.trim_start_matches('(').trim_end().trim_end_matches(')');
    match inside.trim().is_empty() {
        true => 0,
        false => commas(inside) as usize + 1,
    }
}

/// Counts the commas between type arguments.
fn commas(arguments: &str) -> u32 {
    let mut depth = 0_i32;
    let is_between = |c: &char| {
        depth += i32::from(matches!(c, '{' | '[')) - i32::from(matches!(c, '}' | ']'));
        *c == ',' && depth == 0
    };
    u32::try_from(arguments.chars().filter(is_between).count()).unwrap_or(0)
}

/// The type or the declared member that a name in a reference refers to; the type `?` if it is undecided.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Meaning {
    /// Key of the type.
    pub owner: String,
    pub member: Option<String>,
    /// Byte of the name in the reference.
    pub at: usize,
    /// Whether the reference can mean no other type.
    pub certain: bool,
}

impl Meaning {
    /// The key of the type, or of the member.
    pub fn key_of_meaning(&self) -> String {
        match &self.member {
            Some(member) => format!("{}#{member}", self.owner),
            None => self.owner.clone(),
        }
    }
}

/// The context of a reference.
pub struct Scope<'s, 'w> {
    /// Key of the documented type, or of the type that declares the documented member.
    pub own: &'s str,
    /// Surroundings of the names in the part.
    pub around: &'s Surroundings<'s>,
    pub index: &'s NameIndex,
    pub world: &'s World<'w>,
}

impl Scope<'_, '_> {
    /// Returns the types and members that the names of a reference refer to.
    pub fn meanings(&self, reference: &Reference) -> Vec<Meaning> {
        let mut found = Vec::new();
        for path in &reference.parameters {
            self.types(path, &mut found);
        }
        let path = &reference.path;
        let Some(last) = path.last() else { return found };
        // A simple name refers to a declared member of the type or of one around it, then to a type, and only then to an inherited member.
        if path.len() == 1 && self.own_member(last, reference.parameter_count, false, &mut found) {
            return found;
        }
        let of_types = self.types(path, &mut found);
        if path.len() == 1 && of_types.is_empty() {
            self.own_member(last, reference.parameter_count, true, &mut found);
        }
        match of_types.last() {
            // Parameters after a type's name are those of its constructor.
            Some((used, key)) if *used == path.len() && reference.parameter_count.is_some() => found.push(constructor(key, last.at)),
            Some((used, key)) if used + 1 == path.len() => {
                let is_constructor = simple_name(key) == last.word && self.declaring(key, last, None).is_empty();
                match is_constructor {
                    true => found.push(constructor(key, last.at)),
                    false => self.member_of(key, last, reference.parameter_count, &mut found),
                }
            }
            _ => {}
        }
        found
    }

    /// Adds the types on a path to `found`. Returns, for each, how many names it uses and its key.
    fn types(&self, path: &[Name], found: &mut Vec<Meaning>) -> Vec<(usize, String)> {
        let binder = Binder::new(self.index);
        let mut bound = Vec::new();
        for used in 1..=path.len() {
            let outer = path[..used - 1].iter().map(|name| match name.arity {
                0 => format!("{}.", name.word),
                arity => format!("{}`{arity}.", name.word),
            });
            let last = &path[used - 1];
            let root = if path[0].is_rooted { "global::" } else { "" };
            let words = format!("{root}{}{}", outer.collect::<String>(), last.word);
            let meant = binder.bind(self.around, &words, last.arity, Place::Signature, true);
            if let Bound::Ambiguous(entries) = &meant {
                found.extend(entries.iter().map(|entry| Meaning {
                    owner: entry.key.clone(),
                    member: None,
                    at: last.at,
                    certain: false,
                }));
            }
            if let Bound::Type(entry) = meant
                // After a type's name, a name may be a member or the constructor; the first name may be an alias.
                && (used == 1 || simple_name(&entry.key) == last.word)
                && bound.last().is_none_or(|(_, outer)| *outer != entry.key)
            {
                found.push(Meaning {
                    owner: entry.key.clone(),
                    member: None,
                    at: last.at,
                    certain: true,
                });
                bound.push((used, entry.key.clone()));
            }
        }
        bound
    }

    /// Adds a member that the type itself or an enclosing type declares or, if `inherited`, a base of these. Returns whether one is found.
    fn own_member(&self, name: &Name, count: Option<usize>, inherited: bool, found: &mut Vec<Meaning>) -> bool {
        let outer = self.around.enclosing.iter().rev().skip(1);
        let outer = outer.map(|symbol| enclosing_key(self.index, self.around, symbol, self.own));
        let around = std::iter::once(self.own.to_owned()).chain(outer);
        for key in around {
            let mut declaring = self.declaring(&key, name, count);
            declaring.retain(|owner| inherited || *owner == key);
            if !declaring.is_empty() {
                self.note(declaring, name, found);
                return true;
            }
        }
        false
    }

    fn member_of(&self, key: &str, name: &Name, count: Option<usize>, found: &mut Vec<Meaning>) {
        let declaring = self.declaring(key, name, count);
        if declaring.is_empty() && self.world.levels(&Shape::of_key(key)).iter().any(is_unknown) {
            found.push(Meaning {
                owner: "?".to_owned(),
                member: Some(name.word.clone()),
                at: name.at,
                certain: true,
            });
        }
        self.note(declaring, name, found);
    }

    /// Returns the key of the nearest type, .NET's included, that declares a member `name` visible through the type `key`. Prefers members
    /// that are no methods or have `count` parameters. An interface has several nearest bases: returns all that declare the member. An
    /// override counts as a member of its own.
    fn declaring(&self, key: &str, name: &Name, count: Option<usize>) -> Vec<String> {
        let mut candidates = self.world.lookup(&Shape::of_key(key), &name.word);
        // Type arguments determine the number of type parameters of the member.
        candidates.retain(|one| name.arity == 0 || one.line.arity == name.arity);
        let has_count = |one: &Candidate<'_>| count.is_none_or(|count| !one.is_method() || one.parameters().len() == count);
        if candidates.iter().any(has_count) {
            candidates.retain(has_count);
        }
        let mut keys: Vec<String> = candidates.iter().filter_map(|one| one.owner.key().map(str::to_owned)).collect();
        keys.dedup();
        if self.world.kind(key) != 'i' || keys.first().is_some_and(|first| first == key) {
            keys.truncate(1);
        }
        keys
    }

    fn note(&self, declaring: Vec<String>, name: &Name, found: &mut Vec<Meaning>) {
        found.extend(
            declaring
                .into_iter()
                .filter(|key| !key.starts_with(['~', '^']))
                .map(|owner| Meaning {
                    owner,
                    member: Some(name.word.clone()),
                    at: name.at,
                    certain: true,
                }),
        );
    }
}

fn constructor(key: &str, at: usize) -> Meaning {
    Meaning {
        owner: key.to_owned(),
        member: Some(".ctor".to_owned()),
        at,
        certain: true,
    }
}

fn is_unknown(shape: &Shape) -> bool {
    !shape.is_known() || shape.key().is_some_and(|key| key.starts_with('^'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words_of(text: &str) -> (Vec<String>, Vec<String>) {
        let found = read(text).unwrap_or_default();
        let written = |path: &[Name]| {
            let words = path.iter().map(|name| match name.arity {
                0 => name.word.clone(),
                arity => format!("{}`{arity}", name.word),
            });
            words.collect::<Vec<_>>().join(".")
        };
        let path = found.path.iter().map(|name| format!("{}:{}", name.word, name.at)).collect();
        (path, found.parameters.iter().map(|path| written(path)).collect())
    }

    #[test]
    fn references_are_read() {
        for (text, path, parameters) in [
            ("A", &["A:0"][..], &[][..]),
            ("A.B{T}.Go", &["A:0", "B:2", "Go:7"], &[]),
            ("global::N.A", &["N:8", "A:10"], &[]),
            (
                "Go(int, ref N.A, Map{K, List{V}}[])",
                &["Go:0"],
                &["int", "N.A", "Map`2", "K", "List`1", "V"],
            ),
            ("A&lt;B, C&gt;.Go(D&lt;int, E&gt;)", &["A:0", "Go:14"], &["D`2", "int", "E"]),
            ("Go()", &["Go:0"], &[]),
            ("A\n    /// .Go(B,\n /// List{C})", &["A:0", "Go:11"], &["B", "List`1", "C"]),
            ("this[int]", &["this[]:0"], &["int"]),
            ("A.operator +(A, A)", &["A:0", "op_Addition:2"], &["A", "A"]),
            ("operator &lt;(A, A)", &["op_LessThan:0"], &["A", "A"]),
            ("implicit operator B(A)", &["op_Implicit:9"], &["A", "B"]),
            ("T:N.A", &[], &[]),
            ("", &[], &[]),
        ] {
            let expected = |all: &[&str]| all.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
            assert_eq!(words_of(text), (expected(path), expected(parameters)), "{text}");
        }
    }

    #[test]
    fn braces_of_any_depth_are_read() {
        let text = format!("A{}B", "{".repeat(100_000));
        assert_eq!(words_of(&text).0, ["A:0"]);
    }

    #[test]
    fn references_of_code_continue_in_the_next_comment() {
        let code = "/// <see cref=\"A\n    /// .Go(int)\"/> <see cref='B\n/// <c/>\nclass C { } /// <see cref=\"D\"/>";
        let found: Vec<&str> = references_in_code(code).into_iter().map(|range| &code[range]).collect();
        assert_eq!(found, ["A\n    /// .Go(int)", "D"]);
    }

    #[test]
    fn references_of_a_text_are_found() {
        let text =
            "<see cref=\"A\"/> cref=x <see cref='B.C'/> <see cref=\"E\n\"/> <see cref=\"Go(List<G>)\"/> <see cref=\"D\n</c> cref=\"F";
        let found: Vec<&str> = references(text).into_iter().map(|range| &text[range]).collect();
        assert_eq!(found, ["A", "B.C", "E\n", "Go(List<G>)"]);
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_read(text in "[A-Zc-e{}()\\[\\],.: =\"'ä\n]{0,40}") {
            for range in references(&format!("cref=\"{text}\" cref='{text}'")) {
                assert!(range.start <= range.end);
            }
            let found = read(&text).unwrap_or_default();
            for name in found.path.iter().chain(found.parameters.iter().flatten()) {
                let word = name.word.trim_end_matches("[]");
                assert!(text[name.at..].starts_with(word), "{name:?} in {text}");
            }
        }
    }
}
