//! Languages other than C#: the definitions and uses of a file, as found by a tree-sitter grammar and one query.
//!
//! A language is a folder with a query (`tags.scm`) and an entry in [`grammar::LANGUAGES`]; its ruleset is [generated](ruleset) from one template,
//! and builds on the ruleset `grammars`. Names are not bound: a use is found by its name only. Facts from another program's index ([`crate::scip`])
//! have the same form, and are bound.

pub mod described;
pub mod grammar;
pub mod model;
pub mod names;
pub mod outline;
pub mod selector;
pub mod source_sets;
mod surroundings;
pub mod tags;

/// Returns the manifest text of a language's ruleset: the template with this language filled in.
pub(crate) fn ruleset(language: &grammar::Language) -> String {
    let endings = language.dialects.iter().flat_map(|dialect| dialect.endings);
    let globs: Vec<String> = endings.map(|ending| format!("\"**/*.{ending}\"")).collect();
    include_str!("../../rulesets/language.toml")
        .replace("{{language}}", language.name)
        .replace("{{include}}", &globs.join(", "))
}

pub fn register_languages(registry: &mut engine::seams::producer::Registry) {
    registry.add(source_sets::Files);
    registry.add(tags::Tags);
    registry.add(outline::Outline);
    registry.add(described::Described);
    registry.add(names::NAMES);
    registry.add(names::USES);
}
