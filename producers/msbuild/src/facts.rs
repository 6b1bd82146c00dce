//! The facts about an evaluated project: for each target framework, and for its main framework.

use super::evaluate::{Evaluation, evaluate};
use super::expression::unescape;
use super::framework::{Framework, newest_first};
use super::glob::is_glob;
use super::items::{Item, ItemLists, run_operations};
use super::operation::{Action, Operation, Spec, operations};
use super::packages::{PackageReference, has_compile, package_references, published_package};
use super::params::{Override, ProjectParams};
use super::path::{absolute, folder_of_path, in_workspace, rooted, stem_and_extension};
use super::properties::{Files, Settings};
use super::report::{Report, Spot};
use super::tree::Tree;
use engine::values::codes::ErrorCode;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// Framework assumed for a project with an unknown framework.
const NEWEST: &str = "net10.0";

/// Maximum number of target frameworks of one project.
const MOST_FRAMEWORKS: usize = 24;

/// A reference to another project.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Reference {
    pub path: String,
    /// Whether projects that reference this project do not get the reference too (`PrivateAssets`).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub private: bool,
    /// Names behind which code sees its types (`Aliases`); none if it sees them without a name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub aliases: Vec<String>,
}

/// The facts of one project, without its files. All lists are sorted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Facts {
    /// Aliases of the directly referenced projects that have some, by path.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub aliases: BTreeMap<String, Vec<String>>,
    pub assembly: String,
    /// Whether code outside of `checked` and `unchecked` is checked for overflow (`CheckForOverflowUnderflow`).
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub checked: bool,
    /// Whether it compiles C# (`Microsoft.Build.Traversal` does not).
    pub compiles: bool,
    /// Symbols that the project defines, without those of the framework.
    pub defines: Vec<String>,
    /// Symbols that the target framework defines.
    pub implicit_symbols: Vec<String>,
    /// Assemblies that see internal types, without `, PublicKey=…`.
    pub internals_visible_to: Vec<String>,
    pub lang_version: Option<String>,
    /// File name without extension.
    pub name: String,
    pub nullable: Option<String>,
    pub packages: Vec<String>,
    /// Path of the project file.
    pub path: String,
    pub references: Vec<String>,
    pub root_namespace: String,
    /// The SDKs as written, empty for old-style projects.
    pub sdk: String,
    /// Target framework of the other facts.
    pub tfm: Option<String>,
    /// All target frameworks, the newest first.
    pub tfms: Vec<String>,
    /// All projects that it sees, directly or through other references.
    pub transitive: Vec<String>,
    /// Global usings in C# notation, implicit ones and `<Using>` items: `System`, `static System.Math`, `A = B.C`.
    pub usings: Vec<String>,
}

/// One target framework of a project.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PerFramework {
    pub tfm: Option<String>,
    /// All symbols in effect, sorted.
    pub defines: Vec<String>,
    /// Index into [`Evaluated::compile`].
    pub compile: usize,
}

/// The output of evaluation.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Evaluated {
    /// Facts for the main framework; `transitive` is still empty.
    pub facts: Facts,
    /// Direct references, with whether they are private.
    pub references: Vec<Reference>,
    pub package_references: Vec<PackageReference>,
    /// Identifier of the package that it publishes, in lower case.
    pub package: Option<String>,
    /// Frameworks, the main one first.
    pub frameworks: Vec<PerFramework>,
    /// Distinct lists of the operations that decide the `Compile` items.
    pub compile: Vec<Vec<Operation>>,
}

/// Evaluates a project for all its target frameworks.
pub fn evaluated(
    project: &str,
    files: &Files<'_>,
    tree: &Tree<'_>,
    settings: &Settings,
    params: &ProjectParams,
    report: &Report,
) -> Evaluated {
    let own = params.project(project);
    // Drop these diagnostics: `//index:projects` reports the first pass for all projects together.
    let quiet = Report::default();
    let (outer, tfms) = frameworks(project, files, tree, settings, params, own, &quiet);
    let mut found = Evaluated::default();
    let mut emitted: Option<String> = None;
    for (at, tfm) in tfms.iter().enumerate() {
        let inner;
        let evaluation = match tfm {
            // A single framework written in the project needs no second evaluation.
            Some(tfm) if outer.properties.get("TargetFramework").trim() != tfm => {
                let mut settings = settings.clone();
                settings.globals.insert("TargetFramework".to_owned(), tfm.clone());
                inner = evaluate(project, files, tree, &settings, &quiet);
                &inner
            }
            _ => &outer,
        };
        let mut operations = operations(evaluation, project, tree, settings, report);
        let items = run_operations(&operations, folder_of_path(project), tree, &["projectreference"]);
        let mut symbols = defined_constants(evaluation);
        symbols.extend(params.defines.iter().chain(own.map_or(&[][..], |own| &own.defines)).cloned());
        if at == 0 {
            found.references = project_references(project, &items, report);
            found.package_references = package_references(&items);
            found.facts = facts(project, evaluation, &items, &symbols, tfm.as_deref());
            found.package = published_package(&evaluation.properties, &found.facts.assembly);
        }
        let folder = emitted_folder(evaluation, project);
        if at == 0 {
            emitted.clone_from(&folder);
        }
        // Add only the generated files of the main framework: those of other frameworks declare the same types again.
        operations.extend(
            folder
                .filter(|folder| emitted.as_ref() == Some(folder))
                .map(|folder| emitted_files(&folder)),
        );
        let compile = compile_operations(operations, own);
        let number = found.compile.iter().position(|known| *known == compile).unwrap_or_else(|| {
            found.compile.push(compile);
            found.compile.len() - 1
        });
        found.frameworks.push(PerFramework {
            tfm: tfm.clone(),
            defines: symbols.into_iter().collect(),
            compile: number,
        });
    }
    let facts = &mut found.facts;
    facts.tfms = tfms.into_iter().flatten().collect();
    facts.tfms.sort_by(|a, b| newest_first(a, b).then_with(|| a.cmp(b)));
    facts.references = found.references.iter().map(|reference| reference.path.clone()).collect();
    facts.references.dedup();
    facts.aliases = aliases_of_references(&found.references);
    found
}

/// Returns the aliases of referenced projects, by path. A project that is also referenced without aliases has none.
fn aliases_of_references(references: &[Reference]) -> BTreeMap<String, Vec<String>> {
    let mut found: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for reference in references {
        let aliases = found.entry(reference.path.clone()).or_default();
        match reference.aliases.as_slice() {
            [] => aliases.push("global".to_owned()),
            own => aliases.extend(own.iter().cloned()),
        }
    }
    found.retain(|_, aliases| aliases.iter().any(|alias| alias != "global"));
    found
}

/// Returns the files that evaluation reads for any framework; reports the diagnostics of the first pass.
pub fn reads(
    project: &str,
    files: &Files<'_>,
    tree: &Tree<'_>,
    settings: &Settings,
    params: &ProjectParams,
    report: &Report,
) -> Vec<String> {
    let (outer, tfms) = frameworks(project, files, tree, settings, params, params.project(project), report);
    let mut read: BTreeSet<String> = outer.read.into_iter().collect();
    for tfm in tfms.into_iter().flatten() {
        let mut settings = settings.clone();
        settings.globals.insert("TargetFramework".to_owned(), tfm);
        read.extend(evaluate(project, files, tree, &settings, report).read);
    }
    read.into_iter().collect()
}

/// Evaluates without an external framework; also returns the frameworks, the main one first, or a single `None` for a project without one.
fn frameworks<'a>(
    project: &'a str,
    files: &'a Files<'a>,
    tree: &Tree<'_>,
    settings: &Settings,
    params: &ProjectParams,
    own: Option<&Override>,
    report: &Report,
) -> (Evaluation<'a>, Vec<Option<String>>) {
    let outer = evaluate(project, files, tree, settings, report);
    let single = outer.properties.get("TargetFramework").trim();
    let list = if single.is_empty() {
        outer.properties.get("TargetFrameworks")
    } else {
        single
    };
    let mut tfms: Vec<String> = Vec::new();
    for tfm in list.split(';').map(str::trim).filter(|tfm| !tfm.is_empty()) {
        if !tfms.iter().any(|known| known == tfm) && tfms.len() < MOST_FRAMEWORKS {
            tfms.push(tfm.to_owned());
        }
    }
    tfms.sort_by(|a, b| newest_first(a, b));
    let forced = own.and_then(|own| own.tfm.as_deref());
    if let Some(forced) = forced.or(params.tfm.as_deref().filter(|tfm| tfms.iter().any(|known| known == tfm))) {
        tfms.retain(|tfm| tfm != forced);
        tfms.insert(0, forced.to_owned());
    }
    let unknown = tfms.first().is_none_or(|tfm| Framework::from_moniker(tfm).is_none());
    if unknown && !outer.sdk.is_empty() && outer.compiles {
        let spot = Spot { file: project, line: 0 };
        let found = tfms.first().cloned().unwrap_or_default();
        let message = format!("the target framework is unknown; assuming {NEWEST} (set params.tfm of producer.project)");
        // If the project is no XML, its own node reports that.
        if files.contains_key(project) {
            report.warn(ErrorCode::CS_PROJECT_TFM, spot, message, &found);
        }
        tfms.insert(0, NEWEST.to_owned());
        tfms.truncate(1);
    }
    let tfms = if tfms.is_empty() {
        vec![None]
    } else {
        tfms.into_iter().map(Some).collect()
    };
    (outer, tfms)
}

/// Returns the symbols of `DefineConstants`.
fn defined_constants(evaluation: &Evaluation<'_>) -> BTreeSet<String> {
    let symbol =
        |text: &&str| text.starts_with(|c: char| c.is_alphabetic() || c == '_') && text.chars().all(|c| c.is_alphanumeric() || c == '_');
    let list = evaluation.properties.get("DefineConstants");
    list.split([';', ',', ' '])
        .map(str::trim)
        .filter(symbol)
        .map(str::to_owned)
        .collect()
}

fn facts(project: &str, evaluation: &Evaluation<'_>, items: &ItemLists, symbols: &BTreeSet<String>, tfm: Option<&str>) -> Facts {
    let properties = &evaluation.properties;
    let set = |name: &str| Some(properties.get(name).trim().to_owned()).filter(|value| !value.is_empty());
    let name = stem_and_extension(project).0.to_owned();
    let implicit: BTreeSet<String> = tfm
        .filter(|_| !evaluation.sdk.is_empty())
        .and_then(Framework::from_moniker)
        .map(|tfm| tfm.symbols())
        .into_iter()
        .flatten()
        .collect();
    let (implicit_symbols, defines) = symbols.iter().cloned().partition(|symbol| implicit.contains(symbol));
    let mut packages: Vec<String> = items.items("packagereference").map(|item| item.text.clone()).collect();
    packages.sort();
    packages.dedup();
    Facts {
        aliases: BTreeMap::new(),
        assembly: set("AssemblyName").unwrap_or_else(|| name.clone()),
        checked: properties.get("CheckForOverflowUnderflow").trim().eq_ignore_ascii_case("true"),
        compiles: evaluation.compiles,
        defines,
        implicit_symbols,
        internals_visible_to: friends(items),
        lang_version: set("LangVersion"),
        nullable: set("Nullable"),
        packages,
        path: project.to_owned(),
        references: Vec::new(),
        root_namespace: set("RootNamespace").unwrap_or_else(|| name.replace(' ', "_")),
        sdk: evaluation.sdk.clone(),
        tfm: tfm.map(str::to_owned),
        tfms: Vec::new(),
        transitive: Vec::new(),
        usings: usings(items),
        name,
    }
}

/// Returns `InternalsVisibleTo` items, and the older `AssemblyAttribute` items with the same meaning.
fn friends(items: &ItemLists) -> Vec<String> {
    let attribute = items
        .items("assemblyattribute")
        .filter(|item| item.text.trim_end_matches("Attribute").ends_with("InternalsVisibleTo"))
        .map(|item| item.get("_parameter1"));
    let named = items.items("internalsvisibleto").map(|item| item.text.as_str());
    let names: BTreeSet<String> = named
        .chain(attribute)
        .map(|text| text.split(',').next().unwrap_or(text).trim())
        // Items copied from another type were resolved as paths.
        .map(|text| text.rsplit('/').next().unwrap_or(text).to_owned())
        .filter(|text| !text.is_empty())
        .collect();
    names.into_iter().collect()
}

fn usings(items: &ItemLists) -> Vec<String> {
    let read = |item: &Item| match (item.get("alias"), item.get("static").eq_ignore_ascii_case("true")) {
        ("", false) => item.text.clone(),
        ("", true) => format!("static {}", item.text),
        (alias, _) => format!("{alias} = {}", item.text),
    };
    let usings: BTreeSet<String> = items.items("using").map(read).collect();
    usings.into_iter().collect()
}

/// Returns the text after the last dot of a path, in lower case.
fn ending_of(path: &str) -> String {
    path.rsplit_once('.').map_or("", |(_, ending)| ending).to_ascii_lowercase()
}

fn project_references(project: &str, items: &ItemLists, report: &Report) -> Vec<Reference> {
    let spot = Spot { file: project, line: 0 };
    for missing in &items.missing {
        let (code, message) = match ending_of(missing).as_str() {
            "fsproj" | "vbproj" | "vcxproj" | "ilproj" => (
                ErrorCode::CS_PROJECT_LANGUAGE,
                "the project references a project of another language, whose names are unknown",
            ),
            // Their output has no names for C#.
            "dcproj" | "esproj" | "njsproj" | "pyproj" | "sqlproj" | "wapproj" | "wixproj" => continue,
            _ => (
                ErrorCode::CS_PROJECT_REFERENCE,
                "the project references a file that is not in the workspace; skipped the reference",
            ),
        };
        report.warn(code, spot, message, missing);
    }
    if items.cut {
        let message = "the project has too many items, or their patterns take too long; some items are missing";
        report.warn(ErrorCode::CS_PROJECT_LIMIT, spot, message, "");
    }
    let found: BTreeSet<Reference> = items
        .items("projectreference")
        // A reference without an output assembly provides no types.
        .filter(|item| !item.get("referenceoutputassembly").eq_ignore_ascii_case("false") && item.text != project)
        .filter(|item| ending_of(&item.text) == "csproj")
        .map(|item| Reference {
            path: item.text.clone(),
            private: has_compile(item, "privateassets"),
            aliases: aliases(item),
        })
        .collect();
    found.into_iter().collect()
}

fn aliases(item: &Item) -> Vec<String> {
    let names = item.get("aliases").split([',', ';']).map(str::trim);
    names.filter(|name| !name.is_empty()).map(str::to_owned).collect()
}

/// Returns the workspace folder for files of source generators, if the project sets one (`EmitCompilerGeneratedFiles`). The compiler compiles
/// the generated files itself; `Compile` items exclude the folder, because otherwise they would be compiled twice.
fn emitted_folder(evaluation: &Evaluation<'_>, project: &str) -> Option<String> {
    let properties = &evaluation.properties;
    let written = properties.get("CompilerGeneratedFilesOutputPath").trim();
    if written.is_empty() || !properties.get("EmitCompilerGeneratedFiles").trim().eq_ignore_ascii_case("true") {
        return None;
    }
    let home = rooted(folder_of_path(project));
    let path = absolute(&home, &unescape(written));
    // A folder around the project also contains hand-written files.
    let is_around = format!("{home}/").starts_with(&format!("{path}/"));
    in_workspace(&path).filter(|_| !is_around && !is_glob(written)).map(str::to_owned)
}

/// Returns the operation that adds the files of that folder.
fn emitted_files(folder: &str) -> Operation {
    Operation {
        items: "compile".to_owned(),
        action: Action::Include,
        specs: vec![Spec::Glob(format!("{folder}/**/*.cs"))],
        exclude: Vec::new(),
        metadata: vec![("emitted".to_owned(), "true".to_owned())],
        defaults: Vec::new(),
    }
}

/// Returns the operations that decide the compiled files, those of the override last.
fn compile_operations(operations: Vec<Operation>, own: Option<&Override>) -> Vec<Operation> {
    let mut used: BTreeSet<String> = BTreeSet::from(["compile".to_owned()]);
    // Operations refer only to earlier ones, so one backward pass finds all.
    let mut selected: Vec<Operation> = Vec::new();
    for operation in operations.into_iter().rev() {
        if !used.contains(&operation.items) {
            continue;
        }
        for spec in operation.specs.iter().chain(&operation.exclude) {
            if let Spec::Items(name, _) = spec {
                used.insert(name.clone());
            }
        }
        selected.push(operation);
    }
    selected.reverse();
    let globs = |list: &[String]| list.iter().map(|glob| Spec::Glob(glob.clone())).collect::<Vec<_>>();
    for (action, list) in own
        .iter()
        .flat_map(|own| [(Action::Include, &own.include), (Action::Remove, &own.exclude)])
    {
        if !list.is_empty() {
            selected.push(Operation {
                items: "compile".to_owned(),
                action,
                specs: globs(list),
                exclude: Vec::new(),
                metadata: Vec::new(),
                defaults: Vec::new(),
            });
        }
    }
    selected
}

/// A file that a project compiles.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CompiledFile {
    /// For a file written by a source generator: its path below the folder of generated files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub emitted: Option<String>,
    /// Displayed path within the project, for files outside its folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link: Option<String>,
    pub path: String,
    /// The newest framework that compiles it, if the main one does not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tfm: Option<String>,
}

/// Returns the files that a project compiles, sorted by path, and whether limits cut the list.
pub fn compiled(evaluated: &Evaluated, sources: &Tree<'_>) -> (Vec<CompiledFile>, bool) {
    let home = folder_of_path(&evaluated.facts.path);
    let mut files: std::collections::BTreeMap<String, CompiledFile> = std::collections::BTreeMap::new();
    let mut cut = false;
    let mut done: BTreeSet<usize> = BTreeSet::new();
    for (at, framework) in evaluated.frameworks.iter().enumerate() {
        let Some(operations) = evaluated
            .compile
            .get(framework.compile)
            .filter(|_| evaluated.facts.compiles && done.insert(framework.compile))
        else {
            continue;
        };
        let run = run_operations(operations, home, sources, &["compile"]);
        cut |= run.cut;
        for item in run.items("compile") {
            let emitted = (!item.get("emitted").is_empty()).then(|| item.expand_metadata("%(RecursiveDir)%(Filename)%(Extension)", home));
            let file = files.entry(item.text.clone()).or_insert_with(|| CompiledFile {
                emitted: None,
                link: item.link(home),
                path: item.text.clone(),
                tfm: framework.tfm.clone().filter(|_| at > 0),
            });
            file.emitted = file.emitted.take().or(emitted);
        }
    }
    (
        files
            .into_values()
            .filter(|file| file.path.to_ascii_lowercase().ends_with(".cs"))
            .collect(),
        cut,
    )
}
