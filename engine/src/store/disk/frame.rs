//! The frame round every value: `[record version][check][body]`. It knows tables only as names and keys only as bytes.
//!
//! redb does not verify checksums when reading, so a flipped bit comes back as a value. The check binds a body to its table and key:
//! a body that was damaged, or that a damaged tree filed under another key, does not open.

use crate::values::digest::Digest;
use blake3::Hasher;

/// The version of all record bodies written today.
pub(super) const RECORD_VERSION: u8 = 1;

/// Bytes in front of every body.
pub(super) const HEAD: usize = 9;

/// Why a value did not open.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum FrameError {
    /// Shorter than a frame.
    #[error("it is cut short")]
    Short,
    /// The check does not fit table, key and body.
    #[error("its check does not match")]
    Check,
    /// A version of bodies that is not known here.
    #[error("its record version {0} is unknown")]
    Version(u8),
}

/// The body comes first so that long bodies hash on chunk boundaries; lengths come last and make the encoding unambiguous.
fn check(table: &str, key: &[u8], version: u8, body: &[u8]) -> [u8; 8] {
    let mut hasher = Hasher::new();
    hasher.update(body);
    check_after(hasher, table, key, version, body.len())
}

/// The check, from a hasher that has taken in the body of this length.
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

/// Puts the framed body into `out`, replacing what was there.
pub(super) fn write(out: &mut Vec<u8>, table: &str, key: &[u8], body: &[u8]) {
    out.clear();
    out.reserve_exact(HEAD + body.len());
    out.push(RECORD_VERSION);
    out.extend_from_slice(&check(table, key, RECORD_VERSION, body));
    out.extend_from_slice(body);
}

/// The framed body.
pub(super) fn framed(table: &str, key: &[u8], body: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    write(&mut out, table, key, body);
    out
}

/// The body of a framed value, once its check has been verified.
pub(super) fn open<'v>(table: &str, key: &[u8], value: &'v [u8]) -> Result<&'v [u8], FrameError> {
    let (head, body) = value.split_at_checked(HEAD).ok_or(FrameError::Short)?;
    accepted(head, check(table, key, head[0], body))?;
    Ok(body)
}

/// As [`open`], with the digest of the body: what the check hashes begins with it, so that it comes at no cost.
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
            prop_assert_eq!(open("a.1", &key, &value), Ok(&body[..]));
            prop_assert_eq!(open_hashed("a.1", &key, &value), Ok((&body[..], Digest::of(&body))));
            prop_assert!(open("b.1", &key, &value).is_err());
            let mut longer = key.clone();
            longer.push(0);
            prop_assert!(open("a.1", &longer, &value).is_err());
            let bit = bit.index(value.len() * 8);
            value[bit / 8] ^= 1 << (bit % 8);
            prop_assert!(open("a.1", &key, &value).is_err());
            prop_assert!(open_hashed("a.1", &key, &value).is_err());
        }

        #[test]
        fn any_bytes_are_refused_without_a_panic(value in proptest::collection::vec(any::<u8>(), 0..64)) {
            prop_assert!(open("a.1", b"key", &value).is_err());
        }
    }

    #[test]
    fn an_unknown_version_is_told_from_damage() {
        let mut value = vec![7];
        value.extend_from_slice(&check("a.1", b"k", 7, b"body"));
        value.extend_from_slice(b"body");
        assert_eq!(open("a.1", b"k", &value), Err(FrameError::Version(7)));
    }
}
