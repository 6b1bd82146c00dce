//! `csharp/index-entries`: the entries of the seed's `index.json` (000 §3.1) for the types of a chunk, in the layout of that file.
//!
//! `semanticState` is `none` for every type, because the engine knows the states: the writer of the file replaces them. A partial type adds
//! `files`; `file` is the first.

use super::ids::short_hash;
use engine::seams::producer::{Failure, Inputs, Output, Producer, ProducerId};
use engine::values::table::Table;
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// Text between two entries.
pub const SEPARATOR: &str = ",\n";

/// Indentation of an entry in the file.
const INDENT: &str = "    ";

/// The fields read from a row of `//index:types`: one row per type, most of whose text is not needed.
#[derive(Deserialize)]
struct TypeRow<'a> {
    #[serde(borrow)]
    id: Cow<'a, str>,
    #[serde(borrow)]
    project: Option<Cow<'a, str>>,
    #[serde(borrow)]
    kind: Cow<'a, str>,
    #[serde(borrow)]
    files: Vec<Cow<'a, str>>,
}

/// The fields read from a row of `//index:graph`.
#[derive(Default, Deserialize)]
struct GraphRow<'a> {
    #[serde(borrow)]
    group: Option<Cow<'a, str>>,
    depth: u32,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct TypeEntry<'a> {
    id: Cow<'a, str>,
    fqn: &'a str,
    project_id: Option<Cow<'a, str>>,
    kind: Cow<'a, str>,
    file: Cow<'a, str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    files: Vec<Cow<'a, str>>,
    structure_hash: String,
    impl_hash: String,
    xml_doc_hash: String,
    semantic_state: &'static str,
    semantic_group_id: Option<Cow<'a, str>>,
    depth_hint: u32,
}

/// The producer `csharp/index-entries`.
#[derive(Debug)]
pub struct IndexEntries;

impl Producer for IndexEntries {
    fn id(&self) -> ProducerId {
        ProducerId::new("csharp/index-entries", 1)
    }

    fn produce(&self, inputs: &Inputs<'_>) -> Result<Output, Failure> {
        let table = |role: &'static str| -> Result<_, Failure> {
            Table::open(&inputs.single(role)?.bytes).ok_or_else(|| Failure::permanent(format!("input '{role}' is not a table")))
        };
        let (types, graph) = (table("types")?, table("graph")?);
        let hashes = |role: &str| -> FxHashMap<&str, String> {
            let inputs = inputs.all(role).iter();
            inputs.map(|input| (&*input.item, short_hash(&input.digest))).collect()
        };
        let (structure, implementation, xmldoc) = (hashes("structure"), hashes("impl"), hashes("xmldoc"));
        let hash = |hashes: &FxHashMap<&str, String>, key: &str| hashes.get(key).cloned().unwrap_or_default();
        let mut text = String::new();
        for (key, value) in types.rows() {
            let broken = |error: serde_json::Error| Failure::permanent(format!("the row of {key} cannot be read: {error}"));
            let row: TypeRow<'_> = serde_json::from_slice(value).map_err(broken)?;
            let place = graph.get(key).map(serde_json::from_slice::<GraphRow<'_>>).transpose();
            let place = place.map_err(broken)?.unwrap_or_default();
            let entry = TypeEntry {
                id: row.id,
                fqn: key,
                project_id: row.project,
                kind: row.kind,
                file: row.files.first().cloned().unwrap_or_default(),
                files: if row.files.len() > 1 { row.files } else { Vec::new() },
                structure_hash: hash(&structure, key),
                impl_hash: hash(&implementation, key),
                xml_doc_hash: hash(&xmldoc, key),
                semantic_state: "none",
                semantic_group_id: place.group,
                depth_hint: place.depth,
            };
            let entry = serde_json::to_string_pretty(&entry).expect("invariant: our values have text keys");
            for line in entry.lines() {
                let before = match (line, text.is_empty()) {
                    ("{", false) => SEPARATOR,
                    ("{", true) => "",
                    _ => "\n",
                };
                text.extend([before, INDENT, line]);
            }
        }
        Ok(Output::new(text))
    }
}
