//! Makes the results of a run durable, then releases its store and checkout for other processes.

use super::{Run, RunError};
use crate::build::checkout_turn::CheckoutTurn;
use crate::values::event::Event;
use std::sync::Arc;
use std::time::Duration;

/// The right to the checkout, as long as the run holds it.
pub(super) struct HeldCheckout {
    turn: Option<Arc<dyn CheckoutTurn>>,
    is_released: bool,
    /// Time that this run waited for models, programs and other machines while it computed nothing.
    waited: Duration,
}

impl HeldCheckout {
    pub(super) fn new(turn: Option<Arc<dyn CheckoutTurn>>) -> Self {
        Self {
            turn,
            is_released: false,
            waited: Duration::ZERO,
        }
    }

    /// Counts time in which the run computed nothing.
    pub(super) fn add_idle_time(&mut self, time: Duration) {
        self.waited += time;
    }

    /// Whether the run has computed nothing for so long that it releases the checkout.
    pub(super) fn has_waited_enough(&self) -> bool {
        self.turn.as_ref().is_some_and(|turn| self.waited >= turn.patience())
    }
}

impl Run<'_> {
    /// Releases the store if another process waits for it. Commits this run's results before, so that gc sees them.
    pub(in crate::build) fn release_if_wanted(&mut self) -> Result<(), RunError> {
        if self.context.store.is_wanted() {
            self.make_durable()?;
            self.context.store.release_lock();
        }
        Ok(())
    }

    /// Releases the checkout, once. The held action locks keep other processes from making the same calls to models and programs.
    pub(super) fn release_checkout(&mut self) -> Result<(), RunError> {
        if let Some(turn) = self.checkout.turn.clone().filter(|_| !self.checkout.is_released) {
            self.graph.read_all();
            self.release_store()?;
            turn.release_checkout();
            self.checkout.is_released = true;
        }
        Ok(())
    }

    /// Whether other processes may have built the checkout since this run started.
    pub(in crate::build) fn has_released_checkout(&self) -> bool {
        self.checkout.is_released
    }

    /// Releases the store lock. A build releases it before it waits for the checkout, so that two processes never wait for each other.
    pub(in crate::build) fn release_store(&mut self) -> Result<(), RunError> {
        self.make_durable()?;
        self.context.store.release_lock();
        Ok(())
    }

    pub(super) fn make_durable(&mut self) -> Result<(), RunError> {
        let is_drained = self.outbox.is_drained() && !self.money.has_rows();
        if !is_drained && !self.context.options.mode.is_dry() {
            self.send_batch()?;
        }
        Ok(self.outbox.finish_batches()?)
    }

    /// Commits all pending results with their ledger entries.
    pub(super) fn send_batch(&mut self) -> Result<(), RunError> {
        let results = self.outbox.result_count();
        if results > 0 {
            self.emit(&Event::Committed { results });
        }
        let rows = self.money.take_rows();
        Ok(self.outbox.send_batch(rows)?)
    }

    /// Commits the pending results if they are enough for a batch.
    pub(super) fn send_full_batch(&mut self) -> Result<(), RunError> {
        if self.outbox.is_full() {
            self.send_batch()?;
        }
        Ok(())
    }
}
