//! Overtaken builds: while one build waited for a model it released the checkout, and another process built it. The first build stores its results
//! under their keys, reads the stored graph again, and settles the request in a second run, which asks no model.

use super::engine::{Definition, Engine, EngineError};
use super::remarks::EarlierRemarks;
use super::request::{Report, Request};
use super::run::{BuildMode, Leftover, Options, OvertakenBuild};
use super::session::Session;
use super::state::STATE_KEY;
use crate::seams::producer::Cancel;
use crate::store::builds::BuildRecord;
use crate::store::{Part, StoreError};
use crate::values::event::Silent;

/// State of a checkout after this process released it.
pub(super) enum Checkout {
    /// This process holds it again, and no other process wrote it.
    AsLeft,
    /// This process holds it again, and another process wrote it.
    Changed,
    /// Another process holds it.
    Lost(StoreError),
}

impl Engine {
    /// Returns a row that every build with changes to the graph writes.
    pub(super) fn stored_state(&self) -> Result<Option<Vec<u8>>, StoreError> {
        self.store.row(self.view, Part::State, STATE_KEY)
    }

    /// Acquires a released checkout again; its state was `stored` before.
    pub(super) fn reacquire_checkout(&self, stored: &Option<Vec<u8>>, cancel: &Cancel) -> Result<Checkout, EngineError> {
        let Some(turn) = &self.turn else {
            return Ok(Checkout::AsLeft);
        };
        Ok(match turn.reacquire_checkout(&|| cancel.is_cancelled()) {
            Ok(true) if self.stored_state()? == *stored => Checkout::AsLeft,
            Ok(_) => Checkout::Changed,
            Err(error) => Checkout::Lost(error),
        })
    }
}

impl Session {
    /// Stores the results of an overtaken build and settles them in the present graph. Without the checkout, the next build does that.
    pub(super) fn settle_overtaken(
        &mut self,
        (request, mut report, at): (&Request, Report, u64),
        (mut leftover, listed): (Leftover, Option<BuildRecord>),
        checkout: Checkout,
        cancel: &Cancel,
    ) -> Result<Report, EngineError> {
        let remarks = EarlierRemarks::from_run(std::mem::take(&mut leftover.remarks), &self.graph);
        if let Checkout::Lost(error) = checkout {
            self.commit_results(leftover)?;
            self.write_error = Some(error);
            return Ok(report);
        }
        let manifest = self.state.manifest.clone();
        self.reload()?;
        leftover.listed = listed;
        let has_number = leftover.listed.is_some();
        self.commit_results(leftover)?;
        let build = self.listed.as_ref().filter(|_| has_number).map(|listed| listed.number);
        self.is_unsaved = false;
        // If others built with another manifest, their next build settles these results.
        let is_theirs = self.is_redefined() && self.state.manifest != manifest;
        if is_theirs || report.cancelled || !report.refused.is_empty() {
            return Ok(report);
        }
        self.earlier_remarks = remarks;
        let request = Request {
            patterns: request.patterns.clone(),
            digest: request.digest,
            options: Options {
                mode: BuildMode::Settle {
                    of: OvertakenBuild { at, build },
                    priced: request.options.mode.prices(),
                },
                fresh: Default::default(),
                rebuilt: Default::default(),
                ..request.options.clone()
            },
            list: false,
            outputs: false,
        };
        match self.attempt(&request, &Silent, cancel)? {
            Some(settled) => {
                report.written += settled.written;
                report.not_laid_out += settled.not_laid_out;
                report.no_space |= settled.no_space;
                let is_told = |why: &_| report.failures.contains(why);
                let untold: Vec<_> = settled.failures.into_iter().filter(|why| !is_told(why)).collect();
                report.failures.extend(untold);
            }
            None => self.forget_graph()?,
        }
        Ok(report)
    }

    /// Loads the present view and sources in place of those of this session.
    pub(super) fn reload(&mut self) -> Result<(), EngineError> {
        let manifest = self.rules.manifest().clone();
        let definition = Definition {
            digest: *self.definition(),
            manifest: manifest.clone(),
            rows: std::mem::take(&mut self.compiled),
        };
        let look = self.engine.read_sources(&definition.digest, || Ok::<_, EngineError>(manifest))?;
        let now = Self::open(self.engine.clone(), &definition, look)?;
        let before = std::mem::replace(self, now);
        self.has_asked_cache = before.has_asked_cache;
        self.predecessors = before.predecessors;
        self.listed = before.listed;
        Ok(())
    }
}
