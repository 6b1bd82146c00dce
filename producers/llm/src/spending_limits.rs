//! The limits of a run: reserves the most that a call may use before it, and records its real usage after it.

use super::price::money;
use engine::seams::producer::{Cancel, Failure};
use engine::values::codes::ErrorCode;
use engine::values::diagnostic::Diagnostic;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use super::call_environment::LOOK_UP;

/// The limits of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// Limit of money of each currency, in millionths: amounts in several currencies are never added.
    pub max_cost_micros: Option<u64>,
    pub max_calls: Option<u64>,
    /// Limit of tokens, sent and received.
    pub max_tokens: Option<u64>,
    /// Send nothing to other machines.
    pub offline: bool,
    /// Collect questions and send them as batches, whose answers a later run fetches.
    pub batch: bool,
    /// Usage that counts already.
    pub used: Used,
}

/// Earlier usage under the same limits, in any currency.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Used {
    /// Calls that were answered.
    pub calls: u64,
    /// Tokens, sent and received.
    pub tokens: u64,
    pub micros: u64,
}

impl Used {
    pub fn is_nothing(&self) -> bool {
        *self == Self::default()
    }
}

/// Calls, tokens and money.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Amount {
    pub(super) calls: u64,
    pub(super) tokens: u64,
    pub(super) micros: u64,
}

impl Amount {
    fn plus(self, other: Self) -> Self {
        Self {
            calls: self.calls.saturating_add(other.calls),
            tokens: self.tokens.saturating_add(other.tokens),
            micros: self.micros.saturating_add(other.micros),
        }
    }
}

/// Calls and tokens of all models, and money by currency.
#[derive(Default)]
struct Total {
    calls: u64,
    tokens: u64,
    micros: BTreeMap<String, u64>,
    /// Money of each currency that has no entry.
    before: u64,
}

impl Total {
    /// Returns the amount with the money of one currency.
    fn in_currency(&self, currency: &str) -> Amount {
        Amount {
            calls: self.calls,
            tokens: self.tokens,
            micros: self.micros.get(currency).copied().unwrap_or(self.before),
        }
    }

    fn set_amount(&mut self, currency: &str, amount: Amount) {
        (self.calls, self.tokens) = (amount.calls, amount.tokens);
        self.micros.insert(currency.to_owned(), amount.micros);
    }

    fn add_amount(&mut self, currency: &str, amount: Amount) {
        self.set_amount(currency, self.in_currency(currency).plus(amount));
    }

    fn subtract(&mut self, currency: &str, amount: Amount) {
        let held = self.in_currency(currency);
        let rest = Amount {
            calls: held.calls.saturating_sub(amount.calls),
            tokens: held.tokens.saturating_sub(amount.tokens),
            micros: held.micros.saturating_sub(amount.micros),
        };
        self.set_amount(currency, rest);
    }
}

/// Counts the usage of one run.
pub(super) struct SpendingLimits {
    limits: Limits,
    counts: Mutex<Counts>,
    changed: Condvar,
}

struct Counts {
    spent: Total,
    held: Total,
}

/// A reserved amount, released on drop.
pub(super) struct Hold<'a> {
    meter: &'a SpendingLimits,
    amount: Amount,
    currency: String,
}

impl SpendingLimits {
    pub(super) fn new(limits: Limits) -> Self {
        let spent = Total {
            calls: limits.used.calls,
            tokens: limits.used.tokens,
            before: limits.used.micros,
            ..Total::default()
        };
        let held = Total::default();
        Self {
            limits,
            counts: Mutex::new(Counts { spent, held }),
            changed: Condvar::new(),
        }
    }

    /// Reserves the most that a call may use. Waits while only reservations of other calls, which may be released, exceed the limit.
    pub(super) fn reserve(&self, most: Amount, currency: &str, cancel: &Cancel) -> Result<Hold<'_>, Failure> {
        let mut counts = self.locked_counts();
        loop {
            if cancel.is_cancelled() {
                return Err(Failure::Cancelled);
            }
            let spent = counts.spent.in_currency(currency);
            if self.passed(spent.plus(counts.held.in_currency(currency)).plus(most)).is_none() {
                counts.held.add_amount(currency, most);
                return Ok(Hold {
                    meter: self,
                    amount: most,
                    currency: currency.to_owned(),
                });
            }
            if let Some(limit) = self.passed(spent.plus(most)) {
                return Err(limit.failure(spent, most, currency));
            }
            counts = self.changed.wait_timeout(counts, LOOK_UP).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    fn passed(&self, amount: Amount) -> Option<Limit> {
        let over = |value: u64, limit: Option<u64>| limit.filter(|limit| value > *limit);
        over(amount.calls, self.limits.max_calls)
            .map(Limit::Calls)
            .or_else(|| over(amount.tokens, self.limits.max_tokens).map(Limit::Tokens))
            .or_else(|| over(amount.micros, self.limits.max_cost_micros).map(Limit::Money))
    }

    fn locked_counts(&self) -> MutexGuard<'_, Counts> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Hold<'_> {
    /// Reserves more, if the limits allow it.
    pub(super) fn grow(&mut self, more: Amount) -> bool {
        let mut counts = self.meter.locked_counts();
        let used = counts
            .spent
            .in_currency(&self.currency)
            .plus(counts.held.in_currency(&self.currency));
        let fits = self.meter.passed(used.plus(more)).is_none();
        if fits {
            counts.held.add_amount(&self.currency, more);
            self.amount = self.amount.plus(more);
        }
        fits
    }

    /// Records the real usage of the call.
    pub(super) fn record_usage(self, really: Amount) {
        let mut counts = self.meter.locked_counts();
        counts.spent.add_amount(&self.currency, really);
        // Dropping `self` releases the reservation.
    }
}

impl Drop for Hold<'_> {
    fn drop(&mut self) {
        let mut counts = self.meter.locked_counts();
        counts.held.subtract(&self.currency, self.amount);
        self.meter.changed.notify_all();
    }
}

enum Limit {
    Calls(u64),
    Tokens(u64),
    Money(u64),
}

impl Limit {
    fn failure(&self, spent: Amount, most: Amount, currency: &str) -> Failure {
        let (flag, message) = match self {
            Self::Calls(limit) => (
                "--max-calls",
                match limit {
                    1 => "the one call that --max-calls allows is made".to_owned(),
                    _ => format!("all {limit} calls that --max-calls allows are made"),
                },
            ),
            Self::Tokens(limit) => (
                "--max-tokens",
                format!(
                    "this call may take {} tokens, and {} of the {limit} that --max-tokens allows are spent",
                    most.tokens, spent.tokens
                ),
            ),
            Self::Money(limit) => (
                "--max-cost",
                format!(
                    "this call may cost {}, and {} of the {} that --max-cost allows are spent",
                    money(most.micros, currency),
                    money(spent.micros, currency),
                    money(*limit, currency)
                ),
            ),
        };
        let hint = format!("raise {flag} or leave it out; what is done stays done");
        Failure::Limit(Box::new(Diagnostic::error(ErrorCode::E_LIMIT, message).hint(hint)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn earlier_spending_counts_and_refusals_name_the_limit() {
        let used = Used {
            calls: 2,
            tokens: 50,
            micros: 900,
        };
        let refused = |limits: Limits| {
            let most = Amount {
                calls: 1,
                tokens: 60,
                micros: 200,
            };
            let meter = SpendingLimits::new(Limits { used, ..limits });
            match meter.reserve(most, "USD", &Cancel::default()).map(drop) {
                Err(Failure::Limit(why)) => why.message,
                other => format!("{other:?}"),
            }
        };
        let calls = Limits {
            max_calls: Some(2),
            ..Limits::default()
        };
        let tokens = Limits {
            max_tokens: Some(100),
            ..Limits::default()
        };
        let money = Limits {
            max_cost_micros: Some(1_000),
            ..Limits::default()
        };
        insta::assert_snapshot!([calls, tokens, money].map(refused).join("\n"), @r"
        all 2 calls that --max-calls allows are made
        this call may take 60 tokens, and 50 of the 100 that --max-tokens allows are spent
        this call may cost 0.0002 USD, and 0.0009 USD of the 0.001 USD that --max-cost allows are spent
        ");
    }

    #[test]
    fn currencies_are_bounded_one_by_one_and_calls_together() {
        let meter = SpendingLimits::new(Limits {
            max_cost_micros: Some(10),
            max_calls: Some(3),
            ..Limits::default()
        });
        let call = |micros| Amount {
            calls: 1,
            tokens: 1,
            micros,
        };
        let spend = |currency: &str, micros: u64| {
            let hold = meter.reserve(call(micros), currency, &Cancel::default());
            hold.map(|hold| hold.record_usage(call(micros))).map_err(|why| format!("{why:?}"))
        };
        assert_eq!((spend("EUR", 8), spend("USD", 8)), (Ok(()), Ok(())));
        assert!(spend("EUR", 3).is_err_and(|why| why.contains("--max-cost")));
        assert_eq!(spend("USD", 2), Ok(()));
        assert!(spend("GBP", 1).is_err_and(|why| why.contains("--max-calls")));
    }
}
