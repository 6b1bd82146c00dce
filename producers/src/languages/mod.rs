//! Languages other than C#: what a file defines and names, as a grammar of tree-sitter and one query find it.
//!
//! A language is a folder with a query (`tags.scm`) and an entry in [`grammar::LANGUAGES`]; its ruleset is [made](ruleset) from one template,
//! and builds on the ruleset `grammars`.
//! Names are not bound: a use is told by its name alone. What an index of another program says ([`crate::scip`]) has the same form, and is bound.

pub mod described;
pub mod grammar;
pub mod model;
pub mod names;
pub mod outline;
pub mod selector;
pub mod source_sets;
mod surroundings;
pub mod tags;

/// The manifest text of a language's ruleset, with this language in the place of the template's words.
pub(crate) fn ruleset(language: &grammar::Language) -> String {
    let endings = language.dialects.iter().flat_map(|dialect| dialect.endings);
    let globs: Vec<String> = endings.map(|ending| format!("\"**/*.{ending}\"")).collect();
    include_str!("../../rulesets/language.toml")
        .replace("{{language}}", language.name)
        .replace("{{include}}", &globs.join(", "))
}

/// Adds the producers.
pub fn register(registry: &mut engine::seams::producer::Registry) {
    registry.add(source_sets::Files);
    registry.add(tags::Tags);
    registry.add(outline::Outline);
    registry.add(described::Described);
    registry.add(names::NAMES);
    registry.add(names::USES);
}
