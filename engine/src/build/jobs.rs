//! Jobs: the work of workers. A job gathers blobs, runs one producer (or one expansion) and reports back; it decides nothing.

use super::answer_parts::StoredParts;
use super::answers;
use super::blobs::{PagedBlobs, Unavailable};
use super::earlier_answer;
use super::early_outputs::PlannedRows;
use super::job::{Done, Job, JobContext, JobInput, JobMode, Load, Task, panicked};
use super::job_inputs::{load, load_pieces, load_together};
use super::question_lock::RemoteQuestionLock;
use super::requested_rows::RowsError;
use super::shard::{Shard, ShardJob};
use crate::graph::NodeId;
use crate::manifest::model::{InputFrom, Manifest};
use crate::manifest::template::Vars;
use crate::planning::expand::{self, ExpandError, PlannedInput};
use crate::planning::rules::vars_of_label;
use crate::seams::job_group::GroupMember;
use crate::seams::paid::{Correction, Previous};
use crate::seams::producer::{Failure, Input, Inputs, Output, Params, Producer};
use crate::values::codes::ErrorCode;
use crate::values::diagnostic::Diagnostic;
use crate::values::digest::{ActionKey, Digest};
use crate::values::long_text;
use crate::values::pieces::{self, PieceError};
use crate::values::tree;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Instant;

/// The outputs of the nodes that decide a job's inputs, by label.
type Roots = BTreeMap<String, Arc<[u8]>>;

impl Job {
    /// Runs the job. Never panics: a producer's panic becomes a failure.
    pub fn run(&self, shared: &JobContext) -> Done {
        self.run_in(shared, None)
    }

    /// Runs the job, as a member of a group if given.
    pub(super) fn run_in(&self, shared: &JobContext, job_group: Option<&GroupMember>) -> Done {
        if shared.cancel.is_cancelled() {
            return self.cancelled();
        }
        self.wrap_if_assumed(self.run_task(shared, job_group))
    }

    /// Returns the outcome of a job that was stopped before it ran.
    pub(super) fn cancelled(&self) -> Done {
        self.wrap_if_assumed(Done::of_failure(Failure::Cancelled))
    }

    fn wrap_if_assumed(&self, done: Done) -> Done {
        if self.is_assumed { Done::Assumed(Box::new(done)) } else { done }
    }

    /// Returns the variables of its rule.
    pub(super) fn vars(&self, manifest: &Manifest) -> &Vars {
        self.vars
            .get_or_init(|| vars_of_label(&manifest.rules[self.rule as usize], &self.label))
    }

    /// Returns the variables that the producer may read: those of the rule, or `nothing`.
    fn seen_vars<'v>(&'v self, shared: &JobContext, producer: &dyn Producer, params: &Params, nothing: &'v Vars) -> &'v Vars {
        match producer.sees(params).vars {
            true => self.vars(&shared.manifest),
            false => nothing,
        }
    }

    fn run_task(&self, shared: &JobContext, job_group: Option<&GroupMember>) -> Done {
        let mut missing = Vec::new();
        let held = match &self.task {
            Task::Expand { .. } => PlannedRows::new(),
            Task::Produce { .. } => shared.early_outputs.take_rows(self.id),
        };
        let deciding = match self.load_discovery(shared, &held, &mut missing) {
            Ok(blobs) => blobs,
            Err(done) => return done,
        };
        match &self.task {
            Task::Expand { asks } if missing.is_empty() => {
                let paged = PagedBlobs::new(&shared.blobs, &deciding);
                let mut planned = expand::expand(&shared.manifest.rules[self.rule as usize], self.vars(&shared.manifest), &paged);
                let mut rows = paged.take_planned_rows();
                if let (Some(producer), Ok(inputs)) = (asks, &mut planned) {
                    match self.asking(shared, &**producer, &rows).plan(&paged, inputs) {
                        Ok(answers) => self.hold_answers(shared, answers, &mut rows),
                        Err(RowsError::Expand(error)) => planned = Err(error),
                        Err(RowsError::Failed(failure)) => return Done::of_failure(failure),
                    }
                }
                if planned.is_ok() && !rows.is_empty() {
                    // The producer will read them next.
                    shared.early_outputs.insert_rows(self.id, rows);
                }
                self.finish_expansion(planned, paged)
            }
            Task::Expand { .. } => Done::Missing(missing),
            Task::Produce {
                producer,
                inputs,
                key,
                how,
                past,
                before,
                ask,
            } => {
                if *ask
                    && let Some(found) = shared
                        .sharing
                        .as_ref()
                        .and_then(|sharing| sharing.find(key, producer.id().to_string()))
                {
                    return Done::BuiltElsewhere(Box::new(found));
                }
                let start = Instant::now();
                let updated = before.and_then(|before| self.update_table(shared, &before)).map(Ok);
                match updated.or_else(|| self.take_early_output(shared).map(|early| stored_form(shared, early))) {
                    Some(Ok(output)) => {
                        return Done::Produced {
                            digest: Digest::of(&output.bytes),
                            output: Box::new(output),
                            took: start.elapsed(),
                            action_lock: None,
                            is_adopted: false,
                            cost: Box::default(),
                        };
                    }
                    Some(Err(failure)) => return Done::of_failure(failure),
                    None => {}
                }
                let roles = match self.load_inputs(shared, inputs, &held, &deciding, &mut missing) {
                    Ok(roles) => roles,
                    Err(done) => return done,
                };
                if missing.is_empty() {
                    match past.map(|past| past.find(shared, &self.label, inputs)).transpose() {
                        Ok(past) => self.produce(shared, &**producer, &roles, key, (*how, job_group), past),
                        Err(error) => Done::Broken(error),
                    }
                } else {
                    Done::Missing(missing)
                }
            }
        }
    }

    /// Returns the action key of its output, if it produces one.
    pub fn key(&self) -> Option<ActionKey> {
        match &self.task {
            Task::Produce { key, .. } => Some(*key),
            Task::Expand { .. } => None,
        }
    }

    /// Adds the job to a shard; returns whether all its inputs are available and can be sent.
    pub fn add_to_shard(&self, shared: &JobContext, shard: &mut Shard) -> bool {
        let Task::Produce { producer, inputs, key, .. } = &self.task else {
            return false;
        };
        let mut missing = Vec::new();
        let roles = self
            .load_discovery(shared, &[], &mut missing)
            .and_then(|deciding| self.load_inputs(shared, inputs, &[], &deciding, &mut missing));
        let nothing = Vars::new();
        let definition = &shared.manifest.producers[shared.manifest.rules[self.rule as usize].producer as usize];
        let vars = self.seen_vars(shared, &**producer, &definition.params, &nothing);
        // Errors here are found and reported when this process runs the job.
        roles.is_ok_and(|roles| {
            let is_whole = |input: &Input| input.bytes.len() <= producer.reads_at_most();
            missing.is_empty()
                && roles.values().flatten().all(is_whole)
                && shard.add_job(&ShardJob {
                    key: *key,
                    producer: producer.id(),
                    params: &definition.params,
                    label: &self.label,
                    vars,
                    roles: &roles,
                })
        })
    }

    /// Returns the outcome of an expansion: tables with a missing page are rebuilt first.
    pub(super) fn finish_expansion(&self, planned: Result<Vec<PlannedInput>, ExpandError>, paged: PagedBlobs<'_>) -> Done {
        let lookups = paged.take_lookups();
        match (paged.into_store_error(), planned) {
            (Some(error), _) => Done::Broken(error),
            (None, Err(ExpandError::Lost { label })) => {
                let lost = self.discovery.iter().filter(|node| *node.label == *label);
                let lost: Vec<NodeId> = lost.map(|node| node.id).collect();
                match lost.is_empty() {
                    // No input of this job contains the page, so rebuilding inputs cannot restore it.
                    true => Done::of_failure(Failure::permanent(ExpandError::Lost { label }.to_string())),
                    false => Done::Missing(lost),
                }
            }
            (None, planned) => Done::Expanded(planned, lookups),
        }
    }

    /// Loads the nodes that decide the inputs, if it needs their tables: rows that are held are not read again.
    fn load_discovery(&self, shared: &JobContext, held: &[(Digest, Arc<[u8]>)], missing: &mut Vec<NodeId>) -> Result<Roots, Done> {
        let is_read = |input: &JobInput| matches!(input.load, Load::Rows(_)) && held_rows(held, input).is_none();
        let wanted = match &self.task {
            Task::Expand { .. } => true,
            Task::Produce { inputs, .. } => inputs.iter().any(is_read),
        };
        let mut blobs = BTreeMap::new();
        for node in self.discovery.iter().filter(|_| wanted) {
            match load(shared, node, usize::MAX - 1)? {
                Some(blob) => {
                    blobs.insert(node.label.to_string(), blob);
                }
                None => missing.push(node.id),
            }
        }
        Ok(blobs)
    }

    fn load_inputs(
        &self,
        shared: &JobContext,
        inputs: &[JobInput],
        held: &[(Digest, Arc<[u8]>)],
        deciding: &Roots,
        missing: &mut Vec<NodeId>,
    ) -> Result<BTreeMap<Arc<str>, Vec<Input>>, Done> {
        let rule = &shared.manifest.rules[self.rule as usize];
        let most = match &self.task {
            Task::Produce { producer, .. } => producer.reads_at_most(),
            Task::Expand { .. } => usize::MAX - 1,
        };
        let mut roles: BTreeMap<Arc<str>, Vec<Input>> = BTreeMap::new();
        let mut together = load_together(shared, inputs).into_iter();
        for input in inputs {
            let mut tree = None;
            let early = together.next().flatten();
            let bytes: Arc<[u8]> = match &input.load {
                Load::Nothing => Arc::from([]),
                Load::Node(node) => match early
                    .map_or_else(|| load(shared, node, most), |blob| Ok(Some(blob)))?
                    .map(|blob| load_pieces(shared, node, blob))
                {
                    Some(Ok((blob, files))) => {
                        tree = files;
                        blob
                    }
                    Some(Err(Unavailable::Broken(error))) => return Err(Done::Broken(error)),
                    // A piece is missing or invalid.
                    None | Some(Err(Unavailable::Piece)) => {
                        missing.push(node.id);
                        continue;
                    }
                },
                Load::Rows(_) if let Some(rows) = held_rows(held, input) => rows.clone(),
                Load::Rows(spec) => match &rule.inputs[usize::from(*spec)].from {
                    from if from.is_asked() && missing.is_empty() => match self.asked_rows(shared, *spec, deciding)? {
                        Some(rows) => rows,
                        None => continue,
                    },
                    InputFrom::Slice { node, keys } if missing.is_empty() => {
                        let paged = PagedBlobs::new(&shared.blobs, deciding);
                        match expand::slice(node, None, keys, self.vars(&shared.manifest), &paged) {
                            Ok(rows) => rows.into(),
                            Err(error) => return Err(self.finish_expansion(Err(error), paged)),
                        }
                    }
                    InputFrom::Rows { table, keys, .. } if missing.is_empty() => {
                        let paged = PagedBlobs::new(&shared.blobs, deciding);
                        match expand::slice(table, Some(&input.item), keys, self.vars(&shared.manifest), &paged) {
                            Ok(rows) => rows.into(),
                            Err(error) => return Err(self.finish_expansion(Err(error), paged)),
                        }
                    }
                    _ => continue,
                },
            };
            roles.entry(input.role.clone()).or_default().push(Input {
                item: input.item.clone(),
                digest: input.digest,
                label: input.label.clone(),
                bytes,
                tree,
            });
        }
        Ok(roles)
    }

    fn produce(
        &self,
        shared: &JobContext,
        producer: &dyn Producer,
        roles: &BTreeMap<Arc<str>, Vec<Input>>,
        key: &ActionKey,
        (how, job_group): (JobMode, Option<&GroupMember>),
        past: Option<(Option<Previous>, Option<Correction>)>,
    ) -> Done {
        let nothing = Vars::new();
        let definition = &shared.manifest.producers[shared.manifest.rules[self.rule as usize].producer as usize];
        let params: &Params = &definition.params;
        let vars = self.seen_vars(shared, producer, params, &nothing);
        let (fresh, unknown) = how.fresh_and_unknown();
        let parts = StoredParts::new(shared, &self.label, producer.id(), key, fresh);
        let question_lock = RemoteQuestionLock::new(shared, (&self.label, key, producer.id()), job_group, fresh);
        let looks_back = past.is_some();
        let (previous, correction) = past.unwrap_or_default();
        let mut inputs = Inputs {
            key,
            settings: &definition.settings,
            parts: &parts,
            question_lock: &question_lock,
            previous,
            correction,
            fresh,
            unknown,
            job_group,
            ..Inputs::bare(&self.label, params, roles, vars, &shared.cancel)
        };
        let latest = answers::latest_key(&producer.id(), params, &self.label);
        if looks_back {
            match earlier_answer::find_previous(shared, producer, &mut inputs, &latest) {
                Ok(previous) => inputs.previous = previous,
                Err(error) => return Done::Broken(error),
            }
        }
        let action_lock = match how {
            JobMode::Output { reserved: true, mark, .. } => match answers::wait_for_right_to_ask(shared, key, (fresh, mark), job_group) {
                Ok(action_lock) => action_lock,
                Err(done) => return done,
            },
            _ => None,
        };
        let start = Instant::now();
        let made = catch_unwind(AssertUnwindSafe(|| match how {
            JobMode::Output { .. } => producer
                .produce(&inputs)
                .and_then(|output| stored_form(shared, output))
                .map(|output| Done::Produced {
                    digest: Digest::of(&output.bytes),
                    output: Box::new(output),
                    took: start.elapsed(),
                    action_lock,
                    is_adopted: false,
                    cost: Box::new(parts.snapshot()),
                }),
            JobMode::Plan { .. } => producer.plan(&inputs).map(|plan| Done::Planned(Box::new(plan))),
        }));
        // A job that asked nothing leaves its group before the slow write to the cache.
        job_group.iter().for_each(|member| member.leave());
        if let Some(found) = question_lock.take_answer() {
            return Done::BuiltElsewhere(Box::new(found));
        }
        match made {
            Ok(Ok(done)) if matches!(how, JobMode::Output { paid: true, .. }) => {
                answers::store_answer(shared, &self.label, (key, &latest), (producer.id(), fresh), done)
            }
            Ok(Ok(done)) => done,
            Ok(Err(failure)) => {
                question_lock.withdraw();
                Done::Failed {
                    failure,
                    parts_cost: Box::new(parts.snapshot().now),
                    took: start.elapsed(),
                }
            }
            Err(panic) => Done::of_failure(Failure::Permanent(Box::new(panicked(producer.id(), &*panic)))),
        }
    }
}

/// Returns the rows that are an input, if they are held.
fn held_rows<'a>(held: &'a [(Digest, Arc<[u8]>)], input: &JobInput) -> Option<&'a Arc<[u8]>> {
    held.iter().find(|(digest, _)| *digest == input.digest).map(|(_, rows)| rows)
}

/// Returns a valid output in its stored form; a long text is kept whole too.
fn stored_form(shared: &JobContext, output: Output) -> Result<Output, Failure> {
    check_pieces(&output)?;
    let (output, text) = output.stored_and_text();
    if let Some(text) = text {
        shared.blobs.remember_text(Digest::of(&output.bytes), text);
    }
    Ok(output)
}

/// Refuses an output that names missing pieces, because readers would search for them.
fn check_pieces(output: &Output) -> Result<(), Failure> {
    if pieces::is_root(&output.bytes) {
        let root: Arc<[u8]> = output.bytes.as_slice().into();
        let all = pieces::each_piece::<PieceError>(&root, |digest| Ok(output.parts.get(digest).cloned()), |_| {});
        if let Err(error) = all {
            let what = match tree::is_tree(&root) {
                true => "a tree",
                false if long_text::is_long_text(&root) => "a long text",
                false => "a table in pages",
            };
            let why = Diagnostic::error(
                ErrorCode::E_OUTPUT,
                format!("the output begins like {what}, but cannot be read as one: {error}"),
            );
            return Err(Failure::Permanent(Box::new(
                why.hint("begin the output with other bytes, or write a valid one"),
            )));
        }
    }
    Ok(())
}
