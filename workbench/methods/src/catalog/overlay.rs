//! `overlay open`, `overlay list`, `overlay discard`: overlays as a whole, and helpers of all overlay methods.

use super::{AsTool, Effect, Method, window};
use crate::code::Code;
use crate::desk::Desk;
use crate::desk::clock::current_seconds;
use crate::failed::Failed;
use crate::render::{moment, on_one_line, plural, printable};
use engine::values::codes::ErrorCode;
use engine::values::diagnostic::Diagnostic;
use engine::values::quantity;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use workbench::edit::disk::Disk;
use workbench::edit::overlay_record::{Listed, Overlay, list_overlays};
use workbench::editable_paths::Guard;
use workbench::overlay::OverlayError;
use workbench::overlay::compare::{Compared, OverlayChange, Since, compare};
use workbench::overlay::record;

/// Returns the files that overlay documents may replace: not those of the store, and not the manifest.
pub(super) fn replaceable_files(desk: &Desk<'_>) -> Result<Disk, Failed> {
    let guard = Guard {
        store: desk.context.store_folder(),
        manifest: false,
    };
    Ok(Disk::new(&window::root_of_workspace(desk)?).with_guard(guard))
}

/// Open an overlay: a named view of the workspace in which documents replace files.
///
/// An existing overlay is opened again. An overlay ends when it is merged or discarded, or after --expires without use [default: a week]. Overlays
/// are independent of each other.
#[derive(Debug, clap::Args, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Open {
    /// Name of the overlay: letters, digits, '-', '_' and '.'.
    pub name: String,
    /// Lifetime after its last use, such as 12h, 7d or 4w.
    #[arg(long, value_name = "SPAN")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-tool" = false))]
    pub expires: Option<String>,
}

/// An overlay that is open.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Opened {
    name: String,
    /// Whether it is new.
    new: bool,
    /// Number of its documents.
    documents: usize,
    /// When it expires if not used, in seconds since 1970.
    expires_at: u64,
}

impl Method for Open {
    const NAME: &'static str = "overlay open";
    const EFFECT: Effect = Effect::Sets;
    const TOOL: AsTool = AsTool::Operation;
    type Answer = Opened;

    fn answer(&self, desk: &mut Desk<'_>) -> Result<Opened, Failed> {
        let lifetime = self.expires.as_deref().map(quantity::seconds).transpose();
        let lifetime = lifetime.map_err(|why| {
            let why = Diagnostic::error(ErrorCode::E_PARAM, format!("expires: {why}"));
            Failed::new(Code::Usage, why.hint("write a time such as 12h, 7d or 4w"))
        })?;
        let (overlay, new) = record::open_or_continue(&replaceable_files(desk)?, &self.name, lifetime, current_seconds())?;
        Ok(Opened {
            name: self.name.clone(),
            new,
            documents: overlay.documents.len(),
            expires_at: overlay.expires_at(),
        })
    }

    fn text(answer: &Opened) -> String {
        let how = if answer.new { "is open" } else { "continues" };
        let Opened { name, documents, .. } = answer;
        let until = moment(answer.expires_at);
        let documents = plural(*documents as u64, "document");
        printable(&format!(
            "overlay {name} {how}, {documents}; it lives until {until}, longer when it is used\n"
        ))
    }
}

/// List the overlays of this checkout with their changes.
#[derive(Debug, clap::Args, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct List {}

/// The overlays.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct Overlays {
    overlays: Vec<Info>,
}

/// An overlay.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Info {
    name: String,
    /// `open`; `ended` if it has expired (the next `overlay open` removes it); `damaged`.
    status: String,
    /// When it was opened, in seconds since 1970.
    opened_at: u64,
    /// When it expires if not used, in seconds since 1970.
    expires_at: u64,
    documents: Vec<Document>,
}

/// A document of an overlay.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Document {
    pub(super) path: String,
    /// `changed`, `added`, `removed`, or `same` as the file was.
    pub(super) kind: String,
    /// Later change of the file: `same`, `moved` (it changed; a merge joins both), `conflict` (both changed one place; a merge is refused), or
    /// `blocked` (another kind of entry is in its place; a merge is refused).
    pub(super) file: String,
    /// What the path contains instead of a file, in a sentence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) why: Option<String>,
}

impl From<Compared> for Document {
    fn from(one: Compared) -> Self {
        Self {
            path: one.path,
            kind: change_word(one.kind).to_owned(),
            file: since_word(one.since).to_owned(),
            why: one.blocked,
        }
    }
}

/// Returns the word for a document's change.
fn change_word(kind: OverlayChange) -> &'static str {
    match kind {
        OverlayChange::Changed => "changed",
        OverlayChange::Added => "added",
        OverlayChange::Removed => "removed",
        OverlayChange::Same => "same",
    }
}

/// Returns the word for a file's later change.
fn since_word(since: Since) -> &'static str {
    match since {
        Since::Same => "same",
        Since::Moved => "moved",
        Since::Conflict => "conflict",
        Since::Blocked => "blocked",
    }
}

/// Formats a document of an overlay or edit session on a line: the change of its file, and whether the file changed since.
pub(super) fn document_line(document: &Document, is_session: bool) -> String {
    let (doing, done) = if is_session { ("saving", "saved") } else { ("a merge", "merged") };
    let rename = match document.file.as_str() {
        "moved" => format!("; the file changed in the workspace since, {doing} joins both"),
        "conflict" => format!("; the file changed in the workspace since, and {doing} conflicts"),
        "blocked" => {
            let why = document.why.as_deref().unwrap_or("something else is in its place");
            format!("; nothing can be {done} there: {why}")
        }
        _ => String::new(),
    };
    on_one_line(&format!("{:<8}{}{rename}", document.kind, document.path))
}

impl Method for List {
    const NAME: &'static str = "overlay list";
    const EFFECT: Effect = Effect::Reads;
    const TOOL: AsTool = AsTool::Operation;
    type Answer = Overlays;

    fn answer(&self, desk: &mut Desk<'_>) -> Result<Overlays, Failed> {
        let (files, now) = (replaceable_files(desk)?, current_seconds());
        let mut overlays = Vec::new();
        for Listed { name, overlay } in list_overlays(&files).map_err(OverlayError::from)? {
            let status = match &overlay {
                None => "damaged",
                Some(overlay) if overlay.is_over(now) => "ended",
                Some(_) => "open",
            };
            // An overlay that has been deleted since or is damaged is still listed.
            let compared = match status {
                "open" => compare(&files, &name, now).unwrap_or_default(),
                _ => Vec::new(),
            };
            overlays.push(Info {
                status: status.to_owned(),
                opened_at: overlay.as_ref().map_or(0, |overlay| overlay.opened_at),
                expires_at: overlay.as_ref().map_or(0, Overlay::expires_at),
                documents: compared.into_iter().map(Document::from).collect(),
                name,
            });
        }
        Ok(Overlays { overlays })
    }

    fn text(answer: &Overlays) -> String {
        if answer.overlays.is_empty() {
            return "there is no overlay; `overlay open NAME` opens one\n".to_owned();
        }
        let mut text = String::new();
        for one in &answer.overlays {
            let name = &one.name;
            let how = match one.status.as_str() {
                "damaged" => format!("its record is damaged: `overlay discard {name}` removes it"),
                "ended" => "its time is over; the next `overlay open` takes it away".to_owned(),
                _ => format!("until {}", moment(one.expires_at)),
            };
            text.push_str(&format!("{name}  {how}\n"));
            for document in &one.documents {
                text.push_str(&format!("  {}\n", document_line(document, false)));
            }
        }
        printable(&text)
    }
}

/// Drop an overlay with all its documents. The workspace stays as it is.
#[derive(Debug, clap::Args, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Discard {
    /// Its name.
    pub name: String,
}

/// A discarded overlay.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct Discarded {
    name: String,
    /// Number of its documents.
    documents: usize,
}

impl Method for Discard {
    const NAME: &'static str = "overlay discard";
    const EFFECT: Effect = Effect::Acts;
    const TOOL: AsTool = AsTool::Operation;
    type Answer = Discarded;

    fn answer(&self, desk: &mut Desk<'_>) -> Result<Discarded, Failed> {
        Ok(Discarded {
            name: self.name.clone(),
            documents: record::discard(&replaceable_files(desk)?, &self.name, current_seconds())?,
        })
    }

    fn text(answer: &Discarded) -> String {
        printable(&format!(
            "overlay {} is dropped, with {}\n",
            answer.name,
            plural(answer.documents as u64, "document")
        ))
    }
}
