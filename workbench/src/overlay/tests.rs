//! Overlays on a disk: names, times, invalid paths and texts, and merges into real files.

use super::OverlayError;
use super::build::documents;
use super::compare::{OverlayChange, Since, compare};
use super::merge::{How, merge};
use super::patch::{Patched, apply};
use super::put::{Put, PutEffect, write_document, write_over};
use super::record::{discard, open_or_continue, unexpired_overlay};
use crate::code_text::encoding::{Encoding, Form};
use crate::edit::disk::Disk;
use crate::edit::expiry::end_expired;
use crate::edit::files::Files;
use crate::edit::overlay_record::list_overlays;
use crate::edit::session::LIFETIME;
use crate::editable_paths::Guard;
use engine::values::diagnostic::Diagnostic;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;

pub(super) const NOW: u64 = 1_800_000_000;

pub(super) struct TestWorkspace {
    _temp: tempfile::TempDir,
    pub(super) root: PathBuf,
    pub(super) disk: Disk,
}

impl TestWorkspace {
    pub(super) fn new() -> Self {
        let temp = tempfile::tempdir().expect("folder");
        let root = temp.path().canonicalize().expect("canonical").join("ws");
        fs::create_dir_all(root.join("src")).expect("folders");
        let guard = Guard {
            store: Some(root.join("store")),
            manifest: false,
        };
        let disk = Disk::new(&root).with_guard(guard);
        Self { _temp: temp, root, disk }
    }

    pub(super) fn write(&self, path: &str, bytes: impl AsRef<[u8]>) {
        let path = self.root.join(path);
        fs::create_dir_all(path.parent().expect("a folder")).expect("folders");
        fs::write(path, bytes).expect("file");
    }

    pub(super) fn read(&self, path: &str) -> Vec<u8> {
        fs::read(self.root.join(path)).expect("file")
    }

    pub(super) fn open(&self, name: &str) {
        open_or_continue(&self.disk, name, None, NOW).expect("open");
    }

    pub(super) fn put_document(&self, name: &str, path: &str, text: &str) -> Result<PutEffect, OverlayError> {
        write_document(&self.disk, name, path, &Put::Bytes(text.into()), NOW).map(|(_, effect, _)| effect)
    }
}

pub(super) fn why(error: OverlayError) -> Diagnostic {
    match error {
        OverlayError::Asked(why) => *why,
        other => panic!("{other}"),
    }
}

#[test]
fn names_that_are_none_are_told_the_nearest() {
    let place = TestWorkspace::new();
    place.open("fix-store");
    let unknown = why(unexpired_overlay(&place.disk, "fix-sture", NOW).expect_err("unknown"));
    assert_eq!(
        (unknown.code.as_str(), unknown.candidates.as_slice()),
        ("E_NO_OVERLAY", &["fix-store".to_owned()][..])
    );
    assert_eq!(unknown.hint.as_deref(), Some("did you mean fix-store?"));
    for name in ["", ".", "..", "a/b", "-x", "ä", &"x".repeat(65), "a b", "a\nb"] {
        assert_eq!(
            why(open_or_continue(&place.disk, name, None, NOW).expect_err(name)).code,
            "E_OVERLAY",
            "{name:?}"
        );
    }
    assert!(discard(&place.disk, "fix", NOW).is_err());
    assert_eq!(discard(&place.disk, "fix-store", NOW).expect("discarded"), 0);
    assert!(unexpired_overlay(&place.disk, "fix-store", NOW).is_err());
}

#[test]
fn an_overlay_ends_when_its_time_is_over() {
    let place = TestWorkspace::new();
    place.open("one");
    assert_eq!(place.put_document("one", "a.cs", "a").expect("put"), PutEffect::Added);
    open_or_continue(&place.disk, "two", Some(3_600), NOW).expect("open");
    for wrong in [0, u64::MAX] {
        assert_eq!(
            why(open_or_continue(&place.disk, "x", Some(wrong), NOW).expect_err("refused")).code,
            "E_PARAM"
        );
    }
    // Building in it counts as use; listing does not.
    documents(&place.disk, "two", NOW + 3_000).expect("documents");
    list_overlays(&place.disk).expect("a list");
    assert_eq!(
        unexpired_overlay(&place.disk, "two", NOW + 3_600).expect("it lives").expires_at(),
        NOW + 6_600
    );
    let over = why(unexpired_overlay(&place.disk, "two", NOW + 6_600).expect_err("over"));
    assert_eq!(over.message, "the overlay two has ended: it was not used for 1 hour");
    assert!(unexpired_overlay(&place.disk, "one", NOW + LIFETIME - 1).is_ok());
    // Opening an overlay removes expired ones and their texts.
    open_or_continue(&place.disk, "three", None, NOW + LIFETIME).expect("open");
    let names: Vec<String> = list_overlays(&place.disk)
        .expect("a list")
        .into_iter()
        .map(|one| one.name)
        .collect();
    let tree = unexpired_overlay(&place.disk, "three", NOW + LIFETIME)
        .expect("it lives")
        .opened_on
        .expect("noted")
        .tree;
    let texts: Vec<String> = place
        .disk
        .notes("texts")
        .expect("texts")
        .into_iter()
        .map(|(name, _)| name)
        .collect();
    assert_eq!((names, texts), (vec!["three".to_owned()], vec![tree.to_string()]));
}

#[test]
fn only_texts_of_the_workspace_are_put() {
    let place = TestWorkspace::new();
    for (path, bytes) in [
        ("src/a.cs", "a"),
        (".git/config", "x"),
        ("cortex.toml", ""),
        ("store/x", "x"),
        (".cortex/x", "x"),
    ] {
        place.write(path, bytes);
    }
    fs::write(place.root.join("../secret"), "x").expect("file");
    symlink("../secret", place.root.join("link.cs")).expect("link");
    symlink("..", place.root.join("folder")).expect("link");
    symlink("a.cs", place.root.join("src/own.cs")).expect("link");
    place.open("o");
    for path in [
        "", "../secret", "/etc/hostname", "link.cs", "folder/secret", ".git/config", "src/.git/x", ".cortex/x", "cortex.toml", "store/x",
        "src", "src/a.cs/b", "a\nb", ".gitignore", "src/.ignore",
    ] {
        assert_eq!(why(place.put_document("o", path, "x").expect_err(path)).code, "E_PATH", "{path:?}");
    }
    let refused = |bytes: Vec<u8>| why(write_document(&place.disk, "o", "src/b.cs", &Put::Bytes(bytes), NOW).expect_err("refused")).code;
    assert_eq!(refused(b"a\0b".to_vec()), "E_ENCODING");
    assert_eq!(refused(vec![b'x'; super::put::MOST_BYTES + 1]), "E_TOO_LARGE");
    let gone = write_document(&place.disk, "o", "src/none.cs", &Put::Delete, NOW).expect_err("none");
    assert_eq!(why(gone).code, "E_READ");
    assert!(unexpired_overlay(&place.disk, "o", NOW).expect("it lives").documents.is_empty());
    // A link within the workspace refers to its target file.
    let (real, effect, _) = write_document(&place.disk, "o", "src/own.cs", &Put::Bytes(b"b".to_vec()), NOW).expect("put");
    assert_eq!((real.as_str(), effect), ("src/a.cs", PutEffect::Changed));
    // No document may be below another.
    place.put_document("o", "new", "x").expect("put");
    assert_eq!(why(place.put_document("o", "new/x.cs", "x").expect_err("below")).code, "E_PATH");
}

#[test]
fn files_that_edits_would_refuse_are_not_replaced() {
    let place = TestWorkspace::new();
    place.open("o");
    for bytes in [
        &b"a\0b"[..],
        b"\xd6\xd0\xce\xc4\xd7\xa2\xca\xcd",
        b"\xff\xfea",
        b"\xff\xfe\0\0a\0\0\0",
    ] {
        place.write("a.cs", bytes);
        let utf8 = Encoding {
            form: Form::Utf8,
            mark: false,
        };
        let whats = [
            Put::Bytes(b"x".to_vec()),
            Put::Text("x".to_owned(), None),
            Put::Text("x".to_owned(), Some(utf8)),
        ];
        let refused = || {
            for what in &whats {
                let refused = why(write_over(&place.disk, "o", "a.cs", what, true, NOW).expect_err("refused"));
                assert_eq!(refused.code, "E_ENCODING");
                assert!(refused.message.starts_with("a.cs is not an editable text: it is "), "{refused:?}");
                assert_eq!(
                    refused.hint.as_deref(),
                    Some("edit another file, or fix this one with another tool")
                );
            }
        };
        refused();
        // It can be removed as a whole, and does not return as another file.
        write_over(&place.disk, "o", "a.cs", &Put::Delete, true, NOW).expect("put");
        refused();
        write_document(&place.disk, "o", "a.cs", &Put::Drop, NOW).expect("dropped");
        assert!(unexpired_overlay(&place.disk, "o", NOW).expect("it lives").documents.is_empty());
    }
}

#[test]
fn a_link_is_not_taken_away_in_place_of_its_file() {
    let place = TestWorkspace::new();
    place.write("src/a.cs", "a");
    symlink("a.cs", place.root.join("src/own.cs")).expect("link");
    place.open("o");
    let refused = why(write_document(&place.disk, "o", "src/own.cs", &Put::Delete, NOW).expect_err("refused"));
    assert_eq!(
        refused.message,
        "src/own.cs is a link to src/a.cs, and would lead nowhere without it"
    );
    assert_eq!(refused.hint.as_deref(), Some("nothing was changed: name src/a.cs itself"));
    assert!(unexpired_overlay(&place.disk, "o", NOW).expect("it lives").documents.is_empty());
    write_document(&place.disk, "o", "src/a.cs", &Put::Delete, NOW).expect("put");
    // A document that a link now covers can still be dropped.
    let (real, effect, _) = write_document(&place.disk, "o", "src/own.cs", &Put::Drop, NOW).expect("dropped");
    assert_eq!((real.as_str(), effect), ("src/a.cs", PutEffect::Dropped));
}

#[test]
fn documents_that_can_no_longer_be_merged_can_be_dropped() {
    let place = TestWorkspace::new();
    place.write("../secret", "x");
    for path in ["a.cs", "b.cs", "c.cs"] {
        place.write(path, "one");
    }
    place.open("o");
    for path in ["a.cs", "b.cs", "new/n.cs", "c.cs"] {
        place.put_document("o", path, "1").expect("put");
    }
    for path in ["a.cs", "b.cs"] {
        fs::remove_file(place.root.join(path)).expect("removed");
    }
    fs::create_dir(place.root.join("a.cs")).expect("folder");
    symlink("../secret", place.root.join("b.cs")).expect("link");
    place.write("new", "a file where the folder was to be");
    assert_eq!(merge(&place.disk, "o", NOW).expect("answered").conflicts.len(), 3);
    for (given, path) in [("a.cs", "a.cs"), ("./b.cs", "b.cs"), ("new/n.cs", "new/n.cs")] {
        let (real, effect, _) = write_document(&place.disk, "o", given, &Put::Drop, NOW).expect(given);
        assert_eq!((real.as_str(), effect), (path, PutEffect::Dropped));
        let again = why(write_document(&place.disk, "o", given, &Put::Drop, NOW).expect_err(given));
        assert_eq!(again.code, "E_PATH");
    }
    assert!(merge(&place.disk, "o", NOW).expect("merged").conflicts.is_empty());
    assert_eq!(place.read("c.cs"), b"1");
}

#[test]
fn two_names_of_one_file_are_told_at_a_merge() {
    let place = TestWorkspace::new();
    place.write("a.cs", "one");
    fs::hard_link(place.root.join("a.cs"), place.root.join("b.cs")).expect("link");
    place.open("o");
    for path in ["a.cs", "b.cs"] {
        place.put_document("o", path, "1").expect("put");
    }
    let refused = merge(&place.disk, "o", NOW).expect_err("refused").to_string();
    assert!(refused.contains("a.cs and b.cs are one file under two names"), "{refused}");
    assert_eq!(place.read("a.cs"), b"one");
    write_document(&place.disk, "o", "b.cs", &Put::Drop, NOW).expect("dropped");
    merge(&place.disk, "o", NOW).expect("merged");
    assert_eq!(place.read("b.cs"), b"1");
}

#[test]
fn a_text_is_written_as_its_file_is() {
    let place = TestWorkspace::new();
    let wide = |text: &str| {
        std::iter::once(0xfeff_u16)
            .chain(text.encode_utf16())
            .flat_map(u16::to_le_bytes)
            .collect::<Vec<u8>>()
    };
    place.write("w.cs", wide("one\r\n"));
    place.write("c.cs", b"caf\xe9\n");
    place.open("o");
    let text = |path: &str, text: &str, message| {
        write_document(&place.disk, "o", path, &Put::Text(text.to_owned(), message), NOW).map(|(_, effect, _)| effect)
    };
    assert_eq!(text("w.cs", "zwei\r\n", None).expect("put"), PutEffect::Changed);
    assert_eq!(text("c.cs", "th\u{e9}\n", None).expect("put"), PutEffect::Changed);
    assert_eq!(why(text("c.cs", "日", None).expect_err("refused")).code, "E_ENCODING");
    let utf8 = Encoding {
        form: Form::Utf8,
        mark: true,
    };
    assert_eq!(text("n.cs", "x", Some(utf8)).expect("put"), PutEffect::Added);
    let found = documents(&place.disk, "o", NOW).expect("documents");
    let bytes = |path: &str| found[path].as_deref().expect("a text").to_vec();
    assert_eq!(
        (bytes("w.cs"), bytes("c.cs"), bytes("n.cs")),
        (wide("zwei\r\n"), b"th\xe9\n".to_vec(), b"\xef\xbb\xbfx".to_vec())
    );
}

#[test]
fn a_patch_is_applied_whole_or_not_at_all() {
    let place = TestWorkspace::new();
    place.write("a.cs", "one\r\ntwo\r\n");
    place.write("b.cs", "three\n");
    place.open("o");
    let patch = "*** Begin Patch\n*** Update File: a.cs\n-two\n+zwei\n*** Add File: n.cs\n+new\n*** Delete File: b.cs\n*** End Patch\n";
    let changed = |paths: &[&str]| Patched::Changed(paths.iter().map(|path| (*path).to_owned()).collect());
    let paths = apply(&place.disk, "o", patch, NOW).expect("applied");
    assert_eq!(paths, changed(&["a.cs", "b.cs", "n.cs"]));
    let again = "--- a/a.cs\n+++ b/a.cs\n@@ -2 +2 @@\n-zwei\n+deux\n";
    assert_eq!(
        apply(&place.disk, "o", again, NOW).expect("on what the overlay has"),
        changed(&["a.cs"])
    );
    place.write("same.cs", "x\n");
    let same = "--- a/same.cs\n+++ b/same.cs\n@@ -1 +1 @@\n-x\n+x\n";
    let refusal = apply(&place.disk, "o", same, NOW).expect("nothing to do");
    assert_eq!(refusal, Patched::Same(vec!["same.cs".to_owned()]));
    for file in ["m", "m/x"] {
        let other = if file == "m" { "m/x" } else { "m" };
        let both = format!("*** Begin Patch\n*** Add File: {file}\n+x\n*** Add File: {other}\n+x\n*** End Patch\n");
        let refused = why(apply(&place.disk, "o", &both, NOW).expect_err("refused"));
        assert!(
            refused.message.starts_with("m cannot be both a file and the folder of m/x"),
            "{refused:?}"
        );
    }
    let before = documents(&place.disk, "o", NOW).expect("documents");
    let unfit = why(apply(&place.disk, "o", &again.replace("deux", "x"), NOW).expect_err("unfit"));
    assert!(unfit.code == "E_PATCH" && unfit.message.contains("fits nowhere"), "{unfit:?}");
    let away = "--- /dev/null\n+++ b/.gitignore\n@@ -0,0 +1 @@\n+x\n";
    assert_eq!(why(apply(&place.disk, "o", away, NOW).expect_err("refused")).code, "E_PATH");
    assert_eq!(documents(&place.disk, "o", NOW).expect("documents"), before);
    assert_eq!(before["a.cs"].as_deref(), Some(&b"one\r\ndeux\r\n"[..]));
    assert_eq!(place.read("a.cs"), b"one\r\ntwo\r\n");
    assert_eq!(place.disk.notes("sessions").expect("notes"), [], "no session stays");
    // A moved file keeps its permissions.
    place.write("run.sh", "go\n");
    fs::set_permissions(place.root.join("run.sh"), fs::Permissions::from_mode(0o750)).expect("mode");
    let moves = "*** Begin Patch\n*** Update File: run.sh\n*** Move to: bin/run.sh\n-go\n+went\n*** End Patch\n";
    apply(&place.disk, "o", moves, NOW).expect("applied");
    merge(&place.disk, "o", NOW).expect("merged");
    assert_eq!(place.read("bin/run.sh"), b"went\n");
    let mode = fs::metadata(place.root.join("bin/run.sh")).expect("file").permissions().mode();
    assert_eq!((mode & 0o777, place.root.join("run.sh").exists()), (0o750, false));
}

#[test]
fn obstacles_are_reported_before_a_merge() {
    let place = TestWorkspace::new();
    place.write("a.cs", "one");
    place.open("o");
    place.put_document("o", "a.cs", "1").expect("put");
    place.put_document("o", "new/n.cs", "n").expect("put");
    fs::remove_file(place.root.join("a.cs")).expect("removed");
    fs::create_dir(place.root.join("a.cs")).expect("folder");
    place.write("new", "a file where the folder was to be");
    let found: Vec<_> = compare(&place.disk, "o", NOW)
        .expect("compared")
        .into_iter()
        .map(|one| (one.path, one.since, one.blocked.expect("why")))
        .collect();
    assert_eq!(
        found.iter().map(|(_, since, _)| *since).collect::<Vec<_>>(),
        [Since::Blocked; 2],
        "{found:?}"
    );
    assert!(found[0].2.contains("is not a regular file"), "{found:?}");
    let conflicts = merge(&place.disk, "o", NOW).expect("answered").conflicts;
    let conflicts: Vec<_> = conflicts.into_iter().map(|one| (one.path, Since::Blocked, one.why)).collect();
    assert_eq!(conflicts, found, "a merge says the same");
}

#[test]
fn a_merge_keeps_what_it_does_not_change() {
    let place = TestWorkspace::new();
    let base = "one\r\ntwo\r\nthree\r\nfour";
    place.write("a.sh", base);
    fs::set_permissions(place.root.join("a.sh"), fs::Permissions::from_mode(0o755)).expect("mode");
    place.write("gone.cs", "x");
    place.write("same.cs", "x");
    place.open("o");
    place.put_document("o", "a.sh", &base.replace("one", "ONE")).expect("put");
    place.put_document("o", "same.cs", "y").expect("put");
    place.put_document("o", "new/n.cs", "n").expect("put");
    write_document(&place.disk, "o", "gone.cs", &Put::Delete, NOW).expect("put");
    place.write("a.sh", base.replace("four", "FOUR\n"));
    place.write("same.cs", "y");
    let since: Vec<_> = compare(&place.disk, "o", NOW)
        .expect("compared")
        .into_iter()
        .map(|one| (one.path, one.kind, one.since))
        .collect();
    let expected = [
        ("a.sh", OverlayChange::Changed, Since::Moved),
        ("gone.cs", OverlayChange::Removed, Since::Same),
        ("new/n.cs", OverlayChange::Added, Since::Same),
        ("same.cs", OverlayChange::Changed, Since::Moved),
    ];
    assert_eq!(since, expected.map(|(path, kind, since)| (path.to_owned(), kind, since)));
    let merged = merge(&place.disk, "o", NOW).expect("merged");
    let hows: Vec<_> = merged.files.iter().map(|(path, how)| (path.as_str(), *how)).collect();
    assert_eq!(
        hows,
        [
            ("a.sh", How::Joined),
            ("gone.cs", How::Removed),
            ("new/n.cs", How::Written),
            ("same.cs", How::Same)
        ]
    );
    assert_eq!(place.read("a.sh"), b"ONE\r\ntwo\r\nthree\r\nFOUR\n");
    assert_eq!(
        fs::metadata(place.root.join("a.sh")).expect("file").permissions().mode() & 0o777,
        0o755
    );
    assert!(!place.root.join("gone.cs").exists() && place.read("new/n.cs") == b"n");
    assert!(unexpired_overlay(&place.disk, "o", NOW).is_err(), "it has ended");
    // It is an edit, whose texts stay as long as its session.
    end_expired(&place.disk, NOW + LIFETIME).expect("collected");
    assert!(!place.disk.notes("texts").expect("texts").is_empty());
    end_expired(&place.disk, NOW + LIFETIME + 1).expect("collected");
    assert_eq!(place.disk.notes("texts").expect("texts"), []);
}

#[test]
fn conflicts_are_told_by_their_lines_and_nothing_is_written() {
    let place = TestWorkspace::new();
    place.write("a.cs", "1\n2\n3\n4\n5\n");
    place.write("b.cs", "b\n");
    place.write("c.cs", "c\n");
    place.write("d.cs", "d\n");
    place.open("o");
    place.put_document("o", "a.cs", "0\n1\n2\ndrei\n4\n5\n").expect("put");
    place.put_document("o", "b.cs", "bb\n").expect("put");
    write_document(&place.disk, "o", "c.cs", &Put::Delete, NOW).expect("put");
    place.put_document("o", "d.cs", "dd\n").expect("put");
    place.put_document("o", "n.cs", "n\n").expect("put");
    place.write("a.cs", "1\n2\ntrois\n4\n5\n");
    place.write("c.cs", "cc\n");
    fs::remove_file(place.root.join("d.cs")).expect("removed");
    place.write("n.cs", "m\n");
    let merged = merge(&place.disk, "o", NOW).expect("answered");
    let first = &merged.conflicts[0];
    let lines = |span: &Option<super::merge::Span>| span.as_ref().map(|span| (span.line, span.lines, span.text.clone()));
    assert_eq!(lines(&first.base), Some((3, 1, "3\n".to_owned())));
    assert_eq!(lines(&first.ours), Some((4, 1, "drei\n".to_owned())));
    assert_eq!(lines(&first.theirs), Some((3, 1, "trois\n".to_owned())));
    let whys: Vec<_> = merged.conflicts.iter().map(|one| (one.path.as_str(), one.why.as_str())).collect();
    assert_eq!(
        whys,
        [
            ("a.cs", "both sides changed these lines"),
            ("c.cs", "it is removed in the overlay and was changed in the workspace"),
            ("d.cs", "it is changed in the overlay and was removed in the workspace"),
            ("n.cs", "it is new in the overlay, and another one is in the workspace"),
        ]
    );
    assert_eq!(place.read("b.cs"), b"b\n", "nothing is written");
    // A folder in the place of a file, and a link that was created since.
    fs::remove_file(place.root.join("a.cs")).expect("removed");
    fs::create_dir(place.root.join("a.cs")).expect("folder");
    fs::remove_file(place.root.join("b.cs")).expect("removed");
    fs::write(place.root.join("../secret"), "b\n").expect("file");
    symlink("../secret", place.root.join("b.cs")).expect("link");
    let merged = merge(&place.disk, "o", NOW).expect("answered");
    assert_eq!(merged.conflicts[0].why, "a.cs is not a regular file");
    assert_eq!(merged.conflicts[1].why, "b.cs leads out of the workspace");
    assert_eq!(fs::read(place.root.join("../secret")).expect("file"), b"b\n");
}

#[test]
fn a_conflict_of_line_ends_says_so() {
    for (ours, theirs, why) in [
        ("a\r\nb\n", "a\rb\n", "CRLF in the overlay, CR in the workspace"),
        ("A\r\nb\n", "A\nb\n", "CRLF in the overlay, LF in the workspace"),
        ("a\nB\n", "a\nB", "LF in the overlay, no line end in the workspace"),
        (
            "A\r\nB\n",
            "A\nB\n",
            "mixed line ends (1 LF, 1 CRLF) in the overlay, LF in the workspace",
        ),
    ] {
        let place = TestWorkspace::new();
        place.write("a.cs", "a\nb\n");
        place.open("o");
        place.put_document("o", "a.cs", ours).expect("put");
        place.write("a.cs", theirs);
        let merged = merge(&place.disk, "o", NOW).expect("answered");
        assert_eq!(
            merged.conflicts[0].why,
            format!("both sides changed the ends of these lines: {why}")
        );
    }
}

#[test]
fn encodings_are_joined_or_conflict() {
    let place = TestWorkspace::new();
    place.write("a.cs", "caf\u{e9}\n-\nb\n");
    place.write("b.cs", "caf\u{e9}\n-\nb\n");
    place.open("o");
    place.put_document("o", "a.cs", "caf\u{e9}\n-\nB\n").expect("put");
    place.put_document("o", "b.cs", "caf\u{e9}\n-\n日\n").expect("put");
    place.write("a.cs", b"\xef\xbb\xbfthe\xc3\xa9\n-\nb\n");
    merge(&place.disk, "o", NOW).expect("merged");
    assert_eq!(place.read("a.cs"), b"\xef\xbb\xbfthe\xc3\xa9\n-\nB\n");
    place.open("o");
    place.put_document("o", "b.cs", "caf\u{e9}\n-\n日本\n").expect("put");
    place.write("b.cs", b"caf\xe9\n-\nb\n");
    let merged = merge(&place.disk, "o", NOW).expect("answered");
    assert!(
        merged.conflicts[0]
            .why
            .starts_with("what both sides changed cannot be written: '日'")
            || merged.conflicts[0].why == "both sides changed these lines",
        "{merged:?}"
    );
}

#[test]
fn tampered_records_are_not_followed() {
    let place = TestWorkspace::new();
    place.open("o");
    place.put_document("o", "a.cs", "x").expect("put");
    let record = place.root.join(".cortex/edit/overlays/o.json");
    let text = fs::read_to_string(&record).expect("record");
    fs::write(&record, text.replace("a.cs", "../a.cs")).expect("written");
    let damaged = why(unexpired_overlay(&place.disk, "o", NOW).expect_err("damaged"));
    assert_eq!(damaged.message, "the record of the overlay o is damaged");
    assert!(list_overlays(&place.disk).expect("a list")[0].overlay.is_none());
    fs::write(&record, text.replace("a.cs", ".git/hooks/pre-commit")).expect("written");
    let merged = merge(&place.disk, "o", NOW).expect("answered");
    assert_eq!(merged.conflicts.len(), 1);
    assert!(!place.root.join(".git").exists());
    // Texts whose bytes do not match their digests are invalid, also the list of files at the opening.
    fs::write(&record, &text).expect("written");
    for (name, _) in place.disk.notes("texts").expect("texts") {
        fs::write(place.root.join(".cortex/edit/texts").join(name), "other").expect("written");
    }
    assert_eq!(why(documents(&place.disk, "o", NOW).expect_err("damaged")).code, "E_OVERLAY");
    let refused = why(place.put_document("o", "b.cs", "b").expect_err("damaged"));
    assert!(refused.message.starts_with("the record of the files") && refused.hint.is_some_and(|hint| hint.contains("--onto-now")));
    let (_, effect, _) = write_over(&place.disk, "o", "b.cs", &Put::Bytes(b"b".to_vec()), true, NOW).expect("put");
    assert_eq!(effect, PutEffect::Added);
    assert_eq!(discard(&place.disk, "o", NOW).expect("discarded"), 2);
}

#[test]
fn two_processes_put_into_one_overlay() {
    let place = TestWorkspace::new();
    place.open("o");
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let root = &place.root;
            scope.spawn(move || {
                let disk = Disk::new(root);
                for at in 0..5 {
                    let path = format!("{thread}/{at}.cs");
                    write_document(&disk, "o", &path, &Put::Bytes(path.clone().into_bytes()), NOW).expect("put");
                }
            });
        }
    });
    assert_eq!(documents(&place.disk, "o", NOW).expect("documents").len(), 20);
}
