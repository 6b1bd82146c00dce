//! Long texts in pieces: two versions of a text share all pieces but those that an edit touches, so storing a version costs the change.
//!
//! The content decides where a piece ends (FastCDC, version 2020: pieces of 4 to 64 KiB, 16 KiB on average), so an insertion moves no cut after
//! it. The root is `b"cortxt1\0"`, the digest of the whole text [32], then per piece, in order, its digest [32] and its length (`u32`,
//! little-endian). Equal texts give equal roots.

use super::digest::Digest;
use super::pages::PageError;
use super::tree::Pieces;
use fastcdc::v2020::FastCDC;
use std::collections::BTreeMap;
use std::sync::Arc;

const MAGIC: &[u8; 8] = b"cortxt1\0";

/// Minimum, average and maximum bytes of a piece.
const SIZES: (usize, usize, usize) = (4 << 10, 16 << 10, 64 << 10);

/// Maximum bytes of a text that is stored whole.
pub const LARGEST_WHOLE: usize = 256 << 10;

/// Maximum bytes reserved for a text because its root says so.
const MOST_RESERVED: usize = 64 << 20;

/// Bytes that describe a piece in the root.
const PIECE_LEN: usize = 36;

/// Whether a blob is the root of a long text.
pub fn is_long_text(blob: &[u8]) -> bool {
    blob.starts_with(MAGIC)
}

/// Returns the digest of the text below a root.
pub fn digest_of_text(root: &[u8]) -> Option<Digest> {
    root.strip_prefix(MAGIC)?.first_chunk().map(|digest| Digest(*digest))
}

/// Divides a text into pieces; `None` for a short one, which stays whole.
pub fn divide(text: &[u8]) -> Option<Pieces> {
    if text.len() <= LARGEST_WHOLE {
        return None;
    }
    let mut parts = BTreeMap::new();
    let mut root = MAGIC.to_vec();
    root.extend_from_slice(&Digest::of(text).0);
    for cut in FastCDC::new(text, SIZES.0, SIZES.1, SIZES.2) {
        let piece = &text[cut.offset..cut.offset + cut.length];
        let digest = Digest::of(piece);
        let length = u32::try_from(piece.len()).expect("invariant: no piece is longer than the maximum");
        root.extend_from_slice(&digest.0);
        root.extend_from_slice(&length.to_le_bytes());
        parts.entry(digest).or_insert_with(|| piece.into());
    }
    Some(Pieces { root, parts })
}

/// Returns the text below a root. Calls `visit` with the digest of each piece, repeats possible. Fails when a piece is missing, or the
/// pieces are not those of the text that the root names.
pub fn join_pieces<E: From<PageError>>(
    root: &[u8],
    mut fetch: impl FnMut(&Digest) -> Result<Option<Arc<[u8]>>, E>,
    mut visit: impl FnMut(Digest),
) -> Result<Vec<u8>, E> {
    let malformed = || PageError::Malformed(Digest::of(root));
    let whole = digest_of_text(root).ok_or_else(malformed)?;
    let (pieces, rest) = root[MAGIC.len() + whole.0.len()..].as_chunks::<PIECE_LEN>();
    if !rest.is_empty() {
        return Err(malformed().into());
    }
    let split = |piece: &[u8; PIECE_LEN]| {
        let (digest, length) = piece.split_last_chunk().expect("invariant: a piece has a length");
        let digest = digest.try_into().expect("invariant: a piece has a digest");
        (Digest(digest), u32::from_le_bytes(*length) as usize)
    };
    if pieces.iter().any(|piece| split(piece).1 > SIZES.2) {
        return Err(malformed().into());
    }
    let length: usize = pieces.iter().map(|piece| split(piece).1).sum();
    let mut text = Vec::with_capacity(length.min(MOST_RESERVED));
    for (digest, length) in pieces.iter().map(split) {
        visit(digest);
        let bytes = fetch(&digest)?.ok_or(PageError::Missing(digest))?;
        if bytes.len() != length {
            return Err(PageError::Malformed(digest).into());
        }
        text.extend_from_slice(&bytes);
    }
    match Digest::of(&text) == whole {
        true => Ok(text),
        false => Err(malformed().into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Returns a text of `lines` different lines.
    fn lines(lines: usize) -> String {
        (0..lines)
            .map(|line| format!("{line} {}\n", Digest::of(&line.to_le_bytes())))
            .collect()
    }

    fn joined(pieces: &Pieces) -> Result<Vec<u8>, PageError> {
        join_pieces(&pieces.root, |digest| Ok(pieces.parts.get(digest).cloned()), |_| {})
    }

    #[test]
    fn a_short_text_stays_whole() {
        assert!(divide(&vec![b'a'; LARGEST_WHOLE]).is_none());
        assert!(divide(&vec![b'a'; LARGEST_WHOLE + 1]).is_some());
    }

    #[test]
    fn a_missing_or_foreign_piece_is_an_error() {
        let mut pieces = divide(lines(10_000).as_bytes()).expect("it is long");
        let (&digest, piece) = pieces.parts.iter().next().expect("pieces");
        let other: Arc<[u8]> = piece.iter().map(|byte| byte ^ 1).collect();
        pieces.parts.insert(digest, other);
        assert_eq!(joined(&pieces), Err(PageError::Malformed(Digest::of(&pieces.root))));
        pieces.parts.insert(digest, b"short"[..].into());
        assert_eq!(joined(&pieces), Err(PageError::Malformed(digest)));
        pieces.parts.remove(&digest);
        assert_eq!(joined(&pieces), Err(PageError::Missing(digest)));
        pieces.root.pop();
        assert_eq!(joined(&pieces), Err(PageError::Malformed(Digest::of(&pieces.root))));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]

        /// Whatever an edit replaces, the text comes back, and the versions share all but a few pieces.
        #[test]
        fn versions_share_all_but_the_edited_pieces(at in 0_usize..700_000, removed in 0_usize..200, added in "[a-z\n]{0,200}") {
            let before = lines(10_000);
            let mut after = before.clone().into_bytes();
            let at = at.min(after.len());
            let end = (at + removed).min(after.len());
            after.splice(at..end, added.bytes());
            let divided = |text: &[u8]| divide(text).expect("it is long");
            let (old, new) = (divided(before.as_bytes()), divided(&after));
            prop_assert_eq!(joined(&old), Ok(before.into_bytes()));
            prop_assert_eq!(digest_of_text(&new.root), Some(Digest::of(&after)));
            prop_assert_eq!(joined(&new), Ok(after));
            let changed = new.parts.keys().filter(|digest| !old.parts.contains_key(*digest)).count();
            prop_assert!(changed <= 6, "{changed} of {} pieces", new.parts.len());
        }
    }
}
