//! The brief form of an answer: an edit that succeeded is one line with the place of its new text, anything else says what to do next.

use super::response::Response;
use super::state::Status;

/// Files that the line of an edit names.
const NAMED: usize = 20;

/// The form, without a line end behind it.
pub fn format(response: &Response) -> String {
    if response.status == Status::Success && !response.changed.is_empty() {
        let mut text = done(response);
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

/// One line. Of several files it counts the lines that came and went.
fn done(response: &Response) -> String {
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
