//! Tests of the files that an overlay was opened on, and of what stays after a merge.

use super::build::{leave_results, needed_results, release_merged_results};
use super::merge::merge;
use super::patch::{apply, apply_over};
use super::put::{Put, PutEffect, write_document, write_over};
use super::record::{discard, open_or_continue, unexpired_overlay};
use super::tests::{NOW, TestWorkspace, why};
use super::texts;
use crate::edit::files::Files;
use crate::edit::order::{EditRequest, Order};
use crate::edit::perform::perform;
use crate::edit::session::{EditSession, LIFETIME};
use crate::edit::state::{Mode, Status};
use engine::values::digest::{ActionKey, Digest};
use std::fs;

/// A text based on the file as it was at the opening does not revert changes of other writers.
#[test]
fn files_written_since_the_opening_are_not_replaced_silently() {
    let place = TestWorkspace::new();
    place.write("a.cs", "1\n2\n3\n4\n5\n");
    place.write("b.cs", "b\n");
    place.open("o");
    place.write("a.cs", "one\n2\n3\n4\n5\n");
    // It was written again with the same bytes.
    fs::remove_file(place.root.join("b.cs")).expect("removed");
    place.write("b.cs", "b\n");
    let mine = "1\n2\n3\n4\nfive\n";
    for what in [Put::Bytes(mine.into()), Put::Delete] {
        let refused = why(write_document(&place.disk, "o", "a.cs", &what, NOW).expect_err("refused"));
        assert!(
            refused.message.starts_with("a.cs was changed since the overlay o was opened"),
            "{refused:?}"
        );
        assert!(refused.hint.is_some_and(|hint| hint.contains("--onto-now")));
    }
    assert_eq!(place.put_document("o", "b.cs", "bb\n").expect("as it was"), PutEffect::Changed);
    apply(&place.disk, "o", "--- a/a.cs\n+++ b/a.cs\n@@ -5 +5 @@\n-5\n+five\n", NOW).expect("it says what it changes");
    // From now on the base of the document is known.
    assert_eq!(
        place.put_document("o", "a.cs", "one\n2\n3\n4\nfive!\n").expect("put"),
        PutEffect::Changed
    );
    assert!(merge(&place.disk, "o", NOW).expect("merged").conflicts.is_empty());
    assert_eq!(
        (place.read("a.cs"), place.read("b.cs")),
        (b"one\n2\n3\n4\nfive!\n".to_vec(), b"bb\n".to_vec())
    );
    // A removal without given contents has an unknown base, in whichever form a patch requests it.
    place.open("gone");
    place.write("a.cs", "others'\n");
    let sections = |text: &str| format!("*** Begin Patch\n{text}*** End Patch\n");
    let goes = sections("*** Delete File: a.cs\n");
    for patch in [
        &goes,
        &sections("*** Delete File: a.cs\n*** Add File: a.cs\n+mine\n*** Delete File: b.cs\n"),
    ] {
        let refused = why(apply(&place.disk, "gone", patch, NOW).expect_err("refused"));
        assert!(refused.message.starts_with("a.cs was changed since"), "{refused:?}");
    }
    apply(&place.disk, "gone", "--- a/a.cs\n+++ /dev/null\n@@ -1 +0,0 @@\n-others'\n", NOW).expect("it says what goes");
    write_document(&place.disk, "gone", "a.cs", &Put::Drop, NOW).expect("dropped");
    apply_over(&place.disk, "gone", &goes, true, NOW).expect("it was looked at");
    assert!(merge(&place.disk, "gone", NOW).expect("merged").conflicts.is_empty());
    place.write("a.cs", "one\n2\n3\n4\nfive!\n");
    // An overlay that is opened later is based on it.
    place.open("p");
    assert_eq!(place.put_document("p", "a.cs", "p\n").expect("put"), PutEffect::Changed);
}

#[test]
fn files_removed_or_added_since_the_opening_are_not_replaced_silently() {
    let place = TestWorkspace::new();
    for path in ["gone.cs", "moved.cs", "src/kept.cs"] {
        place.write(path, path);
    }
    place.open("o");
    fs::remove_file(place.root.join("gone.cs")).expect("removed");
    fs::rename(place.root.join("moved.cs"), place.root.join("src/here.cs")).expect("moved");
    place.write("src/new.cs", "others'");
    let refusal = |path: &str, what: &Put| why(write_document(&place.disk, "o", path, what, NOW).expect_err(path)).message;
    let mine = Put::Bytes(b"mine".to_vec());
    for (path, how) in [
        ("gone.cs", "removed"),
        ("moved.cs", "removed"),
        ("src/here.cs", "added"),
        ("src/new.cs", "added"),
    ] {
        let begins = format!("{path} was {how} since the overlay o was opened");
        assert!(refusal(path, &mine).starts_with(&begins), "{}", refusal(path, &mine));
    }
    assert!(refusal("src/new.cs", &Put::Delete).contains("was added since"));
    assert_eq!(refusal("gone.cs", &Put::Delete), "there is no file gone.cs to take away");
    assert!(unexpired_overlay(&place.disk, "o", NOW).expect("it lives").documents.is_empty());
    let now = |path: &str| write_over(&place.disk, "o", path, &mine, true, NOW).expect("put").1;
    assert_eq!((now("gone.cs"), now("src/new.cs")), (PutEffect::Added, PutEffect::Changed));
    assert_eq!(place.put_document("o", "src/fresh.cs", "x").expect("put"), PutEffect::Added);
    // A document that is put again after a drop also has the base of the opening.
    assert_eq!(place.put_document("o", "src/kept.cs", "mine").expect("put"), PutEffect::Changed);
    place.write("src/kept.cs", "others'");
    write_document(&place.disk, "o", "src/kept.cs", &Put::Drop, NOW).expect("dropped");
    assert!(refusal("src/kept.cs", &mine).contains("was changed since"));
    merge(&place.disk, "o", NOW).expect("merged");
    assert_eq!(
        (place.read("gone.cs"), place.read("src/kept.cs")),
        (b"mine".to_vec(), b"others'".to_vec())
    );
}

/// A caller resolves a conflict by putting the joined text with `onto_now`.
#[test]
fn a_conflict_is_ended_by_a_document_made_of_now() {
    let place = TestWorkspace::new();
    for path in ["a.cs", "b.cs", "c.cs"] {
        place.write(path, "one\n");
    }
    place.open("o");
    place.put_document("o", "a.cs", "mine\n").expect("put");
    place.put_document("o", "b.cs", "mine\n").expect("put");
    write_document(&place.disk, "o", "c.cs", &Put::Delete, NOW).expect("put");
    place.write("a.cs", "others'\n");
    fs::remove_file(place.root.join("b.cs")).expect("removed");
    place.write("c.cs", "others'\n");
    assert_eq!(merge(&place.disk, "o", NOW).expect("answered").conflicts.len(), 3);
    let now = |path: &str, what: Put| write_over(&place.disk, "o", path, &what, true, NOW).expect("put").1;
    assert_eq!(now("a.cs", Put::Bytes(b"both\n".to_vec())), PutEffect::Changed);
    assert_eq!(now("b.cs", Put::Bytes(b"mine\n".to_vec())), PutEffect::Added);
    assert_eq!(now("c.cs", Put::Delete), PutEffect::Removed);
    assert_eq!(merge(&place.disk, "o", NOW).expect("merged").conflicts, []);
    assert_eq!((place.read("a.cs"), place.read("b.cs")), (b"both\n".to_vec(), b"mine\n".to_vec()));
    assert!(!place.root.join("c.cs").exists());
}

/// Files that ignore files exclude are not recorded: their present state is the base.
#[test]
fn a_file_that_is_not_noted_is_taken_as_it_is() {
    let place = TestWorkspace::new();
    place.write(".gitignore", "obj/\n");
    place.write("obj/a.cs", "one");
    place.open("o");
    place.write("obj/a.cs", "two");
    place.write(".hidden/b.cs", "new");
    assert_eq!(place.put_document("o", "obj/a.cs", "mine").expect("put"), PutEffect::Changed);
    assert_eq!(place.put_document("o", ".hidden/b.cs", "mine").expect("put"), PutEffect::Changed);
}

#[test]
fn overlays_share_what_they_were_opened_on() {
    let place = TestWorkspace::new();
    for at in 0..200 {
        place.write(&format!("src/{at}.cs"), "x");
    }
    place.open("first");
    for at in 0..4 {
        place.write(&format!("src/{at}.cs"), format!("{at}"));
        fs::remove_file(place.root.join(format!("src/{}.cs", 60 + at))).expect("removed");
        place.open(&format!("o{at}"));
    }
    assert_eq!(place.disk.notes("texts").expect("texts").len(), 1, "they share a list");
    // Each overlay has its own base.
    for at in 0..3 {
        let name = format!("o{at}");
        let put = |file: u32| {
            place
                .put_document(&name, &format!("src/{file}.cs"), "mine")
                .map_err(|refused| why(refused).message)
        };
        assert_eq!((put(at), put(60 + at)), (Ok(PutEffect::Changed), Ok(PutEffect::Added)));
        assert!(put(at + 1).expect_err("changed").contains("was changed since"));
        assert!(put(61 + at).expect_err("removed").contains("was removed since"));
    }
    assert!(
        why(place.put_document("first", "src/0.cs", "mine").expect_err("changed"))
            .message
            .contains("was changed since")
    );
    discard(&place.disk, "first", NOW).expect("discarded");
    assert_eq!(
        place.put_document("o0", "src/20.cs", "mine").expect("the list is there"),
        PutEffect::Changed
    );
    for at in 0..4 {
        discard(&place.disk, &format!("o{at}"), NOW).expect("discarded");
    }
    assert_eq!(place.disk.notes("texts").expect("texts"), []);
}

#[test]
fn results_of_merged_overlays_are_retained_until_a_build_or_for_a_week() {
    let place = TestWorkspace::new();
    let results: Vec<ActionKey> = [b"one", b"two"].map(|key| ActionKey(Digest::of(key))).to_vec();
    for (name, key) in ["one", "two"].into_iter().zip(&results) {
        place.open(name);
        place.put_document(name, &format!("{name}.cs"), name).expect("put");
        texts::add_results(&place.disk, name, &[*key]).expect("noted");
        merge(&place.disk, name, NOW).expect("merged");
    }
    let held = |now: u64| needed_results(&place.root, now).expect("held").into_iter().collect::<Vec<_>>();
    let mut sorted = results.clone();
    sorted.sort_unstable();
    assert_eq!((held(NOW + LIFETIME - 1), held(NOW + LIFETIME)), (sorted.clone(), vec![]));
    release_merged_results(&place.root, || false).expect("looked");
    assert_eq!(held(NOW), sorted);
    release_merged_results(&place.root, || true).expect("let go of");
    assert_eq!(held(NOW), []);
    // A session also leaves its results to the workspace when it is closed.
    let session = EditSession::new("s1".to_owned(), Mode::Manual, NOW);
    session.store(&place.disk).expect("stored");
    texts::add_results(&place.disk, "s1", &results).expect("noted");
    leave_results(&place.root, "s1", NOW).expect("left");
    session.end_session(&place.disk).expect("ended");
    place.open("beside");
    assert_eq!((held(NOW + LIFETIME - 1), held(NOW + LIFETIME)), (sorted.clone(), vec![]));
    release_merged_results(&place.root, || true).expect("let go of");
    assert_eq!(held(NOW), []);
    // A discarded overlay is garbage at once; unused results are dropped when the next overlay is opened.
    place.open("three");
    texts::add_results(&place.disk, "three", &results).expect("noted");
    discard(&place.disk, "three", NOW).expect("discarded");
    assert_eq!(held(NOW), []);
    place.open("four");
    texts::add_results(&place.disk, "four", &results).expect("noted");
    merge(&place.disk, "four", NOW).expect("merged");
    open_or_continue(&place.disk, "five", None, NOW + LIFETIME).expect("open");
    assert_eq!((held(NOW), place.disk.notes("merged").expect("notes")), (vec![], vec![]));
}

#[test]
fn a_merge_is_reverted_and_repeated_as_an_edit() {
    let place = TestWorkspace::new();
    let wide: Vec<u8> = "\u{feff}one\r\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
    place.write("a.cs", "one\n2\n3\n");
    place.write("gone.cs", &wide);
    place.open("o");
    place.put_document("o", "a.cs", "1\n2\n3\n").expect("put");
    place.put_document("o", "new/n.cs", "n").expect("put");
    write_document(&place.disk, "o", "gone.cs", &Put::Delete, NOW).expect("put");
    place.write("a.cs", "one\n2\nthree\n");
    let merged = merge(&place.disk, "o", NOW).expect("merged");
    let order = |order: Order, session: Option<String>| {
        let request = EditRequest {
            order,
            session,
            path: None,
            mode: None,
            fit: false,
        };
        let response = perform(&place.disk, &request, NOW + 1);
        assert_eq!(
            (response.status, &response.session),
            (Status::Success, &merged.session),
            "{response:?}"
        );
        response.summary
    };
    let is_there = |path: &str| place.root.join(path).exists();
    assert_eq!((place.read("a.cs"), is_there("gone.cs")), (b"1\n2\nthree\n".to_vec(), false));
    assert!(order(Order::Undo, None).contains("overlay merge o"));
    assert_eq!((place.read("a.cs"), place.read("gone.cs")), (b"one\n2\nthree\n".to_vec(), wide));
    assert!(!is_there("new/n.cs"));
    order(Order::Redo, None);
    assert_eq!((place.read("a.cs"), is_there("gone.cs")), (b"1\n2\nthree\n".to_vec(), false));
    assert_eq!(place.read("new/n.cs"), b"n");
}
