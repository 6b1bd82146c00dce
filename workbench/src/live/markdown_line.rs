//! Formats texts so that they stay within their line of Markdown.

pub(super) fn in_one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns a text for the beginning of a line, where it must open neither a block nor a heading.
pub(super) fn beginning(text: &str) -> String {
    let text = in_one_line(text);
    let opens = text.starts_with(['`', '~', '#', '>', '-', '+', '*', '=', '|', '<']);
    if opens { format!("\\{text}") } else { text }
}
