//! Messages of `//index:types` about types declared more than once: one message per kind. Each names the folder that contains most copies,
//! and the setting that excludes it.

use engine::values::codes::ErrorCode;
use engine::values::diagnostic::{Diagnostic, Severity};
use std::collections::{BTreeMap, BTreeSet};

/// The way in which a type is declared more than once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// Several projects or files declare a type of this name, each a separate type.
    Apart,
    /// Several times in one project, without `partial`.
    Merged,
    /// Several times in files that no project compiles, without `partial`.
    MergedLoose,
    /// In a project, and again in files that only another of its target frameworks compiles.
    MergedFrameworks,
}

/// A type that is declared more than once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Duplicate<'a> {
    pub kind: Kind,
    /// Its namespace and path.
    pub symbol: &'a str,
    /// Its keys, or the files of its parts.
    pub candidates: Vec<String>,
    /// Message if it is the only duplicate of its kind.
    pub message: String,
    /// Files that may be copies.
    pub files: BTreeSet<&'a str>,
    /// Whether all declarations may be excluded, because no project compiles any.
    pub is_loose: bool,
}

/// Returns one message per kind of duplicate. `projects` are folders that no hint may exclude: those of project files, and those of output
/// that generators write for a project.
pub fn summaries(duplicates: &[Duplicate<'_>], projects: &BTreeSet<&str>) -> Vec<Diagnostic> {
    let mut by_kind: BTreeMap<Kind, Vec<&Duplicate<'_>>> = BTreeMap::new();
    for duplicate in duplicates {
        by_kind.entry(duplicate.kind).or_default().push(duplicate);
    }
    by_kind
        .into_iter()
        .map(|(kind, all)| summarize_duplicates(kind, &all, projects))
        .collect()
}

fn summarize_duplicates(kind: Kind, all: &[&Duplicate<'_>], projects: &BTreeSet<&str>) -> Diagnostic {
    let (code, severity) = match kind {
        Kind::Apart => (ErrorCode::CS_SAME_SYMBOL, Severity::Note),
        Kind::Merged => (ErrorCode::CS_DECLARED_TWICE, Severity::Warning),
        Kind::MergedLoose | Kind::MergedFrameworks => (ErrorCode::CS_DECLARED_TWICE, Severity::Note),
    };
    if let [one] = all {
        return Diagnostic::new(severity, code, one.message.clone()).candidates(one.candidates.clone());
    }
    let count = all.len();
    let mut message = match kind {
        Kind::Apart => {
            format!("{count} types are declared in several projects or files; each is written with @ and its project, or @loose")
        }
        Kind::Merged => format!("{count} types are declared several times in one project without 'partial'; their parts were merged"),
        Kind::MergedLoose => {
            format!("{count} types are declared several times in files that no project compiles; their parts were merged")
        }
        Kind::MergedFrameworks => {
            format!("{count} types are declared again in files that only other target frameworks compile; their parts were merged")
        }
    };
    message.push_str(&format!(" (the first is {})", all[0].symbol));
    if kind == Kind::MergedFrameworks {
        let (file, count) = file_of_most(all);
        message.push_str(&format!("; {count} of them are in {file}"));
        let glob = escaped(file);
        return Diagnostic::new(severity, code, message).hint(format!(
            "if answers for the main framework are enough, add \"{glob}\" to exclude under [sources.csharp]"
        ));
    }
    match folder_to_exclude(all, projects) {
        Some((folder, count)) => {
            message.push_str(&format!("; {count} of them are in {folder}"));
            let glob = format!("\"{}/**\"", escaped(folder));
            let exclude = format!("if these are copies, add {glob} to exclude under [sources.csharp]");
            // Files that no project compiles may be generated for one.
            let hint = match all.iter().any(|one| one.is_loose) {
                true => format!(
                    "if a project compiles them, as it does generated code, add {glob} to include under [producer.project.params.projects.\"PATH.csproj\"]; {exclude}"
                ),
                false => exclude,
            };
            Diagnostic::new(severity, code, message).hint(hint)
        }
        None => Diagnostic::new(severity, code, message),
    }
}

/// Returns the file that contains most of the duplicates, the first by name of several.
fn file_of_most<'a>(all: &[&Duplicate<'a>]) -> (&'a str, usize) {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for file in all.iter().flat_map(|one| &one.files) {
        *counts.entry(file).or_default() += 1;
    }
    counts.into_iter().rev().max_by_key(|(_, count)| *count).unwrap_or_default()
}

/// Returns the folder to exclude: the deepest with half of the duplicates, otherwise the one with most. It never contains a project, or all
/// files of a type that a project compiles. A type that several projects each compile is no copy.
fn folder_to_exclude<'a>(all: &[&Duplicate<'a>], projects: &BTreeSet<&str>) -> Option<(&'a str, usize)> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for duplicate in all.iter().filter(|one| one.is_loose || one.kind != Kind::Apart) {
        let mut own: BTreeMap<&str, usize> = BTreeMap::new();
        for file in &duplicate.files {
            for (at, _) in file.match_indices('/') {
                *own.entry(&file[..at]).or_default() += 1;
            }
        }
        let leaves_one = |files: usize| duplicate.is_loose || files < duplicate.files.len();
        own.into_iter()
            .filter(|(_, files)| leaves_one(*files))
            .for_each(|(folder, _)| *counts.entry(folder).or_default() += 1);
    }
    let holds_project = |folder: &str| {
        let mut within = projects.iter().filter_map(|project| project.strip_prefix(folder));
        within.any(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    counts.retain(|folder, _| !holds_project(folder));
    let depth = |folder: &str| folder.matches('/').count();
    let most = |(folder, count): &(&str, usize)| {
        (
            2 * count >= all.len(),
            if 2 * count >= all.len() { depth(folder) } else { 0 },
            *count,
        )
    };
    // Ties go to the first by name.
    counts.into_iter().rev().max_by_key(most)
}

/// Escapes a path for use as a glob.
fn escaped(folder: &str) -> String {
    let mut glob = String::with_capacity(folder.len());
    for c in folder.chars() {
        match c {
            '*' | '?' | '[' | ']' | '{' | '}' => glob.extend(['[', c, ']']),
            _ => glob.push(c),
        }
    }
    glob
}

#[cfg(test)]
mod tests {
    use super::*;

    fn duplicate<'a>(symbol: &'a str, files: &[&'a str], is_loose: bool) -> Duplicate<'a> {
        Duplicate {
            kind: Kind::Apart,
            symbol,
            candidates: vec![format!("{symbol}@A"), format!("{symbol}@loose")],
            message: format!("{symbol} is declared 2 times"),
            files: files.iter().copied().collect(),
            is_loose,
        }
    }

    #[test]
    fn one_duplicate_is_told_as_such_and_many_are_one_message() {
        let none = BTreeSet::new();
        let one = duplicate("N.A", &["src/A.cs", "old/A.cs"], false);
        let said = summaries(std::slice::from_ref(&one), &none);
        assert_eq!((said.len(), said[0].message.as_str()), (1, "N.A is declared 2 times"));
        assert_eq!(said[0].candidates, ["N.A@A", "N.A@loose"]);
        let others = ["N.B", "N.C"].map(|symbol| duplicate(symbol, &["old/deep/B.cs"], true));
        let merged = Duplicate {
            kind: Kind::Merged,
            ..one.clone()
        };
        let said = summaries(&[vec![one, merged], others.to_vec()].concat(), &none);
        assert_eq!(said.len(), 2);
        assert!(
            said[0].message.starts_with("3 types are declared in several projects"),
            "{}",
            said[0].message
        );
        assert!(said[0].message.ends_with("; 2 of them are in old/deep"), "{}", said[0].message);
        assert_eq!(
            said[0].hint.as_deref(),
            Some(
                "if a project compiles them, as it does generated code, add \"old/deep/**\" to include under [producer.project.params.projects.\"PATH.csproj\"]; if these are copies, add \"old/deep/**\" to exclude under [sources.csharp]"
            )
        );
        assert_eq!(
            (said[1].severity, said[1].message.as_str()),
            (Severity::Warning, "N.A is declared 2 times")
        );
    }

    #[test]
    fn a_file_of_another_framework_is_named_itself() {
        let of = |symbol: &'static str, file: &'static str| Duplicate {
            kind: Kind::MergedFrameworks,
            ..duplicate(symbol, &[file], false)
        };
        let all = [of("A", "src/Old[1].cs"), of("B", "src/Old[1].cs"), of("C", "src/C.cs")];
        let said = summaries(&all, &BTreeSet::from(["src"]));
        assert_eq!(
            (said[0].severity, said[0].message.as_str(), said[0].hint.as_deref()),
            (
                Severity::Note,
                "3 types are declared again in files that only other target frameworks compile; their parts were merged (the first is A); 2 of them are in src/Old[1].cs",
                Some("if answers for the main framework are enough, add \"src/Old[[]1[]].cs\" to exclude under [sources.csharp]")
            )
        );
    }

    #[test]
    fn a_folder_never_takes_all_of_a_type_that_a_project_compiles() {
        let chosen = |all: &[Duplicate<'static>], projects: &[&str]| {
            let projects = projects.iter().copied().collect();
            folder_to_exclude(&all.iter().collect::<Vec<_>>(), &projects)
        };
        let of = |kind: Kind, symbol: &'static str, files: &[&'static str]| Duplicate {
            kind,
            ..duplicate(symbol, files, false)
        };
        let all = ["x/a/A.cs", "x/a/B.cs"].map(|file| of(Kind::Merged, "A", &[file, "x/b/A.cs"]));
        assert_eq!(chosen(&all, &["x"]), Some(("x/a", 2)));
        let loose = [duplicate("A", &["x/A.cs"], true), duplicate("B", &["x/b/B.cs"], true)];
        assert_eq!(chosen(&loose, &[]), Some(("x/b", 1)));
        assert_eq!(chosen(&loose, &["x/b"]), None);
        assert_eq!(chosen(&loose, &["x/c"]), Some(("x/b", 1)));
        let none = ["A", "B"].map(|symbol| of(Kind::Merged, symbol, &["A.cs", "B.cs"]));
        assert_eq!(chosen(&none, &[]), None);
        let apart = ["A", "B"].map(|symbol| of(Kind::Apart, symbol, &["src/Core/Utils/A.cs", "src/Other/A.cs"]));
        assert_eq!(chosen(&apart, &["src/Core", "src/Other"]), None);
    }
}
