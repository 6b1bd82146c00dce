//! A server that has answered: the connection, what was agreed, and what goes with every question.

use crate::account::Account;
use crate::bucket::Bucket;
use crate::credentials::{Credentials, Variables, address, tls};
use crate::folder::Folder;
use crate::inline_outputs::Waiting;
use crate::line::{Deadlines, Kind, Line, Unanswered, sentence};
use crate::objects::{ObjectCache, Objects};
use crate::signature::{self, Signer};
use crate::terms::Terms;
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

/// The header that says which tool asks; nothing of who or where.
const METADATA: &str = "build.bazel.remote.execution.v2.requestmetadata-bin";
/// Longer answers are refused.
pub(crate) const LONGEST_ANSWER: usize = 16 << 20;

/// What a client is given by those around it.
#[derive(Clone)]
pub struct Surroundings {
    /// The folder that paths are relative to.
    pub folder: PathBuf,
    /// The environment.
    pub variables: Variables,
    /// How long is waited.
    pub deadlines: Deadlines,
}

/// Why there is no server.
#[derive(Debug)]
pub(crate) enum Refusal {
    /// Nobody answers at the moment.
    Down,
    /// It cannot be used, one sentence.
    No(String),
}

/// A server, or a folder or bucket in its place, and how to ask it.
pub(crate) struct Server {
    /// Never connected where there are objects.
    pub channel: Channel,
    /// The folder or bucket that is the cache, if it is one.
    pub objects: Option<ObjectCache>,
    pub instance: String,
    /// A number of its address and instance, so that what is remembered of one cache is not asked of another.
    pub id: u64,
    pub terms: Terms,
    pub line: Arc<Line>,
    pub account: Arc<Account>,
    /// Blobs that came along with results that were looked up.
    pub along: Waiting,
    /// What signs results that are filed, or why nothing does that should.
    pub signer: Result<Option<Signer>, String>,
    /// Who is to have signed results that are found; anybody when empty.
    pub trusted: Vec<[u8; 32]>,
    credentials: Credentials,
    metadata: Vec<u8>,
}

impl Server {
    /// Connects and agrees on terms, as one who `writes` or does not.
    pub(crate) async fn connect(
        def: &RemoteDef,
        around: &Surroundings,
        writes: bool,
        line: Arc<Line>,
        account: Arc<Account>,
    ) -> Result<Self, Refusal> {
        let credentials = Credentials::read(def, &around.folder, &around.variables)
            .await
            .map_err(Refusal::No)?;
        let endpoint = endpoint(def, around).map_err(Refusal::No)?;
        let metadata = RequestMetadata {
            tool_details: Some(ToolDetails {
                tool_name: "cortex".to_owned(),
                tool_version: env!("CARGO_PKG_VERSION").to_owned(),
            }),
            tool_invocation_id: uuid(line.random(), line.random()),
            ..RequestMetadata::default()
        };
        let signer = Signer::read(def, &around.folder, &around.variables);
        let mut trusted = signature::trusted(def);
        // Who signs vouches for what it takes over, too.
        trusted.extend(signer.as_ref().ok().and_then(Option::as_ref).map(Signer::key));
        let mut server = Self {
            channel: endpoint.connect_lazy(),
            objects: None,
            instance: def.instance.clone(),
            id: id(def),
            terms: Terms::default(),
            line,
            account,
            along: Waiting::default(),
            signer,
            trusted,
            credentials,
            metadata: metadata.encode_to_vec(),
        };
        if is_serverless(&def.endpoint) {
            let (def, around) = (def.clone(), around.clone());
            let open = move || open_objects(&def, &around, writes);
            let opened = server.line.ask("opening the cache", Kind::Lookup, || blocking(open.clone())).await;
            server.objects = Some(opened.map_err(|_| Refusal::Down)?.map_err(Refusal::No)?);
            server.terms = Terms::of_objects();
        } else {
            server.terms = server.agree().await?;
        }
        Ok(server)
    }

    /// Asks the folder or bucket, if the cache is one.
    pub(crate) fn in_objects<T: Send + 'static>(
        &self,
        ask: impl FnOnce(&ObjectCache) -> Result<T, Status> + Send + 'static,
    ) -> Option<impl Future<Output = Result<T, Status>> + Send + 'static> {
        let objects = self.objects.clone()?;
        Some(blocking(move || ask(&objects)))
    }

    async fn agree(&self) -> Result<Terms, Refusal> {
        let attempt = || async {
            let question = GetCapabilitiesRequest {
                instance_name: self.instance.clone(),
            };
            CapabilitiesClient::new(self.channel.clone())
                .get_capabilities(self.request(question))
                .await
        };
        match self.line.ask("asking what the remote cache can do", Kind::Lookup, attempt).await {
            Ok(said) => Terms::of(said.get_ref()).map_err(Refusal::No),
            Err(Unanswered::Down) => Err(Refusal::Down),
            // Some servers are caches without saying so.
            Err(Unanswered::Said(status)) if status.code() == Code::Unimplemented => Ok(Terms::default()),
            Err(Unanswered::Said(status)) => Err(Refusal::No(self.describe_status(&status))),
        }
    }

    /// A question with everything that goes with it.
    pub(crate) fn request<T>(&self, message: T) -> Request<T> {
        let mut request = Request::new(message);
        let headers = request.metadata_mut();
        for (name, value) in &self.credentials.headers {
            headers.insert(name.clone(), value.clone());
        }
        headers.insert_bin(METADATA, MetadataValue::from_bytes(&self.metadata));
        request
    }

    /// What a server says, without secrets.
    pub(crate) fn describe_status(&self, status: &Status) -> String {
        self.credentials.clean(&sentence(status))
    }

    /// Where a volume is, if it was told by a server that names pieces as this one does.
    pub(crate) fn address(&self, address: &[u8]) -> Option<Address> {
        Address::read(address, self.id).filter(|address| address.function == self.terms.function.number())
    }

    /// A name for something that is sent, used once.
    pub(crate) fn fresh_name(&self) -> String {
        uuid(self.line.random(), self.line.random())
    }
}

/// Runs what may wait for a disk, or for a network behind one.
async fn blocking<T: Send + 'static>(ask: impl FnOnce() -> Result<T, Status> + Send + 'static) -> Result<T, Status> {
    let asked = tokio::task::spawn_blocking(ask).await;
    asked.unwrap_or_else(|_| Err(Status::unknown("it could not be read")))
}

/// Whether a server says that one may not do this at all.
pub(crate) fn is_refusal(status: &Status) -> bool {
    matches!(
        status.code(),
        Code::PermissionDenied | Code::Unauthenticated | Code::Unimplemented | Code::FailedPrecondition
    )
}

fn id(def: &RemoteDef) -> u64 {
    let digest = Digest::of(format!("{}\0{}", def.endpoint, def.instance).as_bytes());
    let [a, b, c, d, e, f, g, h, ..] = digest.0;
    u64::from_be_bytes([a, b, c, d, e, f, g, h])
}

/// Whether an endpoint names a folder or a bucket.
fn is_serverless(endpoint: &str) -> bool {
    endpoint.starts_with("dir:") || endpoint.starts_with("s3://")
}

/// The folder or bucket of an endpoint, or why it cannot be used.
fn open_objects(def: &RemoteDef, around: &Surroundings, writes: bool) -> Result<Result<ObjectCache, String>, Status> {
    let opened: Result<Arc<dyn Objects>, String> = match def.endpoint.strip_prefix("dir:") {
        Some(path) => Folder::open(&around.folder.join(path), writes).map(|folder| Arc::new(folder) as _),
        None => Bucket::open(&def.endpoint, &around.variables, &around.deadlines)?.map(|bucket| Arc::new(bucket) as _),
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
        endpoint = configured.map_err(|error| format!("its certificates cannot be used: {}", root(&error)))?;
    }
    let endpoint = endpoint.user_agent(concat!("cortex/", env!("CARGO_PKG_VERSION"))).map_err(wrong)?;
    Ok(endpoint.connect_timeout(around.deadlines.connect).http2_adaptive_window(true))
}

/// The innermost cause of an error, which says the most.
fn root(error: &dyn std::error::Error) -> String {
    let mut cause = error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    cause.to_string()
}

/// A name that nobody else draws, in the usual form (RFC 9562, version 4).
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
