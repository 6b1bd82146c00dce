//! The farm: workers of the server run this program over shards, by the protocol's Execute.
//!
//! An action has two files in its input root: the statically linked program, and the shard. The program's output returns through the blobs, and
//! the engine reads it. Requests forbid the server to cache these actions, because only this build needs them. On any error the engine does the work
//! itself, and the first reason is reported; after some failures in a row no shard is sent.

use crate::agreed_capabilities::LONGEST_ANSWER;
use crate::blobs::NotTaken;
use crate::connection::Connection;
use crate::names::BlobName;
use crate::server::{Server, is_refusal};
use bazel_remote_apis::build::bazel::remote::execution::v2::execution_client::ExecutionClient;
use bazel_remote_apis::build::bazel::remote::execution::v2::{
    Action, ActionResult, Command, Directory, ExecuteRequest, ExecuteResponse, FileNode, Platform, platform,
};
use bazel_remote_apis::google::longrunning::{Operation, operation};
use engine::manifest::remote::RemoteDef;
use engine::seams::farm::{Farm, SendThresholds, ShardOutcome};
use engine::seams::producer::Cancel;
use prost::Message;
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Names of the program and its two files on the worker.
const PROGRAM: &str = "cortex";
const IN: &str = "in";
const OUT: &str = "out";
/// Command of the program.
const VERB: &str = "produce-shard";
/// Number of failed shards in a row after which none is sent.
const FAILURES: u32 = 3;
/// Poll interval of a waiting thread for its cancellation.
const LOOK: Duration = Duration::from_millis(20);
/// Limit of a worker's output, in bytes.
const LONGEST: u64 = 1 << 30;

/// Default terms: a sandbox costs a tenth of a second, so a shard is worth half of one.
const USUAL: SendThresholds = SendThresholds {
    worth: Duration::from_micros(200),
    backlog: Duration::from_secs(1),
    shard: Duration::from_millis(500),
    bytes: 4 << 20,
    patience: Duration::from_secs(10),
};

/// Workers behind the engine's seam.
pub struct Workers {
    connection: Arc<Connection>,
    /// Path of the program, or the reason why it is missing.
    program: Result<PathBuf, String>,
    /// The server's name of the program, once the server has it.
    sent: Mutex<Option<BlobName>>,
    failures: AtomicU32,
}

/// Reason why a shard failed, in one sentence, and whether all following shards will fail.
struct Trouble {
    why: String,
    for_all: bool,
}

impl From<String> for Trouble {
    fn from(why: String) -> Self {
        Self { why, for_all: false }
    }
}

impl From<&str> for Trouble {
    fn from(why: &str) -> Self {
        why.to_owned().into()
    }
}

impl From<NotTaken> for Trouble {
    fn from(not_taken: NotTaken) -> Self {
        match not_taken {
            NotTaken::Down => "no server answers".into(),
            NotTaken::This(why) => why.into(),
            NotTaken::Anything(why) => Self { why, for_all: true },
        }
    }
}

impl Workers {
    /// Creates the workers of a client's server; `program` is the program that they run, or the reason why it is missing.
    pub(crate) fn new(connection: Arc<Connection>, program: Result<PathBuf, String>) -> Self {
        let workers = Self {
            connection,
            program,
            sent: Mutex::default(),
            failures: AtomicU32::new(0),
        };
        if let Err(why) = &workers.program {
            workers.close_workers(why.clone());
        }
        workers
    }

    fn close_workers(&self, why: String) {
        self.connection.counters.update_summary(|summary| {
            summary.execute_off.get_or_insert(why);
        });
    }

    fn try_work(&self, shard: Vec<u8>, given_up: &Cancel) -> Result<Vec<u8>, Trouble> {
        let connection = &self.connection;
        let server = connection.server().ok_or("no server answers")?;
        if !server.terms.executes {
            return Err(Trouble {
                why: "it says that it executes nothing".to_owned(),
                for_all: true,
            });
        }
        let program = self.program(&server)?;
        let shard_action = ShardAction::new(&server, &connection.def, program, shard);
        connection.send_missing(&server, shard_action.blobs.iter().map(|(name, _)| *name).collect(), &|name| {
            let blob = shard_action.blobs.iter().find(|(known, _)| known == name)?;
            Some(blob.1.clone())
        })?;
        connection.counters.update_summary(|summary| summary.shards += 1);
        let (sender, answer) = sync_channel(1);
        let (action, patience) = (shard_action.action, connection.around.deadlines.work);
        let asking = connection.handle.spawn(async move {
            // The caller may have stopped waiting.
            let _ = sender.send(server.execute(action, patience).await);
        });
        loop {
            match answer.recv_timeout(LOOK) {
                Ok(answer) => return answer,
                Err(RecvTimeoutError::Timeout) if given_up.is_cancelled() => {
                    asking.abort();
                    return Err("a worker did not answer in time".into());
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Err("no server answers".into()),
            }
        }
    }

    /// Sends the program if the server lacks it, and returns the server's name of it.
    fn program(&self, server: &Arc<Server>) -> Result<BlobName, Trouble> {
        // Other threads wait here, so that one of them sends the program.
        let mut sent = self.sent.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(name) = *sent {
            return Ok(name);
        }
        let path = self.program.as_ref().map_err(|why| why.as_str())?;
        let bytes = std::fs::read(path).map_err(|error| Trouble {
            why: format!("the program for workers cannot be read: {error}"),
            for_all: true,
        })?;
        let bytes: Arc<[u8]> = bytes.into();
        let name = server.terms.function.name_of_bytes(&bytes);
        self.connection.send_missing(server, vec![name], &|_| Some(bytes.clone()))?;
        *sent = Some(name);
        Ok(name)
    }
}

impl Farm for Workers {
    fn terms(&self) -> SendThresholds {
        USUAL
    }

    fn is_open(&self) -> bool {
        self.connection.sender.is_up() && self.connection.counters.summary().execute_off.is_none()
    }

    fn work(&self, shard: Vec<u8>, given_up: &Cancel) -> Option<Vec<u8>> {
        match self.try_work(shard, given_up) {
            Ok(bytes) => Some(bytes),
            Err(Trouble { why, for_all }) => {
                if for_all {
                    self.close_workers(why.clone());
                }
                self.connection.counters.update_summary(|summary| {
                    summary.execute_trouble.get_or_insert(why);
                });
                None
            }
        }
    }

    fn note(&self, outcome: &ShardOutcome) {
        let failures = match outcome.made {
            0 => self.failures.fetch_add(1, Ordering::Relaxed) + 1,
            _ => {
                self.failures.store(0, Ordering::Relaxed);
                0
            }
        };
        self.connection.counters.update_summary(|summary| {
            summary.executed += outcome.made;
            summary.executed_us += u64::try_from(outcome.took.as_micros()).unwrap_or(u64::MAX);
            summary.unmade += outcome.unmade;
            if let Some(wrong) = &outcome.wrong {
                summary.execute_trouble.get_or_insert_with(|| wrong.clone());
            }
            if failures >= FAILURES {
                let why = summary.execute_trouble.clone();
                summary
                    .execute_off
                    .get_or_insert(why.unwrap_or_else(|| "workers built none of the targets sent to them".to_owned()));
            }
        });
    }
}

/// An action that runs the program over a shard, with all its blobs but the program.
struct ShardAction {
    action: BlobName,
    blobs: [(BlobName, Arc<[u8]>); 4],
}

impl ShardAction {
    fn new(server: &Server, def: &RemoteDef, program: BlobName, shard: Vec<u8>) -> Self {
        let function = server.terms.function;
        let named = |bytes: Vec<u8>| -> (BlobName, Arc<[u8]>) { (function.name_of_bytes(&bytes), bytes.into()) };
        let shard = named(shard);
        let file = |name: &str, of: &BlobName, is_executable| FileNode {
            name: name.to_owned(),
            digest: Some(of.as_message()),
            is_executable,
            ..FileNode::default()
        };
        let root = Directory {
            files: vec![file(PROGRAM, &program, true), file(IN, &shard.0, false)],
            ..Directory::default()
        };
        let platform = platform(def);
        let command = Command {
            arguments: [&format!("./{PROGRAM}"), VERB, IN, OUT].map(str::to_owned).to_vec(),
            output_paths: vec![OUT.to_owned()],
            // Servers before version 2.2 read it here.
            #[allow(deprecated)]
            platform: platform.clone(),
            ..Command::default()
        };
        let (root, command) = (named(root.encode_to_vec()), named(command.encode_to_vec()));
        let action = Action {
            command_digest: Some(command.0.as_message()),
            input_root_digest: Some(root.0.as_message()),
            timeout: Some(seconds(Duration::from_secs(120))),
            do_not_cache: true,
            platform,
            ..Action::default()
        };
        let action = named(action.encode_to_vec());
        Self {
            action: action.0,
            blobs: [shard, root, command, action],
        }
    }
}

fn seconds(time: Duration) -> bazel_remote_apis::google::protobuf::Duration {
    bazel_remote_apis::google::protobuf::Duration {
        seconds: i64::try_from(time.as_secs()).unwrap_or(i64::MAX),
        nanos: 0,
    }
}

/// Returns the properties to select workers by, sorted as the protocol demands.
fn platform(def: &RemoteDef) -> Option<Platform> {
    let property = |(name, value): (&String, &String)| platform::Property {
        name: name.clone(),
        value: value.clone(),
    };
    let properties: Vec<_> = def.platform.iter().map(property).collect();
    (!properties.is_empty()).then_some(Platform { properties })
}

impl Server {
    /// Executes an action and returns its output.
    async fn execute(self: Arc<Self>, action: BlobName, patience: Duration) -> Result<Vec<u8>, Trouble> {
        let operation = match tokio::time::timeout(patience, self.finished_operation(action)).await {
            Ok(operation) => operation.map_err(|status| Trouble {
                for_all: is_refusal(&status),
                why: self.describe_status(&status),
            })?,
            Err(_) => return Err("the server did not answer in time".into()),
        };
        let result = self.result_of_operation(operation)?;
        let file = result.output_files.iter().find(|file| file.path == OUT);
        let name = file
            .and_then(|file| BlobName::from_message(file.digest.as_ref()?))
            .ok_or("the worker wrote nothing")?;
        if name.len > LONGEST {
            return Err("the worker wrote more than was requested".into());
        }
        let bytes = self.clone().read_blobs(BTreeSet::from([name])).await.remove(&name);
        let bytes = bytes.ok_or("the output of the worker is missing")?;
        if self.terms.function.name_of_bytes(&bytes) != name {
            return Err("the downloaded output of a worker does not have its digest".into());
        }
        Ok(bytes)
    }

    /// Waits for the operation of an action to finish.
    async fn finished_operation(&self, action: BlobName) -> Result<Operation, tonic::Status> {
        let question = ExecuteRequest {
            instance_name: self.instance.clone(),
            action_digest: Some(action.as_message()),
            skip_cache_lookup: true,
            digest_function: self.terms.function.protocol_number(),
            ..ExecuteRequest::default()
        };
        let mut client = ExecutionClient::new(self.channel.clone()).max_decoding_message_size(LONGEST_ANSWER);
        let mut updates = client.execute(self.request(question)).await?.into_inner();
        while let Some(operation) = updates.message().await? {
            if operation.done {
                return Ok(operation);
            }
        }
        Err(tonic::Status::unavailable("the call ended before the work did"))
    }

    /// Returns the result of a successful operation. Servers report failures in different places, so it checks all of them.
    fn result_of_operation(&self, operation: Operation) -> Result<ActionResult, Trouble> {
        let failed = |status: bazel_remote_apis::google::rpc::Status| {
            let status = tonic::Status::new(tonic::Code::from_i32(status.code), status.message);
            self.describe_status(&status)
        };
        let response = match operation.result {
            Some(operation::Result::Response(response)) => response,
            Some(operation::Result::Error(status)) => return Err(failed(status).into()),
            None => return Err("it did not say what became of the work".into()),
        };
        let response = ExecuteResponse::decode(&*response.value).map_err(|_| "its answer cannot be read")?;
        if let Some(status) = response.status.filter(|status| status.code != 0) {
            return Err(failed(status).into());
        }
        let result = response.result.ok_or("it did not say what became of the work")?;
        match result.exit_code {
            0 => Ok(result),
            code => Err(format!("the worker ended with exit code {code}").into()),
        }
    }
}
