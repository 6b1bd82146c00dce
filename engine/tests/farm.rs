//! A farm that computes for this machine: its results equal local ones, and one that lies or fails costs only time.

use crate::toys::bench::{Bench, How, read_manifest};
use crate::toys::producers::registry;
use engine::build::shard;
use engine::build::sharing::Sharing;
use engine::seams::farm::{Farm, SendThresholds, ShardOutcome};
use engine::seams::producer::{Cancel, Failure, Inputs, Output, Producer, ProducerId, Registry};
use engine::seams::remote::{
    BlobRef, Bundle, BundleOffer, GraphRow, Offered, Prefer, RemoteCache, RemoteSummary, SharedResult, Volume, VolumeIndex, Wanted,
};
use engine::values::digest::{ActionKey, Digest};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Behaviour of a farm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Habit {
    Honest,
    /// It does nothing.
    Dead,
    /// It works until this many shards are done, then it fails.
    Dies(usize),
    /// It never answers.
    Silent,
    Garbage,
    /// Its answers are truncated.
    Cut,
    /// It answers every shard with the first answer.
    Stuck,
    /// It has no result for any target.
    Idle,
    /// Its program is older.
    Older,
}

/// A cache that finds and stores nothing.
struct NoCache;

impl RemoteCache for NoCache {
    fn reads(&self) -> bool {
        false
    }

    fn writes(&self) -> bool {
        false
    }

    fn round_trip(&self) -> Option<Duration> {
        None
    }

    fn find(&self, wanted: &[Wanted]) -> Vec<Option<SharedResult>> {
        vec![None; wanted.len()]
    }

    fn find_results_uncounted(&self, wanted: &[Wanted]) -> Vec<Option<SharedResult>> {
        vec![None; wanted.len()]
    }

    fn refuse(&self, _: &ActionKey) {}

    fn is_spoiled(&self, _: &ActionKey) -> bool {
        false
    }

    fn speed(&self) -> Option<u64> {
        None
    }

    fn find_bundle(&self, _: &[Digest]) -> Option<Bundle> {
        None
    }

    fn read_indexes(&self, addresses: &[&[u8]]) -> Vec<Option<Arc<VolumeIndex>>> {
        vec![None; addresses.len()]
    }

    fn read_graph(&self, _: &[u8], _: &dyn Fn(u64) -> bool) -> Option<Vec<GraphRow>> {
        None
    }

    fn read_volumes(&self, addresses: &[&[u8]]) -> Vec<Option<Volume>> {
        vec![None; addresses.len()]
    }

    fn read_outputs(&self, addresses: &[&[u8]]) -> Vec<Vec<(Digest, Arc<[u8]>)>> {
        vec![Vec::new(); addresses.len()]
    }

    fn fetch(&self, wanted: &[BlobRef]) -> Vec<Option<Arc<[u8]>>> {
        vec![None; wanted.len()]
    }

    fn offer(&self, _: SharedResult, _: Vec<Arc<[u8]>>) -> Offered {
        Offered::Off
    }

    fn store_result(&self, _: SharedResult, _: Vec<Arc<[u8]>>, _: &mut dyn FnMut(Option<SharedResult>) -> bool) {}

    fn offer_bundle(&self, _: &BundleOffer<'_>) -> bool {
        false
    }

    fn finish(&self, _: Option<Duration>) -> RemoteSummary {
        RemoteSummary::default()
    }
}

/// Passes its input on. On the machine with a farm, it waits until the farm was asked `opens_at` times, so that work is left to send.
#[derive(Clone, Default)]
struct Gate {
    asked: Arc<AtomicUsize>,
    opens_at: usize,
}

impl Producer for Gate {
    fn id(&self) -> ProducerId {
        ProducerId::new("gate", 1)
    }

    fn produce(&self, inputs: &Inputs<'_>) -> Result<Output, Failure> {
        while self.asked.load(Ordering::Relaxed) < self.opens_at && !inputs.cancel.is_cancelled() {
            std::thread::yield_now();
        }
        Ok(Output::new(inputs.single("text")?.bytes.to_vec()))
    }
}

/// Returns the toys and a gate.
fn toys(versions: &BTreeMap<&'static str, u32>, gate: Gate) -> Registry {
    let mut registry = registry(versions);
    registry.add(gate);
    registry
}

/// A farm in this process that gets every shard.
struct Hands {
    habit: Habit,
    registry: Registry,
    /// Number of requests.
    asked: Arc<AtomicUsize>,
    /// Outcomes received.
    outcomes: Mutex<Vec<ShardOutcome>>,
    first: Mutex<Option<Vec<u8>>>,
}

impl Hands {
    fn new(habit: Habit) -> Arc<Self> {
        let versions = match habit {
            Habit::Older => ["strip", "upper", "concat", "fragile", "named", "links"]
                .map(|name| (name, 7))
                .into(),
            _ => BTreeMap::new(),
        };
        Arc::new(Self {
            habit,
            registry: toys(&versions, Gate::default()),
            asked: Arc::default(),
            outcomes: Mutex::default(),
            first: Mutex::default(),
        })
    }

    fn received_outcomes(&self) -> Vec<ShardOutcome> {
        self.outcomes.lock().expect("no panic while it is held").clone()
    }

    fn made(&self) -> u64 {
        self.received_outcomes().iter().map(|outcome| outcome.made).sum()
    }
}

impl Farm for Hands {
    fn terms(&self) -> SendThresholds {
        SendThresholds {
            worth: Duration::ZERO,
            backlog: Duration::ZERO,
            shard: Duration::from_secs(1),
            bytes: 4 << 20,
            patience: Duration::ZERO,
        }
    }

    fn is_open(&self) -> bool {
        true
    }

    fn work(&self, bytes: Vec<u8>, given_up: &Cancel) -> Option<Vec<u8>> {
        self.asked.fetch_add(1, Ordering::Relaxed);
        match self.habit {
            Habit::Dead => None,
            Habit::Dies(after) if self.received_outcomes().len() >= after => None,
            Habit::Silent => {
                while !given_up.is_cancelled() {
                    std::thread::yield_now();
                }
                None
            }
            Habit::Garbage => Some(b"no shard".to_vec()),
            Habit::Cut => shard::run_shard(&bytes, &self.registry).map(|mut back| {
                back.pop();
                back
            }),
            Habit::Stuck => {
                let back = shard::run_shard(&bytes, &self.registry)?;
                Some(self.first.lock().expect("no panic while it is held").get_or_insert(back).clone())
            }
            Habit::Idle => shard::run_shard(&bytes, &Registry::default()),
            Habit::Honest | Habit::Dies(_) | Habit::Older => shard::run_shard(&bytes, &self.registry),
        }
    }

    fn note(&self, outcome: &ShardOutcome) {
        self.outcomes.lock().expect("no panic while it is held").push(outcome.clone());
    }
}

const MANIFEST: &str = r#"
[sources.all]
include = ["*.txt"]
[producer]
gate = { uses = "gate" }
strip = { uses = "strip" }
passing = { uses = "upper", keep = false }
links = { uses = "links" }
concat = { uses = "concat", params.prefix = "p" }
fragile = { uses = "fragile" }
named = { uses = "named" }
table = { uses = "table" }
slow = { uses = "slow" }
[[rule]]
target = "//lines/{file}:strip"
each = { file = "sources:all" }
producer = "strip"
inputs = { text = "//lines/{file}:gate" }
[[rule]]
target = "//lines/{file}:gate"
each = { file = "sources:all" }
producer = "gate"
inputs = { text = "//files/{file}:bytes" }
[[rule]]
target = "//lines/{file}:upper"
each = { file = "sources:all" }
producer = "passing"
inputs = { text = "//lines/{file}:strip" }
[[rule]]
target = "//lines/{file}:fragile"
each = { file = "sources:all" }
producer = "fragile"
inputs = { text = "//lines/{file}:strip" }
[[rule]]
target = "//lines/{file}:named"
each = { file = "sources:all" }
producer = "named"
inputs = { text = "//lines/{file}:upper" }
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
"#;

fn machine(farm: Option<&Arc<Hands>>) -> Bench {
    let gate = farm.map_or_else(Gate::default, |farm| Gate {
        asked: farm.asked.clone(),
        // A silent farm is not asked again.
        opens_at: if farm.habit == Habit::Silent { 1 } else { 4 },
    });
    let registry = toys(&BTreeMap::new(), gate);
    let manifest = read_manifest(MANIFEST, &registry);
    let mut bench = Bench::with(Arc::new(manifest), Digest::of(MANIFEST.as_bytes()), registry);
    bench.sharing = farm.map(|farm| Sharing {
        cache: Arc::new(NoCache),
        farm: Some(farm.clone()),
        nearby: None,
        prefer: Prefer::Auto,
    });
    // More than one machine's simultaneous work.
    for number in 0..100 {
        bench.put(
            &format!("{number}.txt"),
            &format!("@link{}\n# comment\ntext {number}\n", number % 3),
        );
    }
    bench
}

const HABITS: [Habit; 9] = [
    Habit::Honest,
    Habit::Dead,
    Habit::Dies(2),
    Habit::Silent,
    Habit::Garbage,
    Habit::Cut,
    Habit::Stuck,
    Habit::Idle,
    Habit::Older,
];

#[test]
fn a_farm_never_changes_an_output() {
    let alone = machine(None);
    alone.put("bad.txt", "FAIL\n");
    let plain = alone.build(&["//..."]);
    for habit in HABITS {
        let hands = Hands::new(habit);
        let bench = machine(Some(&hands));
        bench.put("bad.txt", "FAIL\n");
        let built = bench.build(&["//..."]);
        assert_eq!(built.outputs(), plain.outputs(), "{habit:?}");
        // Of several targets with one key, any may run first.
        assert_eq!(
            (built.ran().len(), built.failures()),
            (plain.ran().len(), plain.failures()),
            "{habit:?}"
        );
        let heard = hands.received_outcomes();
        assert!(!heard.is_empty(), "{habit:?}: nothing was sent");
        match habit {
            Habit::Honest => assert!(heard.iter().all(|outcome| outcome.wrong.is_none()) && hands.made() > 0),
            Habit::Dies(_) => assert!(hands.made() > 0 && heard.iter().any(|outcome| outcome.made == 0)),
            Habit::Garbage | Habit::Cut => assert!(heard.iter().all(|outcome| outcome.wrong.is_some()), "{heard:?}"),
            Habit::Stuck => assert!(heard.iter().any(|outcome| outcome.wrong.is_some()), "{heard:?}"),
            Habit::Dead | Habit::Silent | Habit::Idle => assert_eq!(hands.made(), 0, "{habit:?}"),
            Habit::Older => assert!(heard.iter().all(|outcome| outcome.wrong.is_none()), "{heard:?}"),
        }
    }
}

#[test]
fn results_of_a_farm_are_stored_under_the_same_keys() {
    let hands = Hands::new(Habit::Honest);
    let bench = machine(Some(&hands));
    bench.build(&["//..."]);
    assert!(hands.made() > 0);
    let alone = Bench { sharing: None, ..bench };
    let unread = How {
        outputs: false,
        ..How::default()
    };
    assert_eq!(alone.build_as(&["//..."], &unread).ran(), Vec::<&str>::new());
    // Later edits have the same results as without the farm.
    alone.put("3.txt", "@other\nmoved\n");
    let plain = machine(None);
    plain.put("3.txt", "@other\nmoved\n");
    assert_eq!(alone.build(&["//..."]).outputs(), plain.build(&["//..."]).outputs());
}

#[test]
fn targets_rebuilt_for_comparison_are_built_here() {
    let hands = Hands::new(Habit::Honest);
    let bench = machine(Some(&hands));
    bench.build(&["//..."]);
    let before = hands.received_outcomes().len();
    let how = How {
        rebuilt: true,
        ..How::default()
    };
    let again = bench.build_as(&["//lines/1.txt:strip", "//lines/2.txt:strip"], &how);
    assert_eq!(again.report.tally.rebuilt, 2);
    assert_eq!(hands.received_outcomes().len(), before);
}

#[test]
fn a_build_that_is_stopped_does_not_wait_for_a_farm() {
    let hands = Hands::new(Habit::Silent);
    let bench = machine(Some(&hands));
    let how = How {
        stop_after: Some(12),
        ..How::default()
    };
    assert!(bench.build_as(&["//..."], &how).report.cancelled);
    let plain = machine(None);
    assert_eq!(bench.build(&["//..."]).outputs(), plain.build(&["//..."]).outputs());
}

#[test]
fn rebuilt_targets_may_read_each_other() {
    let bench = machine(None);
    let unread = How {
        outputs: false,
        ..How::default()
    };
    bench.build_as(&["//lines/..."], &unread);
    let how = How { rebuilt: true, ..unread };
    // The first output is not stored, and the second target reads it.
    let again = bench.build_as(&["//lines/1.txt:upper", "//lines/1.txt:named"], &how);
    assert_eq!(again.failures(), vec![]);
    assert!(again.report.tally.rebuilt >= 2, "{:?}", again.report.tally);
}
