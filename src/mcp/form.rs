//! In which of its two forms an answer is sent. Clients hand a model one of them alone, and count the tokens of that one: the other is never sent.

use crate::render::printable;
use producers::llm::tokens::o200k;
use serde_json::Value;
use workbench::live::budget::Room;

/// The form of the answers of one server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// As text, for a model to read.
    Text,
    /// As structured content, for clients that read fields.
    Structured,
}

/// Tokens of an answer. Clients cut at about 25,000, without a word.
pub const MOST: usize = 20_000;

/// What is kept free of it for the fields around a text, and for remarks of the service.
const FIELDS: usize = 1_500;

impl Form {
    /// The room for a text that a method cuts by itself.
    pub fn room(self) -> Room {
        Room {
            most: MOST - FIELDS,
            taken: match self {
                Self::Text => |text| o200k(&printable(text)),
                Self::Structured => |text| o200k(&Value::from(text).to_string()),
            },
            sends_data: self == Self::Structured,
        }
    }
}
