//! The model test of garbage collection: random edits, builds, pins and collections in several checkouts over one store on disk. After each
//! collection, everything held exists, nothing old and unheld is left, the store is sound, and every checkout builds the same as without a store.

use engine::build::Options;
use engine::build::engine::{Definition, Engine, EngineError};
use engine::build::finish::Plain;
use engine::build::request::Request;
use engine::build::session::Session;
use engine::files::memory::MemoryWorld;
use engine::graph::pages::each_result;
use engine::manifest::model::Manifest;
use engine::manifest::read::{ManifestSource, load};
use engine::seams::paid::Spent;
use engine::seams::producer::{Cancel, Failure, Inputs, Output, Params, Pool, Producer, ProducerId, Registry};
use engine::store::disk::{DiskOptions, DiskStore};
use engine::store::memory::MemoryStore;
use engine::store::records::{ActionRecord, Class, HistoryRecord};
use engine::store::{Inventory, Part, Store, ViewId};
use engine::values::digest::{ActionKey, Digest};
use engine::values::event::Silent;
use engine::values::pattern::PatternSet;
use proptest::collection::vec;
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use workbench::garbage::{self, GarbageOptions as Gc};
use workbench::store_maintenance;

const MANIFEST: &str = r#"
[workspace]
name = "model"
rulesets = []
[producer.strip]
uses = "strip"
[producer.join]
uses = "join"
[producer.ask]
uses = "ask"
[[rule]]
target = "//doc/{d}:clean"
each = { d = "glob:docs/*" }
producer = "strip"
inputs = { own = "//files/{d}:bytes" }
[[rule]]
target = "//doc/{d}:told"
each = { d = "glob:docs/*" }
producer = "ask"
inputs = { own = "//doc/{d}:clean" }
[[rule]]
target = "//index:all"
producer = "join"
inputs = { all = { each = "glob:docs/*", target = "//doc/{item}:clean" } }
"#;

/// Concatenates its inputs, without lines that begin with `#`.
struct Toy(&'static str);

impl Producer for Toy {
    fn id(&self) -> ProducerId {
        ProducerId::new(self.0, 1)
    }

    fn pool(&self, _: &Params) -> Pool {
        if self.0 == "ask" { Pool::Paid } else { Pool::Cpu }
    }

    fn produce(&self, inputs: &Inputs<'_>) -> Result<Output, Failure> {
        let mut text = format!("{}\n", self.0);
        for input in inputs.roles.values().flatten() {
            let lines = String::from_utf8_lossy(&input.bytes).into_owned();
            lines
                .lines()
                .filter(|line| !line.starts_with('#'))
                .for_each(|line| text.push_str(&format!("{line}\n")));
        }
        // Sometimes long enough to need several pages.
        let text = text.repeat(1 + text.len() % 5 * 40);
        let mut output = Output::new(text);
        output.spent = (self.0 == "ask").then(|| Spent {
            model: "toy".to_owned(),
            calls: 1,
            micros: Some(7),
            ..Spent::default()
        });
        Ok(output)
    }
}

fn registry() -> Registry {
    let mut registry = Registry::default();
    for name in ["strip", "join", "ask"] {
        registry.add(Toy(name));
    }
    registry
}

#[derive(Clone, Debug)]
enum Step {
    Write(usize, usize, u8),
    Delete(usize, usize),
    Build(usize),
    Pin(usize, usize),
    Unpin(usize),
    /// Time passes, in seconds.
    Wait(u64),
    Gc {
        older_than: u64,
        keep_versions: usize,
        paid: bool,
        max_size: Option<u64>,
    },
}

const VIEWS: usize = 3;
const FILES: usize = 3;

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => (0..VIEWS, 0..FILES, 0..7_u8).prop_map(|(view, file, text)| Step::Write(view, file, text)),
        1 => (0..VIEWS, 0..FILES).prop_map(|(view, file)| Step::Delete(view, file)),
        6 => (0..VIEWS).prop_map(Step::Build),
        1 => (0..VIEWS, any::<usize>()).prop_map(|(view, which)| Step::Pin(view, which)),
        1 => (0..VIEWS).prop_map(Step::Unpin),
        2 => prop_oneof![Just(50_u64), Just(500)].prop_map(Step::Wait),
        3 => (prop_oneof![2 => Just(0_u64), 1 => Just(100)], 0..4_usize, any::<bool>(), proptest::option::weighted(0.3, prop_oneof![Just(1_u64), Just(1 << 30)]))
            .prop_map(|(older_than, keep_versions, paid, max_size)| Step::Gc { older_than, keep_versions, paid, max_size }),
    ]
}

struct Bench {
    disk: Arc<DiskStore>,
    worlds: Vec<MemoryWorld>,
    manifest: Arc<Manifest>,
    now: u64,
    _folder: tempfile::TempDir,
}

impl Bench {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let (disk, _) = DiskStore::open(folder.path(), DiskOptions::default()).expect("a store");
        let source = ManifestSource {
            name: "cortex.toml".to_owned(),
            text: MANIFEST,
        };
        let manifest = load(&source, None, &|_| None, &[], &registry()).expect("a good manifest").manifest;
        let bench = Self {
            disk: Arc::new(disk),
            worlds: (0..VIEWS).map(|_| MemoryWorld::new()).collect(),
            manifest: Arc::new(manifest),
            now: 1_000_000,
            _folder: folder,
        };
        bench.tick();
        bench.worlds.iter().for_each(|world| world.write_source("docs/0", "first"));
        bench
    }

    fn tick(&self) {
        let nanos = i64::try_from(self.now * 1_000_000_000).expect("in range");
        self.worlds.iter().for_each(|world| world.set_now(nanos));
    }

    fn session(&self, view: usize, store: Arc<dyn Store>) -> Session {
        let engine = Engine {
            world: Arc::new(self.worlds[view].clone()),
            store,
            registry: Arc::new(registry()),
            view: ViewId(view as u64),
            finish: Arc::new(Plain),
            priority: Arc::new(engine::seams::priority::Unweighted),
            lineage: Arc::new(engine::seams::lineage::Unnamed),
            annotate: Arc::new(engine::seams::annotate::Unannotated),
            sharing: None,
            graphs: None,
            turn: None,
        };
        let digest = Digest::of(MANIFEST.as_bytes());
        let manifest = self.manifest.clone();
        let look = engine.read_sources::<EngineError>(&digest, || Ok(manifest)).expect("a look");
        let definition = Definition {
            rows: Vec::new(),
            digest,
            manifest: self.manifest.clone(),
        };
        Session::open(engine, &definition, look).expect("a session")
    }

    /// Returns the outputs of everything in a checkout.
    fn build(&self, view: usize, store: Arc<dyn Store>) -> BTreeMap<String, Option<Vec<u8>>> {
        let texts = ["//...".to_owned()];
        let request = Request {
            patterns: PatternSet::parse(&texts).expect("a pattern"),
            list: true,
            digest: Digest::of(texts[0].as_bytes()),
            options: Options {
                jobs: 1,
                keep_going: true,
                ..Options::default()
            },
            outputs: true,
        };
        let report = self
            .session(view, store)
            .build(&request, &Silent, &Cancel::default())
            .expect("a report");
        assert!(report.failures.is_empty(), "{:?}", report.failures);
        let outputs = report.outputs.iter().map(|output| output.as_ref().map(|bytes| bytes.to_vec()));
        report.roots.iter().map(|root| root.label.to_string()).zip(outputs).collect()
    }

    fn actions(&self) -> BTreeMap<ActionKey, ActionRecord> {
        let mut actions = BTreeMap::new();
        self.disk
            .each_action(|key, record| {
                actions.insert(*key, record.clone());
            })
            .expect("a store");
        actions
    }

    fn labels(&self) -> BTreeSet<String> {
        let docs = (0..FILES).flat_map(|file| [format!("//doc/docs/{file}:clean"), format!("//doc/docs/{file}:told")]);
        docs.chain(["//index:all".to_owned()]).collect()
    }

    /// Returns the labels of nodes in any graph, and the views with a graph.
    fn standing(&self) -> (BTreeSet<String>, BTreeSet<ViewId>) {
        let (mut labels, mut views) = (BTreeSet::new(), BTreeSet::new());
        for view in (0..VIEWS as u64).map(ViewId) {
            for (_, page) in self.disk.rows(view, Part::Nodes).expect("rows") {
                each_result(&page, |label, _| {
                    labels.insert(label.to_owned());
                    views.insert(view);
                })
                .expect("a sound page");
            }
        }
        (labels, views)
    }

    /// Computes the held results, and blobs besides their outputs, by definition and without marks.
    fn held(&self, options: &Gc, before: &BTreeMap<ActionKey, ActionRecord>) -> (BTreeSet<ActionKey>, BTreeSet<Digest>) {
        let (mut keys, mut blobs) = (BTreeSet::new(), BTreeSet::new());
        let (standing, planned) = self.standing();
        for view in (0..VIEWS as u64).map(ViewId) {
            for (_, page) in self.disk.rows(view, Part::Nodes).expect("rows") {
                each_result(&page, |_, filed| {
                    keys.insert(filed.key);
                    blobs.insert(filed.output);
                })
                .expect("a sound page");
            }
            let pins = store_maintenance::pins(&*self.disk, view).expect("pins");
            for pin in &pins {
                keys.insert(pin.key);
                blobs.insert(pin.output);
            }
            for label in self.labels() {
                let versions = self.disk.history(view, &label).expect("versions");
                let is_gone = planned.contains(&view) && !standing.contains(&label) && pins.iter().all(|pin| pin.label != label);
                let used = |version: &HistoryRecord| self.disk.last_use(&version.key).expect("a store").unwrap_or(0).max(version.at);
                let is_long = |version: &HistoryRecord| self.now.saturating_sub(used(version)) >= options.older_than;
                if is_gone && versions.last().is_some_and(is_long) {
                    continue;
                }
                for version in versions.into_iter().rev().take(options.keep_versions) {
                    keys.insert(version.key);
                    blobs.insert(version.output);
                }
            }
        }
        keys.retain(|key| before.contains_key(key));
        blobs.retain(|digest| self.disk.has_blob(digest).expect("a store"));
        (keys, blobs)
    }

    fn check_gc(&self, options: &Gc) {
        let before = self.actions();
        let (mut keys, mut blobs) = self.held(options, &before);
        let young = |record: &ActionRecord, key: &ActionKey| {
            let used = self.disk.last_use(key).expect("a store").unwrap_or(0).max(record.made_at);
            self.now.saturating_sub(used) < options.older_than
        };
        for (key, record) in &before {
            if young(record, key) || record.class == Class::Paid && !options.paid {
                keys.insert(*key);
            }
        }
        for key in &keys {
            let record = &before[key];
            let inputs = record
                .inputs
                .iter()
                .filter(|_| record.class == Class::Paid)
                .map(|input| input.digest);
            blobs.extend(
                inputs
                    .chain([record.output])
                    .filter(|digest| self.disk.has_blob(digest).expect("a store")),
            );
        }
        let dry = garbage::collect_garbage(&self.disk, &Gc { dry_run: true, ..*options }).expect("a dry run");
        assert_eq!(self.actions().len(), before.len(), "a dry run takes nothing");
        let report = garbage::collect_garbage(&self.disk, options).expect("a collection");
        let after: BTreeSet<ActionKey> = self.actions().into_keys().collect();
        match options.max_size {
            None => {
                assert_eq!(after, keys);
                assert_eq!(self.disk.usage().expect("numbers").blobs, blobs.len() as u64);
                assert!(blobs.iter().all(|digest| self.disk.blob(digest).expect("a store").is_some()));
                assert_eq!((dry.taken.actions, dry.taken.blobs), (report.taken.actions, report.taken.blobs));
                assert_eq!(report.taken.actions, (before.len() - after.len()) as u64);
            }
            Some(max) => {
                // Results that no size limit removes: all except versions that cost nothing.
                let (firm, present) = self.held(
                    &Gc {
                        keep_versions: 0,
                        ..*options
                    },
                    &before,
                );
                assert!(firm.iter().all(|key| after.contains(key)));
                assert!(present.iter().all(|digest| self.disk.blob(digest).expect("a store").is_some()));
                let paid_for = |key: &&ActionKey| before[*key].class == Class::Paid;
                assert!(keys.iter().filter(paid_for).all(|key| after.contains(key)));
                if max == 1 << 30 {
                    assert_eq!(after.len(), before.len(), "there was room");
                }
            }
        }
        let verified = self.disk.verify_everything().expect("a store");
        assert!(verified.is_sound(), "{:?}", verified.damage);
        assert_eq!(self.disk.damage(), Vec::<String>::new());
        for view in 0..VIEWS {
            let clean = self.build(view, Arc::new(MemoryStore::new()));
            assert_eq!(self.build(view, self.disk.clone()), clean);
        }
    }

    fn step(&mut self, step: &Step) {
        match step {
            Step::Write(view, file, text) => {
                let text = if *text == 6 {
                    "# nothing".to_owned()
                } else {
                    format!("# {text}\nline {}\n", text % 4)
                };
                self.worlds[*view].write_source(&format!("docs/{file}"), text);
            }
            Step::Delete(view, file) => {
                self.worlds[*view].delete(&format!("docs/{file}"));
            }
            Step::Build(view) => {
                self.build(*view, self.disk.clone());
            }
            Step::Pin(view, which) => {
                let view = ViewId(*view as u64);
                let labels: Vec<String> = self.labels().into_iter().collect();
                let label = &labels[which % labels.len()];
                let versions = self.disk.history(view, label).expect("versions");
                let mut there = versions
                    .iter()
                    .filter(|version| self.disk.action(&version.key).expect("a store").is_some());
                if let Some(version) = there.next_back() {
                    store_maintenance::pin(&*self.disk, view, label, version, self.now, None).expect("pinned");
                }
            }
            Step::Unpin(view) => {
                let view = ViewId(*view as u64);
                let pins = store_maintenance::pins(&*self.disk, view).expect("pins");
                store_maintenance::unpin(&*self.disk, view, &pins[..pins.len().min(1)]).expect("unpinned");
            }
            Step::Wait(seconds) => {
                self.now += seconds;
                self.tick();
            }
            Step::Gc {
                older_than,
                keep_versions,
                paid,
                max_size,
            } => self.check_gc(&Gc {
                older_than: *older_than,
                keep_versions: *keep_versions,
                paid: *paid,
                max_size: *max_size,
                ..Gc::default_options(self.now)
            }),
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, max_shrink_iters: 40, ..ProptestConfig::default() })]
    #[test]
    fn a_collection_takes_what_nothing_holds_and_nothing_else(steps in vec(step(), 1..40)) {
        let mut bench = Bench::new();
        for step in &steps {
            bench.step(step);
        }
        bench.check_gc(&Gc { older_than: 0, ..Gc::default_options(bench.now) });
    }
}

/// During a collection, a checkout stores a result that the collection was about to remove.
#[test]
fn results_stored_during_a_collection_are_not_removed() {
    let mut bench = Bench::new();
    bench.build(0, bench.disk.clone());
    bench.worlds[0].write_source("docs/0", "second");
    bench.build(0, bench.disk.clone());
    bench.now += 1_000_000;
    bench.tick();
    let collecting = bench.disk.begin_collection().expect("alone");
    let mut marks = engine::store::disk::sweep::Marks::default();
    for (_, page) in bench.disk.rows(ViewId(0), Part::Nodes).expect("rows") {
        each_result(&page, |_, filed| marks.mark_result(&filed.key, &filed.output)).expect("a sound page");
    }
    let policy = engine::store::disk::sweep::Policy {
        now: bench.now,
        older_than: 0,
        keep_versions: 0,
        paid: true,
        free: None,
    };
    let plan = bench.disk.find_garbage(marks, &policy).expect("a plan");
    assert_eq!(plan.actions().len(), 3);
    // Back to the first text: all results are found under keys that the plan is about to remove.
    bench.worlds[0].write_source("docs/0", "first");
    let built = bench.build(0, bench.disk.clone());
    let taken = bench.disk.sweep(&plan).expect("swept");
    assert_eq!((taken.actions, taken.blobs), (0, 0));
    drop(collecting);
    assert_eq!(bench.build(0, Arc::new(MemoryStore::new())), built);
    assert!(bench.disk.verify_everything().expect("a store").is_sound());
    // Nothing refers to the second text any more.
    let report = garbage::collect_garbage(
        &bench.disk,
        &Gc {
            older_than: 0,
            keep_versions: 0,
            paid: true,
            ..Gc::default_options(bench.now)
        },
    );
    assert_eq!(report.expect("collected").taken.actions, 3);
}

/// Found by a random run: without `--paid`, an unheld paid result stays, and so do its inputs.
#[test]
fn inputs_of_a_retained_paid_result_stay() {
    let mut bench = Bench::new();
    let gc = |keep_versions, paid, max_size| Step::Gc {
        older_than: 0,
        keep_versions,
        paid,
        max_size,
    };
    let steps = [
        Step::Write(0, 0, 3),
        Step::Write(1, 0, 0),
        gc(0, true, Some(1)),
        Step::Write(2, 0, 0),
        gc(3, false, None),
        Step::Write(2, 0, 1),
        Step::Build(2),
        Step::Unpin(1),
        Step::Build(0),
        gc(2, false, None),
    ];
    steps.iter().for_each(|step| bench.step(step));
    bench.check_gc(&Gc {
        older_than: 0,
        ..Gc::default_options(bench.now)
    });
}

/// Found by a random run: versions of a node deleted long ago are removed, however many are kept of others.
#[test]
fn versions_of_what_is_long_gone_go() {
    let mut bench = Bench::new();
    let gc = |keep_versions| Step::Gc {
        older_than: 0,
        keep_versions,
        paid: true,
        max_size: None,
    };
    let steps = [Step::Write(1, 1, 0), gc(0), Step::Delete(1, 1), Step::Build(1), gc(1)];
    steps.iter().for_each(|step| bench.step(step));
}
