//! Tests with servers in this process that behave, and with some that do not.

mod bucket;
mod farm;
mod folder;
mod graphs;
mod healing;
mod honest;
mod incremental;
mod liar;
mod lies;
mod trouble;
mod worker;

use crate::clock::Clock;
use crate::server::Surroundings;
use crate::{CacheUse, Client, Deadlines};
use engine::manifest::remote::RemoteDef;
use engine::seams::remote::{BlobRef, BundleOffer, Bundled, RemoteCache, SharedOutput, SharedResult, VolumeKind, Wanted};
use engine::values::digest::{ActionKey, Digest};
use std::collections::BTreeMap;
use std::future::Future;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// A clock that stands still; a sleep returns at once.
#[derive(Default)]
pub(crate) struct Stopped {
    now: Mutex<Duration>,
    slept: Mutex<Vec<Duration>>,
}

impl Stopped {
    /// Returns all requested sleeps.
    pub(crate) fn slept(&self) -> Vec<Duration> {
        self.slept.lock().unwrap().clone()
    }

    /// Lets time pass.
    pub(crate) fn pass(&self, time: Duration) {
        *self.now.lock().unwrap() += time;
    }
}

impl Clock for Stopped {
    fn now(&self) -> Duration {
        *self.now.lock().unwrap()
    }

    fn sleep(&self, time: Duration) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        self.slept.lock().unwrap().push(time);
        Box::pin(std::future::ready(()))
    }

    fn random(&self) -> u64 {
        // Clients that write at the same time need different names.
        static DRAWN: AtomicU64 = AtomicU64::new(0);
        DRAWN.fetch_add(1, Ordering::Relaxed).wrapping_mul(0x9e37_79b9_7f4a_7c15)
    }
}

fn def(endpoint: &str) -> RemoteDef {
    RemoteDef {
        endpoint: endpoint.to_owned(),
        read: true,
        ..RemoteDef::default()
    }
}

fn around(lookup: Duration) -> Surroundings {
    let deadlines = Deadlines {
        lookup,
        ..Deadlines::default()
    };
    Surroundings {
        folder: PathBuf::from("."),
        variables: Arc::new(|name| match name {
            "TOKEN" => Some("hush-hush".to_owned()),
            "KEY" => Some(crate::signature::tests::PEM.to_owned()),
            _ => None,
        }),
        deadlines,
    }
}

/// Creates a client that reads and writes, with a clock that stands still.
fn client(def: RemoteDef) -> (Client, Arc<Stopped>) {
    client_within(def, Deadlines::default().lookup)
}

fn client_within(def: RemoteDef, lookup: Duration) -> (Client, Arc<Stopped>) {
    let clock = Arc::new(Stopped::default());
    let usage = CacheUse { read: true, write: true };
    let client = Client::with_clock(def, usage, around(lookup), clock.clone()).unwrap();
    (client, clock)
}

fn result(key: &str, outputs: &[&[u8]]) -> (SharedResult, Vec<Arc<[u8]>>) {
    let output = |(number, bytes): (usize, &&[u8])| SharedOutput {
        name: format!("output{number}"),
        blob: BlobRef::of(bytes),
    };
    let result = SharedResult {
        key: ActionKey(Digest::of(key.as_bytes())),
        producer: "toy@1".to_owned(),
        outputs: outputs.iter().enumerate().map(output).collect(),
        provenance: key.as_bytes().to_vec(),
    };
    (result, outputs.iter().map(|bytes| (*bytes).into()).collect())
}

/// Bundles results with their outputs.
fn bundled(results: &[SharedResult]) -> Vec<Bundled> {
    let bundled = |result: &SharedResult| Bundled {
        outputs: result.outputs.iter().map(|output| output.blob.digest).collect(),
        result: result.clone(),
        kind: VolumeKind::Plain,
        took_us: 1,
    };
    results.iter().map(bundled).collect()
}

/// Offers results as the bundle of a tree, continuing that of another one.
fn offer_after(
    client: &Client,
    names: &[&str],
    near: &[&str],
    results: &[SharedResult],
    load: &(dyn Fn(&Digest) -> Option<Arc<[u8]>> + Sync),
) -> bool {
    client.offer_bundle(&BundleOffer {
        names: &names.iter().map(|name| Digest::of(name.as_bytes())).collect::<Vec<_>>(),
        near: &near.iter().map(|name| Digest::of(name.as_bytes())).collect::<Vec<_>>(),
        results: &bundled(results),
        graph: &[],
        load,
    })
}

fn offer(client: &Client, name: &str, results: &[SharedResult], load: &(dyn Fn(&Digest) -> Option<Arc<[u8]>> + Sync)) -> bool {
    offer_after(client, &[name], &[], results, load)
}

/// Returns all results of a bundle; `None` if it is not found. Skips unreadable volumes.
fn results_of(client: &Client, name: &str) -> Option<Vec<SharedResult>> {
    let bundle = client.find_bundle(&[Digest::of(name.as_bytes())])?;
    let addresses: Vec<&[u8]> = bundle.volumes.iter().map(|volume| &volume.address[..]).collect();
    Some(
        client
            .read_volumes(&addresses)
            .into_iter()
            .flatten()
            .flat_map(|volume| volume.results)
            .collect(),
    )
}

/// Returns all outputs in the volumes of a bundle.
fn outputs_of(client: &Client, name: &str) -> BTreeMap<Digest, Arc<[u8]>> {
    let bundle = client.find_bundle(&[Digest::of(name.as_bytes())]);
    let volumes = bundle.map(|bundle| bundle.volumes).unwrap_or_default();
    let addresses: Vec<&[u8]> = volumes.iter().map(|volume| &volume.address[..]).collect();
    client.read_outputs(&addresses).into_iter().flatten().collect()
}

fn lookup_of(result: &SharedResult) -> Wanted {
    Wanted {
        key: result.key,
        producer: result.producer.clone(),
    }
}

/// Returns incompressible bytes.
fn noise(len: usize) -> Vec<u8> {
    let mut state = 1_u64;
    let byte = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as u8
    };
    std::iter::repeat_with(byte).take(len).collect()
}
