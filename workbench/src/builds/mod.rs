//! Builds: their log, the differences between two of them, and causes of removed targets.

mod causes;
mod difference;
mod leaves;
mod past_sources;
mod removed_symbols;
mod removed_targets;

pub use causes::{Cause, Changed, DiffReason};
pub use difference::{Difference, difference};
pub use past_sources::{FileChange, Past};
pub use removed_symbols::{Vanished, find_removed_symbol};
pub use removed_targets::{Files, TargetRemoval, files_behind, target_removal};

use engine::store::builds::BuildRecord;
use engine::store::{Part, Store, StoreError, ViewId};

/// Returns the builds of a view that the log still has, the oldest first.
pub fn log(store: &dyn Store, view: ViewId) -> Result<Vec<BuildRecord>, StoreError> {
    Ok(store.rows(view, Part::Builds)?.iter().filter_map(BuildRecord::from_row).collect())
}
