//! The frame of every value: `[record version][check][body]`. Knows tables only as names and keys only as bytes.
//!
//! redb does not verify checksums when reading, so it returns a flipped bit as part of a value. The check binds a body to its table and key: a
//! damaged body, or one that a damaged tree stores under another key, does not open.

use crate::values::digest::Digest;
use blake3::Hasher;

/// Version of all record bodies written now.
pub(super) const RECORD_VERSION: u8 = 1;

/// Length in bytes of the head before every body.
pub(super) const HEAD: usize = 9;

/// Reason why a value does not open.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum FrameError {
    #[error("it is cut short")]
    Short,
    /// The check does not match table, key and body.
    #[error("its check does not match")]
    Check,
    #[error("its record version {0} is unknown")]
    Version(u8),
}

/// The body comes first so that long bodies hash on chunk boundaries; the lengths at the end make the encoding unambiguous.
fn frame_checksum(table: &str, key: &[u8], version: u8, body: &[u8]) -> [u8; 8] {
    let mut hasher = Hasher::new();
    hasher.update(body);
    check_after(hasher, table, key, version, body.len())
}

/// Computes the check from a hasher that has processed the body of this length.
fn check_after(mut hasher: Hasher, table: &str, key: &[u8], version: u8, len: usize) -> [u8; 8] {
    hasher.update(key);
    hasher.update(table.as_bytes());
    let mut tail = [0; 25];
    tail[0] = version;
    tail[1..9].copy_from_slice(&(len as u64).to_be_bytes());
    tail[9..17].copy_from_slice(&(key.len() as u64).to_be_bytes());
    tail[17..].copy_from_slice(&(table.len() as u64).to_be_bytes());
    hasher.update(&tail);
    let mut check = [0; 8];
    check.copy_from_slice(&hasher.finalize().as_bytes()[..8]);
    check
}

/// Writes the framed body into `out`, replacing its contents.
pub(super) fn write_frame(out: &mut Vec<u8>, table: &str, key: &[u8], body: &[u8]) {
    out.clear();
    out.reserve_exact(HEAD + body.len());
    out.push(RECORD_VERSION);
    out.extend_from_slice(&frame_checksum(table, key, RECORD_VERSION, body));
    out.extend_from_slice(body);
}

pub(super) fn framed(table: &str, key: &[u8], body: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    write_frame(&mut out, table, key, body);
    out
}

/// Verifies the check of a framed value and returns its body.
pub(super) fn verified_body<'v>(table: &str, key: &[u8], value: &'v [u8]) -> Result<&'v [u8], FrameError> {
    let (head, body) = value.split_at_checked(HEAD).ok_or(FrameError::Short)?;
    accepted(head, frame_checksum(table, key, head[0], body))?;
    Ok(body)
}

/// As [`verified_body`], and returns the digest of the body: the check hashes the body first, so that it costs nothing.
pub(super) fn open_hashed<'v>(table: &str, key: &[u8], value: &'v [u8]) -> Result<(&'v [u8], Digest), FrameError> {
    let (head, body) = value.split_at_checked(HEAD).ok_or(FrameError::Short)?;
    let mut hasher = Hasher::new();
    hasher.update(body);
    let digest = Digest(*hasher.finalize().as_bytes());
    accepted(head, check_after(hasher, table, key, head[0], body.len()))?;
    Ok((body, digest))
}

fn accepted(head: &[u8], check: [u8; 8]) -> Result<(), FrameError> {
    if head[1..] != check {
        return Err(FrameError::Check);
    }
    if head[0] != RECORD_VERSION {
        return Err(FrameError::Version(head[0]));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_framed_body_opens_only_as_it_was_written(
            key in proptest::collection::vec(any::<u8>(), 0..40),
            body in proptest::collection::vec(any::<u8>(), 0..3_000),
            bit in any::<prop::sample::Index>(),
        ) {
            let mut value = framed("a.1", &key, &body);
            prop_assert_eq!(verified_body("a.1", &key, &value), Ok(&body[..]));
            prop_assert_eq!(open_hashed("a.1", &key, &value), Ok((&body[..], Digest::of(&body))));
            prop_assert!(verified_body("b.1", &key, &value).is_err());
            let mut longer = key.clone();
            longer.push(0);
            prop_assert!(verified_body("a.1", &longer, &value).is_err());
            let bit = bit.index(value.len() * 8);
            value[bit / 8] ^= 1 << (bit % 8);
            prop_assert!(verified_body("a.1", &key, &value).is_err());
            prop_assert!(open_hashed("a.1", &key, &value).is_err());
        }

        #[test]
        fn any_bytes_are_refused_without_a_panic(value in proptest::collection::vec(any::<u8>(), 0..64)) {
            prop_assert!(verified_body("a.1", b"key", &value).is_err());
        }
    }

    #[test]
    fn unknown_versions_are_distinguished_from_damage() {
        let mut value = vec![7];
        value.extend_from_slice(&frame_checksum("a.1", b"k", 7, b"body"));
        value.extend_from_slice(b"body");
        assert_eq!(verified_body("a.1", b"k", &value), Err(FrameError::Version(7)));
    }
}
