//! Edit sessions: text of files found exactly, changed in a buffer, and written back byte for byte where nothing was changed.

pub mod adding_members;
pub mod adding_usings;
pub mod allowed_tools;
pub mod answer_settings;
pub mod brief_answer;
mod buffer_operations;
pub mod candidate;
pub mod changed;
mod choose_session;
pub mod compiler;
mod conditional;
pub mod contents;
mod declarations_only;
pub mod difference;
mod directive_settings;
mod directives;
pub mod disk;
pub mod document_names;
pub mod draft_log;
pub mod edit_counts;
pub mod edit_log;
mod editing;
pub mod editor;
pub mod expiry;
pub mod extracting_interfaces;
pub mod files;
pub mod flags;
pub mod foreign_writes;
mod guidance;
pub mod head;
mod hunks;
pub mod implementing;
mod indent;
pub mod journal;
mod kept_declarations;
#[cfg(test)]
mod killed_tests;
mod line_ends;
mod lookalike;
pub mod markdown;
pub mod match_failure;
pub mod matching;
mod meaning;
#[cfg(test)]
pub(crate) mod memory;
#[cfg(test)]
mod model_tests;
pub mod moving_types;
pub mod order;
pub mod organizing_usings;
pub mod overlay_record;
pub mod patch;
mod patch_names;
mod patch_series;
#[cfg(test)]
mod patch_tests;
pub mod perform;
mod refusals;
pub mod removal;
mod replacing;
pub mod response;
#[cfg(test)]
mod rewrite_tests;
pub(crate) mod run;
pub(crate) mod saving;
mod search_miss;
mod selected_nodes;
pub mod session;
#[cfg(test)]
mod session_tests;
mod staged;
pub mod state;
pub mod symbol;
mod targets;
#[cfg(test)]
pub(crate) mod test_folder;
pub mod tree;
#[cfg(test)]
mod trouble_tests;
mod undo;
mod unified;
#[cfg(test)]
mod version_tests;
mod write_detection;
