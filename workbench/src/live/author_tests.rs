//! Each version shows the lines of one author, in any order of writes and authors, and the log says the same at every time.

use super::edits::{self, Buffer, stored_text};
use crate::edit::contents::content;
use crate::edit::draft_log::DraftLog;
use crate::edit::expiry::end_expired;
use crate::edit::files::Files;
use crate::edit::journal::{ChangeReport, Journal, Look, PERSON, SOMEBODY, Version};
use crate::edit::memory::Memory;
use crate::edit::order::{EditRequest, Order};
use crate::edit::perform::perform;
use crate::edit::state::Mode;
use proptest::prelude::*;

const FILE: &str = "a.cs";

/// An event of the test.
#[derive(Clone, Debug)]
enum Act {
    /// A person inserts a line below a given line of the file.
    Person(usize),
    /// A session inserts a line below a given line.
    Edit(usize, usize),
    /// A session commits, or runs another order.
    Ask(usize, Order),
    /// An edit that is saved at once, in its own session.
    Once(usize),
    /// An observer looks at the document.
    Look,
    /// A second passes.
    Wait,
}

fn act() -> impl Strategy<Value = Act> {
    let order = prop_oneof![
        3 => Just(Order::Commit),
        1 => Just(Order::Refresh),
        1 => Just(Order::Discard),
        1 => Just(Order::Undo),
        1 => Just(Order::Redo),
        1 => Just(Order::Diff),
    ];
    prop_oneof![
        3 => (0..6_usize).prop_map(Act::Person),
        3 => (0..2_usize, 0..6_usize).prop_map(|(session, line)| Act::Edit(session, line)),
        4 => (0..2_usize, order).prop_map(|(session, order)| Act::Ask(session, order)),
        1 => (0..6_usize).prop_map(Act::Once),
        1 => Just(Act::Look),
        1 => Just(Act::Wait),
    ]
}

#[derive(Default)]
struct TestWorkspace {
    files: Memory,
    sessions: Vec<String>,
    now: u64,
    lines: usize,
}

impl TestWorkspace {
    fn ask(&self, session: Option<&str>, order: Order) -> Option<String> {
        let request = EditRequest {
            order,
            session: session.map(str::to_owned),
            path: session.is_none().then(|| FILE.to_owned()),
            mode: None,
            fit: false,
        };
        perform(&self.files, &request, self.now).session
    }

    /// Returns a new line of an author below one of the first lines: the text to replace and its replacement.
    fn line(&mut self, author: &str, below: usize) -> (String, String) {
        self.lines += 1;
        (format!("m{below}\n"), format!("m{below}\n{author} {}\n", self.lines))
    }

    /// Looks at the document; returns its journal with all changes.
    fn look_at_file(&self) -> Journal {
        let text = self.files.text(FILE);
        let look = Look {
            path: FILE.to_owned(),
            at: self.now,
            found: content(Some(text.as_bytes())),
            report: ChangeReport::by(PERSON),
            ..Look::default()
        };
        let (looked, _) = edits::record_look(&self.files, &(), look, &[text.as_bytes()]).expect("recorded");
        let journal = self.journal();
        assert_eq!(looked, journal, "the log says the same later");
        self.compared(journal)
    }

    fn journal(&self) -> Journal {
        DraftLog::from_files(&self.files).expect("readable").journal(FILE)
    }

    fn compared(&self, mut journal: Journal) -> Journal {
        journal.compute_changes(usize::MAX, |digest| stored_text(&self.files, digest));
        journal
    }

    /// Returns the document in a session with all changes. A text that was only read, and overwritten since, is not stored.
    fn buffer(&self, session: &str) -> Option<Buffer> {
        let buffer = edits::buffer(&self.files, session, [&FILE.to_owned()], self.now).expect("a session");
        buffer.ok().map(|buffer| Buffer {
            journal: self.compared(buffer.journal),
            ..buffer
        })
    }

    fn act(&mut self, act: &Act) {
        match act {
            Act::Person(below) => {
                let (old, new) = self.line("person", *below);
                self.files.write(FILE, self.files.text(FILE).replacen(&old, &new, 1));
            }
            Act::Edit(session, below) => {
                let id = self.sessions[*session].clone();
                let (old, new) = self.line(&id, *below);
                self.ask(Some(&id), Order::Replace { old, new });
            }
            Act::Ask(session, order) => {
                self.ask(Some(&self.sessions[*session]), order.clone());
            }
            Act::Once(below) => {
                let (old, new) = self.line("once", *below);
                self.ask(None, Order::Replace { old, new });
            }
            Act::Look => drop(self.look_at_file()),
            Act::Wait => self.now += 1,
        }
    }
}

/// Returns the authors of the lines that a version changed.
fn authors(version: &Version) -> Vec<String> {
    let lines = version.change.patch.lines().filter(|line| !line.starts_with("@@"));
    let changed = lines.filter_map(|line| line.strip_prefix(['+', '-'])?.split_once(' '));
    changed.map(|(author, _)| author.to_owned()).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn a_version_is_its_authors(acts in prop::collection::vec(act(), 1..30)) {
        let mut world = TestWorkspace { now: 100, ..TestWorkspace::default() };
        world.files.write(FILE, "m0\n\nm1\n\nm2\n\nm3\n\nm4\n\nm5\n");
        world.look_at_file();
        for mode in [Mode::Manual, Mode::Immediate] {
            let request = EditRequest { order: Order::Open, session: None, path: Some(FILE.to_owned()), mode: Some(mode), fit: false };
            world.sessions.push(perform(&world.files, &request, world.now).session.expect("opened"));
        }
        for act in &acts {
            world.act(act);
        }
        for session in &world.sessions {
            let buffer = world.buffer(session);
            // An undo over other writes at the same lines resets the buffer to the state before them, and is not saved.
            let versions = buffer.iter().flat_map(|buffer| &buffer.journal.versions);
            for version in versions.filter(|version| !matches!(version.report.what.as_deref(), Some("undo" | "redo"))) {
                for author in authors(version) {
                    let wanted = if author == *session { "agent" } else { SOMEBODY };
                    prop_assert_eq!(&version.report.author, wanted, "{:#?}", buffer);
                }
            }
        }
        // When a session ends, or the log is written anew, no change is lost.
        let known = world.journal().versions;
        for (name, _) in world.files.notes("sessions").expect("listed") {
            world.files.drop_note(&format!("sessions/{name}")).expect("dropped");
        }
        end_expired(&world.files, world.now).expect("collected");
        let later = world.journal().versions;
        prop_assert_eq!(&later, &known);
        let journal = world.look_at_file();
        prop_assert!(journal.versions.len() >= known.len());
        for version in &journal.versions {
            prop_assert!(stored_text(&world.files, &version.digest).is_some(), "{:#?}", version);
            for author in authors(version) {
                let wanted = if author == "person" { PERSON } else { "agent" };
                prop_assert_eq!(&version.report.author, wanted, "{:#?}", journal.versions);
            }
        }
    }
}

/// Many edits of one second, each in its own session, are recorded once, in order, whether an observer looks in between or later.
#[test]
fn quick_edits_are_told_once() {
    let world = TestWorkspace {
        now: 100,
        ..TestWorkspace::default()
    };
    world.files.write(FILE, "n=0\n");
    let edit = |number: usize| {
        let (old, new) = (format!("n={number}\n"), format!("n={}\n", number + 1));
        world.ask(None, Order::Replace { old, new }).expect("a session")
    };
    let patches = |journal: &Journal| {
        let versions = journal.versions.iter();
        let found = versions.map(|one| {
            (
                one.report.author.clone(),
                one.change.patch.lines().skip(1).collect::<Vec<_>>().join(" "),
            )
        });
        found.collect::<Vec<_>>()
    };
    let wanted = |numbers: std::ops::Range<usize>| {
        let found = numbers.map(|number| ("agent".to_owned(), format!("-n={number} +n={}", number + 1)));
        found.collect::<Vec<_>>()
    };
    let mut edited = 0;
    for all in [40, 140] {
        (edited..all).for_each(|number| drop(edit(number)));
        edited = all;
        for _ in 0..3 {
            let journal = world.look_at_file();
            assert_eq!(journal.given, all as u64 + 1);
            assert_eq!(patches(&journal)[1..], wanted(all.saturating_sub(63)..all)[..]);
        }
    }
}

/// A process killed between the log and the session leaves a step of an operation that the session makes again.
#[test]
fn an_operation_that_was_not_stored_is_no_step() {
    let mut world = TestWorkspace {
        now: 100,
        ..TestWorkspace::default()
    };
    world.files.write(FILE, "m0\n");
    let request = EditRequest {
        order: Order::Open,
        session: None,
        path: Some(FILE.to_owned()),
        mode: Some(Mode::Manual),
        fit: false,
    };
    world
        .sessions
        .push(perform(&world.files, &request, world.now).session.expect("opened"));
    let session = world.sessions[0].clone();
    let texts = |world: &TestWorkspace| {
        let buffer = world.buffer(&session).expect("a text");
        let numbers: Vec<u64> = buffer.journal.versions.iter().map(|version| version.number).collect();
        (numbers, buffer.text)
    };
    world.files.fill(Some("sessions/"));
    world.act(&Act::Edit(0, 0));
    world.files.fill(None);
    assert_eq!(texts(&world), (vec![], "m0\n".to_owned()));
    world.act(&Act::Edit(0, 0));
    assert_eq!(texts(&world), (vec![2], format!("m0\n{session} 2\n")));
}

#[test]
fn contents_are_kept_as_long_as_a_journal_names_them() {
    let mut world = TestWorkspace::default();
    let count = |world: &TestWorkspace| world.files.count_notes("texts");
    for number in 0..150 {
        world.now = number;
        world.files.write(FILE, number.to_string());
        assert_eq!(world.look_at_file().given, number + 1);
    }
    let journal = world.journal();
    let beyond = count(&world) - journal.digests().len();
    assert!(beyond < 16, "{beyond}");
    let digest = |text: &str| content(Some(text.as_bytes())).expect("a digest");
    assert_eq!(stored_text(&world.files, &digest("20")), None, "it is removed");
    end_expired(&world.files, 150).expect("collected");
    assert_eq!((count(&world), world.journal()), (journal.digests().len(), journal.clone()));
    // A line that a kill cut is skipped, and ends where the next begins.
    world.files.append_note("drafts/log", "\n{\"look\":").expect("written");
    world.files.write(FILE, "after");
    assert_eq!((world.look_at_file().given, world.journal().given), (151, 151));
    // A damaged content is not returned as the text.
    world.files.damage("texts");
    assert_eq!(stored_text(&world.files, &digest("after")), None);
    for other in ["../drafts/log", ""] {
        assert_eq!(stored_text(&world.files, other), None, "{other}");
    }
}
