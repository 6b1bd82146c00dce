//! Overlays: named views over a workspace in which some documents stand in place of files. Several live side by side, and none sees what another
//! holds; a file that an overlay does not hold is that of the workspace, as it is.
//!
//! What an edit session has not saved is one, too, by its handle.
//!
//! They are kept beside edit sessions, because texts that nobody saved are a person's: `overlays/NAME.json` says which documents there are,
//! `texts/DIGEST` are the texts of all of them, `results/NAME` names what was built, `merged/results` what overlays built that were merged, and
//! sessions that were closed. A text is written
//! before the record that names it.

pub mod build;
#[cfg(test)]
mod build_tests;
pub mod compare;
mod edited;
mod error;
pub mod merge;
#[cfg(test)]
mod model_tests;
mod opened;
#[cfg(test)]
mod opened_tests;
pub mod patch;
pub mod put;
pub mod record;
pub mod texts;
mod three_way;

pub use error::OverlayError;

#[cfg(test)]
mod tests;
