//! Each version shows the lines of one author, in any order of writes and authors.

use super::edits::{self, PERSON};
use super::journal::{ChangeReport, Journal, SOMEBODY, Version};
use super::stored_journals;
use crate::edit::files::Files;
use crate::edit::memory::Memory;
use crate::edit::order::{EditRequest, Order};
use crate::edit::perform::perform;
use crate::edit::state::Mode;
use proptest::prelude::*;
use std::path::Path;

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
    /// An edit that is saved at once, in its own session; the process is killed before it reports the edit if the flag is set.
    Once(usize, bool),
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
        1 => (0..6_usize, any::<bool>()).prop_map(|(line, dies)| Act::Once(line, dies)),
        1 => Just(Act::Look),
        1 => Just(Act::Wait),
    ]
}

struct TestWorkspace<'r> {
    files: Memory,
    root: &'r Path,
    sessions: Vec<String>,
    now: u64,
    lines: usize,
}

impl TestWorkspace<'_> {
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

    fn record_edits(&self, session: &str) {
        edits::hand_over(&self.files, self.root, session, self.now).expect("told");
    }

    /// Returns a new line of an author below one of the first lines: the text to replace and its replacement.
    fn line(&mut self, author: &str, below: usize) -> (String, String) {
        self.lines += 1;
        (format!("m{below}\n"), format!("m{below}\n{author} {}\n", self.lines))
    }

    fn read_changes(&self) {
        edits::take_over(&self.files, self.root, &(), FILE).expect("taken over");
        let text = self.files.text(FILE);
        stored_journals::change_journal(&self.files, &(), FILE, &[&text], |journal| {
            let before = journal
                .current()
                .and_then(|current| stored_journals::stored_text(&self.files, &current.digest));
            let said = ChangeReport {
                author: PERSON.to_owned(),
                ..ChangeReport::default()
            };
            journal.record_found(&text, before.as_deref(), self.now, &said);
        })
        .expect("noted");
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
                self.record_edits(&id);
            }
            Act::Ask(session, order) => {
                self.ask(Some(&self.sessions[*session]), order.clone());
                self.record_edits(&self.sessions[*session]);
            }
            Act::Once(below, dies) => {
                let (old, new) = self.line("once", *below);
                let session = self.ask(None, Order::Replace { old, new });
                match session.filter(|_| !dies) {
                    Some(session) => self.record_edits(&session),
                    // A change that is reported later is sorted by the second of its save.
                    None => self.now += 1,
                }
            }
            Act::Look => self.read_changes(),
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
        let folder = tempfile::tempdir().expect("folder");
        let files = Memory::default();
        files.write(FILE, "m0\n\nm1\n\nm2\n\nm3\n\nm4\n\nm5\n");
        let mut world = TestWorkspace { files, root: folder.path(), sessions: Vec::new(), now: 100, lines: 0 };
        world.read_changes();
        for mode in [Mode::Manual, Mode::Immediate] {
            let request = EditRequest { order: Order::Open, session: None, path: Some(FILE.to_owned()), mode: Some(mode), fit: false };
            world.sessions.push(perform(&world.files, &request, world.now).session.expect("opened"));
        }
        for act in &acts {
            world.act(act);
        }
        // When a session ends, no change of it is lost.
        let known = stored_journals::read_journal(&world.files, FILE).expect("readable").versions;
        let dies = acts.iter().any(|act| matches!(act, Act::Once(_, true)));
        if !dies {
            for (name, _) in world.files.notes("sessions").expect("listed") {
                world.files.drop_note(&format!("sessions/{name}")).expect("dropped");
            }
        }
        world.read_changes();
        let journal = stored_journals::read_journal(&world.files, FILE).expect("readable");
        prop_assert_eq!(&journal.versions[..known.len().min(journal.versions.len())], &known[..]);
        for version in &journal.versions {
            for author in authors(version) {
                let wanted = if author == "person" { PERSON } else { "agent" };
                prop_assert_eq!(&version.author, wanted, "{:#?}", journal.versions);
            }
        }
        for session in world.sessions.iter().filter(|_| dies) {
            // The text of a document that was only read and overwritten since is not stored.
            let buffer = edits::buffer(&world.files, session, FILE, world.now).expect("a session");
            // An undo over other writes at the same lines resets the buffer to the state before them, and is not saved.
            let versions = buffer.iter().flat_map(|buffer| &buffer.versions);
            for version in versions.filter(|version| !matches!(version.what.as_deref(), Some("undo" | "redo"))) {
                for author in authors(version) {
                    let wanted = if author == *session { "agent" } else { SOMEBODY };
                    prop_assert_eq!(&version.author, wanted, "{:#?}", buffer);
                }
            }
        }
    }
}

/// Many edits of one second, each in its own session, are recorded once, in order, whether an observer looks in between or later.
#[test]
fn quick_edits_are_told_once() {
    let folder = tempfile::tempdir().expect("folder");
    let files = Memory::default();
    files.write(FILE, "n=0\n");
    let mut world = TestWorkspace {
        files,
        root: folder.path(),
        sessions: Vec::new(),
        now: 100,
        lines: 0,
    };
    let edit = |world: &TestWorkspace, number: usize| {
        let (old, new) = (format!("n={number}\n"), format!("n={}\n", number + 1));
        world.ask(None, Order::Replace { old, new }).expect("a session")
    };
    let patches = |journal: &Journal| {
        let versions = journal.versions.iter();
        let found = versions.map(|one| (one.author.clone(), one.change.patch.lines().skip(1).collect::<Vec<_>>().join(" ")));
        found.collect::<Vec<_>>()
    };
    let wanted = |numbers: std::ops::Range<usize>| {
        let found = numbers.map(|number| ("agent".to_owned(), format!("-n={number} +n={}", number + 1)));
        found.collect::<Vec<_>>()
    };
    for number in 0..40 {
        edit(&world, number);
    }
    for _ in 0..3 {
        world.read_changes();
        let journal = stored_journals::read_journal(&world.files, FILE).expect("readable");
        assert_eq!((journal.given, &patches(&journal)[1..]), (17, &wanted(24..40)[..]));
    }
    for number in 40..140 {
        let session = edit(&world, number);
        world.record_edits(&session);
    }
    for _ in 0..3 {
        world.read_changes();
        let journal = stored_journals::read_journal(&world.files, FILE).expect("readable");
        assert_eq!((journal.given, patches(&journal)), (117, wanted(76..140)));
    }
    // The processes of these edits were killed before reporting them.
    for number in 140..150 {
        edit(&world, number);
    }
    world.now += 1;
    world.read_changes();
    let journal = stored_journals::read_journal(&world.files, FILE).expect("readable");
    assert_eq!((journal.given, patches(&journal)), (127, wanted(86..150)));
}
