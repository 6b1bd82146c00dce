//! Calls with retries: repeated with pauses while that can help. While a server is down, calls wait for the one that probes it; if it stays down, or
//! a model refuses every question, nothing more is sent, and that is reported once.

use super::call_environment::{CallEnvironment, LOOK_UP};
use super::call_failures::{Called, Trouble};
use super::keys::Keys;
use super::prepared_question::PreparedQuestion;
use super::rate_limits::{RateWindow, RateWindows};
use super::retries::{Breakers, Locks, Open, pause};
use super::settings::{Model, Reach};
use super::spending_limits::{Amount, Hold, Limits, SpendingLimits};
use engine::seams::producer::{Cancel, Failure};
use engine::values::codes::ErrorCode;
use engine::values::diagnostic::Diagnostic;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// Longest requested delay that a call waits for; a longer one is an error.
const LONGEST_PATIENCE: Duration = Duration::from_secs(600);
/// Interval at which a wait checks whether the server is back.
const LOOK_AGAIN: Duration = Duration::from_secs(1);
/// Shortest pause that is reported.
const WORTH_TELLING: Duration = Duration::from_secs(5);

/// The calls of a run, with the limits, rates, breakers and keys that they share.
pub(super) struct Calls {
    pub(super) limits: Limits,
    pub(super) root: PathBuf,
    pub(super) world: Arc<dyn CallEnvironment>,
    pub(super) keys: Keys,
    pub(super) tell: Box<dyn Fn(&str) + Send + Sync>,
    breakers: Breakers,
    locks: Locks,
    meter: SpendingLimits,
    rate_windows: RateWindows,
}

impl Calls {
    pub(super) fn new(limits: Limits, root: PathBuf, world: Arc<dyn CallEnvironment>) -> Self {
        Self {
            limits,
            root,
            world,
            keys: Keys::default(),
            tell: Box::new(|_| {}),
            breakers: Breakers::default(),
            locks: Locks::default(),
            meter: SpendingLimits::new(limits),
            rate_windows: RateWindows::default(),
        }
    }

    pub(super) fn report_status(&self, words: &str) {
        (self.tell)(words);
    }

    /// Returns the rate window of a model, which all calls to it pass.
    pub(super) fn rate_window(&self, reach: &Reach<'_>, model: &Model<'_>) -> Arc<RateWindow> {
        self.rate_windows.rate_window(&format!("{} {}", reach.base_url, model.name))
    }

    /// Reserves the most that a call may use of the limits.
    pub(super) fn reserve_call(
        &self,
        prepared: &PreparedQuestion<'_>,
        batch: bool,
        cancel: &Cancel,
    ) -> Result<(Hold<'_>, Amount), Failure> {
        let most = Amount {
            calls: 1,
            tokens: prepared.most_tokens(),
            micros: prepared
                .price
                .as_ref()
                .map_or(0, |price| price.most(prepared.input.tokens, prepared.question.max_tokens, batch)),
        };
        let currency = prepared.price.as_ref().map_or("", |price| price.currency.as_str());
        Ok((self.meter.reserve(most, currency, cancel)?, most))
    }

    /// Calls until it succeeds, fails for good, or has failed as often as the model's settings allow.
    pub(super) fn call_with_retries<T>(
        &self,
        called: &Called<'_>,
        window: &RateWindow,
        cancel: &Cancel,
        mut once: impl FnMut() -> Result<T, Trouble>,
    ) -> Result<T, Failure> {
        let (address, label) = (called.reach.base_url, called.reach.label);
        for failed in 1_u32.. {
            self.admit(called, cancel)?;
            let trouble = match once() {
                Ok(value) => {
                    self.breakers.record_success(address);
                    self.locks.record_answer(label);
                    return Ok(value);
                }
                Err(trouble) => trouble,
            };
            let (mut why, floor, busy) = match trouble {
                Trouble::Transient { why, floor, busy } => (why, floor, busy),
                Trouble::Permanent(why) => {
                    self.breakers.record_success(address);
                    self.locks.count_refusal(label, &why);
                    return Err(Failure::Permanent(why));
                }
                Trouble::Shut(why) | Trouble::Absent(why) => {
                    self.breakers.record_success(address);
                    self.locks.shut(label, &why);
                    return Err(Failure::Permanent(why));
                }
                Trouble::Unfit(why) | Trouble::Refused(why) => {
                    self.breakers.record_success(address);
                    return Err(Failure::Permanent(why));
                }
                Trouble::Settled(failure) => {
                    self.breakers.record_cancelled(address);
                    return Err(failure);
                }
                Trouble::Cancelled => {
                    self.breakers.record_cancelled(address);
                    return Err(Failure::Cancelled);
                }
            };
            let too_long = floor.filter(|floor| *floor > LONGEST_PATIENCE);
            if let Some(floor) = too_long {
                why.hint = Some(format!(
                    "it asks to be left alone for {} s: build again after that",
                    floor.as_secs()
                ));
                self.breakers.record_cancelled(address);
                self.locks.shut(label, &why);
            } else if busy {
                // The server works and wants fewer calls: its breaker stays closed, but all calls wait as long as it requested.
                self.breakers.record_cancelled(address);
                let floor = floor.unwrap_or_default();
                if window.pause(self.world.now(), floor) && floor >= WORTH_TELLING {
                    self.report_status(&format!(
                        "{} is busy and asks for {} s; waiting",
                        called.describe_model(),
                        floor.as_secs()
                    ));
                }
            } else if self.breakers.count_failure(address, &why.message, self.world.now()) {
                self.report_status(&format!("{}, too often in a row; waiting for it to come back", why.message));
            }
            if failed >= called.reach.retries || too_long.is_some() {
                if failed > 1 {
                    why.message = format!("{}, in {failed} tries", why.message);
                }
                return Err(Failure::Transient(why));
            }
            if !self.world.wait(pause(failed, self.world.chance(), floor), cancel) {
                return Err(Failure::Cancelled);
            }
        }
        unreachable!("invariant: the number of tries is finite")
    }

    /// Waits until a call may be sent, unless that is hopeless.
    fn admit(&self, called: &Called<'_>, cancel: &Cancel) -> Result<(), Failure> {
        loop {
            if let Some(mut why) = self.locks.why(called.reach.label) {
                why.message = format!("{}; nothing more is asked of it in this build", why.message);
                return Err(Failure::Limit(Box::new(why)));
            }
            let open = match self.breakers.admit(called.reach.base_url, self.world.now()) {
                Ok(()) => return Ok(()),
                Err(open) if open.for_long => return Err(Failure::Limit(Box::new(unasked_warning(called, &open)))),
                Err(open) => open,
            };
            if !self.world.wait(open.left.clamp(LOOK_UP, LOOK_AGAIN), cancel) {
                return Err(Failure::Cancelled);
            }
        }
    }
}

fn unasked_warning(called: &Called<'_>, open: &Open) -> Diagnostic {
    let message = format!(
        "{} is not asked now, because too many calls in a row failed",
        called.describe_model()
    );
    let hint = format!("see that {} runs, then build again", called.describe_model());
    Diagnostic::error(ErrorCode::E_CIRCUIT, message)
        .found(open.cause.clone())
        .hint(hint)
}
