//! Compares builds in overlays with builds of folders with the same files: after any puts, drops, merges, edits and builds, the outputs are the same
//! bytes, nothing of the checkout changes, and results of an overlay are found after its merge.

use super::merge::merge;
use super::put::{Put, write_document, write_over};
use super::record::{open_or_continue, unexpired_overlay};
use crate::edit::disk::Disk;
use crate::location::{MANIFEST, StoreChoice};
use crate::locks::Access;
use crate::trust::Trusting;
use crate::workspace::{Opening, Workspace};
use engine::build::Options;
use engine::build::request::{Report, Request};
use engine::seams::producer::Cancel;
use engine::store::disk::DiskOptions;
use engine::values::digest::Digest;
use engine::values::event::Silent;
use engine::values::pattern::PatternSet;
use producers::llm::Limits;
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

const PATHS: [&str; 4] = ["a.cs", "src/b.cs", "src/c.cs", "obj/d.cs"];
const NAMES: [&str; 2] = ["one", "two"];
const TARGETS: [&str; 3] = ["//index:api", "//index:types", "//index:json"];

type Files = BTreeMap<String, Vec<u8>>;

#[derive(Clone, Debug)]
enum Step {
    Put(usize, usize, Option<Vec<u8>>),
    Drop(usize, usize),
    Edit(usize, Option<Vec<u8>>),
    Merge(usize),
    /// In an overlay, or in none.
    Build(Option<usize>),
}

fn source() -> impl Strategy<Value = Option<Vec<u8>>> {
    let text = (0..3_usize, 0..3_usize, any::<bool>()).prop_map(|(class, body, uses)| {
        let uses = if uses { "public C0 Other => new();" } else { "" };
        format!("namespace N;\npublic class C{class}\n{{\n    public int M() => {body};\n    {uses}\n}}\n").into_bytes()
    });
    prop::option::weighted(0.85, text)
}

fn any_step() -> impl Strategy<Value = Step> {
    let (name, path) = (0..NAMES.len(), 0..PATHS.len());
    prop_oneof![
        4 => (name.clone(), path.clone(), source()).prop_map(|(name, path, bytes)| Step::Put(name, path, bytes)),
        1 => (name.clone(), path.clone()).prop_map(|(name, path)| Step::Drop(name, path)),
        2 => (path, source()).prop_map(|(path, bytes)| Step::Edit(path, bytes)),
        1 => name.clone().prop_map(Step::Merge),
        4 => prop::option::weighted(0.7, name).prop_map(Step::Build),
    ]
}

/// A workspace in a folder, with a store or without.
struct TestWorkspace {
    root: PathBuf,
    store: StoreChoice,
}

impl TestWorkspace {
    fn new(root: PathBuf, store: StoreChoice) -> Self {
        fs::create_dir_all(&root).expect("folder");
        fs::write(root.join(MANIFEST), "[workspace]\nname = \"bench\"\nrulesets = [\"csharp\"]\n").expect("manifest");
        fs::write(root.join(".gitignore"), "obj/\n").expect("rules");
        Self { root, store }
    }

    fn write(&self, path: &str, bytes: Option<&[u8]>) {
        let path = self.root.join(path);
        match bytes {
            Some(bytes) => {
                fs::create_dir_all(path.parent().expect("a folder")).expect("folders");
                fs::write(path, bytes).expect("file");
            }
            None => drop(fs::remove_file(path)),
        }
    }

    fn workspace(&self, overlay: Option<&str>) -> Workspace {
        let opening = Opening {
            from: &self.root,
            store: self.store.clone(),
            options: DiskOptions::default(),
            limits: Limits::default(),
            trust: Trusting::Nothing,
            on_wait: Arc::new(|_: &str| {}),
            hear: None,
            access: Access::Build,
            interrupts: false,
            connect: None,
            overlay,
            graphs: None,
            turn: None,
        };
        Workspace::open(opening).expect("a workspace")
    }

    fn build(&self, overlay: Option<&str>) -> Report {
        let workspace = self.workspace(overlay);
        let mut session = workspace.session().expect("a session");
        session.build(&request(), &Silent, &Cancel::default()).expect("a build")
    }

    /// Returns the number of possibly stale targets without an overlay.
    fn stale(&self) -> usize {
        self.workspace(None).session().expect("a session").marked().len()
    }
}

fn request() -> Request {
    let texts = TARGETS.map(str::to_owned);
    Request {
        patterns: PatternSet::parse(&texts).expect("patterns"),
        digest: Digest::of(b"all"),
        options: Options {
            keep_going: true,
            ..Options::default()
        },
        list: true,
        outputs: true,
    }
}

fn outputs(report: &Report) -> Vec<Option<Vec<u8>>> {
    report
        .outputs
        .iter()
        .map(|bytes| bytes.as_ref().map(|bytes| bytes.to_vec()))
        .collect()
}

/// Returns the outputs of a folder with only these files, built from nothing.
fn clean(folder: &Path, files: &Files) -> Vec<Option<Vec<u8>>> {
    let place = TestWorkspace::new(folder.to_owned(), StoreChoice::None);
    files.iter().for_each(|(path, bytes)| place.write(path, Some(bytes)));
    let made = outputs(&place.build(None));
    fs::remove_dir_all(folder).expect("removed");
    made
}

/// Returns the files that an overlay shows of a workspace.
fn files_in_overlay(disk: &Disk, files: &Files, name: &str) -> Files {
    let mut shown = files.clone();
    for (path, bytes) in super::build::documents(disk, name, NOW).expect("documents") {
        match bytes {
            Some(bytes) => drop(shown.insert(path, bytes.to_vec())),
            None => drop(shown.remove(&path)),
        }
    }
    shown
}

const NOW: u64 = 1_900_000_000;

fn class(name: &str, members: &str) -> Vec<u8> {
    format!("namespace N;\npublic class {name}\n{{\n{members}\n}}\n").into_bytes()
}

#[test]
fn a_build_of_the_checkout_in_the_midst_of_it_is_not_seen() {
    let temp = tempfile::tempdir().expect("folder");
    let base = temp.path().canonicalize().expect("canonical");
    let place = TestWorkspace::new(base.join("ws"), StoreChoice::Folder(base.join("store")));
    let disk = Disk::new(&place.root);
    let mut files = Files::from([
        ("a.cs".to_owned(), class("C0", "public int M() => 0;")),
        ("src/b.cs".to_owned(), class("C1", "public C0 Other => new();")),
    ]);
    // Enough files for records on several pages.
    let others = (0..40).map(|at| {
        (
            format!("src/Other{at}.cs"),
            class(&format!("Other{at}"), "public C0 Other => new();"),
        )
    });
    files.extend(others);
    files.iter().for_each(|(path, bytes)| place.write(path, Some(bytes)));
    place.build(None);
    open_or_continue(&disk, "one", None, NOW).expect("open");
    let document = class("C1", "public C0 Other => new(); public int N() => 1;");
    write_document(&disk, "one", "src/b.cs", &Put::Bytes(document), NOW).expect("put");
    let within = files_in_overlay(&disk, &files, "one");
    place.build(Some("one"));
    let alone = place.build(Some("one")).tally;
    let workspace = place.workspace(Some("one"));
    let mut session = workspace.session().expect("a session");
    // Another process uses the store between two of its steps: afterwards the checkout differs, with other nodes under the same numbers.
    workspace.engine.store.release_lock();
    place.write("a.cs", Some(&class("D0", "public string M() => \"\";")));
    place.write("src/b.cs", None);
    place.write("src/c.cs", Some(&class("D1", "public D0 Other => new(); public D2 Next => new();")));
    place.write("src/d.cs", Some(&class("D2", "")));
    let built = place.build(None);
    let report = session.build(&request(), &Silent, &Cancel::default()).expect("a build");
    assert_eq!(outputs(&report), clean(&base.join("clean"), &within), "{:?}", report.failures);
    assert_ne!(outputs(&report), outputs(&built));
    // It continued with its original graph, not with a newly planned one.
    assert_eq!((report.tally.ran, report.tally.cached), (0, alone.cached));
    drop((session, workspace));
    // And it left the rows of the checkout's build.
    assert_eq!((place.stale(), outputs(&place.build(None))), (0, outputs(&built)));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 10, ..ProptestConfig::default() })]

    #[test]
    fn a_build_in_an_overlay_is_that_of_a_folder_with_its_files(steps in prop::collection::vec(any_step(), 4..16)) {
        let temp = tempfile::tempdir().expect("folder");
        let base = temp.path().canonicalize().expect("canonical");
        let place = TestWorkspace::new(base.join("ws"), StoreChoice::Folder(base.join("store")));
        let disk = Disk::new(&place.root);
        let mut files = Files::new();
        for step in steps.into_iter().chain([Step::Build(None), Step::Build(Some(0)), Step::Merge(0), Step::Build(None)]) {
            let opened = |name: usize| open_or_continue(&disk, NAMES[name], None, NOW).map(|_| NAMES[name]).expect("open");
            match step {
                Step::Put(name, path, bytes) => {
                    // A missing file is fine here.
                    let _ = write_over(&disk, opened(name), PATHS[path], &bytes.map_or(Put::Delete, Put::Bytes), true, NOW);
                }
                Step::Drop(name, path) => drop(write_document(&disk, opened(name), PATHS[path], &Put::Drop, NOW)),
                Step::Edit(path, bytes) => {
                    place.write(PATHS[path], bytes.as_deref());
                    match bytes {
                        Some(bytes) => drop(files.insert(PATHS[path].to_owned(), bytes)),
                        None => drop(files.remove(PATHS[path])),
                    }
                }
                Step::Merge(name) => {
                    let name = opened(name);
                    let within = files_in_overlay(&disk, &files, name);
                    let moved = files.clone();
                    place.build(Some(name));
                    let merged = merge(&disk, name, NOW).expect("answered");
                    prop_assert_eq!(merged.conflicts.is_empty(), unexpired_overlay(&disk, name, NOW).is_err());
                    files = PATHS
                        .iter()
                        .filter_map(|path| Some(((*path).to_owned(), fs::read(place.root.join(path)).ok()?)))
                        .collect();
                    if !merged.conflicts.is_empty() {
                        prop_assert_eq!(&files, &moved);
                    } else if files == within {
                        let report = place.build(None);
                        prop_assert_eq!(report.tally.ran, 0, "what the overlay made is found");
                    }
                }
                Step::Build(None) => {
                    prop_assert_eq!(outputs(&place.build(None)), clean(&base.join("clean"), &files));
                }
                Step::Build(Some(name)) => {
                    let name = opened(name);
                    let (stale, within) = (place.stale(), files_in_overlay(&disk, &files, name));
                    let report = place.build(Some(name));
                    prop_assert_eq!(outputs(&report), clean(&base.join("clean"), &within), "{:?}", report.failures);
                    prop_assert_eq!(place.build(Some(name)).tally.ran, 0);
                    prop_assert_eq!(place.stale(), stale, "marks of the checkout");
                }
            }
        }
    }
}
