//! A page of the book on a terminal: wraps paragraphs and table rows to its width, and prints headings in bold. Anything else gets the Markdown
//! unchanged.

use super::{Style, visible_width};

/// Minimum and maximum width of the text, in columns.
const WIDTHS: (usize, usize) = (40, 100);

/// Formats the page for a terminal of that many columns.
pub fn format_page(markdown: &str, columns: usize, style: Style) -> String {
    let width = columns.clamp(WIDTHS.0, WIDTHS.1);
    let mut text = String::new();
    let mut paragraph: Vec<&str> = Vec::new();
    let mut fence: Option<&str> = None;
    let mut rows = 0;
    for line in markdown.lines() {
        let trimmed = line.trim_start();
        let ticks = &trimmed[..trimmed.len() - trimmed.trim_start_matches('`').len()];
        let begins =
            fence.is_none() && (ticks.len() >= 3 || trimmed.starts_with(['#', '|', '-']) || trimmed.is_empty() || is_numbered(trimmed));
        if begins || fence.is_some() {
            flush(&mut paragraph, width, &mut text);
        }
        rows = if trimmed.starts_with('|') && fence.is_none() { rows + 1 } else { 0 };
        match fence {
            Some(open) if trimmed == open => fence = None,
            Some(_) => text.push_str(&format!("    {line}\n")),
            None if ticks.len() >= 3 => fence = Some(ticks),
            None if trimmed.starts_with('#') => text.push_str(&format!("{}\n", style.bold(trimmed.trim_start_matches(['#', ' '])))),
            // The row of dashes below the table's head.
            None if rows == 2 => {}
            None if rows > 0 => push_row(trimmed, rows == 1, width, &mut text),
            None if trimmed.is_empty() => text.push('\n'),
            None => paragraph.push(line),
        }
    }
    flush(&mut paragraph, width, &mut text);
    text
}

fn is_numbered(line: &str) -> bool {
    line.split_once(". ")
        .is_some_and(|(number, _)| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Appends the lines of a paragraph or list item, joined and wrapped.
fn flush(paragraph: &mut Vec<&str>, width: usize, text: &mut String) {
    let Some(first) = paragraph.first() else { return };
    let indent = first.len() - first.trim_start().len();
    let is_item = first.trim_start().starts_with("- ") || is_numbered(first.trim_start());
    wrap(&paragraph.join(" "), indent, indent + if is_item { 2 } else { 0 }, width, text);
    paragraph.clear();
}

/// Appends a table row: its cells one after the other.
fn push_row(line: &str, is_head: bool, width: usize, text: &mut String) {
    let cells = line.trim_matches('|').replace("\\|", "\u{0}");
    let cells: Vec<String> = cells
        .split('|')
        .map(|cell| cell.trim().replace('\u{0}', "|"))
        .filter(|cell| !cell.is_empty())
        .collect();
    let joined = match &cells[..] {
        [first, others @ ..] if !is_head && !others.is_empty() => format!("{first}: {}", others.join("; ")),
        _ => cells.join(" | "),
    };
    wrap(&joined, 2, 6, width, text);
}

/// Breaks a line at `columns`; all lines but the first are indented by `indent` spaces.
pub fn break_line(line: &str, indent: usize, columns: usize) -> String {
    let mut lines: Vec<String> = Vec::new();
    let mut last = String::new();
    for word in line.split_inclusive(' ') {
        if !last.trim().is_empty() && visible_width(&last) + visible_width(word.trim_end()) > columns {
            lines.push(last.trim_end().to_owned());
            last = " ".repeat(indent);
        }
        last.push_str(word);
    }
    lines.push(last.trim_end().to_owned());
    lines.join("\n")
}

/// Appends wrapped words; the first line and the others have their own indents.
fn wrap(words: &str, first: usize, others: usize, width: usize, text: &mut String) {
    let mut line = " ".repeat(first);
    let mut is_begun = false;
    for word in words.split_whitespace() {
        if is_begun && visible_width(&line) + 1 + visible_width(word) > width {
            text.push_str(&line);
            text.push('\n');
            line = " ".repeat(others);
            is_begun = false;
        }
        if is_begun {
            line.push(' ');
        }
        line.push_str(word);
        is_begun = true;
    }
    text.push_str(&line);
    text.push('\n');
}

#[cfg(test)]
mod tests {
    use super::{break_line, format_page};
    use crate::render::Style;

    #[test]
    fn paragraphs_items_and_rows_are_wrapped_and_code_is_not() {
        let markdown = "# Head\n\nOne two three four five six\nseven eight nine.\n\n- an item that is longer than forty columns are\n1. one\n\n| a | b |\n|---|---|\n| `x \\| y` | what it means in a few words more |\n\n```sh\na line of code that is longer than the forty columns\n```\n";
        let expected = "Head\n\nOne two three four five six seven eight\nnine.\n\n- an item that is longer than forty\n  columns are\n1. one\n\n  a | b\n  `x | y`: what it means in a few words\n      more\n\n    a line of code that is longer than the forty columns\n";
        assert_eq!(format_page(markdown, 40, Style::plain()), expected);
    }

    #[test]
    fn lines_are_broken_between_words_and_keep_their_columns() {
        let line = "  \u{1b}[2mhelp:\u{1b}[0m  go to a workspace, or make one";
        assert_eq!(
            break_line(line, 8, 24),
            "  \u{1b}[2mhelp:\u{1b}[0m  go to a\n        workspace, or\n        make one"
        );
        assert_eq!(
            break_line("a_word_that_is_too_long for it", 2, 10),
            "a_word_that_is_too_long\n  for it"
        );
    }
}
