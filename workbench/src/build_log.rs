//! The log of builds.

use engine::store::builds::BuildRecord;
use engine::store::{Part, Store, StoreError, ViewId};

/// Returns the builds of a view that the log still has, the oldest first.
///
/// # Errors
/// When the store cannot be read.
pub fn read_build_log(store: &dyn Store, view: ViewId) -> Result<Vec<BuildRecord>, StoreError> {
    Ok(store.rows(view, Part::Builds)?.iter().filter_map(BuildRecord::from_row).collect())
}
