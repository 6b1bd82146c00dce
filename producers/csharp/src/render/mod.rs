//! Text for readers.

pub mod doc;
