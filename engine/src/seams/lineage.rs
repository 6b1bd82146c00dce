//! Lineage: former names of items of rules (types, say). It follows from History, not from the present sources. It is a hint for paid
//! producers, and no action key contains it.

use super::paid::FormerNames;
use crate::values::digest::Digest;
use std::sync::Arc;

/// A workspace during a build: all free targets are built, but perhaps not committed yet.
pub struct Present<'a> {
    /// The versions of a target in History, oldest first: seconds since 1970 and output.
    pub versions: &'a dyn Fn(&str) -> Vec<(u64, Digest)>,
    /// The time of the build in seconds since 1970.
    pub now: u64,
    /// The output of a target, if it has one in this build.
    pub output: &'a dyn Fn(&str) -> Option<Digest>,
    /// The bytes of an output as its readers see it.
    pub bytes: &'a dyn Fn(&Digest) -> Option<Arc<[u8]>>,
}

/// Finds former names of items.
pub trait Lineage: Send + Sync {
    /// Returns the label of the target whose History shows which items appeared and disappeared; empty if nothing is ever renamed.
    fn source(&self) -> &str;

    fn former(&self, present: &Present<'_>) -> FormerNames;
}

/// Finds no former names.
pub struct Unnamed;

impl Lineage for Unnamed {
    fn source(&self) -> &str {
        ""
    }

    fn former(&self, _: &Present<'_>) -> FormerNames {
        FormerNames::new()
    }
}
