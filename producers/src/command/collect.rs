//! After a program has ended: the files and folders that it was to make. No link is followed, and whatever is neither a file nor a folder is
//! refused: what a link means, or what a pipe holds, is not in the program's folder.

use engine::seams::producer::Failure;
use engine::values::codes::ErrorCode;
use engine::values::diagnostic::Diagnostic;
use engine::values::tree::{DEEPEST, File, MOST};
use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, RawMode, Stat};
use rustix::io::Errno;
use std::collections::BTreeMap;
use std::io::Read;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::rc::Rc;

/// Bytes that one output file may have.
const MOST_BYTES: u64 = 256 << 20;

/// Bytes that all of them may have together.
const MOST_TOGETHER: u64 = 1 << 30;

const FOLDER: OFlags = OFlags::RDONLY
    .union(OFlags::DIRECTORY)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC);
/// Opening a pipe would wait for whoever writes to it.
const FILE: OFlags = OFlags::RDONLY
    .union(OFlags::NOFOLLOW)
    .union(OFlags::NONBLOCK)
    .union(OFlags::CLOEXEC);

/// What was made.
pub(super) struct CollectedOutput {
    /// Files by their paths, below the names of the outputs.
    pub(super) files: BTreeMap<String, File>,
    /// Bytes that there is room for.
    room: u64,
}

/// A folder that is still to be read: the open one above it, its name there, its name among the outputs, its path.
type Waiting = (Rc<OwnedFd>, String, String, String);

impl CollectedOutput {
    /// Nothing yet.
    pub(super) fn new() -> Self {
        let files = BTreeMap::new();
        Self {
            files,
            room: MOST_TOGETHER,
        }
    }

    /// Takes what there is under a path of the folder, as files below `name`: one of that name, or those of a folder.
    ///
    /// # Errors
    /// When it is not there, or is what cannot be an output.
    pub(super) fn collect(&mut self, folder: &Path, name: &str, path: &str) -> Result<(), Failure> {
        let wants_folder = path.ends_with('/');
        let path = path.trim_end_matches('/');
        let mut at = rustix::fs::openat(CWD, folder, FOLDER, Mode::empty()).map_err(|error| unreadable(path, error))?;
        let mut parts: Vec<&str> = path.split('/').collect();
        let last = parts.pop().unwrap_or_default();
        for part in parts {
            at = open(&at, part, FOLDER).map_err(|error| missing_or(path, error))?;
        }
        let stat = stat(&at, last).map_err(|error| missing_or(path, error))?;
        match (FileType::from_raw_mode(stat.st_mode), wants_folder) {
            (FileType::Directory, true) => self.walk(at, last, name, path),
            (FileType::RegularFile, false) => self.read(&at, last, &stat, name, path),
            (FileType::Directory, false) => Err(output_refused(path, "is a folder", "write a / at its end in `outputs`")),
            (FileType::RegularFile, true) => Err(output_refused(path, "is a file", "take the / at its end away in `outputs`")),
            (other, _) => Err(strange(path, other)),
        }
    }

    /// Reads a folder and those below it, one after the other. As many are open at once as lie inside each other.
    fn walk(&mut self, above: OwnedFd, entry: &str, name: &str, path: &str) -> Result<(), Failure> {
        let mut waiting: Vec<Waiting> = vec![(Rc::new(above), entry.to_owned(), name.to_owned(), path.to_owned())];
        let deepest = path.split('/').count() + DEEPEST;
        while let Some((above, entry, name, path)) = waiting.pop() {
            if path.split('/').count() > deepest {
                return Err(output_refused(&path, "lies too deep", "make fewer folders inside each other"));
            }
            let folder = open(&above, &entry, FOLDER).map_err(|error| unreadable(&path, error))?;
            let folder = Rc::new(folder);
            let entries = Dir::read_from(&*folder).map_err(|error| unreadable(&path, error))?;
            for entry in entries {
                let entry = entry.map_err(|error| unreadable(&path, error))?;
                let Ok(own) = entry.file_name().to_str() else {
                    let shown = entry.file_name().to_string_lossy();
                    return Err(output_refused(
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
                let stat = stat(&folder, own).map_err(|error| unreadable(&inner, error))?;
                match FileType::from_raw_mode(stat.st_mode) {
                    FileType::Directory => waiting.push((folder.clone(), own.to_owned(), below, inner)),
                    FileType::RegularFile => self.read(&folder, own, &stat, &below, &inner)?,
                    other => return Err(strange(&inner, other)),
                }
                if self.files.len() + waiting.len() > MOST {
                    return Err(output_refused(&path, "holds too many files", "make fewer, or one file of them"));
                }
            }
        }
        Ok(())
    }

    fn read(&mut self, folder: &OwnedFd, entry: &str, stat: &Stat, name: &str, path: &str) -> Result<(), Failure> {
        let program = stat.st_mode & RawMode::from(0o100_u16) != 0;
        let file = open(folder, entry, FILE).map_err(|error| unreadable(path, error))?;
        let stat = rustix::fs::fstat(file.as_fd()).map_err(|error| unreadable(path, error))?;
        if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
            return Err(strange(path, FileType::from_raw_mode(stat.st_mode)));
        }
        // A file with holes is longer than the room that it takes up.
        let len = u64::try_from(stat.st_size).unwrap_or(u64::MAX);
        if len > MOST_BYTES {
            let what = format!("has more than {} MiB", MOST_BYTES >> 20);
            return Err(output_refused(path, &what, "write less, or several files"));
        }
        let Some(room) = self.room.checked_sub(len) else {
            let what = format!("has more than {} MiB together with the files before it", MOST_TOGETHER >> 20);
            return Err(output_refused(path, &what, "write less, or have several programs make it"));
        };
        self.room = room;
        let mut bytes = Vec::new();
        let read = std::fs::File::from(file).take(len).read_to_end(&mut bytes);
        read.map_err(|error| unreadable(path, Errno::from_io_error(&error).unwrap_or(Errno::IO)))?;
        let bytes = bytes.into();
        self.files.insert(name.to_owned(), File { program, bytes });
        Ok(())
    }
}

fn stat(folder: &OwnedFd, name: &str) -> rustix::io::Result<Stat> {
    rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW)
}

/// Opens an entry, also one that the program took its own rights to away: the superuser would be let in, and a result is the same for all.
fn open(folder: &OwnedFd, name: &str, flags: OFlags) -> rustix::io::Result<OwnedFd> {
    let open = || rustix::fs::openat(folder, name, flags, Mode::empty());
    open().or_else(|error| {
        let kind = FileType::from_raw_mode(stat(folder, name)?.st_mode);
        if error != Errno::ACCESS || !matches!(kind, FileType::Directory | FileType::RegularFile) {
            return Err(error);
        }
        rustix::fs::chmodat(folder, name, Mode::RWXU, AtFlags::empty())?;
        open()
    })
}

fn output_refused(path: &str, what: &str, hint: &str) -> Failure {
    let why = Diagnostic::error(ErrorCode::E_OUTPUT, format!("the output '{path}' {what}"));
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
    output_refused(path, what, "have the program write files and folders")
}

fn missing_or(path: &str, error: Errno) -> Failure {
    match error {
        Errno::NOENT => output_refused(
            path,
            "was not made, although the program ended well",
            "see that it writes it into the folder it starts in",
        ),
        // A folder above it is a link, or a file.
        Errno::LOOP | Errno::NOTDIR => output_refused(path, "is behind a symbolic link or a file", "have the program make folders"),
        error => unreadable(path, error),
    }
}

fn unreadable(path: &str, error: Errno) -> Failure {
    let why = Diagnostic::error(ErrorCode::E_OUTPUT, format!("the output '{path}' cannot be read: {error}"));
    Failure::Transient(Box::new(
        why.hint("see that the program leaves it as a plain file or folder; if it does, look at the disk"),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_together_have_a_bound_whatever_holes_they_have() {
        let folder = tempfile::tempdir().expect("folder");
        std::fs::create_dir(folder.path().join("out")).expect("made");
        for name in ["a", "b"] {
            let file = std::fs::File::create(folder.path().join("out").join(name)).expect("made");
            file.set_len(100).expect("lengthened");
        }
        let collected = |room: u64| {
            let mut made = CollectedOutput {
                room,
                ..CollectedOutput::new()
            };
            made.collect(folder.path(), "", "out/").map(|()| made.files.len())
        };
        assert_eq!(collected(200), Ok(2));
        let Err(Failure::Permanent(why)) = collected(199) else {
            panic!("it has too much")
        };
        assert!(
            why.code == "E_OUTPUT" && why.message.contains("together with the files before it"),
            "{why:?}"
        );
    }
}
