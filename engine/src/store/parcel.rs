//! Parcels: results with their outputs in one file, to transfer between stores. Knows no graph.
//!
//! `CORTEX RESULTS 1\n`, then one zstd frame with a checksum: for each result, sorted by key, `1`, key [32], length of the record u32, record,
//! length of the output u64 (all ones if the output does not follow: it occurred before, or is not stored), output; at the end `0` and the number
//! of results u64. Numbers are little-endian. Records are encoded as in `actions.1` (codec), without time and duration. Equal results give equal
//! bytes.
//!
//! The reader checks outputs by their digests and records by their form. It cannot check that a result belongs to its key, because parameters are
//! only in the key: importing a file means trusting its author.

use super::codec;
use super::records::{ActionRecord, NewResult};
use crate::values::cbor;
use crate::values::digest::{ActionKey, Digest};
use crate::values::label::Label;
use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::path::Path;
use std::sync::Arc;

const MAGIC: &[u8; 17] = b"CORTEX RESULTS 1\n";

/// Whether a file with these first bytes is a parcel.
pub fn is_parcel(head: &[u8]) -> bool {
    head.starts_with(MAGIC)
}
const RESULT: u8 = 1;
const END: u8 = 0;
/// Length field of an output that does not follow.
const ELSEWHERE: u64 = u64::MAX;
/// Maximum length of a record, in bytes.
const LONGEST_RECORD: u32 = 64 << 20;
/// Maximum length of an output, in bytes.
const LONGEST_OUTPUT: u64 = 1 << 32;
const LEVEL: i32 = 6;

/// Reason why a parcel cannot be written or read.
#[derive(Debug, thiserror::Error)]
pub enum ParcelError {
    /// The file cannot be read or written.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// It is no parcel, or an incomplete one.
    #[error("it is not a whole file of results: {0}")]
    Form(&'static str),
    /// An output does not have the digest in its record.
    #[error("the output of {0} does not have the digest that its record names")]
    Output(String),
}

/// Message for a file that is no parcel at all.
pub const FOREIGN: &str = "it does not begin like one";

/// Writes a parcel; results must be added sorted by key.
pub struct Writer {
    out: zstd::Encoder<'static, BufWriter<tempfile::NamedTempFile>>,
    written: BTreeSet<Digest>,
    count: u64,
}

impl Writer {
    /// Starts a parcel in a temporary file next to `path`, its final place. Fails when no file can be created there.
    pub fn create(path: &Path) -> Result<Self, ParcelError> {
        let folder = path
            .parent()
            .filter(|folder| !folder.as_os_str().is_empty())
            .unwrap_or(Path::new("."));
        let mut file = BufWriter::new(tempfile::Builder::new().prefix(".cortex-results").tempfile_in(folder)?);
        file.write_all(MAGIC)?;
        let mut out = zstd::Encoder::new(file, LEVEL)?;
        out.include_checksum(true)?;
        Ok(Self {
            out,
            written: BTreeSet::new(),
            count: 0,
        })
    }

    /// Adds a result, with its output and parts in the order of the record. Leaves out time and duration.
    pub fn add_result(
        &mut self,
        key: &ActionKey,
        record: &ActionRecord,
        output: Option<&[u8]>,
        parts: &[Option<Arc<[u8]>>],
    ) -> Result<(), ParcelError> {
        let timeless = ActionRecord {
            made_at: 0,
            took_us: 0,
            ..record.clone()
        };
        let bytes = cbor::encode(&timeless);
        let len = u32::try_from(bytes.len()).map_err(|_| ParcelError::Form("a record is too long"))?;
        self.out.write_all(&[RESULT])?;
        self.out.write_all(&key.0.0)?;
        self.out.write_all(&len.to_le_bytes())?;
        self.out.write_all(&bytes)?;
        self.write_blob(&record.output, output)?;
        for (at, digest) in record.parts.iter().enumerate() {
            self.write_blob(digest, parts.get(at).and_then(|part| part.as_deref()))?;
        }
        self.count += 1;
        Ok(())
    }

    fn write_blob(&mut self, digest: &Digest, bytes: Option<&[u8]>) -> Result<(), ParcelError> {
        match bytes.filter(|_| self.written.insert(*digest)) {
            Some(bytes) => {
                self.out.write_all(&(bytes.len() as u64).to_le_bytes())?;
                self.out.write_all(bytes)?;
            }
            None => self.out.write_all(&ELSEWHERE.to_le_bytes())?,
        }
        Ok(())
    }

    /// Moves the finished parcel to `path` and returns its length in bytes.
    pub fn finish_parcel(mut self, path: &Path) -> Result<u64, ParcelError> {
        self.out.write_all(&[END])?;
        self.out.write_all(&self.count.to_le_bytes())?;
        let file = self.out.finish()?.into_inner().map_err(|error| error.into_error())?;
        file.as_file().sync_all()?;
        let len = file.as_file().metadata()?.len();
        file.persist(path).map_err(|error| error.error)?;
        Ok(len)
    }
}

/// An open file that begins like a parcel.
pub struct Parcel(BufReader<File>);

/// Opens a parcel for reading. Fails when it cannot be read, or is not a parcel.
pub fn open_parcel(path: &Path) -> Result<Parcel, ParcelError> {
    let mut file = BufReader::new(File::open(path)?);
    let mut magic = [0; MAGIC.len()];
    fill_buffer(&mut file, &mut magic)?;
    match magic == *MAGIC {
        true => Ok(Parcel(file)),
        false => Err(ParcelError::Form(FOREIGN)),
    }
}

/// Reads a parcel and passes each checked result to `take`, with `now` as its time. Memory is bounded by the largest output. Fails when the
/// parcel is incomplete, or `take` fails. Results passed before stay.
pub fn unpack_results<E: From<ParcelError>>(parcel: Parcel, now: u64, mut take: impl FnMut(NewResult) -> Result<(), E>) -> Result<u64, E> {
    let mut from = zstd::Decoder::with_buffer(parcel.0).map_err(ParcelError::from)?;
    let mut count = 0;
    loop {
        let mut kind = [0];
        fill_buffer(&mut from, &mut kind)?;
        if kind == [END] {
            break;
        }
        if kind != [RESULT] {
            return Err(ParcelError::Form("an entry of no known kind").into());
        }
        take(read_result(&mut from, now)?)?;
        count += 1;
    }
    let mut claimed = [0; 8];
    fill_buffer(&mut from, &mut claimed)?;
    if u64::from_le_bytes(claimed) != count {
        return Err(ParcelError::Form("it says that it has another number of results").into());
    }
    // Reading past the end of the frame compares its checksum.
    match from.read(&mut [0]) {
        Ok(0) => Ok(count),
        Ok(_) => Err(ParcelError::Form("something follows its end").into()),
        Err(_) => Err(ParcelError::Form("its checksum does not match").into()),
    }
}

fn read_result(from: &mut impl Read, now: u64) -> Result<NewResult, ParcelError> {
    let (mut key, mut len) = ([0; 32], [0; 4]);
    fill_buffer(from, &mut key)?;
    fill_buffer(from, &mut len)?;
    let len = u32::from_le_bytes(len);
    if len > LONGEST_RECORD {
        return Err(ParcelError::Form("a record is too long"));
    }
    let record = read_bytes(from, u64::from(len))?;
    let record = codec::decode_action(&record).map_err(|_| ParcelError::Form("a record does not decode"))?;
    if Label::parse(&record.label).is_err() {
        return Err(ParcelError::Form("a record bears no label"));
    }
    let blob = read_checked_blob(from, &record, &record.output)?;
    if blob.as_ref().is_some_and(|blob| blob.len() as u64 != record.len) {
        return Err(ParcelError::Form("an output of another length than its record says"));
    }
    let mut parts = Vec::new();
    for digest in &record.parts {
        parts.extend(self::read_checked_blob(from, &record, digest)?.map(|part| (*digest, part)));
    }
    Ok(NewResult {
        key: ActionKey(Digest(key)),
        record: ActionRecord { made_at: now, ..record },
        blob,
        parts,
    })
}

/// Reads a blob of a result and checks its digest; `None` if the blob does not follow here.
fn read_checked_blob(from: &mut impl Read, record: &ActionRecord, digest: &Digest) -> Result<Option<Arc<[u8]>>, ParcelError> {
    let mut len = [0; 8];
    fill_buffer(from, &mut len)?;
    let blob: Arc<[u8]> = match u64::from_le_bytes(len) {
        ELSEWHERE => return Ok(None),
        len if len > LONGEST_OUTPUT => return Err(ParcelError::Form("an output that is too long")),
        len => read_bytes(from, len)?.into(),
    };
    match Digest::of(&blob) == *digest {
        true => Ok(Some(blob)),
        false => Err(ParcelError::Output(record.label.clone())),
    }
}

/// Reads `len` bytes; memory grows only with bytes that exist.
fn read_bytes(from: &mut impl Read, len: u64) -> Result<Vec<u8>, ParcelError> {
    let mut bytes = Vec::new();
    let read = from.take(len).read_to_end(&mut bytes).map_err(cut_short)?;
    if read as u64 != len {
        return Err(ParcelError::Form("it is cut short"));
    }
    Ok(bytes)
}

fn fill_buffer(from: &mut impl Read, into: &mut [u8]) -> Result<(), ParcelError> {
    from.read_exact(into).map_err(cut_short)
}

/// Converts a read error: the frame ended early, or the file cannot be read.
fn cut_short(error: io::Error) -> ParcelError {
    match error.kind() {
        io::ErrorKind::UnexpectedEof => ParcelError::Form("it is cut short"),
        _ => ParcelError::Io(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::codec::tests::any_action;
    use proptest::collection::{btree_map, vec};
    use proptest::prelude::*;

    fn write_parcel(results: &std::collections::BTreeMap<[u8; 32], (ActionRecord, Vec<u8>)>, path: &Path) -> u64 {
        let mut writer = Writer::create(path).unwrap();
        for (key, (record, output)) in results {
            writer.add_result(&ActionKey(Digest(*key)), record, Some(output), &[]).unwrap();
        }
        writer.finish_parcel(path).unwrap()
    }

    fn results() -> impl Strategy<Value = std::collections::BTreeMap<[u8; 32], (ActionRecord, Vec<u8>)>> {
        let result = (any_action(), vec(any::<u8>(), 0..200)).prop_map(|(record, output)| {
            let record = ActionRecord {
                label: "//a:b".to_owned(),
                output: Digest::of(&output),
                len: output.len() as u64,
                ..record
            };
            (record, output)
        });
        btree_map(any::<[u8; 32]>(), result, 0..6)
    }

    proptest! {
        #[test]
        fn parcels_round_trip_and_damage_is_refused(results in results(), at in any::<prop::sample::Index>(), bit in 0..8_u32) {
            let dir = tempfile::tempdir().unwrap();
            let path = dir.path().join("results");
            let len = write_parcel(&results, &path);
            let whole = std::fs::read(&path).unwrap();
            prop_assert_eq!(whole.len() as u64, len);
            prop_assert_eq!(write_parcel(&results, &path), len);
            prop_assert_eq!(&std::fs::read(&path).unwrap(), &whole, "the same results, the same bytes");
            let mut back = Vec::new();
            let count = open_parcel(&path).and_then(|parcel| unpack_results::<ParcelError>(parcel, 5, |result| { back.push(result); Ok(()) })).unwrap();
            prop_assert_eq!(count, results.len() as u64);
            for (result, (key, (record, output))) in back.iter().zip(&results) {
                prop_assert_eq!(&result.key.0.0, key);
                prop_assert_eq!(&result.record, &ActionRecord { made_at: 5, took_us: 0, ..record.clone() });
                if let Some(blob) = &result.blob { prop_assert_eq!(&blob[..], &output[..]); }
            }
            // A cut or flipped file is refused at its end at the latest.
            let at = at.index(whole.len());
            std::fs::write(&path, &whole[..at]).unwrap();
            let cut = open_parcel(&path).and_then(|parcel| unpack_results::<ParcelError>(parcel, 5, |_| Ok(())));
            prop_assert!(matches!(cut, Err(ParcelError::Form(_))), "{:?}", cut);
            let mut flipped = whole.clone();
            flipped[at] ^= 1 << bit;
            std::fs::write(&path, &flipped).unwrap();
            let mut other = Vec::new();
            let done = open_parcel(&path).and_then(|parcel| unpack_results::<ParcelError>(parcel, 5, |result| { other.push(result); Ok(()) }));
            prop_assert!(other.iter().all(|result| result.blob.as_ref().is_none_or(|blob| Digest::of(blob) == result.record.output)));
            // Some bits of a frame have no meaning; flips of all others are detected.
            let pair = |result: &NewResult| (result.key, result.record.clone(), result.blob.clone());
            prop_assert!(done.is_err() || other.iter().map(pair).eq(back.iter().map(pair)));
        }
    }
}
