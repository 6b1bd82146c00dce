//! Input of `context live`: a document of the workspace, its present text, and its stored history.

use super::context_live_arguments::Show;
use super::window::root_of_workspace;
use crate::code::Code;
use crate::desk::Desk;
use crate::failed::Failed;
use engine::values::codes::ErrorCode;
use engine::values::diagnostic::Diagnostic;
use std::collections::BTreeSet;
use std::io;
use std::path::{Component, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};
use workbench::checkout::{self, FolderLock};
use workbench::edit::disk::Disk;
use workbench::edit::editable_paths::{self, Guard, Refused};
use workbench::edit::encoding::{Form, decode};
use workbench::edit::files::Files;
use workbench::edit::session::NoSession;
use workbench::live::editor::Editor;
use workbench::live::edits::{self, Buffer, Missing};
use workbench::live::journal::{self, ANCHORS, Anchor, ChangeReport, Journal};
use workbench::live::names::DocumentNames;
use workbench::live::stored_journals::{self, LONGEST};
use workbench::symbols::file::no_text;

/// Error code for a missing file.
pub(super) const NO_FILE: ErrorCode = ErrorCode::E_NO_FILE;

/// A document of the workspace at the time of the call.
pub(super) struct LiveFile {
    root: PathBuf,
    files: Disk,
    /// Path from the root; for a file with several hard links, the one with the history.
    pub(super) path: String,
    /// The requested path.
    requested: String,
    /// All known names of the file.
    names: BTreeSet<String>,
    /// Time of the call, in seconds since 1970.
    pub(super) now: u64,
}

/// A document that was read.
pub(super) struct ReadDocument {
    /// Its text.
    pub(super) text: String,
    /// Its stored history, or for a session's document its versions.
    pub(super) journal: Journal,
    /// Notes for the answer, one sentence each.
    pub(super) notes: Vec<String>,
}

/// Result of recording a call.
#[derive(Default)]
struct Noted {
    /// The document's history after it.
    journal: Journal,
    /// Whether the file, or a failed try, added a version.
    is_version: bool,
    /// Whether an earlier plan matches a given result.
    has_cause: bool,
    /// An anchor dropped in favour of a new one.
    forgotten: Option<Anchor>,
}

impl LiveFile {
    /// Resolves a path as given. A path without a file resolves to the document of that path in a session or in the history.
    pub(super) fn from_path(desk: &Desk<'_>, file: &str, session: Option<&str>) -> Result<Self, Failed> {
        let root = root_of_workspace(desk)?;
        let guard = Guard {
            store: desk.context.store_folder(),
            manifest: true,
        };
        let resolved = editable_paths::resolve(&root, file, &guard);
        let mut place = Self {
            files: Disk::new(&root),
            root,
            path: String::new(),
            requested: String::new(),
            names: BTreeSet::new(),
            now: SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs()),
        };
        let former = |why: &Refused| matches!(why, Refused::NoFile(_) | Refused::BelowFile(_)).then(|| place.former(file, session))?;
        let asked = resolved.or_else(|why| former(&why).ok_or_else(|| not_shown(&why)))?;
        let names = DocumentNames::from_path(&place.files, &place.root, &asked).map_err(|error| unread(&error))?;
        (place.path, place.names, place.requested) = (names.path, names.all, asked);
        Ok(place)
    }

    /// Returns the path of a deleted document, if a session or the history has it.
    fn former(&self, file: &str, session: Option<&str>) -> Option<String> {
        let full = self.root.join(file);
        let below: PathBuf = full.strip_prefix(&self.root).ok()?.components().collect();
        let is_plain = below.components().all(|part| matches!(part, Component::Normal(_)));
        let path = below.to_str().filter(|_| is_plain)?.to_owned();
        let has_it = |session| edits::buffer(&self.files, session, &path, self.now).is_ok_and(|buffer| buffer.is_some());
        let is_remembered = || stored_journals::read_journal(&self.files, &path).is_ok_and(|journal| journal.current().is_some());
        (session.is_some_and(has_it) || is_remembered()).then_some(path)
    }

    /// Returns the text of a digest, if it is stored.
    pub(super) fn version_text(&self, digest: &str) -> Option<String> {
        stored_journals::stored_text(&self.files, digest)
    }

    /// Reads the document's history.
    pub(super) fn journal(&self) -> Result<Journal, Failed> {
        stored_journals::read_journal(&self.files, &self.path).map_err(|error| unread(&error))
    }

    /// Reads the document and records its state and the call's arguments, under the lock of the histories.
    pub(super) fn read_document(&self, show: &Show, buffer: Option<&Buffer>, editor: Option<Editor>) -> Result<ReadDocument, Failed> {
        let held = self.files.lock_for_editing().map_err(|error| self.history_not_stored(&error))?;
        let unsaved = edits::take_over(&self.files, &self.root, &held, &self.path);
        let unsaved = unsaved.map_err(|error| self.history_not_stored(&error))?;
        let (file, mut notes) = match self.document() {
            Ok((text, notes)) => (Ok(text), notes),
            Err((code, why)) if buffer.is_none() => return Err(self.with_stored_versions(code, *why, &unsaved)),
            Err((_, why)) => (Err(*why), Vec::new()),
        };
        notes.extend(self.note_other_names(show.session.as_deref().zip(buffer)));
        notes.extend(show.notes_beside(&unsaved, buffer, file.as_deref()));
        let file = file.ok();
        let text = buffer
            .map(|buffer| buffer.text.clone())
            .or_else(|| file.clone())
            .unwrap_or_default();
        let corrected = editor.map(|editor| editor.clamp_to_text(&text));
        let (editor, remarks) = corrected.map_or((None, Vec::new()), |(editor, remarks)| (Some(editor), remarks));
        notes.extend(remarks);
        let noted = self.record_call(show, &held, file.as_deref(), buffer, editor)?;
        let mut journal = noted.journal;
        if let Some(what) = show.what.as_ref().filter(|_| !noted.is_version) {
            notes.push(format!(
                "the file did not change, so no version has the description '{what}'; it was not recorded"
            ));
        }
        if show.result.is_some() && !noted.has_cause {
            notes.push("this result has no reported plan before it; it was not recorded".to_owned());
        }
        if let Some(name) = noted.forgotten.and_then(|anchor| anchor.name) {
            let of = if show.session.is_some() { "the session" } else { "the file" };
            notes.push(format!("the anchor '{name}' is forgotten: {ANCHORS} of {of} are kept"));
        }
        if let Some(buffer) = buffer {
            (journal.given, journal.versions) = (buffer.version(), buffer.versions.clone());
        }
        Ok(ReadDocument { text, journal, notes })
    }

    /// Records the arguments of this call in the document's history.
    fn record_call(
        &self,
        show: &Show,
        held: &FolderLock,
        file: Option<&str>,
        buffer: Option<&Buffer>,
        editor: Option<Editor>,
    ) -> Result<Noted, Failed> {
        let said = ChangeReport {
            author: show.author.clone(),
            what: show.what.clone(),
            failed: show.failed.clone(),
            edit: None,
        };
        let kept_for_anchor = buffer.filter(|_| show.set_anchor.is_some()).map(|buffer| buffer.text.as_str());
        let texts: Vec<&str> = file.into_iter().chain(kept_for_anchor).collect();
        let mut noted = Noted::default();
        let journal = stored_journals::change_journal(&self.files, held, &self.path, &texts, |journal| {
            let before = journal.current().and_then(|current| self.version_text(&current.digest));
            if let Some(text) = file {
                noted.is_version = journal.record_found(text, before.as_deref(), self.now, &said);
            }
            let version = buffer.map_or(journal.given, Buffer::version);
            noted.has_cause = journal.record_plan(show.session.as_deref(), version, show.plan.as_deref(), show.result.as_deref());
            let shown = match buffer {
                Some(buffer) => Some((buffer.version(), journal::digest_of_text(&buffer.text))),
                None => journal.current().map(|current| (current.number, current.digest.clone())),
            };
            if let (Some(name), Some((version, digest))) = (&show.set_anchor, shown) {
                noted.forgotten = journal.set_anchor(Anchor {
                    name: Some(name.clone()),
                    session: show.session.clone(),
                    version,
                    at: self.now,
                    digest,
                });
            }
            if let Some(editor) = editor {
                journal.editor = editor;
            }
        });
        let journal = journal.map_err(|error| self.history_not_stored(&error))?;
        Ok(Noted { journal, ..noted })
    }

    /// Returns the document as it is in a session.
    pub(super) fn in_session(&self, session: &str) -> Result<Buffer, Failed> {
        let wrong = |why: String, hint: String| Failed::new(Code::Usage, Diagnostic::error(ErrorCode::E_SESSION, why).hint(hint));
        let no_session = |why: NoSession| wrong(why.to_string(), "`cortex edit list` lists the sessions".to_owned());
        let names = [&self.requested, &self.path].into_iter().chain(&self.names);
        let path = edits::called(&self.files, session, names, self.now).map_err(no_session)?;
        let path = path.unwrap_or(&self.requested);
        if let Some(buffer) = edits::buffer(&self.files, session, path, self.now).map_err(no_session)? {
            return Ok(buffer);
        }
        let missing = edits::why_missing(&self.files, session, path, self.now).map_err(no_session)?;
        let (why, hint) = match missing {
            Missing::Unknown => (
                format!("{path} is not a document of session {session}"),
                format!("`cortex edit open {path} --session {session}` makes it one; without the session the file is shown"),
            ),
            Missing::Away => (
                format!("{path} was removed in session {session}, or is not created there yet"),
                "`undo` or `redo` of the session may bring it back; without the session the file is shown".to_owned(),
            ),
            Missing::Moved => (
                format!(
                    "session {session} has no edits of {path}, and another program has written the file since: the earlier text was not stored"
                ),
                format!("`cortex edit refresh {path} --session {session}` reads the file again; without --session the file is shown"),
            ),
        };
        Err(wrong(why, hint))
    }

    /// Returns notes about a file with another name (hard links), here or in a session.
    fn note_other_names(&self, session: Option<(&str, &Buffer)>) -> Vec<String> {
        let (path, asked) = (&self.path, &self.requested);
        let shown = (path != asked).then(|| {
            format!("{asked} and {path} are one file under two names (hard links), and one document: its history is that of {path}")
        });
        let edited = session.filter(|(_, buffer)| buffer.path != *path);
        let edited = edited.map(|(session, Buffer { path: other, .. })| format!("session {session} has {path} as {other}"));
        shown.into_iter().chain(edited).collect()
    }

    /// Returns the text of a file, and notes about its encoding.
    fn document(&self) -> Result<(String, Vec<String>), (Code, Box<Diagnostic>)> {
        let path = &self.path;
        let unread = |message: String, hint: &str| (Code::Io, Box::new(Diagnostic::error(ErrorCode::E_READ, message).hint(hint)));
        let found = self.files.read(path).map_err(|error| {
            let hint = "name a text file of the workspace that can be read, of up to 32 MiB";
            unread(format!("{path} cannot be read: {error}"), hint)
        })?;
        let Some(found) = found else {
            let why = Diagnostic::error(NO_FILE, format!("there is no file {path}"));
            return Err((Code::Usage, Box::new(why.hint("name a file by its path from the workspace's root"))));
        };
        if found.bytes.len() > LONGEST {
            let why = format!(
                "{path} is not shown: it has {} bytes, and files over 32 MiB are not shown whole or in part",
                found.bytes.len()
            );
            let hint = "`cortex source` shows lines of it";
            return Err((Code::Usage, Box::new(Diagnostic::error(ErrorCode::E_TOO_LARGE, why).hint(hint))));
        }
        let (text, encoding) = decode(&found.bytes).map_err(|why| (Code::Usage, Box::new(no_text(path, &why))))?;
        let note = (encoding.form != Form::Utf8).then(|| {
            let form = encoding.form.to_string().to_lowercase();
            format!("{path} is written in {form}; its decoded text is shown")
        });
        Ok((text, note.into_iter().collect()))
    }

    /// Extends the failure of a missing file by the session's and the stored versions, which can still be shown.
    fn with_stored_versions(&self, code: Code, why: Diagnostic, unsaved: &[String]) -> Failed {
        let journal = stored_journals::read_journal(&self.files, &self.path).unwrap_or_default();
        let last = journal.current().map(|version| version.number);
        let last = last.map(|last| format!("version {last} is the last that is remembered: --version {last} shows it"));
        let session = unsaved
            .first()
            .map(|session| format!("edit session {session} has it, with edits that are not saved: --session {session} shows that"));
        let hints: Vec<String> = last.into_iter().chain(session).collect();
        Failed::new(code, if hints.is_empty() { why } else { why.hint(hints.join("; ")) })
    }

    fn history_not_stored(&self, error: &io::Error) -> Failed {
        let damaged = "check .cortex/edit; a damaged journal can be moved away";
        Failed::new(
            Code::Io,
            checkout::trouble(&format!("the versions of {}", self.path), error, damaged),
        )
    }
}

fn unread(error: &io::Error) -> Failed {
    let why = Diagnostic::error(ErrorCode::E_READ, error.to_string());
    Failed::new(Code::Io, why.hint("check .cortex/edit"))
}

fn not_shown(refused: &Refused) -> Failed {
    let why = Diagnostic::error(ErrorCode::E_PATH, format!("this is not shown: {refused}"));
    let why = match refused {
        Refused::Outside(path) => why.found(path.as_str()),
        _ => why,
    };
    Failed::new(Code::Usage, why.hint("name a file of the workspace by its path from the root"))
}
