//! Tidiness: the layering, sizes and words of the sources, checked from their text (STYLE 14, ARCHITECTURE 5).

#[path = "tidy/book.rs"]
mod book;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

const CRATES: [&str; 15] = [
    "engine/src",
    "os/src",
    "producers/src",
    "producers/command/src",
    "producers/csharp/src",
    "producers/llm/src",
    "producers/msbuild/src",
    "producers/text/src",
    "remote/src",
    "sandbox/src",
    "workbench/src",
    "workbench/chat/src",
    "workbench/methods/src",
    "workbench/serve/src",
    "src",
];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Returns all Rust files below a folder of the project, by path from its root.
fn rust(folder: &str) -> BTreeMap<String, String> {
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

fn all() -> BTreeMap<String, String> {
    CRATES.iter().chain(&["tests"]).flat_map(|folder| rust(folder)).collect()
}

/// Returns the code lines of a file with their numbers, without comments and test-only items.
fn code(text: &str) -> impl Iterator<Item = (usize, &str)> {
    without_tests(text).filter(|(_, line)| !line.trim_start().starts_with("//"))
}

/// Returns the lines of a file with their numbers, without test-only items.
fn without_tests(text: &str) -> impl Iterator<Item = (usize, &str)> {
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

fn is_test(name: &str) -> bool {
    name.starts_with("tests/")
        || name.contains("/tests/")
        || name.ends_with("tests.rs")
        || name.ends_with("/conformance.rs")
        || name.ends_with("/fixture.rs")
}

/// Returns every line of the project's code (without tests) that `wrong` matches.
fn objections(wrong: impl Fn(&str, &str) -> bool) -> Vec<String> {
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

fn uses(line: &str, what: &str) -> bool {
    let path = format!("{what}::");
    line.match_indices(&path)
        .any(|(at, _)| !line[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_' || c == ':'))
}

fn manifest(folder: &str) -> toml::Table {
    let text = std::fs::read_to_string(root().join(folder).join("Cargo.toml")).expect("manifest");
    text.parse().expect("TOML")
}

#[test]
fn crates_import_only_what_is_below() {
    let below: [(&str, &[&str]); 15] = [
        ("os", &[]),
        ("engine", &["os"]),
        ("sandbox", &[]),
        ("producers/text", &["engine"]),
        ("producers/msbuild", &["engine", "text"]),
        ("producers/csharp", &["engine", "msbuild", "text"]),
        ("producers/command", &["engine", "os", "sandbox"]),
        ("producers/llm", &["command", "engine", "os"]),
        ("producers", &["command", "csharp", "engine", "llm", "msbuild", "text"]),
        ("remote", &["engine", "os"]),
        ("workbench", &["engine", "os", "producers"]),
        ("workbench/methods", &["engine", "producers", "workbench"]),
        ("workbench/serve", &["engine", "methods", "os", "producers", "workbench"]),
        ("workbench/chat", &["engine", "methods", "producers", "serve", "workbench"]),
        (
            "",
            &[
                "chat",
                "engine",
                "methods",
                "os",
                "producers",
                "remote",
                "sandbox",
                "serve",
                "workbench",
            ],
        ),
    ];
    let workspace = manifest("");
    let mut crates = workspace["workspace"]["dependencies"].as_table().expect("a table").clone();
    crates.retain(|_, source| source.get("path").is_some());
    assert_eq!(crates.len() + 1, below.len(), "a crate is in no layer");
    for (name, allowed) in below {
        let table = manifest(name);
        let dependencies = table["dependencies"].as_table().expect("a table");
        for other in crates.keys().map(String::as_str).chain(["cortex"]) {
            assert!(
                !dependencies.contains_key(other) || allowed.contains(&other),
                "{name} depends on {other}"
            );
        }
    }
}

/// Only `os/` may depend on the operating system; `sandbox/` is for Linux only. Tests may call it freely.
#[test]
fn the_system_is_called_in_one_crate() {
    let is_free = |name: &str| name.starts_with("os/") || name.starts_with("sandbox/");
    let found = objections(|name, line| !is_free(name) && (line.contains("std::os") || line.contains("rustix")));
    assert!(found.is_empty(), "{found:#?}");
    for folder in [
        "",
        "engine",
        "producers",
        "producers/command",
        "producers/csharp",
        "producers/llm",
        "producers/msbuild",
        "producers/text",
        "remote",
        "workbench",
        "workbench/chat",
        "workbench/methods",
        "workbench/serve",
    ] {
        let mut table = manifest(folder);
        table.retain(|part, _| !["dev-dependencies", "profile", "workspace"].contains(&part));
        assert!(
            !table.to_string().contains("rustix"),
            "{folder}/Cargo.toml depends on rustix outside of tests"
        );
    }
}

/// Methods, their host and conversations know no terminal, no transport and no signal.
#[test]
fn only_the_binary_has_a_rim() {
    let without = ["workbench/chat", "workbench/methods", "workbench/serve"];
    for folder in without {
        let table = manifest(folder);
        let dependencies = table["dependencies"].as_table().expect("a table");
        for rim in [
            "clap_complete",
            "crossterm",
            "hyper",
            "indicatif",
            "rmcp",
            "signal-hook",
            "tokio",
            "unicode-segmentation",
        ] {
            assert!(!dependencies.contains_key(rim), "{folder} depends on {rim}");
        }
    }
    let words = [
        "std::io::stdout",
        "std::io::stderr",
        "IsTerminal",
        "ExitCode",
        "std::env",
        "std::process",
    ];
    let is_below = |name: &str| without.iter().any(|folder| name.starts_with(folder));
    // A trace of a bug, and the figures of a service, have the process's number.
    let is_wrong = |line: &str| !line.contains("std::process::id()") && words.iter().any(|word| line.contains(word));
    let found = objections(|name, line| is_below(name) && is_wrong(line));
    assert!(found.is_empty(), "{found:#?}");
}

/// Returns the lines of a crate that import a module of a higher layer than their own.
fn imports_from_above(sources: &str, layer: impl Fn(&str) -> Option<usize>) -> Vec<String> {
    let module_of = |path: &str| -> String { path.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect() };
    objections(|name, line| {
        let Some(own) = name.strip_prefix(sources).and_then(|rest| layer(&module_of(rest))) else {
            return false;
        };
        line.match_indices("crate::")
            .any(|(at, _)| layer(&module_of(&line[at + 7..])).is_some_and(|other| other > own))
    })
}

#[test]
fn the_engine_is_layered() {
    let found = imports_from_above("engine/src/", |module| match module {
        "values" => Some(0),
        "seams" => Some(1),
        "manifest" | "files" | "store" => Some(2),
        "graph" | "planning" => Some(3),
        "watch" => Some(3),
        "build" => Some(4),
        _ => None,
    });
    assert!(found.is_empty(), "{found:#?}");
}

#[test]
fn the_methods_are_layered() {
    let layer = |module: &str| {
        ["code", "failed", "render", "desk", "catalog", "commands"]
            .iter()
            .position(|known| *known == module)
    };
    let found = imports_from_above("workbench/methods/src/", layer);
    assert!(found.is_empty(), "{found:#?}");
    let modules = rust("workbench/methods/src").into_keys().filter_map(|name| {
        let below = name.strip_prefix("workbench/methods/src/")?;
        Some(below.split(['/', '.']).next()?.to_owned())
    });
    let unknown: Vec<String> = modules.filter(|module| module != "lib" && layer(module).is_none()).collect();
    assert!(unknown.is_empty(), "in no layer: {unknown:?}");
}

/// Returns the files and folders of a folder of a crate that import each other in a circle, or import one that does, with their imports. `without`:
/// begins the names of files that are left out.
fn circle_of_imports(sources: &str, folder: &str, without: &[&str]) -> BTreeMap<String, Vec<String>> {
    let word = |text: &str| -> String { text.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect() };
    let sources = format!("{sources}/{folder}/");
    let paths = ["super::".to_owned(), format!("crate::{folder}::")];
    let mut imports: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (name, text) in rust(&sources) {
        let file = word(name.strip_prefix(&sources).expect("below"));
        let mut found = Vec::new();
        for (_, line) in code(&text) {
            for path in &paths {
                let after = line.match_indices(path.as_str()).map(|(at, _)| &line[at + path.len()..]);
                // `super::{one, other::Item}` names several files.
                found.extend(after.flat_map(|rest| rest.trim_start_matches('{').split(", ").map(word)));
            }
        }
        imports.entry(file).or_default().extend(found);
    }
    // `mod.rs` uses all files of its folder.
    imports.retain(|file, _| file != "mod" && !without.iter().any(|start| file.starts_with(start)));
    loop {
        let files: Vec<String> = imports.keys().cloned().collect();
        imports.retain(|file, others| others.iter().any(|other| other != file && files.contains(other)));
        if imports.len() == files.len() {
            return imports;
        }
    }
}

#[test]
fn files_of_methods_import_each_other_in_no_circle() {
    let found = circle_of_imports("workbench/methods/src", "desk", &[]);
    assert!(found.is_empty(), "in a circle, or above one: {found:?}");
    // The edits of symbols are still one circle.
    let found = circle_of_imports("workbench/methods/src", "catalog", &["edit", "rename", "rewriting"]);
    assert!(found.is_empty(), "in a circle, or above one: {found:?}");
}

/// The loop (`run/`) counts as one file: its files all implement one type.
#[test]
fn files_of_the_build_import_each_other_in_no_circle() {
    let found = circle_of_imports("engine/src", "build", &[]);
    assert!(found.is_empty(), "in a circle, or above one: {found:?}");
}

#[test]
fn each_dependency_stays_in_its_place() {
    let places: [(&str, &[&str]); 18] = [
        ("crossterm", &["src/chat/screen/keys.rs", "src/chat/screen/terminal.rs"]),
        ("unicode_segmentation", &["src/chat/screen/cells.rs"]),
        ("landlock", &["sandbox/src/file_access.rs"]),
        ("seccompiler", &["sandbox/src/system_calls.rs"]),
        ("nix", &["sandbox/src/supervise.rs"]),
        (
            "petgraph",
            &[
                "engine/src/graph/",
                "engine/src/manifest/read/cycles.rs",
                "producers/csharp/src/graph.rs",
                "producers/csharp/src/pack/order.rs",
            ],
        ),
        ("redb", &["engine/src/store/"]),
        ("prost", &["producers/src/scip/", "remote/src/"]),
        ("tree_sitter", &["producers/csharp/src/", "producers/src/languages/"]),
        ("ureq", &["producers/llm/src/http.rs", "remote/src/bucket.rs"]),
        ("rustls", &["producers/llm/src/http.rs", "remote/src/bucket.rs"]),
        ("tiktoken_rs", &["producers/llm/src/tokens.rs"]),
        ("indicatif", &["src/render/"]),
        (
            "clap",
            &[
                "src/",
                "workbench/chat/src/chat_methods.rs",
                "workbench/methods/src/desk/model_limits.rs",
                "workbench/methods/src/catalog/",
                "workbench/methods/src/commands/",
                "workbench/serve/src/tools/",
                "workbench/serve/src/watching.rs",
            ],
        ),
        ("rmcp", &["src/mcp/"]),
        ("hyper", &["src/http/", "src/mcp/", "src/page/"]),
        ("tonic", &["remote/src/"]),
        ("bazel_remote_apis", &["remote/src/"]),
    ];
    for (what, allowed) in places {
        let found = objections(|name, line| uses(line, what) && !allowed.iter().any(|place| name.starts_with(place)));
        assert!(found.is_empty(), "{what}: {found:#?}");
    }
}

#[test]
fn the_disk_is_touched_in_few_places() {
    let allowed = [
        "engine/src/files/",
        "engine/src/store/",
        "engine/src/watch/",
        "os/src/",
        "producers/command/src/",
        "producers/llm/src/agent_note.rs",
        "producers/llm/src/replay.rs",
        "producers/llm/src/pending_batches.rs",
        "remote/src/bucket.rs",
        "remote/src/credentials.rs",
        "remote/src/farm.rs",
        "sandbox/src/confine.rs",
        "sandbox/src/root_folder.rs",
        "sandbox/src/supervise.rs",
        "workbench/src/aliases.rs",
        "workbench/src/checkout.rs",
        "workbench/src/clean.rs",
        "workbench/src/edit/compiler/",
        "workbench/src/edit/disk.rs",
        "workbench/src/edit/editable_paths.rs",
        "workbench/src/edit/test_folder.rs",
        "workbench/src/edit/staged.rs",
        "workbench/src/editor.rs",
        "remote/src/folder.rs",
        "workbench/src/git.rs",
        "workbench/src/locks.rs",
        "workbench/src/location.rs",
        "workbench/src/new_folder.rs",
        "workbench/src/init.rs",
        "workbench/src/investigation.rs",
        "workbench/src/kill_points.rs",
        "workbench/src/trust.rs",
        "workbench/src/window/state.rs",
        "workbench/methods/src/catalog/doctor.rs",
        "workbench/methods/src/commands/build_records/",
        "workbench/methods/src/commands/output_file.rs",
        "workbench/methods/src/commands/unpack.rs",
        "workbench/src/workspace.rs",
        "src/commands/produce_shard.rs",
        "src/http/token.rs",
        "workbench/serve/src/process_memory.rs",
        "src/worker.rs",
    ];
    let found = objections(|name, line| {
        (uses(line, "std::fs") || uses(line, "fs") || line.contains("use std::fs")) && !allowed.iter().any(|place| name.starts_with(place))
    });
    assert!(found.is_empty(), "{found:#?}");
}

#[test]
fn every_file_says_what_it_is() {
    for (name, text) in all() {
        assert!(text.starts_with("//! "), "{name} does not begin with //!");
    }
}

#[test]
fn files_are_short() {
    let mut lengths: Vec<(usize, String)> = all()
        .into_iter()
        .filter(|(name, _)| !name.starts_with("tests/"))
        .map(|(name, text)| (text.lines().count(), name))
        .collect();
    lengths.sort();
    let long: Vec<_> = lengths.iter().filter(|(lines, _)| *lines > 600).collect();
    assert!(long.is_empty(), "{long:#?}");
    let median = lengths[lengths.len() / 2].0;
    assert!(median < 250, "the median file has {median} lines");
}

/// The binary has flags, printing and protocols; everything else belongs below it.
#[test]
fn the_binary_is_small() {
    let lines: usize = rust("src").values().map(|text| without_tests(text).count()).sum();
    assert!(lines <= 9_000, "src has {lines} lines without tests");
}

/// Codes of messages are defined in one table (`engine/src/values/codes.rs`); other files use its variants.
#[test]
fn codes_are_of_the_table() {
    let is_code = |word: &str| {
        let is_of = |start: &str| word.strip_prefix(start).is_some_and(|rest| rest.len() > 1);
        let plain = word
            .chars()
            .all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_' || c == '-');
        plain && (is_of("E_") || is_of("W_") || is_of("N_") || is_of("CS-"))
    };
    let literal = |name: &str, line: &str| name != "engine/src/values/codes.rs" && line.split('"').skip(1).step_by(2).any(is_code);
    assert_eq!(objections(literal), Vec::<String>::new(), "codes written as text");
}

/// A name says what a thing is or does (docs/glossary.md); each of these once had ten meanings or more.
#[test]
fn function_names_can_be_searched_for() {
    let vague = "about alone asked barred became because begin begun broken carried enter fits fresh further go_on goes happened hold holds keep kept list listen look meant moved named one own place put said shown sides state stays step strange stretches taken tell tells there together told twice under unkept unmade usual were what when which whole whose within word words wrong";
    let is_vague = |_: &str, line: &str| {
        let name = line
            .split_once("fn ")
            .map(|(_, rest)| rest.split(|c: char| !c.is_alphanumeric() && c != '_').next());
        name.flatten().is_some_and(|name| vague.split(' ').any(|word| word == name))
    };
    assert_eq!(
        objections(is_vague),
        Vec::<String>::new(),
        "functions with a name that says too little"
    );
}

/// A function outside of tests.
struct Function<'t> {
    name: &'t str,
    lines: usize,
    /// Whether a trait demands the name.
    is_demanded: bool,
}

/// Returns the functions of a formatted file.
fn functions(text: &str) -> Vec<Function<'_>> {
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

/// Functions that were longer when the check was written; the list only shrinks.
const LONG: [&str; 7] = [
    "workbench/src/edit/extracting_interfaces.rs: extract",
    "workbench/src/edit/hunks.rs: line_of_hunk",
    "workbench/src/edit/markdown.rs: parse",
    "workbench/src/edit/perform.rs: perform_in",
    "workbench/src/edit/perform.rs: performed",
    "workbench/src/rename/signature/mod.rs: change_of",
    "workbench/src/symbols/unimplemented.rs: missing_in",
];

#[test]
fn functions_are_short() {
    let mut long = Vec::new();
    for (name, text) in all().iter().filter(|(name, _)| !is_test(name)) {
        let functions = functions(text).into_iter().filter(|function| function.lines > 80);
        long.extend(functions.map(|function| format!("{name}: {}", function.name)));
    }
    long.sort();
    let new: Vec<_> = long.iter().filter(|one| !LONG.contains(&one.as_str())).collect();
    assert!(new.is_empty(), "functions of more than 80 lines: {new:#?}");
    let gone: Vec<_> = LONG.iter().filter(|one| !long.iter().any(|long| long == *one)).collect();
    assert!(gone.is_empty(), "short by now, so take them off the list: {gone:?}");
}

/// Names of functions in more than six modules, with their number when the check was written; a number only falls.
const HOMONYMS: [(&str, usize); 19] = [
    ("as_str", 8),
    ("digest", 7),
    ("find", 13),
    ("get", 14),
    ("is_empty", 19),
    ("key", 10),
    ("len", 9),
    ("matches", 7),
    ("members", 8),
    ("name", 14),
    ("of", 7),
    ("open", 12),
    ("parse", 13),
    ("path", 10),
    ("read", 13),
    ("remove", 9),
    ("text", 15),
    ("to_row", 7),
    ("write", 9),
];

/// A reader searches for a name: one of our own stands in few modules, unless a trait demands it.
#[test]
fn function_names_have_few_namesakes() {
    let mut modules: BTreeMap<String, usize> = BTreeMap::new();
    for (_, text) in all().iter().filter(|(name, _)| !is_test(name)) {
        let functions = functions(text).into_iter().filter(|function| !function.is_demanded);
        let names: std::collections::BTreeSet<String> = functions.map(|function| function.name.to_owned()).collect();
        for name in names {
            *modules.entry(name).or_default() += 1;
        }
    }
    modules.retain(|name, modules| {
        let known = HOMONYMS.iter().find(|(known, _)| known == name).map_or(6, |(_, most)| *most);
        let is_idiom = ["new", "default"].contains(&name.as_str()) || name.starts_with("from");
        *modules > known && !is_idiom
    });
    assert!(
        modules.is_empty(),
        "names in more modules than before, or in more than six: {modules:?}"
    );
}

#[test]
fn nothing_is_left_for_later() {
    // Written in pieces, so that this file does not match itself. Marks count in comments; as data, programs may search for them.
    let marks = [["TO", "DO"], ["FIX", "ME"], ["XX", "X"]].map(|pieces| pieces.concat());
    let calls = [["db", "g!("], ["to", "do!("], ["#[ign", "ore"], ["unimplement", "ed!("]].map(|pieces| pieces.concat());
    for (name, text) in all() {
        for line in text.lines() {
            let comment = line.split_once("//").map_or("", |(_, comment)| comment);
            let quoted = line.matches('"').count() >= 2;
            assert!(
                quoted || !marks.iter().any(|mark| comment.contains(mark.as_str())),
                "{name}: {line}"
            );
            assert!(!calls.iter().any(|call| line.contains(call.as_str())), "{name}: {line}");
        }
    }
}

#[test]
fn no_machine_is_named() {
    let listed = std::process::Command::new("git")
        .args(["ls-files", "-z"])
        .current_dir(root())
        .output();
    let Some(listed) = listed.ok().filter(|listed| listed.status.success()) else {
        // Outside of a git checkout there is no list of tracked files; only the sources are checked.
        all().iter().for_each(|(name, text)| check_places(name, text));
        return;
    };
    let names = String::from_utf8(listed.stdout).expect("UTF-8");
    for name in names.split('\0').filter(|name| !name.is_empty()) {
        if let Ok(text) = std::fs::read_to_string(root().join(name)) {
            check_places(name, &text);
        }
    }
}

fn check_places(name: &str, text: &str) {
    for place in [["/ho", "me/"], ["/wo", "rk/"], ["/ro", "ot/"]].map(|pieces| pieces.concat()) {
        for (at, _) in text.match_indices(&place) {
            let before = text[..at].chars().next_back();
            let absolute = before.is_none_or(|c| c.is_whitespace() || matches!(c, '"' | '\'' | '(' | '=' | '`' | ':'));
            assert!(
                !absolute,
                "{name} names the absolute path {}",
                text[at..].chars().take(60).collect::<String>()
            );
        }
    }
}

#[test]
fn the_example_manifest_is_read() {
    let text = std::fs::read_to_string(root().join("cortex.toml.example")).expect("the example");
    let source = engine::manifest::read::ManifestSource {
        name: "cortex.toml.example".to_owned(),
        text: &text,
    };
    let registry = workbench::workspace::registry(
        std::sync::Arc::new(producers::llm::Refusing),
        std::sync::Arc::new(producers::command::Nothing),
    );
    let loaded = engine::manifest::read::load(&source, None, &producers::rulesets::text, producers::rulesets::NAMES, &registry);
    if let Err(errors) = loaded {
        panic!("{errors:#?}");
    }
}
