//! A remote cache in memory, reliable or not, and a paid producer.

use super::bench::{Bench, Built};
use engine::build::sharing::collect_results;
use engine::graph::NodeId;
use engine::seams::nearby::Nearby;
use engine::seams::paid::Spent;
use engine::seams::producer::{Failure, Inputs, Output, ParamError, Params, Pool, Producer, ProducerId};
use engine::seams::remote::{
    BlobRef, Bundle, BundleOffer, Bundled, GraphRow, Offered, RemoteCache, RemoteSummary, SharedResult, Volume, VolumeIndex, VolumeKind,
    VolumeRef, Wanted, prefix,
};
use engine::values::digest::{ActionKey, Digest};
use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::Duration;

/// Behaviour of a board.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Habit {
    #[default]
    Honest,
    WrongBytes,
    NoBytes,
    OtherKey,
    Garbage,
    /// It finds nothing in the first so many look-ups.
    Late(usize),
    /// It does not answer.
    Down,
    /// Stored results are never overwritten.
    WriteOnce,
}

#[derive(Default)]
pub struct Pinned {
    pub habit: Habit,
    pub results: HashMap<ActionKey, SharedResult>,
    /// Volumes by the names of their bundles.
    pub bundles: HashMap<Digest, Vec<VolumeRef>>,
    pub volumes: HashMap<Digest, Volume>,
    /// Graphs by the names of their bundles.
    pub graphs: HashMap<Digest, Vec<GraphRow>>,
    pub blobs: HashMap<Digest, Arc<[u8]>>,
    /// Keys and names that were looked up.
    pub asked: Vec<Digest>,
    /// Number of volumes whose outputs were read.
    pub opened: usize,
    /// Keys of results that were found and refused.
    pub spoiled: HashSet<ActionKey>,
    /// Whether a bundle was requested while the board was down.
    pub is_found_down: bool,
}

/// Order of the machines' accesses to the board; free once the order is used up.
#[derive(Clone, Default)]
pub struct Turns(Arc<(Mutex<VecDeque<usize>>, Condvar)>);

impl Turns {
    pub fn new(order: &[usize]) -> Self {
        let turns = Self::default();
        turns.0.0.lock().expect("no panic while it is held").extend(order);
        turns
    }

    /// Waits for the turn of machine `who`, and runs the step.
    fn take<T>(&self, who: usize, step: impl FnOnce() -> T) -> T {
        let (order, moved) = &*self.0;
        let order = order.lock().expect("no panic while it is held");
        let mut order = moved
            .wait_while(order, |order| order.front().is_some_and(|next| *next != who))
            .expect("no panic while it is held");
        let done = step();
        order.pop_front();
        moved.notify_all();
        done
    }

    /// Removes machine `who` from the order.
    pub fn leave(&self, who: usize) {
        let (order, moved) = &*self.0;
        order.lock().expect("no panic while it is held").retain(|next| *next != who);
        moved.notify_all();
    }
}

/// A cache in memory, as one machine accesses it.
#[derive(Clone, Default)]
pub struct Board {
    pinned: Arc<Mutex<Pinned>>,
    /// Number of the machine.
    pub who: usize,
    /// Order of its look-ups and writes of answers.
    pub turns: Turns,
    /// Whether this machine has no write access.
    pub reads_only: bool,
}

impl Board {
    pub fn pinned(&self) -> MutexGuard<'_, Pinned> {
        self.pinned.lock().expect("no panic while it is held")
    }

    /// Returns the same board for another machine.
    pub fn of(&self, who: usize, turns: &Turns) -> Self {
        Self {
            who,
            turns: turns.clone(),
            ..self.clone()
        }
    }

    /// Offers all results of a build as one bundle.
    pub fn warm(&self, bench: &Bench, built: &Built) {
        let session = bench.session();
        let roots: Vec<NodeId> = built.report.roots.iter().map(|root| root.id).collect();
        let found = collect_results(&session.graph, &roots, &*session.engine.store, &HashSet::new(), false).expect("a store");
        let names: Vec<Digest> = std::iter::once(session.tree()).chain(session.own_pointers()).collect();
        assert!(self.offer_bundle(&BundleOffer {
            names: &names,
            near: &session.near(),
            results: &found.results,
            graph: &session.graph_to_share().expect("a store"),
            load: &|digest| session.engine.store.blob(digest).expect("a store"),
        }));
    }

    fn spoil(habit: Habit, mut result: SharedResult) -> SharedResult {
        match habit {
            Habit::OtherKey => result.key = ActionKey(Digest::of(b"other")),
            Habit::Garbage => result.provenance = b"no record".to_vec(),
            _ => {}
        }
        result
    }

    fn read(&self, wanted: &[Wanted]) -> Vec<Option<SharedResult>> {
        let read = || {
            let mut pinned = self.pinned();
            pinned.asked.extend(wanted.iter().map(|wanted| wanted.key.0));
            if let Habit::Late(times @ 1..) = pinned.habit {
                pinned.habit = Habit::Late(times - 1);
                return vec![None; wanted.len()];
            }
            let find = |wanted: &Wanted| Some(Self::spoil(pinned.habit, pinned.results.get(&wanted.key)?.clone()));
            match pinned.habit {
                Habit::Down => vec![None; wanted.len()],
                _ => wanted.iter().map(find).collect(),
            }
        };
        match wanted.iter().any(|wanted| wanted.producer == PEN) {
            true => self.turns.take(self.who, read),
            false => read(),
        }
    }
}

impl RemoteCache for Board {
    fn reads(&self) -> bool {
        let pinned = self.pinned();
        pinned.habit != Habit::Down || !pinned.is_found_down
    }

    fn writes(&self) -> bool {
        !self.reads_only
    }

    fn round_trip(&self) -> Option<Duration> {
        Some(Duration::from_secs(1_000))
    }

    fn find(&self, wanted: &[Wanted]) -> Vec<Option<SharedResult>> {
        self.read(wanted)
    }

    fn find_results_uncounted(&self, wanted: &[Wanted]) -> Vec<Option<SharedResult>> {
        self.read(wanted)
    }

    fn refuse(&self, key: &ActionKey) {
        self.pinned().spoiled.insert(*key);
    }

    fn is_spoiled(&self, key: &ActionKey) -> bool {
        self.pinned().spoiled.contains(key)
    }

    fn speed(&self) -> Option<u64> {
        None
    }

    fn find_bundle(&self, names: &[Digest]) -> Option<Bundle> {
        let mut pinned = self.pinned();
        pinned.asked.extend(names);
        if pinned.habit == Habit::Down {
            pinned.is_found_down = true;
            return None;
        }
        let at = names.iter().position(|name| pinned.bundles.contains_key(name))?;
        let volumes = pinned.bundles[&names[at]].clone();
        let graph = pinned.graphs.contains_key(&names[at]).then(|| names[at].0.to_vec());
        Some(Bundle { at, volumes, graph })
    }

    fn read_volumes(&self, addresses: &[&[u8]]) -> Vec<Option<Volume>> {
        let pinned = self.pinned();
        let read = |address: &&[u8]| {
            let mut volume = pinned.volumes.get(&Digest::of(address))?.clone();
            for result in &mut volume.results {
                *result = Self::spoil(pinned.habit, result.clone());
            }
            Some(volume)
        };
        addresses.iter().map(read).collect()
    }

    fn read_indexes(&self, addresses: &[&[u8]]) -> Vec<Option<Arc<VolumeIndex>>> {
        let pinned = self.pinned();
        let read = |address: &&[u8]| {
            let volume = pinned.volumes.get(&Digest::of(address))?;
            Some(Arc::new(VolumeIndex {
                keys: volume.results.iter().map(|result| prefix(&result.key.0)).collect(),
                outputs: volume.outputs.iter().map(prefix).collect(),
            }))
        };
        addresses.iter().map(read).collect()
    }

    fn read_outputs(&self, addresses: &[&[u8]]) -> Vec<Vec<(Digest, Arc<[u8]>)>> {
        let mut pinned = self.pinned();
        pinned.opened += addresses.len();
        let read = |address: &&[u8]| {
            let outputs = &pinned.volumes.get(&Digest::of(address))?.outputs;
            let blobs = outputs.iter().filter_map(|digest| {
                let blob: Arc<[u8]> = match pinned.habit {
                    Habit::WrongBytes => b"other"[..].into(),
                    Habit::NoBytes | Habit::Down => return None,
                    _ => pinned.blobs.get(digest)?.clone(),
                };
                Some((Digest::of(&blob), blob))
            });
            Some(blobs.collect())
        };
        addresses.iter().map(|address| read(address).unwrap_or_default()).collect()
    }

    fn read_graph(&self, address: &[u8], is_worth: &dyn Fn(u64) -> bool) -> Option<Vec<GraphRow>> {
        let graph = self.pinned().graphs.get(&Digest(address.try_into().ok()?)).cloned()?;
        is_worth(graph.iter().map(|row| row.body.len() as u64).sum()).then_some(graph)
    }

    fn fetch(&self, wanted: &[BlobRef]) -> Vec<Option<Arc<[u8]>>> {
        let pinned = self.pinned();
        let fetch = |wanted: &BlobRef| match pinned.habit {
            Habit::WrongBytes => Some(vec![b'x'; usize::try_from(wanted.len).expect("a small blob")].into()),
            Habit::NoBytes | Habit::Down => None,
            _ => pinned.blobs.get(&wanted.digest).cloned(),
        };
        wanted.iter().map(fetch).collect()
    }

    fn offer(&self, result: SharedResult, blobs: Vec<Arc<[u8]>>) -> Offered {
        assert!(result.producer != "pen@1", "an answer that waits to be uploaded may never be");
        let mut pinned = self.pinned();
        pinned.blobs.extend(blobs.into_iter().map(|blob| (Digest::of(&blob), blob)));
        pinned.results.insert(result.key, result);
        Offered::Queued
    }

    fn store_result(&self, result: SharedResult, blobs: Vec<Arc<[u8]>>, goes: &mut dyn FnMut(Option<SharedResult>) -> bool) {
        if self.pinned().habit == Habit::Down {
            return;
        }
        self.pinned().blobs.extend(blobs.into_iter().map(|blob| (Digest::of(&blob), blob)));
        let there = self.read(&[result.lookup()]).pop().flatten();
        if !goes(there) {
            return;
        }
        self.turns.take(self.who, || {
            let mut pinned = self.pinned();
            if pinned.habit != Habit::WriteOnce || !pinned.results.contains_key(&result.key) {
                pinned.results.insert(result.key, result);
            }
        });
    }

    /// Stores one volume for eager results, and one for each other producer.
    fn offer_bundle(&self, offer: &BundleOffer<'_>) -> bool {
        // Loading an output may ask this board for it.
        let outputs = offer.results.iter().flat_map(|bundled| &bundled.outputs);
        let blobs: Vec<_> = outputs.filter_map(|digest| Some((*digest, (offer.load)(digest)?))).collect();
        let mut pinned = self.pinned();
        pinned.blobs.extend(blobs);
        let mut volumes = Vec::new();
        let kind = |bundled: &Bundled| {
            (
                bundled.kind,
                (bundled.kind == VolumeKind::Plain).then(|| bundled.result.producer.clone()),
            )
        };
        for alike in offer.results.chunk_by(|a, b| kind(a) == kind(b)) {
            let outputs: Vec<Digest> = alike.iter().flat_map(|bundled| bundled.outputs.clone()).collect();
            let results: Vec<SharedResult> = alike.iter().map(|bundled| bundled.result.clone()).collect();
            let address = format!("{:?}", results.iter().map(|result| result.key).collect::<Vec<_>>()).into_bytes();
            volumes.push(VolumeRef {
                id: Digest::of(&address),
                kind: alike[0].kind,
                len: 0,
                took_us: 0,
                address: address.clone(),
            });
            pinned.volumes.insert(Digest::of(&address), Volume { results, outputs });
        }
        for name in offer.names {
            pinned.bundles.insert(*name, volumes.clone());
            pinned.graphs.insert(*name, offer.graph.to_vec());
        }
        true
    }

    fn finish(&self, _: Option<Duration>) -> RemoteSummary {
        RemoteSummary::default()
    }
}

/// A history of trees that knows only the latest tree.
pub struct Latest;

impl Nearby for Latest {
    fn bundle_names(&self) -> Vec<String> {
        vec!["latest".to_owned()]
    }

    fn merge_base(&self) -> Option<String> {
        None
    }

    fn near(&self) -> Vec<String> {
        vec!["gone".to_owned(), "latest".to_owned()]
    }
}

/// Identifier of the paid producer, as displayed.
const PEN: &str = "pen@1";

/// A paid producer whose answers all differ.
#[derive(Clone, Default)]
pub struct Pen(pub Arc<AtomicUsize>);

/// Runs in a [`LockingPen`] once its question is locked, and before it is answered.
pub type BeforeAnswer = Arc<dyn Fn() -> Result<(), Failure> + Send + Sync>;

/// A [`Pen`] that locks its questions.
#[derive(Clone)]
pub struct LockingPen(pub Pen, pub BeforeAnswer);

impl Producer for LockingPen {
    fn id(&self) -> ProducerId {
        self.0.id()
    }

    fn check(&self, params: &Params) -> Result<(), Vec<ParamError>> {
        self.0.check(params)
    }

    fn pool(&self, params: &Params) -> Pool {
        self.0.pool(params)
    }

    fn produce(&self, inputs: &Inputs<'_>) -> Result<Output, Failure> {
        inputs.question_lock.acquire()?;
        (self.1)()?;
        self.0.produce(inputs)
    }
}

impl Producer for Pen {
    fn id(&self) -> ProducerId {
        ProducerId::new("pen", 1)
    }

    fn check(&self, _: &Params) -> Result<(), Vec<ParamError>> {
        Ok(())
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
