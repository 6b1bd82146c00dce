//! Bundling: stores results together, in volumes. Keeps volumes of an earlier bundle that are mostly still needed, so that only new results
//! are sent. Reads back all that it sends, and a sample of what it keeps, so that no bundle refers to pieces that the server has lost or
//! damaged.

use crate::blobs::NotTaken;
use crate::bundle::{self, BundleContent, GraphAddress};
use crate::cache_counters::ServerFault;
use crate::connection::Connection;
use crate::names::BlobName;
use crate::new_volumes::{NewVolume, each_new_volume};
use crate::piece;
use crate::prepared_bundle::PreparedBundle;
use crate::server::Server;
use crate::volume::{self, Address};
use engine::seams::remote::{BlobRef, BundleOffer, PREFIX, SharedOutput, SharedResult};
use engine::values::digest::{ActionKey, Digest};
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, MutexGuard, PoisonError};

/// Number of new volumes whose pieces are sent together.
const AT_ONCE: usize = 8;
/// Limit of bytes of earlier volumes that are read back; another sample each time.
const READ_BACK: u64 = 8 << 20;
/// Number of attempts to send a piece, each under another name, while the server's copy is damaged.
const NUMBERS: u32 = 3;

/// Name and bytes of a piece that the server has undamaged.
pub(crate) type Sent = Option<(BlobName, Arc<[u8]>)>;

impl Connection {
    /// Stores a bundle under its names. Returns whether the server has all of it, undamaged.
    pub(crate) fn offer_bundle(&self, offer: &BundleOffer<'_>) -> bool {
        let Some(server) = self.server().filter(|_| self.writes()) else {
            return false;
        };
        self.file_bundle(&server, offer).unwrap_or_else(|not_taken| {
            self.note_refusal(not_taken);
            false
        })
    }

    fn file_bundle(&self, server: &Arc<Server>, offer: &BundleOffer<'_>) -> Result<bool, NotTaken> {
        let Some((own, pointers)) = offer.names.split_first() else {
            return Ok(false);
        };
        let prepared = self.lock_prepared().take().filter(|prepared| prepared.names == offer.names);
        let PreparedBundle { earlier, graph, .. } = match prepared {
            Some(prepared) => prepared,
            None => {
                let keys: Vec<ActionKey> = offer.results.iter().map(|bundled| bundled.result.key).collect();
                self.prepare(server, offer.names, offer.near, &keys)?
            }
        };
        let mut addresses = earlier.addresses.clone();
        let mut waiting: Vec<NewVolume> = Vec::new();
        let mut is_sound = true;
        let too_large = each_new_volume(offer, &earlier, |volume| {
            waiting.push(volume);
            if waiting.len() >= AT_ONCE {
                is_sound &= self.send_volumes(server, &std::mem::take(&mut waiting), &mut addresses)?;
            }
            Ok(())
        })?;
        self.counters.update_summary(|summary| summary.too_large = too_large);
        is_sound &= self.send_volumes(server, &waiting, &mut addresses)?;
        let content = BundleContent {
            volumes: addresses,
            graph: self.send_graph(server, offer.graph, graph)?,
        };
        is_sound &= content.graph.is_some() || offer.graph.is_empty();
        let sent = self.send_pieces(server, 1, &|_, number| piece::encode_piece(&content, number))?;
        let [Some((_, bytes))] = &sent[..] else { return Ok(false) };
        let file = |names: &[Digest]| {
            let parcels = names
                .iter()
                .map(|name| self.pack(server, &bundle_result(name, bytes), vec![bytes.clone()]));
            self.ship(server, parcels.collect())
        };
        let (stored, trouble) = file(std::slice::from_ref(own));
        self.counters.update_summary(|summary| summary.stored += stored);
        let is_filed = stored == 0 && matches!(trouble, Some(NotTaken::This(_))) && earlier.lists(offer);
        if stored == 0 && !is_filed {
            trouble.into_iter().for_each(|trouble| self.note_refusal(trouble));
            return Ok(false);
        }
        // A server that never overwrites keeps old pointers; then older trees are found.
        file(pointers);
        Ok(is_sound && (is_filed || self.is_found_again(server, &bundle_result(own, bytes))))
    }

    /// Prepares a bundle of results with these keys; returns the prefixes of those that need not be offered.
    pub(crate) fn kept_results(&self, names: &[Digest], near: &[Digest], keys: &[ActionKey]) -> HashSet<[u8; PREFIX]> {
        let Some(server) = self.server().filter(|_| self.writes()) else {
            return HashSet::new();
        };
        let prepared = self.prepare(&server, names, near, keys).unwrap_or_default();
        let kept = prepared.earlier.kept_keys.clone();
        *self.lock_prepared() = Some(prepared);
        kept
    }

    fn lock_prepared(&self) -> MutexGuard<'_, Option<PreparedBundle>> {
        self.prepared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Finds an earlier bundle, and those of its volumes to keep: the server has them, and most of their results have one of these keys.
    fn prepare(&self, server: &Arc<Server>, names: &[Digest], near: &[Digest], keys: &[ActionKey]) -> Result<PreparedBundle, NotTaken> {
        let near: Vec<Digest> = names.iter().take(1).chain(near).copied().collect();
        let mut prepared = PreparedBundle {
            names: names.to_vec(),
            ..PreparedBundle::default()
        };
        let Some((at, content)) = self.find_content(server, &near) else {
            return Ok(prepared);
        };
        let mut addresses = content.volumes;
        let pieces = |address: &Address| address.pieces().collect::<Vec<BlobName>>();
        let of_graph: Vec<BlobName> = content.graph.iter().flat_map(GraphAddress::piece_names).collect();
        let all = addresses.iter().flat_map(pieces).chain(of_graph.iter().copied()).collect();
        let missing = self.wait(server.clone().blobs_missing(all)).unwrap_or(Err(NotTaken::Down))?;
        addresses.retain(|address| !address.pieces().any(|piece| missing.contains(&piece)));
        let kept = addresses.iter().flat_map(pieces).chain(of_graph.iter().copied());
        self.read_back(server, sample(kept.collect(), server.sender.random()));
        let indexes = self.indexes(server, &addresses.iter().copied().map(Some).collect::<Vec<_>>());
        let sound = addresses.into_iter().zip(indexes);
        let sound = sound.filter(|(address, _)| !address.pieces().any(|piece| self.is_wrong(&piece)));
        prepared.earlier.is_own = at == 0;
        prepared
            .earlier
            .retain_volumes(sound.filter_map(|(address, index)| Some((address, index?))).collect(), keys);
        let is_gone = |piece: &BlobName| missing.contains(piece) || self.is_wrong(piece);
        prepared.graph = content.graph.filter(|_| !of_graph.iter().any(is_gone));
        Ok(prepared)
    }

    /// Sends volumes, and adds their addresses. Returns whether the server has all of them.
    fn send_volumes(&self, server: &Arc<Server>, volumes: &[NewVolume], addresses: &mut Vec<Address>) -> Result<bool, NotTaken> {
        let write = |at: usize, number: u32| match (&volumes[at / 3], at % 3) {
            (made, 0) => volume::encode_records(&made.contents, number),
            (made, 1) => volume::encode_outputs(&made.blobs, number),
            (made, _) => volume::encode_index(&made.index(), number),
        };
        let sent = self.send_pieces(server, volumes.len() * 3, &write)?;
        for (made, sent) in volumes.iter().zip(sent.as_chunks::<3>().0) {
            if let [Some((records, _)), outputs, index] = sent {
                let outputs = outputs.as_ref().filter(|_| !made.blobs.is_empty());
                addresses.push(Address {
                    function: server.terms.function.protocol_number(),
                    records: (*records).into(),
                    outputs: outputs.map(|(name, _)| (*name).into()),
                    kind: volume::number_of(made.kind),
                    index: index.as_ref().map(|(name, _)| (*name).into()),
                    took_us: made.took_us,
                });
            }
        }
        Ok(sent.iter().all(Option::is_some))
    }

    /// Sends `count` pieces, whose bytes `write` returns. If the server's copy of a piece is damaged, sends the piece again under another number, and
    /// so another name. Returns name and bytes of each piece that the server has undamaged.
    pub(crate) fn send_pieces(
        &self,
        server: &Arc<Server>,
        count: usize,
        write: &dyn Fn(usize, u32) -> Vec<u8>,
    ) -> Result<Vec<Sent>, NotTaken> {
        let mut sent: Vec<Sent> = vec![None; count];
        let mut open: Vec<usize> = (0..count).collect();
        for number in 0..NUMBERS {
            let pieces: Vec<(usize, BlobName, Arc<[u8]>)> = open.iter().map(|at| self.piece(server, *at, write(*at, number))).collect();
            let bytes: HashMap<BlobName, &Arc<[u8]>> = pieces.iter().map(|(_, name, bytes)| (*name, bytes)).collect();
            self.send_sound(server, bytes.keys().copied().collect(), &|name| {
                bytes.get(name).map(|bytes| (*bytes).clone())
            })?;
            open = pieces
                .iter()
                .filter(|(_, name, _)| self.is_wrong(name))
                .map(|(at, ..)| *at)
                .collect();
            for (at, name, bytes) in pieces {
                sent[at] = self.is_sound(&name).then_some((name, bytes));
            }
            if open.is_empty() {
                break;
            }
        }
        Ok(sent)
    }

    fn piece(&self, server: &Server, at: usize, bytes: Vec<u8>) -> (usize, BlobName, Arc<[u8]>) {
        (at, server.terms.function.name_of_bytes(&bytes), bytes.into())
    }

    /// Sends the missing pieces, reads all of them back, and sends the damaged ones once more.
    fn send_sound(
        &self,
        server: &Arc<Server>,
        names: Vec<BlobName>,
        load: &dyn Fn(&BlobName) -> Option<Arc<[u8]>>,
    ) -> Result<(), NotTaken> {
        self.send_missing(server, names.clone(), load)?;
        if !self.read_back(server, names.iter().copied()) {
            let wrong = names.into_iter().filter(|name| self.is_wrong(name)).collect();
            self.send_missing(server, wrong, load)?;
        }
        Ok(())
    }

    /// Returns whether the result just stored is found.
    fn is_found_again(&self, server: &Arc<Server>, result: &SharedResult) -> bool {
        let looking = server
            .clone()
            .find_results(self.names.clone(), self.def.salt.as_str().into(), vec![result.lookup()]);
        match self.wait(looking).and_then(|mut found| found.pop()) {
            Some(Ok(Some(_))) => true,
            Some(Ok(None)) => {
                self.counters.count_damaged(&ServerFault::Result(result.key));
                false
            }
            Some(Err(_)) | None => false,
        }
    }
}

/// Returns a random sample of the pieces.
fn sample(mut pieces: Vec<BlobName>, random: u64) -> Vec<BlobName> {
    let lot = |piece: &BlobName| Digest::of(&[&random.to_le_bytes()[..], &piece.hash].concat());
    pieces.sort_by_cached_key(lot);
    let mut bytes = 0;
    let fits = |piece: &BlobName| {
        bytes += piece.len;
        bytes <= READ_BACK
    };
    pieces.into_iter().take_while(fits).collect()
}

/// Builds the result that maps a name to a bundle.
pub(crate) fn bundle_result(name: &Digest, bytes: &[u8]) -> SharedResult {
    let wanted = bundle::lookup_of_bundle(name);
    SharedResult {
        key: wanted.key,
        producer: wanted.producer,
        outputs: vec![SharedOutput {
            name: bundle::OUTPUT.to_owned(),
            blob: BlobRef::of(bytes),
        }],
        provenance: Vec::new(),
    }
}
