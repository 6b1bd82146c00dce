//! Trees: folders as outputs, stored as in git. Each folder is a blob that names its entries and their digests; files are blobs of their own. So
//! the root folder's digest identifies the whole contents, and common parts of trees are stored once.
//!
//! A folder's blob is text: `cortex tree 1`, then one entry per line, sorted by name, `file DIGEST LENGTH NAME`, `program DIGEST LENGTH NAME` (an
//! executable file) or `folder DIGEST 0 NAME`. Names are UTF-8, without `/` and control characters, and none is `.` or `..`.

use super::digest::Digest;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::Arc;

const HEAD: &str = "cortex tree 1\n";

/// Maximum number of entries in a tree, folders included; see also [`DEEPEST`].
pub const MOST: usize = 1 << 20;
/// Maximum nesting depth of folders.
pub const DEEPEST: usize = 128;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TreeEntryKind {
    File,
    Program,
    Folder,
}

impl TreeEntryKind {
    fn name(self) -> &'static str {
        match self {
            Self::File => "file",
            Self::Program => "program",
            Self::Folder => "folder",
        }
    }
}

/// An entry of a folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TreeEntry<'b> {
    pub kind: TreeEntryKind,
    /// Digest of its bytes; for a folder, of its blob.
    pub digest: Digest,
    /// Length of a file in bytes; 0 for a folder.
    pub len: u64,
    pub name: &'b str,
}

/// A file of a tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File {
    pub program: bool,
    pub bytes: Arc<[u8]>,
}

/// A tree in pieces.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pieces {
    /// The blob of the root folder.
    pub root: Vec<u8>,
    /// The other blobs, each once.
    pub parts: BTreeMap<Digest, Arc<[u8]>>,
}

/// Reason why a tree is invalid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TreeError {
    #[error("{0:?} cannot be the name of a file in an output")]
    Name(String),
    /// Too many entries, or nested too deeply.
    #[error("a tree has at most {MOST} entries and {DEEPEST} nested folders")]
    TooLarge,
    /// A path that is both a file and a folder.
    #[error("{0:?} is a file and a folder")]
    Both(String),
    /// The blob is no folder's.
    #[error("this is not the blob of a folder")]
    Malformed,
    #[error("the blob {0} is missing")]
    Missing(Digest),
}

/// Whether a blob is a folder's.
pub fn is_tree(blob: &[u8]) -> bool {
    blob.starts_with(HEAD.as_bytes())
}

fn is_entry_name(name: &str) -> bool {
    !name.is_empty() && name != "." && name != ".." && !name.contains('/') && !name.chars().any(char::is_control)
}

/// Parses the entries of a folder's blob, sorted by name. Fails when it is not exactly as [`pieces`] writes it.
pub fn parse_entries(blob: &[u8]) -> Result<Vec<TreeEntry<'_>>, TreeError> {
    let text = std::str::from_utf8(blob).map_err(|_| TreeError::Malformed)?;
    let text = text.strip_prefix(HEAD).ok_or(TreeError::Malformed)?;
    let mut entries: Vec<TreeEntry<'_>> = Vec::new();
    for line in text.split_inclusive('\n') {
        let entry = line.strip_suffix('\n').and_then(parse_entry).ok_or(TreeError::Malformed)?;
        if entries.last().is_some_and(|last| last.name >= entry.name) {
            return Err(TreeError::Malformed);
        }
        entries.push(entry);
    }
    Ok(entries)
}

fn parse_entry(line: &str) -> Option<TreeEntry<'_>> {
    let mut fields = line.splitn(4, ' ');
    let kind = match fields.next()? {
        "file" => TreeEntryKind::File,
        "program" => TreeEntryKind::Program,
        "folder" => TreeEntryKind::Folder,
        _ => return None,
    };
    let entry = TreeEntry {
        kind,
        digest: Digest::parse(fields.next()?)?,
        len: fields.next()?.parse().ok()?,
        name: fields.next()?,
    };
    // Another spelling of a number or digest would give another digest of the same tree.
    let canonical = is_entry_name(entry.name) && line == entry_text(&entry).trim_end_matches('\n');
    (canonical && (kind != TreeEntryKind::Folder || entry.len == 0)).then_some(entry)
}

fn entry_text(entry: &TreeEntry<'_>) -> String {
    format!("{} {} {} {}\n", entry.kind.name(), entry.digest, entry.len, entry.name)
}

/// A folder under construction.
#[derive(Default)]
struct Folder<'p> {
    files: BTreeMap<&'p str, &'p File>,
    folders: BTreeMap<&'p str, Folder<'p>>,
}

/// Divides files, given by path with `/`, into the blobs of a tree. Fails when a path is not valid in a tree.
pub fn pieces(files: &BTreeMap<String, File>) -> Result<Pieces, TreeError> {
    let mut root = Folder::default();
    if files.len() > MOST {
        return Err(TreeError::TooLarge);
    }
    for (path, file) in files {
        let mut folder = &mut root;
        let mut names = path.split('/').peekable();
        let mut depth = 0;
        while let Some(name) = names.next() {
            if !is_entry_name(name) {
                return Err(TreeError::Name(path.clone()));
            }
            depth += 1;
            if depth > DEEPEST {
                return Err(TreeError::TooLarge);
            }
            if names.peek().is_none() {
                if folder.folders.contains_key(name) {
                    return Err(TreeError::Both(path.clone()));
                }
                folder.files.insert(name, file);
                break;
            }
            if folder.files.contains_key(name) {
                return Err(TreeError::Both(path.clone()));
            }
            folder = folder.folders.entry(name).or_default();
        }
    }
    let mut parts = BTreeMap::new();
    let root = write_folder(&root, &mut parts).into_bytes();
    Ok(Pieces { root, parts })
}

/// Writes the blob of a folder; adds those below to the parts. The depth is at most [`DEEPEST`].
fn write_folder(folder: &Folder<'_>, parts: &mut BTreeMap<Digest, Arc<[u8]>>) -> String {
    let mut lines: BTreeMap<&str, String> = BTreeMap::new();
    for (name, inner) in &folder.folders {
        let blob = write_folder(inner, parts).into_bytes();
        let digest = Digest::of(&blob);
        parts.insert(digest, blob.into());
        let kind = TreeEntryKind::Folder;
        lines.insert(
            name,
            entry_text(&TreeEntry {
                kind,
                digest,
                len: 0,
                name,
            }),
        );
    }
    for (name, file) in &folder.files {
        let digest = Digest::of(&file.bytes);
        parts.insert(digest, file.bytes.clone());
        let kind = if file.program {
            TreeEntryKind::Program
        } else {
            TreeEntryKind::File
        };
        let len = file.bytes.len() as u64;
        lines.insert(name, entry_text(&TreeEntry { kind, digest, len, name }));
    }
    lines.values().fold(HEAD.to_owned(), |mut text, line| {
        let _ = text.write_str(line);
        text
    })
}

/// Returns the files of a tree, by path. `get` loads the blobs, with the requested digest. Fails when a blob is missing or malformed, or
/// the tree too large.
pub fn files<E: From<TreeError>>(
    root: &[u8],
    mut get: impl FnMut(&Digest) -> Result<Option<Arc<[u8]>>, E>,
) -> Result<BTreeMap<String, File>, E> {
    let mut found = BTreeMap::new();
    let mut seen = 0;
    let mut open: Vec<(String, Arc<[u8]>, usize)> = vec![(String::new(), root.into(), 0)];
    while let Some((path, blob, depth)) = open.pop() {
        for entry in parse_entries(&blob)? {
            seen += 1;
            if seen > MOST || depth >= DEEPEST {
                return Err(TreeError::TooLarge.into());
            }
            let bytes = get(&entry.digest)?.ok_or(TreeError::Missing(entry.digest))?;
            let inner = match path.as_str() {
                "" => entry.name.to_owned(),
                path => format!("{path}/{}", entry.name),
            };
            match entry.kind {
                TreeEntryKind::Folder => open.push((inner, bytes, depth + 1)),
                // Another length would give another digest of the same files.
                _ if entry.len != bytes.len() as u64 => return Err(TreeError::Malformed.into()),
                kind => {
                    let program = kind == TreeEntryKind::Program;
                    found.insert(inner, File { program, bytes });
                }
            }
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn file(text: &str, program: bool) -> File {
        File {
            program,
            bytes: text.as_bytes().into(),
        }
    }

    proptest! {
        #[test]
        fn a_tree_round_trips(made in prop::collection::btree_map("[a-c ]{1,2}(/[a-cé%]{1,2}){0,3}", ("[a-c]{0,3}", any::<bool>()), 0..12)) {
            let made: BTreeMap<String, File> = made.into_iter().map(|(path, (text, program))| (path, file(&text, program))).collect();
            let Ok(pieces) = pieces(&made) else {
                // Some path is both a file and a folder.
                let prefix = |one: &String, other: &String| other.starts_with(&format!("{one}/"));
                prop_assert!(made.keys().any(|one| made.keys().any(|other| prefix(one, other))));
                return Ok(());
            };
            let found = files::<TreeError>(&pieces.root, |digest| Ok(pieces.parts.get(digest).cloned()));
            prop_assert_eq!(found, Ok(made.clone()));
            for part in pieces.parts.keys() {
                let found = files::<TreeError>(&pieces.root, |digest| Ok(pieces.parts.get(digest).filter(|_| digest != part).cloned()));
                prop_assert_eq!(found, Err(TreeError::Missing(*part)));
            }
            // A blob with one changed byte is another tree, or none.
            for at in 0..pieces.root.len() {
                let mut other = pieces.root.clone();
                other[at] ^= 1;
                if let Ok(found) = files::<TreeError>(&other, |digest| Ok(pieces.parts.get(digest).cloned())) {
                    prop_assert_ne!(&found, &made);
                }
            }
        }

        #[test]
        fn any_bytes_are_a_folder_or_not(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = parse_entries(&bytes);
            let mut text = HEAD.as_bytes().to_vec();
            text.extend(bytes);
            let _ = parse_entries(&text);
        }
    }

    #[test]
    fn names_stay_inside() {
        for path in ["", "/a", "a/", "a//b", ".", "a/..", "../a", "a\nb", "a/\0"] {
            let made = BTreeMap::from([(path.to_owned(), file("x", false))]);
            assert_eq!(pieces(&made), Err(TreeError::Name(path.to_owned())));
        }
        let deep = vec!["a"; DEEPEST + 1].join("/");
        assert_eq!(pieces(&BTreeMap::from([(deep, file("x", false))])), Err(TreeError::TooLarge));
    }
}
