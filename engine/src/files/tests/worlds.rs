//! One script over both worlds: the build loop sees the same in both.

use super::set;
use crate::files::disk::Disk;
use crate::files::memory::MemoryWorld;
use crate::seams::world::{ExportOutcome, RowEdits, Rows, World, WorldError};
use crate::values::digest::Digest;
use std::fs;

fn rows_after(edits: RowEdits) -> Rows {
    edits.into_iter().filter_map(|(key, row)| row.map(|row| (key, row))).collect()
}

/// `put` writes or removes a source, `tamper` an output.
fn script(world: &dyn World, put: &dyn Fn(&str, Option<&str>), tamper: &dyn Fn(&str, Option<&str>)) {
    let sets = [set(&["**/*.cs"], &["obj/**"], true), set(&["docs/*.md"], &[], true)];
    for (path, text) in [
        ("a.cs", "a"),
        ("x/b.cs", "b"),
        ("obj/c.cs", "c"),
        ("docs/r.md", "r"),
        (".hidden/d.cs", "d"),
    ] {
        put(path, Some(text));
    }
    let mut sources = world.sources(Vec::new());
    let refresh = sources.refresh(&sets).unwrap();
    let paths: Vec<&str> = refresh.changes.iter().map(|change| change.path.as_str()).collect();
    assert_eq!(paths, ["a.cs", "docs/r.md", "x/b.cs"]);
    assert_eq!((refresh.sets_changed, refresh.diagnostics), (vec![0, 1], vec![]));
    assert_eq!(
        (sources.set(0), sources.set(1), sources.set(9)),
        (vec!["a.cs".into(), "x/b.cs".into()], vec!["docs/r.md".into()], vec![])
    );
    assert_eq!(sources.files().len(), 3);

    let rows = rows_after(sources.take_dirty_rows());
    let mut sources = world.sources(rows);
    let refresh = sources.refresh(&sets).unwrap();
    assert_eq!((refresh.changes, refresh.sets_changed), (vec![], vec![]));
    put("a.cs", Some("changed"));
    put("x/b.cs", None);
    let refresh = sources.refresh(&sets).unwrap();
    let ends: Vec<_> = refresh
        .changes
        .iter()
        .map(|change| (change.path.as_str(), change.from, change.to))
        .collect();
    let digest = |text: &str| Some(Digest::of(text.as_bytes()));
    assert_eq!(ends, [("a.cs", digest("a"), digest("changed")), ("x/b.cs", digest("b"), None)]);
    assert_eq!(
        (refresh.sets_changed, sources.digest("a.cs"), sources.digest("x/b.cs")),
        (vec![0], digest("changed"), None)
    );
    assert_eq!(sources.refresh(&sets[1..]).unwrap().sets_changed, [0]);
    assert!(matches!(
        sources.refresh(&[set(&["[z-a"], &[], true)]),
        Err(WorldError::BadGlob { .. })
    ));

    assert_eq!(world.read("a.cs").unwrap(), b"changed");
    assert!(matches!(world.read("../a.cs"), Err(WorldError::Leaves { .. })));
    assert!(matches!(world.read("none"), Err(WorldError::Io { what: "read", .. })));
    assert_eq!(world.now_secs(), u64::try_from(world.now_nanos() / 1_000_000_000).unwrap());

    let exports = world.exports(Vec::new());
    let write = |node, path: &str, text: &str| exports.write(node, path, Digest::of(text.as_bytes()), text.as_bytes());
    assert_eq!(write(1, "t/a.md", "a"), Ok(ExportOutcome::Written));
    assert_eq!(write(1, "t/a.md", "a"), Ok(ExportOutcome::AlreadyPresent));
    assert_eq!(write(2, "t/b.md", "b"), Ok(ExportOutcome::Written));
    assert!(matches!(
        write(3, "t/b.md", "b"),
        Err(WorldError::Claimed { first: 2, second: 3, .. })
    ));
    assert!(matches!(write(3, "../b.md", "b"), Err(WorldError::Leaves { .. })));
    // The search for a path's owner works among few new files and among many.
    for node in 100..140 {
        assert_eq!(write(node, &format!("t/{node}.md"), "c"), Ok(ExportOutcome::Written));
        assert!(matches!(
            write(3, &format!("t/{node}.md"), "c"),
            Err(WorldError::Claimed { first, second: 3, .. }) if first == node
        ));
    }
    (100..140).for_each(|node| exports.remove(node).unwrap());
    assert_eq!(write(3, "t/100.md", "c"), Ok(ExportOutcome::Written));
    exports.remove(3).unwrap();
    assert_eq!(exports.verify(&[2, 1, 3]), [3]);
    let exports = world.exports(rows_after(exports.take_dirty_rows()));
    assert_eq!(exports.path(2).as_deref(), Some("t/b.md"));
    tamper("t/a.md", Some("edited"));
    tamper("t/b.md", None);
    assert_eq!(exports.verify(&[1, 2]), [1, 2]);
    assert_eq!(exports.write(1, "t/a.md", Digest::of(b"a"), b"a"), Ok(ExportOutcome::Written));
    assert_eq!(exports.write(1, "t/moved.md", Digest::of(b"a"), b"a"), Ok(ExportOutcome::Written));
    exports.remove(2).unwrap();
    exports.remove(2).unwrap();
    assert_eq!((exports.verify(&[1, 2]), exports.path(2)), (vec![2], None));
}

#[test]
fn disk() {
    let dir = tempfile::tempdir().unwrap();
    let edit = |base: &str, path: &str, text: Option<&str>| {
        let path = dir.path().join(base).join(path);
        match text {
            Some(text) => fs::create_dir_all(path.parent().unwrap())
                .and_then(|()| fs::write(path, text))
                .unwrap(),
            None => fs::remove_file(path).unwrap(),
        }
    };
    script(&Disk::new(dir.path()), &|path, text| edit("", path, text), &|path, text| {
        edit(".cortex/out", path, text)
    });
    let left: Vec<_> = fs::read_dir(dir.path().join(".cortex/out/t"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    assert_eq!(left, ["moved.md"]);
}

#[test]
fn memory() {
    let world = MemoryWorld::new();
    world.set_now(5_000_000_001);
    let put = |path: &str, text: Option<&str>| match text {
        Some(text) => world.write_source(path, text),
        None => assert!(world.delete(path)),
    };
    script(&world, &put, &|path, text| {
        world.tamper(path, text.map(|text| text.as_bytes().to_vec()))
    });
    assert_eq!(world.outputs().into_keys().collect::<Vec<_>>(), ["t/moved.md"]);
    assert_eq!(world.sources_now().len(), 4);
}

#[test]
fn the_memory_world_fails_on_request() {
    let world = MemoryWorld::new();
    let sets = [set(&["**"], &[], true)];
    world.write_source("a", "a");
    world.fail_reads("a", true);
    let mut sources = world.sources(Vec::new());
    sources.refresh(&sets).unwrap();
    assert_eq!((sources.set(0), sources.digest("a")), (Vec::<String>::new(), None));
    assert!(matches!(world.read("a"), Err(WorldError::Io { .. })));
    world.fail_reads("a", false);
    assert_eq!(sources.refresh(&sets).unwrap().changes.len(), 1);
    world.fail_writes("o", true);
    let exports = world.exports(Vec::new());
    assert!(exports.write(1, "o", Digest::of(b"o"), b"o").is_err());
    world.fail_writes("o", false);
    exports.write(1, "o", Digest::of(b"o"), b"o").unwrap();
    world.fail_writes("o", true);
    assert!(exports.remove(1).is_err());
    assert_eq!(exports.path(1).as_deref(), Some("o"));
    assert_eq!(world.touches(), (1, 1));
}
