//! The built-in rulesets: plain manifest text, as `cortex rules show` prints it.

use crate::languages::grammar::LANGUAGES;
use crate::languages::ruleset;
use std::collections::BTreeMap;
use std::sync::LazyLock;

/// Names of all built-in rulesets: those with a file of their own, and the [languages](LANGUAGES), whose rulesets come from one template.
pub const NAMES: &[&str] = &["csharp", "embeddings", "grammars", "python", "scip", "typescript"];

/// Returns the text of a built-in ruleset.
pub fn text(name: &str) -> Option<&'static str> {
    static MADE: LazyLock<BTreeMap<&str, String>> =
        LazyLock::new(|| LANGUAGES.iter().map(|language| (language.name, ruleset(language))).collect());
    match name {
        "csharp" => Some(include_str!("../rulesets/csharp.toml")),
        "embeddings" => Some(include_str!("../rulesets/embeddings.toml")),
        "grammars" => Some(include_str!("../rulesets/grammars.toml")),
        "scip" => Some(include_str!("../rulesets/scip.toml")),
        _ => MADE.get(name).map(String::as_str),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_has_a_text() {
        assert!(
            NAMES
                .iter()
                .all(|name| text(name).is_some_and(|text| text.contains("[sources") || text.contains("[[rule]]")))
        );
        assert!(LANGUAGES.iter().all(|language| NAMES.contains(&language.name)));
        assert_eq!(text("none"), None);
    }

    #[test]
    fn every_producer_that_is_used_is_registered() {
        let mut registry = engine::seams::producer::Registry::default();
        crate::register(
            &mut registry,
            std::sync::Arc::new(llm::Refusing),
            std::sync::Arc::new(command::Nothing),
        );
        let used = NAMES
            .iter()
            .filter_map(|name| text(name))
            .flat_map(|text| text.split("uses = \"").skip(1));
        let missing: Vec<&str> = used
            .filter_map(|rest| rest.split('"').next())
            .filter(|name| registry.get(name).is_none())
            .collect();
        assert_eq!(missing, Vec::<&str>::new());
    }
}
