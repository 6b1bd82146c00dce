//! Documents of the search index, saved for the next process: `.cortex/documents`.
//!
//! A saved document is used only if the digest of its inputs is still the same, so that the file never makes an answer wrong. A file that is damaged,
//! of another version or gone costs the time to build the documents again.

use super::document::Document;
use super::index::Index;
use super::vocabulary::{Numbered, Vocabulary};
use crate::checkout;
use engine::values::digest::Digest;
use minicbor::{Decode, Encode};
use rayon::prelude::*;
use rustc_hash::FxHashMap;
use std::io;
use std::path::Path;
use std::sync::Arc;

/// Path of the file, below the workspace's root.
const FILE: &str = ".cortex/documents";
/// Limit of bytes of the file, and of its content.
const MOST_BYTES: usize = 1 << 30;
/// Changes with the form of the file and with how documents are built.
const VERSION: u32 = 2;
/// Level of compression: reading and writing should take no time.
const LEVEL: i32 = 1;

/// The documents that a process before this one built.
#[derive(Debug, Default)]
pub struct SavedDocuments {
    vocabulary: Arc<Vocabulary>,
    rows: FxHashMap<String, DocumentRow>,
}

#[derive(Decode)]
struct File {
    #[n(0)]
    words: Vec<String>,
    #[n(1)]
    rows: Vec<DocumentRow>,
}

#[derive(Debug, Decode)]
struct DocumentRow {
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
    #[n(6)]
    words: Vec<u32>,
    #[n(7)]
    size: u64,
    #[n(8)]
    uses: Vec<(String, bool)>,
    #[cbor(n(9), with = "minicbor::bytes")]
    outline: Option<Vec<u8>>,
}

/// A [`File`] to write.
#[derive(Encode)]
struct NewFile<'a> {
    /// Sorted.
    #[n(0)]
    words: &'a [&'a str],
    #[n(1)]
    rows: &'a [NewRow<'a>],
}

/// A [`DocumentRow`] to write.
#[derive(Encode)]
struct NewRow<'a> {
    #[n(0)]
    key: &'a str,
    #[n(1)]
    files: &'a [String],
    #[n(2)]
    names: &'a [String],
    #[n(3)]
    language: Option<&'a str>,
    #[n(4)]
    is_generated: bool,
    #[cbor(n(5), with = "minicbor::bytes")]
    digest: [u8; 32],
    /// Number of a word among those of the file, and twice its weight, plus one if it names the type or a member; one after the other.
    #[n(6)]
    words: Vec<u32>,
    #[n(7)]
    size: u64,
    #[n(8)]
    uses: &'a [(String, bool)],
    #[cbor(n(9), with = "minicbor::bytes")]
    outline: Option<&'a [u8]>,
}

impl SavedDocuments {
    /// Reads the file of a workspace; no documents if it cannot be used.
    pub fn from_file(root: &Path) -> Self {
        let file = checkout::read_file(root, FILE, MOST_BYTES).ok().flatten();
        file.and_then(|bytes| parse(&bytes)).unwrap_or_default()
    }

    pub fn vocabulary(&self) -> &Arc<Vocabulary> {
        &self.vocabulary
    }

    /// Returns the document of a type or file.
    pub fn document(&self, key: &str) -> Option<Arc<Document>> {
        let row = self.rows.get(key)?;
        let pairs = row.words.chunks_exact(2);
        let words: Vec<_> = pairs.map(|pair| (pair[0], pair[1] / 2, pair[1] % 2 == 1)).collect();
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
    let is_sound = |row: &DocumentRow| {
        let numbers = row.words.chunks(2).map(|pair| pair[0]);
        row.words.len().is_multiple_of(2)
            && numbers.clone().all(|word| (word as usize) < file.words.len())
            && numbers.is_sorted_by(|one, other| one < other)
    };
    if !file.rows.iter().all(is_sound) {
        return None;
    }
    Some(SavedDocuments {
        vocabulary: Arc::new(Vocabulary::new(Numbered::from(file.words))),
        rows: file.rows.into_iter().map(|row| (row.key.clone(), row)).collect(),
    })
}

pub fn save_documents(root: &Path, index: &Index) -> io::Result<()> {
    let all = index.vocabulary().all_words();
    let used = used_words(index, &all);
    let mut ranks = vec![0; all.len()];
    for (rank, word) in (0_u32..).zip(&used) {
        ranks[*word as usize] = rank;
    }
    let words: Vec<&str> = used.iter().map(|word| &*all[*word as usize]).collect();
    let rows: Vec<NewRow<'_>> = index.documents().par_iter().map(|document| row_of(document, &ranks)).collect();
    let file = NewFile {
        words: &words,
        rows: &rows,
    };
    let plain = minicbor::to_vec(file).map_err(io::Error::other)?;
    let packed = zstd::bulk::compress(&plain, LEVEL)?;
    let bytes = [&VERSION.to_le_bytes()[..], &Digest::of(&packed).0, &packed].concat();
    if plain.len().max(bytes.len()) > MOST_BYTES {
        return Ok(());
    }
    checkout::write_file(root, FILE, &bytes)
}

/// Returns the numbers of the words of an index, in the order of the words: the file does not show in which order they were read.
fn used_words(index: &Index, all: &[Arc<str>]) -> Vec<u32> {
    let mut is_used = vec![false; all.len()];
    for (word, ..) in index.documents().iter().flat_map(|document| &document.words) {
        is_used[*word as usize] = true;
    }
    let mut used: Vec<u32> = (0..).zip(is_used).filter(|(_, is_used)| *is_used).map(|(word, _)| word).collect();
    used.par_sort_unstable_by_key(|word| &all[*word as usize]);
    used
}

/// `ranks`: by number of a word its place in the file.
fn row_of<'a>(document: &'a Document, ranks: &[u32]) -> NewRow<'a> {
    let place = |(word, weight, names): &(u32, u32, bool)| (ranks[*word as usize], weight.saturating_mul(2) | u32::from(*names));
    let mut words: Vec<(u32, u32)> = document.words.iter().map(place).collect();
    words.sort_unstable();
    NewRow {
        key: &document.key,
        files: &document.files,
        names: &document.names,
        language: document.language.as_deref(),
        is_generated: document.is_generated,
        digest: document.digest.0,
        words: words.into_iter().flat_map(<[u32; 2]>::from).collect(),
        size: document.size as u64,
        uses: &document.uses,
        outline: document.outline.as_deref(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::document::{Parts, Tally};
    use super::*;
    use crate::other_languages::names::OtherNames;
    use crate::symbols::samples::Sample;
    use std::collections::BTreeSet;

    /// Reads the index of a sample together with documents that were saved.
    fn index_beside(sample: &mut Sample, saved: &SavedDocuments) -> Index {
        let symbols = sample.names();
        Index::from_outputs(
            sample,
            &symbols,
            &OtherNames::default(),
            |key| saved.document(key),
            saved.vocabulary().clone(),
        )
        .expect("an index")
    }

    /// A document without the numbers of its words, and its words by text.
    type InWords = (Document, BTreeSet<(Arc<str>, u32, bool)>);

    fn in_words(index: &Index) -> Vec<InWords> {
        let all = index.vocabulary().all_words();
        let in_words = |document: &Arc<Document>| {
            let mut document = Document::clone(document);
            let words = std::mem::take(&mut document.words).into_iter();
            (
                document,
                words
                    .map(|(word, weight, names)| (all[word as usize].clone(), weight, names))
                    .collect(),
            )
        };
        index.documents().iter().map(in_words).collect()
    }

    #[test]
    fn saved_documents_are_those_that_were_built_until_their_type_changes() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut sample = Sample::default();
        let built = index_beside(&mut sample, &SavedDocuments::default());
        assert!(built.is_worth_saving());
        save_documents(folder.path(), &built).expect("written");
        let saved = SavedDocuments::from_file(folder.path());
        let taken = index_beside(&mut sample, &saved);
        assert!(!taken.is_worth_saving());
        assert_eq!(in_words(&taken), in_words(&built));

        let mut edited = Sample::from_files(&[
            ("src/a.cs", "class Archive { int Size; }"),
            ("src/b.cs", "class Box { Archive one; }"),
        ]);
        save_documents(folder.path(), &index_beside(&mut edited, &SavedDocuments::default())).expect("written");
        let mut edited = Sample::from_files(&[
            ("src/a.cs", "class Archive { int Width; }"),
            ("src/b.cs", "class Box { Archive one; }"),
        ]);
        let beside = index_beside(&mut edited, &SavedDocuments::from_file(folder.path()));
        assert_eq!(in_words(&beside), in_words(&index_beside(&mut edited, &SavedDocuments::default())));
        assert!(beside.has_word(0, "width") && !beside.has_word(0, "size"));
    }

    /// A document that is built in another way needs another [`VERSION`], and then this digest.
    #[test]
    fn documents_belong_to_their_version() {
        let folder = tempfile::tempdir().expect("a folder");
        save_documents(folder.path(), &index_beside(&mut Sample::default(), &SavedDocuments::default())).expect("written");
        let file = checkout::read_file(folder.path(), FILE, MOST_BYTES).expect("read").expect("a file");
        let plain = zstd::bulk::decompress(&file[36..], MOST_BYTES >> 6).expect("packed");
        insta::assert_snapshot!(format!("{VERSION} {}", Digest::of(&plain).short()), @"2 c473132c3a6f");
    }

    #[test]
    fn a_file_with_numbers_of_no_word_has_no_documents() {
        let parsed = |words: Vec<u32>| {
            let document = Document::new(&mut Tally::default(), "A", &[], &Parts::default(), Digest::of(b""));
            let row = NewRow {
                words,
                ..row_of(&document, &[0])
            };
            let file = NewFile {
                words: &["a", "b"],
                rows: &[row],
            };
            let packed = zstd::bulk::compress(&minicbor::to_vec(file).expect("encoded"), LEVEL).expect("packed");
            parse(&[&VERSION.to_le_bytes()[..], &Digest::of(&packed).0, &packed].concat())
        };
        assert!(parsed(vec![0, 2, 1, 2]).is_some());
        for words in [vec![2, 2], vec![u32::MAX, 2], vec![1, 2, 0, 2], vec![1, 2, 1, 2], vec![0]] {
            assert!(parsed(words.clone()).is_none(), "{words:?}");
        }
    }

    #[test]
    fn a_damaged_file_has_no_documents() {
        let folder = tempfile::tempdir().expect("a folder");
        save_documents(folder.path(), &index_beside(&mut Sample::default(), &SavedDocuments::default())).expect("written");
        let whole = checkout::read_file(folder.path(), FILE, MOST_BYTES).expect("read").expect("a file");
        for at in 0..whole.len() {
            let mut damaged = whole.clone();
            damaged[at] ^= 1;
            assert!(parse(&damaged).is_none(), "byte {at}");
            assert!(parse(&whole[..at]).is_none(), "{at} bytes");
        }
        assert!(parse(&whole).is_some_and(|saved| !saved.rows.is_empty()));
        assert!(SavedDocuments::from_file(Path::new("/nowhere")).rows.is_empty());
    }
}
