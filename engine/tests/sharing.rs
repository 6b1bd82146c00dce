//! Several machines and one remote cache: what one made the others find, and a cache that lies costs time only.

#[allow(dead_code, reason = "each test target uses its own part of the bench")]
mod toys;

use engine::build::sharing::{Sharing, everything, sample};
use engine::graph::NodeId;
use engine::seams::paid::Spent;
use engine::seams::producer::{Failure, Inputs, Output, Params, Pool, Producer, ProducerId};
use engine::seams::remote::{BlobRef, Offered, RemoteCache, RemoteSummary, SharedResult, Wanted};
use engine::store::{Store, shared};
use engine::values::digest::{ActionKey, Digest};
use engine::values::tree::File;
use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;
use toys::bench::{Bench, How, read_manifest};
use toys::producers::registry;

/// In which way a board does not keep its word.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Habit {
    #[default]
    Honest,
    WrongBytes,
    NoBytes,
    OtherKey,
    Garbage,
    /// It finds nothing the first so many times.
    Late(usize),
}

#[derive(Default)]
struct Pinned {
    habit: Habit,
    results: HashMap<ActionKey, SharedResult>,
    bundles: HashMap<Digest, Vec<SharedResult>>,
    blobs: HashMap<Digest, Arc<[u8]>>,
    /// Keys and names that were asked for.
    asked: Vec<Digest>,
}

/// A cache in memory.
#[derive(Clone, Default)]
struct Board(Arc<Mutex<Pinned>>);

impl Board {
    fn pinned(&self) -> MutexGuard<'_, Pinned> {
        self.0.lock().expect("no panic while it is held")
    }

    fn spoil(habit: Habit, mut result: SharedResult) -> SharedResult {
        match habit {
            Habit::OtherKey => result.key = ActionKey(Digest::of(b"other")),
            Habit::Garbage => result.provenance = b"no record".to_vec(),
            _ => {}
        }
        result
    }
}

impl RemoteCache for Board {
    fn reads(&self) -> bool {
        true
    }

    fn writes(&self) -> bool {
        true
    }

    fn round_trip(&self) -> Option<Duration> {
        Some(Duration::from_secs(1_000))
    }

    fn find(&self, wanted: &[Wanted]) -> Vec<Option<SharedResult>> {
        let mut pinned = self.pinned();
        pinned.asked.extend(wanted.iter().map(|wanted| wanted.key.0));
        if let Habit::Late(times @ 1..) = pinned.habit {
            pinned.habit = Habit::Late(times - 1);
            return vec![None; wanted.len()];
        }
        let find = |wanted: &Wanted| Some(Self::spoil(pinned.habit, pinned.results.get(&wanted.key)?.clone()));
        wanted.iter().map(find).collect()
    }

    fn find_bundle(&self, name: &Digest) -> Option<Vec<SharedResult>> {
        let mut pinned = self.pinned();
        pinned.asked.push(*name);
        let found = pinned.bundles.get(name)?.iter().cloned();
        Some(found.map(|result| Self::spoil(pinned.habit, result)).collect())
    }

    fn fetch(&self, wanted: &[BlobRef]) -> Vec<Option<Arc<[u8]>>> {
        let pinned = self.pinned();
        let fetch = |wanted: &BlobRef| match pinned.habit {
            Habit::WrongBytes => Some(vec![b'x'; usize::try_from(wanted.len).expect("a small blob")].into()),
            Habit::NoBytes => None,
            _ => pinned.blobs.get(&wanted.digest).cloned(),
        };
        wanted.iter().map(fetch).collect()
    }

    fn offer(&self, result: SharedResult, blobs: Vec<Arc<[u8]>>) -> Offered {
        let mut pinned = self.pinned();
        pinned.blobs.extend(blobs.into_iter().map(|blob| (Digest::of(&blob), blob)));
        // The first that is filed stays.
        pinned.results.entry(result.key).or_insert(result);
        Offered::Queued
    }

    fn offer_bundle(&self, name: &Digest, results: &[SharedResult], load: &(dyn Fn(&Digest) -> Option<Arc<[u8]>> + Sync)) -> bool {
        let mut pinned = self.pinned();
        for digest in results.iter().flat_map(|result| &result.outputs).map(|output| output.blob.digest) {
            pinned.blobs.extend(load(&digest).map(|blob| (digest, blob)));
        }
        pinned.bundles.insert(*name, results.to_vec());
        true
    }

    fn finish(&self, _: Option<Duration>) -> RemoteSummary {
        RemoteSummary::default()
    }
}

/// A producer that is paid and never says the same twice.
#[derive(Clone, Default)]
struct Pen(Arc<AtomicUsize>);

impl Producer for Pen {
    fn id(&self) -> ProducerId {
        ProducerId::new("pen", 1)
    }

    fn pool(&self, _: &Params) -> Pool {
        Pool::Paid
    }

    fn produce(&self, _: &Inputs<'_>) -> Result<Output, Failure> {
        let said = self.0.fetch_add(1, Ordering::Relaxed);
        Ok(Output {
            spent: Some(Spent {
                calls: 1,
                micros: Some(5),
                ..Spent::default()
            }),
            ..Output::new(format!("answer {said}"))
        })
    }
}

/// A program whose output is a folder, by its name and by how it was confined.
struct Press(&'static str, &'static str);

impl Producer for Press {
    fn id(&self) -> ProducerId {
        ProducerId::new(self.0, 1)
    }

    fn pool(&self, _: &Params) -> Pool {
        Pool::Slow
    }

    fn produce(&self, inputs: &Inputs<'_>) -> Result<Output, Failure> {
        let file = |bytes: &[u8]| File {
            program: false,
            bytes: bytes.into(),
        };
        let text = &inputs.one("text")?.bytes;
        let files = [
            ("deep/er/same", file(b"the same")),
            ("deep/text", file(text)),
            ("same", file(b"the same")),
        ];
        let mut made = Output::tree(&files.map(|(path, file)| (path.to_owned(), file)).into()).expect("names");
        made.notes.insert("sandbox".to_owned(), self.1.to_owned());
        Ok(made)
    }
}

/// What is in a folder.
struct Unfold;

impl Producer for Unfold {
    fn id(&self) -> ProducerId {
        ProducerId::new("unfold", 1)
    }

    fn produce(&self, inputs: &Inputs<'_>) -> Result<Output, Failure> {
        let files = inputs.one("folder")?.tree.as_ref().expect("a folder");
        let lines = files
            .iter()
            .map(|(path, file)| format!("{path}: {}\n", String::from_utf8_lossy(&file.bytes)));
        Ok(Output::new(lines.collect::<String>()))
    }
}

const MANIFEST: &str = r#"
[sources.all]
include = ["*.txt"]
[producer]
strip = { uses = "strip" }
passing = { uses = "upper", keep = false }
links = { uses = "links" }
concat = { uses = "concat" }
slow = { uses = "slow" }
pen = { uses = "pen" }
press = { uses = "press" }
unfold = { uses = "unfold" }
[[rule]]
target = "//lines/{file}:strip"
each = { file = "sources:all" }
producer = "strip"
inputs = { text = "//files/{file}:bytes" }
[[rule]]
target = "//lines/{file}:upper"
each = { file = "sources:all" }
producer = "passing"
inputs = { text = "//lines/{file}:strip" }
[[rule]]
target = "//index:links"
producer = "links"
inputs = { text = { each = "sources:all", target = "//lines/{item}:strip" } }
[[rule]]
target = "//links/{link}:text"
each = { link = "//index:links" }
producer = "concat"
inputs = { text = { each = "sources:all", target = "//lines/{item}:upper" } }
[[rule]]
target = "//all:slow"
producer = "slow"
inputs = { text = { each = "sources:all", target = "//lines/{item}:strip" } }
[[rule]]
target = "//all:folder"
producer = "press"
inputs = { text = "//all:slow" }
[[rule]]
target = "//all:unfolded"
producer = "unfold"
inputs = { folder = "//all:folder" }
[[rule]]
target = "//all:summary"
producer = "pen"
inputs = { text = "//all:slow" }
"#;

/// A machine that shares a board; every other one is asked by its own pen.
fn machine(board: Option<&Board>, pen: &Pen) -> Bench {
    machine_of(MANIFEST, board, pen)
}

fn machine_of(text: &str, board: Option<&Board>, pen: &Pen) -> Bench {
    let mut registry = registry(&BTreeMap::new());
    registry.add(pen.clone());
    registry.add(Press("press", "strict"));
    registry.add(Press("loose", "none"));
    registry.add(Unfold);
    let manifest = read_manifest(text, &registry);
    let mut bench = Bench::with(Arc::new(manifest), Digest::of(text.as_bytes()), registry);
    bench.sharing = board.map(|board| Sharing {
        cache: Arc::new(board.clone()),
        farm: None,
    });
    for number in 0..4 {
        bench.put(&format!("{number}.txt"), &format!("@link{number}\n# comment\ntext {number}\n"));
    }
    bench
}

/// A build whose outputs nobody reads: those that are not kept are not made to be read.
const UNREAD: How = How {
    keep_going: true,
    dry_run: false,
    outputs: false,
    stop_after: None,
    rebuilt: false,
};

/// Builds everything and files it together, as a job does whose purpose is that.
fn warm(bench: &Bench, board: &Board) {
    let built = bench.build(&["//..."]);
    let session = bench.session();
    let roots: Vec<NodeId> = built.report.roots.iter().map(|root| root.id).collect();
    let results = everything(&session.graph, &roots, &*bench.store).expect("a store");
    let load = |digest: &Digest| bench.store.blob(digest).expect("a store");
    assert!(board.offer_bundle(&session.tree(), &results, &load));
}

#[test]
fn a_fresh_machine_beside_a_warm_cache_runs_nothing() {
    let (board, pen) = (Board::default(), Pen::default());
    let one = machine(Some(&board), &pen);
    let made = one.build(&["//..."]);
    assert!(made.ran().contains(&"//all:summary"));
    warm(&one, &board);
    let other = machine(Some(&board), &pen);
    let found = other.build_as(&["//..."], &UNREAD);
    assert_eq!((found.ran(), found.failures()), (vec![], vec![]));
    assert!(found.report.brought.results > 0 && found.report.tally.spent == Spent::default());
    assert_eq!(pen.0.load(Ordering::Relaxed), 1, "one answer for all");
    // What it has now is its own: without the cache nothing runs either.
    board.pinned().bundles.clear();
    board.pinned().results.clear();
    assert_eq!(other.build_as(&["//..."], &UNREAD).ran(), Vec::<&str>::new());
    assert_eq!(other.build(&["//..."]).outputs(), made.outputs());
}

#[test]
fn an_output_that_was_not_brought_is_made_when_it_is_read() {
    let (board, pen) = (Board::default(), Pen::default());
    warm(&machine(Some(&board), &pen), &board);
    let other = machine(Some(&board), &pen);
    other.build_as(&["//links/..."], &UNREAD);
    // Its inputs were known by their digests alone.
    other.put("0.txt", "@link0\nmoved\n");
    let plain = machine(None, &pen);
    plain.put("0.txt", "@link0\nmoved\n");
    assert_eq!(other.build(&["//links/..."]).outputs(), plain.build(&["//links/..."]).outputs());
}

#[test]
fn results_worth_a_question_are_asked_for_and_offered_one_by_one() {
    let (board, pen) = (Board::default(), Pen::default());
    let one = machine(Some(&board), &pen);
    one.build(&["//..."]);
    let mut labels: Vec<String> = board
        .pinned()
        .results
        .values()
        .map(|result| shared::record(result).expect("a record").0.label)
        .collect();
    labels.sort();
    assert_eq!(
        labels,
        ["//all:folder", "//all:slow", "//all:summary", "//all:unfolded", "//index:links"],
        "one of each, programs, an answer"
    );
    let other = machine(Some(&board), &pen);
    let found = other.build(&["//..."]);
    assert!(
        found.ran().iter().all(|label| !labels.iter().any(|shared| shared == label)),
        "{:?}",
        found.ran()
    );
    assert_eq!(found.text("//all:summary"), "answer 0");
    // A few files that moved are no reason to ask for everything.
    let tree = other.session().tree();
    other.put("0.txt", "@link0\nmoved\n");
    let asked = board.pinned().asked.len();
    other.build(&["//..."]);
    let pinned = board.pinned();
    assert!(pinned.asked.len() > asked && !pinned.asked[asked..].contains(&other.session().tree()) && pinned.asked.contains(&tree));
}

#[test]
fn whatever_a_cache_answers_the_outputs_are_the_same() {
    let pen = Pen::default();
    let clean = machine(None, &pen).build(&["//...", "-//all:summary"]).outputs();
    for habit in [Habit::WrongBytes, Habit::NoBytes, Habit::OtherKey, Habit::Garbage, Habit::Honest] {
        let board = Board::default();
        warm(&machine(Some(&board), &pen), &board);
        board.pinned().habit = habit;
        let other = machine(Some(&board), &pen);
        let built = other.build_as(&["//...", "-//all:summary"], &UNREAD);
        assert_eq!(built.failures(), vec![], "{habit:?}");
        assert_eq!(built.ran().is_empty(), habit == Habit::Honest, "{habit:?}");
        assert_eq!(other.build(&["//...", "-//all:summary"]).outputs(), clean, "{habit:?}");
        // Nothing wrong was filed: a build after it, without the cache, has the same.
        let alone = Bench { sharing: None, ..other };
        assert_eq!(alone.build(&["//...", "-//all:summary"]).outputs(), clean, "{habit:?}");
    }
}

#[test]
fn an_answer_that_was_filed_meanwhile_takes_the_place_of_a_later_one() {
    let (board, pen) = (Board::default(), Pen::default());
    machine(Some(&board), &pen).build(&["//all:summary"]);
    board.pinned().bundles.clear();
    // The other looks, finds nothing, asks, and looks again.
    let results = board.pinned().results.len();
    board.pinned().results.retain(|_, result| result.producer == "pen@1");
    assert!(results > 1);
    board.pinned().habit = Habit::Late(2);
    let other = machine(Some(&board), &pen);
    let built = other.build(&["//all:summary"]);
    assert_eq!(pen.0.load(Ordering::Relaxed), 2, "both asked");
    assert_eq!(built.text("//all:summary"), "answer 0");
    assert_eq!(built.report.tally.spent.micros, Some(5), "what it cost is told");
    assert_eq!(other.build(&["//all:summary"]).text("//all:summary"), "answer 0");
}

#[test]
fn a_folder_comes_whole_or_not_at_all() {
    let pen = Pen::default();
    let clean = machine(None, &pen).build(&["//all:unfolded"]).text("//all:unfolded");
    assert!(clean.contains("deep/er/same: the same\ndeep/text: "), "{clean}");
    for bundled in [true, false] {
        for lacking in [false, true] {
            let board = Board::default();
            let one = machine(Some(&board), &pen);
            one.build(&["//all:folder"]);
            if bundled {
                warm(&one, &board);
            }
            if lacking {
                board.pinned().blobs.remove(&Digest::of(b"the same")).expect("a part");
            }
            let other = machine(Some(&board), &pen);
            let folder = other.build(&["//all:folder"]);
            assert_eq!(folder.ran().contains(&"//all:folder"), lacking, "{bundled}");
            assert_eq!(folder.failures(), vec![]);
            // Alone, from what came.
            let alone = Bench { sharing: None, ..other };
            assert_eq!(
                alone.build(&["//all:unfolded"]).text("//all:unfolded"),
                clean,
                "{bundled} {lacking}"
            );
        }
    }
}

#[test]
fn what_nothing_confined_is_not_shared() {
    let (board, pen) = (Board::default(), Pen::default());
    let text = MANIFEST.replace("{ uses = \"press\" }", "{ uses = \"loose\" }");
    warm(&machine_of(&text, Some(&board), &pen), &board);
    let other = machine_of(&text, Some(&board), &pen);
    assert_eq!(other.build(&["//all:unfolded"]).ran(), ["//all:folder"]);
    // Nor is it taken from who shares it all the same.
    let mut pinned = board.pinned();
    let named = |result: &&mut SharedResult| result.producer == "unfold@1";
    let result = pinned.results.values_mut().find(named).expect("shared");
    let (mut record, _) = shared::record(result).expect("a record");
    record.notes.insert("sandbox".to_owned(), "none".to_owned());
    *result = shared::of(&result.key.clone(), &record, &[], true);
    assert!(shared::record(result).is_none());
}

#[test]
fn a_target_that_is_made_again_is_not_asked_for() {
    let (board, pen) = (Board::default(), Pen::default());
    let one = machine(Some(&board), &pen);
    one.build(&["//all:folder"]);
    board.pinned().asked.clear();
    let again = one.build_as(&["//all:folder"], &How { rebuilt: true, ..UNREAD });
    assert_eq!(again.ran().len() + board.pinned().asked.len(), 0);
    assert_eq!(again.report.tally.rebuilt, 1);
}

#[test]
fn what_only_looks_asks_nobody() {
    let (board, pen) = (Board::default(), Pen::default());
    warm(&machine(Some(&board), &pen), &board);
    board.pinned().asked.clear();
    let other = machine(Some(&board), &pen);
    other.build_as(
        &["//..."],
        &How {
            dry_run: true,
            outputs: false,
            ..How::default()
        },
    );
    assert_eq!(board.pinned().asked, Vec::<Digest>::new());
}

#[test]
fn what_others_made_is_drawn_first() {
    let (board, pen) = (Board::default(), Pen::default());
    let one = machine(Some(&board), &pen);
    warm(&one, &board);
    let two = machine(Some(&board), &pen);
    two.put("own.txt", "@link0\nmade here\n");
    let built = two.build(&["//lines/..."]);
    let session = two.session();
    let roots: Vec<NodeId> = built.report.roots.iter().map(|root| root.id).collect();
    let draw = |percent: f64, lot: &[u8]| sample(&session.graph, &roots, &*two.store, percent, &Digest::of(lot)).expect("a store");
    let all = draw(100.0, b"a");
    assert!(
        all.len() >= roots.len() && all.iter().any(|label| label == "//lines/own.txt:strip"),
        "{all:?}"
    );
    assert_eq!(draw(0.0, b"a"), Vec::<String>::new());
    let half = draw(50.0, b"a");
    assert_eq!((half.clone(), half.len()), (draw(50.0, b"a"), all.len().div_ceil(2)));
    assert_ne!(half, draw(50.0, b"b"), "another lot");
}
