//! Fetches blobs from the server and verifies their digests; counts those with wrong bytes.

use crate::cache_counters::ServerFault;
use crate::connection::Connection;
use crate::names::BlobName;
use crate::server::Server;
use engine::seams::remote::{BlobRef, WrongRemoteAnswer, genuine};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

impl Connection {
    /// Reads pieces, and returns those with the right digest.
    pub(crate) fn pieces(&self, server: &Arc<Server>, names: impl Iterator<Item = BlobName>) -> HashMap<BlobName, Vec<u8>> {
        let mut found = self.wait(server.clone().read_blobs(names.collect())).unwrap_or_default();
        found.retain(|name, bytes| {
            let is_sound = server.terms.function.name_of_bytes(bytes) == *name;
            match is_sound {
                true => self.is_sound_now(*name),
                false => self
                    .counters
                    .count_wrong_answer_about(WrongRemoteAnswer::WrongBytes, ServerFault::Blob(*name)),
            }
            is_sound
        });
        found
    }

    /// Returns each blob, if the server has it and its bytes have the wanted digest.
    pub(crate) fn fetch(&self, wanted: &[BlobRef]) -> Vec<Option<Arc<[u8]>>> {
        let Some(server) = self.server() else {
            return vec![None; wanted.len()];
        };
        let function = server.terms.function;
        let names: BTreeMap<BlobRef, BlobName> = wanted
            .iter()
            .filter_map(|blob| Some((*blob, self.names.get(function, blob)?)))
            .collect();
        let mut requested: BTreeSet<BlobName> = names.values().copied().collect();
        let along = server.along.take_blobs(&requested);
        requested.retain(|name| !along.contains_key(name));
        self.counters.update_summary(|summary| {
            summary.blobs_down += along.len() as u64;
            summary.bytes_down += along.values().map(|blob| blob.len() as u64).sum::<u64>();
        });
        // Blobs inlined in a result say nothing about the server's own copies.
        let read = requested.clone();
        let mut found: HashMap<BlobName, Vec<u8>> = self.wait(server.read_blobs(requested)).unwrap_or_default();
        found.extend(along);
        let found: HashMap<BlobName, Arc<[u8]>> = found.into_iter().map(|(name, blob)| (name, blob.into())).collect();
        let take = |blob: &BlobRef| {
            let name = names.get(blob)?;
            let came = found.get(name)?;
            let genuine = genuine(blob, Some(came.clone()));
            match &genuine {
                Some(_) if read.contains(name) => self.is_sound_now(*name),
                Some(_) => {}
                // The blob matches its name, so the result that gave this output that name was wrong.
                None if function.name_of_bytes(came) == *name => {
                    self.names.forget_name(&blob.digest);
                    self.counters.count_wrong_answer(WrongRemoteAnswer::WrongBytes);
                }
                None => self
                    .counters
                    .count_wrong_answer_about(WrongRemoteAnswer::WrongBytes, ServerFault::Blob(*name)),
            }
            genuine
        };
        wanted.iter().map(take).collect()
    }
}
