//! Looks at documents, recorded in the log of drafts, and documents as they are in edit sessions: the versions of a session's buffer are the
//! session's steps.

use crate::code_text::encoding::decode;
use crate::edit::contents::{Content, content, read_kept_content, write_content};
use crate::edit::document_names::DocumentNames;
use crate::edit::draft_log::{self, DraftLog, Entry};
use crate::edit::expiry::end_expired;
use crate::edit::files::Files;
use crate::edit::journal::{ChangeReport, Journal, Look, LookEffects};
use crate::edit::session::{self, EditSession, NoSession};
use std::collections::BTreeSet;
use std::io;

/// Number of new versions of a document after which contents of dropped versions are removed.
const REMOVED_AFTER: u64 = 16;

/// Returns the handles of the sessions that have unsaved edits of the document of these names, the last used first.
pub fn sessions_with_edits(files: &impl Files, names: &BTreeSet<String>) -> io::Result<Vec<String>> {
    let sessions = session::list_sessions(files)?.into_iter();
    let edited = |session: &EditSession| session.documents.iter().any(|(path, one)| names.contains(path) && one.is_edited());
    Ok(sessions.filter(edited).map(|session| session.id).collect())
}

/// Records a look at a document; `bytes` are those of the contents that it names. Returns the document's journal, and the effects that the answer
/// reports. Callers acquire the lock before they read the document, or the later of two processes may record what it read earlier. Fails
/// when the log cannot be read or written; then nothing is recorded.
pub fn record_look<F: Files>(files: &F, _: &F::EditLock, look: Look, bytes: &[&[u8]]) -> io::Result<(Journal, LookEffects)> {
    let log = DraftLog::from_files(files)?;
    let before = log.journal(&look.path);
    let mut journal = before.clone();
    let effects = journal.record_look(&look);
    let is_known = log.has_journal(&look.path);
    if journal == before && (is_known || journal.current().is_none()) {
        return Ok((journal, effects));
    }
    for bytes in bytes {
        let named = content(Some(bytes));
        if named.as_deref().is_some_and(|named| !before.digests().contains(named)) {
            write_content(files, &named, bytes)?;
        }
    }
    let at = look.at;
    let entry = if is_known {
        Entry::Look(look)
    } else {
        Entry::Journal(journal.clone())
    };
    let is_due = draft_log::append_entries(files, [entry])?;
    if is_due || journal.given / REMOVED_AFTER > before.given / REMOVED_AFTER {
        // Contents that cannot be removed take space, but do no harm.
        let _ = end_expired(files, at);
    }
    Ok((journal, effects))
}

/// Records a failed edit without a session. Does nothing for a document that no live context has shown. Fails when the document, or stored
/// data of it, cannot be read or written.
pub fn record_failed_try<F: Files>(files: &F, path: &str, (operation, why): (&str, &str), now: u64) -> io::Result<()> {
    let lock = files.lock_for_editing()?;
    let path = DocumentNames::from_path(files, path)?.path;
    if !DraftLog::from_files(files)?.has_journal(&path) {
        return Ok(());
    }
    let Some(found) = files.read(&path)?.filter(|found| decode(&found.bytes).is_ok()) else {
        return Ok(());
    };
    let look = Look {
        path,
        at: now,
        found: content(Some(&found.bytes)),
        report: ChangeReport::by_agent(operation, Some(why.to_owned())),
        ..Look::default()
    };
    record_look(files, &lock, look, &[&found.bytes]).map(drop)
}

/// A document's buffer in a session.
#[derive(Clone, Debug)]
pub struct Buffer {
    /// Path of the document in the session.
    pub path: String,
    pub text: String,
    /// The text of the base of the buffer; `None` if there was no file.
    pub base: Option<String>,
    /// The versions in the session.
    pub journal: Journal,
}

/// The reason why a session has no text of a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Missing {
    /// It is no document of the session.
    Unknown,
    /// The document was removed in the session, or is not created yet.
    Away,
    /// The document was only read, and the file was written since: its earlier text is not stored.
    Moved,
}

/// Returns a document as it is in a session, by the first of several names that the session knows. Fails when there is no such session.
pub fn buffer<'n, F: Files>(
    files: &F,
    handle: &str,
    names: impl IntoIterator<Item = &'n String>,
    now: u64,
) -> Result<Result<Buffer, Missing>, NoSession> {
    let session = EditSession::load(files, handle, now)?;
    let Some((path, document)) = names.into_iter().find_map(|name| session.documents.get_key_value(name)) else {
        return Ok(Err(Missing::Unknown));
    };
    // The text of a document that the session only read is nowhere but in the file.
    let file = files.read(path).ok().flatten().map(|found| found.bytes);
    let in_file = content(file.as_deref());
    let text_of = |wanted: &Content| match wanted {
        Some(_) if *wanted == in_file => Some(decode(file.as_deref()?).ok()?.0),
        wanted => stored_text(files, wanted.as_deref()?),
    };
    let Some(text) = text_of(&document.now.text) else {
        let is_away = document.now.text.is_none();
        return Ok(Err(if is_away { Missing::Away } else { Missing::Moved }));
    };
    Ok(Ok(Buffer {
        path: path.clone(),
        base: text_of(&document.now.base),
        journal: DraftLog::from_files(files)?.journal_of_session(&session, path),
        text,
    }))
}

/// Returns the text of a content; `None` when it is no longer stored or is damaged.
pub fn stored_text(files: &impl Files, digest: &str) -> Option<String> {
    let bytes = read_kept_content(files, digest).ok()??;
    Some(decode(&bytes).ok()?.0)
}
