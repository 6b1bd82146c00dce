//! Unified diffs of outputs, line by line.

use super::{Style, printable};
use engine::values::table::{Table, to_json};
use serde_json::Value;
use similar::TextDiff;
use std::sync::Arc;

/// Bytes of a blob, if the store still has it.
pub type StoredBytes = Option<Arc<[u8]>>;

/// Returns a blob as text; tables as JSON.
fn blob_as_text(blob: &[u8]) -> Option<String> {
    if Table::is_table(blob) {
        let rows = to_json(blob);
        return serde_json::to_string_pretty(&rows).ok();
    }
    let text = std::str::from_utf8(blob).ok()?;
    // Break JSON on one line into several, or the diff would be one changed line.
    let pretty = |value: Value| serde_json::to_string_pretty(&value).ok();
    let one_line = text.starts_with('{') && !text.trim_end().contains('\n');
    let document = one_line.then(|| serde_json::from_str(text).ok().and_then(pretty)).flatten();
    Some(document.unwrap_or_else(|| text.to_owned()))
}

/// Returns the lines of a unified diff, each with its line break.
pub fn unified_diff(before: Option<&[u8]>, after: Option<&[u8]>, from: &str, to: &str) -> Result<Vec<String>, &'static str> {
    let (Some(before), Some(after)) = (before, after) else {
        return Err("the store no longer has one of them");
    };
    let (Some(before), Some(after)) = (blob_as_text(before), blob_as_text(after)) else {
        return Err("they are not text");
    };
    if before == after {
        return Ok(Vec::new());
    }
    let diff = TextDiff::from_lines(&before, &after);
    let text = diff.unified_diff().context_radius(3).header(from, to).to_string();
    Ok(text.lines().map(|line| format!("{line}\n")).collect())
}

/// Colours the lines of a diff, at most `most` of them.
pub fn colour_diff(diff: &str, most: usize, style: Style) -> String {
    let mut text = String::new();
    for line in diff.lines().take(most) {
        let line = printable(line);
        let shown = match line.as_bytes().first() {
            Some(b'+') => style.green(&line),
            Some(b'-') => style.red(&line),
            Some(b'@') => style.cyan(&line),
            _ => line,
        };
        text.push_str(&shown);
        text.push('\n');
    }
    let more = diff.lines().count().saturating_sub(most);
    if more > 0 {
        text.push_str(&style.dim(&format!("… {more} more lines, --json has them all\n")));
    }
    text
}
