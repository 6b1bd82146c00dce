//! Pages of answers about code: their default length.

/// Default number of rows in an answer about relations between types or members.
pub(super) const ROWS: usize = 200;

/// Number of places in an answer to a client that sends JSON and sets no limit: such a client usually shows them to a model.
pub(super) const PLACES_FOR_CLIENTS: usize = 100;

/// Returns `N`, for an argument that programs leave out.
pub(super) fn default_number<const N: usize>() -> usize {
    N
}
