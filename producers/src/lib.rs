//! The producers of cortex: pure functions from input bytes to output bytes. They read no file, no clock and no environment;
//! what they need is declared in a rule and arrives as bytes.

pub mod csharp;
pub mod rulesets;
pub mod semantic;
pub mod text;

/// Registers every producer of this crate.
pub fn register(registry: &mut engine::seams::producer::Registry) {
    text::register(registry);
    csharp::syntax::register(registry);
    csharp::names::register(registry);
    csharp::project::register(registry);
    csharp::register_knowledge(registry);
    semantic::register(registry);
}
