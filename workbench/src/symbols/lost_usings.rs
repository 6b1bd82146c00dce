//! Using directives that the new text of an edit needs: it names a .NET type of a namespace that SDKs import implicitly, and neither the file nor a
//! project of the file imports that namespace; or the edit removed the directive for a name that the file still contains.

use super::index::{Symbols, is_within, namespace};
use super::lost_names::{EditedFile, last_name};
use super::lost_types::{list_places, new_places};
use super::outputs::{Outputs, SymbolError};
use super::undeclared_qualifiers::qualifiers;
use crate::code_text::declared::parse_code;
use engine::values::table::Table;
use producers::csharp::deps::dotnet;
use producers::csharp::deps::index::Globals;
use producers::csharp::deps::resolve::IMPLICIT;
use producers::csharp::lexer::{Kind, lex};
use producers::csharp::model::Syntax;
use std::collections::{BTreeMap, BTreeSet};

/// Table with the global usings of all projects, by folder.
const SYMBOLS: &str = "//index:symbols";

/// Targets of the global usings of projects, by folder; `?` for those that apply everywhere.
pub(super) struct GlobalUsings(BTreeMap<String, Vec<String>>);

impl GlobalUsings {
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

/// Returns the targets of the using directives of a file, without aliases.
fn targets_of_usings(syntax: &Syntax) -> impl Iterator<Item = &str> {
    let plain = syntax.usings.iter().filter(|one| one.alias.is_none());
    plain.map(|one| one.target.trim_start_matches("global::"))
}

/// Whether a file has an alias of this name.
fn is_alias(syntax: &Syntax, name: &str) -> bool {
    syntax.usings.iter().any(|one| one.alias.as_deref() == Some(name))
}

/// Targets of using directives that the edits removed, by file.
pub(super) struct RemovedUsings(BTreeMap<String, BTreeSet<String>>);

impl RemovedUsings {
    /// Finds the removed directives whose targets nothing else opens in their file; of a moved file also the global ones of its former path.
    pub(super) fn from_edits(
        files: &[EditedFile],
        former_paths: &BTreeMap<String, String>,
        globals: &GlobalUsings,
        with_packages: &BTreeSet<String>,
    ) -> Self {
        let mut found = BTreeMap::new();
        for file in files {
            let [before, after] = [&file.before, &file.after].map(|text| parse_code(text, &BTreeSet::new()));
            let former = former_paths.get(&file.path).into_iter().flat_map(|path| globals.of_file(path));
            let former = former.map(|target| target.trim_start_matches("global::"));
            let was: BTreeSet<&str> = targets_of_usings(&before).chain(former).collect();
            let own: BTreeSet<&str> = targets_of_usings(&after).collect();
            // A package whose using directive is new may declare the names.
            if with_packages.contains(&file.path) && !own.is_subset(&was) {
                continue;
            }
            let opened: BTreeSet<&str> = globals.of_file(&file.path).map(|one| one.trim_start_matches("global::")).collect();
            let is_around = |space: &str| after.types.iter().any(|decl| is_within(&decl.namespace, space));
            // The global usings of a file without a project are unknown.
            let may_be_implicit = |space: &str| IMPLICIT.contains(&space) && !globals.have_project_of(&file.path);
            let is_open = |space: &str| opened.contains(space) || is_around(space) || may_be_implicit(space);
            let removed = was.difference(&own).filter(|space| !is_open(space));
            found.insert(file.path.clone(), removed.map(|space| (*space).to_owned()).collect());
        }
        Self(found)
    }

    fn of_file(&self, file: &str) -> impl Iterator<Item = &str> {
        self.0.get(file).into_iter().flatten().map(String::as_str)
    }

    /// Returns the removed target whose types declare a member of this name.
    pub(super) fn target_with_member(&self, symbols: &Symbols, file: &str, name: &str) -> Option<&str> {
        let owners = self
            .0
            .get(file)
            .filter(|removed| !removed.is_empty())
            .map(|_| symbols.owners(name))?;
        self.of_file(file)
            .find(|target| owners.iter().any(|owner| owner == target || namespace(owner) == *target))
    }

    /// Describes the types that a file names through removed directives. `named`: as for [`missing_usings`].
    fn describe_types(&self, symbols: &Symbols, file: &EditedFile, syntax: &Syntax, named: &BTreeSet<String>) -> BTreeSet<String> {
        let mut messages = BTreeSet::new();
        for target in self.of_file(&file.path) {
            for name in named {
                let is_declared = |key: String| symbols.has_symbol(&key) || dotnet::known(&key).is_some();
                let is_of_target = match name.rsplit_once('.') {
                    Some((space, _)) => space == target && dotnet::get(name).is_some(),
                    None => is_declared(format!("{target}.{name}")) || is_declared(format!("{target}.{name}Attribute")),
                };
                let last = last_name(name);
                // The places of a member of that name are not those of the type.
                let is_member = || syntax.types.iter().flat_map(|decl| &decl.members).any(|member| member.name == last);
                if !is_of_target || is_alias(syntax, last) || is_member() {
                    continue;
                }
                let places = list_places(file, last, |before| !before.ends_with(['.', ':']), |_| true);
                if !places.is_empty() {
                    messages.insert(format!("{last} needs `using {target};` at {}", places.join(", ")));
                }
            }
        }
        messages
    }

    /// Describes the types that a file names before a dot (`Math.Max(1, 2)`) and that only removed directives open. `opened`: the other targets.
    fn describe_qualifiers(&self, symbols: &Symbols, file: &EditedFile, syntax: &Syntax, opened: &BTreeSet<&str>) -> BTreeSet<String> {
        let removed: Vec<&str> = self.of_file(&file.path).collect();
        let mut messages = BTreeSet::new();
        if removed.is_empty() {
            return messages;
        }
        let around = syntax.types.iter().flat_map(|decl| with_outer_namespaces(&decl.namespace));
        let visible: BTreeSet<&str> = opened.iter().copied().chain(around).collect();
        let own = symbols.types_of_file(&file.path);
        let family: BTreeSet<String> = own
            .flat_map(|key| std::iter::once(key.to_owned()).chain(symbols.bases(key)))
            .collect();
        let words: BTreeSet<&str> = qualifiers(&file.after, true).into_iter().map(|(word, _)| word).collect();
        for word in words {
            let declares = |space: &&str| {
                let key = format!("{space}.{word}");
                symbols.has_symbol(&key) || dotnet::known(&key).is_some()
            };
            let Some(target) = removed.iter().copied().find(declares) else {
                continue;
            };
            let is_member = |key: &String| symbols.declares(key, word) || symbols.has_symbol(&format!("{key}+{word}"));
            let has_other_meaning = visible.iter().any(declares)
                || symbols.has_symbol(word)
                || family.iter().any(is_member)
                || is_alias(syntax, word)
                || declares_value(&file.after, word);
            let places = list_places(file, word, |before| !before.ends_with(['.', ':']), |_| true);
            if !has_other_meaning && !places.is_empty() {
                messages.insert(format!("{word} needs `using {target};` at {}", places.join(", ")));
            }
        }
        messages
    }
}

/// Returns a namespace and its outer namespaces, innermost first.
fn with_outer_namespaces(namespace: &str) -> impl Iterator<Item = &str> {
    let inner = Some(namespace).filter(|space| !space.is_empty());
    std::iter::successors(inner, |space| space.rsplit_once('.').map(|(outer, _)| outer))
}

/// Whether a text seems to declare a local or a parameter of this name: `object Kind)`, `var Kind =`.
fn declares_value(text: &str, name: &str) -> bool {
    let tokens = lex(text).tokens;
    let word = |at: usize| tokens.get(at).map_or("", |token| token.text(text));
    let is_type_end = |at: usize| match tokens[at].kind {
        Kind::Word => !["new", "return", "is", "as", "case", "throw", "await", "in", "using"].contains(&word(at)),
        _ => matches!(word(at), ">" | "?" | "]"),
    };
    (1..tokens.len()).any(|at| {
        let ends = matches!(word(at + 1), "=" | ";" | "," | ")" | "in" | "=>");
        word(at) == name && ends && is_type_end(at - 1)
    })
}

/// Describes the types that the edits name without the needed using directive. `named`: types outside of the workspace that the edited types name.
pub(super) fn missing_usings(
    symbols: &Symbols,
    files: &[EditedFile],
    named: &BTreeSet<String>,
    (globals, removed): (&GlobalUsings, &RemovedUsings),
) -> BTreeSet<String> {
    let mut messages = BTreeSet::new();
    for file in files {
        let syntax = parse_code(&file.after, &BTreeSet::new());
        let all = globals.of_file(&file.path).map(|target| target.trim_start_matches("global::"));
        let opened: BTreeSet<&str> = targets_of_usings(&syntax).chain(all).collect();
        let of_types = removed.describe_types(symbols, file, &syntax, named);
        let of_qualifiers = removed.describe_qualifiers(symbols, file, &syntax, &opened);
        let name_of = |message: &str| message.split(' ').next().map(str::to_owned);
        let told: BTreeSet<Option<String>> = of_types.iter().map(|message| name_of(message)).collect();
        messages.extend(of_qualifiers.into_iter().filter(|message| !told.contains(&name_of(message))));
        messages.extend(of_types);
        // The global usings of a file without a project are unknown.
        if !globals.have_project_of(&file.path) {
            continue;
        }
        let opened: BTreeSet<&str> = opened.into_iter().chain(removed.of_file(&file.path)).collect();
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
            let places = new_places(file, last, |before| !before.ends_with(['.', ':']));
            if !places.is_empty() && !is_alias(&syntax, last) {
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
    fn names_whose_using_directive_an_edit_removes() {
        let code = "namespace N { class A { Box b; StringBuilder s; Other.Free f; object M(Other.Free o) => o.Open() + Ticks(); } }\n";
        let other = "namespace Deep { public class Box { } public static class Opening { public static object Open(this Other.Free f) => f; } }\nnamespace Other { public class Free { public static int Ticks() => 1; } }\n";
        let told = |usings: &str, without: &str| {
            let before = format!("{usings}{code}");
            let after = before.replace(without, "");
            let mut sample = Sample::from_files(&[("src/other.cs", other), ("src/a.cs", after.as_str())]);
            let symbols = sample.names();
            let edited = [EditedFile {
                path: "src/a.cs".to_owned(),
                before,
                after,
            }];
            let disk = sample.world();
            lost_names(&mut sample, &symbols, &*disk, &edited).expect("an answer").lost
        };
        let usings = "using System.Text; using Deep; using static Other.Free;\n";
        assert_eq!(
            told(usings, "using Deep; "),
            [
                "Open needs `using Deep;` at src/a.cs:2:91",
                "Box needs `using Deep;` at src/a.cs:2:25"
            ]
        );
        let alias = format!("{usings}using StringBuilder = System.Text.StringBuilder;");
        assert_eq!(told(&alias, "using System.Text; "), [""; 0]);
        assert_eq!(
            told(usings, "using System.Text; "),
            ["StringBuilder needs `using System.Text;` at src/a.cs:2:32"]
        );
        assert_eq!(
            told(usings, "using static Other.Free;"),
            ["Ticks needs `using static Other.Free;` at src/a.cs:2:100"]
        );
        assert_eq!(
            told(&format!("using System.Threading; {usings}"), "using System.Threading; "),
            [""; 0]
        );
        assert_eq!(told(&format!("{usings}using Deep;"), "using Deep; "), [""; 0]);
    }

    #[test]
    fn types_before_a_dot_whose_using_directive_an_edit_removes() {
        let code = "namespace N { class A : Base { int M() => Help.Go(); object K() => Kind.One; object E() => Encoding.UTF8.GetBytes(\"\"); object P() => Text.One; void L(object Local) { Local.Go(); } } class Base { public object Text; } class Near { public static int Go() => 1; } class User { int M() => Near.Go(); } }\n";
        let other = "namespace Deep { public enum Kind { One } public static class Help { public static int Go() => 1; } public class Text { public static int One; } public class Local { } public class Near { } }\n";
        let told = |without: &str| {
            let before = format!("using Deep; using System.Text;\n{code}");
            let after = before.replace(without, "");
            let mut sample = Sample::from_files(&[("src/other.cs", other), ("src/a.cs", after.as_str())]);
            let symbols = sample.names();
            let edited = [EditedFile {
                path: "src/a.cs".to_owned(),
                before,
                after,
            }];
            let disk = sample.world();
            let lost = lost_names(&mut sample, &symbols, &*disk, &edited).expect("an answer").lost;
            lost.iter()
                .map(|one| one.split(" at ").next().unwrap_or_default().to_owned())
                .collect::<Vec<_>>()
        };
        assert_eq!(told("using Deep; "), ["Help needs `using Deep;`", "Kind needs `using Deep;`"]);
        assert_eq!(told("using System.Text;"), ["Encoding needs `using System.Text;`"]);
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
