//! Collects the output files and folders of a program that has ended. Follows no link, and refuses all entries other than files and folders: the
//! target of a link, or the content of a pipe, is not in the program's folder.

use engine::seams::producer::Failure;
use engine::values::codes::ErrorCode;
use engine::values::diagnostic::Diagnostic;
use engine::values::tree::{DEEPEST, File, MOST};
use os::errors::SystemError;
use os::folders::Folder;
use os::info::{FileInfo, FileKind};
use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;
use std::rc::Rc;

/// Limit of bytes of one output file.
const MOST_BYTES: u64 = 256 << 20;

/// Limit of bytes of all output files.
const MOST_TOGETHER: u64 = 1 << 30;

pub(super) struct CollectedOutput {
    /// Files by their paths, below the names of the outputs.
    pub(super) files: BTreeMap<String, File>,
    /// Remaining bytes.
    room: u64,
}

/// A folder still to be read: the open folder above it, its name there, its name among the outputs, its path.
type Waiting = (Rc<Folder>, String, String, String);

impl CollectedOutput {
    /// Creates an empty one.
    pub(super) fn new() -> Self {
        let files = BTreeMap::new();
        Self {
            files,
            room: MOST_TOGETHER,
        }
    }

    /// Collects the entry at a path of the folder as files below `name`: a file of that name, or those of a folder. Fails when it does not
    /// exist, or cannot be an output.
    pub(super) fn collect_entry(&mut self, folder: &Path, name: &str, path: &str) -> Result<(), Failure> {
        let wants_folder = path.ends_with('/');
        let path = path.trim_end_matches('/');
        let mut at = Folder::open_no_link(folder).map_err(|error| unreadable(path, error))?;
        let mut parts: Vec<&str> = path.split('/').collect();
        let last = parts.pop().unwrap_or_default();
        for part in parts {
            at = open_entry(&at, part, || at.open_folder(part)).map_err(|error| missing_or(path, error))?;
        }
        let info = at.info_of(last).map_err(|error| missing_or(path, error))?;
        match (info.kind(), wants_folder) {
            (FileKind::Folder, true) => self.walk(at, last, name, path),
            (FileKind::File, false) => self.read_entry(&at, last, &info, name, path),
            (FileKind::Folder, false) => Err(output_refused(path, "is a folder", "write a / at its end in `outputs`")),
            (FileKind::File, true) => Err(output_refused(path, "is a file", "take the / at its end away in `outputs`")),
            (other, _) => Err(unexpected_entry(path, other)),
        }
    }

    /// Reads a folder and those below it, one after the other. Keeps only nested folders open.
    fn walk(&mut self, above: Folder, entry: &str, name: &str, path: &str) -> Result<(), Failure> {
        let mut waiting: Vec<Waiting> = vec![(Rc::new(above), entry.to_owned(), name.to_owned(), path.to_owned())];
        let deepest = path.split('/').count() + DEEPEST;
        while let Some((above, entry, name, path)) = waiting.pop() {
            if path.split('/').count() > deepest {
                return Err(output_refused(&path, "is nested too deep", "nest fewer folders"));
            }
            let folder = open_entry(&above, &entry, || above.open_folder(&entry)).map_err(|error| unreadable(&path, error))?;
            let folder = Rc::new(folder);
            let entries = folder.entries().map_err(|error| unreadable(&path, error))?;
            for entry in entries {
                let entry = entry.map_err(|error| unreadable(&path, error))?;
                let Some(own) = entry.name().to_str() else {
                    let shown = entry.name().to_string_lossy();
                    return Err(output_refused(
                        &format!("{path}/{shown}"),
                        "has a name that is not UTF-8",
                        "name it otherwise",
                    ));
                };
                let inner = format!("{path}/{own}");
                let below = match name.as_str() {
                    "" => own.to_owned(),
                    name => format!("{name}/{own}"),
                };
                let info = folder.info_of(own).map_err(|error| unreadable(&inner, error))?;
                match info.kind() {
                    FileKind::Folder => waiting.push((folder.clone(), own.to_owned(), below, inner)),
                    FileKind::File => self.read_entry(&folder, own, &info, &below, &inner)?,
                    other => return Err(unexpected_entry(&inner, other)),
                }
                if self.files.len() + waiting.len() > MOST {
                    return Err(output_refused(&path, "holds too many files", "make fewer, or one file of them"));
                }
            }
        }
        Ok(())
    }

    fn read_entry(&mut self, folder: &Folder, entry: &str, info: &FileInfo, name: &str, path: &str) -> Result<(), Failure> {
        let program = info.mode & 0o100 != 0;
        let file = open_entry(folder, entry, || folder.open_to_read(entry)).map_err(|error| unreadable(path, error))?;
        let info = FileInfo::from_handle(&file).map_err(|error| unreadable(path, error))?;
        if info.kind() != FileKind::File {
            return Err(unexpected_entry(path, info.kind()));
        }
        // The length of a file with holes exceeds its space on disk.
        let len = info.size;
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
        let read = file.take(len).read_to_end(&mut bytes);
        read.map_err(|error| unreadable(path, SystemError::from_io_error(&error).unwrap_or(SystemError::DEVICE)))?;
        let bytes = bytes.into();
        self.files.insert(name.to_owned(), File { program, bytes });
        Ok(())
    }
}

/// Opens an entry, also if the program removed its own permissions: the superuser could open it, and results must be the same for all users.
fn open_entry<T>(folder: &Folder, name: &str, open: impl Fn() -> Result<T, SystemError>) -> Result<T, SystemError> {
    open().or_else(|error| {
        let kind = folder.info_of(name)?.kind();
        if error != SystemError::DENIED || !matches!(kind, FileKind::Folder | FileKind::File) {
            return Err(error);
        }
        folder.open_up(name)?;
        open()
    })
}

fn output_refused(path: &str, what: &str, hint: &str) -> Failure {
    let why = Diagnostic::error(ErrorCode::E_OUTPUT, format!("the output '{path}' {what}"));
    Failure::Permanent(Box::new(why.hint(hint)))
}

fn unexpected_entry(path: &str, kind: FileKind) -> Failure {
    let what = match kind {
        FileKind::Link => "is a symbolic link",
        FileKind::Pipe => "is a pipe",
        FileKind::Socket => "is a socket",
        FileKind::Device => "is a device",
        _ => "is neither a file nor a folder",
    };
    output_refused(path, what, "have the program write files and folders")
}

fn missing_or(path: &str, error: SystemError) -> Failure {
    match error {
        SystemError::NOT_FOUND => output_refused(
            path,
            "was not made, although the program ended well",
            "see that it writes it into the folder it starts in",
        ),
        // A folder above it is a link, or a file.
        SystemError::LINK | SystemError::NO_FOLDER => {
            output_refused(path, "is behind a symbolic link or a file", "have the program make folders")
        }
        error => unreadable(path, error),
    }
}

fn unreadable(path: &str, error: SystemError) -> Failure {
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
            made.collect_entry(folder.path(), "", "out/").map(|()| made.files.len())
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
