//! Invalidation: a person marks targets to be rebuilt although results of their present keys are stored. The next build of a marked target runs its
//! producer; until then it is stale.
//!
//! Their labels are stored in `Part::State` (key `invalidated`), one per line, each with a tab and the stamp of the result to replace: once any
//! process stores another result under the key, the target is rebuilt.

use super::engine::{Engine, EngineError};
use super::request::{Report, Request};
use super::run::Leftover;
use super::session::Session;
use crate::graph::NodeId;
use crate::store::records::ActionRecord;
use crate::store::{Part, RowChange, StoreError};
use crate::values::digest::{ActionKey, Digest};
use crate::values::event::Silent;
use crate::values::pattern::PatternSet;
use std::collections::BTreeMap;
use std::time::Instant;

const KEY: &[u8] = b"invalidated";

/// Distinguishes a result from all others under its key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InvalidatedResult(u64);

impl InvalidatedResult {
    /// Computes the stamp of a result under a key.
    pub fn from_result(key: &ActionKey, record: &ActionRecord) -> Self {
        let mut hasher = blake3::Hasher::new_derive_key("cortex 2026-11 invalidated result 1");
        hasher.update(&key.0.0).update(&record.output.0);
        hasher.update(&record.made_at.to_le_bytes()).update(&record.took_us.to_le_bytes());
        let hash = hasher.finalize();
        Self(u64::from_le_bytes(
            *hash.as_bytes().first_chunk().expect("invariant: a hash has 32 bytes"),
        ))
    }
}

/// Invalidated labels, each with the stamp of the result to replace.
pub type Marks = BTreeMap<String, InvalidatedResult>;

/// Reads the invalidated labels of a view.
///
/// # Errors
/// When the store cannot be read.
pub(super) fn read_marks(engine: &Engine) -> Result<Marks, StoreError> {
    let row = engine.store.row(engine.view, Part::State, KEY)?.unwrap_or_default();
    let text = String::from_utf8_lossy(&row);
    let mark = |line: &str| {
        let (label, stamp) = line.split_once('\t')?;
        Some((label.to_owned(), InvalidatedResult(u64::from_str_radix(stamp, 16).ok()?)))
    };
    Ok(text.lines().filter_map(mark).collect())
}

impl Session {
    /// Marks nodes with a result for rebuilding and logs that in the log of builds. For a leaf, marks its readers. Returns the marked labels.
    ///
    /// # Errors
    /// When the store cannot be read or written.
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
        let listed = super::build_log::Listing::new(&self.rules, &Silent).into_events().full_record(
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

fn marks_row(marks: &Marks) -> RowChange {
    let lines: Vec<String> = marks.iter().map(|(label, stamp)| format!("{label}\t{:016x}", stamp.0)).collect();
    let text = lines.join("\n");
    (Part::State, KEY.to_vec(), (!text.is_empty()).then(|| text.into_bytes()))
}
