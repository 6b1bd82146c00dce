//! The files that projects can see: a sorted list of paths, with lookups of files, folders and ranges below a folder.

use super::glob::Glob;
use super::path::{folder_of_path, in_workspace};
use rustc_hash::{FxHashMap, FxHashSet};
use std::cell::OnceCell;

/// A set of paths relative to the workspace. The case-insensitive indexes are built on first use.
#[derive(Debug, Default)]
pub struct Tree<'p> {
    paths: Vec<&'p str>,
    by_lower: OnceCell<FxHashMap<String, usize>>,
    folders: OnceCell<FxHashSet<String>>,
}

impl<'p> Tree<'p> {
    pub fn new(paths: impl IntoIterator<Item = &'p str>) -> Self {
        let mut paths: Vec<&str> = paths.into_iter().collect();
        paths.sort_unstable();
        paths.dedup();
        Self { paths, ..Self::default() }
    }

    fn by_lower(&self) -> &FxHashMap<String, usize> {
        self.by_lower
            .get_or_init(|| self.paths.iter().enumerate().map(|(at, path)| (path.to_lowercase(), at)).collect())
    }

    /// Returns all folders with a file below them, lower-cased.
    fn folders(&self) -> &FxHashSet<String> {
        self.folders.get_or_init(|| {
            let mut folders = FxHashSet::default();
            for path in &self.paths {
                let mut above = folder_of_path(path);
                while !above.is_empty() && folders.insert(above.to_lowercase()) {
                    above = folder_of_path(above);
                }
            }
            folders
        })
    }

    /// Returns all paths, sorted.
    pub fn paths(&self) -> &[&'p str] {
        &self.paths
    }

    /// Returns the index of a path in [`Tree::paths`]: the exact path, otherwise one that differs only in case.
    pub fn path_index(&self, path: &str) -> Option<usize> {
        self.paths
            .binary_search(&path)
            .ok()
            .or_else(|| self.by_lower().get(&path.to_lowercase()).copied())
    }

    /// Returns the path of an existing file from an absolute path.
    pub fn existing_file(&self, absolute: &str) -> Option<&'p str> {
        self.path_index(in_workspace(absolute)?).map(|at| self.paths[at])
    }

    /// Whether an absolute path is a folder with a file of this set below it.
    pub fn is_folder(&self, absolute: &str) -> bool {
        in_workspace(absolute).is_some_and(|path| path.is_empty() || self.folders().contains(&path.to_lowercase()))
    }

    /// Returns the nearest folder at or above `absolute` with a file `name`, as an absolute path.
    pub fn folder_of_file_above(&self, absolute: &str, name: &str) -> Option<String> {
        let mut at = in_workspace(absolute)?;
        loop {
            let candidate = if at.is_empty() { name.to_owned() } else { format!("{at}/{name}") };
            if self.path_index(&candidate).is_some() {
                return Some(super::path::rooted(at));
            }
            if at.is_empty() {
                return None;
            }
            at = folder_of_path(at);
        }
    }

    /// Returns the indexes of all paths below a folder (relative, as written).
    pub fn range_below(&self, base: &str) -> std::ops::Range<usize> {
        if base.is_empty() {
            return 0..self.paths.len();
        }
        let inside = format!("{base}/");
        let after = format!("{base}0");
        // '0' is the character after '/'.
        let start = self.paths.partition_point(|path| *path < inside.as_str());
        let end = self.paths.partition_point(|path| *path < after.as_str());
        start..end
    }

    /// Returns the indexes of the paths that a pattern matches, and the number of paths compared.
    pub fn matching(&self, glob: &Glob) -> (Vec<usize>, usize) {
        let mut range = self.range_below(&glob.base);
        if range.is_empty() && !glob.base.is_empty() {
            range = match self.as_spelled(&glob.base) {
                Some(base) => self.range_below(&base),
                None => 0..0,
            };
        }
        let looked = range.len();
        (range.filter(|&at| glob.matches(self.paths[at])).collect(), looked)
    }

    /// Returns the folder in the tree's spelling if it differs only in case.
    fn as_spelled(&self, base: &str) -> Option<String> {
        let lower = base.to_lowercase();
        self.folders().contains(&lower).then_some(())?;
        let inside = format!("{lower}/");
        let path = self.paths.iter().find(|path| path.to_lowercase().starts_with(&inside))?;
        path.get(..base.len()).map(str::to_owned)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn questions() {
        let tree = Tree::new(["a/b/x.cs", "a/b.cs", "a/b0.cs", "a/b/c/y.cs", "Top.props"]);
        assert_eq!(tree.existing_file("/_/A/B/X.cs"), Some("a/b/x.cs"));
        assert_eq!(tree.existing_file("/_/a/b"), None);
        assert!(tree.is_folder("/_/a/B") && tree.is_folder("/_") && !tree.is_folder("/_/b"));
        assert_eq!(tree.folder_of_file_above("/_/a/b/c", "top.props").as_deref(), Some("/_"));
        assert_eq!(tree.folder_of_file_above("/x", "Top.props"), None);
        let below: Vec<&str> = tree.range_below("a/b").map(|at| tree.paths()[at]).collect();
        assert_eq!(below, ["a/b/c/y.cs", "a/b/x.cs"]);
        let glob = Glob::new("/_/A", "B/*.cs").expect("inside");
        let (found, looked) = tree.matching(&glob);
        assert_eq!((found.len(), looked), (1, 2));
    }
}
