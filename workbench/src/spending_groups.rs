//! Money spent and saved, grouped by commit, author, producer or month.

use crate::build_log::read_build_log;
use crate::git;
use crate::spending::Sum;
use engine::build::session::Session;
use engine::store::builds::BuildRecord;
use engine::store::ledger::{LedgerEntry, Outcome};
use engine::store::{Part, StoreError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::time::{Duration, UNIX_EPOCH};

/// Grouping of the lines of the ledger.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum By {
    /// The commit that was checked out when the build ran.
    Commit,
    /// The author of that commit.
    Author,
    /// The producer that asked.
    Producer,
    /// The month, in UTC.
    Month,
}

/// Totals of a group.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Group {
    /// The commit, author, producer or month.
    pub name: String,
    pub spent: Sum,
    /// Original cost of the stored answers that were used.
    pub saved: Sum,
}

/// The group of entries that no build of the log explains.
const UNKNOWN: &str = "unknown";

/// Groups the entries since `since` (seconds since 1970): months, commits and authors in the order of their first line, producers by name.
pub fn groups(root: &Path, session: &Session, since: u64, by: By) -> Result<Vec<Group>, StoreError> {
    let rows = session.engine.store.rows(session.engine.view, Part::Ledger)?;
    let entries = rows.iter().filter_map(LedgerEntry::from_row).filter(|entry| entry.at >= since);
    let builds = match by {
        By::Commit | By::Author => read_build_log(&*session.engine.store, session.engine.view)?,
        By::Producer | By::Month => Vec::new(),
    };
    let mut authors: HashMap<String, String> = HashMap::new();
    let name = |entry: &LedgerEntry| match by {
        By::Month => month(entry.at),
        By::Producer => producer(session, &entry.label).unwrap_or_else(|| UNKNOWN.to_owned()),
        By::Commit => commit_at(&builds, entry.at).unwrap_or(UNKNOWN).to_owned(),
        By::Author => match commit_at(&builds, entry.at) {
            None => UNKNOWN.to_owned(),
            Some(commit) => authors
                .entry(commit.to_owned())
                .or_insert_with(|| git::author(root, commit).unwrap_or_else(|| UNKNOWN.to_owned()))
                .clone(),
        },
    };
    Ok(group_entries(entries, name))
}

fn group_entries(entries: impl Iterator<Item = LedgerEntry>, mut name: impl FnMut(&LedgerEntry) -> String) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    let mut places: BTreeMap<String, usize> = BTreeMap::new();
    for entry in entries {
        let name = name(&entry);
        let at = *places.entry(name.clone()).or_insert_with(|| {
            groups.push(Group { name, ..Group::default() });
            groups.len() - 1
        });
        let sum = match entry.outcome {
            Outcome::Saved => &mut groups[at].saved,
            _ => &mut groups[at].spent,
        };
        sum.add_entry(&entry);
    }
    groups
}

/// Returns the commit of the build that entered a line at a moment; `None` when the log no longer has that build.
fn commit_at(builds: &[BuildRecord], at: u64) -> Option<&str> {
    let begun = &builds[..builds.partition_point(|build| build.at <= at)];
    // Lines have the second in which their build began; a build that gave the checkout back enters some later. Of two builds of one second, only one
    // usually asked.
    let of_second = &begun[begun.partition_point(|build| build.at < at)..];
    let asked = of_second.iter().rfind(|build| build.spent.is_some() || build.saved.is_some());
    let running = || begun.iter().rfind(|build| at <= build.end_seconds() + 1);
    asked.or_else(running)?.commit.as_deref()
}

fn producer(session: &Session, label: &str) -> Option<String> {
    let rule = session.rules.rule(session.rules.find(label)?.rule);
    let producers = &session.rules.manifest().producers;
    producers.get(rule.producer as usize).map(|producer| producer.name.to_string())
}

/// Formats a month as `2026-11`.
fn month(secs: u64) -> String {
    let text = humantime::format_rfc3339_seconds(UNIX_EPOCH + Duration::from_secs(secs)).to_string();
    text[..7].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use engine::seams::paid::Spent;

    fn entry(at: u64, outcome: Outcome, micros: u64) -> LedgerEntry {
        LedgerEntry {
            at,
            label: "//a:s".to_owned(),
            outcome,
            spent: Spent {
                model: "m".to_owned(),
                calls: 1,
                micros: Some(micros),
                ..Spent::default()
            },
            took_us: 1,
        }
    }

    #[test]
    fn lines_are_summed_by_name_in_the_order_of_time() {
        let entries = [
            entry(1_764_201_600, Outcome::Full, 5),
            entry(1_764_547_200, Outcome::Patch, 1),
            entry(1_764_547_201, Outcome::Saved, 7),
            entry(1_764_201_601, Outcome::Rejected, 2),
        ];
        let found = group_entries(entries.into_iter(), |entry| month(entry.at));
        let answer: Vec<(&str, u64, Option<u64>, Option<u64>)> = found
            .iter()
            .map(|group| {
                (
                    group.name.as_str(),
                    group.spent.times,
                    group.spent.spent.micros,
                    group.saved.spent.micros,
                )
            })
            .collect();
        assert_eq!(answer, [("2025-11", 2, Some(7), None), ("2025-12", 1, Some(1), Some(7))]);
    }

    #[test]
    fn a_line_belongs_to_the_last_build_that_was_running() {
        let build = |at, took_s: u64, commit: &str| BuildRecord {
            at,
            took_us: took_s * 1_000_000,
            commit: Some(commit.to_owned()),
            ..BuildRecord::default()
        };
        let builds = [build(10, 5, "a"), build(16, 2, "b")];
        let found: Vec<Option<&str>> = [9, 10, 15, 16, 19, 20].iter().map(|at| commit_at(&builds, *at)).collect();
        assert_eq!(found, [None, Some("a"), Some("a"), Some("b"), Some("b"), None]);
    }
}
