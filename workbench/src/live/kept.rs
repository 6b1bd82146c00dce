//! Where documents are remembered: `.cortex/live/KEY/journal.json`, and beside it each text that a version or an anchor has, under its digest. A
//! text lies there before the journal names it, so that whoever is killed leaves a journal that is whole.

use super::journal::Journal;
use crate::checkout::{self, Held};
use engine::values::digest::Digest;
use serde::Deserialize;
use std::collections::BTreeSet;
use std::io;
use std::path::Path;

/// No document is longer, in bytes.
pub const LONGEST: usize = 32 << 20;
/// No journal is.
const JOURNAL: usize = 16 << 20;

/// Where all of it lies.
const FOLDER: &str = ".cortex/live";

/// The folder of a document, by its path below the workspace's root.
fn folder(path: &str) -> String {
    let key = Digest::of(path.as_bytes()).to_string();
    format!("{FOLDER}/{}", &key[..16])
}

/// What is remembered of a document; an empty journal when nothing is.
///
/// # Errors
/// When what is there is not of our making.
pub fn read(root: &Path, path: &str) -> io::Result<Journal> {
    parse(path, checkout::read(root, &format!("{}/journal.json", folder(path)), JOURNAL)?)
}

/// The paths of all documents that are remembered. What is not of our making is none.
///
/// # Errors
/// When they cannot be listed.
pub fn paths(root: &Path) -> io::Result<BTreeSet<String>> {
    #[derive(Deserialize)]
    struct Named {
        path: String,
    }
    let folders = checkout::list_files(root, FOLDER)?.into_iter();
    let journals = folders.filter_map(|(key, _)| checkout::read(root, &format!("{FOLDER}/{key}/journal.json"), JOURNAL).ok()?);
    let named = journals.filter_map(|bytes| serde_json::from_slice::<Named>(&bytes).ok());
    Ok(named.map(|journal| journal.path).collect())
}

/// The text of a digest; `None` when it is remembered no more or damaged.
pub fn text(root: &Path, path: &str, digest: &str) -> Option<String> {
    let is_digest = !digest.is_empty() && digest.bytes().all(|byte| byte.is_ascii_hexdigit());
    let bytes = checkout::read(root, &format!("{}/{digest}", folder(path)), LONGEST)
        .ok()
        .filter(|_| is_digest)??;
    String::from_utf8(bytes).ok().filter(|text| super::journal::digest(text) == digest)
}

/// Keeps others from changing what is remembered of any document of the checkout, from looking at the document to noting what it is: or else the
/// later of two may note the text that it saw earlier. Its owner alone may look at what is remembered.
///
/// # Errors
/// When the folder cannot be made, or is a link.
pub fn lock_journal(root: &Path) -> io::Result<Held> {
    checkout::hold_private(root, FOLDER)
}

/// Changes what is remembered of a document, alone; `texts` are those that it may name then. The journal as it is then.
///
/// # Errors
/// When it cannot be written; then it is what it was.
pub fn change(root: &Path, _: &Held, path: &str, texts: &[&str], change: impl FnOnce(&mut Journal)) -> io::Result<Journal> {
    let folder = folder(path);
    let before = read(root, path)?;
    for now in texts {
        let digest = super::journal::digest(now);
        if !before.digests().contains(digest.as_str()) {
            checkout::write(root, &format!("{folder}/{digest}"), now.as_bytes())?;
        }
    }
    let mut changed = Journal::default();
    let mut gone: BTreeSet<String> = BTreeSet::new();
    checkout::change(root, &format!("{folder}/journal.json"), JOURNAL, |bytes| {
        let before = parse(path, bytes)?;
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
        // One that stays takes room and harms nobody.
        let _ = checkout::remove(root, &format!("{folder}/{digest}"));
    }
    Ok(changed)
}

fn parse(path: &str, bytes: Option<Vec<u8>>) -> io::Result<Journal> {
    let Some(bytes) = bytes else {
        return Ok(Journal {
            path: path.to_owned(),
            ..Journal::default()
        });
    };
    serde_json::from_slice(&bytes).map_err(|error| io::Error::other(format!("{}/journal.json cannot be read: {error}", folder(path))))
}

#[cfg(test)]
mod tests {
    use super::super::journal::Said;
    use super::*;

    fn journal_of_text(root: &Path, text: &str, at: u64) -> Journal {
        let last = read(root, "a.cs").expect("readable");
        let before = last.current().and_then(|current| super::text(root, "a.cs", &current.digest));
        let held = lock_journal(root).expect("held");
        change(root, &held, "a.cs", &[text], |journal| {
            journal.record_found(text, before.as_deref(), at, &Said::default());
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
        let journal = read(root, "a.cs").expect("readable");
        for digest in journal.digests() {
            assert!(text(root, "a.cs", digest).is_some(), "{digest}");
        }
        let place = root.join(super::folder("a.cs"));
        let files = std::fs::read_dir(&place).expect("folder").count();
        assert_eq!(files, journal.digests().len() + 1);
        assert_eq!(read(root, "b.cs").expect("readable").given, 0, "another document");
        // What was damaged is not taken for the text.
        let digest = journal.current().expect("a version").digest.clone();
        std::fs::write(place.join(&digest), "other").expect("file");
        assert_eq!(text(root, "a.cs", &digest), None);
        assert_eq!(text(root, "a.cs", "../journal.json"), None);
    }
}
