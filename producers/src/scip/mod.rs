//! SCIP, the output format of indexers of many languages: definitions, references, relationships, documentation.
//!
//! cortex writes it (`cortex export scip`) and reads the indexes of other indexers (the ruleset `scip`) as facts about files of other languages.

pub mod documents;
pub mod file;
pub mod kind;
pub mod messages;
mod wire;

pub fn register_scip(registry: &mut engine::seams::producer::Registry) {
    registry.add(documents::Documents);
    registry.add(documents::Merge);
    registry.add(file::FileOf);
}
