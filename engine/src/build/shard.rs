//! Shards: producers and inputs of several targets as bytes, built by the same program on another machine, and its answer.
//!
//! A shard contains everything that a producer may read and nothing else; inputs shared by several targets are in it once. The answer contains for
//! each target its output under its key, or nothing. Failures are not sent: the requesting machine builds the target again and sees them itself.
//! Both are CBOR; another format has another number.

use crate::manifest::template::Vars;
use crate::seams::paid::Notes;
use crate::seams::producer::{Cancel, Input, Inputs, Output, Params, Producer, ProducerId, Registry};
use crate::values::diagnostic::Diagnostic;
use crate::values::digest::{ActionKey, Digest};
use minicbor::bytes::ByteVec;
use minicbor::{Decode, Encode};
use rayon::prelude::*;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Format number of shards and answers.
const SCHEMA: u32 = 1;

/// Input of a producer.
#[derive(Clone, Debug)]
pub struct ShardJob<'a> {
    /// The action key of the output.
    pub key: ActionKey,
    /// Producer name and version.
    pub producer: ProducerId,
    /// Its bound parameters.
    pub params: &'a Params,
    pub label: &'a str,
    /// The rule's variables, if the producer sees them.
    pub vars: &'a Vars,
    /// Inputs by role. Trees cannot be sent.
    pub roles: &'a BTreeMap<Arc<str>, Vec<Input>>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkerOutput {
    pub output: Output,
    /// Duration of the run there.
    pub took: Duration,
}

#[derive(Default, Encode, Decode)]
#[cbor(map)]
struct Written {
    #[n(0)]
    schema: u32,
    #[n(1)]
    blobs: Vec<ByteVec>,
    #[n(2)]
    jobs: Vec<WrittenJob>,
}

#[derive(Encode, Decode)]
#[cbor(map)]
struct WrittenJob {
    #[n(0)]
    #[cbor(with = "minicbor::bytes")]
    key: [u8; 32],
    #[n(1)]
    producer: String,
    #[n(2)]
    version: u32,
    /// JSON.
    #[n(3)]
    params: String,
    #[n(4)]
    label: String,
    #[n(5)]
    vars: BTreeMap<String, String>,
    #[n(6)]
    inputs: Vec<WrittenInput>,
}

#[derive(Encode, Decode)]
#[cbor(map)]
struct WrittenInput {
    #[n(0)]
    role: String,
    #[n(1)]
    item: String,
    #[n(2)]
    #[cbor(with = "minicbor::bytes")]
    digest: [u8; 32],
    #[n(3)]
    label: String,
    /// Index into the shard's blobs.
    #[n(4)]
    blob: u32,
}

#[derive(Encode, Decode)]
#[cbor(map)]
struct WrittenAnswer {
    #[n(0)]
    schema: u32,
    #[n(1)]
    made: Vec<Option<WrittenOutput>>,
}

#[derive(Encode, Decode)]
#[cbor(map)]
struct WrittenOutput {
    #[n(0)]
    #[cbor(with = "minicbor::bytes")]
    key: [u8; 32],
    #[n(1)]
    took_us: u64,
    #[n(2)]
    #[cbor(with = "minicbor::bytes")]
    output: Vec<u8>,
    /// JSON.
    #[n(3)]
    diagnostics: String,
    #[n(4)]
    notes: Notes,
    /// Whether the output is a text that is stored in pieces if it is long.
    #[n(5)]
    is_long_text: bool,
}

/// A shard under construction.
#[derive(Default)]
pub struct Shard {
    written: Written,
    known: FxHashMap<(Digest, usize), u32>,
    bytes: usize,
}

impl Shard {
    /// Adds a target; returns whether it could: inputs that are folders cannot be sent.
    pub fn add_job(&mut self, job: &ShardJob<'_>) -> bool {
        if job.roles.values().flatten().any(|input| input.tree.is_some()) {
            return false;
        }
        let mut inputs = Vec::new();
        for (role, input) in job
            .roles
            .iter()
            .flat_map(|(role, inputs)| inputs.iter().map(move |input| (role, input)))
        {
            inputs.push(WrittenInput {
                role: role.to_string(),
                item: input.item.to_string(),
                digest: input.digest.0,
                label: input.label.to_string(),
                blob: self.blob(input),
            });
        }
        self.written.jobs.push(WrittenJob {
            key: job.key.0.0,
            producer: job.producer.name.clone(),
            version: job.producer.version,
            params: serde_json::to_string(job.params).expect("invariant: parameters are JSON"),
            label: job.label.to_owned(),
            vars: job.vars.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect(),
            inputs,
        });
        true
    }

    fn blob(&mut self, input: &Input) -> u32 {
        // An input known only by its digest has no bytes.
        let name = (input.digest, input.bytes.len());
        *self.known.entry(name).or_insert_with(|| {
            self.bytes += input.bytes.len();
            self.written.blobs.push(input.bytes.to_vec().into());
            u32::try_from(self.written.blobs.len() - 1).expect("invariant: fewer than 2^32 blobs")
        })
    }

    /// Returns the total length of its inputs, in bytes.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    pub fn encode(mut self) -> Vec<u8> {
        self.written.schema = SCHEMA;
        minicbor::to_vec(&self.written).expect("invariant: memory takes every byte")
    }
}

/// Runs the producers for a shard and encodes their outputs; `None` if the shard is malformed.
pub fn run_shard(shard: &[u8], registry: &Registry) -> Option<Vec<u8>> {
    let shard: Written = decode_to_end(shard)?;
    if shard.schema != SCHEMA {
        return None;
    }
    let blobs: Vec<Arc<[u8]>> = shard.blobs.into_iter().map(|blob| Vec::from(blob).into()).collect();
    let made = shard.jobs.par_iter().map(|job| run_job(job, &blobs, registry)).collect();
    let returned = WrittenAnswer { schema: SCHEMA, made };
    Some(minicbor::to_vec(&returned).expect("invariant: memory takes every byte"))
}

fn run_job(job: &WrittenJob, blobs: &[Arc<[u8]>], registry: &Registry) -> Option<WrittenOutput> {
    let id = ProducerId::new(&job.producer, job.version);
    let producer = registry.get(&id.name).filter(|producer| producer.id() == id)?;
    let params: Params = serde_json::from_str(&job.params).ok()?;
    let mut roles: BTreeMap<Arc<str>, Vec<Input>> = BTreeMap::new();
    for input in &job.inputs {
        roles.entry(input.role.as_str().into()).or_default().push(Input {
            item: input.item.as_str().into(),
            digest: Digest(input.digest),
            label: input.label.as_str().into(),
            bytes: blobs.get(input.blob as usize)?.clone(),
            tree: None,
        });
    }
    let vars: Vars = job
        .vars
        .iter()
        .map(|(name, value)| (name.as_str().into(), value.as_str().into()))
        .collect();
    let (key, cancel) = (ActionKey(Digest(job.key)), Cancel::default());
    let inputs = Inputs {
        key: &key,
        ..Inputs::bare(&job.label, &params, &roles, &vars, &cancel)
    };
    let began = Instant::now();
    let output = run(&**producer, &inputs)?;
    // Trees and paid results belong to the requesting machine.
    if !output.parts.is_empty() || output.spent.is_some() {
        return None;
    }
    Some(WrittenOutput {
        key: job.key,
        took_us: u64::try_from(began.elapsed().as_micros()).unwrap_or(u64::MAX),
        output: output.bytes,
        is_long_text: output.is_long_text,
        diagnostics: serde_json::to_string(&output.diagnostics).ok()?,
        notes: output.notes,
    })
}

fn run(producer: &dyn Producer, inputs: &Inputs<'_>) -> Option<Output> {
    catch_unwind(AssertUnwindSafe(|| producer.produce(inputs))).ok()?.ok()
}

/// Decodes the answer about targets of these keys, in their order. Errors: an error in the answer, one sentence: then none of it is
/// trusted.
pub fn decode_answer(bytes: &[u8], keys: &[ActionKey]) -> Result<Vec<Option<WorkerOutput>>, &'static str> {
    let returned: WrittenAnswer = decode_to_end(bytes).ok_or("what a worker wrote cannot be read")?;
    if returned.schema != SCHEMA {
        return Err("what a worker wrote is of another version of this program");
    }
    let fits = |(made, key): (&Option<WrittenOutput>, &ActionKey)| made.as_ref().is_none_or(|made| made.key == key.0.0);
    if returned.made.len() != keys.len() || !returned.made.iter().zip(keys).all(fits) {
        return Err("a worker wrote of other targets than those it was given");
    }
    let read = |made: WrittenOutput| {
        let diagnostics: Vec<Diagnostic> = serde_json::from_str(&made.diagnostics).map_err(|_| "what a worker wrote cannot be read")?;
        Ok(WorkerOutput {
            output: Output {
                diagnostics,
                is_long_text: made.is_long_text,
                notes: made.notes,
                ..Output::new(made.output)
            },
            took: Duration::from_micros(made.took_us),
        })
    };
    returned.made.into_iter().map(|made| made.map(read).transpose()).collect()
}

/// Decodes a value that must fill all bytes.
fn decode_to_end<'a, T: Decode<'a, ()>>(bytes: &'a [u8]) -> Option<T> {
    let mut decoder = minicbor::Decoder::new(bytes);
    let read = decoder.decode().ok()?;
    (decoder.position() == bytes.len()).then_some(read)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seams::producer::Failure;
    use proptest::prelude::*;

    /// A producer that outputs everything it sees; certain words make it fail or panic.
    struct Teller;

    impl Producer for Teller {
        fn id(&self) -> ProducerId {
            ProducerId::new("teller", 3)
        }

        fn produce(&self, inputs: &Inputs<'_>) -> Result<Output, Failure> {
            let text = inputs
                .all("text")
                .iter()
                .map(|input| String::from_utf8_lossy(&input.bytes))
                .collect::<String>();
            assert!(!text.contains("PANIC"), "told to");
            if text.contains("FAIL") {
                return Err(Failure::permanent("told to"));
            }
            let said = format!(
                "{} {} {:?} {:?} {:?} {:?}",
                inputs.label, inputs.key.0, inputs.params, inputs.vars, inputs.roles, inputs.settings
            );
            Ok(Output {
                is_long_text: text.starts_with('b'),
                diagnostics: vec![Diagnostic::warning("W_TOLD", text).at("a.cs", 1, 2).hint("nothing")],
                notes: [("mode".to_owned(), "told".to_owned())].into(),
                ..Output::new(said)
            })
        }
    }

    fn registry() -> Registry {
        let mut registry = Registry::default();
        registry.add(Teller);
        registry
    }

    /// Encodes targets of these texts, each with one shared input.
    fn shard(texts: &[String], version: u32) -> (Vec<u8>, Vec<ActionKey>, Vec<Option<Output>>) {
        let mut shard = Shard::default();
        let params: Params = [("depth".to_owned(), 3.into())].into_iter().collect();
        let (mut keys, mut here) = (Vec::new(), Vec::new());
        for (number, text) in texts.iter().enumerate() {
            let shared = Input::of("all", b"shared".as_slice());
            let roles: BTreeMap<Arc<str>, Vec<Input>> = [("text".into(), vec![Input::of("own", text.as_bytes()), shared])].into();
            let vars: Vars = [("file".into(), format!("{number}.cs").into())].into();
            let key = ActionKey(Digest::of(format!("{number}").as_bytes()));
            let label = format!("//files/{number}:told");
            let job = ShardJob {
                key,
                producer: ProducerId::new("teller", version),
                params: &params,
                label: &label,
                vars: &vars,
                roles: &roles,
            };
            assert!(shard.add_job(&job));
            let cancel = Cancel::default();
            let inputs = Inputs {
                key: &key,
                ..Inputs::bare(&label, &params, &roles, &vars, &cancel)
            };
            here.push(run(&Teller, &inputs));
            keys.push(key);
        }
        (shard.encode(), keys, here)
    }

    fn outputs(made: Vec<Option<WorkerOutput>>) -> Vec<Option<Output>> {
        made.into_iter().map(|made| made.map(|made| made.output)).collect()
    }

    #[test]
    fn a_worker_returns_the_same_outputs_and_no_failures() {
        let texts = ["a", "FAIL", "b", "PANIC", ""].map(str::to_owned);
        let (bytes, keys, here) = shard(&texts, 3);
        let back = run_shard(&bytes, &registry()).expect("a shard");
        let made = outputs(decode_answer(&back, &keys).expect("of these keys"));
        assert_eq!(made, here);
        assert_eq!(
            made.iter().map(Option::is_some).collect::<Vec<_>>(),
            [true, false, true, false, true]
        );
    }

    #[test]
    fn a_worker_of_another_version_builds_nothing() {
        let (bytes, keys, _) = shard(&["a".to_owned()], 4);
        let back = run_shard(&bytes, &registry()).expect("a shard");
        assert_eq!(decode_answer(&back, &keys), Ok(vec![None]));
    }

    #[test]
    fn answers_for_other_keys_are_refused() {
        let (bytes, keys, _) = shard(&["a".to_owned(), "b".to_owned()], 3);
        let back = run_shard(&bytes, &registry()).expect("a shard");
        assert!(decode_answer(&back, &keys[..1]).is_err(), "too many");
        assert!(decode_answer(&back, &[keys[1], keys[0]]).is_err(), "in another order");
        assert!(decode_answer(&back, &[keys[0], keys[1], keys[1]]).is_err(), "too few");
        assert!(decode_answer(&[], &keys).is_err());
    }

    #[test]
    fn shared_inputs_are_sent_once() {
        let texts: Vec<String> = (0..100).map(|number| format!("{number}")).collect();
        let (bytes, ..) = shard(&texts, 3);
        assert_eq!(bytes.windows(6).filter(|window| *window == b"shared").count(), 1);
    }

    proptest! {
        #[test]
        fn a_damaged_shard_or_answer_never_panics(texts in proptest::collection::vec("[a-z]{0,9}", 1..5), cut: prop::sample::Index, at: prop::sample::Index, flip in 1_u8..) {
            let (bytes, keys, here) = shard(&texts, 3);
            prop_assert!(run_shard(&bytes[..cut.index(bytes.len())], &registry()).is_none());
            let back = run_shard(&bytes, &registry()).expect("a shard");
            prop_assert_eq!(outputs(decode_answer(&back, &keys).expect("of these keys")), here);
            prop_assert!(decode_answer(&back[..cut.index(back.len())], &keys).is_err());
            let mut flipped = back.clone();
            flipped[at.index(back.len())] ^= flip;
            let _ = decode_answer(&flipped, &keys);
            let mut flipped = bytes;
            let at = at.index(flipped.len());
            flipped[at] ^= flip;
            let _ = run_shard(&flipped, &registry());
        }
    }
}
