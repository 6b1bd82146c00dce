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
use workbench::code_text::encoding::{Form, decode};
use workbench::edit::contents::content;
use workbench::edit::disk::Disk;
use workbench::edit::document_names::DocumentNames;
use workbench::edit::draft_log::DraftLog;
use workbench::edit::editor::Editor;
use workbench::edit::files::Files;
use workbench::edit::journal::{ANCHORS, ChangeReport, Journal, Look, LookEffects};
use workbench::edit::perform::recover;
use workbench::edit::session::NoSession;
use workbench::editable_paths::{self, Guard, Refused};
use workbench::live::edits::{self, Buffer, Missing};
use workbench::live::render::RECENT;
use workbench::symbols::file::no_text;

/// Longest document, in bytes.
const LONGEST: usize = 32 << 20;

/// Error code for a missing file.
pub(super) const NO_FILE: ErrorCode = ErrorCode::E_NO_FILE;

/// A document of the workspace at the time of the call.
pub(super) struct LiveFile {
    root: PathBuf,
    files: Disk,
    /// Path from the root; for a file with several hard links, the one with the history.
    pub(super) path: String,
    requested: String,
    /// All known names of the file.
    names: BTreeSet<String>,
    /// Time of the call, in seconds since 1970.
    pub(super) now: u64,
}

pub(super) struct ReadDocument {
    pub(super) text: String,
    /// Its stored history, or for a session's document its versions.
    pub(super) journal: Journal,
    /// Notes for the answer, one sentence each.
    pub(super) notes: Vec<String>,
}

/// The file of a document as read.
struct ReadFile {
    bytes: Vec<u8>,
    text: String,
    /// A note about its encoding.
    note: Option<String>,
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
            files: Disk::new(&root).with_guard(Guard { manifest: false, ..guard }),
            root,
            path: String::new(),
            requested: String::new(),
            names: BTreeSet::new(),
            now: SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs()),
        };
        let former = |why: &Refused| matches!(why, Refused::NoFile(_) | Refused::BelowFile(_)).then(|| place.former(file, session))?;
        let asked = resolved.or_else(|why| former(&why).ok_or_else(|| not_shown(&why)))?;
        let names = DocumentNames::from_path(&place.files, &asked).map_err(|error| unread(&error))?;
        (place.path, place.names, place.requested) = (names.path, names.all, asked);
        Ok(place)
    }

    /// Returns the path of a deleted document, if a session or the history has it.
    fn former(&self, file: &str, session: Option<&str>) -> Option<String> {
        let full = self.root.join(file);
        let below: PathBuf = full.strip_prefix(&self.root).ok()?.components().collect();
        let is_plain = below.components().all(|part| matches!(part, Component::Normal(_)));
        let path = below.to_str().filter(|_| is_plain)?.to_owned();
        let has_it = |session| edits::buffer(&self.files, session, [&path], self.now).is_ok_and(|buffer| buffer.is_ok());
        let is_remembered = || DraftLog::from_files(&self.files).is_ok_and(|log| log.has_journal(&path));
        (session.is_some_and(has_it) || is_remembered()).then_some(path)
    }

    /// Returns the text of a content; empty if there is no file.
    pub(super) fn version_text(&self, digest: &str) -> Option<String> {
        let in_file = || {
            let file = self.read_file().ok()?;
            (content(Some(&file.bytes)).as_deref() == Some(digest)).then_some(file.text)
        };
        match digest {
            "" => Some(String::new()),
            digest => edits::stored_text(&self.files, digest).or_else(in_file),
        }
    }

    /// Reads the document's history, with the versions of a session if it is shown.
    pub(super) fn journal(&self, buffer: Option<&Buffer>) -> Result<Journal, Failed> {
        let log = DraftLog::from_files(&self.files).map_err(|error| unread(&error))?;
        let journal = log.journal(&self.path);
        Ok(match buffer {
            Some(buffer) => journal.with_versions_of(&buffer.journal),
            None => journal,
        })
    }

    /// Reads the document and records its state and the call's arguments, under the lock of drafts.
    pub(super) fn read_document(&self, show: &Show, buffer: Option<&Buffer>, editor: Option<Editor>) -> Result<ReadDocument, Failed> {
        // An interrupted save of a session is no change by a person.
        let mut notes = recover(&self.files, self.now).map_err(|error| self.history_not_stored(&error))?;
        let held = self.files.lock_for_editing().map_err(|error| self.history_not_stored(&error))?;
        let unsaved = edits::sessions_with_edits(&self.files, &self.names);
        let unsaved = unsaved.map_err(|error| self.history_not_stored(&error))?;
        let file = match self.read_file() {
            Ok(file) => Ok(file),
            Err((code, why)) if buffer.is_none() => return Err(self.with_stored_versions(code, *why, &unsaved)),
            Err((_, why)) => Err(*why),
        };
        notes.extend(file.iter().filter_map(|file| file.note.clone()));
        notes.extend(self.note_other_names(show.session.as_deref().zip(buffer)));
        notes.extend(show.notes_beside(&unsaved, buffer, file.as_ref().map(|file| file.text.as_str())));
        let file = file.ok();
        let text = buffer
            .map(|buffer| buffer.text.clone())
            .or_else(|| file.as_ref().map(|file| file.text.clone()))
            .unwrap_or_default();
        let corrected = editor.map(|editor| editor.clamp_to_text(&text));
        let (editor, remarks) = corrected.map_or((None, Vec::new()), |(editor, remarks)| (Some(editor), remarks));
        notes.extend(remarks);
        let (mut journal, effects) = self.record_call(show, &held, file.as_ref().map(|file| file.bytes.as_slice()), buffer, editor)?;
        if let Some(what) = show.what.as_ref().filter(|_| !effects.is_version) {
            notes.push(format!(
                "the file did not change, so no version has the description '{what}'; it was not recorded"
            ));
        }
        if show.result.is_some() && !effects.has_cause {
            notes.push("this result has no reported plan before it; it was not recorded".to_owned());
        }
        if let Some(name) = effects.forgotten.and_then(|anchor| anchor.name) {
            let of = if show.session.is_some() { "the session" } else { "the file" };
            notes.push(format!("the anchor '{name}' is forgotten: {ANCHORS} of {of} are kept"));
        }
        if let Some(buffer) = buffer {
            journal = journal.with_versions_of(&buffer.journal);
        }
        journal.compute_changes(RECENT, |digest| self.version_text(digest));
        Ok(ReadDocument { text, journal, notes })
    }

    /// Records the arguments of this call in the document's history.
    fn record_call(
        &self,
        show: &Show,
        held: &FolderLock,
        file: Option<&[u8]>,
        buffer: Option<&Buffer>,
        editor: Option<Editor>,
    ) -> Result<(Journal, LookEffects), Failed> {
        // An anchor of a session keeps the text, whatever its encoding is there.
        let anchored = buffer.filter(|_| show.set_anchor.is_some()).map(|buffer| buffer.text.as_bytes());
        let text = |buffer: &Buffer| content(Some(buffer.text.as_bytes())).unwrap_or_default();
        let look = Look {
            path: self.path.clone(),
            at: self.now,
            found: content(file),
            report: ChangeReport {
                author: show.author.clone(),
                what: show.what.clone(),
                failed: show.failed.clone(),
            },
            shown: buffer.map(|buffer| (buffer.journal.given, text(buffer))),
            session: show.session.clone(),
            plan: show.plan.clone(),
            result: show.result.clone(),
            anchor: show.set_anchor.clone(),
            editor,
        };
        let bytes: Vec<&[u8]> = file.into_iter().chain(anchored).collect();
        edits::record_look(&self.files, held, look, &bytes).map_err(|error| self.history_not_stored(&error))
    }

    /// Returns the document as it is in a session.
    pub(super) fn in_session(&self, session: &str) -> Result<Buffer, Failed> {
        let wrong = |why: String, hint: String| Failed::new(Code::Usage, Diagnostic::error(ErrorCode::E_SESSION, why).hint(hint));
        let no_session = |why: NoSession| wrong(why.to_string(), "`cortex edit list` lists the sessions".to_owned());
        let names = [&self.requested, &self.path].into_iter().chain(&self.names);
        let path = &self.requested;
        let missing = match edits::buffer(&self.files, session, names, self.now).map_err(no_session)? {
            Ok(buffer) => return Ok(buffer),
            Err(missing) => missing,
        };
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

    fn read_file(&self) -> Result<ReadFile, (Code, Box<Diagnostic>)> {
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
        Ok(ReadFile {
            bytes: found.bytes,
            text,
            note,
        })
    }

    /// Extends the failure of a missing file by the session's and the stored versions, which can still be shown.
    fn with_stored_versions(&self, code: Code, why: Diagnostic, unsaved: &[String]) -> Failed {
        let journal = self.journal(None).unwrap_or_default();
        let last = journal.current().map(|version| version.number);
        let last = last.map(|last| format!("version {last} is the last that is remembered: --version {last} shows it"));
        let session = unsaved
            .first()
            .map(|session| format!("edit session {session} has it, with edits that are not saved: --session {session} shows that"));
        let hints: Vec<String> = last.into_iter().chain(session).collect();
        Failed::new(code, if hints.is_empty() { why } else { why.hint(hints.join("; ")) })
    }

    fn history_not_stored(&self, error: &io::Error) -> Failed {
        let damaged = "check .cortex/edit";
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
