//! Packed entries: named files with stamp and digest, in a layout that can be checked without decoding.
//!
//! `count u32`, `names_len u32`, then `count` records of [`RECORD_LEN`] bytes (end of the name in the names, flags, a word with a meaning defined
//! by the owner, stamp, digest), then the concatenated names. All numbers are little-endian.

use super::stamp::{STAMP_LEN, Stamp, u32_at, u64_at};
use crate::values::digest::Digest;

const RECORD_LEN: usize = 4 + 4 + 8 + STAMP_LEN + 32;
const HEAD_LEN: usize = 8;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PackedFile {
    /// Name (of a file in a directory) or path (of an output).
    pub(crate) name: String,
    /// Bits with a meaning defined by the owner.
    pub(crate) flags: u32,
    /// A word with a meaning defined by the owner.
    pub(crate) word: u64,
    /// The stamp for which the digest is valid.
    pub(crate) stamp: Stamp,
    /// The content's digest; zeros if there is none.
    pub(crate) digest: Digest,
}

pub(crate) fn append_entries<'e>(entries: impl ExactSizeIterator<Item = &'e PackedFile> + Clone, out: &mut Vec<u8>) {
    let names_len: usize = entries.clone().map(|entry| entry.name.len()).sum();
    out.reserve(HEAD_LEN + entries.len() * RECORD_LEN + names_len);
    out.extend_from_slice(&clamp(entries.len()).to_le_bytes());
    out.extend_from_slice(&clamp(names_len).to_le_bytes());
    let mut end = 0;
    for entry in entries.clone() {
        end += entry.name.len();
        out.extend_from_slice(&clamp(end).to_le_bytes());
        out.extend_from_slice(&entry.flags.to_le_bytes());
        out.extend_from_slice(&entry.word.to_le_bytes());
        entry.stamp.encode(out);
        out.extend_from_slice(&entry.digest.0);
    }
    for entry in entries {
        out.extend_from_slice(entry.name.as_bytes());
    }
}

/// Clamps a length: names of one directory or page stay far below 4 GiB; a longer row would fail its check and be rebuilt.
fn clamp(len: usize) -> u32 {
    u32::try_from(len).unwrap_or(u32::MAX)
}

/// Entries, read in place.
#[derive(Clone, Copy)]
pub(crate) struct Packed<'a> {
    records: &'a [u8],
    names: &'a [u8],
}

impl<'a> Packed<'a> {
    /// Splits `bytes` into the entries at their front and the rest. `None` if the lengths do not fit.
    pub(crate) fn split_entries(bytes: &'a [u8]) -> Option<(Self, &'a [u8])> {
        let head = bytes.get(..HEAD_LEN)?;
        let records_len = (u32_at(head, 0) as usize).checked_mul(RECORD_LEN)?;
        let names_at = records_len.checked_add(HEAD_LEN)?;
        let end = names_at.checked_add(u32_at(head, 4) as usize)?;
        Some((
            Self {
                records: bytes.get(HEAD_LEN..names_at)?,
                names: bytes.get(names_at..end)?,
            },
            bytes.get(end..)?,
        ))
    }

    /// Whether every name is text and within the bounds in the records.
    pub(crate) fn well_formed(&self) -> bool {
        let Ok(names) = std::str::from_utf8(self.names) else { return false };
        let mut last = 0;
        for index in 0..self.len() {
            let end = u32_at(self.records, index * RECORD_LEN) as usize;
            if end < last || !names.is_char_boundary(end) {
                return false;
            }
            last = end;
        }
        last == names.len()
    }

    pub(crate) fn len(&self) -> usize {
        self.records.len() / RECORD_LEN
    }

    pub(crate) fn name(&self, index: usize) -> &'a str {
        let start = if index == 0 {
            0
        } else {
            u32_at(self.records, (index - 1) * RECORD_LEN) as usize
        };
        let end = u32_at(self.records, index * RECORD_LEN) as usize;
        self.names
            .get(start..end)
            .and_then(|bytes| std::str::from_utf8(bytes).ok())
            .unwrap_or_default()
    }

    pub(crate) fn flags(&self, index: usize) -> u32 {
        u32_at(self.records, index * RECORD_LEN + 4)
    }

    pub(crate) fn word_at(&self, index: usize) -> u64 {
        u64_at(self.records, index * RECORD_LEN + 8)
    }

    pub(crate) fn stamp(&self, index: usize) -> Stamp {
        Stamp::decode(&self.records[index * RECORD_LEN + 16..])
    }

    pub(crate) fn digest_of_entry(&self, index: usize) -> Digest {
        let at = index * RECORD_LEN + 16 + STAMP_LEN;
        Digest(
            self.records[at..at + 32]
                .try_into()
                .expect("invariant: a record ends with 32 bytes of digest"),
        )
    }

    pub(crate) fn entry(&self, index: usize) -> PackedFile {
        PackedFile {
            name: self.name(index).to_owned(),
            flags: self.flags(index),
            word: self.word_at(index),
            stamp: self.stamp(index),
            digest: self.digest_of_entry(index),
        }
    }

    /// Finds a name; entries must be sorted by it.
    pub(crate) fn find_name(&self, name: &str) -> Option<usize> {
        self.search(|index| self.name(index).cmp(name))
    }

    /// Finds a word; entries must be sorted by it.
    pub(crate) fn find_word(&self, word: u64) -> Option<usize> {
        self.search(|index| self.word_at(index).cmp(&word))
    }

    fn search(&self, compare: impl Fn(usize) -> std::cmp::Ordering) -> Option<usize> {
        let (mut low, mut high) = (0, self.len());
        while low < high {
            let middle = low.midpoint(high);
            match compare(middle) {
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Greater => high = middle,
                std::cmp::Ordering::Equal => return Some(middle),
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn entries() -> impl Strategy<Value = Vec<PackedFile>> {
        prop::collection::btree_map("\\PC{1,12}", any::<(u32, u64, u64, [u8; 32])>(), 0..8).prop_map(|map| {
            map.into_iter()
                .map(|(name, (flags, word, size, digest))| PackedFile {
                    name,
                    flags,
                    word,
                    stamp: Stamp { size, ..Stamp::default() },
                    digest: Digest(digest),
                })
                .collect()
        })
    }

    proptest! {
        #[test]
        fn packed_entries_are_what_was_packed(entries in entries(), rest in prop::collection::vec(any::<u8>(), 0..8)) {
            let mut bytes = Vec::new();
            append_entries(entries.iter(), &mut bytes);
            bytes.extend_from_slice(&rest);
            let (packed, after) = Packed::split_entries(&bytes).unwrap();
            prop_assert!(packed.well_formed());
            prop_assert_eq!(after, &rest[..]);
            prop_assert_eq!((0..packed.len()).map(|index| packed.entry(index)).collect::<Vec<_>>(), entries.clone());
            for (index, entry) in entries.iter().enumerate() {
                prop_assert_eq!(packed.find_name(&entry.name), Some(index));
            }
            prop_assert_eq!(packed.find_name("\u{1}"), None);
        }

        #[test]
        fn any_bytes_are_refused_or_readable(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
            if let Some((packed, _)) = Packed::split_entries(&bytes) {
                for index in 0..packed.len() {
                    packed.entry(index);
                }
                packed.well_formed();
            }
        }
    }
}
