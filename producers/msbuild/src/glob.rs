//! Item patterns of project files: `**`, `*`, `?`, case-insensitive. A pattern is compiled once; the cost of a match is at most the product of the
//! lengths of pattern and path.

use super::path::{absolute, in_workspace};

/// One pattern, relative to the workspace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Glob {
    /// The folder before the first wildcard, as written; all matches are below it.
    pub base: String,
    /// Lower-cased segments after the folder.
    rest: Vec<Segment>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Segment {
    /// `**`: any number of folders.
    Folders,
    /// Text without wildcards.
    Plain(String),
    /// Text with `*` or `?`.
    Wild(Vec<char>),
}

pub fn is_glob(text: &str) -> bool {
    text.contains(['*', '?'])
}

impl Glob {
    /// Compiles a pattern written in `folder` (absolute); `None` if it leaves the workspace or cannot match (`a**`).
    pub fn new(folder: &str, pattern: &str) -> Option<Self> {
        let pattern = pattern.replace('\\', "/");
        let first = pattern.find(['*', '?']).unwrap_or(pattern.len());
        let cut = pattern[..first].rfind('/').map_or(0, |slash| slash + 1);
        let base = absolute(folder, if cut == 1 { "/" } else { &pattern[..cut] });
        let base = in_workspace(&base)?.to_owned();
        let mut rest = Vec::new();
        for segment in pattern[cut..].split('/') {
            match segment {
                "" | "." => {}
                // `..` after a wildcard has no fixed meaning.
                ".." => return None,
                "**" => {
                    if rest.last() != Some(&Segment::Folders) {
                        rest.push(Segment::Folders);
                    }
                }
                text if text.contains("**") => return None,
                text if is_glob(text) => rest.push(Segment::Wild(text.to_lowercase().chars().collect())),
                text => rest.push(Segment::Plain(text.to_lowercase())),
            }
        }
        // A final `**` matches the files below.
        if rest.last() == Some(&Segment::Folders) {
            rest.push(Segment::Wild(vec!['*']));
        }
        Some(Self { base, rest })
    }

    /// Whether a path relative to the workspace matches.
    pub fn matches(&self, path: &str) -> bool {
        self.path_below(path).is_some_and(|rest| self.matches_below(&rest.to_lowercase()))
    }

    /// Returns the part of a path after the base folder.
    fn path_below<'p>(&self, path: &'p str) -> Option<&'p str> {
        if self.base.is_empty() {
            return Some(path);
        }
        let head = path.get(..self.base.len())?;
        (head.eq_ignore_ascii_case(&self.base)).then_some(())?;
        path[self.base.len()..].strip_prefix('/')
    }

    fn matches_below(&self, path: &str) -> bool {
        let segments: Vec<&str> = path.split('/').collect();
        starred(
            &self.rest,
            &segments,
            |piece| *piece == Segment::Folders,
            |piece, segment| match piece {
                Segment::Folders => true,
                Segment::Plain(text) => text == segment,
                Segment::Wild(pattern) => wild(pattern, segment),
            },
        )
    }

    /// Returns the folders that the first `**` of the pattern matches in a path (MSBuild's `RecursiveDir`).
    pub fn recursive<'p>(&self, path: &'p str) -> &'p str {
        let rest = self.path_below(path).unwrap_or(path);
        match self.rest.first() {
            Some(Segment::Folders) => rest.rfind('/').map_or("", |slash| &rest[..=slash]),
            _ => "",
        }
    }
}

fn wild(pattern: &[char], text: &str) -> bool {
    // `*.*` matches every file, as on all systems.
    if pattern == ['*', '.', '*'] {
        return true;
    }
    let text: Vec<char> = text.chars().collect();
    starred(pattern, &text, |c| *c == '*', |c, other| *c == '?' || c == other)
}

/// Matches with one kind of star, backtracking only to the last star.
fn starred<P, T>(pattern: &[P], text: &[T], star: impl Fn(&P) -> bool, same: impl Fn(&P, &T) -> bool) -> bool {
    let (mut p, mut t) = (0, 0);
    let mut back: Option<(usize, usize)> = None;
    while t < text.len() {
        if p < pattern.len() && star(&pattern[p]) {
            back = Some((p, t));
            p += 1;
        } else if p < pattern.len() && same(&pattern[p], &text[t]) {
            p += 1;
            t += 1;
        } else if let Some((star_at, from)) = back {
            p = star_at + 1;
            t = from + 1;
            back = Some((star_at, t));
        } else {
            return false;
        }
    }
    pattern[p..].iter().all(star)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn matches_in(folder: &str, pattern: &str) -> Vec<&'static str> {
        let glob = Glob::new(folder, pattern);
        ["a/x.cs", "a/B/y.cs", "a/B/c/z.cs", "a/.git/h.cs", "a/bin/o.cs", "top.cs", "ab/n.cs"]
            .into_iter()
            .filter(|path| glob.as_ref().is_some_and(|glob| glob.matches(path)))
            .collect()
    }

    #[test]
    fn patterns() {
        assert_eq!(
            matches_in("/_/a", "**/*.cs"),
            ["a/x.cs", "a/B/y.cs", "a/B/c/z.cs", "a/.git/h.cs", "a/bin/o.cs"]
        );
        assert_eq!(matches_in("/_/a", "*.cs"), ["a/x.cs"]);
        assert_eq!(matches_in("/_/a", r"b\**"), ["a/B/y.cs", "a/B/c/z.cs"]);
        assert_eq!(matches_in("/_/a", "bin/**"), ["a/bin/o.cs"]);
        assert_eq!(matches_in("/_/a", "**/.*/**"), ["a/.git/h.cs"]);
        assert_eq!(matches_in("/_/a", r"../?o*.cs"), ["top.cs"]);
        assert_eq!(matches_in("/_/a", "**/b/**/z.*"), ["a/B/c/z.cs"]);
        assert_eq!(matches_in("/_", "*/*.cs"), ["a/x.cs", "ab/n.cs"]);
        assert_eq!(matches_in("/_/a", "../../../**/*.cs"), Vec::<&str>::new());
        assert_eq!(matches_in("/_/a", "a**"), Vec::<&str>::new());
        assert_eq!(
            Glob::new("/_/a", "B/**/*.cs").map(|glob| glob.recursive("a/B/c/z.cs").to_owned()),
            Some("c/".to_owned())
        );
    }

    /// The reference implementation, without regard to cost.
    fn naive(pattern: &[&str], path: &[&str]) -> bool {
        fn text(pattern: &[u8], path: &[u8]) -> bool {
            match (pattern.first(), path.first()) {
                (None, None) => true,
                (Some(b'*'), _) => text(&pattern[1..], path) || !path.is_empty() && text(pattern, &path[1..]),
                (Some(b'?'), Some(_)) => text(&pattern[1..], &path[1..]),
                (Some(a), Some(b)) => a == b && text(&pattern[1..], &path[1..]),
                _ => false,
            }
        }
        match (pattern.first(), path.first()) {
            (None, None) => true,
            (Some(&"**"), _) if pattern.len() == 1 => !path.is_empty(),
            (Some(&"**"), _) => naive(&pattern[1..], path) || !path.is_empty() && naive(pattern, &path[1..]),
            (Some(p), Some(t)) => text(p.as_bytes(), t.as_bytes()) && naive(&pattern[1..], &path[1..]),
            _ => false,
        }
    }

    proptest! {
        #[test]
        fn agrees_with_the_meaning(pattern in prop::collection::vec("[ab]{0,1}[*?]{0,1}[ab]{1,2}|\\*\\*|\\*", 1..5), path in prop::collection::vec("[ab]{1,3}", 1..5)) {
            let glob = Glob::new("/_", &pattern.join("/")).expect("inside");
            // The fixed folder before the first wildcard is part of the pattern.
            let pattern: Vec<&str> = pattern.iter().map(String::as_str).collect();
            let path_segments: Vec<&str> = path.iter().map(String::as_str).collect();
            prop_assert_eq!(glob.matches(&path.join("/")), naive(&pattern, &path_segments));
        }

        #[test]
        fn any_text_is_a_pattern_or_none(pattern: String, path: String) {
            if let Some(glob) = Glob::new("/_/a", &pattern) {
                glob.matches(&path);
                glob.recursive(&path);
            }
        }
    }
}
