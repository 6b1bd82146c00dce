//! What stands although the store cannot be written: nothing had to be made, and what was found out on the way is found out again.

use crate::store::StoreError;
use crate::values::codes::ErrorCode;
use crate::values::diagnostic::{Diagnostic, Severity};

/// A note in place of an error of the store that costs nothing but time.
///
/// # Errors
/// Any other error of the store.
pub(super) fn excused(error: StoreError) -> Result<Diagnostic, StoreError> {
    let StoreError::Io { .. } = &error else { return Err(error) };
    let why = Diagnostic::new(
        Severity::Note,
        ErrorCode::N_NOT_FILED,
        "the store cannot be written: what is found out of the sources is not kept",
    );
    let found = why.found(error.to_string());
    Ok(found.hint("the next command finds it out again; what has to be made needs a store that can be written, or --no-store"))
}
