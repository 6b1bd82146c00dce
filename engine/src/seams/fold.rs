//! Folds: tables to which every input of a list gives rows by itself, so that of a thousand inputs of which one moved only that one is read.

use super::producer::{Failure, Input};
use std::collections::BTreeMap;

/// How a producer's output follows from what each input of one role gives.
///
/// The output is the table of all rows that [`Fold::put`] makes of what the inputs give, in any order, and nothing else is looked at: no
/// parameter, no variable, no other role.
pub trait Fold: Send + Sync {
    /// The role.
    fn role(&self) -> &'static str;

    /// What one input gives, by the key of the row.
    ///
    /// # Errors
    /// When it is not of the form that the producer reads.
    fn give(&self, input: &Input) -> Result<BTreeMap<String, Vec<u8>>, Failure>;

    /// The row under a key when what `item` gives to it is `given` instead of what it gave; `None` when nothing is left of it. The row is that
    /// of the other items if `item` gave nothing.
    fn put(&self, key: &str, row: Option<&[u8]>, item: &str, given: Option<&[u8]>) -> Option<Vec<u8>>;
}
