//! An answer without a model: the lines of the context that say most words of the question, quoted with the place where they stand.

use producers::investigate::relevance::{lines, question_words};

/// Parts of a context that are quoted.
const PARTS: usize = 5;
/// Lines of each.
const LINES: usize = 3;
/// Longest line that is quoted, in characters.
const LONGEST: usize = 160;

/// Beginnings of lines of an outline that say nothing of what the type does.
const FRAME: [&str; 5] = ["DependsOn:", "Implements:", "Kind:", "XmlDocHash:", "```"];

/// Quotes a context, as Markdown; `None` when no line of it says a word of the question.
pub fn quote(question: &str, context: &str) -> Option<String> {
    let words = question_words(question);
    let mut quoted = String::new();
    let parts = parts(context).filter_map(|(head, body)| {
        let (place, code) = body.split_once('\n').unwrap_or((body, ""));
        let found: Vec<&str> = lines(&words, code, LINES * 2)
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

/// Whether a line only says what its type is made of.
fn is_frame(line: &str) -> bool {
    FRAME.iter().any(|start| line.starts_with(start))
}

/// The parts of a context: the name of a type or a file, and what is shown of it.
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
        assert_eq!(quote("Where?", ""), None);
    }
}
