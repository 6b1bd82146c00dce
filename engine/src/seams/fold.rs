//! Folds: tables whose rows are contributed by the inputs of a list, each by itself. When one of a thousand inputs moves, the engine reads that one.

use super::producer::{Failure, Input};
use std::collections::BTreeMap;

/// How a producer's output follows from the rows that each input of one role contributes.
///
/// The output is the table that [`Fold::replace_part`] builds from all contributions, in any order. It depends on nothing else: no parameter,
/// no variable, no other role.
pub trait Fold: Send + Sync {
    /// The role of the inputs.
    fn role(&self) -> &'static str;

    /// What one input contributes, by the key of the row.
    ///
    /// # Errors
    /// When the input is not of the form that the producer reads.
    fn rows_of_input(&self, input: &Input) -> Result<BTreeMap<String, Vec<u8>>, Failure>;

    /// The row under a key after the contribution of `item` became `part`; `None` when no contribution is left.
    fn replace_part(&self, key: &str, row: Option<&[u8]>, item: &str, part: Option<&[u8]>) -> Option<Vec<u8>>;
}
