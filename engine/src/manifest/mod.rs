//! The manifest, `cortex.toml`: sources define the leaves, producers name pure functions, rules define the nodes.

pub mod compiled;
pub mod model;
pub mod read;
pub mod remote;
pub mod template;

/// The JSON Schema of `cortex.toml`, for editors.
pub const SCHEMA: &str = include_str!("cortex.schema.json");
