//! Packages that a query names (`Core.Caching`, `src/Core/Caching`), and how well a type belongs to one: its namespace or the folder of one of its
//! files ends with the package, contains it, or contains a part of it.

/// Strength of the match between a package and a type's namespace or folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Grade {
    /// A name in the namespace or folder contains the last name of the package.
    Part,
    /// The namespace or folder contains all names of the package in succession.
    Whole,
    /// The namespace or folder ends with the package.
    Exact,
}

impl Grade {
    pub fn counts(self) -> f32 {
        match self {
            Self::Exact => 1.0,
            Self::Whole => 0.7,
            Self::Part => 0.4,
        }
    }
}

/// A package as a query names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Package {
    /// Text of the package, as the query writes it.
    pub text: String,
    names: Vec<String>,
}

/// Limit of packages of one query.
const MOST: usize = 8;
/// Least length of a name that may match inside of others.
const LEAST: usize = 4;

impl Package {
    /// Returns the packages that a text names: several names joined by dots or slashes.
    pub fn packages_in_text(text: &str) -> Vec<Self> {
        let mut found: Vec<Self> = Vec::new();
        for word in text.split(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '.' | '/' | '\\'))) {
            let word = word.trim_matches(['.', '/', '\\']);
            let names: Vec<String> = split_names(word).collect();
            let is_package = names.len() > 1 && names.iter().all(|name| name.starts_with(|c: char| c.is_alphabetic() || c == '_'));
            if is_package && !found.iter().any(|known| known.names == names) && found.len() < MOST {
                found.push(Self {
                    text: word.to_owned(),
                    names,
                });
            }
        }
        found
    }

    /// Returns how well a namespace or folder belongs to it.
    pub fn grade(&self, place: &str) -> Option<Grade> {
        let own: Vec<String> = split_names(place).collect();
        if own.ends_with(&self.names) {
            return Some(Grade::Exact);
        }
        if own.windows(self.names.len()).any(|some| some == self.names) {
            return Some(Grade::Whole);
        }
        let last = self.names.last().filter(|last| last.chars().count() >= LEAST)?;
        own.iter().any(|name| name.contains(last.as_str())).then_some(Grade::Part)
    }
}

/// Returns the names of a namespace or path, in lower case.
fn split_names(text: &str) -> impl Iterator<Item = String> {
    text.split(['.', '/', '\\']).filter(|name| !name.is_empty()).map(str::to_lowercase)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grades(query: &str, place: &str) -> Vec<Option<Grade>> {
        Package::packages_in_text(query)
            .iter()
            .map(|package| package.grade(place))
            .collect()
    }

    #[test]
    fn packages_match_in_three_grades() {
        for (query, place, expected) in [
            ("in Core.Caching, please", "Memo.Core.Caching", Some(Grade::Exact)),
            ("core/caching", "src/Core/Caching", Some(Grade::Exact)),
            ("Core.Caching", "Memo.Core.Caching.Tests", Some(Grade::Whole)),
            ("Core.Caching", "Memo.LruCachings", Some(Grade::Part)),
            ("Core.Caching", "Memo.Core", None),
            ("System.IO", "Radio", None),
        ] {
            assert_eq!(grades(query, place), [expected], "{query} {place}");
        }
        assert!(Grade::Exact.counts() > Grade::Whole.counts() && Grade::Whole.counts() > Grade::Part.counts());
    }

    #[test]
    fn prose_and_numbers_name_no_package() {
        for text in ["Version 3.1.2 is out.", "e.g", "one word", "...", "a / b"] {
            let found = Package::packages_in_text(text);
            assert!(found.iter().all(|package| package.text == "e.g"), "{found:?}");
        }
        assert_eq!(Package::packages_in_text("A.B a.b A/B").len(), 1, "one package is named once");
    }
}
