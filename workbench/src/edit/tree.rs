//! Contents of all files of a workspace, without rereading unchanged ones. Excluded are ignored files, folders whose names begin with a dot, and the
//! store.

use crate::editable_paths::Guard;
use engine::files::disk::Disk;
use engine::seams::world::{Rows, SetDef, Sources, World, WorldError};
use engine::values::digest::Digest;
use std::collections::BTreeMap;
use std::io;
use std::path::Path;

/// The digests of files by path.
pub type Tree = BTreeMap<String, Digest>;

/// Name of the note with the files read before.
pub(super) const KNOWN: &str = "tree/known";

/// Bytes of an encoded length.
const WORD: usize = 4;
/// Bytes of the digest at the start of the note.
const DIGEST: usize = 32;

/// Returns the digests of the files below a root, and a new note if it changed since `known`.
pub(super) fn read_tree(root: &Path, guard: &Guard, known: Option<&[u8]>) -> io::Result<(Tree, Option<Vec<u8>>)> {
    let rows = known.and_then(rows).unwrap_or_default();
    let mut sources = sources(root, rows.clone());
    sources.refresh(&[all(root, guard)]).map_err(io_error)?;
    let edits = sources.take_dirty_rows();
    let read = sources.files().into_iter();
    let tree = read.filter_map(|(path, digest)| Some((path, digest?))).collect();
    if edits.is_empty() {
        return Ok((tree, None));
    }
    let mut rows: BTreeMap<_, _> = rows.into_iter().collect();
    for (key, row) in edits {
        match row {
            Some(row) => drop(rows.insert(key, row)),
            None => drop(rows.remove(&key)),
        }
    }
    Ok((tree, Some(encode_rows(&rows))))
}

/// Whether [`read_tree`] includes a file of that path.
pub(super) fn contains_file(root: &Path, guard: &Guard, path: &str) -> io::Result<bool> {
    let held = sources(root, Rows::new()).sets_of_paths(&[all(root, guard)], &[path]);
    Ok(held.map_err(io_error)?.iter().any(|sets| *sets != 0))
}

fn sources(root: &Path, rows: Rows) -> Box<dyn Sources> {
    Disk::new(root).sources(rows)
}

fn io_error(error: WorldError) -> io::Error {
    io::Error::other(error)
}

fn all(root: &Path, guard: &Guard) -> SetDef {
    let store = guard.store.as_ref().and_then(|store| store.canonicalize().ok());
    let store = store.and_then(|store| store.strip_prefix(root).ok()?.to_str().map(literal));
    SetDef {
        name: "files".to_owned(),
        include: vec!["**/*".to_owned()],
        exclude: store.into_iter().collect(),
        gitignore: true,
    }
}

/// Escapes a path to a glob that matches only this path.
fn literal(path: &str) -> String {
    path.chars()
        .flat_map(|c| "\\*?[]{}!".contains(c).then_some('\\').into_iter().chain([c]))
        .collect()
}

fn encode_rows(rows: &BTreeMap<Vec<u8>, Vec<u8>>) -> Vec<u8> {
    let mut bytes = vec![0; DIGEST];
    for part in rows.iter().flat_map(|(key, row)| [key, row]) {
        let length = u32::try_from(part.len()).expect("invariant: a folder's listing is no longer than 4 GiB");
        bytes.extend(length.to_le_bytes());
        bytes.extend(part);
    }
    let digest = Digest::of(&bytes[DIGEST..]);
    bytes[..DIGEST].copy_from_slice(&digest.0);
    bytes
}

/// Parses a note; `None` when it is damaged.
fn rows(bytes: &[u8]) -> Option<Rows> {
    let (digest, mut rest) = bytes.split_at_checked(DIGEST)?;
    if Digest::of(rest).0 != digest {
        return None;
    }
    let mut part = || {
        let (length, behind) = rest.split_first_chunk::<WORD>()?;
        let (part, behind) = behind.split_at_checked(u32::from_le_bytes(*length) as usize)?;
        rest = behind;
        Some(part.to_vec())
    };
    let mut rows = Rows::new();
    while let Some(key) = part() {
        rows.push((key, part()?));
    }
    Some(rows)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn files_are_read_once_and_ignored_ones_are_none() {
        let temp = tempfile::tempdir().expect("folder");
        let root = temp.path().canonicalize().expect("canonical");
        let write = |path: &str, text: &str| {
            let path = root.join(path);
            fs::create_dir_all(path.parent().expect("a folder")).expect("folders");
            fs::write(path, text).expect("file");
        };
        for path in [
            "a.cs", "src/b.json", "obj/c.cs", ".github/d.yml", ".git/e", ".cortex/f", "st[o]re/g", "store/h",
        ] {
            write(path, path);
        }
        write(".gitignore", "obj/\n");
        let guard = Guard {
            store: Some(root.join("st[o]re")),
            manifest: false,
        };
        let (tree, known) = read_tree(&root, &guard, None).expect("a tree");
        let paths: Vec<&str> = tree.keys().map(String::as_str).collect();
        assert_eq!(paths, [".gitignore", "a.cs", "src/b.json", "store/h"]);
        assert_eq!(tree["a.cs"], Digest::of(b"a.cs"));
        for (path, is_in) in [
            ("a.cs", true),
            ("new/x", true),
            ("obj/c.cs", false),
            (".github/d.yml", false),
            ("st[o]re/g", false),
        ] {
            assert_eq!(contains_file(&root, &guard, path).expect("told"), is_in, "{path}");
        }
        let known = known.expect("a note");
        assert_eq!(encode_rows(&rows(&known).expect("rows").into_iter().collect()), known);
        write("a.cs", "other");
        fs::remove_file(root.join("src/b.json")).expect("removed");
        let (moved, again) = read_tree(&root, &guard, Some(&known)).expect("a tree");
        assert!(again.is_some_and(|again| again != known));
        assert_eq!((moved["a.cs"], moved.contains_key("src/b.json")), (Digest::of(b"other"), false));
        // With any damage to the note, the result is the true tree.
        for cut in 0..known.len() {
            assert!(rows(&known[..cut]).is_none(), "{cut}");
        }
        assert_eq!(read_tree(&root, &guard, Some(&known[..40])).expect("a tree").0, moved);
    }
}
