//! Counts of applied, failed and undone edits of this checkout, in a file next to the sessions, which it outlives.

use super::files::Files;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Name of the note. Its folder is not the one that edits lock.
const NOTE: &str = "figures/edits.json";

/// Edits of a checkout in numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct EditCounts {
    /// Edits that were applied, in files or in buffers.
    pub applied: u64,
    /// Edits that were refused, matched nothing, or could not be saved.
    pub failed: u64,
    /// Edits that were undone.
    pub rolled_back: u64,
}

/// Outcome of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EditOutcome {
    Applied,
    /// An edit was not applied.
    Failed,
    RolledBack,
}

impl EditCounts {
    /// Reads the counts; none if they cannot be read.
    pub fn read_counts<F: Files>(files: &F) -> Self {
        let note = files.read_note(NOTE).ok().flatten();
        note.and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default()
    }

    /// Counts an operation. If the count cannot be written, the edit is applied nevertheless.
    pub fn count_edit<F: Files>(files: &F, outcome: EditOutcome) {
        let Ok(_alone) = files.lock_for_editing() else { return };
        let mut counts = Self::read_counts(files);
        match outcome {
            EditOutcome::Applied => counts.applied += 1,
            EditOutcome::Failed => counts.failed += 1,
            EditOutcome::RolledBack => counts.rolled_back += 1,
        }
        let bytes = serde_json::to_vec(&counts).expect("invariant: counts are plain values");
        let _ = files.write_note(NOTE, &bytes);
    }

    /// Returns the share of applied edits among the attempted ones; `None` before the first.
    pub fn success_rate(&self) -> Option<f64> {
        let tried = self.applied + self.failed;
        (tried > 0).then(|| self.applied as f64 / tried as f64)
    }
}

impl fmt::Display for EditCounts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (applied, tried) = (self.applied, self.applied + self.failed);
        write!(f, "{applied} of {tried} edits applied, {} reverted", self.rolled_back)
    }
}

#[cfg(test)]
mod tests {
    use super::super::memory::Memory;
    use super::*;

    #[test]
    fn edits_are_counted_and_damaged_counts_begin_anew() {
        let files = Memory::default();
        assert_eq!(EditCounts::read_counts(&files).success_rate(), None);
        for outcome in [
            EditOutcome::Applied,
            EditOutcome::Applied,
            EditOutcome::Failed,
            EditOutcome::RolledBack,
            EditOutcome::Applied,
        ] {
            EditCounts::count_edit(&files, outcome);
        }
        let counts = EditCounts::read_counts(&files);
        assert_eq!(
            (counts.to_string().as_str(), counts.success_rate()),
            ("3 of 4 edits applied, 1 reverted", Some(0.75))
        );
        files.write_note(NOTE, b"{").expect("written");
        EditCounts::count_edit(&files, EditOutcome::Failed);
        assert_eq!(EditCounts::read_counts(&files).success_rate(), Some(0.0));
    }
}
