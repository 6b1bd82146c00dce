//! A build: from patterns to settled targets, files, a report, and one transaction that records it.

use super::bundle_import::ImportCounts;
use super::layout::LayoutResult;
use super::outlook::RunForecast;
use super::remote_costs::ProducerCost;
use super::run::{Leftover, Options, Priced, Root, Tally};
use crate::values::diagnostic::Diagnostic;
use crate::values::digest::Digest;
use crate::values::pattern::PatternSet;
use std::sync::Arc;

/// Request for a build.
#[derive(Clone, Debug)]
pub struct Request {
    pub patterns: PatternSet,
    /// Digest of the request, under which the store records whether it is current.
    pub digest: Digest,
    pub options: Options,
    /// Whether the report must list the targets.
    pub list: bool,
    /// Whether the report must contain the outputs.
    pub outputs: bool,
}

/// Result of a build.
#[derive(Debug, Default)]
pub struct Report {
    /// Number of requested targets.
    pub targets: usize,
    /// The requested targets, sorted, if the request asked for a list.
    pub roots: Vec<Root>,
    /// The outputs in the order of `roots`, if the request asked for them.
    pub outputs: Vec<Option<Arc<[u8]>>>,
    /// Counts of the build.
    pub tally: Tally,
    /// Failures, the first one first.
    pub failures: Vec<Diagnostic>,
    /// Errors of patterns that match nothing or too much; then nothing was built.
    pub refused: Vec<Diagnostic>,
    /// For a dry run: sets that must be built before their targets are known, and patterns that match nothing so far.
    pub unknown: Vec<Diagnostic>,
    /// Diagnostics of producers and of the refresh.
    pub diagnostics: Vec<Diagnostic>,
    /// Number of files written.
    pub written: usize,
    /// Number of files that could not be laid out; the reasons are among the failures.
    pub not_laid_out: usize,
    /// Number of warnings of outputs of earlier builds, which reported them.
    pub earlier_warnings: u64,
    /// Whether the build was stopped.
    pub cancelled: bool,
    /// Number of targets not reached when it was stopped.
    pub left: usize,
    /// Whether the disk is full.
    pub no_space: bool,
    /// For a dry run: the producers that would run.
    pub outlook: Option<RunForecast>,
    /// If only priced: questions of paid targets.
    pub plans: Vec<Priced>,
    /// Results of other machines for the same sources.
    pub brought: ImportCounts,
    /// Average durations of producers, in a build with a remote cache.
    pub costs: Vec<ProducerCost>,
}

impl Report {
    /// Copies the reports of a run.
    pub(super) fn take_over(&mut self, leftover: &Leftover) {
        self.tally = leftover.tally.clone();
        self.failures.extend(leftover.failures.iter().cloned());
        self.diagnostics.extend(leftover.diagnostics.iter().cloned());
        self.plans.clone_from(&leftover.plans);
        self.costs.clone_from(&leftover.costs);
    }

    /// Copies the counts and failures of laying out files.
    pub(super) fn take_over_layout(&mut self, laid: &LayoutResult) {
        self.written = laid.written;
        self.no_space = laid.no_space;
        if !self.cancelled {
            self.failures.extend(laid.failures.iter().cloned());
            self.not_laid_out = laid.refused;
        }
    }
}
