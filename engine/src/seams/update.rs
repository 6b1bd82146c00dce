//! Updates: how a producer changes the table that it made last when few of its inputs moved.
//!
//! A [`fold`](super::fold) is an update that needs one input at a time. Tables whose rows follow from several inputs together look up what else
//! they need here.

use crate::values::diagnostic::Diagnostic;
use crate::values::digest::Digest;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// How a producer's table follows from its last one and what moved since.
///
/// The result equals what the producer makes of all inputs. The producer looks at no parameter and no variable.
pub trait TableUpdate: Send + Sync {
    /// What changes in the last table. `None` when that cannot be told from what moved, or bytes are not at hand: the producer reads all inputs.
    fn update(&self, moves: &dyn Moves) -> Option<UpdatedRows>;
}

/// What changes in a table.
#[derive(Debug, Default)]
pub struct UpdatedRows {
    /// Rows by key as they are to be, `None` for no row.
    pub rows: BTreeMap<String, Option<Vec<u8>>>,
    /// What is said of the whole table.
    pub diagnostics: Vec<Diagnostic>,
}

/// An input that moved, came or went.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MovedInput {
    /// The item of a list input, else empty.
    pub item: Arc<str>,
    /// Its digest when the last table was made, if it was an input.
    pub before: Option<Digest>,
    /// Its digest now, if it is an input.
    pub now: Option<Digest>,
}

/// What moved since a table was made. All methods give `None` when bytes are not at hand.
pub trait Moves {
    /// The last table.
    fn last(&self) -> &dyn TableView;

    /// What was said of the last table.
    fn diagnostics(&self) -> &[Diagnostic];

    /// The inputs of a role that moved.
    fn changed_inputs(&self, role: &str) -> Option<&[MovedInput]>;

    /// The present inputs of a role by item.
    fn present(&self, role: &str) -> Vec<(Arc<str>, Digest)>;

    /// The present digest of an input of a role.
    fn digest(&self, role: &str, item: &str) -> Option<Digest>;

    /// The bytes of an output, a table in one page.
    fn bytes(&self, digest: &Digest) -> Option<Arc<[u8]>>;

    /// A table, to read rows of.
    fn table(&self, digest: &Digest) -> Option<Box<dyn TableView + '_>>;

    /// The keys of the rows that two tables do not have in common. What they share is not read. `None` also when they are so many that reading
    /// all rows is quicker.
    fn changed_rows(&self, before: &Digest, now: &Digest) -> Option<BTreeSet<String>>;
}

/// Reads a table row by row. Every method returns `None` when a page is missing.
pub trait TableView {
    /// The row under a key, if there is one.
    fn row(&self, key: &str) -> Option<Option<Arc<[u8]>>>;

    /// Calls `visit` with the rows from a key on, in order, until it gives `false`.
    fn rows_from(&self, key: &str, visit: &mut dyn FnMut(&str, &[u8]) -> bool) -> Option<()>;
}
