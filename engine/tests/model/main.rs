//! The model test: random workspaces, manifests, edits, failures and cancellations against a naive builder without memory.

mod foretold;
mod naive;
mod shape;
mod steps;
#[path = "../toys/mod.rs"]
#[allow(dead_code, reason = "each test target uses its own part of the bench")]
mod toys;
