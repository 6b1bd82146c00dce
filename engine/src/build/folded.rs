//! Updates the table of a fold: takes the last output and changes the rows of the inputs that moved.
//!
//! The result equals what the producer makes of all inputs, page for page. When a blob that the update needs is missing, the producer runs.

use super::jobs::{Fetch, Job, JobInput, Load, Shared, Task};
use crate::manifest::model::InputFrom;
use crate::planning::expand::ItemFrame;
use crate::seams::fold::Fold;
use crate::seams::producer::{Input, Output};
use crate::values::digest::{ActionKey, Digest};
use crate::values::pages::edit::{Edited, edit};
use crate::values::pages::{PageError, RowReader};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use std::sync::Arc;

/// An update pays when at most one in so many inputs moved.
const ONE_IN: usize = 4;

/// An input that moved: what it was and what it is.
struct MovedInput {
    item: Arc<str>,
    before: Option<Digest>,
    now: Option<Digest>,
}

impl Job {
    /// The output as the fold of what was filed under `before` and what moved since; `None` when the producer has to run.
    pub(super) fn update_fold(&self, shared: &Shared, before: &ActionKey) -> Option<Output> {
        let Task::Produce { producer, inputs, .. } = &self.task else {
            return None;
        };
        let fold = producer.fold()?;
        let record = shared.blobs.action(before).ok()??;
        if record.producer != producer.id().to_string() || *record.label != *self.label {
            return None;
        }
        let then: FxHashMap<&str, Digest> = record.inputs.iter().map(|input| (&*input.label, input.digest)).collect();
        let is_alone =
            inputs.iter().all(|input| *input.role == *fold.role()) && record.inputs.iter().all(|input| *input.role == *fold.role());
        if !is_alone || then.len() != record.inputs.len() {
            return None;
        }
        let moved = self.moved_inputs(shared, inputs, then)?;
        if moved.len() * ONE_IN > inputs.len() {
            return None;
        }
        let root = shared.blobs.get(&record.output).ok()??;
        let mut reader = RowReader::new(root.clone()).ok()?;
        let mut rows: BTreeMap<String, Option<Vec<u8>>> = BTreeMap::new();
        let page = |digest: &Digest| shared.blobs.get(digest).map_err(|_| PageError::Missing(*digest));
        for MovedInput { item, before, now } in &moved {
            let before = before.map_or(Some(BTreeMap::new()), |digest| read_rows(shared, fold, item, digest))?;
            let now = now.map_or(Some(BTreeMap::new()), |digest| read_rows(shared, fold, item, digest))?;
            for key in before.keys().chain(now.keys().filter(|key| !before.contains_key(*key))) {
                if before.get(key) == now.get(key) {
                    continue;
                }
                let row = match rows.get(key) {
                    Some(row) => row.clone(),
                    None => reader.get::<PageError>(key, page).ok()?.map(|row| row.to_vec()),
                };
                let row = fold.replace_part(key, row.as_deref(), item, now.get(key).map(Vec::as_slice));
                rows.insert(key.clone(), row);
            }
        }
        let Edited { root, made, kept } = edit::<PageError>(&root, rows, page).ok()?;
        Some(Output {
            parts: made,
            kept: kept.into_iter().collect(),
            ..Output::new(&*root)
        })
    }

    /// The inputs that are not what they were.
    fn moved_inputs(&self, shared: &Shared, inputs: &[JobInput], mut then: FxHashMap<&str, Digest>) -> Option<Vec<MovedInput>> {
        let mut moved = Vec::new();
        for input in inputs {
            let Load::Node(node) = &input.load else { return None };
            if !matches!(node.fetch, Fetch::Made) {
                return None;
            }
            let before = then.remove(&*input.label);
            if before != Some(input.digest) {
                moved.push(MovedInput {
                    item: input.item.clone(),
                    before,
                    now: Some(input.digest),
                });
            }
        }
        if then.is_empty() {
            return Some(moved);
        }
        let rule = &shared.manifest.rules[self.rule as usize];
        let frame = rule.inputs.iter().find_map(|input| match &input.from {
            InputFrom::Many { target, .. } => ItemFrame::of(target, &self.vars),
            _ => None,
        })?;
        for (label, digest) in then {
            moved.push(MovedInput {
                item: frame.item(label)?.into(),
                before: Some(digest),
                now: None,
            });
        }
        Some(moved)
    }
}

/// The rows that an earlier or present output contributes to a fold.
fn read_rows(shared: &Shared, fold: &dyn Fold, item: &str, digest: Digest) -> Option<BTreeMap<String, Vec<u8>>> {
    let blob = shared.blobs.get(&digest).ok()??;
    let bytes = shared.blobs.readable(&blob).ok()?;
    let input = Input {
        digest,
        ..Input::of(item, bytes)
    };
    fold.rows_of_input(&input).ok()
}
