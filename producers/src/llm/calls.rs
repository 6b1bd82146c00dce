//! Calls with patience: tried again while that can help, with pauses, not at all while a server is known to be down.

use super::patience::{Open, pause};
use super::rate::Gate;
use super::runtime::Runtime;
use super::trouble::{Called, Trouble};
use engine::seams::producer::{Cancel, Failure};
use engine::values::diagnostic::Diagnostic;
use std::time::Duration;

/// A server that asks for more time than this is told of instead of waited for.
const LONGEST_PATIENCE: Duration = Duration::from_secs(600);

impl Runtime {
    /// Calls until it succeeds, fails for good, or has failed as often as the model's settings allow.
    pub(super) fn patiently<T>(
        &self,
        called: &Called<'_>,
        gate: &Gate,
        cancel: &Cancel,
        mut once: impl FnMut() -> Result<T, Trouble>,
    ) -> Result<T, Failure> {
        let address = called.reach.base_url;
        for failed in 1_u32.. {
            self.breakers
                .admit(address, self.world.now())
                .map_err(|open| Failure::Transient(Box::new(not_asked(called, &open))))?;
            let trouble = match once() {
                Ok(value) => {
                    self.breakers.succeeded(address);
                    return Ok(value);
                }
                Err(trouble) => trouble,
            };
            let (mut why, floor, busy) = match trouble {
                Trouble::Transient { why, floor, busy } => (why, floor, busy),
                Trouble::Permanent(why) | Trouble::Absent(why) | Trouble::Refused(why) => {
                    self.breakers.succeeded(address);
                    return Err(Failure::Permanent(why));
                }
                Trouble::Settled(failure) => {
                    self.breakers.given_up(address);
                    return Err(failure);
                }
                Trouble::Cancelled => {
                    self.breakers.given_up(address);
                    return Err(Failure::Cancelled);
                }
            };
            if busy {
                // The server lives and wants fewer calls: its breaker stays closed, but everyone waits as long as it asked for.
                self.breakers.given_up(address);
                gate.pause(self.world.now() + floor.unwrap_or_default().min(LONGEST_PATIENCE));
            } else {
                self.breakers.failed(address, &why.message, self.world.now());
            }
            let too_long = floor.is_some_and(|floor| floor > LONGEST_PATIENCE);
            if failed >= called.reach.retries || too_long {
                if failed > 1 {
                    why.message = format!("{}, in {failed} tries", why.message);
                }
                if let Some(floor) = floor.filter(|_| too_long) {
                    why.hint = Some(format!(
                        "it asks to be left alone for {} s: build again after that",
                        floor.as_secs()
                    ));
                }
                return Err(Failure::Transient(why));
            }
            if !self.world.wait(pause(failed, self.world.chance(), floor), cancel) {
                return Err(Failure::Cancelled);
            }
        }
        unreachable!("invariant: the number of tries is finite")
    }
}

fn not_asked(called: &Called<'_>, open: &Open) -> Diagnostic {
    let message = format!("{} is not asked now, because too many calls in a row failed", called.shown());
    let seconds = open.left.as_secs() + 1;
    Diagnostic::error("E_CIRCUIT", message).found(open.cause.clone()).hint(format!(
        "see that the server runs, then build again; one call tries it in {seconds} s"
    ))
}
