//! Cases of the source tree, one test each.

use super::{Bench, later, now, refresh_text, set, set_mtime};
use crate::seams::world::WorldError;
use crate::values::digest::Digest;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;

fn cs() -> Bench {
    Bench::new(vec![set(&["**/*.cs"], &[], true)])
}

fn assert_rest(bench: &mut Bench) {
    bench.tree.take_dirty_rows();
    let refresh = bench.at(later());
    assert_eq!(
        (refresh.changes.len(), refresh.hashed, refresh.sets_changed.len()),
        (0, 0, 0),
        "{refresh:?}"
    );
    assert!(bench.tree.take_dirty_rows().is_empty());
}

#[test]
fn refresh_reports_added_changed_and_removed_files() {
    let mut bench = cs();
    bench.write("a.cs", "a");
    bench.write("x/y/b.cs", "b");
    bench.write("x/readme.md", "r");
    let refresh = bench.at(later());
    assert_eq!(
        (refresh_text(&refresh).as_str(), refresh.sets_changed, refresh.hashed),
        ("+a.cs +x/y/b.cs", vec![0], 2)
    );
    assert_eq!(bench.tree.digest("x/y/b.cs"), Some(Digest::of(b"b")));
    assert_eq!((bench.tree.digest("x/readme.md"), bench.tree.digest("none/b.cs")), (None, None));
    assert_rest(&mut bench);

    bench.write("x/y/b.cs", "B");
    let refresh = bench.at(later());
    assert_eq!(
        (refresh_text(&refresh).as_str(), refresh.sets_changed.len(), refresh.hashed),
        ("~x/y/b.cs", 0, 1)
    );
    bench.write("x/new/deep/c.cs", "c");
    assert_eq!(bench.changes(), "+x/new/deep/c.cs");
    assert_eq!(bench.tree.set_paths(0), ["a.cs", "x/new/deep/c.cs", "x/y/b.cs"]);
    fs::remove_file(bench.path("a.cs")).unwrap();
    assert_eq!(bench.changes(), "-a.cs");
    fs::rename(bench.path("x/y/b.cs"), bench.path("x/y/z.cs")).unwrap();
    assert_eq!(bench.changes(), "-x/y/b.cs +x/y/z.cs");
    fs::rename(bench.path("x"), bench.path("w")).unwrap();
    assert_eq!(bench.changes(), "+w/new/deep/c.cs +w/y/z.cs -x/new/deep/c.cs -x/y/z.cs");
    fs::remove_dir_all(bench.path("w")).unwrap();
    assert_eq!(bench.changes(), "-w/new/deep/c.cs -w/y/z.cs");
    assert_rest(&mut bench);
}

#[test]
fn a_touched_file_is_hashed_and_is_no_change() {
    let mut bench = cs();
    let path = bench.write("a.cs", "a");
    bench.changes();
    set_mtime(&path, std::time::UNIX_EPOCH);
    let refresh = bench.at(later());
    assert_eq!((refresh.hashed, refresh.changes.len()), (1, 0));
    assert_eq!(bench.tree.take_dirty_rows().len(), 1, "the new stamp is worth remembering");
    assert_rest(&mut bench);
}

#[test]
fn an_edit_with_equal_size_and_time_is_detected() {
    let mut bench = cs();
    let path = bench.write("a.cs", "aaaa");
    bench.changes();
    let time = fs::metadata(&path).unwrap().modified().unwrap();
    bench.write("a.cs", "bbbb");
    set_mtime(&path, time);
    assert_eq!(bench.changes(), "~a.cs");
}

#[test]
fn racy_stamps_are_hashed_again_until_they_have_settled() {
    let mut bench = cs();
    bench.write("a.cs", "a");
    let at = now();
    assert_eq!(refresh_text(&bench.at(at)), "+a.cs");
    bench.tree.take_dirty_rows();
    let refresh = bench.at(at + 1);
    assert_eq!(
        (refresh.hashed, refresh.changes.len()),
        (1, 0),
        "the file may have changed without a trace"
    );
    assert!(bench.tree.take_dirty_rows().is_empty(), "nothing was learnt");
    let refresh = bench.at(later());
    assert_eq!(refresh.hashed, 1);
    assert_eq!(bench.tree.take_dirty_rows().len(), 1, "now the stamp is settled");
    assert_rest(&mut bench);
}

#[test]
fn rows_with_racy_stamps_are_not_trusted() {
    let mut bench = cs();
    bench.write("a.cs", "a");
    bench.at(now());
    // Simulate a coarse clock: the row has another content under the same stamp.
    let mut rows: BTreeMap<Vec<u8>, Vec<u8>> = BTreeMap::new();
    for (key, row) in bench.tree.take_dirty_rows() {
        let mut row = row.unwrap();
        let old = Digest::of(b"a").0;
        let at = row.windows(32).position(|window| window == old).unwrap();
        row[at..at + 32].copy_from_slice(&Digest::of(b"before").0);
        rows.insert(key, row);
    }
    bench.reload(&mut rows);
    let refresh = bench.at(now());
    assert_eq!(refresh.changes[0].from, Some(Digest::of(b"before")));
    assert_eq!(refresh.changes[0].to, Some(Digest::of(b"a")));
}

#[test]
fn ignore_files_remove_and_restore_sources() {
    let mut bench = Bench::new(vec![set(&["**/*.cs"], &[], true), set(&["**/*.cs"], &[], false)]);
    for path in ["a.cs", "obj/b.cs", "x/c.cs", "x/obj/d.cs", "x/k.g.cs"] {
        bench.write(path, path);
    }
    bench.changes();
    assert_eq!(bench.tree.set_paths(0).len(), 5);
    bench.write(".gitignore", "obj/\n");
    let refresh = bench.at(later());
    assert_eq!(
        (refresh_text(&refresh).as_str(), &refresh.sets_changed[..], refresh.hashed),
        ("", &[0][..], 0),
        "the other set still has them"
    );
    assert_eq!((bench.tree.set_paths(0).len(), bench.tree.set_paths(1).len()), (3, 5));
    bench.write("x/.gitignore", "*.g.cs\n!obj/\n");
    bench.changes();
    assert_eq!(bench.tree.set_paths(0), ["a.cs", "x/c.cs", "x/obj/d.cs"]);
    bench.write(".gitignore", "x/\n");
    bench.changes();
    assert_eq!(bench.tree.set_paths(0), ["a.cs", "obj/b.cs"]);
    fs::remove_file(bench.path(".gitignore")).unwrap();
    bench.changes();
    assert_eq!(bench.tree.set_paths(0), ["a.cs", "obj/b.cs", "x/c.cs", "x/obj/d.cs"]);
    bench.write("x/.ignore", "!k.g.cs\n");
    bench.changes();
    assert_eq!(bench.tree.set_paths(0).len(), 5);
    bench.write(".git/info/exclude", "/a.cs\n");
    bench.changes();
    assert_eq!(bench.tree.set_paths(0)[0], "obj/b.cs");
    fs::remove_dir_all(bench.path(".git")).unwrap();
    bench.changes();
    assert_eq!(bench.tree.set_paths(0)[0], "a.cs");
    assert_rest(&mut bench);
}

#[test]
fn an_ignore_file_may_be_a_source() {
    let mut bench = Bench::new(vec![set(&["**/*"], &[], true)]);
    bench.write(".gitignore", "a\n");
    bench.write("a", "a");
    bench.write("b", "b");
    assert_eq!(bench.changes(), "+.gitignore +b");
    assert_rest(&mut bench);
    bench.write(".gitignore", "b\n");
    assert_eq!(bench.changes(), "~.gitignore +a -b");
    assert_eq!(bench.tree.digest(".gitignore"), Some(Digest::of(b"b\n")));
    assert_rest(&mut bench);
}

#[test]
fn changed_sets_relist_directories_and_hash_nothing() {
    let mut bench = cs();
    bench.write("a.cs", "a");
    bench.write("d/b.md", "b");
    bench.changes();
    bench.sets = vec![set(&["**/*.md"], &[], true), set(&["**/*.cs"], &[], true)];
    let refresh = bench.at(later());
    assert_eq!(
        (refresh_text(&refresh).as_str(), &refresh.sets_changed[..], refresh.hashed),
        ("+d/b.md", &[0, 1][..], 1)
    );
    assert_eq!(
        (bench.tree.set_paths(0), bench.tree.set_paths(1), bench.tree.set_paths(70)),
        (vec!["d/b.md".into()], vec!["a.cs".into()], vec![])
    );
    assert_rest(&mut bench);
    bench.sets = vec![set(&["a.cs"], &[], true)];
    assert_eq!(bench.changes(), "-d/b.md");
    assert_eq!(
        bench.tree.take_dirty_rows().last().map(|(_, row)| row.is_none()),
        Some(true),
        "'d' is not looked at any more"
    );
}

#[test]
fn links_inside_are_followed_and_others_refused() {
    let mut bench = cs();
    bench.write("real/t.txt", "one");
    bench.write("../outside.cs", "secret");
    symlink("real/t.txt", bench.path("in.cs")).unwrap();
    symlink("../outside.cs", bench.path("out.cs")).unwrap();
    symlink("loop.cs", bench.path("loop.cs")).unwrap();
    symlink("nowhere", bench.path("dangling.cs")).unwrap();
    symlink(".", bench.path("self")).unwrap();
    symlink("real", bench.path("dir.cs")).unwrap();
    assert_eq!(bench.changes(), "+in.cs");
    assert_eq!(
        bench.codes(),
        ["W_SOURCE_LINK dangling.cs", "W_SOURCE_LINK loop.cs", "W_SOURCE_LINK out.cs"],
        "said again when nothing moved"
    );
    let refresh = bench.at(later());
    assert!(
        refresh
            .diagnostics
            .iter()
            .any(|d| d.message.contains("out of the workspace") && d.found.as_deref() == Some("../outside.cs"))
    );
    assert_rest(&mut bench);
    bench.write("real/t.txt", "two");
    assert_eq!(bench.changes(), "~in.cs");
    fs::remove_file(bench.path("real/t.txt")).unwrap();
    assert_eq!(bench.changes(), "-in.cs");
    bench.write("nowhere", "n");
    assert_eq!(bench.changes(), "+dangling.cs");
}

#[test]
fn a_directory_replaced_by_a_link_is_not_followed() {
    let mut bench = cs();
    bench.write("a/b/f.cs", "f");
    bench.write("../other/b/f.cs", "secret");
    bench.changes();
    fs::remove_dir_all(bench.path("a")).unwrap();
    symlink("../other", bench.path("a")).unwrap();
    assert_eq!(bench.changes(), "-a/b/f.cs");
}

#[test]
fn special_files_are_reported_and_skipped() {
    let mut bench = cs();
    let made = rustix::fs::mknodat(
        rustix::fs::CWD,
        bench.path("fifo.cs"),
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::from_raw_mode(0o600),
        0,
    );
    made.unwrap();
    fs::create_dir(bench.path("dir.cs")).unwrap();
    fs::write(bench.root.join(std::ffi::OsStr::from_bytes(b"bad\xff.cs")), "x").unwrap();
    fs::write(bench.root.join(std::ffi::OsStr::from_bytes(b"bad\xff.md")), "x").unwrap();
    bench.write("two\nlines.cs", "x");
    bench.write("good.cs", "g");
    assert_eq!(bench.changes(), "+good.cs");
    assert_eq!(
        bench.codes(),
        [
            "W_SOURCE_NAME bad\u{fffd}.cs", "W_SOURCE_SPECIAL fifo.cs", "W_SOURCE_NAME two\nlines.cs"
        ]
    );
    assert_rest(&mut bench);
    fs::remove_file(bench.path("good.cs")).unwrap();
    fs::create_dir(bench.path("good.cs")).unwrap();
    assert_eq!(bench.changes(), "-good.cs");
}

#[test]
fn unreadable_files_and_directories_are_reported_and_retried() {
    use std::os::unix::fs::PermissionsExt;
    let mut bench = cs();
    let file = bench.write("a.cs", "a");
    let dir = bench.write("d/b.cs", "b").parent().unwrap().to_owned();
    bench.changes();
    let mode = |path: &std::path::Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    mode(&file, 0);
    mode(&dir, 0);
    if fs::read(&file).is_ok() {
        // Root can read every file, so the change of mode changes nothing.
        assert_eq!(bench.changes(), "");
        assert!(bench.codes().is_empty());
    } else {
        assert_eq!(bench.changes(), "-a.cs -d/b.cs");
        assert_eq!(bench.codes(), ["W_SOURCE_UNREADABLE a.cs", "W_SOURCE_UNREADABLE d"]);
        assert_eq!(bench.tree.set_paths(0), Vec::<String>::new(), "an unreadable file is in no set");
    }
    mode(&dir, 0o755);
    mode(&file, 0o644);
    bench.changes();
    assert_eq!(bench.tree.digest("a.cs"), Some(Digest::of(b"a")));
    assert_eq!(bench.tree.digest("d/b.cs"), Some(Digest::of(b"b")));
    assert_rest(&mut bench);
}

#[test]
fn lost_and_foreign_rows_cost_only_a_scan() {
    let mut bench = cs();
    for path in ["a.cs", "x/b.cs", "x/y/c.cs", "x/y/z/d.cs"] {
        bench.write(path, path);
    }
    bench.changes();
    let mut rows = BTreeMap::new();
    bench.reload(&mut rows);
    assert_eq!(rows.len(), 4);
    assert_rest(&mut bench);
    let all = bench.tree.files();
    for lost in rows.keys() {
        let mut rest = rows.clone();
        rest.insert(lost.clone(), b"garbage".to_vec());
        rest.insert(b"../x".to_vec(), rows[lost].clone());
        rest.insert(b"\xff".to_vec(), rows[lost].clone());
        rest.insert(b"ghost/dir".to_vec(), rows[lost].clone());
        bench.tree = crate::files::tree::SourceTree::from_rows(rest.into_iter().collect());
        bench.changes();
        assert_eq!(bench.tree.files(), all, "without {lost:?}");
        assert_rest(&mut bench);
    }
}

#[test]
fn a_refresh_that_fails_changes_nothing() {
    let mut bench = cs();
    bench.write("a.cs", "a");
    bench.changes();
    bench.write("b.cs", "b");
    let bad = [set(&["[z-a"], &[], true)];
    assert!(matches!(
        bench.tree.refresh(&bench.root, &bad, later()),
        Err(WorldError::BadGlob { .. })
    ));
    assert!(matches!(
        bench.tree.refresh(&bench.root.join("none"), &bench.sets, later()),
        Err(WorldError::Root { .. })
    ));
    let many = vec![set(&[], &[], true); 65];
    assert!(matches!(
        bench.tree.refresh(&bench.root, &many, later()),
        Err(WorldError::TooManySets { count: 65 })
    ));
    assert_eq!(bench.tree.set_paths(0), ["a.cs"]);
    assert_eq!(bench.changes(), "+b.cs");
}
