//! Figures of the methods (seed 000 §11): calls, durations, failures, cached answers. They never leave the machine.

use methods::desk::figures::Figures;
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// Number of last calls that the percentiles cover.
const WINDOW: usize = 1024;

/// The calls of a method.
#[derive(Debug, Default)]
struct Calls {
    count: u64,
    failed: u64,
    warm: u64,
    total: Duration,
    last: Vec<Duration>,
}

/// The calls of all methods.
#[derive(Debug, Default)]
pub struct Meter(Mutex<BTreeMap<&'static str, Calls>>);

impl Meter {
    pub fn count_call(&self, method: &'static str, took: Duration, failed: bool, warm: bool) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let calls = all.entry(method).or_default();
        match calls.last.len() {
            WINDOW => calls.last[usize::try_from(calls.count).unwrap_or(0) % WINDOW] = took,
            _ => calls.last.push(took),
        }
        calls.count += 1;
        calls.failed += u64::from(failed);
        calls.warm += u64::from(warm);
        calls.total += took;
    }

    pub fn figures(&self) -> BTreeMap<String, Figures> {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let figures = |calls: &Calls| {
            let mut last = calls.last.clone();
            last.sort_unstable();
            let at = |percent: usize| last.get((last.len() * percent).div_ceil(100).saturating_sub(1)).copied();
            let ms = |percent| at(percent).map_or(0.0, |took: Duration| (took.as_secs_f64() * 1e6).round() / 1e3);
            Figures {
                calls: calls.count,
                failed: calls.failed,
                warm: calls.warm,
                p50_ms: ms(50),
                p95_ms: ms(95),
                total_s: calls.total.as_secs_f64(),
            }
        };
        all.iter().map(|(name, calls)| ((*name).to_owned(), figures(calls))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_of_the_last_calls() {
        let meter = Meter::default();
        for ms in 1..=100 {
            meter.count_call("resolve", Duration::from_millis(ms), ms == 1, ms > 50);
        }
        let figures = &meter.figures()["resolve"];
        assert_eq!((figures.calls, figures.failed, figures.warm), (100, 1, 50));
        assert_eq!((figures.p50_ms, figures.p95_ms), (50.0, 95.0));
        for _ in 0..WINDOW {
            meter.count_call("resolve", Duration::from_millis(7), false, false);
        }
        assert_eq!(meter.figures()["resolve"].p95_ms, 7.0);
    }
}
