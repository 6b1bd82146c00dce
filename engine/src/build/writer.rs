//! The writer: a thread that makes batches of results durable while the build goes on.

use super::jobs::Shared;
use crate::seams::producer::Cancel;
use crate::store::records::NewResult;
use crate::store::{Commit, Flight, RowChange, Store, StoreError, ViewId};
use crate::values::digest::ActionKey;
use crossbeam_channel::Sender;
use std::sync::Arc;
use std::thread::JoinHandle;

/// Where batches go, and the thread that commits them.
type Running = (Sender<Batch>, JoinHandle<Result<(), StoreError>>);

/// Results, and rows that belong to them.
#[derive(Default)]
pub struct Batch {
    /// The results.
    pub results: Vec<NewResult>,
    /// Rows of the ledger.
    pub rows: Vec<RowChange>,
    /// Results of before that were found again, and when.
    pub used: Vec<(ActionKey, u64)>,
    /// Keep other processes from making the same until it is durable.
    pub flights: Vec<Flight>,
}

/// Commits batches in the order given.
pub struct Writer {
    store: Arc<dyn Store>,
    view: ViewId,
    shared: Arc<Shared>,
    thread: Option<Running>,
}

/// Batches that may wait before the build has to.
const WAITING: usize = 2;

impl Writer {
    /// A writer whose thread starts with the first batch.
    pub fn new(store: Arc<dyn Store>, view: ViewId, shared: Arc<Shared>) -> Self {
        Self {
            store,
            view,
            shared,
            thread: None,
        }
    }

    /// Hands over a batch; waits when the disk is behind.
    ///
    /// # Errors
    /// When an earlier batch could not be made durable.
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
                        flights,
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
                    drop(flights);
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

    /// Waits until everything handed over is durable.
    ///
    /// # Errors
    /// When a batch could not be made durable.
    pub fn finish(&mut self) -> Result<(), StoreError> {
        let Some((sender, thread)) = self.thread.take() else {
            return Ok(());
        };
        drop(sender);
        thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
}
