//! A process killed before any of its steps has done all of the operation or nothing, as the next operation finds it.

use super::disk::Disk;
use super::order::{BatchEdit, EditRequest, Order};
use super::perform::{perform, recover};
use super::state::{Mode, Status, WorkflowState};
use super::test_folder::Real;
use crate::editable_paths::Guard;
use crate::kill_points;

/// Several files saved by one operation: after a kill at any step, the next operation finds all of them saved, or none.
#[test]
fn a_death_among_several_files_leaves_all_or_none() {
    let (mut seen, mut left) = ([false; 2], 0);
    for steps in 0..160 {
        let files = Real::new();
        for name in ["a", "b", "c"] {
            files.write(name, "old\n");
        }
        let patch = "*** Begin Patch\n*** Update File: a\n-old\n+new\n*** Update File: b\n-old\n+new\n*** Delete File: c\n*** End Patch";
        let ask = |order: Order, session: Option<String>| {
            let request = EditRequest {
                order,
                session,
                path: None,
                mode: Some(Mode::Immediate),
                fit: false,
            };
            perform(&files.disk, &request, 1)
        };
        kill_points::kill_after(Some(steps));
        ask(Order::Patch(patch.to_owned()), None);
        let is_over = kill_points::kill_after(None);
        left += ["", ".cortex/edit/sessions", ".cortex/edit/saving", ".cortex/edit/texts"]
            .iter()
            .map(|folder| files.leftovers(folder))
            .sum::<usize>();
        // No answer reported the session; the next operation recovers it.
        let listed = match steps % 2 {
            0 => format!("{:?}", ask(Order::List, None)),
            _ => format!("{:?}", recover(&files.disk, 1)),
        };
        let now = (files.text("a"), files.text("b"), files.file("c").is_some());
        assert_eq!((files.count_notes("saving"), files.leftovers("")), (0, 0), "{listed}");
        let all = now == ("new\n".to_owned(), "new\n".to_owned(), false);
        let none = now == ("old\n".to_owned(), "old\n".to_owned(), true);
        assert!(all || none, "{now:?} after {steps} steps");
        seen[usize::from(all)] = true;
        if is_over {
            break;
        }
    }
    assert_eq!(seen, [true, true]);
    assert!(left > 20, "kills left {left} files half written");
}

/// A file with two hard links is written in place: after a kill at any step, the next operation finds the old or the new content and reports a
/// mixture that it repaired.
#[test]
fn a_death_while_a_file_is_written_in_place_leaves_no_mixture() {
    let mut response = 0;
    for (old, new) in [("one long old content here\n", "new\n"), ("new\n", "one long old content here\n")] {
        for steps in 0..60 {
            let files = Real::new();
            files.write("a", old);
            files.link("a", "b");
            let ask = |order: Order, path: Option<&str>| {
                let request = EditRequest {
                    order,
                    session: None,
                    path: path.map(str::to_owned),
                    mode: None,
                    fit: false,
                };
                perform(&files.disk, &request, 1)
            };
            kill_points::kill_after(Some(steps));
            ask(Order::Write(new.to_owned()), Some("a"));
            let is_over = kill_points::kill_after(None);
            let left = files.text("b");
            let listed = ask(Order::List, None);
            let now = files.text("b");
            assert!(now == old || now == new, "{now:?} after {steps} steps: {listed:?}");
            if left != old && left != new {
                assert!(
                    listed.summary.contains("cut short") && listed.summary.contains("completed"),
                    "{listed:?}"
                );
                response += 1;
            }
            if is_over {
                break;
            }
        }
    }
    assert!(response >= 3, "{response} mixtures were left");
}

/// After a kill, a process that may not edit the manifest still finishes the operation.
#[test]
fn a_death_among_files_of_which_one_is_the_manifest_leaves_all_or_none() {
    let mut seen = [false; 2];
    for steps in 0..120 {
        let files = Real::new();
        files.write("cortex.toml", "old\n");
        files.write("b", "old\n");
        let allowed = Guard {
            store: None,
            manifest: true,
        };
        let part = |path: &str| BatchEdit {
            path: Some(path.to_owned()),
            old: "old".to_owned(),
            new: "new".to_owned(),
        };
        let request = EditRequest {
            order: Order::Batch(vec![part("cortex.toml"), part("b")]),
            session: None,
            path: None,
            mode: None,
            fit: false,
        };
        kill_points::kill_after(Some(steps));
        perform(&files.disk.clone().with_guard(allowed), &request, 1);
        let is_over = kill_points::kill_after(None);
        let response = recover(&files.disk, 1);
        let now = (files.text("cortex.toml"), files.text("b"));
        assert_eq!(
            (files.count_notes("saving"), files.leftovers("")),
            (0, 0),
            "{response:?} after {steps} steps"
        );
        assert_eq!(now.0, now.1, "{response:?} after {steps} steps");
        seen[usize::from(now.0 == "new\n")] = true;
        if is_over {
            break;
        }
    }
    assert_eq!(seen, [true, true]);
}

#[test]
fn recovery_of_the_manifest_waits_for_a_permitted_session() {
    let files = Real::new();
    files.write("cortex.toml", "old\n");
    let allowed = files.disk.clone().with_guard(Guard {
        store: None,
        manifest: true,
    });
    let ask = |disk: &Disk, order: Order, session: Option<String>| {
        let request = EditRequest {
            order,
            session,
            path: Some("cortex.toml".to_owned()),
            mode: None,
            fit: false,
        };
        perform(disk, &request, 1)
    };
    let session = ask(&allowed, Order::Open, None).session;
    let edit = Order::Replace {
        old: "old".to_owned(),
        new: "new".to_owned(),
    };
    assert_eq!(ask(&allowed, edit, session.clone()).workflow_state, WorkflowState::PersistPending);
    for order in [Order::Commit, Order::Discard, Order::Refresh] {
        let refused = ask(&files.disk, order, session.clone());
        assert_eq!(
            (refused.status, refused.workflow_state),
            (Status::Exception, WorkflowState::PersistPending)
        );
        assert!(refused.summary.starts_with("cortex.toml is the manifest"), "{refused:?}");
        assert!(refused.guidance.is_some_and(|words| words.contains("`--manifest`")));
    }
    assert_eq!(files.text("cortex.toml"), "old\n");
    assert_eq!(ask(&allowed, Order::Commit, session).summary, "saved cortex.toml");
    assert_eq!(files.text("cortex.toml"), "new\n");
}

/// A file with one name is never half written; apparently torn content is a later write by another program.
#[test]
fn a_write_after_a_crash_is_foreign() {
    let mut seen = 0;
    for steps in 0..60 {
        let files = Real::new();
        files.write("a", "port=8080\ndebug=0\n");
        let ask = |order: Order| {
            let request = EditRequest {
                order,
                session: None,
                path: Some("a".to_owned()),
                mode: None,
                fit: false,
            };
            perform(&files.disk, &request, 1)
        };
        kill_points::kill_after(Some(steps));
        ask(Order::Write("port=9090\ndebug=1\n".to_owned()));
        kill_points::kill_after(None);
        if files.text("a") == "port=8080\ndebug=0\n" {
            files.write("a", "port=9090\ndebug=0\n");
            ask(Order::List);
            assert_eq!(files.text("a"), "port=9090\ndebug=0\n", "after {steps} steps");
            seen += 1;
        }
    }
    assert!(seen >= 3, "{seen} were killed before they wrote");
}

/// Another program writes one of several files after the kill: its text stays, and the other files have all of the operation or nothing.
#[test]
fn a_write_to_one_of_several_files_after_a_crash_is_foreign() {
    let mut seen = [false; 2];
    for theirs in ["a", "b", "c", "d"] {
        for text in [Some("his\n"), Some("new\nhis\n"), Some("old\n"), None] {
            for steps in 0..90 {
                let files = Real::new();
                for name in ["a", "b", "c", "d"] {
                    files.write(name, "old\n");
                }
                files.link("b", "other name");
                let parts = ["*** Begin Patch\n*** Update File: a\n-old\n+new\n*** Update File: b\n-old\n+new\n*** Delete File: c\n"];
                let patch = format!("{}*** Update File: d\n-old\n+new\n*** End Patch", parts[0]);
                let request = EditRequest {
                    order: Order::Patch(patch),
                    session: None,
                    path: None,
                    mode: Some(Mode::Immediate),
                    fit: false,
                };
                kill_points::kill_after(Some(steps));
                let answer = perform(&files.disk, &request, 1);
                kill_points::kill_after(None);
                if answer.status == Status::Success {
                    break;
                }
                let left: Vec<_> = ["a", "b", "c", "d"].map(|name| files.file(name)).into();
                let place = ["a", "b", "c", "d"].iter().position(|name| *name == theirs).expect("one of them");
                let was_saved = left[place] != Some(b"old\n".to_vec());
                let is_torn = left[1] != Some(b"old\n".to_vec()) && left[1] != Some(b"new\n".to_vec());
                if is_torn && theirs == "b" || text.map(str::as_bytes) == left[place].as_deref() {
                    continue;
                }
                // A file written in place or removed may still have its staged file; then a revert looks like a save that is still to come.
                if text == Some("old\n") && matches!(theirs, "b" | "c") {
                    continue;
                }
                match text {
                    Some(text) => files.write(theirs, text),
                    None => files.remove(theirs),
                }
                let response = recover(&files.disk, 1);
                let case = format!("{theirs} {text:?} after {steps} steps, which left {left:?}: {response:?}");
                assert_eq!(
                    files.file(theirs).map(|bytes| String::from_utf8(bytes).expect("text")).as_deref(),
                    text,
                    "{case}"
                );
                let now: Vec<bool> = ["a", "b", "c", "d"]
                    .iter()
                    .filter(|name| **name != theirs)
                    .map(|name| files.file(name) != Some(b"old\n".to_vec()))
                    .collect();
                assert!(now.iter().all(|new| *new == now[0]), "{case}");
                // A renamed file was saved; a kill after a write in place or a removal may precede its record.
                let is_renamed = matches!(theirs, "a" | "d");
                assert!(!(was_saved && is_renamed) || now[0], "{case}");
                assert_eq!((files.count_notes("saving"), files.leftovers("")), (0, 0), "{case}");
                seen[usize::from(now[0])] = true;
            }
        }
    }
    assert_eq!(seen, [true, true]);
}

/// Any single step of an operation fails: the answer reports the files' true state, all of them are old or all new, and the operation can be
/// repeated.
#[test]
fn a_step_that_fails_is_told_as_it_is() {
    let mut seen = [false; 2];
    for order in [
        Order::Patch(
            "*** Begin Patch\n*** Update File: a\n-old\n+new\n*** Update File: b\n-old\n-tail\n+new\n*** Delete File: c\n*** End Patch"
                .to_owned(),
        ),
        Order::Write("new\n".to_owned()),
    ] {
        for steps in 0..200 {
            let files = Real::new();
            for (name, text) in [("a", "old\n"), ("b", "old\ntail\n"), ("c", "old\n")] {
                files.write(name, text);
            }
            files.link("b", "other name");
            let several = matches!(order, Order::Patch(_));
            let ask = |order: Order, session: Option<String>| {
                let request = EditRequest {
                    order,
                    session,
                    path: (!several).then(|| "b".to_owned()),
                    mode: None,
                    fit: false,
                };
                perform(&files.disk, &request, 1)
            };
            kill_points::fail(Some(steps));
            let answer = ask(order.clone(), None);
            if kill_points::fail(None) {
                assert_eq!(answer.status, Status::Success, "{answer:?}");
                break;
            }
            let case = format!("step {steps} failed: {answer:?}");
            let now = || (files.text("a"), files.text("b"), files.file("c").is_some());
            let old = ("old\n".to_owned(), "old\ntail\n".to_owned(), true);
            let new = match several {
                true => ("new\n".to_owned(), "new\n".to_owned(), false),
                false => ("old\n".to_owned(), "new\n".to_owned(), true),
            };
            let is_new = now() == new;
            assert!(is_new || now() == old, "{:?}: {case}", now());
            // The next operation recovers from an answer that was never delivered.
            let is_told = answer.status == Status::Success || answer.summary.contains("saved all the same");
            assert!(!is_told || is_new, "{case}");
            assert!(!answer.summary.contains("nothing was done") || !is_new, "{case}");
            if let Some(session) = answer.session.filter(|_| !is_new) {
                ask(Order::Commit, Some(session.clone()));
                assert_eq!(now(), new, "{case}");
                assert_eq!(ask(Order::Undo, Some(session)).status, Status::Success, "{case}");
                assert_eq!(now(), old, "{case}");
            }
            seen[usize::from(is_new)] = true;
        }
    }
    assert_eq!(seen, [true, true]);
}

/// Restoring a file in place can tear it, too.
#[test]
fn a_file_torn_during_a_rollback_is_repaired() {
    let mut seen = 0;
    for steps in 0..40 {
        let files = Real::new();
        files.write("a", "h\ni\nj\n");
        files.link("a", "b");
        let request = |order: Order| EditRequest {
            order,
            session: None,
            path: Some("a".to_owned()),
            mode: None,
            fit: false,
        };
        kill_points::kill_after(Some(steps));
        perform(&files.disk, &request(Order::Write("h\nIIII\nj\n".to_owned())), 1);
        kill_points::kill_after(None);
        if files.count_notes("saving") == 1 && files.text("b") != "h\nIIII\nj\n" {
            files.write("a", "h\ni\nj\n\nj\n");
            let response = perform(&files.disk, &request(Order::List), 1);
            assert_eq!(files.text("b"), "h\nIIII\nj\n", "{response:?}");
            seen += 1;
        }
    }
    assert!(seen > 3, "{seen}");
}

/// A save that fails at its last file is rolled back; a kill during the rollback leaves none of it, and no mixture.
#[test]
fn a_death_while_a_save_is_taken_back_leaves_none_of_it() {
    let mut taken_back = 0;
    for fails in 0..60 {
        for dies in 0..40 {
            let files = Real::new();
            for name in ["a", "b", "c", "d"] {
                files.write(name, "old\n");
            }
            let update = |name: &str| format!("*** Update File: {name}\n-old\n+new\n");
            let patch: String = ["a", "b", "c", "d"].map(update).concat();
            let request = EditRequest {
                order: Order::Patch(format!("*** Begin Patch\n{patch}*** End Patch")),
                session: None,
                path: None,
                mode: Some(Mode::Immediate),
                fit: false,
            };
            kill_points::fail(Some(fails));
            kill_points::kill_after(Some(fails + dies));
            perform(&files.disk, &request, 1);
            let is_over = kill_points::kill_after(None);
            let has_failed = !kill_points::fail(None);
            let response = recover(&files.disk, 1);
            let now = ["a", "b", "c", "d"].map(|name| files.text(name));
            let case = format!("step {fails} failed, {dies} later it died: {response:?}");
            assert!(now.iter().all(|text| *text == now[0]), "{now:?}: {case}");
            assert_eq!((files.count_notes("saving"), files.leftovers("")), (0, 0), "{case}");
            taken_back +=
                usize::from(has_failed && response.is_ok_and(|response| response.iter().any(|words| words.contains("was reverted"))));
            if is_over {
                break;
            }
        }
    }
    assert!(taken_back > 3, "{taken_back}");
}
