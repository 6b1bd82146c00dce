//! Used types of joint questions: a type that several of them describe is described once, before the first question, and so is a change of it.
//!
//! A question describes used types in a fenced block under the title [`TITLE`]. The entry of a type begins with a line `// name: role`; the head of
//! the type and the members that the question uses follow.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// Title of the block.
pub const TITLE: &str = "Used types";

/// Beginnings of the titles of changes of used types.
const CHANGES: [&str; 2] = ["Role of ", "Used declarations of "];

/// Line in place of declarations that were left out.
const LEFT_OUT: &str = "// …";

/// A block of used types in a text.
struct UsedTypes<'t> {
    before: &'t str,
    after: &'t str,
    /// The line that opens its fence, with the language.
    opening: &'t str,
    entries: Vec<UsedType<'t>>,
}

/// The entry of one type.
#[derive(Clone, Debug, PartialEq, Eq)]
struct UsedType<'t> {
    name: &'t str,
    role: &'t str,
    declarations: Vec<&'t str>,
}

/// Moves the types that several questions describe out of them; returns these types as a block.
pub(super) fn share_used_types(questions: &mut [String]) -> Option<String> {
    let texts = questions.to_vec();
    let mut blocks: Vec<(usize, UsedTypes<'_>)> = texts
        .iter()
        .enumerate()
        .filter_map(|(at, text)| Some((at, find_used_types(text)?)))
        .collect();
    let opening = blocks
        .iter()
        .map(|(_, block)| block.opening)
        .max_by_key(|opening| fence_length(opening))?;
    let mut by_name: BTreeMap<&str, Vec<UsedType<'_>>> = BTreeMap::new();
    for entry in blocks.iter().flat_map(|(_, block)| &block.entries) {
        by_name.entry(entry.name).or_default().push(entry.clone());
    }
    let shared: BTreeMap<&str, UsedType<'_>> = by_name
        .into_iter()
        .filter_map(|(name, entries)| Some((name, join_entries(&entries)?)))
        .collect();
    if shared.is_empty() {
        return None;
    }
    for (at, block) in &mut blocks {
        block
            .entries
            .retain(|entry| shared.get(entry.name).is_none_or(|other| !is_same_type(other, entry)));
        questions[*at] = block_text(block);
    }
    Some(fenced(opening, shared.values()))
}

/// Moves the changes of used types that several questions show out of them, and returns these.
pub(super) fn share_changes(questions: &mut [String]) -> Vec<String> {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for question in questions.iter() {
        let blocks = titled_blocks(question).into_iter().map(|place| &question[place]);
        let changes: BTreeSet<&str> = blocks
            .filter(|block| CHANGES.iter().any(|title| block.starts_with(title)))
            .collect();
        changes
            .into_iter()
            .for_each(|block| *counts.entry(block.to_owned()).or_default() += 1);
    }
    counts.retain(|_, count| *count > 1);
    for question in questions {
        for place in titled_blocks(question).into_iter().rev() {
            if counts.contains_key(&question[place.clone()]) {
                let before = question[..place.start].trim_end().len();
                question.replace_range(before..place.end, "");
            }
        }
    }
    counts.into_keys().collect()
}

/// Returns the places of fenced blocks with their titles.
fn titled_blocks(text: &str) -> Vec<Range<usize>> {
    let mut blocks = Vec::new();
    let mut open: Option<(usize, usize)> = None;
    let mut title = None;
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let (ticks, bare) = (fence_length(line), line.trim_end());
        match open {
            Some((start, fence)) if ticks >= fence && bare.len() == ticks => {
                blocks.push(start..at + ticks);
                (open, title) = (None, None);
            }
            Some(_) => {}
            None if ticks >= 3 => open = Some((title.unwrap_or(at), ticks)),
            None => title = bare.ends_with(':').then_some(at),
        }
        at += line.len();
    }
    blocks
}

/// Returns one entry for several of a name, if at least two of them describe the same type.
fn join_entries<'t>(entries: &[UsedType<'t>]) -> Option<UsedType<'t>> {
    // A role may be shortened to its first sentence; the longest is whole.
    let mut joined = entries.iter().rev().max_by_key(|entry| entry.role.len())?.clone();
    let same: Vec<&UsedType<'_>> = entries.iter().filter(|entry| is_same_type(&joined, entry)).collect();
    if same.len() < 2 {
        return None;
    }
    let mut declarations: Vec<&str> = Vec::new();
    for line in same.iter().flat_map(|entry| &entry.declarations) {
        if !declarations.contains(line) {
            declarations.push(*line);
        }
    }
    // Stable: what was left out stays last.
    declarations.sort_by_key(|line| *line == LEFT_OUT);
    joined.declarations = declarations;
    Some(joined)
}

/// Whether an entry describes the same type as one with the whole role: types of one simple name differ in their roles.
fn is_same_type(whole: &UsedType<'_>, entry: &UsedType<'_>) -> bool {
    let heads = [whole, entry].map(|entry| entry.declarations.first());
    let has_same_head = heads[0].is_none() || heads[1].is_none() || heads[0] == heads[1];
    !entry.role.is_empty() && whole.role.starts_with(entry.role) && has_same_head
}

/// Finds the block in a text, outside of other fences.
fn find_used_types(text: &str) -> Option<UsedTypes<'_>> {
    let mut open: Option<usize> = None;
    let mut start = 0;
    let mut lines = text.split_inclusive('\n').peekable();
    while let Some(line) = lines.next() {
        let ticks = fence_length(line);
        match open {
            Some(fence) if ticks >= fence && line.trim_end().len() == ticks => open = None,
            Some(_) => {}
            None if ticks >= 3 => open = Some(ticks),
            None if line.trim_end().strip_suffix(':') == Some(TITLE) => {
                let opening = lines.peek().copied().filter(|next| fence_length(next) >= 3)?;
                let content = &text[start + line.len() + opening.len()..];
                let closing = "`".repeat(fence_length(opening));
                let mut end = 0;
                let is_closed = content.split_inclusive('\n').any(|line| {
                    let is_closing = line.trim_end() == closing;
                    end += if is_closing { 0 } else { line.len() };
                    is_closing
                });
                let after = &content[end..];
                return is_closed.then(|| UsedTypes {
                    before: &text[..start],
                    after: &after[closing.len()..],
                    opening: opening.trim_end(),
                    entries: parse_entries(&content[..end]),
                });
            }
            None => {}
        }
        start += line.len();
    }
    None
}

fn fence_length(line: &str) -> usize {
    line.bytes().take_while(|byte| *byte == b'`').count()
}

fn parse_entries(content: &str) -> Vec<UsedType<'_>> {
    let mut entries: Vec<UsedType<'_>> = Vec::new();
    for line in content.lines() {
        let title = line
            .strip_prefix("// ")
            .filter(|_| line != LEFT_OUT)
            .and_then(|rest| rest.split_once(':'));
        match (title, entries.last_mut()) {
            (Some((name, role)), _) => entries.push(UsedType {
                name,
                role: role.trim(),
                declarations: Vec::new(),
            }),
            (None, Some(last)) => last.declarations.push(line),
            (None, None) => entries.push(UsedType {
                name: "",
                role: "",
                declarations: vec![line],
            }),
        }
    }
    entries
}

/// Returns the text around a block with the entries that are left in it.
fn block_text(block: &UsedTypes<'_>) -> String {
    let (before, after) = (block.before.trim_end(), block.after.trim());
    let left = (!block.entries.is_empty()).then(|| fenced(block.opening, block.entries.iter()));
    let parts = [before, left.as_deref().unwrap_or_default(), after];
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n\n")
}

fn fenced<'e, 't: 'e>(opening: &str, entries: impl Iterator<Item = &'e UsedType<'t>>) -> String {
    let mut text = format!("{TITLE}:\n{opening}\n");
    for entry in entries {
        if !entry.name.is_empty() {
            text.push_str(format!("// {}: {}", entry.name, entry.role).trim_end());
            text.push('\n');
        }
        entry.declarations.iter().for_each(|line| text.push_str(&format!("{line}\n")));
    }
    text + &"`".repeat(fence_length(opening))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn question(about: &str, used: &str) -> String {
        format!("Code:\n```cs\n{about}\n```\n\nUsed types:\n```cs\n{used}\n```")
    }

    #[test]
    fn types_that_several_questions_use_are_described_once() {
        let mut questions = [
            question(
                "a",
                "// Clock: Ticks. Never stops.\ninterface Clock\nlong Now { get; }\n// One: Is mine.\nclass One",
            ),
            "No data.".to_owned(),
            question("b", "// Clock: Ticks.\ninterface Clock\nvoid Stop()\n// …"),
            question("c", "// Clock: Ticks.\ninterface Clock\nlong Now { get; }") + "\n\nMore.",
        ];
        let shared = share_used_types(&mut questions).expect("one");
        let expected = "Used types:\n```cs\n// Clock: Ticks. Never stops.\ninterface Clock\nlong Now { get; }\nvoid Stop()\n// …\n```";
        assert_eq!(shared, expected);
        assert_eq!(
            questions,
            [
                question("a", "// One: Is mine.\nclass One"),
                "No data.".to_owned(),
                "Code:\n```cs\nb\n```".to_owned(),
                "Code:\n```cs\nc\n```\n\nMore.".to_owned(),
            ]
        );
    }

    #[test]
    fn changes_of_used_types_are_shown_once() {
        let change = |name: &str, text: &str| format!("Used declarations of {name}:\n```diff\n@@\n{text}\n```");
        let (clock, other) = (change("Clock", "-int Now"), change("Clock", "-void Stop()"));
        let code = "Code:\n````cs\nRole of A:\n```diff\n````";
        let mut questions = [
            format!("Earlier answer:\n```\na\n```\n\n{code}\n\n{clock}"),
            format!("Earlier answer, no claims\n\n{clock}\n\n{code}"),
            format!("{other}\n\n{code}"),
        ];
        assert_eq!(share_changes(&mut questions), std::slice::from_ref(&clock));
        assert_eq!(
            questions,
            [
                format!("Earlier answer:\n```\na\n```\n\n{code}"),
                format!("Earlier answer, no claims\n\n{code}"),
                format!("{other}\n\n{code}"),
            ]
        );
        assert!(share_changes(&mut questions).is_empty());
    }

    #[test]
    fn other_types_of_the_same_name_stay_with_their_questions() {
        let uses = [
            ["// Token: Is a word.\nclass Token", "// Token: Is a promise.\nclass Token"],
            ["// Token: Is a word.\nclass Token", "// Token: Is a word.\nstruct Token"],
            ["// Token:\nclass Token", "// Token:\nclass Token"],
            ["// Token: Is a word.\nclass Token", "// Other: Is a word.\nclass Other"],
        ];
        for used in uses {
            let mut questions = used.map(|used| question("x", used));
            let before = questions.clone();
            assert_eq!((share_used_types(&mut questions), &questions), (None, &before));
        }
        // A block in the code of a question is code.
        let code = question("// Token: Is a word.", "").replace("```", "`````");
        let mut questions = [(); 2].map(|()| format!("Code:\n``````cs\n{code}\n``````"));
        assert_eq!(share_used_types(&mut questions), None);
    }

    proptest! {
        /// Any texts keep their lines, except fences: each is in its question or in the shared block.
        #[test]
        fn no_line_is_lost(texts in proptest::collection::vec("(Used types:\n|```cs\n|```\n|// A: x\n|// B: \n|class A\n|// …\n|````\n|\n){0,14}", 1..4)) {
            let mut questions = texts.clone();
            let shared = share_used_types(&mut questions).unwrap_or_default();
            let all = [shared, questions.join("\n")].concat();
            for line in texts.iter().flat_map(|text| text.lines()).filter(|line| fence_length(line) < 3) {
                prop_assert!(all.contains(line.trim()), "{line}: {all}");
            }
        }
    }
}
