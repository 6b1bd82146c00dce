//! Differences between two builds.
//!
//! History gives the state after a build: the newest version that a build up to it stored. Versions without a build (corrections) count by their
//! time. A removed target has no output until a build stores a version again. Versions that History has dropped, and targets that the log does not
//! name, are counted separately.

use super::causes::{Between, Cause, causes, one_sided_leaves};
use super::leaves::{Leaves, Side};
use crate::build_log::read_build_log;
use engine::build::engine::EngineError;
use engine::build::file_path;
use engine::build::session::Session;
use engine::build::shared_records;
use engine::store::StoreError;
use engine::store::builds::BuildRecord;
use engine::store::records::{ActionRecord, HistoryRecord};
use engine::values::digest::ActionKey;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The difference between two builds.
#[derive(Debug, Serialize, Deserialize)]
pub struct Difference {
    /// The first build.
    pub from: BuildRecord,
    /// The second build.
    pub to: BuildRecord,
    /// Number of nodes with another output, or with one after only one of the builds.
    pub changed: usize,
    /// Number of these without an output after the first build.
    pub new: usize,
    /// Number without an output after the second build.
    pub gone: usize,
    /// Number with an evicted result, whose inputs are unknown.
    pub collected: usize,
    /// The causes, those of most changes first. A node is listed under each of its causes.
    pub causes: Vec<Cause>,
    /// Nodes whose state after one of the builds is no longer in History.
    pub forgotten: usize,
    /// Number of targets removed between the two that the log does not name.
    pub unnamed: u64,
    /// Number of targets removed after both that the log does not name: some of them may have differed.
    pub unnamed_since: u64,
}

/// Returns the difference between two builds; the inner error has the build numbers that are not in the log.
pub fn difference(session: &Session, from: u64, to: u64) -> Result<Result<Difference, Vec<u64>>, EngineError> {
    let (store, view) = (&*session.engine.store, session.engine.view);
    let builds = read_build_log(store, view)?;
    let find = |number: u64| builds.iter().find(|build| build.number == number).cloned();
    let (Some(one), Some(other)) = (find(from), find(to)) else {
        let numbers = [from, to].into_iter().filter(|number| find(*number).is_none()).collect();
        return Ok(Err(numbers));
    };
    let mut forgotten = 0;
    let mut moved: BTreeMap<Arc<str>, Between> = BTreeMap::new();
    let departures = departures(&builds);
    let mut targets: Vec<TargetKeys> = Vec::new();
    let mut labels: BTreeSet<Arc<str>> = session.graph.iter().map(|(_, node)| node.label.clone()).collect();
    labels.extend(departures.keys().map(|label| Arc::from(*label)));
    for label in labels {
        let history = store.history(view, &label)?;
        let gone = departures.get(&*label).map_or(&[][..], Vec::as_slice);
        let (Ok(before), Ok(after)) = (version_after(&history, gone, &one), version_after(&history, gone, &other)) else {
            forgotten += 1;
            continue;
        };
        targets.push((label.clone(), [before, after].map(|version| version.map(|version| version.key))));
        if before.map(|version| version.output) == after.map(|version| version.output) {
            continue;
        }
        let record = |version: Option<&HistoryRecord>| record_of_target(session, &label, version.map(|version| version.key));
        let between = Between {
            from: before.map(|version| version.output),
            to: after.map(|version| version.output),
            before: record(before)?,
            after: record(after)?,
        };
        moved.insert(label, between);
    }
    let is_made = |label: &str| session.rules.find(label).is_some() && file_path(label).is_none();
    let leaves = digests_of_leaves(session, &targets, one_sided_leaves(&moved, &is_made))?;
    let causes = causes(&moved, &leaves, &is_made);
    let (first, last) = (one.number.min(other.number), one.number.max(other.number));
    let unnamed = |taken: &dyn Fn(u64) -> bool| -> u64 {
        let taken = builds.iter().filter(|build| taken(build.number));
        taken
            .map(|build| build.gone.count.saturating_sub(build.gone.labels.len() as u64))
            .sum()
    };
    let (unnamed, unnamed_since) = (
        unnamed(&|number| number > first && number <= last),
        unnamed(&|number| number > last),
    );
    Ok(Ok(Difference {
        changed: moved.len(),
        new: moved.values().filter(|between| between.from.is_none()).count(),
        gone: moved.values().filter(|between| between.to.is_none()).count(),
        collected: moved.values().filter(|between| between.is_collected()).count(),
        from: one,
        to: other,
        causes,
        forgotten,
        unnamed,
        unnamed_since,
    }))
}

/// A target and the keys of its results before and after.
type TargetKeys = (Arc<str>, [Option<ActionKey>; 2]);

/// Returns the record of a target's result; `None` if the target has no result or it was evicted.
fn record_of_target(session: &Session, label: &str, key: Option<ActionKey>) -> Result<Option<ActionRecord>, StoreError> {
    let record = key.map(|key| session.engine.store.action(&key)).transpose()?.flatten();
    Ok(record.map(|record| shared_records::record_for(&session.rules, label, record)))
}

/// Returns the digests of these leaves, as read by targets that existed after either build.
fn digests_of_leaves(session: &Session, targets: &[TargetKeys], wanted: BTreeSet<Arc<str>>) -> Result<Leaves, StoreError> {
    let mut leaves = Leaves::new(wanted);
    if leaves.is_empty() {
        return Ok(leaves);
    }
    for (label, [before, after]) in targets {
        let then = record_of_target(session, label, *before)?;
        let now = match after {
            after if after == before => then.clone(),
            after => record_of_target(session, label, *after)?,
        };
        for (side, key, record) in [(Side::Before, before, then), (Side::After, after, now)] {
            match record {
                Some(record) => leaves.learn(side, &record.inputs),
                None if key.is_some() => leaves.fall_short(side),
                None => {}
            }
        }
    }
    Ok(leaves)
}

/// Returns the builds that removed each target, by label, the oldest first.
fn departures(builds: &[BuildRecord]) -> BTreeMap<&str, Vec<&BuildRecord>> {
    let mut departures: BTreeMap<&str, Vec<&BuildRecord>> = BTreeMap::new();
    for build in builds {
        for label in &build.gone.labels {
            departures.entry(label).or_default().push(build);
        }
    }
    departures
}

/// Returns the version after a build, unless a build in `gone` had removed its target since; `Err` when History does not reach back that far.
fn version_after<'h>(history: &'h [HistoryRecord], gone: &[&BuildRecord], build: &BuildRecord) -> Result<Option<&'h HistoryRecord>, ()> {
    let stood = |version: &&HistoryRecord| match version.build {
        Some(number) => number <= build.number,
        None => version.at <= build.end_seconds(),
    };
    let left = gone.iter().rev().find(|left| left.number <= build.number);
    let is_gone = |version: &HistoryRecord| {
        left.is_some_and(|left| match version.build {
            Some(number) => number < left.number,
            None => version.at <= left.end_seconds(),
        })
    };
    match history.iter().rev().find(stood) {
        Some(version) if is_gone(version) => Ok(None),
        Some(version) => Ok(Some(version)),
        // All of its versions were evicted after its removal.
        None if history.is_empty() && gone.iter().any(|left| left.number > build.number) => Err(()),
        None if history.first().is_some_and(|oldest| oldest.version > 1) => Err(()),
        None => Ok(None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use engine::values::digest::Digest;

    fn digest(text: &str) -> Digest {
        Digest::of(text.as_bytes())
    }

    #[test]
    fn the_version_after_a_build_is_found() {
        let version = |version, build, at| HistoryRecord {
            version,
            key: ActionKey(digest("k")),
            output: digest(&format!("{version}")),
            at,
            build,
        };
        let build = |number, at| BuildRecord {
            number,
            at,
            ..BuildRecord::default()
        };
        let history = [version(1, Some(2), 20), version(2, None, 35), version(3, Some(4), 40)];
        let number = |history: &[HistoryRecord], number, at| {
            version_after(history, &[], &build(number, at)).map(|found| found.map(|found| found.version))
        };
        assert_eq!(number(&history, 1, 10), Ok(None));
        assert_eq!(number(&history, 2, 20), Ok(Some(1)));
        assert_eq!(number(&history, 3, 30), Ok(Some(1)));
        assert_eq!(number(&history, 4, 40), Ok(Some(3)));
        assert_eq!(number(&history[1..], 4, 40), Ok(Some(3)));
        assert_eq!(number(&history[1..], 2, 20), Err(()), "trimmed");
        assert_eq!(number(&history[..2], 5, 50), Ok(Some(2)), "a correction counts by its time");
        // Removed by the third, added again by the fourth, removed for good by the sixth.
        let left = [build(3, 37), build(6, 60)];
        let left: Vec<&BuildRecord> = left.iter().collect();
        let number = |number, at| version_after(&history, &left, &build(number, at)).map(|found| found.map(|found| found.version));
        let stood = [(2, 20), (3, 37), (4, 40), (5, 50), (6, 60), (7, 70)].map(|(build, at)| number(build, at));
        assert_eq!(version_after(&[], &left, &build(5, 50)), Err(()), "its versions were collected");
        assert_eq!(version_after(&[], &left, &build(6, 60)), Ok(None));
        assert_eq!(stood, [Ok(Some(1)), Ok(None), Ok(Some(3)), Ok(Some(3)), Ok(None), Ok(None)]);
    }
}
