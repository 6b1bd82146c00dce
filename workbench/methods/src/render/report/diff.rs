//! Diffs of texts as lines with signs, cut if they are long.

use super::html::Html;
use crate::render::line_diff::{StoredBytes, unified_diff};
use crate::render::{format_count, format_size};

/// Limit of a text to compare, in bytes.
const LARGEST: usize = 256 << 10;
/// Limit of a text to compare, in lines.
const LINES: usize = 6_000;

/// Writes the diff of two outputs, at most `most` lines.
pub fn difference(html: &mut Html, before: &StoredBytes, after: &StoredBytes, most: usize) {
    let (Some(before), Some(after)) = (before.as_deref(), after.as_deref()) else {
        return html.write_line("p", &[("class", "note")], "The store no longer has both.");
    };
    write_diff(html, before, after, most);
}

/// Writes the diff of two texts.
pub fn write_diff(html: &mut Html, before: &[u8], after: &[u8], most: usize) {
    let large = |text: &[u8]| text.len() > LARGEST || text.iter().filter(|byte| **byte == b'\n').count() > LINES;
    if before != after && (large(before) || large(after)) {
        let lengths = format!(
            "Too long to compare here: {} → {}.",
            format_size(before.len() as u64),
            format_size(after.len() as u64)
        );
        return html.write_line("p", &[("class", "note")], &lengths);
    }
    let lines = match unified_diff(Some(before), Some(after), "before", "after") {
        Ok(lines) if lines.is_empty() => return html.write_line("p", &[("class", "note")], "They are the same."),
        Ok(lines) => lines,
        Err(_) => {
            let lengths = format!(
                "Not text: {} → {}.",
                format_size(before.len() as u64),
                format_size(after.len() as u64)
            );
            return html.write_line("p", &[("class", "note")], &lengths);
        }
    };
    // The first two lines name the sides.
    let shown = lines.get(2..).unwrap_or_default();
    html.element("pre", &[("class", "diff"), ("tabindex", "0")], |html| {
        for line in shown.iter().take(most) {
            let line = line.trim_end_matches('\n');
            let class = match line.as_bytes().first() {
                Some(b'+') => "add",
                Some(b'-') => "del",
                Some(b'@') => "hunk",
                _ => "same",
            };
            html.element("span", &[("class", class)], |html| {
                html.write_lines(line);
                html.newline();
            });
        }
    });
    if shown.len() > most {
        let more = (shown.len() - most) as u64;
        html.write_line("p", &[("class", "note")], &format!("{} more lines.", format_count(more)));
    }
}
