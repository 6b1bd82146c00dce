//! The context of a query: the types that a reader needs to answer it, and a text that shows them within a budget of tokens.
//!
//! [`words`] splits texts, [`document`] and [`index`] are the search data, which [`saved_documents`] stores between processes. [`mentioned`],
//! [`members`], [`attached`] and [`package`] find what a query names ([`named_words`] cuts it into words, [`names_with_spaces`] finds file names with
//! spaces, [`member_spellings`] converts spellings of members), [`relevance_factors`] has the five factors, [`type_ranking`] ranks and chooses types,
//! [`gather`] reads texts ([`withheld_files`] excludes some), [`forms`] are their forms, [`compose_within_budget`] writes the text,
//! [`answering_members`] picks the answering parts, [`quality`] has
//! figures. [`rounds`] are those of a conversation, with inheritance from earlier ones; [`stored_conversations`] stores them. Everything else is
//! pure: the same index, log and query give the same context.

pub mod answering_members;
pub mod attached;
pub mod comment_matches;
pub mod compose_within_budget;
pub mod document;
pub mod forms;
pub mod gather;
pub mod index;
mod member_spellings;
pub mod members;
pub mod mentioned;
mod named_words;
pub mod names_with_spaces;
pub mod package;
pub mod quality;
pub mod relevance_factors;
pub mod rounds;
pub mod saved_documents;
pub mod source_cache;
pub mod stored_conversations;
pub mod type_ranking;
pub mod vocabulary;
pub mod withheld_files;
pub mod words;
