//! Contention: stores paid answers in the remote cache, many at once, each only if no other is there.

use super::sharing::{RemoteResult, Sharing};
use crate::seams::remote::Wanted;
use crate::store::records::{ActionRecord, Class};
use crate::store::{Store, StoreError, shared};
use crate::values::digest::{ActionKey, Digest};
use serde::Serialize;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Number of answers offered at once.
const AT_ONCE: usize = 16;

/// An answer with its output and all parts.
pub(super) struct OwnAnswer<'a> {
    pub key: &'a ActionKey,
    pub record: &'a ActionRecord,
    blob: Arc<[u8]>,
    parts: Vec<(Digest, Arc<[u8]>)>,
}

impl<'a> OwnAnswer<'a> {
    /// Reads an answer from a store; `None` if any blob is lost.
    pub(super) fn from_store(key: &'a ActionKey, record: &'a ActionRecord, store: &dyn Store) -> Result<Option<Self>, StoreError> {
        let part = |digest: &Digest| Ok(store.blob(digest)?.map(|part| (*digest, part)));
        let parts: Result<Option<Vec<_>>, StoreError> = record
            .parts
            .iter()
            .map(part)
            .map(Result::transpose)
            .collect::<Option<_>>()
            .transpose();
        let (blob, parts) = (store.blob(&record.output)?, parts?);
        Ok(blob.zip(parts).map(|(blob, parts)| Self { key, record, blob, parts }))
    }
}

/// Outcomes of offering the paid results of a store.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct PaidOffers {
    /// Results offered, because none was stored under their keys.
    pub offered: usize,
    /// Results whose keys have a stored result.
    pub known: usize,
    /// Results whose output is not here, and corrections by people, which are not shared.
    pub left_out: usize,
}

impl Sharing {
    /// Stores each answer unless another one exists; returns the existing ones, in order.
    pub(super) fn store_answers_if_absent(&self, answers: &[OwnAnswer<'_>]) -> Vec<Option<RemoteResult>> {
        let (next, theirs) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
        std::thread::scope(|scope| {
            for _ in 0..AT_ONCE.min(answers.len()) {
                scope.spawn(|| {
                    loop {
                        let at = next.fetch_add(1, Ordering::Relaxed);
                        let Some(answer) = answers.get(at) else { break };
                        if let Some(found) = self.store_answer_if_absent(answer.key, answer.record, &answer.blob, &answer.parts) {
                            theirs.lock().unwrap_or_else(PoisonError::into_inner).push((at, found));
                        }
                    }
                });
            }
        });
        let mut replies: Vec<Option<RemoteResult>> = answers.iter().map(|_| None).collect();
        for (at, found) in theirs.into_inner().unwrap_or_else(PoisonError::into_inner) {
            replies[at] = Some(found);
        }
        replies
    }

    /// Offers paid results of any tree. Existing results in the cache and in this store stay.
    pub fn offer_paid(&self, results: &[(ActionKey, ActionRecord)], store: &dyn Store) -> Result<PaidOffers, StoreError> {
        let mut offers = PaidOffers::default();
        for results in results.chunks(AT_ONCE) {
            let wanted: Vec<Wanted> = results.iter().map(|(key, record)| lookup_of(key, record)).collect();
            let mut answers = Vec::new();
            for ((key, record), found) in results.iter().zip(self.cache.find_results_uncounted(&wanted)) {
                let shared = !shared::is_local_only(record) && record.class == Class::Paid;
                match OwnAnswer::from_store(key, record, store)?.filter(|_| shared) {
                    _ if found.is_some() => offers.known += 1,
                    Some(answer) => answers.push(answer),
                    None => offers.left_out += 1,
                }
            }
            store.release_lock();
            let others = self.store_answers_if_absent(&answers).into_iter().flatten().count();
            offers.offered += answers.len() - others;
            offers.known += others;
        }
        Ok(offers)
    }
}

pub(super) fn lookup_of(key: &ActionKey, record: &ActionRecord) -> Wanted {
    Wanted {
        key: *key,
        producer: record.producer.clone(),
    }
}
