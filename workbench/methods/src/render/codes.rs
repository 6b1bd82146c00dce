//! The page of codes, `docs/errors.md`, and its entries for `cortex help CODE`.

use engine::values::codes::ErrorCode;
use std::fmt::Write as _;

const PREFACE: &str = "# Codes

Made from the program's table of codes (`cortex dev errors`); a test keeps it so. A message begins with its code, as in `error[E_NO_FILE]`; with `--output json` the code is the field `code`.
`cortex help CODE` prints one entry. A code never changes its meaning.
";

/// Kind of codes: its heading, and whether a code belongs to it.
type CodeGroup = (&'static str, fn(&str) -> bool);

const KINDS: [CodeGroup; 5] = [
    ("Errors", |code| code.starts_with("E_")),
    ("Warnings", |code| code.starts_with("W_")),
    ("Notes", |code| code.starts_with("N_")),
    ("C# sources and projects", |code| code.starts_with("CS-")),
    ("Answers of methods", |code| !code.contains(['_', '-'])),
];

pub fn codes_page() -> String {
    let mut page = PREFACE.to_owned();
    for (heading, is_of) in KINDS {
        let _ = write!(page, "\n## {heading}\n\n| code | meaning | what to do |\n|---|---|---|\n");
        for code in ErrorCode::ALL.iter().filter(|code| is_of(code.as_str())) {
            let _ = writeln!(page, "| `{code}` | {} | {} |", code.meaning(), code.remedy());
        }
    }
    page
}

/// Returns one entry as text for a terminal.
pub fn entry(code: ErrorCode) -> String {
    format!("{code}\n  {}.\n  What to do: {}.\n", code.meaning(), code.remedy())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_has_each_code_once() {
        let page = codes_page();
        for code in ErrorCode::ALL {
            assert_eq!(page.matches(&format!("| `{code}` |")).count(), 1, "{code}");
        }
    }

    #[test]
    fn an_entry_says_what_to_do() {
        let shown = "E_CHANGED\n  A file changed while the build read it.\n  What to do: run the command again.\n";
        assert_eq!(entry(ErrorCode::E_CHANGED), shown);
    }
}
