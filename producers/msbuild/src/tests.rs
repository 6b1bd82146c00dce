//! Fixtures under `fixtures/csharp/projects/`, one folder per construct. Each `expected.json` was written by hand after MSBuild's
//! documentation: facts (only listed ones are compared), files, owners, files left out and diagnostics. Also property tests of the pure
//! functions.

use super::condition;
use super::expression::Scope;
use super::facts::{compiled, evaluated};
use super::files;
use super::index;
use super::params::ProjectParams;
use super::producers::seen_by_project;
use super::properties::{Files, Properties};
use super::report::{Report, Spot};
use super::solution;
use super::tree::Tree;
use super::xml::{self, Element};
use engine::values::diagnostic::{Diagnostic, Severity};
use proptest::prelude::*;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// All results of the chain of nodes for a folder.
struct Outcome {
    projects: BTreeMap<String, Value>,
    owners: BTreeMap<String, Option<String>>,
    diagnostics: Vec<Diagnostic>,
}

/// Runs the chain: elements, skeletons, index, evaluations, files.
fn chain(project_files: &BTreeMap<String, Vec<u8>>, sources: &[&str], params: &ProjectParams) -> Outcome {
    let mut diagnostics = BTreeSet::new();
    let mut elements: BTreeMap<&str, Element> = BTreeMap::new();
    for (path, bytes) in project_files {
        let read = if solution::is_solution(path) {
            solution::parse_solution
        } else {
            xml::parse_xml
        };
        match read(bytes, path) {
            Ok(element) => drop(elements.insert(path, element)),
            Err(diagnostic) => drop(diagnostics.insert(*diagnostic)),
        }
    }
    let skeletons: BTreeMap<&str, Element> = elements.iter().map(|(path, element)| (*path, element.skeleton())).collect();
    let paths: Vec<&str> = project_files.keys().map(String::as_str).collect();
    let report = Report::default();
    let skeletons: Files<'_> = skeletons.iter().map(|(path, element)| (*path, element)).collect();
    let rows = index::project_rows(&skeletons, &paths, params, &report);
    let tree = Tree::new(paths.iter().copied());
    let source_tree = Tree::new(sources.iter().copied());
    let mut all = BTreeMap::new();
    for (path, row) in &rows {
        // An evaluation receives only the files that the index lists.
        let inputs: Files<'_> = row
            .files
            .iter()
            .filter_map(|file| elements.get_key_value(file.as_str()))
            .map(|(path, element)| (*path, element))
            .collect();
        all.insert(
            path.as_str(),
            evaluated(path, &inputs, &tree, &params.settings(row.solution.clone()), params, &report),
        );
    }
    let lists: Vec<_> = all.iter().map(|(path, found)| (*path, compiled(found, &source_tree).0)).collect();
    let owners = files::file_rows(sources.iter().copied(), &lists);
    files::report_uncompiled(&BTreeMap::new(), &report);
    let mut projects = BTreeMap::new();
    let seen = seen_by_project(all.clone());
    for (path, list) in &lists {
        let found = &all[path];
        let mut facts = serde_json::to_value(&found.facts).expect("facts are JSON");
        facts["transitive"] = json!(seen[path]);
        facts["reads"] = json!(rows[*path].files);
        facts["files"] = list
            .iter()
            .map(|file| {
                let link = file.link.as_ref().map(|link| format!(" -> {link}")).unwrap_or_default();
                let tfm = file.tfm.as_ref().map(|tfm| format!(" @{tfm}")).unwrap_or_default();
                format!("{}{link}{tfm}", file.path)
            })
            .collect();
        let by_framework = found
            .frameworks
            .iter()
            .map(|one| (one.tfm.clone().unwrap_or_default(), json!(one.defines)));
        facts["defines_of"] = Value::Object(by_framework.collect());
        projects.insert((*path).to_owned(), facts);
    }
    diagnostics.extend(report.into_diagnostics());
    Outcome {
        projects,
        owners: owners
            .into_iter()
            .map(|(path, row)| (path.to_owned(), row.project.into_iter().next()))
            .collect(),
        diagnostics: diagnostics.into_iter().collect(),
    }
}

fn read_folder(folder: &Path, root: &Path, found: &mut BTreeMap<String, Vec<u8>>) {
    for entry in std::fs::read_dir(folder)
        .expect("a fixture")
        .map(|entry| entry.expect("an entry").path())
    {
        if entry.is_dir() {
            read_folder(&entry, root, found);
        } else if entry.file_name().is_some_and(|name| name != "expected.json") {
            let path = entry.strip_prefix(root).expect("below").to_string_lossy().into_owned();
            found.insert(path, std::fs::read(&entry).expect("readable"));
        }
    }
}

fn strings(value: &Value) -> Vec<&str> {
    value.as_array().into_iter().flatten().filter_map(Value::as_str).collect()
}

/// Returns the differences between a fixture and the actual results.
fn differences(folder: &Path) -> Vec<String> {
    let name = folder.file_name().expect("a name").to_string_lossy().into_owned();
    let expected = std::fs::read(folder.join("expected.json")).expect("expected.json");
    let expected: Value = serde_json::from_slice(&expected).expect("JSON");
    let mut files = BTreeMap::new();
    read_folder(folder, folder, &mut files);
    let params = expected.get("params").and_then(Value::as_object).cloned().unwrap_or_default();
    let params = ProjectParams::from_params(&params).expect("parameters");
    let outcome = chain(&files, &strings(&expected["sources"]), &params);
    let mut wrong = Vec::new();
    let mut compare = |what: String, expected: &Value, found: Value| {
        if *expected != found {
            wrong.push(format!("{name}: {what}\n  expected {expected}\n  found    {found}"));
        }
    };
    for (project, facts) in expected["projects"].as_object().expect("projects") {
        let found = outcome.projects.get(project).cloned().unwrap_or(Value::Null);
        for (fact, value) in facts.as_object().expect("facts") {
            if let (Some(parts), true) = (value.as_object(), fact == "defines_of") {
                for (part, value) in parts {
                    compare(format!("{project} {fact} {part}"), value, found[fact][part].clone());
                }
            } else {
                compare(format!("{project} {fact}"), value, found[fact].clone());
            }
        }
    }
    if let Some(only) = expected.get("only") {
        compare("projects".into(), only, outcome.projects.keys().cloned().collect());
    }
    for (file, owner) in expected.get("owners").and_then(Value::as_object).into_iter().flatten() {
        compare(format!("owner of {file}"), owner, json!(outcome.owners[file]));
    }
    if let Some(left_out) = expected.get("left_out") {
        let found = outcome
            .owners
            .iter()
            .filter(|(_, owner)| owner.is_none())
            .map(|(file, _)| file.clone());
        compare("left out".into(), left_out, found.collect());
    }
    let mut codes: Vec<String> = outcome
        .diagnostics
        .iter()
        .map(|diagnostic| format!("{} {}", diagnostic.code, diagnostic.place.clone().unwrap_or_default()))
        .collect();
    codes.sort();
    compare("diagnostics".into(), &expected["diagnostics"], json!(codes));
    wrong
}

#[test]
fn fixtures_say_what_the_documentation_says() {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/csharp/projects");
    let mut folders: Vec<PathBuf> = std::fs::read_dir(root)
        .expect("fixtures")
        .map(|entry| entry.expect("an entry").path())
        .collect();
    folders.sort();
    assert!(folders.len() >= 15, "{}", folders.len());
    let wrong: Vec<String> = folders.iter().flat_map(|folder| differences(folder)).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Evaluates one project file without other files.
fn evaluate_single(xml: &str) -> Outcome {
    let files = BTreeMap::from([("P.csproj".to_owned(), xml.as_bytes().to_vec())]);
    chain(&files, &["a.cs", "b/c.cs"], &ProjectParams::default())
}

#[test]
fn properties_that_only_describe_an_assembly_leave_no_project_incomplete() {
    let severity = |property: &str| {
        let xml = format!(
            "<Project Sdk='Microsoft.NET.Sdk'><PropertyGroup><{property}>$([System.Guid]::NewGuid())</{property}></PropertyGroup></Project>"
        );
        let said = evaluate_single(&xml).diagnostics;
        let about: Vec<&Diagnostic> = said.iter().filter(|one| one.code == "CS-PROJECT-FUNCTION").collect();
        assert!(
            !about.is_empty()
                && about
                    .iter()
                    .all(|one| one.message.ends_with(&format!("in the property {property}"))),
            "{said:?}"
        );
        about.iter().map(|one| one.severity).max()
    };
    assert_eq!(severity("Copyright"), Some(Severity::Note));
    assert_eq!(severity("PackageVersion"), Some(Severity::Note));
    assert_eq!(severity("DefineConstants"), Some(Severity::Warning));
}

#[test]
fn nothing_explodes() {
    let doubled: String = (0..60).map(|_| "<A>$(A)$(A)x</A>").collect();
    let many = format!("<Project Sdk='Microsoft.NET.Sdk'><PropertyGroup>{doubled}</PropertyGroup></Project>");
    let nested = format!(
        "<Project Sdk='Microsoft.NET.Sdk'><PropertyGroup><A>{}1{}</A></PropertyGroup></Project>",
        "$([MSBuild]::Add(1, ".repeat(200),
        "))".repeat(200)
    );
    let parentheses = format!(
        "<Project Sdk='Microsoft.NET.Sdk'><PropertyGroup><A Condition=\"{}1==1{}\">1</A></PropertyGroup></Project>",
        "(".repeat(10_000),
        ")".repeat(10_000)
    );
    let lists: String = (0..60).map(|_| "<Compile Include='@(Compile);@(Compile)'/>").collect();
    let lists = format!("<Project Sdk='Microsoft.NET.Sdk'><ItemGroup>{lists}</ItemGroup></Project>");
    for (xml, code) in [
        (&many, "CS-PROJECT-LIMIT"),
        (&nested, "CS-PROJECT-LIMIT"),
        (&parentheses, "CS-PROJECT-CONDITION"),
    ] {
        let outcome = evaluate_single(xml);
        assert!(
            outcome.diagnostics.iter().any(|diagnostic| diagnostic.code == code),
            "{code}: {:?}",
            outcome.diagnostics
        );
    }
    assert_eq!(evaluate_single(&lists).projects["P.csproj"]["files"], json!(["a.cs", "b/c.cs"]));
}

fn with_scope<T>(run: impl FnOnce(&Scope<'_>) -> T) -> (T, usize) {
    let mut properties = Properties::default();
    properties.set_property("A", "1");
    properties.set_property("B", "x;y");
    let (tree, report) = (Tree::new(["P.csproj"]), Report::default());
    let spot = Spot { file: "P.csproj", line: 1 };
    let scope = Scope {
        properties: &properties,
        tree: &tree,
        spot,
        report: &report,
        os: "linux",
        home: "",
    };
    let value = run(&scope);
    (value, report.into_diagnostics().len())
}

/// Generates a condition together with its truth value.
fn condition_and_truth() -> impl Strategy<Value = (String, bool)> {
    let leaf = prop_oneof![
        Just(("'$(A)' == '1'".to_owned(), true)),
        Just(("$(A) != 1.0".to_owned(), false)),
        Just(("'x' == 'X'".to_owned(), true)),
        Just(("2 >= 10".to_owned(), false)),
        Just(("true".to_owned(), true)),
        Just(("Exists('P.csproj')".to_owned(), true)),
        Just(("'$(B)' == ''".to_owned(), false)),
    ];
    leaf.prop_recursive(5, 24, 2, |inner| {
        prop_oneof![
            inner.clone().prop_map(|(text, truth)| (format!("!({text})"), !truth)),
            (inner.clone(), inner.clone()).prop_map(|((a, x), (b, y))| (format!("({a}) and ({b})"), x && y)),
            (inner.clone(), inner.clone()).prop_map(|((a, x), (b, y))| (format!("({a}) OR ({b})"), x || y)),
        ]
    })
}

proptest! {
    #[test]
    fn conditions_are_what_they_are_built_from((text, truth) in condition_and_truth()) {
        let (found, complaints) = with_scope(|scope| condition::is_true(scope, &text));
        prop_assert!(found == truth, "{}", text);
        prop_assert_eq!(complaints, 0);
    }

    #[test]
    fn any_condition_is_read(text in "([ ()!'$@%=<>]|and|or|Exists|\\$\\(A\\)|\\$\\(A\\.|[a1.]){0,30}") {
        with_scope(|scope| condition::is_true(scope, &text));
    }

    #[test]
    fn any_text_is_expanded(text in "(\\$\\(|[)\\[\\]'`\",.:A]|::|MSBuild|System\\.String|Substring|Replace|Split|PadLeft|[0-9]|é){0,30}") {
        with_scope(|scope| scope.expand(&text));
    }

    #[test]
    fn text_without_expressions_is_unchanged(text in "[a-z ;%'()]{0,30}") {
        prop_assert_eq!(with_scope(|scope| scope.expand(&text)), (text, 0));
    }

    #[test]
    fn any_project_is_evaluated(body in "(<(PropertyGroup|ItemGroup|A|Compile Include=\"\\*\\*/\\*\"|Compile Remove=\"@\\(Compile\\)\"|Import Project=\"P.csproj\"|Choose|When Condition=\"1\")/?>|</(PropertyGroup|ItemGroup|A|Compile|Choose|When)>|\\$\\(A\\)){0,12}") {
        evaluate_single(&format!("<Project Sdk='Microsoft.NET.Sdk'>{body}</Project>"));
    }
}
