//! Pages of answers about code: their default length.

/// Default number of rows in an answer about relations between types or members.
pub(super) const ROWS: usize = 200;

/// Returns [`ROWS`], for arguments that programs leave out.
pub(super) fn default_rows() -> usize {
    ROWS
}
