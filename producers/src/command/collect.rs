//! After a program has ended: the files and folders that it was to make. No link is followed, and whatever is neither a file nor a folder is
//! refused: what a link means, or what a pipe holds, is not in the program's folder.

use engine::seams::producer::Failure;
use engine::values::diagnostic::Diagnostic;
use engine::values::tree::{DEEPEST, File, MOST};
use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, RawMode};
use std::collections::BTreeMap;
use std::io::Read;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::rc::Rc;

/// Bytes that one output file may have.
const MOST_BYTES: u64 = 256 << 20;

/// What was made: files by their paths, below the names of the outputs.
pub(super) type Made = BTreeMap<String, File>;

/// What there is under a path of the folder, as files below `name`: one of that name, or those of a folder.
///
/// # Errors
/// When it is not there, or is what cannot be an output.
pub(super) fn collect(folder: &Path, name: &str, path: &str, made: &mut Made) -> Result<(), Failure> {
    let wants_folder = path.ends_with('/');
    let path = path.trim_end_matches('/');
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut at = rustix::fs::open(folder, flags, Mode::empty()).map_err(|error| unreadable(path, error))?;
    let mut parts: Vec<&str> = path.split('/').collect();
    let last = parts.pop().unwrap_or_default();
    for part in parts {
        at = rustix::fs::openat(&at, part, flags, Mode::empty()).map_err(|error| missing_or(path, error))?;
    }
    let kind = kind(&at, last).map_err(|error| missing_or(path, error))?;
    match (kind, wants_folder) {
        (FileType::Directory, true) => walk(at, last, name, path, made),
        (FileType::RegularFile, false) => {
            let file = read(&at, last, path)?;
            made.insert(name.to_owned(), file);
            Ok(())
        }
        (FileType::Directory, false) => Err(refused(path, "is a folder", "write a / at its end in `outputs`")),
        (FileType::RegularFile, true) => Err(refused(path, "is a file", "take the / at its end away in `outputs`")),
        (other, _) => Err(strange(path, other)),
    }
}

/// A folder that is still to be read: the open one above it, its name there, its name among the outputs, its path.
type Waiting = (Rc<OwnedFd>, String, String, String);

/// Reads a folder and those below it, one after the other. As many are open at once as lie inside each other.
fn walk(above: OwnedFd, entry: &str, name: &str, path: &str, made: &mut Made) -> Result<(), Failure> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut waiting: Vec<Waiting> = vec![(Rc::new(above), entry.to_owned(), name.to_owned(), path.to_owned())];
    let deepest = path.split('/').count() + DEEPEST;
    while let Some((above, entry, name, path)) = waiting.pop() {
        if path.split('/').count() > deepest {
            return Err(refused(&path, "lies too deep", "make fewer folders inside each other"));
        }
        let folder = rustix::fs::openat(&*above, &*entry, flags, Mode::empty()).map_err(|error| unreadable(&path, error))?;
        let folder = Rc::new(folder);
        let entries = Dir::read_from(&*folder).map_err(|error| unreadable(&path, error))?;
        for entry in entries {
            let entry = entry.map_err(|error| unreadable(&path, error))?;
            let Ok(own) = entry.file_name().to_str() else {
                let shown = entry.file_name().to_string_lossy();
                return Err(refused(
                    &format!("{path}/{shown}"),
                    "has a name that is not UTF-8",
                    "name it otherwise",
                ));
            };
            if own == "." || own == ".." {
                continue;
            }
            let inner = format!("{path}/{own}");
            let below = match name.as_str() {
                "" => own.to_owned(),
                name => format!("{name}/{own}"),
            };
            match kind(&folder, own).map_err(|error| unreadable(&inner, error))? {
                FileType::Directory => waiting.push((folder.clone(), own.to_owned(), below, inner)),
                FileType::RegularFile => {
                    let file = read(&folder, own, &inner)?;
                    made.insert(below, file);
                }
                other => return Err(strange(&inner, other)),
            }
            if made.len() + waiting.len() > MOST {
                return Err(refused(&path, "holds too many files", "make fewer, or one file of them"));
            }
        }
    }
    Ok(())
}

fn kind(folder: &OwnedFd, name: &str) -> rustix::io::Result<FileType> {
    let stat = rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW)?;
    Ok(FileType::from_raw_mode(stat.st_mode))
}

fn read(folder: &OwnedFd, name: &str, path: &str) -> Result<File, Failure> {
    // Opening a pipe would wait for whoever writes to it.
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = rustix::fs::openat(folder, name, flags, Mode::empty()).map_err(|error| unreadable(path, error))?;
    let stat = rustix::fs::fstat(file.as_fd()).map_err(|error| unreadable(path, error))?;
    if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
        return Err(strange(path, FileType::from_raw_mode(stat.st_mode)));
    }
    let mut bytes = Vec::new();
    let read = std::fs::File::from(file).take(MOST_BYTES + 1).read_to_end(&mut bytes);
    read.map_err(|error| super::io(&format!("the output '{path}' cannot be read"), &error))?;
    if bytes.len() as u64 > MOST_BYTES {
        return Err(refused(
            path,
            &format!("has more than {} MiB", MOST_BYTES >> 20),
            "write less, or several files",
        ));
    }
    let program = stat.st_mode & RawMode::from(0o100_u16) != 0;
    let bytes = bytes.into();
    Ok(File { program, bytes })
}

fn refused(path: &str, what: &str, hint: &str) -> Failure {
    let why = Diagnostic::error("E_OUTPUT", format!("the output '{path}' {what}"));
    Failure::Permanent(Box::new(why.hint(hint)))
}

fn strange(path: &str, kind: FileType) -> Failure {
    let what = match kind {
        FileType::Symlink => "is a symbolic link",
        FileType::Fifo => "is a pipe",
        FileType::Socket => "is a socket",
        FileType::CharacterDevice | FileType::BlockDevice => "is a device",
        _ => "is neither a file nor a folder",
    };
    refused(path, what, "have the program write files and folders")
}

fn missing_or(path: &str, error: rustix::io::Errno) -> Failure {
    match error {
        rustix::io::Errno::NOENT => refused(
            path,
            "was not made, although the program ended well",
            "see that it writes it into the folder it starts in",
        ),
        // A folder above it is a link, or a file.
        rustix::io::Errno::LOOP | rustix::io::Errno::NOTDIR => {
            refused(path, "is behind a symbolic link or a file", "have the program make folders")
        }
        error => unreadable(path, error),
    }
}

fn unreadable(path: &str, error: rustix::io::Errno) -> Failure {
    super::io(&format!("the output '{path}' cannot be read"), &error.into())
}
