//! What the integration tests share: toy producers, a bench that builds workspaces, a log of what ran. Knows no test.

pub mod bench;
pub mod board;
pub mod producers;
pub mod shelf;
