//! Packs (seed 000 §10): the types that a filter selects from a workspace, as one text within a budget of tokens.
//!
//! [`select`] chooses the types and their order from indexes alone; [`document`] writes them within a [`budget`]; [`form`] has the producers. The
//! text of a pack changes only with the outlines (and requested summaries) of its own types.

pub mod budget;
pub mod document;
pub mod filter;
pub mod form;
pub mod glob;
mod order;
pub mod select;
#[cfg(test)]
mod tests;

pub fn register_packs(registry: &mut engine::seams::producer::Registry) {
    registry.add(select::Select);
    registry.add(form::PACK);
    registry.add(form::CONTENTS);
    registry.add(form::FACTS);
}
