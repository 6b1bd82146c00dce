//! Remarks: diagnostics of a view's nodes that a later build would not get again: warnings of present outputs, and the reason of the last failure.
//! `status` and `explain` show them and builds count them; no result depends on them, and every build tries a failed node again.
//!
//! Encoded with minicbor in `Part::Remarks`. Row key: the node's label.

use crate::graph::stale::NodeSet;
use crate::graph::{Graph, NodeId};
use crate::store::diagnostics::{read_diagnostics, write_diagnostics};
use crate::store::{Part, Row, RowChange};
use crate::values::cbor::{decode, encode};
use crate::values::diagnostic::{Diagnostic, Severity};
use crate::values::digest::{ActionKey, Digest};
use minicbor::{Decode, Encode};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// Remarks about a node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Remark {
    /// Its last try, if that failed.
    pub failure: Option<FailedTry>,
    /// Diagnostics of its last output's producer.
    pub diagnostics: Vec<Diagnostic>,
    /// Whether a build requested it and did not build it: it failed, or it waits.
    pub waits: bool,
    /// The target or answer that it waits for; `None` if its own try failed.
    pub waits_for: Option<Wait>,
}

/// Reason why a requested target was not tried.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Wait {
    /// It reads a target without an output; its label.
    #[n(0)]
    Target(#[n(0)] String),
    /// The reason that stopped the build from trying it: a limit, a missing key, an untrusted command.
    #[n(1)]
    Blocked(#[n(0)] String),
    /// It waits for the answer of a batch.
    #[n(2)]
    Batch,
    /// It waits for the answer of an agent.
    #[n(3)]
    Agent,
}

impl fmt::Display for Wait {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Target(label) => write!(f, "it waits for {label}, which has no output"),
            Self::Blocked(why) => write!(f, "the last build did not try it: {why}"),
            Self::Batch => f.write_str("it waits for the answer of a batch"),
            Self::Agent => f.write_str("it waits for the answer of an agent"),
        }
    }
}

/// Follows a waiting target to the last target without an output, and returns that with its remark, where known.
pub fn end_of_wait<'r>(remarks: &'r BTreeMap<String, Remark>, label: &str) -> Option<(&'r str, &'r Remark)> {
    let mut last = None;
    let mut next = remarks.get(label)?;
    // The limit ends a cycle after all the others.
    for _ in 0..remarks.len() {
        let Some(Wait::Target(label)) = next.waits_for.as_ref().filter(|_| next.failure.is_none()) else {
            break;
        };
        let Some((label, remark)) = remarks.get_key_value(label) else {
            break;
        };
        last = Some((label.as_str(), remark));
        next = remark;
    }
    last
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailedTry {
    /// Its action key; `None` if it failed before it had one.
    pub key: Option<ActionKey>,
    pub why: Diagnostic,
    /// Number of consecutive failures, under any key.
    pub times: u32,
    /// A received answer that could not be an output, cut to [`LONGEST_RAW`]; otherwise empty.
    pub raw: Vec<u8>,
}

impl FailedTry {
    /// Creates a first try that failed before it had a key.
    pub fn once(why: Diagnostic) -> Self {
        Self {
            key: None,
            why,
            times: 1,
            raw: Vec::new(),
        }
    }

    /// Returns the reason, with the number of consecutive failures if more than one.
    pub fn diagnostic(&self) -> Diagnostic {
        let mut why = self.why.clone();
        if self.times > 1 {
            why.message = format!("{} (failed {} times in a row)", why.message, self.times);
        }
        why
    }
}

/// Maximum length in bytes of a stored rejected answer.
pub const LONGEST_RAW: usize = 256 << 10;

#[derive(Default, Encode, Decode)]
struct Body {
    #[cbor(n(0), with = "minicbor::bytes")]
    key: Vec<u8>,
    #[cbor(n(1), with = "minicbor::bytes")]
    failure: Vec<u8>,
    #[cbor(n(2), with = "minicbor::bytes")]
    diagnostics: Vec<u8>,
    #[n(3)]
    times: u32,
    #[cbor(n(4), with = "minicbor::bytes")]
    raw: Vec<u8>,
    #[cbor(n(5), default)]
    waits: bool,
    #[cbor(n(6), default)]
    waits_for: Option<Wait>,
}

impl Remark {
    fn is_empty(&self) -> bool {
        self.failure.is_none() && self.diagnostics.is_empty() && !self.waits
    }

    fn to_row(&self) -> Vec<u8> {
        let failure = self.failure.iter();
        encode(&Body {
            key: failure.clone().filter_map(|failed| failed.key).flat_map(|key| key.0.0).collect(),
            times: failure.clone().map(|failed| failed.times).sum(),
            raw: failure
                .clone()
                .flat_map(|failed| &failed.raw[..failed.raw.len().min(LONGEST_RAW)])
                .copied()
                .collect(),
            failure: write_diagnostics(failure.map(|failed| &failed.why)),
            diagnostics: write_diagnostics(self.diagnostics.iter()),
            waits: self.waits,
            waits_for: self.waits_for.clone(),
        })
    }

    /// Returns the row with the diagnostics of the last output's producer; `None` if there are none.
    pub(super) fn output_row(self) -> Option<Vec<u8>> {
        let remark = Self {
            diagnostics: self.diagnostics,
            ..Self::default()
        };
        (!remark.is_empty()).then(|| remark.to_row())
    }

    pub(super) fn from_row(row: &[u8]) -> Option<Self> {
        let body: Body = decode(row)?;
        let key = match body.key.as_slice() {
            [] => None,
            key => Some(ActionKey(Digest(key.try_into().ok()?))),
        };
        let failed = |why| FailedTry {
            key,
            why,
            times: body.times.max(1),
            raw: body.raw,
        };
        Some(Self {
            failure: read_diagnostics(&body.failure)?.pop().map(failed),
            diagnostics: read_diagnostics(&body.diagnostics)?,
            waits: body.waits,
            waits_for: body.waits_for,
        })
    }
}

#[derive(Debug, Default)]
pub struct RunRemarks {
    /// Nodes whose producer ran or whose record was read: their earlier remarks no longer count.
    pub nodes: NodeSet,
    pub diagnostics: Vec<(NodeId, Vec<Diagnostic>)>,
    pub failed: Vec<(NodeId, FailedTry)>,
    /// Nodes that were requested and not built.
    pub waits: NodeSet,
    /// Reasons why they wait, except for those whose own try failed.
    pub waits_for: BTreeMap<NodeId, Wait>,
}

/// Reasons why targets of an overtaken build have no output, by label: another graph assigns other numbers.
#[derive(Default)]
pub(super) struct EarlierRemarks {
    failed: Vec<(String, FailedTry)>,
    waits_for: Vec<(String, Wait)>,
}

impl EarlierRemarks {
    pub(super) fn from_run(remarks: RunRemarks, graph: &Graph) -> Self {
        let label = |id| Some(graph.get(id)?.label.to_string());
        Self {
            failed: remarks
                .failed
                .into_iter()
                .filter_map(|(id, failed)| Some((label(id)?, failed)))
                .collect(),
            waits_for: remarks
                .waits_for
                .into_iter()
                .filter_map(|(id, wait)| Some((label(id)?, wait)))
                .collect(),
        }
    }

    /// Adds these to the remarks of another run.
    pub(super) fn add_to(self, remarks: &mut RunRemarks, graph: &Graph) {
        let failed = self.failed.into_iter();
        remarks
            .failed
            .extend(failed.filter_map(|(label, failed)| Some((graph.find(&label)?, failed))));
        for (label, wait) in self.waits_for {
            if let Some(id) = graph.find(&label) {
                remarks.waits_for.entry(id).or_insert(wait);
            }
        }
    }
}

/// All remarks of a view after a run.
pub struct Remarks {
    by_label: BTreeMap<String, Remark>,
    before: BTreeMap<String, Vec<u8>>,
}

impl Remarks {
    /// Decodes the stored remarks, without malformed rows.
    pub fn load(rows: Vec<Row>) -> Self {
        let text = |(key, body): Row| Some((String::from_utf8(key).ok()?, body));
        let before: BTreeMap<String, Vec<u8>> = rows.into_iter().filter_map(text).collect();
        let remark = |(label, body): (&String, &Vec<u8>)| Some((label.clone(), Remark::from_row(body)?));
        Self {
            by_label: before.iter().filter_map(remark).collect(),
            before,
        }
    }

    /// Whether no node has remarks.
    pub fn are_none(&self) -> bool {
        self.by_label.is_empty()
    }

    pub fn by_label(self) -> BTreeMap<String, Remark> {
        self.by_label
    }

    /// Adds the remarks of a run; `graph` is the one after the run.
    pub fn update(&mut self, run: RunRemarks, graph: &Graph) {
        self.by_label.retain(|label, remark| {
            let Some(id) = graph.find(label) else { return false };
            if graph.has_result(id) && !graph.is_stale(id) {
                remark.failure = None;
                (remark.waits, remark.waits_for) = (false, None);
            }
            if run.nodes.contains(id) {
                remark.diagnostics.clear();
            }
            true
        });
        let label_of = |id: NodeId| graph.get(id).map(|node| node.label.to_string());
        for (id, diagnostics) in run.diagnostics {
            if let Some(label) = label_of(id) {
                self.by_label.entry(label).or_default().diagnostics = diagnostics;
            }
        }
        for id in run.waits.iter() {
            if let Some(label) = label_of(id) {
                let remark = self.by_label.entry(label).or_default();
                (remark.waits, remark.waits_for) = (true, run.waits_for.get(&id).cloned());
            }
        }
        for (id, failed) in run.failed {
            if let Some(label) = label_of(id) {
                let remark = self.by_label.entry(label).or_default();
                let before = remark.failure.as_ref().map_or(0, |before| before.times);
                remark.failure = Some(FailedTry {
                    times: before.saturating_add(failed.times),
                    ..failed
                });
            }
        }
        self.by_label.retain(|_, remark| !remark.is_empty());
    }

    /// Returns the warnings of outputs that no known change can reach.
    pub fn current_warnings(&self, graph: &Graph, maybe_stale: &NodeSet) -> BTreeSet<&Diagnostic> {
        let is_current = |label: &str| {
            graph
                .find(label)
                .is_some_and(|id| graph.has_result(id) && !maybe_stale.contains(id))
        };
        self.by_label
            .iter()
            .filter(|(label, remark)| !remark.diagnostics.is_empty() && is_current(label))
            .flat_map(|(_, remark)| &remark.diagnostics)
            .filter(|diagnostic| diagnostic.severity == Severity::Warning)
            .collect()
    }

    /// Returns the rows that changed since loading.
    pub fn dirty_rows(&self) -> Vec<RowChange> {
        let gone = self.before.keys().filter(|label| !self.by_label.contains_key(*label));
        let gone = gone.map(|label| (Part::Remarks, label.clone().into_bytes(), None));
        let rows = self.by_label.iter().map(|(label, remark)| (label, remark.to_row()));
        let changed = rows.filter(|(label, row)| self.before.get(*label) != Some(row));
        gone.chain(changed.map(|(label, row)| (Part::Remarks, label.clone().into_bytes(), Some(row))))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::NodeResult;

    fn warning(text: &str) -> Diagnostic {
        Diagnostic::warning("W_TEST", text).at("a.cs", 3, 1).hint("mend it")
    }

    #[test]
    fn a_remark_survives_its_row() {
        let failure = |key| FailedTry {
            key,
            why: Diagnostic::error("E_TEST", "no").found("x"),
            times: 3,
            raw: b"what came".to_vec(),
        };
        for remark in [
            Remark::default(),
            Remark {
                failure: Some(failure(Some(ActionKey(Digest::of(b"key"))))),
                diagnostics: vec![warning("one"), warning("two")],
                waits: true,
                waits_for: Some(Wait::Target("//a:b".to_owned())),
            },
            Remark {
                failure: Some(failure(None)),
                ..Remark::default()
            },
            Remark {
                waits: true,
                waits_for: Some(Wait::Agent),
                ..Remark::default()
            },
        ] {
            let row = remark.to_row();
            assert_eq!(Remark::from_row(&row), Some(remark));
            for cut in 0..row.len() {
                assert_eq!(Remark::from_row(&row[..cut]), None);
            }
        }
    }

    #[test]
    fn remarks_end_with_their_node_or_the_next_run() {
        let mut graph = Graph::default();
        let ids: Vec<NodeId> = ["//a:x", "//b:x", "//c:x"].iter().map(|label| graph.intern(label)).collect();
        for &id in &ids {
            graph.settle(
                id,
                NodeResult {
                    key: ActionKey(Digest::of(b"key")),
                    output: Digest::of(b"output"),
                },
            );
        }
        let mut remarks = Remarks::load(Vec::new());
        let diagnostics = ids.iter().map(|&id| (id, vec![warning(&id.0.to_string())])).collect();
        let failed = FailedTry {
            key: None,
            why: warning("no"),
            times: 1,
            raw: Vec::new(),
        };
        remarks.update(
            RunRemarks {
                diagnostics,
                failed: vec![(ids[1], failed)],
                ..RunRemarks::default()
            },
            &graph,
        );
        let rows = remarks.dirty_rows().into_iter().filter_map(|(_, key, body)| Some((key, body?)));
        let mut remarks = Remarks::load(rows.collect());
        assert_eq!(remarks.current_warnings(&graph, &NodeSet::default()).len(), 3);
        // The first node is removed, the second runs again without diagnostics, the third is stale.
        graph.remove(ids[0]);
        let mut nodes = NodeSet::default();
        nodes.set(ids[1], true);
        remarks.update(
            RunRemarks {
                nodes,
                ..RunRemarks::default()
            },
            &graph,
        );
        assert_eq!(remarks.by_label.keys().collect::<Vec<_>>(), ["//c:x"]);
        let mut stale = NodeSet::default();
        stale.set(ids[2], true);
        assert_eq!(remarks.current_warnings(&graph, &stale).len(), 0);
        let gone: Vec<Vec<u8>> = remarks.dirty_rows().into_iter().map(|(_, key, _)| key).collect();
        assert_eq!(gone, [b"//a:x".to_vec(), b"//b:x".to_vec()]);
    }
}
