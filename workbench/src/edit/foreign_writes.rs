//! Detects writes by other programs when they happen, not only at the next operation. The check is the same: a buffer without edits takes the
//! content, edits are carried over, a conflict is `OutOfSync`. The result is kept for the next answer; the next operation detects a conflict again,
//! so that no edit is lost to an unreported conflict.

use super::disk::FOLDER;
use super::edit_log::Category;
use super::files::Files;
use super::flags::flags;
use super::run::EditRun;
use super::session::{self, EditSession};
use super::state::{Reread, Status};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::io;

/// Checks the files of all documents among those that changed; `None` checks all. `now` is in seconds. Returns the folders to watch: those of
/// documents, and that of sessions.
pub fn notice<F: Files>(files: &F, moved: Option<&BTreeSet<String>>, now: u64) -> io::Result<BTreeSet<String>> {
    let lives = |session: &EditSession| !session.has_expired(now);
    let concerned = |session: &EditSession| -> Vec<String> {
        let paths = session.documents.keys();
        paths
            .filter(|path| moved.is_none_or(|moved| moved.contains(*path)))
            .cloned()
            .collect()
    };
    let mut sessions = session::list_sessions(files)?;
    if sessions.iter().any(|session| lives(session) && !concerned(session).is_empty()) {
        let _alone = files.lock_for_editing()?;
        sessions = session::list_sessions(files)?;
        for session in sessions.iter().filter(|session| lives(session)) {
            read_foreign_writes(files, session, &concerned(session), moved.map(BTreeSet::len), now)?;
        }
    }
    let folder = |path: &String| path.rsplit_once('/').map_or("", |(folder, _)| folder).to_owned();
    let documents = sessions
        .iter()
        .filter(|session| lives(session))
        .flat_map(|session| session.documents.keys());
    Ok(documents.map(folder).chain([format!("{FOLDER}/sessions")]).collect())
}

/// `batch`: number of files that changed together, if known.
fn read_foreign_writes<F: Files>(files: &F, before: &EditSession, paths: &[String], batch: Option<usize>, now: u64) -> io::Result<()> {
    let mut run = EditRun::start_run(files, before.clone(), now);
    for path in paths {
        let Some(seen) = before.documents.get(path).map(|document| document.seen.clone()) else {
            continue;
        };
        if matches!(run.read_document_file(path), Ok(Reread::Conflict) | Err(_)) {
            run.document_mut(path).seen = seen;
        }
    }
    for note in std::mem::take(&mut run.notes) {
        if !run.session.news.contains(&note) {
            run.session.news.push(note);
        }
    }
    for mut line in std::mem::take(&mut run.met.outside) {
        line["at"] = now.into();
        line["session"] = before.id.clone().into();
        line["source"] = Value::from("watch");
        // The previous operation's identifier: no request caused this check.
        line["operation_id"] = run.id().into();
        line["batch"] = json!(batch);
        if let Some(document) = line["path"].as_str().and_then(|path| run.session.documents.get(path)) {
            let flags = flags(document.state, run.session.mode, Status::Success, false);
            (line["state"], line["flags"]) = (json!(document.state.workflow_state()), json!(flags.names));
        }
        files.log_line(Category::External, &format!("{}\n", json!(line)));
    }
    if run.session == *before { Ok(()) } else { run.session.store(files) }
}

#[cfg(test)]
mod tests {
    use super::super::order::Order;
    use super::super::session_tests::{Coder, stands};
    use super::super::state::{Mode, WorkflowState};
    use super::*;

    fn files_moved_together(paths: &[&str]) -> Option<BTreeSet<String>> {
        Some(paths.iter().map(|path| (*path).to_owned()).collect())
    }

    #[test]
    fn noticed_foreign_writes_are_reported_by_the_next_answer() {
        let mut coder = Coder::opened("one\ntwo\nthree\n", Mode::Manual);
        let notice = |coder: &Coder, paths: &[&str]| notice(&coder.files, files_moved_together(paths).as_ref(), 1000).expect("noticed");
        let state = |coder: &mut Coder| coder.ask(Order::List).detail.unwrap_or_default();
        assert_eq!(
            notice(&coder, &[]),
            BTreeSet::from([String::new(), ".cortex/edit/sessions".to_owned()])
        );
        coder.files.write("a.cs", "one\ntwo\nthree\nfour\n");
        notice(&coder, &["b.cs"]);
        notice(&coder, &["a.cs"]);
        notice(&coder, &["a.cs"]);
        let edited = coder.replace("one", "1");
        assert_eq!(stands(&edited), (Status::Success, WorkflowState::PersistPending));
        assert_eq!(edited.summary.matches("the content is updated").count(), 1, "{edited:?}");
        assert!(!coder.ask(Order::Diff).summary.contains("updated"), "it is said once");
        coder.files.write("a.cs", "one\ntwo\n3\nfour\n");
        notice(&coder, &["a.cs"]);
        let diff = coder.ask(Order::Diff);
        assert!(diff.summary.contains("carried over") && diff.detail.is_some_and(|diff| diff.contains(" 3\n")));
        // A conflict shows at once, and is reported with both sides before an operation may resolve it.
        coder.files.write("a.cs", "eins\ntwo\n3\nfour\n");
        notice(&coder, &["a.cs"]);
        notice(&coder, &["a.cs"]);
        assert!(state(&mut coder).contains("a.cs OutOfSync"));
        let response = coder.ask(Order::Refresh);
        assert_eq!(stands(&response), (Status::ExternalConflict, WorkflowState::OutOfSync));
        assert!(
            response
                .detail
                .is_some_and(|both| both.contains("+1\n") && both.contains("+eins\n"))
        );
        // The session's own writes are not foreign.
        coder.files.write("a.cs", "one\ntwo\n3\nfour\n");
        assert_eq!(coder.ask(Order::Commit).status, Status::Success);
        let kept = coder.ask(Order::List);
        notice(&coder, &["a.cs"]);
        assert_eq!(coder.ask(Order::List).detail, kept.detail);
        assert!(!coder.ask(Order::Diff).summary.contains("another program"));
        coder.files.write("a.cs", "\0");
        notice(&coder, &["a.cs"]);
        assert!(state(&mut coder).contains("a.cs OutOfSync"));
        assert_eq!(coder.ask(Order::Close).status, Status::Success);
        // Each detected write is logged with the document's state at that time.
        let logged = coder.files.logged(Category::External);
        let noticed: Vec<&Value> = logged.iter().filter(|line| line["source"] == "watch").collect();
        assert!(noticed.len() >= 3, "{logged:?}");
        for line in noticed {
            assert_eq!((&line["path"], &line["batch"]), (&json!("a.cs"), &json!(1)), "{line}");
            assert!(
                line["operation_id"].is_string() && line["state"].is_string() && line["flags"].is_array(),
                "{line}"
            );
        }
    }
}
