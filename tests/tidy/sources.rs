//! The sources as text: files, lines without tests, functions.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

pub const CRATES: [&str; 15] = [
    "engine/src", "os/src", "producers/src", "producers/command/src", "producers/csharp/src", "producers/llm/src", "producers/msbuild/src",
    "producers/text/src", "remote/src", "sandbox/src", "workbench/src", "workbench/chat/src", "workbench/methods/src",
    "workbench/serve/src", "src",
];

pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Returns all Rust files below a folder of the project, by path from its root.
pub fn rust(folder: &str) -> BTreeMap<String, String> {
    let mut files = BTreeMap::new();
    let mut todo: Vec<PathBuf> = vec![root().join(folder)];
    while let Some(path) = todo.pop() {
        if path.is_dir() {
            todo.extend(std::fs::read_dir(&path).expect("folder").map(|entry| entry.expect("entry").path()));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let name = path.strip_prefix(root()).expect("below").to_string_lossy().into_owned();
            files.insert(name, std::fs::read_to_string(&path).expect("text"));
        }
    }
    assert!(!files.is_empty(), "{folder} has no Rust file");
    files
}

pub fn all() -> BTreeMap<String, String> {
    CRATES.iter().chain(&["tests"]).flat_map(|folder| rust(folder)).collect()
}

/// Returns the code lines of a file with their numbers, without comments and test-only items.
pub fn code(text: &str) -> impl Iterator<Item = (usize, &str)> {
    without_tests(text).filter(|(_, line)| !line.trim_start().starts_with("//"))
}

/// Returns the lines of a file with their numbers, without test-only items.
pub fn without_tests(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let indent = |line: &str| line.len() - line.trim_start().len();
    // Indentation of the skipped item, which ends with a `;` in its first line or a `}` of that indentation.
    let mut skipped: Option<usize> = None;
    (1..).zip(text.lines()).filter(move |(_, line)| match skipped {
        Some(depth) if line.trim_start().starts_with("#[") && indent(line) == depth => false,
        Some(depth) => {
            let is_declared = indent(line) == depth && line.ends_with(';');
            if is_declared || (indent(line) == depth && line.trim() == "}") {
                skipped = None;
            }
            false
        }
        None if line.trim() == "#[cfg(test)]" => {
            skipped = Some(indent(line));
            false
        }
        None => true,
    })
}

pub fn is_test(name: &str) -> bool {
    name.starts_with("tests/")
        || name.contains("/tests/")
        || name.ends_with("tests.rs")
        || name.ends_with("/conformance.rs")
        || name.ends_with("/fixture.rs")
        || name.ends_with("/samples.rs")
}

/// Returns every line of the project's code (without tests) that `wrong` matches.
pub fn objections(wrong: impl Fn(&str, &str) -> bool) -> Vec<String> {
    let mut found = Vec::new();
    for (name, text) in all().iter().filter(|(name, _)| !is_test(name)) {
        found.extend(
            code(text)
                .filter(|(_, line)| wrong(name, line))
                .map(|(number, line)| format!("{name}:{number}: {}", line.trim())),
        );
    }
    found
}

pub fn uses(line: &str, what: &str) -> bool {
    let path = format!("{what}::");
    line.match_indices(&path)
        .any(|(at, _)| !line[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_' || c == ':'))
}

pub fn manifest(folder: &str) -> toml::Table {
    let text = std::fs::read_to_string(root().join(folder).join("Cargo.toml")).expect("manifest");
    text.parse().expect("TOML")
}

/// A function outside of tests.
pub struct Function<'t> {
    pub name: &'t str,
    pub lines: usize,
    /// Whether a trait demands the name.
    pub is_demanded: bool,
}

/// Returns the functions of a formatted file.
pub fn functions(text: &str) -> Vec<Function<'_>> {
    let lines: Vec<(usize, &str)> = code(text).collect();
    let indent = |line: &str| line.len() - line.trim_start().len();
    let mut implemented: Option<usize> = None;
    let mut found = Vec::new();
    for (at, (first, line)) in lines.iter().enumerate() {
        let depth = indent(line);
        if line.trim_start().starts_with("impl") && line.replace("for<", "").contains(" for ") {
            implemented = Some(depth);
        } else if line.trim() == "}" && implemented == Some(depth) {
            implemented = None;
        }
        let Some((before, name)) = line.split_once("fn ") else { continue };
        if at > 0 && lines[at - 1].1.trim() == "#[test]" {
            continue;
        }
        let modifiers = ["pub", "pub(crate)", "pub(super)", "const", "async", "unsafe"];
        if !before.split_whitespace().all(|word| modifiers.contains(&word)) {
            continue;
        }
        let is_last = |line: &str| line.ends_with(';') || line.trim() == "}" || (line.ends_with('}') && line.contains('{'));
        let last = lines[at..].iter().find(|(_, line)| indent(line) == depth && is_last(line));
        found.push(Function {
            name: name.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or_default(),
            lines: last.map_or(0, |(last, _)| last - first + 1),
            is_demanded: implemented.is_some(),
        });
    }
    found
}
