//! Producers: pure functions from declared inputs to one output blob.
//!
//! A producer sees its parameters and the blobs of its inputs by role, and nothing else that could change its output. The
//! `previous` output is a hint (patch prompts start from it) and never part of the key.

use super::fold::Fold;
use super::job_group::GroupMember;
use super::paid::{
    Correction, FindResult, FormerNames, NoParts, NoQuestionLock, Notes, Parts, Plan, Previous, QuestionLock, Rejected, Spent,
};
use super::update::TableUpdate;
use crate::values::codes::ErrorCode;
use crate::values::diagnostic::Diagnostic;
use crate::values::digest::{ActionKey, Digest};
use crate::values::long_text;
use crate::values::pieces;
use crate::values::suggest::nearest;
use crate::values::tree::{File, Pieces, TreeError, pieces};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock};

/// Parameters of a producer as written in the manifest, as canonical JSON (keys sorted).
pub type Params = serde_json::Map<String, serde_json::Value>;

/// Identifies the producer of an output. Both parts are in the action key: a new version gives a new key.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ProducerId {
    /// Name such as `csharp/syntax`.
    pub name: String,
    /// Version; incremented whenever the same inputs may give another output.
    pub version: u32,
}

impl ProducerId {
    pub fn new(name: impl Into<String>, version: u32) -> Self {
        Self {
            name: name.into(),
            version,
        }
    }
}

impl fmt::Display for ProducerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}@{}", self.name, self.version)
    }
}

/// The thread pool that a producer runs on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Pool {
    /// Short pure computation, on the rayon pool.
    Cpu,
    /// An external program, on a pool of its own, ordered by priority.
    Slow,
    /// A call that costs money, on a small pool of its own, ordered by priority. Its results are committed at once.
    Paid,
}

/// One input blob.
#[derive(Clone, Debug)]
pub struct Input {
    /// For list inputs the value of `{item}` that this blob belongs to (a path, a type); empty otherwise.
    pub item: Arc<str>,
    /// Digest of the blob (of the chosen rows for a slice of a table).
    pub digest: Digest,
    /// Label of the node that it comes from; for rows, of the table. Not in the key, so it must not enter an output.
    pub label: Arc<str>,
    /// The blob; empty if the rule requests the digest only.
    pub bytes: Arc<[u8]>,
    /// If the blob is the root folder of a tree, the tree's files by path.
    pub tree: Option<Arc<BTreeMap<String, File>>>,
}

impl Input {
    /// Wraps a blob that comes from no node.
    pub fn of(item: &str, bytes: impl Into<Arc<[u8]>>) -> Self {
        let bytes = bytes.into();
        Self {
            item: item.into(),
            digest: Digest::of(&bytes),
            label: "".into(),
            bytes,
            tree: None,
        }
    }
}

/// Flag that stops a build; long-running producers check it and fail with [`Failure::Cancelled`].
#[derive(Clone, Debug, Default)]
pub struct Cancel(Arc<StopFlag>);

#[derive(Debug, Default)]
struct StopFlag {
    stop: AtomicBool,
    /// Number of checks until it stops by itself, in tests.
    checks_left: Option<AtomicU64>,
}

/// Number of running commits in this process that follow a stop and must not be cut off.
static KEEPING: AtomicUsize = AtomicUsize::new(0);

/// Marks a running commit of finished results; see [`Cancel::announce_commit`].
#[derive(Debug)]
pub struct Keeping(());

impl Drop for Keeping {
    fn drop(&mut self) {
        KEEPING.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Cancel {
    /// Returns a flag that sets itself at the `look`th check: for tests that stop a build at every place where it checks.
    pub fn after_checks(look: u64) -> Self {
        Self(Arc::new(StopFlag {
            stop: AtomicBool::new(false),
            checks_left: Some(AtomicU64::new(look)),
        }))
    }

    /// Sets the flag for all of its clones.
    pub fn cancel(&self) {
        self.0.stop.store(true, Ordering::Relaxed);
    }

    /// Whether the build is stopped.
    pub fn is_cancelled(&self) -> bool {
        if let Some(left) = &self.0.checks_left
            && left.fetch_sub(1, Ordering::Relaxed) == 1
        {
            self.cancel();
        }
        self.0.stop.load(Ordering::Relaxed)
    }

    /// Marks, while the returned value lives, a commit of finished results: a process that ends on a signal waits for it.
    pub fn announce_commit() -> Keeping {
        KEEPING.fetch_add(1, Ordering::Relaxed);
        Keeping(())
    }

    /// Whether finished results are being committed in this process.
    pub fn is_keeping() -> bool {
        KEEPING.load(Ordering::Relaxed) > 0
    }
}

/// Everything that a producer may read.
pub struct Inputs<'a> {
    /// Label of the node to build; in the key, so it may enter the output, only for producers that [see](Producer::sees) it.
    pub label: &'a str,
    /// The action key under which the output will be stored.
    pub key: &'a ActionKey,
    /// Parameters from the manifest, as [bound](Producer::bind).
    pub params: &'a Params,
    /// Settings that the producer needs to reach its tools and that cannot change its output: addresses, time-outs, prices. Never in the key.
    pub settings: &'a Params,
    /// Input blobs by role; lists are sorted by item.
    pub roles: &'a BTreeMap<Arc<str>, Vec<Input>>,
    /// Variables of the rule (`{doc}` → `docs/a.md`), empty unless the producer [sees](Producer::sees) them.
    pub vars: &'a BTreeMap<Arc<str>, Arc<str>>,
    /// The previous result, if the store still has it and the producer [is paid](Pool::Paid). A hint.
    pub previous: Option<Previous>,
    /// Earlier names of renamed items, for paid producers. A hint.
    pub former: &'a FormerNames,
    /// A person's words that the output of a paid producer must keep, if any.
    pub correction: Option<Correction>,
    /// Storage of answers to parts of a question.
    pub parts: &'a dyn Parts,
    /// Lock of the question, among machines that share a cache.
    pub question_lock: &'a dyn QuestionLock,
    /// Its membership in a group of jobs that can be asked as one question.
    pub job_group: Option<&'a GroupMember>,
    /// Whether a person requested a new answer, so that no earlier one may be patched.
    pub fresh: bool,
    /// For a [plan](Producer::plan): number of inputs still unknown because they must be built (and paid for) first.
    pub unknown: usize,
    /// Flag that stops the build.
    pub cancel: &'a Cancel,
}

impl<'a> Inputs<'a> {
    /// Returns minimal inputs: no settings, no previous result, a key of zeros.
    pub fn bare(
        label: &'a str,
        params: &'a Params,
        roles: &'a BTreeMap<Arc<str>, Vec<Input>>,
        vars: &'a BTreeMap<Arc<str>, Arc<str>>,
        cancel: &'a Cancel,
    ) -> Self {
        static NO_KEY: ActionKey = ActionKey(Digest([0; 32]));
        static NO_SETTINGS: LazyLock<Params> = LazyLock::new(Params::new);
        static NO_NAMES: FormerNames = FormerNames::new();
        Self {
            label,
            key: &NO_KEY,
            params,
            settings: &NO_SETTINGS,
            roles,
            vars,
            previous: None,
            former: &NO_NAMES,
            correction: None,
            parts: &NoParts,
            question_lock: &NoQuestionLock,
            job_group: None,
            fresh: false,
            unknown: 0,
            cancel,
        }
    }

    /// Returns the inputs of a role, none if the role is absent.
    pub fn all(&self, role: &str) -> &[Input] {
        self.roles.get(role).map_or(&[], Vec::as_slice)
    }

    /// Returns the only input of a role. Errors: a permanent failure if the rule gives the role no input or several.
    pub fn single(&self, role: &str) -> Result<&Input, Failure> {
        match self.all(role) {
            [input] => Ok(input),
            other => Err(Failure::permanent(format!(
                "input '{role}' must be one node, the rule gives {}",
                other.len()
            ))),
        }
    }

    /// Returns the only input of a role; `None` if the role has no input or several.
    pub fn maybe(&self, role: &str) -> Option<&Input> {
        match self.all(role) {
            [input] => Some(input),
            _ => None,
        }
    }

    /// Returns a rule variable such as `type`.
    pub fn var(&self, name: &str) -> Option<&str> {
        self.vars.get(name).map(|value| &**value)
    }
}

/// Output of a producer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Output {
    /// Its bytes; for an output in pieces, its root blob.
    pub bytes: Vec<u8>,
    /// Whether the bytes are a text that changes in few places from version to version. If it is long, the engine stores it in pieces.
    pub is_long_text: bool,
    /// Diagnostics for readers of this result. Stored with the result.
    pub diagnostics: Vec<Diagnostic>,
    /// Its cost, if it was paid for.
    pub spent: Option<Spent>,
    /// Its provenance. Stored with the result.
    pub notes: Notes,
    /// For an output in pieces, whose root is the blob: its other blobs. The engine divides large tables itself.
    pub parts: BTreeMap<Digest, Arc<[u8]>>,
    /// Further blobs of an output in pieces that the store has already: it shares them with an earlier version.
    pub kept: Vec<Digest>,
    /// Data that a [paid](Pool::Paid) producer passes to its next run ([`Previous::memo`]), or one of a table to its next
    /// [update](super::update::TableChanges::memo). It is stored in the result's record, travels with
    /// it, and only the producer reads it.
    pub memo: Arc<[u8]>,
}

impl Output {
    /// Wraps bytes as an output without diagnostics.
    pub fn new(bytes: impl Into<Vec<u8>>) -> Self {
        Self {
            bytes: bytes.into(),
            ..Self::default()
        }
    }

    /// Wraps a text that changes in few places from version to version: if it is long, versions share the pieces that stay.
    pub fn from_long_text(text: String) -> Self {
        Self {
            is_long_text: true,
            ..Self::new(text)
        }
    }

    /// Converts to the stored form: a large table is divided into pages, a long text into pieces.
    pub fn stored(self) -> Self {
        self.stored_and_text().0
    }

    /// As [`Self::stored`], and returns the whole text if it was divided.
    pub fn stored_and_text(self) -> (Self, Option<Vec<u8>>) {
        let (Pieces { root, parts }, text) = if !self.is_long_text {
            (pieces::stored(self.bytes, self.parts), None)
        } else if let Some(pieces) = long_text::divide(&self.bytes) {
            (pieces, Some(self.bytes))
        } else {
            let (root, parts) = (self.bytes, BTreeMap::new());
            (Pieces { root, parts }, None)
        };
        let output = Self {
            bytes: root,
            is_long_text: false,
            parts,
            ..self
        };
        (output, text)
    }

    /// Encodes a tree of files, given by path. Fails when a path is not valid in a tree.
    pub fn from_files(files: &BTreeMap<String, File>) -> Result<Self, TreeError> {
        let Pieces { root, parts } = pieces(files)?;
        Ok(Self { parts, ..Self::new(root) })
    }
}

/// Reason for a missing output. Failures are shown and counted, never cached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// The same inputs will fail again.
    Permanent(Box<Diagnostic>),
    /// Another try may succeed (a time-out, a refused connection).
    Transient(Box<Diagnostic>),
    /// An answer arrived but cannot be an output; it is kept for people to inspect.
    Rejected(Box<Rejected>),
    /// Nothing was tried, for a reason that other jobs share: a limit set by the user would be exceeded, or the model cannot be asked.
    /// Reported once for all of them.
    Limit(Box<Diagnostic>),
    /// The request was sent; a later run fetches the answer.
    Deferred,
    /// The question waits for an agent or a person to answer it; no call was made.
    Awaited,
    /// The build was stopped.
    Cancelled,
}

impl Failure {
    /// Returns a permanent failure with this sentence.
    pub fn permanent(message: impl Into<String>) -> Self {
        Self::Permanent(Box::new(Diagnostic::error(ErrorCode::E_PRODUCER, message)))
    }

    /// Returns a transient failure with this sentence.
    pub fn transient(message: impl Into<String>) -> Self {
        Self::Transient(Box::new(Diagnostic::error(ErrorCode::E_PRODUCER, message)))
    }
}

/// Parameters as [bound](Producer::bind) by a producer.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Bound {
    /// The parameters in the key; rules' `if` tests these.
    pub params: Params,
    /// Those not in the key: see [`Inputs::settings`].
    pub settings: Params,
}

/// Rows of a table, each read on request.
pub trait RowSource {
    /// Returns the value of a key, if the table has it.
    fn get(&self, key: &str) -> Option<Arc<[u8]>>;
}

/// When jobs of a producer that wait at one time are members of one group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grouping {
    /// Each job runs alone.
    Never,
    /// When at least one of them, or an earlier one of the build, replaces a result that was paid for: after an edit, not in a first build.
    AfterEdits,
    /// Whenever several wait.
    Always,
}

/// A pure function from inputs to an output blob.
pub trait Producer: Send + Sync {
    /// Returns name and version; both are in the key.
    fn id(&self) -> ProducerId;

    /// Returns the pool that it runs on with these bound parameters.
    fn pool(&self, params: &Params) -> Pool {
        let _ = params;
        Pool::Cpu
    }

    /// Binds checked parameters: fills in defaults, replaces a model's name by its definition, and separates settings that must not enter
    /// the key. `models` are the manifest's, by name.
    fn bind(&self, params: &Params, models: &BTreeMap<String, Params>) -> Bound {
        let _ = models;
        Bound {
            params: params.clone(),
            settings: Params::new(),
        }
    }

    /// Returns the question that it would ask, for producers in [`Pool::Paid`]. Errors: as [`Producer::produce`], without asking.
    fn plan(&self, inputs: &Inputs<'_>) -> Result<Plan, Failure> {
        let _ = inputs;
        Ok(Plan::default())
    }

    /// Returns when its jobs that wait at the same time become [members](Inputs::job_group) of one group, so that it can ask about them together.
    fn grouping(&self, params: &Params, settings: &Params) -> Grouping {
        let _ = (params, settings);
        Grouping::Never
    }

    /// Whether an input of this role mostly stays the same when its node is built again, so that a job of a group need not wait for it: it runs with
    /// the last output, and once more in the rare case that this changes.
    fn assumes(&self, params: &Params, settings: &Params, role: &str) -> bool {
        let _ = (params, settings, role);
        false
    }

    /// Whether its paid output builds on the previous result. If so, the newest answer of any machine can serve as the previous result.
    fn builds_on_previous(&self, params: &Params) -> bool {
        let _ = params;
        false
    }

    /// Returns labels that the node may have had before, by the [former names](Inputs::former) of its inputs. The newest result under one of
    /// them is the previous result of a node that has none.
    fn former_labels(&self, inputs: &Inputs<'_>) -> Vec<String> {
        let _ = inputs;
        Vec::new()
    }

    /// Returns a previous result for a node that has none, assembled from earlier results of other targets; `newest` finds those by label.
    /// For example, the node may summarise a set of items that gained or lost one, or an item that was split off from another. A hint.
    fn assemble_previous(&self, inputs: &Inputs<'_>, newest: &FindResult<'_>) -> Option<Previous> {
        let _ = (inputs, newest);
        None
    }

    /// Sends all [deferred](Failure::Deferred) questions. Called when no other job can proceed. Fails when they could not be sent.
    fn flush(&self) -> Result<(), Failure> {
        Ok(())
    }

    /// Returns the maximum length in bytes of a source file that it accepts. Of a longer file it gets one byte more, so that it can refuse
    /// the file. Its output depends on no further byte.
    fn reads_at_most(&self) -> usize {
        usize::MAX - 1
    }

    /// Returns which facts about the node itself it reads. The others are not in its key, so that moving a file costs nothing.
    fn sees(&self, params: &Params) -> Sees {
        let _ = params;
        Sees::default()
    }

    /// Checks parameters when the manifest is read. By default a producer has none, so that every unknown name is reported. Errors: one
    /// [`ParamError`] for each wrong parameter.
    fn check(&self, params: &Params) -> Result<(), Vec<ParamError>> {
        let mut errors = ParamErrors::default();
        errors.add_unknown(params, &[]);
        errors.into_result()
    }

    /// Returns the names of outputs that get nodes of their own, for a producer of a tree of several: see [`crate::manifest::read`].
    fn outputs(&self, params: &Params) -> Vec<String> {
        let _ = params;
        Vec::new()
    }

    /// Requests the rows that it needs of the role's table, an input with `asked = true`. Which ones follows from the other inputs and from
    /// the rows themselves. [`Producer::produce`] gets exactly the rows requested here. If the producer knows its output by now, it may
    /// return that output instead.
    fn ask(&self, inputs: &Inputs<'_>, role: &str, rows: &dyn RowSource) -> Result<Option<Output>, Failure> {
        let _ = (inputs, rows);
        Err(Failure::permanent(format!(
            "the producer {} requests no rows of '{role}'",
            self.id()
        )))
    }

    /// Returns the fold that computes the output input by input, if it is one.
    fn fold(&self) -> Option<&dyn Fold> {
        None
    }

    /// Returns the update that computes its table from the last one, if it is no fold and has one.
    fn update(&self) -> Option<&dyn TableUpdate> {
        None
    }

    /// Produces the output. Fails when it cannot; see [`Failure`].
    fn produce(&self, inputs: &Inputs<'_>) -> Result<Output, Failure>;
}

/// One wrong parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParamError {
    pub param: String,
    pub message: String,
    /// A correction, if known.
    pub hint: Option<String>,
    /// Whether the parameter does not exist: its name is wrong, not its value.
    pub unknown: bool,
}

impl ParamError {
    /// Returns the error for a parameter that is not among the `known` ones.
    pub fn unknown_parameter(name: &str, known: &[&str]) -> Self {
        let near = nearest(name, known.iter().copied(), 1);
        let hint = match (near.first(), known) {
            (Some(best), _) => format!("did you mean '{best}'?"),
            (None, []) => "it has no parameters".to_owned(),
            (None, known) => format!("known: {}", known.join(", ")),
        };
        Self {
            param: name.to_owned(),
            message: "there is no parameter of this name".to_owned(),
            hint: Some(hint),
            unknown: true,
        }
    }
}

/// The wrong parameters of a producer that were found so far.
#[derive(Debug, Default)]
pub struct ParamErrors(Vec<ParamError>);

impl ParamErrors {
    /// Adds all parameters that are not among the `known` ones.
    pub fn add_unknown(&mut self, params: &Params, known: &[&str]) {
        let unknown = params.keys().filter(|name| !known.contains(&name.as_str()));
        self.0.extend(unknown.map(|name| ParamError::unknown_parameter(name, known)));
    }

    /// Adds a parameter with a wrong value.
    pub fn add(&mut self, param: &str, message: &str, hint: &str) {
        self.0.push(ParamError {
            param: param.to_owned(),
            message: message.to_owned(),
            hint: Some(hint.to_owned()),
            unknown: false,
        });
    }

    pub fn into_result(self) -> Result<(), Vec<ParamError>> {
        if self.0.is_empty() { Ok(()) } else { Err(self.0) }
    }
}

/// Facts about the node itself that a producer reads; they enter the key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sees {
    pub vars: bool,
    pub label: bool,
}

/// All producers, by the name in a manifest's `uses`.
#[derive(Clone, Default)]
pub struct Registry {
    by_name: BTreeMap<String, Arc<dyn Producer>>,
}

impl Registry {
    /// Adds a producer under its own name.
    pub fn add(&mut self, producer: impl Producer + 'static) {
        self.by_name.insert(producer.id().name, Arc::new(producer));
    }

    pub fn get(&self, name: &str) -> Option<&Arc<dyn Producer>> {
        self.by_name.get(name)
    }

    /// Iterates over all producers, sorted by name.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<dyn Producer>> {
        self.by_name.values()
    }

    /// Iterates over all names, sorted.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.by_name.keys().map(String::as_str)
    }

    /// Returns a digest over all names and versions: it changes whenever any producer may give other outputs.
    pub fn digest(&self) -> Digest {
        let mut text = String::new();
        for producer in self.by_name.values() {
            text.push_str(&producer.id().to_string());
            text.push('\n');
        }
        Digest::of(text.as_bytes())
    }
}
