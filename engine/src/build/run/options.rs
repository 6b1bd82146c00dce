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

/// What a build does with targets that have no stored result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BuildMode {
    #[default]
    Build,
    /// Runs no producer and only reports which would run.
    DryRun,
    /// Builds free targets and only prices paid ones.
    Price,
    /// Only computes, and counts nothing: the overtaken build ran the programs and asked the models.
    Settle {
        of: OvertakenBuild,
        /// Whether it only priced paid targets.
        priced: bool,
    },
}

impl BuildMode {
    /// Whether no producer runs.
    pub fn is_dry(self) -> bool {
        self == Self::DryRun
    }

    /// Whether paid targets are only priced.
    pub fn prices(self) -> bool {
        matches!(self, Self::Price | Self::Settle { priced: true, .. })
    }

    /// Whether the results of an overtaken build are settled.
    pub fn settles(self) -> bool {
        self.overtaken_build().is_some()
    }

    /// Returns the overtaken build whose results are settled.
    pub fn overtaken_build(self) -> Option<OvertakenBuild> {
        match self {
            Self::Settle { of, .. } => Some(of),
            Self::Build | Self::DryRun | Self::Price => None,
        }
    }
}

/// Options of a build.
#[derive(Clone, Debug)]
pub struct Options {
    /// Number of worker threads.
    pub jobs: usize,
    /// Whether to continue with other targets after a failure.
    pub keep_going: bool,
    /// What to do with targets that have no stored result.
    pub mode: BuildMode,
    /// Maximum number of concurrent paid calls.
    pub paid_jobs: usize,
    /// Whether to also try targets that failed too often under their key.
    pub insist: bool,
    /// Labels of paid targets for which a person requested new results although cached ones exist.
    pub fresh: std::collections::BTreeSet<String>,
    /// Labels of targets whose results must be rebuilt, with the marks that people set. Taken from the session.
    pub invalidated: Marks,
    /// Labels of cached targets to rebuild for comparison. Their present results stay.
    pub rebuilt: std::collections::BTreeSet<String>,
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
            mode: BuildMode::Build,
            paid_jobs: 1,
            insist: false,
            fresh: std::collections::BTreeSet::new(),
            rebuilt: std::collections::BTreeSet::new(),
            invalidated: Marks::new(),
            own: false,
            settled_on_stop: SETTLED_ON_STOP,
        }
    }
}

/// Committing the states of this many nodes takes a fraction of a second.
const SETTLED_ON_STOP: usize = 30_000;
