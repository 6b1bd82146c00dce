//! Jobs: what workers do. A job gathers blobs, runs one producer (or one expansion) and reports back; it decides nothing.

use super::answers;
use super::blobs::{Blobs, Lack, Paged};
use super::earlier_answer::{self, Past};
use super::invalidated::Stamp;
use super::loading::{load, load_pieces};
use super::parts::{FiledParts, ReportedCost};
use super::requested_rows::{self, Refusal};
use super::shard::{Errand, Shard};
use super::sharing::{RemoteResult, Sharing};
use crate::graph::NodeId;
use crate::graph::lookups::LookupSet;
use crate::manifest::model::{InputFrom, Manifest};
use crate::manifest::template::Vars;
use crate::planning::expand::{self, ExpandError, PlannedInput};
use crate::seams::job_group::GroupMember;
use crate::seams::paid::{Correction, FormerNames, Plan, Previous, Spent};
use crate::seams::producer::{Cancel, Failure, Input, Inputs, Output, Params, Producer, ProducerId};
use crate::seams::world::World;
use crate::store::records::ActionRecord;
use crate::store::{Flight, StoreError, ViewId};
use crate::values::codes::ErrorCode;
use crate::values::diagnostic::Diagnostic;
use crate::values::digest::{ActionKey, Digest};
use crate::values::pieces::{self, PieceError};
use crate::values::tree;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

/// Where the blob of an input comes from.
#[derive(Clone, Debug)]
pub enum Fetch {
    /// A node's output, in memory or the store.
    Made,
    /// A source file: its path.
    File(Arc<str>),
    /// A source set or glob: its paths, which no store has.
    Paths(Arc<[u8]>),
}

/// A settled node that a job reads.
#[derive(Clone, Debug)]
pub struct Settled {
    /// The node.
    pub id: NodeId,
    /// Its label.
    pub label: Arc<str>,
    /// Its output.
    pub digest: Digest,
    /// Where the blob is.
    pub fetch: Fetch,
}

/// One input of a produce job, in the order of the key.
#[derive(Clone, Debug)]
pub struct JobInput {
    /// Role in the rule.
    pub role: Arc<str>,
    /// Item of a list, else empty.
    pub item: Arc<str>,
    /// Digest as in the key.
    pub digest: Digest,
    /// The node it comes from.
    pub label: Arc<str>,
    /// What to load.
    pub load: Load,
}

/// What to load for an input.
#[derive(Clone, Debug)]
pub enum Load {
    /// Nothing: the producer sees only the digest.
    Nothing,
    /// A node's output.
    Node(Settled),
    /// Rows of a table: index of the rule's input.
    Rows(u16),
}

/// What every job shares.
pub struct Shared {
    /// Where blobs are.
    pub blobs: Blobs,
    /// Where source files are.
    pub world: Arc<dyn World>,
    /// The rules.
    pub manifest: Arc<Manifest>,
    /// Which checkout this is.
    pub view: ViewId,
    /// Told to stop?
    pub cancel: Cancel,
    /// Outputs that producers gave while they asked for rows.
    pub early_outputs: requested_rows::EarlyOutputs,
    /// The remote cache, if there is one.
    pub sharing: Option<Sharing>,
    /// What was called otherwise before, known before the first job that costs money.
    pub former: OnceLock<FormerNames>,
}

/// A job for a worker.
pub struct Job {
    /// The node.
    pub id: NodeId,
    /// Its label.
    pub label: Arc<str>,
    /// Its rule.
    pub rule: u32,
    /// The rule's variables.
    pub vars: Vars,
    /// The settled nodes that decide its inputs.
    pub discovery: Vec<Settled>,
    /// What to do.
    pub task: Task,
    /// What it takes here, as far as is known, if it may be done on another machine.
    pub travels: Option<Duration>,
}

/// What a job does.
pub enum Task {
    /// Find the inputs.
    Expand {
        /// The producer, if it asks for rows.
        asks: Option<Arc<dyn Producer>>,
    },
    /// Run the producer.
    Produce {
        /// Who.
        producer: Arc<dyn Producer>,
        /// Of what.
        inputs: Vec<JobInput>,
        /// The key that the output is filed under.
        key: ActionKey,
        /// Whether to make it or only to say what it would cost.
        how: Make,
        /// The previous result, as a hint to producers that cost money.
        past: Option<Past>,
        /// Key of the last result, where a fold may begin with it.
        before: Option<ActionKey>,
        /// Whether the remote cache is asked first.
        ask: bool,
    },
}

impl Task {
    /// What is done, in a word.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Expand { .. } => "expand",
            Self::Produce { .. } => "produce",
        }
    }
}

/// What is asked of a producer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Make {
    /// The output; `fresh` when a person asked for a new answer.
    Output {
        /// See [`Inputs::fresh`].
        fresh: bool,
        /// It costs money.
        paid: bool,
        /// No other process is to make the same meanwhile.
        reserved: bool,
        /// The result under its key that is not wanted any more, where that is why it is made.
        mark: Option<Stamp>,
    },
    /// A plan, of inputs of which some are not known yet.
    Plan {
        /// See [`Inputs::fresh`].
        fresh: bool,
        /// How many are not known.
        unknown: usize,
    },
}

/// What a job came to.
pub enum Done {
    /// The inputs were found.
    Expanded(Result<Vec<PlannedInput>, ExpandError>, LookupSet),
    /// The producer ran.
    Produced {
        /// What it made.
        output: Box<Output>,
        /// Digest of the output.
        digest: Digest,
        /// How long it took.
        took: Duration,
        /// Keeps other processes from asking for it until it is durable.
        flight: Option<Flight>,
        /// Whether it is what another machine filed while this one asked for the same.
        is_adopted: bool,
        /// What of its cost is told already.
        told: Box<ReportedCost>,
    },
    /// Another process asked for it and filed the answer.
    Found(Box<ActionRecord>),
    /// Another machine made it.
    Brought(Box<RemoteResult>),
    /// What it would ask for.
    Planned(Box<Plan>),
    /// There is no output.
    Failed {
        /// Why.
        failure: Failure,
        /// What answers to parts of the question cost, which came and are filed.
        filed: Box<Spent>,
        /// How long it took.
        took: Duration,
    },
    /// Blobs of these nodes are nowhere: their producers must run again first.
    Missing(Vec<NodeId>),
    /// A farm was to do it and did not; it is to be done here.
    Unmade(Box<Job>),
    /// The store broke.
    Broken(StoreError),
}

impl Done {
    /// Failed before anything came of it.
    pub(super) fn of_failure(failure: Failure) -> Self {
        Self::Failed {
            failure,
            filed: Box::default(),
            took: Duration::ZERO,
        }
    }
}

impl Job {
    /// Does it. Never panics: a producer's panic becomes a failure.
    pub fn run(&self, shared: &Shared) -> Done {
        self.run_in(shared, None)
    }

    /// Does it in its group, where it is a member of one.
    pub(super) fn run_in(&self, shared: &Shared, job_group: Option<&GroupMember>) -> Done {
        if shared.cancel.is_cancelled() {
            return Done::of_failure(Failure::Cancelled);
        }
        let mut missing = Vec::new();
        let deciding = match self.load_discovery(shared, &mut missing) {
            Ok(blobs) => blobs,
            Err(done) => return done,
        };
        match &self.task {
            Task::Expand { asks } if missing.is_empty() => {
                let paged = Paged::new(&shared.blobs, &deciding);
                let mut planned = expand::expand(&shared.manifest.rules[self.rule as usize], &self.vars, &paged);
                if let (Some(producer), Ok(inputs)) = (asks, &mut planned) {
                    match self.asking(shared, &**producer).plan(&paged, inputs) {
                        // The producer is about to read them.
                        Ok(answers) => self.hold_answers(shared, answers),
                        Err(Refusal::Expand(error)) => planned = Err(error),
                        Err(Refusal::Failed(failure)) => return Done::of_failure(failure),
                    }
                }
                self.expanded(planned, paged)
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
                    return Done::Brought(Box::new(found));
                }
                let start = Instant::now();
                if let Some(output) = before.and_then(|before| self.update_table(shared, &before)) {
                    return Done::Produced {
                        digest: Digest::of(&output.bytes),
                        output: Box::new(output),
                        took: start.elapsed(),
                        flight: None,
                        is_adopted: false,
                        told: Box::default(),
                    };
                }
                let roles = match self.load_inputs(shared, inputs, &deciding, &mut missing) {
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

    /// The key that its output is filed under, if it makes one.
    pub fn key(&self) -> Option<ActionKey> {
        match &self.task {
            Task::Produce { key, .. } => Some(*key),
            Task::Expand { .. } => None,
        }
    }

    /// Adds itself to a shard. Whether it could: all that it reads is at hand and can be sent.
    pub fn pack(&self, shared: &Shared, shard: &mut Shard) -> bool {
        let Task::Produce { producer, inputs, key, .. } = &self.task else {
            return false;
        };
        let mut missing = Vec::new();
        let roles = self
            .load_discovery(shared, &mut missing)
            .and_then(|deciding| self.load_inputs(shared, inputs, &deciding, &mut missing));
        let nothing = Vars::new();
        let definition = &shared.manifest.producers[shared.manifest.rules[self.rule as usize].producer as usize];
        let vars = if producer.sees(&definition.params).vars {
            &self.vars
        } else {
            &nothing
        };
        // What is wrong here is found out, and told, when the job is done here.
        roles.is_ok_and(|roles| {
            let is_whole = |input: &Input| input.bytes.len() <= producer.reads_at_most();
            missing.is_empty()
                && roles.values().flatten().all(is_whole)
                && shard.add(&Errand {
                    key: *key,
                    producer: producer.id(),
                    params: &definition.params,
                    label: &self.label,
                    vars,
                    roles: &roles,
                })
        })
    }

    /// What an expansion came to: tables of which a page is nowhere are made again first.
    pub(super) fn expanded(&self, planned: Result<Vec<PlannedInput>, ExpandError>, paged: Paged<'_>) -> Done {
        let lookups = paged.take_lookups();
        match (paged.trouble(), planned) {
            (Some(error), _) => Done::Broken(error),
            (None, Err(ExpandError::Lost { label })) => {
                let lost = self.discovery.iter().filter(|node| *node.label == *label);
                let lost: Vec<NodeId> = lost.map(|node| node.id).collect();
                match lost.is_empty() {
                    // No input of this job holds the page, so running producers again cannot bring it back.
                    true => Done::of_failure(Failure::permanent(ExpandError::Lost { label }.to_string())),
                    false => Done::Missing(lost),
                }
            }
            (None, planned) => Done::Expanded(planned, lookups),
        }
    }

    fn load_discovery(&self, shared: &Shared, missing: &mut Vec<NodeId>) -> Result<BTreeMap<String, Arc<[u8]>>, Done> {
        let wanted = match &self.task {
            Task::Expand { .. } => true,
            Task::Produce { inputs, .. } => inputs.iter().any(|input| matches!(input.load, Load::Rows(_))),
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
        shared: &Shared,
        inputs: &[JobInput],
        deciding: &BTreeMap<String, Arc<[u8]>>,
        missing: &mut Vec<NodeId>,
    ) -> Result<BTreeMap<Arc<str>, Vec<Input>>, Done> {
        let rule = &shared.manifest.rules[self.rule as usize];
        let most = match &self.task {
            Task::Produce { producer, .. } => producer.reads_at_most(),
            Task::Expand { .. } => usize::MAX - 1,
        };
        let mut roles: BTreeMap<Arc<str>, Vec<Input>> = BTreeMap::new();
        for input in inputs {
            let mut tree = None;
            let bytes: Arc<[u8]> = match &input.load {
                Load::Nothing => Arc::from([]),
                Load::Node(node) => match load(shared, node, most)?.map(|blob| load_pieces(shared, node, blob)) {
                    Some(Ok((blob, files))) => {
                        tree = files;
                        blob
                    }
                    Some(Err(Lack::Broken(error))) => return Err(Done::Broken(error)),
                    // A piece is nowhere, or what is there is none.
                    None | Some(Err(Lack::Piece)) => {
                        missing.push(node.id);
                        continue;
                    }
                },
                Load::Rows(spec) => match &rule.inputs[usize::from(*spec)].from {
                    from if from.is_asked() && missing.is_empty() => match self.asked_rows(shared, *spec, &input.digest, deciding)? {
                        Some(rows) => rows,
                        None => continue,
                    },
                    InputFrom::Slice { node, keys } if missing.is_empty() => {
                        let paged = Paged::new(&shared.blobs, deciding);
                        match expand::slice(node, None, keys, &self.vars, &paged) {
                            Ok(rows) => rows.into(),
                            Err(error) => return Err(self.expanded(Err(error), paged)),
                        }
                    }
                    InputFrom::Rows { table, keys, .. } if missing.is_empty() => {
                        let paged = Paged::new(&shared.blobs, deciding);
                        match expand::slice(table, Some(&input.item), keys, &self.vars, &paged) {
                            Ok(rows) => rows.into(),
                            Err(error) => return Err(self.expanded(Err(error), paged)),
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
        shared: &Shared,
        producer: &dyn Producer,
        roles: &BTreeMap<Arc<str>, Vec<Input>>,
        key: &ActionKey,
        (how, job_group): (Make, Option<&GroupMember>),
        past: Option<(Option<Previous>, Option<Correction>)>,
    ) -> Done {
        let nothing = Vars::new();
        let rule = &shared.manifest.rules[self.rule as usize];
        let definition = &shared.manifest.producers[rule.producer as usize];
        let (params, settings): (&Params, &Params) = (&definition.params, &definition.settings);
        let sees = producer.sees(params);
        let vars = if sees.vars { &self.vars } else { &nothing };
        let (fresh, unknown) = match how {
            Make::Output { fresh, .. } => (fresh, 0),
            Make::Plan { fresh, unknown } => (fresh, unknown),
        };
        let parts = FiledParts::new(shared, &self.label, producer.id(), key, fresh);
        let looks_back = past.is_some();
        let (previous, correction) = past.unwrap_or_default();
        let mut inputs = Inputs {
            key,
            settings,
            parts: &parts,
            previous,
            correction,
            fresh,
            unknown,
            job_group,
            ..Inputs::bare(&self.label, params, roles, vars, &shared.cancel)
        };
        if let Some(former) = shared.former.get().filter(|_| looks_back) {
            inputs.former = former;
        }
        if looks_back && inputs.previous.is_none() && !inputs.former.is_empty() {
            let labels = catch_unwind(AssertUnwindSafe(|| producer.former_labels(&inputs)));
            match earlier_answer::formerly(shared, &labels.unwrap_or_default()) {
                Ok(previous) => inputs.previous = previous,
                Err(error) => return Done::Broken(error),
            }
        }
        let latest = answers::latest_key(&producer.id(), params, &self.label);
        if looks_back && inputs.previous.is_none() && !fresh && producer.builds_on_previous(params) {
            inputs.previous = earlier_answer::elsewhere(shared, &latest, &producer.id());
        }
        let flight = match how {
            Make::Output { reserved: true, mark, .. } => match answers::take_off(shared, key, (fresh, mark), job_group) {
                Ok(flight) => flight,
                Err(done) => return done,
            },
            _ => None,
        };
        let start = Instant::now();
        let made = catch_unwind(AssertUnwindSafe(|| match how {
            Make::Output { .. } => self
                .take_early_output(shared)
                .map_or_else(|| producer.produce(&inputs), Ok)
                .and_then(check_pieces)
                .map(|output| Done::Produced {
                    digest: Digest::of(&output.bytes),
                    output: Box::new(output),
                    took: start.elapsed(),
                    flight,
                    is_adopted: false,
                    told: Box::new(parts.snapshot()),
                }),
            Make::Plan { .. } => producer.plan(&inputs).map(|plan| Done::Planned(Box::new(plan))),
        }));
        // A job that asked nothing leaves its group before the slow write to the cache.
        job_group.iter().for_each(|member| member.leave());
        match made {
            Ok(Ok(done)) => match how {
                Make::Output { paid: true, fresh, .. } => {
                    answers::settled(shared, &self.label, (key, &latest), (producer.id(), fresh), done)
                }
                _ => done,
            },
            Ok(Err(failure)) => Done::Failed {
                failure,
                filed: Box::new(parts.snapshot().now),
                took: start.elapsed(),
            },
            Err(panic) => Done::of_failure(Failure::Permanent(Box::new(panicked(producer.id(), &*panic)))),
        }
    }
}

/// The output as it is stored, unless it says that it is in pieces and is not: its readers would look for what nobody made.
fn check_pieces(output: Output) -> Result<Output, Failure> {
    if pieces::is_root(&output.bytes) {
        let root: Arc<[u8]> = output.bytes.as_slice().into();
        let all = pieces::each_piece::<PieceError>(&root, |digest| Ok(output.parts.get(digest).cloned()), |_| {});
        if let Err(error) = all {
            let what = if tree::is_tree(&root) { "a tree" } else { "a table in pages" };
            let why = Diagnostic::error(
                ErrorCode::E_OUTPUT,
                format!("the output begins as {what} does and is none: {error}"),
            );
            return Err(Failure::Permanent(Box::new(why.hint("begin it with something else"))));
        }
    }
    Ok(output.stored())
}

pub(super) fn panicked(producer: ProducerId, panic: &(dyn std::any::Any + Send)) -> Diagnostic {
    let words = panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("no message");
    Diagnostic::error(ErrorCode::E_INTERNAL, format!("the producer {producer} stopped at a bug"))
        .found(words.chars().take(120).collect::<String>())
        .hint("report it with the input that leads there; other targets are not affected")
}
