//! Hypothetical files, with other contents than on disk: their sets, and the links that lead to them.

use super::globs::Globs;
use super::listing::LINK;
use super::read::Root;
use super::scan::{Scan, join};
use super::tree::SourceTree;
use crate::seams::world::{SetDef, WorldError};
use std::path::Path;

/// Returns for each path the sets, as bits, that a regular file of this path would be in, whatever exists there now.
pub(super) fn sets_of_files(root: &Path, sets: &[SetDef], paths: &[&str]) -> Result<Vec<u64>, WorldError> {
    let (root, globs) = (Root::open_root(root)?, Globs::new(sets)?);
    let scan = Scan {
        root: &root,
        globs: &globs,
        fingerprint: 0,
        now: 0,
    };
    Ok(paths.iter().map(|path| scan.sets_of_file(path)).collect())
}

impl SourceTree {
    /// Returns the symbolic links among the files of sets, with their sets as bits, and their present or future target below the root.
    pub(super) fn links(&self, root: &Path) -> Vec<(String, u64, String)> {
        let Ok(opened) = Root::open_root(root) else { return Vec::new() };
        let mut links = Vec::new();
        for (directory, row) in self.rows() {
            for at in (0..row.files.len()).filter(|at| row.files.flags(*at) & LINK != 0) {
                let path = join(directory, row.files.name(at));
                if let Some(target) = link_target(&opened, &path) {
                    links.push((path, row.files.word_at(at), target));
                }
            }
        }
        links
    }
}

/// Maximum number of consecutive links resolved by their text.
const HOPS: usize = 40;

/// Returns the target of a link; resolves a dangling one by its text.
fn link_target(root: &Root, path: &str) -> Option<String> {
    if let Ok(target) = root.resolve_below(path) {
        return target.to_str().map(str::to_owned);
    }
    let mut at = path.to_owned();
    for _ in 0..HOPS {
        let Ok(written) = root.folder.link_target(&at) else {
            return Some(at);
        };
        let written = written.to_str().filter(|written| !written.starts_with('/'))?;
        let mut parts: Vec<&str> = at.split('/').collect();
        parts.pop();
        for part in written.split('/') {
            match part {
                "" | "." => {}
                ".." => drop(parts.pop()?),
                name => parts.push(name),
            }
        }
        at = parts.join("/");
    }
    None
}
