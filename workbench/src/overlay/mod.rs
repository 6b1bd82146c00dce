//! Overlays: named views over a workspace in which documents replace some files. Several may exist at once, and none shows the documents of another;
//! all other files are those of the workspace, as they are.
//!
//! The unsaved documents of an edit session also form an overlay, under its handle.
//!
//! They are stored next to edit sessions, because unsaved texts belong to a person: `overlays/NAME.json` lists the documents,
//! `texts/DIGEST` are the texts of all overlays and sessions, `results/NAME` lists results, `merged/results` those of merged overlays and closed
//! sessions. A text is written before the record that refers to it.

pub mod build;
#[cfg(test)]
mod build_tests;
pub mod compare;
mod error;
pub mod merge;
#[cfg(test)]
mod model_tests;
mod opened_files;
#[cfg(test)]
mod opened_tests;
pub mod patch;
pub mod put;
pub mod record;
mod session_overlays;
pub mod texts;

pub use error::OverlayError;

#[cfg(test)]
mod tests;
