//! Blobs of the server: finding the missing ones, sending and reading them in batches, large ones singly.

use crate::agreed_capabilities::LONGEST_ANSWER;
use crate::cache_counters::ServerFault;
use crate::names::BlobName;
use crate::request_sender::{RequestKind, Unanswered};
use crate::server::{Server, is_refusal};
use bazel_remote_apis::build::bazel::remote::execution::v2::content_addressable_storage_client::ContentAddressableStorageClient;
use bazel_remote_apis::build::bazel::remote::execution::v2::{
    BatchReadBlobsRequest, BatchUpdateBlobsRequest, FindMissingBlobsRequest, batch_update_blobs_request, compressor,
};
use engine::seams::remote::WrongRemoteAnswer;
use futures_util::StreamExt;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::io::Read;
use std::sync::Arc;
use tonic::Code;
use tonic::transport::Channel;

/// Limit of names per request for missing blobs.
const NAMES: usize = 5_000;
/// Number of parallel requests.
const AT_ONCE: usize = 8;
/// Least size of a compressed blob, in bytes.
const WORTH_COMPRESSING: usize = 1 << 10;
/// Fastest compression level, because the cache is near.
const LEVEL: i32 = 1;

/// Reason why something was not stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum NotTaken {
    /// The server does not answer.
    Down,
    /// This was not stored; other things may be.
    This(String),
    /// The server stores nothing of this client.
    Anything(String),
}

impl Server {
    fn storage(&self) -> ContentAddressableStorageClient<Channel> {
        ContentAddressableStorageClient::new(self.channel.clone()).max_decoding_message_size(LONGEST_ANSWER)
    }

    /// Converts the failure of a write request.
    pub(crate) fn refusal_of_write(&self, unanswered: &Unanswered) -> NotTaken {
        match unanswered {
            Unanswered::Down => NotTaken::Down,
            Unanswered::Said(status) if is_refusal(status) => NotTaken::Anything(self.describe_status(status)),
            Unanswered::Said(status) => NotTaken::This(self.describe_status(status)),
        }
    }

    /// Returns the blobs that the server lacks.
    pub(crate) async fn blobs_missing(self: Arc<Self>, names: Vec<BlobName>) -> Result<HashSet<BlobName>, NotTaken> {
        let mut missing = HashSet::new();
        for names in names.chunks(NAMES) {
            let attempt = || async {
                let requested = names.to_vec();
                if let Some(missing) = self.in_objects(move |objects| objects.objects_missing(&requested)) {
                    return missing.await;
                }
                let question = FindMissingBlobsRequest {
                    instance_name: self.instance.clone(),
                    blob_digests: names.iter().map(BlobName::as_message).collect(),
                    digest_function: self.terms.function.protocol_number(),
                };
                let answer = self.storage().find_missing_blobs(self.request(question)).await?;
                Ok(answer
                    .get_ref()
                    .missing_blob_digests
                    .iter()
                    .filter_map(BlobName::from_message)
                    .collect())
            };
            let kind = if names.len() == 1 {
                RequestKind::Lookup
            } else {
                RequestKind::Write(0)
            };
            let answer: Result<HashSet<BlobName>, Unanswered> =
                self.sender.send_until_answered("asking for missing blobs", kind, attempt).await;
            missing.extend(answer.map_err(|unanswered| self.refusal_of_write(&unanswered))?);
        }
        Ok(missing)
    }

    /// Sends blobs that fit in one batch, or a single one that does not.
    pub(crate) async fn send_blobs(self: Arc<Self>, blobs: Vec<(BlobName, Arc<[u8]>)>) -> Result<(), NotTaken> {
        if let [(name, blob)] = &blobs[..]
            && !self.terms.is_small(name.len)
        {
            return self.send_large(name, blob).await;
        }
        if self.objects.is_some() {
            for (name, blob) in &blobs {
                self.send_large(name, blob).await?;
            }
            return Ok(());
        }
        let requests: Vec<_> = blobs.iter().map(|(name, blob)| self.packed(name, blob)).collect();
        let bytes: u64 = requests.iter().map(|request| request.data.len() as u64).sum();
        let attempt = || async {
            let question = BatchUpdateBlobsRequest {
                instance_name: self.instance.clone(),
                requests: requests.clone(),
                digest_function: self.terms.function.protocol_number(),
            };
            self.storage().batch_update_blobs(self.request(question)).await
        };
        let answer = self
            .sender
            .send_until_answered("sending blobs", RequestKind::Write(bytes), attempt)
            .await;
        let answer = answer.map_err(|unanswered| self.refusal_of_write(&unanswered))?;
        let mut sent_names = HashSet::new();
        let mut refused = None;
        for response in &answer.get_ref().responses {
            let status = response.status.as_ref().filter(|status| status.code != Code::Ok as i32);
            match (status, response.digest.as_ref().and_then(BlobName::from_message)) {
                (None, Some(name)) => drop(sent_names.insert(name)),
                (Some(status), _) => refused = Some(tonic::Status::new(Code::from_i32(status.code), status.message.clone())),
                (None, None) => {}
            }
        }
        match refused {
            Some(status) => return Err(self.refusal_of_write(&Unanswered::Said(status))),
            None if blobs.iter().any(|(name, _)| !sent_names.contains(name)) => {
                return Err(NotTaken::This("it did not say what became of a blob".to_owned()));
            }
            None => {}
        }
        self.counters.update_summary(|summary| {
            summary.blobs_up += blobs.len() as u64;
            summary.bytes_up += bytes;
        });
        Ok(())
    }

    fn packed(&self, name: &BlobName, blob: &[u8]) -> batch_update_blobs_request::Request {
        let compressed = (self.terms.zstd_batches && blob.len() >= WORTH_COMPRESSING).then(|| compress(blob));
        let (data, compressor) = match compressed {
            Some(data) if data.len() < blob.len() => (data, compressor::Value::Zstd),
            _ => (blob.to_vec(), compressor::Value::Identity),
        };
        batch_update_blobs_request::Request {
            digest: Some(name.as_message()),
            data,
            compressor: compressor as i32,
        }
    }

    /// Reads blobs. The result lacks blobs that are missing, or whose length differs from their name's; the caller checks their digests, because it
    /// knows the BLAKE3 digest.
    pub(crate) async fn read_blobs(self: Arc<Self>, names: BTreeSet<BlobName>) -> HashMap<BlobName, Vec<u8>> {
        // Every server has the empty blob.
        let (empty, names): (Vec<BlobName>, Vec<BlobName>) = names.into_iter().partition(|name| name.len == 0);
        let alone = |name: &BlobName| self.objects.is_some() || !self.terms.is_small(name.len);
        let (large, small): (Vec<BlobName>, Vec<BlobName>) = names.into_iter().partition(alone);
        let batches = self.terms.batches(small.into_iter().map(|name| (name.len, name)));
        let batches = batches.into_iter().map(|batch| {
            let server = self.clone();
            async move { server.read_batch(batch).await }
        });
        let mut found: HashMap<BlobName, Vec<u8>> = empty.into_iter().map(|name| (name, Vec::new())).collect();
        let mut answers = futures_util::stream::iter(batches).buffer_unordered(AT_ONCE);
        while let Some(blobs) = answers.next().await {
            found.extend(blobs);
        }
        let large = large.into_iter().map(|name| {
            let server = self.clone();
            async move { Some((name, server.read_large(&name).await?)) }
        });
        // Large blobs have no limit for a batch, so only files are read in parallel.
        let mut answers = futures_util::stream::iter(large).buffer_unordered(if self.objects.is_some() { AT_ONCE } else { 1 });
        while let Some(blob) = answers.next().await {
            found.extend(blob);
        }
        found
    }

    async fn read_batch(&self, names: Vec<BlobName>) -> Vec<(BlobName, Vec<u8>)> {
        let bytes = names.iter().map(|name| name.len).sum();
        let attempt = || async {
            let question = BatchReadBlobsRequest {
                instance_name: self.instance.clone(),
                digests: names.iter().map(BlobName::as_message).collect(),
                acceptable_compressors: self.terms.zstd.then_some(compressor::Value::Zstd as i32).into_iter().collect(),
                digest_function: self.terms.function.protocol_number(),
            };
            self.storage().batch_read_blobs(self.request(question)).await
        };
        let answer = match self
            .sender
            .send_until_answered("reading blobs", RequestKind::Read(bytes), attempt)
            .await
        {
            Ok(answer) => answer.into_inner(),
            Err(Unanswered::Down) => return Vec::new(),
            Err(Unanswered::Said(status)) => {
                self.counters
                    .trouble(|| format!("reading blobs failed: {}", self.describe_status(&status)));
                return Vec::new();
            }
        };
        let mut wanted: HashSet<BlobName> = names.into_iter().collect();
        let mut found = Vec::new();
        for response in answer.responses {
            // Ignore blobs that were not requested, and duplicates.
            let Some(name) = response
                .digest
                .as_ref()
                .and_then(BlobName::from_message)
                .filter(|name| wanted.remove(name))
            else {
                continue;
            };
            if response.status.is_some_and(|status| status.code != Code::Ok as i32) {
                self.counters
                    .count_wrong_answer_about(WrongRemoteAnswer::MissingBlob, ServerFault::Blob(name));
                continue;
            }
            let came = response.data.len() as u64;
            let data = if response.compressor == compressor::Value::Zstd as i32 {
                decompress(&response.data, name.len)
            } else {
                Some(response.data)
            };
            match data.filter(|data| data.len() as u64 == name.len) {
                Some(data) => found.push((name, data)),
                None => self
                    .counters
                    .count_wrong_answer_about(WrongRemoteAnswer::WrongBytes, ServerFault::Blob(name)),
            }
            self.counters.update_summary(|summary| {
                summary.blobs_down += 1;
                summary.bytes_down += came;
            });
        }
        let missing = wanted.into_iter().map(ServerFault::Blob);
        missing.for_each(|blob| self.counters.count_wrong_answer_about(WrongRemoteAnswer::MissingBlob, blob));
        found
    }
}

/// Compresses bytes to send.
pub(crate) fn compress(bytes: &[u8]) -> Vec<u8> {
    zstd::bulk::compress(bytes, LEVEL).expect("invariant: memory takes every byte")
}

/// Decompresses bytes; `None` if they are damaged. Reads at most one byte more than `len`; memory grows only with the data.
pub(crate) fn decompress(bytes: &[u8], len: u64) -> Option<Vec<u8>> {
    let mut whole = Vec::new();
    let mut reader = zstd::Decoder::with_buffer(bytes).ok()?.take(len.saturating_add(1));
    reader.read_to_end(&mut whole).ok()?;
    Some(whole)
}
