//! The brief form of an answer: a successful edit is one line with the place of its new text; any other answer gives the next step.

use super::response::Response;
use super::state::Status;

/// Most files that the line of an edit names.
const NAMED: usize = 20;

/// Formats an answer briefly, without a line end at its end.
pub fn format(response: &Response) -> String {
    if response.status == Status::Success && !response.changed.is_empty() {
        let mut text = edit_line(response);
        for line in response.guidance.iter().filter(|_| !response.lost.is_empty()) {
            text.push('\n');
            text.push_str(line);
        }
        return text;
    }
    let mut text = match response.status {
        Status::Success | Status::NoOp => response.summary.clone(),
        status => format!("{status}: {}", response.summary),
    };
    for line in [&response.guidance, &response.detail].into_iter().flatten() {
        text.push('\n');
        text.push_str(line.trim_end_matches('\n'));
    }
    text
}

/// Returns the line of an edit; for several files, with the numbers of added and removed lines.
fn edit_line(response: &Response) -> String {
    if let [one] = response.changed.as_slice() {
        return format!("{one}: {}", response.summary);
    }
    let named = response.changed.iter().take(NAMED);
    let mut files: Vec<String> = named.map(|one| format!("{one} +{} -{}", one.added, one.removed)).collect();
    if response.changed.len() > NAMED {
        files.push(format!("{} files more", response.changed.len() - NAMED));
    }
    format!("{}: {}", response.summary, files.join(", "))
}
