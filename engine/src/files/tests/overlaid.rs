//! Documents over a folder, compared with the same folder with the documents as files: equal sets, digests and bytes, with any ignore files and
//! links.

use super::set;
use crate::files::disk::Disk;
use crate::files::overlaid::{Documents, Overlaid};
use crate::seams::world::{SetDef, Sources, World};
use crate::values::digest::Digest;
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::Arc;

const FILES: [&str; 7] = ["a.cs", "x/a.cs", "x/b.cs", "x/y/c.cs", "obj/d.cs", "new/e.cs", ".hidden/f.cs"];
const RULES: [(&str, &str); 5] = [
    (".gitignore", "obj/\n"),
    (".gitignore", "*.cs\n!x/\n"),
    ("x/.gitignore", "b.cs\n!y\n"),
    ("x/.ignore", "!b.cs\ny/\n"),
    (".gitignore", "/x/y/\n/new\n"),
];
const LINKS: [(&str, &str); 5] = [
    ("l.cs", "a.cs"),
    ("x/l.cs", "../x/b.cs"),
    ("x/m.cs", "y/c.cs"),
    ("k.cs", "l.cs"),
    ("out.cs", "../secret.cs"),
];

fn sets() -> Vec<SetDef> {
    vec![
        set(&["**/*.cs"], &[], true),
        set(&["x/**/*.cs", ".hidden/*.cs"], &["**/c.cs"], false),
        set(&["new/*.cs"], &[], true),
    ]
}

fn write(root: &Path, path: &str, bytes: &[u8]) {
    let path = root.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, bytes).unwrap();
}

/// Everything that a build sees of sources.
fn seen(world: &dyn World, sources: &dyn Sources) -> (Vec<Vec<String>>, BTreeMap<String, Digest>) {
    let sets: Vec<Vec<String>> = (0..sets().len()).map(|set| sources.set(set)).collect();
    let mut files = BTreeMap::new();
    for path in sets.iter().flatten() {
        let digest = sources.digest(path).expect("a source of a set has a digest");
        assert_eq!(Digest::of(&world.read(path).unwrap()), digest, "{path}");
        files.insert(path.clone(), digest);
    }
    for (set, held) in sets.iter().enumerate() {
        assert!(held.iter().all(|path| sources.contains(set, path)));
    }
    (sets, files)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    #[test]
    fn documents_act_like_files(
        files in prop::collection::btree_set(0..FILES.len(), 0..6),
        rules in prop::collection::btree_set(0..RULES.len(), 0..3),
        links in prop::collection::btree_set(0..LINKS.len(), 0..4),
        documents in prop::collection::btree_map(0..FILES.len(), prop::option::of("[ab]{1,2}"), 0..5),
        known: bool,
    ) {
        let (temp, sets) = (tempfile::tempdir().unwrap(), sets());
        write(temp.path(), "secret.cs", b"secret");
        let (below, clean) = (temp.path().join("below"), temp.path().join("clean"));
        for root in [&below, &clean] {
            fs::create_dir(root).unwrap();
            for at in &files {
                write(root, FILES[*at], b"base");
            }
            for at in &rules {
                write(root, RULES[*at].0, RULES[*at].1.as_bytes());
            }
            for at in &links {
                let link = root.join(LINKS[*at].0);
                fs::create_dir_all(link.parent().unwrap()).unwrap();
                symlink(LINKS[*at].1, link).unwrap();
            }
        }
        let documents: Documents = documents.into_iter().map(|(at, text)| (FILES[at].to_owned(), text.map(|text| text.into_bytes().into()))).collect();
        for (path, document) in &documents {
            match document {
                Some(bytes) => write(&clean, path, bytes),
                None => drop(fs::remove_file(clean.join(path))),
            }
        }
        let mut rows = Vec::new();
        let below = Disk::new(below.canonicalize().unwrap());
        let mut before = (Vec::new(), BTreeMap::new());
        if known {
            let mut sources = below.sources(Vec::new());
            sources.refresh(&sets).unwrap();
            before = seen(&below, &*sources);
            rows = sources.take_dirty_rows().into_iter().filter_map(|(key, row)| Some((key, row?))).collect();
        }
        let over = Overlaid::new(Arc::new(below), documents);
        let mut sources = over.sources(rows);
        let refresh = sources.refresh(&sets).unwrap();
        let clean = Disk::new(clean.canonicalize().unwrap());
        let mut expected = clean.sources(Vec::new());
        expected.refresh(&sets).unwrap();
        let now = seen(&over, &*sources);
        prop_assert_eq!(&now, &seen(&clean, &*expected));
        // The reported changes are the differences from the known state.
        let reported: BTreeMap<String, (Option<Digest>, Option<Digest>)> =
            refresh.changes.into_iter().map(|change| (change.path, (change.from, change.to))).collect();
        let paths = before.1.keys().chain(now.1.keys());
        let differs: BTreeMap<_, _> = paths
            .map(|path| (path.clone(), (before.1.get(path).copied(), now.1.get(path).copied())))
            .filter(|(_, (from, to))| from != to)
            .collect();
        prop_assert_eq!(reported, differs);
        let moved: Vec<usize> = (0..sets.len()).filter(|set| before.0.get(*set) != now.0.get(*set)).collect();
        prop_assert!(moved.iter().all(|set| refresh.sets_changed.contains(set)));
    }
}
