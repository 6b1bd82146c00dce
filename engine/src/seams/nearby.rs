//! Which trees are near to the present one, as whoever knows of versions knows it. Names are hints: what is found under them is used by
//! action keys, so that a wrong one costs time only.

/// Names under which bundles of a remote cache are filed beside the name of their tree.
pub trait Nearby: Send + Sync {
    /// What a bundle of the present tree is filed under: its version, and as the latest of its line.
    fn bundle_names(&self) -> Vec<String>;

    /// Where bundles of trees near to the present one may be filed, the nearest first.
    fn near(&self) -> Vec<String>;
}
