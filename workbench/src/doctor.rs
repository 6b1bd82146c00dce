//! Diagnoses problems of a workspace; each finding has a remedy.
//!
//! It reads outputs and counts bound names; it neither builds nor repairs.

use crate::error::WorkbenchError;
use crate::health::{Health, project_of};
use crate::symbols::index::Symbols;
use crate::symbols::outputs::{Outputs, SymbolError};
use crate::trust::{foreign_owner, waiting};
use crate::workspace::Workspace;
use engine::build::session::Session;
use engine::manifest::model::Manifest;
use engine::store::Inventory;
use engine::values::codes::ErrorCode;
use engine::values::diagnostic::{Diagnostic, Severity};
use engine::values::quantity::plural;
use producers::command::Trust;
use producers::csharp::deps::{Dependencies, dotnet};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Limit of listed cases of a finding; the others are counted.
const NAMED: usize = 5;

/// Limit of projects that a case names.
const NAMED_PROJECTS: usize = 3;

/// Hidden names per thousand above which they are a problem.
const USUAL_HIDDEN: usize = 10;

/// Severity of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// No problem.
    Good,
    /// Information.
    Note,
    /// Answers may be incomplete, or work is slower than necessary.
    Problem,
}

/// A finding.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct Finding {
    /// Its topic: projects, references, evaluation, sdks, files, duplicates, syntax, names, usings, watch, store, trust, remote.
    pub topic: String,
    /// Its severity.
    pub level: Level,
    /// The finding, in one sentence.
    pub found: String,
    /// The first few cases.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cases: Vec<String>,
    /// The remedy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mend: Option<String>,
}

impl Finding {
    fn new(topic: &str, level: Level, found: impl Into<String>) -> Self {
        Self {
            topic: topic.to_owned(),
            level,
            found: found.into(),
            cases: Vec::new(),
            mend: None,
        }
    }

    fn mend(mut self, mend: impl Into<String>) -> Self {
        self.mend = Some(mend.into());
        self
    }

    fn cases(mut self, all: impl IntoIterator<Item = String>) -> Self {
        let all: Vec<String> = all.into_iter().collect();
        let more = all.len().saturating_sub(NAMED);
        self.cases = all.into_iter().take(NAMED).collect();
        if more > 0 {
            // Names that resolve to nothing are no notes of the build.
            let hint = if self.topic == "names" {
                ""
            } else {
                "; `cortex status --notes` prints all"
            };
            self.cases.push(format!("… {more} more{hint}"));
        }
        self
    }
}

/// Formats diagnostics as lines, each once. A line about a shared file names the projects that read it.
fn cases_of<'d>(all: impl IntoIterator<Item = &'d Diagnostic>) -> Vec<String> {
    let mut lines: Vec<(String, BTreeSet<String>)> = Vec::new();
    let mut known: BTreeMap<String, usize> = BTreeMap::new();
    for said in all {
        let line = case(said);
        let at = *known.entry(line.clone()).or_insert(lines.len());
        if at == lines.len() {
            lines.push((line, BTreeSet::new()));
        }
        let is_own = |project: &String| said.place.as_ref().is_some_and(|place| place.file == *project);
        let project = said.label.as_deref().and_then(project_of);
        lines[at].1.extend(project.filter(|project| !is_own(project)));
    }
    let named = |(line, projects): (String, BTreeSet<String>)| {
        let first: Vec<&str> = projects.iter().take(NAMED_PROJECTS).map(String::as_str).collect();
        let more = if projects.len() > first.len() { ", …" } else { "" };
        match projects.len() {
            0 => line,
            1 => format!("{line} (in {})", first[0]),
            count => format!("{line} (in {count} projects: {}{more})", first.join(", ")),
        }
    };
    lines.into_iter().map(named).collect()
}

/// Formats a diagnostic of a target or a project as one line.
fn case(said: &Diagnostic) -> String {
    let place = said.place.as_ref().map_or_else(String::new, |place| format!("{place}: "));
    let found = said.found.as_ref().map_or_else(String::new, |found| format!(": {found}"));
    format!("{place}{}{found}", said.message)
}

/// Reports on projects, references and unevaluated parts. There are `count` projects, and `resolved` references between them.
pub fn projects(health: &Health, count: usize, resolved: usize) -> Vec<Finding> {
    let (lost, rest): (Vec<&Diagnostic>, Vec<&Diagnostic>) =
        health.said.iter().partition(|said| said.code == ErrorCode::CS_PROJECT_REFERENCE);
    let (mixed, rest): (Vec<&Diagnostic>, Vec<&Diagnostic>) =
        rest.into_iter().partition(|said| said.code == ErrorCode::CS_PROJECT_LANGUAGE);
    let all = resolved + lost.len();
    let projects = match count {
        0 => Finding::new("projects", Level::Note, "there are no projects: all files see each other")
            .mend("list their files in cortex.toml: [sources.projects] include = [\"**/*.csproj\", …]"),
        count => Finding::new("projects", Level::Good, plural(count, "project")),
    };
    let references = format!("{resolved} of {all} references between projects lead somewhere");
    let references = match lost.is_empty() {
        true => Finding::new("references", Level::Good, references),
        false => Finding::new(
            "references",
            Level::Problem,
            format!("{references}; {} lost some", plural(health.lost.len(), "project")),
        )
        .cases(cases_of(lost))
        .mend("add the missing project files to [sources.projects], or remove the references"),
    };
    let evaluation = match rest.is_empty() {
        true => Finding::new("evaluation", Level::Good, "everything in them was evaluated"),
        false => {
            let cases = cases_of(rest);
            let what = plural(cases.len(), "construct");
            Finding::new(
                "evaluation",
                Level::Problem,
                format!("{what} of project files could not be evaluated"),
            )
            .cases(cases)
            .mend("set the properties that they use: [producer.project] params.properties = { NAME = \"VALUE\" }; or list the files of the project: [producer.project.params.projects.\"PATH.csproj\"] include = [\"GLOB\"]")
        }
    };
    let languages = (!mixed.is_empty()).then(|| {
        let what = plural(mixed.len(), "reference");
        Finding::new(
            "languages",
            Level::Note,
            format!("{what} to projects of other languages, whose names are not known"),
        )
        .cases(cases_of(mixed))
    });
    [projects, references].into_iter().chain(languages).chain([evaluation]).collect()
}

/// Returns a note whose sentence is the first of some diagnostics.
fn note_of_all(topic: &str, all: &[&Diagnostic]) -> Finding {
    let mut lines = cases_of(all.iter().copied()).into_iter();
    Finding::new(topic, Level::Note, lines.next().unwrap_or_default()).cases(lines)
}

/// Reports the producers' diagnostics of files, types and SDKs: loose files, duplicates, files that do not parse.
pub fn report_diagnostics(session: &Session, broken: usize) -> Result<Vec<Finding>, WorkbenchError> {
    let mut by_code: BTreeMap<String, Vec<Diagnostic>> = BTreeMap::new();
    for (label, remark) in session.remarks()? {
        if session.graph.find(&label).is_some() {
            for said in remark.diagnostics {
                by_code.entry(said.code.clone()).or_default().push(said);
            }
        }
    }
    let of = |code: ErrorCode| by_code.get(code.as_str()).map_or(&[][..], Vec::as_slice);
    let mut found = Vec::new();
    let sdks: BTreeSet<&str> = of(ErrorCode::CS_PROJECT_SDK)
        .iter()
        .filter_map(|said| said.found.as_deref())
        .collect();
    if !sdks.is_empty() {
        let names = sdks.into_iter().collect::<Vec<_>>().join(", ");
        let count = plural(of(ErrorCode::CS_PROJECT_SDK).len(), "project");
        let what = format!("cortex does not read these SDKs, so properties and files that they add are missing in {count}: {names}");
        found.push(
            Finding::new("sdks", Level::Note, what)
                .mend("if it matters, set their properties: [producer.project] params.properties = { NAME = \"VALUE\" }"),
        );
    }
    let about = |topic: &str, codes: &[ErrorCode], good: &str, mend: &str| {
        let all: Vec<&Diagnostic> = codes.iter().flat_map(|code| of(*code)).collect();
        let Some(first) = all.first() else {
            return Finding::new(topic, Level::Good, good);
        };
        let mend = first.hint.clone().unwrap_or_else(|| mend.to_owned());
        note_of_all(topic, &all).mend(mend)
    };
    // Warnings about solutions are reported with the unevaluated parts.
    let solutions = of(ErrorCode::CS_SOLUTION).iter().filter(|said| said.severity < Severity::Warning);
    let solutions: Vec<&Diagnostic> = solutions.collect();
    if let Some(first) = solutions.first() {
        let mend = first.hint.clone().unwrap_or_else(|| "correct the solution".to_owned());
        found.push(note_of_all("solutions", &solutions).mend(mend));
    }
    found.push(about(
        "files",
        &[ErrorCode::CS_LEFT_OUT],
        "projects compile all files",
        "if a project compiles them, list them for it: [producer.project.params.projects.\"PATH.csproj\"] include = [\"GLOB\"]; if nothing does, exclude them: [sources.csharp] exclude",
    ));
    found.push(about(
        "duplicates",
        &[ErrorCode::CS_DECLARED_TWICE, ErrorCode::CS_SAME_SYMBOL],
        "no type is declared twice",
        "leave the copies out: [sources.csharp] exclude",
    ));
    found.push(match broken {
        0 => Finding::new("syntax", Level::Good, "all files could be read"),
        count => Finding::new(
            "syntax",
            Level::Problem,
            format!("{} could not be read as a whole", plural(count, "file")),
        )
        .mend("`cortex status --notes` lists the places; exclude files that are not C# of this workspace with [sources.csharp] exclude"),
    });
    Ok(found)
}

/// Counts of the bindings of names in code.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bound {
    /// Names bound to types of the workspace.
    pub workspace: usize,
    /// Names bound to types of .NET.
    pub outside: usize,
    /// Names from packages, or unknown ones.
    pub unknown: usize,
    /// Unknown names that match a type of the workspace, by the project and that of the type: one that it does not reference, or its own.
    pub hidden: BTreeMap<(String, String), usize>,
}

/// Counts the bindings of the names of all types, each name once per type.
pub fn bound<O: Outputs>(outputs: &mut O, symbols: &Symbols) -> Result<Bound, O::Error> {
    let mut by_name: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for at in 0..symbols.len() {
        by_name.entry(last_name(symbols.key(at))).or_default().push(at);
    }
    let mut counts = Bound::default();
    for output in outputs.read(&["//types/...:deps".to_owned()])? {
        let Some(bytes) = output.bytes else { continue };
        let deps: Dependencies = serde_json::from_slice(&bytes).map_err(|_| SymbolError::damaged().at_label(&output.label))?;
        counts.workspace += deps.evidence.len();
        let own = symbols.find(&deps.own).map(|at| symbols.type_row(at)).transpose()?;
        let own = own.map_or_else(String::new, |row| row.assembly);
        for name in &deps.external {
            if dotnet::get(name).is_some() {
                counts.outside += 1;
                continue;
            }
            counts.unknown += 1;
            // An extern alias that binds to no type is of a package.
            if name.contains("::") && !name.starts_with("global::") {
                continue;
            }
            // A nested type, or one that is written with its namespace elsewhere, does not match.
            for &at in by_name.get(last_name(name)).map_or(&[][..], Vec::as_slice) {
                let row = symbols.type_row(at)?;
                let is_top = !symbols.key(at).contains('+');
                // In its own project a simple name fails only where a using directive is not understood, or for a package's type of that name.
                let is_visible = row.assembly == own && !name.contains('.');
                let is_hidden = row.accessibility == "public" && row.assembly != own;
                if is_top && (is_visible || is_hidden) && !row.assembly.is_empty() && !own.is_empty() {
                    *counts.hidden.entry((own.clone(), row.assembly)).or_default() += 1;
                    break;
                }
            }
        }
    }
    Ok(counts)
}

/// Returns the last name of a type with its arity mark.
fn last_name(name: &str) -> &str {
    let symbol = name.split('@').next().unwrap_or(name);
    symbol.rsplit(['.', '+', ':']).next().unwrap_or(symbol)
}

/// Reports the share of names that resolve.
pub fn report_unresolved(bound: &Bound) -> Finding {
    let all = bound.workspace + bound.outside + bound.unknown;
    let share = (bound.workspace + bound.outside) as f64 * 100.0 / all.max(1) as f64;
    let hidden: usize = bound.hidden.values().sum();
    let found = format!(
        "{share:.1} % of {all} names of types resolve: {} to the workspace, {} to .NET; {} are from packages or unknown (packages are not read)",
        bound.workspace, bound.outside, bound.unknown
    );
    if hidden == 0 {
        return Finding::new("names", Level::Good, found);
    }
    let level = match hidden * 1000 > all * USUAL_HIDDEN {
        true => Level::Problem,
        false => Level::Note,
    };
    let mut pairs: Vec<(&(String, String), &usize)> = bound.hidden.iter().collect();
    pairs.sort_by_key(|(pair, count)| (std::cmp::Reverse(**count), *pair));
    let case = |((from, to), count): (&(String, String), &usize)| match from == to {
        true => format!(
            "{from} uses {} of its own whose namespace no using directive is known to open",
            plural(*count, "name")
        ),
        false => format!(
            "{from} uses {} that {to} declares but {from} does not see; a package may declare them, too",
            plural(*count, "name")
        ),
    };
    Finding::new(
        "names",
        level,
        format!("{found}; {hidden} of these have the name of a type that the project does not see"),
    )
    .cases(pairs.into_iter().map(case))
    .mend("if the code means these types, add a ProjectReference or a using directive; if a condition hides one, set its property in [producer.project] params.properties")
}

/// Reports on the watcher, the store, trust and the remote cache. `watches`: the system's limit of watched folders per user, if known.
pub fn surroundings(
    workspace: &Workspace,
    session: &Session,
    trust: &dyn Trust,
    watches: Option<u64>,
) -> Result<Vec<Finding>, WorkbenchError> {
    let manifest = workspace.manifest()?;
    Ok(vec![
        report_watch(session.sources.tree_facts().directories, watches),
        report_store(workspace, manifest.store.max_size)?,
        report_trust(&workspace.root, &manifest, trust),
        report_remote(workspace, &manifest)?,
    ])
}

fn report_watch(folders: u64, watches: Option<u64>) -> Finding {
    match watches {
        None => Finding::new("watch", Level::Note, "how many folders may be watched is not known here"),
        Some(most) if folders > most => Finding::new(
            "watch",
            Level::Problem,
            format!("{folders} folders, and at most {most} may be watched"),
        )
        .mend(format!(
            "sudo sysctl fs.inotify.max_user_watches={}",
            (folders * 2).next_power_of_two()
        )),
        Some(most) => Finding::new("watch", Level::Good, format!("{folders} folders, at most {most} may be watched")),
    }
}

fn report_store(workspace: &Workspace, most: Option<u64>) -> Result<Finding, WorkbenchError> {
    Ok(match workspace.disk.as_ref() {
        None => Finding::new("store", Level::Note, "there is no store: every command computes everything again")
            .mend("omit --no-store, or build once"),
        Some(disk) => {
            let usage = disk.usage()?;
            let size = format!("{} MB in {}", usage.file_bytes / 1_000_000, disk.folder().display());
            match (usage.set_aside_files, most) {
                (0, Some(most)) if usage.file_bytes > most => {
                    Finding::new("store", Level::Note, format!("{size}, more than max_size")).mend("cortex gc")
                }
                (0, _) => Finding::new("store", Level::Good, size),
                (aside, _) => Finding::new(
                    "store",
                    Level::Problem,
                    format!(
                        "{size}; {} set aside as damaged",
                        plural(usize::try_from(aside).unwrap_or(usize::MAX), "file")
                    ),
                )
                .mend("list them with `cortex store stats`, then delete them; `cortex store verify --repair` checks the present one"),
            }
        }
    })
}

fn report_trust(root: &Path, manifest: &Manifest, trust: &dyn Trust) -> Finding {
    let programs = waiting(manifest);
    let waits: Vec<&str> = programs
        .iter()
        .filter(|program| !trust.trusts(&program.definition))
        .map(|program| program.of.as_str())
        .collect();
    match (waits.len(), foreign_owner(root)) {
        (0, None) => Finding::new("trust", Level::Good, format!("{} trusted", plural(programs.len(), "program"))),
        (0, Some(owner)) => Finding::new("trust", Level::Note, format!("the workspace belongs to user {owner}")),
        (_, _) => Finding::new(
            "trust",
            Level::Problem,
            format!("not trusted yet, and so not used: {}", waits.join(", ")),
        )
        .mend("look with `cortex trust --list`, then `cortex trust`"),
    }
}

fn report_remote(workspace: &Workspace, manifest: &Manifest) -> Result<Finding, WorkbenchError> {
    Ok(match &manifest.remote {
        None => Finding::new("remote", Level::Good, "no remote cache"),
        Some(_) if workspace.remote_waits()? => Finding::new("remote", Level::Problem, "the remote cache is not used before it is trusted")
            .mend("look with `cortex trust --list`, then `cortex trust`"),
        Some(def) => match def.endpoint.strip_prefix("dir:").map(|folder| workspace.root.join(folder)) {
            Some(folder) if !folder.is_dir() => Finding::new(
                "remote",
                Level::Problem,
                format!("the remote cache is not used: there is no folder {}", folder.display()),
            )
            .mend("mount the share, or fill it first: `CI=1 cortex warm`"),
            _ => Finding::new("remote", Level::Good, "the remote cache is used"),
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::symbols::samples::Sample;

    const PROJECT: &str =
        "<Project Sdk=\"Microsoft.NET.Sdk\"><PropertyGroup><TargetFramework>net8.0</TargetFramework></PropertyGroup></Project>";

    fn with(items: &str) -> String {
        PROJECT.replace("</Project>", &format!("<ItemGroup>{items}</ItemGroup></Project>"))
    }

    #[test]
    fn references_that_lead_nowhere_are_found_and_mended() {
        let lost = with("<ProjectReference Include=\"../Gone/Gone.csproj\" />");
        let mut sample = Sample::from_files(&[("A/A.csproj", &lost), ("A/a.cs", "class A { }")]);
        sample.read(&["//index:types".to_owned()]).expect("built");
        let health = Health::from_session(sample.session()).expect("health");
        let found = projects(&health, 1, 3);
        let levels: Vec<(&str, Level)> = found.iter().map(|one| (one.topic.as_str(), one.level)).collect();
        let expected = [
            ("projects", Level::Good),
            ("references", Level::Problem),
            ("evaluation", Level::Good),
        ];
        assert_eq!(levels, expected);
        assert_eq!(
            found[1].found,
            "3 of 4 references between projects lead somewhere; 1 project lost some"
        );
        assert!(
            found[1].cases[0].starts_with("A/A.csproj: ") && found[1].cases[0].ends_with("Gone/Gone.csproj"),
            "{:?}",
            found[1]
        );
        assert!(found[1].mend.is_some());
    }

    #[test]
    fn a_line_about_a_shared_file_is_one_case_that_names_its_projects() {
        let shared = "<Project><ItemGroup><Compile Include=\"$([A.B]::C('x'))\"/></ItemGroup></Project>";
        let mut sample = Sample::from_files(&[
            ("Directory.Build.props", shared),
            ("A/A.csproj", PROJECT),
            ("B/B.csproj", PROJECT),
            ("A/a.cs", "class A { }"),
        ]);
        sample.read(&["//index:types".to_owned()]).expect("built");
        let health = Health::from_session(sample.session()).expect("health");
        let found = projects(&health, 2, 0);
        let evaluation = found.iter().find(|one| one.topic == "evaluation").expect("a finding");
        assert_eq!(
            (evaluation.found.as_str(), evaluation.cases.len()),
            ("1 construct of project files could not be evaluated", 1),
            "{evaluation:?}"
        );
        assert!(evaluation.cases[0].starts_with("Directory.Build.props:1: "), "{evaluation:?}");
        assert!(
            evaluation.cases[0].ends_with(" (in 2 projects: A/A.csproj, B/B.csproj)"),
            "{evaluation:?}"
        );
    }

    #[test]
    fn names_behind_the_alias_of_a_reference_resolve() {
        let reference = with("<ProjectReference Include=\"../A/A.csproj\"><Aliases>Other</Aliases></ProjectReference>");
        let user = "extern alias Other; using T = Other::N.Two; using Other::N;
class User { Other::N.Thing one; T two; Two three; Other::N.Foreign four; }";
        let mut sample = Sample::from_files(&[
            ("A/A.csproj", PROJECT),
            ("A/a.cs", "namespace N { public class Thing { } public class Two { } }"),
            ("C/C.csproj", PROJECT),
            ("C/c.cs", "namespace M { public class Foreign { } }"),
            ("B/B.csproj", &reference),
            ("B/b.cs", user),
        ]);
        let symbols = sample.names();
        let found = bound(&mut sample, &symbols).expect("counts");
        assert_eq!((found.workspace, found.unknown, found.hidden.len()), (2, 1, 0), "{found:?}");
    }

    #[test]
    fn names_of_types_that_a_project_does_not_see_are_counted() {
        let user = "class User { Thing thing; Unheard other; string text; Own own; }\nclass Own { }";
        let found = |items: &str| {
            let own = with(items);
            let mut sample = Sample::from_files(&[
                ("A/A.csproj", PROJECT),
                ("A/a.cs", "public class Thing { }"),
                ("B/B.csproj", &own),
                ("B/b.cs", user),
            ]);
            let symbols = sample.names();
            bound(&mut sample, &symbols).expect("counts")
        };
        let hidden = found("");
        assert_eq!((hidden.workspace, hidden.unknown), (1, 2), "{hidden:?}");
        assert_eq!(hidden.hidden, BTreeMap::from([(("B".to_owned(), "A".to_owned()), 1)]));
        let row = report_unresolved(&hidden);
        assert_eq!(
            (row.level, row.cases[0].as_str()),
            (
                Level::Problem,
                "B uses 1 name that A declares but B does not see; a package may declare them, too"
            )
        );
        let mut sample = Sample::from_files(&[
            ("A/A.csproj", PROJECT),
            ("A/a.cs", "namespace N.Deep { class Thing { } }"),
            ("A/b.cs", "namespace M { class User { Thing one; } }"),
        ]);
        let symbols = sample.names();
        let row = report_unresolved(&bound(&mut sample, &symbols).expect("counts"));
        let case = "A uses 1 name of its own whose namespace no using directive is known to open";
        assert_eq!((row.level, row.cases[0].as_str()), (Level::Problem, case));
        let seen = found("<ProjectReference Include=\"../A/A.csproj\" />");
        assert_eq!(
            (seen.workspace, seen.unknown, report_unresolved(&seen).level),
            (2, 1, Level::Good),
            "{seen:?}"
        );
    }
}
