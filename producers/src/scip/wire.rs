//! Splits an untrusted index into its documents, which are decoded one at a time to save memory.

use super::messages::{Document, Metadata};
use engine::seams::producer::Failure;
use engine::values::codes::ErrorCode;
use engine::values::diagnostic::Diagnostic;
use prost::Message;

/// Field numbers of `Index`.
const METADATA: u64 = 1;
const DOCUMENT: u64 = 2;

/// The parts of an index.
#[derive(Debug)]
pub(super) struct Parts<'b> {
    /// Its author and subject.
    pub(super) metadata: Metadata,
    documents: Vec<&'b [u8]>,
}

impl<'b> Parts<'b> {
    /// Splits an index. Fails when the bytes are not an index.
    pub(super) fn from_bytes(bytes: &'b [u8]) -> Result<Self, Failure> {
        let mut parts = Self {
            metadata: Metadata::default(),
            documents: Vec::new(),
        };
        let mut rest = bytes;
        let mut has_metadata = false;
        while !rest.is_empty() {
            let at = bytes.len() - rest.len();
            let (field, content);
            (field, content, rest) = field_of(rest).ok_or_else(|| malformed_index(&format!("byte {at} begins no field")))?;
            match (field, content) {
                (METADATA, Some(content)) => {
                    parts.metadata = Metadata::decode(content).map_err(|error| malformed_index(&error.to_string()))?;
                    has_metadata = true;
                }
                (DOCUMENT, Some(content)) => parts.documents.push(content),
                _ => {}
            }
        }
        match has_metadata {
            true => Ok(parts),
            false => Err(malformed_index("it has no metadata")),
        }
    }

    /// Returns its documents, each decoded on demand.
    pub(super) fn documents(&self) -> impl Iterator<Item = Result<Document, Failure>> {
        let decoded = |content: &&[u8]| Document::decode(*content).map_err(|error| malformed_index(&error.to_string()));
        self.documents.iter().map(decoded)
    }
}

/// The number of a field, its content if it has a length, and the bytes after it.
type Field<'b> = (u64, Option<&'b [u8]>, &'b [u8]);

/// Reads the first field.
fn field_of(bytes: &[u8]) -> Option<Field<'_>> {
    let (key, rest) = varint(bytes)?;
    let field = key >> 3;
    match key & 7 {
        0 => varint(rest).map(|(_, rest)| (field, None, rest)),
        1 => rest.get(8..).map(|rest| (field, None, rest)),
        2 => {
            let (length, rest) = varint(rest)?;
            let (content, rest) = rest.split_at_checked(usize::try_from(length).ok()?)?;
            Some((field, Some(content), rest))
        }
        5 => rest.get(4..).map(|rest| (field, None, rest)),
        _ => None,
    }
    .filter(|(field, ..)| *field > 0)
}

fn varint(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let mut value = 0_u64;
    for (at, byte) in bytes.iter().enumerate().take(10) {
        value |= u64::from(byte & 0x7f).checked_shl(7 * u32::try_from(at).ok()?)?;
        if byte & 0x80 == 0 {
            return Some((value, &bytes[at + 1..]));
        }
    }
    None
}

/// Returns the failure for bytes that are not an index.
fn malformed_index(why: &str) -> Failure {
    let error = Diagnostic::error(ErrorCode::E_SCIP, format!("not a SCIP index: {why}"));
    let hint = "have its indexer write it again (scip-typescript index, rust-analyzer scip .), and check the path in [scip.NAME] index";
    Failure::Permanent(Box::new(error.hint(hint)))
}

#[cfg(test)]
mod tests {
    use super::super::messages::{Index, ToolInfo};
    use super::*;
    use proptest::prelude::*;

    fn index() -> Vec<u8> {
        let document = |path: &str| Document {
            relative_path: path.to_owned(),
            ..Document::default()
        };
        let index = Index {
            metadata: Some(Metadata {
                tool_info: Some(ToolInfo {
                    name: "tool".to_owned(),
                    ..ToolInfo::default()
                }),
                ..Metadata::default()
            }),
            documents: vec![document("a.ts"), document("b.ts")],
            external_symbols: Vec::new(),
        };
        index.to_bytes()
    }

    #[test]
    fn documents_come_one_after_the_other() {
        let bytes = index();
        let parts = Parts::from_bytes(&bytes).expect("an index");
        let paths: Result<Vec<String>, Failure> = parts.documents().map(|one| one.map(|one| one.relative_path)).collect();
        assert_eq!(paths.expect("documents"), ["a.ts", "b.ts"]);
        assert_eq!(parts.metadata.tool_info.expect("a tool").name, "tool");
    }

    #[test]
    fn bytes_that_are_no_index_are_rejected_with_a_hint() {
        for bytes in [
            &b""[..],
            b"#!/bin/sh\n",
            &index()[..9],
            b"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
        ] {
            let Err(Failure::Permanent(why)) = Parts::from_bytes(bytes) else {
                panic!("{bytes:?}")
            };
            assert_eq!(why.code, "E_SCIP");
            assert!(why.hint.is_some());
        }
    }

    proptest! {
        #[test]
        fn nothing_makes_reading_fail(cut in 0_usize..60, flipped in 0_usize..60, byte: u8) {
            let mut bytes = index();
            let at = flipped % bytes.len();
            bytes[at] = byte;
            bytes.truncate(bytes.len().saturating_sub(cut));
            if let Ok(parts) = Parts::from_bytes(&bytes) {
                parts.documents().for_each(drop);
            }
        }
    }
}
