//! Paid answers, several machines and one remote cache: in any order of requests, all machines have the same answer in the end.

use crate::toys::bench::{Bench, How, read_manifest};
use crate::toys::board::{Board, Habit, LockingPen, Pen, Turns};
use crate::toys::producers::registry;
use engine::build::sharing::Sharing;
use engine::seams::producer::{Failure, Producer};
use engine::seams::remote::{Prefer, SharedResult};
use engine::store::unconfirmed::{OLD, SETTLED};
use engine::store::{Store, shared};
use engine::values::digest::{ActionKey, Digest};
use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Barrier, Mutex};

/// An answer, and a target that reads it.
const MANIFEST: &str = r#"
[sources.all]
include = ["*.txt"]
[producer]
pen = { uses = "pen" }
upper = { uses = "upper" }
[[rule]]
target = "//a:summary"
producer = "pen"
inputs = { text = "//files/a.txt:bytes" }
[[rule]]
target = "//a:shout"
producer = "upper"
inputs = { text = "//a:summary" }
"#;

const ALL: &[&str] = &["//..."];
/// Seconds since 1970.
const BEGINNING: u64 = 1_000_000;

fn machine(board: &Board, pen: &Pen) -> Bench {
    machine_with(board, pen.clone())
}

/// Returns a machine that locks its questions; `before` runs after the lock is acquired and before the answer.
fn locking_machine(board: &Board, pen: &Pen, before: impl Fn() -> Result<(), Failure> + Send + Sync + 'static) -> Bench {
    machine_with(board, LockingPen(pen.clone(), Arc::new(before)))
}

fn machine_with(board: &Board, pen: impl Producer + 'static) -> Bench {
    let mut registry = registry(&BTreeMap::new());
    registry.add(pen);
    let manifest = read_manifest(MANIFEST, &registry);
    let mut bench = Bench::with(Arc::new(manifest), Digest::of(MANIFEST.as_bytes()), registry);
    bench.sharing = Some(Sharing {
        cache: Arc::new(board.clone()),
        farm: None,
        nearby: None,
        prefer: Prefer::Auto,
    });
    bench.put("a.txt", "text");
    set_time(&bench, BEGINNING);
    bench
}

fn set_time(bench: &Bench, seconds: u64) {
    bench.world.set_now(i64::try_from(seconds * 1_000_000_000).expect("before 2262"));
}

/// Builds on a machine and returns its answer; checks that the reading target follows it.
fn answer(bench: &Bench) -> String {
    let built = bench.build(ALL);
    assert_eq!(built.failures(), vec![]);
    let answer = built.text("//a:summary");
    assert_eq!(built.text("//a:shout"), shout(&answer));
    answer
}

/// Returns the output of the reading target for an answer.
fn shout(answer: &str) -> String {
    format!("V1\n[TEXT ]{}\n", answer.to_uppercase())
}

/// Returns the answer in the remote cache.
fn pinned(board: &Board) -> String {
    let pinned = board.pinned();
    let [result] = &pinned
        .results
        .values()
        .filter(|result| result.producer == "pen@1")
        .collect::<Vec<_>>()[..]
    else {
        panic!("one answer");
    };
    let record = shared::record(result).expect("a record");
    String::from_utf8(pinned.blobs[&record.output].to_vec()).expect("text")
}

/// Returns all orders of so many steps of the two machines.
fn orders(steps: [usize; 2]) -> Vec<Vec<usize>> {
    if steps == [0, 0] {
        return vec![Vec::new()];
    }
    let mut all = Vec::new();
    for who in [0, 1] {
        let mut rest = steps;
        if let Some(fewer) = rest[who].checked_sub(1) {
            rest[who] = fewer;
            all.extend(orders(rest).into_iter().map(|order| [vec![who], order].concat()));
        }
    }
    all
}

/// Two machines ask at the same time: each looks up, asks, looks up again, writes, and reads back. In any order of these steps, one more build on
/// each leaves both machines and the cache with the same answer, and another changes nothing.
#[test]
fn two_machines_converge_in_any_order() {
    let orders = orders([4, 4]);
    assert_eq!(orders.len(), 70);
    let mut both_asked = 0;
    for habit in [Habit::Honest, Habit::WriteOnce] {
        for order in &orders {
            let (board, pen, turns) = (Board::default(), Pen::default(), Turns::new(order));
            board.pinned().habit = habit;
            let machines = [0, 1].map(|who| machine(&board.of(who, &turns), &pen));
            std::thread::scope(|scope| {
                for (who, machine) in machines.iter().enumerate() {
                    let turns = turns.clone();
                    scope.spawn(move || {
                        machine.build(ALL);
                        turns.leave(who);
                    });
                }
            });
            let asked = pen.0.load(Ordering::Relaxed);
            both_asked += usize::from(asked == 2);
            if habit == Habit::WriteOnce {
                // In the same build, the machine that could not write took over the cached answer and all outputs based on it.
                let has = |machine: &Bench| machine.session().last("//a:shout").expect("a store").expect("made").record.output;
                assert_eq!(has(&machines[0]), has(&machines[1]), "{order:?}");
            }
            let then = machines.each_ref().map(answer);
            assert_eq!(then, [pinned(&board), pinned(&board)], "{habit:?} {order:?}");
            assert_eq!(machines.each_ref().map(answer), then, "{habit:?} {order:?}");
            assert_eq!(pen.0.load(Ordering::Relaxed), asked, "nobody asks a model again");
        }
    }
    assert!(both_asked > 60, "{both_asked}");
}

#[test]
fn machines_converge_after_a_cache_outage() {
    for away in [vec![0], vec![1], vec![0, 1]] {
        for first in [0, 1] {
            let (board, pen) = (Board::default(), Pen::default());
            let machines = [0, 1].map(|who| machine(&board.of(who, &Turns::default()), &pen));
            for (who, machine) in machines.iter().enumerate() {
                board.pinned().habit = if away.contains(&who) { Habit::Down } else { Habit::Honest };
                machine.build(ALL);
            }
            board.pinned().habit = Habit::Honest;
            answer(&machines[first]);
            answer(&machines[1 - first]);
            let then = machines.each_ref().map(answer);
            assert_eq!(then, [pinned(&board), pinned(&board)], "{away:?} {first}");
        }
    }
}

#[test]
fn a_fresh_answer_replaces_the_stored_one() {
    let (board, pen) = (Board::default(), Pen::default());
    let one = machine(&board, &pen);
    let first = answer(&one);
    let how = How {
        fresh: true,
        ..How::default()
    };
    assert_eq!(one.build_as(&["//a:summary"], &how).failures(), vec![]);
    let second = answer(&one);
    assert_ne!(first, second);
    assert_eq!(pinned(&board), second);
    assert_eq!(answer(&machine(&board, &pen)), second);
}

#[test]
fn confirmed_answers_are_not_asked_for_again() {
    let (board, pen) = (Board::default(), Pen::default());
    let one = machine(&board, &pen);
    answer(&one);
    assert_eq!(one.known(ALL), None, "it may be another's at any moment");
    let asked = |bench: &Bench| {
        board.pinned().asked.clear();
        answer(bench);
        board.pinned().asked.len()
    };
    assert_eq!(asked(&one), 1);
    // Until then, other machines may still be asking.
    let later = |seconds: u64| set_time(&one, BEGINNING + seconds);
    later(SETTLED - 1);
    assert_eq!((one.known(ALL), asked(&one)), (None, 1));
    later(SETTLED);
    assert_eq!((one.known(ALL), asked(&one)), (None, 1));
    assert!(one.known(ALL).is_some(), "a build with nothing to do looks at nothing");
    assert_eq!(asked(&one), 0);
    // An answer found in the cache may be replaced, too, unless it is an old one.
    let two = machine(&board, &pen);
    answer(&two);
    assert_eq!(two.known(ALL), None);
    let three = machine(&board, &pen);
    set_time(&three, BEGINNING + OLD);
    answer(&three);
    assert!(three.known(ALL).is_some());
    assert_eq!(pen.0.load(Ordering::Relaxed), 1);
}

#[test]
fn a_replaced_answer_is_adopted_and_its_readers_rebuilt() {
    let (board, pen) = (Board::default(), Pen::default());
    let one = machine(&board, &pen);
    answer(&one);
    let key = *board
        .pinned()
        .results
        .iter()
        .find(|(_, result)| result.producer == "pen@1")
        .expect("an answer")
        .0;
    let first = board.pinned().results.remove(&key).expect("an answer");
    let two = machine(&board, &pen);
    assert_eq!(answer(&two), "answer 1");
    // If the cache's answer is unusable, this machine's answer replaces it.
    let second = board.pinned().results.insert(key, first.clone()).expect("an answer");
    let lost = shared::record(&first).expect("a record");
    board.pinned().blobs.remove(&lost.output);
    assert_eq!((answer(&two), pinned(&board)), ("answer 1".to_owned(), "answer 1".to_owned()));
    board.pinned().results.insert(key, second);
    let built = one.build(ALL);
    assert_eq!((built.text("//a:shout"), built.report.tally.adopted), (shout("answer 1"), 1));
    let versions = one.store.history(engine::store::ViewId(1), "//a:summary").expect("a store");
    assert_eq!(versions.len(), 2);
    // A machine without write access also asks.
    let mut reader = Board::default();
    reader.reads_only = true;
    let third = machine(&reader, &pen);
    assert_eq!(answer(&third), "answer 2");
    assert_eq!(reader.pinned().results.len(), 0);
    let theirs = board.pinned().results.clone();
    reader.pinned().results = theirs;
    let blobs = board.pinned().blobs.clone();
    reader.pinned().blobs = blobs;
    assert_eq!(answer(&third), "answer 1");
}

#[test]
fn a_machine_waits_for_an_answer_whose_question_another_locked() {
    let (board, pen) = (Board::default(), Pen::default());
    let (locked, second) = (Arc::new(Barrier::new(2)), Arc::new(AtomicUsize::new(0)));
    let first = {
        let (board, locked) = (board.clone(), locked.clone());
        locking_machine(&board.clone(), &pen, move || {
            locked.wait();
            // The other machine looks for the result, for the lock, and then for the answer again and again.
            let before = board.pinned().asked.len();
            while board.pinned().asked.len() < before + 6 {
                std::thread::yield_now();
            }
            Ok(())
        })
    };
    let other = {
        let second = second.clone();
        locking_machine(&board.of(1, &Turns::default()), &pen, move || {
            second.fetch_add(1, Ordering::Relaxed);
            Ok(())
        })
    };
    std::thread::scope(|scope| {
        let answer_of_first = scope.spawn(|| answer(&first));
        locked.wait();
        assert_eq!(answer(&other), "answer 0");
        assert_eq!(answer_of_first.join().expect("it ends"), "answer 0");
    });
    assert_eq!((pen.0.load(Ordering::Relaxed), second.load(Ordering::Relaxed)), (1, 0));
}

#[test]
fn question_locks_without_an_answer_are_withdrawn_or_expire() {
    let (board, held) = (Board::default(), Arc::new(Mutex::new(HashMap::new())));
    let machine = {
        let (of_failing, held) = (board.clone(), held.clone());
        let fails = AtomicBool::new(true);
        locking_machine(&board, &Pen::default(), move || {
            *held.lock().expect("no panic") = of_failing.pinned().results.clone();
            match fails.swap(false, Ordering::Relaxed) {
                true => Err(Failure::permanent("no answer")),
                false => Ok(()),
            }
        })
    };
    let times = |results: &HashMap<ActionKey, SharedResult>| -> Vec<u64> {
        let records = results.values().map(|lock| shared::record(lock).expect("a record"));
        records.map(|lock| lock.made_at).collect()
    };
    assert_eq!(machine.build(ALL).failures().len(), 1);
    assert_eq!(times(&held.lock().expect("no panic")), [BEGINNING], "while it asked");
    assert_eq!(times(&board.pinned().results), [0], "after it failed");
    // As a machine that is switched off leaves its lock: it itself asks again at once, others when the lock is old.
    for (who, seconds) in [(0, 0), (1, 300)] {
        board.pinned().results = held.lock().expect("no panic").clone();
        let other = locking_machine(&board.of(who, &Turns::default()), &Pen::default(), || Ok(()));
        let asks = if who == 0 { &machine } else { &other };
        set_time(asks, BEGINNING + seconds);
        assert_eq!(answer(asks), "answer 0");
    }
}
