//! The producers of cortex: pure functions from input bytes to output bytes. They read no file, no clock and no environment; a rule declares their
//! inputs, which they get as bytes. (`command` runs programs, as confined as the machine allows.)

pub mod converse;
pub mod embedding;
#[cfg(test)]
#[allow(dead_code, reason = "the tests of each crate use their own part of it")]
#[path = "../csharp/src/fixture.rs"]
mod fixture;
pub mod investigate;
pub mod languages;
pub mod rulesets;
pub mod scip;
pub mod scip_symbol;
pub mod semantic;
pub mod table;
pub mod tree;
#[cfg(feature = "wasm")]
pub mod wasm;

pub use {command, csharp, llm, msbuild, text};

use engine::seams::producer::Registry;
use std::sync::Arc;

/// Adds every producer of this crate; `ask` answers questions to models, `trust` decides which programs may run.
pub fn register(registry: &mut Registry, ask: Arc<dyn llm::Ask>, trust: Arc<dyn command::Trust>) {
    registry.add(investigate::Investigate { ask: ask.clone() });
    registry.add(converse::Converse { ask: ask.clone() });
    embedding::register_embedding(registry, ask.clone());
    registry.add(table::Rows);
    registry.add(tree::TreeEntryProducer);
    registry.add(command::CommandProducer { trust });
    #[cfg(feature = "wasm")]
    registry.add(wasm::WasmProducer::default());
    text::register_text(registry);
    csharp::register_csharp(registry);
    languages::register_languages(registry);
    scip::register_scip(registry);
    semantic::register_semantic(registry, ask);
}
