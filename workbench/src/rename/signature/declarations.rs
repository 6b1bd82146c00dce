//! Changes the parameters of a declaration: the list, their names in the body, and the documentation.

use super::wanted::{WantedParameter, parameter_name};
use crate::code_text::lists::{List, ListKind, code, list_at, rewrite_list, tokens_behind};
use producers::csharp::lexer::{Kind, lex};
use std::collections::BTreeMap;
use std::ops::Range;

/// A declaration whose parameters change.
pub(super) struct Declaration<'d> {
    /// Names of the parameters in the requested member.
    pub(super) own: &'d [&'d str],
    /// New parameters.
    pub(super) wanted: &'d [WantedParameter],
}

/// Non-overlapping replacements of byte ranges of a text.
pub(super) type Replacements = Vec<(Range<usize>, String)>;

/// Returns the names of the parameters in a list.
pub(super) fn parameter_names(text: &str, list: &List) -> Vec<String> {
    let name = |piece: &Range<usize>| parameter_name(&text[code(text, piece)]).unwrap_or_default().to_owned();
    list.pieces.iter().map(name).collect()
}

/// Returns the list of parameters after the name of a member.
pub(super) fn parameters_behind(text: &str, name: usize) -> Option<List> {
    let (rest, tokens) = tokens_behind(text, name);
    let mut at = 1;
    if tokens.get(at)?.text(rest) == "<" {
        let mut depth = 0_usize;
        loop {
            match tokens.get(at)?.text(rest) {
                "<" => depth += 1,
                ">" => depth = depth.saturating_sub(1),
                _ => {}
            }
            at += 1;
            if depth == 0 {
                break;
            }
        }
    }
    let open = tokens.get(at).filter(|token| token.text(rest) == "(")?;
    list_at(text, name + open.start as usize, ListKind::Parameters)
}

impl Declaration<'_> {
    /// Returns the replacements in a declaration whose name begins at an offset.
    ///
    /// # Errors
    /// The reason why it cannot change: a use of a parameter in its body.
    pub(super) fn replacements(&self, text: &str, name: usize) -> Result<Replacements, String> {
        let list = parameters_behind(text, name).ok_or("its parameters are not found where it is declared")?;
        let names = parameter_names(text, &list);
        if names.len() != self.own.len() {
            return Err("its parameters are not those that are known".to_owned());
        }
        let mut renamed: BTreeMap<String, String> = BTreeMap::new();
        for one in self.wanted {
            if let WantedParameter::Kept { from, renamed: Some(new) } = one
                && names[*from] == self.own[*from]
            {
                renamed.insert(names[*from].clone(), new.clone());
            }
        }
        let gone = self.gone(&names);
        let mut entries = Vec::new();
        for one in self.wanted {
            entries.push(match one {
                WantedParameter::Added(added) => (None, added.text.clone()),
                WantedParameter::Kept { from, renamed: new } => {
                    let written = &text[code(text, &list.pieces[*from])];
                    let declared = match new {
                        // A declaration keeps its own name for the parameter if that differs from the requested member's.
                        Some(new) if names[*from] == self.own[*from] => {
                            let declared = with_name(written, &names[*from], new);
                            with_attributes(declared, &renamed, &gone)?
                        }
                        _ => with_attributes(written.to_owned(), &renamed, &gone)?,
                    };
                    (Some(*from), declared)
                }
            });
        }
        let body = body_behind(text, list.inside.end + 1);
        let mut changes = self.in_body(text, body, &renamed, &gone)?;
        changes.push((list.inside.clone(), rewrite_list(text, &list, &entries)));
        changes.extend(in_attributes(text, attributes_before(text, name), &renamed, &gone)?);
        changes.extend(in_documentation(text, name, &renamed, &gone));
        Ok(changes)
    }

    /// Returns the names of removed parameters.
    fn gone(&self, names: &[String]) -> Vec<String> {
        let is_kept = |number: usize| {
            self.wanted
                .iter()
                .any(|one| matches!(one, WantedParameter::Kept { from, .. } if *from == number))
        };
        (0..names.len()).filter(|at| !is_kept(*at)).map(|at| names[at].clone()).collect()
    }

    /// Returns the replacements after the parameters.
    fn in_body(&self, text: &str, body: Range<usize>, renamed: &BTreeMap<String, String>, gone: &[String]) -> Result<Replacements, String> {
        let mut changes = Replacements::new();
        let came = self.wanted.iter().filter_map(|one| match one {
            WantedParameter::Added(added) => Some(added.name.as_str()),
            WantedParameter::Kept { .. } => None,
        });
        let came: Vec<&str> = came.chain(renamed.values().map(String::as_str)).collect();
        for word in words_in(text, body)? {
            let name = text[word.at.clone()].trim_start_matches('@');
            if gone.iter().any(|one| one == name) && word.role == Role::Value {
                return Err(format!("its body uses the removed {name}"));
            }
            if came.contains(&name) && word.role != Role::Member && !renamed.contains_key(name) {
                return Err(format!("its body has a {name} already"));
            }
            let Some(new) = renamed.get(name) else { continue };
            match word.role {
                Role::Value => changes.push((word.at, new.clone())),
                Role::Declares => return Err(format!("its body gives the name {name} to something else, too")),
                Role::Member => {}
            }
        }
        Ok(changes)
    }
}

/// Returns a parameter's declaration with another name.
fn with_name(declared: &str, old: &str, new: &str) -> String {
    let head = &declared[..super::wanted::default_begins(declared).unwrap_or(declared.len())];
    match head.rfind(old) {
        Some(at) => [&declared[..at], new, &declared[at + old.len()..]].concat(),
        None => declared.to_owned(),
    }
}

/// Returns a parameter's declaration with the renamed parameters in its attributes.
fn with_attributes(mut declared: String, renamed: &BTreeMap<String, String>, gone: &[String]) -> Result<String, String> {
    let whole = 0..declared.len();
    for (range, new) in in_attributes(&declared, whole, renamed, gone)?.into_iter().rev() {
        declared.replace_range(range, &new);
    }
    Ok(declared)
}

/// Returns the range from the end of the preceding member to the name of a member: attributes, modifiers and type.
fn attributes_before(text: &str, name: usize) -> Range<usize> {
    let mut depth = 0_usize;
    for token in lex(&text[..name]).tokens.iter().rev() {
        match token.text(text) {
            ")" | "]" => depth += 1,
            "(" | "[" => depth = depth.saturating_sub(1),
            ";" | "{" | "}" if depth == 0 => return token.end as usize..name,
            _ => {}
        }
    }
    0..name
}

/// Returns the replacements in attributes: `nameof` of a parameter.
fn in_attributes(text: &str, range: Range<usize>, renamed: &BTreeMap<String, String>, gone: &[String]) -> Result<Replacements, String> {
    let own = &text[range.clone()];
    let tokens: Vec<_> = lex(own).tokens.into_iter().filter(|token| token.kind != Kind::Unknown).collect();
    let mut changes = Replacements::new();
    for four in tokens.windows(4) {
        let [word, open, name, close] = four else { continue };
        if (word.text(own), open.text(own), close.text(own)) != ("nameof", "(", ")") {
            continue;
        }
        let named = name.text(own).trim_start_matches('@');
        if gone.iter().any(|one| one == named) {
            return Err(format!("an attribute names the removed {named}"));
        }
        if let Some(new) = renamed.get(named) {
            changes.push((range.start + name.start as usize..range.start + name.end as usize, new.clone()));
        }
    }
    Ok(changes)
}

/// Returns the range from the end of a declaration's parameters to its own end.
fn body_behind(text: &str, at: usize) -> Range<usize> {
    let (rest, tokens) = tokens_behind(text, at);
    let (mut depth, mut is_expression) = (0_usize, false);
    for token in &tokens {
        match token.text(rest) {
            "=>" if depth == 0 => is_expression = true,
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" => {
                depth = depth.saturating_sub(1);
                if depth == 0 && token.text(rest) == "}" && !is_expression {
                    return at..at + token.end as usize;
                }
            }
            ";" if depth == 0 => return at..at + token.end as usize,
            _ => {}
        }
    }
    at..at + rest.len()
}

/// The role of a word in a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    /// The word may refer to a parameter.
    Value,
    /// The word refers to a member, or to a parameter of the called member.
    Member,
    /// The word declares another symbol.
    Declares,
}

/// A word of a body.
struct Word {
    at: Range<usize>,
    role: Role,
}

/// Returns the words of a body, including those in the holes of interpolated strings.
fn words_in(text: &str, body: Range<usize>) -> Result<Vec<Word>, String> {
    let own = &text[body.clone()];
    let tokens: Vec<_> = lex(own).tokens.into_iter().filter(|token| token.kind != Kind::Unknown).collect();
    let word = |at: Option<usize>| at.and_then(|at| tokens.get(at)).map_or("", |token| token.text(own));
    let mut found = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        let range = body.start + token.start as usize..body.start + token.end as usize;
        match token.kind {
            Kind::Text if token.text(own).trim_start_matches('@').starts_with('$') => {
                for hole in holes(text, &range)? {
                    found.extend(words_in(text, hole)?);
                }
            }
            Kind::Word => {
                let (before, next, then) = (word(at.checked_sub(1)), word(Some(at + 1)), word(Some(at + 2)));
                let role = match (before, next) {
                    ("." | "?." | "->" | "::", _) => Role::Member,
                    ("(" | ",", ":") => Role::Member,
                    ("{" | ",", "=") if is_initialiser(own, &tokens, at) => Role::Member,
                    ("{" | ",", "," | "}") if is_anonymous(own, &tokens, at) => Role::Declares,
                    (_, "=>") => Role::Declares,
                    ("(" | ",", "," | ")") if ends_in_arrow(own, &tokens, at) => Role::Declares,
                    _ if declares(own, &tokens, at) && !matches!(then, ":") => Role::Declares,
                    _ => Role::Value,
                };
                found.push(Word { at: range, role });
            }
            _ => {}
        }
    }
    Ok(found)
}

/// Words that are not types, so that a name after them is not a declaration.
const NO_TYPES: [&str; 26] = [
    "return", "throw", "await", "in", "is", "as", "new", "case", "else", "do", "yield", "out", "ref", "when", "and", "or", "not", "select",
    "where", "by", "on", "equals", "ascending", "descending", "params", "goto",
];

/// Whether a name follows a type or `var`, so that it declares a local, or a parameter of a lambda or local function.
fn declares(text: &str, tokens: &[producers::csharp::lexer::Token], at: usize) -> bool {
    let Some(before) = at.checked_sub(1).and_then(|at| tokens.get(at)) else {
        return false;
    };
    let (word, next) = (before.text(text), tokens.get(at + 1).map_or("", |token| token.text(text)));
    let is_type =
        before.kind == Kind::Word && !NO_TYPES.contains(&word) || matches!(word, "]" | "?" | ">") && matches!(next, "=" | ";" | "in");
    let is_range = matches!(word, "from" | "let" | "into" | "join");
    is_range || is_type && matches!(next, "=" | ";" | "," | ")" | "in" | "(" | ":")
}

/// Returns the index of the bracket that opens the block around a token.
fn brace_around(text: &str, tokens: &[producers::csharp::lexer::Token], at: usize) -> Option<usize> {
    let mut depth = 0_usize;
    (0..at).rev().find(|at| match tokens[*at].text(text) {
        "}" | ")" | "]" => {
            depth += 1;
            false
        }
        "{" | "(" | "[" if depth > 0 => {
            depth -= 1;
            false
        }
        "{" | "(" | "[" => true,
        _ => false,
    })
}

/// Whether an assigned name is in an object initialiser, where it refers to a member of the created type.
fn is_initialiser(text: &str, tokens: &[producers::csharp::lexer::Token], at: usize) -> bool {
    let Some(open) = brace_around(text, tokens, at).filter(|open| tokens[*open].text(text) == "{") else {
        return false;
    };
    let mut depth = 0_usize;
    for token in &tokens[open..] {
        match token.text(text) {
            "{" | "(" | "[" => depth += 1,
            "}" | ")" | "]" => {
                depth -= 1;
                if depth == 0 {
                    return true;
                }
            }
            ";" if depth == 1 => return false,
            _ => {}
        }
    }
    false
}

/// Whether a single name in `new { … }` also declares a property.
fn is_anonymous(text: &str, tokens: &[producers::csharp::lexer::Token], at: usize) -> bool {
    brace_around(text, tokens, at).is_some_and(|open| open > 0 && tokens[open].text(text) == "{" && tokens[open - 1].text(text) == "new")
}

/// Whether a name is a parameter of a lambda.
fn ends_in_arrow(text: &str, tokens: &[producers::csharp::lexer::Token], at: usize) -> bool {
    let close = tokens[at..]
        .iter()
        .position(|token| matches!(token.text(text), ")" | "(" | "{" | ";"));
    let behind = close.map(|close| at + close).filter(|close| tokens[*close].text(text) == ")");
    behind.is_some_and(|close| tokens.get(close + 1).is_some_and(|token| token.text(text) == "=>"))
}

/// Returns the code ranges in the holes of an interpolated string.
fn holes(text: &str, literal: &Range<usize>) -> Result<Vec<Range<usize>>, String> {
    let own = &text[literal.clone()];
    let head = own.find('"').unwrap_or(0);
    if own[head..].starts_with("\"\"\"") {
        let is_empty = !own.contains('{');
        return is_empty
            .then(Vec::new)
            .ok_or_else(|| "its body has a raw interpolated string, whose code is not analysed".to_owned());
    }
    let (mut found, mut open, mut depth) = (Vec::new(), None, 0_usize);
    let mut chars = own.char_indices().skip(head + 1).peekable();
    while let Some((at, c)) = chars.next() {
        match (c, open) {
            ('{', None) if chars.next_if(|(_, next)| *next == '{').is_some() => {}
            ('{', None) => (open, depth) = (Some(at + 1), 1),
            ('{', Some(_)) => depth += 1,
            ('}', Some(start)) => {
                depth -= 1;
                if depth == 0 {
                    found.push(literal.start + start..literal.start + at);
                    open = None;
                }
            }
            _ => {}
        }
    }
    Ok(found)
}

/// Returns the range of a declaration's documentation.
fn documentation(text: &str, name: usize) -> Option<Range<usize>> {
    let lexed = lex(text);
    let tokens = &lexed.tokens;
    let at = tokens.partition_point(|token| (token.start as usize) < name);
    let mut depth = 0_usize;
    let before = (0..at).rev().find(|at| match tokens[*at].text(text) {
        ")" | "]" => {
            depth += 1;
            false
        }
        "(" | "[" => {
            depth = depth.saturating_sub(1);
            false
        }
        ";" | "{" | "}" => depth == 0,
        _ => false,
    });
    let from = before.map_or(0, |at| tokens[at].end as usize);
    let docs = lexed
        .docs
        .iter()
        .filter(|(start, end)| *start as usize >= from && *end as usize <= name);
    let docs: Vec<_> = docs.collect();
    Some(docs.first()?.0 as usize..docs.last()?.1 as usize)
}

/// Returns the replacements in the documentation of a declaration.
fn in_documentation(text: &str, name: usize, renamed: &BTreeMap<String, String>, gone: &[String]) -> Replacements {
    let Some(range) = documentation(text, name) else {
        return Vec::new();
    };
    let own = &text[range.clone()];
    let mut changes = Replacements::new();
    for (old, new) in renamed {
        for (element, quote) in [("param", '"'), ("paramref", '"'), ("param", '\''), ("paramref", '\'')] {
            let written = format!("<{element} name={quote}{old}{quote}");
            for (at, _) in own.match_indices(&written) {
                let end = range.start + at + written.len() - 1;
                changes.push((end - old.len()..end, new.clone()));
            }
        }
    }
    for old in gone {
        let found = ['"', '\'']
            .iter()
            .find_map(|quote| own.find(&format!("<param name={quote}{old}{quote}")));
        let Some(at) = found else { continue };
        let rest = &own[at..];
        let closed = rest.find("/>").filter(|end| !rest[..*end].contains('>'));
        let end = closed
            .map(|end| end + 2)
            .or_else(|| Some(rest.find("</param>")? + "</param>".len()));
        let Some(end) = end.map(|end| range.start + at + end) else {
            continue;
        };
        let start = range.start + at;
        let line = text[..start].rfind('\n').map_or(0, |end| end + 1);
        let until = text[end..].find('\n').map_or(text.len(), |next| end + next + 1);
        let is_whole = text[line..start].trim() == "///" && text[end..until].trim().is_empty();
        changes.push((if is_whole { line..until } else { start..end }, String::new()));
    }
    changes
}

#[cfg(test)]
mod tests {
    use super::super::wanted::parse_wanted;
    use super::*;
    use producers::csharp::members::ParameterRow;

    /// A class with a method with other parameters than `int count, string name`.
    fn changed(wanted: &str, text: &str) -> Result<String, String> {
        let row = |kind: &str, name: &str| ParameterRow {
            kind: kind.to_owned(),
            name: name.to_owned(),
            optional: false,
            params: false,
            this: false,
        };
        let own = [row("int", "count"), row("string", "name")];
        let wanted = parse_wanted(wanted, &own)?;
        let names = ["count", "name"];
        let declaration = Declaration {
            own: &names,
            wanted: &wanted,
        };
        let mut changes = declaration.replacements(text, text.find("M<").or_else(|| text.find("M(")).expect("a method"))?;
        changes.sort_by_key(|(range, _)| range.start);
        let mut made = text.to_owned();
        for (range, new) in changes.into_iter().rev() {
            made.replace_range(range, &new);
        }
        Ok(made)
    }

    #[test]
    fn bodies_and_documentation_follow() {
        let text = "class C {\n    /// <param name=\"count\">How many.</param>\n    /// <param name=\"name\">See <paramref name=\"count\"/>.</param>\n    [A(1)]\n    int M<T>(int count, string name) where T : new()\n    {\n        var x = new D { count = count, Name = this.count };\n        return F(count: count) + $\"{count:N} {{count}}\".Length; }\n    int count;\n}\n";
        let made = changed("count -> size, name", text).expect("renamed");
        let expected = "class C {\n    /// <param name=\"size\">How many.</param>\n    /// <param name=\"name\">See <paramref name=\"size\"/>.</param>\n    [A(1)]\n    int M<T>(int size, string name) where T : new()\n    {\n        var x = new D { count = size, Name = this.count };\n        return F(count: size) + $\"{size:N} {{count}}\".Length; }\n    int count;\n}\n";
        assert_eq!(made, expected);
        let made = changed("count, bool deep = false", text).expect("one goes, one comes");
        let apostrophes = text
            .replace("name=\"count\"", "name='count'")
            .replace("name=\"name\"", "name='name'");
        assert_eq!(
            changed("count -> size, name", &apostrophes),
            Ok(expected
                .replace("name=\"size\"", "name='size'")
                .replace("name=\"name\"", "name='name'"))
        );
        assert!(!changed("count", &apostrophes).expect("one goes").contains("param name='name'"));
        assert!(
            made.contains("M<T>(int count, bool deep = false)") && !made.contains("param name=\"name\""),
            "{made}"
        );
    }

    #[test]
    fn a_body_may_prevent_a_change_of_parameters() {
        for (body, wanted, why) in [
            ("=> count;", "name", "uses the removed count"),
            ("=> $\"{count}\".Length;", "name", "uses the removed count"),
            ("{ int deep = 1; }", "count, name, bool deep = false", "has a deep already"),
            ("=> all.Select(count => 1);", "count -> size, name", "something else"),
            ("=> F(new { count });", "count -> size, name", "something else"),
            ("{ foreach (var size in all) { } }", "count -> size, name", "has a size already"),
        ] {
            let text = format!("class C {{ int M(int count, string name) {body} }}");
            let refused = changed(wanted, &text).expect_err(body);
            assert!(refused.contains(why), "{body}: {refused}");
        }
        let text = "class C { int M(int count, string name) => this.count + F(name: 1); }";
        assert!(changed("", text).is_ok());
    }
}
