//! Edits of many places at once, line ends that are the file's, and taking back what no handle names.

use super::brief_answer;
use super::order::{EditRequest, Order, Rewritten};
use super::perform::perform;
use super::response::{Level, Response};
use super::session_tests::{Coder, stands};
use super::state::{Status, WorkflowState};
use crate::code_text::lines::{Ends, fit};
use proptest::prelude::*;

/// One order without a session, in which texts get the line ends of the file.
fn ask(coder: &Coder, order: Order, path: Option<&str>) -> Response {
    let request = EditRequest {
        order,
        session: None,
        path: path.map(str::to_owned),
        mode: None,
        fit: true,
    };
    perform(&coder.files, &request, coder.now)
}

fn replace(coder: &Coder, old: &str, new: &str) -> Response {
    let order = Order::Replace {
        old: old.to_owned(),
        new: new.to_owned(),
    };
    ask(coder, order, Some("a.cs"))
}

#[test]
fn every_place_is_replaced_and_counted() {
    let coder = Coder::with("one two\r\none\r\n");
    let all = |old: &str| {
        let order = Order::ReplaceAll {
            old: old.to_owned(),
            new: "1\n2".to_owned(),
        };
        ask(&coder, order, Some("a.cs"))
    };
    let done = all("one");
    assert!(
        done.summary
            .contains("line ends made CRLF as in a.cs; replaced 2 occurrences of oldText, saved"),
        "{done:?}"
    );
    assert_eq!(coder.text(), "1\r\n2 two\r\n1\r\n2\r\n");
    let changed = &done.changed[0];
    assert_eq!((changed.lines, changed.added, changed.removed), (Some((1, 4)), 4, 2));
    assert_eq!(all("nowhere").status, Status::NoMatch);
    assert_eq!(all("").status, Status::NoMatch);
}

#[test]
fn a_file_that_changed_since_planning_stops_a_rewrite() {
    let coder = Coder::with("one\n");
    coder.files.write("b.cs", "two\n");
    let rewrite = |before: &str| {
        let text = |path: &str, before: &str| Rewritten::of(path, before, format!("new {path}\n"));
        let texts = vec![text("a.cs", "one\n"), text("b.cs", before)];
        ask(
            &coder,
            Order::Rewrite {
                operation: "rename",
                texts,
            },
            None,
        )
    };
    let refused = rewrite("too\n");
    assert!(
        refused.status == Status::Exception && refused.summary.contains("b.cs was changed meanwhile"),
        "{refused:?}"
    );
    assert_eq!((coder.text(), coder.files.text("b.cs")), ("one\n".to_owned(), "two\n".to_owned()));
    let done = rewrite("two\n");
    assert_eq!(stands(&done), (Status::Success, WorkflowState::Idle), "{done:?}");
    assert_eq!(
        (coder.text(), coder.files.text("b.cs")),
        ("new a.cs\n".to_owned(), "new b.cs\n".to_owned())
    );
    let undone = ask(&coder, Order::Undo, None);
    assert_eq!(undone.status, Status::Success, "{undone:?}");
    assert_eq!((coder.text(), coder.files.text("b.cs")), ("one\n".to_owned(), "two\n".to_owned()));
}

#[test]
fn an_undo_of_many_lines_lists_the_files_with_their_counts() {
    let coder = Coder::with("one\n");
    let paths: Vec<String> = (10..40).map(|number| format!("b{number}.cs")).collect();
    paths.iter().for_each(|path| coder.files.write(path, "one\ntwo\n"));
    let texts = paths.iter().map(|path| Rewritten::of(path.as_str(), "one\ntwo\n", "1\n2\ntwo\n"));
    let rewrite = Order::Rewrite {
        operation: "rename",
        texts: texts.collect(),
    };
    assert_eq!(ask(&coder, rewrite, None).status, Status::Success);
    let undone = ask(&coder, Order::Undo, None);
    assert_eq!((undone.status, undone.changed.len()), (Status::Success, 30), "{undone:?}");
    let brief = brief_answer::format(&undone.clone().at(Level::Detail));
    assert!(
        brief.starts_with("undone: rename") && brief.contains("b10.cs:1 +1 -2") && brief.ends_with("10 files more"),
        "{brief}"
    );
    assert_eq!(brief.lines().count(), 1, "{brief}");
    let full = undone.at(Level::Full).detail;
    assert!(full.is_some_and(|detail| detail.contains("-2\n") && detail.lines().count() > 60));
}

#[test]
fn the_last_edit_is_taken_back_without_a_handle() {
    let mut coder = Coder::with("one two\n");
    let nothing = ask(&coder, Order::Undo, None);
    assert_eq!(nothing.status, Status::NoMatch, "{nothing:?}");
    assert_eq!(nothing.summary, "this checkout has no edit to revert");
    for (old, new) in [("one", "1"), ("two", "2")] {
        assert_eq!(replace(&coder, old, new).status, Status::Success);
        coder.now += 1;
    }
    let last = ask(&coder, Order::Undo, None);
    assert!(last.detail.is_some_and(|detail| detail.contains("-1 2\n+1 two\n")));
    assert_eq!(ask(&coder, Order::Undo, None).status, Status::Success);
    assert_eq!(coder.text(), "one two\n");
    assert_eq!(ask(&coder, Order::Undo, None).status, Status::NoMatch);
    // Of two in one second, too.
    replace(&coder, "one", "1");
    replace(&coder, "two", "2");
    for left in ["1 two\n", "one two\n"] {
        let undone = ask(&coder, Order::Undo, None);
        assert_eq!(
            (undone.status, undone.summary.as_str()),
            (Status::Success, "undone: replace, saved")
        );
        assert_eq!(coder.text(), left);
    }
}

#[test]
fn without_a_handle_files_are_taken_back_and_made_again() {
    let mut coder = Coder::with("one two\n");
    let nothing = ask(&coder, Order::Redo, None);
    assert_eq!(nothing.status, Status::NoMatch, "{nothing:?}");
    let session = ask(&coder, Order::Open, Some("a.cs")).session;
    let within = |coder: &Coder, order: Order| {
        let request = EditRequest {
            order,
            session: session.clone(),
            path: None,
            mode: None,
            fit: true,
        };
        assert_eq!(perform(&coder.files, &request, coder.now).status, Status::Success);
    };
    let replace = |coder: &Coder, old: &str, new: &str| {
        let order = Order::Replace {
            old: old.to_owned(),
            new: new.to_owned(),
        };
        within(coder, order);
    };
    replace(&coder, "one", "1");
    within(&coder, Order::Commit);
    coder.now += 1;
    let undone = ask(&coder, Order::Undo, None);
    assert_eq!(
        (undone.status, coder.text()),
        (Status::Success, "one two\n".to_owned()),
        "{undone:?}"
    );
    let again = ask(&coder, Order::Redo, None);
    assert_eq!((again.status, coder.text()), (Status::Success, "1 two\n".to_owned()), "{again:?}");
    // Unsaved changes of a session are undone in the session; dropped ones never return.
    replace(&coder, "two", "2");
    ask(&coder, Order::Undo, None);
    assert_eq!(coder.text(), "1 two\n");
    replace(&coder, "two", "2");
    within(&coder, Order::Discard);
    let dropped = ask(&coder, Order::Undo, None);
    assert_eq!(
        (dropped.status, coder.text()),
        (Status::NoMatch, "1 two\n".to_owned()),
        "{dropped:?}"
    );
}

proptest! {
    #[test]
    fn any_line_ends_are_found_and_new_ones_are_the_files(
        text in "([ab]{0,2}(\n|\r\n)){0,6}",
        from in 0_usize..14,
        length in 1_usize..8,
        new in "[x\n]{0,3}",
    ) {
        let plain = fit(&text, "\n");
        let needle: String = plain.chars().skip(from).take(length).collect();
        prop_assume!(!needle.is_empty());
        let count = (0..plain.len()).filter(|at| plain[*at..].starts_with(&needle)).count();
        let coder = Coder::with(&text);
        let done = replace(&coder, &needle, &new);
        if count == 1 {
            prop_assert!(matches!(done.status, Status::Success | Status::NoOp), "{:?}", done);
            prop_assert_eq!(fit(&coder.text(), "\n"), plain.replacen(&needle, &new, 1));
            prop_assert!(Ends::from_text(&text).are_mixed() || !Ends::from_text(&coder.text()).are_mixed());
        } else {
            // In a file of mixed ends fewer places may have the ends that are wanted.
            prop_assert!(done.status == Status::Success || coder.text() == text);
        }
    }
}

#[test]
fn an_undo_of_a_file_finds_its_last_edit_behind_those_of_others() {
    let coder = Coder::with("one\n");
    coder.files.write("b.cs", "one\n");
    let replace_in = |path: &str| {
        let order = Order::Replace {
            old: "one".to_owned(),
            new: "two".to_owned(),
        };
        assert_eq!(ask(&coder, order, Some(path)).status, Status::Success);
    };
    replace_in("a.cs");
    replace_in("b.cs");
    let texts = || (coder.text(), coder.files.text("b.cs"));
    assert_eq!(ask(&coder, Order::Undo, Some("a.cs")).status, Status::Success);
    assert_eq!(texts(), ("one\n".to_owned(), "two\n".to_owned()));
    let nothing = ask(&coder, Order::Undo, Some("c.cs"));
    assert_eq!(
        (nothing.status, nothing.summary.as_str()),
        (Status::NoMatch, "this checkout has no edit of c.cs to revert")
    );
    assert_eq!(ask(&coder, Order::Redo, Some("a.cs")).status, Status::Success);
    assert_eq!(ask(&coder, Order::Redo, Some("b.cs")).status, Status::NoMatch);
    assert_eq!(texts(), ("two\n".to_owned(), "two\n".to_owned()));
}

#[test]
fn a_list_of_sessions_is_bounded() {
    let coder = Coder::with("0\n");
    let paths: Vec<String> = (10..40).map(|number| format!("b{number}.cs")).collect();
    paths.iter().for_each(|path| coder.files.write(path, "one\n"));
    for number in 0..25 {
        let done = replace(&coder, &number.to_string(), &(number + 1).to_string());
        assert_eq!(done.status, Status::Success, "{done:?}");
    }
    let texts = paths.iter().map(|path| Rewritten::of(path.as_str(), "one\n", "two\n")).collect();
    let operation = "rename";
    assert_eq!(ask(&coder, Order::Rewrite { operation, texts }, None).status, Status::Success);
    let listed = ask(&coder, Order::List, None);
    assert!(listed.summary.starts_with("26 sessions"), "{listed:?}");
    let lines = listed.detail.expect("lines");
    assert_eq!(lines.lines().count(), 21, "{lines}");
    assert!(lines.ends_with("\nand 6 more single edits"), "{lines}");
}
