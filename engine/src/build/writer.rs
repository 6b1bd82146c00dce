//! The writer: a thread that commits batches of results during the build.

use super::job::JobContext;
use crate::seams::producer::Cancel;
use crate::store::records::NewResult;
use crate::store::{ActionLock, Commit, RowChange, Store, StoreError, ViewId};
use crate::values::digest::ActionKey;
use crossbeam_channel::Sender;
use std::sync::Arc;
use std::thread::JoinHandle;

/// The batch queue, and the thread that commits.
type Running = (Sender<Batch>, JoinHandle<Result<(), StoreError>>);

/// Results with related rows.
#[derive(Default)]
pub struct Batch {
    pub results: Vec<NewResult>,
    pub rows: Vec<RowChange>,
    /// Earlier results that were found again, and when.
    pub used: Vec<(ActionKey, u64)>,
    /// Locks that keep other processes from building the same results until they are durable.
    pub action_locks: Vec<ActionLock>,
}

/// Commits batches in the order sent.
pub struct Writer {
    store: Arc<dyn Store>,
    view: ViewId,
    shared: Arc<JobContext>,
    thread: Option<Running>,
}

/// Number of batches that may wait before the build blocks.
const WAITING: usize = 2;

impl Writer {
    /// Creates a writer; its thread starts with the first batch.
    pub fn new(store: Arc<dyn Store>, view: ViewId, shared: Arc<JobContext>) -> Self {
        Self {
            store,
            view,
            shared,
            thread: None,
        }
    }

    /// Sends a batch; blocks while too many wait.
    pub fn send(&mut self, batch: Batch) -> Result<(), StoreError> {
        let (sender, _) = self.thread.get_or_insert_with(|| {
            let (sender, batches) = crossbeam_channel::bounded::<Batch>(WAITING);
            let (store, view, shared) = (self.store.clone(), self.view, self.shared.clone());
            let work = move || {
                for batch in batches {
                    let Batch {
                        results,
                        rows,
                        used,
                        action_locks,
                    } = batch;
                    let blobs = results.iter().flat_map(NewResult::blobs);
                    let _keeping = Cancel::announce_commit();
                    let digests: Vec<_> = blobs.map(|(digest, _)| digest).collect();
                    store.commit(
                        view,
                        Commit {
                            results,
                            rows,
                            used,
                            ..Commit::default()
                        },
                    )?;
                    drop(action_locks);
                    shared.blobs.release(digests.iter());
                }
                Ok(())
            };
            (sender, std::thread::spawn(work))
        });
        if sender.send(batch).is_err() {
            return self.finish();
        }
        Ok(())
    }

    /// Waits until all batches are committed.
    pub fn finish(&mut self) -> Result<(), StoreError> {
        let Some((sender, thread)) = self.thread.take() else {
            return Ok(());
        };
        drop(sender);
        thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
}
