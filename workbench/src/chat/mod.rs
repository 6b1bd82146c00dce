//! A conversation about the workspace (seed 003 §2): what was asked and answered, what a model is sent of it, what it may look at further, and
//! what its answer wants to look at. It knows no terminal and asks nobody.

pub mod calls;
pub mod complete;
pub mod prompt;
pub mod quote;
pub mod references;
pub mod transcript;
