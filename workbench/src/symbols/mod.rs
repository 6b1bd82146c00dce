//! Symbols: the meaning of names, and facts about the types and members that they refer to. Pure over outputs of targets: nothing here builds, prints
//! or remembers. Answers are values; a failure is a [`outputs::SymbolError`] with a diagnostic.

pub mod ancestors;
pub mod answer_state;
pub mod call_graph;
pub mod calls;
pub mod camel_humps;
mod container_registrations;
pub mod contents;
mod contracts;
pub mod describe;
mod dispatches;
mod dotnet_names;
pub mod edit_distance;
mod edited_file;
mod excluded_code;
pub mod file;
pub mod file_query;
#[cfg(test)]
mod generic_usages_tests;
pub mod grep;
pub mod hierarchy;
pub mod impact;
#[cfg(test)]
mod impact_tests;
mod implied_members;
pub mod index;
pub mod kind_words;
pub mod locations;
mod lost_calls;
pub mod lost_names;
mod lost_types;
mod lost_usings;
pub mod matching;
pub mod meaning;
mod mentioning;
mod number_conversions;
pub(crate) mod operators;
pub mod outputs;
#[cfg(test)]
mod overload_usages_tests;
pub mod overloads;
pub mod override_places;
pub mod path;
#[cfg(test)]
mod primary_constructor_tests;
pub mod relations;
pub mod removed_uses;
pub mod resolve;
#[cfg(test)]
mod resolve_tests;
#[cfg(test)]
pub(crate) mod samples;
pub mod search;
pub mod search_by_meaning;
#[cfg(test)]
mod search_tests;
#[cfg(test)]
mod shared_files_tests;
pub mod source;
pub mod source_budget;
mod substituted_parameters;
mod suggestions;
pub mod unbound;
mod unbound_places;
pub mod uncompiled;
pub mod undeclared_qualifiers;
pub mod unimplemented;
#[cfg(test)]
mod unimplemented_tests;
pub mod unread_files;
mod unreferenced;
pub mod usages;
#[cfg(test)]
mod usages_tests;
pub mod visibility;
#[cfg(test)]
mod visibility_tests;
mod why_possible;
pub mod wired_uses;
pub mod word_index;
