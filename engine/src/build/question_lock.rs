//! Question locks: before a question is paid for, a record in the remote cache tells other machines that its answer is on the way, so that
//! they wait for the answer instead of paying for another one.
//!
//! A lock is a result under a key derived from the answer's. It is advisory: a machine that finds no lock, or one older than [`LIFE`],
//! asks. Two machines that write theirs at the same moment both read back: the later lock stays, so that in most orders one of them waits.
//! If both ask, one answer [stays](super::answers::store_answer).

use super::job::JobContext;
use super::sharing::{RemoteResult, Sharing};
use crate::seams::job_group::GroupMember;
use crate::seams::paid::QuestionLock;
use crate::seams::producer::{Failure, ProducerId};
use crate::seams::remote::Wanted;
use crate::store::records::{ActionRecord, Class};
use crate::store::shared;
use crate::values::digest::{ActionKey, Digest};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Time within which an answer is expected; afterwards other machines ask.
const LIFE: Duration = Duration::from_secs(300);
/// First and longest pause between two lookups of the awaited answer.
const PAUSES: (Duration, Duration) = (Duration::from_millis(50), Duration::from_secs(2));
/// Interval at which a pause checks whether the build was stopped.
const STEP: Duration = Duration::from_millis(50);
/// Output of every lock, so that its blob is sent once.
const OUTPUT: &[u8] = b"claim\n";
/// Note that names the store of the machine that holds a lock. A lock of this store is from a process that ended, because
/// [action locks](super::answers::wait_for_right_to_ask) keep processes of one store apart.
const HOLDER: &str = "holder";

/// Returns the name of a store in the lock of a key. It differs from key to key, so that others cannot tell which locks one machine holds.
fn holder(store: Option<String>, key: &ActionKey) -> String {
    let mut bytes = key.0.0.to_vec();
    bytes.extend_from_slice(store.unwrap_or_default().as_bytes());
    Digest::of(&bytes).to_string()
}

/// The lock on the question of one paid job.
pub(super) struct RemoteQuestionLock<'a> {
    shared: &'a JobContext,
    label: &'a str,
    key: &'a ActionKey,
    producer: ProducerId,
    job_group: Option<&'a GroupMember>,
    /// Whether a person requested a new answer: then the job waits for no other answer.
    is_fresh: bool,
    holder: String,
    state: Mutex<LockState>,
}

enum LockState {
    Free,
    Held,
    Answered(Box<RemoteResult>),
}

impl<'a> RemoteQuestionLock<'a> {
    /// Creates the lock for the answer of this key, without writing it.
    pub(super) fn new(
        shared: &'a JobContext,
        (label, key, producer): (&'a str, &'a ActionKey, ProducerId),
        job_group: Option<&'a GroupMember>,
        is_fresh: bool,
    ) -> Self {
        Self {
            shared,
            label,
            key,
            producer,
            job_group,
            is_fresh,
            holder: holder(shared.blobs.store().id(), key),
            state: Mutex::new(LockState::Free),
        }
    }

    /// Returns the answer that another machine stored while this job waited for it, if any.
    pub(super) fn take_answer(&self) -> Option<RemoteResult> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        match std::mem::replace(&mut *state, LockState::Free) {
            LockState::Answered(found) => Some(*found),
            other => {
                *state = other;
                None
            }
        }
    }

    /// Withdraws the lock, because no answer will follow: other machines stop waiting.
    pub(super) fn withdraw(&self) {
        let is_held = matches!(*self.state.lock().unwrap_or_else(PoisonError::into_inner), LockState::Held);
        if let Some(sharing) = self
            .shared
            .sharing
            .as_ref()
            .filter(|_| is_held && !self.shared.cancel.is_cancelled())
        {
            self.write(sharing, 0, |found| found.is_some_and(|found| self.is_own(&found)));
        }
    }

    fn set(&self, state: LockState) {
        *self.state.lock().unwrap_or_else(PoisonError::into_inner) = state;
    }

    fn lock_key(&self) -> ActionKey {
        let mut hasher = blake3::Hasher::new_derive_key("cortex 2026-11 claim 1");
        hasher.update(&self.key.0.0);
        ActionKey(Digest(*hasher.finalize().as_bytes()))
    }

    fn wanted(&self, key: ActionKey) -> Wanted {
        Wanted {
            key,
            producer: self.producer.to_string(),
        }
    }

    /// Writes a lock of that time, in seconds since 1970, if `may_store` accepts the present one.
    fn write(&self, sharing: &Sharing, made_at: u64, may_store: impl Fn(Option<ActionRecord>) -> bool) {
        let output: Arc<[u8]> = OUTPUT.into();
        let record = ActionRecord {
            output: Digest::of(&output),
            len: output.len() as u64,
            label: self.label.to_owned(),
            producer: self.producer.to_string(),
            made_at,
            took_us: 0,
            inputs: Vec::new(),
            diagnostics: Vec::new(),
            class: Class::Paid,
            spent: None,
            notes: [(HOLDER.to_owned(), self.holder.clone())].into(),
            parts: Vec::new(),
            memo: Arc::from([]),
        };
        let lock = shared::encode_result(&self.lock_key(), &record, &[]);
        sharing
            .cache
            .store_result(lock, vec![output], &mut |found| may_store(found.as_ref().and_then(shared::record)));
    }

    fn is_own(&self, lock: &ActionRecord) -> bool {
        lock.notes.get(HOLDER) == Some(&self.holder)
    }

    /// Whether another machine holds a lock that is not too old. Locks from the future are ignored like old ones: clocks differ.
    fn is_of_another(&self, lock: &ActionRecord) -> bool {
        let age = self.shared.world.now_secs().abs_diff(lock.made_at);
        lock.notes.contains_key(HOLDER) && !self.is_own(lock) && age < LIFE.as_secs()
    }

    /// Whether another machine holds the lock in the cache.
    fn is_taken(&self, sharing: &Sharing) -> bool {
        let found = sharing
            .cache
            .find_results_uncounted(&[self.wanted(self.lock_key())])
            .pop()
            .flatten();
        found
            .as_ref()
            .and_then(shared::record)
            .is_some_and(|lock| self.is_of_another(&lock))
    }

    /// Writes the lock unless another machine holds one; returns whether this machine may ask.
    fn try_acquire(&self, sharing: &Sharing) -> bool {
        if self.is_taken(sharing) {
            return false;
        }
        if sharing.cache.writes() {
            let is_free = |found: Option<ActionRecord>| !found.is_some_and(|lock| self.is_of_another(&lock));
            self.write(sharing, self.shared.world.now_secs(), is_free);
            if self.is_taken(sharing) {
                return false;
            }
            self.set(LockState::Held);
        }
        true
    }

    fn find_answer(&self, sharing: &Sharing) -> Option<RemoteResult> {
        let wanted = self.wanted(*self.key);
        let found = sharing
            .cache
            .find_results_uncounted(std::slice::from_ref(&wanted))
            .pop()
            .flatten()?;
        sharing.complete_result(&wanted, &found)
    }

    /// Pauses; returns whether the build was stopped.
    fn pause(&self, pause: Duration) -> bool {
        let until = Instant::now() + pause;
        while !self.shared.cancel.is_cancelled() {
            let Some(left) = until.checked_duration_since(Instant::now()) else {
                return false;
            };
            std::thread::sleep(left.min(STEP));
        }
        true
    }
}

impl QuestionLock for RemoteQuestionLock<'_> {
    fn acquire(&self) -> Result<(), Failure> {
        let is_open = matches!(*self.state.lock().unwrap_or_else(PoisonError::into_inner), LockState::Free);
        let Some(sharing) = self.shared.sharing.as_ref().filter(|sharing| sharing.cache.reads()) else {
            return Ok(());
        };
        if !is_open || self.is_fresh || self.try_acquire(sharing) {
            return Ok(());
        }
        // The other questions of the group must not wait for another machine.
        self.job_group.iter().for_each(|member| member.leave());
        let (mut pause, started) = (PAUSES.0, Instant::now());
        while started.elapsed() < LIFE {
            if self.pause(pause) {
                return Err(Failure::Cancelled);
            }
            if let Some(found) = self.find_answer(sharing) {
                self.set(LockState::Answered(Box::new(found)));
                return Err(Failure::Cancelled);
            }
            if self.try_acquire(sharing) {
                break;
            }
            pause = (pause * 2).min(PAUSES.1);
        }
        Ok(())
    }
}
