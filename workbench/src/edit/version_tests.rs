//! Versions of documents and foreign writes: take over, carry over, report, undo, and recovery after a crash.

use super::edit_log::Category;
use super::order::{BatchEdit, Order};
use super::session_tests::{Coder, stands};
use super::state::{Mode, Status, WorkflowState};

#[test]
fn writes_of_others_are_taken_carried_or_told() {
    let base = "one\ntwo\nthree\nfour\n";
    let mut coder = Coder::opened(base, Mode::Manual);
    // Without edits, the file is taken over.
    coder.files.write("a.cs", format!("zero\n{base}"));
    let taken = coder.replace("two", "2");
    assert_eq!(stands(&taken), (Status::Success, WorkflowState::PersistPending));
    assert!(
        taken
            .summary
            .starts_with("a.cs was changed by another program: the content is updated"),
        "{taken:?}"
    );
    // Writing the same bytes again is not a change, whatever the time stamp.
    coder.files.write("a.cs", format!("zero\n{base}"));
    assert!(!coder.ask(Order::Diff).summary.contains("somebody"));
    // A change elsewhere: the edit is carried over.
    coder.files.write("a.cs", format!("zero\n{base}five\n"));
    let carried = coder.ask(Order::Commit);
    assert_eq!(stands(&carried), (Status::Success, WorkflowState::Idle));
    assert!(carried.summary.contains("carried over"), "{carried:?}");
    assert_eq!(coder.text(), "zero\none\n2\nthree\nfour\nfive\n");
    // A change elsewhere, between check and save.
    coder.replace("four", "4");
    coder.files.sneak("a.cs", b"ZERO\none\n2\nthree\nfour\nfive\n");
    assert_eq!(stands(&coder.ask(Order::Commit)), (Status::Success, WorkflowState::Idle));
    assert_eq!(coder.text(), "ZERO\none\n2\nthree\n4\nfive\n");
    // A change at the same place is reported with both sides.
    coder.replace("three", "3");
    coder.files.write("a.cs", "ZERO\none\n2\ndrei\n4\nfive\n");
    let out = coder.replace("one", "1");
    assert_eq!(stands(&out), (Status::ExternalConflict, WorkflowState::OutOfSync));
    let both = out.detail.expect("both sides");
    assert!(both.contains("+3\n") && both.contains("+drei\n"), "{both}");
    for order in [Order::Commit, Order::Undo] {
        assert_eq!(stands(&coder.ask(order)), (Status::Exception, WorkflowState::OutOfSync));
    }
    assert_eq!(stands(&coder.replace("one", "1")), (Status::Success, WorkflowState::OutOfSync));
    assert_eq!(coder.ask(Order::Diff).detail.map(|diff| diff.matches("@@").count()), Some(4));
    let other = coder.ask(Order::PersistAs("b.cs".to_owned()));
    assert_eq!(other.status, Status::Success, "{other:?}");
    assert_eq!(coder.files.text("b.cs"), "ZERO\n1\n2\n3\n4\nfive\n");
    // A refresh takes over the file, and undo restores the edits.
    let refreshed = coder.ask_with(Order::Refresh, Some("a.cs"), None);
    assert_eq!(stands(&refreshed), (Status::Success, WorkflowState::Idle), "{refreshed:?}");
    let undone = coder.ask(Order::Undo);
    assert_eq!(stands(&undone), (Status::ExternalConflict, WorkflowState::OutOfSync), "{undone:?}");
    let both = undone.detail.expect("both sides");
    assert!(both.contains("+3\n") && both.contains("+drei\n"), "{both}");
    assert_eq!(coder.ask_with(Order::Commit, Some("a.cs"), None).status, Status::Exception);
    assert_eq!(coder.text(), "ZERO\none\n2\ndrei\n4\nfive\n");
    coder.files.write("a.cs", "ZERO\none\n2\nthree\n4\nsix\n");
    assert_eq!(coder.ask_with(Order::Commit, Some("a.cs"), None).status, Status::Success);
    assert_eq!(coder.text(), "ZERO\n1\n2\n3\n4\nsix\n");
    assert!(!coder.files.logged(Category::External).is_empty());
}

#[test]
fn a_line_that_both_wrote_is_a_conflict_also_for_undo() {
    let mut coder = Coder::opened("timeout = 10\nother = 1\n", Mode::Manual);
    coder.replace("timeout = 10", "timeout = 100");
    coder.files.write("a.cs", "timeout = 20\nother = 1\n");
    let out = coder.ask(Order::Commit);
    assert_eq!(stands(&out), (Status::ExternalConflict, WorkflowState::OutOfSync), "{out:?}");
    assert_eq!(coder.text(), "timeout = 20\nother = 1\n");
    let mut coder = Coder::opened("timeout = 10\nother = 1\n", Mode::Immediate);
    coder.replace("timeout = 10", "timeout = 100");
    coder.files.write("a.cs", "timeout = 200\nother = 1\n");
    let out = coder.ask(Order::Undo);
    assert_eq!(stands(&out), (Status::ExternalConflict, WorkflowState::OutOfSync), "{out:?}");
    assert_eq!(coder.text(), "timeout = 200\nother = 1\n");
}

#[test]
fn a_conflict_that_goes_away_is_none() {
    let mut coder = Coder::opened("one\ntwo\n", Mode::Manual);
    coder.replace("one", "1");
    coder.files.write("a.cs", "eins\ntwo\n");
    assert_eq!(
        stands(&coder.ask(Order::Refresh)),
        (Status::ExternalConflict, WorkflowState::OutOfSync)
    );
    coder.files.write("a.cs", "one\ntwo\n");
    assert_eq!(stands(&coder.ask(Order::Commit)), (Status::Success, WorkflowState::Idle));
    assert_eq!(coder.text(), "1\ntwo\n");
    // Another program writes exactly the edited text.
    coder.replace("two", "2");
    coder.files.write("a.cs", "1\n2\n");
    assert_eq!(stands(&coder.ask(Order::Commit)), (Status::NoOp, WorkflowState::Idle));
}

#[test]
fn files_that_go_or_turn_into_something_else() {
    for other in [&b"a\0b"[..], b"\xff\xfeA", b"<folder>"] {
        let mut coder = Coder::opened("one\n", Mode::Manual);
        coder.replace("one", "1");
        coder.files.write("a.cs", other);
        let out = coder.ask(Order::Commit);
        assert_eq!(stands(&out), (Status::Exception, WorkflowState::OutOfSync), "{out:?}");
        assert_eq!(coder.ask(Order::Commit).status, Status::Exception);
        assert_eq!(coder.ask(Order::PersistAs("b.cs".to_owned())).status, Status::Success);
        assert_eq!(coder.files.text("b.cs"), "1\n");
        assert_eq!(coder.files.file("a.cs").as_deref(), Some(other));
        let unread = coder.ask(Order::Diff);
        let response = format!("{} {}", unread.summary, unread.detail.unwrap_or_default());
        assert!(
            response.contains("a.cs cannot be read") || response.contains("a.cs is not an editable text"),
            "{response}"
        );
        coder.files.write("a.cs", "one\n");
        let back = coder.ask_with(Order::Commit, Some("a.cs"), None);
        assert_eq!(stands(&back), (Status::Success, WorkflowState::Idle), "{back:?}");
        assert_eq!(back.summary, "a.cs is again equal to the base of its buffer; saved a.cs");
        assert_eq!(coder.text(), "1\n");
    }
    let mut coder = Coder::opened("one\n", Mode::Manual);
    coder.replace("one", "1");
    coder.files.remove("a.cs");
    assert_eq!(
        stands(&coder.ask(Order::Commit)),
        (Status::ExternalConflict, WorkflowState::OutOfSync)
    );
    assert_eq!(stands(&coder.ask(Order::Refresh)), (Status::Success, WorkflowState::Idle));
    assert_eq!(coder.replace("1", "2").status, Status::Exception);
    // The deletion is foreign: undo does not revert it, but the edits can be saved elsewhere.
    assert_eq!(
        stands(&coder.ask(Order::Undo)),
        (Status::ExternalConflict, WorkflowState::OutOfSync)
    );
    assert_eq!(coder.ask(Order::PersistAs("b.cs".to_owned())).status, Status::Success);
    assert_eq!((coder.files.text("b.cs").as_str(), coder.files.file("a.cs")), ("1\n", None));
}

#[test]
fn a_file_that_cannot_be_read_any_more_is_discarded_and_closed() {
    for other in [Some(&b"a\0b"[..]), Some(b"<folder>"), None] {
        let mut coder = Coder::opened("one\n", Mode::Manual);
        coder.replace("one", "1");
        match other {
            Some(other) => coder.files.write("a.cs", other),
            None => coder.files.remove("a.cs"),
        }
        assert_eq!(coder.ask(Order::Close).status, Status::Exception, "there is something to lose");
        assert_eq!(coder.ask(Order::Discard).status, Status::Success);
        assert_eq!(coder.ask(Order::Discard).status, Status::NoOp);
        // Once the file is readable again, undo works.
        let back = coder.session.clone();
        coder.files.write("a.cs", "one\ntwo\n");
        let undone = coder.ask(Order::Undo);
        assert_eq!(undone.status, Status::Success, "{undone:?}");
        assert!(coder.ask(Order::Diff).detail.is_some_and(|diff| diff.contains("+1\n two")));
        coder.ask(Order::Discard);
        coder.files.write("a.cs", "\0");
        assert_eq!(coder.session, back);
        assert_eq!(stands(&coder.ask(Order::Close)), (Status::Success, WorkflowState::Idle));
        assert_eq!(coder.files.count_notes("sessions"), 0);
    }
}

#[test]
fn a_version_comes_back_in_its_own_encoding() {
    let mut coder = Coder::with("");
    coder.files.write("a.cs", &b"caf\xe9\none\n"[..]);
    coder.ask_with(Order::Open, Some("a.cs"), Some(Mode::Manual));
    coder.replace("one", "1");
    // Another program writes the file as UTF-8, with a change at the edited place.
    coder.files.write("a.cs", "café\neins\n");
    coder.ask(Order::Refresh);
    assert_eq!(stands(&coder.ask(Order::Refresh)), (Status::Success, WorkflowState::Idle));
    assert_eq!(
        stands(&coder.ask(Order::Undo)),
        (Status::ExternalConflict, WorkflowState::OutOfSync)
    );
    coder.replace("1", "2");
    coder.ask(Order::PersistAs("b.cs".to_owned()));
    assert_eq!(coder.files.file("b.cs").as_deref(), Some(&b"caf\xe9\n2\n"[..]));
    coder.files.write("a.cs", &b"caf\xe9\none\n"[..]);
    assert_eq!(coder.ask_with(Order::Commit, Some("a.cs"), None).status, Status::Success);
    assert_eq!(coder.files.file("a.cs").as_deref(), Some(&b"caf\xe9\n2\n"[..]));
    // Carried edits use the file's present encoding.
    coder.files.write("a.cs", "café\n2\nthree\n");
    coder.ask_with(Order::Undo, None, None);
    let undone = coder.ask_with(Order::Undo, None, None);
    assert_eq!(undone.status, Status::Success, "{undone:?}");
    coder.ask_with(Order::Commit, Some("a.cs"), None);
    assert_eq!(coder.files.text("a.cs"), "café\n1\nthree\n");
}

#[test]
fn permissions_go_with_the_version() {
    let mut coder = Coder::with("one\n");
    coder.files.allow("a.cs", 0o750);
    let patch = "*** Begin Patch\n*** Update File: a.cs\n*** Move to: b.cs\n@@\n-one\n+1\n*** End Patch\n";
    assert_eq!(coder.ask(Order::Patch(patch.to_owned())).status, Status::Success);
    assert_eq!((coder.files.mode("a.cs"), coder.files.mode("b.cs")), (None, Some(0o750)));
    assert_eq!(coder.ask(Order::Undo).status, Status::Success);
    assert_eq!((coder.files.mode("a.cs"), coder.files.mode("b.cs")), (Some(0o750), None));
    // The permissions at the time of the deletion.
    coder.files.allow("a.cs", 0o600);
    let patch = "*** Begin Patch\n*** Delete File: a.cs\n*** End Patch\n";
    assert_eq!(coder.ask(Order::Patch(patch.to_owned())).status, Status::Success);
    assert_eq!(coder.ask(Order::Undo).status, Status::Success);
    assert_eq!((coder.files.mode("a.cs"), coder.text().as_str()), (Some(0o600), "one\n"));
}

#[test]
fn a_handle_is_told_once_it_is_kept() {
    for steps in 0..3 {
        let mut coder = Coder::with("one\n");
        coder.files.die_after(Some(steps));
        let order = Order::Replace {
            old: "one".to_owned(),
            new: "1".to_owned(),
        };
        let refused = coder.ask_with(order, Some("a.cs"), Some(Mode::Manual));
        coder.files.die_after(None);
        assert_eq!(refused.session, None, "{refused:?}");
        assert_ne!(refused.status, Status::Success);
        assert_eq!((coder.files.count_notes("sessions"), coder.text().as_str()), (0, "one\n"));
    }
    let mut coder = Coder::with("one\n");
    coder.files.die_after(Some(0));
    let opened = coder.ask_with(Order::Open, Some("a.cs"), None);
    assert_eq!(
        (opened.status, opened.session.as_deref()),
        (Status::PersistFailure, None),
        "{opened:?}"
    );
    assert!(opened.summary.starts_with("nothing was done"), "{opened:?}");
    assert!(opened.guidance.is_some_and(|words| words.starts_with("free some space")));
}

#[test]
fn interrupted_saves_that_cannot_continue_are_rolled_back() {
    let part = |path: &str, old: &str, new: &str| BatchEdit {
        path: Some(path.to_owned()),
        old: old.to_owned(),
        new: new.to_owned(),
    };
    let batch = || Order::Batch(vec![part("a.cs", "one", "1"), part("b.cs", "two", "2")]);
    let mut seen = [false; 2];
    for steps in 0..12 {
        let mut coder = Coder::with("one\n");
        coder.files.write("b.cs", "two\n");
        coder.files.die_after(Some(steps));
        coder.ask(batch());
        coder.files.die_after(None);
        let is_half = (coder.text().as_str(), coder.files.text("b.cs").as_str()) == ("1\n", "two\n");
        if is_half {
            coder.files.write("b.cs", "zwei\n");
        }
        coder.session = None;
        let listed = coder.ask(Order::List);
        if is_half {
            assert!(listed.summary.contains("was reverted"), "{listed:?}");
            assert_eq!((coder.text().as_str(), coder.files.text("b.cs").as_str()), ("one\n", "zwei\n"));
            assert!(listed.detail.is_some_and(|lines| lines.contains("a.cs PersistPending")));
        }
        seen[usize::from(is_half)] = true;
    }
    assert_eq!(seen, [true, true]);
}

#[test]
fn edits_are_taken_back_and_made_again() {
    let mut coder = Coder::opened("one two three", Mode::Immediate);
    coder.replace("one", "1");
    coder.replace("three", "3");
    assert_eq!(coder.ask(Order::Undo).status, Status::Success);
    assert_eq!(coder.text(), "1 two three");
    assert_eq!(coder.ask(Order::Redo).status, Status::Success);
    assert_eq!((coder.text().as_str(), coder.ask(Order::Redo).status), ("1 two 3", Status::NoMatch));
    coder.ask(Order::Undo);
    coder.replace("two", "2");
    assert_eq!(coder.ask(Order::Redo).status, Status::NoMatch, "another edit came in its place");
    coder.ask(Order::Undo);
    coder.ask(Order::Undo);
    assert_eq!(
        (coder.text().as_str(), coder.ask(Order::Undo).status),
        ("one two three", Status::NoMatch)
    );
    // Under a foreign edit elsewhere.
    let mut coder = Coder::opened("one\ntwo\nthree\n", Mode::Immediate);
    coder.replace("one", "1");
    coder.files.write("a.cs", "1\ntwo\ndrei\n");
    assert_eq!(coder.ask(Order::Undo).status, Status::Success);
    assert_eq!(coder.text(), "one\ntwo\ndrei\n");
    coder.files.write("a.cs", "eins\ntwo\ndrei\n");
    assert_eq!(
        stands(&coder.ask(Order::Redo)),
        (Status::ExternalConflict, WorkflowState::OutOfSync)
    );
    assert_eq!(coder.text(), "eins\ntwo\ndrei\n");
}

#[test]
fn two_sessions_on_one_file_see_each_other() {
    let mut one = Coder::opened("one\ntwo\nthree\n", Mode::Manual);
    let first = one.session.take();
    one.ask_with(Order::Open, Some("a.cs"), None);
    let second = one.session.clone();
    one.replace("one", "1");
    one.session.clone_from(&first);
    one.replace("three", "3");
    assert_eq!(one.ask(Order::Commit).status, Status::Success);
    one.session = second;
    assert_eq!(one.ask(Order::Commit).status, Status::Success);
    assert_eq!(one.text(), "1\ntwo\n3\n");
    one.replace("two", "2");
    one.session = first;
    one.replace("two", "zwei");
    assert_eq!(one.ask(Order::Commit).status, Status::Success);
}

#[test]
fn damage_is_told_and_costs_no_file() {
    let mut coder = Coder::opened("one", Mode::Manual);
    coder.replace("one", "1");
    coder.files.damage("texts");
    let lost = coder.ask(Order::Commit);
    assert!(
        lost.status == Status::Exception && lost.summary.contains("damaged or missing"),
        "{lost:?}"
    );
    assert_eq!((coder.ask(Order::Discard).status, coder.text().as_str()), (Status::Success, "one"));
    coder.files.damage("sessions");
    assert!(coder.ask(Order::Commit).summary.contains("cannot be read"));
}

#[test]
fn of_a_batch_each_file_is_taken_back_alone() {
    let mut coder = Coder::with("one\n");
    coder.files.write("b.cs", "two\n");
    coder.files.write("c.cs", "three\n");
    let part = |path: &str, old: &str, new: &str| BatchEdit {
        path: Some(path.to_owned()),
        old: old.to_owned(),
        new: new.to_owned(),
    };
    let parts = vec![part("a.cs", "one", "1"), part("b.cs", "two", "2"), part("c.cs", "three", "3")];
    assert_eq!(coder.ask(Order::Batch(parts)).status, Status::Success);
    coder.files.write("b.cs", "zwei\n");
    // The answer names the file with the foreign write, and those that can be undone.
    let refused = coder.ask(Order::Undo);
    assert_eq!(stands(&refused), (Status::Exception, WorkflowState::Idle), "{refused:?}");
    assert!(
        refused.summary.contains("b.cs was changed since at the place of the edit"),
        "{refused:?}"
    );
    let guidance = refused.guidance.expect("a way on");
    assert!(guidance.ends_with("it goes well with a.cs, c.cs"), "{guidance}");
    assert_eq!((coder.text().as_str(), coder.files.text("c.cs").as_str()), ("1\n", "3\n"));
    for (path, text) in [("a.cs", "one\n"), ("c.cs", "three\n")] {
        let undone = coder.ask_with(Order::Undo, Some(path), None);
        assert_eq!((undone.status, undone.files.len()), (Status::Success, 0), "{undone:?}");
        assert_eq!(coder.files.text(path), text);
        assert_eq!(coder.ask_with(Order::Undo, Some(path), None).status, Status::NoMatch, "once");
    }
    assert_eq!(coder.ask_with(Order::Redo, Some("a.cs"), None).status, Status::Success);
    assert_eq!((coder.text().as_str(), coder.files.text("c.cs").as_str()), ("1\n", "three\n"));
    // For the file with the foreign write both sides are shown, and nothing is written.
    let both = coder.ask_with(Order::Undo, Some("b.cs"), None);
    assert_eq!(stands(&both), (Status::ExternalConflict, WorkflowState::OutOfSync), "{both:?}");
    assert!(both.detail.is_some_and(|both| both.contains("+two\n") && both.contains("+zwei\n")));
    assert_eq!(coder.files.text("b.cs"), "zwei\n");
    // The other file's undo can still be redone.
    assert_eq!(coder.ask_with(Order::Redo, Some("c.cs"), None).status, Status::Success);
    assert_eq!(coder.files.text("c.cs"), "3\n");
    let unknown = coder.ask_with(Order::Undo, Some("d.cs"), None);
    assert!(
        unknown.status == Status::Exception && unknown.summary.contains("not a document"),
        "{unknown:?}"
    );
}

#[test]
fn content_of_a_removed_file_can_be_saved_elsewhere() {
    let mut coder = Coder::opened("one\n", Mode::Manual);
    coder.replace("one", "1");
    coder.files.remove("a.cs");
    coder.ask(Order::Refresh);
    assert_eq!(stands(&coder.ask(Order::Refresh)), (Status::Success, WorkflowState::Idle));
    // The buffer took over the deletion; the guidance leads to the edits.
    let refused = coder.ask(Order::PersistAs("b.cs".to_owned()));
    assert!(
        refused.status == Status::Exception && refused.summary.starts_with("there is nothing to save"),
        "{refused:?}"
    );
    assert!(refused.guidance.is_some_and(|words| words.contains("`undo`")));
    assert_eq!(coder.files.file("b.cs"), None);
    coder.ask(Order::Undo);
    assert_eq!(coder.ask(Order::PersistAs("b.cs".to_owned())).status, Status::Success);
    assert_eq!((coder.files.text("b.cs").as_str(), coder.files.file("a.cs")), ("1\n", None));
    // `refresh`, not `redo`, takes over the deletion again.
    let redo = coder.ask_with(Order::Redo, Some("a.cs"), None);
    assert_eq!(stands(&redo), (Status::Exception, WorkflowState::OutOfSync));
    assert!(redo.guidance.is_some_and(|words| words.starts_with("`refresh`")));
    assert_eq!(
        stands(&coder.ask_with(Order::Refresh, Some("a.cs"), None)),
        (Status::Success, WorkflowState::Idle)
    );
}

#[test]
fn documents_without_changes_are_reported_as_unchanged() {
    let mut coder = Coder::opened("one\n", Mode::Manual);
    let alone = coder.ask(Order::Diff);
    coder.files.write("b.cs", "two\n");
    coder.ask_with(Order::Open, Some("b.cs"), None);
    let both = coder.ask(Order::Diff);
    for response in [&alone, &both] {
        assert_eq!(stands(response), (Status::Exception, WorkflowState::Idle));
        assert!(response.summary.ends_with("buffer and file are the same"), "{response:?}");
    }
    coder.ask_with(
        Order::Replace {
            old: "two".to_owned(),
            new: "2".to_owned(),
        },
        Some("b.cs"),
        None,
    );
    assert_eq!(coder.ask(Order::Diff).status, Status::Success);
    let closed = coder.ask(Order::Close);
    assert!(closed.guidance.is_some_and(|words| words == "call `commit` or `discard` first"));
    coder.files.write("b.cs", "zwei\n");
    coder.ask(Order::Diff);
    let closed = coder.ask(Order::Close);
    assert_eq!(closed.guidance.as_deref(), Some("call `discard` first"), "{closed:?}");
}

#[test]
fn a_refresh_of_a_file_that_is_gone_says_so() {
    let mut coder = Coder::opened("one\n", Mode::Manual);
    coder.replace("one", "1");
    coder.files.remove("a.cs");
    assert_eq!(coder.ask(Order::Refresh).status, Status::ExternalConflict);
    let gone = coder.ask(Order::Refresh);
    assert_eq!(gone.summary, "a.cs was deleted, and its buffer is empty; `undo` restores the edits");
}

#[test]
fn a_foreign_revert_can_be_redone() {
    for mode in [Mode::Manual, Mode::Immediate] {
        let mut coder = Coder::opened("one\ntwo\n", mode);
        coder.replace("two", "2");
        coder.ask(Order::Commit);
        coder.files.write("a.cs", "one\ntwo\n");
        let undone = coder.ask(Order::Undo);
        assert!(undone.summary.contains("another program did that already"), "{undone:?}");
        coder.ask(Order::Redo);
        coder.ask(Order::Commit);
        assert_eq!(coder.text(), "one\n2\n");
    }
}

#[test]
fn a_file_deleted_in_the_buffer_can_be_created_again_before_a_save() {
    for anew in [Order::Write("new\n".to_owned()), Order::Create("new\n".to_owned())] {
        let mut coder = Coder::opened("one\n", Mode::Manual);
        coder.ask(Order::Patch("*** Begin Patch\n*** Delete File: a.cs\n*** End Patch".to_owned()));
        let made = coder.ask(anew);
        assert_eq!(stands(&made), (Status::Success, WorkflowState::PersistPending), "{made:?}");
        coder.ask(Order::Commit);
        assert_eq!(coder.text(), "new\n");
        coder.ask(Order::Undo);
        coder.ask(Order::Undo);
        coder.ask(Order::Commit);
        assert_eq!(coder.text(), "one\n");
    }
}

#[test]
fn a_document_whose_file_went_leads_on() {
    let mut coder = Coder::opened("one\n", Mode::Manual);
    coder.files.remove("a.cs");
    let gone = coder.replace("one", "1");
    for answer in [gone, coder.ask(Order::Refresh), coder.ask(Order::PersistAs("b.cs".to_owned()))] {
        assert!(
            answer
                .guidance
                .as_ref()
                .is_some_and(|words| words.contains("`create` creates the file again")),
            "{answer:?}"
        );
    }
    assert_eq!(coder.ask(Order::Create("2\n".to_owned())).status, Status::Success);
}

#[test]
fn of_a_large_edit_the_beginning_is_shown() {
    let mut coder = Coder::opened(&format!("one{}\n", "é".repeat(200_000)), Mode::Manual);
    let edited = coder.replace("one", "1");
    let detail = edited.detail.expect("what was changed");
    assert!(
        detail.len() < 150_000 && detail.ends_with(" bytes more, which are not shown\n"),
        "{}",
        detail.len()
    );
    assert!(coder.ask(Order::Diff).detail.is_some_and(|diff| diff.len() > 800_000));
}
