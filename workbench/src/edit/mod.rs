//! Edit sessions: text of files found exactly, changed in a buffer, and written back byte for byte where nothing was changed.

mod attributes;
mod beginning;
pub mod brief;
mod brought;
pub mod candidate;
pub mod changed;
mod conditional;
mod declared;
pub mod diagnostics;
mod directives;
pub mod disk;
mod editing;
pub mod encoding;
pub mod files;
mod fitting;
pub mod flags;
pub mod head;
mod held;
mod indent;
mod keeping;
#[cfg(test)]
mod killed_tests;
mod leading;
pub mod lines;
mod lookalike;
mod looking;
pub mod markdown;
pub mod matching;
mod meaning;
#[cfg(test)]
pub(crate) mod memory;
pub mod merge;
pub mod miss;
#[cfg(test)]
mod model_tests;
pub mod noticing;
pub mod order;
pub mod patch;
mod patch_names;
#[cfg(test)]
mod patch_tests;
pub mod perform;
pub mod place;
mod putting;
#[cfg(test)]
pub(crate) mod real;
mod refusing;
pub mod replies;
pub mod response;
#[cfg(test)]
mod rewrite_tests;
pub(crate) mod run;
mod saving;
mod series;
pub mod session;
#[cfg(test)]
mod session_tests;
mod settings;
mod staged;
pub mod state;
pub mod symbol;
mod taking;
pub mod tools;
pub mod trail;
pub mod tree;
#[cfg(test)]
mod trouble_tests;
mod unified;
#[cfg(test)]
mod version_tests;
