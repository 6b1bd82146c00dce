//! Test bench: one workspace, its store and its producers, built as by the command line, with a log of events.

use super::producers::registry;
use super::shelf::Shelf;
use engine::build::checkout_turn::CheckoutTurn;
use engine::build::engine::{Definition, Engine, EngineError};
use engine::build::finish::{Finish, Plain};
use engine::build::graph_memory::GraphMemory;
use engine::build::request::{Report, Request};
use engine::build::session::Session;
use engine::build::sharing::Sharing;
use engine::build::state::CurrentRequest;
use engine::build::{BuildMode, Options};
use engine::files::memory::MemoryWorld;
use engine::files::overlaid::{Documents, Overlaid};
use engine::manifest::model::Manifest;
use engine::manifest::read::{ManifestSource, load};
use engine::seams::producer::{Cancel, Registry};
use engine::seams::world::World;
use engine::store::overlay_store::OverlayStore;
use engine::store::{Store, ViewId};
use engine::values::digest::Digest;
use engine::values::event::{Event, Observer};
use engine::values::pattern::PatternSet;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

/// A workspace in memory.
pub struct Bench {
    /// Its files.
    pub world: MemoryWorld,
    /// The world that the engine sees in place of `world`.
    pub other_world: Option<Arc<dyn World>>,
    /// Its store.
    pub store: Arc<Shelf>,
    /// Its producers.
    pub registry: Registry,
    /// Its manifest.
    pub manifest: Arc<Manifest>,
    /// Digest of the manifest's text.
    pub digest: Digest,
    /// Worker threads.
    pub jobs: usize,
    /// The cache that it shares with other machines.
    pub sharing: Option<Sharing>,
    /// The last loaded graph.
    pub graphs: GraphMemory,
    /// The turn to use the checkout.
    pub turn: Option<Arc<dyn CheckoutTurn>>,
    /// Documents in place of some of its files: then only results are stored.
    pub documents: Option<Documents>,
    /// Adds content to output files beyond their blobs.
    pub finish: Arc<dyn Finish>,
}

/// An event of a build.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Entry {
    /// A producer started.
    Started(String),
    /// A producer ran, with its output.
    Ran(String, Digest),
    /// A result was found under its key.
    Hit(String),
    /// The key did not change.
    Verified(String),
    /// The target has no output.
    Failed(String),
    /// The target was not tried.
    Skipped(String),
    /// The node may be out of date.
    Marked(String),
    /// An output file was written.
    Exported(String),
}

/// Records all events; cancels after so many.
pub struct Log {
    entries: Mutex<Vec<Entry>>,
    count: AtomicUsize,
    stop_after: Option<usize>,
    cancel: Cancel,
}

impl Log {
    /// Returns a log that cancels the build after `stop_after` events, if given.
    pub fn new(stop_after: Option<usize>) -> Self {
        Self {
            entries: Mutex::default(),
            count: AtomicUsize::new(0),
            stop_after,
            cancel: Cancel::default(),
        }
    }
}

impl Observer for Log {
    fn event(&self, event: &Event<'_>) {
        let entry = match event {
            Event::Started { label, .. } => Entry::Started((*label).to_owned()),
            Event::Ran { label, output, .. } => Entry::Ran((*label).to_owned(), *output),
            Event::Hit { label, .. } => Entry::Hit((*label).to_owned()),
            Event::Verified { label } => Entry::Verified((*label).to_owned()),
            Event::Failed { label, .. } => Entry::Failed((*label).to_owned()),
            Event::Skipped { label, .. } => Entry::Skipped((*label).to_owned()),
            Event::Marked { label, .. } => Entry::Marked((*label).to_owned()),
            Event::Exported { path } => Entry::Exported((*path).to_owned()),
            _ => return,
        };
        self.entries.lock().expect("no panic while it is held").push(entry);
        if self.count.fetch_add(1, Ordering::Relaxed) + 1 >= self.stop_after.unwrap_or(usize::MAX) {
            self.cancel.cancel();
        }
    }
}

/// Result of a build.
#[derive(Debug)]
pub struct Built {
    /// The engine's report.
    pub report: Report,
    /// Events, in order.
    pub log: Vec<Entry>,
}

impl Built {
    fn labels(&self, of: impl Fn(&Entry) -> Option<&String>) -> Vec<&str> {
        let mut labels: Vec<&str> = self.log.iter().filter_map(of).map(String::as_str).collect();
        labels.sort_unstable();
        labels
    }

    /// Returns the labels whose producer ran, sorted, with repeats.
    pub fn ran(&self) -> Vec<&str> {
        self.labels(|entry| if let Entry::Ran(label, _) = entry { Some(label) } else { None })
    }

    /// Returns the labels whose producer ran, in the order of their ends.
    pub fn ran_in_order(&self) -> Vec<&str> {
        self.log
            .iter()
            .filter_map(|entry| {
                if let Entry::Ran(label, _) = entry {
                    Some(label.as_str())
                } else {
                    None
                }
            })
            .collect()
    }

    /// Returns the labels that were marked, sorted.
    pub fn marked(&self) -> Vec<&str> {
        self.labels(|entry| if let Entry::Marked(label) = entry { Some(label) } else { None })
    }

    /// Returns codes and labels of the failures, sorted.
    pub fn failures(&self) -> Vec<(String, String)> {
        let mut failures: Vec<_> = self
            .report
            .failures
            .iter()
            .map(|why| (why.code.clone(), why.label.clone().unwrap_or_default()))
            .collect();
        failures.sort();
        failures
    }

    /// Returns the outputs by label, absent ones as `None`. Empty unless the request included outputs.
    pub fn outputs(&self) -> BTreeMap<String, Option<Vec<u8>>> {
        let outputs = self.report.outputs.iter().map(|output| output.as_ref().map(|bytes| bytes.to_vec()));
        self.report.roots.iter().map(|root| root.label.to_string()).zip(outputs).collect()
    }

    /// Returns the output of one root as text.
    pub fn text(&self, label: &str) -> String {
        let outputs = self.outputs();
        let output = outputs
            .get(label)
            .unwrap_or_else(|| panic!("{label} is no root of {:?}", outputs.keys()));
        String::from_utf8_lossy(
            output
                .as_deref()
                .unwrap_or_else(|| panic!("{label} has no output: {:?}", self.report.failures)),
        )
        .into_owned()
    }
}

/// Options of a build.
#[derive(Clone, Debug)]
pub struct How {
    /// Continue after failures.
    pub keep_going: bool,
    /// Run nothing.
    pub dry_run: bool,
    /// Return outputs.
    pub outputs: bool,
    /// Cancel after so many events.
    pub stop_after: Option<usize>,
    /// Run the targets again, named one by one.
    pub rebuilt: bool,
    /// Request fresh answers for the targets of the patterns.
    pub fresh: bool,
}

impl Default for How {
    fn default() -> Self {
        Self {
            keep_going: true,
            dry_run: false,
            outputs: true,
            stop_after: None,
            rebuilt: false,
            fresh: false,
        }
    }
}

/// Parses a valid manifest.
pub fn read_manifest(text: &str, registry: &Registry) -> Manifest {
    let source = ManifestSource {
        name: "cortex.toml".to_owned(),
        text,
    };
    match load(&source, None, &|_| None, &[], registry) {
        Ok(loaded) => loaded.manifest,
        Err(errors) => panic!("{errors:#?}\n{text}"),
    }
}

impl Bench {
    /// Returns an empty workspace with the toys.
    pub fn new(text: &str) -> Self {
        let registry = registry(&BTreeMap::new());
        Self::with(Arc::new(read_manifest(text, &registry)), Digest::of(text.as_bytes()), registry)
    }

    /// Returns an empty workspace.
    pub fn with(manifest: Arc<Manifest>, digest: Digest, registry: Registry) -> Self {
        Self {
            world: MemoryWorld::new(),
            other_world: None,
            store: Arc::new(Shelf::new()),
            registry,
            manifest,
            digest,
            jobs: 2,
            sharing: None,
            graphs: GraphMemory::default(),
            turn: None,
            documents: None,
            finish: Arc::new(Plain),
        }
    }

    /// Replaces the manifest.
    pub fn redefine(&mut self, text: &str) {
        self.manifest = Arc::new(read_manifest(text, &self.registry));
        self.digest = Digest::of(text.as_bytes());
    }

    /// Writes a file.
    pub fn put(&self, path: &str, text: &str) {
        self.world.write_source(path, text);
    }

    /// Returns the engine over the workspace.
    pub fn engine(&self) -> Engine {
        let world = self.other_world.clone().unwrap_or_else(|| Arc::new(self.world.clone()));
        let (world, store): (Arc<dyn World>, Arc<dyn Store>) = match &self.documents {
            Some(documents) => (
                Arc::new(Overlaid::new(world, documents.clone())),
                Arc::new(OverlayStore::new(self.store.clone(), Box::new(|_| {}))),
            ),
            None => (world, self.store.clone()),
        };
        let engine = Engine {
            world,
            store,
            registry: Arc::new(self.registry.clone()),
            view: ViewId(1),
            finish: self.finish.clone(),
            priority: Arc::new(engine::seams::priority::Unweighted),
            lineage: Arc::new(engine::seams::lineage::Unnamed),
            annotate: Arc::new(engine::seams::annotate::Unannotated),
            sharing: None,
            graphs: Some(self.graphs.clone()),
            turn: self.turn.clone(),
        };
        match &self.sharing {
            Some(sharing) => engine.with_sharing(sharing.clone()),
            None => engine,
        }
    }

    /// Returns the request for patterns.
    pub fn request(&self, patterns: &[&str], how: &How) -> Request {
        let texts: Vec<String> = patterns.iter().map(|pattern| (*pattern).to_owned()).collect();
        Request {
            patterns: PatternSet::parse(&texts).expect("good patterns"),
            list: true,
            digest: Digest::of(texts.join("\0").as_bytes()),
            options: Options {
                jobs: self.jobs,
                keep_going: how.keep_going,
                mode: if how.dry_run { BuildMode::DryRun } else { BuildMode::Build },
                rebuilt: texts.iter().filter(|_| how.rebuilt).cloned().collect(),
                fresh: texts.iter().filter(|_| how.fresh).cloned().collect(),
                ..Options::default()
            },
            outputs: how.outputs,
        }
    }

    /// Returns the number of targets if the request is known to be current, as a second command would.
    pub fn known(&self, patterns: &[&str]) -> Option<u64> {
        self.known_request(patterns).map(|known| known.targets)
    }

    /// Returns the stored request, if it is known to be current.
    pub fn known_request(&self, patterns: &[&str]) -> Option<CurrentRequest> {
        let engine = self.engine();
        let manifest = self.manifest.clone();
        let mut look = engine.read_sources::<EngineError>(&self.digest, || Ok(manifest)).expect("a look");
        engine
            .find_current_request(&mut look, &self.request(patterns, &How::default()).digest)
            .expect("a store")
    }

    /// Opens a session, as a read-only command does.
    pub fn session(&self) -> Session {
        let engine = self.engine();
        let manifest = self.manifest.clone();
        let look = engine.read_sources::<EngineError>(&self.digest, || Ok(manifest)).expect("a look");
        let definition = Definition {
            rows: Vec::new(),
            digest: self.digest,
            manifest: self.manifest.clone(),
        };
        Session::open(engine, &definition, look).expect("a session")
    }

    /// Builds as a new process would: everything is loaded again.
    pub fn build_as(&self, patterns: &[&str], how: &How) -> Built {
        let log = Log::new(how.stop_after);
        let mut session = self.session();
        let report = session.build(&self.request(patterns, how), &log, &log.cancel).expect("a report");
        Built {
            report,
            log: log.entries.into_inner().expect("no panic while it was held"),
        }
    }

    /// Builds as a new process until `cancel` stops it; a stopped build commits the states of at most `settled` nodes.
    pub fn build_until(&self, patterns: &[&str], observer: &dyn Observer, cancel: &Cancel, settled: usize) -> Report {
        let mut request = self.request(patterns, &How::default());
        request.options.settled_on_stop = settled;
        let built = self.session().build(&request, observer, cancel);
        built.expect("a report")
    }

    /// Builds and returns the outputs.
    pub fn build(&self, patterns: &[&str]) -> Built {
        self.build_as(patterns, &How::default())
    }
}
