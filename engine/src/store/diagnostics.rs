//! Lists of diagnostics as bytes, encoded as in action records, for rows that other modules encode.

use crate::values::cbor;
use crate::values::diagnostic::Diagnostic;

pub fn write_diagnostics<'a>(list: impl Iterator<Item = &'a Diagnostic>) -> Vec<u8> {
    cbor::encode(&list.collect::<Vec<_>>())
}

/// Decodes a list from [`write_diagnostics`]; `None` if the bytes are malformed.
pub fn read_diagnostics(bytes: &[u8]) -> Option<Vec<Diagnostic>> {
    minicbor::decode(bytes).ok()
}
