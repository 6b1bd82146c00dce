//! Producers: pure functions from declared inputs to one output blob.
//!
//! A producer sees its parameters and the blobs of its inputs by role, and nothing else that could change its output. The
//! `previous` output is a hint (patch prompts start from it); it is never part of the key.

use super::fold::Fold;
use super::job_group::GroupMember;
use super::paid::{Correction, FormerNames, NoParts, Notes, Parts, Plan, Previous, Rejected, Spent};
use super::update::TableUpdate;
use crate::values::codes::ErrorCode;
use crate::values::diagnostic::Diagnostic;
use crate::values::digest::{ActionKey, Digest};
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

/// Who made an output. Both parts are in the action key: a new version is a new key.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ProducerId {
    /// Name such as `csharp/syntax`.
    pub name: String,
    /// Raised whenever the same inputs may give another output.
    pub version: u32,
}

impl ProducerId {
    /// A name and a version.
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

/// Where a producer runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Pool {
    /// Short pure computation, on the rayon pool.
    Cpu,
    /// A program: threads of their own, ordered by priority.
    Slow,
    /// A call that costs money: a few threads of their own, ordered by priority. Its results are made durable at once.
    Paid,
}

/// One input blob.
#[derive(Clone, Debug)]
pub struct Input {
    /// For list inputs the value of `{item}` this blob belongs to (a path, a type); empty otherwise.
    pub item: Arc<str>,
    /// Digest of the blob (of the chosen rows for a slice of a table).
    pub digest: Digest,
    /// The node it comes from; for rows the table. Not in the key, and so not fit to enter an output.
    pub label: Arc<str>,
    /// The blob; empty when the rule asked for the digest only.
    pub bytes: Arc<[u8]>,
    /// The files of the tree whose outermost folder the blob is, if it is one, by their paths.
    pub tree: Option<Arc<BTreeMap<String, File>>>,
}

impl Input {
    /// A blob that comes from no node.
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

/// Set when the build was told to stop; long-running producers look at it and give up with [`Failure::Cancelled`].
#[derive(Clone, Debug, Default)]
pub struct Cancel(Arc<StopFlag>);

#[derive(Debug, Default)]
struct StopFlag {
    stop: AtomicBool,
    /// How many more looks it takes to stop, where a test says so.
    looks_left: Option<AtomicU64>,
}

/// Commits in this process that follow a stop and are not to be cut off.
static KEEPING: AtomicUsize = AtomicUsize::new(0);

/// Marks a commit of what has finished; see [`Cancel::announce_commit`].
#[derive(Debug)]
pub struct Keeping(());

impl Drop for Keeping {
    fn drop(&mut self) {
        KEEPING.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Cancel {
    /// One that stops by itself at its `look`th look: for tests, which stop a build at every place where it heeds a stop.
    pub fn at_look(look: u64) -> Self {
        Self(Arc::new(StopFlag {
            stop: AtomicBool::new(false),
            looks_left: Some(AtomicU64::new(look)),
        }))
    }

    /// Asks everyone who holds this to stop.
    pub fn cancel(&self) {
        self.0.stop.store(true, Ordering::Relaxed);
    }

    /// Whether to stop.
    pub fn is_cancelled(&self) -> bool {
        if let Some(left) = &self.0.looks_left
            && left.fetch_sub(1, Ordering::Relaxed) == 1
        {
            self.cancel();
        }
        self.0.stop.load(Ordering::Relaxed)
    }

    /// Says, as long as the answer lives, that what has finished is being committed: a process that ends because it was told to waits for it.
    pub fn announce_commit() -> Keeping {
        KEEPING.fetch_add(1, Ordering::Relaxed);
        Keeping(())
    }

    /// Whether what has finished is being committed somewhere in this process.
    pub fn is_keeping() -> bool {
        KEEPING.load(Ordering::Relaxed) > 0
    }
}

/// Everything a producer may look at.
pub struct Inputs<'a> {
    /// The node being made; in the key, and so fit to enter the output, only for producers that [see](Producer::sees) it.
    pub label: &'a str,
    /// The action key that the output will be filed under.
    pub key: &'a ActionKey,
    /// Parameters from the manifest, as [bound](Producer::bind).
    pub params: &'a Params,
    /// What the producer needs to reach its tools and what may not move its output: addresses, time-outs, prices. Never in the key.
    pub settings: &'a Params,
    /// Input blobs by role; lists are sorted by item.
    pub roles: &'a BTreeMap<Arc<str>, Vec<Input>>,
    /// Variables of the rule (`{doc}` → `docs/a.md`), empty unless the producer [sees](Producer::sees) them.
    pub vars: &'a BTreeMap<Arc<str>, Arc<str>>,
    /// The previous result, if the store still has it and the producer [is paid](Pool::Paid). A hint.
    pub previous: Option<Previous>,
    /// What was called otherwise before, for paid producers. A hint.
    pub former: &'a FormerNames,
    /// A person's words that are to stay, if there are any and the producer is paid.
    pub correction: Option<Correction>,
    /// Where answers to parts of a question are filed.
    pub parts: &'a dyn Parts,
    /// Its place among jobs that may be asked about together.
    pub job_group: Option<&'a GroupMember>,
    /// Whether a person asked for a new answer, so that an earlier one is not to be patched.
    pub fresh: bool,
    /// For a [plan](Producer::plan): inputs that are not known yet because they have to be made (and paid for) first.
    pub unknown: usize,
    /// Asked to stop?
    pub cancel: &'a Cancel,
}

impl<'a> Inputs<'a> {
    /// What is given when nothing else is known: no settings, no previous result, a key of zeros.
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
            job_group: None,
            fresh: false,
            unknown: 0,
            cancel,
        }
    }

    /// The inputs of a role, none when the role is absent.
    pub fn all(&self, role: &str) -> &[Input] {
        self.roles.get(role).map_or(&[], Vec::as_slice)
    }

    /// The only input of a role.
    ///
    /// # Errors
    /// A permanent failure when the rule gives the role no input or several.
    pub fn single(&self, role: &str) -> Result<&Input, Failure> {
        match self.all(role) {
            [input] => Ok(input),
            other => Err(Failure::permanent(format!(
                "input '{role}' must be one node, the rule gives {}",
                other.len()
            ))),
        }
    }

    /// The bytes of the only input of a role, if the role is there.
    pub fn maybe(&self, role: &str) -> Option<&Input> {
        match self.all(role) {
            [input] => Some(input),
            _ => None,
        }
    }

    /// A rule variable such as `type`.
    pub fn var(&self, name: &str) -> Option<&str> {
        self.vars.get(name).map(|value| &**value)
    }
}

/// What a producer made.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Output {
    /// The blob.
    pub bytes: Vec<u8>,
    /// What a reader of this result should know. Kept with the result.
    pub diagnostics: Vec<Diagnostic>,
    /// What it cost, if it was paid for.
    pub spent: Option<Spent>,
    /// How it came about. Kept with the result.
    pub notes: Notes,
    /// For an output in pieces, whose root is the blob: the other blobs of it. The engine divides large tables by itself.
    pub parts: BTreeMap<Digest, Arc<[u8]>>,
    /// Further blobs of an output in pieces, which the store has: it shares them with an earlier version.
    pub kept: Vec<Digest>,
    /// What a [paid](Pool::Paid) producer wants to know of this result when it makes the next one ([`Previous::memo`]). It is kept in the
    /// record of the result and goes wherever that goes, and only the producer reads it.
    pub memo: Arc<[u8]>,
}

impl Output {
    /// An output without diagnostics.
    pub fn new(bytes: impl Into<Vec<u8>>) -> Self {
        Self {
            bytes: bytes.into(),
            ..Self::default()
        }
    }

    /// As it is stored: a large table in pages.
    pub fn stored(self) -> Self {
        let Pieces { root, parts } = pieces::stored(self.bytes, self.parts);
        Self {
            bytes: root,
            parts,
            ..self
        }
    }

    /// A tree of files, by their paths.
    ///
    /// # Errors
    /// When a path cannot be one of a tree.
    pub fn tree(files: &BTreeMap<String, File>) -> Result<Self, TreeError> {
        let Pieces { root, parts } = pieces(files)?;
        Ok(Self { parts, ..Self::new(root) })
    }
}

/// Why there is no output. Failures are shown and counted, never cached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// The same inputs will fail again.
    Permanent(Box<Diagnostic>),
    /// Another try may succeed (a time-out, a refused connection).
    Transient(Box<Diagnostic>),
    /// An answer came but cannot be an output; it is kept for people to look at.
    Rejected(Box<Rejected>),
    /// Nothing was tried, because of what stands in the way of others as well: a limit that the user set would be passed, or whoever would
    /// be asked cannot be. Told once for all of them.
    Limit(Box<Diagnostic>),
    /// It was asked for; the answer is picked up by a later run.
    Deferred,
    /// It waits until somebody comes and answers; nobody was called.
    Awaited,
    /// The build was told to stop.
    Cancelled,
}

impl Failure {
    /// A permanent failure of one sentence.
    pub fn permanent(message: impl Into<String>) -> Self {
        Self::Permanent(Box::new(Diagnostic::error(ErrorCode::E_PRODUCER, message)))
    }

    /// A transient failure of one sentence.
    pub fn transient(message: impl Into<String>) -> Self {
        Self::Transient(Box::new(Diagnostic::error(ErrorCode::E_PRODUCER, message)))
    }
}

/// Parameters as a producer means them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Bound {
    /// What is in the key; rules' `if` looks at these.
    pub params: Params,
    /// What is not: see [`Inputs::settings`].
    pub settings: Params,
}

/// Rows of a table, each read when it is asked for.
pub trait RowSource {
    /// The value under a key, if there is one.
    fn get(&self, key: &str) -> Option<Arc<[u8]>>;
}

/// When jobs of a producer that wait at one time are members of one group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grouping {
    /// Each job runs alone.
    Never,
    /// When at least one of them replaces a result that was paid for: after an edit, not in a first build.
    AfterEdits,
    /// Whenever several wait.
    Always,
}

/// A pure function from inputs to an output blob.
pub trait Producer: Send + Sync {
    /// Name and version; both are in the key.
    fn id(&self) -> ProducerId;

    /// Where it runs, with these bound parameters.
    fn pool(&self, params: &Params) -> Pool {
        let _ = params;
        Pool::Cpu
    }

    /// What checked parameters mean: defaults filled in, the definition of a model in the place of its name, and what must not enter the key
    /// set apart. `models` are the manifest's, by name.
    fn bind(&self, params: &Params, models: &BTreeMap<String, Params>) -> Bound {
        let _ = models;
        Bound {
            params: params.clone(),
            settings: Params::new(),
        }
    }

    /// What it would ask for, for producers in [`Pool::Paid`].
    ///
    /// # Errors
    /// As [`Producer::produce`], without asking.
    fn plan(&self, inputs: &Inputs<'_>) -> Result<Plan, Failure> {
        let _ = inputs;
        Ok(Plan::default())
    }

    /// When jobs of it that wait at one time are [members](Inputs::job_group) of one group, so that it can ask about them together.
    fn grouping(&self, params: &Params, settings: &Params) -> Grouping {
        let _ = (params, settings);
        Grouping::Never
    }

    /// Whether it makes what costs money from the previous result where there is one: then the newest answer of any machine will do for it.
    fn builds_on_previous(&self, params: &Params) -> bool {
        let _ = params;
        false
    }

    /// Labels that the node may have had before, by the [names](Inputs::former) that what it is made of had then: the newest result under one
    /// of them is the previous one of a node that has none of its own.
    fn former_labels(&self, inputs: &Inputs<'_>) -> Vec<String> {
        let _ = inputs;
        Vec::new()
    }

    /// Called when nothing else can go on: asks for everything that was [deferred](Failure::Deferred).
    ///
    /// # Errors
    /// When it could not be asked for.
    fn flush(&self) -> Result<(), Failure> {
        Ok(())
    }

    /// The longest source file, in bytes, that it takes. Of a longer one it is given one byte more than that, so that it can refuse it, and its
    /// output depends on no more of it.
    fn reads_at_most(&self) -> usize {
        usize::MAX - 1
    }

    /// Which facts about the node itself it looks at. What it does not see is not in its key, so that moving a file costs nothing.
    fn sees(&self, params: &Params) -> Sees {
        let _ = params;
        Sees::default()
    }

    /// Checks parameters when the manifest is read: `(parameter, message, hint)` for each that is wrong. Unless it says otherwise a producer has none,
    /// so that a name which nothing reads is never passed over.
    ///
    /// # Errors
    /// Everything that is wrong with them.
    fn check(&self, params: &Params) -> Result<(), Vec<ParamError>> {
        let unknown: Vec<ParamError> = params.keys().map(|name| ParamError::unknown_parameter(name, &[])).collect();
        if unknown.is_empty() { Ok(()) } else { Err(unknown) }
    }

    /// Names of the outputs that nodes of their own stand for, where it makes a tree of several: see [`crate::manifest::read`].
    fn outputs(&self, params: &Params) -> Vec<String> {
        let _ = params;
        Vec::new()
    }

    /// Asks for the rows that it wants of the table of the role, an input with `asked = true`: which ones follows from the other inputs and from
    /// the rows themselves. What is asked for here is all that [`Producer::produce`] gets. Where asking tells the output as well it may be given:
    /// the one that `produce` makes of these rows.
    ///
    /// # Errors
    /// When the other inputs are not what it takes them for.
    fn ask(&self, inputs: &Inputs<'_>, role: &str, rows: &dyn RowSource) -> Result<Option<Output>, Failure> {
        let _ = (inputs, rows);
        Err(Failure::permanent(format!(
            "the producer {} asks for no rows of '{role}'",
            self.id()
        )))
    }

    /// How the output follows from what each input gives, if it does.
    fn fold(&self) -> Option<&dyn Fold> {
        None
    }

    /// How the table that it makes follows from the last one, if it is no fold and does.
    fn update(&self) -> Option<&dyn TableUpdate> {
        None
    }

    /// Makes the output.
    ///
    /// # Errors
    /// When there is none; see [`Failure`].
    fn produce(&self, inputs: &Inputs<'_>) -> Result<Output, Failure>;
}

/// One wrong parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParamError {
    /// Which parameter.
    pub param: String,
    /// What is wrong with it, one sentence.
    pub message: String,
    /// What to write instead.
    pub hint: Option<String>,
    /// Whether there is no such parameter, so that its name is wrong and not its value.
    pub unknown: bool,
}

impl ParamError {
    /// A parameter that is not among the `known`.
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

/// Facts about the node itself that a producer looks at; they enter the key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sees {
    /// The rule's variables.
    pub vars: bool,
    /// The label.
    pub label: bool,
}

/// All producers by the name that a manifest's `uses` gives them.
#[derive(Clone, Default)]
pub struct Registry {
    by_name: BTreeMap<String, Arc<dyn Producer>>,
}

impl Registry {
    /// Adds a producer under its own name.
    pub fn add(&mut self, producer: impl Producer + 'static) {
        self.by_name.insert(producer.id().name, Arc::new(producer));
    }

    /// The producer of that name.
    pub fn get(&self, name: &str) -> Option<&Arc<dyn Producer>> {
        self.by_name.get(name)
    }

    /// All of them, by name.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<dyn Producer>> {
        self.by_name.values()
    }

    /// All names, sorted.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.by_name.keys().map(String::as_str)
    }

    /// A digest over all names and versions: it moves when any producer may give other outputs.
    pub fn digest(&self) -> Digest {
        let mut text = String::new();
        for producer in self.by_name.values() {
            text.push_str(&producer.id().to_string());
            text.push('\n');
        }
        Digest::of(text.as_bytes())
    }
}
