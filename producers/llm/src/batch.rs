//! Batches: questions are collected, sent together for half the price, and answered in a later run.
//!
//! A question is identified by its action key and the number of its attempt. Its answer is valid only for exactly the same prompt: under one key it
//! may differ between runs, because earlier answers are not part of a key.

use super::batch_wire::Progress;
use super::call_failures::Trouble;
use super::calls::Calls;
use super::exchange::ServerCall;
use super::keys::Access;
use super::pending_batches::{Batch, BatchFolder, Note};
use super::prepared_question::{FailedTryUsage, PreparedQuestion};
use super::replay::digest_of_turns;
use super::settings::{Api, Model, Reach};
use super::{ModelReply, Turn, anthropic, batch_wire, openai};
use engine::seams::producer::{Cancel, Failure, Params};
use engine::values::codes::ErrorCode;
use engine::values::diagnostic::Diagnostic;
use engine::values::digest::{ActionKey, Digest};
use serde_json::Value;
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

/// Most questions of one batch.
const MOST_ITEMS: usize = 10_000;
/// Most bytes of one batch.
const MOST_BYTES: usize = 64 << 20;
/// Digits of the key in a custom id, which may have 64 characters: the key, a dash, the number of the attempt.
const KEY_DIGITS: usize = 60;

/// All batches of a run.
pub(super) struct Batches {
    batch_folder: BatchFolder,
    state: Mutex<BatchState>,
}

#[derive(Default)]
struct BatchState {
    /// The batches in the folder when the first question was asked.
    batches: Option<Vec<Batch>>,
    /// Batches whose progress this run has requested.
    polled: BTreeSet<String>,
    /// Custom ids whose answers were returned.
    handed: BTreeSet<String>,
    /// Custom ids whose batch gave nothing, with a diagnostic to report first: without `--batch` no question is silently asked again at full price.
    gone: BTreeMap<String, Diagnostic>,
    collected: BTreeMap<String, Collected>,
    cancel: Cancel,
}

/// A question to be sent.
struct Collected {
    model: Params,
    settings: Params,
    digest: String,
    body: Value,
}

impl Batches {
    pub(super) fn new(root: &Path) -> Self {
        Self {
            batch_folder: BatchFolder::new(root),
            state: Mutex::default(),
        }
    }

    /// Returns the answer of a question that an earlier run sent in a batch, or a failure while it is pending; `None` when no batch has it. Call it
    /// before asking, with `--batch` or without: a sent question is paid for.
    pub(super) fn sent_before(
        &self,
        calls: &Calls,
        prepared: &PreparedQuestion<'_>,
        cancel: &Cancel,
    ) -> Option<Result<ModelReply, Failure>> {
        let id = custom_id(prepared.question.key, prepared.question.attempt);
        let digest = digest_of_turns(prepared.question.turns).to_string();
        let mut state = self.lock_batches();
        if let Err(failure) = self.look_after(&mut state, calls, prepared, &id, cancel) {
            return Some(Err(failure));
        }
        if let Some(why) = state.gone.get(&id).filter(|_| !calls.limits.batch) {
            return Some(Err(Failure::Limit(Box::new(why.clone()))));
        }
        for batch in state.batches.iter().flatten() {
            if batch.note.items.get(&id) != Some(&digest) {
                continue;
            }
            let Some(answers) = &batch.answers else {
                return Some(Err(Failure::Deferred));
            };
            let Some(answer) = answers.iter().find(|answer| answer.id == id) else {
                continue;
            };
            let result = answer.result_within(prepared.question.max_tokens);
            state.handed.insert(id);
            return Some(match result {
                Ok(reply) => {
                    let usage = prepared.usage(&reply);
                    Ok(prepared.answer_from_reply(reply, usage, FailedTryUsage::default(), true))
                }
                Err(complaint) => {
                    let secrets = super::secret::Secrets::default();
                    Err(match prepared.called(&secrets).complaint(&complaint, None) {
                        Trouble::Transient { why, .. } => Failure::Transient(why),
                        Trouble::Permanent(why)
                        | Trouble::Shut(why)
                        | Trouble::Unfit(why)
                        | Trouble::Absent(why)
                        | Trouble::Refused(why) => Failure::Permanent(why),
                        Trouble::Settled(failure) => failure,
                        Trouble::Cancelled => Failure::Cancelled,
                    })
                }
            });
        }
        None
    }

    /// Whether a batch in the folder has exactly this question; requests no progress.
    pub(super) fn is_handed_over(&self, calls: &Calls, key: &ActionKey, attempt: u32, turns: &[Turn]) -> bool {
        let mut state = self.lock_batches();
        if state.batches.is_none() {
            state.batches = self.batch_folder.read_batches(now_in_seconds(calls)).ok();
        }
        let (id, digest) = (custom_id(key, attempt), digest_of_turns(turns).to_string());
        let mut batches = state.batches.iter().flatten();
        batches.any(|batch| batch.note.items.get(&id) == Some(&digest))
    }

    /// Returns the answer if an earlier run asked for it and it has arrived; else collects the question.
    pub(super) fn answer_in_batch(&self, calls: &Calls, prepared: &PreparedQuestion<'_>, cancel: &Cancel) -> Result<ModelReply, Failure> {
        if let Some(found) = self.sent_before(calls, prepared, cancel) {
            return found;
        }
        let id = custom_id(prepared.question.key, prepared.question.attempt);
        let digest = digest_of_turns(prepared.question.turns).to_string();
        let mut state = self.lock_batches();
        state.cancel = cancel.clone();
        if let Entry::Vacant(place) = state.collected.entry(id) {
            // The question counts as spent when it is sent, no matter when the answer arrives.
            let (hold, most) = calls.reserve_call(prepared, true, cancel)?;
            hold.record_usage(most);
            let body = match prepared.model.api {
                Api::Anthropic => anthropic::request_body(&prepared.model, prepared.question, false),
                _ => openai::body_of_request(&prepared.model, prepared.question, prepared.reach.base_url, false),
            };
            place.insert(Collected {
                model: prepared.question.model.clone(),
                settings: prepared.question.settings.clone(),
                digest,
                body,
            });
        }
        Err(Failure::Deferred)
    }

    /// Returns the batches in the folder; the first call of a run reads them.
    fn load_once<'b>(&self, batches: &'b mut Option<Vec<Batch>>, calls: &Calls) -> Result<&'b mut Vec<Batch>, Failure> {
        match batches {
            Some(batches) => Ok(batches),
            None => {
                let found = self.batch_folder.read_batches(now_in_seconds(calls));
                Ok(batches.insert(found.map_err(|error| disk("cannot be read", &error))?))
            }
        }
    }

    /// Loads the folder once per run, and polls each batch of this server once; without `--batch` only those that have the question.
    fn look_after(
        &self,
        state: &mut BatchState,
        calls: &Calls,
        prepared: &PreparedQuestion<'_>,
        id: &str,
        cancel: &Cancel,
    ) -> Result<(), Failure> {
        let BatchState {
            batches,
            polled,
            gone: untold,
            ..
        } = state;
        let batches = self.load_once(batches, calls)?;
        let is_here = |batch: &Batch| {
            let matters = calls.limits.batch || batch.note.items.contains_key(id);
            matters && batch.note.base_url == prepared.reach.base_url && batch.note.api == api_name(prepared.model.api)
        };
        let waiting: Vec<usize> = (0..batches.len())
            .filter(|at| is_here(&batches[*at]) && batches[*at].answers.is_none() && !polled.contains(&batches[*at].id))
            .collect();
        if waiting.is_empty() {
            return Ok(());
        }
        let access = calls
            .keys
            .access(&prepared.reach, prepared.model.api, &calls.root, &*calls.world, cancel)?;
        let line = prepared.line_to_provider(&access, &*calls.world);
        let window = calls.rate_window(&prepared.reach, &prepared.model);
        let mut complaint = None;
        let mut gone = BTreeSet::new();
        for at in waiting {
            let claimed: BTreeSet<String> = batches.iter().filter_map(|batch| batch.note.remote.clone()).collect();
            let batch = &mut batches[at];
            let progress = calls.call_with_retries(&line.called, &window, cancel, || {
                if batch.note.remote.is_none() {
                    batch.note.remote = batch_wire::find_sent_batch(&line, &batch.id, &batch.note, &claimed, cancel)?;
                }
                match batch.note.remote.as_deref() {
                    Some(remote) => batch_wire::progress(&line, remote, cancel),
                    None => Ok(Progress::Gone(None)),
                }
            })?;
            polled.insert(batch.id.clone());
            match progress {
                // The remote batch may have been found only now.
                Progress::Running => {
                    let noted = self.batch_folder.write_note(&batch.id, &batch.note);
                    noted.map_err(|error| disk("cannot be written", &error))?;
                }
                Progress::Finished(mut answers) => {
                    answers.retain(|answer| batch.note.items.contains_key(&answer.id));
                    let written = self.batch_folder.write_answers(&batch.id, &answers);
                    written.map_err(|error| disk("cannot be written", &error))?;
                    batch.answers = Some(answers);
                }
                Progress::Gone(why) => {
                    self.batch_folder.remove_batch(&batch.id);
                    gone.insert(batch.id.clone());
                    let Some(why) = why else { continue };
                    let why = batch_failure(batch, prepared.reach.label, &access.secrets.redacted_line(&why));
                    complaint.get_or_insert_with(|| why.clone());
                    let ids = batch.note.items.keys().cloned();
                    untold.extend(ids.map(|id| (id, why.clone())));
                }
            }
        }
        batches.retain(|batch| !gone.contains(&batch.id));
        match complaint {
            None => Ok(()),
            Some(why) => Err(Failure::Limit(Box::new(why))),
        }
    }

    /// Sends all collected questions, and forgets answers that were returned.
    pub(super) fn flush(&self, calls: &Calls) -> Result<(), Failure> {
        let mut state = self.lock_batches();
        let collected = std::mem::take(&mut state.collected);
        let cancel = state.cancel.clone();
        let mut result = Ok(());
        let mut queue: Vec<(String, Collected)> = collected.into_iter().collect();
        // One batch is for one server, one model and one way of access.
        queue.sort_by_cached_key(|(id, item)| {
            (
                Value::Object(item.settings.clone()).to_string(),
                model_name(&item.model),
                id.clone(),
            )
        });
        let mut queue = queue.into_iter().peekable();
        while let Some(first) = queue.next() {
            let mut bytes = request_bytes(&first.1);
            let mut group = vec![first];
            while let Some(next) = queue.next_if(|(_, next)| {
                let first = &group[0].1;
                let fits = group.len() < MOST_ITEMS && bytes + request_bytes(next) <= MOST_BYTES;
                fits && first.settings == next.settings && model_name(&first.model) == model_name(&next.model)
            }) {
                bytes += request_bytes(&next.1);
                group.push(next);
            }
            match self.send_batch_of(calls, &group, &cancel) {
                Ok(batch) => {
                    state.polled.insert(batch.id.clone());
                    state.batches.get_or_insert_default().push(batch);
                }
                // The next run asks unsent questions again.
                Err(failure) => result = Err(failure),
            }
        }
        self.remove_returned_answers(&mut state);
        result
    }

    fn send_batch_of(&self, calls: &Calls, group: &[(String, Collected)], cancel: &Cancel) -> Result<Batch, Failure> {
        let (_, first) = group.first().expect("invariant: a group has a first item");
        let model = Model::from_params(&first.model).expect("invariant: only questions to known interfaces are collected");
        let reach = Reach::from_settings(&first.settings, model.api);
        let access: Access = calls.keys.access(&reach, model.api, &calls.root, &*calls.world, cancel)?;
        let called = super::call_failures::Called {
            reach: &reach,
            name: model.name,
            secrets: &access.secrets,
        };
        let line = ServerCall {
            api: model.api,
            reach: &reach,
            access: &access,
            called,
            world: &*calls.world,
        };
        let sent = now_in_seconds(calls);
        let mut note = Note {
            api: api_name(model.api).to_owned(),
            base_url: reach.base_url.to_owned(),
            remote: None,
            sent,
            items: group.iter().map(|(id, item)| (id.clone(), item.digest.clone())).collect(),
        };
        let id = self
            .batch_folder
            .free_name(&Digest::of(format!("{sent} {:?}", note.items).as_bytes()).short());
        let write = |note: &Note| {
            self.batch_folder
                .write_note(&id, note)
                .map_err(|error| disk("cannot be written", &error))
        };
        // Write the note before sending, so that the next run can find the batch if this one is killed in between.
        write(&note)?;
        let requests: Vec<(&str, &Value)> = group.iter().map(|(id, item)| (id.as_str(), &item.body)).collect();
        let window = calls.rate_window(&reach, &model);
        let mut unsure = false;
        let created = calls
            .call_with_retries(&line.called, &window, cancel, || batch_wire::upload(&line, &requests, cancel))
            .and_then(|file| {
                calls.call_with_retries(&line.called, &window, cancel, || {
                    let created = batch_wire::create(&line, &file, &requests, &id, cancel);
                    // Only a refusal proves that the batch does not exist: a retry after silence might create a second one.
                    match created {
                        Err(Trouble::Transient {
                            why,
                            floor: None,
                            busy: false,
                        }) => {
                            unsure = true;
                            Err(Trouble::Settled(Failure::Transient(why)))
                        }
                        created => created,
                    }
                })
            });
        match created {
            Ok(remote) => {
                note.remote = Some(remote);
                write(&note)?;
                Ok(Batch { id, note, answers: None })
            }
            Err(failure) => {
                if !unsure {
                    self.batch_folder.remove_batch(&id);
                }
                Err(failure)
            }
        }
    }

    /// Removes returned answers from the folder, except those whose node waits for a further attempt: it will ask for them again.
    fn remove_returned_answers(&self, state: &mut BatchState) {
        let BatchState {
            batches,
            handed,
            collected,
            ..
        } = state;
        let Some(batches) = batches else {
            return;
        };
        let waiting: BTreeSet<String> = batches
            .iter()
            .flat_map(|batch| {
                let is_open = move |id: &&String| match &batch.answers {
                    None => true,
                    Some(answers) => answers.iter().any(|answer| answer.id == **id),
                };
                batch.note.items.keys().filter(is_open)
            })
            .chain(collected.keys())
            .filter(|id| !handed.contains(*id))
            .cloned()
            .collect();
        let is_used = |id: &str| {
            let key = id.split('-').next().unwrap_or_default();
            handed.contains(id) && !waiting.iter().any(|other| other.split('-').next() == Some(key))
        };
        for batch in batches.iter_mut() {
            let Some(answers) = &mut batch.answers else {
                continue;
            };
            let before = answers.len();
            answers.retain(|answer| !is_used(&answer.id));
            if answers.is_empty() {
                self.batch_folder.remove_batch(&batch.id);
            } else if answers.len() < before {
                // If this fails, unneeded answers stay until they expire.
                let _ = self.batch_folder.write_answers(&batch.id, answers);
            }
        }
        batches.retain(|batch| batch.answers.as_ref().is_none_or(|answers| !answers.is_empty()));
    }

    fn lock_batches(&self) -> MutexGuard<'_, BatchState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Batches {
    fn drop(&mut self) {
        let mut state = std::mem::take(&mut *self.lock_batches());
        self.remove_returned_answers(&mut state);
    }
}

fn custom_id(key: &ActionKey, attempt: u32) -> String {
    let key = key.to_string();
    format!("{}-{attempt}", &key[..key.len().min(KEY_DIGITS)])
}

fn model_name(model: &Params) -> String {
    model.get("name").and_then(Value::as_str).unwrap_or_default().to_owned()
}

fn request_bytes(item: &Collected) -> usize {
    item.body.to_string().len() + 200
}

pub(super) fn api_name(api: Api) -> &'static str {
    if api == Api::Anthropic { "anthropic" } else { "openai" }
}

fn now_in_seconds(calls: &Calls) -> u64 {
    let today = calls.world.today();
    today.duration_since(SystemTime::UNIX_EPOCH).map_or(0, |time| time.as_secs())
}

fn disk(what: &str, error: &std::io::Error) -> Failure {
    let message = format!("the notes of pending batches in .cortex/batches {what}: {error}");
    Failure::Transient(Box::new(
        Diagnostic::error(ErrorCode::E_BATCH, message).hint("check the folder's permissions and the disk"),
    ))
}

/// Returns the error of a batch that the server gave up.
fn batch_failure(batch: &Batch, model: &str, why: &str) -> Diagnostic {
    let remote = batch.note.remote.as_deref().unwrap_or_default();
    let message = format!("the batch '{remote}' of model '{model}' failed");
    let hint = "its questions are asked again: build again with --batch, or without it to ask them one by one";
    Diagnostic::error(ErrorCode::E_BATCH, message).found(why).hint(hint)
}
