//! Answers without a model: quotes members and lines that the question names, then the lines of the context that share most words with the question,
//! with their positions.

use super::references::{ReferenceKind, references_in_text};
use crate::context::forms::fence_text;
use crate::symbols::index::simple_name;
use producers::investigate::relevance::{best_lines, question_words};

/// Limit of quoted parts of a context.
const PARTS: usize = 5;
/// Limit of lines of each part.
const LINES: usize = 3;
/// Limit of characters of a quoted line.
const LONGEST: usize = 160;

/// Limit of lines of a named member or file.
const NAMED: usize = 16;

/// Beginnings of outline lines that do not describe a type's purpose.
const FRAME: [&str; 5] = ["DependsOn:", "Implements:", "Kind:", "XmlDocHash:", "```"];

/// Quotes a context as Markdown; `None` when it has nothing that the question names, and no line with a word of the question.
pub fn quote(question: &str, context: &str) -> Option<String> {
    let words = question_words(question);
    let mut quoted = quote_named(question, context);
    let parts = parts(context).filter_map(|(head, body)| {
        let (place, code) = body.split_once('\n').unwrap_or((body, ""));
        let found: Vec<&str> = best_lines(&words, code, LINES * 2)
            .into_iter()
            .filter(|line| !is_frame(line))
            .take(LINES)
            .collect();
        (!found.is_empty()).then_some((head, place, found))
    });
    for (head, place, found) in parts.take(PARTS) {
        quoted.push_str(&format!("**{head}** ({place})\n"));
        for line in found {
            let line: String = line.chars().take(LONGEST).collect();
            quoted.push_str(&format!("- `{}`\n", line.replace('`', "'").trim()));
        }
        quoted.push('\n');
    }
    let end = quoted.trim_end().len();
    quoted.truncate(end);
    (!quoted.is_empty()).then_some(quoted)
}

/// Quotes members and lines of files that the question names, with their code.
fn quote_named(question: &str, context: &str) -> String {
    let found = references_in_text(question).into_iter().filter_map(|reference| {
        let (place, lines) = match reference.kind {
            ReferenceKind::Symbol => quote_member(reference.name, context)?,
            ReferenceKind::File => lines_of_file(reference.name, context)?,
        };
        let left_out = if lines.len() > NAMED { "…\n" } else { "" };
        let code = lines[..lines.len().min(NAMED)].join("\n");
        Some(format!(
            "**{}** ({place})\n{}{left_out}\n",
            reference.name,
            fence_text("csharp", &code)
        ))
    });
    found.collect()
}

/// Returns the declaration of a member: the position of its type, and its lines.
fn quote_member<'c>(name: &str, context: &'c str) -> Option<(&'c str, Vec<&'c str>)> {
    let (owner, member) = name.split_once('#')?;
    let member = member.split(['(', '<']).next().filter(|member| !member.is_empty())?;
    let of_owner = |head: &str| head == owner || simple_name(head) == simple_name(owner);
    parts(context).filter(|(head, _)| of_owner(head)).find_map(|(_, body)| {
        let (place, code) = body.split_once('\n')?;
        let lines: Vec<&str> = code.lines().collect();
        let first = lines.iter().position(|line| declares_member(line, member))?;
        Some((place, declaration(&lines[first..])))
    })
}

/// Whether a line declares a member: its name follows a type, and is not part of a call.
fn declares_member(line: &str, member: &str) -> bool {
    line.match_indices(member).any(|(at, _)| {
        let (before, behind) = (&line[..at], &line[at + member.len()..]);
        let ends = behind.chars().next().is_none_or(|c| " ({;=<,".contains(c));
        let is_use = ["await ", "return ", "new ", "=", "(", "//"]
            .iter()
            .any(|sign| before.contains(sign));
        before.ends_with(' ') && !before.trim().is_empty() && ends && !is_use
    })
}

/// Returns the lines of a declaration from its first on: up to its closing bracket, or to the end of its statement.
fn declaration<'c>(lines: &[&'c str]) -> Vec<&'c str> {
    let mut depth = 0_i64;
    let mut found = Vec::new();
    for line in lines {
        found.push(*line);
        depth += line.matches('{').count() as i64 - line.matches('}').count() as i64;
        if depth <= 0 && line.trim_end().ends_with(['}', ';']) {
            break;
        }
    }
    found
}

/// Returns lines of a file, where the context shows them: the position, and the lines.
fn lines_of_file<'c>(name: &str, context: &'c str) -> Option<(&'c str, Vec<&'c str>)> {
    let (path, range) = name.rsplit_once(':')?;
    let (from, to) = range.split_once('-').unwrap_or((range, range));
    let (from, to): (usize, usize) = (from.parse().ok()?, to.parse().ok()?);
    parts(context).find_map(|(_, body)| {
        let (place, code) = body.split_once('\n')?;
        // The first part of a type is enough: the lines of the others follow it.
        let first = place.split(", ").next()?;
        let (file, range) = first.rsplit_once(':')?;
        let (start, end) = range.split_once('-')?;
        let (start, end): (usize, usize) = (start.parse().ok()?, end.parse().ok()?);
        let is_there = file.ends_with(path) && start <= to && from <= end && code.starts_with("```");
        let skipped = from.saturating_sub(start);
        let wanted = (to.min(end) + 1).saturating_sub(from.max(start));
        is_there.then(|| (first, code.lines().skip(1 + skipped).take(wanted).collect()))
    })
}

/// Whether a line only describes the composition of its type.
fn is_frame(line: &str) -> bool {
    FRAME.iter().any(|start| line.starts_with(start))
}

/// Returns the parts of a context: the name of a type or a file, and its text.
fn parts(context: &str) -> impl Iterator<Item = (&str, &str)> {
    let parts = context.split("\n## ").skip(1);
    parts.filter_map(|part| part.split_once('\n'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_say_words_of_the_question_are_quoted_with_their_places() {
        let context = "# Context: batches\n\n## N.Batch\nsrc/Batch.cs:3-9\n```csharp\nint Size;\nvoid SaveBatch();\n```\n\n## N.Other\nsrc/Other.cs:1-2\nint Nothing;\n";
        assert_eq!(
            quote("How is a batch saved?", context).as_deref(),
            Some("**N.Batch** (src/Batch.cs:3-9)\n- `void SaveBatch();`")
        );
        assert_eq!(quote("Where is the moon?", context), None);
        assert_eq!(
            quote("#Batch#SaveBatch ?", context)
                .as_deref()
                .and_then(|quoted| quoted.split_once("\n\n"))
                .map(|(first, _)| first),
            Some("**Batch#SaveBatch** (src/Batch.cs:3-9)\n```csharp\nvoid SaveBatch();\n```")
        );
        assert_eq!(
            quote("see @Batch.cs:3-3", context)
                .as_deref()
                .and_then(|quoted| quoted.split_once("\n\n"))
                .map(|(first, _)| first),
            Some("**Batch.cs:3-3** (src/Batch.cs:3-9)\n```csharp\nint Size;\n```")
        );
        assert_eq!(quote("Where?", ""), None);
    }
}
