//! Lineage: what items of rules (types, say) were called before. It follows from History, not from the sources of now: a hint for producers
//! that cost money, in no key.

use super::paid::FormerNames;
use crate::values::digest::Digest;
use std::sync::Arc;

/// A workspace in the middle of a build: everything free is made, nothing of it need be filed yet.
pub struct Present<'a> {
    /// The versions of a target that History has, oldest first: seconds since 1970 and output.
    pub versions: &'a dyn Fn(&str) -> Vec<(u64, Digest)>,
    /// The time of the build in seconds since 1970.
    pub now: u64,
    /// The output of a target, if it has one in this build.
    pub output: &'a dyn Fn(&str) -> Option<Digest>,
    /// The bytes of an output as its readers see it.
    pub bytes: &'a dyn Fn(&Digest) -> Option<Arc<[u8]>>,
}

/// Tells what was called otherwise before.
pub trait Lineage: Send + Sync {
    /// The label of the target whose History tells which items came and went; empty if nothing is ever renamed.
    fn source(&self) -> &str;

    /// Present names with the names that they had before.
    fn former(&self, present: &Present<'_>) -> FormerNames;
}

/// Nothing was called otherwise.
pub struct Unnamed;

impl Lineage for Unnamed {
    fn source(&self) -> &str {
        ""
    }

    fn former(&self, _: &Present<'_>) -> FormerNames {
        FormerNames::new()
    }
}
