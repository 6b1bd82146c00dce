//! Lists of diagnostics as bytes, in the form that action records hold them, for rows that others encode.

use super::codec;
use crate::values::diagnostic::Diagnostic;

/// The bytes of a list.
pub fn write_diagnostics<'a>(list: impl Iterator<Item = &'a Diagnostic>) -> Vec<u8> {
    codec::encode_diagnostics(&list.collect::<Vec<_>>())
}

/// Undoes [`write_diagnostics`]; `None` when the bytes are not a list.
pub fn read_diagnostics(bytes: &[u8]) -> Option<Vec<Diagnostic>> {
    codec::decode_diagnostics(bytes)
}
