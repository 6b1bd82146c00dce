//! Files that contain more than an output: states of nodes, which no output may contain.

use super::node_status::NodeStatus;
use std::sync::Arc;

/// An output whose file contains more than its blob.
pub struct OutputToFinish<'a> {
    pub label: &'a str,
    pub blob: &'a [u8],
    /// Time at which it was built, in seconds since 1970, if known and [`Finish::shows_times`].
    pub made_at: Option<u64>,
    /// Its file as last written, if most states that it shows are still right; `None` if [`Finish::shows_times`].
    pub last: Option<LastFile<'a>>,
}

/// A file as last written.
pub struct LastFile<'a> {
    pub bytes: &'a [u8],
    /// The labels whose state may differ from the one that it shows.
    pub changed: &'a [Arc<str>],
}

/// Adds to files what a blob must not contain: states derived by the engine.
pub trait Finish: Send + Sync {
    /// Returns the labels of the nodes whose files contain more than their blobs.
    fn labels(&self) -> &[&str];

    /// Whether one of these files may show the state of the node of that label.
    fn shows(&self, label: &str) -> bool;

    /// Whether a file may contain the time of its output.
    fn shows_times(&self) -> bool {
        false
    }

    /// Returns the labels of nodes from which files next to the outputs derive, such as a list of former names.
    fn name_sources(&self) -> &[&str] {
        &[]
    }

    /// Returns the bytes to lay out for one of these, if they differ from the blob. `states` returns the states of nodes by label.
    fn finish(&self, output: &OutputToFinish<'_>, states: &mut dyn FnMut(&[String]) -> Vec<NodeStatus>) -> Option<Vec<u8>>;
}

/// Lays out blobs unchanged.
pub struct Plain;

impl Finish for Plain {
    fn labels(&self) -> &[&str] {
        &[]
    }

    fn shows(&self, _: &str) -> bool {
        false
    }

    fn finish(&self, _: &OutputToFinish<'_>, _: &mut dyn FnMut(&[String]) -> Vec<NodeStatus>) -> Option<Vec<u8>> {
        None
    }
}
