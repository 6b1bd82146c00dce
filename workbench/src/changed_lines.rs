//! The lines of sources that differ from the commit that is checked out, or those of an overlay that differ from the files.

use crate::edit::encoding::{LARGEST, decode};
use crate::edit::lines::{fit, line_and_column, split};
use crate::edit::merge::changes;
use crate::git;
use engine::files::overlaid::Documents;
use engine::seams::world::World;
use std::collections::BTreeMap;
use std::path::Path;

/// First and last line of each changed range, by file; for removed lines the line after them.
pub type ChangedLines = BTreeMap<String, Vec<(u32, u32)>>;

/// Returns the changed lines of sources; an uncommitted file is new in all its lines. `None` if git gives no answer.
pub fn changed_lines(root: &Path, world: &dyn World, sources: &[String]) -> Option<ChangedLines> {
    let (commit, files) = git::changed_files(root, sources)?;
    let mut found = ChangedLines::new();
    for file in files.into_iter().filter(|file| sources.binary_search(file).is_ok()) {
        let Some(now) = world.read_at_most(&file, LARGEST).ok().and_then(|bytes| decode_lf(&bytes)) else {
            continue;
        };
        let before = git::file_at(root, &commit, &file)
            .and_then(|bytes| decode_lf(&bytes))
            .unwrap_or_default();
        let lines = changed_ranges(&before, &now);
        if !lines.is_empty() {
            found.insert(file, lines);
        }
    }
    Some(found)
}

/// Returns the lines of the documents of an overlay that differ from the files that they replace; a new file has all of its lines. `file_at` reads a
/// file of the workspace. Files that the overlay deletes have no lines.
pub fn lines_of_overlay(documents: &Documents, file_at: impl Fn(&str) -> Option<Vec<u8>>) -> ChangedLines {
    let differing = documents.iter().filter_map(|(path, document)| {
        let now = decode_lf(document.as_deref()?)?;
        let before = file_at(path).and_then(|bytes| decode_lf(&bytes)).unwrap_or_default();
        Some((path.clone(), changed_ranges(&before, &now))).filter(|(_, lines)| !lines.is_empty())
    });
    differing.collect()
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
            lines_of_overlay(&documents, file_at),
            ChangedLines::from([lines("a.cs", &[(2, 2)]), lines("d.cs", &[(1, 2)])])
        );
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
            changed_lines(&root, &world, &sources).expect("a checkout")
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
        assert_eq!(changed_lines(&std::env::temp_dir(), &MemoryWorld::new(), &sources), None);
    }
}
