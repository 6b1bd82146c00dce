//! Listings: the recorded state of one directory, and its row.
//!
//! Row: version u8 (1), flags u8, two zero bytes, fingerprint of the source sets u64, stamp of the directory, `subdirs_len u32`,
//! `unreadable_names_len u32`, packed files sorted by name, names of the kept subdirectories sorted and each ended by NUL, names that are not text
//! (lossy) likewise. A file's word contains its source sets as bits.

use super::packed::{self, Packed, PackedFile};
use super::stamp::{STAMP_LEN, Stamp, u32_at, u64_at};

const VERSION: u8 = 1;
const HEAD_LEN: usize = 4 + 8 + STAMP_LEN + 4 + 4;

/// The directory's stamp was settled when it was listed: the listing is valid while the stamp is unchanged.
pub(crate) const DIR_SETTLED: u8 = 1;
/// The directory could not be read; every refresh tries again.
pub(crate) const DIR_UNREADABLE: u8 = 2;

/// The stamp was settled when the digest was computed.
pub(crate) const SETTLED: u32 = 1;
/// A file with ignore rules.
pub(crate) const RULES: u32 = 2;
/// A symbolic link to a file; the stamp is the target's.
pub(crate) const LINK: u32 = 4;
/// Belongs to its sets, has no digest.
pub(crate) const UNREADABLE: u32 = 8;
/// Would belong to its sets, but is no file of the workspace (a FIFO, a link that leads outside).
pub(crate) const REFUSED: u32 = 16;

/// A directory, decoded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Listing {
    pub(crate) flags: u8,
    pub(crate) fingerprint: u64,
    pub(crate) stamp: Stamp,
    pub(crate) files: Vec<PackedFile>,
    pub(crate) subdirs: Vec<String>,
    pub(crate) not_text: Vec<String>,
}

impl Listing {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let blob = |names: &[String]| names.iter().flat_map(|name| name.bytes().chain([0])).collect::<Vec<u8>>();
        let (subdirs, not_text) = (blob(&self.subdirs), blob(&self.not_text));
        let mut out = vec![VERSION, self.flags, 0, 0];
        out.extend_from_slice(&self.fingerprint.to_le_bytes());
        self.stamp.encode(&mut out);
        for blob in [&subdirs, &not_text] {
            out.extend_from_slice(&u32::try_from(blob.len()).unwrap_or(u32::MAX).to_le_bytes());
        }
        packed::append_entries(self.files.iter(), &mut out);
        out.extend_from_slice(&subdirs);
        out.extend_from_slice(&not_text);
        out
    }
}

/// A directory's row, read in place.
#[derive(Clone, Copy)]
pub(crate) struct DirectoryRow<'a> {
    head: &'a [u8],
    pub(crate) files: Packed<'a>,
    subdirs: &'a [u8],
    not_text: &'a [u8],
}

impl<'a> DirectoryRow<'a> {
    /// Parses a row; `None` if the lengths do not fit or the version differs.
    pub(crate) fn from_bytes(bytes: &'a [u8]) -> Option<Self> {
        let head = bytes.get(..HEAD_LEN)?;
        let (files, rest) = Packed::split_entries(&bytes[HEAD_LEN..])?;
        let subdirs = rest.get(..u32_at(head, HEAD_LEN - 8) as usize)?;
        let not_text = rest.get(subdirs.len()..)?;
        let fits = head[0] == VERSION && not_text.len() == u32_at(head, HEAD_LEN - 4) as usize;
        fits.then_some(Self {
            head,
            files,
            subdirs,
            not_text,
        })
    }

    /// Whether all names are text, end at their separators, and are plain names.
    pub(crate) fn well_formed(&self) -> bool {
        let text = |blob: &[u8]| std::str::from_utf8(blob).is_ok() && blob.last().is_none_or(|last| *last == 0);
        text(self.subdirs)
            && text(self.not_text)
            && self.files.well_formed()
            && self.subdirs().all(is_file_name)
            && (0..self.files.len())
                .all(|index| is_file_name(self.files.name(index)) || self.files.name(index) == super::ignores::EXCLUDE_FILE)
    }

    pub(crate) fn flags(&self) -> u8 {
        self.head[1]
    }

    pub(crate) fn fingerprint(&self) -> u64 {
        u64_at(self.head, 4)
    }

    pub(crate) fn stamp(&self) -> Stamp {
        Stamp::decode(&self.head[12..])
    }

    pub(crate) fn subdirs(&self) -> impl Iterator<Item = &'a str> + use<'a> {
        lines_of(self.subdirs)
    }

    pub(crate) fn not_text(&self) -> impl Iterator<Item = &'a str> + use<'a> {
        lines_of(self.not_text)
    }

    pub(crate) fn listing(&self) -> Listing {
        Listing {
            flags: self.flags(),
            fingerprint: self.fingerprint(),
            stamp: self.stamp(),
            files: (0..self.files.len()).map(|index| self.files.entry(index)).collect(),
            subdirs: self.subdirs().map(str::to_owned).collect(),
            not_text: self.not_text().map(str::to_owned).collect(),
        }
    }
}

fn lines_of(blob: &[u8]) -> impl Iterator<Item = &str> {
    blob.split(|byte| *byte == 0)
        .filter(|name| !name.is_empty())
        .filter_map(|name| std::str::from_utf8(name).ok())
}

fn is_file_name(name: &str) -> bool {
    !name.is_empty() && name != "." && name != ".." && !name.contains('/') && !name.contains('\0')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::values::digest::Digest;
    use proptest::prelude::*;

    fn listing() -> impl Strategy<Value = Listing> {
        let names = || prop::collection::btree_set("[a-zé.]{3,8}", 0..6);
        (any::<(u8, u64, u64)>(), names(), names(), names()).prop_map(|((flags, fingerprint, size), files, subdirs, not_text)| Listing {
            flags,
            fingerprint,
            stamp: Stamp { size, ..Stamp::default() },
            files: files
                .into_iter()
                .map(|name| PackedFile {
                    digest: Digest::of(name.as_bytes()),
                    name,
                    flags: SETTLED,
                    word: size,
                    stamp: Stamp::default(),
                })
                .collect(),
            subdirs: subdirs.into_iter().collect(),
            not_text: not_text.into_iter().collect(),
        })
    }

    proptest! {
        #[test]
        fn rows_round_trip(listing in listing()) {
            let bytes = listing.encode();
            let row = DirectoryRow::from_bytes(&bytes).unwrap();
            prop_assert_eq!(row.listing(), listing);
            for cut in 0..bytes.len() {
                prop_assert!(DirectoryRow::from_bytes(&bytes[..cut]).is_none(), "a row cut at {} must be refused", cut);
            }
        }

        #[test]
        fn damaged_rows_never_panic(listing in listing(), at: prop::sample::Index, bit in 0u8..8) {
            let mut bytes = listing.encode();
            let at = at.index(bytes.len());
            bytes[at] ^= 1 << bit;
            if let Some(row) = DirectoryRow::from_bytes(&bytes) {
                row.well_formed();
                row.listing();
            }
        }
    }
}
