//! Results of other machines: found, fetched, offered, and refused where they are wrong.

use super::machines::{MANIFEST, UNREAD, machine, machine_of, warm};
use crate::toys::bench::{Bench, How};
use crate::toys::board::{Board, Habit, Pen};
use engine::build::sharing::{collect_results, sample};
use engine::graph::NodeId;
use engine::seams::paid::Spent;
use engine::seams::remote::{Prefer, SharedResult};
use engine::store::shared;
use engine::values::digest::Digest;
use std::collections::HashSet;
use std::sync::atomic::Ordering;

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
    assert!(found.report.brought.count() > 0 && found.report.tally.spent == Spent::default());
    assert_eq!(pen.0.load(Ordering::Relaxed), 1, "one answer for all");
    // The results are now its own: without the cache nothing runs either.
    board.pinned().bundles.clear();
    board.pinned().results.clear();
    assert_eq!(other.build_as(&["//..."], &UNREAD).ran(), Vec::<&str>::new());
    assert_eq!(other.build(&["//..."]).outputs(), made.outputs());
}

#[test]
fn remote_answers_are_the_previous_answer() {
    let (board, pen) = (Board::default(), Pen::default());
    let text = MANIFEST.replace("uses = \"pen\"", "uses = \"patcher\"");
    let machine = || machine_of(&text, Some(&board), &pen);
    let one = machine();
    assert_eq!(one.build(&["//all:summary"]).text("//all:summary"), "new");
    let slow = one.build(&["//all:slow"]).text("//all:slow");
    let made_of = |text: &str| Digest::of(text.as_bytes()).short();
    // It never had the first state of the sources, only the cached results.
    let other = machine();
    other.put("0.txt", "@link0\nmoved\n");
    let expected = format!("new made of {}", made_of(&slow));
    assert_eq!(other.build(&["//all:summary"]).text("//all:summary"), expected);
    // Its own last answer takes precedence over cached ones.
    one.put("1.txt", "@link1\nmoved\n");
    assert_eq!(one.build(&["//all:summary"]).text("//all:summary"), expected);
    // A request for a fresh answer gets one, and a lying cache gives none.
    let third = machine();
    third.put("2.txt", "@link2\nmoved\n");
    let fresh = How { fresh: true, ..UNREAD };
    third.build_as(&["//all:summary"], &fresh);
    assert_eq!(third.build(&["//all:summary"]).text("//all:summary"), "new");
    for habit in [Habit::WrongBytes, Habit::NoBytes, Habit::OtherKey, Habit::Garbage, Habit::Down] {
        board.pinned().habit = habit;
        let fourth = machine();
        fourth.put("3.txt", &format!("@link3\n{habit:?}\n"));
        assert_eq!(fourth.build(&["//all:summary"]).text("//all:summary"), "new", "{habit:?}");
    }
}

#[test]
fn missing_outputs_are_fetched_or_built_when_read() {
    // The cache is so slow that running everything is faster.
    for prefer in [Prefer::Fetch, Prefer::Make, Prefer::Auto] {
        let (board, pen) = (Board::default(), Pen::default());
        warm(&machine(Some(&board), &pen), &board);
        let mut other = machine(Some(&board), &pen);
        other.sharing.iter_mut().for_each(|sharing| sharing.prefer = prefer);
        other.build_as(&["//links/..."], &UNREAD);
        let before = board.pinned().opened;
        // Its inputs were known by digest only.
        other.put("0.txt", "@link0\nmoved\n");
        let plain = machine(None, &pen);
        plain.build(&["//links/..."]);
        plain.put("0.txt", "@link0\nmoved\n");
        let (built, clean) = (other.build(&["//links/..."]), plain.build(&["//links/..."]));
        assert_eq!(built.outputs(), clean.outputs());
        assert_eq!(board.pinned().opened > before, prefer == Prefer::Fetch, "{prefer:?}");
        assert!(built.ran().len() >= clean.ran().len());
    }
}

/// A job that signs vouches for what it made itself, and for what a trusted key signed.
#[test]
fn unsigned_results_are_not_bundled() {
    let (board, pen) = (Board::default(), Pen::default());
    warm(&machine(Some(&board), &pen), &board);
    let other = machine(Some(&board), &pen);
    let built = other.build_as(&["//...", "-//all:summary"], &UNREAD);
    let session = other.session();
    let roots: Vec<NodeId> = built.report.roots.iter().map(|root| root.id).collect();
    let collect =
        |insists: bool| collect_results(&session.graph, &roots, &*session.engine.store, &HashSet::new(), insists).expect("a store");
    let (all, vouched) = (collect(false), collect(true));
    assert!(all.unsigned == 0 && !all.results.is_empty());
    assert_eq!((vouched.results.len(), vouched.unsigned), (0, all.results.len()));
    let own = machine(None, &pen);
    let built = own.build(&["//...", "-//all:summary"]);
    let session = own.session();
    let roots: Vec<NodeId> = built.report.roots.iter().map(|root| root.id).collect();
    let own = collect_results(&session.graph, &roots, &*session.engine.store, &HashSet::new(), true).expect("a store");
    assert_eq!((own.results.len(), own.unsigned), (all.results.len(), 0));
}

/// A merge request edits one file of a warmed tree: only targets that depend on the file run, as on the machine that built the tree.
#[test]
fn the_nearest_tree_serves() {
    let pen = Pen::default();
    let edits = [
        ("2.txt", "@link2\nmoved\n"),
        ("2.txt", "@other\nmoved\n"),
        ("9.txt", "@link2\nnew\n"),
    ];
    for (path, text) in edits {
        let board = Board::default();
        warm(&machine(Some(&board), &pen), &board);
        let before = machine(None, &pen);
        before.build(&["//...", "-//all:summary"]);
        before.put(path, text);
        let incremental = before.build(&["//...", "-//all:summary"]);
        let fresh = machine(Some(&board), &pen);
        fresh.put(path, text);
        let built = fresh.build(&["//...", "-//all:summary"]);
        // Unstored outputs are run again for their readers; of targets with one key, any may run.
        let kept = |labels: Vec<&str>| {
            let kept = labels.into_iter().filter(|label| !label.ends_with(":upper"));
            let family = |label: &str| label.split("/link").next().unwrap_or_default().to_owned();
            kept.map(family).collect::<Vec<_>>()
        };
        assert_eq!(kept(built.ran()), kept(incremental.ran()), "{path} {text}");
        assert_eq!(built.outputs(), incremental.outputs());
        assert!(built.report.brought.is_near && built.report.brought.count() > 0);
    }
}

#[test]
fn a_bundle_whose_volumes_are_gone_costs_time_only() {
    let (board, pen) = (Board::default(), Pen::default());
    warm(&machine(Some(&board), &pen), &board);
    let clean = machine(None, &pen).build(&["//...", "-//all:summary"]);
    let all = board.pinned().volumes.len();
    for left in [all / 2, 0] {
        let ids: Vec<Digest> = board.pinned().volumes.keys().copied().collect();
        board.pinned().results.clear();
        ids.iter().skip(left).for_each(|id| drop(board.pinned().volumes.remove(id)));
        let other = machine(Some(&board), &pen);
        let built = other.build(&["//...", "-//all:summary"]);
        assert_eq!((built.outputs(), built.failures()), (clean.outputs(), vec![]));
        // Of two targets with one key, either may run.
        assert!(left > 0 || (built.report.brought.results == 0 && built.ran().len() == clean.ran().len()));
    }
}

/// A first build in an untrusted workspace, then trust, then everything.
#[test]
fn a_checkout_built_without_the_cache_asks_it_later() {
    let (board, pen) = (Board::default(), Pen::default());
    warm(&machine(Some(&board), &pen), &board);
    let mut other = machine(None, &pen);
    other.build(&["//links/..."]);
    other.sharing = machine(Some(&board), &pen).sharing;
    // A request known to be current reads nothing from the cache.
    assert_eq!(other.build_as(&["//links/..."], &UNREAD).report.brought.results, 0);
    let built = other.build_as(&["//..."], &UNREAD);
    assert_eq!(built.ran(), Vec::<&str>::new());
    assert!(built.report.brought.count() > 0, "{:?}", built.report.brought);
    // The cache is asked only once.
    board.pinned().bundles.clear();
    other.put("0.txt", "@link0\nmoved\n");
    warm(&machine(Some(&board), &pen), &board);
    assert_eq!(other.build_as(&["//..."], &UNREAD).report.brought.results, 0);
}

#[test]
fn a_cache_that_was_down_is_asked_once_it_answers() {
    let (board, pen) = (Board::default(), Pen::default());
    let mut other = machine(None, &pen);
    other.build(&["//links/..."]);
    other.sharing = machine(Some(&board), &pen).sharing;
    board.pinned().habit = Habit::Down;
    assert!(!other.build_as(&["//..."], &UNREAD).ran().is_empty());
    board.pinned().habit = Habit::Honest;
    let one = machine(Some(&board), &pen);
    one.put("0.txt", "@link0\nmoved\n");
    warm(&one, &board);
    other.put("0.txt", "@link0\nmoved\n");
    assert!(other.build_as(&["//..."], &UNREAD).report.brought.count() > 0);
}

#[test]
fn known_volumes_are_not_read_again() {
    let (board, pen) = (Board::default(), Pen::default());
    warm(&machine(Some(&board), &pen), &board);
    let other = machine(Some(&board), &pen);
    let first = other.build_as(&["//..."], &UNREAD).report.brought;
    assert!(first.results > 0);
    for number in 10..30 {
        other.put(&format!("{number}.txt"), "@link0\nmore\n");
    }
    let again = other.build_as(&["//..."], &UNREAD).report.brought;
    assert_eq!((again.results, again.outputs, again.is_near), (0, 0, true));
}

#[test]
fn dear_results_are_looked_up_and_offered_singly() {
    let (board, pen) = (Board::default(), Pen::default());
    let one = machine(Some(&board), &pen);
    one.build(&["//..."]);
    let mut labels: Vec<String> = board
        .pinned()
        .results
        .values()
        .map(|result| shared::record(result).expect("a record").label)
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
    // A few changed files do not justify a request for everything.
    let tree = other.session().tree();
    other.put("0.txt", "@link0\nmoved\n");
    let asked = board.pinned().asked.len();
    other.build(&["//..."]);
    let pinned = board.pinned();
    assert!(pinned.asked.len() > asked && !pinned.asked[asked..].contains(&other.session().tree()) && pinned.asked.contains(&tree));
}

#[test]
fn a_cache_never_changes_an_output() {
    let pen = Pen::default();
    let clean = machine(None, &pen).build(&["//...", "-//all:summary"]).outputs();
    for habit in [Habit::WrongBytes, Habit::NoBytes, Habit::OtherKey, Habit::Garbage, Habit::Honest] {
        let board = Board::default();
        warm(&machine(Some(&board), &pen), &board);
        board.pinned().habit = habit;
        let other = machine(Some(&board), &pen);
        let built = other.build_as(&["//...", "-//all:summary"], &UNREAD);
        assert_eq!(built.failures(), vec![], "{habit:?}");
        // Records are not read where the graph of the tree says what is current.
        let lacks_outputs = matches!(habit, Habit::WrongBytes | Habit::NoBytes);
        assert_eq!(built.ran().is_empty(), !lacks_outputs, "{habit:?}");
        assert_eq!(other.build(&["//...", "-//all:summary"]).outputs(), clean, "{habit:?}");
        // No wrong result was stored: a later build without the cache has the same outputs.
        let alone = Bench { sharing: None, ..other };
        assert_eq!(alone.build(&["//...", "-//all:summary"]).outputs(), clean, "{habit:?}");
    }
}

#[test]
fn the_first_stored_answer_replaces_later_ones() {
    let (board, pen) = (Board::default(), Pen::default());
    machine(Some(&board), &pen).build(&["//all:summary"]);
    board.pinned().bundles.clear();
    // The other machine finds nothing, asks, and looks up again.
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
fn trees_are_fetched_whole_or_not_at_all() {
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
            // In a bundle, its readers detect the missing part.
            assert_eq!(folder.ran().contains(&"//all:folder"), lacking && !bundled, "{bundled}");
            assert_eq!(folder.failures(), vec![]);
            // Without the cache, from the downloaded results.
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
fn results_of_unconfined_programs_are_not_shared() {
    let (board, pen) = (Board::default(), Pen::default());
    let text = MANIFEST.replace("{ uses = \"press\" }", "{ uses = \"loose\" }");
    warm(&machine_of(&text, Some(&board), &pen), &board);
    let other = machine_of(&text, Some(&board), &pen);
    assert_eq!(other.build(&["//all:unfolded"]).ran(), ["//all:folder"]);
    // Nor is it accepted from a machine that shares it all the same.
    let mut pinned = board.pinned();
    let named = |result: &&mut SharedResult| result.producer == "unfold@1";
    let result = pinned.results.values_mut().find(named).expect("shared");
    let mut record = shared::record(result).expect("a record");
    record.notes.insert("sandbox".to_owned(), "none".to_owned());
    *result = shared::encode_result(&result.key.clone(), &record, &[]);
    assert!(shared::record(result).is_none());
}

#[test]
fn rebuilt_targets_are_not_looked_up() {
    let (board, pen) = (Board::default(), Pen::default());
    let one = machine(Some(&board), &pen);
    one.build(&["//all:folder"]);
    board.pinned().asked.clear();
    let again = one.build_as(&["//all:folder"], &How { rebuilt: true, ..UNREAD });
    assert_eq!(again.ran().len() + board.pinned().asked.len(), 0);
    assert_eq!(again.report.tally.rebuilt, 1);
}

#[test]
fn a_dry_run_asks_no_remote_cache() {
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
fn samples_draw_remote_results_first() {
    let (board, pen) = (Board::default(), Pen::default());
    let one = machine(Some(&board), &pen);
    warm(&one, &board);
    let two = machine(Some(&board), &pen);
    two.put("own.txt", "@link0\nmade here\n");
    let built = two.build(&["//lines/..."]);
    let session = two.session();
    let roots: Vec<NodeId> = built.report.roots.iter().map(|root| root.id).collect();
    let draw =
        |percent: f64, lot: &[u8]| sample(&session.graph, &roots, &*session.engine.store, percent, &Digest::of(lot)).expect("a store");
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

/// The name of a bundle depends on the inputs of keys, and on nothing else in the manifest.
#[test]
fn bundles_are_named_by_what_enters_keys() {
    let pen = Pen::default();
    let name = |text: &str| machine_of(text, None, &pen).session().tree();
    let before = name(MANIFEST);
    let remote = "[remote]\nendpoint = \"grpc://127.0.0.1:9\"\nsalt = \"other\"\nread = false\n";
    let (first, second) = MANIFEST.split_once("[[rule]]\ntarget = \"//lines/{file}:upper\"").expect("rules");
    let (head, rules) = first.split_once("[[rule]]").expect("rules");
    let swapped = format!("{head}[[rule]]\ntarget = \"//lines/{{file}}:upper\"{second}[[rule]]{rules}");
    for same in [
        format!("# a comment\n{MANIFEST}"),
        format!("{MANIFEST}{remote}"),
        format!("[store]\nmax_size = \"1 GB\"\n{MANIFEST}"),
        swapped,
        MANIFEST.replace("target = \"//all:slow\"", "target = \"//all:slow\"\nout = \"slow.txt\""),
        MANIFEST.replace("keep = false", "keep = true"),
    ] {
        assert_eq!(name(&same), before, "{same}");
    }
    for other in [
        MANIFEST.replace("[\"*.txt\"]", "[\"*.txt\", \"*.md\"]"),
        MANIFEST.replace("[\"*.txt\"]", "[\"*.txt\"]\nexclude = [\"0.txt\"]"),
        MANIFEST.replace("strip = { uses = \"strip\" }", "strip = { uses = \"upper\" }"),
        MANIFEST.replace("pen = { uses = \"pen\" }", "pen = { uses = \"pen\", params.voice = 1 }"),
        MANIFEST
            .replace("target = \"//all:slow\"", "target = \"//one:slow\"")
            .replace("\"//all:slow\"", "\"//one:slow\""),
        MANIFEST.replace("inputs = { text = \"//all:slow\" }", "inputs = { text = \"//index:links\" }"),
        format!("{MANIFEST}[[rule]]\ntarget = \"//more:slow\"\nproducer = \"slow\"\ninputs = {{ text = \"//index:links\" }}\n"),
    ] {
        assert_ne!(name(&other), before, "{other}");
    }
    let moved = machine_of(MANIFEST, None, &pen);
    moved.put("0.txt", "moved");
    assert_ne!(moved.session().tree(), before);
}

/// Each target is counted once, by its final outcome: one with wrong bytes ran, and is not a hit.
#[test]
fn unusable_results_are_no_hits() {
    let pen = Pen::default();
    for habit in [Habit::WrongBytes, Habit::NoBytes, Habit::Honest] {
        let board = Board::default();
        warm(&machine(Some(&board), &pen), &board);
        board.pinned().habit = habit;
        let other = machine(Some(&board), &pen);
        let built = other.build_as(&["//...", "-//all:summary"], &UNREAD);
        let tally = &built.report.tally;
        assert_eq!(tally.cached + tally.verified, 0, "{habit:?} {tally:?}");
        assert_eq!(tally.ran == 0, habit == Habit::Honest, "{habit:?} {tally:?}");
    }
}

/// A machine whose clock is a day off.
#[test]
fn a_clock_a_day_off_changes_no_output() {
    const DAY: i64 = 24 * 60 * 60 * 1_000_000_000;
    const NOW: i64 = 20_000 * DAY;
    for (warming, reading) in [(NOW - DAY, NOW), (NOW + DAY, NOW), (NOW, i64::MAX / 2), (NOW, 0)] {
        let (board, pen) = (Board::default(), Pen::default());
        let at = |clock: i64| {
            let machine = machine(Some(&board), &pen);
            machine.world.set_now(clock);
            machine
        };
        let one = at(warming);
        warm(&one, &board);
        let made = one.build(&["//..."]).outputs();
        let other = at(reading);
        assert_eq!(other.build(&["//..."]).outputs(), made, "{warming} {reading}");
        other.put("2.txt", "@other\nmoved\n");
        let plain = machine(None, &Pen::default());
        plain.put("2.txt", "@other\nmoved\n");
        let patterns = ["//...", "-//all:summary"];
        assert_eq!(
            other.build(&patterns).outputs(),
            plain.build(&patterns).outputs(),
            "{warming} {reading}"
        );
        assert_eq!(
            pen.0.load(Ordering::Relaxed),
            1,
            "one answer for both trees, or for none: {warming} {reading}"
        );
    }
}
