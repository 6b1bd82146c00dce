//! Live context: one document as it stands now, how it came to be so, and what was tried, in one text for a model that edits it.
//!
//! [`journal`] is what is remembered of a document: its versions with who made them, anchors, plans and the editor's state; it is pure, and told the
//! time; [`editor`] is where the editor stands. [`kept`] keeps it with the texts of the versions below the checkout's `.cortex`. [`edits`] takes over
//! what edit sessions did, in its [`order`], under all [`names`] of a file. [`difference`] compares two versions, [`skeleton`] makes the outline of a long document, [`document`] shows
//! it or a window of it, [`render`] makes the text within a [`budget`], [`words`] keeps what is told in its line.

#[cfg(test)]
mod author_tests;
pub mod budget;
pub mod difference;
mod document;
pub mod editor;
pub mod edits;
pub mod journal;
pub mod kept;
pub mod names;
mod order;
pub mod render;
pub mod skeleton;
mod words;
