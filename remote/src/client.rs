//! The client: the engine's blocking seam on one side, a small runtime that talks to the server on the other.

use crate::agreed_capabilities::AgreedCapabilities;
use crate::blobs::NotTaken;
use crate::bundle::{self, BundleContent};
use crate::bundling::Prepared;
use crate::cache_counters::{CacheCounters, ServerFault};
use crate::clock::{Clock, SystemClock};
use crate::farm::Workers;
use crate::graph_pieces::GraphAddress;
use crate::names::{BlobName, ServerNames};
use crate::piece;
use crate::request_sender::RequestSender;
use crate::server::{Refusal, Server, Surroundings};
use crate::signature::Signer;
use crate::uploads::Uploads;
use crate::volume::{self, Address};
use engine::manifest::remote::RemoteDef;
use engine::seams::remote::{
    BlobRef, Bundle, BundleOffer, GraphRow, Offered, PREFIX, RemoteCache, RemoteSummary, SharedResult, Volume, VolumeIndex, Wanted,
    WrongRemoteAnswer,
};
use engine::values::digest::{ActionKey, Digest};
use serde::Serialize;
use std::collections::{HashMap, HashSet};
use std::future::Future;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::runtime::Runtime;

/// A server's answer to a ping.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Ping {
    /// Terms that client and server agreed on.
    #[serde(flatten)]
    pub terms: AgreedCapabilities,
    /// Fastest of several round trips, in microseconds.
    pub round_trip_us: u64,
    /// Public key of this client's signatures, if it signs results.
    pub signs_as: Option<String>,
}

/// Permitted use of a cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CacheUse {
    /// Whether results are looked up.
    pub read: bool,
    /// Whether results are offered.
    pub write: bool,
}

/// The server, once it has answered, or the reason why it is not used.
type Connection = tokio::sync::Mutex<Option<Result<Arc<Server>, String>>>;

/// A remote cache behind the engine's seam. Connects on the first request.
pub struct Client {
    inner: Arc<Inner>,
    uploads: Uploads,
}

/// State that requests and uploads share.
pub(crate) struct Inner {
    pub def: RemoteDef,
    pub usage: CacheUse,
    pub names: Arc<ServerNames>,
    pub counters: Arc<CacheCounters>,
    pub around: Surroundings,
    pub sender: Arc<RequestSender>,
    server: Arc<Connection>,
    /// Blobs that the server is known to have.
    present: Mutex<HashSet<BlobName>>,
    /// Blobs that the server returned with the right digest.
    sound: Mutex<HashSet<BlobName>>,
    /// Indexes of volumes that were read, by the names of their pieces.
    indexes: Mutex<HashMap<BlobName, Arc<VolumeIndex>>>,
    /// The next bundle to offer.
    pub(crate) prepared: Mutex<Option<Prepared>>,
    runtime: Mutex<Option<Runtime>>,
    pub handle: tokio::runtime::Handle,
}

impl Client {
    /// Creates a client that is not connected yet.
    ///
    /// # Errors
    /// When no thread can be started.
    pub fn new(def: RemoteDef, usage: CacheUse, around: Surroundings) -> std::io::Result<Self> {
        Self::with_clock(def, usage, around, Arc::new(SystemClock::default()))
    }

    /// Creates a client with another clock.
    ///
    /// # Errors
    /// When no thread can be started.
    pub fn with_clock(def: RemoteDef, usage: CacheUse, around: Surroundings, clock: Arc<dyn Clock>) -> std::io::Result<Self> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .thread_name("remote")
            .enable_all()
            .build()?;
        let counters = Arc::new(CacheCounters::default());
        let inner = Arc::new(Inner {
            def,
            usage,
            names: Arc::default(),
            sender: Arc::new(RequestSender::new(clock, around.deadlines, counters.clone())),
            counters,
            around,
            server: Arc::default(),
            present: Mutex::default(),
            sound: Mutex::default(),
            indexes: Mutex::default(),
            prepared: Mutex::default(),
            handle: runtime.handle().clone(),
            runtime: Mutex::new(Some(runtime)),
        });
        Ok(Self {
            uploads: Uploads::new(inner.clone()),
            inner,
        })
    }

    /// Returns the server's workers; `program` is the program that they run, or a sentence on why it is missing.
    pub fn workers(&self, program: Result<PathBuf, String>) -> Workers {
        Workers::new(self.inner.clone(), program)
    }

    /// Asks the server for its terms, and measures some round trips.
    ///
    /// # Errors
    /// A sentence on why the server cannot be used.
    pub fn ping(&self) -> Result<Ping, String> {
        let inner = &self.inner;
        let server = inner.server().ok_or_else(|| inner.silence())?;
        for _ in 0..4 {
            inner.wait(server.clone().blobs_missing(vec![server.terms.function.name_of_bytes(b"cortex")]));
        }
        let signs_as = server.signer.as_ref().map_err(Clone::clone)?.as_ref().map(Signer::public);
        let round_trip = inner.counters.round_trip().ok_or_else(|| inner.silence())?;
        Ok(Ping {
            terms: server.terms,
            round_trip_us: u64::try_from(round_trip.as_micros()).unwrap_or(u64::MAX),
            signs_as,
        })
    }
}

impl Inner {
    /// Starts a request. The receiver gets the answer, or closes without one if the request could not finish.
    pub(crate) fn start<T: Send + 'static>(&self, question: impl Future<Output = T> + Send + 'static) -> Receiver<T> {
        let (sender, receiver) = sync_channel(1);
        self.handle.spawn(async move {
            // The caller may have stopped waiting.
            let _ = sender.send(question.await);
        });
        receiver
    }

    /// Sends a request and waits for the answer.
    pub(crate) fn wait<T: Send + 'static>(&self, question: impl Future<Output = T> + Send + 'static) -> Option<T> {
        self.start(question).recv().ok()
    }

    /// Returns the server, connecting first if necessary; `None` if it cannot be used now.
    pub(crate) fn server(&self) -> Option<Arc<Server>> {
        if !self.sender.is_up() {
            return None;
        }
        let (connection, def, around) = (self.server.clone(), self.def.clone(), self.around.clone());
        let (sender, counters, writes) = (self.sender.clone(), self.counters.clone(), self.usage.write);
        let connecting = async move {
            let mut connection = connection.lock().await;
            if let Some(known) = &*connection {
                return known.clone().ok();
            }
            let found = match Server::connect(&def, &around, writes, sender, counters.clone()).await {
                Ok(server) => Ok(Arc::new(server)),
                Err(Refusal::Down) => return None,
                Err(Refusal::No(why)) => Err(why),
            };
            match &found {
                Err(why) => counters.update_summary(|summary| {
                    summary.reads_off.get_or_insert(why.clone());
                    summary.writes_off.get_or_insert(why.clone());
                }),
                Ok(server) if !server.terms.takes_results => counters.update_summary(|summary| {
                    summary.writes_off.get_or_insert("it says that it takes no results".to_owned());
                }),
                Ok(server) => {
                    if let Err(why) = &server.signer {
                        counters.update_summary(|summary| {
                            summary.writes_off.get_or_insert(why.clone());
                        });
                    }
                }
            }
            *connection = Some(found.clone());
            found.ok()
        };
        self.wait(connecting).flatten()
    }

    /// Returns a sentence on why there is no answer.
    fn silence(&self) -> String {
        let summary = self.counters.summary();
        let why = summary.reads_off.or(summary.trouble);
        why.unwrap_or_else(|| "it does not answer".to_owned())
    }

    /// Returns the blobs that the server is known to have.
    pub(crate) fn present(&self) -> MutexGuard<'_, HashSet<BlobName>> {
        self.present.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns whether the server returned a blob with the right digest.
    pub(crate) fn is_sound(&self, name: &BlobName) -> bool {
        self.sound.lock().unwrap_or_else(PoisonError::into_inner).contains(name)
    }

    /// Notes that the server returned a blob with the right digest.
    pub(crate) fn is_sound_now(&self, name: BlobName) {
        self.sound.lock().unwrap_or_else(PoisonError::into_inner).insert(name);
        self.counters.end_doubt(&ServerFault::Blob(name));
    }

    /// Returns whether the server still takes offers.
    pub(crate) fn writes(&self) -> bool {
        self.usage.write && self.counters.summary().writes_off.is_none()
    }

    /// Notes why something was not stored; disables writing if nothing more will be.
    pub(crate) fn note_refusal(&self, not_taken: NotTaken) {
        match not_taken {
            // The connection reports its own errors.
            NotTaken::Down => {}
            NotTaken::This(why) => self.counters.trouble(|| format!("an offer was not taken: {why}")),
            NotTaken::Anything(why) => self.counters.update_summary(|summary| {
                summary.writes_off.get_or_insert(why);
            }),
        }
    }

    fn find_checked(&self, wanted: &[Wanted]) -> Vec<Option<SharedResult>> {
        let reads = self.usage.read && self.counters.summary().reads_off.is_none();
        let server = if reads { self.server() } else { None };
        let found = server.and_then(|server| {
            let (names, salt) = (self.names.clone(), self.def.salt.as_str().into());
            self.wait(server.look_up_results(names, salt, wanted.to_vec()))
        });
        found.unwrap_or_else(|| {
            wanted.iter().for_each(|wanted| self.counters.count_lookup(&wanted.key, false));
            vec![None; wanted.len()]
        })
    }

    pub(crate) fn find_results_uncounted(&self, wanted: &[Wanted]) -> Option<Vec<Option<SharedResult>>> {
        let reads = self.usage.read && self.counters.summary().reads_off.is_none();
        let server = if reads { self.server() } else { None }?;
        let found = self.wait(server.find_results(self.names.clone(), self.def.salt.as_str().into(), wanted.to_vec()))?;
        Some(found.into_iter().map(|found| found.ok().flatten()).collect())
    }

    /// Returns the index of the first name with a readable bundle, and its contents.
    pub(crate) fn find_content(&self, server: &Arc<Server>, names: &[Digest]) -> Option<(usize, BundleContent)> {
        let wanted: Vec<Wanted> = names.iter().map(bundle::lookup_of_bundle).collect();
        let found = self.find_results_uncounted(&wanted)?;
        let mut there = found.iter().enumerate().filter_map(|(at, found)| Some((at, found.as_ref()?)));
        there.find_map(|(at, found)| {
            let blob = match &found.outputs[..] {
                [output] => self.fetch(&[output.blob]).pop().flatten(),
                _ => None,
            };
            let content = blob.as_ref().and_then(|blob| piece::decode_piece::<BundleContent>(blob));
            if content.is_none() {
                self.counters.count_unusable(&found.key);
                blob.iter()
                    .for_each(|_| self.counters.count_wrong_answer(WrongRemoteAnswer::Undecodable));
            }
            let mut content = content?;
            content
                .volumes
                .retain(|address| address.function == server.terms.function.protocol_number());
            Some((at, content))
        })
    }

    /// Reads the contents of volumes, in their order.
    pub(crate) fn volumes(&self, server: &Arc<Server>, addresses: &[Address]) -> Vec<Option<Volume>> {
        let found = self.pieces(server, addresses.iter().map(|address| address.records.piece_name()));
        let volume = |address: &Address| {
            let piece = address.records.piece_name();
            self.decoded(&piece, volume::decode_records(found.get(&piece)?))
        };
        addresses.iter().map(volume).collect()
    }

    /// Reads the indexes of volumes, in their order. Reads none twice in a run.
    pub(crate) fn indexes(&self, server: &Arc<Server>, addresses: &[Option<Address>]) -> Vec<Option<Arc<VolumeIndex>>> {
        let piece = |address: &Option<Address>| Some(address.as_ref()?.index?.piece_name());
        let pieces: Vec<Option<BlobName>> = addresses.iter().map(piece).collect();
        let unread: Vec<BlobName> = {
            let read = self.lock_indexes();
            pieces.iter().flatten().filter(|piece| !read.contains_key(piece)).copied().collect()
        };
        let found = self.pieces(server, unread.into_iter());
        let mut read = self.lock_indexes();
        for (piece, bytes) in found {
            let index = self.decoded(&piece, volume::decode_index(&bytes));
            read.extend(index.map(|index| (piece, Arc::new(index))));
        }
        pieces.iter().map(|piece| read.get(piece.as_ref()?).cloned()).collect()
    }

    fn lock_indexes(&self) -> MutexGuard<'_, HashMap<BlobName, Arc<VolumeIndex>>> {
        self.indexes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the decoded piece; counts an undecodable one.
    fn decoded<T>(&self, piece: &BlobName, read: Option<T>) -> Option<T> {
        if read.is_none() {
            self.counters
                .count_wrong_answer_about(WrongRemoteAnswer::Undecodable, ServerFault::Blob(*piece));
        }
        read
    }
}

impl RemoteCache for Client {
    fn reads(&self) -> bool {
        let inner = &self.inner;
        inner.usage.read && inner.sender.is_up() && inner.counters.summary().reads_off.is_none()
    }

    fn writes(&self) -> bool {
        self.inner.writes()
    }

    fn round_trip(&self) -> Option<Duration> {
        self.inner.counters.round_trip()
    }

    fn speed(&self) -> Option<u64> {
        self.inner.counters.speed()
    }

    fn find(&self, wanted: &[Wanted]) -> Vec<Option<SharedResult>> {
        self.inner.find_checked(wanted)
    }

    fn find_results_uncounted(&self, wanted: &[Wanted]) -> Vec<Option<SharedResult>> {
        self.inner
            .find_results_uncounted(wanted)
            .unwrap_or_else(|| vec![None; wanted.len()])
    }

    fn refuse(&self, key: &ActionKey) {
        self.inner.counters.count_unusable(key);
    }

    fn is_spoiled(&self, key: &ActionKey) -> bool {
        self.inner.counters.is_doubted(&ServerFault::Result(*key))
    }

    fn find_bundle(&self, names: &[Digest]) -> Option<Bundle> {
        let server = self.inner.server();
        let found = server.as_ref().and_then(|server| self.inner.find_content(server, names));
        let looked_up = found.as_ref().map_or(names.first(), |(at, _)| names.get(*at));
        if let Some(name) = looked_up {
            self.inner.counters.count_lookup(&ActionKey(*name), found.is_some());
        }
        let ((at, content), server) = found.zip(server)?;
        Some(Bundle {
            at,
            volumes: content.volumes.iter().map(|address| address.volume(server.id)).collect(),
            graph: content.graph.map(|graph| graph.handed_out_by(server.id)),
        })
    }

    fn read_volumes(&self, addresses: &[&[u8]]) -> Vec<Option<Volume>> {
        let Some(server) = self.inner.server() else {
            return vec![None; addresses.len()];
        };
        let known: Vec<Option<Address>> = addresses.iter().map(|address| server.address(address)).collect();
        let read = self.inner.volumes(&server, &known.iter().flatten().copied().collect::<Vec<_>>());
        let mut read = read.into_iter();
        known.iter().map(|address| address.and_then(|_| read.next()?)).collect()
    }

    fn read_indexes(&self, addresses: &[&[u8]]) -> Vec<Option<Arc<VolumeIndex>>> {
        let Some(server) = self.inner.server() else {
            return vec![None; addresses.len()];
        };
        let addresses: Vec<Option<Address>> = addresses.iter().map(|address| server.address(address)).collect();
        self.inner.indexes(&server, &addresses)
    }

    fn read_outputs(&self, addresses: &[&[u8]]) -> Vec<Vec<(Digest, Arc<[u8]>)>> {
        let Some(server) = self.inner.server() else {
            return vec![Vec::new(); addresses.len()];
        };
        let pieces: Vec<Option<BlobName>> = addresses
            .iter()
            .map(|address| Some(server.address(address)?.outputs?.piece_name()))
            .collect();
        let found = self.inner.pieces(&server, pieces.iter().flatten().copied());
        let outputs = |piece: &Option<BlobName>| {
            let piece = piece.as_ref()?;
            self.inner.decoded(piece, volume::decode_outputs(found.get(piece)?))
        };
        self.inner.counters.update_summary(|summary| summary.volumes += found.len() as u64);
        pieces.iter().map(|piece| outputs(piece).unwrap_or_default()).collect()
    }

    fn read_graph(&self, address: &[u8], is_worth: &dyn Fn(u64) -> bool) -> Option<Vec<GraphRow>> {
        let server = self.inner.server()?;
        let address = GraphAddress::from_bytes(address, server.id)?;
        self.inner.read_graph(&server, &address, is_worth)
    }

    fn fetch(&self, wanted: &[BlobRef]) -> Vec<Option<Arc<[u8]>>> {
        self.inner.fetch(wanted)
    }

    fn offer(&self, result: SharedResult, blobs: Vec<Arc<[u8]>>) -> Offered {
        if !self.inner.writes() || !self.inner.sender.is_up() {
            return Offered::Off;
        }
        self.uploads.offer_result(result, blobs)
    }

    fn store_result(&self, result: SharedResult, blobs: Vec<Arc<[u8]>>, may_store: &mut dyn FnMut(Option<SharedResult>) -> bool) {
        let inner = &self.inner;
        let Some(server) = inner.server().filter(|_| inner.writes()) else {
            return;
        };
        let parcel = inner.pack(&server, &result, blobs);
        let filed = inner.ship_if(&server, &result, parcel, may_store);
        inner.counters.update_summary(|summary| match &filed {
            Some(Ok(())) => summary.stored += 1,
            Some(Err(_)) => summary.not_stored += 1,
            None => {}
        });
        filed
            .and_then(Result::err)
            .into_iter()
            .for_each(|trouble| inner.note_refusal(trouble));
    }

    fn leave_result(&self, key: &ActionKey) {
        self.inner.counters.count_left(key);
    }

    fn leave_volume(&self) {
        self.inner.counters.update_summary(|summary| summary.volumes_left += 1);
    }

    fn requires_signatures(&self) -> bool {
        self.inner.server().is_some_and(|server| !server.trusted.is_empty())
    }

    fn kept_results(&self, names: &[Digest], near: &[Digest], keys: &[ActionKey]) -> HashSet<[u8; PREFIX]> {
        self.inner.kept_results(names, near, keys)
    }

    fn offer_bundle(&self, offer: &BundleOffer<'_>) -> bool {
        self.inner.offer_bundle(offer)
    }

    fn finish(&self, wait: Option<Duration>) -> RemoteSummary {
        self.uploads.wait_for_uploads(wait);
        self.inner.counters.summary()
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        self.uploads.wait_for_uploads(Some(Duration::ZERO));
        let runtime = self.inner.runtime.lock().unwrap_or_else(PoisonError::into_inner).take();
        // Dropping a runtime within another one may not block.
        if let Some(runtime) = runtime {
            runtime.shutdown_background();
        }
    }
}
