//! Sessions from a client's point of view: orders in, answers and files out.

use super::allowed_tools::{Tool, tools_in_text};
use super::edit_log::Category;
use super::expiry::collect_beyond;
use super::files::Files;
use super::memory::Memory;
use super::order::{BatchEdit, EditRequest, Order};
use super::perform::perform;
use super::response::Response;
use super::session::LIFETIME;
use super::state::{Mode, Status, WorkflowState};
use super::symbol;

/// A client that edits.
pub struct Coder {
    /// The files.
    pub files: Memory,
    /// The session.
    pub session: Option<String>,
    /// Present time, in seconds.
    pub now: u64,
}

impl Coder {
    pub fn with(text: &str) -> Self {
        let files = Memory::default();
        files.write("a.cs", text);
        Self {
            files,
            session: None,
            now: 1000,
        }
    }

    pub fn opened(text: &str, mode: Mode) -> Self {
        let mut coder = Self::with(text);
        let opened = coder.ask_with(Order::Open, Some("a.cs"), Some(mode));
        assert_eq!((opened.status, opened.workflow_state), (Status::Success, WorkflowState::Idle));
        coder
    }

    pub fn ask_with(&mut self, order: Order, path: Option<&str>, mode: Option<Mode>) -> Response {
        let request = EditRequest {
            order,
            session: self.session.clone(),
            path: path.map(str::to_owned),
            mode,
            fit: false,
        };
        let response = perform(&self.files, &request, self.now);
        if response.session.is_some() {
            self.session.clone_from(&response.session);
        }
        leads_on(&response);
        response
    }

    pub fn ask(&mut self, order: Order) -> Response {
        self.ask_with(order, None, None)
    }

    pub fn replace(&mut self, old: &str, new: &str) -> Response {
        self.ask(Order::Replace {
            old: old.to_owned(),
            new: new.to_owned(),
        })
    }

    pub fn select(&mut self, id: usize) -> Response {
        self.ask(Order::Select { id, new: None })
    }

    pub fn text(&self) -> String {
        self.files.text("a.cs")
    }
}

/// Checks that the guidance of an answer names only allowed tools.
pub fn leads_on(response: &Response) {
    let named = tools_in_text(response.guidance.as_deref().unwrap_or_default());
    let is_allowed = |tool: &Tool| response.allowed.contains(tool) || response.session.is_none();
    assert!(named.iter().all(is_allowed), "{named:?} in {response:?}");
}

/// Returns status and state of an answer.
pub fn stands(response: &Response) -> (Status, WorkflowState) {
    (response.status, response.workflow_state)
}

#[test]
fn an_edit_is_saved_when_its_mode_says_so() {
    let mut at_once = Coder::with("one two three");
    let done = at_once.ask_with(
        Order::Replace {
            old: "two".to_owned(),
            new: "2".to_owned(),
        },
        Some("a.cs"),
        None,
    );
    assert_eq!(
        (stands(&done), at_once.text().as_str()),
        ((Status::Success, WorkflowState::Idle), "one 2 three")
    );
    assert_eq!(
        (done.metrics.delta, done.metrics.new_length, done.summary.as_str()),
        (-2, 11, "replaced one occurrence of oldText, saved (session 00000002)")
    );
    assert!(done.session.is_some() && done.detail.is_some_and(|diff| diff.contains("-one two three")));
    assert_eq!(
        done.guidance.as_deref(),
        Some("`undo` in this session reverts it; the session ends seven days after it was last used")
    );

    let mut by_hand = Coder::opened("one two three", Mode::Manual);
    assert_eq!(
        stands(&by_hand.replace("two", "2")),
        (Status::Success, WorkflowState::PersistPending)
    );
    assert_eq!(by_hand.text(), "one two three");
    assert_eq!(stands(&by_hand.ask(Order::Commit)), (Status::Success, WorkflowState::Idle));
    assert_eq!(
        (by_hand.text().as_str(), by_hand.ask(Order::Commit).status),
        ("one 2 three", Status::NoOp)
    );

    let mut never = Coder::opened("one two three", Mode::Disabled);
    let missed = never.replace("nowhere", "2");
    assert!(
        missed.guidance.is_some_and(|words| words.ends_with("are not saved")),
        "it is said every time"
    );
    let edited = never.replace("two", "2");
    assert_eq!(stands(&edited), (Status::Success, WorkflowState::PersistPending));
    assert!(edited.guidance.is_some_and(|words| words.contains("not saved")) && edited.flags.mask == 18);
    let blocked = never.ask(Order::Commit);
    assert_eq!(stands(&blocked), (Status::Exception, WorkflowState::PersistPending));
    assert!(!blocked.allowed.contains(&Tool::Commit) && blocked.summary.contains("saves nothing"));
    assert_eq!(
        (never.text().as_str(), never.ask(Order::Diff).status),
        ("one two three", Status::Success)
    );
}

#[test]
fn one_of_several_matches_is_chosen() {
    let mut coder = Coder::opened(&"x = 1;\n".repeat(7), Mode::Manual);
    let several = coder.replace("1", "2");
    assert_eq!(stands(&several), (Status::MultiMatch, WorkflowState::SelectionPending));
    assert_eq!(
        (several.metrics.selection_count, several.candidates.as_ref().map(Vec::len)),
        (Some(7), Some(5))
    );
    assert!(
        several
            .detail
            .as_ref()
            .is_some_and(|lines| lines.contains("x = [[SEL#3]]1[[/SEL#3]];")),
        "{several:?}"
    );
    let more = coder.ask(Order::Candidates { from: 6 });
    assert_eq!(
        more.candidates.map(|all| all.iter().map(|one| one.id).collect::<Vec<_>>()),
        Some(vec![6, 7])
    );
    for order in [
        Order::Append {
            anchor: "$".to_owned(),
            new: "y".to_owned(),
        },
        Order::Commit,
        Order::Undo,
    ] {
        let blocked = coder.ask(order);
        assert_eq!(stands(&blocked), (Status::Exception, WorkflowState::SelectionPending));
        assert!(blocked.guidance.is_some_and(|words| words.contains("`replace_selection`")));
    }
    assert_eq!(stands(&coder.select(9)), (Status::Exception, WorkflowState::SelectionPending));
    assert_eq!(stands(&coder.select(0)), (Status::Exception, WorkflowState::SelectionPending));
    let chosen = coder.select(7);
    assert_eq!(stands(&chosen), (Status::Success, WorkflowState::PersistPending));
    // Numbers of candidates end with the text, and the answer says so.
    assert!(
        chosen
            .guidance
            .is_some_and(|words| words.ends_with("have ended: `replace` offers new ones"))
    );
    assert!(coder.ask(Order::Diff).guidance.is_some_and(|words| !words.contains("have ended")));
    let stale = coder.select(1);
    assert_eq!(stands(&stale), (Status::Exception, WorkflowState::PersistPending));
    assert!(stale.summary.contains("no selection"), "{stale:?}");
    coder.ask(Order::Commit);
    assert_eq!(coder.text(), format!("{}x = 2;\n", "x = 1;\n".repeat(6)));
    // A new search replaces the old one, and discarding drops only the search.
    coder.replace("x", "y");
    coder.replace("1", "3");
    let other = coder.ask(Order::Select {
        id: 1,
        new: Some("4".to_owned()),
    });
    assert_eq!(other.status, Status::Success);
    coder.replace("x", "y");
    assert_eq!(stands(&coder.ask(Order::Discard)), (Status::Success, WorkflowState::PersistPending));
    assert!(coder.ask(Order::Diff).detail.is_some_and(|diff| diff.contains("+x = 4;")));
    // So does a search that finds or changes nothing, and the answer says so.
    for (old, new) in [("nowhere", "z"), ("x = 4", "x = 4")] {
        coder.replace("x", "y");
        let missed = coder.replace(old, new);
        assert_eq!(missed.workflow_state, WorkflowState::PersistPending);
        assert!(missed.guidance.is_some_and(|words| words.contains("have ended")));
        assert_eq!(coder.select(1).status, Status::Exception);
    }
    // A foreign write ends a selection, too.
    coder.ask(Order::Commit);
    coder.replace("x", "y");
    coder.files.write("a.cs", "x x");
    assert_eq!(stands(&coder.select(1)), (Status::Exception, WorkflowState::Idle));
}

#[test]
fn texts_that_a_form_could_stumble_over() {
    let text = "a |`b` [[SEL#1]]$& 日本😀\t.*\r\n";
    let mut coder = Coder::opened(text, Mode::Immediate);
    for (old, new) in [
        ("$&", "\\1"),
        ("|`b`", "||``"),
        ("😀\t", "$0"),
        ("[[SEL#1]]", "[[/SEL#1]]"),
        (".*\r\n", "\r\n"),
    ] {
        assert_eq!(coder.replace(old, new).status, Status::Success, "{old}");
    }
    assert_eq!(coder.text(), "a ||`` [[/SEL#1]]\\1 日本$0\r\n");
    let empty = coder.replace("", "x");
    assert_eq!(stands(&empty), (Status::NoMatch, WorkflowState::Idle));
    let whole = coder.text();
    assert_eq!(coder.replace(&whole, "").status, Status::Success);
    assert_eq!((coder.text().as_str(), coder.replace("a", "b").status), ("", Status::NoMatch));
    assert_eq!(coder.ask(Order::Undo).status, Status::Success);
    assert_eq!(coder.replace("a", "a").status, Status::NoOp);
    assert_eq!(coder.replace("nowhere", "b").status, Status::NoMatch);
    assert_eq!(coder.text(), whole);
}

#[test]
fn appending_names_where() {
    let mut coder = Coder::opened("one\ntwo\n", Mode::Immediate);
    let append = |anchor: &str, new: &str| Order::Append {
        anchor: anchor.to_owned(),
        new: new.to_owned(),
    };
    assert_eq!(coder.ask(append("", "x")).status, Status::Exception);
    assert_eq!(coder.ask(append("one\n", "and\n")).status, Status::Success);
    assert_eq!(coder.ask(append("$", "end")).status, Status::Success);
    assert_eq!(coder.ask(append("^", "begin\n")).status, Status::Success);
    assert_eq!(coder.text(), "begin\none\nand\ntwo\nend");
    assert_eq!(coder.ask(append("n", "!")).status, Status::MultiMatch);
    assert_eq!(coder.select(2).status, Status::Success);
    assert_eq!(coder.text(), "begin\non!e\nand\ntwo\nend");
}

#[test]
fn a_file_that_cannot_be_saved_is_kept_in_the_buffer() {
    let mut coder = Coder::opened("one", Mode::Immediate);
    coder.files.fill(Some("a.cs"));
    let full = coder.replace("one", "two");
    assert_eq!(stands(&full), (Status::PersistFailure, WorkflowState::PersistPending));
    assert!(full.guidance.as_ref().is_some_and(|words| words.contains("`commit`")), "{full:?}");
    assert_eq!(coder.text(), "one");
    assert_eq!(
        stands(&coder.ask(Order::Commit)),
        (Status::PersistFailure, WorkflowState::PersistPending)
    );
    coder.files.fill(None);
    assert_eq!(stands(&coder.ask(Order::Commit)), (Status::Success, WorkflowState::Idle));
    assert_eq!(coder.text(), "two");
    assert!(!coder.files.logged(Category::Persistence).is_empty());
}

#[test]
fn symbols_are_given_the_line_ends_of_the_file() {
    let coder = Coder::with("class A\r\n{\r\n    int F() => 1;\r\n}\r\n");
    let order = Order::Symbol(symbol::SymbolEdit {
        symbol: "A.F".to_owned(),
        at: symbol::Where::Replace,
        new: "int F()\n    {\n        return 2;\n    }".to_owned(),
        head: symbol::HeadPolicy::Replaced,
        defines: None,
    });
    let request = EditRequest {
        order,
        session: None,
        path: Some("a.cs".to_owned()),
        mode: None,
        fit: true,
    };
    assert_eq!(perform(&coder.files, &request, 1).status, Status::Success);
    assert_eq!(
        coder.text(),
        "class A\r\n{\r\n    int F()\r\n    {\r\n        return 2;\r\n    }\r\n}\r\n"
    );
}

#[test]
fn several_files_are_one_edit() {
    let mut coder = Coder::with("one\n");
    coder.files.write("b.cs", "two\n");
    let part = |path: &str, old: &str, new: &str| BatchEdit {
        path: Some(path.to_owned()),
        old: old.to_owned(),
        new: new.to_owned(),
    };
    let batch = Order::Batch(vec![part("a.cs", "one", "1"), part("b.cs", "two", "2"), part("a.cs", "1", "I")]);
    let done = coder.ask(batch.clone());
    assert_eq!(
        (done.status, done.files),
        (Status::Success, vec!["a.cs".to_owned(), "b.cs".to_owned()])
    );
    assert_eq!((coder.text().as_str(), coder.files.text("b.cs").as_str()), ("I\n", "2\n"));
    assert_eq!(coder.ask(Order::Undo).status, Status::Success);
    assert_eq!((coder.text().as_str(), coder.files.text("b.cs").as_str()), ("one\n", "two\n"));
    let missing = coder.ask(Order::Batch(vec![part("a.cs", "one", "1"), part("b.cs", "zwei", "2")]));
    assert_eq!(missing.status, Status::NoMatch);
    assert_eq!(coder.text(), "one\n");
    // One of them cannot be saved, so neither is.
    coder.files.fill(Some("b.cs"));
    assert_eq!(stands(&coder.ask(batch)), (Status::PersistFailure, WorkflowState::PersistPending));
    assert_eq!((coder.text().as_str(), coder.files.text("b.cs").as_str()), ("one\n", "two\n"));
    coder.files.fill(None);
    assert_eq!(coder.ask(Order::Commit).status, Status::Success);
    assert_eq!((coder.text().as_str(), coder.files.text("b.cs").as_str()), ("I\n", "2\n"));
}

#[test]
fn a_file_that_is_made_and_one_that_is_written_over_are_told_apart() {
    let mut coder = Coder::with("one\r\ntwo\r\n");
    let text = |text: &str| text.to_owned();
    let made = coder.ask_with(Order::Create(text("new\n")), Some("b.cs"), None);
    assert_eq!(
        (stands(&made), coder.files.text("b.cs")),
        ((Status::Success, WorkflowState::Idle), text("new\n"))
    );
    assert!(made.summary.contains("b.cs is new and has 1 line"), "{}", made.summary);
    coder.session = None;
    let again = coder.ask_with(Order::Create(text("other\n")), Some("b.cs"), None);
    assert_eq!((again.status, coder.files.text("b.cs")), (Status::Exception, text("new\n")));
    assert!(again.summary.contains("b.cs already exists"), "{}", again.summary);
    assert!(again.guidance.is_some_and(|guidance| guidance.contains("`write`")));
    assert_eq!(coder.session, None, "nothing came to be");
    // A foreign text is overwritten, reported, and restored by undo.
    let written = coder.ask_with(Order::Write(text("three\n")), Some("a.cs"), None);
    assert!(
        written
            .summary
            .contains("a.cs was there and is written over: 2 lines before, 1 line now"),
        "{}",
        written.summary
    );
    assert!(written.detail.is_some_and(|detail| detail.contains("-two")));
    assert_eq!(coder.text(), "three\n");
    assert_eq!(coder.ask(Order::Undo).status, Status::Success);
    assert_eq!(coder.text(), "one\r\ntwo\r\n");
    coder.session = None;
    let made = coder.ask_with(Order::Write(text("c\n")), Some("c.cs"), None);
    assert!(made.summary.contains("c.cs is new"), "{}", made.summary);
    assert_eq!(coder.ask(Order::Undo).status, Status::Success);
    assert_eq!(coder.files.file("c.cs"), None);
    coder.session = None;
    assert_eq!(
        coder.ask_with(Order::Write(text("one\r\ntwo\r\n")), Some("a.cs"), None).status,
        Status::NoOp
    );
}

#[test]
fn patches_make_change_move_and_remove() {
    let mut coder = Coder::with("one\r\ntwo\r\n");
    coder.files.write("old.cs", "gone\n");
    let patch = "*** Begin Patch\n*** Update File: a.cs\n*** Move to: c.cs\n@@\n-one\n+1\n two\n*** Delete File: old.cs\n*** Add File: new.cs\n+new\n*** End Patch\n";
    let done = coder.ask(Order::Patch(patch.to_owned()));
    assert_eq!(done.status, Status::Success, "{done:?}");
    assert_eq!((coder.files.file("a.cs"), coder.files.file("old.cs")), (None, None));
    assert_eq!(
        (coder.files.text("c.cs").as_str(), coder.files.text("new.cs").as_str()),
        ("1\r\ntwo\r\n", "new\n")
    );
    assert_eq!(coder.ask(Order::Undo).status, Status::Success);
    assert_eq!(
        (coder.text().as_str(), coder.files.text("old.cs").as_str()),
        ("one\r\ntwo\r\n", "gone\n")
    );
    assert_eq!((coder.files.file("c.cs"), coder.files.file("new.cs")), (None, None));
    for (patch, why) in [
        ("*** Begin Patch\n*** Add File: a.cs\n+x\n*** End Patch", "a.cs already exists"),
        ("*** Begin Patch\n*** Update File: a.cs\n-drei\n+3\n*** End Patch", "fits nowhere"),
        ("--- a/a.cs\n+++ /dev/null\n@@ -1 +0,0 @@\n-what I remember\n", "fits nowhere"),
        ("--- a/a.cs\n+++ /dev/null\n@@ -1 +0,0 @@\n-one\n", "not all of its lines"),
        (
            "*** Begin Patch\n*** Update File: x.cs\n-a\n+b\n*** End Patch",
            "there is no file x.cs",
        ),
        (
            "*** Begin Patch\n*** Add File: ../x\n+a\n*** End Patch",
            "leads out of the workspace",
        ),
        ("nothing", "the patch has no file"),
    ] {
        let refused = coder.ask(Order::Patch(patch.to_owned()));
        assert!(refused.summary.contains(why) && refused.guidance.is_some(), "{refused:?}");
    }
    assert_eq!(coder.text(), "one\r\ntwo\r\n");
}

#[test]
fn symbols_are_edited_in_the_buffer() {
    let mut coder = Coder::opened("class A\n{\n    int F() => 1;\n}\n", Mode::Manual);
    let edit = |symbol: &str, new: &str| {
        Order::Symbol(symbol::SymbolEdit {
            symbol: symbol.to_owned(),
            at: symbol::Where::Replace,
            new: new.to_owned(),
            head: symbol::HeadPolicy::Replaced,
            defines: None,
        })
    };
    assert_eq!(coder.ask(edit("A.F", "int F() => 2;")).status, Status::Success);
    assert_eq!(coder.ask(edit("A.F", "int F() => 3;")).status, Status::Success);
    let refused = coder.ask(edit("A.G", "int G;"));
    assert_eq!(
        (stands(&refused), refused.detail.is_some()),
        ((Status::Exception, WorkflowState::PersistPending), true)
    );
    coder.ask(Order::Commit);
    assert_eq!(coder.text(), "class A\n{\n    int F() => 3;\n}\n");
}

#[test]
fn handles_end_and_unknown_ones_lead_on() {
    let mut coder = Coder::opened("one", Mode::Manual);
    coder.replace("one", "1");
    let own = coder.session.clone();
    let listed = coder.ask(Order::List);
    assert!(listed.detail.is_some_and(|lines| lines.contains("a.cs PersistPending")));
    assert_eq!(stands(&coder.ask(Order::Close)), (Status::Exception, WorkflowState::PersistPending));
    for handle in ["zzz", "", "../x", "a/b"] {
        coder.session = Some(handle.to_owned());
        let unknown = coder.ask(Order::Commit);
        assert_eq!((unknown.status, unknown.session.as_ref()), (Status::Exception, None), "{unknown:?}");
        assert!(unknown.summary.starts_with("there is no session") && unknown.guidance.is_some());
    }
    coder.session.clone_from(&own);
    coder.now += LIFETIME + 1;
    assert!(coder.ask(Order::Commit).summary.contains("has ended"));
    coder.now -= 1;
    assert_eq!(coder.ask(Order::Commit).status, Status::Success);
    let closed = coder.ask(Order::Close);
    assert_eq!((closed.status, closed.session), (Status::Success, None));
    assert_eq!((coder.files.count_notes("sessions"), coder.files.count_notes("texts")), (0, 0));
    coder.session = None;
    assert!(coder.ask(Order::Commit).summary.contains("handle"));
    assert!(coder.ask_with(Order::Open, Some("x.cs"), None).summary.contains("no file x.cs"));
    assert_eq!(coder.files.count_notes("sessions"), 0);
}

#[test]
fn old_sessions_and_their_versions_go() {
    let mut coder = Coder::with("one");
    for number in 0..70 {
        coder.session = None;
        let (old, new) = if number % 2 == 0 { ("one", "two") } else { ("two", "one") };
        let order = Order::Replace {
            old: old.to_owned(),
            new: new.to_owned(),
        };
        assert_eq!(coder.ask_with(order, Some("a.cs"), None).status, Status::Success);
    }
    coder.now += LIFETIME + 1;
    coder.files.write("a.cs", "three");
    coder.session = None;
    coder.ask_with(Order::Open, Some("a.cs"), None);
    assert_eq!((coder.files.count_notes("sessions"), coder.files.count_notes("texts")), (1, 0));
}

#[test]
fn an_open_session_outlives_any_number_of_single_edits() {
    let mut coder = Coder::opened("one\n", Mode::Immediate);
    assert_eq!(coder.replace("one", "two").status, Status::Success);
    let opened = coder.session.clone();
    let mut response = Vec::new();
    for number in 0..260 {
        coder.session = None;
        coder.now += 1;
        let order = Order::Write(format!("{number}\n"));
        let done = coder.ask_with(order, Some("b.cs"), None);
        assert_eq!(done.status, Status::Success);
        response.extend(done.summary.contains("to free space").then_some(done.summary));
    }
    assert_eq!(response.len(), 3, "each that ends is said");
    assert!(
        response[0].contains("the oldest sessions of single edits were removed") && response[0].contains(": 0000000"),
        "{response:?}"
    );
    let last = coder.session.clone();
    for session in [opened, last] {
        coder.session = session;
        let undone = coder.ask(Order::Undo);
        assert_eq!(undone.status, Status::Success, "{undone:?}");
    }
    assert_eq!((coder.text().as_str(), coder.files.text("b.cs").as_str()), ("one\n", "258\n"));
}

#[test]
fn the_last_edit_has_room_however_large_it_is() {
    let mut coder = Coder::with("one\n");
    let mut edits = Vec::new();
    for number in 0..3 {
        coder.session = None;
        coder.now += 1;
        coder.ask_with(Order::Write(format!("{number}{}", "x".repeat(100))), Some("a.cs"), None);
        edits.push(coder.session.clone().expect("a handle"));
    }
    assert_eq!(collect_beyond(&coder.files, coder.now, 9, 305).expect("tidied"), edits[..1]);
    assert_eq!(collect_beyond(&coder.files, coder.now, 9, 10).expect("tidied"), edits[1..2]);
    assert_eq!(
        collect_beyond(&coder.files, coder.now, 9, 10).expect("tidied"),
        Vec::<String>::new()
    );
    assert_eq!(coder.ask(Order::Undo).status, Status::Success);
}

#[test]
fn a_byte_order_mark_that_comes_with_a_text_is_the_files() {
    let mut coder = Coder::with("");
    let held = |coder: &Coder, path: &str| String::from_utf8(coder.files.file(path).expect("a file")).expect("UTF-8");
    coder.files.write("a.cs", "\u{feff}one\n");
    let write = |text: &str| Order::Write(text.to_owned());
    assert_eq!(coder.ask_with(write("\u{feff}two\n"), Some("a.cs"), None).status, Status::Success);
    assert_eq!(held(&coder, "a.cs"), "\u{feff}two\n");
    assert_eq!(coder.ask_with(write("\u{feff}two\n"), Some("a.cs"), None).status, Status::NoOp);
    assert_eq!(coder.ask(Order::Undo).status, Status::Success);
    assert_eq!(held(&coder, "a.cs"), "\u{feff}one\n");
    let made = coder.ask_with(Order::Create("\u{feff}new\n".to_owned()), Some("b.cs"), None);
    assert_eq!(
        (made.status, held(&coder, "b.cs")),
        (Status::Success, "\u{feff}new\n".to_owned()),
        "{made:?}"
    );
    assert_eq!(
        coder.replace("new", "newer").status,
        Status::Exception,
        "two files, and none is named"
    );
    // A file without the mark gets it, and `undo` removes it.
    coder.files.write("c.cs", "one\n");
    coder.session = None;
    assert_eq!(coder.ask_with(write("\u{feff}one\n"), Some("c.cs"), None).status, Status::Success);
    assert_eq!(held(&coder, "c.cs"), "\u{feff}one\n");
    assert_eq!(coder.replace("one", "1").status, Status::Success);
    assert_eq!(held(&coder, "c.cs"), "\u{feff}1\n");
    coder.ask(Order::Undo);
    assert_eq!(coder.ask(Order::Undo).status, Status::Success);
    assert_eq!(held(&coder, "c.cs"), "one\n");
    // A file with two marks keeps both, also after an edit elsewhere.
    coder.files.write("d.cs", "\u{feff}\u{feff}one\n");
    coder.session = None;
    coder.ask_with(Order::Open, Some("d.cs"), None);
    coder.replace("one", "1");
    coder.ask(Order::PersistAs("e.cs".to_owned()));
    coder.ask_with(Order::Commit, Some("d.cs"), None);
    for path in ["d.cs", "e.cs"] {
        assert_eq!(held(&coder, path), "\u{feff}\u{feff}1\n", "{path}");
    }
}

#[test]
fn a_forged_session_writes_no_file_outside() {
    let mut coder = Coder::opened("one", Mode::Manual);
    coder.replace("one", "1");
    let name = format!("sessions/{}.json", coder.session.clone().expect("a handle"));
    let session = coder.files.read_note(&name).expect("notes").expect("a session");
    let session = String::from_utf8(session).expect("JSON").replace("a.cs", "../a.cs");
    coder.files.write_note(&name, session.as_bytes()).expect("kept");
    let refused = coder.ask(Order::Commit);
    assert!(
        refused.status == Status::Exception && refused.summary.contains("leads out of the workspace"),
        "{refused:?}"
    );
    assert_eq!(coder.files.file("../a.cs"), None);
    // A client can get rid of a damaged session.
    assert_eq!(coder.ask(Order::Discard).status, Status::Success);
    assert_eq!(coder.ask(Order::Close).status, Status::Success);
    assert_eq!((coder.files.count_notes("sessions"), coder.text().as_str()), (0, "one"));
}
