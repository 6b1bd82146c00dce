//! Company: jobs that run side by side so that what they ask can be asked as one. A producer that [keeps company](super::producer::Producer::keeps_company)
//! is given a seat; what it hands in there, all others of the company see once each of them has handed something in or left.

use std::any::Any;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// What the jobs of a company handed in, by seat.
pub type Meeting = BTreeMap<usize, Arc<dyn Any + Send + Sync>>;

/// Something for one seat.
pub type Gift = Box<dyn Any + Send>;

/// Jobs that run side by side.
pub struct Company {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    /// Seats that have neither handed anything in nor left.
    absent: BTreeSet<usize>,
    handed: Meeting,
    /// What was handed in, once everybody has.
    met: Option<Arc<Meeting>>,
    gifts: BTreeMap<usize, Gift>,
    /// Seats of which nothing is to be waited for.
    left: BTreeSet<usize>,
    /// Calls that may begin now.
    free_calls: usize,
    /// Seats that wait for a call.
    callers: BTreeSet<usize>,
}

impl Company {
    /// One of `seats` jobs, of which `calls` may call somebody at a time.
    pub fn new(seats: usize, calls: usize) -> Arc<Self> {
        Arc::new(Self {
            state: Mutex::new(State {
                absent: (0..seats).collect(),
                free_calls: calls.max(1),
                ..State::default()
            }),
            changed: Condvar::new(),
        })
    }

    /// The seat of a job; dropping it leaves.
    pub fn seat(self: &Arc<Self>, number: usize) -> Seat {
        Seat {
            company: self.clone(),
            number,
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait_until<T>(&self, found: impl Fn(&mut State) -> Option<T>) -> T {
        let mut state = self.state();
        loop {
            if let Some(found) = found(&mut state) {
                return found;
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn change(&self, change: impl FnOnce(&mut State)) {
        let mut state = self.state();
        change(&mut state);
        if state.absent.is_empty() && state.met.is_none() {
            state.met = Some(Arc::new(std::mem::take(&mut state.handed)));
        }
        drop(state);
        self.changed.notify_all();
    }
}

/// A job's place in its company.
pub struct Seat {
    company: Arc<Company>,
    number: usize,
}

impl Seat {
    /// Its number, by which the jobs are ordered.
    pub fn number(&self) -> usize {
        self.number
    }

    /// Hands something in and waits for the others. `None` when this seat has handed something in or left before.
    pub fn meet(&self, handed: Arc<dyn Any + Send + Sync>) -> Option<Arc<Meeting>> {
        let mut is_early = false;
        self.company.change(|state| {
            is_early = state.absent.remove(&self.number);
            if is_early {
                state.handed.insert(self.number, handed);
            }
        });
        is_early.then(|| self.company.wait_until(|state| state.met.clone()))
    }

    /// The others need not wait for it: it has to wait for somebody else, or asks nothing.
    pub fn leave(&self) {
        self.company.change(|state| {
            state.absent.remove(&self.number);
        });
    }

    /// Gives something to another seat.
    pub fn give(&self, to: usize, gift: Gift) {
        self.company.change(|state| {
            state.gifts.insert(to, gift);
        });
    }

    /// Waits for something that `from` gives to this seat; `None` when it is gone without.
    pub fn take(&self, from: usize) -> Option<Gift> {
        self.company.wait_until(|state| match state.gifts.remove(&self.number) {
            Some(gift) => Some(Some(gift)),
            None => state.left.contains(&from).then_some(None),
        })
    }

    /// Waits until it may call somebody; the lowest seat first.
    pub fn call(&self) -> Call<'_> {
        self.company.change(|state| {
            state.callers.insert(self.number);
        });
        self.company.wait_until(|state| {
            let is_next = state.free_calls > 0 && state.callers.first() == Some(&self.number);
            is_next.then(|| {
                state.free_calls -= 1;
                state.callers.remove(&self.number);
            })
        });
        // Another one may be next now.
        self.company.changed.notify_all();
        Call(self)
    }
}

impl fmt::Debug for Seat {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "seat {}", self.number)
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.company.change(|state| {
            state.absent.remove(&self.number);
            state.left.insert(self.number);
        });
    }
}

/// One of the calls that a company may make at a time.
#[derive(Debug)]
pub struct Call<'a>(&'a Seat);

impl Drop for Call<'_> {
    fn drop(&mut self) {
        self.0.company.change(|state| state.free_calls += 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;

    #[test]
    fn all_that_come_see_the_same_and_nobody_waits_for_who_left() {
        let company = Company::new(4, 1);
        thread::scope(|scope| {
            let threads: Vec<_> = (0..4)
                .map(|number| {
                    let seat = company.seat(number);
                    scope.spawn(move || match number {
                        // One leaves by a word, one by its end.
                        0 => {
                            seat.leave();
                            assert!(seat.meet(Arc::new(0)).is_none(), "who left does not come back");
                            Vec::new()
                        }
                        1 => Vec::new(),
                        _ => seat.meet(Arc::new(number)).expect("first").keys().copied().collect(),
                    })
                })
                .collect();
            let seen: Vec<Vec<usize>> = threads.into_iter().map(|thread| thread.join().expect("it ends")).collect();
            assert_eq!(seen, [vec![], vec![], vec![2, 3], vec![2, 3]]);
        });
    }

    #[test]
    fn nobody_waits_for_a_gift_of_one_who_is_gone() {
        let company = Company::new(3, 1);
        let (first, second, third) = (company.seat(0), company.seat(1), company.seat(2));
        first.give(1, Box::new(7));
        drop(first);
        let found = second.take(0).expect("a gift");
        assert_eq!(found.downcast_ref(), Some(&7));
        assert!(third.take(0).is_none());
    }

    #[test]
    fn calls_are_bounded() {
        let company = Company::new(8, 2);
        let now = Mutex::new((0, 0));
        thread::scope(|scope| {
            for number in 0..8 {
                let (seat, now) = (company.seat(number), &now);
                scope.spawn(move || {
                    let _call = seat.call();
                    let mut counts = now.lock().expect("not poisoned");
                    *counts = (counts.0 + 1, counts.1.max(counts.0 + 1));
                    drop(counts);
                    thread::yield_now();
                    now.lock().expect("not poisoned").0 -= 1;
                });
            }
        });
        assert!(now.lock().expect("not poisoned").1 <= 2);
    }
}
