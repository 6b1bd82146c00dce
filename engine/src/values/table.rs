//! Keyed tables: a blob format in which rows can be found without parsing the whole.
//!
//! A producer of an index (`//index:types`) writes a table. Other nodes depend on the *rows* that they use, so a change of one row affects
//! only its readers. Layout, integers little-endian `u32`:
//! `b"cortbl1\0"`, row count `n`, `n` × (key end, value end) measured from the start of the heap, then the heap: per row key bytes, then value
//! bytes, rows sorted by key, keys unique. Text keys; values are any bytes, by convention a JSON object or array.
//! Large tables are stored as trees of such pages: see [`super::pages`].

use serde_json::{Map, Value};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

const MAGIC: &[u8; 8] = b"cortbl1\0";

/// A read-only view of a table blob. Opening reads only the header, and a lookup is a binary search, so that thousands of readers of one table cost
/// little; a malformed row reads as empty.
#[derive(Clone, Copy, Debug)]
pub struct Table<'a> {
    index: &'a [[u8; 8]],
    heap: &'a [u8],
}

impl<'a> Table<'a> {
    /// Whether `blob` has a table's header.
    pub fn is_table(blob: &[u8]) -> bool {
        blob.starts_with(MAGIC)
    }

    /// Opens a blob; `None` if its header is not a table's.
    pub fn open(blob: &'a [u8]) -> Option<Self> {
        Self::open_body(blob.strip_prefix(MAGIC)?)
    }

    /// Opens a table's layout after the magic bytes.
    pub(super) fn open_body(rest: &'a [u8]) -> Option<Self> {
        let (count, rest) = rest.split_first_chunk::<4>()?;
        let index_len = (u32::from_le_bytes(*count) as usize).checked_mul(8)?;
        let (index, heap) = rest.split_at_checked(index_len)?;
        let table = Self {
            index: index.as_chunks().0,
            heap,
        };
        let end = if table.is_empty() { 0 } else { table.ends(table.len() - 1).1 };
        (end == heap.len()).then_some(table)
    }

    /// Returns one table with the rows of several, in their order; `None` if it would have 4 GiB or more.
    pub(super) fn concatenate(tables: &[Table<'_>]) -> Option<Arc<[u8]>> {
        let rows: usize = tables.iter().map(Table::len).sum();
        let heap: usize = tables.iter().map(|table| table.heap.len()).sum();
        let count = u32::try_from(rows).ok()?;
        u32::try_from(heap).ok()?;
        let start_of_index = MAGIC.len() + count.to_le_bytes().len();
        let start_of_heap = start_of_index + rows * 8;
        // The zeros are written once, and no vector is copied: such tables have many megabytes.
        let mut blob: Arc<[u8]> = std::iter::repeat_n(0, start_of_heap + heap).collect();
        let bytes = Arc::get_mut(&mut blob).expect("invariant: nothing else refers to a new blob");
        bytes[..MAGIC.len()].copy_from_slice(MAGIC);
        bytes[MAGIC.len()..start_of_index].copy_from_slice(&count.to_le_bytes());
        let (index, heap) = bytes[start_of_index..].split_at_mut(rows * 8);
        let mut index = index.as_chunks_mut().0.iter_mut();
        let mut written = 0;
        for table in tables {
            // The ends of a malformed row may lie outside of its heap.
            let end = |end: usize| u32_bytes(written + end.min(table.heap.len()));
            for row in 0..table.len() {
                let (key_end, value_end) = table.ends(row);
                let ends: &mut [u8; 8] = index.next().expect("invariant: as many as rows");
                ends[..4].copy_from_slice(&end(key_end));
                ends[4..].copy_from_slice(&end(value_end));
            }
            heap[written..written + table.heap.len()].copy_from_slice(table.heap);
            written += table.heap.len();
        }
        Some(blob)
    }

    /// Returns the number of rows.
    pub fn len(&self) -> usize {
        self.index.len()
    }

    pub fn is_empty(&self) -> bool {
        self.index.is_empty()
    }

    /// Returns the part of a table's blob after the magic bytes.
    pub(super) fn body_of_blob(blob: &[u8]) -> &[u8] {
        &blob[MAGIC.len()..]
    }

    fn ends(&self, row: usize) -> (usize, usize) {
        let [a, b, c, d, e, f, g, h] = self.index[row];
        (u32::from_le_bytes([a, b, c, d]) as usize, u32::from_le_bytes([e, f, g, h]) as usize)
    }

    /// Returns key and value of the row with number `row`, in key order.
    ///
    /// # Panics
    /// If `row` is not below [`Table::len`].
    pub fn row(&self, row: usize) -> (&'a str, &'a [u8]) {
        let (key, value) = self.raw_row(row);
        (std::str::from_utf8(key).unwrap_or_default(), value)
    }

    fn raw_row(&self, row: usize) -> (&'a [u8], &'a [u8]) {
        let start = if row == 0 { 0 } else { self.ends(row - 1).1 };
        let (key_end, value_end) = self.ends(row);
        let of = |start, end| self.heap.get(start..end).unwrap_or_default();
        (of(start, key_end), of(key_end, value_end))
    }

    /// Returns the value of `key`.
    pub fn get(&self, key: &str) -> Option<&'a [u8]> {
        let at = self.first_at_least(key);
        (at < self.len())
            .then(|| self.raw_row(at))
            .filter(|(found, _)| *found == key.as_bytes())
            .map(|(_, value)| value)
    }

    /// Returns the number of the first row whose key is not below `key`; the number of rows if there is none.
    pub fn first_at_least(&self, key: &str) -> usize {
        let (mut low, mut high) = (0, self.len());
        while low < high {
            let middle = usize::midpoint(low, high);
            if self.raw_row(middle).0 < key.as_bytes() {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }

    /// Iterates over all rows in key order.
    pub fn rows(self) -> impl Iterator<Item = (&'a str, &'a [u8])> {
        (0..self.len()).map(move |row| self.row(row))
    }

    /// Iterates over all keys in order.
    pub fn keys(self) -> impl Iterator<Item = &'a str> {
        self.rows().map(|(key, _)| key)
    }
}

/// Writes a table blob. Equal rows give equal bytes.
pub fn write_table<K: AsRef<str> + Ord, V: AsRef<[u8]>>(rows: &BTreeMap<K, V>) -> Vec<u8> {
    let mut sorted: Vec<(&str, &[u8])> = rows.iter().map(|(key, value)| (key.as_ref(), value.as_ref())).collect();
    sorted.sort_by_key(|(key, _)| *key);
    let mut writer = TableWriter::default();
    sorted.into_iter().for_each(|(key, value)| writer.append_row(key, value));
    writer.finish()
}

/// A table under construction, row by row in key order.
#[derive(Default)]
pub(crate) struct TableWriter {
    ends: Vec<(usize, usize)>,
    heap: Vec<u8>,
}

impl TableWriter {
    pub(crate) fn append_row(&mut self, key: &str, value: &[u8]) {
        self.heap.extend_from_slice(key.as_bytes());
        let key_end = self.heap.len();
        self.heap.extend_from_slice(value);
        self.ends.push((key_end, self.heap.len()));
    }

    pub(crate) fn finish(self) -> Vec<u8> {
        let mut blob = Vec::with_capacity(MAGIC.len() + 4 + self.ends.len() * 8 + self.heap.len());
        blob.extend_from_slice(MAGIC);
        blob.extend_from_slice(&u32_bytes(self.ends.len()));
        for (key_end, value_end) in &self.ends {
            blob.extend_from_slice(&u32_bytes(*key_end));
            blob.extend_from_slice(&u32_bytes(*value_end));
        }
        blob.extend_from_slice(&self.heap);
        blob
    }
}

fn u32_bytes(value: usize) -> [u8; 4] {
    u32::try_from(value).expect("invariant: tables stay below 4 GiB").to_le_bytes()
}

/// Converts a blob to JSON: a table to an object, JSON as it is, text to a string, anything else to its length.
pub fn to_json(blob: &[u8]) -> Value {
    let value = |bytes| match std::str::from_utf8(bytes) {
        Ok(text) if text.starts_with(['{', '[']) => serde_json::from_str(text).unwrap_or_else(|_| text.into()),
        Ok(text) => text.into(),
        Err(_) => serde_json::json!({ "bytes": bytes.len() }),
    };
    match Table::open(blob) {
        Some(table) => table
            .rows()
            .map(|(key, row)| (key.to_owned(), value(row)))
            .collect::<Map<_, _>>()
            .into(),
        None => value(blob),
    }
}

/// Returns a blob in the form for other programs: a table, whose format is our own, as JSON; anything else as it is.
pub fn readable_blob(blob: &[u8]) -> Cow<'_, [u8]> {
    match Table::open(blob) {
        Some(_) => format!("{:#}\n", to_json(blob)).into_bytes().into(),
        None => blob.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn rows_survive_the_round_trip(rows: BTreeMap<String, Vec<u8>>, missing: String) {
            let blob = write_table(&rows);
            let table = Table::open(&blob).expect("well-formed");
            prop_assert_eq!(table.len(), rows.len());
            for (key, value) in &rows {
                prop_assert_eq!(table.get(key), Some(value.as_slice()));
            }
            prop_assert_eq!(table.get(&missing), rows.get(&missing).map(Vec::as_slice));
            prop_assert!(table.keys().eq(rows.keys().map(String::as_str)));
        }

        #[test]
        fn any_bytes_are_opened_or_refused(mut rows: BTreeMap<String, Vec<u8>>, at: usize, byte: u8, cut: usize) {
            rows.insert("k".into(), vec![1, 2, 3]);
            let mut blob = write_table(&rows);
            let len = blob.len();
            blob[at % len] = byte;
            blob.truncate(len - cut % 3);
            if let Some(table) = Table::open(&blob) {
                table.rows().for_each(drop);
            }
        }
    }
}
