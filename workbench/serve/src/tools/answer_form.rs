//! Form of an answer: text or structured content. Clients pass one form to the model and count its tokens, so only one is sent.

use methods::render::printable;
use producers::llm::tokens::o200k;
use serde_json::Value;
use workbench::budget::Room;

/// Form of all answers of one server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Text for a model to read.
    Text,
    /// Structured content for clients that read fields.
    Structured,
}

/// Limit of an answer, in tokens. Clients cut silently at about 25,000.
pub const MOST: usize = 20_000;

/// Part of [`MOST`] reserved for the fields around a text, and for remarks of the service.
const FIELDS: usize = 1_500;

impl Form {
    /// Returns the limit of a text that a method cuts itself.
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
