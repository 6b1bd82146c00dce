//! Results as machines share them. The provenance of a shared result is its record as bytes, encoded as in `actions.1` (codec). A machine that
//! finds it stores that record with a note that it comes from another machine.

use super::codec;
use super::records::ActionRecord;
use crate::seams::remote::{BlobRef, SharedOutput, SharedResult};
use crate::values::cbor;
use crate::values::digest::{ActionKey, Digest};
use crate::values::label::Label;

/// Name of the only output of a producer.
const OUTPUT: &str = "output";
/// Note on a result that was found in a remote cache.
pub const FOUND: &str = "remote";
/// Value of the note [`FOUND`] if this machine requires a signature.
const SIGNED: &str = "signed";
/// Note on a result that a worker of a farm built.
pub const MADE: (&str, &str) = ("made", "remotely");
/// Note on a result of an unconfined program.
pub const UNCONFINED: (&str, &str) = ("sandbox", "none");

/// Whether a person wrote the output.
pub fn is_corrected(record: &ActionRecord) -> bool {
    record.notes.get("mode").is_some_and(|mode| mode == "edited") || record.notes.contains_key("corrected")
}

/// Whether a result must not be shared: a person's words belong to their checkout, and an unconfined program may have read undeclared inputs.
pub fn is_local_only(record: &ActionRecord) -> bool {
    is_corrected(record) || record.notes.get(UNCONFINED.0).is_some_and(|level| level == UNCONFINED.1)
}

/// Returns the name of a part of an output.
fn part(digest: &Digest) -> String {
    format!("part-{digest}")
}

/// Encodes a result to share; `parts` are those of the record, in its order, or none in a bundle.
pub fn encode_result(key: &ActionKey, record: &ActionRecord, parts: &[BlobRef]) -> SharedResult {
    let mut described = record.clone();
    described.notes.remove(FOUND);
    let output = SharedOutput {
        name: OUTPUT.to_owned(),
        blob: BlobRef {
            digest: record.output,
            len: record.len,
        },
    };
    let parts = parts.iter().map(|blob| SharedOutput {
        name: part(&blob.digest),
        blob: *blob,
    });
    SharedResult {
        key: *key,
        producer: record.producer.clone(),
        outputs: std::iter::once(output).chain(parts).collect(),
        provenance: cbor::encode(&described),
    }
}

/// Decodes the record of a found result; `None` if it is not as [`of`] encodes it.
pub fn record(found: &SharedResult) -> Option<ActionRecord> {
    let (output, parts) = found.outputs.split_first()?;
    let mut record = codec::decode_action(&found.provenance).ok()?;
    let is_part = |(digest, part): (&Digest, &SharedOutput)| part.blob.digest == *digest && part.name == self::part(digest);
    let fits = output.name == OUTPUT
        && record.output == output.blob.digest
        && record.len == output.blob.len
        && (parts.is_empty() || record.parts.len() == parts.len())
        && record.parts.iter().zip(parts).all(is_part)
        && record.producer == found.producer
        && Label::parse(&record.label).is_ok()
        && !is_local_only(&record);
    record.notes.insert(FOUND.to_owned(), "found".to_owned());
    fits.then_some(record)
}

/// Notes that a found result was signed by a key that is trusted.
pub fn set_signed(record: &mut ActionRecord) {
    record.notes.insert(FOUND.to_owned(), SIGNED.to_owned());
}

/// Whether a result comes from a cache and no signature was required: a job that signs must not vouch for it.
pub fn is_unsigned(record: &ActionRecord) -> bool {
    record.notes.get(FOUND).is_some_and(|how| how != SIGNED)
}

/// Returns the name of a tree: a digest of its sources, rules and producers.
pub fn tree<'a>(definition: &Digest, registry: &Digest, sources: impl Iterator<Item = (&'a str, Option<Digest>)>) -> Digest {
    let mut hasher = blake3::Hasher::new_derive_key("cortex 2026-11 bundle 3");
    hasher.update(&definition.0).update(&registry.0);
    for (path, digest) in sources {
        hasher.update(&(path.len() as u64).to_le_bytes()).update(path.as_bytes());
        hasher.update(&digest.unwrap_or(Digest([0; 32])).0);
    }
    Digest(*hasher.finalize().as_bytes())
}

/// Returns the name of a bundle of a workspace other than by its tree. Workspaces of one name share it, which costs only time.
pub fn pointer(workspace: &str, what: &str) -> Digest {
    let mut hasher = blake3::Hasher::new_derive_key("cortex 2026-11 pointer 1");
    hasher.update(&(workspace.len() as u64).to_le_bytes()).update(workspace.as_bytes());
    hasher.update(what.as_bytes());
    Digest(*hasher.finalize().as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::codec::tests::any_action;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn shared_results_round_trip_with_a_note(record in any_action(), key: [u8; 32]) {
            let record = ActionRecord { label: "//a:b".to_owned(), ..record };
            let parts: Vec<BlobRef> = record.parts.iter().map(|digest| BlobRef { digest: *digest, len: 1 }).collect();
            let of = |key: &ActionKey, record: &ActionRecord| super::encode_result(key, record, &parts);
            let shared = of(&ActionKey(Digest(key)), &record);
            let mut noted = record.clone();
            noted.notes.insert(FOUND.to_owned(), "found".to_owned());
            if is_local_only(&record) {
                prop_assert_eq!(super::record(&shared), None);
            } else {
                prop_assert_eq!(super::record(&shared), Some(noted.clone()));
                prop_assert_eq!(super::record(&super::encode_result(&ActionKey(Digest(key)), &record, &[])), Some(noted.clone()));
                // Sharing it again gives the same result: the first finder leaves no trace.
                let plain = ActionRecord { notes: { let mut notes = record.notes.clone(); notes.remove(FOUND); notes }, ..record };
                prop_assert_eq!(of(&ActionKey(Digest(key)), &noted), of(&ActionKey(Digest(key)), &plain));
            }
            let lie = SharedResult { producer: "other@1".to_owned(), ..shared.clone() };
            prop_assert_eq!(super::record(&lie), None);
            let lie = SharedResult { outputs: [&shared.outputs[..], &shared.outputs[..1]].concat(), ..shared.clone() };
            prop_assert_eq!(super::record(&lie), None);
            let lie = SharedResult { provenance: shared.provenance[1..].to_vec(), ..shared };
            prop_assert!(super::record(&lie).is_none());
        }
    }

    #[test]
    fn different_trees_have_different_names() {
        let (a, b) = (Digest::of(b"a"), Digest::of(b"b"));
        let names = [
            tree(&a, &a, [("x", Some(a))].into_iter()),
            tree(&b, &a, [("x", Some(a))].into_iter()),
            tree(&a, &b, [("x", Some(a))].into_iter()),
            tree(&a, &a, [("x", Some(b))].into_iter()),
            tree(&a, &a, [("x", None)].into_iter()),
            tree(&a, &a, [("y", Some(a))].into_iter()),
            tree(&a, &a, [].into_iter()),
        ];
        let different: std::collections::BTreeSet<Digest> = names.into();
        assert_eq!(different.len(), names.len());
    }
}
