//! Spending: what the ledger of a checkout says was spent on models, and what filed results saved.

use engine::build::session::Session;
use engine::seams::paid::Spent;
use engine::store::ledger::{LedgerEntry, Outcome};
use engine::store::{Part, StoreError};
use serde::Serialize;
use std::collections::BTreeMap;

/// Sums over the ledger.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Spending {
    /// Seconds since 1970 of the first line counted.
    pub first: Option<u64>,
    /// By outcome (`full`, `patch`, `unchanged`, `rejected`, `saved`): how often, and what it came to.
    pub by_outcome: BTreeMap<Outcome, Sum>,
    /// By model: what was spent, filed results left out.
    pub by_model: BTreeMap<String, Sum>,
    /// What was spent in all.
    pub spent: Sum,
    /// What was spent on each target, the dearest first.
    pub targets: Vec<(String, Sum)>,
}

/// How often, and what it came to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Sum {
    /// Lines.
    pub times: u64,
    /// Calls, tokens, money.
    pub spent: Spent,
    /// Microseconds of waiting.
    pub took_us: u64,
    /// Lines without a price.
    pub unpriced: u64,
}

impl Sum {
    fn add(&mut self, entry: &LedgerEntry) {
        self.times += 1;
        self.took_us = self.took_us.saturating_add(entry.took_us);
        let money = self.spent.micros.unwrap_or_default() + entry.spent.micros.unwrap_or_default();
        self.unpriced += u64::from(entry.spent.micros.is_none());
        self.spent.add(&entry.spent);
        self.spent.model.clear();
        self.spent.micros = (self.unpriced < self.times).then_some(money);
    }
}

/// Sums up what was entered at or after `since` (seconds since 1970).
///
/// # Errors
/// When the store cannot be read.
pub fn spending(session: &Session, since: u64) -> Result<Spending, StoreError> {
    let rows = session.engine.store.rows(session.engine.view, Part::Ledger)?;
    Ok(sum(rows.iter().filter_map(LedgerEntry::from_row).filter(|entry| entry.at >= since)))
}

fn sum(entries: impl Iterator<Item = LedgerEntry>) -> Spending {
    let mut spending = Spending::default();
    let mut by_label: BTreeMap<String, Sum> = BTreeMap::new();
    for entry in entries {
        spending.first = Some(spending.first.unwrap_or(entry.at).min(entry.at));
        spending.by_outcome.entry(entry.outcome).or_default().add(&entry);
        if entry.outcome != Outcome::Saved {
            spending.by_model.entry(entry.spent.model.clone()).or_default().add(&entry);
            by_label.entry(entry.label.clone()).or_default().add(&entry);
            spending.spent.add(&entry);
        }
    }
    let mut targets: Vec<(String, Sum)> = by_label.into_iter().collect();
    let weight = |sum: &Sum| (sum.spent.micros, sum.spent.input_tokens + sum.spent.output_tokens);
    targets.sort_by(|a, b| weight(&b.1).cmp(&weight(&a.1)).then_with(|| a.0.cmp(&b.0)));
    spending.targets = targets;
    spending
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(label: &str, outcome: Outcome, micros: Option<u64>) -> LedgerEntry {
        LedgerEntry {
            at: 7,
            label: label.to_owned(),
            outcome,
            spent: Spent {
                model: "m".to_owned(),
                calls: 1,
                input_tokens: 10,
                output_tokens: 2,
                micros,
                ..Spent::default()
            },
            took_us: 5,
        }
    }

    #[test]
    fn what_was_saved_is_not_spent_and_what_has_no_price_is_counted_apart() {
        let found = sum([
            entry("//a:s", Outcome::Full, Some(30)),
            entry("//a:s", Outcome::Saved, Some(30)),
            entry("//b:s", Outcome::Patch, None),
            entry("//b:s", Outcome::Rejected, Some(1)),
        ]
        .into_iter());
        assert_eq!(
            (found.spent.times, found.spent.unpriced, found.spent.spent.micros),
            (3, 1, Some(31))
        );
        assert_eq!(found.by_outcome[&Outcome::Saved].spent.micros, Some(30));
        assert_eq!(found.by_model["m"].spent.calls, 3);
        let targets: Vec<&str> = found.targets.iter().map(|(label, _)| label.as_str()).collect();
        assert_eq!(targets, ["//a:s", "//b:s"]);
    }
}
