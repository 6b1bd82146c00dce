//! Requested rows: rows of a table that are inputs of a node, chosen by its producer from the other inputs and from these rows themselves.
//!
//! They are found together with the node's other inputs, before its key is known: the producer looks up rows one by one. These rows form the slice
//! of the table that it gets, and enter the key.

use super::blobs::PagedBlobs;
use super::early_outputs::PlannedRows;
use super::job::{Done, Job, JobContext, JobMode, Load, Task, panicked};
use crate::manifest::model::{InputFrom, Manifest, Rule};
use crate::manifest::template::Vars;
use crate::planning::expand::{self, Blobs, ExpandError, PlannedInput};
use crate::seams::producer::{Cancel, Failure, Input, Inputs, Output, Producer, RowSource};
use crate::values::digest::Digest;
use crate::values::pages::PageError;
use crate::values::pieces;
use crate::values::table::write_table;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// A node whose producer requests rows.
pub struct RowRequester<'a> {
    pub producer: &'a dyn Producer,
    pub manifest: &'a Manifest,
    pub label: &'a str,
    pub rule: u32,
    pub vars: &'a Vars,
    /// Rows among its planned inputs, by digest, as far as they are held.
    pub rows: &'a [(Digest, Arc<[u8]>)],
}

/// Rows that a producer requested.
pub struct RequestedRows {
    pub digest: Digest,
    /// The rows, as a table.
    pub rows: Arc<[u8]>,
    /// The output, if the producer returned it along with the request.
    pub output: Option<Output>,
}

/// Reason why rows are missing.
pub enum RowsError {
    /// A blob is missing or malformed.
    Expand(ExpandError),
    Failed(Failure),
}

impl From<ExpandError> for RowsError {
    fn from(error: ExpandError) -> Self {
        Self::Expand(error)
    }
}

impl RowRequester<'_> {
    fn spec(&self) -> &Rule {
        &self.manifest.rules[self.rule as usize]
    }

    /// Adds the rows to the other planned inputs, in the order of the rule. Fails when a table cannot be read, or the producer fails.
    pub fn plan(&self, blobs: &dyn Blobs, planned: &mut Vec<PlannedInput>) -> Result<Vec<RequestedRows>, RowsError> {
        let mut answers = Vec::new();
        for (spec, input) in (0u16..).zip(&self.spec().inputs) {
            if input.from.is_asked() {
                let answer = self.ask(spec, planned, blobs)?;
                let before = planned.iter().take_while(|planned| planned.spec() < spec).count();
                let digest = answer.digest;
                planned.insert(before, PlannedInput::Slice { spec, digest, of: None });
                answers.push(answer);
            }
        }
        Ok(answers)
    }

    /// Returns the rows that the producer requests from the table of an input. `planned`: other inputs, as far as known. Fails when a table
    /// cannot be read, or the producer fails.
    pub fn ask(&self, spec: u16, planned: &[PlannedInput], blobs: &dyn Blobs) -> Result<RequestedRows, RowsError> {
        let input = &self.spec().inputs[usize::from(spec)];
        let InputFrom::Slice { node, .. } = &input.from else {
            unreachable!("invariant: only rows of one table are asked for");
        };
        let roles = self.roles(planned, blobs)?;
        let label = expand::fill_label(node, self.vars, None)?;
        let rows = RowsRequest {
            table: RefCell::new(expand::TableRows::open(&label, blobs.get(label.as_str()), blobs)?),
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
        let answer = catch_unwind(AssertUnwindSafe(|| self.producer.ask(&inputs, &input.role, &rows)));
        if let Some(error) = rows.refused.take() {
            return Err(error.into());
        }
        match answer {
            Ok(Ok(output)) => {
                let rows: Arc<[u8]> = write_table(&rows.found.take()).into();
                let digest = Digest::of(&rows);
                Ok(RequestedRows { digest, rows, output })
            }
            Ok(Err(failure)) => Err(RowsError::Failed(failure)),
            Err(panic) => Err(RowsError::Failed(Failure::Permanent(Box::new(panicked(
                self.producer.id(),
                &*panic,
            ))))),
        }
    }

    /// Returns the rows of an input, if they are held.
    fn held_rows(&self, number: u16, planned: &[PlannedInput]) -> Option<&Arc<[u8]>> {
        let digest = planned.iter().find_map(|input| match input {
            PlannedInput::Slice { spec, digest, of: None } if *spec == number => Some(digest),
            _ => None,
        })?;
        self.rows.iter().find(|(held, _)| held == digest).map(|(_, rows)| rows)
    }

    fn roles(&self, planned: &[PlannedInput], blobs: &dyn Blobs) -> Result<BTreeMap<Arc<str>, Vec<Input>>, RowsError> {
        let mut roles: BTreeMap<Arc<str>, Vec<Input>> = BTreeMap::new();
        let inputs = (0u16..).zip(&self.spec().inputs);
        for (number, input) in inputs.filter(|(_, input)| !input.from.is_asked()) {
            let bytes: Arc<[u8]> = match &input.from {
                InputFrom::Slice { .. } if let Some(rows) = self.held_rows(number, planned) => rows.clone(),
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
    /// Returns the node as one whose producer requests rows. `rows`: those of its other inputs that are held.
    pub(super) fn asking<'a>(
        &'a self,
        shared: &'a JobContext,
        producer: &'a dyn Producer,
        rows: &'a [(Digest, Arc<[u8]>)],
    ) -> RowRequester<'a> {
        RowRequester {
            producer,
            manifest: &shared.manifest,
            label: &self.label,
            rule: self.rule,
            vars: self.vars(&shared.manifest),
            rows,
        }
    }

    /// Adds the rows to `rows`, and caches the output if returned, for the job that produces.
    pub(super) fn hold_answers(&self, shared: &JobContext, answers: Vec<RequestedRows>, rows: &mut PlannedRows) {
        let is_only = answers.len() == 1;
        for answer in answers {
            rows.push((answer.digest, answer.rows));
            if let Some(output) = answer.output.filter(|_| is_only) {
                shared.early_outputs.insert_output(self.id, answer.digest, output);
            }
        }
    }

    /// Takes the output that the producer returned along with its request for the rows among these inputs.
    pub(super) fn take_early_output(&self, shared: &JobContext) -> Option<Output> {
        let Task::Produce {
            inputs,
            how: JobMode::Output { paid: false, .. },
            ..
        } = &self.task
        else {
            return None;
        };
        let specs = &shared.manifest.rules[self.rule as usize].inputs;
        inputs.iter().find_map(|input| match input.load {
            Load::Rows(spec) if specs[usize::from(spec)].from.is_asked() => shared.early_outputs.take(self.id, input.digest),
            _ => None,
        })
    }

    /// Returns the rows that the producer requests, as it did when the inputs were found.
    pub(super) fn asked_rows(
        &self,
        shared: &JobContext,
        spec: u16,
        deciding: &BTreeMap<String, Arc<[u8]>>,
    ) -> Result<Option<Arc<[u8]>>, Done> {
        let Task::Produce { producer, .. } = &self.task else {
            return Ok(None);
        };
        let paged = PagedBlobs::new(&shared.blobs, deciding);
        match self.asking(shared, &**producer, &[]).ask(spec, &[], &paged) {
            Ok(answer) => Ok(Some(answer.rows)),
            Err(RowsError::Expand(error)) => Err(self.finish_expansion(Err(error), paged)),
            Err(RowsError::Failed(failure)) => Err(Done::of_failure(failure)),
        }
    }
}

/// Rows during a request.
struct RowsRequest<'a> {
    table: RefCell<expand::TableRows<'a>>,
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
