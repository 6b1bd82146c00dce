//! The state of a node as people see it.

use super::remarks::{FailedTry, Wait};

/// The state of a node. `status`, `explain`, `semantic`, the report and `index.json` use the same words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NodeState {
    /// An output of its present key is stored.
    Current,
    /// It was built once, and its inputs changed, or its item no longer exists.
    Stale,
    /// It was built once; whether its inputs changed depends on nodes that must be built first.
    MaybeStale,
    /// It has no output at its present inputs, and a build has requested one: the last try failed, or it waits for an answer, a limit, or a failed
    /// node. The next build tries again.
    Pending,
    /// A build is producing it now.
    Generating,
    /// It was never built here.
    None,
}

impl NodeState {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Current => "current",
            Self::Stale => "stale",
            Self::MaybeStale => "maybe stale",
            Self::Pending => "pending",
            Self::Generating => "generating",
            Self::None => "none",
        }
    }
}

/// The state of a node, with the failure of its last try.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeStatus {
    pub state: NodeState,
    /// The failure of its last try, or of the node that it waits for, if pending.
    pub last_error: Option<Box<FailedTry>>,
    /// The target or answer that it waits for, if pending without a failed try of its own.
    pub waits_for: Option<Wait>,
}

impl NodeStatus {
    /// Status of a node that was never built.
    pub const NONE: Self = Self {
        state: NodeState::None,
        last_error: None,
        waits_for: None,
    };

    /// Returns why it has no output, if a try failed; names the node that failed if it waits for that.
    pub fn error_message(&self) -> Option<String> {
        let failed = self.last_error.as_ref()?;
        let message = failed.diagnostic().message;
        let other = failed.why.label.as_deref().filter(|_| self.waits_for.is_some());
        Some(other.map_or_else(|| message.clone(), |other| format!("{other} failed: {message}")))
    }
}

impl From<NodeState> for NodeStatus {
    fn from(state: NodeState) -> Self {
        Self { state, ..Self::NONE }
    }
}
