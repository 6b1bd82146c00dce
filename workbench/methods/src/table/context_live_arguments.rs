//! Arguments of `context live`.

use engine::values::codes::ErrorCode;
use engine::values::diagnostic::Diagnostic;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use workbench::live::edits::{Buffer, PERSON};
use workbench::live::journal;

/// Show one document as it stands now: its text, recent differences with who made them, the difference to an anchor, cursor and plans.
///
/// What edit sessions saved and overlays merged is a version each, made by agent; with --session the document is shown as it is there, its versions
/// the session's operations, and compared with an anchor of the session. Each call looks at the file; when it moved since the call before, that is a new version, made by --author. The first call shows the
/// document whole, later ones with --since what changed since the version that the reader has; --version shows an earlier one. The last
/// 64 versions are kept below .cortex, an anchor every 30 minutes, and 16 anchors with names, as many of each session until it ends. Three quarters
/// of the budget are for the document: a longer one is shown as a window around the cursor or the last change, with an outline. The rest is for the
/// rest, and is cut in this order: differences but the last, the oldest first; the anchor's; plans but the last; the last difference; the last plan.
#[derive(Debug, clap::Args, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Show {
    /// The file: a text document of the workspace, by its path from the root.
    pub file: String,
    /// The session: the handle of an edit session in which it is to be shown, with what is not saved.
    #[arg(long, value_name = "HANDLE")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// Your version: only what was changed since is shown.
    #[arg(long, value_name = "VERSION")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<u64>,
    /// An earlier version, whose text is shown and nothing else; around the cursor, if it is long.
    #[arg(long, value_name = "VERSION", conflicts_with = "since")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<u64>,
    /// Tokens at most, about.
    #[arg(long, value_name = "TOKENS", default_value_t = USUAL)]
    #[serde(default = "default_budget")]
    pub budget: usize,
    /// Who changed the document since the last call: agent, person, tool, or a name.
    #[arg(long, value_name = "NAME", default_value = PERSON)]
    #[serde(default = "person")]
    #[schemars(extend("x-tool" = false))]
    pub author: String,
    /// What it was changed for.
    #[arg(long, value_name = "TEXT")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-tool" = false))]
    pub what: Option<String>,
    /// Why a change failed, if it did.
    #[arg(long, value_name = "TEXT")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-tool" = false))]
    pub failed: Option<String>,
    /// What is meant to be done next.
    #[arg(long, value_name = "TEXT")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-tool" = false))]
    pub plan: Option<String>,
    /// What came of what was meant before.
    #[arg(long, value_name = "TEXT")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-tool" = false))]
    pub result: Option<String>,
    /// Call this version an anchor of that name.
    #[arg(long, value_name = "NAME")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-tool" = false))]
    pub set_anchor: Option<String>,
    /// Compare with that anchor.
    #[arg(long, value_name = "NAME")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub anchor: Option<String>,
    /// Where the cursor stands: LINE or LINE:COLUMN. With an earlier version it is not noted.
    #[arg(long, value_name = "LINE:COLUMN")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
    /// What is selected: LINE:COLUMN-LINE:COLUMN.
    #[arg(long, value_name = "RANGE")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-tool" = false))]
    pub selection: Option<String>,
}

/// Default budget, in tokens.
const USUAL: usize = 8_000;

fn default_budget() -> usize {
    USUAL
}

fn person() -> String {
    PERSON.to_owned()
}

impl Show {
    /// Returns notes about other sessions with edits of the document, and about the file beside the shown version.
    pub(super) fn notes_beside(&self, unsaved: &[String], buffer: Option<&Buffer>, file: Result<&str, &Diagnostic>) -> Vec<String> {
        let others = unsaved.iter().filter(|session| Some(*session) != self.session.as_ref());
        let mut notes: Vec<String> = others
            .map(|session| {
                format!("edit session {session} has edits of it that are not saved: --session {session} shows it as it is there")
            })
            .collect();
        if let (Some(buffer), Some(session)) = (buffer, &self.session) {
            match file {
                Err(why) if why.code != ErrorCode::E_NO_FILE => notes.push(format!("{}; shown is what session {session} has", why.message)),
                // The missing file of a new document is expected.
                Err(_) if buffer.base.is_some() => notes.push(format!("the file itself is gone; shown is what session {session} has")),
                Ok(file) if buffer.base.as_deref() != Some(&journal::digest_of_text(file)) => {
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
