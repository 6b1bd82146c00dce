//! Uploads: a thread sends results while the build continues. The waiting bytes are limited.

use crate::connection::Connection;
use crate::shipping::Parcel;
use crossbeam_channel::{Receiver, Sender, unbounded};
use engine::seams::remote::{Offered, SharedResult};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Limit of waiting outputs, in bytes.
const WAITING: usize = 64 << 20;
/// Limit of results sent together.
const TOGETHER: usize = 256;

/// A result with its blobs.
type Offer = (SharedResult, Vec<Arc<[u8]>>);

/// The upload thread, if it is running.
pub(crate) struct Uploads {
    connection: Arc<Connection>,
    thread: Mutex<Option<Running>>,
}

#[derive(Default)]
struct Waits {
    bytes: AtomicUsize,
    /// Number of unfinished offers.
    offers: AtomicU64,
    /// Set once the build no longer waits for uploads.
    given_up: AtomicBool,
}

struct Running {
    offers: Sender<Offer>,
    waits: Arc<Waits>,
    /// Closed when the thread has ended.
    ended: Receiver<()>,
}

impl Uploads {
    pub(crate) fn new(connection: Arc<Connection>) -> Self {
        Self {
            connection,
            thread: Mutex::default(),
        }
    }

    /// Adds a result, unless too much is waiting already.
    pub(crate) fn offer_result(&self, result: SharedResult, blobs: Vec<Arc<[u8]>>) -> Offered {
        let mut thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner);
        let running = thread.get_or_insert_with(|| self.upload_waiting());
        let bytes: usize = blobs.iter().map(|blob| blob.len()).sum();
        let waiting = running.waits.bytes.load(Ordering::Relaxed);
        if waiting > 0 && waiting + bytes > WAITING {
            self.connection.counters.update_summary(|summary| summary.not_stored += 1);
            return Offered::LeftOut;
        }
        running.waits.bytes.fetch_add(bytes, Ordering::Relaxed);
        running.waits.offers.fetch_add(1, Ordering::Relaxed);
        // The thread ends only when this sender is dropped.
        let _ = running.offers.send((result, blobs));
        Offered::Queued
    }

    fn upload_waiting(&self) -> Running {
        let (sender, offers) = unbounded::<Offer>();
        let (end, ended) = unbounded::<()>();
        let waits: Arc<Waits> = Arc::default();
        let (connection, waiting) = (self.connection.clone(), waits.clone());
        std::thread::spawn(move || {
            while let Ok(first) = offers.recv() {
                let together: Vec<Offer> = std::iter::once(first).chain(offers.try_iter().take(TOGETHER - 1)).collect();
                send_offers(&connection, &waiting, together);
            }
            drop(end);
        });
        Running {
            offers: sender,
            waits,
            ended,
        }
    }

    /// Waits for all uploads, at most `wait`. Counts the rest as not stored.
    pub(crate) fn wait_for_uploads(&self, wait: Option<Duration>) {
        let Some(running) = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take() else {
            return;
        };
        drop(running.offers);
        // The channel carries no message: it closes, or the wait times out.
        let _ = match wait {
            Some(wait) => running.ended.recv_timeout(wait).is_ok(),
            None => running.ended.recv().is_ok(),
        };
        running.waits.given_up.store(true, Ordering::Relaxed);
        let left = running.waits.offers.swap(0, Ordering::Relaxed);
        self.connection.counters.update_summary(|summary| summary.not_stored += left);
    }
}

fn send_offers(connection: &Connection, waits: &Waits, together: Vec<Offer>) {
    let count = together.len() as u64;
    let bytes: usize = together.iter().flat_map(|(_, blobs)| blobs).map(|blob| blob.len()).sum();
    let server = connection
        .server()
        .filter(|_| connection.writes() && !waits.given_up.load(Ordering::Relaxed));
    let stored = server.map_or(0, |server| {
        let filed = together.iter().map(|(result, _)| result.lookup()).collect();
        let parcels: Vec<Parcel> = together
            .into_iter()
            .map(|(result, blobs)| connection.pack(&server, &result, blobs))
            .collect();
        let (stored, trouble) = connection.ship(&server, parcels);
        trouble.into_iter().for_each(|trouble| connection.note_refusal(trouble));
        connection.tell_broken_results(&server, filed);
        stored
    });
    waits.bytes.fetch_sub(bytes, Ordering::Relaxed);
    // `finish` has already counted these if it gave up.
    let counted = waits
        .offers
        .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |offers| offers.checked_sub(count));
    if counted.is_ok() {
        connection.counters.update_summary(|summary| {
            summary.stored += stored;
            summary.not_stored += count - stored;
        });
    }
}
