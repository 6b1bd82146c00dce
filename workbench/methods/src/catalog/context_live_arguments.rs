//! Arguments of `context live`.

use super::paging::default_number;
use engine::values::codes::ErrorCode;
use engine::values::diagnostic::Diagnostic;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use workbench::edit::journal::PERSON;
use workbench::live::edits::Buffer;

/// Show one document in its present state: its text, recent changes with their authors, the difference from an anchor, cursor and plans.
///
/// Each save of an edit session and each merge of an overlay is a version by agent. With --session the document is shown as in that session: its
/// versions are the session's operations, and anchors are those of the session. Each call reads the file; if it changed since the last call, that is
/// a new version by --author. The first call shows the whole document, later calls with --since the changes since that version; --version shows an
/// earlier one. .cortex keeps the last 64 versions, an anchor for every 30 minutes (16 at most), 16 named anchors, and until it ends 16 anchors of
/// each session. Three quarters of the budget are for the document: a longer one is shown as a window around the cursor or the last change, with an
/// outline. The rest of the answer is cut in this order: differences except the last, oldest first; the difference from the anchor; plans except the
/// last; the last difference; the last plan.
#[derive(Debug, clap::Args, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Show {
    /// The file: a text document of the workspace, by its path from the root.
    pub file: String,
    /// Handle of an edit session: show the document as in it, with unsaved changes.
    #[schemars(extend("x-tool" = ""))]
    #[arg(long, value_name = "HANDLE")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// Your version: show only later changes.
    #[arg(long, value_name = "VERSION")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<u64>,
    /// An earlier version: show only its text; if it is long, around the cursor.
    #[arg(long, value_name = "VERSION", conflicts_with = "since")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<u64>,
    /// Approximate limit of tokens.
    #[arg(long, value_name = "TOKENS", default_value_t = USUAL)]
    #[serde(default = "default_number::<USUAL>")]
    pub budget: usize,
    /// Author of the changes since the last call: agent, person, tool, or a name.
    #[arg(long, value_name = "NAME", default_value = PERSON)]
    #[serde(default = "person")]
    #[schemars(extend("x-tool" = false))]
    pub author: String,
    /// Purpose of the change.
    #[arg(long, value_name = "TEXT")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-tool" = false))]
    pub what: Option<String>,
    /// Why a change failed, if it did.
    #[arg(long, value_name = "TEXT")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-tool" = false))]
    pub failed: Option<String>,
    /// The next planned change.
    #[arg(long, value_name = "TEXT")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-tool" = false))]
    pub plan: Option<String>,
    /// Result of the last plan.
    #[arg(long, value_name = "TEXT")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-tool" = false))]
    pub result: Option<String>,
    /// Set an anchor of this name at this version.
    #[arg(long, value_name = "NAME")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-tool" = false))]
    pub set_anchor: Option<String>,
    /// Compare with this anchor.
    #[arg(long, value_name = "NAME")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub anchor: Option<String>,
    /// Position of the cursor: LINE or LINE:COLUMN. With an earlier version it is not stored.
    #[arg(long, value_name = "LINE:COLUMN")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
    /// Selected range: LINE:COLUMN-LINE:COLUMN.
    #[arg(long, value_name = "RANGE")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-tool" = false))]
    pub selection: Option<String>,
}

/// Default budget, in tokens.
const USUAL: usize = 8_000;

fn person() -> String {
    PERSON.to_owned()
}

impl Show {
    /// Returns notes about other sessions with edits of the document, and about the file in addition to the shown version.
    pub(super) fn notes_beside(&self, unsaved: &[String], buffer: Option<&Buffer>, file: Result<&str, &Diagnostic>) -> Vec<String> {
        let others = unsaved.iter().filter(|session| Some(*session) != self.session.as_ref());
        let mut notes: Vec<String> = others
            .map(|session| format!("edit session {session} has unsaved edits of it: --session {session} shows them"))
            .collect();
        if let (Some(buffer), Some(session)) = (buffer, &self.session) {
            match file {
                Err(why) if why.code != ErrorCode::E_NO_FILE => notes.push(format!("{}; shown is what session {session} has", why.message)),
                // The missing file of a new document is expected.
                Err(_) if buffer.base.is_some() => notes.push(format!("the file was deleted; this is the text of session {session}")),
                Ok(file) if buffer.base.as_deref() != Some(file) => {
                    notes.push(format!(
                        "another program changed the file since session {session} looked at it: refresh the session"
                    ));
                }
                _ => {}
            }
        }
        notes
    }
}
