//! Answer of `explain`: a target with the cause of its state, or the difference between two builds.

use engine::build::explain::Input;
use engine::build::explanation_chain::Step;
use engine::build::input_changes::InputChange;
use engine::build::outlook::Gate;
use engine::build::query::NodeState;
use engine::build::redefinition::Redefinition;
use engine::build::remarks::Wait;
use engine::build::remote_costs::RemoteChoice;
use engine::values::digest::Digest;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use workbench::builds::Difference;
use workbench::former_types::Former;

/// Answer of `explain`.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Explained {
    /// The answer about one target.
    Target(Box<ExplainedTarget>),
    /// The answer about two builds.
    Builds(#[schemars(with = "Value")] Box<Difference>),
}

/// A target and why it is in its state.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct ExplainedTarget {
    /// Its label.
    pub label: String,
    /// `current`, `stale`, `maybe_stale`, `pending`, `generating`, `none` or `source`.
    #[schemars(with = "String")]
    pub state: TargetState,
    /// Source of the result of a current target: `last_run`, or `same_key` if another run had the same key.
    pub result_from: Option<String>,
    /// The build that found it under its key.
    pub found: Option<FoundAt>,
    /// The file at the end of the path.
    pub file: Option<FileDiff>,
    /// Digest of its output.
    #[schemars(with = "Option<String>")]
    pub output: Option<Digest>,
    /// Action key of the output.
    #[schemars(with = "Option<String>")]
    pub key: Option<Digest>,
    /// The run that produced it.
    pub made: Option<Provenance>,
    /// The fields of the present key, names and values.
    pub fields: Vec<(String, String)>,
    /// Its inputs: `role`, `label`, `digest`, `missing`.
    #[schemars(with = "Vec<Value>")]
    pub inputs: Vec<Input>,
    /// Whether the inputs are up to date.
    pub inputs_known: bool,
    /// Inputs that changed since it was last built.
    #[schemars(with = "Vec<Value>")]
    pub moved: Vec<InputChange>,
    /// The path to the cause of its staleness, down to a file.
    pub chain: Vec<ChainStep>,
    /// Gates: it runs only if an output of each changes.
    #[schemars(with = "Vec<Value>")]
    pub only_if: Vec<Gate>,
    /// Versions in its history.
    pub versions: usize,
    /// Inputs that had changed when it last ran.
    #[schemars(with = "Vec<Value>")]
    pub last_moved: Vec<InputChange>,
    /// The path from the first input of `last_moved` down to a file.
    #[schemars(with = "Vec<Value>")]
    pub last_chain: Vec<InputChange>,
    /// Changes of its definition when it last ran with the same inputs.
    #[schemars(with = "Vec<Value>")]
    pub last_redefined: Vec<Redefinition>,
    /// Whether the earlier result was evicted.
    pub before_collected: bool,
    /// The producer of the previous version, if different.
    pub producer_before: Option<String>,
    /// The reason why it has no output for its present inputs, or why the last attempt failed.
    pub failure: Option<Value>,
    /// If it is `pending` and was not attempted, the reason: `target`, `blocked`, `batch` or `agent`.
    #[schemars(with = "Option<Value>")]
    pub waits_for: Option<Wait>,
    /// Its use of the remote cache, if there is one: `look_up` (`dear`, `single`, `slow` or `bundled`), `round_trip_us`, the `volume` that
    /// has its output where this store lacks it, and whether that `is_fetched` when the output is read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Value>")]
    pub remote: Option<RemoteChoice>,
    /// Its labels and versions under former names.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "Vec<Value>")]
    pub former: Vec<Former>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TargetState {
    /// A source file or set, which has no producer.
    Source,
    /// A target of a rule.
    #[serde(untagged)]
    Made(NodeState),
}

/// When a build found a result under its key.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct FoundAt {
    /// The build's number in the log.
    pub build: Option<u64>,
    /// Seconds since 1970.
    pub at: u64,
}

/// The change of a file.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct FileDiff {
    /// Its path.
    pub path: String,
    /// The lines that differ.
    pub diff: String,
}

/// The run that produced an output.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct Provenance {
    /// The target for which it was first produced.
    pub label: String,
    /// Producer and version.
    pub producer: String,
    /// Seconds since 1970.
    pub at: u64,
    /// Duration of the run, in microseconds.
    pub took_us: u64,
    /// Length of the output.
    pub bytes: u64,
    /// Sandbox level of its program.
    pub sandbox: Option<String>,
    /// Diagnostics of the producer.
    pub diagnostics: Vec<Value>,
}

/// One step of the path.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct ChainStep {
    /// `label`, `input`, `reason`, `redefined`.
    #[serde(flatten)]
    #[schemars(with = "Value")]
    pub step: Step,
    /// The reason in words.
    pub text: Option<String>,
}
