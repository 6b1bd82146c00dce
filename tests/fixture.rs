//! The C# fixture against the C# compiler's symbols, and against a build of it elsewhere at another time.

use engine::store::disk::{DiskOptions, DiskStore};
use engine::store::{Inventory, Store};
use engine::values::digest::Digest;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime};

const FIXTURE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/memotree");

/// A copy of the fixture with its own store.
struct Checkout {
    root: PathBuf,
    store: PathBuf,
}

impl Checkout {
    fn new(folder: &Path) -> Self {
        let (root, store) = (folder.join("ws"), folder.join("store"));
        copy(Path::new(FIXTURE), &root);
        Self { root, store }
    }

    fn run(&self, args: &[&str]) -> String {
        let output = Command::new(env!("CARGO_BIN_EXE_cortex"))
            .args(args)
            .current_dir(&self.root)
            .env_clear()
            .env("CORTEX_STORE", &self.store)
            .env("HOME", &self.store)
            .env("CORTEX_TRUST", "all")
            .output()
            .expect("the program starts");
        assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).expect("text")
    }

    fn json(&self, args: &[&str]) -> serde_json::Value {
        serde_json::from_str(&self.run(args)).expect("JSON")
    }
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).expect("folder");
    for entry in std::fs::read_dir(from).expect("readable") {
        let entry = entry.expect("entry");
        let name = entry.file_name();
        // Skip the output of earlier builds.
        if name == ".cortex" || name == "bin" || name == "obj" {
            continue;
        }
        if entry.file_type().expect("type").is_dir() {
            copy(&entry.path(), &to.join(name));
        } else {
            std::fs::copy(entry.path(), to.join(name)).expect("copied");
        }
    }
}

fn files(folder: &Path, below: &Path, found: &mut BTreeMap<PathBuf, Vec<u8>>) {
    for entry in std::fs::read_dir(folder).expect("readable") {
        let path = entry.expect("entry").path();
        if path.is_dir() {
            files(&path, below, found);
        } else {
            let name = path.strip_prefix(below).expect("below").to_owned();
            found.insert(name, std::fs::read(&path).expect("readable"));
        }
    }
}

#[test]
fn the_types_are_those_the_compiler_sees() {
    let folder = tempfile::tempdir().expect("folder");
    let table = Checkout::new(folder.path()).json(&["show", "//index:types", "--json"]);
    let found: BTreeSet<String> = table["output"].as_object().expect("a table").keys().cloned().collect();
    let listed = std::fs::read_to_string(Path::new(FIXTURE).join("expected-types.txt")).expect("readable");
    // Documentation ids write `Outer.Inner`; symbol paths write `Outer+Inner`.
    let expected: BTreeSet<&str> = listed.lines().filter_map(|line| line.strip_prefix("T:")).collect();
    let dotted: BTreeSet<String> = found.iter().map(|path| path.replace('+', ".")).collect();
    assert_eq!(dotted.len(), found.len(), "two symbol paths for one documentation id");
    assert!(expected.len() > 40, "{expected:?}");
    assert_eq!(dotted.iter().map(String::as_str).collect::<BTreeSet<_>>(), expected);
    assert!(expected.contains("Program"));
}

#[test]
fn two_checkouts_of_different_age_make_the_same_bytes_and_keys() {
    let near = tempfile::tempdir().expect("folder");
    let far = tempfile::tempdir().expect("folder");
    let first = Checkout::new(near.path());
    let second = Checkout::new(&far.path().join("a folder/with a longer name"));
    let long_ago = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000);
    let mut sources = BTreeMap::new();
    files(&second.root, &second.root, &mut sources);
    for name in sources.keys() {
        let file = std::fs::File::options().write(true).open(second.root.join(name)).expect("writable");
        file.set_modified(long_ago).expect("dated");
    }

    for checkout in [&first, &second] {
        checkout.run(&["build", "//..."]);
    }
    // Every kind of node of a type, and those that read all types: a key contains the digests of everything below.
    let of_a_type = [
        "structure", "impl", "xmldoc", "mentions", "deps", "outline-info", "outline", "semantic", "role",
    ];
    let labels = of_a_type
        .map(|target| format!("//types/MemoTree.Core.NodeStore:{target}"))
        .into_iter()
        .chain(["types", "symbols", "graph", "json", "conflicts"].map(|target| format!("//index:{target}")));
    for label in labels {
        let [near, far] = [&first, &second].map(|checkout| checkout.json(&["explain", &label, "--output", "json"]));
        assert_eq!(near["state"], "current", "{label}: {near}");
        assert!(near["key"].is_string() && near["output"].is_string(), "{label}: {near}");
        assert_eq!((&near["key"], &near["output"]), (&far["key"], &far["output"]), "{label}");
    }
    let (mut left, mut right) = (BTreeMap::new(), BTreeMap::new());
    files(&first.root.join(".cortex/out"), &first.root, &mut left);
    files(&second.root.join(".cortex/out"), &second.root, &mut right);
    assert!(left.len() > 100, "{:?}", left.keys());
    assert_eq!(left.keys().collect::<Vec<_>>(), right.keys().collect::<Vec<_>>());
    for (name, bytes) in &left {
        assert!(right[name] == *bytes, "{} differs", name.display());
    }
}

/// Everything that a build stores, except times.
struct LeftBehind {
    /// Outputs by label, as digests.
    outputs: BTreeMap<String, String>,
    /// Blobs by digest and output files by path.
    bytes: BTreeMap<PathBuf, Vec<u8>>,
    /// Counts of the store.
    counts: [u64; 4],
}

fn left_behind(checkout: &Checkout, jobs: &str) -> LeftBehind {
    let report = checkout.json(&["build", "//...", jobs, "--output", "json"]);
    let roots = report["roots"].as_array().expect("targets").iter();
    let outputs: BTreeMap<String, String> = roots
        .map(|root| (root["label"].to_string(), root["output"].as_str().expect("an output").to_owned()))
        .collect();
    let mut laid_out = BTreeMap::new();
    files(&checkout.root.join(".cortex/out"), &checkout.root, &mut laid_out);
    let (store, _) = DiskStore::open(&checkout.store, DiskOptions::default()).expect("a store");
    let mut blobs = BTreeMap::new();
    for digest in outputs.values() {
        let digest: Digest = Digest::parse(digest).expect("a digest");
        if let Some(blob) = store.blob(&digest).expect("a store") {
            blobs.insert(PathBuf::from(digest.to_string()), blob.to_vec());
        }
    }
    let (usage, bytes) = (store.usage().expect("a store"), store.blob_bytes().expect("a store"));
    assert!(blobs.len() > 100, "{} blobs of {} targets", blobs.len(), outputs.len());
    blobs.append(&mut laid_out);
    LeftBehind {
        outputs,
        bytes: blobs,
        counts: [usage.blobs, bytes.raw, usage.actions, usage.history_versions],
    }
}

#[test]
fn one_worker_and_eight_leave_the_same_behind() {
    let folder = tempfile::tempdir().expect("folder");
    let one = Checkout::new(&folder.path().join("one"));
    let eight = Checkout::new(&folder.path().join("eight"));
    let (one, eight) = (left_behind(&one, "-j1"), left_behind(&eight, "-j8"));
    assert_eq!(one.outputs, eight.outputs);
    assert!(
        one.bytes.keys().any(|name| name.to_string_lossy().ends_with(".semantic.md")),
        "no summary"
    );
    assert_eq!(one.bytes.keys().collect::<Vec<_>>(), eight.bytes.keys().collect::<Vec<_>>());
    for (name, bytes) in &one.bytes {
        assert!(eight.bytes[name] == *bytes, "{} differs", name.display());
    }
    assert_eq!(one.counts, eight.counts);
}
