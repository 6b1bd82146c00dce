//! The client: a remote cache behind the engine's blocking seam.

use crate::agreed_capabilities::AgreedCapabilities;
use crate::bundle::GraphAddress;
use crate::cache_counters::ServerFault;
use crate::clock::{Clock, SystemClock};
use crate::connection::{CacheUse, Connection};
use crate::farm::Workers;
use crate::names::BlobName;
use crate::server::Surroundings;
use crate::signature::Signer;
use crate::uploads::Uploads;
use crate::volume::{self, Address};
use engine::manifest::remote::RemoteDef;
use engine::seams::remote::{
    BlobRef, Bundle, BundleOffer, GraphRow, Offered, PREFIX, RemoteCache, RemoteSummary, SharedResult, Volume, VolumeIndex, Wanted,
};
use engine::values::digest::{ActionKey, Digest};
use serde::Serialize;
use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

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

/// A remote cache behind the engine's seam. Connects on the first request.
pub struct Client {
    connection: Arc<Connection>,
    uploads: Uploads,
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
        let connection = Arc::new(Connection::new(def, usage, around, clock)?);
        Ok(Self {
            uploads: Uploads::new(connection.clone()),
            connection,
        })
    }

    /// Returns the server's workers; `program` is the program that they run, or a sentence on why it is missing.
    pub fn workers(&self, program: Result<PathBuf, String>) -> Workers {
        Workers::new(self.connection.clone(), program)
    }

    /// Asks the server for its terms, and measures some round trips.
    ///
    /// # Errors
    /// A sentence on why the server cannot be used.
    pub fn ping(&self) -> Result<Ping, String> {
        let connection = &self.connection;
        let server = connection.server().ok_or_else(|| connection.silence())?;
        for _ in 0..4 {
            connection.wait(server.clone().blobs_missing(vec![server.terms.function.name_of_bytes(b"cortex")]));
        }
        let signs_as = server.signer.as_ref().map_err(Clone::clone)?.as_ref().map(Signer::public);
        let round_trip = connection.counters.round_trip().ok_or_else(|| connection.silence())?;
        Ok(Ping {
            terms: server.terms,
            round_trip_us: u64::try_from(round_trip.as_micros()).unwrap_or(u64::MAX),
            signs_as,
        })
    }
}

impl RemoteCache for Client {
    fn reads(&self) -> bool {
        let connection = &self.connection;
        connection.usage.read && connection.sender.is_up() && connection.counters.summary().reads_off.is_none()
    }

    fn writes(&self) -> bool {
        self.connection.writes()
    }

    fn round_trip(&self) -> Option<Duration> {
        self.connection.counters.round_trip()
    }

    fn speed(&self) -> Option<u64> {
        self.connection.counters.speed()
    }

    fn find(&self, wanted: &[Wanted]) -> Vec<Option<SharedResult>> {
        self.connection.find_checked(wanted)
    }

    fn find_results_uncounted(&self, wanted: &[Wanted]) -> Vec<Option<SharedResult>> {
        self.connection
            .find_results_uncounted(wanted)
            .unwrap_or_else(|| vec![None; wanted.len()])
    }

    fn refuse(&self, key: &ActionKey) {
        self.connection.counters.count_unusable(key);
    }

    fn is_spoiled(&self, key: &ActionKey) -> bool {
        self.connection.counters.is_doubted(&ServerFault::Result(*key))
    }

    fn find_bundle(&self, names: &[Digest]) -> Option<Bundle> {
        let server = self.connection.server();
        let found = server.as_ref().and_then(|server| self.connection.find_content(server, names));
        let looked_up = found.as_ref().map_or(names.first(), |(at, _)| names.get(*at));
        if let Some(name) = looked_up {
            self.connection.counters.count_lookup(&ActionKey(*name), found.is_some());
        }
        let ((at, content), server) = found.zip(server)?;
        Some(Bundle {
            at,
            volumes: content.volumes.iter().map(|address| address.volume(server.id)).collect(),
            graph: content.graph.map(|graph| graph.handed_out_by(server.id)),
        })
    }

    fn read_volumes(&self, addresses: &[&[u8]]) -> Vec<Option<Volume>> {
        let Some(server) = self.connection.server() else {
            return vec![None; addresses.len()];
        };
        let known: Vec<Option<Address>> = addresses.iter().map(|address| server.address(address)).collect();
        let read = self
            .connection
            .volumes(&server, &known.iter().flatten().copied().collect::<Vec<_>>());
        let mut read = read.into_iter();
        known.iter().map(|address| address.and_then(|_| read.next()?)).collect()
    }

    fn read_indexes(&self, addresses: &[&[u8]]) -> Vec<Option<Arc<VolumeIndex>>> {
        let Some(server) = self.connection.server() else {
            return vec![None; addresses.len()];
        };
        let addresses: Vec<Option<Address>> = addresses.iter().map(|address| server.address(address)).collect();
        self.connection.indexes(&server, &addresses)
    }

    fn read_outputs(&self, addresses: &[&[u8]]) -> Vec<Vec<(Digest, Arc<[u8]>)>> {
        let Some(server) = self.connection.server() else {
            return vec![Vec::new(); addresses.len()];
        };
        let pieces: Vec<Option<BlobName>> = addresses
            .iter()
            .map(|address| Some(server.address(address)?.outputs?.piece_name()))
            .collect();
        let found = self.connection.pieces(&server, pieces.iter().flatten().copied());
        let outputs = |piece: &Option<BlobName>| {
            let piece = piece.as_ref()?;
            self.connection.decoded(piece, volume::decode_outputs(found.get(piece)?))
        };
        self.connection
            .counters
            .update_summary(|summary| summary.volumes += found.len() as u64);
        pieces.iter().map(|piece| outputs(piece).unwrap_or_default()).collect()
    }

    fn read_graph(&self, address: &[u8], is_worth: &dyn Fn(u64) -> bool) -> Option<Vec<GraphRow>> {
        let server = self.connection.server()?;
        let address = GraphAddress::from_bytes(address, server.id)?;
        self.connection.read_graph(&server, &address, is_worth)
    }

    fn fetch(&self, wanted: &[BlobRef]) -> Vec<Option<Arc<[u8]>>> {
        self.connection.fetch(wanted)
    }

    fn offer(&self, result: SharedResult, blobs: Vec<Arc<[u8]>>) -> Offered {
        if !self.connection.writes() || !self.connection.sender.is_up() {
            return Offered::Off;
        }
        self.uploads.offer_result(result, blobs)
    }

    fn store_result(&self, result: SharedResult, blobs: Vec<Arc<[u8]>>, may_store: &mut dyn FnMut(Option<SharedResult>) -> bool) {
        let connection = &self.connection;
        let Some(server) = connection.server().filter(|_| connection.writes()) else {
            return;
        };
        let parcel = connection.pack(&server, &result, blobs);
        let filed = connection.ship_if(&server, &result, parcel, may_store);
        connection.counters.update_summary(|summary| match &filed {
            Some(Ok(())) => summary.stored += 1,
            Some(Err(_)) => summary.not_stored += 1,
            None => {}
        });
        filed
            .and_then(Result::err)
            .into_iter()
            .for_each(|trouble| connection.note_refusal(trouble));
    }

    fn leave_result(&self, key: &ActionKey) {
        self.connection.counters.count_left(key);
    }

    fn leave_volume(&self) {
        self.connection.counters.update_summary(|summary| summary.volumes_left += 1);
    }

    fn requires_signatures(&self) -> bool {
        self.connection.server().is_some_and(|server| !server.trusted.is_empty())
    }

    fn kept_results(&self, names: &[Digest], near: &[Digest], keys: &[ActionKey]) -> HashSet<[u8; PREFIX]> {
        self.connection.kept_results(names, near, keys)
    }

    fn offer_bundle(&self, offer: &BundleOffer<'_>) -> bool {
        self.connection.offer_bundle(offer)
    }

    fn finish(&self, wait: Option<Duration>) -> RemoteSummary {
        self.uploads.wait_for_uploads(wait);
        self.connection.counters.summary()
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        self.uploads.wait_for_uploads(Some(Duration::ZERO));
        self.connection.stop_requests();
    }
}
