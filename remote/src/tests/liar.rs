//! A cache in this process. It behaves unless it has a habit.

use super::worker::Work;
use bazel_remote_apis::build::bazel::remote::execution::v2 as api;
use bazel_remote_apis::google::bytestream as stream;
use bazel_remote_apis::google::rpc::Status as Said;
use std::collections::{BTreeMap, HashMap};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use tonic::{Code, Request, Response, Status, Streaming};

/// Way in which the cache misbehaves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Habit {
    #[default]
    Honest,
    /// One byte of each blob is wrong.
    WrongBytes,
    /// The last byte of each blob is missing.
    CutBytes,
    /// Blobs are reported as present, but cannot be read.
    Forgets,
    /// Requested blobs are missing from the answers.
    SaysNothingOfBlobs,
    /// Results lack their outputs.
    NoOutputs,
    /// Results lack their records.
    NoRecord,
    /// Lookups return the result of another key.
    OtherKey,
    /// Records are undecodable, with the right digest.
    Garbage,
    /// Results have a failing exit code.
    Failed,
    /// Only the capabilities are answered.
    Silent,
    /// Writes are refused.
    RefusesWrites,
    /// A result is never overwritten.
    WriteOnce,
    /// A blob is never overwritten.
    Keeps,
    /// Lookups fail with an error.
    Mute,
    /// The first so many requests are answered as busy.
    Busy(u32),
    /// Each answer is spoiled in a way drawn from this seed.
    Anything(u64),
}

#[derive(Default)]
pub(super) struct Shelf {
    pub habit: Habit,
    pub cache: api::CacheCapabilities,
    pub blobs: HashMap<String, Vec<u8>>,
    pub results: HashMap<String, api::ActionResult>,
    /// Number of requests by kind.
    pub calls: BTreeMap<&'static str, u32>,
    /// Bytes of the largest received batch.
    pub largest_batch: usize,
    /// Headers of the last request.
    pub headers: tonic::metadata::MetadataMap,
    pub drawn: u64,
    /// Whether results are returned with their metadata.
    pub keeps_metadata: bool,
    /// Behaviour of the workers.
    pub work: Work,
    /// Properties that the last worker was selected by.
    pub platform: Option<api::Platform>,
}

impl Shelf {
    fn draw(&mut self, below: u64) -> u64 {
        let Habit::Anything(seed) = self.habit else { return 0 };
        self.drawn += 1;
        let mixed = (seed ^ self.drawn).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (mixed ^ (mixed >> 29)) % below
    }

    /// Stores a blob.
    fn insert_blob(&mut self, hash: String, blob: Vec<u8>) {
        if self.habit != Habit::Keeps || !self.blobs.contains_key(&hash) {
            self.blobs.insert(hash, blob);
        }
    }

    /// Returns a blob, spoiled by the habit.
    fn hand_out(&mut self, hash: &str) -> Option<Vec<u8>> {
        let mut blob = self.blobs.get(hash).cloned()?;
        let way = match self.habit {
            Habit::WrongBytes => 1,
            Habit::CutBytes => 2,
            Habit::Forgets => 3,
            Habit::Anything(_) => self.draw(6),
            _ => 0,
        };
        match way {
            1 => blob.iter_mut().take(1).for_each(|byte| *byte ^= 1),
            2 => drop(blob.pop()),
            3 => return None,
            4 => blob.push(0),
            _ => {}
        }
        Some(blob)
    }

    pub(super) fn function(&self) -> crate::Function {
        let blake3 = api::digest_function::Value::Blake3 as i32;
        if self.cache.digest_functions.contains(&blake3) {
            crate::Function::Blake3
        } else {
            crate::Function::Sha256
        }
    }
}

#[derive(Clone)]
pub(super) struct Liar(pub Arc<Mutex<Shelf>>);

impl Liar {
    /// Counts a request; hangs for ever or fails as busy if that is the habit.
    pub(super) async fn answer_or_misbehave<T>(&self, what: &'static str, request: Request<T>) -> Result<T, Status> {
        let silent = {
            let mut shelf = self.0.lock().unwrap();
            *shelf.calls.entry(what).or_default() += 1;
            shelf.headers = request.metadata().clone();
            match shelf.habit {
                Habit::Busy(0) => shelf.habit = Habit::Honest,
                Habit::Busy(times) => {
                    shelf.habit = Habit::Busy(times - 1);
                    return Err(Status::unavailable("busy"));
                }
                _ => {}
            }
            let writes = matches!(what, "send" | "file" | "write");
            if writes && shelf.habit == Habit::RefusesWrites {
                return Err(Status::unauthenticated("hush-hush may not write"));
            }
            shelf.habit == Habit::Silent && what != "capabilities"
        };
        if silent {
            std::future::pending::<()>().await;
        }
        Ok(request.into_inner())
    }
}

/// A server that runs until it is dropped.
pub(super) struct Running {
    pub shelf: Arc<Mutex<Shelf>>,
    pub address: SocketAddr,
    _runtime: tokio::runtime::Runtime,
}

impl Running {
    pub(super) fn endpoint(&self) -> String {
        format!("grpc://{}", self.address)
    }

    pub(super) fn habit(&self, habit: Habit) {
        self.shelf.lock().unwrap().habit = habit;
    }

    pub(super) fn calls(&self, what: &str) -> u32 {
        self.shelf.lock().unwrap().calls.get(what).copied().unwrap_or_default()
    }
}

pub(super) fn sha256() -> api::CacheCapabilities {
    api::CacheCapabilities {
        digest_functions: vec![api::digest_function::Value::Sha256 as i32],
        ..api::CacheCapabilities::default()
    }
}

/// Starts a server with these capabilities.
pub(super) fn start(cache: api::CacheCapabilities) -> Running {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .unwrap();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let address = listener.local_addr().unwrap();
    let shelf = Arc::new(Mutex::new(Shelf { cache, ..Shelf::default() }));
    let liar = Liar(shelf.clone());
    runtime.spawn(async move {
        let listener = tokio::net::TcpListener::from_std(listener).unwrap();
        router(liar)
            .serve_with_incoming(tonic::transport::server::TcpIncoming::from(listener).with_nodelay(Some(true)))
            .await
    });
    Running {
        shelf,
        address,
        _runtime: runtime,
    }
}

pub(super) fn router(liar: Liar) -> tonic::transport::server::Router {
    tonic::transport::Server::builder()
        .add_service(api::capabilities_server::CapabilitiesServer::new(liar.clone()))
        .add_service(api::action_cache_server::ActionCacheServer::new(liar.clone()))
        .add_service(api::content_addressable_storage_server::ContentAddressableStorageServer::new(
            liar.clone(),
        ))
        .add_service(api::execution_server::ExecutionServer::new(liar.clone()))
        .add_service(stream::byte_stream_server::ByteStreamServer::new(liar))
}

#[tonic::async_trait]
impl api::capabilities_server::Capabilities for Liar {
    async fn get_capabilities(&self, request: Request<api::GetCapabilitiesRequest>) -> Result<Response<api::ServerCapabilities>, Status> {
        self.answer_or_misbehave("capabilities", request).await?;
        let shelf = self.0.lock().unwrap();
        Ok(Response::new(api::ServerCapabilities {
            cache_capabilities: Some(shelf.cache.clone()),
            execution_capabilities: Some(api::ExecutionCapabilities {
                exec_enabled: shelf.work != Work::None,
                ..api::ExecutionCapabilities::default()
            }),
            ..api::ServerCapabilities::default()
        }))
    }
}

#[tonic::async_trait]
impl api::action_cache_server::ActionCache for Liar {
    async fn get_action_result(&self, request: Request<api::GetActionResultRequest>) -> Result<Response<api::ActionResult>, Status> {
        let question = self.answer_or_misbehave("look up", request).await?;
        let mut shelf = self.0.lock().unwrap();
        if shelf.habit == Habit::Mute {
            return Err(Status::internal("out of order"));
        }
        let hash = question.action_digest.unwrap_or_default().hash;
        let mut way = shelf.draw(8);
        let mut found = shelf.results.get(&hash).cloned();
        if shelf.habit == Habit::OtherKey || way == 1 {
            found = shelf
                .results
                .iter()
                .find(|(name, _)| **name != hash)
                .map(|(_, result)| result.clone());
        }
        let mut found = found.ok_or_else(|| Status::not_found("no such result"))?;
        way = match shelf.habit {
            Habit::NoOutputs => 2,
            Habit::NoRecord => 3,
            Habit::Failed => 4,
            Habit::Garbage => 5,
            _ => way,
        };
        match way {
            2 => found.output_files.retain(|file| file.path == crate::action::RECORD),
            3 => found.output_files.retain(|file| file.path != crate::action::RECORD),
            4 => found.exit_code = 1,
            5 => {
                let garbage = b"no record".to_vec();
                let name = shelf.function().name_of_bytes(&garbage).as_message();
                for file in found.output_files.iter_mut().filter(|file| file.path == crate::action::RECORD) {
                    (file.digest, file.contents) = (Some(name.clone()), garbage.clone());
                }
            }
            6 => found.output_files.iter_mut().for_each(|file| file.contents = vec![1, 2, 3]),
            7 => found.execution_metadata = Some(crate::inline_outputs::pack_blobs([b"anything".as_slice()].into_iter())),
            _ => {}
        }
        Ok(Response::new(found))
    }

    async fn update_action_result(&self, request: Request<api::UpdateActionResultRequest>) -> Result<Response<api::ActionResult>, Status> {
        let question = self.answer_or_misbehave("file", request).await?;
        let mut shelf = self.0.lock().unwrap();
        let hash = question.action_digest.unwrap_or_default().hash;
        let mut result = question.action_result.unwrap_or_default();
        for file in &result.output_files {
            let name = file.digest.clone().unwrap_or_default();
            if name.size_bytes > 0 && !shelf.blobs.contains_key(&name.hash) {
                return Err(Status::invalid_argument(format!("{} is not there", file.path)));
            }
        }
        if shelf.habit == Habit::WriteOnce && shelf.results.contains_key(&hash) {
            return Err(Status::internal("filed already"));
        }
        if !shelf.keeps_metadata {
            result.execution_metadata = None;
        }
        shelf.results.insert(hash, result.clone());
        Ok(Response::new(result))
    }
}

type Never<T> = futures_util::stream::Pending<Result<T, Status>>;

#[tonic::async_trait]
impl api::content_addressable_storage_server::ContentAddressableStorage for Liar {
    type GetTreeStream = Never<api::GetTreeResponse>;
    type GetChunkMappingStream = Never<api::GetChunkMappingResponse>;

    async fn find_missing_blobs(
        &self,
        request: Request<api::FindMissingBlobsRequest>,
    ) -> Result<Response<api::FindMissingBlobsResponse>, Status> {
        let question = self.answer_or_misbehave("missing", request).await?;
        let shelf = self.0.lock().unwrap();
        let missing = question
            .blob_digests
            .into_iter()
            .filter(|name| !shelf.blobs.contains_key(&name.hash));
        Ok(Response::new(api::FindMissingBlobsResponse {
            missing_blob_digests: missing.collect(),
        }))
    }

    async fn batch_update_blobs(
        &self,
        request: Request<api::BatchUpdateBlobsRequest>,
    ) -> Result<Response<api::BatchUpdateBlobsResponse>, Status> {
        let question = self.answer_or_misbehave("send", request).await?;
        let mut shelf = self.0.lock().unwrap();
        let bytes: usize = question.requests.iter().map(|request| request.data.len()).sum();
        shelf.largest_batch = shelf.largest_batch.max(bytes);
        let mut responses = Vec::new();
        for request in question.requests {
            let name = request.digest.unwrap_or_default();
            let data = match request.compressor {
                1 => zstd::decode_all(&request.data[..]).unwrap(),
                _ => request.data,
            };
            assert_eq!(
                shelf.function().name_of_bytes(&data).as_message(),
                name,
                "what is sent bears its name"
            );
            shelf.insert_blob(name.hash.clone(), data);
            responses.push(api::batch_update_blobs_response::Response {
                digest: Some(name),
                status: Some(Said::default()),
            });
        }
        Ok(Response::new(api::BatchUpdateBlobsResponse { responses }))
    }

    async fn batch_read_blobs(
        &self,
        request: Request<api::BatchReadBlobsRequest>,
    ) -> Result<Response<api::BatchReadBlobsResponse>, Status> {
        let question = self.answer_or_misbehave("read", request).await?;
        let mut shelf = self.0.lock().unwrap();
        let mut responses = Vec::new();
        for name in question.digests {
            if shelf.habit == Habit::SaysNothingOfBlobs {
                continue;
            }
            let blob = shelf.hand_out(&name.hash);
            let code = if blob.is_some() { Code::Ok } else { Code::NotFound } as i32;
            let data = blob.unwrap_or_default();
            let packed = question.acceptable_compressors.contains(&1);
            responses.push(api::batch_read_blobs_response::Response {
                digest: Some(name),
                data: if packed { zstd::encode_all(&data[..], 1).unwrap() } else { data },
                compressor: i32::from(packed),
                status: Some(Said { code, ..Said::default() }),
            });
        }
        Ok(Response::new(api::BatchReadBlobsResponse { responses }))
    }

    async fn get_tree(&self, _: Request<api::GetTreeRequest>) -> Result<Response<Self::GetTreeStream>, Status> {
        Err(Status::unimplemented(""))
    }

    async fn split_blob(&self, _: Request<api::SplitBlobRequest>) -> Result<Response<api::SplitBlobResponse>, Status> {
        Err(Status::unimplemented(""))
    }

    async fn get_chunk_mapping(&self, _: Request<api::GetChunkMappingRequest>) -> Result<Response<Self::GetChunkMappingStream>, Status> {
        Err(Status::unimplemented(""))
    }

    async fn splice_blob(&self, _: Request<api::SpliceBlobRequest>) -> Result<Response<api::SpliceBlobResponse>, Status> {
        Err(Status::unimplemented(""))
    }

    async fn register_chunk_mapping(
        &self,
        _: Request<Streaming<api::RegisterChunkMappingRequest>>,
    ) -> Result<Response<api::RegisterChunkMappingResponse>, Status> {
        Err(Status::unimplemented(""))
    }
}

/// Returns whether a path is of a compressed blob, and the blob's digest.
fn parsed(path: &str) -> (bool, String) {
    let parts: Vec<&str> = path.split('/').collect();
    (path.contains("compressed-blobs/zstd/"), parts[parts.len() - 2].to_owned())
}

#[tonic::async_trait]
impl stream::byte_stream_server::ByteStream for Liar {
    type ReadStream = futures_util::stream::Iter<std::vec::IntoIter<Result<stream::ReadResponse, Status>>>;

    async fn read(&self, request: Request<stream::ReadRequest>) -> Result<Response<Self::ReadStream>, Status> {
        let question = self.answer_or_misbehave("read large", request).await?;
        let (packed, hash) = parsed(&question.resource_name);
        let blob = self.0.lock().unwrap().hand_out(&hash);
        let blob = blob.ok_or_else(|| Status::not_found("no such blob"))?;
        let blob = if packed { zstd::encode_all(&blob[..], 1).unwrap() } else { blob };
        let pieces: Vec<_> = blob
            .chunks(1 << 16)
            .map(|data| Ok(stream::ReadResponse { data: data.to_vec() }))
            .collect();
        Ok(Response::new(futures_util::stream::iter(pieces)))
    }

    async fn write(&self, request: Request<Streaming<stream::WriteRequest>>) -> Result<Response<stream::WriteResponse>, Status> {
        let mut pieces = self.answer_or_misbehave("write", request).await?;
        let (mut path, mut data) = (String::new(), Vec::new());
        while let Some(piece) = pieces.message().await? {
            assert_eq!(usize::try_from(piece.write_offset), Ok(data.len()), "pieces come in their order");
            if path.is_empty() {
                path = piece.resource_name;
            }
            data.extend(piece.data);
        }
        let committed_size = data.len() as i64;
        let (packed, hash) = parsed(&path);
        let blob = if packed { zstd::decode_all(&data[..]).unwrap() } else { data };
        let mut shelf = self.0.lock().unwrap();
        assert_eq!(
            shelf.function().name_of_bytes(&blob).as_message().hash,
            hash,
            "what is sent bears its name"
        );
        shelf.insert_blob(hash, blob);
        Ok(Response::new(stream::WriteResponse { committed_size }))
    }

    async fn query_write_status(
        &self,
        _: Request<stream::QueryWriteStatusRequest>,
    ) -> Result<Response<stream::QueryWriteStatusResponse>, Status> {
        Err(Status::unimplemented(""))
    }
}
