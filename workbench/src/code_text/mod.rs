//! Texts of source files: their encodings, lines, declarations and lists, and merges of texts.

pub(crate) mod declared;
pub mod encoding;
pub mod lines;
pub(crate) mod lists;
pub(crate) mod member_head;
pub mod merge;
