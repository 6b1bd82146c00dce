//! The lines of sources that differ from the commit that is checked out, or those of an overlay that differ from the files, and the declarations
//! that these changes remove.

use crate::code_text::encoding::{LARGEST, decode};
use crate::code_text::lines::{fit, line_and_column, split};
use crate::code_text::merge::changes;
use crate::git;
use engine::files::overlaid::Documents;
use engine::seams::world::World;
use producers::csharp::ids::member_key;
use producers::csharp::parse;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// First and last line of each changed range, by file; for removed lines the line after them.
pub type ChangedLines = BTreeMap<String, Vec<(u32, u32)>>;

/// What differs between two states of sources.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Differences {
    /// The changed lines of the files that exist now.
    pub lines: ChangedLines,
    /// Paths of types and members (`N.T`, `N.T#M(int)`) that no differing file declares any more; those of a removed type are not listed.
    pub removed: BTreeSet<String>,
}

/// Returns how sources differ from the commit; an uncommitted file is new in all its lines. `None` if git gives no answer.
pub fn differences_from_commit(root: &Path, world: &dyn World, sources: &[String]) -> Option<Differences> {
    let (commit, files) = git::changed_files(root, sources)?;
    let mut compared = Comparison::default();
    for file in files {
        let before = || {
            git::file_at(root, &commit, &file)
                .and_then(|bytes| decode_lf(&bytes))
                .unwrap_or_default()
        };
        if sources.binary_search(&file).is_ok() {
            let now = world.read_at_most(&file, LARGEST).ok().and_then(|bytes| decode_lf(&bytes));
            now.inspect(|now| compared.add(&file, &before(), Some(now)));
        } else if file.ends_with(".cs") && !root.join(&file).exists() {
            compared.add(&file, &before(), None);
        }
    }
    Some(compared.into_differences())
}

/// Returns how the documents of an overlay differ from the files that they replace; a new file has all of its lines. `file_at` reads a file of the
/// workspace.
pub fn differences_of_overlay(documents: &Documents, file_at: impl Fn(&str) -> Option<Vec<u8>>) -> Differences {
    let mut compared = Comparison::default();
    for (path, document) in documents {
        let before = file_at(path).and_then(|bytes| decode_lf(&bytes)).unwrap_or_default();
        match document.as_deref().map(decode_lf) {
            Some(Some(now)) => compared.add(path, &before, Some(&now)),
            Some(None) => {}
            None => compared.add(path, &before, None),
        }
    }
    compared.into_differences()
}

/// Differences while files are compared, with the declarations of the differing files.
#[derive(Default)]
struct Comparison {
    lines: ChangedLines,
    before: BTreeSet<String>,
    now: BTreeSet<String>,
}

impl Comparison {
    /// Adds a file; `now` is `None` if the file is deleted.
    fn add(&mut self, file: &str, before: &str, now: Option<&str>) {
        let lines = changed_ranges(before, now.unwrap_or_default());
        if lines.is_empty() {
            return;
        }
        if file.ends_with(".cs") {
            self.before.extend(declared_paths(before, file));
            self.now.extend(declared_paths(now.unwrap_or_default(), file));
        }
        if now.is_some() {
            self.lines.insert(file.to_owned(), lines);
        }
    }

    fn into_differences(self) -> Differences {
        let Self { lines, before, now } = self;
        let is_of_removed = |path: &str| path.split_once('#').is_some_and(|(symbol, _)| !now.contains(symbol));
        let removed = before.difference(&now).filter(|path| !is_of_removed(path)).cloned().collect();
        Differences { lines, removed }
    }
}

/// Returns the paths of the types and members that a text declares without any `#if` symbols.
fn declared_paths(text: &str, file: &str) -> Vec<String> {
    let (syntax, _) = parse::read(text, &BTreeSet::new(), file);
    let mut paths = Vec::new();
    for decl in &syntax.types {
        let symbol = decl.symbol();
        let members = decl.members.iter();
        paths.extend(members.map(|member| format!("{symbol}#{}", member_key(member))));
        paths.push(symbol);
    }
    paths
}

/// Decodes a text with LF line ends, however git converts them in checkouts.
fn decode_lf(bytes: &[u8]) -> Option<String> {
    decode(bytes).ok().map(|(text, _)| fit(&text, "\n"))
}

fn changed_ranges(before: &str, now: &str) -> Vec<(u32, u32)> {
    let number = |line: usize| u32::try_from(line).unwrap_or(u32::MAX);
    let lines = changes(before, now).into_iter().map(|change| {
        let first = line_and_column(now, change.new.start).0;
        let count = split(&now[change.new]).count();
        (number(first), number(first + count.saturating_sub(1)))
    });
    lines.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use engine::files::memory::MemoryWorld;
    use std::process::Command;

    #[test]
    fn lines_of_an_overlay_differ_from_the_files() {
        let document = |text: &str| Some(std::sync::Arc::from(text.as_bytes()));
        let documents = Documents::from([
            ("a.cs".to_owned(), document("1\nx\n3\n")),
            ("b.cs".to_owned(), document("1\r\n")),
            ("c.cs".to_owned(), None),
            ("d.cs".to_owned(), document("1\n2\n")),
        ]);
        let file_at = |path: &str| match path {
            "a.cs" => Some(b"1\n2\n3\n".to_vec()),
            "b.cs" | "c.cs" => Some(b"1\n".to_vec()),
            _ => None,
        };
        let lines = |file: &str, lines: &[(u32, u32)]| (file.to_owned(), lines.to_vec());
        assert_eq!(
            differences_of_overlay(&documents, file_at).lines,
            ChangedLines::from([lines("a.cs", &[(2, 2)]), lines("d.cs", &[(1, 2)])])
        );
    }

    #[test]
    fn declarations_that_no_file_has_any_more_are_removed() {
        let document = |text: &str| Some(std::sync::Arc::from(text.as_bytes()));
        let documents = Documents::from([
            (
                "a.cs".to_owned(),
                document("class A { void Moved() { } int Renamed2() => 1; void Changed(int n) { } }"),
            ),
            ("b.cs".to_owned(), document("partial class B { void Moved() { } }")),
            ("c.cs".to_owned(), None),
            ("d.txt".to_owned(), None),
        ]);
        let file_at = |path: &str| {
            let text = match path {
                "a.cs" => "class A { void Moved() { } int Renamed() => 1; void Changed() { } }",
                "c.cs" => "partial class B { void Moved() { } void Gone() { } }\nclass C { void Inner() { } }",
                "d.txt" => "class D { }",
                _ => return None,
            };
            Some(text.as_bytes().to_vec())
        };
        let removed = ["A#Changed()", "A#Renamed()", "B#Gone()", "C"].map(str::to_owned);
        assert_eq!(differences_of_overlay(&documents, file_at).removed, removed.into());
    }

    #[test]
    fn lines_differ_from_the_commit() {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path().canonicalize().expect("a path");
        let git = |arguments: &[&str]| {
            let run = Command::new("git")
                .args(arguments)
                .current_dir(&root)
                .env("GIT_CONFIG_GLOBAL", "/dev/null")
                .output();
            assert!(run.expect("git runs").status.success(), "{arguments:?}");
        };
        let write = |file: &str, text: &str| std::fs::write(root.join(file), text).expect("written");
        git(&["init", "-q"]);
        for (file, text) in [("a.cs", "1\n2\n3\n"), ("b.cs", "1\n"), ("c.cs", "1\n2\n"), ("d.cs", "1\r\n")] {
            write(file, text);
        }
        git(&["add", "."]);
        git(&["-c", "user.name=t", "-c", "user.email=t@t", "commit", "-q", "-m", "t"]);
        let sources = ["a.cs", "b.cs", "c.cs", "d.cs", "e.cs"].map(str::to_owned);
        let now = || {
            let world = MemoryWorld::new();
            for file in &sources {
                if let Ok(bytes) = std::fs::read(root.join(file)) {
                    world.write_source(file, bytes);
                }
            }
            differences_from_commit(&root, &world, &sources).expect("a checkout").lines
        };
        assert_eq!(now(), ChangedLines::new());
        write("a.cs", "1\nx\ny\n3\n");
        write("c.cs", "1\n");
        git(&["add", "c.cs"]);
        write("d.cs", "1\n");
        write("e.cs", "1\n2\n");
        let lines = |file: &str, lines: &[(u32, u32)]| (file.to_owned(), lines.to_vec());
        assert_eq!(
            now(),
            ChangedLines::from([lines("a.cs", &[(2, 3)]), lines("c.cs", &[(2, 2)]), lines("e.cs", &[(1, 2)])])
        );
        assert_eq!(differences_from_commit(&std::env::temp_dir(), &MemoryWorld::new(), &sources), None);
    }
}
