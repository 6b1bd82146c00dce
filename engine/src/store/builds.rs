//! The log of builds: the outcome of each build that built, found or lost a result. The newest [`KEEP_BUILDS`] of a view are kept.
//!
//! Encoded with minicbor in `Part::Builds`. Row key: the build's number (u64, big-endian). The build's own last commit writes the row,
//! so a killed build has none, and no versions with its number: these are in the same commit.

use super::{Part, Row, RowChange, ledger};
use crate::seams::paid::Spent;
use crate::seams::world::Change;
use crate::values::cbor;
use crate::values::diagnostic::Diagnostic;
use crate::values::digest::Digest;
use minicbor::{Decode, Encode};
use serde::{Deserialize, Serialize};

/// Number of builds of a view that the log keeps.
pub const KEEP_BUILDS: u64 = 1_000;

/// Maximum number of removed targets recorded by label.
pub const GONE: usize = 256;

/// Maximum number of failed targets recorded by label.
pub const FAILED: usize = 64;

/// Maximum number of changed files recorded by path.
pub const CHANGED: usize = 1_000;

/// Maximum length of a failure's message, in characters.
const WHY: usize = 200;

/// Outcome of a build.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, Encode, Decode)]
#[cbor(index_only)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// Everything requested is built.
    #[default]
    #[n(0)]
    Ok,
    /// A target failed, or a limit was reached.
    #[n(1)]
    Failed,
    #[n(2)]
    Cancelled,
}

/// Counts of a build.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, Encode, Decode)]
#[cbor(map)]
pub struct Counts {
    #[n(0)]
    pub targets: u64,
    #[n(1)]
    pub ran: u64,
    /// Results found under their keys.
    #[n(2)]
    pub cached: u64,
    /// Nodes that were checked and whose key had not changed.
    #[n(3)]
    pub verified: u64,
    /// Nodes without output because their producer failed.
    #[n(4)]
    pub failed: u64,
    /// Nodes not tried because an input had no output.
    #[n(5)]
    pub skipped: u64,
}

/// Counts of the answers that a build received from models, by outcome. Results found in the cache are not counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, Encode, Decode)]
#[cbor(map)]
pub struct Answers {
    #[n(0)]
    pub full: u64,
    /// Patches of an earlier answer.
    #[n(1)]
    pub patches: u64,
    #[n(2)]
    pub unchanged: u64,
    /// Answers that could not be an output.
    #[n(3)]
    pub rejected: u64,
}

impl Counts {
    /// Adds the counts of another build.
    pub fn add(&mut self, other: &Self) {
        self.targets += other.targets;
        self.ran += other.ran;
        self.cached += other.cached;
        self.verified += other.verified;
        self.failed += other.failed;
        self.skipped += other.skipped;
    }

    /// Returns the number of nodes that did not need to run.
    pub fn hits(&self) -> u64 {
        self.cached + self.verified
    }
}

impl Answers {
    pub fn add(&mut self, outcome: ledger::Outcome) {
        match outcome {
            ledger::Outcome::Full => self.full += 1,
            ledger::Outcome::Patch => self.patches += 1,
            ledger::Outcome::Unchanged => self.unchanged += 1,
            ledger::Outcome::Rejected => self.rejected += 1,
            ledger::Outcome::Saved => {}
        }
    }

    /// Adds the counts of another build's answers.
    pub fn add_all(&mut self, other: &Self) {
        self.full += other.full;
        self.patches += other.patches;
        self.unchanged += other.unchanged;
        self.rejected += other.rejected;
    }

    pub fn sum(&self) -> u64 {
        self.full + self.patches + self.unchanged + self.rejected
    }
}

/// A slow node.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, Encode, Decode)]
#[cbor(map)]
pub struct Slow {
    #[n(0)]
    pub label: String,
    /// Duration of its producer, in microseconds.
    #[n(1)]
    pub took_us: u64,
    /// Its outcome: `ran`.
    #[n(2)]
    pub how: String,
}

/// Counts of one producer's targets.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, Encode, Decode)]
#[cbor(map)]
pub struct OfProducer {
    /// The implementation, as in `csharp/outline`.
    #[n(0)]
    pub uses: String,
    /// Number of its runs.
    #[n(1)]
    pub ran: u64,
    /// Number of its results found in the cache.
    #[n(2)]
    pub cached: u64,
    /// Number of its failures.
    #[n(3)]
    pub failed: u64,
    /// Total duration of its runs, in microseconds.
    #[n(4)]
    pub took_us: u64,
}

impl OfProducer {
    /// Adds the counts of the same producer in another build.
    pub fn add(&mut self, other: &Self) {
        self.ran += other.ran;
        self.cached += other.cached;
        self.failed += other.failed;
        self.took_us = self.took_us.saturating_add(other.took_us);
    }
}

/// Targets that no rule, set or source defines any more.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, Encode, Decode)]
#[cbor(map)]
pub struct Gone {
    #[n(0)]
    pub count: u64,
    /// The labels of the first [`GONE`] of them, sorted.
    #[n(1)]
    pub labels: Vec<String>,
}

impl Gone {
    pub fn from_labels(mut labels: Vec<String>) -> Self {
        let count = labels.len() as u64;
        labels.sort_unstable();
        labels.truncate(GONE);
        Self { count, labels }
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, Encode, Decode)]
#[cbor(map)]
pub struct FailedTarget {
    #[n(0)]
    pub label: String,
    #[n(1)]
    pub code: String,
    /// The error message, cut.
    #[n(2)]
    pub message: String,
}

/// A source file that a build found changed.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
#[cbor(map)]
pub struct ChangedFile {
    /// Its path.
    #[n(0)]
    pub path: String,
    /// The first 64 bits of the digest of its earlier content, if it was a source.
    #[n(1)]
    pub from: Option<u64>,
    /// The first 64 bits of the digest of its content.
    #[n(2)]
    pub to: u64,
}

impl ChangedFile {
    /// Returns the changed files that still exist; `None` if there are too many.
    pub fn from_changes(changes: &[Change]) -> Option<Vec<Self>> {
        let short = |digest: Digest| {
            let [a, b, c, d, e, f, g, h, ..] = digest.0;
            u64::from_be_bytes([a, b, c, d, e, f, g, h])
        };
        let file = |change: &Change| {
            Some(Self {
                path: change.path.clone(),
                from: change.from.map(short),
                to: short(change.to?),
            })
        };
        (changes.len() <= CHANGED).then(|| changes.iter().filter_map(file).collect())
    }
}

impl FailedTarget {
    /// Returns the record of a target that failed with this diagnostic.
    pub fn from_diagnostic(label: &str, why: &Diagnostic) -> Self {
        let mut message: String = why.message.chars().take(WHY).collect();
        if message.len() < why.message.len() {
            message.push('…');
        }
        Self {
            label: label.to_owned(),
            code: why.code.clone(),
            message,
        }
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, Encode, Decode)]
#[cbor(map)]
pub struct BuildRecord {
    /// Its number in this view, from 1.
    #[n(0)]
    pub number: u64,
    /// Time at which it started, in seconds since 1970.
    #[n(1)]
    pub at: u64,
    /// Duration until its last commit, in microseconds.
    #[n(2)]
    pub took_us: u64,
    /// The command with its patterns: `build //types/...:outline`.
    #[n(3)]
    pub command: String,
    #[n(4)]
    pub counts: Counts,
    /// Its cost, failed tries included; `None` if no model was asked.
    #[n(5)]
    pub spent: Option<Spent>,
    /// The commit that was checked out, in hexadecimal, if the checkout is one of git's.
    #[n(6)]
    pub commit: Option<String>,
    /// Whether files differed from that commit; `None` if unknown.
    #[n(7)]
    pub dirty: Option<bool>,
    #[n(8)]
    pub outcome: Outcome,
    /// The slowest nodes, the slowest first.
    #[n(9)]
    pub slowest: Vec<Slow>,
    /// Counts by producer, sorted by name.
    #[n(10)]
    pub producers: Vec<OfProducer>,
    /// Original cost of the results found in the cache.
    #[n(11)]
    pub saved: Option<Spent>,
    /// Original duration of their runs, in microseconds.
    #[n(12)]
    #[cbor(default)]
    pub saved_us: u64,
    /// Answers received from models, by outcome.
    #[n(13)]
    #[cbor(default)]
    pub answers: Answers,
    /// Targets with an output that it removed.
    #[n(14)]
    #[cbor(default)]
    pub gone: Gone,
    /// The first [`FAILED`] of the failed targets, sorted.
    #[n(15)]
    #[cbor(default)]
    pub failures: Vec<FailedTarget>,
    /// Source files that it found changed since the last build; `None` if it planned everything anew, or found more than [`CHANGED`].
    #[n(16)]
    #[cbor(default)]
    #[serde(skip)]
    pub changed: Option<Vec<ChangedFile>>,
}

impl BuildRecord {
    /// Returns the rows to write: its own, and the removal of the build that it pushes out.
    pub fn to_rows(&self) -> Vec<RowChange> {
        let body = cbor::encode(self);
        let mut rows = vec![(Part::Builds, key_of_build(self.number), Some(body))];
        if let Some(outdated) = self.number.checked_sub(KEEP_BUILDS).filter(|number| *number > 0) {
            rows.push((Part::Builds, key_of_build(outdated), None));
        }
        rows
    }

    /// Decodes the build in a row; `None` if it is malformed.
    pub fn from_row((_, body): &Row) -> Option<Self> {
        minicbor::decode(body).ok()
    }

    /// Returns the time of its last commit in seconds since 1970.
    pub fn end_seconds(&self) -> u64 {
        self.at.saturating_add(self.took_us / 1_000_000)
    }
}

/// Returns the row key of a build.
pub fn key_of_build(number: u64) -> Vec<u8> {
    number.to_be_bytes().to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(path: &str, from: Option<&[u8]>, to: Option<&[u8]>) -> Change {
        Change {
            path: path.to_owned(),
            from: from.map(Digest::of),
            to: to.map(Digest::of),
        }
    }

    #[test]
    fn builds_round_trip_and_evict_the_oldest() {
        let build = BuildRecord {
            number: KEEP_BUILDS + 3,
            command: "build //...".to_owned(),
            dirty: Some(true),
            outcome: Outcome::Cancelled,
            slowest: vec![Slow {
                label: "//a:b".to_owned(),
                took_us: 9,
                how: "ran".to_owned(),
            }],
            spent: Some(Spent::default()),
            answers: Answers {
                patches: 2,
                ..Answers::default()
            },
            failures: vec![FailedTarget::from_diagnostic(
                "//a:c",
                &Diagnostic::error("E_TEST", "é".repeat(WHY + 1)),
            )],
            changed: ChangedFile::from_changes(&[
                change("a.cs", Some(b"before"), Some(b"after")),
                change("new.cs", None, Some(b"new")),
                change("gone.cs", Some(b"gone"), None),
            ]),
            gone: Gone::from_labels((0..300).rev().map(|n| format!("//n/{n:03}:x")).collect()),
            ..BuildRecord::default()
        };
        assert_eq!((build.gone.count, build.gone.labels.len()), (300, GONE));
        assert_eq!(build.gone.labels[0], "//n/000:x");
        let paths = |build: &BuildRecord| -> Vec<String> { build.changed.iter().flatten().map(|file| file.path.clone()).collect() };
        assert_eq!(paths(&build), ["a.cs", "new.cs"]);
        let many = vec![change("a.cs", None, Some(b"a")); CHANGED + 1];
        assert_eq!(ChangedFile::from_changes(&many), None);
        assert_eq!(build.failures[0].message, "é".repeat(WHY) + "…");
        let rows = build.to_rows();
        let (_, row_key, body) = rows[0].clone();
        assert_eq!(BuildRecord::from_row(&(row_key, body.expect("a body"))), Some(build));
        assert_eq!(rows[1], (Part::Builds, key_of_build(3), None));
        let first = BuildRecord {
            number: KEEP_BUILDS,
            ..BuildRecord::default()
        };
        assert_eq!(first.to_rows().len(), 1, "there is no build 0");
        assert_eq!(BuildRecord::from_row(&(Vec::new(), vec![0xff])), None);
    }
}
