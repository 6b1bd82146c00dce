//! Names with wildcards, in filters and tags: `*` stands for any run of characters, `?` for one. Case does not count.
//!
//! A name is met without going back further than to the last `*`, so that the time for one is at most the product of both lengths, whatever
//! the wildcards.

/// Longest pattern, in characters.
pub const LONGEST: usize = 256;

/// A pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Glob {
    lower: Box<[char]>,
    plain: bool,
    dotted: bool,
}

impl Glob {
    /// The pattern of a text.
    pub fn new(text: &str) -> Self {
        let lower: Box<[char]> = text.chars().flat_map(char::to_lowercase).collect();
        Self {
            plain: !lower.iter().any(|c| matches!(c, '*' | '?')),
            dotted: lower.contains(&'.'),
            lower,
        }
    }

    /// Whether there is no wildcard in it.
    pub fn is_plain(&self) -> bool {
        self.plain
    }

    /// Whether the whole of a [lower-case](lower) name is meant.
    pub fn is(&self, name: &[char]) -> bool {
        if self.plain {
            return *self.lower == *name;
        }
        let (mut at, mut of) = (0, 0);
        let mut star: Option<(usize, usize)> = None;
        while at < name.len() {
            match self.lower.get(of) {
                Some('*') => {
                    star = Some((of, at));
                    of += 1;
                }
                Some(c) if *c == '?' || *c == name[at] => (at, of) = (at + 1, of + 1),
                _ => match star {
                    Some((last, from)) => {
                        (at, of) = (from + 1, last + 1);
                        star = Some((last, from + 1));
                    }
                    None => return false,
                },
            }
        }
        self.lower[of..].iter().all(|c| *c == '*')
    }

    /// Whether a type is meant: without a dot in the pattern by its name, of a nested type also by the last part of it; with one by its whole
    /// symbol path or an end of that which begins behind a dot.
    pub fn means(&self, name: &Name) -> bool {
        let (whole, ends) = if self.dotted { (0, '.') } else { (name.local, '+') };
        let met = |chars: &[char]| {
            let path = &chars[whole.min(chars.len())..];
            let ends = path.iter().enumerate().filter(|(_, c)| **c == ends).map(|(at, _)| at + 1);
            self.is(path) || ends.into_iter().any(|at| self.is(&path[at..]))
        };
        met(&name.path) || name.bare.as_ref().is_some_and(|bare| met(bare))
    }
}

/// A type as patterns see it.
#[derive(Clone, Debug)]
pub struct Name {
    path: Box<[char]>,
    /// Without the numbers of type parameters, where there are any.
    bare: Option<Box<[char]>>,
    /// Where its own name begins, behind the namespace.
    local: usize,
}

impl Name {
    /// A symbol path and the namespace that it begins with.
    pub fn new(symbol: &str, namespace: &str) -> Self {
        let local = if namespace.is_empty() { 0 } else { lower(namespace).len() + 1 };
        let bare = symbol.contains('`').then(|| lower(&without_arity(symbol)));
        let path = lower(symbol);
        Self { path, bare, local }
    }
}

/// A text as [`Glob::is`] compares it.
pub fn lower(text: &str) -> Box<[char]> {
    text.chars().flat_map(char::to_lowercase).collect()
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
    use proptest::prelude::*;

    fn naive(pattern: &[char], name: &[char]) -> bool {
        match pattern.split_first() {
            None => name.is_empty(),
            Some(('*', rest)) => (0..=name.len()).any(|at| naive(rest, &name[at..])),
            Some((c, rest)) => name
                .split_first()
                .is_some_and(|(first, more)| (*c == '?' || c == first) && naive(rest, more)),
        }
    }

    proptest! {
        #[test]
        fn wildcards_mean_what_the_definition_says(pattern in "[abAB*?]{0,7}", name in "[abAB]{0,9}") {
            let expected = naive(&lower(&pattern), &lower(&name));
            prop_assert_eq!(Glob::new(&pattern).is(&lower(&name)), expected, "{} of {}", pattern, name);
        }
    }

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
    fn many_stars_are_no_bomb() {
        let pattern = Glob::new(&format!("{}b", "*a".repeat(LONGEST / 2)));
        let name = lower(&"a".repeat(10_000));
        assert!(!pattern.is(&name));
    }
}
