//! Failures of one file or one operation: each is reported as what it is, and does not block the other files.

use super::allowed_tools::Tool;
use super::edit_log::Category;
use super::order::{BatchEdit, EditRequest, Order};
use super::perform::perform;
use super::response::Response;
use super::session_tests::{Coder, stands};
use super::state::{Mode, Status, WorkflowState};
use super::symbol::{self, Where};

fn replace(old: &str, new: &str) -> Order {
    Order::Replace {
        old: old.to_owned(),
        new: new.to_owned(),
    }
}

/// Returns a session with three files, each with an unsaved edit.
fn edited() -> Coder {
    let mut coder = Coder::opened("one\n", Mode::Manual);
    for name in ["b.cs", "c.cs"] {
        coder.files.write(name, "one\n");
    }
    for name in ["a.cs", "b.cs", "c.cs"] {
        let done = coder.ask_with(replace("one", "1"), Some(name), None);
        assert_eq!(done.status, Status::Success);
    }
    coder
}

#[test]
fn edits_discarded_together_come_back_together() {
    let mut coder = edited();
    assert_eq!(coder.ask(Order::Discard).files.len(), 3);
    let undone = coder.ask(Order::Undo);
    assert_eq!((undone.status, undone.files.len()), (Status::Success, 3), "{undone:?}");
    assert_eq!(coder.ask(Order::Redo).files.len(), 3);
    assert_eq!(coder.ask(Order::Undo).files.len(), 3);
    assert_eq!(coder.ask(Order::Commit).files.len(), 3);
    assert_eq!((coder.text().as_str(), coder.files.text("c.cs").as_str()), ("1\n", "1\n"));
}

#[test]
fn a_file_that_leads_away_holds_up_no_other() {
    let mut coder = edited();
    coder.files.lead_away("b.cs");
    let refused = coder.ask_with(replace("1", "2"), Some("b.cs"), None);
    assert!(
        refused.status == Status::Exception && refused.summary.contains("b.cs leads out of the workspace"),
        "{refused:?}"
    );
    let edited = coder.ask_with(replace("1", "2"), Some("a.cs"), None);
    assert_eq!(edited.status, Status::Success, "{edited:?}");
    assert_eq!(coder.ask(Order::Undo).status, Status::Success);
    let saved = coder.ask(Order::Commit);
    assert_eq!(saved.status, Status::Success, "{saved:?}");
    assert!(saved.summary.contains("left out: b.cs"), "{saved:?}");
    assert_eq!((coder.text().as_str(), coder.files.text("c.cs").as_str()), ("1\n", "1\n"));
    assert_eq!(coder.files.text("b.cs"), "elsewhere\n", "it is not written");
    let alone = coder.ask_with(Order::Commit, Some("b.cs"), None);
    assert!(
        alone.status == Status::Exception && alone.summary.contains("leads out"),
        "{alone:?}"
    );
    // Its edits can be saved to another path.
    assert_eq!(
        coder.ask_with(Order::PersistAs("d.cs".to_owned()), Some("b.cs"), None).status,
        Status::Success
    );
    assert_eq!(coder.files.text("d.cs"), "1\n");
}

#[test]
fn a_full_disk_is_no_mistake_of_the_caller() {
    let mut coder = Coder::with("one");
    coder.files.fill(Some("texts/"));
    let full = coder.ask_with(replace("one", "two"), Some("a.cs"), None);
    assert_eq!((full.status, full.session.clone()), (Status::PersistFailure, None), "{full:?}");
    assert!(full.guidance.is_some_and(|words| words.contains("free some space")));
    coder.files.fill(Some("a.cs"));
    let full = coder.ask_with(replace("one", "two"), Some("a.cs"), None);
    assert_eq!(stands(&full), (Status::PersistFailure, WorkflowState::PersistPending));
    let undone = coder.ask(Order::Undo);
    assert_eq!(stands(&undone), (Status::Success, WorkflowState::Idle));
    assert_eq!(
        undone.summary,
        "undone: replace in the buffer; the file holds that already and was not written"
    );
    coder.files.fill(None);
    assert_eq!(coder.ask(Order::Redo).summary, "redone: replace, saved");
    assert_eq!(coder.text(), "two");
    assert!(!coder.files.logged(Category::Persistence).is_empty());
}

#[test]
fn orders_whose_session_cannot_be_stored_have_no_effect() {
    let unkept = |coder: &mut Coder, order: Order| {
        let before = coder.ask(Order::Diff);
        coder.files.fill(Some("sessions/"));
        let failed = coder.ask(order);
        coder.files.fill(None);
        let after = coder.ask(Order::Diff);
        assert_eq!((after.workflow_state, &after.detail), (before.workflow_state, &before.detail));
        assert_eq!(stands(&failed), (Status::PersistFailure, before.workflow_state), "{failed:?}");
        assert_eq!(failed.metrics.new_length, before.metrics.new_length);
        assert!(failed.session.is_some() && failed.guidance.is_some_and(|words| words.contains("free some space")));
        failed.summary
    };
    let mut coder = Coder::opened("one\n", Mode::Manual);
    coder.replace("one", "two more");
    for (order, nothing) in [
        (Order::Undo, "nothing was undone: the session cannot be stored: "),
        (Order::Discard, "nothing was dropped: the session cannot be stored: "),
        (replace("two", "2"), "nothing was done: the session cannot be stored: "),
        (
            Order::Close,
            "the session has edits that are not saved; but the session cannot be stored: ",
        ),
        (
            Order::Diff,
            "what the buffer has and the file has not; but the session cannot be stored: ",
        ),
    ] {
        let summary = unkept(&mut coder, order);
        assert!(summary.starts_with(nothing), "{summary}");
    }
    coder.ask(Order::Undo);
    let redone = unkept(&mut coder, Order::Redo);
    assert!(redone.starts_with("nothing was redone: "), "{redone}");
    assert!(coder.ask(Order::Redo).summary.starts_with("redone: replace"));
    // An answer reports an already saved file, and the next operation knows it.
    coder.files.fill(Some("sessions/"));
    let saved = coder.ask(Order::Commit);
    coder.files.fill(None);
    assert_eq!(stands(&saved), (Status::PersistFailure, WorkflowState::Idle));
    assert!(
        saved.summary.starts_with("saved a.cs; but the session cannot be stored"),
        "{saved:?}"
    );
    assert_eq!(
        (coder.text().as_str(), coder.ask(Order::Diff).workflow_state),
        ("two more\n", WorkflowState::Idle)
    );
    // With a full disk, the file is not written either.
    coder.replace("two", "2");
    for (order, nothing) in [(Order::Commit, "nothing was saved: "), (Order::Undo, "nothing was undone: ")] {
        coder.files.fill(Some("s"));
        let failed = coder.ask(order);
        coder.files.fill(None);
        assert_eq!(stands(&failed), (Status::PersistFailure, WorkflowState::PersistPending));
        assert!(failed.summary.starts_with(nothing), "{failed:?}");
    }
    assert_eq!(coder.text(), "two more\n");
    // A new session without stored state has no pending edits.
    let mut coder = Coder::with("one");
    coder.files.fill(Some("s"));
    let failed = coder.ask_with(replace("one", "two"), Some("a.cs"), None);
    assert_eq!(
        (stands(&failed), failed.session),
        ((Status::PersistFailure, WorkflowState::Idle), None)
    );
    // A session that cannot be ended stays.
    let mut coder = Coder::opened("one\n", Mode::Manual);
    coder.files.die_after(Some(0));
    let closed = coder.ask(Order::Close);
    coder.files.die_after(None);
    assert!(
        closed.summary.starts_with("the session has not ended: ") && closed.session.is_some(),
        "{closed:?}"
    );
    assert_eq!(coder.ask(Order::Close).status, Status::Success);
}

#[test]
fn allowed_tools_are_listed_by_the_names_that_call_them() {
    let mut coder = Coder::opened("one one\n", Mode::Manual);
    let edited = coder.replace("one\n", "two\n");
    for tool in [Tool::Batch, Tool::Write, Tool::Create, Tool::ReplaceSymbol, Tool::InsertAfter] {
        assert!(edited.allowed.contains(&tool), "{edited:?}");
    }
    let closed = coder.ask(Order::Close);
    assert!(closed.status == Status::Exception && !closed.allowed.is_empty() && !closed.allowed.contains(&Tool::Close));
    coder.ask(Order::Commit);
    assert_eq!(coder.replace("o", "0").status, Status::MultiMatch);
    let said = |response: Response| (response.status, response.summary);
    let batch = coder.ask_with(Order::Batch(vec![part("one", "1")]), Some("a.cs"), None);
    assert_eq!(
        said(batch),
        (
            Status::Exception,
            "`batch` is not possible now: a.cs is SelectionPending".to_owned()
        )
    );
    let write = coder.ask_with(Order::Write("x".to_owned()), Some("a.cs"), None);
    assert!(said(write).1.starts_with("`write` is not possible now"));
    let symbol = symbol::SymbolEdit {
        symbol: "A".to_owned(),
        at: Where::Before,
        new: "x".to_owned(),
        head: symbol::HeadPolicy::Replaced,
        defines: None,
    };
    assert!(
        said(coder.ask(Order::Symbol(symbol)))
            .1
            .starts_with("`insert_before` is not possible now")
    );
    // The candidates ended with the session.
    let closed = coder.ask(Order::Close);
    assert_eq!(stands(&closed), (Status::Success, WorkflowState::Idle));
    assert_eq!((closed.guidance, closed.allowed), (None, Vec::new()));
}

#[test]
fn a_session_keeps_its_mode() {
    let mut coder = Coder::opened("one\n", Mode::Disabled);
    coder.replace("one", "1");
    let refused = coder.ask(Order::PersistAs("b.cs".to_owned()));
    assert_eq!(refused.summary, "`persist_as` is not possible now: the session saves nothing");
    let other = coder.ask_with(Order::Open, Some("a.cs"), Some(Mode::Immediate));
    assert!(
        other.status == Status::Exception && other.summary.contains("is disabled, not immediate"),
        "{other:?}"
    );
    assert_eq!(
        coder.ask_with(Order::Open, Some("a.cs"), Some(Mode::Disabled)).status,
        Status::Success
    );
}

fn part(old: &str, new: &str) -> BatchEdit {
    BatchEdit {
        path: None,
        old: old.to_owned(),
        new: new.to_owned(),
    }
}

#[test]
fn of_a_batch_what_stands_in_several_places_is_shown() {
    let mut coder = Coder::opened("one two\ntwo\n", Mode::Manual);
    let parts = vec![part("one", "1"), part("two", "2")];
    let several = coder.ask_with(Order::Batch(parts), Some("a.cs"), None);
    assert_eq!(stands(&several), (Status::MultiMatch, WorkflowState::Idle));
    assert_eq!(several.metrics.selection_count, Some(2));
    assert_eq!(several.candidates.map(|candidates| candidates.len()), Some(2));
    assert!(several.guidance.is_some_and(|words| words.contains("edit 2")));
    assert_eq!(coder.ask(Order::Diff).status, Status::Exception, "nothing was changed");
}

#[test]
fn edits_of_a_batch_see_what_those_before_them_made() {
    for (second, summary, text) in [
        ("cd", "applied 2 edits as one in the buffer", "bY\n"),
        ("bcd", "applied 2 edits as one in the buffer", "Y\n"),
        (
            "abc",
            "edit 2 has no match in a.cs: it stood there until the edits before it changed that place; nothing was changed",
            "abcd\n",
        ),
    ] {
        let mut coder = Coder::opened("abcd\n", Mode::Manual);
        let done = coder.ask_with(Order::Batch(vec![part("ab", "b"), part(second, "Y")]), Some("a.cs"), None);
        assert_eq!(done.summary, summary);
        coder.ask(Order::Commit);
        assert_eq!(coder.text(), text);
        coder.ask(Order::Undo);
        coder.ask(Order::Commit);
        assert_eq!(coder.text(), "abcd\n");
    }
}

#[test]
fn discards_in_several_files_are_reported_for_each() {
    let mut coder = edited();
    coder.ask_with(Order::Commit, Some("a.cs"), None);
    coder.ask_with(Order::Commit, Some("b.cs"), None);
    coder.files.write("a.cs", "x x\n");
    let several = |coder: &mut Coder| coder.ask_with(replace("x", "y"), Some("a.cs"), None).status;
    assert_eq!(several(&mut coder), Status::MultiMatch);
    let dropped = coder.ask(Order::Discard);
    assert_eq!(
        dropped.summary,
        "dropped the selection, and unsaved edits in other files; `undo` gives these back"
    );
    assert_eq!(coder.ask(Order::Undo).files, Vec::<String>::new());
    assert!(coder.ask(Order::Diff).detail.is_some_and(|diff| diff.contains("+1")));
    assert_eq!(several(&mut coder), Status::MultiMatch);
    let dropped = coder.ask_with(Order::Discard, Some("a.cs"), None);
    assert_eq!(dropped.summary, "dropped the selection");
}

#[test]
fn discard_and_refresh_say_what_became_of_buffer_and_file() {
    let response = |coder: &mut Coder, order: Order| coder.ask(order).summary;
    let mut coder = Coder::opened("one\ntwo\n", Mode::Manual);
    assert_eq!(response(&mut coder, Order::Refresh), "the file has not changed");
    coder.files.write("a.cs", "one\ntwo\nthree\n");
    assert_eq!(
        response(&mut coder, Order::Refresh),
        "a.cs was changed by another program: the content is updated"
    );
    coder.replace("one", "1");
    assert_eq!(
        response(&mut coder, Order::Refresh),
        "the file has not changed; edits that are not saved stay"
    );
    coder.files.write("a.cs", "eins\ntwo\nthree\n");
    assert_eq!(
        response(&mut coder, Order::Discard),
        "a.cs was changed by another program: the content is updated; dropped the unsaved edits; `undo` gives them back"
    );
    coder.replace("two", "2");
    coder.files.write("a.cs", "eins\nzwei\nthree\n");
    let conflict = coder.ask(Order::Refresh);
    assert_eq!(conflict.summary, "a.cs was changed by another program where it is edited here");
    let both = coder.ask(Order::Diff).guidance;
    assert!(
        both == conflict.guidance && both.is_some_and(|words| words.starts_with("`refresh` takes the file's text")),
        "{conflict:?}"
    );
    assert_eq!(
        response(&mut coder, Order::Refresh),
        "a.cs has the file's text; `undo` gives the edits back"
    );
    coder.replace("three", "3");
    coder.files.write("a.cs", "\0");
    let unread = coder.ask(Order::Discard);
    assert!(
        unread.summary.ends_with("`undo` gives them back, once the file can be read")
            && unread
                .guidance
                .as_ref()
                .is_some_and(|words| words.starts_with("fix the file, then call `refresh`")),
        "{}",
        unread.summary
    );
    let diff = coder.ask(Order::Diff);
    assert!(
        diff.summary.ends_with("the buffer has no edits") && diff.guidance == unread.guidance,
        "{diff:?}"
    );
    coder.files.write("a.cs", "eins\nzwei\nthree\n");
    coder.ask(Order::Undo);
    assert!(coder.ask(Order::Diff).detail.is_some_and(|diff| diff.contains("+3\n")));
    coder.files.remove("a.cs");
    assert_eq!(
        response(&mut coder, Order::Discard),
        "another program removed a.cs: its buffer is empty; dropped the unsaved edits; `undo` gives them back"
    );
}

#[test]
fn a_discard_of_candidates_keeps_edits() {
    let mut coder = Coder::opened("one x x\n", Mode::Manual);
    assert_eq!(coder.replace("x", "y").status, Status::MultiMatch);
    assert_eq!(coder.ask(Order::Discard).summary, "dropped the selection");
    coder.replace("one", "1");
    assert_eq!(coder.replace("x", "y").status, Status::MultiMatch);
    coder.files.write("a.cs", "eins x x\n");
    let dropped = coder.ask(Order::Discard);
    assert_eq!(stands(&dropped), (Status::Success, WorkflowState::OutOfSync));
    assert_eq!(dropped.summary, "dropped the selection; edits that are not saved stay");
    assert!(
        coder
            .ask(Order::Diff)
            .detail
            .is_some_and(|both| both.contains("+1 x x\n") && both.contains("+eins x x\n"))
    );
}

#[test]
fn a_conflict_of_line_ends_says_so() {
    let mut coder = Coder::opened("one\ntwo\n", Mode::Manual);
    coder.replace("one\n", "one\r\n");
    coder.files.write("a.cs", "one\rtwo\r");
    let response = "a.cs was given other ends of lines by another program where it is edited here: it had LF, and has CR";
    assert_eq!(coder.ask(Order::Commit).summary, format!("{response}; nothing was done"));
    assert_eq!(
        coder.ask(Order::Refresh).summary,
        "a.cs has the file's text; `undo` gives the edits back"
    );
}

#[test]
fn all_files_are_refreshed_whatever_became_of_one() {
    let mut coder = edited();
    for path in ["a.cs", "b.cs", "c.cs"] {
        coder.files.write(path, "other\n");
    }
    let refreshed = coder.ask(Order::Refresh);
    assert_eq!(refreshed.status, Status::ExternalConflict);
    for path in ["a.cs", "b.cs", "c.cs"] {
        assert!(
            refreshed.summary.contains(&format!("{path} was changed by another program where")),
            "{refreshed:?}"
        );
        assert!(
            refreshed
                .detail
                .as_ref()
                .is_some_and(|both| both.contains(&format!("+++ {path} (file)")))
        );
    }
    let taken = coder.ask(Order::Refresh);
    assert!(taken.summary.matches("has the file's text").count() == 3, "{taken:?}");
}

#[test]
fn after_a_copy_and_a_discard_each_step_is_taken_back_and_made_again() {
    let mut coder = Coder::opened("one\r\ntwo\n", Mode::Manual);
    let held = |coder: &Coder| (coder.text(), coder.files.file("b.cs").map(|bytes| bytes.len()));
    coder.replace("one", "1");
    coder.ask_with(Order::PersistAs("b.cs".to_owned()), Some("a.cs"), None);
    coder.ask_with(Order::Discard, Some("a.cs"), None);
    for operation in ["discard", "persist_as", "replace"] {
        let undone = coder.ask(Order::Undo);
        assert_eq!(undone.summary, format!("undone: {operation} in the buffer"));
    }
    assert_eq!(coder.ask(Order::Undo).summary, "all remembered edits are reverted");
    assert_eq!(held(&coder), ("one\r\ntwo\n".to_owned(), Some(7)));
    coder.ask(Order::Commit);
    assert_eq!(held(&coder), ("one\r\ntwo\n".to_owned(), None), "it was not there before");
    for operation in ["replace", "persist_as", "discard"] {
        let redone = coder.ask(Order::Redo);
        assert_eq!(redone.summary, format!("redone: {operation} in the buffer"));
    }
    coder.ask(Order::Commit);
    assert_eq!(held(&coder), ("one\r\ntwo\n".to_owned(), Some(7)));
}

#[test]
fn in_a_file_of_mixed_ends_a_text_is_found_as_it_stands() {
    let coder = Coder::with("a\r\nb\r\nc\nd\nb\r\n");
    let ask = |old: &str, new: &str| {
        let request = EditRequest {
            order: replace(old, new),
            session: None,
            path: Some("a.cs".to_owned()),
            mode: None,
            fit: true,
        };
        perform(&coder.files, &request, 1000).status
    };
    assert_eq!(ask("c\nd\n", "x\ny\n"), Status::Success);
    assert_eq!(coder.text(), "a\r\nb\r\nx\ny\nb\r\n");
    assert_eq!(ask("a\nb\n", "1\n2\n"), Status::Success);
    assert_eq!(coder.text(), "1\r\n2\r\nx\ny\nb\r\n");
}

#[test]
fn changes_of_a_file_are_reported_by_their_kind() {
    let mut coder = Coder::opened("caf\u{e9}\n", Mode::Manual);
    coder.files.write("a.cs", &b"caf\xe9\n"[..]);
    let written = coder.replace("caf", "Caf").summary;
    assert!(
        written.starts_with("a.cs was written in Windows-1252 by another program: the content is updated"),
        "{written}"
    );
    coder.ask(Order::Discard);
    coder.files.write("a.cs", "caf\u{e9}\n");
    coder.replace("\u{e9}", "\u{65e5}");
    coder.files.write("a.cs", &b"caf\xe9\n"[..]);
    let lacking = coder.replace("caf", "Caf");
    assert_eq!(lacking.status, Status::ExternalConflict);
    assert!(
        lacking
            .summary
            .starts_with("another program wrote a.cs in Windows-1252 without the edits of this session"),
        "{lacking:?}"
    );
    let mut coder = Coder::opened("one\n", Mode::Manual);
    coder.replace("one", "1");
    coder.files.remove("a.cs");
    let gone = coder.replace("1", "2");
    assert!(
        gone.summary.starts_with("another program removed a.cs, which has edits here"),
        "{gone:?}"
    );
}

#[test]
fn a_patch_makes_programs_and_no_links() {
    let mut coder = Coder::with("one\n");
    let patch = |mode: &str| {
        Order::Patch(format!(
            "diff --git a/run b/run\nnew file mode {mode}\n--- /dev/null\n+++ b/run\n@@ -0,0 +1 @@\n+../out\n"
        ))
    };
    let refused = coder.ask(patch("120000"));
    assert!(
        refused.status == Status::Exception && refused.summary.contains("run is a symbolic link"),
        "{refused:?}"
    );
    assert_eq!(coder.files.file("run"), None);
    assert_eq!(coder.ask(patch("100755")).status, Status::Success);
    assert_eq!(coder.files.mode("run"), Some(0o755));
    coder.ask(Order::Undo);
    assert_eq!(coder.files.file("run"), None);
    coder.ask(Order::Redo);
    assert_eq!(coder.files.mode("run"), Some(0o755));
}

#[test]
fn a_file_cannot_be_the_folder_of_another_one() {
    let add = |paths: &[&str]| {
        let added: String = paths.iter().map(|path| format!("*** Add File: {path}\n+x\n")).collect();
        Order::Patch(format!("*** Begin Patch\n{added}*** End Patch\n"))
    };
    let moved = "*** Begin Patch\n*** Add File: m\n+x\n*** Update File: a.cs\n*** Move to: m/y/z\n*** End Patch\n";
    for order in [add(&["m", "m/x"]), add(&["m/x", "m.cs", "m"]), Order::Patch(moved.to_owned())] {
        let mut coder = Coder::with("one\n");
        let refused = coder.ask(order.clone());
        assert_eq!(refused.status, Status::Exception, "{refused:?}");
        assert!(
            refused.summary.starts_with("m cannot be both a file and the folder of m/"),
            "{refused:?}"
        );
        assert_eq!(
            (&refused.session, coder.files.file("m"), coder.text()),
            (&None, None, "one\n".to_owned())
        );
        let mut coder = Coder::opened("one\n", Mode::Manual);
        assert_eq!(coder.ask(order).status, Status::Exception);
        let before = coder.ask_with(Order::Create("x".to_owned()), Some("m/x"), None);
        assert_eq!(before.status, Status::Success, "nothing stays of what was refused: {before:?}");
        let below = coder.ask_with(Order::Create("y".to_owned()), Some("m"), None);
        assert_eq!(
            (below.status, coder.ask(add(&["m/x/y"])).status),
            (Status::Exception, Status::Exception)
        );
        assert_eq!(coder.ask(add(&["m/y", "m.cs"])).status, Status::Success);
        assert_eq!(coder.ask(Order::Commit).status, Status::Success);
    }
}

#[test]
fn unsaved_edits_are_not_reported_as_saved() {
    let mut coder = Coder::opened("one\ntwo\n", Mode::Immediate);
    coder.files.fill(Some("a.cs"));
    assert_eq!(coder.replace("one", "1").status, Status::PersistFailure);
    coder.files.fill(None);
    coder.files.write("a.cs", "eins\ntwo\n");
    assert_eq!(coder.ask(Order::Refresh).status, Status::ExternalConflict);
    let edited = coder.replace("two", "TWO");
    assert_eq!(stands(&edited), (Status::Success, WorkflowState::OutOfSync));
    assert_eq!(
        edited.summary,
        "replaced one occurrence of oldText in the buffer; not saved, because the file differs from the base of the buffer"
    );
    assert_eq!(coder.text(), "eins\ntwo\n");
}

#[test]
fn a_document_without_edits_whose_file_went_leads_on() {
    for other in [&b"a\0b"[..], b"<folder>"] {
        let mut coder = Coder::opened("one\n", Mode::Manual);
        coder.files.write("a.cs", other);
        for order in [
            Order::Diff,
            Order::PersistAs("b.cs".to_owned()),
            Order::Discard,
            Order::Refresh,
            replace("one", "1"),
        ] {
            let response = coder.ask(order);
            assert!(
                !response.summary.contains("damaged") && !response.summary.contains("the same"),
                "{response:?}"
            );
            let guidance = response.guidance.unwrap_or_default();
            assert!(
                guidance.contains("call `refresh`, or `close`") && !guidance.contains("persist_as"),
                "{guidance}"
            );
        }
        coder.files.write("a.cs", "two\n");
        assert_eq!(stands(&coder.ask(Order::Refresh)), (Status::Success, WorkflowState::Idle));
        coder.files.write("a.cs", other);
        assert_eq!(coder.ask(Order::Diff).workflow_state, WorkflowState::OutOfSync);
        assert_eq!(coder.ask(Order::Close).status, Status::Success);
    }
    // A file that was never edited cannot be recovered.
    let mut coder = Coder::opened("one\n", Mode::Manual);
    coder.files.remove("a.cs");
    let gone = coder.ask(Order::PersistAs("b.cs".to_owned()));
    assert!(gone.summary.contains("there is nothing to save"), "{gone:?}");
    assert!(!gone.guidance.unwrap_or_default().contains("undo"));
    // A saved version stays available.
    let mut coder = Coder::opened("one\n", Mode::Immediate);
    coder.replace("one", "1");
    coder.files.write("a.cs", "<folder>");
    let diff = coder.ask(Order::Diff);
    assert!(diff.summary.ends_with("the buffer has no edits"), "{diff:?}");
    assert_eq!(coder.ask(Order::PersistAs("b.cs".to_owned())).status, Status::Success);
    assert_eq!(coder.files.text("b.cs"), "1\n");
}
