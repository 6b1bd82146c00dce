//! Healing: sends blobs and results that are wrong on the server again, although the server has them, and reads them back.

use crate::cache_counters::ServerFault;
use crate::connection::Connection;
use crate::names::BlobName;
use crate::server::Server;
use engine::seams::remote::{Wanted, WrongRemoteAnswer};
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

/// Limit of bytes read back at once.
const AT_ONCE: u64 = 32 << 20;

impl Connection {
    /// Returns whether a blob was found to be wrong on the server.
    pub(crate) fn is_wrong(&self, name: &BlobName) -> bool {
        self.counters.is_doubted(&ServerFault::Blob(*name))
    }

    /// Reads blobs that the server has, except those already found sound in this run. Doubts those that are missing or have another digest. Returns
    /// whether all are sound.
    pub(crate) fn read_back(&self, server: &Arc<Server>, names: impl IntoIterator<Item = BlobName>) -> bool {
        let mut rest: Vec<BlobName> = names.into_iter().filter(|name| name.len > 0 && !self.is_sound(name)).collect();
        let mut all = true;
        while !rest.is_empty() {
            let mut bytes = 0;
            let fits = |name: &&BlobName| {
                bytes += name.len;
                bytes <= AT_ONCE
            };
            let count = rest.iter().take_while(fits).count().max(1);
            let later = rest.split_off(count);
            let now = std::mem::replace(&mut rest, later);
            let requested: BTreeSet<BlobName> = now.iter().copied().collect();
            let came: HashMap<BlobName, Vec<u8>> = self.wait(server.clone().read_blobs(requested)).unwrap_or_default();
            for name in now {
                match came.get(&name) {
                    Some(bytes) if server.terms.function.name_of_bytes(bytes) == name => self.is_sound_now(name),
                    came => {
                        all = false;
                        if came.is_some() {
                            self.counters
                                .count_wrong_answer_about(WrongRemoteAnswer::WrongBytes, ServerFault::Blob(name));
                        }
                    }
                }
            }
        }
        all
    }

    /// Counts doubted blobs that are still wrong after they were sent again.
    pub(crate) fn tell_broken(&self, server: &Arc<Server>, sent: Vec<BlobName>) {
        self.read_back(server, sent.iter().copied());
        for name in sent.iter().filter(|name| self.is_wrong(name)) {
            self.counters.count_damaged(&ServerFault::Blob(*name));
        }
    }

    /// Counts doubted results that are still wrong after they were stored again.
    pub(crate) fn tell_broken_results(&self, server: &Arc<Server>, filed: Vec<Wanted>) {
        let doubted: Vec<Wanted> = filed
            .into_iter()
            .filter(|wanted| self.counters.is_doubted(&ServerFault::Result(wanted.key)))
            .collect();
        if doubted.is_empty() {
            return;
        }
        let looking = server
            .clone()
            .find_results(self.names.clone(), self.def.salt.as_str().into(), doubted.clone());
        for (found, wanted) in self.wait(looking).into_iter().flatten().zip(doubted) {
            match found {
                Ok(Some(_)) => self.counters.end_doubt(&ServerFault::Result(wanted.key)),
                Ok(None) => self.counters.count_damaged(&ServerFault::Result(wanted.key)),
                // The server did not answer.
                Err(_) => {}
            }
        }
    }
}
