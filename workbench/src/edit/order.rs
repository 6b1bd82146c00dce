//! The requests that a session accepts.

use super::allowed_tools::Tool;
use super::edit_log::Category;
use super::state::Mode;
use super::symbol::{self, Where};
use crate::code_text::merge::unified_diff;
use serde_json::{Value, json};

/// An operation with its arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Order {
    Open,
    /// Replace `old`, which must occur once, with `new`.
    Replace {
        /// The text to replace, exactly.
        old: String,
        new: String,
    },
    /// Replace all occurrences of `old` with `new`.
    ReplaceAll {
        /// The text to replace, exactly.
        old: String,
        new: String,
    },
    /// Replace syntax nodes with `new`.
    ReplaceNodes {
        /// A tree-sitter query that selects the nodes.
        selector: String,
        /// The text that a node must have, if any.
        old: Option<String>,
        new: String,
        /// Whether to replace all nodes; otherwise there must be exactly one.
        all: bool,
    },
    /// Choose one of the candidates of a pending replacement.
    Select {
        /// Number of the candidate.
        id: usize,
        /// A new text in place of the replacement's.
        new: Option<String>,
    },
    /// Show candidates from a number on.
    Candidates {
        /// Number of the first candidate, from 1.
        from: usize,
    },
    /// Insert a text after another one.
    Append {
        /// The text after which to insert: `^` is the beginning of the file, `$` its end.
        anchor: String,
        new: String,
    },
    /// Create a file with this text; the file must not exist.
    Create(String),
    /// Replace the whole text of a file, or create the file.
    Write(String),
    /// Edit a type or a member.
    Symbol(symbol::SymbolEdit),
    Patch(String),
    /// Replace the whole texts of several files, all or none, if each still has the text that its new one is based on.
    Rewrite {
        /// Name of the edit.
        operation: &'static str,
        /// Files with their old and new texts.
        texts: Vec<Rewritten>,
    },
    /// Apply several replacements, all or none; each old text must occur once.
    Batch(Vec<BatchEdit>),
    Commit,
    /// Drop a selection, or unsaved edits.
    Discard,
    /// Show the difference between buffer and file.
    Diff,
    Refresh,
    /// Save the buffer under another path.
    PersistAs(String),
    /// Undo the last edit.
    Undo,
    /// Redo the last undone edit.
    Redo,
    Close,
    List,
}

/// A file with its text before and after an edit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rewritten {
    pub path: String,
    /// Text before; `None` for a new file.
    pub before: Option<String>,
    /// Text after; `None` for a deleted file.
    pub after: Option<String>,
    /// A file whose encoding and permissions a new file gets.
    pub like: Option<String>,
}

impl Rewritten {
    /// Returns a file that exists before and after.
    pub fn of(path: impl Into<String>, before: impl Into<String>, after: impl Into<String>) -> Self {
        Self {
            path: path.into(),
            before: Some(before.into()),
            after: Some(after.into()),
            like: None,
        }
    }

    /// Returns the change as a unified diff.
    pub fn diff(&self) -> String {
        let name = |text: &Option<String>| if text.is_some() { self.path.as_str() } else { "/dev/null" };
        let text = |text: &Option<String>| text.clone().unwrap_or_default();
        unified_diff(&text(&self.before), &text(&self.after), name(&self.before), name(&self.after))
    }
}

/// A replacement of a batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BatchEdit {
    /// Path of the file; `None` for the file of the order.
    pub path: Option<String>,
    /// The text to replace, exactly.
    pub old: String,
    pub new: String,
}

/// A request: an order with session and file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EditRequest {
    pub order: Order,
    /// Handle of the session; `None` for a new one.
    pub session: Option<String>,
    /// Path of the file; `None` for the only one of the session.
    pub path: Option<String>,
    /// Mode in which a new session saves its edits.
    pub mode: Option<Mode>,
    /// Whether `old`, `new` and anchors are adapted to the line ends of the file.
    pub fit: bool,
}

impl Order {
    pub fn name(&self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Close => Tool::Close.name(),
            Self::List => "list",
            other => other.tool().map_or("", Tool::name),
        }
    }

    /// Returns the tool that the document's state must allow.
    pub fn tool(&self) -> Option<Tool> {
        match self {
            Self::Open | Self::Close | Self::List => None,
            Self::Replace { .. } | Self::ReplaceAll { .. } | Self::ReplaceNodes { .. } => Some(Tool::Replace),
            Self::Select { .. } => Some(Tool::ReplaceSelection),
            Self::Candidates { .. } => Some(Tool::Candidates),
            Self::Append { .. } => Some(Tool::Append),
            Self::Symbol(request) => Some(match request.at {
                Where::Replace => Tool::ReplaceSymbol,
                Where::Before => Tool::InsertBefore,
                Where::After => Tool::InsertAfter,
            }),
            Self::Patch(_) => Some(Tool::Patch),
            Self::Batch(_) | Self::Rewrite { .. } => Some(Tool::Batch),
            Self::Create(_) => Some(Tool::Create),
            Self::Write(_) => Some(Tool::Write),
            Self::Commit => Some(Tool::Commit),
            Self::Discard => Some(Tool::Discard),
            Self::Diff => Some(Tool::Diff),
            Self::Refresh => Some(Tool::Refresh),
            Self::PersistAs(_) => Some(Tool::PersistAs),
            Self::Undo => Some(Tool::Undo),
            Self::Redo => Some(Tool::Redo),
        }
    }

    /// Returns the log category of the order.
    pub fn category(&self) -> Category {
        match self {
            Self::Commit | Self::Discard | Self::PersistAs(_) | Self::Undo | Self::Redo | Self::Open | Self::Close | Self::List => {
                Category::Persistence
            }
            Self::Refresh | Self::Diff => Category::External,
            _ => Category::MatchTrace,
        }
    }

    /// Whether the order only shows something and changes nothing.
    pub fn only_shows(&self) -> bool {
        matches!(self, Self::Diff | Self::Candidates { .. })
    }

    /// Whether the order is carried out although the file of a document cannot be read or has a conflict.
    pub fn continues_after_read_failure(&self) -> bool {
        matches!(self, Self::Diff | Self::Discard | Self::PersistAs(_) | Self::Close)
    }

    /// Whether the order chooses, of several documents, those with unsaved edits or a pending state.
    pub fn chooses_documents(&self) -> bool {
        matches!(self, Self::Commit | Self::Diff)
    }
}

/// Most characters of a text in the log.
const LOGGED: usize = 200;

impl EditRequest {
    /// Returns the arguments for the log, with shortened texts.
    pub fn arguments(&self) -> Value {
        let cut = |text: &str| text.chars().take(LOGGED).collect::<String>();
        let own = match &self.order {
            Order::Replace { old, new } | Order::ReplaceAll { old, new } => json!({"old_text": cut(old), "new_text": cut(new)}),
            Order::ReplaceNodes { selector, new, .. } => json!({"selector": cut(selector), "new_text": cut(new)}),
            Order::Select { id, new } => json!({"selection_id": id, "new_text": new.as_deref().map(cut)}),
            Order::Append { anchor, new } => json!({"anchor": cut(anchor), "new_text": cut(new)}),
            Order::Symbol(request) => json!({"symbol": request.symbol, "new_text": cut(&request.new)}),
            Order::Create(text) | Order::Write(text) => json!({"new_text": cut(text)}),
            Order::Patch(text) => json!({"patch": cut(text)}),
            Order::PersistAs(path) => json!({"as": path}),
            Order::Rewrite { operation, texts } => json!({"operation": operation, "files": texts.len()}),
            Order::Batch(parts) => json!({"edits": parts.len()}),
            _ => json!({}),
        };
        json!({"asked": own})
    }
}
