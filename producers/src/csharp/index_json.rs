//! `csharp/index-json`: the seed's `index.json` (000 §3.1).
//!
//! It omits `generatedAt` and a pack's `lastBuild`, because an output contains no time. `semanticState` is `none` for every type, because the
//! engine knows the states: the writer of the file replaces them. A partial type adds `files`; `file` is the first.

use super::ids::short_hash;
use super::layout::Layout;
use super::pack::form::PackFacts;
use super::structure::{Config, check_flags};
use engine::seams::producer::{Failure, Input, Inputs, Output, ParamError, Params, Producer, ProducerId};
use engine::values::table::Table;
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

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
struct Index<'a> {
    schema_version: &'static str,
    projects: Vec<ProjectEntry>,
    types: Vec<TypeEntry<'a>>,
    packs: Vec<PackFacts>,
    config_snapshot: ConfigSnapshot,
}

#[derive(Serialize)]
struct ProjectEntry {
    id: String,
    name: String,
    path: String,
    tfm: String,
    hash: String,
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

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ConfigSnapshot {
    hash_version: &'static str,
    structure_hash_includes_xml_doc: bool,
    include_internal_for_dependencies: bool,
}

/// The producer `csharp/index-json`.
#[derive(Debug)]
pub struct IndexJson;

impl Producer for IndexJson {
    fn id(&self) -> ProducerId {
        ProducerId::new("csharp/index-json", 1)
    }

    fn check(&self, params: &Params) -> Result<(), Vec<ParamError>> {
        check_flags(params, &[])
    }

    fn produce(&self, inputs: &Inputs<'_>) -> Result<Output, Failure> {
        let table = |role: &'static str| -> Result<_, Failure> {
            Table::open(&inputs.single(role)?.bytes).ok_or_else(|| Failure::permanent(format!("input '{role}' is not a table")))
        };
        let (types, graph) = (table("types")?, table("graph")?);
        let config: Option<Config> = inputs
            .maybe("config")
            .map(|config| serde_json::from_slice(&config.bytes))
            .transpose()
            .map_err(unreadable)?;
        let config = config.unwrap_or_default();
        let projects = inputs.all("projects");
        let (structure, implementation, xmldoc) = (
            digests(inputs.all("structure")),
            digests(inputs.all("impl")),
            digests(inputs.all("xmldoc")),
        );
        let hash =
            |digests: &FxHashMap<&str, &Input>, key: &str| digests.get(key).map(|input| short_hash(&input.digest)).unwrap_or_default();
        let mut entries = Vec::with_capacity(types.len());
        for (key, value) in types.rows() {
            let broken = |error: serde_json::Error| Failure::permanent(format!("the row of {key} cannot be read: {error}"));
            let row: TypeRow<'_> = serde_json::from_slice(value).map_err(broken)?;
            let place: GraphRow<'_> = graph
                .get(key)
                .map(serde_json::from_slice)
                .transpose()
                .map_err(broken)?
                .unwrap_or_default();
            entries.push(TypeEntry {
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
            });
        }
        let index = Index {
            schema_version: "1.0",
            projects: project_entries(projects)?,
            types: entries,
            packs: packs(inputs.all("packs"))?,
            config_snapshot: ConfigSnapshot {
                hash_version: "1",
                structure_hash_includes_xml_doc: config.include_xml_doc,
                include_internal_for_dependencies: config.include_internal,
            },
        };
        let mut bytes = serde_json::to_vec_pretty(&index).expect("invariant: our values have text keys");
        bytes.push(b'\n');
        Ok(Output::new(bytes))
    }
}

fn unreadable(error: serde_json::Error) -> Failure {
    Failure::permanent(format!("input 'config' cannot be read: {error}"))
}

fn digests(inputs: &[Input]) -> FxHashMap<&str, &Input> {
    inputs.iter().map(|input| (&*input.item, input)).collect()
}

fn packs(inputs: &[Input]) -> Result<Vec<PackFacts>, Failure> {
    let read = |input: &Input| {
        let broken = |error| Failure::permanent(format!("the facts of pack {} cannot be read: {error}", input.item));
        serde_json::from_slice(&input.bytes).map_err(broken)
    };
    inputs.iter().map(read).collect()
}

fn project_entries(inputs: &[Input]) -> Result<Vec<ProjectEntry>, Failure> {
    let by_path: FxHashMap<&str, &Input> = digests(inputs);
    let projects = Layout::from_inputs(inputs, None)?.projects.into_iter();
    Ok(projects
        .map(|project| ProjectEntry {
            hash: by_path
                .get(project.path.as_str())
                .map(|input| short_hash(&input.digest))
                .unwrap_or_default(),
            id: project.id,
            name: project.name,
            path: project.path,
            tfm: project.frameworks,
        })
        .collect())
}
