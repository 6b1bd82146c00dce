//! Any sequence of edits, foreign writes and kills, against a naive model: two texts and a stack, nothing on disk. After every operation, buffer and
//! file equal the model's, and the state follows from them. An operation killed before any of its steps on a real disk is done, not done, or waits as
//! an edit in the buffer; no reported edit is lost, and half-written leftovers are ignored.

use super::contents::read_kept_content;
use super::foreign_writes::notice;
use super::order::{EditRequest, Order};
use super::perform::perform;
use super::response::Response;
use super::session::{EditSession, list_sessions};
use super::session_tests::leads_on;
use super::state::{Mode, Status, WorkflowState};
use super::test_folder::Real;
use crate::code_text::merge::{Joined, carry, changes};
use crate::kill_points;
use proptest::prelude::*;

/// A step of the sequence.
#[derive(Clone, Debug)]
enum Act {
    Replace(String, String),
    Select(usize),
    Append(String),
    Commit,
    Discard,
    Refresh,
    Undo,
    Redo,
    /// Another program writes a line that no line was before and no edit touches.
    Write(usize),
    /// Another program writes the buffer's text: all of it, or the first of its edits.
    Alike(bool),
    /// The watching service detects the writes.
    Notice,
    /// The process of the next operation is killed before that step.
    Die(usize),
}

/// The naive model of one document.
#[derive(Clone, Debug, PartialEq)]
struct Model {
    file: String,
    /// Base of the buffer.
    base: String,
    buffer: String,
    /// In a conflict, the file's text when the conflict was reported.
    out: Option<String>,
    selection: Option<(String, String)>,
    done: Vec<(Side, Side)>,
    undone: Vec<(Side, Side)>,
}

/// A text with its base.
#[derive(Clone, Debug, PartialEq)]
struct Side {
    text: String,
    base: String,
}

impl Model {
    /// Models the check of the file; returns whether the operation continues.
    fn read_file(&mut self) -> bool {
        if self.file == self.base && self.out.is_none() || self.out.as_ref() == Some(&self.file) && self.file != self.base {
            return true;
        }
        self.selection = None;
        if self.buffer == self.base {
            self.take();
        } else if self.buffer == self.file {
            self.rebase_onto_foreign_write(|_, file| Some(file.to_owned()));
            self.take();
        } else if let Some(Joined { text, alike }) = carry(&self.base, &self.buffer, &self.file) {
            let base = self.base.clone();
            if alike {
                self.rebase_onto_foreign_write(|text, file| Some(carry(&base, text, file)?.text));
            }
            self.base.clone_from(&self.file);
            self.buffer = text;
            self.out = None;
        } else {
            self.out = Some(self.file.clone());
            return false;
        }
        true
    }

    /// Unsaved edits that the file already has count as foreign.
    fn rebase_onto_foreign_write(&mut self, made_of: impl Fn(&str, &str) -> Option<String>) {
        for (from, to) in &mut self.done {
            if (&from.base, &to.base) == (&self.base, &self.base)
                && let Some(texts) = made_of(&from.text, &self.file).zip(made_of(&to.text, &self.file))
            {
                (from.text, to.text) = texts;
                (from.base, to.base) = (self.file.clone(), self.file.clone());
            }
        }
        self.done.retain(|(from, to)| from != to);
    }

    /// Models a check without a request: it does not report a conflict.
    fn notice(&mut self) {
        let found = self.out.clone();
        if !self.read_file() {
            self.out = found.or_else(|| Some("nothing that a file holds".to_owned()));
        }
    }

    fn take(&mut self) {
        self.base.clone_from(&self.file);
        self.buffer.clone_from(&self.file);
        self.out = None;
    }

    fn side(&self) -> Side {
        Side {
            text: self.buffer.clone(),
            base: self.base.clone(),
        }
    }

    /// Replaces the buffer with the file; undo restores it.
    fn drop_edits(&mut self) {
        let ours = self.side();
        self.take();
        self.done.push((ours, self.side()));
        self.undone.clear();
    }

    fn edit(&mut self, mode: Mode, text: String) {
        let before = self.side();
        let after = Side {
            text: text.clone(),
            ..before.clone()
        };
        self.done.push((before, after));
        self.undone.clear();
        self.set(mode, text);
    }

    fn set(&mut self, mode: Mode, text: String) {
        self.buffer = text;
        self.selection = None;
        if mode == Mode::Immediate && self.out.is_none() {
            self.save();
        }
    }

    fn save(&mut self) {
        self.file.clone_from(&self.buffer);
        self.take();
    }

    fn back(&mut self, mode: Mode, redo: bool) {
        let stack = if redo { &mut self.undone } else { &mut self.done };
        let Some((from, to)) = stack.last().cloned() else { return };
        let ancestor = if from.base == to.base { to.text } else { from.base };
        let carried = if self.buffer == ancestor {
            Some(from.text.clone())
        } else {
            carry(&ancestor, &from.text, &self.buffer).map(|carried| carried.text)
        };
        let is_edited = self.buffer != self.base;
        let Some(text) = carried else {
            if !is_edited {
                stack.pop();
                self.undone.clear();
                (self.buffer, self.base) = (from.text, ancestor);
                self.out = Some(self.file.clone());
            }
            return;
        };
        stack.pop();
        let before = self.side();
        let after = Side {
            text: text.clone(),
            ..before.clone()
        };
        if redo {
            self.done.push((before, after))
        } else {
            self.undone.push((before, after))
        }
        self.set(mode, text);
    }

    fn act(&mut self, mode: Mode, act: &Act) {
        if let Act::Refresh = act {
            let found = self.out.clone();
            if self.read_file() && self.out.is_some() || self.out.is_some() && found == self.out {
                // The conflict was reported before.
                self.drop_edits();
            }
            self.selection = None;
            return;
        }
        let offered = self.selection.is_some();
        let goes_on = self.read_file();
        if !goes_on && !matches!(act, Act::Discard) {
            return;
        }
        let busy = self.out.is_some() || self.selection.is_some();
        match act {
            Act::Replace(old, new) => match self.buffer.match_indices(old.as_str()).count() {
                // Words do not overlap themselves. A search drops the candidates of an earlier one.
                0 => self.selection = None,
                1 if old == new => self.selection = None,
                1 => self.edit(mode, self.buffer.replacen(old.as_str(), new, 1)),
                _ => self.selection = Some((old.clone(), new.clone())),
            },
            Act::Select(id) => {
                if let Some((old, new)) = self.selection.clone()
                    && let Some((at, _)) = self.buffer.match_indices(old.as_str()).nth(id - 1)
                {
                    if old == new {
                        self.selection = None;
                    } else {
                        let mut text = self.buffer.clone();
                        text.replace_range(at..at + old.len(), &new);
                        self.edit(mode, text);
                    }
                }
            }
            Act::Append(text) if !busy => self.edit(mode, format!("{}{text}", self.buffer)),
            Act::Commit if !busy && self.buffer != self.base => self.save(),
            Act::Discard => {
                // Dropping candidates keeps the edits, whatever another program wrote before.
                self.selection = None;
                if !offered && (self.out.is_some() || self.buffer != self.base) {
                    self.drop_edits();
                }
            }
            Act::Undo if !busy => self.back(mode, false),
            Act::Redo if !busy => self.back(mode, true),
            _ => {}
        }
    }

    fn state(&self) -> WorkflowState {
        match () {
            () if self.selection.is_some() => WorkflowState::SelectionPending,
            () if self.out.is_some() => WorkflowState::OutOfSync,
            () if self.buffer != self.base => WorkflowState::PersistPending,
            () => WorkflowState::Idle,
        }
    }
}

struct Bed {
    files: Real,
    session: String,
}

impl Bed {
    fn ask(&self, order: Order) -> Response {
        let request = EditRequest {
            order,
            session: Some(self.session.clone()),
            path: Some("a".to_owned()),
            mode: None,
            fit: false,
        };
        perform(&self.files.disk, &request, 1)
    }

    fn order(act: &Act) -> Order {
        match act.clone() {
            Act::Replace(old, new) => Order::Replace { old, new },
            Act::Select(id) => Order::Select { id, new: None },
            Act::Append(new) => Order::Append {
                anchor: "$".to_owned(),
                new,
            },
            Act::Commit => Order::Commit,
            Act::Discard => Order::Discard,
            Act::Refresh => Order::Refresh,
            Act::Undo => Order::Undo,
            Act::Redo => Order::Redo,
            Act::Write(_) | Act::Alike(_) | Act::Notice | Act::Die(_) => unreachable!("they are no orders"),
        }
    }

    /// Returns the stored text of the buffer.
    fn buffer(&self) -> String {
        let session = EditSession::load(&self.files.disk, &self.session, 1).expect("a session");
        let document = &session.documents["a"];
        let text = document.now.text.clone().expect("a text");
        let file = self.files.file("a").unwrap_or_default();
        let bytes = match super::contents::content(Some(&file)) == document.now.text {
            true => file,
            false => read_kept_content(&self.files.disk, &text).expect("notes").unwrap_or_default(),
        };
        String::from_utf8(bytes).expect("UTF-8")
    }
}

/// Distinct words, so that places are unique, and one that occurs twice.
const TEXT: &str = "one\ntwo\nthree\nfour\nfive\ntwo\nsix\n";

fn any_word() -> impl Strategy<Value = String> {
    prop::sample::select(vec!["one", "two", "three", "four", "five", "six", "uno", "due", "w\nv", "x"]).prop_map(str::to_owned)
}

fn act() -> impl Strategy<Value = Act> {
    prop_oneof![
        6 => (any_word(), any_word()).prop_map(|(old, new)| Act::Replace(old, new)),
        2 => (1_usize..3).prop_map(Act::Select),
        2 => any_word().prop_map(|word| Act::Append(format!("{word}\n"))),
        3 => Just(Act::Commit),
        1 => Just(Act::Discard),
        2 => Just(Act::Refresh),
        3 => Just(Act::Undo),
        2 => Just(Act::Redo),
        3 => (0_usize..9).prop_map(Act::Write),
        2 => any::<bool>().prop_map(Act::Alike),
        3 => Just(Act::Notice),
        4 => (0_usize..40).prop_map(Act::Die),
    ]
}

fn place_text(file: &str, line: usize, word: &str) -> String {
    let mut lines: Vec<&str> = file.lines().collect();
    match lines.get_mut(line) {
        Some(place) => *place = word,
        None => lines.push(word),
    }
    lines.join("\n") + "\n"
}

fn check(mode: Mode, acts: &[Act]) -> Result<(), TestCaseError> {
    let files = Real::new();
    files.write("a", TEXT);
    let opening = EditRequest {
        order: Order::Open,
        session: None,
        path: Some("a".to_owned()),
        mode: Some(mode),
        fit: false,
    };
    let session = perform(&files.disk, &opening, 1).session.expect("a session");
    let bed = Bed { files, session };
    let text = TEXT.to_owned();
    let mut model = Model {
        file: text.clone(),
        base: text.clone(),
        buffer: text,
        out: None,
        selection: None,
        done: Vec::new(),
        undone: Vec::new(),
    };
    let mut dies = None;
    for (number, act) in acts.iter().enumerate() {
        match act {
            Act::Write(line) => {
                model.file = place_text(&model.file, *line, &format!("@{number}"));
                bed.files.write("a", model.file.clone());
                continue;
            }
            Act::Alike(all) => {
                let first = changes(&model.base, &model.buffer).into_iter().next();
                let Some(first) = first.filter(|_| model.file == model.base) else {
                    continue;
                };
                match all {
                    true => model.file.clone_from(&model.buffer),
                    false => model.file.replace_range(first.old, &model.buffer[first.new]),
                }
                bed.files.write("a", model.file.clone());
                continue;
            }
            Act::Die(steps) => {
                dies = Some(*steps);
                continue;
            }
            Act::Notice => {
                model.notice();
                notice(&bed.files.disk, None, 1).expect("noticed");
                continue;
            }
            _ => {}
        }
        let before = model.clone();
        let theirs = bed.files.text("a");
        model.act(mode, act);
        kill_points::kill_after(dies);
        let response = bed.ask(Bed::order(act));
        kill_points::kill_after(None);
        if dies.take().is_some() {
            // The answer was lost. The next operation checks the file first; then the result is one of these.
            let mut looked = before.clone();
            looked.read_file();
            let wait = Model {
                file: looked.file,
                base: looked.base,
                out: looked.out,
                ..model.clone()
            };
            bed.ask(Order::Candidates { from: 1 });
            let seen = (bed.files.text("a"), bed.buffer());
            let mut possible = [before, model.clone(), wait];
            for one in &mut possible {
                one.read_file();
            }
            let found = possible.iter().find(|one| (&one.file, &one.buffer) == (&seen.0, &seen.1));
            prop_assert!(found.is_some(), "{:?} after {:?}; possible {:?}", seen, act, possible);
            let sessions: Vec<String> = list_sessions(&bed.files.disk)
                .expect("sessions")
                .into_iter()
                .map(|one| one.id)
                .collect();
            prop_assert_eq!(
                sessions,
                std::slice::from_ref(&bed.session),
                "copies that were left are no sessions"
            );
            let session = EditSession::load(&bed.files.disk, &bed.session, 1).expect("a session");
            model = found.expect("it is there").clone();
            // The kill's step decides which edits are remembered.
            let stack = |edits: &[super::session::Edit]| -> Vec<(Side, Side)> {
                let text = |content: &super::contents::Content| -> String {
                    let content = content.as_ref().expect("a text");
                    String::from_utf8(read_kept_content(&bed.files.disk, content).expect("notes").expect("it is kept")).expect("UTF-8")
                };
                let side = |version: &super::session::Version| Side {
                    text: text(&version.text),
                    base: text(&version.base),
                };
                edits
                    .iter()
                    .map(|edit| (side(&edit.changes[0].from), side(&edit.changes[0].to)))
                    .collect()
            };
            model.done = stack(&session.done);
            model.undone = stack(&session.undone);
            let document = &session.documents["a"];
            model.selection = document.selection.as_ref().map(|one| (one.needle.clone(), one.replacement.clone()));
        } else {
            let edits = !matches!(
                response.status,
                Status::NoMatch | Status::MultiMatch | Status::Exception | Status::ExternalConflict
            );
            prop_assert!(!edits || response.session.is_some());
            leads_on(&response);
            prop_assert_eq!(response.workflow_state, model.state(), "{:?} {:?} {:?}", act, response, model);
        }
        // Independent of the model: foreign lines are never overwritten.
        let now = bed.files.text("a");
        let lost = theirs
            .lines()
            .find(|line| line.starts_with('@') && !now.lines().any(|other| other == *line));
        prop_assert_eq!(lost, None, "lost by {:?}: {:?}", act, response);
        prop_assert_eq!(bed.files.text("a"), model.file.clone(), "the file after {:?}: {:?}", act, response);
        prop_assert_eq!(bed.buffer(), model.buffer.clone(), "the buffer after {:?}: {:?}", act, response);
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn any_sequence_is_that_of_the_model(acts in prop::collection::vec(act(), 1..24), immediate: bool) {
        check(if immediate { Mode::Immediate } else { Mode::Manual }, &acts)?;
    }
}

#[test]
fn equal_edits_of_others_belong_to_them() {
    let edit = |old: &str| Act::Replace(old.to_owned(), "x".to_owned());
    let two = || vec![edit("one"), edit("four")];
    for (all, after) in [
        (true, vec![Act::Undo, Act::Commit, Act::Undo, Act::Redo, Act::Commit]),
        (false, vec![Act::Undo, Act::Undo, Act::Commit]),
        (false, vec![Act::Commit, Act::Undo, Act::Undo, Act::Commit]),
        (true, vec![edit("five"), Act::Undo, Act::Undo, Act::Commit]),
    ] {
        let acts: Vec<Act> = two().into_iter().chain([Act::Alike(all)]).chain(after).collect();
        check(Mode::Manual, &acts).expect("as the model has it");
    }
    let bench = |text: &str| {
        let files = Real::new();
        files.write("a", TEXT);
        let ask = |order: Order, session: Option<String>| {
            let request = EditRequest {
                order,
                session,
                path: Some("a".to_owned()),
                mode: None,
                fit: false,
            };
            perform(&files.disk, &request, 1)
        };
        let session = ask(Order::Open, None).session;
        for old in ["one\n", "four\n"] {
            let (old, new) = (old.to_owned(), "x\n".to_owned());
            ask(Order::Replace { old, new }, session.clone());
        }
        files.write("a", text);
        let taken: Vec<Status> = (0..2).map(|_| ask(Order::Undo, session.clone()).status).collect();
        ask(Order::Commit, session);
        (taken, files.text("a"))
    };
    let first = TEXT.replace("one", "x");
    assert_eq!(bench(&first), (vec![Status::Success, Status::NoMatch], first));
    let both = TEXT.replace("one", "x").replace("four", "x");
    assert_eq!(bench(&both), (vec![Status::NoMatch, Status::NoMatch], both));
}

#[test]
fn undo_of_a_refresh_keeps_the_writes_of_others() {
    let edit = || Act::Replace("three".to_owned(), "x".to_owned());
    for acts in [
        vec![edit(), Act::Write(2), Act::Refresh, Act::Refresh, Act::Undo, Act::Commit],
        vec![
            edit(),
            Act::Write(2),
            Act::Discard,
            Act::Undo,
            Act::Commit,
            Act::Refresh,
            Act::Undo,
            Act::Commit,
        ],
        vec![
            edit(),
            Act::Commit,
            Act::Write(2),
            Act::Undo,
            Act::Commit,
            Act::Discard,
            Act::Redo,
            Act::Undo,
            Act::Commit,
        ],
        vec![
            edit(),
            Act::Discard,
            Act::Write(5),
            Act::Undo,
            Act::Commit,
            Act::Undo,
            Act::Redo,
            Act::Commit,
        ],
    ] {
        for mode in [Mode::Manual, Mode::Immediate] {
            check(mode, &acts).expect("as the model has it");
        }
    }
}
