//! Updates: how a producer changes its last table when few of its inputs changed.
//!
//! A [`fold`](super::fold) is an update that needs one input at a time. Tables whose rows depend on several inputs look the others up through
//! [`TableChanges`].

use crate::values::diagnostic::Diagnostic;
use crate::values::digest::Digest;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Computes a producer's table from its last one and the changes since.
///
/// The result equals the table that the producer would build from all inputs. The producer reads no parameter and no variable. A producer of another
/// output than a table can only return no rows: then its last output is still right.
pub trait TableUpdate: Send + Sync {
    /// Returns the changes of the last table. `None` if they cannot be derived, or bytes are missing: the producer then reads all inputs.
    fn update(&self, changes: &dyn TableChanges) -> Option<UpdatedRows>;
}

/// Changes of a table.
#[derive(Debug, Default)]
pub struct UpdatedRows {
    /// New rows by key, `None` for a removed row.
    pub rows: BTreeMap<String, Option<Vec<u8>>>,
    /// Diagnostics of the whole table.
    pub diagnostics: Vec<Diagnostic>,
    /// Data for the next update; see [`TableChanges::memo`].
    pub memo: Arc<[u8]>,
}

/// An input that changed, appeared or disappeared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangedInput {
    /// The item of a list input, else empty.
    pub item: Arc<str>,
    /// Its digest when the last table was built, if it was an input.
    pub before: Option<Digest>,
    pub now: Option<Digest>,
}

/// Changes since a table was built. Methods return `None` when bytes are missing.
pub trait TableChanges {
    fn last(&self) -> &dyn TableView;

    /// Returns the diagnostics of the last table.
    fn diagnostics(&self) -> &[Diagnostic];

    /// Returns the data that the producer, or its last update, kept for this update; empty if there is none. No output depends on it.
    fn memo(&self) -> &[u8] {
        &[]
    }

    fn changed_inputs(&self, role: &str) -> Option<&[ChangedInput]>;

    /// Returns the present inputs of a role, by item.
    fn present(&self, role: &str) -> Vec<(Arc<str>, Digest)>;

    /// Returns the present digest of an input of a role.
    fn digest(&self, role: &str, item: &str) -> Option<Digest>;

    /// Reads the bytes of an output; a table in one page.
    fn bytes(&self, digest: &Digest) -> Option<Arc<[u8]>>;

    /// Opens a table to read rows from.
    fn table(&self, digest: &Digest) -> Option<Box<dyn TableView + '_>>;

    /// Returns the keys of rows in which two tables differ, without reading pages that they share. `None` also if there are so many that
    /// reading all rows is faster.
    fn changed_rows(&self, before: &Digest, now: &Digest) -> Option<BTreeSet<String>>;
}

/// Reads a table row by row. Every method returns `None` when a page is missing.
pub trait TableView {
    /// Reads the row of a key; `Some(None)` if the table has none.
    fn row(&self, key: &str) -> Option<Option<Arc<[u8]>>>;

    /// Calls `visit` with the rows from a key on, in order, until it returns `false`.
    fn rows_from(&self, key: &str, visit: &mut dyn FnMut(&str, &[u8]) -> bool) -> Option<()>;
}
