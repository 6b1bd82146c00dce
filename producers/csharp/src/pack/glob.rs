//! Names with wildcards, in filters and tags: `*` matches any run of characters, `?` one character. Case-insensitive.

use crate::types::without_arities;
use engine::values::case_folding::folded;
use engine::values::wildcard::Wildcard;

/// Maximum length of a pattern, in bytes.
pub const LONGEST: usize = 256;

/// A pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Glob {
    folded: Wildcard,
    dotted: bool,
}

impl Glob {
    /// Parses a text as a pattern.
    pub fn new(text: &str) -> Self {
        Self {
            folded: Wildcard::new(&folded(text)),
            dotted: text.contains('.'),
        }
    }

    /// Whether it has no wildcard.
    pub fn is_plain(&self) -> bool {
        self.folded.is_plain()
    }

    pub fn matches(&self, name: &str) -> bool {
        self.folded.matches(&folded(name))
    }

    /// Whether it matches a type. A pattern without a dot is compared with the type's name, and with the last parts of a nested type's name; a
    /// pattern with a dot with the whole symbol path and with its suffixes after a dot.
    pub fn matches_type(&self, name: &Name) -> bool {
        let (whole, ends) = if self.dotted { (0, '.') } else { (name.local, '+') };
        let met = |path: &str| {
            let path = path.get(whole..).unwrap_or_default();
            let mut ends = path.match_indices(ends).map(|(at, end)| &path[at + end.len()..]);
            self.folded.matches(path) || ends.any(|end| self.folded.matches(end))
        };
        met(&name.path) || name.bare.as_deref().is_some_and(met)
    }
}

/// A type's name, as patterns compare it.
#[derive(Clone, Debug)]
pub struct Name {
    path: String,
    /// Path without arity marks, if it has any.
    bare: Option<String>,
    /// Start of the type's own name, after the namespace.
    local: usize,
}

impl Name {
    /// Creates the name from a symbol path and the namespace with which the path begins.
    pub fn new(symbol: &str, namespace: &str) -> Self {
        let local = if namespace.is_empty() { 0 } else { folded(namespace).len() + 1 };
        let bare = symbol.contains('`').then(|| folded(&without_arities(symbol)));
        let path = folded(symbol);
        Self { path, bare, local }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_type_is_meant_by_its_name_or_by_the_end_of_its_path() {
        let name = Name::new("Memo.Core.Tree`2+Node", "Memo.Core");
        for (pattern, meant) in [
            ("Node", true),
            ("node", true),
            ("Tree+Node", true),
            ("Tree`2+Node", true),
            ("Core.Tree+Node", true),
            ("memo.core.tree+node", true),
            ("Memo.*", true),
            ("*.Core.*", true),
            ("Tree*", true),
            ("N?de", true),
            ("Tree", false),
            ("Core*", false),
            ("ore.Tree+Node", false),
            ("Memo.Core.Tree", false),
            ("ode", false),
        ] {
            assert_eq!(Glob::new(pattern).matches_type(&name), meant, "{pattern}");
        }
        assert!(Glob::new("Program").matches_type(&Name::new("Program", "")));
    }

    #[test]
    fn case_is_that_of_names() {
        assert!(Glob::new("É*").matches("état") && Glob::new("straße").matches("STRAßE") && !Glob::new("strasse").matches("straße"));
    }
}
