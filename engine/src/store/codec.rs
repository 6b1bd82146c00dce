//! Encoding of the typed records: CBOR maps with small integer keys. Knows no table and no disk.
//!
//! New versions only add fields: unknown keys are skipped, missing optional fields read as their empty value, a missing required field
//! makes the record unreadable.

use super::records::{ActionRecord, Class, HistoryRecord, InputRecord};
use crate::seams::paid::Notes;
use crate::values::diagnostic::{Diagnostic, Excerpt, Severity, SourceLocation};
use crate::values::digest::{ActionKey, Digest};
use minicbor::decode::Error;
use minicbor::{Decoder, Encoder};
use std::sync::Arc;

/// Encoder into memory, which never fails.
type Out<'a> = Encoder<&'a mut Vec<u8>>;
type Done = Result<(), minicbor::encode::Error<std::convert::Infallible>>;

/// Location of a blob's bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct BlobRecord {
    /// Length of the blob, in bytes.
    pub(super) raw_len: u64,
    /// Length as stored, in bytes.
    pub(super) stored_len: u64,
    /// Codec of the stored form (`disk::compression`).
    pub(super) codec: u8,
    /// Its sequence number in the data table.
    pub(super) seq: u64,
    /// Its place in a shared frame, if any; its stored length is then its share of the frame.
    pub(super) shared: Option<Shared>,
}

/// A frame shared by blobs, and one blob's place in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Shared {
    /// Offset of the frame in its row.
    pub(super) frame_at: u64,
    /// Length of the frame, in bytes.
    pub(super) frame_stored: u64,
    /// Length of the expanded frame, in bytes.
    pub(super) frame_len: u64,
    /// Offset of the blob in the expanded frame.
    pub(super) at: u64,
}

fn encoded(write: impl FnOnce(&mut Out<'_>) -> Done) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(256);
    write(&mut Encoder::new(&mut bytes)).expect("invariant: encoding into memory does not fail");
    bytes
}

pub(super) fn encode_action(record: &ActionRecord) -> Vec<u8> {
    encoded(|out| {
        let more = [
            record.spent.is_some(),
            !record.notes.is_empty(),
            !record.parts.is_empty(),
            !record.memo.is_empty(),
        ];
        let more = more.into_iter().filter(|there| *there).count() as u64;
        out.map(9 + more)?
            .u8(0)?
            .bytes(&record.output.0)?
            .u8(1)?
            .u64(record.len)?
            .u8(2)?
            .str(&record.label)?
            .u8(3)?
            .str(&record.producer)?;
        out.u8(4)?
            .u64(record.made_at)?
            .u8(5)?
            .u64(record.took_us)?
            .u8(6)?
            .array(record.inputs.len() as u64)?;
        for input in &record.inputs {
            out.map(3)?
                .u8(0)?
                .str(&input.role)?
                .u8(1)?
                .str(&input.label)?
                .u8(2)?
                .bytes(&input.digest.0)?;
        }
        out.u8(7)?.array(record.diagnostics.len() as u64)?;
        for diagnostic in &record.diagnostics {
            encode_diagnostic(out, diagnostic)?;
        }
        out.u8(8)?.u8(match record.class {
            Class::Cheap => 0,
            Class::Paid => 1,
        })?;
        if let Some(spent) = &record.spent {
            out.u8(9)?.encode(spent)?;
        }
        if !record.notes.is_empty() {
            out.u8(10)?.encode(&record.notes)?;
        }
        if !record.parts.is_empty() {
            out.u8(11)?.array(record.parts.len() as u64)?;
            for part in &record.parts {
                out.bytes(&part.0)?;
            }
        }
        if !record.memo.is_empty() {
            out.u8(12)?.bytes(&record.memo)?;
        }
        Ok(())
    })
}

pub(super) fn encode_diagnostics(list: &[&Diagnostic]) -> Vec<u8> {
    encoded(|out| {
        out.array(list.len() as u64)?;
        list.iter().try_for_each(|diagnostic| encode_diagnostic(out, diagnostic))
    })
}

/// Decodes a list of diagnostics; `None` if the bytes are malformed.
pub(super) fn decode_diagnostics(bytes: &[u8]) -> Option<Vec<Diagnostic>> {
    decode_list(&mut Decoder::new(bytes), decode_diagnostic).ok()
}

fn encode_diagnostic(out: &mut Out<'_>, diagnostic: &Diagnostic) -> Done {
    let some = [
        diagnostic.label.is_some(),
        diagnostic.place.is_some(),
        diagnostic.excerpt.is_some(),
        diagnostic.found.is_some(),
    ];
    let fields = 4 + some.iter().filter(|some| **some).count() + usize::from(diagnostic.hint.is_some());
    out.map(fields as u64)?.u8(0)?.u8(match diagnostic.severity {
        Severity::Note => 0,
        Severity::Warning => 1,
        Severity::Error => 2,
    })?;
    out.u8(1)?.str(&diagnostic.code)?.u8(2)?.str(&diagnostic.message)?;
    if let Some(label) = &diagnostic.label {
        out.u8(3)?.str(label)?;
    }
    if let Some(place) = &diagnostic.place {
        out.u8(4)?.array(3)?.str(&place.file)?.u32(place.line)?.u32(place.column)?;
    }
    if let Some(excerpt) = &diagnostic.excerpt {
        out.u8(5)?.array(3)?.str(&excerpt.text)?.u32(excerpt.start)?.u32(excerpt.len)?;
    }
    if let Some(found) = &diagnostic.found {
        out.u8(6)?.str(found)?;
    }
    if let Some(hint) = &diagnostic.hint {
        out.u8(7)?.str(hint)?;
    }
    out.u8(8)?.array(diagnostic.candidates.len() as u64)?;
    for candidate in &diagnostic.candidates {
        out.str(candidate)?;
    }
    Ok(())
}

/// Encodes a version; its number is in the row's key.
pub(super) fn encode_history(record: &HistoryRecord) -> Vec<u8> {
    encoded(|out| {
        out.map(3 + u64::from(record.build.is_some()))?
            .u8(0)?
            .bytes(&record.key.0.0)?
            .u8(1)?
            .bytes(&record.output.0)?
            .u8(2)?
            .u64(record.at)?;
        if let Some(build) = record.build {
            out.u8(3)?.u64(build)?;
        }
        Ok(())
    })
}

pub(super) fn encode_blob(record: &BlobRecord) -> Vec<u8> {
    encoded(|out| {
        out.map(4 + u64::from(record.shared.is_some()))?
            .u8(0)?
            .u64(record.raw_len)?
            .u8(1)?
            .u64(record.stored_len)?
            .u8(2)?
            .u8(record.codec)?
            .u8(3)?
            .u64(record.seq)?;
        if let Some(shared) = &record.shared {
            out.u8(4)?.array(4)?;
            for number in [shared.frame_at, shared.frame_stored, shared.frame_len, shared.at] {
                out.u64(number)?;
            }
        }
        Ok(())
    })
}

/// Calls `field` for every entry of a map; `field` returns whether it knows the key. Skips entries of unknown keys.
fn each_field<'b>(from: &mut Decoder<'b>, mut field: impl FnMut(u64, &mut Decoder<'b>) -> Result<bool, Error>) -> Result<(), Error> {
    let fields = from.map()?.ok_or_else(|| Error::message("a map of unknown length"))?;
    for _ in 0..fields {
        let key = from.u64()?;
        if !field(key, from)? {
            from.skip()?;
        }
    }
    Ok(())
}

/// Reads a list without trusting its length: memory grows only with items that exist.
fn decode_list<'b, T>(from: &mut Decoder<'b>, mut item: impl FnMut(&mut Decoder<'b>) -> Result<T, Error>) -> Result<Vec<T>, Error> {
    let len = from.array()?.ok_or_else(|| Error::message("a list of unknown length"))?;
    let mut items = Vec::new();
    for _ in 0..len {
        items.push(item(from)?);
    }
    Ok(items)
}

fn decode_digest(from: &mut Decoder<'_>) -> Result<Digest, Error> {
    from.bytes()?
        .try_into()
        .map(Digest)
        .map_err(|_| Error::message("a digest has 32 bytes"))
}

fn string(from: &mut Decoder<'_>) -> Result<String, Error> {
    from.str().map(str::to_owned)
}

fn needed<T>(field: Option<T>) -> Result<T, Error> {
    field.ok_or_else(|| Error::message("a required field is missing"))
}

pub(super) fn decode_action(bytes: &[u8]) -> Result<ActionRecord, Error> {
    let (mut output, mut len, mut label, mut producer, mut made_at, mut took_us) = (None, None, None, None, 0, 0);
    let (mut inputs, mut diagnostics, mut class) = (Vec::new(), Vec::new(), Class::Cheap);
    let (mut spent, mut notes, mut parts, mut memo) = (None, Notes::new(), Vec::new(), Arc::default());
    each_field(&mut Decoder::new(bytes), |key, from| {
        match key {
            0 => output = Some(decode_digest(from)?),
            1 => len = Some(from.u64()?),
            2 => label = Some(string(from)?),
            3 => producer = Some(string(from)?),
            4 => made_at = from.u64()?,
            5 => took_us = from.u64()?,
            6 => inputs = decode_list(from, decode_input)?,
            7 => diagnostics = decode_list(from, decode_diagnostic)?,
            8 => class = if from.u8()? == 0 { Class::Cheap } else { Class::Paid },
            9 => spent = Some(from.decode()?),
            10 => notes = from.decode()?,
            11 => parts = decode_list(from, decode_digest)?,
            12 => memo = Arc::from(from.bytes()?),
            _ => return Ok(false),
        }
        Ok(true)
    })?;
    Ok(ActionRecord {
        output: needed(output)?,
        len: needed(len)?,
        label: needed(label)?,
        producer: needed(producer)?,
        made_at,
        took_us,
        inputs,
        diagnostics,
        class,
        spent,
        notes,
        parts,
        memo,
    })
}

fn decode_input(from: &mut Decoder<'_>) -> Result<InputRecord, Error> {
    let (mut role, mut label, mut from_digest) = (None, None, None);
    each_field(from, |key, from| {
        match key {
            0 => role = Some(Arc::from(from.str()?)),
            1 => label = Some(Arc::from(from.str()?)),
            2 => from_digest = Some(decode_digest(from)?),
            _ => return Ok(false),
        }
        Ok(true)
    })?;
    Ok(InputRecord {
        role: needed(role)?,
        label: needed(label)?,
        digest: needed(from_digest)?,
    })
}

/// Reads a text and two numbers, as in places and excerpts.
fn triple(from: &mut Decoder<'_>) -> Result<(String, u32, u32), Error> {
    if from.array()? != Some(3) {
        return Err(Error::message("a place has three parts"));
    }
    Ok((string(from)?, from.u32()?, from.u32()?))
}

fn decode_diagnostic(from: &mut Decoder<'_>) -> Result<Diagnostic, Error> {
    let mut diagnostic = Diagnostic::new(Severity::Error, "", "");
    each_field(from, |key, from| {
        match key {
            0 => {
                diagnostic.severity = match from.u8()? {
                    0 => Severity::Note,
                    1 => Severity::Warning,
                    _ => Severity::Error,
                }
            }
            1 => diagnostic.code = string(from)?,
            2 => diagnostic.message = string(from)?,
            3 => diagnostic.label = Some(string(from)?),
            4 => diagnostic.place = Some(triple(from).map(|(file, line, column)| SourceLocation { file, line, column })?),
            5 => diagnostic.excerpt = Some(triple(from).map(|(text, start, len)| Excerpt { text, start, len })?),
            6 => diagnostic.found = Some(string(from)?),
            7 => diagnostic.hint = Some(string(from)?),
            8 => diagnostic.candidates = decode_list(from, string)?,
            _ => return Ok(false),
        }
        Ok(true)
    })?;
    Ok(diagnostic)
}

/// Decodes a version; its number is that of its row.
pub(super) fn decode_history(version: u32, bytes: &[u8]) -> Result<HistoryRecord, Error> {
    let (mut action, mut output, mut at, mut build) = (None, None, 0, None);
    each_field(&mut Decoder::new(bytes), |key, from| {
        match key {
            0 => action = Some(ActionKey(decode_digest(from)?)),
            1 => output = Some(decode_digest(from)?),
            2 => at = from.u64()?,
            3 => build = Some(from.u64()?),
            _ => return Ok(false),
        }
        Ok(true)
    })?;
    Ok(HistoryRecord {
        version,
        key: needed(action)?,
        output: needed(output)?,
        at,
        build,
    })
}

pub(super) fn decode_blob(bytes: &[u8]) -> Result<BlobRecord, Error> {
    let (mut raw_len, mut stored_len, mut codec, mut seq, mut shared) = (None, None, None, None, None);
    each_field(&mut Decoder::new(bytes), |key, from| {
        match key {
            0 => raw_len = Some(from.u64()?),
            1 => stored_len = Some(from.u64()?),
            2 => codec = Some(from.u8()?),
            3 => seq = Some(from.u64()?),
            4 => shared = Some(decode_shared(from)?),
            _ => return Ok(false),
        }
        Ok(true)
    })?;
    Ok(BlobRecord {
        raw_len: needed(raw_len)?,
        stored_len: needed(stored_len)?,
        codec: needed(codec)?,
        seq: needed(seq)?,
        shared,
    })
}

fn decode_shared(from: &mut Decoder<'_>) -> Result<Shared, Error> {
    if from.array()? != Some(4) {
        return Err(Error::message("the place in a frame has four numbers"));
    }
    Ok(Shared {
        frame_at: from.u64()?,
        frame_stored: from.u64()?,
        frame_len: from.u64()?,
        at: from.u64()?,
    })
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::seams::paid::Spent;
    use proptest::collection::btree_map;
    use proptest::collection::vec;
    use proptest::option;
    use proptest::prelude::*;

    fn any_digest() -> impl Strategy<Value = Digest> {
        any::<[u8; 32]>().prop_map(Digest)
    }

    fn any_diagnostic() -> impl Strategy<Value = Diagnostic> {
        let severity = prop_oneof![Just(Severity::Note), Just(Severity::Warning), Just(Severity::Error)];
        let place = (".{0,9}", any::<u32>(), any::<u32>()).prop_map(|(file, line, column)| SourceLocation { file, line, column });
        let excerpt = (".{0,9}", any::<u32>(), any::<u32>()).prop_map(|(text, start, len)| Excerpt { text, start, len });
        let texts = (
            ".{0,9}",
            ".{0,20}",
            option::of(".{0,9}"),
            option::of(".{0,9}"),
            option::of(".{0,9}"),
            vec(".{0,9}", 0..3),
        );
        (severity, texts, option::of(place), option::of(excerpt)).prop_map(|(severity, texts, place, excerpt)| {
            let (code, message, label, found, hint, candidates) = texts;
            Diagnostic {
                severity,
                code,
                message,
                label,
                place,
                excerpt,
                found,
                hint,
                candidates,
            }
        })
    }

    fn any_input() -> impl Strategy<Value = InputRecord> {
        (".{0,9}", ".{0,20}", any_digest()).prop_map(|(role, label, digest)| InputRecord {
            role: role.into(),
            label: label.into(),
            digest,
        })
    }

    pub(in crate::store) fn any_action() -> impl Strategy<Value = ActionRecord> {
        let numbers = (any::<u64>(), any::<u64>(), any::<u64>());
        let class = prop_oneof![Just(Class::Cheap), Just(Class::Paid)];
        let lists = (vec(any_input(), 0..12), vec(any_diagnostic(), 0..3));
        let paid = (
            proptest::option::of(any_spent()),
            btree_map(".{0,5}", ".{0,9}", 0..3),
            vec(any_digest(), 0..3),
            vec(any::<u8>(), 0..20),
        );
        (any_digest(), ".{0,30}", ".{0,20}", numbers, lists, class, paid).prop_map(
            |(output, label, producer, (len, made_at, took_us), (inputs, diagnostics), class, (spent, notes, parts, memo))| ActionRecord {
                output,
                len,
                label,
                producer,
                made_at,
                took_us,
                inputs,
                diagnostics,
                class,
                spent,
                notes,
                parts,
                memo: memo.into(),
            },
        )
    }

    fn any_spent() -> impl Strategy<Value = Spent> {
        let agent = prop::option::of(".{1,9}");
        (
            ".{0,9}",
            any::<u32>(),
            any::<[u64; 4]>(),
            any::<Option<u64>>(),
            any::<bool>(),
            agent,
            ".{0,3}",
        )
            .prop_map(
                |(model, calls, [input_tokens, cached_tokens, output_tokens, whole_tokens], micros, estimated, agent, currency)| Spent {
                    currency,
                    whole_tokens,
                    model,
                    calls,
                    input_tokens,
                    cached_tokens,
                    output_tokens,
                    micros,
                    estimated,
                    agent,
                },
            )
    }

    proptest! {
        #[test]
        fn actions_round_trip(record in any_action()) {
            prop_assert_eq!(decode_action(&encode_action(&record)).unwrap(), record);
        }

        #[test]
        fn versions_and_blob_records_round_trip(version: u32, key in any_digest(), output in any_digest(), n: [u64; 3], build: Option<u64>, codec: u8, place: Option<[u64; 4]>) {
            let shared = place.map(|[frame_at, frame_stored, frame_len, at]| Shared { frame_at, frame_stored, frame_len, at });
            let record = HistoryRecord { version, key: ActionKey(key), output, at: n[0], build };
            prop_assert_eq!(decode_history(version, &encode_history(&record)).unwrap(), record);
            let blob = BlobRecord { raw_len: n[0], stored_len: n[1], codec, seq: n[2], shared };
            prop_assert_eq!(decode_blob(&encode_blob(&blob)).unwrap(), blob);
        }

        #[test]
        fn any_bytes_decode_without_a_panic(bytes in vec(any::<u8>(), 0..300)) {
            let _ = (decode_action(&bytes), decode_history(1, &bytes), decode_blob(&bytes));
        }

        #[test]
        fn a_cut_or_flipped_record_decodes_without_a_panic(record in any_action(), at in any::<prop::sample::Index>(), bits in 1_u8..) {
            let mut bytes = encode_action(&record);
            let at = at.index(bytes.len());
            prop_assert!(decode_action(&bytes[..at]).is_err());
            bytes[at] ^= bits;
            let _ = decode_action(&bytes);
        }
    }

    #[test]
    fn fields_of_the_future_are_skipped() {
        let record = BlobRecord {
            raw_len: 1,
            stored_len: 2,
            codec: 0,
            seq: 3,
            shared: None,
        };
        let mut bytes = encode_blob(&record);
        bytes[0] = 0xa5; // a map of five entries
        Encoder::new(&mut bytes)
            .u8(77)
            .unwrap()
            .array(2)
            .unwrap()
            .str("new")
            .unwrap()
            .bool(true)
            .unwrap();
        assert_eq!(decode_blob(&bytes).unwrap(), record);
    }

    #[test]
    fn a_list_that_claims_to_be_endless_is_refused() {
        let mut bytes = Vec::new();
        Encoder::new(&mut bytes).map(1).unwrap().u8(6).unwrap().array(u64::MAX).unwrap();
        assert!(decode_action(&bytes).is_err());
    }
}
