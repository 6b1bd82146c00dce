//! The right to write a checkout's rows and files. A build gives it back while it waits for a model.

use crate::store::StoreError;
use std::time::Duration;

/// The right to one checkout, which this process has.
pub trait CheckoutTurn: Send + Sync {
    /// How long a build waits before it gives it back: less is not worth the trouble.
    fn patience(&self) -> Duration {
        Duration::from_millis(200)
    }

    /// Gives it back: others may build the checkout from now on.
    fn give_back(&self);

    /// Acquires the checkout again, and waits for another holder until `is_cancelled`. Returns whether no other process held it meanwhile.
    ///
    /// # Errors
    /// When others keep it for too long, or the wait was cancelled.
    fn take_again(&self, is_cancelled: &dyn Fn() -> bool) -> Result<bool, StoreError>;
}
