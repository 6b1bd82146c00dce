//! Live context: one document as it is now, its history and the failed tries, in one text for a model that edits it.
//!
//! [`journal`] is the pure record of a document: versions with authors, anchors, plans and the state of its [`editor`]. [`stored_journals`] stores it
//! with the texts of the versions next to edit sessions. [`edits`] records the steps of edit sessions under all [`names`] of a file. [`difference`]
//! compares two versions, [`skeleton`] outlines a long document, [`document`] shows it or a window of it, [`render`] writes the text within a
//! [`budget`], and [`markdown_line`] formats texts for one line.

#[cfg(test)]
mod author_tests;
pub mod budget;
pub mod difference;
mod document;
pub mod editor;
pub mod edits;
pub mod journal;
mod markdown_line;
pub mod names;
pub mod render;
pub mod skeleton;
pub mod stored_journals;
