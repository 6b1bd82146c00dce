//! Using directives that the new text of an edit needs: it names a .NET type of a namespace that SDKs import implicitly, and neither the file nor a
//! project of the file imports that namespace.

use super::index::{Symbols, is_within};
use super::lost_names::{EditedFile, last_name};
use super::lost_types::new_places;
use super::outputs::{Outputs, SymbolError};
use crate::edit::symbol::parse_code;
use engine::values::table::Table;
use producers::csharp::deps::dotnet;
use producers::csharp::deps::index::Globals;
use producers::csharp::deps::resolve::IMPLICIT;
use std::collections::{BTreeMap, BTreeSet};

/// Table with the global usings of all projects, by folder.
const SYMBOLS: &str = "//index:symbols";

/// Targets of the global usings of projects, by folder; `?` for those that apply everywhere.
pub(super) struct GlobalUsings(BTreeMap<String, Vec<String>>);

impl GlobalUsings {
    /// Reads the global usings.
    pub(super) fn from_symbols<O: Outputs>(outputs: &mut O) -> Result<Self, O::Error> {
        let mut found = BTreeMap::new();
        for output in outputs.read(&[SYMBOLS.to_owned()])? {
            let Some(bytes) = output.bytes else { continue };
            let damaged = || SymbolError::damaged().at_label(&output.label);
            let table = Table::open(&bytes).ok_or_else(damaged)?;
            for (key, row) in table.rows() {
                let Some(folder) = key.strip_prefix("using:") else { continue };
                let row: Globals = serde_json::from_slice(row).map_err(|_| damaged())?;
                // An alias opens no namespace.
                let usings = row.usings.into_iter().filter(|one| one.alias.is_none());
                found.insert(folder.to_owned(), usings.map(|one| one.target).collect());
            }
        }
        Ok(Self(found))
    }

    /// Returns the targets that apply to a file, from each project that may compile it.
    pub(super) fn of_file<'s>(&'s self, path: &'s str) -> impl Iterator<Item = &'s str> {
        let applies = move |folder: &str| folder == "?" || is_in_folder(folder, path);
        let all = self.0.iter().filter(move |(folder, _)| applies(folder));
        all.flat_map(|(_, targets)| targets).map(String::as_str)
    }

    /// Whether a known project may compile a file.
    fn have_project_of(&self, path: &str) -> bool {
        self.0.keys().any(|folder| folder != "?" && is_in_folder(folder, path))
    }
}

fn is_in_folder(folder: &str, path: &str) -> bool {
    folder.is_empty() || path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'))
}

/// Describes the .NET types that the edits name without the needed using directive. `named`: types outside of the workspace that the edited types
/// name.
pub(super) fn missing_usings(
    symbols: &Symbols,
    files: &[EditedFile],
    named: &BTreeSet<String>,
    globals: &GlobalUsings,
) -> BTreeSet<String> {
    let mut messages = BTreeSet::new();
    for file in files {
        // The global usings of a file without a project are unknown.
        if !globals.have_project_of(&file.path) {
            continue;
        }
        let syntax = parse_code(&file.after, &BTreeSet::new());
        let own = syntax
            .usings
            .iter()
            .filter(|one| one.alias.is_none())
            .map(|one| one.target.as_str());
        let all = globals.of_file(&file.path);
        let opened: BTreeSet<&str> = own.chain(all).map(|target| target.trim_start_matches("global::")).collect();
        let is_around = |space: &str| syntax.types.iter().any(|decl| is_within(&decl.namespace, space));
        for name in named.iter().filter(|name| dotnet::get(name).is_some()) {
            let Some((space, _)) = name.rsplit_once('.') else { continue };
            let last = last_name(name);
            if !IMPLICIT.contains(&space) || opened.contains(space) || is_around(space) || !file.gains(last) {
                continue;
            }
            // The name may refer to a member of the workspace.
            if symbols.declared(last).next().is_some() {
                continue;
            }
            let is_alias = syntax.usings.iter().any(|one| one.alias.as_deref() == Some(last));
            let places = new_places(file, last, |before| !before.ends_with(['.', ':']));
            if !places.is_empty() && !is_alias {
                messages.insert(format!("{last} needs `using {space};` at {}", places.join(", ")));
            }
        }
    }
    messages
}

#[cfg(test)]
mod tests {
    use super::super::lost_names::lost_names;
    use super::super::samples::Sample;
    use super::*;

    #[test]
    fn names_of_namespaces_that_nothing_opens() {
        let before = "namespace N { class A { void M() { } } }\n";
        let body = "List<int> all = null; System.IO.File.Delete(Path.Combine(\"a\")); Action x = null;";
        let after = format!("using System;\n{}", before.replace("{ }", &format!("{{ {body} }}")));
        let project = |more: &str| {
            format!(
                "<Project Sdk=\"Microsoft.NET.Sdk\"><PropertyGroup><TargetFramework>net8.0</TargetFramework>{more}</PropertyGroup></Project>"
            )
        };
        let told = |projects: &[(&str, &str)]| {
            let mut files = projects.to_vec();
            files.push(("src/a.cs", after.as_str()));
            let mut sample = Sample::from_files(&files);
            let symbols = sample.names();
            let edited = [EditedFile {
                path: "src/a.cs".to_owned(),
                before: before.to_owned(),
                after: after.clone(),
            }];
            let disk = sample.world();
            lost_names(&mut sample, &symbols, &*disk, &edited).expect("an answer").lost
        };
        assert_eq!(
            told(&[("src/p.csproj", &project(""))]),
            [
                "List needs `using System.Collections.Generic;` at src/a.cs:2:36",
                "Path needs `using System.IO;` at src/a.cs:2:80"
            ]
        );
        assert_eq!(
            told(&[("src/p.csproj", &project("<ImplicitUsings>enable</ImplicitUsings>"))]),
            [""; 0]
        );
        assert_eq!(told(&[]), [""; 0]);
    }

    #[test]
    fn a_global_alias_of_a_type_of_a_package_opens_no_namespace() {
        let before = "namespace N { class A { void M() { } } }\n";
        let after = before.replace("{ }", "{ Nowhere x = null; }");
        let alias = ("src/g.cs", "global using Things = Package.List<int>;\n");
        let told = |files: &[(&str, &str)]| {
            let mut sample = Sample::from_files(&[files, &[("src/a.cs", after.as_str())]].concat());
            let symbols = sample.names();
            let edited = [EditedFile {
                path: "src/a.cs".to_owned(),
                before: before.to_owned(),
                after: after.clone(),
            }];
            let disk = sample.world();
            lost_names(&mut sample, &symbols, &*disk, &edited).expect("an answer").lost
        };
        assert_eq!(told(&[alias]), ["Nowhere is not a known type at src/a.cs:1:36"]);
        assert_eq!(told(&[("src/g.cs", "global using Package;\n")]), [""; 0]);
    }
}
