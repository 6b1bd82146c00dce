//! Options of a build.

use crate::build::invalidated::Marks;

/// A build during which other processes built the checkout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OvertakenBuild {
    /// Time at which it started, in seconds since 1970.
    pub at: u64,
    /// Its number in the log of builds, if logged.
    pub build: Option<u64>,
}

/// Options of a build.
#[derive(Clone, Debug)]
pub struct Options {
    /// Number of worker threads.
    pub jobs: usize,
    /// Whether to continue with other targets after a failure.
    pub keep_going: bool,
    /// Whether to run no producer and only report which would run.
    pub dry_run: bool,
    /// Maximum number of concurrent paid calls.
    pub paid_jobs: usize,
    /// Whether to only price paid targets. Free ones are built.
    pub price: bool,
    /// Whether to also try targets that failed too often under their key.
    pub insist: bool,
    /// Labels of paid targets for which a person requested new results although cached ones exist.
    pub fresh: std::collections::BTreeSet<String>,
    /// Labels of targets whose results must be rebuilt, with the marks that people set. Taken from the session.
    pub invalidated: Marks,
    /// Labels of cached targets to rebuild for comparison. Their present results stay.
    pub rebuilt: std::collections::BTreeSet<String>,
    /// Whether to only compute, and count nothing: an earlier build of this request ran the programs and asked the models, and other
    /// processes built the checkout while it waited.
    pub settles: Option<OvertakenBuild>,
    /// Whether cortex itself makes the request: no later build waits for it, so it is not built ahead.
    pub own: bool,
    /// Maximum number of nodes whose states a stopped build commits. With more, it commits only the results, which the next build finds under their
    /// keys.
    pub settled_on_stop: usize,
}

impl Default for Options {
    /// One worker, and no special options.
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

/// Committing the states of this many nodes takes a fraction of a second.
const SETTLED_ON_STOP: usize = 30_000;
