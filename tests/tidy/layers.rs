//! Layers: what crates, modules and files may import, and where heavy dependencies and the disk may be used.

use super::sources::{CRATES, code, is_test, manifest, objections, rust, uses};
use std::collections::{BTreeMap, BTreeSet};

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
                "chat", "engine", "methods", "os", "producers", "remote", "sandbox", "serve", "workbench",
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
        "", "engine", "producers", "producers/command", "producers/csharp", "producers/llm", "producers/msbuild", "producers/text",
        "remote", "workbench", "workbench/chat", "workbench/methods", "workbench/serve",
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
            "clap_complete", "crossterm", "hyper", "indicatif", "rmcp", "signal-hook", "tokio", "unicode-segmentation",
        ] {
            assert!(!dependencies.contains_key(rim), "{folder} depends on {rim}");
        }
    }
    let words = [
        "std::io::stdout", "std::io::stderr", "IsTerminal", "ExitCode", "std::env", "std::process",
    ];
    let is_below = |name: &str| without.iter().any(|folder| name.starts_with(folder));
    // A trace of a bug, and the figures of a service, have the process's number.
    let is_wrong = |line: &str| !line.contains("std::process::id()") && words.iter().any(|word| line.contains(word));
    let found = objections(|name, line| is_below(name) && is_wrong(line));
    assert!(found.is_empty(), "{found:#?}");
}

/// Returns the word that begins a text.
fn word(text: &str) -> String {
    text.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect()
}

/// Returns the lines of a crate that import a module of a higher layer than their own.
fn imports_from_above(sources: &str, layer: impl Fn(&str) -> Option<usize>) -> Vec<String> {
    objections(|name, line| {
        let Some(own) = name.strip_prefix(sources).and_then(|rest| layer(&word(rest))) else {
            return false;
        };
        line.match_indices("crate::")
            .any(|(at, _)| layer(&word(&line[at + 7..])).is_some_and(|other| other > own))
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

/// Returns the modules of a crate that import themselves through others.
fn modules_in_circles(sources: &str) -> BTreeSet<String> {
    let mut imports: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (name, text) in rust(sources).iter().filter(|(name, _)| !is_test(name)) {
        let path = name.strip_prefix(sources).expect("below").trim_start_matches('/');
        let module = word(path);
        let depth = path.trim_end_matches("/mod.rs").split('/').count();
        let to_crate = "super::".repeat(depth);
        let found = imports.entry(module.clone()).or_default();
        for (_, line) in code(text) {
            let line = line.replace(&to_crate, "crate::");
            for (at, crate_path) in line.match_indices("crate::") {
                let after = &line[at + crate_path.len()..];
                match after.strip_prefix('{') {
                    Some(list) => found.extend(list.split(", ").map(word)),
                    None => _ = found.insert(word(after)),
                }
            }
        }
        found.remove(&module);
    }
    imports.retain(|module, _| module != "lib" && module != "main");
    // Add the imports of imports until none is new.
    loop {
        let before = imports.clone();
        for others in imports.values_mut() {
            let further: Vec<String> = others.iter().filter_map(|other| before.get(other)).flatten().cloned().collect();
            others.extend(further);
        }
        if imports == before {
            break;
        }
    }
    imports.retain(|module, others| others.contains(module));
    imports.into_keys().collect()
}

#[test]
fn modules_of_a_crate_import_each_other_in_no_circle() {
    for sources in CRATES {
        let found = modules_in_circles(sources);
        assert!(found.is_empty(), "{sources}: in a circle: {found:?}");
    }
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
        "workbench/src/editable_paths.rs",
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
        "workbench/methods/src/commands/unpack.rs",
        "workbench/methods/src/desk/output_file.rs",
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
