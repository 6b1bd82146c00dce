//! The connection to a cache: a small runtime that sends requests to its server, and the state that requests, uploads and workers share.

use crate::blobs::NotTaken;
use crate::bundle::{self, BundleContent};
use crate::cache_counters::{CacheCounters, ServerFault};
use crate::clock::Clock;
use crate::names::{BlobName, ServerNames};
use crate::piece;
use crate::prepared_bundle::PreparedBundle;
use crate::request_sender::RequestSender;
use crate::server::{Refusal, Server, Surroundings};
use crate::volume::{self, Address};
use engine::manifest::remote::RemoteDef;
use engine::seams::remote::{SharedResult, Volume, VolumeIndex, Wanted, WrongRemoteAnswer};
use engine::values::digest::Digest;
use std::collections::{HashMap, HashSet};
use std::future::Future;
use std::sync::mpsc::{Receiver, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::runtime::Runtime;

/// Permitted use of a cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CacheUse {
    /// Whether results are looked up.
    pub read: bool,
    /// Whether results are offered.
    pub write: bool,
}

/// The server, once it has answered, or the reason why it is not used.
type KnownServer = tokio::sync::Mutex<Option<Result<Arc<Server>, String>>>;

/// State that requests and uploads share.
pub(crate) struct Connection {
    pub def: RemoteDef,
    pub usage: CacheUse,
    pub names: Arc<ServerNames>,
    pub counters: Arc<CacheCounters>,
    pub around: Surroundings,
    pub sender: Arc<RequestSender>,
    server: Arc<KnownServer>,
    /// Blobs that the server is known to have.
    present: Mutex<HashSet<BlobName>>,
    /// Blobs that the server returned with the right digest.
    sound: Mutex<HashSet<BlobName>>,
    /// Indexes of volumes that were read, by the names of their pieces.
    indexes: Mutex<HashMap<BlobName, Arc<VolumeIndex>>>,
    /// The next bundle to offer.
    pub(crate) prepared: Mutex<Option<PreparedBundle>>,
    runtime: Mutex<Option<Runtime>>,
    pub handle: tokio::runtime::Handle,
}

impl Connection {
    /// Creates a connection that is opened by the first request.
    ///
    /// # Errors
    /// When no thread can be started.
    pub(crate) fn new(def: RemoteDef, usage: CacheUse, around: Surroundings, clock: Arc<dyn Clock>) -> std::io::Result<Self> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .thread_name("remote")
            .enable_all()
            .build()?;
        let counters = Arc::new(CacheCounters::default());
        Ok(Self {
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
        })
    }

    /// Stops all requests, without waiting for them.
    pub(crate) fn stop_requests(&self) {
        let runtime = self.runtime.lock().unwrap_or_else(PoisonError::into_inner).take();
        // Dropping a runtime within another one may not block.
        if let Some(runtime) = runtime {
            runtime.shutdown_background();
        }
    }

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
    pub(crate) fn silence(&self) -> String {
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

    pub(crate) fn find_checked(&self, wanted: &[Wanted]) -> Vec<Option<SharedResult>> {
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
    pub(crate) fn decoded<T>(&self, piece: &BlobName, read: Option<T>) -> Option<T> {
        if read.is_none() {
            self.counters
                .count_wrong_answer_about(WrongRemoteAnswer::Undecodable, ServerFault::Blob(*piece));
        }
        read
    }
}
