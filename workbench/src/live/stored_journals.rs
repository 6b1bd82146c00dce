//! Storage of journals: `.cortex/live/KEY/journal.json`, and next to it each text of a version or an anchor, under its digest. A text is
//! written before the journal refers to it, so that a kill leaves a complete journal.

use super::journal::Journal;
use crate::checkout::{self, FolderLock};
use engine::values::digest::Digest;
use serde::Deserialize;
use std::collections::BTreeSet;
use std::io;
use std::path::Path;

/// Longest document, in bytes.
pub const LONGEST: usize = 32 << 20;
/// Limit of bytes of a journal.
const JOURNAL: usize = 16 << 20;

/// The folder of all journals.
const FOLDER: &str = ".cortex/live";

/// Returns the folder of a document, by its path below the workspace's root.
fn folder_of_document(path: &str) -> String {
    let key = Digest::of(path.as_bytes()).to_string();
    format!("{FOLDER}/{}", &key[..16])
}

/// Reads the journal of a document; empty if nothing is stored.
///
/// # Errors
/// When the file is not a valid journal.
pub fn read_journal(root: &Path, path: &str) -> io::Result<Journal> {
    decode_journal(
        path,
        checkout::read_file(root, &format!("{}/journal.json", folder_of_document(path)), JOURNAL)?,
    )
}

/// Returns the paths of all documents with a journal. Skips files that are not valid journals.
///
/// # Errors
/// When they cannot be listed.
pub fn paths(root: &Path) -> io::Result<BTreeSet<String>> {
    #[derive(Deserialize)]
    struct Named {
        path: String,
    }
    let folders = checkout::list_files(root, FOLDER)?.into_iter();
    let journals = folders.filter_map(|(key, _)| checkout::read_file(root, &format!("{FOLDER}/{key}/journal.json"), JOURNAL).ok()?);
    let named = journals.filter_map(|bytes| serde_json::from_slice::<Named>(&bytes).ok());
    Ok(named.map(|journal| journal.path).collect())
}

/// Returns the text of a digest; `None` when it is no longer stored or is damaged.
pub fn stored_text(root: &Path, path: &str, digest: &str) -> Option<String> {
    let is_digest = !digest.is_empty() && digest.bytes().all(|byte| byte.is_ascii_hexdigit());
    let bytes = checkout::read_file(root, &format!("{}/{digest}", folder_of_document(path)), LONGEST)
        .ok()
        .filter(|_| is_digest)??;
    String::from_utf8(bytes)
        .ok()
        .filter(|text| super::journal::digest_of_text(text) == digest)
}

/// Locks the journals of the checkout. Callers lock them before they read a document and until they have recorded it, or the later of two writers may
/// record the text that it read earlier. Sets the folder private to its owner.
///
/// # Errors
/// When the folder cannot be created, or is a link.
pub fn lock_journal(root: &Path) -> io::Result<FolderLock> {
    checkout::hold_private(root, FOLDER)
}

/// Changes the journal of a document; `texts` are those that the new journal may refer to. Returns the new journal.
///
/// # Errors
/// When it cannot be written; then it is unchanged.
pub fn change_journal(root: &Path, _: &FolderLock, path: &str, texts: &[&str], change: impl FnOnce(&mut Journal)) -> io::Result<Journal> {
    let folder = folder_of_document(path);
    let before = read_journal(root, path)?;
    for now in texts {
        let digest = super::journal::digest_of_text(now);
        if !before.digests().contains(digest.as_str()) {
            checkout::write_file(root, &format!("{folder}/{digest}"), now.as_bytes())?;
        }
    }
    let mut changed = Journal::default();
    let mut gone: BTreeSet<String> = BTreeSet::new();
    checkout::change(root, &format!("{folder}/journal.json"), JOURNAL, |bytes| {
        let before = decode_journal(path, bytes)?;
        changed = before.clone();
        change(&mut changed);
        if changed == before {
            return Ok::<_, io::Error>(None);
        }
        let kept = changed.digests();
        gone = before.digests().difference(&kept).map(|digest| (*digest).to_owned()).collect();
        Ok(Some(serde_json::to_vec(&changed)?))
    })?;
    for digest in gone {
        // A text that cannot be removed takes space, but does no harm.
        let _ = checkout::remove(root, &format!("{folder}/{digest}"));
    }
    Ok(changed)
}

fn decode_journal(path: &str, bytes: Option<Vec<u8>>) -> io::Result<Journal> {
    let Some(bytes) = bytes else {
        return Ok(Journal {
            path: path.to_owned(),
            ..Journal::default()
        });
    };
    serde_json::from_slice(&bytes)
        .map_err(|error| io::Error::other(format!("{}/journal.json cannot be read: {error}", folder_of_document(path))))
}

#[cfg(test)]
mod tests {
    use super::super::journal::ChangeReport;
    use super::*;

    fn journal_of_text(root: &Path, text: &str, at: u64) -> Journal {
        let last = read_journal(root, "a.cs").expect("readable");
        let before = last.current().and_then(|current| super::stored_text(root, "a.cs", &current.digest));
        let held = lock_journal(root).expect("held");
        change_journal(root, &held, "a.cs", &[text], |journal| {
            journal.record_found(text, before.as_deref(), at, &ChangeReport::default());
        })
        .expect("written")
    }

    #[test]
    fn texts_are_kept_as_long_as_they_are_named() {
        let folder = tempfile::tempdir().expect("folder");
        let root = folder.path();
        for number in 0..150_u64 {
            let journal = journal_of_text(root, &number.to_string(), number);
            assert_eq!(journal.given, number + 1);
        }
        let journal = read_journal(root, "a.cs").expect("readable");
        for digest in journal.digests() {
            assert!(stored_text(root, "a.cs", digest).is_some(), "{digest}");
        }
        let place = root.join(super::folder_of_document("a.cs"));
        let files = std::fs::read_dir(&place).expect("folder").count();
        assert_eq!(files, journal.digests().len() + 1);
        assert_eq!(read_journal(root, "b.cs").expect("readable").given, 0, "another document");
        // A damaged file is not returned as the text.
        let digest = journal.current().expect("a version").digest.clone();
        std::fs::write(place.join(&digest), "other").expect("file");
        assert_eq!(stored_text(root, "a.cs", &digest), None);
        assert_eq!(stored_text(root, "a.cs", "../journal.json"), None);
    }
}
