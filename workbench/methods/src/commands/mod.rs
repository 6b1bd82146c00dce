//! Commands that are no methods: they build, print bytes, or edit with the person. Each has arguments, like a method, and an answer with a text for
//! people and a document for programs.

pub mod build;
pub mod build_records;
pub mod edit_output;
pub mod facts;
pub mod first_screen;
pub mod mcp_install;
pub mod regenerate;
pub mod relative_paths;
pub mod remote_stats;
pub mod sharing;
pub mod show;
pub mod unpack;
pub mod warm;

use crate::code::Code;
use crate::failed::Outcome;
use serde_json::Value;

/// Answer of a command. The program prints its text or its document, and ends with its outcome.
pub struct CommandAnswer {
    pub text: Vec<u8>,
    /// Document for programs, as text.
    pub document: Vec<u8>,
    pub outcome: Outcome,
}

impl CommandAnswer {
    /// Creates an answer whose text and document are the same.
    pub fn of_bytes(bytes: impl Into<Vec<u8>>) -> Self {
        let text = bytes.into();
        Self {
            document: text.clone(),
            text,
            outcome: Ok(Code::Ok),
        }
    }

    /// Creates an answer of a text and a document.
    pub fn new(text: String, document: &Value) -> Self {
        Self {
            document: format!("{document:#}\n").into(),
            ..Self::of_bytes(text)
        }
    }

    /// Creates an answer of a text and a document in one line; adds the line ends.
    pub fn of_line(text: &str, document: &Value) -> Self {
        Self {
            document: format!("{document}\n").into(),
            ..Self::of_bytes(format!("{text}\n"))
        }
    }

    pub fn with_outcome(self, outcome: Outcome) -> Self {
        Self { outcome, ..self }
    }
}

/// Returns the default number of worker threads.
pub fn default_threads() -> u16 {
    u16::try_from(crate::desk::build::default_jobs()).unwrap_or(512).min(512)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_answer_has_a_text_and_a_document() {
        let forms = |answer: CommandAnswer| [answer.text, answer.document].map(|bytes| String::from_utf8(bytes).expect("UTF-8"));
        let document = json!({"files": 1});
        assert_eq!(
            forms(CommandAnswer::new("1 file\n".to_owned(), &document)),
            ["1 file\n", "{\n  \"files\": 1\n}\n"]
        );
        assert_eq!(forms(CommandAnswer::of_line("1 file", &document)), ["1 file\n", "{\"files\":1}\n"]);
        assert_eq!(forms(CommandAnswer::of_bytes("both")), ["both", "both"]);
        let failed = CommandAnswer::of_bytes("").with_outcome(Ok(Code::TargetFailed));
        assert_eq!(failed.outcome.ok(), Some(Code::TargetFailed));
    }
}
