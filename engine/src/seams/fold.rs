//! Folds: tables to which each input of a list contributes rows independently. If one of a thousand inputs changes, the engine reads only that one.

use super::producer::{Failure, Input};
use std::collections::BTreeMap;

/// Computes a producer's output from the rows that each input of one role contributes.
///
/// The output is the table that [`Fold::replace_part`] builds from all contributions, in any order. It depends on nothing else: no parameter,
/// no variable, no other role.
pub trait Fold: Send + Sync {
    /// Returns the role of the inputs.
    fn role(&self) -> &'static str;

    /// Returns the contribution of one input, by row key.
    ///
    /// # Errors
    /// When the input is not of the form that the producer reads.
    fn rows_of_input(&self, input: &Input) -> Result<BTreeMap<String, Vec<u8>>, Failure>;

    /// Returns the row of a key after the contribution of `item` became `part`; `None` if no contribution is left.
    fn replace_part(&self, key: &str, row: Option<&[u8]>, item: &str, part: Option<&[u8]>) -> Option<Vec<u8>>;
}
