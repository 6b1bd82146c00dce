//! Random operations on a watched folder: refreshing only named paths finds as much as a full refresh.

use super::ask::WatcherAnswer;
use super::{Batch, Socket, SocketError, Watch, WatchProblem, Watcher};
use crate::files::globs::fingerprint;
use crate::files::tree::SourceTree;
use crate::seams::world::{Rows, SetDef, Watcher as _};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

const LONG: Duration = Duration::from_secs(300);

fn now() -> i64 {
    i64::try_from(SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos()).unwrap()
}

fn sets() -> Vec<SetDef> {
    let set = |include: &[&str], gitignore| SetDef {
        name: include.join(" "),
        include: include.iter().map(|glob| (*glob).to_owned()).collect(),
        exclude: vec!["obj/**".to_owned()],
        gitignore,
    };
    vec![set(&["**/*.cs"], true), set(&["a/**/*.md", "*.md"], false)]
}

/// A folder, and a builder's state from refreshing only the paths that a watcher names.
struct Bench {
    _dir: tempfile::TempDir,
    root: PathBuf,
    rows: BTreeMap<Vec<u8>, Vec<u8>>,
    token: Option<Vec<u8>>,
    directories: u64,
}

impl Bench {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap().join("ws");
        fs::create_dir(&root).unwrap();
        Self {
            _dir: dir,
            root,
            rows: BTreeMap::new(),
            token: None,
            directories: 0,
        }
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn watcher(&self) -> Watcher {
        Watcher::new(&self.root, &sets()).unwrap()
    }

    /// Refreshes as a build does: named paths, or everything. Returns the number of stamps read.
    fn read_changes(&mut self, watcher: &mut Watcher) -> usize {
        let watched = watcher.since(fingerprint(&sets()), self.token.as_deref());
        let mut tree = SourceTree::from_rows(self.rows.clone().into_iter().collect());
        let refresh = match watched.as_ref().and_then(|watched| watched.changed.as_ref()) {
            Some(changed) => tree.refresh_named(&self.root, &sets(), now(), changed, self.directories),
            None => tree.refresh(&self.root, &sets(), now()),
        };
        let stated = refresh.unwrap().stated;
        for (key, row) in tree.take_dirty_rows() {
            match row {
                Some(row) => self.rows.insert(key, row),
                None => self.rows.remove(&key),
            };
        }
        if let Some(watched) = watched {
            (self.token, self.directories) = (Some(watched.token), tree.tree_facts().directories);
        }
        stated
    }

    fn sources_seen(&self) -> SourcesSeen {
        all(&SourceTree::from_rows(self.rows.clone().into_iter().collect::<Rows>()))
    }

    fn there(&self) -> SourcesSeen {
        let mut tree = SourceTree::default();
        tree.refresh(&self.root, &sets(), now()).unwrap();
        all(&tree)
    }
}

/// Files with their digests, and the paths of each set.
type SourcesSeen = (Vec<(String, Option<crate::values::digest::Digest>)>, Vec<Vec<String>>);

fn all(tree: &SourceTree) -> SourcesSeen {
    (tree.files(), vec![tree.set_paths(0), tree.set_paths(1)])
}

#[derive(Clone, Debug)]
enum Edit {
    Write(String, u8),
    Save(String, u8),
    Append(String),
    Remove(String),
    Rename(String, String),
    Out(String),
    Back(String),
    Link(String, String),
    HardLink(String, String),
    Ignore(String, Vec<&'static str>),
    Mode(String, u32),
    Hear,
    Look,
}

fn path() -> impl Strategy<Value = String> {
    prop::collection::vec(prop::sample::select(vec!["a", "b", "b-c", "obj"]), 0..3).prop_flat_map(|dirs| {
        prop::sample::select(vec!["x.cs", "y.cs", "n.md", "a"])
            .prop_map(move |name| dirs.iter().copied().chain([name]).collect::<Vec<_>>().join("/"))
    })
}

fn edit() -> impl Strategy<Value = Edit> {
    let lines = prop::collection::vec(prop::sample::select(vec!["b/", "*.md", "/a/", "x.cs", "!x.cs", "b*/", "a/b"]), 0..3);
    let rules = prop::sample::select(vec![
        ".gitignore", "a/.gitignore", "b/.ignore", ".git/info/exclude", "a/b/.gitignore",
    ]);
    prop_oneof![
        6 => (path(), 0..4u8).prop_map(|(path, text)| Edit::Write(path, text)),
        3 => (path(), 0..4u8).prop_map(|(path, text)| Edit::Save(path, text)),
        2 => path().prop_map(Edit::Append),
        2 => path().prop_map(Edit::Remove),
        3 => (path(), path()).prop_map(|(from, to)| Edit::Rename(from, to)),
        1 => path().prop_map(Edit::Out),
        1 => path().prop_map(Edit::Back),
        1 => (path(), path()).prop_map(|(from, to)| Edit::Link(from, to)),
        1 => (path(), path()).prop_map(|(from, to)| Edit::HardLink(from, to)),
        2 => (rules, lines).prop_map(|(file, lines)| Edit::Ignore(file.to_owned(), lines)),
        1 => (path(), prop::sample::select(vec![0o600, 0o644, 0o755])).prop_map(|(path, mode)| Edit::Mode(path, mode)),
        3 => Just(Edit::Hear),
        4 => Just(Edit::Look),
    ]
}

/// Applies an edit if possible; obstacles make it fail, as for a user.
fn apply(bench: &mut Bench, watcher: &mut Watcher, edit: &Edit) {
    let at = |path: &str| bench.root.join(path);
    let room = |path: &Path| fs::create_dir_all(path.parent().unwrap());
    let aside = bench.root.with_file_name("aside");
    let _ = match edit {
        Edit::Write(path, text) => room(&at(path)).and_then(|()| fs::write(at(path), [*text])),
        Edit::Save(path, text) => {
            let temporary = at(&format!("{path}.tmp~"));
            let saved = room(&temporary).and_then(|()| fs::write(&temporary, [*text]));
            saved.and_then(|()| fs::rename(&temporary, at(path)))
        }
        Edit::Append(path) => fs::File::options()
            .append(true)
            .open(at(path))
            .and_then(|mut file| std::io::Write::write_all(&mut file, b"+")),
        Edit::Remove(path) if at(path).is_dir() => fs::remove_dir_all(at(path)),
        Edit::Remove(path) => fs::remove_file(at(path)),
        Edit::Rename(from, to) => room(&at(to)).and_then(|()| fs::rename(at(from), at(to))),
        Edit::Out(path) => fs::rename(at(path), &aside),
        Edit::Back(path) => room(&at(path)).and_then(|()| fs::rename(&aside, at(path))),
        Edit::Link(from, to) => room(&at(to)).and_then(|()| symlink(at(from), at(to))),
        Edit::HardLink(from, to) => room(&at(to)).and_then(|()| fs::hard_link(at(from), at(to))),
        Edit::Ignore(file, lines) => room(&at(file)).and_then(|()| fs::write(at(file), lines.join("\n"))),
        Edit::Mode(path, mode) if at(path).is_file() => fs::set_permissions(at(path), fs::Permissions::from_mode(*mode)),
        Edit::Mode(..) => Ok(()),
        Edit::Hear => {
            watcher.process_received();
            Ok(())
        }
        Edit::Look => {
            bench.read_changes(watcher);
            Ok(())
        }
    };
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, ..ProptestConfig::default() })]
    #[test]
    fn the_watcher_reports_all_changed_files(before in prop::collection::vec(edit(), 0..12), after in prop::collection::vec(edit(), 1..40)) {
        let mut bench = Bench::new();
        let mut early = bench.watcher();
        before.iter().for_each(|edit| apply(&mut bench, &mut early, edit));
        drop(early);
        // A new watcher, which did not issue the known tokens.
        let mut watcher = bench.watcher();
        for edit in &after {
            apply(&mut bench, &mut watcher, edit);
            if let Edit::Look = edit {
                prop_assert_eq!(bench.sources_seen(), bench.there());
            }
        }
        bench.read_changes(&mut watcher);
        prop_assert_eq!(bench.sources_seen(), bench.there());
        prop_assert_eq!(watcher.problem(), None);
    }
}

#[test]
fn a_file_in_a_new_directory_may_be_another_name_of_a_source() {
    let mut bench = Bench::new();
    bench.write("y.cs", "one");
    bench.write("b/z.cs", "one");
    fs::hard_link(bench.root.join("b/z.cs"), bench.root.join("b/x.cs")).unwrap();
    let mut watcher = bench.watcher();
    bench.read_changes(&mut watcher);
    fs::create_dir(bench.root.join("a")).unwrap();
    fs::hard_link(bench.root.join("y.cs"), bench.root.join("a/x.cs")).unwrap();
    bench.read_changes(&mut watcher);
    bench.write("a/x.cs", "two");
    bench.read_changes(&mut watcher);
    assert_eq!(bench.sources_seen(), bench.there());
    // Several files under one name, one after the other.
    bench.write("c.cs", "one");
    bench.read_changes(&mut watcher);
    fs::remove_file(bench.root.join("b/x.cs")).unwrap();
    fs::hard_link(bench.root.join("c.cs"), bench.root.join("b/x.cs")).unwrap();
    bench.read_changes(&mut watcher);
    bench.write("b/x.cs", "three");
    bench.read_changes(&mut watcher);
    assert_eq!(bench.sources_seen(), bench.there());
}

#[test]
fn unchanged_files_are_not_read_again() {
    let mut bench = Bench::new();
    for file in ["x.cs", "a/y.cs", "a/b/z.cs", "b/n.cs"] {
        bench.write(file, file);
    }
    let mut watcher = bench.watcher();
    assert!(bench.read_changes(&mut watcher) > 4);
    assert_eq!(bench.read_changes(&mut watcher), 0);
    // Non-sources are not named, ignored folders are not watched, and reading changes nothing.
    bench.write("a/y.txt", "");
    bench.write("obj/x.cs", "");
    assert_eq!(fs::read_to_string(bench.root.join("a/y.cs")).unwrap(), "a/y.cs");
    assert_eq!(bench.read_changes(&mut watcher), 0);
    bench.write("a/y.cs", "other");
    // The directory, which changed recently and is listed again, and its one source.
    assert!((2..=3).contains(&bench.read_changes(&mut watcher)));
    assert_eq!(bench.sources_seen(), bench.there());
    // A lost row is detected by the number of the remaining ones.
    bench.rows.remove(b"a/b".as_slice());
    assert!(bench.read_changes(&mut watcher) > 4);
    assert_eq!(bench.sources_seen(), bench.there());
}

#[test]
fn output_changes_are_reported_separately() {
    let mut bench = Bench::new();
    bench.write("x.cs", "");
    let mut watcher = bench.watcher();
    let print = fingerprint(&sets());
    let mut token = watcher.since(print, None).unwrap().token;
    let mut changed = |watcher: &mut Watcher| {
        let watched = watcher.since(print, Some(&token)).unwrap();
        token = watched.token;
        assert_eq!(watched.changed, Some(Vec::new()));
        watched.outputs_changed
    };
    assert!(!changed(&mut watcher));
    for path in [
        ".cortex/out/a/x.md", ".cortex/out/a/x.md", ".cortex/out/b/c/y.md", ".cortex/out/z.md",
    ] {
        bench.write(path, "text");
        assert!(changed(&mut watcher), "{path}");
        assert!(!changed(&mut watcher), "{path}");
    }
    bench.write(".cortex/store", "id");
    assert!(!changed(&mut watcher));
    fs::rename(bench.root.join(".cortex/out/b"), bench.root.join(".cortex/out/d")).unwrap();
    assert!(changed(&mut watcher));
    fs::remove_file(bench.root.join(".cortex/out/d/c/y.md")).unwrap();
    assert!(changed(&mut watcher));
    fs::remove_dir_all(bench.root.join(".cortex")).unwrap();
    assert!(changed(&mut watcher));
    bench.write(".cortex/out/x.md", "text");
    assert!(changed(&mut watcher));
    assert!(!changed(&mut watcher));
    bench.read_changes(&mut watcher);
}

#[test]
fn the_manifest_is_reported_although_it_is_no_source() {
    let bench = Bench::new();
    bench.write("cortex.toml", "");
    let mut watcher = bench.watcher();
    let print = fingerprint(&sets());
    let mut token = watcher.since(print, None).unwrap().token;
    let mut changed = |watcher: &mut Watcher| {
        let watched = watcher.since(print, Some(&token)).unwrap();
        token = watched.token;
        watched.changed.unwrap()
    };
    assert_eq!(changed(&mut watcher), [""; 0]);
    for (path, text) in [
        ("cortex.toml", "a"),
        (".cortex/packs.toml", "a"),
        (".cortex/packs.toml", "ab"),
        ("cortex.toml", "ab"),
    ] {
        bench.write(path, text);
        assert_eq!(changed(&mut watcher), [path]);
        assert_eq!(changed(&mut watcher), [""; 0]);
    }
    fs::remove_file(bench.root.join(".cortex/packs.toml")).unwrap();
    assert_eq!(changed(&mut watcher), [".cortex/packs.toml"]);
}

#[test]
fn a_queue_that_overflows_loses_nothing() {
    let mut bench = Bench::new();
    for file in ["x.cs", "y.cs", "a/z.cs"] {
        bench.write(file, "");
    }
    let mut watcher = bench.watcher();
    bench.read_changes(&mut watcher);
    let limit = fs::read_to_string("/proc/sys/fs/inotify/max_queued_events").unwrap();
    let limit: usize = limit.trim().parse().unwrap();
    for count in 0..=limit {
        // Two identical consecutive events would be merged into one.
        fs::write(bench.root.join(["x.cs", "y.cs"][count % 2]), count.to_string()).unwrap();
    }
    fs::write(bench.root.join("a/z.cs"), "last").unwrap();
    let watched = watcher.since(fingerprint(&sets()), bench.token.as_deref()).unwrap();
    assert_eq!(watched.changed, None);
    bench.read_changes(&mut watcher);
    assert_eq!(bench.sources_seen(), bench.there());
    assert_eq!(bench.read_changes(&mut watcher), 0);
}

#[test]
fn a_replaced_root_is_detected() {
    let mut bench = Bench::new();
    bench.write("x.cs", "");
    let mut watcher = bench.watcher();
    bench.read_changes(&mut watcher);
    fs::rename(&bench.root, bench.root.with_file_name("old")).unwrap();
    fs::create_dir(&bench.root).unwrap();
    assert_eq!(watcher.since(fingerprint(&sets()), bench.token.as_deref()), None);
    assert_eq!(watcher.problem(), Some(&WatchProblem::Gone));
}

#[test]
fn other_sets_are_not_answered_for_until_they_are_covered() {
    let bench = Bench::new();
    bench.write("obj/x.cs", "");
    let mut watcher = bench.watcher();
    let mut others = sets();
    others[0].exclude.clear();
    let token = watcher.since(fingerprint(&sets()), None).unwrap().token;
    assert_eq!(watcher.since(fingerprint(&others), Some(&token)), None);
    watcher.cover(&others).unwrap();
    assert_eq!(watcher.since(fingerprint(&others), Some(&token)).unwrap().changed, None);
    let token = watcher.since(fingerprint(&others), None).unwrap().token;
    bench.write("obj/x.cs", "changed");
    let changed = watcher.since(fingerprint(&others), Some(&token)).unwrap().changed;
    assert_eq!(changed, Some(vec!["obj/x.cs".to_owned()]));
}

fn next(watch: &Watch) -> Batch {
    watch.batches().recv_timeout(LONG).expect("a batch")
}

/// Takes batches until one names a path.
fn until(watch: &Watch, path: &str) -> Batch {
    let mut all = Batch::default();
    while !all.paths.contains(path) {
        let batch = next(watch);
        all.paths.extend(batch.paths);
        all.whole |= batch.whole;
        all.head |= batch.head;
    }
    all
}

#[test]
fn a_save_by_renaming_is_one_change_of_the_file() {
    let bench = Bench::new();
    bench.write("a/x.cs", "one");
    let watch = Watch::start(bench.watcher(), None, Box::new(|| {})).unwrap();
    bench.write("a/x.cs.tmp", "two");
    bench.write("a/4913", "");
    fs::remove_file(bench.root.join("a/4913")).unwrap();
    fs::rename(bench.root.join("a/x.cs"), bench.root.join("a/x.cs~")).unwrap();
    fs::rename(bench.root.join("a/x.cs.tmp"), bench.root.join("a/x.cs")).unwrap();
    fs::remove_file(bench.root.join("a/x.cs~")).unwrap();
    let batch = until(&watch, "a/x.cs");
    assert_eq!(batch.paths.into_iter().collect::<Vec<_>>(), ["a/x.cs"]);
}

#[test]
fn a_checkout_is_one_batch() {
    let bench = Bench::new();
    for file in 0..20 {
        bench.write(&format!("a/{file}.cs"), "one");
    }
    bench.write(".git/HEAD", "ref: refs/heads/one\n");
    let watch = Watch::start(bench.watcher(), None, Box::new(|| {})).unwrap();
    bench.write(".git/index.lock", "");
    for file in 0..20 {
        bench.write(&format!("a/{file}.cs"), "two");
    }
    // Longer than a batch otherwise stays open: none arrives while git is at work.
    assert!(watch.batches().recv_timeout(Duration::from_millis(1_200)).is_err());
    bench.write(".git/HEAD.lock", "ref: refs/heads/two\n");
    fs::rename(bench.root.join(".git/HEAD.lock"), bench.root.join(".git/HEAD")).unwrap();
    fs::remove_file(bench.root.join(".git/index.lock")).unwrap();
    let batch = next(&watch);
    assert_eq!((batch.paths.len(), batch.head, batch.whole), (20, true, false));
}

#[test]
fn others_ask_at_the_socket_and_only_one_listens_there() {
    let mut bench = Bench::new();
    bench.write("x.cs", "one");
    // Longer than the name of a socket may be.
    let folder = bench.root.with_file_name("f".repeat(120));
    let path = folder.join("0123.watch");
    let asked = WatcherAnswer::new(&path);
    let print = fingerprint(&sets());
    assert_eq!(asked.since(print, None), None);
    let watch = Watch::start(bench.watcher(), Some(Socket::bind_exclusively(&path).unwrap()), Box::new(|| {})).unwrap();
    assert!(matches!(Socket::bind_exclusively(&path), Err(SocketError::Taken { pid }) if pid == std::process::id().to_string()));
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    let first = asked.since(print, None).unwrap();
    assert_eq!(first.changed, None);
    bench.token = Some(first.token);
    for text in ["two", "three"] {
        bench.write("x.cs", text);
        let answer = asked.since(print, bench.token.as_deref()).unwrap();
        assert_eq!(answer.changed, Some(vec!["x.cs".to_owned()]));
        bench.token = Some(answer.token);
    }
    assert_eq!(asked.since(print, bench.token.as_deref()).unwrap().changed, Some(Vec::new()));
    assert_eq!(asked.since(print + 1, bench.token.as_deref()), None);
    // A client that sends garbage, or nothing, gets no answer and delays others only briefly.
    for nonsense in [&b"\xff\xff\xff\xff"[..], b"\x02\0\0\0\xa0", b"\x05\0\0\0\xff\xff\xff\xff\xff"] {
        let (_folder, name) = os::sockets::short_name(&path).unwrap();
        let mut stream = std::os::unix::net::UnixStream::connect(name).unwrap();
        std::io::Write::write_all(&mut stream, nonsense).unwrap();
        let mut answer = Vec::new();
        let _ = std::io::Read::read_to_end(&mut stream, &mut answer);
        assert!(answer.is_empty());
    }
    assert!(asked.since(print, None).is_some());
    drop(watch);
    assert!(!path.exists());
    assert_eq!(asked.since(print, None), None);
    // The files of a killed watch are taken over.
    fs::write(&path, "").unwrap();
    drop(Socket::bind_exclusively(&path).unwrap());
}
