//! The last table of a job's node: its rows, its inputs, and the changes of these since.

use super::job::{Job, JobContext, JobInput, Task};
use crate::manifest::model::{InputFrom, Rule};
use crate::planning::expand::ItemFrame;
use crate::seams::producer::Output;
use crate::seams::update::{ChangedInput, TableChanges, TableView};
use crate::store::records::{ActionRecord, InputRecord};
use crate::values::diagnostic::Diagnostic;
use crate::values::digest::{ActionKey, Digest};
use crate::values::pages::scan::rows_from;
use crate::values::pages::{PageError, RowReader, count, each_change};
use rustc_hash::FxHashMap;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// An update pays if at most one in this many inputs, or rows of an input, changed.
pub(super) const ONE_IN: usize = 4;

/// The last table of a job's node.
pub(super) struct LastTable<'a> {
    shared: &'a JobContext,
    job: &'a Job,
    inputs: &'a [JobInput],
    record: ActionRecord,
    changed: BTreeMap<Arc<str>, Vec<ChangedInput>>,
    table: StoredTable<'a>,
}

impl<'a> LastTable<'a> {
    /// Finds the table stored under `before`; `None` if it is missing, if it is of another producer or node, or if its roles differ.
    pub(super) fn from_store(shared: &'a JobContext, job: &'a Job, before: &ActionKey) -> Option<Self> {
        let Task::Produce { producer, inputs, .. } = &job.task else {
            return None;
        };
        let record = shared.blobs.action(before).ok()??;
        if record.producer != producer.id().to_string() || *record.label != *job.label {
            return None;
        }
        let table = StoredTable::open(shared, &record.output)?;
        let mut last = Self {
            shared,
            job,
            inputs,
            record,
            changed: BTreeMap::new(),
            table,
        };
        last.changed = last.find_changed_inputs()?;
        Some(last)
    }

    /// Returns the last output.
    pub(super) fn output(&self) -> Output {
        Output {
            kept: self.record.parts.clone(),
            ..Output::new(&*self.table.root)
        }
    }

    /// Returns the root page of the table, or the blob of another output.
    pub(super) fn root(&self) -> &Arc<[u8]> {
        &self.table.root
    }

    /// Whether the last output is a table.
    pub(super) fn is_table(&self) -> bool {
        self.table.reader.is_some()
    }

    /// Whether all its inputs, former and present, have this role.
    pub(super) fn is_made_of(&self, role: &str) -> bool {
        self.inputs.iter().all(|input| *input.role == *role) && self.record.inputs.iter().all(|input| *input.role == *role)
    }

    /// Returns how many inputs in lists changed, and how many there are. A single input is read by rows: see [`TableChanges::changed_rows`].
    pub(super) fn count_changed_inputs(&self) -> (usize, usize) {
        let lists = self.rule().inputs.iter().filter(|input| is_list(&input.from));
        lists.fold((0, 0), |(changed, all), list| {
            (changed + self.changed[&list.role].len(), all + self.of_role(&list.role).len())
        })
    }

    fn rule(&self) -> &'a Rule {
        &self.shared.manifest.rules[self.job.rule as usize]
    }

    /// Returns the changed inputs of each role; `None` if the roles changed, or a role contains a label twice.
    fn find_changed_inputs(&self) -> Option<BTreeMap<Arc<str>, Vec<ChangedInput>>> {
        let roles = &self.rule().inputs;
        let mut then: BTreeMap<&str, Vec<&InputRecord>> = BTreeMap::new();
        for input in &self.record.inputs {
            then.entry(&input.role).or_default().push(input);
        }
        let mut changed = BTreeMap::new();
        for input in roles {
            let found = self.compare_role(&input.role, then.remove(&*input.role).unwrap_or_default())?;
            let came_or_went = |one: &ChangedInput| one.before.is_none() || one.now.is_none();
            if !is_list(&input.from) && found.iter().any(came_or_went) {
                return None;
            }
            changed.insert(input.role.clone(), found);
        }
        then.is_empty().then_some(changed)
    }

    fn compare_role(&self, role: &str, before: Vec<&InputRecord>) -> Option<Vec<ChangedInput>> {
        let now = self.of_role(role);
        // Usually few of thousands of inputs differ, so look up only those between the first and the last difference.
        let is_same = |(then, now): &(&&InputRecord, &JobInput)| then.digest == now.digest && then.label == now.label;
        let head = before.iter().zip(now).take_while(is_same).count();
        let (before, now) = (&before[head..], &now[head..]);
        let tail = before.iter().rev().zip(now.iter().rev()).take_while(is_same).count();
        let (before, now) = (&before[..before.len() - tail], &now[..now.len() - tail]);
        let mut then: FxHashMap<&str, Digest> = before.iter().map(|input| (&*input.label, input.digest)).collect();
        if then.len() != before.len() {
            return None;
        }
        let mut changed = Vec::new();
        for input in now {
            let before = then.remove(&*input.label);
            if before != Some(input.digest) {
                changed.push(ChangedInput {
                    item: input.item.clone(),
                    before,
                    now: Some(input.digest),
                });
            }
        }
        let frame = if then.is_empty() { None } else { self.frame(role) };
        for (label, digest) in then {
            changed.push(ChangedInput {
                item: frame.as_ref()?.item(label)?.into(),
                before: Some(digest),
                now: None,
            });
        }
        Some(changed)
    }

    /// Returns the present inputs of a role, which are adjacent.
    fn of_role(&self, role: &str) -> &'a [JobInput] {
        let first = self
            .inputs
            .iter()
            .position(|input| *input.role == *role)
            .unwrap_or(self.inputs.len());
        let rest = &self.inputs[first..];
        &rest[..rest.iter().position(|input| *input.role != *role).unwrap_or(rest.len())]
    }

    /// Returns the frame that extracts the item from a label in a list input.
    fn frame(&self, role: &str) -> Option<ItemFrame> {
        let input = self.rule().inputs.iter().find(|input| *input.role == *role)?;
        match &input.from {
            InputFrom::Many { target, .. } => ItemFrame::from_template(target, self.job.vars(&self.shared.manifest)),
            _ => None,
        }
    }
}

impl TableChanges for LastTable<'_> {
    fn last(&self) -> &dyn TableView {
        &self.table
    }

    fn diagnostics(&self) -> &[Diagnostic] {
        &self.record.diagnostics
    }

    fn memo(&self) -> &[u8] {
        &self.record.memo
    }

    fn changed_inputs(&self, role: &str) -> Option<&[ChangedInput]> {
        self.changed.get(role).map(Vec::as_slice)
    }

    fn present(&self, role: &str) -> Vec<(Arc<str>, Digest)> {
        self.of_role(role).iter().map(|input| (input.item.clone(), input.digest)).collect()
    }

    fn digest(&self, role: &str, item: &str) -> Option<Digest> {
        let inputs = self.of_role(role);
        let at = inputs.binary_search_by(|input| (*input.item).cmp(item)).ok()?;
        Some(inputs[at].digest)
    }

    fn bytes(&self, digest: &Digest) -> Option<Arc<[u8]>> {
        let blob = self.shared.blobs.get(digest).ok()??;
        self.shared.blobs.readable(&blob).ok()
    }

    fn table(&self, digest: &Digest) -> Option<Box<dyn TableView + '_>> {
        Some(Box::new(StoredTable::open(self.shared, digest)?))
    }

    fn changed_rows(&self, before: &Digest, now: &Digest) -> Option<BTreeSet<String>> {
        let mut keys = BTreeSet::new();
        if before != now {
            let (before, now) = (self.shared.blobs.get(before).ok()??, self.shared.blobs.get(now).ok()??);
            let fetch = |digest: &Digest| self.shared.blobs.get(digest).map_err(|_| PageError::Missing(*digest));
            each_change::<PageError>(&before, &now, fetch, |key, _| {
                keys.insert(key.to_owned());
            })
            .ok()?;
            if keys.len() * ONE_IN > count(&now)? {
                return None;
            }
        }
        Some(keys)
    }
}

fn is_list(from: &InputFrom) -> bool {
    matches!(from, InputFrom::Many { .. } | InputFrom::Rows { .. })
}

/// An output whose pages are read on demand if it is a table. Otherwise it has no rows to read.
struct StoredTable<'a> {
    shared: &'a JobContext,
    root: Arc<[u8]>,
    reader: Option<RefCell<RowReader>>,
}

impl<'a> StoredTable<'a> {
    fn open(shared: &'a JobContext, digest: &Digest) -> Option<Self> {
        let root = shared.blobs.get(digest).ok()??;
        let reader = RowReader::new(root.clone()).ok().map(RefCell::new);
        Some(Self { shared, root, reader })
    }

    fn page(&self, digest: &Digest) -> Result<Option<Arc<[u8]>>, PageError> {
        self.shared.blobs.get(digest).map_err(|_| PageError::Missing(*digest))
    }
}

impl TableView for StoredTable<'_> {
    fn row(&self, key: &str) -> Option<Option<Arc<[u8]>>> {
        let mut reader = self.reader.as_ref()?.borrow_mut();
        let found = reader.get::<PageError>(key, |digest| self.page(digest)).ok()?;
        Some(found.map(|value| Arc::from(&*value)))
    }

    fn rows_from(&self, key: &str, visit: &mut dyn FnMut(&str, &[u8]) -> bool) -> Option<()> {
        rows_from::<PageError>(&self.root, key, |digest| self.page(digest), visit).ok()
    }
}
