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

/// Returns the place in the log of the build that entered a line of the ledger at a moment; `None` when the log no longer has that build.
pub(crate) fn build_at(builds: &[BuildRecord], at: u64) -> Option<usize> {
    let begun = builds.partition_point(|build| build.at <= at);
    // Lines have the second in which their build began; a build that gave the checkout back enters some later. Of two builds of one second, only one
    // usually asked.
    let of_second = builds[..begun].partition_point(|build| build.at < at);
    let has_asked = |place: &usize| builds[*place].spent.is_some() || builds[*place].saved.is_some();
    let is_running = |place: &usize| at <= builds[*place].end_seconds() + 1;
    let asked = (of_second..begun).rev().find(has_asked);
    asked.or_else(|| (0..begun).rev().find(is_running))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_belongs_to_the_last_build_that_was_running() {
        let build = |at, took_s: u64| BuildRecord {
            at,
            took_us: took_s * 1_000_000,
            ..BuildRecord::default()
        };
        let builds = [build(10, 5), build(16, 2)];
        let found: Vec<Option<usize>> = [9, 10, 15, 16, 19, 20].iter().map(|at| build_at(&builds, *at)).collect();
        assert_eq!(found, [None, Some(0), Some(0), Some(1), Some(1), None]);
    }
}
