//! Shipping: sends results to the server; blobs first, the result that names them last.

use crate::action::{self, RECORD};
use crate::blobs::NotTaken;
use crate::connection::Connection;
use crate::inline_outputs;
use crate::names::BlobName;
use crate::record;
use crate::server::Server;
use engine::seams::remote::{SharedResult, WINDOW};
use std::collections::{BTreeMap, HashSet, VecDeque};
use std::sync::Arc;
use std::sync::mpsc::Receiver;

/// Number of parallel batches.
const AT_ONCE: usize = 4;
/// Number of results stored in parallel.
const FILED_AT_ONCE: usize = 16;

/// Blobs being sent, and the answer.
type Batch = (Vec<BlobName>, Receiver<Result<(), NotTaken>>);

/// A result with all that is sent for it.
pub(crate) struct Parcel {
    action: BlobName,
    /// Paths and names of the outputs, including the record.
    files: Vec<(String, BlobName)>,
    blobs: Vec<(BlobName, Arc<[u8]>)>,
}

impl Parcel {
    /// Returns the record and the outputs.
    fn blobs(&self) -> impl Iterator<Item = &Arc<[u8]>> {
        let own = self.blobs.iter().take(self.files.len());
        own.map(|(_, blob)| blob)
    }
}

impl Connection {
    /// Packs a result with the blobs of its outputs, in their order.
    pub(crate) fn pack(&self, server: &Server, result: &SharedResult, blobs: Vec<Arc<[u8]>>) -> Parcel {
        let function = server.terms.function;
        let wanted = result.lookup();
        let canonical = action::canonical(function, &self.def.salt, &wanted);
        let record: Arc<[u8]> = record::encode_signed(result, server.signer.as_ref().ok().and_then(Option::as_ref)).into();
        let mut files = vec![(RECORD.to_owned(), function.name_of_bytes(&record))];
        let mut packed: Vec<(BlobName, Arc<[u8]>)> = vec![(files[0].1, record)];
        for (output, blob) in result.outputs.iter().zip(blobs) {
            let known = self.names.get(function, &output.blob);
            let name = known.unwrap_or_else(|| function.name_of_bytes(&blob));
            self.names.learn(output.blob.digest, &name);
            files.push((output.name.clone(), name));
            packed.push((name, blob));
        }
        packed.extend(canonical.blobs.into_iter().map(|(name, bytes)| (name, bytes.into())));
        Parcel {
            action: canonical.name,
            files,
            blobs: packed,
        }
    }

    /// Sends parcels. Returns how many the server stored, and why it did not store the others.
    pub(crate) fn ship(&self, server: &Arc<Server>, parcels: Vec<Parcel>) -> (u64, Option<NotTaken>) {
        let blobs: BTreeMap<BlobName, Arc<[u8]>> = parcels.iter().flat_map(|parcel| parcel.blobs.iter().cloned()).collect();
        let names = blobs.keys().copied().collect();
        if let Err(not_taken) = self.send_missing(server, names, &|name| blobs.get(name).cloned()) {
            return (0, Some(not_taken));
        }
        let mut stored = 0;
        let mut trouble = None;
        let mut under_way: VecDeque<Receiver<Result<(), NotTaken>>> = VecDeque::new();
        let mut settle = |answer: Option<Result<(), NotTaken>>| match answer {
            Some(Ok(())) => stored += 1,
            Some(Err(not_taken)) => trouble = trouble.take().or(Some(not_taken)),
            None => trouble = trouble.take().or(Some(NotTaken::Down)),
        };
        for parcel in parcels {
            if under_way.len() >= FILED_AT_ONCE {
                settle(under_way.pop_front().and_then(|answer| answer.recv().ok()));
            }
            let along = inline_outputs::pack_blobs(parcel.blobs().map(|blob| &**blob));
            under_way.push_back(self.start(server.clone().store_result(parcel.action, parcel.files, along)));
        }
        for answer in under_way {
            settle(answer.recv().ok());
        }
        (stored, trouble)
    }

    /// Sends a parcel, and stores its result if `may_store` accepts the one now stored under its key; returns `None` if not. Stores nothing
    /// if the server does not report what is stored there.
    pub(crate) fn ship_if(
        &self,
        server: &Arc<Server>,
        result: &SharedResult,
        parcel: Parcel,
        may_store: &mut dyn FnMut(Option<SharedResult>) -> bool,
    ) -> Option<Result<(), NotTaken>> {
        let along = inline_outputs::pack_blobs(parcel.blobs().map(|blob| &**blob));
        let blobs: BTreeMap<BlobName, Arc<[u8]>> = parcel.blobs.into_iter().collect();
        if let Err(not_taken) = self.send_missing(server, blobs.keys().copied().collect(), &|name| blobs.get(name).cloned()) {
            return Some(Err(not_taken));
        }
        let looking = server
            .clone()
            .find_results(self.names.clone(), self.def.salt.as_str().into(), vec![result.lookup()]);
        let Some(Ok(there)) = self.wait(looking).and_then(|mut found| found.pop()) else {
            return Some(Err(NotTaken::Down));
        };
        if !may_store(there) {
            return None;
        }
        let filing = server.clone().store_result(parcel.action, parcel.files, along);
        let filed = self.wait(async { tokio::time::timeout(WINDOW, filing).await });
        self.tell_broken_results(server, vec![result.lookup()]);
        // A request over the time limit was cancelled.
        Some(filed.and_then(Result::ok).unwrap_or(Err(NotTaken::Down)))
    }

    /// Sends the blobs that the server lacks or has damaged. Skips blobs that `load` does not return.
    pub(crate) fn send_missing(
        &self,
        server: &Arc<Server>,
        names: Vec<BlobName>,
        load: &dyn Fn(&BlobName) -> Option<Arc<[u8]>>,
    ) -> Result<(), NotTaken> {
        let names: Vec<BlobName> = {
            let present = self.present();
            let is_there = |name: &BlobName| present.contains(name) && !self.is_wrong(name);
            names.into_iter().filter(|name| name.len > 0 && !is_there(name)).collect()
        };
        if names.is_empty() {
            return Ok(());
        }
        let missing: HashSet<BlobName> = self
            .wait(server.clone().blobs_missing(names.clone()))
            .unwrap_or(Err(NotTaken::Down))?;
        let (missing, there): (Vec<BlobName>, Vec<BlobName>) =
            names.into_iter().partition(|name| missing.contains(name) || self.is_wrong(name));
        let wrong: Vec<BlobName> = missing.iter().copied().filter(|name| self.is_wrong(name)).collect();
        self.present().extend(there);
        let mut under_way: VecDeque<Batch> = VecDeque::new();
        let arrived = |(names, answer): Batch| {
            answer.recv().unwrap_or(Err(NotTaken::Down))?;
            self.present().extend(names);
            Ok(())
        };
        for batch in server.terms.batches(missing.into_iter().map(|name| (name.len, name))) {
            let blobs: Vec<(BlobName, Arc<[u8]>)> = batch.into_iter().filter_map(|name| Some((name, load(&name)?))).collect();
            if blobs.is_empty() {
                continue;
            }
            if under_way.len() >= AT_ONCE
                && let Some(first) = under_way.pop_front()
            {
                arrived(first)?;
            }
            let names = blobs.iter().map(|(name, _)| *name).collect();
            under_way.push_back((names, self.start(server.clone().send_blobs(blobs))));
        }
        under_way.into_iter().try_for_each(arrived)?;
        if !wrong.is_empty() {
            self.tell_broken(server, wrong);
        }
        Ok(())
    }
}
