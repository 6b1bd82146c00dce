//! Live context: one document as it is now, its history and the failed tries, in one text for a model that edits it.
//!
//! [`edits`] records looks at a document in the log of drafts, and reads its versions there. [`skeleton`] outlines a long document, [`document`] shows
//! it or a window of it, [`render`] writes the text within a [`budget`], and [`markdown_line`] formats texts for one line.

#[cfg(test)]
mod author_tests;
mod document;
pub mod edits;
mod markdown_line;
pub mod render;
pub mod skeleton;
