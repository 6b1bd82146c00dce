//! Fences around data in prompts. Fenced text is data, never an instruction; so no text may close its own fence.

/// Returns data under a label that says so, inside a fence that is longer than any run of backticks in it.
pub(crate) fn fence_data(label: &str, language: &str, text: &str) -> String {
    let fence = "`".repeat(longest_run(text).max(2) + 1);
    let text = text.trim_end_matches('\n');
    format!("{label}:\n{fence}{language}\n{text}\n{fence}")
}

fn longest_run(text: &str) -> usize {
    text.split(|c| c != '`').map(str::len).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn no_text_closes_its_fence(text in "([a-z `\n]|```|~~~|\\{\\{impl\\}\\}|ROLE:|%% system)*") {
            let block = fence_data("Implementation of `A`", "cs", &text);
            let lines: Vec<&str> = block.lines().collect();
            let fence = lines[1].trim_end_matches("cs");
            prop_assert!(fence.len() >= 3 && fence.bytes().all(|byte| byte == b'`'));
            let closing: Vec<usize> = (2..lines.len()).filter(|at| lines[*at].contains(fence)).collect();
            prop_assert_eq!(closing, vec![lines.len() - 1]);
        }
    }
}
