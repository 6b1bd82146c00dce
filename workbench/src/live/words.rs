//! What is told in words, so that it stays a part of the line of Markdown that it stands in.

/// A text in one line.
pub(super) fn line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A text at the beginning of a line, where it opens neither a block nor a heading.
pub(super) fn beginning(text: &str) -> String {
    let text = line(text);
    let opens = text.starts_with(['`', '~', '#', '>', '-', '+', '*', '=', '|', '<']);
    if opens { format!("\\{text}") } else { text }
}
