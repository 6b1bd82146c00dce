//! Money spent and saved, grouped by commit, author, producer or month.

use crate::baselines::{Baselines, compare_builds};
use crate::build_log::{build_at, read_build_log};
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
    /// Questions about summaries after edits, and what caches of files would have asked; only if the log has such edits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub baselines: Option<Baselines>,
}

/// The group of entries that no build of the log explains.
const UNKNOWN: &str = "unknown";

/// A label whose producer is that of all summaries of types.
const SUMMARY: &str = "//types/T:semantic";

/// Groups the entries since `since` (seconds since 1970): months, commits and authors in the order of their first line, producers by name.
pub fn groups(root: &Path, session: &Session, since: u64, by: By) -> Result<Vec<Group>, StoreError> {
    let rows = session.engine.store.rows(session.engine.view, Part::Ledger)?;
    let entries: Vec<LedgerEntry> = rows.iter().filter_map(LedgerEntry::from_row).collect();
    let builds = read_build_log(&*session.engine.store, session.engine.view)?;
    let mut authors: HashMap<String, String> = HashMap::new();
    let mut name = |at: u64, label: &str| match by {
        By::Month => month(at),
        By::Producer => producer(session, label).unwrap_or_else(|| UNKNOWN.to_owned()),
        By::Commit => commit_at(&builds, at).unwrap_or(UNKNOWN).to_owned(),
        By::Author => match commit_at(&builds, at) {
            None => UNKNOWN.to_owned(),
            Some(commit) => authors
                .entry(commit.to_owned())
                .or_insert_with(|| git::author(root, commit).unwrap_or_else(|| UNKNOWN.to_owned()))
                .clone(),
        },
    };
    let counted = entries.iter().filter(|entry| entry.at >= since);
    let mut groups = group_entries(counted, |entry| name(entry.at, &entry.label));
    for (place, found) in compare_builds(session, &builds, &entries) {
        let at = builds[place].at;
        let name = name(at, SUMMARY);
        if let Some(group) = groups.iter_mut().find(|group| at >= since && group.name == name) {
            group.baselines.get_or_insert_default().add_build(&found);
        }
    }
    Ok(groups)
}

fn group_entries<'e>(entries: impl Iterator<Item = &'e LedgerEntry>, mut name: impl FnMut(&LedgerEntry) -> String) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    let mut places: BTreeMap<String, usize> = BTreeMap::new();
    for entry in entries {
        let name = name(entry);
        let at = *places.entry(name.clone()).or_insert_with(|| {
            groups.push(Group { name, ..Group::default() });
            groups.len() - 1
        });
        let sum = match entry.outcome {
            Outcome::Saved => &mut groups[at].saved,
            _ => &mut groups[at].spent,
        };
        sum.add_entry(entry);
    }
    groups
}

/// Returns the commit of the build that entered a line at a moment; `None` when the log no longer has that build.
fn commit_at(builds: &[BuildRecord], at: u64) -> Option<&str> {
    builds[build_at(builds, at)?].commit.as_deref()
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
        let found = group_entries(entries.iter(), |entry| month(entry.at));
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
}
