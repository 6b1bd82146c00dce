//! The context of a query: which types a reader should see to answer it, and a text that shows them within a budget of tokens.
//!
//! [`words`] makes words of texts, [`document`] and [`index`] what of all types is searched. [`mentioned`], [`members`], [`attached`]
//! and [`package`] find what a query names ([`written`] cuts it into words, [`spaced`] finds names of files that are none,
//! [`spelled`] names of members that source and stack traces write otherwise), [`relevance`] has the
//! five factors, [`choose`] the choice, [`gather`] reads what can be shown ([`secret`] says of what nothing can), [`forms`] are how it can be,
//! [`compose`] makes the text, [`answers`] says what of it answers, [`quality`] has figures. [`rounds`] are those of a
//! conversation, with what one inherits from those before; [`kept`] keeps them. All but that is pure: the same index, log and query give the same
//! context.

pub mod answers;
pub mod attached;
pub mod choose;
pub mod compose;
pub mod document;
pub mod forms;
pub mod gather;
pub mod index;
pub mod kept;
pub mod members;
pub mod mentioned;
pub mod package;
pub mod quality;
pub mod relevance;
pub mod rounds;
pub mod secret;
pub mod shelf;
pub mod spaced;
mod spelled;
pub mod words;
mod written;
