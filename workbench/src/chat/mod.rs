//! Conversations about the workspace (seed 003 §2): transcripts, the turns that a model is sent, its further lookups, the quotes of its answers. This
//! module knows no terminal and asks no model.

pub mod calls;
pub mod complete;
pub mod prompt;
pub mod quote;
pub mod references;
pub mod transcript;
