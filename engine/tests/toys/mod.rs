//! Shared parts of the integration tests: toy producers, a bench that builds workspaces, and a log of runs. Knows no test.

pub mod bench;
pub mod board;
pub mod producers;
pub mod shelf;
