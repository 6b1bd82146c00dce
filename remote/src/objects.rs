//! A cache without a server: byte strings under names, in a folder that machines share or in a bucket of an object store.
//!
//! `blobs/XX/REST` is a blob under its BLAKE3 digest, `results/XX/REST` an ActionResult under the digest of its action. The reader detects
//! objects that other programs cut, changed or removed, as with a server.

use crate::agreed_capabilities::LONGEST_ANSWER;
use crate::names::BlobName;
use bazel_remote_apis::build::bazel::remote::execution::v2::ActionResult;
use engine::values::digest::Digest;
use prost::Message;
use std::collections::HashSet;
use std::sync::Arc;
use tonic::Status;

const BLOBS: &str = "blobs";
const RESULTS: &str = "results";

/// Byte strings under names with `/` between their parts. Returns the errors that a server would.
pub(crate) trait Objects: Send + Sync {
    /// Returns the length of an object; `None` if it does not exist.
    fn length(&self, name: &str) -> Result<Option<u64>, Status>;

    /// Reads at most `most` bytes of an object.
    fn read(&self, name: &str, most: u64) -> Result<Vec<u8>, Status>;

    /// Writes or replaces an object atomically. `unique` is a word that no other write uses.
    fn write(&self, name: &str, bytes: &[u8], unique: &str) -> Result<(), Status>;

    /// Returns the number of parallel requests: higher if each waits for a network.
    fn at_once(&self) -> usize;
}

/// Objects of an instance.
#[derive(Clone)]
pub(crate) struct ObjectCache {
    objects: Arc<dyn Objects>,
    /// Prefix of the instance's names.
    prefix: String,
}

impl ObjectCache {
    /// Creates the objects of an instance.
    ///
    /// # Errors
    /// A sentence, when no folder can have that name.
    pub(crate) fn of_instance(objects: Arc<dyn Objects>, instance: &str) -> Result<Self, String> {
        let mut prefix = String::new();
        for part in instance.split('/').filter(|part| !part.is_empty()) {
            if matches!(part, "." | ".." | BLOBS | RESULTS) {
                return Err(format!(
                    "'{part}' cannot be a part of the name of an instance, which is a folder here"
                ));
            }
            prefix.push_str(part);
            prefix.push('/');
        }
        Ok(Self { objects, prefix })
    }

    fn object_name(&self, kind: &str, name: &BlobName) -> String {
        let hash = Digest(name.hash).to_string();
        let (first, rest) = hash.split_at(2);
        format!("{}{kind}/{first}/{rest}", self.prefix)
    }

    /// Returns the names that do not exist with their length.
    ///
    /// # Errors
    /// The reason why that is unknown.
    pub(crate) fn objects_missing(&self, names: &[BlobName]) -> Result<HashSet<BlobName>, Status> {
        let share = names.len().div_ceil(self.objects.at_once()).max(1);
        let missing_of = |names: &[BlobName]| -> Result<Vec<BlobName>, Status> {
            let mut missing = Vec::new();
            for name in names {
                if self.objects.length(&self.object_name(BLOBS, name))? != Some(name.len) {
                    missing.push(*name);
                }
            }
            Ok(missing)
        };
        let shares: Vec<Result<Vec<BlobName>, Status>> = std::thread::scope(|scope| {
            let threads: Vec<_> = names.chunks(share).map(|names| scope.spawn(move || missing_of(names))).collect();
            let lost = |_| Err(Status::unknown("it could not be asked"));
            threads.into_iter().map(|thread| thread.join().unwrap_or_else(lost)).collect()
        });
        let mut missing = HashSet::new();
        for share in shares {
            missing.extend(share?);
        }
        Ok(missing)
    }

    /// Reads a blob, and at most one byte more than its length.
    ///
    /// # Errors
    /// The reason why the blob cannot be read.
    pub(crate) fn read_cached_blob(&self, name: &BlobName) -> Result<Vec<u8>, Status> {
        self.objects.read(&self.object_name(BLOBS, name), name.len.saturating_add(1))
    }

    /// Writes or replaces a blob.
    ///
    /// # Errors
    /// The reason why the blob cannot be written.
    pub(crate) fn write_blob(&self, name: &BlobName, bytes: &[u8], unique: &str) -> Result<(), Status> {
        self.objects.write(&self.object_name(BLOBS, name), bytes, unique)
    }

    /// Reads the result of an action.
    ///
    /// # Errors
    /// The reason why the result cannot be read.
    pub(crate) fn read_action_result(&self, action: &BlobName) -> Result<ActionResult, Status> {
        let bytes = self.objects.read(&self.object_name(RESULTS, action), LONGEST_ANSWER as u64 + 1)?;
        // An undecodable result has no record, and the check for that reports it.
        Ok(ActionResult::decode(&bytes[..]).unwrap_or_default())
    }

    /// Writes or replaces a result.
    ///
    /// # Errors
    /// The reason why the result cannot be written.
    pub(crate) fn write_result(&self, action: &BlobName, result: &ActionResult, unique: &str) -> Result<(), Status> {
        self.objects
            .write(&self.object_name(RESULTS, action), &result.encode_to_vec(), unique)
    }
}
