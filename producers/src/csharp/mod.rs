//! C# knowledge: from source text to declarations, hashes, dependencies and outlines.

pub mod canonical;
pub mod lexer;
pub mod model;
pub mod names;
pub mod parse;
pub mod preprocess;
pub mod project;
pub mod syntax;

/// Adds the C# producers.
pub fn register(registry: &mut engine::seams::producer::Registry) {
    syntax::register(registry);
    names::register(registry);
}
