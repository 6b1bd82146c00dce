//! Contents of a folder, file, namespace or project: its types, and the members of a file, each with the place of its declaration.
//!
//! Above [`FEW`] types, only the next level is listed: sub-namespaces, subfolders or the namespaces of a project, each with its number of types, and
//! the types directly in the container. Nested types appear in the lists of files only.

use super::index::{Symbols, is_within, simple_name};
use super::locations::{SourceLocation, declarations};
use super::outputs::{Outputs, SymbolError, Trouble};
use super::overloads;
use super::resolve::Candidate;
use engine::values::case_folding::same;
use engine::values::codes::ErrorCode;
use engine::values::diagnostic::Diagnostic;
use engine::values::table::Table;
use producers::csharp::types::{TypeRow, symbol_of};
use producers::msbuild::files::FileRow;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// Up to this number of types, all are listed; above it, only the next level.
pub const FEW: usize = 100;

/// Something that contains types.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Container {
    /// A folder by its path; `""` is the workspace.
    Folder(String),
    /// A source file by its path.
    File(String),
    /// A namespace by its whole name.
    Namespace(String),
    /// A project by the path of its file.
    Project(String),
}

impl Container {
    /// Returns the word for the kind of container.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Folder(_) => "folder",
            Self::File(_) => "file",
            Self::Namespace(_) => "namespace",
            Self::Project(_) => "project",
        }
    }

    /// Returns the container's name as a request can give it.
    pub fn name(&self) -> String {
        match self {
            Self::Folder(path) if path.is_empty() => ".".to_owned(),
            Self::Folder(path) => format!("{path}/"),
            Self::File(name) | Self::Namespace(name) | Self::Project(name) => name.clone(),
        }
    }
}

/// A line of a list: a type, a member, or a part of the container with types of its own.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Listed {
    /// Its path or name, for a further request.
    pub path: String,
    /// `class`, `method`, `namespace`, `folder` …
    pub kind: String,
    /// Its accessibility in C#; empty for namespaces and folders.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub accessibility: String,
    /// Number of types in a namespace or folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub types: Option<usize>,
    /// Place of its declaration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<SourceLocation>,
}

/// A list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Contents {
    /// Number of types, including those in parts.
    pub types: usize,
    /// The requested lines.
    pub listed: Vec<Listed>,
    /// Total number of lines.
    pub total: usize,
}

/// Files and projects of the workspace.
#[derive(Debug, Default)]
pub struct Layout {
    files: BTreeMap<String, FileRow>,
    projects: Vec<String>,
}

impl Layout {
    /// Reads `//index:files` and `//index:projects`.
    pub fn from_outputs<O: Outputs>(outputs: &mut O) -> Result<Self, O::Error> {
        let mut layout = Self::default();
        let damaged = |label: &str| SymbolError::damaged().at_label(label);
        let [files, projects] = ["//index:files", "//index:projects"];
        for output in outputs.read(&[files, projects].map(str::to_owned))? {
            let Some(bytes) = output.bytes else { continue };
            let table = Table::open(&bytes).ok_or_else(|| damaged(&output.label))?;
            if output.label == projects {
                layout.projects = table.keys().map(str::to_owned).collect();
                continue;
            }
            for (path, row) in table.rows() {
                let row = serde_json::from_slice(row).map_err(|_| damaged(files))?;
                layout.files.insert(path.to_owned(), row);
            }
        }
        Ok(layout)
    }

    /// Returns the paths of all C# files.
    pub fn csharp_files(&self) -> impl Iterator<Item = &str> {
        self.files.keys().map(String::as_str)
    }

    /// Whether the project marks a file as written by a source generator.
    pub fn is_generated(&self, file: &str) -> bool {
        self.files.get(file).is_some_and(|row| row.generated)
    }

    /// Finds the file or folder of a path; accepts `\` and `/` as separators.
    pub fn path(&self, text: &str) -> Option<Container> {
        let path = text.replace('\\', "/");
        let path = path.trim_start_matches("./").trim_end_matches('/');
        if matches!(path, "" | ".") {
            return Some(Container::Folder(String::new()));
        }
        if self.files.contains_key(path) {
            return Some(Container::File(path.to_owned()));
        }
        if self.projects.iter().any(|project| project == path) {
            return Some(Container::Project(path.to_owned()));
        }
        let inside = format!("{path}/");
        let first = self.files.range(inside.clone()..).next();
        first
            .is_some_and(|(file, _)| file.starts_with(&inside))
            .then(|| Container::Folder(path.to_owned()))
    }

    /// Finds the project by the name of its file, with or without the extension. Fails when several projects share the name.
    pub fn project(&self, name: &str) -> Result<Option<Container>, SymbolError> {
        let is_named = |path: &&String| {
            let file = path.rsplit('/').next().unwrap_or(path);
            same(file, name) || file.rsplit_once('.').is_some_and(|(stem, _)| same(stem, name))
        };
        let found: Vec<&String> = self.projects.iter().filter(is_named).collect();
        match found.as_slice() {
            [] => Ok(None),
            [one] => Ok(Some(Container::Project((*one).clone()))),
            several => {
                let why = Diagnostic::error(ErrorCode::AmbiguousSymbol, format!("{} projects have this name", several.len())).found(name);
                let candidates: Vec<String> = several.iter().take(super::resolve::SHOWN).map(|path| (*path).clone()).collect();
                let why = why.hint("write one of these paths").candidates(candidates);
                Err(SymbolError::new(Trouble::Ambiguous, why))
            }
        }
    }

    /// Returns the projects that compile a file.
    pub fn projects_of(&self, file: &str) -> impl Iterator<Item = &str> {
        let row = self.files.get(file).into_iter();
        row.flat_map(|row| row.project.iter().chain(&row.also)).map(String::as_str)
    }

    fn compiles(&self, project: &str, file: &str) -> bool {
        self.projects_of(file).any(|path| path == project)
    }
}

/// Lists `limit` lines of a container's contents after the first `offset`.
pub fn contents<O: Outputs>(
    outputs: &mut O,
    symbols: &Symbols,
    layout: &Layout,
    container: &Container,
    (offset, limit): (usize, usize),
) -> Result<Contents, O::Error> {
    let mut types: Vec<(&str, TypeRow)> = Vec::new();
    for at in 0..symbols.len() {
        let (key, row) = (symbols.key(at), symbols.type_row(at)?);
        if is_in(layout, container, key, &row) {
            types.push((key, row));
        }
    }
    let count = types.len();
    if let Container::File(file) = container {
        let mut listed = of_file(outputs, file, &types)?;
        let total = listed.len();
        listed = listed.into_iter().skip(offset).take(limit).collect();
        return Ok(Contents {
            types: count,
            listed,
            total,
        });
    }
    let (mut listed, direct) = match count > FEW {
        true => next_level(container, types),
        false => (Vec::new(), types),
    };
    // For a folder or project, list only declarations inside it.
    let files_in = |row: &TypeRow| -> Vec<String> {
        let inside = row.files.iter().filter(|file| match container {
            Container::Folder(path) => is_below(file, path),
            Container::Project(project) => layout.compiles(project, file),
            _ => true,
        });
        inside.cloned().collect()
    };
    let mut candidates: Vec<(Listed, Candidate)> = direct
        .into_iter()
        .map(|(key, row)| (listed_type(key, &row), Candidate::from_path(key, &files_in(&row))))
        .collect();
    if matches!(container, Container::Folder(_)) {
        candidates.sort_by(|(_, a), (_, b)| (&a.files, &a.path).cmp(&(&b.files, &b.path)));
    }
    let total = listed.len() + candidates.len();
    let parts = listed.len();
    listed = listed.into_iter().skip(offset).take(limit).collect();
    let room = limit - listed.len();
    let shown: Vec<(Listed, Candidate)> = candidates.into_iter().skip(offset.saturating_sub(parts)).take(room).collect();
    listed.extend(locate_listed(outputs, shown)?);
    Ok(Contents {
        types: count,
        listed,
        total,
    })
}

fn is_in(layout: &Layout, container: &Container, key: &str, row: &TypeRow) -> bool {
    let is_nested = symbol_of(key).contains('+');
    match container {
        Container::File(file) => row.files.contains(file),
        _ if is_nested => false,
        Container::Folder(path) => row.files.iter().any(|file| is_below(file, path)),
        Container::Namespace(name) => is_within(&row.namespace, name),
        Container::Project(project) => row.files.iter().any(|file| layout.compiles(project, file)),
    }
}

fn is_below(file: &str, folder: &str) -> bool {
    folder.is_empty() || file.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'))
}

fn listed_type(key: &str, row: &TypeRow) -> Listed {
    Listed {
        path: key.to_owned(),
        kind: row.kind.clone(),
        accessibility: row.accessibility.clone(),
        types: None,
        place: None,
    }
}

/// Groups types by the parts one level down; returns the parts with their type counts and the types outside every part.
fn next_level<'k>(container: &Container, types: Vec<(&'k str, TypeRow)>) -> (Vec<Listed>, Vec<(&'k str, TypeRow)>) {
    let mut parts: BTreeMap<String, usize> = BTreeMap::new();
    let mut direct = Vec::new();
    for (key, row) in types {
        let of_type: BTreeSet<String> = match container {
            Container::Namespace(name) => row.namespace[name.len()..]
                .trim_start_matches('.')
                .split('.')
                .next()
                .filter(|next| !next.is_empty())
                .map(|next| format!("{name}.{next}"))
                .into_iter()
                .collect(),
            Container::Project(_) if row.namespace.is_empty() => BTreeSet::new(),
            Container::Project(_) => BTreeSet::from([row.namespace.clone()]),
            Container::Folder(path) => {
                let inside = row.files.iter().filter(|file| is_below(file, path));
                let below = inside.filter_map(|file| {
                    let start = if path.is_empty() { 0 } else { path.len() + 1 };
                    let (next, _) = file[start..].split_once('/')?;
                    Some(format!("{}{next}/", &file[..start]))
                });
                below.collect()
            }
            Container::File(_) => BTreeSet::new(),
        };
        match of_type.is_empty() {
            true => direct.push((key, row)),
            false => of_type.into_iter().for_each(|part| *parts.entry(part).or_default() += 1),
        }
    }
    let kind = match container {
        Container::Folder(_) => "folder",
        _ => "namespace",
    };
    let listed = parts.into_iter().map(|(path, types)| Listed {
        path,
        kind: kind.to_owned(),
        accessibility: String::new(),
        types: Some(types),
        place: None,
    });
    (listed.collect(), direct)
}

/// Returns the types and members of a file in the order of their declarations.
fn of_file<O: Outputs>(outputs: &mut O, file: &str, types: &[(&str, TypeRow)]) -> Result<Vec<Listed>, O::Error> {
    let files = [file.to_owned()];
    let keys: Vec<&str> = types.iter().map(|(key, _)| *key).collect();
    let members = overloads::read_overloads(outputs, &keys)?;
    let mut found: Vec<(Listed, Candidate)> = Vec::new();
    for ((key, row), members) in types.iter().zip(members) {
        found.push((listed_type(key, row), Candidate::from_path(key, &files)));
        for member in members.into_iter().filter(|member| member.files.iter().any(|of| of == file)) {
            let path = format!("{key}#{}", member.key);
            let candidate = Candidate::from_path(&path, &files);
            let listed = Listed {
                path,
                kind: member.kind,
                accessibility: member.accessibility,
                types: None,
                place: None,
            };
            found.push((listed, candidate));
        }
    }
    let mut listed = locate_listed(outputs, found)?;
    listed.sort_by(|a, b| (&a.place, simple_name(&a.path), &a.path).cmp(&(&b.place, simple_name(&b.path), &b.path)));
    Ok(listed)
}

fn locate_listed<O: Outputs>(outputs: &mut O, found: Vec<(Listed, Candidate)>) -> Result<Vec<Listed>, O::Error> {
    let candidates: Vec<&Candidate> = found.iter().map(|(_, candidate)| candidate).collect();
    let places = declarations(outputs, &candidates)?;
    let listed = found.into_iter().zip(places);
    Ok(listed.map(|((listed, _), place)| Listed { place, ..listed }).collect())
}

#[cfg(test)]
mod tests {
    use super::super::samples::Sample;
    use super::*;

    fn lines(sample: &mut Sample, container: &Container, page: (usize, usize)) -> (Vec<String>, usize, usize) {
        let symbols = sample.names();
        let layout = Layout::from_outputs(sample).expect("a layout");
        let found = contents(sample, &symbols, &layout, container, page).expect("contents");
        let line = |one: &Listed| {
            let words = format!("{} {}", one.accessibility, one.kind);
            let place = one.place.as_ref().map_or_else(String::new, |place| format!(" {place}"));
            let types = one.types.map_or_else(String::new, |count| format!(" {count}"));
            format!("{} {}{types}{place}", words.trim(), one.path)
        };
        (found.listed.iter().map(line).collect(), found.total, found.types)
    }

    const PROJECT: &str =
        "<Project Sdk=\"Microsoft.NET.Sdk\"><PropertyGroup><TargetFramework>net8.0</TargetFramework></PropertyGroup></Project>";

    fn sample() -> Sample {
        Sample::from_files(&[
            ("src/App/App.csproj", PROJECT),
            (
                "src/App/a.cs",
                "namespace N.M;\npublic class A {\n  public int Get(int x) => x;\n  enum E { One, Two }\n}\n",
            ),
            (
                "src/App/Deep/b.cs",
                "namespace N;\ninterface B { void Go(); }\npartial class P { int first; }\n",
            ),
            ("src/Lib/Lib.csproj", PROJECT),
            ("src/Lib/c.cs", "namespace N { partial class P { int second; } }\n"),
            ("src/Lib/Deep/Lib.csproj", PROJECT),
        ])
    }

    #[test]
    fn names_of_paths_and_projects() {
        let layout = Layout::from_outputs(&mut sample()).expect("a layout");
        let path = |text: &str| layout.path(text);
        assert_eq!(path("."), Some(Container::Folder(String::new())));
        assert_eq!(path("./src/App/"), Some(Container::Folder("src/App".to_owned())));
        assert_eq!(path("src\\App\\a.cs"), Some(Container::File("src/App/a.cs".to_owned())));
        assert_eq!(
            path("src/App/App.csproj"),
            Some(Container::Project("src/App/App.csproj".to_owned()))
        );
        assert_eq!((path("src/Ap"), path("App")), (None, None));
        for name in ["App", "app.csproj"] {
            assert_eq!(
                layout.project(name),
                Ok(Some(Container::Project("src/App/App.csproj".to_owned()))),
                "{name}"
            );
        }
        assert_eq!(layout.project("None"), Ok(None));
        let several = layout.project("Lib").expect_err("two");
        assert_eq!(several.diagnostic.candidates, ["src/Lib/Deep/Lib.csproj", "src/Lib/Lib.csproj"]);
    }

    #[test]
    fn types_stand_where_they_are_declared() {
        let mut sample = sample();
        let mut of = |container: Container| lines(&mut sample, &container, (0, 9)).0;
        assert_eq!(
            of(Container::Namespace("N".to_owned())),
            [
                "internal interface N.B src/App/Deep/b.cs:2:11",
                "public class N.M.A src/App/a.cs:2:14",
                "internal class N.P@App src/App/Deep/b.cs:3:15",
                "internal class N.P@src/Lib/Lib.csproj src/Lib/c.cs:1:29",
            ]
        );
        assert_eq!(
            of(Container::Project("src/Lib/Lib.csproj".to_owned())),
            ["internal class N.P@src/Lib/Lib.csproj src/Lib/c.cs:1:29"]
        );
        assert_eq!(
            of(Container::Folder("src/App/Deep".to_owned())),
            [
                "internal interface N.B src/App/Deep/b.cs:2:11",
                "internal class N.P@App src/App/Deep/b.cs:3:15",
            ]
        );
        assert_eq!(
            of(Container::File("src/App/a.cs".to_owned())),
            [
                "public class N.M.A src/App/a.cs:2:14",
                "public method N.M.A#Get(int) src/App/a.cs:3:14",
                "private enum N.M.A+E src/App/a.cs:4:8",
                "public enum member N.M.A+E#One src/App/a.cs:4:12",
                "public enum member N.M.A+E#Two src/App/a.cs:4:17",
            ]
        );
    }

    #[test]
    fn of_much_the_next_level_is_listed_page_by_page() {
        let mut text = String::from("namespace N { class First { } class Second { } }\n");
        for number in 0..FEW {
            text.push_str(&format!("namespace N.M{}.O {{ class C{number} {{ }} }}\n", number % 3));
        }
        let mut sample = Sample::from_files(&[("src/a.cs", &text), ("lib/b.cs", "class B { }")]);
        let of = Container::Namespace("N".to_owned());
        assert_eq!(
            lines(&mut sample, &of, (0, 4)),
            (
                vec![
                    "namespace N.M0 34".to_owned(),
                    "namespace N.M1 33".to_owned(),
                    "namespace N.M2 33".to_owned(),
                    "internal class N.First src/a.cs:1:21".to_owned(),
                ],
                5,
                FEW + 2
            )
        );
        assert_eq!(lines(&mut sample, &of, (4, 4)).0, ["internal class N.Second src/a.cs:1:37"]);
        assert_eq!(
            lines(&mut sample, &Container::Folder(String::new()), (0, 9)).0,
            ["folder lib/ 1", &format!("folder src/ {}", FEW + 2)]
        );
    }
}
