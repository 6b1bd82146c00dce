//! Spending: totals of a checkout's ledger: money spent on models, and money that stored results saved.

use engine::build::session::Session;
use engine::seams::paid::Spent;
use engine::store::ledger::{LedgerEntry, Outcome};
use engine::store::{Part, StoreError};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Sums over the ledger.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spending {
    /// Seconds since 1970 of the first counted line.
    pub first: Option<u64>,
    /// By outcome (`full`, `patch`, `unchanged`, `rejected`, `saved`): number and total.
    pub by_outcome: BTreeMap<Outcome, Sum>,
    /// By model: totals without stored results.
    pub by_model: BTreeMap<String, Sum>,
    pub spent: Sum,
    /// The total of each target, the most expensive first.
    pub targets: Vec<(String, Sum)>,
}

/// A number of lines and their totals.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sum {
    /// Number of lines.
    pub times: u64,
    /// Calls and tokens; money, if all of it has one currency.
    pub spent: Spent,
    pub money: BTreeMap<String, u64>,
    /// Microseconds of waiting.
    pub took_us: u64,
    /// Lines without a price.
    pub unpriced: u64,
    /// Lines of agents, which cost no money here.
    pub agents: u64,
}

impl Sum {
    pub(crate) fn add_entry(&mut self, entry: &LedgerEntry) {
        self.times += 1;
        self.took_us = self.took_us.saturating_add(entry.took_us);
        match entry.spent.micros {
            None if entry.spent.is_free() => {}
            None if entry.spent.agent.is_some() => self.agents += 1,
            None => self.unpriced += 1,
            Some(micros) => {
                let sum = self.money.entry(entry.spent.currency.clone()).or_default();
                *sum = sum.saturating_add(micros);
            }
        }
        self.spent.add(&entry.spent);
        self.spent.model.clear();
        let only = self.money.first_key_value().filter(|_| self.money.len() == 1);
        self.spent.micros = only.map(|(_, micros)| *micros);
        self.spent.currency = only.map(|(currency, _)| currency.clone()).unwrap_or_default();
    }
}

/// Sums the entries since `since` (seconds since 1970).
pub fn spending(session: &Session, since: u64) -> Result<Spending, StoreError> {
    let rows = session.engine.store.rows(session.engine.view, Part::Ledger)?;
    let entries = rows.iter().filter_map(LedgerEntry::from_row).filter(|entry| entry.at >= since);
    Ok(sum(entries))
}

fn sum(entries: impl Iterator<Item = LedgerEntry>) -> Spending {
    let mut spending = Spending::default();
    let mut by_label: BTreeMap<String, Sum> = BTreeMap::new();
    for entry in entries {
        spending.first = Some(spending.first.unwrap_or(entry.at).min(entry.at));
        spending.by_outcome.entry(entry.outcome).or_default().add_entry(&entry);
        if entry.outcome != Outcome::Saved && !entry.spent.is_free() {
            spending.by_model.entry(entry.spent.model.clone()).or_default().add_entry(&entry);
            by_label.entry(entry.label.clone()).or_default().add_entry(&entry);
            spending.spent.add_entry(&entry);
        }
    }
    let mut targets: Vec<(String, Sum)> = by_label.into_iter().collect();
    let weight = |sum: &Sum| (sum.money.values().max().copied(), sum.spent.input_tokens + sum.spent.output_tokens);
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
    fn savings_are_not_spending_and_unpriced_calls_are_counted_apart() {
        let entries = [
            entry("//a:s", Outcome::Full, Some(30)),
            entry("//a:s", Outcome::Saved, Some(30)),
            entry("//b:s", Outcome::Patch, None),
            entry("//b:s", Outcome::Rejected, Some(1)),
        ];
        let found = sum(entries.into_iter());
        assert_eq!(
            (found.spent.times, found.spent.unpriced, found.spent.spent.micros),
            (3, 1, Some(31))
        );
        assert_eq!(found.by_outcome[&Outcome::Saved].spent.micros, Some(30));
        assert_eq!(found.by_model["m"].spent.calls, 3);
        let targets: Vec<&str> = found.targets.iter().map(|(label, _)| label.as_str()).collect();
        assert_eq!(targets, ["//a:s", "//b:s"]);
    }

    #[test]
    fn currencies_are_not_added() {
        let of = |model: &str, currency: &str, outcome, micros| {
            let mut entry = entry("//a:s", outcome, Some(micros));
            (entry.spent.model, entry.spent.currency) = (model.to_owned(), currency.to_owned());
            entry
        };
        let entries = [
            of("m", "EUR", Outcome::Full, 30),
            of("n", "USD", Outcome::Full, 5),
            of("m", "EUR", Outcome::Patch, 1),
        ];
        let found = sum(entries.into_iter());
        let money: Vec<(&str, u64)> = found
            .spent
            .money
            .iter()
            .map(|(currency, micros)| (currency.as_str(), *micros))
            .collect();
        assert_eq!((money, found.spent.spent.micros), (vec![("EUR", 31), ("USD", 5)], None));
        assert_eq!(found.by_model["m"].spent.micros, Some(31));
    }
}
