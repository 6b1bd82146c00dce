//! Opening, hashing and reading files of the workspace, never outside it.
//!
//! Knows nothing of sets. A path is given relative to the root; symbolic links are followed as long as they stay below it.

use super::stamp::Stamp;
use crate::seams::world::WorldError;
use crate::values::digest::Digest;
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{AtFlags, FileType, Mode, OFlags};
use rustix::io::Errno;
use std::path::{Path, PathBuf};

/// Files are hashed in pieces of this size, so that a huge one takes no memory.
const PIECE: usize = 1 << 20;

/// How often a file that changes under the reader is read again.
const ATTEMPTS: usize = 3;

/// Reading only; never waits for the other end of a FIFO, never becomes a terminal's owner.
const READ: OFlags = OFlags::RDONLY.union(OFlags::CLOEXEC).union(OFlags::NONBLOCK).union(OFlags::NOCTTY);

/// The system's words for an error, without its number.
pub(crate) fn reason(errno: Errno) -> String {
    let text = std::io::Error::from(errno).to_string();
    text.split(" (os error").next().unwrap_or(&text).to_owned()
}

pub(crate) fn io_error(path: &str, what: &'static str, errno: Errno) -> WorldError {
    let no_space = matches!(errno, Errno::NOSPC | Errno::DQUOT);
    WorldError::Io {
        path: path.to_owned(),
        what,
        reason: reason(errno),
        no_space,
    }
}

/// An open folder below which everything happens.
pub(crate) struct Root {
    pub(crate) fd: OwnedFd,
    path: PathBuf,
}

/// What reading a file through to its end gave.
pub(crate) enum Hashed {
    /// The digest of bytes that had this stamp before and after.
    Steady(Stamp, Digest),
    /// It changed at every attempt; the last digest, which may belong to no state the file was ever in.
    Moving(Stamp, Digest),
    /// Something else than a regular file.
    NotAFile,
}

impl Root {
    /// Opens a folder.
    pub(crate) fn open(path: &Path) -> Result<Self, WorldError> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let fd = rustix::fs::open(path, flags, Mode::empty()).map_err(|errno| WorldError::Root { reason: reason(errno) })?;
        Ok(Self { fd, path: path.to_owned() })
    }

    /// The stamp and type of what lies at `path`, a link itself if it is one.
    pub(crate) fn stat(&self, path: &str) -> Result<(Stamp, FileType), Errno> {
        let stat = rustix::fs::statat(&self.fd, if path.is_empty() { "." } else { path }, AtFlags::SYMLINK_NOFOLLOW)?;
        Ok((Stamp::of(&stat), FileType::from_raw_mode(stat.st_mode)))
    }

    /// Opens a file for reading, links followed as long as they stay below the root; `EXDEV` when one leaves it.
    pub(crate) fn open_file(&self, path: &str) -> Result<OwnedFd, Errno> {
        #[cfg(target_os = "linux")]
        {
            use rustix::fs::ResolveFlags;
            let beneath = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
            match rustix::fs::openat2(&self.fd, path, READ, Mode::empty(), beneath) {
                // An absolute link that points back inside, a kernel or a sandbox without the call, a rename at the wrong moment.
                Err(Errno::XDEV | Errno::NOSYS | Errno::PERM | Errno::AGAIN) => {}
                answer => return answer,
            }
        }
        let target = self.resolve(path)?;
        self.open_plain(&target)
    }

    /// Where `path` leads, relative to the root; `EXDEV` when that is not below it.
    pub(crate) fn resolve(&self, path: &str) -> Result<PathBuf, Errno> {
        let errno = |error: std::io::Error| Errno::from_io_error(&error).unwrap_or(Errno::IO);
        let root = std::fs::canonicalize(&self.path).map_err(errno)?;
        let target = std::fs::canonicalize(root.join(path)).map_err(errno)?;
        target.strip_prefix(&root).map(Path::to_path_buf).map_err(|_| Errno::XDEV)
    }

    /// Opens a path whose components are no links, one after the other, so that none can be swapped for a link meanwhile.
    fn open_plain(&self, path: &Path) -> Result<OwnedFd, Errno> {
        let mut at: Option<OwnedFd> = None;
        let mut components = path.components().peekable();
        while let Some(component) = components.next() {
            let flags = if components.peek().is_some() {
                OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC
            } else {
                READ
            };
            let below = at.as_ref().map_or(self.fd.as_fd(), AsFd::as_fd);
            at = Some(rustix::fs::openat(
                below,
                component.as_os_str(),
                flags | OFlags::NOFOLLOW,
                Mode::empty(),
            )?);
        }
        at.ok_or(Errno::ISDIR)
    }

    /// Reads a file through to its end; again when its stamp moves meanwhile.
    pub(crate) fn hash(&self, path: &str) -> Result<Hashed, Errno> {
        let mut last = None;
        for _ in 0..ATTEMPTS {
            let fd = self.open_file(path)?;
            let stat = rustix::fs::fstat(&fd)?;
            let kind = FileType::from_raw_mode(stat.st_mode);
            if kind != FileType::RegularFile {
                return Ok(Hashed::NotAFile);
            }
            let before = Stamp::of(&stat);
            let digest = hash_open(&fd, before.size)?;
            let after = Stamp::of(&rustix::fs::fstat(&fd)?);
            if before == after {
                return Ok(Hashed::Steady(after, digest));
            }
            last = Some((after, digest));
        }
        let (stamp, digest) = last.ok_or(Errno::IO)?;
        Ok(Hashed::Moving(stamp, digest))
    }

    /// All bytes of a file of at most `limit` bytes; longer ones are cut there.
    pub(crate) fn read(&self, path: &str, limit: usize) -> Result<Vec<u8>, Errno> {
        let fd = self.open_file(path)?;
        let stat = rustix::fs::fstat(&fd)?;
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile => {}
            FileType::Directory => return Err(Errno::ISDIR),
            _ => return Err(Errno::INVAL),
        }
        let size = usize::try_from(stat.st_size).unwrap_or_default();
        let mut bytes = vec![0; size.min(limit).saturating_add(1)];
        let mut len = 0;
        loop {
            if len == bytes.len() {
                bytes.resize(len.saturating_mul(2), 0);
            }
            match rustix::io::read(&fd, &mut bytes[len..]) {
                Ok(0) => break,
                Ok(read) => len += read,
                Err(Errno::INTR) => {}
                Err(errno) => return Err(errno),
            }
            if len > limit {
                break;
            }
        }
        bytes.truncate(len.min(limit));
        Ok(bytes)
    }
}

/// Hashes from the current position to the end. `size` is what the file is believed to have: when just that many bytes came, the
/// answer "no more" is not waited for, since a caller compares stamps afterwards.
pub(crate) fn hash_open(fd: &OwnedFd, size: u64) -> Result<Digest, Errno> {
    let mut hasher = blake3::Hasher::new();
    let expected = usize::try_from(size).unwrap_or(usize::MAX);
    let mut piece = vec![0; expected.saturating_add(1).clamp(512, PIECE)];
    let mut total: u64 = 0;
    loop {
        match rustix::io::read(fd, &mut piece) {
            Ok(0) => break,
            Ok(read) => {
                hasher.update(&piece[..read]);
                total += read as u64;
                if total == size {
                    break;
                }
            }
            Err(Errno::INTR) => {}
            Err(errno) => return Err(errno),
        }
    }
    Ok(Digest(*hasher.finalize().as_bytes()))
}

/// Whether a path is made of plain names only: no `..`, no root, nothing empty.
pub(crate) fn is_plain(path: &str) -> bool {
    path.split('/').all(|name| !matches!(name, "" | "." | "..")) && !path.contains('\0')
}

/// The first `most` bytes of a source.
///
/// # Errors
/// When the path leads out of the workspace, as written or through links, or when it cannot be read.
pub fn read_source(root: &Path, path: &str, most: usize) -> Result<Vec<u8>, WorldError> {
    let leaves = || WorldError::Leaves {
        path: path.to_owned(),
        out_of: "the workspace",
    };
    if !is_plain(path) {
        return Err(leaves());
    }
    Root::open(root)?.read(path, most).map_err(|errno| {
        if errno == Errno::XDEV {
            leaves()
        } else {
            io_error(path, "read", errno)
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
            "a/escape",
            "up/secret",
            "../secret",
            "a/../../secret",
            "/etc/hostname",
            "",
            "a//b/f",
            "./a/b/f",
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
        let root = Root::open(outer.path()).unwrap();
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
        let root = Root::open(outer.path()).unwrap();
        assert!(
            matches!(root.hash("f"), Ok(Hashed::Steady(stamp, digest)) if digest == Digest::of(&bytes) && stamp.size == bytes.len() as u64)
        );
        assert!(matches!(root.hash("empty"), Ok(Hashed::Steady(_, digest)) if digest == Digest::of(b"")));
        assert_eq!(root.read("f", 10).unwrap(), &bytes[..10]);
        assert_eq!(root.read("f", usize::MAX - 1).unwrap(), bytes);
    }
}
