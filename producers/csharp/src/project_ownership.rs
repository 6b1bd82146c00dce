//! Assigns files to projects, from the facts of `csharp/project-facts` and the table `//index:files`.
//!
//! Without that table, a file belongs to the project in its nearest ancestor directory with a project file (of several there, the first by
//! name).

use super::names::NamedType;
use engine::seams::producer::{Failure, Input};
use engine::values::table::Table;
use msbuild::facts::Facts;
use msbuild::files::FileRow;
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeMap;

/// A global using as written: alias, target, whether it is static.
pub type WrittenUsing = (Option<String>, String, bool);

/// Facts about one project.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Project {
    /// `P1` … in the order of sorted paths.
    pub id: String,
    pub path: String,
    /// File name without extension.
    pub name: String,
    /// Assembly name; by default the project's name.
    pub assembly: String,
    /// Target frameworks as written, joined by `;`.
    pub frameworks: String,
    /// Global usings from the project file: `(alias, target, static)`.
    pub usings: Vec<WrittenUsing>,
    /// Paths of all referenced projects, transitive.
    pub references: Vec<String>,
    /// Defined symbols, including those of the framework.
    pub defines: Vec<String>,
    /// Aliases of the references that have some, by path.
    pub aliases: BTreeMap<String, Vec<String>>,
    /// Assemblies that see its internal types.
    pub internals_visible_to: Vec<String>,
    /// Whether its code is checked for overflow outside of `checked` and `unchecked`.
    pub is_checked: bool,
}

/// All projects and their files.
#[derive(Debug, Default)]
pub struct Layout {
    /// Sorted by path.
    pub projects: Vec<Project>,
    by_directory: BTreeMap<String, usize>,
    /// Owners by file, if the table of files is known.
    owners: Option<FxHashMap<String, Option<usize>>>,
    /// Other projects that compile a file.
    also: FxHashMap<String, Vec<String>>,
    /// Files that source generators wrote.
    generated: FxHashSet<String>,
    /// Files compiled only for another framework than the main one.
    other_framework: FxHashSet<String>,
}

impl Layout {
    /// Reads the facts of all projects (each input's item is the project file's path) and the optional table of files.
    pub fn from_inputs(inputs: &[Input], files: Option<&Input>) -> Result<Self, Failure> {
        let mut projects = Vec::with_capacity(inputs.len());
        for input in inputs {
            let facts: Facts = serde_json::from_slice(&input.bytes)
                .map_err(|error| Failure::permanent(format!("the facts of project {} cannot be read: {error}", input.item)))?;
            projects.push(project(&input.item, facts));
        }
        projects.sort_by(|a, b| a.path.cmp(&b.path));
        let mut by_directory = BTreeMap::new();
        for (at, project) in projects.iter_mut().enumerate() {
            project.id = format!("P{}", at + 1);
            by_directory.entry(directory(&project.path).to_owned()).or_insert(at);
        }
        let mut layout = Self {
            projects,
            by_directory,
            ..Self::default()
        };
        if let Some(files) = files {
            layout.read_owners(&files.bytes)?;
        }
        Ok(layout)
    }

    fn read_owners(&mut self, table: &[u8]) -> Result<(), Failure> {
        let table = Table::open(table).ok_or_else(|| Failure::permanent("input 'files' is not a table"))?;
        self.add_owners(table.rows())
    }

    /// Reads rows of the table of files.
    pub fn add_owners<'r>(&mut self, rows: impl Iterator<Item = (&'r str, &'r [u8])>) -> Result<(), Failure> {
        let at_path: FxHashMap<&str, usize> = self
            .projects
            .iter()
            .enumerate()
            .map(|(at, project)| (project.path.as_str(), at))
            .collect();
        let owners = self.owners.get_or_insert_default();
        for (file, row) in rows {
            let row: FileRow =
                serde_json::from_slice(row).map_err(|error| Failure::permanent(format!("the row of {file} cannot be read: {error}")))?;
            owners.insert(
                file.to_owned(),
                row.project.first().and_then(|path| at_path.get(path.as_str()).copied()),
            );
            if !row.also.is_empty() {
                self.also.insert(file.to_owned(), row.also);
            }
            if row.generated {
                self.generated.insert(file.to_owned());
            }
            if row.tfm.is_some() {
                self.other_framework.insert(file.to_owned());
            }
        }
        Ok(())
    }

    /// Returns the sorted paths of the projects that compile a file without owning it.
    pub fn also(&self, file: &str) -> &[String] {
        self.also.get(file).map_or(&[], Vec::as_slice)
    }

    /// Whether a project lists a file as written by a source generator.
    pub fn is_generated(&self, file: &str) -> bool {
        self.generated.contains(file)
    }

    /// Returns all files that source generators wrote.
    pub fn generated(&self) -> impl Iterator<Item = &str> {
        self.generated.iter().map(String::as_str)
    }

    /// Whether a file is read under other symbols than those of its project's main framework.
    pub fn has_own_symbols(&self, file: &str) -> bool {
        self.other_framework.contains(file)
    }

    /// Returns the project that a declaration belongs to: the first of the projects `of` that alone compile it, otherwise the owner of the file.
    pub fn compiler(&self, of: &[String], file: &str) -> Option<usize> {
        let named = of.first().and_then(|path| self.at_path(path));
        named.or_else(|| self.owner(file))
    }

    /// Returns the paths of the further projects that compile a declaration.
    pub fn other_compilers<'l>(&'l self, decl: &'l NamedType, file: &str) -> impl Iterator<Item = &'l String> {
        let others = match decl.of.as_slice() {
            [] => self.also(file),
            [_, others @ ..] => others,
        };
        others.iter().filter(|path| !decl.not_of.contains(path))
    }

    pub fn at_path(&self, path: &str) -> Option<usize> {
        self.projects.binary_search_by(|project| project.path.as_str().cmp(path)).ok()
    }

    /// Returns the project with an identifier (`P1` …).
    pub fn with_id(&self, id: &str) -> Option<&Project> {
        let number: usize = id.strip_prefix('P')?.parse().ok()?;
        self.projects.get(number.checked_sub(1)?)
    }

    /// Returns, for each project, the text after `@` in keys of its types: its name, or its path if another project has that name.
    pub fn scope_names(&self) -> Vec<&str> {
        let mut same_name: FxHashMap<&str, usize> = FxHashMap::from_iter([("loose", 1)]);
        for project in &self.projects {
            *same_name.entry(&project.name).or_default() += 1;
        }
        let name = |project: &'_ Project| same_name[project.name.as_str()] > 1;
        let names = self.projects.iter();
        names
            .map(|project| {
                if name(project) {
                    project.path.as_str()
                } else {
                    project.name.as_str()
                }
            })
            .collect()
    }

    /// Returns the project that owns a file.
    pub fn owner(&self, file: &str) -> Option<usize> {
        match &self.owners {
            Some(owners) => owners.get(file).copied().flatten(),
            None => self.project_above(file),
        }
    }

    /// Returns the project in the nearest directory above a file, whether or not it compiles the file.
    pub fn project_above(&self, file: &str) -> Option<usize> {
        ancestors(file).find_map(|directory| self.by_directory.get(directory).copied())
    }

    /// Returns the files whose owner is not the nearest project, with their owners.
    pub fn files_not_of_nearest_project(&self) -> impl Iterator<Item = (&str, Option<usize>)> {
        self.owners
            .iter()
            .flatten()
            .filter(|(file, owner)| self.project_above(file) != **owner)
            .map(|(file, owner)| (file.as_str(), *owner))
    }
}

/// Returns the directories above a path, nearest first; the root `""` is last.
pub fn ancestors(path: &str) -> impl Iterator<Item = &str> {
    std::iter::successors(Some(directory(path)), |above| (!above.is_empty()).then(|| directory(above)))
}

/// Returns the directory of a path; `""` at the root.
pub fn directory(path: &str) -> &str {
    path.rfind('/').map_or("", |slash| &path[..slash])
}

fn project(path: &str, facts: Facts) -> Project {
    let file = path.rsplit('/').next().unwrap_or(path);
    let name = file.rsplit_once('.').map_or(file, |(stem, _)| stem).to_owned();
    let mut references = facts.references;
    references.extend(facts.transitive);
    references.sort();
    references.dedup();
    let mut defines = facts.defines;
    defines.extend(facts.implicit_symbols);
    defines.sort();
    Project {
        id: String::new(),
        path: path.to_owned(),
        assembly: if facts.assembly.is_empty() { name.clone() } else { facts.assembly },
        name,
        frameworks: if facts.tfms.is_empty() {
            facts.tfm.unwrap_or_default()
        } else {
            facts.tfms.join(";")
        },
        usings: facts.usings.iter().map(|using| parse_using(using)).collect(),
        references,
        defines,
        aliases: facts.aliases,
        internals_visible_to: facts.internals_visible_to,
        is_checked: facts.checked,
    }
}

/// Parses a using in C# notation: `System.Linq`, `static X`, `A = B.C`.
fn parse_using(text: &str) -> WrittenUsing {
    if let Some(target) = text.strip_prefix("static ") {
        return (None, target.trim().to_owned(), true);
    }
    match text.split_once('=') {
        Some((alias, target)) => (Some(alias.trim().to_owned()), target.trim().to_owned(), false),
        None => (None, text.trim().to_owned(), false),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn input(path: &str, facts: &str) -> Input {
        Input::of(path, facts.as_bytes())
    }

    #[test]
    fn nearest_ancestor_owns_a_file() {
        let layout = Layout::from_inputs(
            &[
                input(
                    "src/B/b.csproj",
                    r#"{"references":["src/A/a.csproj"],"transitive":["src/A/Sub/z.csproj","src/A/a.csproj"]}"#,
                ),
                input("src/A/a.csproj", r#"{"assembly":"Acme.A","references":["src/A/Sub/z.csproj"]}"#),
                input("src/A/Sub/z.csproj", r#"{"usings":["System.Linq","static System.Math","X = A.B"]}"#),
                input("src/A/Sub/y.csproj", "{}"),
            ],
            None,
        )
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
