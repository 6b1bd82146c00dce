//! Results of the action cache: looking them up with their records, filing them.

use crate::action::{self, RECORD};
use crate::blobs::NotTaken;
use crate::line::{Kind, Unanswered};
use crate::names::{Name, Names};
use crate::record;
use crate::server::{LONGEST_ANSWER, Server, is_refusal};
use bazel_remote_apis::build::bazel::remote::execution::v2::action_cache_client::ActionCacheClient;
use bazel_remote_apis::build::bazel::remote::execution::v2::{ActionResult, GetActionResultRequest, OutputFile, UpdateActionResultRequest};
use engine::seams::remote::{Lie, SharedResult, Wanted};
use futures_util::StreamExt;
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use tonic::Code;
use tonic::transport::Channel;

/// Questions under way at once; small servers refuse more than twenty.
const AT_ONCE: usize = 16;

/// Where the record of a result is.
enum Record {
    Here(Vec<u8>),
    There(Name),
}

impl Server {
    fn cache(&self) -> ActionCacheClient<Channel> {
        ActionCacheClient::new(self.channel.clone()).max_decoding_message_size(LONGEST_ANSWER)
    }

    /// Looks results up. One that is not what was asked for in every way is a miss.
    pub(crate) async fn find(self: Arc<Self>, names: Arc<Names>, salt: Arc<str>, wanted: Vec<Wanted>) -> Vec<Option<SharedResult>> {
        let questions = wanted.iter().map(|wanted| {
            let name = action::canonical(self.terms.function, &salt, wanted).name;
            let server = self.clone();
            async move { server.look_up(name).await }
        });
        let found: Vec<Option<ActionResult>> = futures_util::stream::iter(questions.collect::<Vec<_>>())
            .buffered(AT_ONCE)
            .collect()
            .await;
        let found: Vec<Option<(ActionResult, Record)>> = found.into_iter().map(|found| self.with_record(found?)).collect();
        let there = |found: &Option<(ActionResult, Record)>| match found {
            Some((_, Record::There(name))) => Some(*name),
            _ => None,
        };
        let there: BTreeSet<Name> = found.iter().filter_map(there).collect();
        let records = if there.is_empty() {
            HashMap::new()
        } else {
            self.clone().read(there).await
        };
        let whole = found.into_iter().zip(&wanted).map(|(found, wanted)| {
            let result = found.and_then(|(found, at)| self.checked(&names, wanted, &found, at, &records));
            self.account.count(|summary| match &result {
                Some(_) => summary.hits += 1,
                None => summary.misses += 1,
            });
            result
        });
        whole.collect()
    }

    async fn look_up(&self, name: Name) -> Option<ActionResult> {
        let attempt = || async {
            let question = GetActionResultRequest {
                instance_name: self.instance.clone(),
                action_digest: Some(name.named()),
                inline_output_files: vec![RECORD.to_owned()],
                digest_function: self.terms.function.number(),
                ..GetActionResultRequest::default()
            };
            self.cache().get_action_result(self.request(question)).await
        };
        match self.line.ask("looking up a result", Kind::Lookup, attempt).await {
            Ok(found) => Some(found.into_inner()),
            Err(Unanswered::Down) => None,
            Err(Unanswered::Said(status)) => {
                if is_refusal(&status) {
                    let why = self.told(&status);
                    self.account.count(|summary| {
                        summary.reads_off.get_or_insert(why);
                    });
                } else if status.code() != Code::NotFound {
                    self.account
                        .trouble(|| format!("looking up a result failed: {}", self.told(&status)));
                }
                None
            }
        }
    }

    /// Where the record of a result is, if it is one of ours and was made without failing.
    fn with_record(&self, found: ActionResult) -> Option<(ActionResult, Record)> {
        if found.exit_code != 0 {
            self.account.lied(Lie::Failed);
            return None;
        }
        let file = found.output_files.iter().find(|file| file.path == RECORD);
        let Some((file, name)) = file.and_then(|file| Some((file, Name::of(file.digest.as_ref()?)?))) else {
            self.account.lied(Lie::MissingOutput);
            return None;
        };
        if name.len > record::LONGEST {
            self.account.lied(Lie::Undecodable);
            return None;
        }
        let here = (file.contents.len() as u64 == name.len).then(|| file.contents.clone());
        Some((found, here.map_or(Record::There(name), Record::Here)))
    }

    /// The result of a record, if it is the one that was asked for and every output that it names is listed.
    fn checked(
        &self,
        names: &Names,
        wanted: &Wanted,
        found: &ActionResult,
        at: Record,
        records: &HashMap<Name, Vec<u8>>,
    ) -> Option<SharedResult> {
        let of_file = |path: &str| {
            let file = found.output_files.iter().find(|file| file.path == path)?;
            Name::of(file.digest.as_ref()?)
        };
        let bytes = match &at {
            Record::Here(bytes) => bytes,
            Record::There(name) => records.get(name)?,
        };
        let wrong = |lie| {
            self.account.lied(lie);
            None
        };
        if of_file(RECORD) != Some(self.terms.function.name(bytes)) {
            return wrong(Lie::WrongBytes);
        }
        let result = match record::decode_wanted(bytes, wanted, &self.trusted) {
            Ok(result) => result,
            Err(lie) => return wrong(lie),
        };
        for output in &result.outputs {
            match of_file(&output.name).filter(|name| name.len == output.blob.len) {
                Some(name) => names.learn(output.blob.digest, &name),
                None => return wrong(Lie::MissingOutput),
            }
        }
        Some(result)
    }

    /// Files a result. All of its blobs are there.
    pub(crate) async fn file(self: Arc<Self>, action: Name, files: Vec<(String, Name)>) -> Result<(), NotTaken> {
        let file = |(path, name): &(String, Name)| OutputFile {
            path: path.clone(),
            digest: Some(name.named()),
            ..OutputFile::default()
        };
        let result = ActionResult {
            output_files: files.iter().map(file).collect(),
            ..ActionResult::default()
        };
        let attempt = || async {
            let question = UpdateActionResultRequest {
                instance_name: self.instance.clone(),
                action_digest: Some(action.named()),
                action_result: Some(result.clone()),
                digest_function: self.terms.function.number(),
                ..UpdateActionResultRequest::default()
            };
            self.cache().update_action_result(self.request(question)).await
        };
        let answer = self.line.ask("filing a result", Kind::Blobs(0), attempt).await;
        answer.map(drop).map_err(|unanswered| self.not_taken(&unanswered))
    }
}
