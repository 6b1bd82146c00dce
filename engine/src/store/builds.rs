//! The log of builds: what each build that made, found or lost anything came to. The newest [`KEEP_BUILDS`] of a view are kept.
//!
//! Encoded with minicbor in `Part::Builds`. Row key: the build's number (u64, big-endian). A row is written in the build's own last
//! commit, so a build that was killed has none; versions that it pushed have no number either, for they are in that same commit.

use super::{Part, Row, RowChange, ledger};
use crate::seams::paid::Spent;
use crate::values::diagnostic::Diagnostic;
use minicbor::{Decode, Encode};
use serde::{Deserialize, Serialize};

/// How many builds of a view the log keeps.
pub const KEEP_BUILDS: u64 = 1_000;

/// So many targets that are gone are named.
pub const GONE: usize = 256;

/// So many targets that failed are named.
pub const FAILED: usize = 64;

/// So much of why is kept, in characters.
const WHY: usize = 200;

/// How a build ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, Encode, Decode)]
#[cbor(index_only)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// Everything asked for is there.
    #[default]
    #[n(0)]
    Ok,
    /// Something failed, or a limit was reached.
    #[n(1)]
    Failed,
    /// It was told to stop.
    #[n(2)]
    Cancelled,
}

/// What a build did, in numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, Encode, Decode)]
#[cbor(map)]
pub struct Counts {
    /// Targets asked for.
    #[n(0)]
    pub targets: u64,
    /// Producers that ran.
    #[n(1)]
    pub ran: u64,
    /// Results found under their keys.
    #[n(2)]
    pub cached: u64,
    /// Nodes that were looked at and whose key had not moved.
    #[n(3)]
    pub verified: u64,
    /// Nodes without output because their producer failed.
    #[n(4)]
    pub failed: u64,
    /// Nodes not tried because an input had no output.
    #[n(5)]
    pub skipped: u64,
}

/// What became of the answers that a build was given: results that models made, and tries of no use. What was found filed is not among them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, Encode, Decode)]
#[cbor(map)]
pub struct Answers {
    /// Made whole.
    #[n(0)]
    pub full: u64,
    /// An earlier one, patched.
    #[n(1)]
    pub patches: u64,
    /// An earlier one, found to hold.
    #[n(2)]
    pub unchanged: u64,
    /// Could not be an output.
    #[n(3)]
    pub rejected: u64,
}

impl Counts {
    /// Counts what another build did, too.
    pub fn add(&mut self, other: &Self) {
        self.targets += other.targets;
        self.ran += other.ran;
        self.cached += other.cached;
        self.verified += other.verified;
        self.failed += other.failed;
        self.skipped += other.skipped;
    }

    /// How many of those looked at needed no making.
    pub fn hits(&self) -> u64 {
        self.cached + self.verified
    }
}

impl Answers {
    /// Counts one.
    pub fn add(&mut self, outcome: ledger::Outcome) {
        match outcome {
            ledger::Outcome::Full => self.full += 1,
            ledger::Outcome::Patch => self.patches += 1,
            ledger::Outcome::Unchanged => self.unchanged += 1,
            ledger::Outcome::Rejected => self.rejected += 1,
            ledger::Outcome::Saved => {}
        }
    }

    /// Counts those of another build, too.
    pub fn add_all(&mut self, other: &Self) {
        self.full += other.full;
        self.patches += other.patches;
        self.unchanged += other.unchanged;
        self.rejected += other.rejected;
    }

    /// How many there were.
    pub fn sum(&self) -> u64 {
        self.full + self.patches + self.unchanged + self.rejected
    }
}

/// A node that took long.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, Encode, Decode)]
#[cbor(map)]
pub struct Slow {
    /// The node.
    #[n(0)]
    pub label: String,
    /// Microseconds that its producer took.
    #[n(1)]
    pub took_us: u64,
    /// What came of it: `ran`.
    #[n(2)]
    pub how: String,
}

/// What one producer's targets came to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, Encode, Decode)]
#[cbor(map)]
pub struct OfProducer {
    /// The implementation, as in `csharp/outline`.
    #[n(0)]
    pub uses: String,
    /// How often it ran.
    #[n(1)]
    pub ran: u64,
    /// How often a result of it was found.
    #[n(2)]
    pub cached: u64,
    /// How often it failed.
    #[n(3)]
    pub failed: u64,
    /// Microseconds that its runs took together.
    #[n(4)]
    pub took_us: u64,
}

impl OfProducer {
    /// Counts what another build did with it, too.
    pub fn add(&mut self, other: &Self) {
        self.ran += other.ran;
        self.cached += other.cached;
        self.failed += other.failed;
        self.took_us = self.took_us.saturating_add(other.took_us);
    }
}

/// Targets that no rule, set or source gives any more.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, Encode, Decode)]
#[cbor(map)]
pub struct Gone {
    /// How many went.
    #[n(0)]
    pub count: u64,
    /// The labels of the first [`GONE`] of them, in order.
    #[n(1)]
    pub labels: Vec<String>,
}

impl Gone {
    /// Those of these labels.
    pub fn of(mut labels: Vec<String>) -> Self {
        let count = labels.len() as u64;
        labels.sort_unstable();
        labels.truncate(GONE);
        Self { count, labels }
    }
}

/// A target that failed.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, Encode, Decode)]
#[cbor(map)]
pub struct FailedTarget {
    /// Its label.
    #[n(0)]
    pub label: String,
    /// The code of what was wrong.
    #[n(1)]
    pub code: String,
    /// The sentence about it, cut.
    #[n(2)]
    pub message: String,
}

impl FailedTarget {
    /// One of which this was told.
    pub fn of(label: &str, why: &Diagnostic) -> Self {
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

/// One build.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, Encode, Decode)]
#[cbor(map)]
pub struct BuildRecord {
    /// Its number in this view, from 1.
    #[n(0)]
    pub number: u64,
    /// Seconds since 1970 when it began.
    #[n(1)]
    pub at: u64,
    /// Microseconds from there to its last commit.
    #[n(2)]
    pub took_us: u64,
    /// What was called, and for which patterns: `build //types/...:outline`.
    #[n(3)]
    pub command: String,
    /// What happened.
    #[n(4)]
    pub counts: Counts,
    /// What it cost, failed tries included; `None` when nobody was asked.
    #[n(5)]
    pub spent: Option<Spent>,
    /// The commit that was checked out, in hexadecimal, if the checkout is one of git's.
    #[n(6)]
    pub commit: Option<String>,
    /// Whether files were not as that commit has them; `None` when that is not known.
    #[n(7)]
    pub dirty: Option<bool>,
    /// How it ended.
    #[n(8)]
    pub outcome: Outcome,
    /// The nodes that took longest, the longest first.
    #[n(9)]
    pub slowest: Vec<Slow>,
    /// Results by producer, by name.
    #[n(10)]
    pub producers: Vec<OfProducer>,
    /// What the results found under their keys had cost.
    #[n(11)]
    pub saved: Option<Spent>,
    /// Microseconds that they had taken to make.
    #[n(12)]
    #[cbor(default)]
    pub saved_us: u64,
    /// What became of the answers that it was given.
    #[n(13)]
    #[cbor(default)]
    pub answers: Answers,
    /// Targets that had an output until it took them away.
    #[n(14)]
    #[cbor(default)]
    pub gone: Gone,
    /// The first [`FAILED`] of the targets that failed, in order.
    #[n(15)]
    #[cbor(default)]
    pub failures: Vec<FailedTarget>,
}

impl BuildRecord {
    /// The rows to write: its own, and that of the build that it pushes out.
    pub fn to_rows(&self) -> Vec<RowChange> {
        let body = minicbor::to_vec(self).expect("invariant: encoding into memory does not fail");
        let mut rows = vec![(Part::Builds, key(self.number), Some(body))];
        if let Some(outdated) = self.number.checked_sub(KEEP_BUILDS).filter(|number| *number > 0) {
            rows.push((Part::Builds, key(outdated), None));
        }
        rows
    }

    /// The build in a row; `None` when it cannot be decoded.
    pub fn from_row((_, body): &Row) -> Option<Self> {
        minicbor::decode(body).ok()
    }

    /// Seconds since 1970 when its last commit was made.
    pub fn end_seconds(&self) -> u64 {
        self.at.saturating_add(self.took_us / 1_000_000)
    }
}

/// The row key of a build.
pub fn key(number: u64) -> Vec<u8> {
    number.to_be_bytes().to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn builds_come_back_and_push_out_the_oldest() {
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
            failures: vec![FailedTarget::of("//a:c", &Diagnostic::error("E_TEST", "é".repeat(WHY + 1)))],
            gone: Gone::of((0..300).rev().map(|n| format!("//n/{n:03}:x")).collect()),
            ..BuildRecord::default()
        };
        assert_eq!((build.gone.count, build.gone.labels.len()), (300, GONE));
        assert_eq!(build.gone.labels[0], "//n/000:x");
        assert_eq!(build.failures[0].message, "é".repeat(WHY) + "…");
        let rows = build.to_rows();
        let (_, row_key, body) = rows[0].clone();
        assert_eq!(BuildRecord::from_row(&(row_key, body.expect("a body"))), Some(build));
        assert_eq!(rows[1], (Part::Builds, key(3), None));
        let first = BuildRecord {
            number: KEEP_BUILDS,
            ..BuildRecord::default()
        };
        assert_eq!(first.to_rows().len(), 1, "there is no build 0");
        assert_eq!(BuildRecord::from_row(&(Vec::new(), vec![0xff])), None);
    }
}
