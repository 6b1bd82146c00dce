//! Facts about the disk: which files are sources, whether they changed, and the output files laid out for readers.
//!
//! Everything here may be forgotten at any time: rows that are missing or damaged only cost another look.

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

pub use leftovers::tidy;

#[cfg(test)]
mod tests;
