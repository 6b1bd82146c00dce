//! Loose results: an output of a producer for inputs that no rule names, such as the answer to a question that was just asked.
//!
//! It is keyed, filed, paid for and remembered like any other, under a label that the graph does not know; the same question over the same
//! inputs is found again.

use super::blobs::Blobs;
use super::engine::EngineError;
use super::jobs::panicked;
use super::run::{Leftover, outcome};
use super::session::Session;
use crate::manifest::template::Vars;
use crate::planning::key::{KeyDescription, KeyInput, action_key};
use crate::seams::paid::{Notes, Spent};
use crate::seams::producer::{Cancel, Failure, Input, Inputs, Params, Pool, Producer};
use crate::store::ledger::{LedgerEntry, Outcome};
use crate::store::records::{ActionRecord, Class, HistoryRecord, InputRecord, NewResult};
use crate::values::diagnostic::Diagnostic;
use crate::values::digest::{ActionKey, Digest};
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// What is wanted.
pub struct Loose<'a> {
    /// The label that the result is remembered under; no rule makes it.
    pub label: &'a str,
    /// Who makes it, by its name in the registry.
    pub uses: &'a str,
    /// Parameters as a manifest would write them.
    pub params: &'a Params,
    /// Blobs by role; those of a role sorted by item.
    pub roles: &'a BTreeMap<Arc<str>, Vec<Input>>,
    /// Whether to make it anew although it is filed.
    pub fresh: bool,
}

/// What it came to.
#[derive(Clone, Debug)]
pub struct AdHocResult {
    /// The key that it is filed under.
    pub key: ActionKey,
    /// The output.
    pub bytes: Arc<[u8]>,
    /// Whether it was filed already.
    pub cached: bool,
    /// What it cost, now or then.
    pub spent: Option<Spent>,
    /// How it came about.
    pub notes: Notes,
    /// What was said when it was made.
    pub diagnostics: Vec<Diagnostic>,
}

impl Session {
    /// Makes a loose result, or finds it.
    ///
    /// # Errors
    /// When the store breaks. The inner error is the producer's.
    pub fn make_loose(&mut self, wanted: &Loose<'_>, cancel: &Cancel) -> Result<Result<AdHocResult, Failure>, EngineError> {
        let (producer, bound) = match self.loose_producer(wanted) {
            Ok(found) => found,
            Err(failure) => return Ok(Err(failure)),
        };
        let key = loose_key(&*producer, &bound.params, wanted);
        let store = self.engine.store.clone();
        let blobs = Blobs::new(store.clone());
        if let Some(made) = self.filed(wanted, key, &blobs)? {
            return Ok(Ok(made));
        }
        // A model takes its time: others may have the store, and who asks the same waits for this answer.
        store.let_go();
        let flight = match producer.pool(&bound.params) {
            Pool::Paid => blobs.flight(&key, &|| cancel.is_cancelled())?,
            _ => None,
        };
        if cancel.is_cancelled() {
            return Ok(Err(Failure::Cancelled));
        }
        if flight.is_some()
            && let Some(made) = self.filed(wanted, key, &blobs)?
        {
            return Ok(Ok(made));
        }
        store.let_go();
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
        let entry = |spent: Spent, outcome| LedgerEntry {
            at: self.engine.world.now_secs(),
            label: wanted.label.to_owned(),
            outcome,
            spent,
            took_us,
        };
        let output = match made {
            Ok(output) => output,
            Err(Failure::Deferred) => {
                // Nothing else comes that could be sent with it.
                return Ok(Err(producer.flush().err().unwrap_or(Failure::Deferred)));
            }
            Err(failure) => {
                if let Failure::Rejected(rejected) = &failure
                    && let Some(spent) = rejected.spent.clone()
                {
                    let told = entry(spent, Outcome::Rejected);
                    self.commit(
                        Leftover {
                            ledger: vec![told],
                            ..Leftover::default()
                        },
                        Vec::new(),
                        false,
                        None,
                        None,
                    )?;
                }
                return Ok(Err(failure));
            }
        };
        let (spent, diagnostics) = (output.spent.clone(), output.diagnostics.clone());
        let ledger = spent
            .clone()
            .map(|spent| entry(spent, outcome(output.notes.get("mode").map(String::as_str))));
        // Nothing but its asker reads a loose result, so a table stays in one page.
        let (digest, blob): (Digest, Arc<[u8]>) = (Digest::of(&output.bytes), output.bytes.into());
        let record = ActionRecord {
            output: digest,
            len: blob.len() as u64,
            label: wanted.label.to_owned(),
            producer: producer.id().to_string(),
            made_at: self.engine.world.now_secs(),
            took_us,
            inputs: provenance(wanted),
            diagnostics: output.diagnostics,
            class: if producer.pool(&bound.params) == Pool::Paid {
                Class::Paid
            } else {
                Class::Cheap
            },
            spent: output.spent,
            notes: output.notes.clone(),
            parts: Vec::new(),
            memo: Arc::default(),
        };
        let result = NewResult {
            key,
            record,
            blob: Some(blob.clone()),
            parts: Vec::new(),
        };
        self.commit_result(wanted, key, digest, Some(result), ledger)?;
        drop(flight);
        Ok(Ok(AdHocResult {
            key,
            bytes: blob,
            cached: false,
            spent,
            notes: output.notes,
            diagnostics,
        }))
    }

    /// The answer that is filed under a key, unless a new one is wanted.
    fn filed(&mut self, wanted: &Loose<'_>, key: ActionKey, blobs: &Blobs) -> Result<Option<AdHocResult>, EngineError> {
        if wanted.fresh {
            return Ok(None);
        }
        let Some(record) = blobs.action(&key)? else { return Ok(None) };
        let Some(bytes) = blobs.get(&record.output)? else { return Ok(None) };
        let now = self.engine.world.now_secs();
        let saved = record.spent.clone().map(|spent| LedgerEntry {
            at: now,
            label: wanted.label.to_owned(),
            outcome: Outcome::Saved,
            spent,
            took_us: record.took_us,
        });
        self.commit_result(wanted, key, record.output, None, saved)?;
        Ok(Some(AdHocResult {
            key,
            bytes,
            cached: true,
            spent: record.spent,
            notes: record.notes,
            diagnostics: record.diagnostics,
        }))
    }

    fn loose_producer(&self, wanted: &Loose<'_>) -> Result<(Arc<dyn Producer>, crate::seams::producer::Bound), Failure> {
        let producer = self.engine.registry.get(wanted.uses).cloned();
        let producer = producer.ok_or_else(|| Failure::permanent(format!("there is no producer '{}'", wanted.uses)))?;
        if let Err(errors) = producer.check(wanted.params) {
            let texts: Vec<String> = errors.iter().map(|error| format!("{}: {}", error.param, error.message)).collect();
            return Err(Failure::permanent(texts.join("; ")));
        }
        let bound = producer.bind(wanted.params, &self.rules.manifest().models);
        Ok((producer, bound))
    }

    /// Makes it durable, with a version unless the last one is the same.
    fn commit_result(
        &mut self,
        wanted: &Loose<'_>,
        key: ActionKey,
        output: Digest,
        result: Option<NewResult>,
        ledger: Option<LedgerEntry>,
    ) -> Result<(), EngineError> {
        let is_new = result.is_some();
        let last = self.engine.store.history(self.engine.view, wanted.label)?.pop();
        let version = HistoryRecord {
            version: 0,
            key,
            output,
            at: self.engine.world.now_secs(),
            build: None,
        };
        let moved = last.is_none_or(|last| (last.key, last.output) != (key, output));
        let leftover = Leftover {
            results: result.into_iter().collect(),
            history: moved.then(|| (wanted.label.to_owned(), version)).into_iter().collect(),
            // An answer that is filed already was found again.
            used: if is_new {
                Vec::new()
            } else {
                vec![(key, self.engine.world.now_secs())]
            },
            ledger: ledger.into_iter().collect(),
            ..Leftover::default()
        };
        self.commit(leftover, Vec::new(), false, None, None)?;
        Ok(())
    }
}

static NO_VARS: Vars = Vars::new();

fn loose_key(producer: &dyn Producer, params: &Params, wanted: &Loose<'_>) -> ActionKey {
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

fn provenance(wanted: &Loose<'_>) -> Vec<InputRecord> {
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
