//! A job group: concurrent jobs whose questions can be asked as one. Jobs of a producer that [joins groups](super::producer::Producer::grouping)
//! become members. Every member sees the submissions of all members once each has submitted or left.

use std::any::Any;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// Submissions of a group's jobs, by member.
pub type Submissions = BTreeMap<usize, Arc<dyn Any + Send + Sync>>;

/// A value for one member.
pub type Delivery = Box<dyn Any + Send>;

/// A group of concurrent jobs.
pub struct JobGroup {
    state: Mutex<GroupState>,
    changed: Condvar,
}

#[derive(Default)]
struct GroupState {
    /// Members that have neither submitted nor left.
    absent: BTreeSet<usize>,
    handed: Submissions,
    /// All submissions, once no member is absent.
    met: Option<Arc<Submissions>>,
    deliveries: BTreeMap<usize, Delivery>,
    /// Members that have ended: the others stop waiting for their deliveries.
    left: BTreeSet<usize>,
    /// Number of calls that may start now.
    free_calls: usize,
    /// Members that wait for a call.
    callers: BTreeSet<usize>,
}

impl JobGroup {
    /// Creates a group of `members` jobs; at most `calls` of them call a model at a time.
    pub fn new(members: usize, calls: usize) -> Arc<Self> {
        Arc::new(Self {
            state: Mutex::new(GroupState {
                absent: (0..members).collect(),
                free_calls: calls.max(1),
                ..GroupState::default()
            }),
            changed: Condvar::new(),
        })
    }

    /// Returns a member; dropping it leaves the group.
    pub fn member(self: &Arc<Self>, number: usize) -> GroupMember {
        GroupMember {
            job_group: self.clone(),
            number,
        }
    }

    fn lock_state(&self) -> MutexGuard<'_, GroupState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait_until<T>(&self, found: impl Fn(&mut GroupState) -> Option<T>) -> T {
        let mut state = self.lock_state();
        loop {
            if let Some(found) = found(&mut state) {
                return found;
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn change_state(&self, change: impl FnOnce(&mut GroupState)) {
        let mut state = self.lock_state();
        change(&mut state);
        if state.absent.is_empty() && state.met.is_none() {
            state.met = Some(Arc::new(std::mem::take(&mut state.handed)));
        }
        drop(state);
        self.changed.notify_all();
    }
}

/// A job as a member of its group.
pub struct GroupMember {
    job_group: Arc<JobGroup>,
    number: usize,
}

impl GroupMember {
    /// Returns its number, which orders the jobs.
    pub fn number(&self) -> usize {
        self.number
    }

    /// Submits a value and blocks until every other member has submitted or left. `None` if this member has submitted or left before.
    pub fn submit(&self, handed: Arc<dyn Any + Send + Sync>) -> Option<Arc<Submissions>> {
        let mut is_early = false;
        self.job_group.change_state(|state| {
            is_early = state.absent.remove(&self.number);
            if is_early {
                state.handed.insert(self.number, handed);
            }
        });
        is_early.then(|| self.job_group.wait_until(|state| state.met.clone()))
    }

    /// Leaves before submitting: this member waits for another process, or has no question. The others continue without it.
    pub fn leave(&self) {
        self.job_group.change_state(|state| {
            state.absent.remove(&self.number);
        });
    }

    /// Delivers a value to another member.
    pub fn deliver(&self, to: usize, delivery: Delivery) {
        self.job_group.change_state(|state| {
            state.deliveries.insert(to, delivery);
        });
    }

    /// Blocks until `from` delivers a value to this member; `None` if `from` ends without a delivery.
    pub fn receive(&self, from: usize) -> Option<Delivery> {
        self.job_group.wait_until(|state| match state.deliveries.remove(&self.number) {
            Some(delivery) => Some(Some(delivery)),
            None => state.left.contains(&from).then_some(None),
        })
    }

    /// Blocks until this member may call a model; the waiting member with the lowest number is first.
    pub fn call(&self) -> Call<'_> {
        self.job_group.change_state(|state| {
            state.callers.insert(self.number);
        });
        self.job_group.wait_until(|state| {
            let is_next = state.free_calls > 0 && state.callers.first() == Some(&self.number);
            is_next.then(|| {
                state.free_calls -= 1;
                state.callers.remove(&self.number);
            })
        });
        // Wake the next caller.
        self.job_group.changed.notify_all();
        Call(self)
    }
}

impl fmt::Debug for GroupMember {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "member {}", self.number)
    }
}

impl Drop for GroupMember {
    fn drop(&mut self) {
        self.job_group.change_state(|state| {
            state.absent.remove(&self.number);
            state.left.insert(self.number);
        });
    }
}

/// Permission for one of a group's concurrent calls.
#[derive(Debug)]
pub struct Call<'a>(&'a GroupMember);

impl Drop for Call<'_> {
    fn drop(&mut self) {
        self.0.job_group.change_state(|state| state.free_calls += 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;

    #[test]
    fn members_see_equal_submissions_and_leavers_delay_none() {
        let job_group = JobGroup::new(4, 1);
        thread::scope(|scope| {
            let threads: Vec<_> = (0..4)
                .map(|number| {
                    let member = job_group.member(number);
                    scope.spawn(move || match number {
                        // One member calls `leave`, one ends.
                        0 => {
                            member.leave();
                            assert!(member.submit(Arc::new(0)).is_none(), "who left does not come back");
                            Vec::new()
                        }
                        1 => Vec::new(),
                        _ => member.submit(Arc::new(number)).expect("first").keys().copied().collect(),
                    })
                })
                .collect();
            let seen: Vec<Vec<usize>> = threads.into_iter().map(|thread| thread.join().expect("it ends")).collect();
            assert_eq!(seen, [vec![], vec![], vec![2, 3], vec![2, 3]]);
        });
    }

    #[test]
    fn a_member_that_ended_delivers_nothing() {
        let job_group = JobGroup::new(3, 1);
        let (first, second, third) = (job_group.member(0), job_group.member(1), job_group.member(2));
        first.deliver(1, Box::new(7));
        drop(first);
        let found = second.receive(0).expect("a delivery");
        assert_eq!(found.downcast_ref(), Some(&7));
        assert!(third.receive(0).is_none());
    }

    #[test]
    fn calls_are_bounded() {
        let job_group = JobGroup::new(8, 2);
        let now = Mutex::new((0, 0));
        thread::scope(|scope| {
            for number in 0..8 {
                let (member, now) = (job_group.member(number), &now);
                scope.spawn(move || {
                    let _call = member.call();
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
