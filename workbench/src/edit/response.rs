//! The answer of every operation, whatever its result: the contract of seed 004 §4.1. Markdown and JSON are formatted from this one value.

use super::allowed_tools::Tool;
use super::candidate::Candidate;
use super::changed::Changed;
use super::flags::{Flag, Flags};
use super::state::{Status, WorkflowState};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Figures of an operation. Lengths are counted in characters (Unicode code points).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Metrics {
    /// Growth of the buffer; negative if it shrank.
    pub delta: i64,
    /// Length of the buffer.
    pub new_length: usize,
    /// Number of matches to choose from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub selection_count: Option<usize>,
}

/// The answer of an operation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Response {
    /// Result of the operation.
    pub status: Status,
    /// State of the document after the operation.
    pub workflow_state: WorkflowState,
    /// The result, on one line.
    pub summary: String,
    /// The next step, on one line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub guidance: Option<String>,
    /// Lengths and counts.
    pub metrics: Metrics,
    /// Up to five candidates.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub candidates: Option<Vec<Candidate>>,
    /// Flags of the state.
    pub flags: Flags,
    /// The session, for the next operation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// The file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Identifier of the operation in the log.
    pub operation_id: String,
    /// Operations that the new state allows.
    #[serde(default)]
    pub allowed: Vec<Tool>,
    /// Details: a diff, the places of candidates, the most similar text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// All edited files, if several.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<String>,
    /// Change of each file by the operation.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changed: Vec<Changed>,
    /// Names that the edit left undefined, with their places.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lost: Vec<String>,
    /// Whether the text of the answer has the full form.
    #[serde(default, skip_serializing_if = "is_false")]
    pub full: bool,
}

fn is_false(flag: &bool) -> bool {
    !flag
}

/// Level of detail of an answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// Without details.
    Basic,
    /// With details; after a successful edit only the place of its new text.
    #[default]
    Detail,
    /// Everything, in the full form.
    Full,
}

impl Response {
    /// Reduces the answer to a level of detail.
    pub fn at(mut self, level: Level) -> Self {
        let is_done = self.status == Status::Success && !self.changed.is_empty();
        if level == Level::Basic || (level == Level::Detail && is_done) {
            self.detail = None;
        }
        self.full = level == Level::Full;
        self
    }

    /// Converts the answer to one that reports a malformed form; its other parts are unreliable.
    pub fn as_malformed(mut self) -> Self {
        self.summary = MALFORMED.to_owned();
        self.flags = self.flags.with(Flag::SchemaViolation);
        self.guidance = Some("this does not undo the operation; the log TextEdit.Schema has the answer that was meant".to_owned());
        self.candidates = None;
        self.metrics.selection_count = None;
        self
    }
}

/// Summary of an answer with a malformed form.
pub const MALFORMED: &str = "[Fail] 响应格式不符合规范";
