//! Documents of the search index, saved for the next process: `.cortex/documents`.
//!
//! A saved document is used only if the digest of its inputs is still the same, so that the file never makes an answer wrong. A file that is damaged,
//! of another version or gone costs the time to build the documents again.

use super::document::Document;
use super::index::Index;
use crate::checkout;
use engine::values::digest::Digest;
use minicbor::{Decode, Encode};
use rustc_hash::FxHashMap;
use std::io;
use std::path::Path;
use std::sync::Arc;

/// Path of the file, below the workspace's root.
const FILE: &str = ".cortex/documents";
/// Limit of bytes of the file, and of its content.
const MOST_BYTES: usize = 1 << 30;
/// Changes with the form of the file and with how documents are built.
const VERSION: u32 = 1;
/// Level of compression: reading and writing should take no time.
const LEVEL: i32 = 1;

/// The documents that a process before this one built.
#[derive(Debug, Default)]
pub struct SavedDocuments {
    words: Vec<Arc<str>>,
    rows: FxHashMap<String, Row>,
}

#[derive(Encode, Decode)]
struct File {
    #[n(0)]
    words: Vec<String>,
    #[n(1)]
    rows: Vec<Row>,
}

#[derive(Debug, Encode, Decode)]
struct Row {
    #[n(0)]
    key: String,
    #[n(1)]
    files: Vec<String>,
    #[n(2)]
    names: Vec<String>,
    #[n(3)]
    language: Option<String>,
    #[n(4)]
    is_generated: bool,
    #[cbor(n(5), with = "minicbor::bytes")]
    digest: [u8; 32],
    /// Number of a word, and twice its weight, plus one if it names the type or a member; one after the other.
    #[n(6)]
    words: Vec<u32>,
    #[n(7)]
    size: u64,
    #[n(8)]
    uses: Vec<(String, bool)>,
    #[cbor(n(9), with = "minicbor::bytes")]
    outline: Option<Vec<u8>>,
}

impl SavedDocuments {
    /// Reads the file of a workspace; no documents if it cannot be used.
    pub fn read(root: &Path) -> Self {
        let file = checkout::read(root, FILE, MOST_BYTES).ok().flatten();
        file.and_then(|bytes| parse(&bytes)).unwrap_or_default()
    }

    /// Returns the document of a type or file.
    pub fn document(&self, key: &str) -> Option<Arc<Document>> {
        let row = self.rows.get(key)?;
        let pairs = row.words.chunks_exact(2);
        let words = pairs.map(|pair| Some((self.words.get(pair[0] as usize)?.clone(), pair[1] / 2, pair[1] % 2 == 1)));
        let words = words.collect::<Option<Vec<_>>>()?;
        Some(Arc::new(Document {
            key: row.key.clone(),
            files: row.files.clone(),
            names: row.names.clone(),
            language: row.language.clone(),
            is_generated: row.is_generated,
            digest: Digest(row.digest),
            length: words.iter().fold(0, |sum, (_, weight, _)| sum.saturating_add(*weight)),
            words,
            size: usize::try_from(row.size).ok()?,
            uses: row.uses.clone(),
            outline: row.outline.as_deref().map(Arc::from),
        }))
    }
}

/// Reads a file: version, digest of the rest, compressed rows.
fn parse(bytes: &[u8]) -> Option<SavedDocuments> {
    let rest = bytes.strip_prefix(&VERSION.to_le_bytes())?;
    let (digest, packed) = rest.split_first_chunk::<32>()?;
    if Digest::of(packed).0 != *digest {
        return None;
    }
    let length = zstd::bulk::Decompressor::upper_bound(packed).filter(|length| *length <= MOST_BYTES)?;
    let plain = zstd::bulk::decompress(packed, length).ok()?;
    let file: File = minicbor::decode(&plain).ok()?;
    Some(SavedDocuments {
        words: file.words.into_iter().map(Arc::from).collect(),
        rows: file.rows.into_iter().map(|row| (row.key.clone(), row)).collect(),
    })
}

/// Saves the documents of an index.
///
/// # Errors
/// When the file cannot be written.
pub fn write(root: &Path, index: &Index) -> io::Result<()> {
    let mut numbers: FxHashMap<Arc<str>, u32> = FxHashMap::default();
    let mut words = Vec::new();
    let mut row_of = |document: &Document| {
        let mut pairs = Vec::with_capacity(document.words.len() * 2);
        for (word, weight, names) in &document.words {
            let number = *numbers.entry(word.clone()).or_insert_with(|| {
                words.push(word.to_string());
                words.len() as u32 - 1
            });
            pairs.extend([number, weight.saturating_mul(2) | u32::from(*names)]);
        }
        Row {
            key: document.key.clone(),
            files: document.files.clone(),
            names: document.names.clone(),
            language: document.language.clone(),
            is_generated: document.is_generated,
            digest: document.digest.0,
            words: pairs,
            size: document.size as u64,
            uses: document.uses.clone(),
            outline: document.outline.as_deref().map(<[u8]>::to_vec),
        }
    };
    let rows = index.documents().iter().map(|document| row_of(document)).collect();
    let plain = minicbor::to_vec(File { words, rows }).map_err(io::Error::other)?;
    let packed = zstd::bulk::compress(&plain, LEVEL)?;
    let bytes = [&VERSION.to_le_bytes()[..], &Digest::of(&packed).0, &packed].concat();
    if plain.len().max(bytes.len()) > MOST_BYTES {
        return Ok(());
    }
    checkout::write(root, FILE, &bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::other_languages::names::OtherNames;
    use crate::symbols::samples::Sample;

    /// Reads the index of a sample beside documents that were saved.
    fn index_beside(sample: &mut Sample, saved: &SavedDocuments) -> Index {
        let symbols = sample.names();
        Index::read(sample, &symbols, &OtherNames::default(), |key| saved.document(key)).expect("an index")
    }

    #[test]
    fn saved_documents_are_those_that_were_built_until_their_type_changes() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut sample = Sample::default();
        let built = index_beside(&mut sample, &SavedDocuments::default());
        assert!(built.is_worth_saving());
        write(folder.path(), &built).expect("written");
        let saved = SavedDocuments::read(folder.path());
        let taken = index_beside(&mut sample, &saved);
        assert!(!taken.is_worth_saving());
        assert_eq!(taken.documents(), built.documents());

        let mut edited = Sample::of(&[
            ("src/a.cs", "class Archive { int Size; }"),
            ("src/b.cs", "class Box { Archive one; }"),
        ]);
        write(folder.path(), &index_beside(&mut edited, &SavedDocuments::default())).expect("written");
        let mut edited = Sample::of(&[
            ("src/a.cs", "class Archive { int Width; }"),
            ("src/b.cs", "class Box { Archive one; }"),
        ]);
        let beside = index_beside(&mut edited, &SavedDocuments::read(folder.path()));
        assert_eq!(
            beside.documents(),
            index_beside(&mut edited, &SavedDocuments::default()).documents()
        );
        assert!(beside.documents()[0].has("width") && !beside.documents()[0].has("size"));
    }

    /// A document that is built in another way needs another [`VERSION`], and then this digest.
    #[test]
    fn documents_belong_to_their_version() {
        let folder = tempfile::tempdir().expect("a folder");
        write(folder.path(), &index_beside(&mut Sample::default(), &SavedDocuments::default())).expect("written");
        let file = checkout::read(folder.path(), FILE, MOST_BYTES).expect("read").expect("a file");
        let plain = zstd::bulk::decompress(&file[36..], MOST_BYTES >> 6).expect("packed");
        insta::assert_snapshot!(format!("{VERSION} {}", Digest::of(&plain).short()), @"1 211a20a9025b");
    }

    #[test]
    fn a_damaged_file_has_no_documents() {
        let folder = tempfile::tempdir().expect("a folder");
        write(folder.path(), &index_beside(&mut Sample::default(), &SavedDocuments::default())).expect("written");
        let whole = checkout::read(folder.path(), FILE, MOST_BYTES).expect("read").expect("a file");
        for at in 0..whole.len() {
            let mut damaged = whole.clone();
            damaged[at] ^= 1;
            assert!(parse(&damaged).is_none(), "byte {at}");
            assert!(parse(&whole[..at]).is_none(), "{at} bytes");
        }
        assert!(parse(&whole).is_some_and(|saved| !saved.rows.is_empty()));
        assert!(SavedDocuments::read(Path::new("/nowhere")).rows.is_empty());
    }
}
