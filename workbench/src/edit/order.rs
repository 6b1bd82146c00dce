//! What can be asked of a session.

use super::edit_log::Category;
use super::merge::unified;
use super::state::Mode;
use super::symbol::{self, Where};
use super::tools::Tool;
use serde_json::{Value, json};

/// What is asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Order {
    /// Open a file.
    Open,
    /// Put `new` where `old` stands.
    Replace {
        /// What stands there, exactly.
        old: String,
        /// What is to stand there.
        new: String,
    },
    /// Put `new` wherever `old` stands.
    ReplaceAll {
        /// What stands there, exactly.
        old: String,
        /// What is to stand there.
        new: String,
    },
    /// Put `new` in the place of nodes of the syntax.
    ReplaceNodes {
        /// A query of tree-sitter: which nodes.
        selector: String,
        /// Only those whose text is this one.
        old: Option<String>,
        /// What is to stand there.
        new: String,
        /// All of them; else there must be one.
        all: bool,
    },
    /// Put the text of a pending replacement at one of its places.
    Select {
        /// The candidate's number.
        id: usize,
        /// Another text than that of the replacement.
        new: Option<String>,
    },
    /// Show candidates from a number on.
    Candidates {
        /// The first, from 1.
        from: usize,
    },
    /// Put a text behind another one.
    Append {
        /// What it is to stand behind: `^` is the beginning of the file, `$` its end.
        anchor: String,
        /// The text.
        new: String,
    },
    /// Make a file where none is.
    Create(String),
    /// Give a file a whole new text, or make it.
    Write(String),
    /// Edit a type or a member.
    Symbol(symbol::SymbolEdit),
    /// Apply a patch.
    Patch(String),
    /// Give several files whole new texts, all or none, each in place of the text that it was made of.
    Rewrite {
        /// What the edit is called.
        operation: &'static str,
        /// The files.
        texts: Vec<Rewritten>,
    },
    /// Make several replacements, all or none; each text must stand in one place.
    Batch(Vec<Part>),
    /// Save.
    Commit,
    /// Drop a selection, or what is not saved.
    Discard,
    /// Show what differs.
    Diff,
    /// Read the file anew.
    Refresh,
    /// Save under another name.
    PersistAs(String),
    /// Undo the last edit.
    Undo,
    /// Make it again.
    Redo,
    /// End the session.
    Close,
    /// Name the sessions.
    List,
}

/// A file and its text before and after.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rewritten {
    /// Its path.
    pub path: String,
    /// What it holds; none where there is no such file.
    pub before: Option<String>,
    /// What it is to hold; none where it is deleted.
    pub after: Option<String>,
    /// A file whose encoding and permissions a new one gets.
    pub like: Option<String>,
}

impl Rewritten {
    /// A file that is there before and after.
    pub fn of(path: impl Into<String>, before: impl Into<String>, after: impl Into<String>) -> Self {
        Self {
            path: path.into(),
            before: Some(before.into()),
            after: Some(after.into()),
            like: None,
        }
    }

    /// What changes, as a unified diff.
    pub fn diff(&self) -> String {
        let name = |text: &Option<String>| if text.is_some() { self.path.as_str() } else { "/dev/null" };
        let text = |text: &Option<String>| text.clone().unwrap_or_default();
        unified(&text(&self.before), &text(&self.after), name(&self.before), name(&self.after))
    }
}

/// One replacement among several.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// In which file; that of the order if none is named.
    pub path: Option<String>,
    /// What stands there, exactly.
    pub old: String,
    /// What is to stand there.
    pub new: String,
}

/// An order with what it is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EditRequest {
    /// What is to be done.
    pub order: Order,
    /// In which session; a new one if none is named.
    pub session: Option<String>,
    /// With which file; the only one of the session if none is named.
    pub path: Option<String>,
    /// When a new session saves.
    pub mode: Option<Mode>,
    /// Whether `old`, `new` and anchors are to have the line ends of the file.
    pub fit: bool,
}

impl Order {
    /// Its name.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Close => Tool::Close.name(),
            Self::List => "list",
            other => other.tool().map_or("", Tool::name),
        }
    }

    /// The tool that the state of a document must allow for it.
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

    /// The log that tells of it.
    pub fn category(&self) -> Category {
        match self {
            Self::Commit | Self::Discard | Self::PersistAs(_) | Self::Undo | Self::Redo | Self::Open | Self::Close | Self::List => {
                Category::Persistence
            }
            Self::Refresh | Self::Diff => Category::External,
            _ => Category::MatchTrace,
        }
    }
}

/// Texts are logged up to so many characters.
const LOGGED: usize = 200;

impl EditRequest {
    /// What was asked, for the log.
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
