//! C# knowledge: source text to declarations, hashes, dependencies and outlines.

pub mod aliases;
pub mod api;
pub mod api_sections;
mod attribute_places;
pub mod attributes;
#[cfg(test)]
mod bounded_tests;
mod brackets;
pub mod canonical;
mod changed_files;
mod chunks;
pub mod code;
mod collection_builder;
pub mod complete;
pub mod conflicts;
pub mod declared_names;
mod defaults;
pub mod defines;
pub mod dependencies;
pub mod deps;
mod duplicates;
#[cfg(test)]
mod edit_tests;
mod escapes;
mod file_defines;
mod file_part;
#[cfg(test)]
pub(crate) mod fixture;
pub mod flags;
#[cfg(test)]
mod fold_tests;
pub mod generated;
pub mod graph;
mod graph_update;
pub mod groups;
pub mod hashes;
pub mod ids;
mod if_condition;
pub mod implementation;
mod index_entries;
pub mod index_json;
pub mod keywords;
#[cfg(test)]
mod knowledge_tests;
pub mod lexer;
pub mod lines;
#[cfg(test)]
mod long_code_tests;
mod member_places;
pub mod members;
pub mod mention_model;
pub mod mentions;
pub mod model;
pub mod names;
mod namespaces;
pub mod outline;
pub mod outline_info;
#[cfg(test)]
mod outline_tests;
pub mod outside_types;
mod own_constants;
pub mod pack;
pub mod parse;
pub mod preprocess;
pub mod priority;
pub mod project_ownership;
pub mod related_types;
pub mod renamed_members;
pub mod render;
mod short_ids;
pub mod split_types;
pub mod structure;
pub mod symbols;
mod symbols_update;
pub mod syntax;
pub mod syntax_table;
pub mod table_union;
mod token_places;
pub mod types;
mod types_update;
mod undecided_names;
#[cfg(test)]
mod update_tests;
pub mod usages;
#[cfg(test)]
mod uses_property_tests;
#[cfg(test)]
mod uses_tests;
pub mod variants;
pub mod xmldoc;

#[cfg(test)]
extern crate self as csharp;

pub fn register_csharp(registry: &mut engine::seams::producer::Registry) {
    registry.add(variants::Variants);
    registry.add(file_defines::Defines);
    registry.add(table_union::TableUnion);
    syntax::register_syntax(registry);
    names::register_names(registry);
    msbuild::register_projects(registry);
    registry.add(types::Types);
    registry.add(symbols::Symbols);
    registry.add(complete::CompleteType);
    registry.add(structure::Structure);
    registry.add(implementation::Implementation);
    registry.add(xmldoc::XmlDoc);
    registry.add(mentions::MentionsOf);
    registry.add(code::facts::FactsOf);
    registry.add(deps::signatures::Signatures);
    registry.add(chunks::Chunks);
    registry.add(deps::chunk_signatures::ChunkSignatures);
    registry.add(deps::declarations::Declarations);
    registry.add(deps::member_index::MemberIndex);
    registry.add(deps::Reach);
    registry.add(deps::api::ApiDeps);
    registry.add(deps::Deps);
    registry.add(file_part::FilePart);
    registry.add(lines::LinesOf);
    registry.add(usages::Usages);
    registry.add(dependencies::DependencyTable);
    registry.add(graph::Graph);
    registry.add(groups::Groups);
    registry.add(members::Members);
    registry.add(members::OneMember);
    registry.add(outline_info::OutlineInfo);
    registry.add(outline::Outline);
    registry.add(api_sections::ApiSections);
    registry.add(api::Api);
    registry.add(index_entries::IndexEntries);
    registry.add(index_json::IndexJson);
    registry.add(conflicts::Conflicts);
    pack::register_packs(registry);
}
