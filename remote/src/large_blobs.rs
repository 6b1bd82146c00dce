//! Blobs that are too large for a message: sent and read in pieces.

use crate::agreed_capabilities::LONGEST_ANSWER;
use crate::blobs::{NotTaken, compress, decompress};
use crate::cache_counters::ServerFault;
use crate::names::BlobName;
use crate::request_sender::{RequestKind, Unanswered};
use crate::server::Server;
use bazel_remote_apis::google::bytestream::byte_stream_client::ByteStreamClient;
use bazel_remote_apis::google::bytestream::{ReadRequest, WriteRequest};
use engine::seams::remote::WrongRemoteAnswer;
use engine::values::digest::Digest;
use std::sync::Arc;
use tonic::transport::Channel;
use tonic::{Code, Status};

/// Size of a piece, in bytes.
const PIECE: usize = 1 << 20;
/// Limit of a blob that is sent or read, in bytes.
const LARGEST: u64 = 4 << 30;

impl Server {
    fn stream(&self) -> ByteStreamClient<Channel> {
        ByteStreamClient::new(self.channel.clone()).max_decoding_message_size(LONGEST_ANSWER)
    }

    /// Returns the path of a blob below `folder`.
    fn resource_path(&self, folder: &str, name: &BlobName) -> String {
        let function = self.terms.function.segment();
        let hash = Digest(name.hash);
        let blobs = if self.terms.zstd { "compressed-blobs/zstd" } else { "blobs" };
        let path = format!("{folder}{blobs}/{function}{hash}/{}", name.len);
        if self.instance.is_empty() {
            path
        } else {
            format!("{}/{path}", self.instance)
        }
    }

    /// Sends one blob.
    pub(crate) async fn send_large(&self, name: &BlobName, blob: &Arc<[u8]>) -> Result<(), NotTaken> {
        if name.len > self.terms.largest.unwrap_or(LARGEST) {
            return Err(NotTaken::This("an output is larger than the remote cache takes".to_owned()));
        }
        let sent: Arc<[u8]> = if self.terms.zstd { compress(blob).into() } else { blob.clone() };
        let attempt = || async {
            let (name_of, blob, temporary) = (*name, sent.clone(), self.fresh_name());
            if let Some(written) = self.in_objects(move |objects| objects.write_blob(&name_of, &blob, &temporary)) {
                return written.await;
            }
            let path = self.resource_path(&format!("uploads/{}/", self.fresh_name()), name);
            let answer = self.stream().write(self.request(pieces(path, sent.clone()))).await?;
            // A server that already has the blob may answer early, with its whole length or none.
            let committed = answer.get_ref().committed_size;
            let whole = [sent.len() as u64, name.len].iter().any(|len| i64::try_from(*len) == Ok(committed));
            if whole || committed == -1 {
                Ok(())
            } else {
                Err(Status::data_loss("it took another number of bytes than were sent"))
            }
        };
        let answer = self
            .sender
            .send_until_answered("sending a blob", RequestKind::Write(name.len), attempt)
            .await;
        answer.map_err(|unanswered| self.refusal_of_write(&unanswered))?;
        self.counters.update_summary(|summary| {
            summary.blobs_up += 1;
            summary.bytes_up += sent.len() as u64;
        });
        Ok(())
    }

    /// Reads one blob; `None` if its length differs from its name's.
    pub(crate) async fn read_large(&self, name: &BlobName) -> Option<Vec<u8>> {
        if name.len > LARGEST {
            self.counters
                .count_wrong_answer_about(WrongRemoteAnswer::Undecodable, ServerFault::Blob(*name));
            return None;
        }
        // Incompressible data grows slightly.
        let most = name.len + name.len / 128 + 1024;
        let attempt = || async {
            let name_of = *name;
            if let Some(bytes) = self.in_objects(move |objects| objects.read_cached_blob(&name_of)) {
                return bytes.await;
            }
            let question = ReadRequest {
                resource_name: self.resource_path("", name),
                ..ReadRequest::default()
            };
            let mut pieces = self.stream().read(self.request(question)).await?.into_inner();
            let mut bytes = Vec::new();
            while let Some(piece) = pieces.message().await? {
                bytes.extend_from_slice(&piece.data);
                if bytes.len() as u64 > most {
                    break;
                }
            }
            Ok(bytes)
        };
        let bytes = match self
            .sender
            .send_until_answered("reading a blob", RequestKind::Read(name.len), attempt)
            .await
        {
            Ok(bytes) => bytes,
            Err(Unanswered::Down) => return None,
            Err(Unanswered::Said(status)) if status.code() == Code::NotFound => {
                self.counters
                    .count_wrong_answer_about(WrongRemoteAnswer::MissingBlob, ServerFault::Blob(*name));
                return None;
            }
            Err(Unanswered::Said(status)) => {
                self.counters
                    .trouble(|| format!("reading a blob failed: {}", self.describe_status(&status)));
                return None;
            }
        };
        self.counters.update_summary(|summary| {
            summary.blobs_down += 1;
            summary.bytes_down += bytes.len() as u64;
        });
        let blob = if self.terms.zstd {
            decompress(&bytes, name.len)
        } else {
            Some(bytes)
        };
        let blob = blob.filter(|blob| blob.len() as u64 == name.len);
        if blob.is_none() {
            self.counters
                .count_wrong_answer_about(WrongRemoteAnswer::WrongBytes, ServerFault::Blob(*name));
        }
        blob
    }
}

/// Splits a blob into messages, each built when it is sent.
fn pieces(path: String, bytes: Arc<[u8]>) -> impl futures_util::Stream<Item = WriteRequest> + Send + 'static {
    let count = bytes.len().div_ceil(PIECE).max(1);
    futures_util::stream::iter((0..count).map(move |piece| {
        let (start, end) = (piece * PIECE, bytes.len().min((piece + 1) * PIECE));
        WriteRequest {
            resource_name: if piece == 0 { path.clone() } else { String::new() },
            write_offset: i64::try_from(start).expect("invariant: memory is smaller"),
            finish_write: piece + 1 == count,
            data: bytes[start..end].to_vec(),
        }
    }))
}
