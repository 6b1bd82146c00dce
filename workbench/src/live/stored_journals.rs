//! Storage of journals, next to edit sessions: `live/KEY.json`, and each text of a version or an anchor as a content. A text is written before the
//! journal refers to it, so that a kill leaves a complete journal.

use super::journal::Journal;
use crate::edit::contents::{read_kept_content, write_content};
use crate::edit::expiry::{JOURNALS, end_expired};
use crate::edit::files::Files;
use engine::values::digest::Digest;
use serde::Deserialize;
use std::collections::BTreeSet;
use std::io;

/// Longest document, in bytes.
pub const LONGEST: usize = 32 << 20;
/// Number of new versions of a document after which texts of dropped versions are removed.
const REMOVED_AFTER: u64 = 16;

/// Returns the name of the note of a document, by its path below the workspace's root.
fn note_name(path: &str) -> String {
    let key = Digest::of(path.as_bytes()).to_string();
    format!("{JOURNALS}/{}.json", &key[..16])
}

/// Reads the journal of a document; empty if nothing is stored.
///
/// # Errors
/// When the note is not a valid journal.
pub fn read_journal<F: Files>(files: &F, path: &str) -> io::Result<Journal> {
    let name = note_name(path);
    let Some(bytes) = files.read_note(&name)? else {
        return Ok(Journal {
            path: path.to_owned(),
            ..Journal::default()
        });
    };
    serde_json::from_slice(&bytes).map_err(|error| io::Error::other(format!(".cortex/edit/{name} cannot be read: {error}")))
}

/// Returns the paths of all documents with a journal. Skips notes that are not valid journals.
///
/// # Errors
/// When they cannot be listed.
pub fn paths<F: Files>(files: &F) -> io::Result<BTreeSet<String>> {
    #[derive(Deserialize)]
    struct Named {
        path: String,
    }
    let names = files.notes(JOURNALS)?.into_iter();
    let journals = names.filter_map(|(name, _)| files.read_note(&format!("{JOURNALS}/{name}")).ok()?);
    let named = journals.filter_map(|bytes| serde_json::from_slice::<Named>(&bytes).ok());
    Ok(named.map(|journal| journal.path).collect())
}

/// Returns the text of a digest; `None` when it is no longer stored or is damaged.
pub fn stored_text<F: Files>(files: &F, digest: &str) -> Option<String> {
    let bytes = read_kept_content(files, digest).ok()??;
    String::from_utf8(bytes).ok()
}

/// Changes the journal of a document; `texts` are those that the new journal may refer to. Returns the new journal. Callers acquire the lock before
/// they read a document and release it after they have recorded it, or the later of two writers may record the text that it read earlier.
///
/// # Errors
/// When it cannot be written; then it is unchanged.
pub fn change_journal<F: Files>(
    files: &F,
    _: &F::EditLock,
    path: &str,
    texts: &[&str],
    change: impl FnOnce(&mut Journal),
) -> io::Result<Journal> {
    let before = read_journal(files, path)?;
    for text in texts {
        let digest = super::journal::digest_of_text(text);
        if !before.digests().contains(digest.as_str()) {
            write_content(files, &Some(digest), text.as_bytes())?;
        }
    }
    let mut changed = before.clone();
    change(&mut changed);
    if changed == before {
        return Ok(changed);
    }
    files.write_note(&note_name(path), &serde_json::to_vec(&changed)?)?;
    let is_due = changed.given / REMOVED_AFTER > before.given / REMOVED_AFTER;
    if let Some(last) = changed
        .current()
        .filter(|_| is_due && !before.digests().is_subset(&changed.digests()))
    {
        // A text that cannot be removed takes space, but does no harm.
        let _ = end_expired(files, last.at);
    }
    Ok(changed)
}

#[cfg(test)]
mod tests {
    use super::super::journal::{ChangeReport, digest_of_text};
    use super::*;
    use crate::edit::memory::Memory;

    fn journal_of_text(files: &Memory, text: &str, at: u64) -> Journal {
        let last = read_journal(files, "a.cs").expect("readable");
        let before = last.current().and_then(|current| stored_text(files, &current.digest));
        change_journal(files, &(), "a.cs", &[text], |journal| {
            journal.record_found(text, before.as_deref(), at, &ChangeReport::default());
        })
        .expect("written")
    }

    #[test]
    fn texts_are_kept_as_long_as_they_are_named() {
        let files = Memory::default();
        for number in 0..150_u64 {
            let journal = journal_of_text(&files, &number.to_string(), number);
            assert_eq!(journal.given, number + 1);
        }
        let journal = read_journal(&files, "a.cs").expect("readable");
        for digest in journal.digests() {
            assert!(stored_text(&files, digest).is_some(), "{digest}");
        }
        let beyond = files.count_notes("texts") - journal.digests().len();
        assert!(beyond < REMOVED_AFTER as usize, "{beyond}");
        assert_eq!(stored_text(&files, &digest_of_text("20")), None, "it is removed");
        end_expired(&files, 150).expect("collected");
        assert_eq!(files.count_notes("texts"), journal.digests().len());
        assert_eq!(paths(&files).expect("listed"), BTreeSet::from(["a.cs".to_owned()]));
        assert_eq!(read_journal(&files, "b.cs").expect("readable").given, 0, "another document");
        // A damaged content is not returned as the text.
        files.damage("texts");
        let digest = &journal.current().expect("a version").digest;
        assert_eq!(stored_text(&files, digest), None);
        for other in ["../live/x.json", ""] {
            assert_eq!(stored_text(&files, other), None, "{other}");
        }
        // Of an unreadable journal all texts stay.
        files.damage(JOURNALS);
        end_expired(&files, 150).expect("collected");
        assert_eq!(files.count_notes("texts"), journal.digests().len());
    }
}
