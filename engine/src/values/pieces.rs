//! Outputs in pieces: a root blob that names other blobs by their digests, as trees (see [`super::tree`]) and large tables in pages (see
//! [`super::pages`]). Code that stores, sends or checks an output handles both through this module.

use super::digest::Digest;
use super::pages::{self, PageError};
use super::tree::{self, Pieces, TreeError};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Reason why an output's pieces are incomplete.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PieceError {
    /// In a tree.
    #[error(transparent)]
    Tree(#[from] TreeError),
    /// In a table.
    #[error(transparent)]
    Page(#[from] PageError),
}

/// Whether a blob names other blobs.
pub fn is_root(blob: &[u8]) -> bool {
    tree::is_tree(blob) || pages::is_branch(blob)
}

/// Calls `visit` with the digest of each piece below a root, repeats possible. `fetch` loads the blobs.
///
/// # Errors
/// When a piece is missing, or does not have the form that its parent states.
pub fn each_piece<E: From<TreeError> + From<PageError>>(
    root: &Arc<[u8]>,
    mut fetch: impl FnMut(&Digest) -> Result<Option<Arc<[u8]>>, E>,
    mut visit: impl FnMut(Digest),
) -> Result<(), E> {
    if pages::is_branch(root) {
        return pages::each_page(root, fetch, |digest, _| visit(digest));
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

/// Returns an output as its readers see it: a table in one page, anything else as it is.
///
/// # Errors
/// When a page is missing or malformed.
pub fn readable<E: From<PageError>>(root: &Arc<[u8]>, fetch: impl FnMut(&Digest) -> Result<Option<Arc<[u8]>>, E>) -> Result<Arc<[u8]>, E> {
    match pages::is_branch(root) {
        true => pages::flatten(root, fetch).map(Into::into),
        false => Ok(root.clone()),
    }
}
