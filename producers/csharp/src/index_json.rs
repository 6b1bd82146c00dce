//! `csharp/index-json`: the seed's `index.json` (000 §3.1).
//!
//! It omits `generatedAt` and a pack's `lastBuild`, because an output contains no time. The entries of types come from `//chunks/C:index-entries`.

use super::chunks::order_of_chunk;
use super::ids::short_hash;
use super::index_entries::SEPARATOR;
use super::pack::form::PackFacts;
use super::project_ownership::Layout;
use super::structure::Config;
use engine::seams::producer::{Failure, Input, Inputs, Output, Producer, ProducerId};
use rustc_hash::FxHashMap;
use serde::Serialize;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Index {
    schema_version: &'static str,
    projects: Vec<ProjectEntry>,
    /// Empty: see [`TYPES`].
    types: [(); 0],
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
        ProducerId::new("csharp/index-json", 2)
    }

    fn produce(&self, inputs: &Inputs<'_>) -> Result<Output, Failure> {
        let config: Option<Config> = inputs
            .maybe("config")
            .map(|config| serde_json::from_slice(&config.bytes))
            .transpose()
            .map_err(unreadable)?;
        let config = config.unwrap_or_default();
        let projects = inputs.all("projects");
        let index = Index {
            schema_version: "1.0",
            projects: project_entries(projects)?,
            types: [],
            packs: packs(inputs.all("packs"))?,
            config_snapshot: ConfigSnapshot {
                hash_version: "1",
                structure_hash_includes_xml_doc: config.include_xml_doc,
                include_internal_for_dependencies: config.include_internal,
            },
        };
        let frame = serde_json::to_string_pretty(&index).expect("invariant: our values have text keys");
        let (before, after) = frame.split_once(TYPES).expect("invariant: an index has a list of types");
        let text = [&[before], &*types(inputs.all("entries"))?, &[after, "\n"]].concat();
        Ok(Output::from_long_text(text.concat()))
    }
}

/// The list of types, as it is written without any. No text of another field has line ends.
const TYPES: &str = "\n  \"types\": []";

/// Returns the parts of the list of types with the entries of all chunks: megabytes, to be copied once.
fn types(chunks: &[Input]) -> Result<Vec<&str>, Failure> {
    let mut chunks: Vec<&Input> = chunks.iter().filter(|chunk| !chunk.bytes.is_empty()).collect();
    if chunks.is_empty() {
        return Ok(vec![TYPES]);
    }
    chunks.sort_by_key(|chunk| order_of_chunk(&chunk.item));
    let mut parts = vec!["\n  \"types\": [\n"];
    for (at, chunk) in chunks.iter().enumerate() {
        let text = std::str::from_utf8(&chunk.bytes).map_err(|_| Failure::permanent("an input 'entries' is not text"))?;
        parts.extend([if at == 0 { "" } else { SEPARATOR }, text]);
    }
    parts.push("\n  ]");
    Ok(parts)
}

fn unreadable(error: serde_json::Error) -> Failure {
    Failure::permanent(format!("input 'config' cannot be read: {error}"))
}

fn packs(inputs: &[Input]) -> Result<Vec<PackFacts>, Failure> {
    let read = |input: &Input| {
        let broken = |error| Failure::permanent(format!("the facts of pack {} cannot be read: {error}", input.item));
        serde_json::from_slice(&input.bytes).map_err(broken)
    };
    inputs.iter().map(read).collect()
}

fn project_entries(inputs: &[Input]) -> Result<Vec<ProjectEntry>, Failure> {
    let by_path: FxHashMap<&str, &Input> = inputs.iter().map(|input| (&*input.item, input)).collect();
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

#[cfg(test)]
pub(super) mod tests {
    use super::super::fixture::{World, blob, run};
    use super::super::graph::Graph;
    use super::super::index_entries::IndexEntries;
    use super::super::structure::Structure;
    use super::*;
    use crate::chunks::LAST;
    use crate::fixture::store;

    pub(crate) fn entries(roles: Vec<(&'static str, Vec<Input>)>) -> Input {
        let made = run(&IndexEntries, "", "{}", roles).expect("entries");
        blob(LAST, made.bytes)
    }

    #[test]
    fn index_json_has_the_seeds_keys() {
        let world = World::new(&[("src/a.cs", store())], &[("src/Tree.csproj", r#"{"tfm":"net9.0"}"#)]);
        let graph = run(
            &Graph,
            "",
            "{}",
            vec![
                ("types", vec![blob("", world.types.clone())]),
                ("dependencies", vec![world.dependencies()]),
            ],
        )
        .expect("a graph");
        let roles = vec![
            ("types", vec![blob("", world.types.clone())]),
            ("graph", vec![blob("", graph.bytes)]),
            ("structure", world.each("structure")),
            ("impl", world.each("impl")),
            ("xmldoc", world.each("xmldoc")),
        ];
        let roles = vec![
            ("entries", vec![entries(roles)]),
            ("projects", world.projects()),
            (
                "config",
                vec![blob(
                    "",
                    run(&Structure, "", r#"{"include_internal":true}"#, vec![]).expect("a config").bytes,
                )],
            ),
        ];
        let json = run(&IndexJson, "", "{}", roles).expect("an index").bytes;
        let index: serde_json::Value = serde_json::from_slice(&json).expect("JSON");
        let of = |value: &serde_json::Value| value.as_object().expect("an object").keys().cloned().collect::<Vec<_>>().join(" ");
        assert_eq!(index["schemaVersion"], "1.0");
        assert_eq!(of(&index["projects"][0]), "hash id name path tfm");
        assert_eq!(
            of(&index["types"][2]),
            "depthHint file fqn id implHash kind projectId semanticGroupId semanticState structureHash xmlDocHash"
        );
        assert_eq!(
            (&index["types"][2]["fqn"], &index["types"][2]["depthHint"]),
            (&"Tree.Store".into(), &1.into())
        );
        assert_eq!(
            of(&index["configSnapshot"]),
            "hashVersion includeInternalForDependencies structureHashIncludesXmlDoc"
        );
        assert_eq!(index["configSnapshot"]["includeInternalForDependencies"], true);
    }
}
