//! Patterns: texts that match many labels, such as `//types/MemoTree.Core.*:outline` or `-//types/*Tests:semantic`.
//!
//! `*` is any run of characters within one package segment or target, and `?` is one character. `...` as the whole last segment is that
//! package and everything below it, and `...#` the items of those. Without `:target`, a pattern matches every target. A leading `-`
//! excludes. Patterns match packages in label form, where a reserved character of a file name is three characters (`%2A`). They know no
//! graph.

use super::label::{Label, LabelError, halves};
use super::wildcard::Wildcard;
use std::fmt;

/// One well-formed pattern.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Pattern {
    negative: bool,
    package: Vec<Wildcard>,
    below: bool,
    /// The part behind the `#` of `...#`.
    item: Option<Wildcard>,
    target: Option<Wildcard>,
}

/// Patterns in order: each includes or excludes, and the last one that matches a label decides.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct PatternSet {
    patterns: Vec<Pattern>,
}

impl Pattern {
    /// Parses `[-]//package[:target]`.
    pub fn parse(text: &str) -> Result<Self, LabelError> {
        let (negative, plain) = text.strip_prefix('-').map_or((false, text), |plain| (true, plain));
        let shift = text.len() - plain.len();
        let Some(rest) = plain.strip_prefix("//") else {
            return Err(pattern_error(
                shift,
                "a pattern begins with '//'",
                "write //package:target, such as //types/...:outline",
            ));
        };
        let (package, target) = rest
            .rsplit_once(':')
            .map_or((rest, None), |(package, target)| (package, Some(target)));
        let (package, item) = match package.split_once("...#") {
            Some((head, item)) if head.is_empty() || head.ends_with('/') => (&package[..head.len() + 3], Some(item)),
            _ => (package, None),
        };
        let (package, below) = match package.strip_suffix("...") {
            Some("") => ("", true),
            Some("/") => return Err(pattern_error(shift + 2, "a package has an empty segment", "write //...")),
            Some(head) if head.ends_with('/') => (&head[..head.len() - 1], true),
            _ => (package, false),
        };
        let mut at = shift + 2;
        for segment in package.split('/') {
            if segment == "..." {
                return Err(pattern_error(
                    at,
                    "'...' is allowed only at the end of a package",
                    "write //types/...:outline",
                ));
            }
            if segment.ends_with("...") {
                let hint = "write '*' for the rest of a segment or '/...' for everything below; '?' matches a real dot";
                return Err(pattern_error(at + segment.len() - 3, "'...' is a whole segment", hint));
            }
            at += segment.len() + 1;
        }
        check_with_wildcards(package, target, below).map_err(|error| LabelError {
            at: error.at + shift,
            ..error
        })?;
        if let Some(item) = item {
            let at = shift + rest.len() - rest.split_once("...#").map_or(0, |(_, item)| item.len());
            check_with_wildcards(item, None, false).map_err(|error| LabelError {
                at: error.at + at,
                ..error
            })?;
        }
        let segments = if package.is_empty() {
            Vec::new()
        } else {
            package.split('/').map(Wildcard::new).collect()
        };
        Ok(Self {
            negative,
            package: segments,
            below,
            item: item.map(Wildcard::new),
            target: target.map(Wildcard::new),
        })
    }

    /// Whether it excludes labels.
    pub fn is_negative(&self) -> bool {
        self.negative
    }

    /// Whether it matches the label `//package:target` (to include or exclude it).
    pub fn matches(&self, package: &str, target: &str) -> bool {
        self.may_match_target(target) && self.matches_package(package)
    }

    /// Whether it may match some target of `package`.
    pub fn matches_package(&self, package: &str) -> bool {
        let mut segments = package.split('/');
        for wild in &self.package {
            if !segments.next().is_some_and(|segment| wild.matches(segment)) {
                return false;
            }
        }
        let Some(item) = &self.item else {
            return self.below || segments.next().is_none();
        };
        segments.next_back().and_then(halves).is_some_and(|(_, own)| item.matches(own))
    }

    /// Whether it may match a label of this family (first package segment).
    pub fn may_match_family(&self, family: &str) -> bool {
        self.package.first().is_none_or(|wild| wild.matches(family))
    }

    /// Whether it may match a label with this target.
    pub fn may_match_target(&self, target: &str) -> bool {
        self.target.as_ref().is_none_or(|wild| wild.matches(target))
    }

    /// Returns the only label it matches, if it has a target and no wildcard.
    pub fn literal(&self) -> Option<Label> {
        let target = self.target.as_ref()?;
        let plain = !self.below && self.package.iter().chain([target]).all(|wild| wild.is_plain());
        if !plain {
            return None;
        }
        Label::new(&self.package_text(), target.text()).ok()
    }

    /// Returns the package if it has no wildcard, so that only the targets are open.
    pub fn plain_package(&self) -> Option<String> {
        let plain = !self.below && !self.package.is_empty() && self.package.iter().all(Wildcard::is_plain);
        plain.then(|| self.package_text())
    }

    /// Returns the package and the item behind the `#` in its last segment, as written; `None` without a `#`. Only patterns with one match targets
    /// of two variables.
    pub fn joined_package(&self) -> Option<(String, String)> {
        let text = self.package_text();
        let (package, item) = match &self.item {
            Some(item) => (self.package_and_below(), item.text()),
            None => halves(&text)
                .filter(|_| !self.below)
                .map(|(package, item)| (package.to_owned(), item))?,
        };
        Some((package, item.to_owned()))
    }

    /// Returns the package with the `...` at its end.
    fn package_and_below(&self) -> String {
        let package = self.package_text();
        match (self.below, package.is_empty()) {
            (false, _) => package,
            (true, true) => "...".to_owned(),
            (true, false) => format!("{package}/..."),
        }
    }

    fn package_text(&self) -> String {
        self.package.iter().map(|wild| wild.text()).collect::<Vec<_>>().join("/")
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.negative { "-" } else { "" };
        write!(f, "{sign}//{}", self.package_and_below())?;
        if let Some(item) = &self.item {
            write!(f, "#{}", item.text())?;
        }
        self.target.as_ref().map_or(Ok(()), |target| write!(f, ":{}", target.text()))
    }
}

impl PatternSet {
    /// Parses patterns; refuses a set that only excludes, since it would silently match nothing. Errors: every wrong pattern, with its
    /// index.
    pub fn parse(texts: &[String]) -> Result<Self, Vec<(usize, LabelError)>> {
        let mut patterns = Vec::with_capacity(texts.len());
        let mut errors = Vec::new();
        for (index, text) in texts.iter().enumerate() {
            match Pattern::parse(text) {
                Ok(pattern) => patterns.push(pattern),
                Err(error) => errors.push((index, error)),
            }
        }
        if errors.is_empty() && !patterns.is_empty() && patterns.iter().all(Pattern::is_negative) {
            errors.push((
                0,
                pattern_error(
                    0,
                    "these patterns only exclude targets",
                    "name the targets to include first, such as //...",
                ),
            ));
        }
        if errors.is_empty() { Ok(Self { patterns }) } else { Err(errors) }
    }

    /// Returns the patterns in order.
    pub fn patterns(&self) -> &[Pattern] {
        &self.patterns
    }

    /// Whether the set contains the label: the last pattern that matches decides.
    pub fn matches(&self, package: &str, target: &str) -> bool {
        self.patterns
            .iter()
            .rev()
            .find(|pattern| pattern.matches(package, target))
            .is_some_and(|pattern| !pattern.negative)
    }

    /// Whether it may contain a label of this family.
    pub fn may_match_family(&self, family: &str) -> bool {
        self.patterns
            .iter()
            .any(|pattern| !pattern.negative && pattern.may_match_family(family))
    }

    /// Whether it may contain a label with this target.
    pub fn may_match_target(&self, target: &str) -> bool {
        self.patterns
            .iter()
            .any(|pattern| !pattern.negative && pattern.may_match_target(target))
    }
}

impl From<Pattern> for PatternSet {
    fn from(pattern: Pattern) -> Self {
        Self { patterns: vec![pattern] }
    }
}

/// Checks package and target as those of a label with letters for wildcards; keeps offsets.
fn check_with_wildcards(package: &str, target: Option<&str>, below: bool) -> Result<(), LabelError> {
    let letters = |text: &str| text.replace(['*', '?'], "_");
    let shown = if package.is_empty() && below { "..." } else { package };
    let package = if package.is_empty() && below {
        "___".to_owned()
    } else {
        letters(package)
    };
    let skipped = if below && shown != "..." { "/...".len() } else { 0 };
    let colon = 2 + package.len();
    Label::parse(&format!("//{package}:{}", target.map_or("_".to_owned(), letters)))
        .map(|_| ())
        .map_err(|error| LabelError {
            at: if error.at > colon { error.at + skipped } else { error.at },
            ..error
        })
}

fn pattern_error(at: usize, message: &str, hint: &str) -> LabelError {
    LabelError {
        message: message.to_owned(),
        at,
        hint: Some(hint.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn parse(text: &str) -> Pattern {
        Pattern::parse(text).expect(text)
    }

    #[test]
    fn forms() {
        for (pattern, package, target, expected) in [
            ("//...", "types/A", "x", true),
            ("//types/...", "types", "x", true),
            ("//types/...", "types/A/B", "x", true),
            ("//types/...", "typesX/A", "x", false),
            ("//types/...:semantic", "types/A", "semantic", true),
            ("//types/...:semantic", "types/A", "outline", false),
            ("//types/MemoTree.Core.*:outline", "types/MemoTree.Core.NodeStore", "outline", true),
            ("//types/MemoTree.Core.*:outline", "types/MemoTree.Core", "outline", false),
            ("//types/A.B:*", "types/A.B", "impl", true),
            ("//files/src/*:source", "files/src/a/b.cs", "source", false),
            ("//files/*/b.cs:source", "files/src/b.cs", "source", true),
            ("//index:types", "index", "types", true),
            ("//types/NodeStore", "types/NodeStore", "role", true),
            ("//types/NodeStore", "types/NodeStore/x", "role", false),
            ("//types/N?deStore:r*e", "types/NödeStore", "role", true),
            ("-//types/*Tests:semantic", "types/FooTests", "semantic", true),
            ("//types/...#*:code", "types/A#M(int)", "code", true),
            ("//files/...#N.*:part", "files/src/a.cs#N.A", "part", true),
            ("//files/...#N.*:part", "files/src/a.cs#M.A", "part", false),
            ("//files/src/...#*:part", "files/src/b/a.cs", "part", false),
            ("//...#*", "types/A#M", "code", true),
            ("//a/*b?c*d:t", "a/xxbbbcd", "t", true),
            ("//a/*b?c*d:t", "a/xxbbcc", "t", false),
            ("//a/ab*ba:t", "a/aba", "t", false),
        ] {
            assert_eq!(parse(pattern).matches(package, target), expected, "{pattern} {package}:{target}");
        }
    }

    #[test]
    fn errors_name_the_place_and_a_way_out() {
        for (text, at) in [
            ("types/A", 0),
            ("-types/A", 1),
            ("//types/.../x:y", 8),
            ("//types/Memo...", 12),
            ("//", 2),
            ("//a//b", 4),
            ("//a/..:x", 4),
            ("//a:", 4),
            ("-//a/b:x y", 8),
            ("//a/...:x y", 9),
            ("//...:x y", 7),
            ("//a/...#:x", 8),
            ("///...:x", 2),
            ("//a/%zz", 4),
        ] {
            let error = Pattern::parse(text).expect_err(text);
            assert_eq!(error.at, at, "{text}: {error}");
            assert!(error.hint.is_some(), "{text}");
        }
    }

    #[test]
    fn literal_only_without_wildcards() {
        assert_eq!(parse("//index:types").literal(), Label::parse("//index:types").ok());
        for text in ["//index", "//index:*", "//index/...:types", "//inde?:types", "//...:types"] {
            assert_eq!(parse(text).literal(), None, "{text}");
        }
    }

    #[test]
    fn later_patterns_win() {
        let set = |texts: &[&str]| PatternSet::parse(&texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>());
        let tests = set(&["//types/...", "-//types/*Tests", "//types/Kept*"]).expect("well-formed");
        assert!(tests.matches("types/A", "x"));
        assert!(!tests.matches("types/ATests", "x"));
        assert!(tests.matches("types/KeptTests", "x"));
        assert!(tests.may_match_family("types") && !tests.may_match_family("files"));
        let targets = set(&["//types/...:role", "-//types/...:impl"]).expect("well-formed");
        assert!(targets.may_match_target("role") && !targets.may_match_target("impl"));
        assert_eq!(
            set(&["a", "//b", "//c:"])
                .expect_err("two are wrong")
                .iter()
                .map(|(index, _)| *index)
                .collect::<Vec<_>>(),
            [0, 2]
        );
        assert_eq!(
            set(&["-//a"]).expect_err("only takes away")[0].1.message,
            "these patterns only exclude targets"
        );
        assert!(!PatternSet::parse(&[]).expect("empty").matches("a", "b"));
    }

    #[test]
    fn star_bombs_end() {
        let bomb = parse(&format!("//{}b:t", "a*".repeat(20_000)));
        assert!(!bomb.matches(&"a".repeat(200_000), "t"));
        assert!(bomb.matches(&format!("{}b", "a".repeat(200_000)), "t"));
        let questions = parse(&format!("//{}b:t", "*?a".repeat(5_000)));
        assert!(!questions.matches(&"a".repeat(200_000), "t"));
    }

    proptest! {
        #[test]
        fn display_round_trips(text in "-?//([A-Za-z*?.é]{0,5}/){0,3}([a-z*?]{1,4}|\\.\\.\\.)(:[a-z*?]{1,5})?") {
            if let Ok(pattern) = Pattern::parse(&text) {
                prop_assert_eq!(pattern.to_string(), text.clone());
                prop_assert_eq!(Pattern::parse(&pattern.to_string()), Ok(pattern));
            }
        }

        #[test]
        fn literals_match_themselves_alone(text in "//[a-z]{1,4}(/[A-Za-z0-9.+`#]{1,6}){0,2}:[a-z]{1,5}", other in "//[a-z]{1,4}:[a-z]{1,2}") {
            // In a pattern, `...` stands for any packages.
            prop_assume!(!text.contains("..."));
            if let (Ok(pattern), Ok(label), Ok(other)) = (Pattern::parse(&text), Label::parse(&text), Label::parse(&other)) {
                prop_assert_eq!(pattern.literal(), Some(label.clone()));
                prop_assert!(pattern.matches(label.package(), label.target()));
                prop_assert!(pattern.may_match_family(label.family()));
                prop_assert_eq!(pattern.matches(other.package(), other.target()), label == other);
            }
        }

        #[test]
        fn parsing_never_panics(text: String, slashed in "-?//[-/:.*?%a\u{e9}]{0,12}") {
            let _ = Pattern::parse(&text);
            if let Err(error) = Pattern::parse(&slashed) {
                prop_assert!(error.at <= slashed.len());
            }
        }
    }
}
