//! The manifest, `cortex.toml`: sources name the leaves, producers name pure functions, rules say which nodes exist.

pub mod compiled;
pub mod model;
pub mod read;
pub mod remote;
pub mod template;
