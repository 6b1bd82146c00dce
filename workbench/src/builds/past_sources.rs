//! Earlier bytes of source files, from any place that still has them.

use crate::build_log::read_build_log;
use crate::git;
use engine::build::session::Session;
use engine::seams::world::World;
use engine::store::builds::BuildRecord;
use engine::store::{Store, StoreError};
use engine::values::digest::Digest;
use std::path::Path;
use std::sync::Arc;

/// A changed source file of which both versions are available.
#[derive(Clone, Debug)]
pub struct FileChange {
    pub path: String,
    /// Bytes of the old version.
    pub from: Arc<[u8]>,
    /// Bytes of the new version.
    pub to: Arc<[u8]>,
}

/// Finds earlier bytes of files in the store, in the workspace, or in git's local commits. Only bytes with the wanted digest count.
pub struct Past<'a> {
    root: &'a Path,
    store: &'a dyn Store,
    world: &'a dyn World,
    commits: Vec<String>,
}

/// Limit of commits that are searched for one file.
const COMMITS: usize = 8;

impl<'a> Past<'a> {
    /// Prepares the search: first in the commits of the builds in `first`, then in the one checked out, then in those of the newest builds.
    pub fn new(root: &'a Path, session: &'a Session, first: &[&BuildRecord]) -> Result<Self, StoreError> {
        let log = read_build_log(&*session.engine.store, session.engine.view)?;
        let present = git::revision(root).map(|revision| revision.commit);
        let of = |build: &BuildRecord| build.commit.clone();
        let candidates = first
            .iter()
            .filter_map(|build| of(build))
            .chain(present)
            .chain(log.iter().rev().filter_map(of));
        let mut commits: Vec<String> = Vec::new();
        for commit in candidates {
            if commits.len() < COMMITS && !commits.contains(&commit) {
                commits.push(commit);
            }
        }
        Ok(Self {
            root,
            store: &*session.engine.store,
            world: &*session.engine.world,
            commits,
        })
    }

    /// Returns the file before and after; `None` when one of the two is unavailable.
    pub fn change_of_file(&self, path: &str, from: &Digest, to: &Digest) -> Result<Option<FileChange>, StoreError> {
        let (Some(to), Some(from)) = (self.bytes_of_version(path, to)?, self.bytes_of_version(path, from)?) else {
            return Ok(None);
        };
        let path = path.to_owned();
        Ok(Some(FileChange { path, from, to }))
    }

    fn bytes_of_version(&self, path: &str, digest: &Digest) -> Result<Option<Arc<[u8]>>, StoreError> {
        if let Some(blob) = self.store.blob(digest)? {
            return Ok(Some(blob));
        }
        let present = std::iter::once_with(|| self.world.read(path).ok());
        let past = self.commits.iter().filter_map(|commit| git::file_at(self.root, commit, path));
        // The checkout may have CRLF where the commit has LF, by an attribute or a setting of git.
        let past = past.flat_map(|bytes| [with_crlf(&bytes), bytes]);
        let mut found = present.flatten().chain(past).filter(|bytes| Digest::of(bytes) == *digest);
        Ok(found.next().map(Into::into))
    }
}

/// Returns a text with CRLF in place of LF, as git checks it out if it converts line ends.
fn with_crlf(bytes: &[u8]) -> Vec<u8> {
    let mut converted = Vec::with_capacity(bytes.len() + bytes.len() / 32);
    let mut last = 0;
    for &byte in bytes {
        if byte == b'\n' && last != b'\r' {
            converted.push(b'\r');
        }
        converted.push(byte);
        last = byte;
    }
    converted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_ends_become_those_of_a_checkout_with_crlf() {
        for (stored, checked_out) in [
            ("a\nb\n", "a\r\nb\r\n"),
            ("a\r\nb\n", "a\r\nb\r\n"),
            ("\n\na\r", "\r\n\r\na\r"),
            ("", ""),
        ] {
            assert_eq!(with_crlf(stored.as_bytes()), checked_out.as_bytes(), "{stored:?}");
        }
    }
}
