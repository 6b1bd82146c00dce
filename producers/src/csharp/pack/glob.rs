//! Names with wildcards, in filters and tags: `*` stands for any run of characters, `?` for one. Case does not count.

use engine::values::fold::folded;
use engine::values::wildcard::Wildcard;

/// Longest pattern, in characters.
pub const LONGEST: usize = 256;

/// A pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Glob {
    folded: Wildcard,
    dotted: bool,
}

impl Glob {
    /// The pattern of a text.
    pub fn new(text: &str) -> Self {
        Self {
            folded: Wildcard::new(&folded(text)),
            dotted: text.contains('.'),
        }
    }

    /// Whether there is no wildcard in it.
    pub fn is_plain(&self) -> bool {
        self.folded.is_plain()
    }

    /// Whether the whole of a name is meant.
    pub fn matches(&self, name: &str) -> bool {
        self.folded.matches(&folded(name))
    }

    /// Whether a type is meant: without a dot in the pattern by its name, of a nested type also by the last part of it; with one by its whole
    /// symbol path or an end of that which begins behind a dot.
    pub fn means(&self, name: &Name) -> bool {
        let (whole, ends) = if self.dotted { (0, '.') } else { (name.local, '+') };
        let met = |path: &str| {
            let path = path.get(whole..).unwrap_or_default();
            let mut ends = path.match_indices(ends).map(|(at, end)| &path[at + end.len()..]);
            self.folded.matches(path) || ends.any(|end| self.folded.matches(end))
        };
        met(&name.path) || name.bare.as_deref().is_some_and(met)
    }
}

/// A type as patterns see it.
#[derive(Clone, Debug)]
pub struct Name {
    path: String,
    /// Without the numbers of type parameters, where there are any.
    bare: Option<String>,
    /// Where its own name begins, behind the namespace.
    local: usize,
}

impl Name {
    /// A symbol path and the namespace that it begins with.
    pub fn new(symbol: &str, namespace: &str) -> Self {
        let local = if namespace.is_empty() { 0 } else { folded(namespace).len() + 1 };
        let bare = symbol.contains('`').then(|| folded(&without_arity(symbol)));
        let path = folded(symbol);
        Self { path, bare, local }
    }
}

/// `A.List`1+Node` without the backticks and their numbers.
fn without_arity(symbol: &str) -> String {
    let mut parts = symbol.split('`');
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| text + part.trim_start_matches(|c: char| c.is_ascii_digit()))
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
            assert_eq!(Glob::new(pattern).means(&name), meant, "{pattern}");
        }
        assert!(Glob::new("Program").means(&Name::new("Program", "")));
    }

    #[test]
    fn case_is_that_of_names() {
        assert!(Glob::new("É*").matches("état") && Glob::new("straße").matches("STRAßE") && !Glob::new("strasse").matches("straße"));
    }
}
