//! What a manifest means once it has been read and checked: the only form the planning layers see.

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
    /// `[workspace] default`: the patterns that a build without any builds; at least one.
    pub default: Vec<String>,
    /// `[sources.NAME]`, the leaves.
    pub sources: BTreeMap<String, SourceSet>,
    /// `[producer.NAME]`.
    pub producers: Vec<ProducerDef>,
    /// `[[rule]]`, those of rulesets first, in the order written.
    pub rules: Vec<Rule>,
    /// `[model.NAME]`, as written (checked); what enters keys is chosen by the producer that uses one.
    pub models: BTreeMap<String, Params>,
    /// `[store]`.
    pub store: StoreLimits,
    /// `[remote]`.
    pub remote: Option<RemoteDef>,
}

impl Manifest {
    /// The rows of a data table (`[NAME.ROW]`), by name; `None` when no table of that name is declared.
    pub fn table(&self, name: &str) -> Option<&Params> {
        let label = format!("//manifest/{name}:table");
        let rule = self.rules.iter().find(|rule| rule.target.literal() == Some(&*label))?;
        Some(&self.producers[rule.producer as usize].params)
    }
}

/// How large the store may grow, and what of it is kept when it is collected.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoreLimits {
    /// Bytes of its file; more are collected after a build.
    pub max_size: Option<u64>,
    /// How many versions of each node are kept.
    pub keep_versions: Option<u32>,
    /// What was used within so many seconds is kept.
    pub older_than: Option<u64>,
}

/// Files that are leaves of the graph.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct SourceSet {
    /// Globs relative to the workspace (`**/*.cs`).
    pub include: Vec<String>,
    /// Globs to leave out.
    pub exclude: Vec<String>,
    /// Whether `.gitignore` files are honoured (default true).
    pub gitignore: bool,
}

/// A named producer: an implementation with parameters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProducerDef {
    /// Name in the manifest.
    pub name: String,
    /// Name in the registry of implementations, such as `csharp/outline`.
    pub uses: String,
    /// Parameters as the implementation binds them; in the key.
    pub params: Params,
    /// What the implementation needs beside them; not in the key.
    pub settings: Params,
    /// `keep = false`: outputs are cheap to make again, only their digests are stored.
    pub keep: bool,
}

/// A family of nodes and what each is made of.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Rule {
    /// Label template; at most one variable, bound by `each`, or two joined by `#`, bound by `each` and `inner`.
    pub target: Template,
    /// The variable and the set it runs over; `None` for a single node.
    pub each: Option<(Arc<str>, SetSpec)>,
    /// The second variable and the set that it runs over for a value of the first. Only patterns that write the `#` mean such nodes.
    pub inner: Option<(Arc<str>, SetSpec)>,
    /// Index into [`Manifest::producers`].
    pub producer: u32,
    /// Inputs in the order of their roles. Inputs switched off by `if` are not here.
    pub inputs: Vec<InputSpec>,
    /// Where the output is laid out under `.cortex/out/`.
    pub out: Option<OutSpec>,
    /// A digest of everything above and of the producer's definition: moves when the rule moves.
    pub digest: Digest,
}

impl Rule {
    /// Whether its producer asks for rows of a table.
    pub fn asks(&self) -> bool {
        self.inputs.iter().any(|input| input.from.is_asked())
    }
}

/// Where items come from.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum SetSpec {
    /// `"sources:csharp"`: the paths of a source set.
    Sources(String),
    /// `"glob:docs/**/*.md"`: the paths that match, `.gitignore` honoured.
    Glob(String),
    /// A node's output: the keys of a table, the strings of a JSON array, else the lines of a text; narrowed to the row `row` of a
    /// table and the field `field` of a JSON object.
    Node {
        /// Label template of the node.
        label: Template,
        /// Key template of one row of the table.
        row: Option<Template>,
        /// Field of the JSON object (dots step inwards).
        field: Option<String>,
    },
    /// `["a", "{type}"]`: written out.
    List(Vec<Template>),
    /// `asked = true`, for rows of a table: the keys that the rule's producer [asks for](crate::seams::producer::Producer::ask).
    Asked,
}

/// One role of a rule.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct InputSpec {
    /// Name by which the producer finds it.
    pub role: Arc<str>,
    /// Which nodes.
    pub from: InputFrom,
    /// `digest = true`: the producer sees only the digest; the blob is not loaded.
    pub digest_only: bool,
}

/// Which nodes an input stands for.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum InputFrom {
    /// One node.
    One(Template),
    /// A list: `target` with `{item}` for every item of `each`.
    Many {
        /// The items.
        each: SetSpec,
        /// Label template with `{item}`.
        target: Template,
    },
    /// The rows of a table node under `keys`; only their digest is in the key.
    Slice {
        /// Label template of the table.
        node: Template,
        /// Which rows; keys the table lacks are no error (their absence is part of the digest).
        keys: SetSpec,
    },
    /// A list: of the table `table` with `{item}` for every item of `each` the rows under `keys`.
    Rows {
        /// The items.
        each: SetSpec,
        /// Label template of the tables, with `{item}`.
        table: Template,
        /// Which rows, of each table the same.
        keys: SetSpec,
    },
}

impl InputFrom {
    /// Whether these are the rows that the rule's producer asks for.
    pub fn is_asked(&self) -> bool {
        matches!(self, Self::Slice { keys: SetSpec::Asked, .. })
    }
}

/// Where an output is laid out.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct OutSpec {
    /// Path template under `.cortex/out/`.
    pub path: Template,
    /// Further variables of the path, each a set of exactly one item.
    pub vars: Vec<(Arc<str>, SetSpec)>,
    /// Whether the output is laid out, too, where a target that reads it is.
    pub with_readers: bool,
}
