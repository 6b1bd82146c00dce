//! Builds a request: with results of other machines, in one attempt, or two if the stored graph is damaged.

use super::bundle_import::ImportCounts;
use super::engine::EngineError;
use super::request::{Report, Request};
use super::session::Session;
use crate::graph::stale::Marked;
use crate::seams::producer::Cancel;
use crate::values::event::{Event, Observer, Phase};
use std::time::Instant;

impl Session {
    /// Builds, lays out files and commits. A dry run changes nothing. Fails when the store or the workspace breaks. Failures of targets are
    /// in the report.
    pub fn build(&mut self, request: &Request, observer: &dyn Observer, cancel: &Cancel) -> Result<Report, EngineError> {
        if std::mem::take(&mut self.is_unsaved) {
            // A stopped build of this session settled nodes without committing them.
            self.forget_graph()?;
        }
        if !request.outputs {
            self.listed = None;
        }
        self.report_sources(observer);
        // The sources do not change within a session: ask other machines only once for results of them.
        let (brought, adopted) = match Self::produces_results(request) && !std::mem::replace(&mut self.has_asked_cache, true) {
            true => {
                let bringing = Instant::now();
                let brought = self.import_bundle(request, cancel)?;
                if brought != ImportCounts::default() {
                    observer.phase(&Phase::ended_now("bring", bringing));
                }
                (brought, self.confirm(self.engine.sharing.clone().as_ref())?)
            }
            false => (ImportCounts::default(), 0),
        };
        let with = |mut report: Report| {
            report.tally.adopted += adopted;
            Report { brought, ..report }
        };
        if let Some(report) = self.attempt(request, observer, cancel)? {
            return Ok(with(report));
        }
        // A page of the graph is damaged. Discard everything derived from it; results are found under their keys again.
        self.forget_graph()?;
        let report = self.attempt(request, observer, cancel)?;
        Ok(with(report.expect("invariant: a graph that was not loaded has no damaged page")))
    }

    fn report_sources(&self, observer: &dyn Observer) {
        let files = self.sources.count();
        observer.event(&Event::Scanned {
            files,
            hashed: self.refresh.hashed,
            stated: self.refresh.stated,
            changed: self.refresh.changes.len(),
        });
        if self.is_redefined() {
            return;
        }
        for &node in &self.origins {
            let reason = self.reason(&Marked { node, via: None });
            observer.event(&Event::Marked {
                label: &self.graph.node(node).label,
                reason: &reason,
            });
        }
    }
}
