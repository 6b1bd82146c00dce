//! Packs (seed 000 §10): what a filter means of a workspace, as one text that fits a budget of tokens.
//!
//! [`select`] says which types and in which order, from indexes alone; [`document`] writes them, within a [`budget`]; [`form`] has the
//! producers. What a pack looks like moves only with the outlines (and summaries, if it asks for them) of its own types.

pub mod budget;
pub mod document;
pub mod filter;
pub mod form;
pub mod glob;
mod order;
pub mod select;
#[cfg(test)]
mod tests;

/// Adds the producers of packs.
pub fn register(registry: &mut engine::seams::producer::Registry) {
    registry.add(select::Select);
    registry.add(form::PACK);
    registry.add(form::CONTENTS);
    registry.add(form::FACTS);
}
