//! Rows that a producer asks for: which rows of a table are an input of a node follows from its other inputs, and from these rows themselves.
//!
//! They are found where the other inputs of a node are, before its key is known: the producer looks them up one after the other, and what it
//! looked up is the slice of the table that it gets, and that enters the key.

use super::blobs::Paged;
use super::jobs::{Done, Job, Load, Shared, Task, panicked};
use crate::graph::NodeId;
use crate::manifest::model::{InputFrom, Manifest, Rule};
use crate::manifest::template::Vars;
use crate::planning::expand::{self, Blobs, ExpandError, PlannedInput};
use crate::seams::producer::{Cancel, Failure, Input, Inputs, Output, Producer, RowSource};
use crate::values::digest::Digest;
use crate::values::pages::PageError;
use crate::values::pieces;
use crate::values::table::write_table;
use rustc_hash::FxHashMap;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError};

/// A node whose producer asks for rows.
pub struct Asking<'a> {
    /// The producer.
    pub producer: &'a dyn Producer,
    /// The rules.
    pub manifest: &'a Manifest,
    /// The node's label.
    pub label: &'a str,
    /// Its rule.
    pub rule: u32,
    /// The rule's variables.
    pub vars: &'a Vars,
}

/// What a producer asked for.
pub struct Answer {
    /// Digest of the rows.
    pub digest: Digest,
    /// The rows, as a table.
    pub rows: Arc<[u8]>,
    /// The output, if the producer gave it while it asked.
    pub output: Option<Output>,
}

/// Outputs that producers gave while they asked for rows, before the keys were known: by node and digest of the rows.
#[derive(Default)]
pub struct EarlyOutputs(Mutex<FxHashMap<(NodeId, Digest), Output>>);

/// How many early outputs are held at once.
const MOST_HELD: usize = 4_096;

impl EarlyOutputs {
    /// Holds the output of a node.
    pub fn insert_output(&self, node: NodeId, rows: Digest, output: Output) {
        let mut held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if held.len() >= MOST_HELD {
            // Most of these belong to nodes whose keys the store already had; the others run their producers.
            held.clear();
        }
        held.insert((node, rows), output);
    }

    /// The output of a node, made of these rows.
    pub fn take(&self, node: NodeId, rows: Digest) -> Option<Output> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&(node, rows))
    }
}

/// Why there are no such rows.
pub enum Refusal {
    /// A blob is missing, or is not what the rule reads it as.
    Expand(ExpandError),
    /// The producer says why.
    Failed(Failure),
}

impl From<ExpandError> for Refusal {
    fn from(error: ExpandError) -> Self {
        Self::Expand(error)
    }
}

impl Asking<'_> {
    fn spec(&self) -> &Rule {
        &self.manifest.rules[self.rule as usize]
    }

    /// Adds the rows to the other planned inputs, in the order of the rule.
    ///
    /// # Errors
    /// When a table cannot be read, or the producer refuses.
    pub fn plan(&self, blobs: &dyn Blobs, planned: &mut Vec<PlannedInput>) -> Result<Vec<Answer>, Refusal> {
        let mut answers = Vec::new();
        for (spec, input) in (0u16..).zip(&self.spec().inputs) {
            if input.from.is_asked() {
                let answer = self.ask(spec, blobs)?;
                let before = planned.iter().take_while(|planned| planned.spec() < spec).count();
                let digest = answer.digest;
                planned.insert(before, PlannedInput::Slice { spec, digest, of: None });
                answers.push(answer);
            }
        }
        Ok(answers)
    }

    /// The rows that the producer asks for of the table of an input.
    ///
    /// # Errors
    /// When a table cannot be read, or the producer refuses.
    pub fn ask(&self, spec: u16, blobs: &dyn Blobs) -> Result<Answer, Refusal> {
        let input = &self.spec().inputs[usize::from(spec)];
        let InputFrom::Slice { node, .. } = &input.from else {
            unreachable!("invariant: only rows of one table are asked for");
        };
        let roles = self.roles(blobs)?;
        let label = expand::fill_label(node, self.vars, None)?;
        let rows = RowsRequest {
            table: RefCell::new(expand::Rows::open(&label, blobs.get(label.as_str()), blobs)?),
            found: RefCell::default(),
            refused: RefCell::default(),
        };
        let definition = &self.manifest.producers[self.spec().producer as usize];
        let nothing = Vars::new();
        let vars = match self.producer.sees(&definition.params).vars {
            true => self.vars,
            false => &nothing,
        };
        let cancel = Cancel::default();
        let inputs = Inputs {
            settings: &definition.settings,
            ..Inputs::bare(self.label, &definition.params, &roles, vars, &cancel)
        };
        let asked = catch_unwind(AssertUnwindSafe(|| self.producer.ask(&inputs, &input.role, &rows)));
        if let Some(error) = rows.refused.take() {
            return Err(error.into());
        }
        match asked {
            Ok(Ok(output)) => {
                let rows: Arc<[u8]> = write_table(&rows.found.take()).into();
                let digest = Digest::of(&rows);
                Ok(Answer { digest, rows, output })
            }
            Ok(Err(failure)) => Err(Refusal::Failed(failure)),
            Err(panic) => Err(Refusal::Failed(Failure::Permanent(Box::new(panicked(self.producer.id(), &*panic))))),
        }
    }

    /// The other inputs.
    fn roles(&self, blobs: &dyn Blobs) -> Result<BTreeMap<Arc<str>, Vec<Input>>, Refusal> {
        let mut roles: BTreeMap<Arc<str>, Vec<Input>> = BTreeMap::new();
        for input in self.spec().inputs.iter().filter(|input| !input.from.is_asked()) {
            let bytes: Arc<[u8]> = match &input.from {
                InputFrom::Slice { node, keys } => expand::slice(node, None, keys, self.vars, blobs)?.into(),
                InputFrom::One(target) => {
                    let label = expand::fill_label(target, self.vars, None)?;
                    let lost = || ExpandError::Lost { label: label.to_string() };
                    let root = blobs.get(label.as_str()).ok_or_else(lost)?;
                    blobs.looked_up(label.as_str(), crate::graph::lookups::Lookup::Whole);
                    pieces::readable::<PageError>(&root, |digest| Ok(blobs.page(digest))).map_err(|_| lost())?
                }
                InputFrom::Many { .. } | InputFrom::Rows { .. } => continue,
            };
            roles.entry(input.role.clone()).or_default().push(Input::of("", bytes));
        }
        Ok(roles)
    }
}

impl Job {
    /// The node, as one whose producer asks.
    pub(super) fn asking<'a>(&'a self, shared: &'a Shared, producer: &'a dyn Producer) -> Asking<'a> {
        Asking {
            producer,
            manifest: &shared.manifest,
            label: &self.label,
            rule: self.rule,
            vars: &self.vars,
        }
    }

    /// Keeps the rows, and the output if the producer gave it, in memory for the job that produces.
    pub(super) fn hold_answers(&self, shared: &Shared, answers: Vec<Answer>) {
        let is_only = answers.len() == 1;
        for answer in answers {
            shared.blobs.remember(answer.digest, &answer.rows);
            if let Some(output) = answer.output.filter(|_| is_only) {
                shared.early_outputs.insert_output(self.id, answer.digest, output);
            }
        }
    }

    /// The output that the producer gave while it asked for the rows among these inputs.
    pub(super) fn take_early_output(&self, shared: &Shared) -> Option<Output> {
        let Task::Produce { inputs, .. } = &self.task else { return None };
        let specs = &shared.manifest.rules[self.rule as usize].inputs;
        inputs.iter().find_map(|input| match input.load {
            Load::Rows(spec) if specs[usize::from(spec)].from.is_asked() => shared.early_outputs.take(self.id, input.digest),
            _ => None,
        })
    }

    /// The rows with this digest that the producer asked for when the inputs were found.
    pub(super) fn asked_rows(
        &self,
        shared: &Shared,
        spec: u16,
        digest: &Digest,
        deciding: &BTreeMap<String, Arc<[u8]>>,
    ) -> Result<Option<Arc<[u8]>>, Done> {
        if let Some(rows) = shared.blobs.held_blob(digest) {
            return Ok(Some(rows));
        }
        let Task::Produce { producer, .. } = &self.task else {
            return Ok(None);
        };
        let paged = Paged::new(&shared.blobs, deciding);
        match self.asking(shared, &**producer).ask(spec, &paged) {
            Ok(answer) => Ok(Some(answer.rows)),
            Err(Refusal::Expand(error)) => Err(self.expanded(Err(error), paged)),
            Err(Refusal::Failed(failure)) => Err(Done::of_failure(failure)),
        }
    }
}

/// Rows as they are asked for.
struct RowsRequest<'a> {
    table: RefCell<expand::Rows<'a>>,
    found: RefCell<BTreeMap<String, Arc<[u8]>>>,
    refused: RefCell<Option<ExpandError>>,
}

impl RowSource for RowsRequest<'_> {
    fn get(&self, key: &str) -> Option<Arc<[u8]>> {
        if let Some(found) = self.found.borrow().get(key) {
            return Some(found.clone());
        }
        match self.table.borrow_mut().get(key) {
            Ok(value) => {
                let value: Arc<[u8]> = (*value?).into();
                self.found.borrow_mut().insert(key.to_owned(), value.clone());
                Some(value)
            }
            Err(error) => {
                self.refused.replace(Some(error));
                None
            }
        }
    }
}
