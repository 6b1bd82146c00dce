//! The model of a read and checked manifest: the only form that the planning layers see.

use super::remote::RemoteDef;
use super::template::Template;
use crate::seams::producer::Params;
use crate::values::digest::Digest;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A checked manifest with its rulesets merged in.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    /// `[workspace] name`.
    pub name: String,
    /// `[workspace] default`: the patterns that a build without patterns uses; at least one.
    pub default: Vec<String>,
    /// `[sources.NAME]`, the leaves.
    pub sources: BTreeMap<String, SourceSet>,
    /// `[producer.NAME]`.
    pub producers: Vec<ProducerDef>,
    /// `[[rule]]`: first the rules of rulesets, then those of the manifest, in the order written.
    pub rules: Vec<Rule>,
    /// `[model.NAME]`, as written (checked). The producer that uses a model chooses which of these enter keys.
    pub models: BTreeMap<String, Params>,
    pub store: StoreLimits,
    pub remote: Option<RemoteDef>,
}

impl Manifest {
    /// Returns the rows of a data table (`[NAME.ROW]`), by name; `None` if the manifest declares no table of that name.
    pub fn table(&self, name: &str) -> Option<&Params> {
        let label = format!("//manifest/{name}:table");
        let rule = self.rules.iter().find(|rule| rule.target.literal() == Some(&*label))?;
        Some(&self.producers[rule.producer as usize].params)
    }
}

/// Limits of the store's size, and what gc keeps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoreLimits {
    /// Maximum length of its file in bytes; a longer one is collected after a build.
    pub max_size: Option<u64>,
    /// Number of versions of each node to keep.
    pub keep_versions: Option<u32>,
    /// Age in seconds: results used more recently are kept.
    pub older_than: Option<u64>,
}

/// Files that are leaves of the graph.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct SourceSet {
    /// Globs relative to the workspace (`**/*.cs`).
    pub include: Vec<String>,
    pub exclude: Vec<String>,
    /// Whether to honour `.gitignore` files (default true).
    pub gitignore: bool,
}

/// A named producer: an implementation with parameters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProducerDef {
    pub name: String,
    /// Name in the registry of implementations, such as `csharp/outline`.
    pub uses: String,
    /// Parameters as bound by the implementation; in the key.
    pub params: Params,
    /// Settings that the implementation needs besides; not in the key.
    pub settings: Params,
    /// `keep = false`: outputs are cheap to rebuild, only their digests are stored.
    pub keep: bool,
}

/// A family of nodes and their inputs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Rule {
    /// Label template; at most one variable, bound by `each`, or two joined by `#`, bound by `each` and `inner`.
    pub target: Template,
    /// The variable and the set that it runs over; `None` for a single node.
    pub each: Option<(Arc<str>, SetSpec)>,
    /// The second variable and the set that it runs over for a value of the first. Only patterns with a `#` match such nodes.
    pub inner: Option<(Arc<str>, SetSpec)>,
    /// Index into [`Manifest::producers`].
    pub producer: u32,
    /// Inputs in the order of their roles, without those switched off by `if`.
    pub inputs: Vec<InputSpec>,
    /// Path of the output under `.cortex/out/`.
    pub out: Option<OutSpec>,
    /// Digest of everything above and of the producer's definition: it changes whenever the rule changes.
    pub digest: Digest,
}

impl Rule {
    /// Whether its producer requests rows of a table.
    pub fn asks(&self) -> bool {
        self.inputs.iter().any(|input| input.from.is_asked())
    }
}

/// Source of items.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum SetSpec {
    /// `"sources:csharp"`: the paths of a source set.
    Sources(String),
    /// `"glob:docs/**/*.md"`: the matching paths, `.gitignore` honoured.
    Glob(String),
    /// A node's output: the keys of a table, the strings of a JSON array, otherwise the lines of a text; narrowed to the row `row` of a table and
    /// the field `field` of a JSON object.
    Node {
        /// Label template of the node.
        label: Template,
        /// Key template of one row of the table.
        row: Option<Template>,
        /// Field of the JSON object (dots separate nested fields).
        field: Option<String>,
    },
    /// `["a", "{type}"]`: literal items.
    List(Vec<Template>),
    /// `asked = true`, for rows of a table: the keys that the rule's producer [requests](crate::seams::producer::Producer::ask).
    Asked,
}

/// One role of a rule.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct InputSpec {
    /// Name by which the producer finds the input.
    pub role: Arc<str>,
    /// The nodes that it refers to.
    pub from: InputFrom,
    /// `digest = true`: the producer sees only the digest; the blob is not loaded.
    pub digest_only: bool,
}

/// Nodes that an input refers to.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum InputFrom {
    One(Template),
    /// A list: `target` with `{item}` for every item of `each`.
    Many {
        each: SetSpec,
        /// Label template with `{item}`.
        target: Template,
    },
    /// The rows of a table node under `keys`; only their digest is in the key.
    Slice {
        /// Label template of the table.
        node: Template,
        /// Keys of the rows; keys that the table lacks are no error (their absence is part of the digest).
        keys: SetSpec,
    },
    /// A list: the rows `keys` of the table `table` with `{item}`, for every item of `each`.
    Rows {
        each: SetSpec,
        /// Label template of the tables, with `{item}`.
        table: Template,
        /// Keys of the rows, the same for each table.
        keys: SetSpec,
    },
}

impl InputFrom {
    /// Whether these are the rows that the rule's producer requests.
    pub fn is_asked(&self) -> bool {
        matches!(self, Self::Slice { keys: SetSpec::Asked, .. })
    }
}

/// Where to lay out an output.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct OutSpec {
    /// Path template under `.cortex/out/`.
    pub path: Template,
    /// Further variables of the path, each a set of exactly one item.
    pub vars: Vec<(Arc<str>, SetSpec)>,
    /// Whether to lay out the output with every target that reads it, too.
    pub with_readers: bool,
}
