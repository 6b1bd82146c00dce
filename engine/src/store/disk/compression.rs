//! Bodies, compressed where it pays. Knows zstd and nothing about the meaning of the bytes.
//!
//! Records of results are short and similar. They are compressed with a dictionary of their common parts. It belongs to the format, so that
//! the file next to this one never changes.

use rayon::prelude::*;
use std::borrow::Cow;
use std::cell::RefCell;
use std::sync::{Arc, LazyLock};
use zstd::bulk::{Compressor, Decompressor};
use zstd::dict::{DecoderDictionary, EncoderDictionary};
use zstd::zstd_safe::CParameter;

/// Maximum length in bytes of a body that stays uncompressed.
const SMALL: usize = 512;

/// Compression level: gives a quarter to a third of an outline's length; higher levels take twice the time for a twentieth less.
const LEVEL: i32 = 1;

/// Codec: uncompressed bytes.
pub(super) const RAW: u8 = 0;

/// Codec: one zstd frame.
pub(super) const ZSTD: u8 = 1;

/// Codec: one zstd frame, compressed with [`DICTIONARY`].
const RECORD: u8 = 2;

/// Common parts of records of results, created by `scripts/train_dictionary.py`.
static DICTIONARY: &[u8] = include_bytes!("records.dictionary");

static ENCODER: LazyLock<EncoderDictionary<'static>> = LazyLock::new(|| EncoderDictionary::copy(DICTIONARY, LEVEL));
static DECODER: LazyLock<DecoderDictionary<'static>> = LazyLock::new(|| DecoderDictionary::copy(DICTIONARY));

thread_local! {
    // Creating a context costs more than compressing a small body.
    static COMPRESSOR: RefCell<Option<Compressor<'static>>> = RefCell::new(Compressor::new(LEVEL).ok());
    static DECOMPRESSOR: RefCell<Option<Decompressor<'static>>> = RefCell::new(Decompressor::new().ok());
    static RECORD_COMPRESSOR: RefCell<Option<Compressor<'static>>> = RefCell::new(record_compressor().ok());
    static RECORD_DECOMPRESSOR: RefCell<Option<Decompressor<'static>>> = RefCell::new(Decompressor::with_prepared_dictionary(&DECODER).ok());
}

fn record_compressor() -> std::io::Result<Compressor<'static>> {
    let mut compressor = Compressor::with_prepared_dictionary(&ENCODER)?;
    // The codec implies the dictionary.
    compressor.set_parameter(CParameter::DictIdFlag(false))?;
    Ok(compressor)
}

/// Returns the bytes compressed, if that saves at least a tenth of them.
fn compressed(bytes: &[u8]) -> Option<Vec<u8>> {
    if bytes.len() <= SMALL {
        return None;
    }
    let packed = COMPRESSOR.with_borrow_mut(|compressor| compressor.as_mut()?.compress(bytes).ok())?;
    (packed.len() < bytes.len() / 10 * 9).then_some(packed)
}

/// Returns codec and stored form of the bytes.
pub(super) fn pack(bytes: &[u8]) -> (u8, Cow<'_, [u8]>) {
    match compressed(bytes) {
        Some(packed) => (ZSTD, Cow::Owned(packed)),
        None => (RAW, Cow::Borrowed(bytes)),
    }
}

/// Expands a stored form to exactly `len` bytes; `None` if it does not contain that.
///
/// Never allocates or writes more than `len` bytes. Refuses a length that the stored form does not declare or that does not fit in memory.
pub(super) fn unpack(codec: u8, stored: &[u8], len: u64) -> Option<Arc<[u8]>> {
    let expand = match codec {
        RAW => return (stored.len() as u64 == len).then(|| stored.into()),
        ZSTD => &DECOMPRESSOR,
        RECORD => &RECORD_DECOMPRESSOR,
        _ => return None,
    };
    let declared = zstd::zstd_safe::get_frame_content_size(stored).ok()??;
    let len = usize::try_from(len).ok().filter(|_| declared == len)?;
    Vec::<u8>::new().try_reserve_exact(len).ok()?;
    // Expand in place: large outputs are many pages of memory.
    let mut out: Arc<[u8]> = std::iter::repeat_n(0, len).collect();
    let bytes = Arc::get_mut(&mut out)?;
    let written = expand.with_borrow_mut(|expand| expand.as_mut()?.decompress_to_buffer(stored, bytes).ok())?;
    (written == len).then_some(out)
}

/// As [`pack_body`], for a record of a result: `[2][length u32, big-endian][zstd frame]` with the dictionary of records, where that is shorter.
pub(super) fn record_body(record: &[u8]) -> Vec<u8> {
    let packed = RECORD_COMPRESSOR.with_borrow_mut(|compressor| compressor.as_mut()?.compress(record).ok());
    match (packed, u32::try_from(record.len())) {
        (Some(packed), Ok(len)) if packed.len() + 4 < record.len() => framed(RECORD, len, &packed),
        _ => pack_body(record, true),
    }
}

fn framed(codec: u8, len: u32, packed: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(5 + packed.len());
    out.push(codec);
    out.extend_from_slice(&len.to_be_bytes());
    out.extend_from_slice(packed);
    out
}

/// Returns a self-describing body: `[0][bytes]` or `[1][length u32, big-endian][zstd frame]`.
pub(super) fn pack_body(bytes: &[u8], may_compress: bool) -> Vec<u8> {
    let packed = if may_compress { compressed(bytes) } else { None };
    match (packed, u32::try_from(bytes.len())) {
        (Some(packed), Ok(len)) => framed(ZSTD, len, &packed),
        _ => {
            let mut out = Vec::with_capacity(1 + bytes.len());
            out.push(RAW);
            out.extend_from_slice(bytes);
            out
        }
    }
}

/// Returns the bytes of a [`pack_body`].
pub(super) fn open_body(body: &[u8]) -> Option<Cow<'_, [u8]>> {
    let (&codec, rest) = body.split_first()?;
    if codec == RAW {
        return Some(Cow::Borrowed(rest));
    }
    let (len, packed) = rest.split_first_chunk::<4>()?;
    unpack(codec, packed, u64::from(u32::from_be_bytes(*len))).map(|bytes| Cow::Owned(bytes.to_vec()))
}

/// Maps every item, on all cores when there are enough items to share out. Keeps the order.
///
/// Must not be called while a lock or a transaction is held: a waiting rayon thread may run another job that needs the same one.
pub(super) fn map_all<'a, T: Sync, R: Send>(items: &'a [T], map: impl Fn(&'a T) -> R + Sync + Send) -> Vec<R> {
    const WORTH_SHARING: usize = 32;
    if items.len() < 2 * WORTH_SHARING {
        items.iter().map(map).collect()
    } else {
        items.par_iter().with_min_len(WORTH_SHARING).map(map).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seams::paid::Notes;
    use crate::store::records::{ActionRecord, Class, InputRecord};
    use crate::values::cbor::encode;
    use crate::values::digest::Digest;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn bodies_round_trip(seed in proptest::collection::vec(any::<u8>(), 1..40), times in 0_usize..200, may_compress: bool) {
            let bytes = seed.repeat(times);
            let body = pack_body(&bytes, may_compress);
            prop_assert!(body.len() <= bytes.len() + 1);
            let opened = open_body(&body);
            prop_assert_eq!(opened.as_deref(), Some(&bytes[..]));
            let record = record_body(&bytes);
            prop_assert!(record.len() <= bytes.len() + 1);
            let opened = open_body(&record);
            prop_assert_eq!(opened.as_deref(), Some(&bytes[..]));
        }

        #[test]
        fn any_bytes_open_without_a_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200), codec in 0_u8..4, len: u64) {
            let _ = open_body(&bytes);
            if let Some(out) = unpack(codec, &bytes, len) {
                prop_assert_eq!(out.len() as u64, len);
            }
        }
    }

    #[test]
    fn a_record_takes_little_more_than_its_digests() {
        let digest = |at: u8| Digest(*blake3::hash(&[at]).as_bytes());
        let input = |at, role: &str, label: &str| InputRecord {
            role: role.into(),
            label: label.into(),
            digest: digest(at),
        };
        let record = ActionRecord {
            output: digest(0),
            len: 1_234,
            label: "//types/Acme.Stores.NodeStore:deps".into(),
            producer: "csharp/deps@14".into(),
            made_at: 1_790_000_000,
            took_us: 120,
            inputs: vec![
                input(1, "mentions", "//types/Acme.Stores.NodeStore:mentions"),
                input(2, "symbols", "//index:symbols"),
                input(3, "reach", "//types/Acme.Stores.NodeStore:reach"),
            ],
            diagnostics: Vec::new(),
            class: Class::Cheap,
            spent: None,
            notes: Notes::new(),
            parts: Vec::new(),
            memo: Arc::default(),
        };
        let bytes = encode(&record);
        let body = record_body(&bytes);
        assert!(bytes.len() > 330 && body.len() < 4 * 32 + 100, "{} of {}", body.len(), bytes.len());
    }

    #[test]
    fn a_bomb_expands_to_its_declared_length_at_most() {
        let bomb = zstd::bulk::compress(&vec![0; 1 << 24], LEVEL).unwrap();
        assert_eq!(unpack(ZSTD, &bomb, 1000), None);
        assert_eq!(unpack(ZSTD, &bomb, u64::MAX), None);
        assert_eq!(unpack(ZSTD, &bomb, 1 << 24).map(|out| out.len()), Some(1 << 24));
    }
}
