//! Folds: tables to which each input of a list contributes rows independently. If one of a thousand inputs changes, the engine reads only that one.

use super::producer::{Failure, Input};
use std::collections::BTreeMap;

/// Computes a producer's output from the rows that each input of one role contributes.
///
/// The output is the table that [`Fold::add_part`] builds from all contributions, in any order. It depends on nothing else: no parameter,
/// no variable, no other role.
pub trait Fold: Send + Sync {
    fn role(&self) -> &'static str;

    /// Returns the contribution of one input, by row key. Fails when the input is not of the form that the producer reads.
    fn rows_of_input(&self, input: &Input) -> Result<BTreeMap<String, Vec<u8>>, Failure>;

    /// Returns the row of a key without the contribution `part` of `item`; `None` if no contribution is left. By default no inputs share a row.
    fn remove_part(&self, key: &str, row: &[u8], item: &str, part: &[u8]) -> Option<Vec<u8>> {
        let _ = (key, row, item, part);
        None
    }

    /// Returns the row of a key, if there is one, with the contribution `part` of `item`. All removals come before the first addition.
    fn add_part(&self, key: &str, row: Option<&[u8]>, item: &str, part: &[u8]) -> Vec<u8> {
        let _ = (key, row, item);
        part.to_vec()
    }
}

/// The rows that an input contributed before and contributes now.
#[derive(Clone, Debug, Default)]
pub struct Contribution<'a> {
    /// The item of the input.
    pub item: &'a str,
    /// Rows of its former output; none if it is new.
    pub before: BTreeMap<String, Vec<u8>>,
    /// Rows of its present output; none if it is gone.
    pub now: BTreeMap<String, Vec<u8>>,
}

/// Returns the changed rows of a fold by key, `None` for a removed one. `last` reads a row of the last table; `None` if that is impossible.
pub fn changed_rows(
    fold: &dyn Fold,
    changes: &[Contribution<'_>],
    last: &mut dyn FnMut(&str) -> Option<Option<Vec<u8>>>,
) -> Option<BTreeMap<String, Option<Vec<u8>>>> {
    let mut rows: BTreeMap<String, Option<Vec<u8>>> = BTreeMap::new();
    for Contribution { item, before, now } in changes {
        for (key, part) in before.iter().filter(|(key, part)| now.get(*key) != Some(part)) {
            let row = rows.get(key).cloned().map_or_else(|| last(key), Some)?;
            rows.insert(key.clone(), row.and_then(|row| fold.remove_part(key, &row, item, part)));
        }
    }
    for Contribution { item, before, now } in changes {
        for (key, part) in now.iter().filter(|(key, part)| before.get(*key) != Some(part)) {
            let row = rows.get(key).cloned().map_or_else(|| last(key), Some)?;
            rows.insert(key.clone(), Some(fold.add_part(key, row.as_deref(), item, part)));
        }
    }
    Some(rows)
}
