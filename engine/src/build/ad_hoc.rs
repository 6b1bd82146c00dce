//! Ad-hoc results: outputs of a producer for inputs that no rule names, such as the answer to an ad-hoc question.
//!
//! Like any other, it has a key, is stored, paid for and recorded, but under a label that the graph does not know. The same question over the same
//! inputs finds it again.

use super::blobs::Blobs;
use super::engine::EngineError;
use super::job::panicked;
use super::overtaken::Checkout;
use super::run::Leftover;
use super::session::Session;
use crate::manifest::template::Vars;
use crate::planning::key::{KeyDescription, KeyInput, action_key};
use crate::seams::paid::{Notes, Spent};
use crate::seams::producer::{Bound, Cancel, Failure, Input, Inputs, Output, Params, Pool, Producer};
use crate::store::Commit;
use crate::store::ledger::{LedgerEntry, Outcome};
use crate::store::records::{ActionRecord, Class, HistoryRecord, InputRecord, NewResult, Origin};
use crate::values::diagnostic::Diagnostic;
use crate::values::digest::{ActionKey, Digest};
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// Request for an ad-hoc result.
pub struct AdHocRequest<'a> {
    /// The label under which the result is recorded; no rule produces it.
    pub label: &'a str,
    /// The producer's name in the registry.
    pub uses: &'a str,
    /// Parameters as a manifest would write them.
    pub params: &'a Params,
    /// Input blobs by role; those of a role sorted by item.
    pub roles: &'a BTreeMap<Arc<str>, Vec<Input>>,
    /// Whether to produce it again although it is stored.
    pub fresh: bool,
}

/// A request for an ad-hoc result with its producer and key.
#[derive(Clone, Copy)]
struct KeyedRequest<'a> {
    wanted: &'a AdHocRequest<'a>,
    producer: &'a dyn Producer,
    bound: &'a Bound,
    key: ActionKey,
}

impl KeyedRequest<'_> {
    /// Whether a model or a program produces it.
    fn is_waited_for(&self) -> bool {
        self.pool() != Pool::Cpu
    }

    fn pool(&self) -> Pool {
        self.producer.pool(&self.bound.params)
    }
}

/// Result of an ad-hoc request.
#[derive(Clone, Debug)]
pub struct AdHocResult {
    pub key: ActionKey,
    /// The digest of its bytes.
    pub output: Digest,
    pub bytes: Arc<[u8]>,
    /// Whether it was stored already.
    pub cached: bool,
    /// Its cost, now or originally.
    pub spent: Option<Spent>,
    /// Its duration, in microseconds.
    pub took_us: u64,
    pub notes: Notes,
    pub diagnostics: Vec<Diagnostic>,
}

impl AdHocResult {
    fn from_record(key: ActionKey, record: ActionRecord, bytes: Arc<[u8]>, cached: bool) -> Self {
        Self {
            key,
            output: record.output,
            bytes,
            cached,
            spent: record.spent,
            took_us: record.took_us,
            notes: record.notes,
            diagnostics: record.diagnostics,
        }
    }
}

impl Session {
    /// Produces an ad-hoc result, or finds it. Fails when the store breaks. The inner error is the producer's.
    pub fn produce_ad_hoc(&mut self, wanted: &AdHocRequest<'_>, cancel: &Cancel) -> Result<Result<AdHocResult, Failure>, EngineError> {
        let (producer, bound) = match self.ad_hoc_producer(wanted) {
            Ok(found) => found,
            Err(failure) => return Ok(Err(failure)),
        };
        let key = ad_hoc_key(&*producer, &bound.params, wanted);
        let keyed = KeyedRequest {
            wanted,
            producer: &*producer,
            bound: &bound,
            key,
        };
        if let Some(made) = self.find_stored(&keyed)? {
            let saved = made
                .spent
                .clone()
                .map(|spent| self.ledger_entry(wanted, spent, Outcome::Saved, made.took_us));
            self.commit_ad_hoc(wanted, &made, saved)?;
            return Ok(Ok(made));
        }
        // A model or a program may be slow: release the store and the checkout until it answers.
        let turn = self.engine.turn.clone().filter(|_| keyed.is_waited_for());
        let stored = self.engine.stored_state()?;
        if turn.is_some() {
            self.graph.read_all();
        }
        self.engine.store.release_lock();
        turn.iter().for_each(|turn| turn.release_checkout());
        let answer = self.ask_ad_hoc(&keyed, cancel);
        self.engine.store.release_lock();
        let checkout = match &turn {
            Some(_) => self.engine.reacquire_checkout(&stored, cancel)?,
            None => Checkout::AsLeft,
        };
        match checkout {
            Checkout::AsLeft => {}
            Checkout::Changed => self.reload()?,
            Checkout::Lost(error) => self.write_error = Some(error),
        }
        let answer = answer?;
        if let (Ok(made), None) = (&answer, &self.write_error) {
            self.commit_ad_hoc(wanted, made, None)?;
        }
        Ok(answer)
    }

    /// Produces a result and stores it under its key with its cost; neither needs the right to the checkout. Another process with the same question
    /// waits for this answer.
    fn ask_ad_hoc(&self, keyed: &KeyedRequest<'_>, cancel: &Cancel) -> Result<Result<AdHocResult, Failure>, EngineError> {
        let KeyedRequest {
            wanted,
            producer,
            bound,
            key,
        } = *keyed;
        let blobs = Blobs::new(self.engine.store.clone());
        let _action_lock = match keyed.is_waited_for() {
            true => blobs.lock_action(&key, &|| cancel.is_cancelled())?,
            false => None,
        };
        if cancel.is_cancelled() {
            return Ok(Err(Failure::Cancelled));
        }
        if let Some(made) = self.find_stored(keyed)? {
            let saved = made
                .spent
                .clone()
                .map(|spent| self.ledger_entry(wanted, spent, Outcome::Saved, made.took_us));
            self.commit_ad_hoc_result(None, saved)?;
            return Ok(Ok(made));
        }
        self.engine.store.release_lock();
        let inputs = Inputs {
            key: &key,
            settings: &bound.settings,
            fresh: wanted.fresh,
            ..Inputs::bare(wanted.label, &bound.params, wanted.roles, &NO_VARS, cancel)
        };
        let start = std::time::Instant::now();
        let made = catch_unwind(AssertUnwindSafe(|| producer.produce(&inputs)))
            .unwrap_or_else(|panic| Err(Failure::Permanent(Box::new(panicked(producer.id(), &*panic)))));
        let took_us = u64::try_from(start.elapsed().as_micros()).unwrap_or(u64::MAX);
        let output = match made {
            Ok(output) => output,
            Err(Failure::Deferred) => {
                // No other question follows that could be sent with it.
                return Ok(Err(producer.flush().err().unwrap_or(Failure::Deferred)));
            }
            Err(failure) => {
                if let Failure::Rejected(rejected) = &failure {
                    let spent = rejected.spent.clone();
                    self.commit_ad_hoc_result(
                        None,
                        spent.map(|spent| self.ledger_entry(wanted, spent, Outcome::Rejected, took_us)),
                    )?;
                }
                return Ok(Err(failure));
            }
        };
        self.store_ad_hoc_output(keyed, output, took_us).map(Ok)
    }

    /// Stores a new result under its key with its cost.
    fn store_ad_hoc_output(&self, keyed: &KeyedRequest<'_>, output: Output, took_us: u64) -> Result<AdHocResult, EngineError> {
        let KeyedRequest { wanted, producer, key, .. } = *keyed;
        let became = Outcome::from_mode(output.notes.get("mode").map(String::as_str));
        let ledger = output.spent.clone().map(|spent| self.ledger_entry(wanted, spent, became, took_us));
        // Only its requester reads an ad-hoc result, so a table stays in one page.
        let digest = Digest::of(&output.bytes);
        let origin = Origin {
            label: wanted.label.to_owned(),
            producer: producer.id().to_string(),
            made_at: self.engine.world.now_secs(),
            took_us,
            inputs: provenance(wanted),
            class: Class::of_pool(keyed.pool()),
        };
        let result = NewResult::from_output(key, output, digest, origin);
        let made = AdHocResult::from_record(key, result.record.clone(), result.blob.clone().unwrap_or_default(), false);
        self.commit_ad_hoc_result(Some(result), ledger)?;
        Ok(made)
    }

    /// Returns a ledger entry for an ad-hoc result.
    fn ledger_entry(&self, wanted: &AdHocRequest<'_>, spent: Spent, outcome: Outcome, took_us: u64) -> LedgerEntry {
        LedgerEntry {
            at: self.engine.world.now_secs(),
            label: wanted.label.to_owned(),
            outcome,
            spent,
            took_us,
        }
    }

    fn commit_ad_hoc_result(&self, result: Option<NewResult>, ledger: Option<LedgerEntry>) -> Result<(), EngineError> {
        let commit = Commit {
            results: result.into_iter().collect(),
            rows: ledger.iter().map(LedgerEntry::to_row).collect(),
            ..Commit::default()
        };
        if !commit.results.is_empty() || !commit.rows.is_empty() {
            self.engine.store.commit(self.engine.view, commit)?;
        }
        Ok(())
    }

    /// Reads the answer stored under a key, unless a new one is requested.
    fn find_stored(&self, keyed: &KeyedRequest<'_>) -> Result<Option<AdHocResult>, EngineError> {
        if keyed.wanted.fresh {
            return Ok(None);
        }
        let blobs = Blobs::new(self.engine.store.clone());
        let Some(record) = blobs.action(&keyed.key)? else {
            return Ok(None);
        };
        let Some(bytes) = blobs.get(&record.output)? else { return Ok(None) };
        Ok(Some(AdHocResult::from_record(keyed.key, record, bytes, true)))
    }

    fn ad_hoc_producer(&self, wanted: &AdHocRequest<'_>) -> Result<(Arc<dyn Producer>, Bound), Failure> {
        let producer = self.engine.registry.get(wanted.uses).cloned();
        let producer = producer.ok_or_else(|| Failure::permanent(format!("there is no producer '{}'", wanted.uses)))?;
        if let Err(errors) = producer.check(wanted.params) {
            let texts: Vec<String> = errors.iter().map(|error| format!("{}: {}", error.param, error.message)).collect();
            return Err(Failure::permanent(texts.join("; ")));
        }
        let bound = producer.bind(wanted.params, &self.rules.manifest().models);
        Ok((producer, bound))
    }

    /// Records a version of a stored result, unless the last one is the same, and its use.
    fn commit_ad_hoc(&mut self, wanted: &AdHocRequest<'_>, made: &AdHocResult, saved: Option<LedgerEntry>) -> Result<(), EngineError> {
        let last = self.engine.store.history(self.engine.view, wanted.label)?.pop();
        let now = self.engine.world.now_secs();
        let version = HistoryRecord {
            version: 0,
            key: made.key,
            output: made.output,
            at: now,
            build: None,
        };
        let has_changed = last.is_none_or(|last| (last.key, last.output) != (made.key, made.output));
        let leftover = Leftover {
            history: has_changed.then(|| (wanted.label.to_owned(), version)).into_iter().collect(),
            used: vec![(made.key, now)],
            ledger: saved.into_iter().collect(),
            ..Leftover::default()
        };
        self.commit(leftover, Vec::new(), false, None, None)?;
        Ok(())
    }
}

static NO_VARS: Vars = Vars::new();

fn ad_hoc_key(producer: &dyn Producer, params: &Params, wanted: &AdHocRequest<'_>) -> ActionKey {
    let inputs: Vec<KeyInput<'_>> = wanted
        .roles
        .iter()
        .flat_map(|(role, inputs)| {
            inputs.iter().map(move |input| KeyInput {
                role,
                item: &input.item,
                digest: input.digest,
            })
        })
        .collect();
    action_key(&KeyDescription {
        producer: &producer.id(),
        params,
        vars: &NO_VARS,
        label: None,
        inputs: &inputs,
    })
}

fn provenance(wanted: &AdHocRequest<'_>) -> Vec<InputRecord> {
    let of = |(role, inputs): (&Arc<str>, &Vec<Input>)| {
        let role = role.clone();
        let record = move |input: &Input| InputRecord {
            role: role.clone(),
            label: input.label.clone(),
            digest: input.digest,
        };
        inputs.iter().map(record).collect::<Vec<_>>()
    };
    wanted.roles.iter().flat_map(of).collect()
}
