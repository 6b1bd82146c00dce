//! The built-in rulesets: manifests like any other.

/// Names of the built-in rulesets.
pub const NAMES: &[&str] = &["csharp"];

/// The text of a built-in ruleset.
pub fn text(name: &str) -> Option<&'static str> {
    match name {
        "csharp" => Some(include_str!("../rulesets/csharp.toml")),
        _ => None,
    }
}
