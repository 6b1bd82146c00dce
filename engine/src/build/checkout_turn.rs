//! The right to write a checkout's rows and files. A build releases it while it waits for a model.

use crate::store::StoreError;
use std::time::Duration;

/// The right of this process to one checkout.
pub trait CheckoutTurn: Send + Sync {
    /// Returns how long a build waits before it releases the right: a shorter wait is not worth it.
    fn patience(&self) -> Duration {
        Duration::from_millis(200)
    }

    /// Releases the right: other processes may build the checkout from now on.
    fn release_checkout(&self);

    /// Acquires the checkout again, and waits for another holder until `is_cancelled`. Returns whether no other process held it in between.
    /// Fails when another process keeps it until the time-out, or the wait was cancelled.
    fn reacquire_checkout(&self, is_cancelled: &dyn Fn() -> bool) -> Result<bool, StoreError>;
}
