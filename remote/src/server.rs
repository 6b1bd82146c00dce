//! A server that has answered: the connection, the agreed terms, and the headers of each request.

use crate::agreed_capabilities::AgreedCapabilities;
use crate::bucket::Bucket;
use crate::cache_counters::CacheCounters;
use crate::credentials::{Credentials, Variables, address, tls};
use crate::folder::Folder;
use crate::inline_outputs::Waiting;
use crate::objects::{ObjectCache, Objects};
use crate::request_sender::{Deadlines, RequestKind, RequestSender, Unanswered, sentence};
use crate::signature::{self, Signer};
use crate::volume::Address;
use bazel_remote_apis::build::bazel::remote::execution::v2::capabilities_client::CapabilitiesClient;
use bazel_remote_apis::build::bazel::remote::execution::v2::{GetCapabilitiesRequest, RequestMetadata, ToolDetails};
use engine::manifest::remote::RemoteDef;
use engine::values::digest::Digest;
use prost::Message;
use std::future::Future;
use std::path::PathBuf;
use std::sync::Arc;
use tonic::metadata::MetadataValue;
use tonic::transport::{Channel, Endpoint};
use tonic::{Code, Request, Status};

/// Header that names the requesting tool, but neither user nor machine.
const METADATA: &str = "build.bazel.remote.execution.v2.requestmetadata-bin";
/// Bytes of an answer that a server sends before it waits for their receipt. An adaptive window begins with 64 KiB: then a small transfer takes
/// another round trip, and makes the cache look slow.
const STREAM_WINDOW: u32 = 8 << 20;

/// Environment of a client.
#[derive(Clone)]
pub struct Surroundings {
    /// Folder that paths are relative to.
    pub folder: PathBuf,
    /// Environment variables.
    pub variables: Variables,
    /// Time-outs.
    pub deadlines: Deadlines,
}

/// Reason why there is no server.
#[derive(Debug)]
pub(crate) enum Refusal {
    /// The server does not answer at the moment.
    Down,
    /// The server cannot be used; a sentence says why.
    No(String),
}

/// A server, or a folder or bucket in its place, and its connection.
pub(crate) struct Server {
    /// Connection to the server; never connected if `objects` is set.
    pub channel: Channel,
    /// Folder or bucket, if that is the cache.
    pub objects: Option<ObjectCache>,
    pub instance: String,
    /// Number derived from address and instance, so that an address of one cache is not used with another.
    pub id: u64,
    pub terms: AgreedCapabilities,
    pub sender: Arc<RequestSender>,
    pub counters: Arc<CacheCounters>,
    /// Blobs inlined in results that were looked up.
    pub along: Waiting,
    /// Signer of stored results, or why the required one is missing.
    pub signer: Result<Option<Signer>, String>,
    /// Keys that may have signed a result; if empty, signatures are not checked.
    pub trusted: Vec<[u8; 32]>,
    credentials: Credentials,
    metadata: Vec<u8>,
}

impl Server {
    /// Connects and agrees on terms, as a client that `writes` or does not.
    pub(crate) async fn connect(
        def: &RemoteDef,
        around: &Surroundings,
        writes: bool,
        sender: Arc<RequestSender>,
        counters: Arc<CacheCounters>,
    ) -> Result<Self, Refusal> {
        // Folders need no credentials, and buckets have their own.
        let credentials = match is_serverless(&def.endpoint) {
            true => Credentials::default(),
            false => Credentials::from_definition(def, &around.folder, &around.variables)
                .await
                .map_err(Refusal::No)?,
        };
        let endpoint = endpoint(def, around).map_err(Refusal::No)?;
        let metadata = RequestMetadata {
            tool_details: Some(ToolDetails {
                tool_name: "cortex".to_owned(),
                tool_version: env!("CARGO_PKG_VERSION").to_owned(),
            }),
            tool_invocation_id: uuid(sender.random(), sender.random()),
            ..RequestMetadata::default()
        };
        let signer = Signer::from_definition(def, &around.folder, &around.variables);
        let mut trusted = signature::trusted_keys(def);
        // A client that signs vouches for the results that it uses, so it accepts only those signed by a trusted key or its own.
        trusted.extend(signer.as_ref().ok().and_then(Option::as_ref).map(Signer::public_key));
        let mut server = Self {
            channel: endpoint.connect_lazy(),
            objects: None,
            instance: def.instance.clone(),
            id: id_of_server(def),
            terms: AgreedCapabilities::default(),
            sender,
            counters,
            along: Waiting::default(),
            signer,
            trusted,
            credentials,
            metadata: metadata.encode_to_vec(),
        };
        if is_serverless(&def.endpoint) {
            let (def, around) = (def.clone(), around.clone());
            let open = move || open_objects(&def, &around, writes);
            let opened = server
                .sender
                .send_until_answered("opening the cache", RequestKind::Lookup, || blocking(open.clone()))
                .await;
            server.objects = Some(opened.map_err(|_| Refusal::Down)?.map_err(Refusal::No)?);
            server.terms = AgreedCapabilities::of_objects();
        } else {
            server.terms = server.agree().await?;
        }
        Ok(server)
    }

    /// Asks the folder or bucket, if that is the cache.
    pub(crate) fn in_objects<T: Send + 'static>(
        &self,
        ask: impl FnOnce(&ObjectCache) -> Result<T, Status> + Send + 'static,
    ) -> Option<impl Future<Output = Result<T, Status>> + Send + 'static> {
        let objects = self.objects.clone()?;
        Some(blocking(move || ask(&objects)))
    }

    async fn agree(&self) -> Result<AgreedCapabilities, Refusal> {
        let attempt = || async {
            let question = GetCapabilitiesRequest {
                instance_name: self.instance.clone(),
            };
            CapabilitiesClient::new(self.channel.clone())
                .get_capabilities(self.request(question))
                .await
        };
        match self
            .sender
            .send_until_answered("asking what the remote cache can do", RequestKind::Greeting, attempt)
            .await
        {
            Ok(said) => AgreedCapabilities::from_capabilities(said.get_ref()).map_err(Refusal::No),
            Err(Unanswered::Down) => Err(Refusal::Down),
            // Some servers are caches, but do not implement capabilities.
            Err(Unanswered::Said(status)) if status.code() == Code::Unimplemented => Ok(AgreedCapabilities::default()),
            Err(Unanswered::Said(status)) => Err(Refusal::No(self.describe_status(&status))),
        }
    }

    /// Builds a request with all headers.
    pub(crate) fn request<T>(&self, message: T) -> Request<T> {
        let mut request = Request::new(message);
        let headers = request.metadata_mut();
        for (name, value) in &self.credentials.headers {
            headers.insert(name.clone(), value.clone());
        }
        headers.insert_bin(METADATA, MetadataValue::from_bytes(&self.metadata));
        request
    }

    /// Describes a server's status, without secrets.
    pub(crate) fn describe_status(&self, status: &Status) -> String {
        self.credentials.clean(&sentence(status))
    }

    /// Decodes the address of a volume; `None` unless this cache gave it, with the same function for names.
    pub(crate) fn address(&self, address: &[u8]) -> Option<Address> {
        Address::from_bytes(address, self.id).filter(|address| address.function == self.terms.function.protocol_number())
    }

    /// Returns a new unique name for something to send.
    pub(crate) fn fresh_name(&self) -> String {
        uuid(self.sender.random(), self.sender.random())
    }
}

/// Runs a function that may block on a disk or a network.
async fn blocking<T: Send + 'static>(ask: impl FnOnce() -> Result<T, Status> + Send + 'static) -> Result<T, Status> {
    let answer = tokio::task::spawn_blocking(ask).await;
    answer.unwrap_or_else(|_| Err(Status::unknown("it could not be read")))
}

/// Returns whether a status means that the client may never do this.
pub(crate) fn is_refusal(status: &Status) -> bool {
    matches!(
        status.code(),
        Code::PermissionDenied | Code::Unauthenticated | Code::Unimplemented | Code::FailedPrecondition
    )
}

fn id_of_server(def: &RemoteDef) -> u64 {
    let digest = Digest::of(format!("{}\0{}", def.endpoint, def.instance).as_bytes());
    let [a, b, c, d, e, f, g, h, ..] = digest.0;
    u64::from_be_bytes([a, b, c, d, e, f, g, h])
}

/// Returns whether an endpoint names a folder or a bucket.
fn is_serverless(endpoint: &str) -> bool {
    endpoint.starts_with("dir:") || endpoint.starts_with("s3://")
}

/// Opens the folder or bucket of an endpoint, or says why it cannot be used.
fn open_objects(def: &RemoteDef, around: &Surroundings, writes: bool) -> Result<Result<ObjectCache, String>, Status> {
    let opened: Result<Arc<dyn Objects>, String> = match def.endpoint.strip_prefix("dir:") {
        Some(path) => Folder::open_endpoint(&around.folder.join(path), writes).map(|folder| Arc::new(folder) as _),
        None => Bucket::open_bucket(&def.endpoint, &around.variables, &around.deadlines)?.map(|bucket| Arc::new(bucket) as _),
    };
    Ok(opened.and_then(|objects| ObjectCache::of_instance(objects, &def.instance)))
}

fn endpoint(def: &RemoteDef, around: &Surroundings) -> Result<Endpoint, String> {
    let wrong = |_| "its address cannot be used".to_owned();
    if is_serverless(&def.endpoint) {
        return Ok(Endpoint::from_static("http://[::1]"));
    }
    let address = match def.endpoint.strip_prefix("unix:") {
        Some(path) => format!("unix:{}", around.folder.join(path.strip_prefix("//").unwrap_or(path)).display()),
        None => address(&def.endpoint),
    };
    let mut endpoint = Endpoint::from_shared(address).map_err(wrong)?;
    if def.endpoint.starts_with("grpcs://") {
        let configured = endpoint.tls_config(tls(def, &around.folder)?);
        endpoint = configured.map_err(|error| format!("its certificates cannot be used: {}", innermost_cause(&error)))?;
    }
    let endpoint = endpoint.user_agent(concat!("cortex/", env!("CARGO_PKG_VERSION"))).map_err(wrong)?;
    Ok(endpoint
        .connect_timeout(around.deadlines.connect)
        .initial_stream_window_size(STREAM_WINDOW)
        .initial_connection_window_size(4 * STREAM_WINDOW))
}

/// Returns the innermost cause of an error, which says the most.
fn innermost_cause(error: &dyn std::error::Error) -> String {
    let mut cause = error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    cause.to_string()
}

/// Formats a random number as a UUID (RFC 9562, version 4).
fn uuid(high: u64, low: u64) -> String {
    let (high, low) = ((high & !0xf000) | 0x4000, (low & !(3 << 62)) | (2 << 62));
    let text = format!("{high:016x}{low:016x}");
    [&text[..8], &text[8..12], &text[12..16], &text[16..20], &text[20..]].join("-")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_uuids() {
        insta::assert_snapshot!(uuid(0, 0), @"00000000-0000-4000-8000-000000000000");
        insta::assert_snapshot!(uuid(u64::MAX, u64::MAX), @"ffffffff-ffff-4fff-bfff-ffffffffffff");
    }
}
