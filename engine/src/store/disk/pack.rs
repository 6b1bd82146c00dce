//! Bodies, compressed where it pays. It knows zstd and nothing of what the bytes mean.

use rayon::prelude::*;
use std::borrow::Cow;
use std::cell::RefCell;
use std::sync::Arc;
use zstd::bulk::{Compressor, Decompressor};

/// Bodies up to this length stay as they are.
const SMALL: usize = 512;

/// The level: a quarter to a third of an outline's length; higher ones take twice the time for a twentieth less.
const LEVEL: i32 = 1;

/// The bytes as they are.
pub(super) const RAW: u8 = 0;

/// One zstd frame.
pub(super) const ZSTD: u8 = 1;

thread_local! {
    // A context costs more to make than a small body costs to compress.
    static COMPRESSOR: RefCell<Option<Compressor<'static>>> = RefCell::new(Compressor::new(LEVEL).ok());
    static DECOMPRESSOR: RefCell<Option<Decompressor<'static>>> = RefCell::new(Decompressor::new().ok());
}

/// The bytes compressed, if that saves at least a tenth of them.
fn compressed(bytes: &[u8]) -> Option<Vec<u8>> {
    if bytes.len() <= SMALL {
        return None;
    }
    let packed = COMPRESSOR.with_borrow_mut(|compressor| compressor.as_mut()?.compress(bytes).ok())?;
    (packed.len() < bytes.len() / 10 * 9).then_some(packed)
}

/// Codec and stored form of the bytes.
pub(super) fn pack(bytes: &[u8]) -> (u8, Cow<'_, [u8]>) {
    match compressed(bytes) {
        Some(packed) => (ZSTD, Cow::Owned(packed)),
        None => (RAW, Cow::Borrowed(bytes)),
    }
}

/// The bytes behind a stored form, exactly `len` of them, or `None` if it does not hold that.
///
/// Never allocates or writes more than `len` bytes, and a length that the stored form does not declare, or that no memory can hold, is refused,
/// not obeyed.
pub(super) fn unpack(codec: u8, stored: &[u8], len: u64) -> Option<Arc<[u8]>> {
    match codec {
        RAW => (stored.len() as u64 == len).then(|| stored.into()),
        ZSTD => {
            let declared = zstd::zstd_safe::get_frame_content_size(stored).ok()??;
            let len = usize::try_from(len).ok().filter(|_| declared == len)?;
            Vec::<u8>::new().try_reserve_exact(len).ok()?;
            // Expanded where it stays: large outputs are many pages of memory.
            let mut out: Arc<[u8]> = std::iter::repeat_n(0, len).collect();
            let bytes = Arc::get_mut(&mut out)?;
            let written = DECOMPRESSOR.with_borrow_mut(|decompressor| decompressor.as_mut()?.decompress_to_buffer(stored, bytes).ok())?;
            (written == len).then_some(out)
        }
        _ => None,
    }
}

/// A self-describing body: `[0][bytes]` or `[1][length u32, big-endian][zstd frame]`.
pub(super) fn body(bytes: &[u8], may_compress: bool) -> Vec<u8> {
    let packed = if may_compress { compressed(bytes) } else { None };
    match (packed, u32::try_from(bytes.len())) {
        (Some(packed), Ok(len)) => {
            let mut out = Vec::with_capacity(5 + packed.len());
            out.push(ZSTD);
            out.extend_from_slice(&len.to_be_bytes());
            out.extend_from_slice(&packed);
            out
        }
        _ => {
            let mut out = Vec::with_capacity(1 + bytes.len());
            out.push(RAW);
            out.extend_from_slice(bytes);
            out
        }
    }
}

/// What [`body`] was made of.
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
/// Must not be called while a lock or a transaction is held: a waiting rayon thread may take up another job that wants the same one.
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
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn bodies_round_trip(seed in proptest::collection::vec(any::<u8>(), 1..40), times in 0_usize..200, may_compress: bool) {
            let bytes = seed.repeat(times);
            let body = body(&bytes, may_compress);
            prop_assert!(body.len() <= bytes.len() + 1);
            let opened = open_body(&body);
            prop_assert_eq!(opened.as_deref(), Some(&bytes[..]));
        }

        #[test]
        fn any_bytes_open_without_a_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200), codec in 0_u8..3, len: u64) {
            let _ = open_body(&bytes);
            if let Some(out) = unpack(codec, &bytes, len) {
                prop_assert_eq!(out.len() as u64, len);
            }
        }
    }

    #[test]
    fn a_bomb_writes_no_more_than_it_was_declared_to() {
        let bomb = zstd::bulk::compress(&vec![0; 1 << 24], LEVEL).unwrap();
        assert_eq!(unpack(ZSTD, &bomb, 1000), None);
        assert_eq!(unpack(ZSTD, &bomb, u64::MAX), None);
        assert_eq!(unpack(ZSTD, &bomb, 1 << 24).map(|out| out.len()), Some(1 << 24));
    }
}
