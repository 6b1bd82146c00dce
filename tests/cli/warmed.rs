//! A shared folder that one job warms and other machines read: concurrent runs, and the invariant that it never changes an output.

use crate::bench::{Bench, git};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

/// Returns a checkout of the fixture as a machine with its own store and the shared folder.
fn machine(share: &Path) -> Bench {
    let bench = Bench::memotree();
    let manifest = fs::read_to_string(bench.root().join("cortex.toml")).expect("a manifest");
    let remote = format!(
        "\n[remote]\nendpoint = \"dir:{}\"\nwrite = \"always\"\nprefer = \"fetch\"\n",
        share.display()
    );
    bench.write("cortex.toml", &(manifest + &remote));
    bench
}

fn share() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("a folder");
    let share = folder.path().join("share");
    (folder, share)
}

/// Runs a command that must succeed; returns its document.
fn json(bench: &Bench, args: &[&str]) -> Value {
    let ran = bench.run(&[&["--json"], args].concat());
    assert_eq!(ran.code, 0, "{args:?} {ran:?}");
    ran.json()
}

/// Returns the files below a folder, by path.
fn laid_out(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut files = Vec::new();
    let mut todo = vec![folder.to_path_buf()];
    while let Some(folder) = todo.pop() {
        for entry in fs::read_dir(&folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            match path.is_dir() {
                true => todo.push(path),
                false => files.push((path.clone(), fs::read(&path).expect("a file"))),
            }
        }
    }
    files.sort();
    files
}

/// Returns the output files of a build below the workspace.
fn outputs(bench: &Bench) -> Vec<(PathBuf, Vec<u8>)> {
    let out = bench.root().join(".cortex/out");
    let files = laid_out(&out).into_iter();
    files
        .map(|(path, bytes)| (path.strip_prefix(&out).expect("below").to_path_buf(), bytes))
        .collect()
}

const EDITS: [(&str, &str, &str); 3] = [
    ("src/MemoTree.Core/Storage/Crc32.cs", "{", "{ // edited\n"),
    ("src/MemoTree.Core/Storage/Crc32.cs", "}", "}\n"),
    ("cortex.toml", "[workspace]", "# a comment\n[workspace]"),
];

#[test]
fn a_branch_that_edits_a_file_runs_what_the_file_reaches() {
    let (_folder, share) = share();
    let warmed = machine(&share);
    let warm = json(&warmed, &["warm", "//..."]);
    assert!(warm["bundle"]["stored"] == true && warm["remote"]["lies"].as_object().is_some_and(serde_json::Map::is_empty));
    let exact = machine(&share);
    let built = json(&exact, &["build", "//..."]);
    assert_eq!((&built["tally"]["ran"], outputs(&exact)), (&0.into(), outputs(&warmed)));
    for (path, from, to) in EDITS {
        let edited = machine(&share);
        edited.change(path, from, to);
        let built = json(&edited, &["build", "//..."]);
        // As on the machine that built the earlier tree, without the cache.
        warmed.change(path, from, to);
        let incremental = json(&warmed, &["--offline", "build", "//..."]);
        assert_eq!(built["tally"]["ran"], incremental["tally"]["ran"], "{path}");
        assert_eq!(outputs(&edited), outputs(&warmed), "{path}");
        warmed.change(path, to, from);
        json(&warmed, &["--offline", "build", "//..."]);
    }
}

#[test]
fn a_folder_that_loses_files_or_rights_costs_time_only() {
    let (_folder, share) = share();
    let warmed = machine(&share);
    json(&warmed, &["warm", "//..."]);
    for (part, name) in ["some", "all"].into_iter().enumerate() {
        let files = laid_out(&share).into_iter().enumerate();
        for (at, (path, bytes)) in files {
            match at % 3 {
                _ if part == 1 => fs::remove_file(path).expect("removed"),
                0 => fs::write(path, &bytes[bytes.len() / 2..]).expect("cut"),
                1 => fs::remove_file(path).expect("removed"),
                _ => {}
            }
        }
        let reader = machine(&share);
        let built = json(&reader, &["build", "//..."]);
        assert_eq!(built["tally"]["failed"], 0, "{name}");
        assert_eq!(outputs(&reader), outputs(&warmed), "{name}");
    }
    // The folder is a file: one warning, and a build as without a cache.
    fs::remove_dir_all(&share).expect("removed");
    fs::write(&share, b"").expect("a file");
    let reader = machine(&share);
    let ran = reader.run(&["build", "//..."]);
    assert_eq!((ran.code, ran.err.matches("W_REMOTE").count()), (0, 1), "{}", ran.err);
    assert_eq!(warmed.run(&["warm", "//..."]).code, 7);
}

#[test]
fn a_shallow_clone_finds_the_latest_of_its_branch() {
    let (_folder, share) = share();
    let warmed = machine(&share);
    git(&warmed.root(), &["init", "-q", "-b", "main"]);
    git(&warmed.root(), &["add", "."]);
    git(&warmed.root(), &["commit", "-qm", "one"]);
    json(&warmed, &["warm", "//..."]);
    let job = machine(&share);
    job.change("src/MemoTree.Core/Storage/Crc32.cs", "{", "{ // edited\n");
    git(&job.root(), &["init", "-q", "-b", "side"]);
    git(&job.root(), &["add", "."]);
    git(&job.root(), &["commit", "-qm", "no history"]);
    let built = json(&job, &["build", "//..."]);
    assert!(
        built["tally"]["ran"].as_u64().is_some_and(|ran| ran > 0 && ran < 40),
        "{}",
        built["tally"]
    );
    // Warming a tree again, or a similar one, sends little.
    let first = json(&warmed, &["warm", "//..."]);
    assert_eq!(
        first["remote"]["bytes_up"].as_u64().map(|bytes| bytes < 4_096),
        Some(true),
        "{}",
        first["remote"]
    );
    json(&job, &["warm", "//..."]);
}

#[test]
fn explain_reports_how_the_remote_cache_serves_a_target() {
    let (_folder, share) = share();
    json(&machine(&share), &["warm", "//..."]);
    let reader = machine(&share);
    // Nothing reads this output, nor any of its volume.
    let ran = reader.run(&["build", "//types/MemoTree.Core.Storage.Crc32:structure"]);
    assert!(ran.err.contains("results known from a warmed tree"), "{}", ran.err);
    let usages = "//types/MemoTree.Core.Storage.Crc32:usages";
    let explained = json(&reader, &["explain", usages]);
    let remote = &explained["remote"];
    assert_eq!(
        (&remote["look_up"], &remote["is_fetched"]),
        (&"bundled".into(), &true.into()),
        "{remote}"
    );
    assert!(
        remote["volume"]["bytes"].as_u64() > Some(0) && remote["round_trip_us"].as_u64() > Some(0),
        "{remote}"
    );
    let text = reader.run(&["explain", usages]).out;
    assert!(
        text.contains("looked up only as part of a whole tree: building it takes less time than a lookup (a round trip takes ")
            && text.contains("its output is fetched when it is read: fetching its volume of "),
        "{text}"
    );
    // Without a cache, nothing is said.
    let alone = Bench::memotree();
    json(&alone, &["build", "//..."]);
    assert_eq!(json(&alone, &["explain", usages])["remote"], Value::Null);
    // A profile says what producers cost, and which of their results were looked up by themselves.
    reader.change("src/MemoTree.Core/Storage/Crc32.cs", "{", "{ // edited\n");
    json(&reader, &["build", "//...", "--profile", "profile.json"]);
    let profile: Value = serde_json::from_slice(&fs::read(reader.root().join("profile.json")).expect("a profile")).expect("a document");
    let remote = &profile["otherData"]["remote"];
    let producers = remote["producers"].as_array().expect("a list");
    assert!(
        producers
            .iter()
            .any(|producer| producer["look_up"] == "bundled" && producer["took_us"].is_u64()),
        "{remote}"
    );
}

#[test]
fn a_branch_continues_the_bundle_of_its_merge_base() {
    let (_folder, share) = share();
    let bench = machine(&share);
    let from_base = ["warm", "//...", "--from-merge-base"];
    let ran = bench.run(&from_base);
    assert!(
        ran.code == 2 && ran.err.contains("git knows no commit at which this branch left the main line"),
        "{ran:?}"
    );
    git(&bench.root(), &["init", "-q", "-b", "main"]);
    git(&bench.root(), &["add", "."]);
    git(&bench.root(), &["commit", "-qm", "one"]);
    json(&bench, &["warm", "//..."]);
    git(&bench.root(), &["checkout", "-qb", "side"]);
    bench.change("src/MemoTree.Core/Storage/Crc32.cs", "{", "{ // edited\n");
    git(&bench.root(), &["commit", "-qam", "two"]);
    let warmed = json(&bench, &from_base);
    let sent = warmed["remote"]["bytes_up"].as_u64().expect("a number");
    assert!(warmed["bundle"]["stored"] == true && sent < 200_000, "{sent}");
}

#[test]
fn a_machine_that_adopted_the_graph_rebuilds_and_sends_what_the_cache_lost() {
    let (_folder, share) = share();
    json(&machine(&share), &["warm", "//..."]);
    let second = machine(&share);
    json(&second, &["build", "//..."]);
    fs::remove_dir_all(&share).expect("removed");
    fs::create_dir(&share).expect("a folder");
    let warmed = json(&second, &["warm", "//..."]);
    assert!(warmed["bundle"]["stored"] == true, "{}", warmed["bundle"]);
    let third = machine(&share);
    assert_eq!(json(&third, &["build", "//..."])["tally"]["ran"], 0);
    assert_eq!(outputs(&third), outputs(&second));
}

#[test]
fn lookups_of_methods_in_a_remote_cache_are_counted() {
    let (_folder, share) = share();
    let bench = machine(&share);
    assert_eq!(bench.run(&["remote", "stats"]).out, "No remote cache was used.\n");
    assert_eq!(bench.run(&["outline", "NodeStore"]).code, 0);
    let figures = bench.run(&["remote", "stats", "--json"]).json();
    assert_eq!(figures["all"]["hits"], 0);
    assert!(figures["all"]["misses"].as_u64().is_some_and(|misses| misses > 0), "{figures}");
}
