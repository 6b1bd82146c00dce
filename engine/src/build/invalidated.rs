//! Invalidation: a person marks targets to be rebuilt although results of their present keys are stored. The next build of a marked target runs its
//! producer; until then it is stale.
//!
//! Their labels are stored in `Part::State` (key `invalidated`), one per line, each with a tab and the stamp of the result to replace: once any
//! process stores another result under the key, the target is rebuilt.

use crate::store::records::ActionRecord;
use crate::store::{Part, RowChange, Store, StoreError, ViewId};
use crate::values::digest::ActionKey;
use std::collections::BTreeMap;

const KEY: &[u8] = b"invalidated";

/// Distinguishes a result from all others under its key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InvalidatedResult(u64);

impl InvalidatedResult {
    /// Computes the stamp of a result under a key.
    pub fn from_result(key: &ActionKey, record: &ActionRecord) -> Self {
        let mut hasher = blake3::Hasher::new_derive_key("cortex 2026-11 invalidated result 1");
        hasher.update(&key.0.0).update(&record.output.0);
        hasher.update(&record.made_at.to_le_bytes()).update(&record.took_us.to_le_bytes());
        let hash = hasher.finalize();
        Self(u64::from_le_bytes(
            *hash.as_bytes().first_chunk().expect("invariant: a hash has 32 bytes"),
        ))
    }
}

/// Invalidated labels, each with the stamp of the result to replace.
pub type Marks = BTreeMap<String, InvalidatedResult>;

/// Reads the invalidated labels of a view.
pub(super) fn read_marks(store: &dyn Store, view: ViewId) -> Result<Marks, StoreError> {
    let row = store.row(view, Part::State, KEY)?.unwrap_or_default();
    let text = String::from_utf8_lossy(&row);
    let mark = |line: &str| {
        let (label, stamp) = line.split_once('\t')?;
        Some((label.to_owned(), InvalidatedResult(u64::from_str_radix(stamp, 16).ok()?)))
    };
    Ok(text.lines().filter_map(mark).collect())
}

/// Returns the row that stores invalidated labels.
pub(super) fn marks_row(marks: &Marks) -> RowChange {
    let lines: Vec<String> = marks.iter().map(|(label, stamp)| format!("{label}\t{:016x}", stamp.0)).collect();
    let text = lines.join("\n");
    (Part::State, KEY.to_vec(), (!text.is_empty()).then(|| text.into_bytes()))
}
