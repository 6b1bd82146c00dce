//! The client: the engine's blocking seam on one side, a small runtime that speaks with the server on the other.

use crate::account::Account;
use crate::blobs::NotTaken;
use crate::bundle::{self, Bundled};
use crate::farm::Workers;
use crate::line::Line;
use crate::moments::{Moments, RealMoments};
use crate::names::{Name, Names};
use crate::server::{Refusal, Server, Surroundings};
use crate::signature::Signer;
use crate::terms::Terms;
use crate::uploads::Uploads;
use engine::manifest::remote::RemoteDef;
use engine::seams::remote::{BlobRef, Lie, Offered, RemoteCache, RemoteSummary, SharedOutput, SharedResult, Wanted, genuine};
use engine::values::digest::Digest;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::future::Future;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::runtime::Runtime;

/// What a server answered when it was asked who it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Ping {
    /// What was agreed.
    #[serde(flatten)]
    pub terms: Terms,
    /// The fastest of some round trips, in microseconds.
    pub round_trip_us: u64,
    /// The public key that results are signed with here, if they are.
    pub signs_as: Option<String>,
}

/// How a cache is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Use {
    /// Whether results are looked up.
    pub read: bool,
    /// Whether results are offered.
    pub write: bool,
}

/// Where the server is, once it has answered; or why there is none.
type Place = tokio::sync::Mutex<Option<Result<Arc<Server>, String>>>;

/// A remote cache behind the engine's seam. Connects when it is first asked something.
pub struct Client {
    inner: Arc<Inner>,
    uploads: Uploads,
}

/// What questions and uploads share.
pub(crate) struct Inner {
    pub def: RemoteDef,
    pub usage: Use,
    pub names: Arc<Names>,
    pub account: Arc<Account>,
    pub around: Surroundings,
    pub line: Arc<Line>,
    server: Arc<Place>,
    /// Blobs that the server is known to have.
    present: Mutex<HashSet<Name>>,
    runtime: Mutex<Option<Runtime>>,
    pub handle: tokio::runtime::Handle,
}

impl Client {
    /// A client that has asked nothing yet.
    ///
    /// # Errors
    /// When no thread can be started.
    pub fn new(def: RemoteDef, usage: Use, around: Surroundings) -> std::io::Result<Self> {
        Self::with_moments(def, usage, around, Arc::new(RealMoments::default()))
    }

    /// The same with another clock.
    ///
    /// # Errors
    /// When no thread can be started.
    pub fn with_moments(def: RemoteDef, usage: Use, around: Surroundings, moments: Arc<dyn Moments>) -> std::io::Result<Self> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .thread_name("remote")
            .enable_all()
            .build()?;
        let account = Arc::new(Account::default());
        let inner = Arc::new(Inner {
            def,
            usage,
            names: Arc::default(),
            line: Arc::new(Line::new(moments, around.deadlines, account.clone())),
            account,
            around,
            server: Arc::default(),
            present: Mutex::default(),
            handle: runtime.handle().clone(),
            runtime: Mutex::new(Some(runtime)),
        });
        Ok(Self {
            uploads: Uploads::new(inner.clone()),
            inner,
        })
    }

    /// The server's workers; `program` is what they run, or why there is none, one sentence.
    pub fn workers(&self, program: Result<PathBuf, String>) -> Workers {
        Workers::new(self.inner.clone(), program)
    }

    /// Asks the server who it is, some times.
    ///
    /// # Errors
    /// Why it cannot be used, one sentence.
    pub fn ping(&self) -> Result<Ping, String> {
        let inner = &self.inner;
        let server = inner.server().ok_or_else(|| inner.silence())?;
        for _ in 0..4 {
            inner.wait(server.clone().missing(vec![server.terms.function.name(b"cortex")]));
        }
        let signs_as = server.signer.as_ref().map_err(Clone::clone)?.as_ref().map(Signer::public);
        let round_trip = inner.account.round_trip().ok_or_else(|| inner.silence())?;
        Ok(Ping {
            terms: server.terms,
            round_trip_us: u64::try_from(round_trip.as_micros()).unwrap_or(u64::MAX),
            signs_as,
        })
    }
}

impl Inner {
    /// Starts asking; the answer comes through the channel, or nothing when it could not be asked to the end.
    pub(crate) fn start<T: Send + 'static>(&self, question: impl Future<Output = T> + Send + 'static) -> Receiver<T> {
        let (sender, receiver) = sync_channel(1);
        self.handle.spawn(async move {
            // Who no longer waits does not need the answer.
            let _ = sender.send(question.await);
        });
        receiver
    }

    /// Asks and waits.
    pub(crate) fn wait<T: Send + 'static>(&self, question: impl Future<Output = T> + Send + 'static) -> Option<T> {
        self.start(question).recv().ok()
    }

    /// The server, connected to if it was not; `None` when there is none now.
    pub(crate) fn server(&self) -> Option<Arc<Server>> {
        if !self.line.is_up() {
            return None;
        }
        let (place, def, around) = (self.server.clone(), self.def.clone(), self.around.clone());
        let (line, account) = (self.line.clone(), self.account.clone());
        let connecting = async move {
            let mut place = place.lock().await;
            if let Some(known) = &*place {
                return known.clone().ok();
            }
            let found = match Server::connect(&def, &around, line, account.clone()).await {
                Ok(server) => Ok(Arc::new(server)),
                Err(Refusal::Down) => return None,
                Err(Refusal::No(why)) => Err(why),
            };
            match &found {
                Err(why) => account.count(|summary| {
                    summary.reads_off.get_or_insert(why.clone());
                    summary.writes_off.get_or_insert(why.clone());
                }),
                Ok(server) if !server.terms.takes_results => account.count(|summary| {
                    summary.writes_off.get_or_insert("it says that it takes no results".to_owned());
                }),
                Ok(server) => {
                    if let Err(why) = &server.signer {
                        account.count(|summary| {
                            summary.writes_off.get_or_insert(why.clone());
                        });
                    }
                }
            }
            *place = Some(found.clone());
            found.ok()
        };
        self.wait(connecting).flatten()
    }

    /// Why there is no answer, one sentence.
    fn silence(&self) -> String {
        let summary = self.account.summary();
        let why = summary.reads_off.or(summary.trouble);
        why.unwrap_or_else(|| "it does not answer".to_owned())
    }

    /// Blobs that the server is known to have.
    pub(crate) fn present(&self) -> MutexGuard<'_, HashSet<Name>> {
        self.present.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether offers are still taken.
    pub(crate) fn writes(&self) -> bool {
        self.usage.write && self.account.summary().writes_off.is_none()
    }

    /// Remembers why something was not taken; turns writing off when nothing more will be.
    pub(crate) fn not_taken(&self, not_taken: NotTaken) {
        match not_taken {
            // What the line says of it is told.
            NotTaken::Down => {}
            NotTaken::This(why) => self.account.trouble(|| format!("an offer was not taken: {why}")),
            NotTaken::Anything(why) => self.account.count(|summary| {
                summary.writes_off.get_or_insert(why);
            }),
        }
    }

    fn find(&self, wanted: &[Wanted]) -> Vec<Option<SharedResult>> {
        let reads = self.usage.read && self.account.summary().reads_off.is_none();
        let server = if reads { self.server() } else { None };
        let found = server.and_then(|server| {
            let (names, salt) = (self.names.clone(), self.def.salt.as_str().into());
            self.wait(server.find(names, salt, wanted.to_vec()))
        });
        found.unwrap_or_else(|| {
            self.account.count(|summary| summary.misses += wanted.len() as u64);
            vec![None; wanted.len()]
        })
    }

    fn fetch(&self, wanted: &[BlobRef]) -> Vec<Option<Arc<[u8]>>> {
        let Some(server) = self.server() else {
            return vec![None; wanted.len()];
        };
        let function = server.terms.function;
        let names: BTreeMap<BlobRef, Name> = wanted
            .iter()
            .filter_map(|blob| Some((*blob, self.names.get(function, blob)?)))
            .collect();
        let asked: BTreeSet<Name> = names.values().copied().collect();
        let found: HashMap<Name, Vec<u8>> = self.wait(server.read(asked)).unwrap_or_default();
        let found: HashMap<Name, Arc<[u8]>> = found.into_iter().map(|(name, blob)| (name, blob.into())).collect();
        let take = |blob: &BlobRef| {
            let came = found.get(names.get(blob)?)?;
            let genuine = genuine(blob, Some(came.clone()));
            if genuine.is_none() {
                self.account.lied(Lie::WrongBytes);
            }
            genuine
        };
        wanted.iter().map(take).collect()
    }
}

impl RemoteCache for Client {
    fn reads(&self) -> bool {
        let inner = &self.inner;
        inner.usage.read && inner.line.is_up() && inner.account.summary().reads_off.is_none()
    }

    fn writes(&self) -> bool {
        self.inner.writes()
    }

    fn round_trip(&self) -> Option<Duration> {
        self.inner.account.round_trip()
    }

    fn find(&self, wanted: &[Wanted]) -> Vec<Option<SharedResult>> {
        self.inner.find(wanted)
    }

    fn find_bundle(&self, name: &Digest) -> Option<Vec<SharedResult>> {
        let found = self.inner.find(&[bundle::wanted(name)]).pop()??;
        let [output] = &found.outputs[..] else { return None };
        let blob = self.inner.fetch(&[output.blob]).pop()??;
        let Some(results) = bundle::decode(&blob) else {
            self.inner.account.lied(Lie::Undecodable);
            return None;
        };
        for (digest, name) in results.iter().flat_map(bundle::names) {
            self.inner.names.learn(digest, &name);
        }
        Some(results.into_iter().map(|(result, _)| result).collect())
    }

    fn fetch(&self, wanted: &[BlobRef]) -> Vec<Option<Arc<[u8]>>> {
        self.inner.fetch(wanted)
    }

    fn offer(&self, result: SharedResult, blobs: Vec<Arc<[u8]>>) -> Offered {
        if !self.inner.writes() || !self.inner.line.is_up() {
            return Offered::Off;
        }
        self.uploads.add(result, blobs)
    }

    fn offer_bundle(&self, name: &Digest, results: &[SharedResult], load: &(dyn Fn(&Digest) -> Option<Arc<[u8]>> + Sync)) -> bool {
        let inner = &self.inner;
        let Some(server) = inner.server().filter(|_| inner.writes()) else {
            return false;
        };
        let mut digests: HashMap<Name, Digest> = HashMap::new();
        let mut bundled: Vec<Bundled> = Vec::with_capacity(results.len());
        for result in results {
            let named = result.outputs.iter().map(|output| {
                let name = inner.name_of(&server, &output.blob, load)?;
                digests.insert(name, output.blob.digest);
                Some(name.hash)
            });
            let named = named.collect();
            bundled.push((result.clone(), named));
        }
        let names = digests.keys().copied().collect();
        let sent = inner.send_missing(&server, names, &|name| load(digests.get(name)?));
        if let Err(not_taken) = sent {
            inner.not_taken(not_taken);
            return false;
        }
        let bytes: Arc<[u8]> = bundle::encode(&bundled).into();
        let wanted = bundle::wanted(name);
        let result = SharedResult {
            key: wanted.key,
            producer: wanted.producer,
            outputs: vec![SharedOutput {
                name: bundle::OUTPUT.to_owned(),
                blob: BlobRef::of(&bytes),
            }],
            provenance: Vec::new(),
        };
        let parcel = inner.pack(&server, &result, vec![bytes]);
        let (stored, trouble) = inner.ship(&server, vec![parcel]);
        inner.account.count(|summary| summary.stored += stored);
        trouble.into_iter().for_each(|trouble| inner.not_taken(trouble));
        stored == 1
    }

    fn finish(&self, wait: Option<Duration>) -> RemoteSummary {
        self.uploads.finish(wait);
        self.inner.account.summary()
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        self.uploads.finish(Some(Duration::ZERO));
        let runtime = self.inner.runtime.lock().unwrap_or_else(PoisonError::into_inner).take();
        // Dropped within another runtime, it could not wait.
        if let Some(runtime) = runtime {
            runtime.shutdown_background();
        }
    }
}
