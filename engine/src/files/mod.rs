//! Facts about the disk: source files and their changes, and the output files laid out for people and programs to read.
//!
//! Everything here may be forgotten at any time: missing or damaged rows only cost another scan.

pub mod disk;
pub mod exports;
pub(crate) mod globs;
mod hypothetical;
pub(crate) mod ignores;
mod leftovers;
pub(crate) mod listing;
pub mod memory;
pub mod overlaid;
pub(crate) mod packed;
pub mod read;
pub(crate) mod scan;
pub mod stamp;
pub mod tree;
mod walk;

pub use leftovers::tidy;

#[cfg(test)]
mod tests;
