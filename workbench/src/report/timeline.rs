//! The newest builds with what became of the money in each: the log of builds, and beside it the ledger's lines by time.

use crate::workspace::WorkbenchError;
use engine::build::engine::EngineError;
use engine::build::session::Session;
use engine::store::Part;
use engine::store::builds::BuildRecord;
use engine::store::ledger::{LedgerEntry, Outcome};

/// So many builds are told.
pub const BUILDS: usize = 60;

/// A build, and what the ledger says of its time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Build {
    /// As logged.
    pub record: BuildRecord,
    /// Answers made whole.
    pub full: u64,
    /// Answers patched.
    pub patches: u64,
    /// Answers found to hold.
    pub unchanged: u64,
    /// Answers of no use.
    pub rejected: u64,
}

impl Build {
    /// Whether models were asked.
    pub fn asked(&self) -> bool {
        self.record.spent.as_ref().is_some_and(|spent| spent.calls > 0) || self.full + self.patches + self.unchanged + self.rejected > 0
    }
}

/// The newest builds, the oldest of them first.
///
/// # Errors
/// When the store cannot be read.
pub fn timeline(session: &Session) -> Result<Vec<Build>, WorkbenchError> {
    let (store, view) = (&session.engine.store, session.engine.view);
    let mut log = crate::builds::log(&**store, view).map_err(EngineError::from)?;
    let log = log.split_off(log.len().saturating_sub(BUILDS));
    let rows = store.rows(view, Part::Ledger).map_err(EngineError::from)?;
    Ok(joined(log, rows.iter().filter_map(LedgerEntry::from_row)))
}

/// Each line of the ledger goes to the build that ran in its second; where several did, to the first of them that spent anything.
fn joined(log: Vec<BuildRecord>, ledger: impl Iterator<Item = LedgerEntry>) -> Vec<Build> {
    let mut builds: Vec<Build> = log
        .into_iter()
        .map(|record| Build {
            record,
            ..Build::default()
        })
        .collect();
    for entry in ledger {
        let ran = |build: &Build| (build.record.at..=build.record.ended()).contains(&entry.at);
        let paid = |build: &Build| ran(build) && build.record.spent.is_some();
        let Some(build) = builds.iter().position(paid).or_else(|| builds.iter().position(ran)) else {
            continue;
        };
        let build = &mut builds[build];
        match entry.outcome {
            Outcome::Full => build.full += 1,
            Outcome::Patch => build.patches += 1,
            Outcome::Unchanged => build.unchanged += 1,
            Outcome::Rejected => build.rejected += 1,
            Outcome::Saved => {}
        }
    }
    builds
}

#[cfg(test)]
mod tests {
    use super::*;
    use engine::seams::paid::Spent;

    #[test]
    fn lines_go_to_the_build_of_their_time() {
        let build = |number, at, took_us, paid: bool| BuildRecord {
            number,
            at,
            took_us,
            spent: paid.then(Spent::default),
            ..BuildRecord::default()
        };
        let entry = |at, outcome| LedgerEntry {
            at,
            label: "//a:b".to_owned(),
            outcome,
            spent: Spent::default(),
            took_us: 1,
        };
        let log = vec![build(1, 10, 500, false), build(2, 10, 3_200_000, true), build(3, 20, 10, false)];
        let ledger = [
            entry(10, Outcome::Full),
            entry(13, Outcome::Patch),
            entry(13, Outcome::Saved),
            entry(15, Outcome::Full),
            entry(20, Outcome::Rejected),
        ];
        let builds = joined(log, ledger.into_iter());
        let counts: Vec<(u64, u64, u64)> = builds.iter().map(|build| (build.full, build.patches, build.rejected)).collect();
        assert_eq!(counts, [(0, 0, 0), (1, 1, 0), (0, 0, 1)]);
        assert!(!builds[0].asked() && builds[1].asked());
    }
}
