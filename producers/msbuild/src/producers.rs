//! The producers of projects: each decodes blobs, calls the sibling modules, and encodes a blob.

use super::facts::{CompiledFile, Evaluated, Facts, compiled, evaluated};
use super::files::{file_rows, report_uncompiled};
use super::index::{ProjectRow, project_rows};
use super::package_publishers::resolve_packages;
use super::params::ProjectParams;
use super::properties::Files;
use super::report::{Report, Spot};
use super::solution;
use super::tree::Tree;
use super::xml::{self, Element};
use engine::seams::producer::{Failure, Input, Inputs, Output, ParamError, Params, Producer, ProducerId, Registry, Sees};
use engine::values::cbor;
use engine::values::codes::ErrorCode;
use engine::values::json;
use engine::values::table::{Table, write_table};
use serde::de::DeserializeOwned;
use std::collections::{BTreeMap, BTreeSet};

/// Increment whenever the same project files may give other facts.
pub const VERSION: u32 = 11;

pub fn register_projects(registry: &mut Registry) {
    registry.add(Xml);
    registry.add(Skeleton);
    registry.add(Project);
    registry.add(Sources);
    registry.add(References);
    registry.add(FactsOf);
    registry.add(FileIndex);
}

const VARS: Sees = Sees { vars: true, label: false };

/// Parses JSON; `what` names it in the failure. Fails if it is not JSON of this form.
pub fn from_json<T: DeserializeOwned>(bytes: &[u8], what: &str) -> Result<T, Failure> {
    serde_json::from_slice(bytes).map_err(|error| Failure::permanent(format!("{what} cannot be read: {error}")))
}

fn project_of<'i>(inputs: &'i Inputs<'_>) -> Result<&'i str, Failure> {
    inputs
        .var("project")
        .ok_or_else(|| Failure::permanent("the rule binds no variable 'project'"))
}

/// Returns the row of the only key of a slice. Fails if the input is no table or its row has another form.
pub fn only_row<T: DeserializeOwned + Default>(input: &Input, key: &str) -> Result<T, Failure> {
    let table = Table::open(&input.bytes).ok_or_else(|| Failure::permanent("the input is no table"))?;
    table.get(key).map_or_else(|| Ok(T::default()), |bytes| from_json(bytes, "the row"))
}

fn input_text(input: &Input) -> Result<&str, Failure> {
    std::str::from_utf8(&input.bytes).map_err(|_| Failure::permanent("the list of paths is not UTF-8"))
}

fn decode_elements(inputs: &[Input]) -> Result<Vec<(&str, Element)>, Failure> {
    let mut files = Vec::with_capacity(inputs.len());
    for input in inputs {
        let element: Option<Element> = minicbor::decode(&input.bytes)
            .map_err(|error| Failure::permanent(format!("the elements of {} cannot be read: {error}", input.item)))?;
        if let Some(element) = element {
            files.push((&*input.item, element));
        }
    }
    Ok(files)
}

/// `csharp/project-xml`: the elements of one project file or solution; if it cannot be read, no elements and a diagnostic.
struct Xml;

impl Producer for Xml {
    fn id(&self) -> ProducerId {
        ProducerId::new("csharp/project-xml", 1)
    }

    fn reads_at_most(&self) -> usize {
        text::LARGEST
    }

    fn sees(&self, _: &Params) -> Sees {
        VARS
    }

    fn produce(&self, inputs: &Inputs<'_>) -> Result<Output, Failure> {
        let path = inputs.var("file").unwrap_or_default();
        let bytes = &inputs.single("bytes")?.bytes;
        let read = if solution::is_solution(path) {
            solution::parse_solution
        } else {
            xml::parse_xml
        };
        let (element, diagnostics) = match read(bytes, path) {
            Ok(element) => (Some(element), Vec::new()),
            Err(diagnostic) => (None, vec![*diagnostic]),
        };
        Ok(Output {
            bytes: cbor::encode(&element),
            diagnostics,
            ..Output::default()
        })
    }
}

/// `csharp/project-skeleton`: the elements without items.
struct Skeleton;

impl Producer for Skeleton {
    fn id(&self) -> ProducerId {
        ProducerId::new("csharp/project-skeleton", 1)
    }

    fn produce(&self, inputs: &Inputs<'_>) -> Result<Output, Failure> {
        let element: Option<Element> = minicbor::decode(&inputs.single("xml")?.bytes)
            .map_err(|error| Failure::permanent(format!("the elements cannot be read: {error}")))?;
        let skeleton = element.map(|element| element.skeleton());
        Ok(Output::new(cbor::encode(&skeleton)))
    }
}

/// `csharp/project`: the index of projects for input `skeletons`, the evaluation of one project for input `xml`. One producer, so that both have
/// the same parameters.
struct Project;

impl Producer for Project {
    fn id(&self) -> ProducerId {
        ProducerId::new("csharp/project", VERSION)
    }

    fn sees(&self, _: &Params) -> Sees {
        VARS
    }

    fn check(&self, params: &Params) -> Result<(), Vec<ParamError>> {
        ProjectParams::from_params(params).map(drop)
    }

    fn produce(&self, inputs: &Inputs<'_>) -> Result<Output, Failure> {
        let params = ProjectParams::from_params(inputs.params).unwrap_or_default();
        let report = Report::default();
        let bytes = if inputs.roles.contains_key("index") {
            evaluation(inputs, &params, &report)?
        } else {
            let decoded = decode_elements(inputs.all("skeletons"))?;
            let files: Files<'_> = decoded.iter().map(|(path, element)| (*path, element)).collect();
            let paths: Vec<&str> = inputs.all("skeletons").iter().map(|input| &*input.item).collect();
            let rows = project_rows(&files, &paths, &params, &report);
            write_table(&rows.iter().map(|(path, row)| (path, json::encode(row))).collect())
        };
        Ok(Output {
            bytes,
            diagnostics: report.into_diagnostics(),
            ..Output::default()
        })
    }
}

fn evaluation(inputs: &Inputs<'_>, params: &ProjectParams, report: &Report) -> Result<Vec<u8>, Failure> {
    let project = project_of(inputs)?;
    let row: ProjectRow = only_row(inputs.single("index")?, project)?;
    let decoded = decode_elements(inputs.all("xml"))?;
    let files: Files<'_> = decoded.iter().map(|(path, element)| (*path, element)).collect();
    let tree = Tree::new(input_text(inputs.single("tree")?)?.lines());
    let settings = params.settings(row.solution);
    let found = evaluated(project, &files, &tree, &settings, params, report);
    // Warn of conditions of items. The index warns of conditions of properties and imports.
    report.warn_of_unset(&files);
    Ok(json::encode(&found))
}

/// `csharp/project-files`: the files that a project compiles.
struct Sources;

impl Producer for Sources {
    fn id(&self) -> ProducerId {
        ProducerId::new("csharp/project-files", 3)
    }

    fn produce(&self, inputs: &Inputs<'_>) -> Result<Output, Failure> {
        let evaluated: Evaluated = from_json(&inputs.single("evaluation")?.bytes, "the evaluation")?;
        let sources = Tree::new(input_text(inputs.single("sources")?)?.lines());
        let (files, cut) = compiled(&evaluated, &sources);
        let report = Report::default();
        if cut {
            let spot = Spot {
                file: &evaluated.facts.path,
                line: 0,
            };
            let message = "the project has too many Compile items, or their patterns take too long; some files are missing";
            report.warn(ErrorCode::CS_PROJECT_LIMIT, spot, message, "");
        }
        Ok(Output {
            bytes: json::encode(&files),
            diagnostics: report.into_diagnostics(),
            ..Output::default()
        })
    }
}

/// `csharp/project-references`: table of all projects → the projects that each sees, transitively.
struct References;

impl Producer for References {
    fn id(&self) -> ProducerId {
        ProducerId::new("csharp/project-references", 3)
    }

    fn produce(&self, inputs: &Inputs<'_>) -> Result<Output, Failure> {
        let mut direct: BTreeMap<&str, Evaluated> = BTreeMap::new();
        for input in inputs.all("evaluations") {
            direct.insert(&input.item, from_json(&input.bytes, "the evaluation")?);
        }
        let rows = seen_by_project(direct)
            .into_iter()
            .map(|(project, seen)| (project, json::encode(&seen)));
        Ok(Output::new(write_table(&rows.collect::<BTreeMap<_, _>>())))
    }
}

/// Returns the projects that each project sees.
pub(super) fn seen_by_project(mut direct: BTreeMap<&str, Evaluated>) -> BTreeMap<&str, Vec<String>> {
    resolve_packages(&mut direct);
    direct.keys().map(|&project| (project, closure(project, &direct))).collect()
}

/// Returns all projects that a project sees: its own references, and the non-private references of these.
fn closure(project: &str, direct: &BTreeMap<&str, Evaluated>) -> Vec<String> {
    let mut seen: BTreeSet<&str> = BTreeSet::new();
    let references = |of: &str| direct.get(of).map_or(&[][..], |found| &found.references);
    let mut open: Vec<&str> = references(project).iter().map(|reference| reference.path.as_str()).collect();
    while let Some(next) = open.pop() {
        if next != project && seen.insert(next) {
            open.extend(
                references(next)
                    .iter()
                    .filter(|reference| !reference.private)
                    .map(|reference| reference.path.as_str()),
            );
        }
    }
    seen.into_iter().map(str::to_owned).collect()
}

/// `csharp/project-facts`: the facts about a project for readers.
struct FactsOf;

impl Producer for FactsOf {
    fn id(&self) -> ProducerId {
        ProducerId::new("csharp/project-facts", 3)
    }

    fn sees(&self, _: &Params) -> Sees {
        VARS
    }

    fn produce(&self, inputs: &Inputs<'_>) -> Result<Output, Failure> {
        let evaluated: Evaluated = from_json(&inputs.single("evaluation")?.bytes, "the evaluation")?;
        let facts = Facts {
            transitive: only_row(inputs.single("references")?, project_of(inputs)?)?,
            ..evaluated.facts
        };
        Ok(Output::new(json::encode(&facts)))
    }
}

/// `csharp/files`: table of all source files → the project that owns each.
struct FileIndex;

impl Producer for FileIndex {
    fn id(&self) -> ProducerId {
        ProducerId::new("csharp/files", 3)
    }

    fn produce(&self, inputs: &Inputs<'_>) -> Result<Output, Failure> {
        let mut compiled: Vec<(&str, Vec<CompiledFile>)> = Vec::new();
        for input in inputs.all("compiled") {
            compiled.push((&input.item, from_json(&input.bytes, "the files of a project")?));
        }
        let rows = file_rows(input_text(inputs.single("sources")?)?.lines(), &compiled);
        let report = Report::default();
        report_uncompiled(&rows, &report);
        Ok(Output {
            bytes: write_table(&rows.iter().map(|(path, row)| (*path, json::encode(row))).collect()),
            diagnostics: report.into_diagnostics(),
            ..Output::default()
        })
    }
}
