//! Which project a file belongs to, from the facts that `csharp/project` gives.
//!
//! A file belongs to the project whose directory is its nearest ancestor with a project file (of several in one directory the
//! first by name). It does not know Compile items: linked and removed files are not seen yet.

use engine::seams::producer::{Failure, Input};
use serde_json::Value;
use std::collections::BTreeMap;

/// What `ImplicitUsings` opens in Microsoft.NET.Sdk.
const IMPLICIT: [&str; 7] = [
    "System",
    "System.Collections.Generic",
    "System.IO",
    "System.Linq",
    "System.Net.Http",
    "System.Threading",
    "System.Threading.Tasks",
];

/// A global using as written: alias, target, whether it is static.
pub type WrittenUsing = (Option<String>, String, bool);

/// What is known of one project.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Project {
    /// `P1` … in the order of sorted paths.
    pub id: String,
    /// Path of the project file.
    pub path: String,
    /// File name without extension.
    pub name: String,
    /// Assembly name, the project's name when not set.
    pub assembly: String,
    /// Target frameworks as written, joined by `;`.
    pub frameworks: String,
    /// Global usings from the project file: `(alias, target, static)`.
    pub usings: Vec<WrittenUsing>,
    /// Paths of all projects it references, transitively.
    pub references: Vec<String>,
}

/// All projects and the directories they own.
#[derive(Debug, Default)]
pub struct Layout {
    /// Sorted by path.
    pub projects: Vec<Project>,
    by_directory: BTreeMap<String, usize>,
}

impl Layout {
    /// Reads the facts of all projects; the item of each input is the path of its project file.
    ///
    /// # Errors
    /// When a blob is not a JSON object.
    pub fn read(inputs: &[Input]) -> Result<Self, Failure> {
        let mut projects = Vec::with_capacity(inputs.len());
        for input in inputs {
            let facts: Value = serde_json::from_slice(&input.bytes)
                .map_err(|error| Failure::permanent(format!("the facts of project {} are not JSON: {error}", input.item)))?;
            projects.push(project(&input.item, &facts));
        }
        projects.sort_by(|a, b| a.path.cmp(&b.path));
        let mut by_directory = BTreeMap::new();
        for (at, project) in projects.iter_mut().enumerate() {
            project.id = format!("P{}", at + 1);
            by_directory.entry(directory(&project.path).to_owned()).or_insert(at);
        }
        let mut layout = Self { projects, by_directory };
        layout.close_references();
        Ok(layout)
    }

    /// The project a file belongs to.
    pub fn owner(&self, file: &str) -> Option<usize> {
        ancestors(file).find_map(|directory| self.by_directory.get(directory).copied())
    }

    /// Makes references transitive.
    fn close_references(&mut self) {
        let at_path: BTreeMap<String, usize> = self
            .projects
            .iter()
            .enumerate()
            .map(|(at, project)| (project.path.clone(), at))
            .collect();
        let direct: Vec<Vec<usize>> = self
            .projects
            .iter()
            .map(|project| project.references.iter().filter_map(|path| at_path.get(path).copied()).collect())
            .collect();
        for at in 0..self.projects.len() {
            let mut seen = vec![false; direct.len()];
            let mut open = direct[at].clone();
            while let Some(next) = open.pop() {
                if !std::mem::replace(&mut seen[next], true) {
                    open.extend(&direct[next]);
                }
            }
            self.projects[at].references = (0..direct.len())
                .filter(|&other| seen[other])
                .map(|other| self.projects[other].path.clone())
                .collect();
        }
    }
}

/// The directories above a path, nearest first, `""` for the root last.
pub fn ancestors(path: &str) -> impl Iterator<Item = &str> {
    std::iter::successors(Some(directory(path)), |above| (!above.is_empty()).then(|| directory(above)))
}

/// The directory of a path, `""` at the root.
pub fn directory(path: &str) -> &str {
    path.rfind('/').map_or("", |slash| &path[..slash])
}

fn project(path: &str, facts: &Value) -> Project {
    let text = |names: &[&str]| {
        names
            .iter()
            .find_map(|name| facts.get(name)?.as_str())
            .filter(|text| !text.is_empty())
            .map(str::to_owned)
    };
    let list = |names: &[&str]| -> Vec<Value> {
        names
            .iter()
            .find_map(|name| facts.get(name)?.as_array())
            .cloned()
            .unwrap_or_default()
    };
    let strings = |values: Vec<Value>| -> Vec<String> { values.iter().filter_map(|value| value.as_str().map(str::to_owned)).collect() };
    let file = path.rsplit('/').next().unwrap_or(path);
    let name = file.rsplit_once('.').map_or(file, |(stem, _)| stem).to_owned();
    let frameworks = strings(list(&["tfms", "frameworks", "target_frameworks", "targetFrameworks"])).join(";");
    let implicit = facts.get("implicit_usings").and_then(Value::as_bool) == Some(true);
    let implicit = IMPLICIT
        .iter()
        .filter(|_| implicit)
        .map(|namespace| (None::<String>, (*namespace).to_owned(), false));
    Project {
        id: String::new(),
        path: path.to_owned(),
        assembly: text(&["assembly", "assembly_name", "assemblyName"]).unwrap_or_else(|| name.clone()),
        name,
        frameworks: if frameworks.is_empty() {
            text(&["tfm", "framework"]).unwrap_or_default()
        } else {
            frameworks
        },
        usings: list(&["usings", "global_usings", "globalUsings"])
            .iter()
            .filter_map(using)
            .chain(implicit)
            .collect(),
        references: strings(list(&["references", "project_references", "projectReferences"])),
    }
}

/// A using as text (`System.Linq`, `static X`, `A = B.C`) or as an object.
fn using(value: &Value) -> Option<(Option<String>, String, bool)> {
    if let Some(text) = value.as_str() {
        if let Some(target) = text.strip_prefix("static ") {
            return Some((None, target.trim().to_owned(), true));
        }
        return Some(match text.split_once('=') {
            Some((alias, target)) => (Some(alias.trim().to_owned()), target.trim().to_owned(), false),
            None => (None, text.trim().to_owned(), false),
        });
    }
    let target = ["target", "include", "namespace"]
        .iter()
        .find_map(|name| value.get(name)?.as_str())?;
    let alias = value.get("alias").and_then(Value::as_str).map(str::to_owned);
    let is_static = ["static", "is_static"]
        .iter()
        .any(|name| value.get(name).and_then(Value::as_bool) == Some(true));
    Some((alias, target.to_owned(), is_static))
}

#[cfg(test)]
mod tests {
    use super::*;
    use engine::values::digest::Digest;

    fn input(path: &str, facts: &str) -> Input {
        Input {
            item: path.into(),
            digest: Digest::of(facts.as_bytes()),
            bytes: facts.as_bytes().into(),
        }
    }

    #[test]
    fn nearest_ancestor_owns_a_file() {
        let layout = Layout::read(&[
            input("src/B/b.csproj", r#"{"references":["src/A/a.csproj"]}"#),
            input("src/A/a.csproj", r#"{"assembly":"Acme.A","references":["src/A/Sub/z.csproj"]}"#),
            input("src/A/Sub/z.csproj", r#"{"usings":["System.Linq","static System.Math","X = A.B"]}"#),
            input("src/A/Sub/y.csproj", "{}"),
        ])
        .expect("objects");
        let owner = |file: &str| layout.owner(file).map(|at| layout.projects[at].path.as_str());
        assert_eq!(owner("src/A/x.cs"), Some("src/A/a.csproj"));
        assert_eq!(owner("src/A/Sub/Deep/x.cs"), Some("src/A/Sub/y.csproj"));
        assert_eq!(owner("x.cs"), None);
        let b = &layout.projects[3];
        assert_eq!((b.id.as_str(), b.assembly.as_str()), ("P4", "b"));
        assert_eq!(b.references, ["src/A/Sub/z.csproj", "src/A/a.csproj"]);
        let z = &layout.projects[1];
        assert_eq!(
            z.usings,
            [
                (None, "System.Linq".into(), false),
                (None, "System.Math".into(), true),
                (Some("X".into()), "A.B".into(), false)
            ]
        );
    }
}
