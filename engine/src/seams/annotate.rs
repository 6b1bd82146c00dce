//! Annotations: what a person wants to be told of a build later on that has no part in what it makes. Nothing of this is in any key.

/// What was checked out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Revision {
    /// The commit, in hexadecimal.
    pub commit: String,
    /// Whether files are not as that commit has them; `None` when that is not known.
    pub dirty: Option<bool>,
}

/// Knows under which circumstances a build runs. Asked only when a build has something to write.
pub trait Annotate: Send + Sync {
    /// The command, as in `build`.
    fn command(&self) -> String;

    /// What is checked out, if the workspace belongs to a checkout.
    fn revision(&self) -> Option<Revision>;
}

/// Knows nothing.
pub struct Unannotated;

impl Annotate for Unannotated {
    fn command(&self) -> String {
        String::new()
    }

    fn revision(&self) -> Option<Revision> {
        None
    }
}
