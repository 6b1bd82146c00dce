//! `//index:files`: the project that owns each source file, the others that compile it, and the files that no project compiles.
//!
//! If several projects compile a file, its owner is the project with the deepest folder that contains the file; projects that only link it
//! come later. Ties go to the project that compiles the file for its main framework, then to the first by path. So another project that
//! links a file does not change its owner.

use super::facts::CompiledFile;
use super::path::{file_name, folder_of_path};
use super::report::{Report, Spot};
use engine::values::codes::ErrorCode;
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

/// One row, by path of the file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct FileRow {
    /// Other projects that compile it, sorted; rules read it as a set, so it is never omitted.
    pub also: Vec<String>,
    /// Whether a source generator wrote it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub generated: bool,
    /// Why no project compiles it: `removed` (its enclosing project excludes it), `outside` (no enclosing project) or `leftover` (generated for
    /// code that has since moved to another project; see [`leftovers`]).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub left_out: Option<String>,
    /// Displayed path within the owner, for files outside its folder.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub link: Option<String>,
    /// Path of the owner; a list of at most one, so that rules can read it as a set.
    pub project: Vec<String>,
    /// The framework of the owner that compiles it, if not the main one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tfm: Option<String>,
}

/// Returns the rows of all sources, from the files that each project compiles.
pub fn file_rows<'a>(sources: impl Iterator<Item = &'a str>, compiled: &[(&'a str, Vec<CompiledFile>)]) -> BTreeMap<&'a str, FileRow> {
    let mut by_file: BTreeMap<&str, Vec<(&str, &CompiledFile)>> = sources.map(|path| (path, Vec::new())).collect();
    let leftovers = leftovers(compiled);
    for (project, files) in compiled {
        for file in files.iter().filter(|file| !leftovers.contains(file.path.as_str())) {
            if let Some(users) = by_file.get_mut(file.path.as_str()) {
                users.push((project, file));
            }
        }
    }
    let homes: BTreeMap<&str, &str> = compiled.iter().map(|(project, _)| (folder_of_path(project), *project)).collect();
    let mut known: BTreeMap<&str, FileRow> = BTreeMap::new();
    for (path, mut users) in by_file {
        users.sort_by_key(|(project, file)| {
            let home = folder_of_path(project);
            let around = home.is_empty() || path.get(..home.len()) == Some(home) && path[home.len()..].starts_with('/');
            (Reverse(around.then_some(home.len())), file.tfm.is_some(), *project)
        });
        let row = match users.split_first() {
            Some(((project, file), others)) => {
                let mut also: Vec<String> = others.iter().map(|(other, _)| (*other).to_owned()).collect();
                also.sort();
                FileRow {
                    also,
                    generated: file.emitted.is_some(),
                    left_out: None,
                    link: file.link.clone(),
                    project: vec![(*project).to_owned()],
                    tfm: file.tfm.clone(),
                }
            }
            None => {
                let around = std::iter::successors(Some(folder_of_path(path)), |above| {
                    (!above.is_empty()).then(|| folder_of_path(above))
                });
                let inside = around.into_iter().any(|above| homes.contains_key(above));
                let why = match inside {
                    _ if leftovers.contains(path) => "leftover",
                    true => "removed",
                    false => "outside",
                };
                FileRow {
                    left_out: Some(why.to_owned()),
                    ..FileRow::default()
                }
            }
        };
        known.insert(path, row);
    }
    known
}

/// Returns outdated generated files. Another project has a file with the same path from the same generator, beside a hand-written file with
/// that stem (`Color.cs` for `Color.Generated.g.cs`). This project has no such hand-written file: the code moved, and its old generated
/// file remained here.
fn leftovers<'c>(compiled: &'c [(&str, Vec<CompiledFile>)]) -> BTreeSet<&'c str> {
    let mut emitted: BTreeMap<&str, Vec<(usize, &str)>> = BTreeMap::new();
    for (at, (_, files)) in compiled.iter().enumerate() {
        for file in files {
            if let Some(below) = &file.emitted {
                emitted.entry(below).or_default().push((at, &file.path));
            }
        }
    }
    let stem = |path: &'c str| file_name(path).split('.').next().unwrap_or_default();
    let mut by_hand: BTreeMap<usize, BTreeSet<&str>> = BTreeMap::new();
    let mut left: BTreeSet<&str> = BTreeSet::new();
    for several in emitted.into_values().filter(|several| several.len() > 1) {
        let belongs = several.iter().map(|(at, path)| {
            let stems = by_hand.entry(*at).or_insert_with(|| {
                let files = compiled[*at].1.iter().filter(|file| file.emitted.is_none());
                files.map(|file| stem(&file.path)).collect()
            });
            stems.contains(stem(path))
        });
        let belongs: Vec<bool> = belongs.collect();
        if belongs.contains(&true) {
            let strangers = several.iter().zip(&belongs).filter(|(_, belongs)| !**belongs);
            left.extend(strangers.map(|((_, path), _)| *path));
        }
    }
    left
}

/// Reports how many files no project compiles, with an example; silent in a workspace without projects.
pub fn report_uncompiled(rows: &BTreeMap<&str, FileRow>, report: &Report) {
    let left_out: Vec<&str> = rows
        .iter()
        .filter(|(_, row)| row.left_out.is_some())
        .map(|(path, _)| *path)
        .collect();
    let Some(first) = left_out.first() else { return };
    if rows.len() == left_out.len() {
        return;
    }
    let leftovers = rows.values().filter(|row| row.left_out.as_deref() == Some("leftover")).count();
    let leftovers = match leftovers {
        0 => String::new(),
        count => format!("; source generators wrote {count} of them for code that is now in another project"),
    };
    let message = format!(
        "no project compiles {} of {} source files, this one among them; their types are marked @loose (//index:files lists them){leftovers}",
        left_out.len(),
        rows.len()
    );
    report.add_note(ErrorCode::CS_LEFT_OUT, Spot { file: first, line: 0 }, message, "");
}

#[cfg(test)]
mod tests {
    use super::*;

    fn compiled(files: &[(&str, Option<&str>)]) -> Vec<CompiledFile> {
        files
            .iter()
            .map(|(path, tfm)| CompiledFile {
                emitted: None,
                link: None,
                path: (*path).to_owned(),
                tfm: tfm.map(str::to_owned),
            })
            .collect()
    }

    #[test]
    fn owners() {
        let projects = [
            (
                "a/A.csproj",
                compiled(&[("a/x.cs", None), ("a/b/y.cs", None), ("s/z.cs", Some("net472"))]),
            ),
            (
                "a/b/B.csproj",
                compiled(&[("a/b/y.cs", Some("net472")), ("a/x.cs", None), ("s/z.cs", None)]),
            ),
        ];
        let rows = file_rows(["a/x.cs", "a/b/y.cs", "s/z.cs", "a/gone.cs", "loose.cs"].into_iter(), &projects);
        let owner = |path: &str| {
            (
                rows[path].project.join(" "),
                rows[path].also.join(" "),
                rows[path].left_out.clone().unwrap_or_default(),
            )
        };
        let expect = |a: &str, b: &str, c: &str| (a.to_owned(), b.to_owned(), c.to_owned());
        assert_eq!(owner("a/x.cs"), expect("a/A.csproj", "a/b/B.csproj", ""));
        assert_eq!(owner("a/b/y.cs"), expect("a/b/B.csproj", "a/A.csproj", ""));
        assert_eq!(owner("s/z.cs"), expect("a/b/B.csproj", "a/A.csproj", ""));
        assert_eq!(owner("a/gone.cs"), expect("", "", "removed"));
        assert_eq!(owner("loose.cs"), expect("", "", "outside"));
        assert_eq!(rows["a/b/y.cs"].tfm.as_deref(), Some("net472"));
    }

    #[test]
    fn leftover_files_of_a_generator_belong_to_no_project() {
        let emitted = |project: &str, below: &str| CompiledFile {
            emitted: Some(below.to_owned()),
            link: None,
            path: format!("{project}/G/{below}"),
            tfm: None,
        };
        let (color, lock) = ("Gen/Color.Generated.g.cs", "Gen/Lock.cs");
        let new = [
            compiled(&[("new/Color.cs", None)]),
            vec![emitted("new", color), emitted("new", lock)],
        ]
        .concat();
        let old = [
            compiled(&[("old/Widget.cs", None)]),
            vec![emitted("old", color), emitted("old", lock)],
        ]
        .concat();
        let projects = [("new/New.csproj", new), ("old/Old.csproj", old)];
        let paths = projects.iter().flat_map(|(_, files)| files).map(|file| file.path.as_str());
        let rows = file_rows(paths, &projects);
        let of = |path: &str| (rows[path].project.join(" "), rows[path].left_out.clone(), rows[path].generated);
        let own = |project: &str, generated: bool| (project.to_owned(), None, generated);
        assert_eq!(of("new/G/Gen/Color.Generated.g.cs"), own("new/New.csproj", true));
        assert_eq!(
            of("old/G/Gen/Color.Generated.g.cs"),
            (String::new(), Some("leftover".to_owned()), false)
        );
        // No hand-written file decides their owner: each project has its own.
        assert_eq!(of("new/G/Gen/Lock.cs"), own("new/New.csproj", true));
        assert_eq!(of("old/G/Gen/Lock.cs"), own("old/Old.csproj", true));
        assert_eq!(of("new/Color.cs"), own("new/New.csproj", false));
    }
}
