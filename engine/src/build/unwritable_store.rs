//! Unwritable stores: a build that produced nothing still succeeds; only its findings about the sources are lost.

use crate::store::StoreError;
use crate::values::codes::ErrorCode;
use crate::values::diagnostic::{Diagnostic, Severity};

/// Returns a note in place of a store error that costs only time. Errors: any other error of the store.
pub(super) fn note_read_only_store(error: StoreError) -> Result<Diagnostic, StoreError> {
    let StoreError::Io { .. } = &error else { return Err(error) };
    let why = Diagnostic::new(
        Severity::Note,
        ErrorCode::N_NOT_FILED,
        "the store is read-only: facts about the sources are not kept",
    );
    let found = why.found(error.to_string());
    Ok(found.hint("the next command computes them again; building a target needs a writable store, or --no-store"))
}
