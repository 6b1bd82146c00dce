//! Outputs in pieces: a root blob that names other blobs by their digests, as trees (see [`super::tree`]), large tables in pages (see
//! [`super::pages`]) and long texts (see [`super::long_text`]). Code that stores, sends or checks an output handles both through this module.

use super::digest::Digest;
use super::long_text;
use super::pages::{self, PageError};
use super::tree::{self, Pieces, TreeError};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Reason why an output's pieces are incomplete.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PieceError {
    #[error(transparent)]
    Tree(#[from] TreeError),
    /// In a table or a long text.
    #[error(transparent)]
    Page(#[from] PageError),
}

/// Whether a blob names other blobs.
pub fn is_root(blob: &[u8]) -> bool {
    tree::is_tree(blob) || pages::is_branch(blob) || long_text::is_long_text(blob)
}

/// Calls `visit` with the digest of each piece below a root, repeats possible. `fetch` loads the blobs. Fails when a piece is missing, or
/// does not have the form that its parent states.
pub fn each_piece<E: From<TreeError> + From<PageError>>(
    root: &Arc<[u8]>,
    mut fetch: impl FnMut(&Digest) -> Result<Option<Arc<[u8]>>, E>,
    mut visit: impl FnMut(Digest),
) -> Result<(), E> {
    if pages::is_branch(root) {
        return pages::each_page(root, fetch, |digest, _| visit(digest));
    }
    if long_text::is_long_text(root) {
        return long_text::join_pieces(root, fetch, visit).map(drop);
    }
    if tree::is_tree(root) {
        tree::files(root, |digest| {
            visit(*digest);
            fetch(digest)
        })?;
    }
    Ok(())
}

/// Converts an output to its stored form: a large table in pages, anything else as it is.
pub fn stored(bytes: Vec<u8>, parts: BTreeMap<Digest, Arc<[u8]>>) -> Pieces {
    match pages::divide(&bytes) {
        Some(pieces) if parts.is_empty() => pieces,
        _ => Pieces { root: bytes, parts },
    }
}

/// Returns an output as its readers see it: a table in one page, a long text whole, anything else as it is.
pub fn readable<E: From<PageError>>(root: &Arc<[u8]>, fetch: impl FnMut(&Digest) -> Result<Option<Arc<[u8]>>, E>) -> Result<Arc<[u8]>, E> {
    if pages::is_branch(root) {
        pages::flatten(root, fetch)
    } else if long_text::is_long_text(root) {
        long_text::join_pieces(root, fetch, |_| {}).map(Into::into)
    } else {
        Ok(root.clone())
    }
}
