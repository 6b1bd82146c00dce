//! Files below `.cortex` of a checkout that are not outputs of the graph; they are read and replaced as a whole. A cloned repository may have put
//! anything in their place: no function here follows a link, of a folder or a file, and opening never blocks.
//!
//! Names are relative to the workspace's root, with `/`: `.cortex/packs.toml`.

use crate::kill_points;
use engine::files::exports::keep_out_of_git;
use engine::values::codes::ErrorCode;
use engine::values::diagnostic::Diagnostic;
use os::errors::SystemError;
use os::folders::Folder;
use os::handles::OwnedFd;
use os::info::{FileInfo, FileKind};
use std::fs::{File, TryLockError};
use std::io::{self, ErrorKind, Read};
use std::path::Path;

/// Name of the temporary file in the same folder that a write renames into place. It begins with a dot: [`list_files`] skips it.
const NEW: &str = ".new";
/// Modes of written files: [`SHARED`] is limited by the umask, [`PRIVATE`] is for the owner only.
const SHARED: u32 = 0o666;
const PRIVATE: u32 = 0o600;
const NO_FOLDER: &str = "is not a folder";
const NO_FILE: &str = "is not a file";

/// An unexpected entry in the place of a folder or a file of a checkout.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{path} {what}")]
pub struct UnexpectedEntry {
    /// Path of the entry below the workspace's root.
    pub path: String,
    /// Kind of the entry: `is a link, and links are not followed here`, `is not a folder`, `is not a file`.
    pub what: &'static str,
}

impl UnexpectedEntry {
    /// Returns the [`UnexpectedEntry`] that an error of this module wraps, if any.
    pub fn wrapped_in(error: &io::Error) -> Option<&Self> {
        error.get_ref()?.downcast_ref()
    }

    /// Returns advice for the user.
    pub fn hint(&self) -> String {
        format!("remove {}, or move it away; cortex creates its own entry again", self.path)
    }

    fn error_if_wrong_kind(folder: &Folder, name: &str, path: &str, wanted: &'static str) -> io::Error {
        let what = if is_link(folder, name) {
            "is a link, and links are not followed here"
        } else {
            wanted
        };
        io::Error::other(Self {
            path: path.to_owned(),
            what,
        })
    }
}

/// Describes why `what` of a checkout (`the window`) cannot be read or written, with advice that never loses data. `damaged` is the advice for a
/// damaged file.
pub fn trouble(what: &str, error: &io::Error, damaged: &str) -> Diagnostic {
    let message = format!("{what} cannot be read or written: {error}");
    let (code, hint) = match error.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => (
            ErrorCode::E_NO_SPACE,
            "free some space on the disk, then run the same command again; earlier contents are intact".to_owned(),
        ),
        ErrorKind::ReadOnlyFilesystem | ErrorKind::PermissionDenied => (
            ErrorCode::E_WRITE,
            "see that .cortex may be read and written by you, and run the same command again; nothing was changed".to_owned(),
        ),
        _ => (
            ErrorCode::E_WRITE,
            UnexpectedEntry::wrapped_in(error).map_or_else(|| damaged.to_owned(), UnexpectedEntry::hint),
        ),
    };
    Diagnostic::error(code, message).hint(hint)
}

/// Reads a file of at most `most` bytes; `None` when it does not exist. Fails when it is a link, not a file or too large, or cannot be
/// read.
pub fn read_file(root: &Path, below: &str, most: usize) -> io::Result<Option<Vec<u8>>> {
    match open_parent(root, below, false) {
        Ok((folder, _)) => read_in(&folder, below, most),
        // Without the folder the file does not exist either.
        Err(error)
            if error.kind() == ErrorKind::NotFound || UnexpectedEntry::wrapped_in(&error).is_some_and(|way| way.what == NO_FOLDER) =>
        {
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

/// Writes a file and the folders above it, unless the file has these bytes already. Replaces any entry of that name, also a link. Fails
/// when it cannot be written, or a folder above it is a link; then the file is unchanged.
pub fn write_file(root: &Path, below: &str, bytes: &[u8]) -> io::Result<()> {
    let (folder, name) = lock_parent_folder(root, below)?;
    match read_in(&folder, below, bytes.len()) {
        Ok(Some(before)) if before == bytes => Ok(()),
        _ => replace_entry(&folder, name, bytes, SHARED),
    }
}

/// Changes a file under the folder's lock: `change` gets its old bytes and returns new ones, or `None` to keep it. Returns whether it was
/// written. Errors: as [`read_file`], and when it cannot be written; then the file is unchanged. Also the errors of `change`.
pub fn change<E: From<io::Error>>(
    root: &Path,
    below: &str,
    most: usize,
    change: impl FnOnce(Option<Vec<u8>>) -> Result<Option<Vec<u8>>, E>,
) -> Result<bool, E> {
    change_as(root, below, most, SHARED, change)
}

/// As [`change`], for a file that only its owner may read, whatever its mode was before. Fails as [`change`] does.
pub fn change_private<E: From<io::Error>>(
    root: &Path,
    below: &str,
    most: usize,
    change: impl FnOnce(Option<Vec<u8>>) -> Result<Option<Vec<u8>>, E>,
) -> Result<bool, E> {
    change_as(root, below, most, PRIVATE, change)
}

fn change_as<E: From<io::Error>>(
    root: &Path,
    below: &str,
    most: usize,
    mode: u32,
    change: impl FnOnce(Option<Vec<u8>>) -> Result<Option<Vec<u8>>, E>,
) -> Result<bool, E> {
    let (folder, name) = lock_parent_folder(root, below)?;
    let Some(bytes) = change(read_in(&folder, below, most)?)? else {
        return Ok(false);
    };
    replace_entry(&folder, name, &bytes, mode)?;
    Ok(true)
}

/// Appends to a file; empties it first when it has `most` bytes or more. Returns the file. Fails when it is a link, or cannot be written.
pub fn append(root: &Path, below: &str, bytes: &[u8], most: u64) -> io::Result<File> {
    let (folder, name) = open_parent(root, below, true)?;
    let mut file = folder.open_to_append(name, SHARED)?;
    if file.metadata()?.len() >= most {
        kill_points::check_killed()?;
        file.set_len(0)?;
    }
    kill_points::write(&mut file, bytes)?;
    Ok(file)
}

/// Removes a file. Returns whether it existed. Fails when a folder above it is a link, or it cannot be removed.
pub fn remove(root: &Path, below: &str) -> io::Result<bool> {
    let (folder, name) = match open_parent(root, below, false) {
        Ok(opened) => opened,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(error),
    };
    kill_points::check_killed()?;
    match folder.remove(name) {
        Ok(()) => Ok(true),
        Err(SystemError::NOT_FOUND) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Returns the names in a folder, sorted, each with its size in bytes; empty if the folder does not exist. Skips names that begin with a dot: a kill
/// may leave such an incomplete file. Fails when it is a link, or cannot be read.
pub fn list_files(root: &Path, folder: &str) -> io::Result<Vec<(String, u64)>> {
    // Any name works: `open` opens the folder above it.
    let folder = match open_parent(root, &format!("{folder}/x"), false) {
        Ok((folder, _)) => folder,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let mut names = Vec::new();
    for entry in folder.entries()? {
        let name = entry?.name().to_string_lossy().into_owned();
        // Skip an entry that was removed since the listing.
        if let (Ok(found), false) = (folder.info_of(&name), name.starts_with('.')) {
            names.push((name, found.size));
        }
    }
    names.sort();
    Ok(names)
}

/// Locks a folder, created if need be, against other callers of this function and against writes in the folder; they wait until the lock is
/// dropped. Fails when it cannot be created, or is a link.
pub fn lock_folder(root: &Path, folder: &str) -> io::Result<FolderLock> {
    let (folder, _) = lock_parent_folder(root, &format!("{folder}/x"))?;
    Ok(FolderLock { place: folder.into() })
}

/// As [`lock_folder`], for a folder that only its owner may read, whatever its mode was before. Fails as [`lock_folder`] does.
pub fn hold_private(root: &Path, folder: &str) -> io::Result<FolderLock> {
    let held = lock_folder(root, folder)?;
    if FileInfo::from_handle(&held.place)?.mode & 0o077 != 0 {
        kill_points::check_killed()?;
        os::modes::set_mode_of(&held.place, 0o700)?;
    }
    Ok(held)
}

/// Locks a file, created if need be, against other callers of this function; `None` when it is locked already. Never waits. Fails when it
/// cannot be created, or is a link.
pub fn try_lock_file(root: &Path, below: &str) -> io::Result<Option<FolderLock>> {
    let (folder, name) = open_parent(root, below, true)?;
    kill_points::check_killed()?;
    let file = folder.open_or_create(name, PRIVATE)?;
    match file.try_lock() {
        Ok(()) => Ok(Some(FolderLock { place: file.into() })),
        Err(TryLockError::WouldBlock) => Ok(None),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

/// The lock on a folder or a file.
#[derive(Debug)]
pub struct FolderLock {
    place: OwnedFd,
}

/// Locks the folder of a file, so that no other process writes in it until the file is in place.
fn lock_parent_folder<'n>(root: &Path, below: &'n str) -> io::Result<(Folder, &'n str)> {
    let (folder, name) = open_parent(root, below, true)?;
    folder.lock_exclusively()?;
    Ok((folder, name))
}

/// Opens the folder of a file, created if `make` is set, and returns the file's name in it.
fn open_parent<'n>(root: &Path, below: &'n str, make: bool) -> io::Result<(Folder, &'n str)> {
    let (folders, name) = below.rsplit_once('/').ok_or(SystemError::INVALID)?;
    let mut folder = Folder::open(root)?;
    let mut path = String::new();
    for part in folders.split('/') {
        path.push_str(part);
        folder = match folder.open_folder(part) {
            Err(SystemError::NOT_FOUND) if make => {
                kill_points::check_killed()?;
                match folder.make_folder(part, 0o777) {
                    Ok(()) | Err(SystemError::EXISTS) => {}
                    Err(error) => return Err(error.into()),
                }
                folder.open_folder(part)?
            }
            Err(SystemError::NO_FOLDER | SystemError::LINK) => {
                return Err(UnexpectedEntry::error_if_wrong_kind(&folder, part, &path, NO_FOLDER));
            }
            opened => opened?,
        };
        if make && path == ".cortex" {
            keep_out_of_git(&folder);
        }
        path.push('/');
    }
    Ok((folder, name))
}

fn is_link(folder: &Folder, name: &str) -> bool {
    folder.info_of(name).is_ok_and(|found| found.kind() == FileKind::Link)
}

fn read_in(folder: &Folder, below: &str, most: usize) -> io::Result<Option<Vec<u8>>> {
    let name = below.rsplit_once('/').map_or(below, |(_, name)| name);
    let file = match folder.open_to_read(name) {
        Err(SystemError::NOT_FOUND) => return Ok(None),
        Err(SystemError::LINK) => return Err(UnexpectedEntry::error_if_wrong_kind(folder, name, below, NO_FILE)),
        opened => opened?,
    };
    if !file.metadata()?.is_file() {
        return Err(UnexpectedEntry::error_if_wrong_kind(folder, name, below, NO_FILE));
    }
    let mut bytes = Vec::new();
    file.take(most as u64 + 1).read_to_end(&mut bytes)?;
    if bytes.len() > most {
        return Err(io::Error::new(
            ErrorKind::FileTooLarge,
            format!("it is larger than {} KiB", most >> 10),
        ));
    }
    Ok(Some(bytes))
}

/// Creates an empty file under a name that only the caller uses: an existing one is a leftover of a killed process.
pub(crate) fn create_empty(folder: &Folder, name: &str) -> io::Result<File> {
    create_empty_as(folder, name, SHARED)
}

fn create_empty_as(folder: &Folder, name: &str, mode: u32) -> io::Result<File> {
    kill_points::check_killed()?;
    let made = match folder.create_new(name, mode) {
        Err(SystemError::EXISTS) => {
            folder.remove(name)?;
            kill_points::check_killed()?;
            folder.create_new(name, mode)
        }
        other => other,
    };
    Ok(made?)
}

/// Replaces the entry of this name, whatever it led to. The folder is locked.
fn replace_entry(folder: &Folder, name: &str, bytes: &[u8], mode: u32) -> io::Result<()> {
    // The folder is locked: a leftover of a kill is replaced by the next write in the folder.
    let mut file = create_empty_as(folder, NEW, mode)?;
    let written = kill_points::write(&mut file, bytes)
        .and_then(|()| kill_points::sync(&file))
        .and_then(|()| kill_points::check_killed());
    let done = written.and_then(|()| Ok(folder.rename(NEW, folder, name)?));
    if done.is_err() && kill_points::check_killed().is_ok() {
        // If the removal fails, the file stays; no reader opens it.
        let _ = folder.remove(NEW);
    }
    done?;
    kill_points::sync(folder)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    const FILE: &str = ".cortex/x.toml";

    fn set(root: &Path, bytes: &[u8]) -> io::Result<bool> {
        change(root, FILE, 10, |_| Ok(Some(bytes.to_vec())))
    }

    #[test]
    fn advice_loses_nothing() {
        let found = |kind: ErrorKind| {
            let why = trouble("the window", &kind.into(), "move it away");
            (why.code, why.hint.expect("a hint"))
        };
        for (kind, code) in [
            (ErrorKind::StorageFull, "E_NO_SPACE"),
            (ErrorKind::QuotaExceeded, "E_NO_SPACE"),
            (ErrorKind::ReadOnlyFilesystem, "E_WRITE"),
            (ErrorKind::PermissionDenied, "E_WRITE"),
        ] {
            let (found, hint) = found(kind);
            assert_eq!(found, code, "{kind}");
            assert!(hint.contains("the same command again") && !hint.contains("move"), "{hint}");
        }
        assert_eq!(found(ErrorKind::InvalidData), ("E_WRITE".to_owned(), "move it away".to_owned()));
    }

    #[test]
    fn a_file_is_removed_once_and_nothing_behind_a_link() {
        let root = tempfile::tempdir().expect("folder");
        let root = root.path();
        assert!(!remove(root, FILE).expect("nothing there"));
        assert!(set(root, b"one").expect("written"));
        assert!(remove(root, FILE).expect("removed") && !remove(root, FILE).expect("gone"));
        let elsewhere = tempfile::tempdir().expect("folder");
        std::fs::write(elsewhere.path().join("x.toml"), "mine").expect("file");
        symlink(elsewhere.path(), root.join(".cortex/linked")).expect("link");
        assert!(remove(root, ".cortex/linked/x.toml").is_err());
        assert!(elsewhere.path().join("x.toml").exists());
    }

    #[test]
    fn a_file_is_replaced_whole() {
        let root = tempfile::tempdir().expect("folder");
        let root = root.path();
        assert_eq!(read_file(root, FILE, 10).expect("readable"), None);
        assert!(set(root, b"one").expect("written"));
        let kept = change(root, FILE, 10, |old| {
            assert_eq!(old.as_deref(), Some(&b"one"[..]));
            Ok::<_, io::Error>(None)
        });
        assert!(!kept.expect("left"));
        assert!(change(root, FILE, 10, |_| Err(io::Error::other("no"))).is_err());
        assert_eq!(read_file(root, FILE, 10).expect("readable").as_deref(), Some(&b"one"[..]));
        assert!(set(root, b"much too long").expect("written"));
        assert!(read_file(root, FILE, 10).is_err());
        write_file(root, FILE, b"two").expect("written");
        assert_eq!(read_file(root, FILE, 10).expect("readable").as_deref(), Some(&b"two"[..]));
        assert_eq!(std::fs::read_dir(root.join(".cortex")).expect("folder").count(), 2);
        write_file(root, ".cortex/out/ops/y", b"below").expect("written");
        assert_eq!(std::fs::read(root.join(".cortex/out/ops/y")).expect("file"), b"below");
    }

    #[test]
    fn a_log_grows_to_its_end_and_begins_anew() {
        let root = tempfile::tempdir().expect("folder");
        for _ in 0..3 {
            append(root.path(), FILE, b"line\n", 10).expect("written");
        }
        assert_eq!(std::fs::read(root.path().join(FILE)).expect("file"), b"line\n");
    }

    #[test]
    fn folders_are_listed_kept_and_emptied() {
        let root = tempfile::tempdir().expect("folder");
        let root = root.path();
        assert_eq!(list_files(root, ".cortex/a").expect("none"), []);
        assert!(!remove(root, ".cortex/a/x").expect("none"));
        write_file(root, ".cortex/a/y", b"1").expect("written");
        write_file(root, ".cortex/a/x", b"1").expect("written");
        assert_eq!(
            list_files(root, ".cortex/a").expect("a list"),
            [("x".to_owned(), 1), ("y".to_owned(), 1)]
        );
        // A leftover of a kill is not listed, and the next write removes it.
        let left = root.join(".cortex/a/.new");
        std::fs::write(&left, "half").expect("file");
        assert_eq!(list_files(root, ".cortex/a").expect("a list").len(), 2);
        write_file(root, ".cortex/a/z", b"2").expect("written");
        assert!(!left.exists());
        assert!(remove(root, ".cortex/a/z").expect("removed"));
        assert!(remove(root, ".cortex/a/x").expect("removed") && !remove(root, ".cortex/a/x").expect("gone"));
        let held = lock_folder(root, ".cortex/b").expect("held");
        let (found, heard) = std::sync::mpsc::channel();
        std::thread::scope(|scope| {
            scope.spawn(move || {
                let _second = lock_folder(root, ".cortex/b").expect("held");
                found.send(()).expect("heard");
            });
            assert!(heard.try_recv().is_err(), "the folder is kept");
            drop(held);
            heard.recv().expect("it is free");
        });
        symlink("a", root.join(".cortex/link")).expect("link");
        assert!(
            list_files(root, ".cortex/link").is_err()
                && lock_folder(root, ".cortex/link").is_err()
                && remove(root, ".cortex/link/y").is_err()
        );
    }

    #[test]
    fn equal_content_is_not_written_again() {
        let root = tempfile::tempdir().expect("folder");
        let since = || std::fs::metadata(root.path().join(FILE)).expect("file");
        write_file(root.path(), FILE, b"one").expect("written");
        let before = std::os::unix::fs::MetadataExt::ino(&since());
        write_file(root.path(), FILE, b"one").expect("written");
        assert_eq!(std::os::unix::fs::MetadataExt::ino(&since()), before);
    }

    #[test]
    fn no_link_is_followed() {
        let (root, elsewhere) = (tempfile::tempdir().expect("folder"), tempfile::tempdir().expect("folder"));
        let (root, elsewhere) = (root.path(), elsewhere.path());
        std::fs::write(root.join(".cortex"), "a file").expect("file");
        assert_eq!(read_file(root, FILE, 10).expect("no such file"), None);
        let way = |done: io::Result<()>| done.expect_err("refused").to_string();
        assert_eq!(way(write_file(root, FILE, b"one")), ".cortex is not a folder");
        std::fs::remove_file(root.join(".cortex")).expect("removed");
        symlink(elsewhere, root.join(".cortex")).expect("link");
        let linked = "is a link, and links are not followed here";
        assert_eq!(way(write_file(root, FILE, b"one")), format!(".cortex {linked}"));
        assert!(set(root, b"one").is_err() && write_file(root, FILE, b"one").is_err() && read_file(root, FILE, 10).is_err());
        assert_eq!(std::fs::read_dir(elsewhere).expect("folder").count(), 0);
        std::fs::remove_file(root.join(".cortex")).expect("removed");
        std::fs::create_dir(root.join(".cortex")).expect("folder");
        symlink(elsewhere, root.join(".cortex/out")).expect("link");
        assert_eq!(way(write_file(root, ".cortex/out/x", b"one")), format!(".cortex/out {linked}"));
        assert_eq!(std::fs::read_dir(elsewhere).expect("folder").count(), 0);
        let (secret, link) = (elsewhere.join("secret"), root.join(FILE));
        std::fs::write(&secret, "mine").expect("file");
        symlink(&secret, &link).expect("link");
        assert_eq!(way(read_file(root, FILE, 10).map(|_| ())), format!("{FILE} {linked}"));
        assert!(set(root, b"one").is_err());
        assert_eq!(std::fs::read(&secret).expect("file"), b"mine");
        write_file(root, FILE, b"one").expect("the name is taken");
        assert_eq!(std::fs::read(&secret).expect("file"), b"mine");
        std::fs::remove_file(&link).expect("removed");
        std::fs::create_dir(&link).expect("folder");
        assert_eq!(way(read_file(root, FILE, 10).map(|_| ())), format!("{FILE} is not a file"));
        assert!(write_file(root, FILE, b"one").is_err());
        let names = std::fs::read_dir(root.join(".cortex")).expect("folder");
        let names = names.map(|entry| entry.expect("entry").file_name().into_string().expect("UTF-8"));
        assert_eq!(names.filter(|name| name != ".gitignore").count(), 2);
        assert_eq!(std::fs::read(root.join(".cortex/.gitignore")).expect("git is told"), b"*\n");
    }
}
