//! Names of trees similar to the present one, as version control knows them. Names are hints: results found under them are used by
//! action key, so that a wrong one costs only time.

/// Names of bundles in a remote cache, besides the name of their tree.
pub trait Nearby: Send + Sync {
    /// Returns the names to store a bundle of the present tree under: its version, and the latest of its branch.
    fn bundle_names(&self) -> Vec<String>;

    /// Returns the name of the tree at which the present branch left the main line, if known.
    fn merge_base(&self) -> Option<String>;

    /// Returns names under which bundles of trees similar to the present one may be stored, the nearest first.
    fn near(&self) -> Vec<String>;
}
