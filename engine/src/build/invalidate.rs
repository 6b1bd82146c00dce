//! Marks targets to be rebuilt although results of their present keys are stored.

use super::build_log::Listing;
use super::engine::EngineError;
use super::invalidated::{InvalidatedResult, Marks, marks_row};
use super::request::{Report, Request};
use super::run::Leftover;
use super::session::Session;
use crate::graph::NodeId;
use crate::store::RowChange;
use crate::values::digest::Digest;
use crate::values::event::Silent;
use crate::values::pattern::PatternSet;
use std::time::Instant;

impl Session {
    /// Marks nodes with a result for rebuilding and logs that in the log of builds. For a leaf, marks its readers. Returns the marked labels.
    pub fn invalidate(&mut self, patterns: &PatternSet, nodes: &[NodeId]) -> Result<Vec<String>, EngineError> {
        let mut marked = Marks::new();
        for &id in nodes {
            let is_leaf = self.rules.find(&self.graph.node(id).label).is_none();
            let affected: Vec<NodeId> = if is_leaf { self.links.readers(id).collect() } else { vec![id] };
            for id in affected {
                let Some(result) = self.graph.node(id).result else { continue };
                let Some(record) = self.engine.store.action(&result.key)? else {
                    // The result is missing and rebuilt anyway.
                    continue;
                };
                self.graph.set_stale(id, true);
                marked.insert(
                    self.graph.node(id).label.to_string(),
                    InvalidatedResult::from_result(&result.key, &record),
                );
            }
        }
        if marked.is_empty() {
            return Ok(Vec::new());
        }
        self.invalidated.extend(marked.clone());
        let request = Request {
            patterns: patterns.clone(),
            digest: Digest::of(b""),
            options: Default::default(),
            list: false,
            outputs: false,
        };
        let report = Report {
            targets: marked.len(),
            ..Report::default()
        };
        let began = (self.engine.world.now_secs(), Instant::now());
        let listed = Listing::new(&self.rules, &Silent, &[], false).into_events().full_record(
            &request,
            &report,
            began,
            &*self.engine.annotate,
            Vec::new(),
        );
        self.listed = None;
        let leftover = Leftover {
            listed: Some(listed),
            ..Leftover::default()
        };
        self.commit(leftover, vec![marks_row(&self.invalidated)], false, None, None)?;
        Ok(marked.into_keys().collect())
    }

    /// Whether a person invalidated a target.
    pub fn is_invalidated(&self, label: &str) -> bool {
        self.invalidated.contains_key(label)
    }

    /// Returns the row without the targets rebuilt since; `None` if there are none.
    pub(super) fn unmark_rebuilt(&mut self) -> Option<RowChange> {
        let count = self.invalidated.len();
        let graph = &self.graph;
        self.invalidated
            .retain(|label, _| graph.find(label).is_some_and(|id| graph.is_stale(id)));
        (self.invalidated.len() < count).then(|| marks_row(&self.invalidated))
    }
}
