//! Pages of answers about code: their default length.

/// Default number of rows in an answer about relations between types or members.
pub(super) const ROWS: usize = 200;

/// Returns [`ROWS`], for arguments that programs leave out.
pub(super) fn default_rows() -> usize {
    ROWS
}

/// Number of places in an answer to a client that sends JSON and sets no limit: such a client usually shows them to a model.
pub(super) const PLACES_FOR_CLIENTS: usize = 100;

/// Returns [`PLACES_FOR_CLIENTS`], for arguments that programs leave out.
pub(super) fn default_places() -> usize {
    PLACES_FOR_CLIENTS
}
