//! Files of a checkout's own in its folder `.cortex`: read whole and replaced whole. A cloned repository may have put anything in their
//! place: no link is followed, neither for the folder nor for a file in it, and nothing is waited for.

use rustix::fs::{FlockOperation, Mode, OFlags};
use rustix::io::Errno;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::path::Path;

/// The folder, below the workspace's root.
pub const FOLDER: &str = ".cortex";

const DIRECTORY: OFlags = OFlags::RDONLY
    .union(OFlags::DIRECTORY)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC);

/// The bytes of a file of at most `most` bytes; `None` when there is none.
///
/// # Errors
/// When it is a link, no file or too large, or cannot be read.
pub fn read(root: &Path, name: &str, most: usize) -> io::Result<Option<Vec<u8>>> {
    match open(root) {
        Ok(folder) => read_in(&folder, name, most),
        // Where there is no such folder there is no such file.
        Err(Errno::NOENT | Errno::NOTDIR) if !root.join(FOLDER).is_symlink() => Ok(None),
        Err(errno) => Err(told(errno)),
    }
}

/// Changes a file, alone: `change` gets its bytes of before and gives those of after, or `None` to leave it as it is. Whether it was written.
///
/// # Errors
/// As [`read`], and when it cannot be written; then the file is what it was. And those of `change`.
pub fn change<E: From<io::Error>>(
    root: &Path,
    name: &str,
    most: usize,
    change: impl FnOnce(Option<Vec<u8>>) -> Result<Option<Vec<u8>>, E>,
) -> Result<bool, E> {
    let folder = opened_or_made(root).map_err(told)?;
    // Who changes a file of this folder keeps others from it until the file is in place.
    rustix::fs::flock(&folder, FlockOperation::LockExclusive).map_err(io::Error::from)?;
    let Some(bytes) = change(read_in(&folder, name, most)?)? else {
        return Ok(false);
    };
    replace(&folder, name, &bytes)?;
    Ok(true)
}

fn open(root: &Path) -> Result<OwnedFd, Errno> {
    rustix::fs::open(root.join(FOLDER), DIRECTORY, Mode::empty())
}

fn opened_or_made(root: &Path) -> Result<OwnedFd, Errno> {
    match open(root) {
        Err(Errno::NOENT) => match rustix::fs::mkdir(root.join(FOLDER), Mode::from_raw_mode(0o777)) {
            Ok(()) | Err(Errno::EXIST) => open(root),
            Err(errno) => Err(errno),
        },
        other => other,
    }
}

fn read_in(folder: &OwnedFd, name: &str, most: usize) -> io::Result<Option<Vec<u8>>> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file: File = match rustix::fs::openat(folder, name, flags, Mode::empty()) {
        Ok(fd) => fd.into(),
        Err(Errno::NOENT) => return Ok(None),
        Err(errno) => return Err(told(errno)),
    };
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("it is no file"));
    }
    let mut bytes = Vec::new();
    file.take(most as u64 + 1).read_to_end(&mut bytes)?;
    if bytes.len() > most {
        return Err(io::Error::other(format!("it is larger than {} KiB", most >> 10)));
    }
    Ok(Some(bytes))
}

/// Takes the name, whatever it led to.
fn replace(folder: &OwnedFd, name: &str, bytes: &[u8]) -> io::Result<()> {
    let new = format!(".{name}.{}.new", std::process::id());
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let made = || rustix::fs::openat(folder, &*new, flags, Mode::from_raw_mode(0o666));
    let fd = match made() {
        // Left by a process of this number that was killed; nobody else is here.
        Err(Errno::EXIST) => {
            rustix::fs::unlinkat(folder, &*new, rustix::fs::AtFlags::empty())?;
            made()?
        }
        other => other?,
    };
    let mut file = File::from(fd);
    let written = file.write_all(bytes).and_then(|()| file.sync_all());
    let done = written.and_then(|()| Ok(rustix::fs::renameat(folder, &*new, folder, name)?));
    if done.is_err() {
        // Nothing more can be done about a file that stays; no one looks at it.
        let _ = rustix::fs::unlinkat(folder, &*new, rustix::fs::AtFlags::empty());
    }
    done?;
    Ok(rustix::fs::fsync(folder)?)
}

fn told(errno: Errno) -> io::Error {
    match errno {
        Errno::LOOP | Errno::NOTDIR => io::Error::other("it is a link or no folder, and links are not followed here"),
        errno => errno.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    fn set(root: &Path, bytes: &[u8]) -> io::Result<bool> {
        change(root, "x.toml", 10, |_| Ok(Some(bytes.to_vec())))
    }

    #[test]
    fn a_file_is_replaced_whole() {
        let root = tempfile::tempdir().expect("folder");
        assert_eq!(read(root.path(), "x.toml", 10).expect("readable"), None);
        assert!(set(root.path(), b"one").expect("written"));
        let kept = change(root.path(), "x.toml", 10, |old| {
            assert_eq!(old.as_deref(), Some(&b"one"[..]));
            Ok::<_, io::Error>(None)
        });
        assert!(!kept.expect("left"));
        assert!(change(root.path(), "x.toml", 10, |_| Err(io::Error::other("no"))).is_err());
        assert_eq!(read(root.path(), "x.toml", 10).expect("readable").as_deref(), Some(&b"one"[..]));
        assert!(set(root.path(), b"much too long").expect("written"));
        assert!(read(root.path(), "x.toml", 10).is_err());
        assert_eq!(std::fs::read_dir(root.path().join(FOLDER)).expect("folder").count(), 1);
    }

    #[test]
    fn no_link_is_followed() {
        let (root, elsewhere) = (tempfile::tempdir().expect("folder"), tempfile::tempdir().expect("folder"));
        symlink(elsewhere.path(), root.path().join(FOLDER)).expect("link");
        assert!(set(root.path(), b"one").is_err() && read(root.path(), "x.toml", 10).is_err());
        assert_eq!(std::fs::read_dir(elsewhere.path()).expect("folder").count(), 0);
        std::fs::remove_file(root.path().join(FOLDER)).expect("removed");
        std::fs::create_dir(root.path().join(FOLDER)).expect("folder");
        let (secret, link) = (elsewhere.path().join("secret"), root.path().join(".cortex/x.toml"));
        std::fs::write(&secret, "mine").expect("file");
        symlink(&secret, &link).expect("link");
        assert!(read(root.path(), "x.toml", 10).is_err());
        assert!(set(root.path(), b"one").is_err());
        assert_eq!(std::fs::read(&secret).expect("file"), b"mine");
        std::fs::remove_file(&link).expect("removed");
        std::fs::create_dir(&link).expect("folder");
        assert!(read(root.path(), "x.toml", 10).is_err());
    }
}
