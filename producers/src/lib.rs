//! The producers of cortex: pure functions from input bytes to output bytes. They read no file, no clock and no environment;
//! what they need is declared in a rule and arrives as bytes. (`command` runs programs, which are on their own honour.)

pub mod command;
pub mod csharp;
pub mod investigate;
pub mod llm;
pub mod rulesets;
mod scratch;
pub mod semantic;
pub mod table;
pub mod text;

/// Adds every producer of this crate; `ask` answers those that ask models.
pub fn register(registry: &mut engine::seams::producer::Registry, ask: std::sync::Arc<dyn llm::Ask>) {
    registry.add(investigate::Investigate { ask: ask.clone() });
    registry.add(table::Rows);
    command::register(registry);
    text::register(registry);
    csharp::register(registry);
    semantic::register(registry, ask);
}
