//! Properties of a project, and the inputs from outside of its files.

use super::xml::Element;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// External inputs: parameters of the producer, and the solution.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// Global properties; nothing in a project overrides them.
    pub globals: BTreeMap<String, String>,
    /// `linux`, `windows` or `osx`.
    pub os: String,
    /// Path of the solution that lists the project.
    pub solution: Option<String>,
}

/// The files that an evaluation may read.
pub type Files<'a> = BTreeMap<&'a str, &'a Element>;

/// Properties by lower-cased name.
#[derive(Clone, Debug, Default)]
pub struct Properties {
    values: FxHashMap<String, String>,
}

impl Properties {
    /// Returns the value of a property; `""` if unset.
    pub fn get(&self, name: &str) -> &str {
        self.values.get(&name.to_ascii_lowercase()).map_or("", String::as_str)
    }

    /// Whether a property was ever set, even to an empty value.
    pub fn is_set(&self, name: &str) -> bool {
        self.values.contains_key(&name.to_ascii_lowercase())
    }

    /// Sets a property.
    pub fn set_property(&mut self, name: &str, value: impl Into<String>) {
        self.values.insert(name.to_ascii_lowercase(), value.into());
    }

    /// Sets a property if it is empty.
    pub fn default_to(&mut self, name: &str, value: &str) {
        if self.get(name).is_empty() {
            self.set_property(name, value);
        }
    }

    /// Whether a property is `true` or a synonym.
    pub fn is_true(&self, name: &str) -> bool {
        ["true", "on", "yes", "enable"]
            .iter()
            .any(|word| self.get(name).trim().eq_ignore_ascii_case(word))
    }
}

/// Returns `text` without a prefix, ignoring case.
pub fn strip_prefix_ignoring_case<'t>(text: &'t str, prefix: &str) -> Option<&'t str> {
    let head = text.get(..prefix.len())?;
    head.eq_ignore_ascii_case(prefix).then(|| &text[prefix.len()..])
}
