//! SCIP, the format in which indexers of many languages hand on what they found: definitions, references, relationships, documentation.
//!
//! cortex writes it (`cortex export scip`) and takes what other indexers wrote (the ruleset `scip`) as knowledge of files of other languages.

pub mod documents;
pub mod file;
pub mod kind;
pub mod messages;
pub mod symbol;
mod wire;

/// Adds the producers.
pub fn register(registry: &mut engine::seams::producer::Registry) {
    registry.add(documents::Documents);
    registry.add(documents::Merge);
    registry.add(file::FileOf);
}
