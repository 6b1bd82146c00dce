//! The built-in rulesets: plain manifest text, as `cortex rules show` prints it.

/// Names of all built-in rulesets.
pub const NAMES: &[&str] = &["csharp"];

/// The text of a built-in ruleset.
pub fn text(name: &str) -> Option<&'static str> {
    match name {
        "csharp" => Some(include_str!("../rulesets/csharp.toml")),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_has_a_text() {
        assert!(NAMES.iter().all(|name| text(name).is_some_and(|text| text.contains("[[rule]]"))));
        assert_eq!(text("none"), None);
    }
}
