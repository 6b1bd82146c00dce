//! Invalidation: targets that a person wants made again although their results are filed under their present keys. The next build that asks for
//! one runs its producer; until then it is stale.
//!
//! Their labels are kept in `Part::State` (key `invalidated`), one a line.

use super::engine::{Engine, EngineError};
use super::request::{Report, Request};
use super::run::Leftover;
use super::session::Session;
use crate::graph::NodeId;
use crate::store::{Part, RowChange, StoreError};
use crate::values::digest::Digest;
use crate::values::event::Silent;
use crate::values::pattern::PatternSet;
use std::collections::BTreeSet;
use std::time::Instant;

/// The row's key.
const KEY: &[u8] = b"invalidated";

/// The labels of a view that are invalidated.
///
/// # Errors
/// When the store cannot be read.
pub(super) fn labels(engine: &Engine) -> Result<BTreeSet<String>, StoreError> {
    let row = engine.store.row(engine.view, Part::State, KEY)?.unwrap_or_default();
    let text = String::from_utf8_lossy(&row);
    Ok(text.lines().map(str::to_owned).collect())
}

impl Session {
    /// Marks nodes that have a result for making again, and lists that in the log of builds. Leaves stand for the nodes that read them. Gives
    /// the labels that were marked.
    ///
    /// # Errors
    /// When the store cannot be read or written.
    pub fn invalidate(&mut self, patterns: &PatternSet, nodes: &[NodeId]) -> Result<Vec<String>, EngineError> {
        let mut marked = BTreeSet::new();
        for &id in nodes {
            let is_leaf = self.rules.find(&self.graph.node(id).label).is_none();
            let meant: Vec<NodeId> = if is_leaf { self.links.readers(id).collect() } else { vec![id] };
            for id in meant {
                if !self.graph.has_result(id) {
                    continue;
                }
                self.graph.set_stale(id, true);
                marked.insert(self.graph.node(id).label.to_string());
            }
        }
        if marked.is_empty() {
            return Ok(Vec::new());
        }
        self.invalidated.extend(marked.iter().cloned());
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
        let listed = super::listing::Listing::new(&self.rules, &Silent).into_events().line(
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
        self.commit(leftover, vec![row(&self.invalidated)], false, None, None)?;
        Ok(marked.into_iter().collect())
    }

    /// The row that leaves out what was made since; `None` when nothing was.
    pub(super) fn made_again(&mut self) -> Option<RowChange> {
        let count = self.invalidated.len();
        let graph = &self.graph;
        self.invalidated
            .retain(|label| graph.find(label).is_some_and(|id| graph.is_stale(id)));
        (self.invalidated.len() < count).then(|| row(&self.invalidated))
    }
}

fn row(labels: &BTreeSet<String>) -> RowChange {
    let lines: Vec<&str> = labels.iter().map(String::as_str).collect();
    let text = lines.join("\n");
    (Part::State, KEY.to_vec(), (!text.is_empty()).then(|| text.into_bytes()))
}
