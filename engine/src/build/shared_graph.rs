//! The graph in a bundle. A checkout without a graph continues from the graph of the tree that another machine built, as if it had been built here and
//! its files edited since: only what differs is planned. Graphs say where to look, so that a wrong one costs time.

use super::engine::EngineError;
use super::remarks::Remark;
use super::session::{Session, stored_graph_and_links};
use super::state::{STATE_KEY, State};
use crate::graph::pages::{RECORDS, each_record};
use crate::graph::{NodeId, NodeResult};
use crate::manifest::read::digest_of_keyed_parts;
use crate::seams::remote::{GraphRow, PREFIX, prefix};
use crate::seams::world::{Change, Refresh};
use crate::store::records::{ActionRecord, Class, HistoryRecord};
use crate::store::unconfirmed::{self, Unconfirmed};
use crate::store::{Commit, Part, RowChange, StoreError};
use crate::values::cbor::{decode, encode};
use crate::values::digest::{ActionKey, Digest};
use minicbor::{Decode, Encode};
use rustc_hash::{FxHashMap, FxHashSet};

/// Format of the rows. Others are not read.
const SCHEMA: u32 = 2;
/// Table of the only row that describes the others.
const HEAD: u8 = 0;
/// Tables of the other rows.
const TABLES: [(u8, Part); 4] = [(1, Part::Nodes), (2, Part::Links), (3, Part::Lookups), (4, Part::Remarks)];

/// Rules and producers of the graph, and its stale set.
#[derive(Encode, Decode)]
#[cbor(map)]
struct Head {
    #[n(0)]
    schema: u32,
    /// Digest of everything in the manifest that enters keys.
    #[cbor(n(1), with = "minicbor::bytes")]
    rules: Vec<u8>,
    #[cbor(n(2), with = "minicbor::bytes")]
    registry: Vec<u8>,
    #[n(3)]
    nodes: u64,
    #[cbor(n(4), with = "minicbor::bytes")]
    stale: Vec<u8>,
}

/// Facts of a record that a graph is checked against.
#[derive(Clone, Copy)]
pub struct KnownResult {
    pub output: Digest,
    /// Whether it is paid, and young enough that another machine may have another answer.
    pub is_unconfirmed: bool,
}

impl KnownResult {
    /// Reads these facts at `now`, in seconds since 1970.
    pub fn from_record(record: &ActionRecord, now: u64) -> Self {
        Self {
            output: record.output,
            is_unconfirmed: record.class == Class::Paid && now < record.made_at.saturating_add(unconfirmed::OLD),
        }
    }
}

/// Results that a checkout has, or that it receives when they are looked up.
pub struct KnownResults {
    /// Results whose records were read.
    pub read: FxHashMap<ActionKey, KnownResult>,
    /// Prefixes of the keys of all other results; no such result is paid.
    pub unread: FxHashSet<[u8; PREFIX]>,
}

/// Facts of the rows that a checkout compares with its own.
#[derive(Default)]
struct Outline {
    leaves: FxHashMap<Box<str>, Digest>,
    /// Nodes whose result this store lacks, or has with another output.
    unknown: Vec<NodeId>,
    history: Vec<(String, HistoryRecord)>,
    /// Rows about paid answers to confirm.
    unconfirmed: Vec<RowChange>,
}

impl Session {
    /// Returns the rows of the stored graph to share; none if the graph does not belong to this manifest.
    pub fn graph_to_share(&self) -> Result<Vec<GraphRow>, StoreError> {
        let (store, view) = (&*self.engine.store, self.engine.view);
        let state = store.row(view, Part::State, STATE_KEY)?.and_then(|row| decode::<State>(&row));
        let registry = self.engine.registry.digest();
        let Some(state) = state.filter(|state| state.belongs_to(self.definition(), &registry)) else {
            return Ok(Vec::new());
        };
        let head = Head {
            schema: SCHEMA,
            rules: digest_of_keyed_parts(self.rules.manifest()).0.to_vec(),
            registry: registry.0.to_vec(),
            nodes: state.nodes,
            stale: state.stale,
        };
        let mut rows = vec![GraphRow {
            table: HEAD,
            key: Vec::new(),
            body: encode(&head),
        }];
        for (table, part) in TABLES {
            for (key, body) in store.rows(view, part)? {
                let body = match part {
                    Part::Remarks => Remark::from_row(&body).and_then(|remark| remark.output_row()),
                    _ => Some(body),
                };
                rows.extend(body.map(|body| GraphRow { table, key, body }));
            }
        }
        Ok(rows)
    }

    /// Continues from the graph of another machine, if this checkout has none yet and the graph is of the same rules and producers. Returns
    /// whether it does.
    pub(super) fn continue_from(&mut self, rows: Vec<GraphRow>, known: &KnownResults) -> Result<bool, EngineError> {
        let Some(head) = self.describe_rows(&rows) else { return Ok(false) };
        let (store, view) = (self.engine.store.clone(), self.engine.view);
        let is_new = self.graph.is_empty() && self.state.manifest.is_empty() && store.rows(view, Part::Links)?.is_empty();
        if !is_new {
            return Ok(false);
        }
        let Some(outline) = self.outline(&rows, known)? else {
            return Ok(false);
        };
        let state = State {
            generation: self.state.generation + 1,
            manifest: self.definition().0.to_vec(),
            registry: head.registry,
            nodes: head.nodes,
            stale: head.stale,
            links: None,
            ..self.state.clone()
        };
        // Without rows of sources, a build after an interruption takes every leaf for changed.
        let mut commit = Commit {
            history: outline.history,
            rows: outline.unconfirmed,
            ..Commit::default()
        };
        for row in rows {
            let part = TABLES.iter().find(|(table, _)| *table == row.table).map(|(_, part)| *part);
            commit.rows.extend(part.map(|part| (part, row.key, Some(row.body))));
        }
        commit.rows.push((Part::State, STATE_KEY.to_vec(), Some(encode(&state))));
        store.commit(view, commit)?;
        let before = std::mem::replace(&mut self.state, state);
        let Some((graph, links)) = stored_graph_and_links(&self.engine, &self.state)? else {
            self.state = before;
            self.forget_graph()?;
            return Ok(false);
        };
        (self.graph, self.links, self.redefined) = (graph, links, false);
        for &id in &outline.unknown {
            self.graph.forget_result(id);
        }
        self.refresh = self.refresh_since(&outline.leaves);
        self.mark();
        Ok(true)
    }

    /// Whether the rows are of the rules and producers of this checkout.
    pub(super) fn can_continue_from(&self, rows: &[GraphRow]) -> bool {
        self.describe_rows(rows).is_some()
    }

    /// Returns the description of the rows, if they fit.
    fn describe_rows(&self, rows: &[GraphRow]) -> Option<Head> {
        let row = rows.iter().find(|row| row.table == HEAD)?;
        let head = decode::<Head>(&row.body).filter(|head| head.schema == SCHEMA)?;
        let fits = head.rules == digest_of_keyed_parts(self.rules.manifest()).0 && head.registry == self.engine.registry.digest().0;
        fits.then_some(head)
    }

    /// Reads the leaves and results of the rows; `None` if one is malformed.
    fn outline(&self, rows: &[GraphRow], known: &KnownResults) -> Result<Option<Outline>, StoreError> {
        let now = self.engine.world.now_secs();
        let mut outline = Outline::default();
        for row in rows.iter().filter(|row| TABLES[0].0 == row.table) {
            let Ok(page) = <[u8; 4]>::try_from(&row.key[..]).map(u32::from_be_bytes) else {
                return Ok(None);
            };
            let mut planned: Vec<(NodeId, String, NodeResult)> = Vec::new();
            let read = each_record(&row.body, |record| match record.result {
                Some(result) if record.is_planned => {
                    let id = NodeId(page.saturating_mul(RECORDS).saturating_add(u32::from(record.slot)));
                    planned.push((id, record.label.to_owned(), result));
                }
                Some(result) => drop(outline.leaves.insert(record.label.into(), result.output)),
                None => {}
            });
            if read.is_none() {
                return Ok(None);
            }
            for (id, label, result) in planned {
                let stored = match known.read.get(&result.key) {
                    Some(stored) => Some(*stored),
                    None if known.unread.contains(&prefix(&result.key.0)) => Some(KnownResult {
                        output: result.output,
                        is_unconfirmed: false,
                    }),
                    None => {
                        let record = self.engine.store.action(&result.key)?;
                        record.map(|record| KnownResult::from_record(&record, now))
                    }
                };
                let Some(stored) = stored.filter(|stored| stored.output == result.output) else {
                    outline.unknown.push(id);
                    continue;
                };
                if stored.is_unconfirmed {
                    outline.unconfirmed.push(Unconfirmed::new(&label, now).to_row(&result.key));
                }
                let version = HistoryRecord {
                    version: 0,
                    key: result.key,
                    output: result.output,
                    at: now,
                    build: None,
                };
                outline.history.push((label, version));
            }
        }
        Ok(Some(outline))
    }

    /// Returns how the sources differ from these leaves.
    fn refresh_since(&self, leaves: &FxHashMap<Box<str>, Digest>) -> Refresh {
        let mut changes: Vec<Change> = Vec::new();
        for (path, now) in self.sources.files() {
            let before = leaves.get(&*super::file_label(&path)).copied();
            if before != now {
                changes.push(Change {
                    path,
                    from: before,
                    to: now,
                });
            }
        }
        for (label, before) in leaves {
            let gone = super::file_path(label).filter(|path| self.sources.digest(path).is_none());
            changes.extend(gone.map(|path| Change {
                path,
                from: Some(*before),
                to: None,
            }));
        }
        changes.sort_unstable();
        changes.dedup();
        let is_changed = |index: &usize| {
            let before = leaves.get(&*self.state.sets[*index].label);
            before != Some(&Digest::of(&super::session::paths_as_lines(&self.sources.set(*index))))
        };
        Refresh {
            changes,
            sets_changed: (0..self.state.sets.len()).filter(is_changed).collect(),
            ..self.refresh.clone()
        }
    }
}
