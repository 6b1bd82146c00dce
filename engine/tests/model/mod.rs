//! The model test: random workspaces, manifests, edits, failures and cancellations against a naive builder without memory.

mod foretold;
mod naive;
mod shape;
mod steps;
