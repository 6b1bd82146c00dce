//! Removes declarations from a text with their documentation, attributes, the comments above them and at the end of their last line, and one
//! separating blank line.
//! Every other declaration stays the same.

use super::declarations_only::keeps_directives;
use super::head::Parts;
use super::kept_declarations::EditRange;
use super::replacing::{comma, tail};
use super::symbol::{Refused, worse};
use crate::code_text::declared::{Declared, encloses, list_declarations, parse_code};
use crate::code_text::lines::{body, line_start, split};
use producers::csharp::lexer::{Kind, lex};
use producers::csharp::model::{Member, Syntax, TypeDecl};
use std::collections::BTreeSet;
use std::ops::Range;

/// A text without a symbol.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Removed {
    pub text: String,
    /// Removed ranges of the old text in bytes, in order.
    pub ranges: Vec<Range<usize>>,
}

/// Removes all declarations of a symbol, compiled with these `#if` symbols; `None` if there is none. Fails when the removal would change
/// another declaration.
pub fn remove_declaration(text: &str, symbol: &str, defines: &BTreeSet<String>) -> Result<Option<Removed>, Refused> {
    let before = parse_code(text, defines);
    let all = list_declarations(text, &before);
    let mut parts: Vec<&Declared> = all.iter().filter(|one| one.is.name == symbol).collect();
    parts.sort_by_key(|one| one.range.start);
    if parts.is_empty() {
        return Ok(None);
    }
    let (mut made, mut ranges) = (text.to_owned(), Vec::new());
    for one in parts.into_iter().rev() {
        refuse_joined_declaration(text, &all, one)?;
        refuse_change_of_layout(&before, one)?;
        let old = range_to_remove(text, one);
        made.replace_range(old.clone(), "");
        let without = [&text[..old.start], &text[old.end..]].concat();
        let place = EditRange {
            new: old.start..old.start,
            old: old.clone(),
        };
        keeps_directives(text, &without, &place, defines)?;
        ranges.insert(0, old);
    }
    let after = parse_code(&made, defines);
    let is_gone = |one: &&Declared| ranges.iter().any(|range| encloses(range, one));
    let stay: Vec<_> = all.iter().filter(|one| !is_gone(one)).map(|one| &one.is).collect();
    let now = list_declarations(&made, &after);
    if worse(&before, &after) || stay != now.iter().map(|one| &one.is).collect::<Vec<_>>() {
        let why = format!("removing {symbol} would change other declarations");
        return Err(Refused::new(why, "edit the present text with `replace`"));
    }
    Ok(Some(Removed { text: made, ranges }))
}

/// Refuses a declaration that cannot be removed without others.
fn refuse_joined_declaration(text: &str, all: &[Declared], one: &Declared) -> Result<(), Refused> {
    let name = &one.is.name;
    let hint = "edit the present text with `replace`";
    if let Some(other) = all.iter().find(|other| other.range == one.range && other.is != one.is) {
        return Err(Refused::new(format!("{name} is declared together with {}", other.is.name), hint));
    }
    if one.is.kind != "enum member" {
        return match text[one.range.clone()].ends_with([';', '}']) {
            true => Ok(()),
            false => Err(Refused::new(format!("{name} is a parameter of its type"), hint)),
        };
    }
    let behind = all
        .iter()
        .filter(|other| other.owner == one.owner && other.range.start > one.range.start);
    let Some(next) = behind.min_by_key(|other| other.range.start) else {
        return Ok(());
    };
    let declaration = &text[next.range.clone()];
    match declaration[Parts::from_declaration(declaration).itself..].contains('=') {
        true => Ok(()),
        false => Err(Refused::new(
            format!("without {name} {} and what follows it would have other values", next.is.name),
            hint,
        )),
    }
}

/// Refuses to remove a field of a type whose layout in memory an attribute fixes: native code knows its fields by their places.
fn refuse_change_of_layout(syntax: &Syntax, one: &Declared) -> Result<(), Refused> {
    let fixes = |attribute: &String| attribute.contains("StructLayout") && !attribute.contains("LayoutKind.Auto");
    let is_static = |member: &Member| member.name == one.simple && member.modifiers.iter().any(|modifier| modifier == "static");
    let is_laid_out =
        |decl: &TypeDecl| decl.symbol() == one.owner && decl.attributes.iter().any(fixes) && !decl.members.iter().any(is_static);
    match one.is.kind == "field" && syntax.types.iter().any(is_laid_out) {
        true => Err(Refused::new(
            format!("without {} the layout of {} in memory would change", one.is.name, one.owner),
            "edit the present text with `replace`",
        )),
        false => Ok(()),
    }
}

/// Returns the range of bytes to remove for a declaration.
fn range_to_remove(text: &str, one: &Declared) -> Range<usize> {
    let line = line_start(text, one.range.start);
    let begins = text[line..one.range.start].trim().is_empty();
    let line = if begins { comments_above(text, line) } else { line };
    let rest = &text[one.range.end..];
    let ended = match one.is.kind {
        "enum member" => comma(rest).unwrap_or(0),
        // A semicolon may follow the brace of a type.
        _ if one.owner.is_empty() => rest.trim_start().strip_prefix(';').map_or(0, |others| rest.len() - others.len()),
        _ => 0,
    };
    let end = one.range.end + ended;
    match tail(&text[end..]) {
        Some(tail) if begins => with_blank(text, line..end + tail),
        _ if begins => one.range.start..end + spaces(&text[end..]),
        _ => line + text[line..one.range.start].trim_end().len()..end,
    }
}

/// Returns the start of the comments directly above a line. Comments from the start of the file on are excluded: they are about the file.
fn comments_above(text: &str, line: usize) -> usize {
    let mut start = line;
    for above in split(&text[..line]).collect::<Vec<_>>().into_iter().rev() {
        let plain = body(above).trim();
        if !(plain.starts_with("//") || plain.starts_with("/*") && plain.ends_with("*/")) {
            return start;
        }
        start -= above.len();
    }
    line
}

/// Removes the namespace around an offset if it is empty.
pub fn without_empty_namespace(text: &str, at: usize) -> String {
    let tokens = lex(text).tokens;
    let close = tokens.partition_point(|token| (token.start as usize) < at);
    let word = |at: usize| tokens.get(at).map_or("", |token| token.text(text));
    let is_in_name = |at: &usize| tokens[*at].kind == Kind::Word && word(*at) != "namespace" || word(*at) == ".";
    let is_empty = close > 1 && word(close - 1) == "{" && word(close) == "}";
    let before = (0..close.saturating_sub(1)).rev().find(|at| !is_in_name(at));
    let Some(first) = before.filter(|at| is_empty && word(*at) == "namespace") else {
        return text.to_owned();
    };
    let inside = tokens[close - 1].end as usize..tokens[close].start as usize;
    if !text[inside].trim().is_empty() {
        return text.to_owned();
    }
    let (start, end) = (tokens[first].start as usize, tokens[close].end as usize);
    let line = line_start(text, start);
    let range = match tail(&text[end..]) {
        Some(tail) if text[line..start].trim().is_empty() => with_blank(text, comments_above(text, line)..end + tail),
        _ => start..end,
    };
    let made = [&text[..range.start], &text[range.end..]].concat();
    without_empty_namespace(&made, range.start)
}

/// Extends whole lines by the blank line that separates them: the one before, or, at the start of a block, the one after.
fn with_blank(text: &str, lines: Range<usize>) -> Range<usize> {
    let is_blank = |line: &str| body(line).trim().is_empty();
    let (before, behind) = (split(&text[..lines.start]).last(), split(&text[lines.end..]).next());
    let ends = behind.is_none_or(|line| is_blank(line) || line.trim_start().starts_with('}'));
    match (before, behind) {
        (Some(blank), _) if is_blank(blank) && ends => lines.start - blank.len()..lines.end,
        (before, Some(blank)) if is_blank(blank) && before.is_none_or(|line| body(line).trim_end().ends_with('{')) => {
            lines.start..lines.end + blank.len()
        }
        _ => lines,
    }
}

/// Returns the length of the leading spaces and tabs.
fn spaces(text: &str) -> usize {
    text.len() - text.trim_start_matches([' ', '\t']).len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn without(text: &str, symbol: &str) -> Result<String, String> {
        let found = remove_declaration(text, symbol, &BTreeSet::new());
        found.map(|removed| removed.expect("declared").text).map_err(|refused| refused.why)
    }

    #[test]
    fn a_declaration_goes_with_what_is_its_own() {
        for (text, symbol, made) in [
            (
                "class A\r\n{\r\n\t/// <summary>X.</summary>\r\n\t[Old]\r\n\tint X; // x\r\n\r\n\tint Y;\r\n}\r\n",
                "A#X",
                "class A\r\n{\r\n\tint Y;\r\n}\r\n",
            ),
            ("class A\n{\n    int X;\n\n    int Y;\n}\n", "A#Y", "class A\n{\n    int X;\n}\n"),
            (
                "// Licence.\nclass A\n{\n    int X;\n\n    // About Y:\n    // it is one.\n    int Y;\n\n    int Z;\n}\n",
                "A#Y",
                "// Licence.\nclass A\n{\n    int X;\n\n    int Z;\n}\n",
            ),
            ("// Licence.\nclass A { }\nclass B { }\n", "A", "// Licence.\nclass B { }\n"),
            ("class A { int X; int Y; }", "A#X", "class A { int Y; }"),
            ("class A { int X; int Y; }", "A#Y", "class A { int X; }"),
            ("enum E { A, B = 2, C }", "E#A", "enum E { B = 2, C }"),
            ("enum E\n{\n    A,\n    C // c\n}\n", "E#C", "enum E\n{\n    A,\n}\n"),
            (
                "namespace N;\n\nclass A { };\n\nclass B { }\n",
                "N.A",
                "namespace N;\n\nclass B { }\n",
            ),
            (
                "class O\n{\n    class A<T> { T M; }\n    class A { }\n}\n",
                "O+A`1",
                "class O\n{\n    class A { }\n}\n",
            ),
            (
                "partial class A { int X; }\npartial class A { int Y; }\nclass B { }\n",
                "A",
                "class B { }\n",
            ),
        ] {
            assert_eq!(without(text, symbol).as_deref(), Ok(made), "{symbol}");
        }
    }

    #[test]
    fn a_namespace_goes_with_the_last_type_in_it() {
        let text = "namespace A\n{\n    namespace B.C\n    {\n        class X { }\n    }\n}\n\nnamespace D\n{\n    class Y { }\n}\n";
        let gone = remove_declaration(text, "A.B.C.X", &BTreeSet::new())
            .expect("removed")
            .expect("declared");
        assert_eq!(
            without_empty_namespace(&gone.text, gone.ranges[0].start),
            "namespace D\n{\n    class Y { }\n}\n"
        );
        let kept = "namespace A { class X { } /* stays */ }\n";
        let gone = remove_declaration(kept, "A.X", &BTreeSet::new())
            .expect("removed")
            .expect("declared");
        assert_eq!(without_empty_namespace(&gone.text, gone.ranges[0].start), gone.text);
    }

    #[test]
    fn declarations_that_cannot_be_removed_alone_stay() {
        for (text, symbol, why) in [
            ("class A { int X, Y; }", "A#X", "A#X is declared together with A#Y"),
            ("record R(int X, int Y);", "R#Y", "R#Y is a parameter of its type"),
            (
                "enum E { A, B, C = 7 }",
                "E#A",
                "without E#A E#B and what follows it would have other values",
            ),
            (
                "[StructLayout(LayoutKind.Sequential)] struct S { int X; int Y; }",
                "S#X",
                "without S#X the layout of S in memory would change",
            ),
        ] {
            assert_eq!(without(text, symbol), Err(why.to_owned()), "{symbol}");
        }
        assert!(without("[StructLayout(LayoutKind.Auto)] struct S { int X; int Y; }", "S#X").is_ok());
        assert!(without("[StructLayout(LayoutKind.Sequential)] struct S { static int X; int Y; }", "S#X").is_ok());
        assert_eq!(remove_declaration("class A { int X; }", "A#Z", &BTreeSet::new()), Ok(None));
        let half = "class A {\n#if X\n    int X;\n#else\n    int Y; int Z {\n#endif\n    get; }\n}\n";
        assert!(without(half, "A#Z").is_err());
    }

    proptest! {
        /// Text outside the member keeps its bytes, with any line ends and any nesting of types.
        #[test]
        fn all_else_stays_byte_for_byte(
            members in proptest::collection::vec(0_usize..6, 1..6),
            at in any::<proptest::sample::Index>(),
            form in 0_usize..4,
            crlf in any::<bool>(),
            tabs in any::<bool>(),
        ) {
            let indent = if tabs { "\t" } else { "    " };
            let member = |(number, form): (usize, &usize)| match form {
                0 => format!("{indent}int M{number}; // it\n"),
                1 => format!("{indent}/// <summary>It.</summary>\n{indent}[Old(\"]}}\")]\n{indent}void M{number}() {{ if (true) {{ }} }}\n\n"),
                2 => format!("\n{indent}// about it\n{indent}public int M{number} => 1; /* \n two */\n"),
                3 => format!("{indent}class M{number}<T> where T : class {{ T X; }}"),
                4 => format!("{indent}int M{number} {{ get; set; }} = 3; "),
                _ => format!("\n#region R\n{indent}string M{number} = @\"a\n}} b\";\n#endregion\n"),
            };
            let body: String = members.iter().enumerate().map(member).collect();
            let text = match form {
                0 => format!("namespace N;\n\nclass A\n{{\n{body}\n}}\n"),
                1 => format!("namespace N {{\nclass A {{\n{body}}} }}"),
                2 => format!("using System;\n\npartial class A {{ }}\nnamespace N {{ partial struct A\n{{\n{body}\n}}\n}}\n"),
                _ => format!("namespace N; class O {{ }} record A(int P) {{\n{body}\n}} // end"),
            };
            let text = if crlf { text.replace('\n', "\r\n") } else { text };
            let number = at.index(members.len());
            let symbol = match members[number] {
                1 => format!("N.A#M{number}()"),
                3 => format!("N.A+M{number}`1"),
                _ => format!("N.A#M{number}"),
            };
            let gone = remove_declaration(&text, &symbol, &BTreeSet::new()).expect("removed").expect("declared");
            let [range] = gone.ranges.as_slice() else { panic!("one place") };
            prop_assert_eq!(&gone.text, &[&text[..range.start], &text[range.end..]].concat());
            let cut = &text[range.clone()];
            let has = |number: usize| cut.contains(&format!("M{number}"));
            prop_assert!(has(number));
            for other in (0..members.len()).filter(|other| *other != number) {
                prop_assert!(!has(other));
            }
            prop_assert!(!cut.contains("#region") && !cut.contains("#endregion"));
        }
    }
}
