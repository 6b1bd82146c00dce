//! Paid answers: while a process requests an answer, no other one does, and machines that request it at the same moment all keep the same one.

use super::invalidated::InvalidatedResult;
use super::job::{Done, JobContext};
use crate::seams::job_group::GroupMember;
use crate::seams::producer::{Failure, Params, ProducerId};
use crate::store::records::{Class, NewResult, Origin};
use crate::store::unconfirmed::Unconfirmed;
use crate::store::{ActionLock, Commit, superseded};
use crate::values::digest::{ActionKey, Digest};

/// Waits until no other process builds the result of a key; `Err` if it is then stored, or the build was stopped. `mark` is the result that a
/// person invalidated, which does not count.
pub(super) fn wait_for_right_to_ask(
    shared: &JobContext,
    key: &ActionKey,
    (fresh, mark): (bool, Option<InvalidatedResult>),
    job_group: Option<&GroupMember>,
) -> Result<Option<ActionLock>, Done> {
    let is_cancelled = || {
        // This job waits for another process, which may wait for a job of this group: the group continues without it.
        job_group.iter().for_each(|member| member.leave());
        shared.cancel.is_cancelled()
    };
    let action_lock = shared.blobs.lock_action(key, &is_cancelled).map_err(Done::Broken)?;
    if shared.cancel.is_cancelled() {
        return Err(Done::of_failure(Failure::Cancelled));
    }
    if fresh && mark.is_none() {
        return Ok(action_lock);
    }
    let result = shared.blobs.action(key).map_err(Done::Broken)?;
    let result = result.filter(|record| mark != Some(InvalidatedResult::from_result(key, record)));
    match result {
        // Check the blob, too: its loss may be why the producer should run.
        Some(record) if shared.blobs.has_whole(&record.output).map_err(Done::Broken)? => Err(Done::Found(Box::new(record))),
        _ => Ok(action_lock),
    }
}

/// Returns the key under which a remote cache has the newest answer of a target, whatever its inputs.
pub(super) fn latest_key(producer: &ProducerId, params: &Params, label: &str) -> ActionKey {
    let params = serde_json::to_string(params).expect("invariant: parameters have text keys");
    let mut hasher = blake3::Hasher::new_derive_key("cortex 2026-11 latest answer 1");
    for part in [&producer.to_string(), &params, label] {
        hasher.update(&(part.len() as u64).to_le_bytes()).update(part.as_bytes());
    }
    ActionKey(Digest(*hasher.finalize().as_bytes()))
}

/// Stores an answer in the remote cache. The first answer under a key stays, for all machines: if another machine stored one before, that
/// replaces this one, whose cost is reported all the same. A `fresh` one, requested by a person, replaces the stored one.
///
/// Also stores it under the key `latest`, if the next question may be asked as a change of it.
pub(super) fn store_answer(
    shared: &JobContext,
    label: &str,
    (key, latest): (&ActionKey, &ActionKey),
    (producer, fresh): (ProducerId, bool),
    mut done: Done,
) -> Done {
    let Some(sharing) = &shared.sharing else { return done };
    if let Done::Produced {
        output,
        digest,
        took,
        is_adopted,
        ..
    } = &mut done
    {
        let origin = Origin {
            label: label.to_owned(),
            producer: producer.to_string(),
            made_at: shared.world.now_secs(),
            took_us: u64::try_from(took.as_micros()).unwrap_or(u64::MAX),
            inputs: Vec::new(),
            class: Class::Paid,
        };
        let result = NewResult::from_output(*key, (**output).clone(), *digest, origin);
        let (record, blob, parts) = (result.record.clone(), result.blob.clone().unwrap_or_default(), result.parts.clone());
        // The cache may be slow; commit a paid result before anything else can fail.
        let before = match shared.blobs.action(key) {
            Ok(before) => before.filter(|_| fresh),
            Err(error) => return Done::Broken(error),
        };
        let mut results = vec![result];
        results.extend(before.and_then(|before| superseded::result_to_keep(key, before, digest)));
        let durable = Commit {
            results,
            rows: vec![Unconfirmed::new(label, record.made_at).to_row(key)],
            ..Commit::default()
        };
        if let Err(error) = shared.blobs.store().commit(shared.view, durable) {
            return Done::Broken(error);
        }
        if !record.memo.is_empty() {
            sharing.replace(latest, &record, &blob, &parts);
        }
        if fresh {
            // No other machine's answer takes precedence.
            sharing.replace(key, &record, &blob, &parts);
            return done;
        }
        if let Some(found) = sharing.store_answer_if_absent(key, &record, &blob, &parts) {
            *is_adopted = true;
            *digest = found.record.output;
            output.bytes = found.blob.to_vec();
            output.parts = found.parts.into_iter().collect();
            (output.diagnostics, output.notes) = (found.record.diagnostics, found.record.notes);
            output.memo = found.record.memo;
        }
    }
    done
}
