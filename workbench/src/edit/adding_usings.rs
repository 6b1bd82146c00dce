//! Adds a using directive to a file, once, at its place in the order of the others.

use super::replacing::tail;
use super::symbol::{Refused, worse};
use crate::code_text::declared::{list_declarations, parse_code};
use crate::code_text::lines::{Ends, line_start, split};
use crate::symbols::index::is_within;
use producers::csharp::keywords::is_reserved;
use producers::csharp::lexer::{Token, lex};
use producers::csharp::model::{Syntax, Using};
use producers::csharp::preprocess::blank;
use std::collections::BTreeSet;
use std::ops::Range;

/// Parses a directive from an argument: `System.Linq`, `static N.T`, `A = N.T`, also between `using` and `;`. Fails when it is not a using
/// directive.
pub fn directive(given: &str) -> Result<Using, Refused> {
    let text = format!("{};", directive_code(given));
    let syntax = parse_code(&text, &BTreeSet::new());
    let is_whole = !text.contains("..") && !directive_code(given).ends_with(['.', ':', '=', ',']);
    let is_keyword = syntax
        .usings
        .iter()
        .any(|one| one.alias.is_none() && one.target.split('.').any(is_reserved));
    let is_one = lex(&text).tokens.iter().filter(|token| token.text(&text) == ";").count() == 1;
    match syntax.usings.as_slice() {
        [one] if is_whole && is_one && !is_keyword && syntax.types.is_empty() && !syntax.top_level && parse_usings(&text).len() == 1 => {
            Ok(one.clone())
        }
        _ => Err(Refused::new(
            format!("`{}` is not a using directive; nothing was changed", given.trim()),
            "give a namespace, `static TYPE` or `NAME = TYPE`",
        )),
    }
}

/// Returns the directive as code, without its semicolon.
pub fn directive_code(given: &str) -> String {
    let plain = given.trim().trim_end_matches(';').trim();
    let (global, rest) = match plain.strip_prefix("global ") {
        Some(rest) => ("global ", rest.trim_start()),
        None => ("", plain),
    };
    let rest = rest.strip_prefix("using ").unwrap_or(rest).trim_start();
    format!("{global}using {rest}")
}

/// Returns the text with the directive; `None` if the text already has it. Fails when it is not a using directive, or the file has no place
/// for it.
pub fn with_using(text: &str, given: &str, defines: &BTreeSet<String>) -> Result<Option<String>, Refused> {
    let wanted = directive(given)?;
    let before = parse_code(text, defines);
    let is_there = |one: &Using| (&one.alias, &one.target, one.is_static) == (&wanted.alias, &wanted.target, wanted.is_static);
    // A directive inside a namespace counts only if all types of the file are in that namespace.
    let counts = |one: &Using| one.namespace.is_empty() || all_in(&before, &one.namespace);
    if before
        .usings
        .iter()
        .any(|one| is_there(one) && counts(one) && (one.is_global || !wanted.is_global))
    {
        return Ok(None);
    }
    if let Some(other) = before.usings.iter().find(|one| wanted.alias.is_some() && one.alias == wanted.alias) {
        let why = format!(
            "{} is {} there; nothing was changed",
            other.alias.as_deref().unwrap_or_default(),
            other.target
        );
        return Err(Refused::new(why, "choose another name"));
    }
    let compiled = blank(text, defines);
    let made = insert_using(text, &compiled, &format!("{};", directive_code(given)), &wanted, &before)?;
    let after = parse_code(&made, defines);
    let is = |text: &str, syntax| list_declarations(text, syntax).into_iter().map(|one| one.is).collect::<Vec<_>>();
    let came: Vec<&Using> = after.usings.iter().filter(|one| !before.usings.contains(one)).collect();
    let is_added = after.usings.len() == before.usings.len() + 1 && matches!(came.as_slice(), [one] if is_there(one));
    match is_added && !worse(&before, &after) && is(text, &before) == is(&made, &after) {
        true => Ok(Some(made)),
        false => Err(Refused::new(
            "the file has no place for a using directive that the parser understands; nothing was changed",
            "put it there with `replace`",
        )),
    }
}

/// Whether all types of a text are in a namespace.
fn all_in(syntax: &Syntax, namespace: &str) -> bool {
    syntax.types.iter().all(|decl| is_within(&decl.namespace, namespace))
}

/// A using directive of a text.
pub(super) struct UsingDirective {
    pub(super) range: Range<usize>,
    /// Sort rank: global ones first, then namespaces, static ones, and aliases last.
    pub(super) rank: u8,
    pub(super) target: String,
}

/// Returns the using directives from a token on, and the first token after them. Skips aliases of assemblies.
pub(super) fn leading_usings(text: &str, tokens: &[Token], mut at: usize) -> (Vec<UsingDirective>, usize) {
    let word = |at: usize| tokens.get(at).map_or("", |token| token.text(text));
    let mut found = Vec::new();
    while let Some(end) = (at..tokens.len()).find(|end| word(*end) == ";") {
        if word(at) == "extern" && word(at + 1) == "alias" {
            at = end + 1;
            continue;
        }
        let is_global = word(at) == "global";
        let first = at + usize::from(is_global);
        // A using statement has a bracket; a using declaration has two adjacent words, or `=`.
        let name = first + 1 + usize::from(matches!(word(first + 1), "static" | "unsafe"));
        let is_alias = word(name + 1) == "=";
        let is_word = |at: usize| word(at).starts_with(|c: char| c.is_alphabetic() || matches!(c, '_' | '@'));
        let is_plain = is_alias || (name..end).all(|at| word(at) != "(" && !(is_word(at) && is_word(at + 1)) && word(at) != "=");
        if word(first) != "using" || !is_plain {
            break;
        }
        let rank = match (is_global, is_alias, name > first + 1) {
            (true, ..) => 0,
            (false, false, false) => 1,
            (false, false, true) => 2,
            (false, true, _) => 3,
        };
        found.push(UsingDirective {
            range: tokens[at].start as usize..tokens[end].end as usize,
            rank,
            target: (name..end).map(word).collect(),
        });
        at = end + 1;
    }
    (found, at)
}

fn parse_usings(text: &str) -> Vec<UsingDirective> {
    leading_usings(text, &lex(text).tokens, 0).0
}

/// Inserts the directive at its place.
fn insert_using(text: &str, compiled: &str, new: &str, wanted: &Using, before: &Syntax) -> Result<String, Refused> {
    let lexed = lex(compiled);
    let tokens = &lexed.tokens;
    let word = |at: usize| tokens.get(at).map_or("", |token| token.text(compiled));
    let (mut all, next) = leading_usings(compiled, tokens, 0);
    if all.is_empty() && word(next) == "namespace" && !wanted.is_global {
        let open = (next..tokens.len()).find(|at| matches!(word(*at), "{" | ";"));
        if let Some(open) = open.filter(|open| all_in(before, &(next + 1..*open).map(word).collect::<String>())) {
            all = leading_usings(compiled, tokens, open + 1).0;
        }
    }
    let own = parse_usings(new).into_iter().next();
    let (rank, target) = own.map_or((1, String::new()), |own| (own.rank, own.target));
    let usual = Ends::from_text(text).most_frequent();
    // A directive inside `#if` may be absent in other compilations, so it is no neighbour.
    all.retain(|one| depth(&text[..one.range.start]) == 0);
    let Some(beside) = neighbour(&all, rank, &target) else {
        let first = tokens.get(next).map_or(text.len(), |token| token.start as usize);
        let documented = lexed.docs.first().map_or(first, |doc| first.min(doc.0 as usize));
        let line = line_start(text, documented);
        if depth(&text[..line]) != 0 || !text[line..documented].trim().is_empty() {
            return Err(Refused::new(
                "the beginning of the file is under `#if`; nothing was changed",
                "put the directive there with `replace`",
            ));
        }
        let gap = if line == text.len() { "" } else { usual };
        return Ok([&text[..line], new, usual, gap, &text[line..]].concat());
    };
    let (one, is_behind) = (beside.0, beside.1);
    let line = line_start(text, one.range.start);
    let indent = &text[line..one.range.start];
    let own_line = indent.trim().is_empty();
    let insert = |at: usize, new: String| [&text[..at], &new, &text[at..]].concat();
    Ok(match (is_behind, tail(&text[one.range.end..])) {
        (true, Some(tail)) if own_line => {
            let at = one.range.end + tail;
            match text[..at].ends_with(['\n', '\r']) {
                true => insert(at, format!("{indent}{new}{usual}")),
                false => insert(at, format!("{usual}{indent}{new}")),
            }
        }
        (true, _) => insert(one.range.end, format!(" {new}")),
        (false, _) if own_line => insert(line, format!("{indent}{new}{usual}")),
        (false, _) => insert(one.range.start, format!("{new} ")),
    })
}

/// Sort key of directives of one rank.
type SortKey<'k> = &'k dyn Fn(&str) -> (bool, String);

/// Returns the directive next to which to insert a new one, and whether to insert after it.
fn neighbour<'s>(all: &'s [UsingDirective], rank: u8, target: &str) -> Option<(&'s UsingDirective, bool)> {
    let alike: Vec<&UsingDirective> = all.iter().filter(|one| one.rank == rank).collect();
    let system = |name: &str| !(name == "System" || name.starts_with("System."));
    let plain = |name: &str| (false, name.to_lowercase());
    let first = |name: &str| (system(name), name.to_lowercase());
    let is_sorted = |key: SortKey<'_>| alike.windows(2).all(|two| key(&two[0].target) <= key(&two[1].target));
    let key: Option<SortKey<'_>> = match (is_sorted(&first), is_sorted(&plain)) {
        (true, _) => Some(&first),
        (false, true) => Some(&plain),
        (false, false) => None,
    };
    if let Some(key) = key
        && let Some(next) = alike.iter().position(|one| key(&one.target) > key(target))
    {
        return match next.checked_sub(1) {
            Some(before) => Some((alike[before], true)),
            None => Some((alike[0], false)),
        };
    }
    let before = all.iter().rfind(|one| one.rank <= rank);
    before.map(|one| (one, true)).or_else(|| all.first().map(|one| (one, false)))
}

/// Returns the number of `#if` blocks that are open at the end of a text.
fn depth(text: &str) -> usize {
    split(text).fold(0_usize, |depth, line| {
        let line = line.trim_start().strip_prefix('#').map_or("", str::trim_start);
        match () {
            () if line.starts_with("if") => depth + 1,
            () if line.starts_with("endif") => depth.saturating_sub(1),
            () => depth,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn with(text: &str, given: &str) -> Result<Option<String>, String> {
        with_using(text, given, &BTreeSet::new()).map_err(|refused| refused.why)
    }

    #[test]
    fn a_directive_stands_among_those_that_are_there() {
        for (text, given, made) in [
            (
                "using A;\r\nusing C; // c\r\nclass X { }\r\n",
                "B",
                "using A;\r\nusing B;\r\nusing C; // c\r\nclass X { }\r\n",
            ),
            (
                "using A;\nusing C; // c\nclass X { }\n",
                "using D;",
                "using A;\nusing C; // c\nusing D;\nclass X { }\n",
            ),
            (
                "using System;\nusing A;\n",
                "System.Linq",
                "using System;\nusing System.Linq;\nusing A;\n",
            ),
            (
                "using A;\nusing System;\n",
                "System.Linq",
                "using A;\nusing System;\nusing System.Linq;\n",
            ),
            ("using System;\n", "A", "using System;\nusing A;\n"),
            ("using B;\n", "A", "using A;\nusing B;\n"),
            ("using Z;\nusing A;\n", "M", "using Z;\nusing A;\nusing M;\n"),
            (
                "using A;\nusing static B.C;\nusing D = A.D;\n",
                "E",
                "using A;\nusing E;\nusing static B.C;\nusing D = A.D;\n",
            ),
            (
                "using A;\nusing D = A.D;\n",
                "static B.C",
                "using A;\nusing static B.C;\nusing D = A.D;\n",
            ),
            ("using A;\n", "global using B", "global using B;\nusing A;\n"),
            ("using A;\n", "L = A.List<int>", "using A;\nusing L = A.List<int>;\n"),
            ("// Licence.\nnamespace N;\n", "A", "// Licence.\nusing A;\n\nnamespace N;\n"),
            (
                "/// <summary>X.</summary>\nclass X { }",
                "A",
                "using A;\n\n/// <summary>X.</summary>\nclass X { }",
            ),
            (
                "namespace N\n{\n\tusing B;\n\tclass X { }\n}\n",
                "A",
                "namespace N\n{\n\tusing A;\n\tusing B;\n\tclass X { }\n}\n",
            ),
            (
                "namespace N;\nusing B;\nclass X { }\n",
                "C",
                "namespace N;\nusing B;\nusing C;\nclass X { }\n",
            ),
            ("using A; using C;\nclass X { }\n", "B", "using A; using B; using C;\nclass X { }\n"),
            (
                "using A;\n#if X\nusing B;\n#endif\nclass X { }\n",
                "C",
                "using A;\nusing C;\n#if X\nusing B;\n#endif\nclass X { }\n",
            ),
            (
                "using A;\nusing var x = new X();\n",
                "B",
                "using A;\nusing B;\nusing var x = new X();\n",
            ),
            ("", "A", "using A;\n"),
            ("using A;", "B", "using A;\nusing B;"),
        ] {
            assert_eq!(with(text, given), Ok(Some(made.to_owned())), "{text}{given}");
            assert_eq!(with(made, given), Ok(None), "{made}");
        }
    }

    #[test]
    fn invalid_and_conflicting_using_directives_are_refused() {
        for given in [
            "", "1", "class", "A.int", "A; class B { }", "A B", "var x = 1", "(A)", "A.", "A;\nusing B",
        ] {
            assert!(
                with("class X { }", given).is_err_and(|why| why.contains("is not a using directive")),
                "{given}"
            );
        }
        let why = with("using D = A.B;\n", "D = A.C").expect_err("another one");
        assert_eq!(why, "D is A.B there; nothing was changed");
        assert!(with("#if X\nclass A { }\n#else\nclass B { }\n#endif\n", "C").is_err());
    }

    proptest! {
        /// Apart from the directive every byte stays, the file declares what it did, and a second time there is nothing to do.
        #[test]
        fn all_else_stays_byte_for_byte(
            usings in proptest::collection::vec("(static |X[0-9] = |)[A-E](\\.[A-E]){0,2}", 0..5),
            given in "(static |Y = |)[A-E](\\.[A-E]){0,2}",
            form in 0_usize..4,
            crlf in any::<bool>(),
        ) {
            let lines: String = usings.iter().enumerate().map(|(at, one)| format!("using {};{}\n", one.replace("X", &format!("X{at}_")), if at == 1 { " // it" } else { "" })).collect();
            let text = match form {
                0 => format!("{lines}\nnamespace N;\n\nclass A {{ }}\n"),
                1 => format!("// Licence\n\n{lines}namespace N {{ class A<T> {{ class B {{ }} }} }}"),
                2 => format!("namespace N\n{{\n{lines}    partial class A {{ }}\n}}\n"),
                _ => format!("#nullable enable\n{lines}/// <summary>A.</summary>\n[Old] class A {{ }}\n"),
            };
            let text = if crlf { text.replace('\n', "\r\n") } else { text };
            let Some(made) = with(&text, &given).expect("a directive") else { return Ok(()) };
            let same = text.bytes().zip(made.bytes()).take_while(|(one, other)| one == other).count();
            let added = made.len() - text.len();
            // If the bytes around an insertion are equal, its start is ambiguous.
            prop_assert!((0..=same).any(|at| made.is_char_boundary(at) && text[at..] == made[at + added..]));
            prop_assert_eq!(with(&made, &given), Ok(None));
            if crlf {
                prop_assert!(!made.replace("\r\n", "").contains('\n'));
            }
        }
    }
}
