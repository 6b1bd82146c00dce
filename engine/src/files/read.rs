//! Opening, hashing and reading files of the workspace, never outside it.
//!
//! Knows nothing about sets. Paths are relative to the root; symbolic links are followed as long as they stay below it.

use super::stamp::Stamp;
use crate::seams::world::WorldError;
use crate::values::digest::Digest;
use os::errors::SystemError;
use os::folders::Folder;
use os::info::{FileInfo, FileKind};
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

/// Size in bytes of the pieces of a file to hash, so that a huge file takes no memory.
const PIECE: usize = 1 << 20;

/// Maximum number of attempts to read a file that changes while it is read.
const ATTEMPTS: usize = 3;

/// Returns the operating system's error message, without its number.
pub(crate) fn error_text(error: SystemError) -> String {
    let text = error.to_string();
    text.split(" (os error").next().unwrap_or(&text).to_owned()
}

pub(crate) fn io_error(path: &str, what: &'static str, error: SystemError) -> WorldError {
    let no_space = matches!(error, SystemError::NO_SPACE | SystemError::QUOTA);
    WorldError::Io {
        path: path.to_owned(),
        what,
        reason: error_text(error),
        no_space,
        missing: matches!(error, SystemError::NOT_FOUND | SystemError::NO_FOLDER),
    }
}

/// An open folder; all accesses stay below it.
pub(crate) struct Root {
    pub(crate) folder: Folder,
    path: PathBuf,
}

/// Result of reading a whole file.
pub(crate) enum Hashed {
    /// The digest of bytes whose stamp was the same before and after.
    Steady(Stamp, Digest),
    /// It changed at every attempt; the last digest, which may belong to no state of the file.
    Moving(Stamp, Digest),
    NotAFile,
}

impl Root {
    pub(crate) fn open_root(path: &Path) -> Result<Self, WorldError> {
        let folder = Folder::open(path).map_err(|error| WorldError::Root { reason: error_text(error) })?;
        let path = path.to_owned();
        Ok(Self { folder, path })
    }

    /// Returns the stamp and kind of the object at `path`, without following a link.
    pub(crate) fn stat(&self, path: &str) -> Result<(Stamp, FileKind), SystemError> {
        let info = self.folder.info_of(if path.is_empty() { "." } else { path })?;
        Ok((Stamp::from_info(&info), info.kind()))
    }

    /// Opens a file for reading and follows links that stay below the root; [`SystemError::ELSEWHERE`] if one leaves it.
    pub(crate) fn open_file(&self, path: &str) -> Result<File, SystemError> {
        match self.folder.open_beneath(path) {
            // This may be an absolute link that points back inside, a kernel or sandbox without the call, or a concurrent rename.
            Err(SystemError::ELSEWHERE | SystemError::NO_SUCH_CALL | SystemError::FORBIDDEN | SystemError::AGAIN) => {
                self.open_plain(&self.resolve_below(path)?)
            }
            answer => answer,
        }
    }

    /// Resolves `path` relative to the root; [`SystemError::ELSEWHERE`] if it leads out of it.
    pub(crate) fn resolve_below(&self, path: &str) -> Result<PathBuf, SystemError> {
        let root = std::fs::canonicalize(&self.path).map_err(system_error)?;
        let target = std::fs::canonicalize(root.join(path)).map_err(system_error)?;
        target
            .strip_prefix(&root)
            .map(Path::to_path_buf)
            .map_err(|_| SystemError::ELSEWHERE)
    }

    /// Opens a path without links component by component, so that none can be replaced by a link in between.
    fn open_plain(&self, path: &Path) -> Result<File, SystemError> {
        let mut at: Option<Folder> = None;
        let mut components = path.components().peekable();
        while let Some(component) = components.next() {
            let below = at.as_ref().unwrap_or(&self.folder);
            if components.peek().is_none() {
                return below.open_to_read(component);
            }
            at = Some(below.open_folder(component)?);
        }
        Err(SystemError::IS_FOLDER)
    }

    /// Reads and hashes a whole file; again if its stamp changes during that.
    pub(crate) fn hash(&self, path: &str) -> Result<Hashed, SystemError> {
        let mut last = None;
        for _ in 0..ATTEMPTS {
            let file = self.open_file(path)?;
            let info = FileInfo::from_handle(&file)?;
            if info.kind() != FileKind::File {
                return Ok(Hashed::NotAFile);
            }
            let before = Stamp::from_info(&info);
            let digest = hash_open(&file, before.size)?;
            let after = Stamp::from_info(&FileInfo::from_handle(&file)?);
            if before == after {
                return Ok(Hashed::Steady(after, digest));
            }
            last = Some((after, digest));
        }
        let (stamp, digest) = last.ok_or(SystemError::DEVICE)?;
        Ok(Hashed::Moving(stamp, digest))
    }

    /// Reads a file, at most `limit` bytes.
    pub(crate) fn read_source_file(&self, path: &str, limit: usize) -> Result<Vec<u8>, SystemError> {
        let mut file = self.open_file(path)?;
        let info = FileInfo::from_handle(&file)?;
        match info.kind() {
            FileKind::File => {}
            FileKind::Folder => return Err(SystemError::IS_FOLDER),
            _ => return Err(SystemError::INVALID),
        }
        let size = usize::try_from(info.size).unwrap_or_default();
        let mut bytes = vec![0; size.min(limit).saturating_add(1)];
        let mut len = 0;
        loop {
            if len == bytes.len() {
                bytes.resize(len.saturating_mul(2), 0);
            }
            match file.read(&mut bytes[len..]).map_err(system_error) {
                Ok(0) => break,
                Ok(read) => len += read,
                Err(SystemError::INTERRUPTED) => {}
                Err(error) => return Err(error),
            }
            if len > limit {
                break;
            }
        }
        bytes.truncate(len.min(limit));
        Ok(bytes)
    }
}

pub(super) fn system_error(error: std::io::Error) -> SystemError {
    SystemError::from_io_error(&error).unwrap_or(SystemError::DEVICE)
}

/// Hashes from the current position to the end. `size` is the expected length: after exactly that many bytes, skips the read that would confirm the
/// end, since callers compare stamps afterwards.
pub(crate) fn hash_open(mut file: &File, size: u64) -> Result<Digest, SystemError> {
    let mut hasher = blake3::Hasher::new();
    let expected = usize::try_from(size).unwrap_or(usize::MAX);
    let mut piece = vec![0; expected.saturating_add(1).clamp(512, PIECE)];
    let mut total: u64 = 0;
    loop {
        match file.read(&mut piece).map_err(system_error) {
            Ok(0) => break,
            Ok(read) => {
                hasher.update(&piece[..read]);
                total += read as u64;
                if total == size {
                    break;
                }
            }
            Err(SystemError::INTERRUPTED) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(Digest(*hasher.finalize().as_bytes()))
}

/// Whether a path consists of plain names only: no `..`, no root, no empty name.
pub(crate) fn is_plain_path(path: &str) -> bool {
    path.split('/').all(|name| !matches!(name, "" | "." | "..")) && !path.contains('\0')
}

/// Reads the first `most` bytes of a source. Fails when the path leads out of the workspace, as written or through links, or when it cannot
/// be read.
pub fn read_source(root: &Path, path: &str, most: usize) -> Result<Vec<u8>, WorldError> {
    let leaves = || WorldError::Leaves {
        path: path.to_owned(),
        out_of: "the workspace",
    };
    if !is_plain_path(path) {
        return Err(leaves());
    }
    Root::open_root(root)?.read_source_file(path, most).map_err(|error| {
        if error == SystemError::ELSEWHERE {
            leaves()
        } else {
            io_error(path, "read", error)
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;

    #[test]
    fn sources_are_read_inside_the_workspace_only() {
        let outer = tempfile::tempdir().unwrap();
        let root = outer.path().join("ws");
        fs::create_dir_all(root.join("a/b")).unwrap();
        fs::write(outer.path().join("secret"), "s").unwrap();
        fs::write(root.join("a/b/f"), "text").unwrap();
        symlink("b/f", root.join("a/relative")).unwrap();
        symlink(root.join("a/b/f"), root.join("a/absolute")).unwrap();
        symlink("../../secret", root.join("a/escape")).unwrap();
        symlink(outer.path(), root.join("up")).unwrap();
        symlink("loop", root.join("loop")).unwrap();
        for path in ["a/b/f", "a/relative", "a/absolute"] {
            assert_eq!(read_source(&root, path, 100).unwrap(), b"text", "{path}");
        }
        for path in [
            "a/escape", "up/secret", "../secret", "a/../../secret", "/etc/hostname", "", "a//b/f", "./a/b/f",
        ] {
            assert!(matches!(read_source(&root, path, 100), Err(WorldError::Leaves { .. })), "{path}");
        }
        for path in ["a/b", "none", "loop"] {
            assert!(matches!(read_source(&root, path, 100), Err(WorldError::Io { .. })), "{path}");
        }
        assert!(matches!(read_source(&root.join("none"), "f", 100), Err(WorldError::Root { .. })));
    }

    #[test]
    fn paths_opened_part_by_part_refuse_links() {
        let outer = tempfile::tempdir().unwrap();
        fs::create_dir_all(outer.path().join("a/b")).unwrap();
        fs::write(outer.path().join("a/b/f"), "text").unwrap();
        symlink("a", outer.path().join("l")).unwrap();
        let root = Root::open_root(outer.path()).unwrap();
        assert!(root.open_plain(Path::new("a/b/f")).is_ok());
        assert!(root.open_plain(Path::new("l/b/f")).is_err());
        assert!(root.open_plain(Path::new("")).is_err());
    }

    #[test]
    fn long_files_are_hashed_in_pieces() {
        let outer = tempfile::tempdir().unwrap();
        let bytes: Vec<u8> = (0..3 * PIECE + 7).map(|i| (i % 251) as u8).collect();
        fs::write(outer.path().join("f"), &bytes).unwrap();
        fs::write(outer.path().join("empty"), "").unwrap();
        let root = Root::open_root(outer.path()).unwrap();
        assert!(
            matches!(root.hash("f"), Ok(Hashed::Steady(stamp, digest)) if digest == Digest::of(&bytes) && stamp.size == bytes.len() as u64)
        );
        assert!(matches!(root.hash("empty"), Ok(Hashed::Steady(_, digest)) if digest == Digest::of(b"")));
        assert_eq!(root.read_source_file("f", 10).unwrap(), &bytes[..10]);
        assert_eq!(root.read_source_file("f", usize::MAX - 1).unwrap(), bytes);
    }
}
