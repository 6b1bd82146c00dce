//! Source sets compiled to matchers: which directories may contain files of a set, and which sets a path belongs to.
//!
//! Knows nothing about the disk. A scan enters a directory only while some include glob can still match below it, so `docs/**/*.md` never
//! reads outside `docs`. Each glob is split at its slashes. The bits of a word are the positions in the glob that a directory's path can
//! have reached. Globs without wildcards are looked up instead of compiled: a manifest may have a hundred thousand.

use crate::seams::world::{MAX_SETS, SetDef, WorldError};
use crate::values::digest::Digest;
use globset::{Candidate, GlobBuilder, GlobMatcher, GlobSet, GlobSetBuilder};
use rustc_hash::FxHashMap;

/// Directories that are never entered, at any level.
pub(crate) const NEVER: [&str; 2] = [".git", ".cortex"];

/// Maximum length of a glob: compiling longer ones, or deeper braces, would take too much time and stack.
const MAX_GLOB_LEN: usize = 1024;
const MAX_BRACES: usize = 64;

/// A digest of the definitions, cut to a word. A row with another fingerprint was listed for other sets.
pub(crate) fn fingerprint(sets: &[SetDef]) -> u64 {
    let mut bytes = b"cortex source sets 1\n".to_vec();
    let mut field = |text: &str| {
        bytes.extend_from_slice(&(text.len() as u64).to_le_bytes());
        bytes.extend_from_slice(text.as_bytes());
    };
    for set in sets {
        field("set");
        set.include.iter().for_each(|glob| field(glob));
        field("not");
        set.exclude.iter().for_each(|glob| field(glob));
        field(if set.gitignore { "honour" } else { "all" });
    }
    super::stamp::u64_at(&Digest::of(&bytes).0, 0)
}

pub(crate) struct Globs {
    includes: Vec<Include>,
    include_set: GlobSet,
    plain: Plain,
    exclude_set: GlobSet,
    exclude_owner: Vec<usize>,
    honours_ignores: Vec<bool>,
}

/// Include globs that are plain paths. Numbers are sets as bits of a word.
#[derive(Default)]
struct Plain {
    /// Sets with such a glob.
    sets: u64,
    files: FxHashMap<String, u64>,
    /// Sets with such a path below a directory.
    directories: FxHashMap<String, u64>,
}

struct Include {
    owner: usize,
    steps: Vec<GlobStep>,
}

enum GlobStep {
    /// `**`, or a part that must be treated like it.
    Any,
    /// A glob for one component.
    One { matcher: GlobMatcher, dotted: bool },
}

/// Positions reached in each include glob at a directory. All zero: nothing below it can belong to any set.
#[derive(Clone, Debug)]
pub(crate) struct GlobReach {
    /// Per compiled glob, the positions as bits.
    globs: Vec<u64>,
    /// Sets with a plain path below.
    plain: u64,
}

impl GlobReach {
    /// Whether anything below can belong to a set.
    pub(crate) fn alive(&self) -> bool {
        self.plain != 0 || self.globs.iter().any(|bits| *bits != 0)
    }
}

impl Globs {
    pub(crate) fn new(sets: &[SetDef]) -> Result<Self, WorldError> {
        if sets.len() > MAX_SETS {
            return Err(WorldError::TooManySets { count: sets.len() });
        }
        let mut includes = Vec::new();
        let mut plain = Plain::default();
        let (mut include_set, mut exclude_set) = (GlobSetBuilder::new(), GlobSetBuilder::new());
        let mut exclude_owner = Vec::new();
        for (owner, set) in sets.iter().enumerate() {
            for glob in &set.include {
                let glob = normalize(glob);
                if is_plain_glob(&glob) {
                    plain.add_path(glob, 1 << owner);
                    continue;
                }
                include_set.add(compile(set, &glob)?);
                includes.push(Include {
                    owner,
                    steps: steps(set, &glob)?,
                });
            }
            for glob in &set.exclude {
                let glob = normalize(glob);
                exclude_set.add(compile(set, &glob)?);
                exclude_owner.push(owner);
                if let Some(directory) = glob.strip_suffix("/**") {
                    exclude_set.add(compile(set, directory)?);
                    exclude_owner.push(owner);
                }
            }
        }
        let build = |builder: GlobSetBuilder| {
            let set = sets.first().map_or_else(String::new, |set| set.name.clone());
            builder.build().map_err(|error| WorldError::BadGlob {
                set,
                glob: String::new(),
                reason: error.kind().to_string(),
            })
        };
        Ok(Self {
            includes,
            plain,
            include_set: build(include_set)?,
            exclude_set: build(exclude_set)?,
            exclude_owner,
            honours_ignores: sets.iter().map(|set| set.gitignore).collect(),
        })
    }

    /// Whether any set respects `.gitignore` files.
    pub(crate) fn any_honours_ignores(&self) -> bool {
        self.honours_ignores.contains(&true)
    }

    /// Returns the state at the workspace root.
    pub(crate) fn reach_at_root(&self) -> GlobReach {
        GlobReach {
            globs: self.includes.iter().map(|include| include.add_reached_positions(1)).collect(),
            plain: self.plain.sets,
        }
    }

    /// Returns the state in the directory `path`, whose last component is `name`, from that of its parent. Calls `ignored` at most once.
    pub(crate) fn reach_in_directory(&self, reach: &GlobReach, name: &str, path: &str, ignored: impl FnOnce() -> bool) -> GlobReach {
        let mut next = GlobReach {
            globs: vec![0; reach.globs.len()],
            plain: 0,
        };
        if NEVER.contains(&name) {
            return next;
        }
        for ((bits, include), next) in reach.globs.iter().zip(&self.includes).zip(&mut next.globs) {
            *next = include.advance(*bits, name);
        }
        if reach.plain != 0 {
            next.plain = reach.plain & self.plain.directories.get(path).copied().unwrap_or(0);
        }
        if !next.alive() {
            return next;
        }
        let gone = self.excluded(path);
        let mut ignored = Some(ignored);
        let mut verdict = None;
        next.plain &= !gone;
        let honouring = self.sets_with_ignores();
        if next.plain & honouring != 0 && *verdict.get_or_insert_with(|| ignored.take().is_some_and(|ask| ask())) {
            next.plain &= !honouring;
        }
        for (bits, include) in next.globs.iter_mut().zip(&self.includes) {
            if *bits == 0 {
                continue;
            }
            let hidden = self.honours_ignores[include.owner] && *verdict.get_or_insert_with(|| ignored.take().is_some_and(|ask| ask()));
            if hidden || gone & (1 << include.owner) != 0 {
                *bits = 0;
            }
        }
        next
    }

    /// Returns the sets that the file `path` belongs to, from the state of its directory.
    pub(crate) fn sets_of(&self, reach: &GlobReach, path: &str, ignored: impl FnOnce() -> bool) -> u64 {
        let candidate = Candidate::new(path);
        let mut sets = match reach.plain {
            0 => 0,
            below => below & self.plain.files.get(path).copied().unwrap_or(0),
        };
        for index in self.include_set.matches_candidate(&candidate) {
            if reach.globs[index] != 0 {
                sets |= 1 << self.includes[index].owner;
            }
        }
        if sets == 0 {
            return 0;
        }
        sets &= !self.excluded(path);
        let honouring = self.sets_with_ignores();
        if sets & honouring != 0 && ignored() {
            sets &= !honouring;
        }
        sets
    }

    /// Returns the sets that the path belongs to if there are no ignore files at all.
    pub(crate) fn sets_of_path(&self, path: &str) -> u64 {
        let mut reach = self.reach_at_root();
        let mut at = 0;
        while let Some(slash) = path[at..].find('/') {
            reach = self.reach_in_directory(&reach, &path[at..at + slash], &path[..at + slash], || false);
            at += slash + 1;
        }
        self.sets_of(&reach, path, || false)
    }

    /// Returns the sets that respect `.gitignore` files.
    fn sets_with_ignores(&self) -> u64 {
        let honouring = (0..self.honours_ignores.len()).filter(|set| self.honours_ignores[*set]);
        honouring.fold(0, |bits, set| bits | 1u64 << set)
    }

    fn excluded(&self, path: &str) -> u64 {
        if self.exclude_owner.is_empty() {
            return 0;
        }
        self.exclude_set
            .matches(path)
            .into_iter()
            .fold(0, |bits, index| bits | 1 << self.exclude_owner[index])
    }
}

impl Plain {
    fn add_path(&mut self, path: String, set: u64) {
        self.sets |= set;
        let mut directory = path.as_str();
        while let Some((above, _)) = directory.rsplit_once('/') {
            match self.directories.get_mut(above) {
                // Its ancestors are marked already.
                Some(sets) if *sets & set != 0 => break,
                Some(sets) => *sets |= set,
                None => drop(self.directories.insert(above.to_owned(), set)),
            }
            directory = above;
        }
        *self.files.entry(path).or_insert(0) |= set;
    }
}

/// Whether a glob matches only the path that it spells.
fn is_plain_glob(glob: &str) -> bool {
    glob.len() <= MAX_GLOB_LEN && !glob.contains(['*', '?', '[', ']', '{', '}', '\\'])
}

impl Include {
    /// Adds the positions reached without consuming a component.
    fn add_reached_positions(&self, mut bits: u64) -> u64 {
        for (index, step) in self.steps.iter().enumerate() {
            if matches!(step, GlobStep::Any) && bits & (1 << index) != 0 {
                bits |= 1 << (index + 1);
            }
        }
        // A completely consumed glob matches the directory itself and nothing below it.
        bits & !(1 << self.steps.len())
    }

    fn advance(&self, bits: u64, name: &str) -> u64 {
        let hidden = name.starts_with('.');
        let mut next = 0;
        for (index, step) in self.steps.iter().enumerate().filter(|(index, _)| bits & (1 << index) != 0) {
            match step {
                GlobStep::Any if !hidden => next |= 1 << index,
                GlobStep::One { matcher, dotted } if (*dotted || !hidden) && matcher.is_match(name) => next |= 1 << (index + 1),
                _ => {}
            }
        }
        self.add_reached_positions(next)
    }
}

/// Normalises a glob: `./a` and `/a` become `a`; `a/` becomes everything below it.
fn normalize(glob: &str) -> String {
    let glob = glob.strip_prefix("./").unwrap_or(glob).trim_start_matches('/');
    if glob.ends_with('/') {
        format!("{glob}**")
    } else {
        glob.to_owned()
    }
}

fn compile(set: &SetDef, glob: &str) -> Result<globset::Glob, WorldError> {
    let bad = |reason: String| WorldError::BadGlob {
        set: set.name.clone(),
        glob: glob.chars().take(120).collect(),
        reason,
    };
    if glob.len() > MAX_GLOB_LEN {
        return Err(bad(format!("it is longer than {MAX_GLOB_LEN} bytes")));
    }
    if glob.matches('{').count() > MAX_BRACES {
        return Err(bad(format!("it has more than {MAX_BRACES} braces")));
    }
    GlobBuilder::new(glob)
        .literal_separator(true)
        .build()
        .map_err(|error| bad(error.kind().to_string()))
}

/// Splits a glob at slashes outside braces and brackets. Some parts become `**`: those with a slash inside braces or brackets, those with a
/// component that is no glob by itself, and those with more components than a word has bits. Entering too many directories is only slow.
fn steps(set: &SetDef, glob: &str) -> Result<Vec<GlobStep>, WorldError> {
    let mut steps = Vec::new();
    for component in components(glob) {
        match component {
            Some(component) if component != "**" && steps.len() < 60 => match compile(set, component) {
                Ok(glob) => steps.push(GlobStep::One {
                    matcher: glob.compile_matcher(),
                    dotted: component.starts_with('.'),
                }),
                Err(_) => steps.push(GlobStep::Any),
            },
            _ if steps.len() < 60 => steps.push(GlobStep::Any),
            _ => {
                steps.push(GlobStep::Any);
                break;
            }
        }
    }
    // The position after the last component stands for the file itself; `**` at the end matches files, too.
    if !matches!(steps.last(), Some(GlobStep::One { .. })) {
        steps.push(GlobStep::Any);
    }
    Ok(steps)
}

/// Returns the components of a glob; `None` for one with a slash inside braces or brackets.
fn components(glob: &str) -> Vec<Option<&str>> {
    let (mut parts, mut start, mut depth, mut nested, mut escaped) = (Vec::new(), 0, 0usize, false, false);
    for (at, c) in glob.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '{' | '[' => depth += 1,
            '}' | ']' => depth = depth.saturating_sub(1),
            '/' if depth > 0 => nested = true,
            '/' => {
                parts.push((!nested).then(|| &glob[start..at]));
                (start, nested) = (at + 1, false);
            }
            _ => {}
        }
    }
    parts.push((!nested).then(|| &glob[start..]));
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(include: &[&str], exclude: &[&str]) -> SetDef {
        let strings = |globs: &[&str]| globs.iter().map(|glob| (*glob).to_owned()).collect();
        SetDef {
            name: "s".into(),
            include: strings(include),
            exclude: strings(exclude),
            gitignore: true,
        }
    }

    fn has(include: &[&str], exclude: &[&str], path: &str) -> bool {
        Globs::new(&[set(include, exclude)]).unwrap().sets_of_path(path) == 1
    }

    #[test]
    fn paths_belong_to_sets_by_include_and_exclude() {
        assert!(has(&["**/*.cs"], &[], "a.cs") && has(&["**/*.cs"], &[], "a/b/c.cs"));
        assert!(!has(&["*.cs"], &[], "a/b.cs"), "a star stops at a slash");
        assert!(has(&["docs/**"], &[], "docs/a/b.md") && has(&["docs/"], &[], "docs/a.md") && has(&["./docs/*.md"], &[], "docs/a.md"));
        assert!(has(&["{src/core,test}/**/*.cs"], &[], "src/core/a.cs") && !has(&["{src/core,test}/**/*.cs"], &[], "src/b/a.cs"));
        assert!(!has(&["**/*.cs"], &["**/obj/**"], "x/obj/a.cs") && !has(&["**/*.cs"], &["obj/"], "obj/a/a.cs"));
        assert!(
            !has(&["**/*.cs"], &["vendor"], "vendor/a/a.cs"),
            "excluding a directory excludes what is below"
        );
        assert!(has(&["**/*.cs"], &["**/*.g.cs"], "a.cs") && !has(&["**/*.cs"], &["**/*.g.cs"], "b/a.g.cs"));
        assert!(
            has(&["a/**/b/*.cs"], &[], "a/b/c.cs") && has(&["a/**/b/*.cs"], &[], "a/x/y/b/c.cs"),
            "two stars may be nothing"
        );
    }

    #[test]
    fn hidden_directories_are_entered_only_by_name() {
        assert!(!has(&["**/*.yml"], &[], ".github/a.yml") && !has(&["*/*.yml"], &[], ".github/a.yml"));
        assert!(has(&[".github/**/*.yml"], &[], ".github/w/a.yml") && has(&["**/.github/*.yml"], &[], "x/.github/a.yml"));
        assert!(!has(&[".git/**"], &[], ".git/config") && !has(&["**/.cortex/**"], &[], "a/.cortex/out/x"));
        assert!(has(&["**/.editorconfig"], &[], "a/.editorconfig"), "hidden files are files");
    }

    #[test]
    fn directories_that_no_glob_can_reach_are_not_entered() {
        let globs = Globs::new(&[set(&["docs/*/x/*.md", "*.sln"], &[])]).unwrap();
        let root = globs.reach_at_root();
        assert!(!globs.reach_in_directory(&root, "src", "src", || false).alive());
        let docs = globs.reach_in_directory(&root, "docs", "docs", || false);
        assert!(docs.alive() && !globs.reach_in_directory(&root, "docs", "docs", || true).alive());
        let a = globs.reach_in_directory(&docs, "a", "docs/a", || false);
        assert!(
            globs.reach_in_directory(&a, "x", "docs/a/x", || false).alive()
                && !globs.reach_in_directory(&a, "y", "docs/a/y", || false).alive()
        );
    }

    #[test]
    fn plain_paths_match_like_globs() {
        let (plain, bracketed) = (["a/b/c.txt", "d.txt", ".x/y"], ["[a]/b/c.txt", "d.tx[t]", ".x/[y]"]);
        for path in ["a/b/c.txt", "d.txt", ".x/y", "a/b", "a/b/c.txt/d", "b/c.txt", "a/d.txt", "y"] {
            for exclude in [&[][..], &["a"], &["a/b/**"], &["*.txt"]] {
                assert_eq!(
                    has(&plain, exclude, path),
                    has(&bracketed, exclude, path),
                    "{path} without {exclude:?}"
                );
            }
        }
        assert!(has(&plain, &[], "a/b/c.txt") && has(&plain, &[], ".x/y") && !has(&plain, &[], "a/b/d.txt"));
        let globs = Globs::new(&[set(&plain, &[])]).unwrap();
        let a = globs.reach_in_directory(&globs.reach_at_root(), "a", "a", || false);
        assert!(a.alive() && !globs.reach_in_directory(&globs.reach_at_root(), "a", "a", || true).alive());
        assert!(globs.reach_in_directory(&a, "b", "a/b", || false).alive() && !globs.reach_in_directory(&a, "c", "a/c", || false).alive());
        assert!(!globs.reach_in_directory(&globs.reach_at_root(), "b", "b", || false).alive());
    }

    #[test]
    fn malformed_and_huge_globs_are_refused() {
        let error = |glob: &str| {
            Globs::new(&[set(&[glob], &[])])
                .err()
                .map(|error| error.to_string())
                .unwrap_or_default()
        };
        assert!(error("a/[z").contains("'a/[z'"), "{}", error("a/[z"));
        assert!(error(&"{".repeat(500)).contains("braces"));
        assert!(error(&"a".repeat(5000)).contains("longer"));
        assert!(matches!(
            Globs::new(&vec![set(&[], &[]); 65]),
            Err(WorldError::TooManySets { count: 65 })
        ));
    }

    #[test]
    fn deep_globs_and_paths_match() {
        assert!(has(
            &[&format!("{}*.cs", "a/".repeat(100))],
            &[],
            &format!("{}x.cs", "a/".repeat(100))
        ));
        assert!(has(&["**/*.cs"], &[], &format!("{}x.cs", "a/".repeat(20_000))));
    }

    #[test]
    fn different_definitions_have_different_fingerprints() {
        let prints: std::collections::BTreeSet<u64> = [
            set(&["a", "b"], &[]),
            set(&["a"], &["b"]),
            set(&["ab"], &[]),
            SetDef {
                gitignore: false,
                ..set(&["a", "b"], &[])
            },
        ]
        .iter()
        .map(|set| fingerprint(std::slice::from_ref(set)))
        .collect();
        assert_eq!(prints.len(), 4);
    }
}
