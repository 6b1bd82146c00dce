//! Sorts using directives, without duplicates: those of `System` first, then by name, static ones and aliases last.

use super::adding_usings::{UsingDirective, leading_usings};
use super::symbol::Refused;
use crate::code_text::declared::{list_declarations, parse_code};
use crate::code_text::lines::Ends;
use producers::csharp::lexer::lex;
use producers::csharp::preprocess::blank;
use std::collections::BTreeSet;

/// Returns the text with sorted directives; `None` if they are sorted already. Fails when other text between them would lose its place, or
/// the new order changes the meaning of the file.
pub fn organize_usings(text: &str, defines: &BTreeSet<String>) -> Result<Option<String>, Refused> {
    let compiled = blank(text, defines);
    let tokens = lex(&compiled).tokens;
    let mut made = text.to_owned();
    let begins = (0..tokens.len()).filter(|at| tokens[*at].text(&compiled) == "namespace");
    let begins = begins.filter_map(|at| {
        let end = (at..tokens.len()).find(|end| matches!(tokens[*end].text(&compiled), "{" | ";"))?;
        Some(end + 1)
    });
    let begins: Vec<usize> = std::iter::once(0).chain(begins).collect();
    for at in begins.into_iter().rev() {
        let found = leading_usings(&compiled, &tokens, at).0;
        if let (Some(first), Some(last)) = (found.first(), found.last()) {
            let range = first.range.start..last.range.end;
            made.replace_range(range.clone(), &sorted_directives(text, &found)?);
        }
    }
    if made == text {
        return Ok(None);
    }
    let (before, after) = (parse_code(text, defines), parse_code(&made, defines));
    let is = |text: &str, syntax| list_declarations(text, syntax).into_iter().map(|one| one.is).collect::<Vec<_>>();
    let all = |usings: &[producers::csharp::model::Using]| usings.iter().cloned().collect::<BTreeSet<_>>();
    match all(&before.usings) == all(&after.usings) && is(text, &before) == is(&made, &after) {
        true => Ok(Some(made)),
        false => Err(Refused::new(
            "in this order the directives would have another meaning",
            "edit them with `replace`",
        )),
    }
}

/// Returns the sorted directives, one per line.
fn sorted_directives(text: &str, all: &[UsingDirective]) -> Result<String, Refused> {
    for two in all.windows(2) {
        let between = &text[two[0].range.end..two[1].range.start];
        if !between.trim().is_empty() {
            let why = format!("`{}` is between the directives, and would lose its place", between.trim());
            return Err(Refused::new(why, "move it before or behind them first"));
        }
    }
    let first = &all[0];
    let line = text[..first.range.start].rfind(['\n', '\r']).map_or(0, |end| end + 1);
    let lead = &text[line..first.range.start];
    let is_lead = lead.trim().is_empty();
    let parts = if is_lead {
        format!("{}{lead}", Ends::from_text(text).most_frequent())
    } else {
        " ".to_owned()
    };
    let is_system = |target: &str| target == "System" || target.starts_with("System.");
    let mut sorted: Vec<&UsingDirective> = all.iter().collect();
    sorted.sort_by_key(|one| (one.rank, !is_system(&one.target), one.target.to_lowercase(), one.target.clone()));
    let written = |one: &UsingDirective| &text[one.range.clone()];
    sorted.dedup_by(|one, other| written(one) == written(other));
    if sorted.iter().map(|one| one.range.start).eq(all.iter().map(|one| one.range.start)) {
        return Ok(text[first.range.start..all[all.len() - 1].range.end].to_owned());
    }
    // If the file has a blank line between directives, separate groups by one, as Visual Studio does: a group has one kind and first
    // namespace.
    let is_blank_between = |two: &[UsingDirective]| text[two[0].range.end..two[1].range.start].matches('\n').count() > 1;
    let group = |one: &UsingDirective| (one.rank, one.target.split(['.', ':']).next().unwrap_or_default().to_owned());
    let blank = if all.windows(2).any(is_blank_between) {
        Ends::from_text(text).most_frequent()
    } else {
        ""
    };
    let mut made = String::new();
    for (at, one) in sorted.iter().enumerate() {
        if at > 0 {
            made.push_str(if group(sorted[at - 1]) == group(one) { "" } else { blank });
            made.push_str(&parts);
        }
        made.push_str(written(one));
    }
    Ok(made)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directives_are_put_in_order_once() {
        for (text, made) in [
            (
                "using B;\nusing static A.C;\n\nusing A;\nusing System.Linq;\nusing B;\n\nclass X { }\n",
                Some("using System.Linq;\n\nusing A;\n\nusing B;\n\nusing static A.C;\n\nclass X { }\n"),
            ),
            ("using System;\nusing A;\nclass X { }\n", None),
            ("using System;\n\nusing A;\nusing B;\nclass X { }\n", None),
            (
                "using System;\n\nusing A.C;\nusing A.B;\nclass X { }\n",
                Some("using System;\n\nusing A.B;\nusing A.C;\nclass X { }\n"),
            ),
            (
                "namespace N\r\n{\r\n    using B;\r\n    using A;\r\n    class X { }\r\n}\r\n",
                Some("namespace N\r\n{\r\n    using A;\r\n    using B;\r\n    class X { }\r\n}\r\n"),
            ),
            ("class X { }", None),
        ] {
            assert_eq!(
                organize_usings(text, &BTreeSet::new()).expect("no refusal").as_deref(),
                made,
                "{text}"
            );
        }
        let why = organize_usings("using B;\n// why\nusing A;\n", &BTreeSet::new())
            .expect_err("refused")
            .why;
        assert_eq!(why, "`// why` is between the directives, and would lose its place");
    }
}
