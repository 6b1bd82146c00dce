//! Results of the action cache: looking them up with their records, and storing them.

use crate::action::{self, RECORD};
use crate::agreed_capabilities::LONGEST_ANSWER;
use crate::blobs::NotTaken;
use crate::cache_counters::ServerFault;
use crate::inline_outputs;
use crate::names::{BlobName, ServerNames};
use crate::record;
use crate::request_sender::{RequestKind, Unanswered};
use crate::server::{Server, is_refusal};
use bazel_remote_apis::build::bazel::remote::execution::v2::action_cache_client::ActionCacheClient;
use bazel_remote_apis::build::bazel::remote::execution::v2::{
    ActionResult, ExecutedActionMetadata, GetActionResultRequest, OutputFile, UpdateActionResultRequest,
};
use engine::seams::remote::{SharedResult, Wanted, WrongRemoteAnswer};
use futures_util::StreamExt;
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use tonic::Code;
use tonic::transport::Channel;

/// Number of parallel requests; small servers refuse more than twenty.
const AT_ONCE: usize = 16;

/// Location of a result's record.
enum RecordLocation {
    Here(Vec<u8>),
    There(BlobName),
}

/// The server did not say whether it has the result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Unlooked;

impl Server {
    fn cache(&self) -> ActionCacheClient<Channel> {
        ActionCacheClient::new(self.channel.clone()).max_decoding_message_size(LONGEST_ANSWER)
    }

    /// Looks results up. A result that differs in any way from the request is a miss.
    pub(crate) async fn look_up_results(
        self: Arc<Self>,
        names: Arc<ServerNames>,
        salt: Arc<str>,
        wanted: Vec<Wanted>,
    ) -> Vec<Option<SharedResult>> {
        let counters = self.counters.clone();
        let found = self.find_results(names, salt, wanted.clone()).await;
        let found = found.into_iter().map(|found| found.ok().flatten()).zip(wanted);
        let counted = found.map(|(found, wanted)| {
            counters.count_lookup(&wanted.key, found.is_some());
            found
        });
        counted.collect()
    }

    /// Looks results up without counting. Returns an error for each result about which the server did not answer.
    pub(crate) async fn find_results(
        self: Arc<Self>,
        names: Arc<ServerNames>,
        salt: Arc<str>,
        wanted: Vec<Wanted>,
    ) -> Vec<Result<Option<SharedResult>, Unlooked>> {
        let questions = wanted.iter().map(|wanted| {
            let name = action::canonical(self.terms.function, &salt, wanted).name;
            let server = self.clone();
            async move { server.look_up(name).await }
        });
        let found: Vec<Result<Option<ActionResult>, Unlooked>> = futures_util::stream::iter(questions.collect::<Vec<_>>())
            .buffered(AT_ONCE)
            .collect()
            .await;
        let with_records = found.into_iter().zip(&wanted);
        let found: Vec<Result<Option<(ActionResult, RecordLocation)>, Unlooked>> = with_records
            .map(|(found, wanted)| found.map(|found| self.with_record(wanted, found?)))
            .collect();
        let there = |found: &Result<Option<(ActionResult, RecordLocation)>, Unlooked>| match found {
            Ok(Some((_, RecordLocation::There(name)))) => Some(*name),
            _ => None,
        };
        let there: BTreeSet<BlobName> = found.iter().filter_map(there).collect();
        let records = if there.is_empty() {
            HashMap::new()
        } else {
            self.clone().read_blobs(there).await
        };
        let whole = found.into_iter().zip(&wanted).map(|(found, wanted)| match found? {
            Some((found, at)) => self.validate_record(&names, wanted, &found, at, &records),
            None => Ok(None),
        });
        whole.collect()
    }

    async fn look_up(&self, name: BlobName) -> Result<Option<ActionResult>, Unlooked> {
        let attempt = || async {
            if let Some(found) = self.in_objects(move |objects| objects.read_action_result(&name)) {
                return found.await;
            }
            let question = GetActionResultRequest {
                instance_name: self.instance.clone(),
                action_digest: Some(name.as_message()),
                inline_output_files: vec![RECORD.to_owned()],
                digest_function: self.terms.function.protocol_number(),
                ..GetActionResultRequest::default()
            };
            let answer = self.cache().get_action_result(self.request(question)).await?;
            Ok(answer.into_inner())
        };
        match self
            .sender
            .send_until_answered("looking up a result", RequestKind::Lookup, attempt)
            .await
        {
            Ok(found) => Ok(Some(found)),
            Err(Unanswered::Down) => Err(Unlooked),
            Err(Unanswered::Said(status)) if status.code() == Code::NotFound => Ok(None),
            Err(Unanswered::Said(status)) => {
                if is_refusal(&status) {
                    let why = self.describe_status(&status);
                    self.counters.update_summary(|summary| {
                        summary.reads_off.get_or_insert(why);
                    });
                } else {
                    self.counters
                        .trouble(|| format!("looking up a result failed: {}", self.describe_status(&status)));
                }
                Err(Unlooked)
            }
        }
    }

    /// Returns a result with its record or the record's location, if the result succeeded and lists a record.
    fn with_record(&self, wanted: &Wanted, found: ActionResult) -> Option<(ActionResult, RecordLocation)> {
        let wrong = |wrong_answer| {
            self.counters
                .count_wrong_answer_about(wrong_answer, ServerFault::Result(wanted.key));
            None
        };
        if found.exit_code != 0 {
            return wrong(WrongRemoteAnswer::Failed);
        }
        let file = found.output_files.iter().find(|file| file.path == RECORD);
        let Some((file, name)) = file.and_then(|file| Some((file, BlobName::from_message(file.digest.as_ref()?)?))) else {
            return wrong(WrongRemoteAnswer::MissingOutput);
        };
        if name.len > record::LONGEST {
            return wrong(WrongRemoteAnswer::Undecodable);
        }
        let mut along = inline_outputs::unpack_blobs(self.terms.function, &found);
        let here = (file.contents.len() as u64 == name.len).then(|| file.contents.clone());
        let here = along.remove(&name).or(here);
        self.along.keep_blobs(along);
        Some((found, here.map_or(RecordLocation::There(name), RecordLocation::Here)))
    }

    /// Returns the result of a record, if it is the requested one and lists all outputs that it names.
    fn validate_record(
        &self,
        names: &ServerNames,
        wanted: &Wanted,
        found: &ActionResult,
        at: RecordLocation,
        records: &HashMap<BlobName, Vec<u8>>,
    ) -> Result<Option<SharedResult>, Unlooked> {
        let of_file = |path: &str| {
            let file = found.output_files.iter().find(|file| file.path == path)?;
            BlobName::from_message(file.digest.as_ref()?)
        };
        let doubt = ServerFault::Result(wanted.key);
        let bytes = match &at {
            RecordLocation::Here(bytes) => bytes,
            RecordLocation::There(name) => match records.get(name) {
                Some(bytes) => bytes,
                // The damaged blob is already counted.
                None if self.counters.is_doubted(&ServerFault::Blob(*name)) => {
                    self.counters.doubt(doubt);
                    return Ok(None);
                }
                None => return Err(Unlooked),
            },
        };
        let wrong = |wrong_answer| {
            self.counters.count_wrong_answer_about(wrong_answer, doubt);
            Ok(None)
        };
        if of_file(RECORD) != Some(self.terms.function.name_of_bytes(bytes)) {
            of_file(RECORD)
                .into_iter()
                .for_each(|name| self.counters.doubt(ServerFault::Blob(name)));
            return wrong(WrongRemoteAnswer::WrongBytes);
        }
        let result = match record::decode_wanted(bytes, wanted, &self.trusted) {
            Ok(result) => result,
            Err(wrong_answer) => return wrong(wrong_answer),
        };
        for output in &result.outputs {
            match of_file(&output.name).filter(|name| name.len == output.blob.len) {
                Some(name) => names.learn(output.blob.digest, &name),
                None => return wrong(WrongRemoteAnswer::MissingOutput),
            }
        }
        Ok(Some(result))
    }

    /// Stores a result; the server must have all its blobs.
    pub(crate) async fn store_result(
        self: Arc<Self>,
        action: BlobName,
        files: Vec<(String, BlobName)>,
        along: ExecutedActionMetadata,
    ) -> Result<(), NotTaken> {
        let file = |(path, name): &(String, BlobName)| OutputFile {
            path: path.clone(),
            digest: Some(name.as_message()),
            ..OutputFile::default()
        };
        let result = ActionResult {
            output_files: files.iter().map(file).collect(),
            execution_metadata: Some(along),
            ..ActionResult::default()
        };
        let attempt = || async {
            let (filed, temporary) = (result.clone(), self.fresh_name());
            if let Some(filed) = self.in_objects(move |objects| objects.write_result(&action, &filed, &temporary)) {
                return filed.await;
            }
            let question = UpdateActionResultRequest {
                instance_name: self.instance.clone(),
                action_digest: Some(action.as_message()),
                action_result: Some(result.clone()),
                digest_function: self.terms.function.protocol_number(),
                ..UpdateActionResultRequest::default()
            };
            let answer = self.cache().update_action_result(self.request(question)).await;
            answer.map(drop)
        };
        let answer = self
            .sender
            .send_until_answered("filing a result", RequestKind::Write(0), attempt)
            .await;
        answer.map_err(|unanswered| self.refusal_of_write(&unanswered))
    }
}
