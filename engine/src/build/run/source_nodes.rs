//! Leaves: nodes whose output is a fact of the source tree, not of a producer.

use crate::build::excluded_paths::Exclusion;
use crate::build::job::Fetch;
use crate::values::digest::Digest;
use crate::values::pages::Change;
use std::sync::Arc;

/// Queries of a run to the source tree.
pub trait Leaves {
    /// Returns the digest of a source file's bytes; `None` if no source set contains the file.
    fn file(&self, path: &str) -> Option<Digest>;

    /// Returns the sorted paths of a source set or glob, one per line; `None` if the manifest has no such set.
    fn set(&self, label: &str) -> Option<Arc<[u8]>>;

    /// Returns the paths that a source set or glob gained and lost since its list had the digest `before`; `None` if unknown.
    fn set_changes(&self, label: &str, before: &Digest) -> Option<Vec<(String, Change)>>;

    /// Returns why a path is no source.
    fn explain_exclusion(&self, path: &str) -> Exclusion;

    /// Whether a source set or glob contains a path; `None` if the manifest has no such set.
    fn contains_source(&self, label: &str, path: &str) -> Option<bool>;

    /// Returns where to get the blob of a node.
    fn fetch(&self, label: &str) -> Fetch {
        match leaf(label) {
            Some(Leaf::File(path)) => Fetch::File(path.into()),
            Some(Leaf::Set) => self.set(label).map_or(Fetch::Stored, Fetch::Paths),
            None => Fetch::Stored,
        }
    }
}

/// A leaf by its label.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Leaf {
    /// `//files/PATH:bytes`: the path.
    File(String),
    /// `//sources/NAME:files`, `//globs/PATTERN:files`.
    Set,
}

/// Returns the leaf that a label names, if any.
pub fn leaf(label: &str) -> Option<Leaf> {
    if let Some(path) = file_path(label) {
        return Some(Leaf::File(path));
    }
    let set = (label.starts_with("//sources/") || label.starts_with("//globs/")) && label.ends_with(":files");
    set.then_some(Leaf::Set)
}

/// Returns the path that a `//files/PATH:bytes` label names.
pub fn file_path(label: &str) -> Option<String> {
    let path = label.strip_prefix("//files/").and_then(|rest| rest.strip_suffix(":bytes"))?;
    Some(crate::values::label::unescape(path))
}

/// Returns the label of a source file's bytes.
pub fn file_label(path: &str) -> String {
    format!("//files/{}:bytes", crate::values::label::escape(path))
}
