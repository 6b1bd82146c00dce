//! Moves a type to a file of its own, with its documentation, attributes and namespace, and a copy of the using directives that it had.

use super::adding_usings::leading_usings;
use super::meaning::find_declaration;
use super::removal::{remove_declaration, without_empty_namespace};
use super::symbol::{Refused, worse};
use crate::code_text::declared::{list_declarations, parse_code};
use crate::code_text::lines::{Ends, body, line_and_column, split};
use producers::csharp::lexer::{Kind, Token, lex};
use producers::csharp::preprocess::blank;
use std::collections::BTreeSet;
use std::ops::Range;

/// Two texts in place of one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Moved {
    /// New text of the old file.
    pub rest: String,
    /// Text of the new file.
    pub own: String,
}

/// Hint when a type cannot be moved.
const OTHERWISE: &str = "move it with a patch, or remove the obstacles first";

/// Moves a type out of a text, compiled with these `#if` symbols. Fails when the type depends on its file, or already has a file to itself.
pub fn move_to_own_file(text: &str, symbol: &str, defines: &BTreeSet<String>) -> Result<Moved, Refused> {
    let before = parse_code(text, defines);
    let all = list_declarations(text, &before);
    let found = find_declaration(&all, symbol)?;
    let name = found.is.name.clone();
    let Some(decl) = before.types.iter().find(|decl| found.owner.is_empty() && decl.symbol() == name) else {
        return Err(Refused::new(format!("{name} is not a type"), "name a type"));
    };
    if decl.path.contains('+') {
        return Err(Refused::new(
            format!("{name} is nested in another type, and cannot leave it"),
            OTHERWISE,
        ));
    }
    if decl.modifiers.iter().any(|modifier| modifier == "file") {
        return Err(Refused::new(format!("{name} is seen in its own file alone (`file`)"), OTHERWISE));
    }
    if !before.types.iter().any(|other| other.symbol() != name && !other.path.contains('+')) && !before.top_level {
        return Err(Refused::new(
            format!("{name} has the file to itself"),
            "rename the file with a patch of git (`rename from`, `rename to`)",
        ));
    }
    let gone = remove_declaration(text, &name, defines)?;
    let gone = gone.ok_or_else(|| Refused::new(format!("{name} is not declared there"), OTHERWISE))?;
    let [range] = gone.ranges.as_slice() else {
        return Err(Refused::new(format!("the file declares {name} in several parts"), OTHERWISE));
    };
    let compiled = blank(text, defines);
    let directives = leading_directives(text, &compiled, Some(range))?;
    let lines: Vec<&str> = split(&text[range.clone()]).collect();
    let is_blank = |line: &&&str| body(line).trim().is_empty();
    let first = lines.iter().take_while(is_blank).count();
    let last = lines.len() - lines.iter().rev().take_while(is_blank).count();
    let declaration: String = lines[first.min(last)..last].concat();
    let own = file_beside(text, &compiled, range.start, &directives, &declaration);
    let after = parse_code(&own, defines);
    let is_own = |one: &&crate::code_text::declared::Declared| range.start <= one.range.start && one.range.end <= range.end;
    let went: Vec<_> = all.iter().filter(is_own).map(|one| &one.is).collect();
    let came = list_declarations(&own, &after);
    let is_same = went == came.iter().map(|one| &one.is).collect::<Vec<_>>();
    if worse(&before, &after) || !is_same {
        let why = format!("{name} would change in a file of its own");
        return Err(Refused::new(why, OTHERWISE));
    }
    Ok(Moved {
        rest: without_empty_namespace(&gone.text, range.start),
        own,
    })
}

/// Returns the directives for the whole file, which the new file repeats. Refuses other directives around the type that leaves the file.
pub(super) fn leading_directives(text: &str, compiled: &str, leaves: Option<&Range<usize>>) -> Result<Vec<String>, Refused> {
    let first = lex(compiled).tokens.first().map_or(text.len(), |token| token.start as usize);
    let (mut at, mut kept) = (0, Vec::new());
    // Codes of `#pragma warning disable` without a later `restore`.
    let mut disabled: Vec<&str> = Vec::new();
    for line in split(text) {
        let start = at;
        at += line.len();
        let Some(word) = line.trim_start().strip_prefix('#').map(str::trim_start) else {
            continue;
        };
        let is_region = word.starts_with("region") || word.starts_with("endregion");
        let is_leading = start < first && (word.starts_with("nullable") || word.starts_with("pragma"));
        let is_beside = leaves.is_some_and(|range| !range.contains(&start));
        if is_leading {
            kept.push(body(line).trim().to_owned());
        } else if let (Some(range), Some(warnings)) = (leaves, warnings_of(word)) {
            match warnings {
                Warnings::Disable(which) if start < range.start => disabled.push(which),
                Warnings::Restore(which) if start < range.start => disabled.retain(|one| !(which.is_empty() || which == *one)),
                _ => {}
            }
        } else if !is_region && (is_beside || leaves.is_none() && start < first) {
            let line = line_and_column(text, start).0;
            return Err(Refused::new(
                format!("`#{}` at line {line} holds for code beside it", word.trim_end()),
                OTHERWISE,
            ));
        }
    }
    kept.extend(
        disabled
            .iter()
            .map(|which| format!("#pragma warning disable {which}").trim_end().to_owned()),
    );
    Ok(kept)
}

/// A directive about warnings, with their codes.
enum Warnings<'t> {
    Disable(&'t str),
    Restore(&'t str),
}

fn warnings_of(directive: &str) -> Option<Warnings<'_>> {
    let rest = directive.strip_prefix("pragma")?.trim_start().strip_prefix("warning")?.trim_start();
    let rest = rest.split("//").next().unwrap_or_default();
    let disable = rest.strip_prefix("disable").map(|codes| Warnings::Disable(codes.trim()));
    disable.or_else(|| rest.strip_prefix("restore").map(|codes| Warnings::Restore(codes.trim())))
}

/// Returns a file with a declaration in the namespace that contains an offset of a text, below the same licence, directives and usings.
pub(super) fn file_beside(text: &str, compiled: &str, at: usize, directives: &[String], declaration: &str) -> String {
    let end = Ends::from_text(text).most_frequent();
    let tokens = lex(compiled).tokens;
    let mut made = licence(text, &tokens, end);
    for line in directives {
        made.push_str(line);
        made.push_str(end);
    }
    if !directives.is_empty() {
        made.push_str(end);
    }
    let mut closing = String::new();
    for level in enclosing_scopes(compiled, &tokens, at) {
        let indent = |at: usize| -> &str {
            let line = text[..at].rfind(['\n', '\r']).map_or(0, |end| end + 1);
            let lead = &text[line..at];
            if lead.trim().is_empty() { lead } else { "" }
        };
        if let Some(header) = &level.header {
            let lead = indent(header.start);
            made.push_str(&format!("{lead}{}{end}", &text[header.clone()]));
            match text[header.clone()].ends_with('{') {
                true => closing.insert_str(0, &format!("{lead}}}{end}")),
                false => made.push_str(end),
            }
        }
        for using in &level.usings {
            made.push_str(&format!("{}{}{end}", indent(using.start), &text[using.clone()]));
        }
        if !level.usings.is_empty() {
            made.push_str(end);
        }
    }
    made.push_str(declaration.trim_end_matches(['\n', '\r', ' ', '\t']));
    made.push_str(end);
    made.push_str(&closing);
    made
}

/// Returns the comment at the start of a file, unless it documents the first declaration.
fn licence(text: &str, tokens: &[Token], end: &str) -> String {
    let until = tokens.first().map_or(text.len(), |token| token.start as usize);
    let mut made = String::new();
    let mut is_open = false;
    let is_of_file = tokens
        .first()
        .is_some_and(|first| matches!(first.text(text), "using" | "namespace" | "global" | "extern" | "["));
    let lead = text[..until].trim_end();
    if !is_of_file && split(&text[lead.len()..until]).count() < 3 && split(lead).all(|line| line.trim_start().starts_with("//")) {
        // The comment is about the declaration below it.
        return made;
    }
    for line in split(&text[..until]) {
        let plain = body(line).trim();
        let is_comment = is_open || plain.starts_with("/*") || plain.starts_with("//") && !plain.starts_with("///");
        if !is_comment {
            break;
        }
        is_open = (is_open || plain.starts_with("/*")) && !plain.contains("*/");
        made.push_str(line);
    }
    if !made.is_empty() {
        made.push_str(end);
    }
    made
}

/// A scope around a type: the compilation unit, or a namespace.
#[derive(Default)]
struct Level {
    /// `namespace N;` or `namespace N {`.
    header: Option<Range<usize>>,
    /// Using directives of the scope that are not global.
    usings: Vec<Range<usize>>,
}

/// Returns the scopes around an offset, outermost first.
fn enclosing_scopes(text: &str, tokens: &[Token], at: usize) -> Vec<Level> {
    let word = |index: usize| tokens.get(index).map_or("", |token| token.text(text));
    let mut stack = vec![Level {
        header: None,
        usings: usings_at(text, tokens, 0).0,
    }];
    let mut index = usings_at(text, tokens, 0).1;
    let mut depth = 0_usize;
    while let Some(token) = tokens.get(index).filter(|token| (token.start as usize) < at) {
        match word(index) {
            "namespace" if depth == 0 => {
                let name =
                    (index + 1..tokens.len()).take_while(|index| tokens[*index].kind == Kind::Word || matches!(word(*index), "." | "::"));
                let close = name.last().unwrap_or(index) + 1;
                let Some(ends) = tokens.get(close) else { break };
                let (usings, next) = usings_at(text, tokens, close + 1);
                stack.push(Level {
                    header: Some(token.start as usize..ends.end as usize),
                    usings,
                });
                index = next;
                continue;
            }
            "{" => depth += 1,
            "}" if depth == 0 && stack.len() > 1 => drop(stack.pop()),
            "}" => depth = depth.saturating_sub(1),
            _ => {}
        }
        index += 1;
    }
    stack
}

/// Returns the using directives and assembly aliases from a token on, and the first token after them.
fn usings_at(text: &str, tokens: &[Token], at: usize) -> (Vec<Range<usize>>, usize) {
    let (found, next) = leading_usings(text, tokens, at);
    let mut all: Vec<Range<usize>> = found.into_iter().filter(|one| one.rank > 0).map(|one| one.range).collect();
    let word = |index: usize| tokens.get(index).map_or("", |token| token.text(text));
    for index in at..next {
        if word(index) == "extern" && word(index + 1) == "alias" {
            all.push(tokens[index].start as usize..tokens[(index + 3).min(tokens.len() - 1)].end as usize);
        }
    }
    all.sort_by_key(|range| range.start);
    (all, next)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn both(text: &str, symbol: &str) -> Result<(String, String), String> {
        let made = move_to_own_file(text, symbol, &BTreeSet::new());
        made.map(|made| (made.rest, made.own)).map_err(|refused| refused.why)
    }

    #[test]
    fn a_type_takes_along_what_it_needs() {
        let text = "// Licence.\r\n#nullable enable\r\nglobal using Z;\r\nusing A;\r\nusing B = A.C;\r\n\r\nnamespace N.M;\r\n\r\nusing D;\r\n\r\npublic class Stays { }\r\n\r\n/// <summary>Goes.</summary>\r\n[Old]\r\npublic class Goes<T>\r\n{\r\n    class Inner { }\r\n}\r\n";
        let (rest, own) = both(text, "Goes").expect("moved");
        assert_eq!(
            own,
            "// Licence.\r\n\r\n#nullable enable\r\n\r\nusing A;\r\nusing B = A.C;\r\n\r\nnamespace N.M;\r\n\r\nusing D;\r\n\r\n/// <summary>Goes.</summary>\r\n[Old]\r\npublic class Goes<T>\r\n{\r\n    class Inner { }\r\n}\r\n"
        );
        assert_eq!(
            rest,
            text.replace(
                "\r\n/// <summary>Goes.</summary>\r\n[Old]\r\npublic class Goes<T>\r\n{\r\n    class Inner { }\r\n}\r\n",
                ""
            )
        );
        let text = "using A;\n\nnamespace N\n{\n    using B;\n\n    enum E { X }\n\n    class C\n    {\n        int X;\n    }\n}\n";
        let (rest, own) = both(text, "E").expect("moved");
        assert_eq!(own, "using A;\n\nnamespace N\n{\n    using B;\n\n    enum E { X }\n}\n");
        assert_eq!(rest, text.replace("    enum E { X }\n\n", ""));
    }

    #[test]
    fn warnings_that_are_off_for_a_type_are_off_in_its_file() {
        let text = "class A { }\n#pragma warning disable CS1\nclass B { }\n#pragma warning restore CS1\nclass C { }\n\n#pragma warning disable CS2 // why\nclass D { }\nclass E { }\n#pragma warning restore CS2\n";
        let (rest, own) = both(text, "C").expect("moved");
        assert_eq!((rest, own.as_str()), (text.replace("class C { }\n", ""), "class C { }\n"));
        let (rest, own) = both(text, "E").expect("moved");
        assert_eq!(
            (rest, own.as_str()),
            (text.replace("class E { }\n", ""), "#pragma warning disable CS2\n\nclass E { }\n")
        );
    }

    #[test]
    fn comments_go_with_their_types() {
        let text = "// About A.\nclass A { }\n\n// About B,\n// which goes.\nclass B { } // end\n\nclass C { }\n";
        let (rest, own) = both(text, "B").expect("moved");
        assert_eq!(own, "// About B,\n// which goes.\nclass B { } // end\n");
        assert_eq!(rest, "// About A.\nclass A { }\n\nclass C { }\n");
        let text = "// Licence.\n\nnamespace A\n{\n    // About X.\n    class X { }\n}\n\nnamespace B\n{\n    class Y { }\n}\n";
        let (rest, own) = both(text, "X").expect("moved");
        assert_eq!(own, "// Licence.\n\nnamespace A\n{\n    // About X.\n    class X { }\n}\n");
        assert_eq!(rest, "// Licence.\n\nnamespace B\n{\n    class Y { }\n}\n");
    }

    #[test]
    fn types_that_cannot_leave_their_file_stay() {
        for (text, symbol, why) in [
            ("class A { class B { } } class C { }", "A.B", "is nested in another type"),
            ("class A { }", "A", "has the file to itself"),
            ("file class A { } class B { }", "A", "its own file alone"),
            ("#if X\nusing A;\n#endif\nclass A { }\nclass B { }\n", "B", "`#if X` at line 1"),
            ("partial class A { } class B { } partial class A { }", "A", "2 declarations"),
            ("class A { int X; } class B { }", "A#X", "is not a type"),
        ] {
            let refused = both(text, symbol).expect_err(text);
            assert!(refused.contains(why), "{text}: {refused}");
        }
    }
}
