//! Annotations: facts about a build that it records for people. No output and no action key depends on them.

/// The revision that was checked out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Revision {
    /// The commit, in hexadecimal.
    pub commit: String,
    /// Whether files differ from that commit; `None` if unknown.
    pub dirty: Option<bool>,
}

/// Provides the annotations of a build. A build calls it only when it has something to write.
pub trait Annotate: Send + Sync {
    /// Returns the command, such as `build`.
    fn command(&self) -> String;

    /// Returns the revision that is checked out, if the workspace belongs to a checkout. `changed`: files that this build found changed, which
    /// therefore probably differ from the revision.
    fn revision(&self, changed: &[String]) -> Option<Revision>;
}

/// Provides no annotations.
pub struct Unannotated;

impl Annotate for Unannotated {
    fn command(&self) -> String {
        String::new()
    }

    fn revision(&self, _: &[String]) -> Option<Revision> {
        None
    }
}
