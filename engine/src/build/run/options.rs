//! Options: how a build goes about what it was asked for.

use crate::build::invalidated::Marks;

/// A build that others overtook.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OvertakenBuild {
    /// When it began, seconds since 1970.
    pub at: u64,
    /// Its number in the log of builds, if it is listed.
    pub build: Option<u64>,
}

/// How a build goes about it.
#[derive(Clone, Debug)]
pub struct Options {
    /// Worker threads.
    pub jobs: usize,
    /// Go on with other targets after a failure.
    pub keep_going: bool,
    /// Run no producer; say what would run.
    pub dry_run: bool,
    /// Calls that cost money at the same time.
    pub paid_jobs: usize,
    /// Make nothing that costs money: say what it would cost. What is free is made.
    pub price: bool,
    /// Also try what failed so often under its key that it is not tried again by itself.
    pub insist: bool,
    /// Labels of paid targets that a person wants made anew although a result is filed.
    pub fresh: std::collections::BTreeSet<String>,
    /// Labels of targets whose results are to be made again, by the marks that people set. Taken from the session.
    pub invalidated: Marks,
    /// Labels of targets that are made again although a result is filed, to see whether the same comes out. What stands stays.
    pub rebuilt: std::collections::BTreeSet<String>,
    /// Only compute, and count nothing: an earlier build of this request ran the programs and asked the models, and others built the checkout
    /// meanwhile.
    pub settles: Option<OvertakenBuild>,
    /// Whether the program asks for itself: nobody waits for that again, so it is not made ahead.
    pub own: bool,
    /// Told to stop, a build commits the states of at most so many nodes. Of more it commits the results alone: the next build finds them under
    /// their keys.
    pub settled_on_stop: usize,
}

impl Default for Options {
    /// One worker, and nothing out of the ordinary.
    fn default() -> Self {
        Self {
            jobs: 1,
            keep_going: true,
            dry_run: false,
            paid_jobs: 1,
            price: false,
            insist: false,
            fresh: std::collections::BTreeSet::new(),
            rebuilt: std::collections::BTreeSet::new(),
            settles: None,
            invalidated: Marks::new(),
            own: false,
            settled_on_stop: SETTLED_ON_STOP,
        }
    }
}

/// Committing the states of so many nodes takes a fraction of a second.
const SETTLED_ON_STOP: usize = 30_000;
