//! `replace` with a selector: replaces the syntax nodes that a query selects (seed 004 §18.4).

use super::editing::apply_edit;
use super::files::Files;
use super::line_ends::{note_line_ends, with_line_ends_of_file};
use super::perform::Done;
use super::run::{EditRun, Trouble};
use super::state::{Event, Status};
use crate::code_text::lines::{body, split};
use engine::values::quantity::plural;
use producers::languages::selector::{Selector, SelectorError};
use std::ops::Range;

/// Places of nodes that are listed.
const LISTED: usize = 5;
/// Characters of a line that are listed.
const LONGEST: usize = 120;

pub(super) struct NodesToReplace<'w> {
    /// A query of tree-sitter.
    pub(super) selector: &'w str,
    /// The text that a node must have, if any.
    pub(super) old: Option<&'w str>,
    /// Whether to replace all; otherwise there must be exactly one.
    pub(super) is_all: bool,
}

/// Replaces the node that a selector selects, or all of them. Fails when the selector is invalid, or the file's language has no grammar.
pub(super) fn replace_nodes<F: Files>(
    run: &mut EditRun<'_, F>,
    path: &str,
    wanted: &NodesToReplace<'_>,
    new: &str,
    fits: bool,
) -> Result<Done, Trouble> {
    let text = run.text(path)?;
    let selector = Selector::compile(path, wanted.selector);
    let found = selector.and_then(|selector| selector.select(&text));
    let found = found.map_err(|why| Trouble::new(why.to_string(), hint(&why)).at(path))?;
    let (old, fitted) = with_line_ends_of_file(&text, wanted.old.unwrap_or_default(), new, fits);
    if fitted != new || wanted.old.is_some_and(|given| given != old) {
        note_line_ends(run, path, &text);
    }
    let is_wanted = |range: &Range<usize>| wanted.old.is_none() || text[range.clone()] == old;
    let found: Vec<Range<usize>> = found.into_iter().filter(is_wanted).collect();
    match found.as_slice() {
        [] => {
            run.apply_event(path, Event::Nowhere);
            let with = if wanted.old.is_some() { " with the text of oldText" } else { "" };
            Ok(Done {
                guidance: Some("change the selector, or give only oldText, exactly as in the file".to_owned()),
                ..Done::of(Status::NoMatch, format!("the selector matches no node{with} in {path}"))
            })
        }
        [_, _, ..] if !wanted.is_all => {
            run.apply_event(path, Event::Refused);
            let why = format!(
                "the selector matches {} nodes in {path}, and must match one; nothing was changed",
                found.len()
            );
            Ok(Done {
                count: Some(found.len()),
                guidance: Some("narrow the selector, set oldText to the text of one node, or replace all of them with `all`".to_owned()),
                ..Done::of(Status::MultiMatch, why).with(first_lines_of_nodes(&text, &found))
            })
        }
        _ => {
            let outer = outermost_ranges(&found);
            let (made, count) = (replace_ranges(&text, &outer, &fitted), outer.len());
            let inner = match found.len() - count {
                0 => String::new(),
                more => format!(" ({more} inside of them went with them)"),
            };
            let what = format!("replaced {} of the selector{inner}", plural(count, "node"));
            apply_edit(run, "replace", vec![(path.to_owned(), Some(made))], &what)
        }
    }
}

fn hint(why: &SelectorError) -> &'static str {
    match why {
        SelectorError::NoGrammar { .. } => "give oldText instead",
        SelectorError::Unparsed | SelectorError::TooMany | SelectorError::TooDeep => "give oldText instead, or a simpler selector",
        SelectorError::Query { .. } => {
            "write a query of tree-sitter, such as (invocation_expression function: (identifier) @f (#eq? @f \"Log\")) @target"
        }
        SelectorError::NoTarget { .. } => "call the node that is replaced @target",
        SelectorError::Outside { .. } => "put both into brackets: ((identifier) @target (#eq? @target \"Log\"))",
        SelectorError::Unevaluated { .. } => "use #eq?, #match?, #any-of?, their forms with not- and any-, such as #not-eq?, or oldText",
    }
}

/// Returns the ranges not inside another one; the input is sorted by start, longer ones first.
fn outermost_ranges(found: &[Range<usize>]) -> Vec<Range<usize>> {
    let mut outer: Vec<Range<usize>> = Vec::new();
    for range in found {
        if outer.last().is_none_or(|last| range.start >= last.end) {
            outer.push(range.clone());
        }
    }
    outer
}

fn replace_ranges(text: &str, ranges: &[Range<usize>], new: &str) -> String {
    let mut made = String::with_capacity(text.len());
    let mut at = 0;
    for range in ranges {
        made.push_str(&text[at..range.start]);
        made.push_str(new);
        at = range.end;
    }
    made.push_str(&text[at..]);
    made
}

/// Returns the first lines of nodes, with their numbers.
fn first_lines_of_nodes(text: &str, found: &[Range<usize>]) -> String {
    let mut listed = Vec::new();
    for range in found.iter().take(LISTED) {
        let line = split(&text[..range.start]).filter(|line| body(line).len() < line.len()).count() + 1;
        let first = split(&text[range.clone()]).next().map_or("", body);
        listed.push(format!("line {line}: {}", first.chars().take(LONGEST).collect::<String>()));
    }
    if found.len() > LISTED {
        listed.push(format!("… and {} more", found.len() - LISTED));
    }
    listed.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_outermost_nodes_are_replaced() {
        let found = [0..9, 2..4, 9..10, 12..15, 12..13];
        let outer = outermost_ranges(&found);
        assert_eq!(outer, [0..9, 9..10, 12..15]);
        assert_eq!(replace_ranges("0123456789abcdefg", &outer, "-"), "--ab-fg");
        assert_eq!(first_lines_of_nodes("a\r\nb\nc", &[3..4, 5..6]), "line 2: b\nline 3: c");
    }
}
