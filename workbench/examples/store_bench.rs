//! Fills a store in a folder that has none with many results, and prints the times of its maintenance as JSON:
//! `cargo run --release -p workbench --example store_bench -- FOLDER BLOBS SIZE`.

use engine::store::disk::{DiskOptions, DiskStore};
use engine::store::records::{ActionRecord, Class, InputRecord, NewResult};
use engine::store::{Commit, Inventory, Store, StoreError, ViewId};
use engine::values::digest::{ActionKey, Digest};
use serde::Serialize;
use std::path::Path;
use std::time::Instant;
use workbench::store_maintenance;

fn main() -> Result<(), StoreError> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [folder, blobs, size] = arguments.as_slice() else {
        panic!("usage: store_bench FOLDER BLOBS SIZE")
    };
    let (blobs, size) = (blobs.parse().expect("a number of blobs"), size.parse().expect("a number of bytes"));
    let measured = measure(Path::new(folder), blobs, size)?;
    serde_json::to_writer(std::io::stdout(), &measured).expect("invariant: times are JSON");
    Ok(())
}

/// The measurement; times in milliseconds. Verifying and hashing take turns, and the fastest round of each counts.
#[derive(Serialize)]
struct Measured {
    blobs: u64,
    /// Bytes of each output.
    size: usize,
    /// Space on the disk that the store's file takes after filling.
    file_bytes: u64,
    fill_ms: u128,
    verify_ms: u128,
    /// Plain blake3 over the same uncompressed outputs, from memory on one thread.
    hash_alone_ms: u128,
    /// The same on one thread per core, as verification uses them.
    hash_ms: u128,
}

const BATCH: u64 = 4_000;
const ROUNDS: usize = 3;
/// Seconds since 1970, in the future: results with this time count as new.
const NOW: u64 = 4_000_000_000;

fn incompressible_output(number: u64, size: usize) -> Vec<u8> {
    let mut bytes = vec![0; size];
    blake3::Hasher::new().update(&number.to_le_bytes()).finalize_xof().fill(&mut bytes);
    bytes
}

fn filling_result(number: u64, size: usize) -> NewResult {
    let blob = incompressible_output(number, size);
    let label = format!("//types/Some.Name.Space.Type{number}:outline");
    let inputs = (0..4_u64).map(|input| InputRecord {
        role: "in".into(),
        label: format!("//types/Some.Name.Space.Type{number}:part{input}").into(),
        digest: Digest::of(&[number.to_le_bytes(), input.to_le_bytes()].concat()),
    });
    NewResult {
        key: ActionKey(Digest::of(label.as_bytes())),
        record: ActionRecord {
            output: Digest::of(&blob),
            len: blob.len() as u64,
            label,
            producer: "csharp/outline@3".to_owned(),
            // Every second one is old.
            made_at: if number.is_multiple_of(2) { NOW } else { 1 },
            took_us: 1_000,
            inputs: inputs.collect(),
            diagnostics: Vec::new(),
            class: Class::Cheap,
            spent: None,
            notes: engine::seams::paid::Notes::new(),
            parts: Vec::new(),
            memo: Default::default(),
        },
        blob: Some(blob.into()),
        parts: Vec::new(),
    }
}

/// Fills an empty store in a folder, and measures. Every second result is old, so that a collection evicts half of them.
fn measure(folder: &Path, blobs: u64, size: usize) -> Result<Measured, StoreError> {
    let (disk, _) = DiskStore::open(folder, DiskOptions::default())?;
    let start = Instant::now();
    for from in (0..blobs).step_by(BATCH as usize) {
        let results = (from..(from + BATCH).min(blobs))
            .map(|number| filling_result(number, size))
            .collect();
        let commit = Commit {
            results,
            ..Commit::default()
        };
        disk.commit(ViewId(1), commit)?;
    }
    let fill_ms = start.elapsed().as_millis();
    let file_bytes = disk.file_bytes();
    let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let [mut verify_ms, mut hash_alone_ms, mut hash_ms] = [u128::MAX; 3];
    for _ in 0..ROUNDS {
        verify_ms = verify_ms.min(time_verification(&disk)?);
        hash_alone_ms = hash_alone_ms.min(time_hashing(blobs, size, 1));
        hash_ms = hash_ms.min(time_hashing(blobs, size, threads));
    }
    Ok(Measured {
        blobs: disk.usage()?.blobs,
        size,
        file_bytes,
        fill_ms,
        verify_ms,
        hash_alone_ms,
        hash_ms,
    })
}

/// Verifies as the command does: with a database that is opened for reading.
fn time_verification(disk: &DiskStore) -> Result<u128, StoreError> {
    disk.release();
    let start = Instant::now();
    store_maintenance::verify_store(disk, false)?;
    Ok(start.elapsed().as_millis())
}

/// Hashes the outputs piece by piece; counts only the hashing.
fn time_hashing(blobs: u64, size: usize, threads: usize) -> u128 {
    let mut spent = 0;
    for from in (0..blobs).step_by(BATCH as usize) {
        let piece: Vec<Vec<u8>> = (from..(from + BATCH).min(blobs))
            .map(|number| incompressible_output(number, size))
            .collect();
        let start = Instant::now();
        std::thread::scope(|scope| {
            for part in piece.chunks(piece.len().div_ceil(threads)) {
                scope.spawn(move || {
                    part.iter()
                        .map(|blob| Digest::of(blob))
                        .for_each(|digest| _ = std::hint::black_box(digest))
                });
            }
        });
        spent += start.elapsed().as_micros();
    }
    spent / 1_000
}
