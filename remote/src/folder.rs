//! A folder as a cache: machines that mount it share blobs and results as files, without a server.
//!
//! `blobs/XX/REST` holds a blob under its BLAKE3 digest, `results/XX/REST` an ActionResult under the digest of its action. A file is written
//! under a name of its own and renamed, so that others see all of it or nothing. Whatever else happens to files (cut short, changed, removed)
//! is found out by those who read them, as with a server.

use crate::names::Name;
use crate::server::LONGEST_ANSWER;
use bazel_remote_apis::build::bazel::remote::execution::v2::ActionResult;
use engine::values::digest::Digest;
use prost::Message;
use std::collections::HashSet;
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};
use tonic::{Code, Status};

const BLOBS: &str = "blobs";
const RESULTS: &str = "results";

/// The folder of an instance.
#[derive(Clone, Debug)]
pub(crate) struct Folder(PathBuf);

impl Folder {
    /// The folder that an endpoint names, within which an instance has its own. Whoever writes makes it; its parent is to be there.
    ///
    /// # Errors
    /// One sentence: it is not there, or cannot be one.
    pub(crate) fn open(path: &Path, instance: &str, writes: bool) -> Result<Self, String> {
        let parts = instance.split('/').filter(|part| !part.is_empty());
        if parts.clone().any(|part| matches!(part, "." | ".." | BLOBS | RESULTS)) {
            return Err("the name of its instance is no name of a folder".to_owned());
        }
        match fs::metadata(path) {
            Ok(found) if !found.is_dir() => return Err("its path is that of a file".to_owned()),
            Err(error) if error.kind() == ErrorKind::NotFound && writes => {
                fs::create_dir(path)
                    .or_else(|error| if path.is_dir() { Ok(()) } else { Err(error) })
                    .map_err(|error| format!("its folder cannot be made: {error}"))?;
            }
            Err(error) => return Err(format!("its folder cannot be read: {error}")),
            Ok(_) => {}
        }
        Ok(Self(parts.fold(path.to_path_buf(), |path, part| path.join(part))))
    }

    fn path(&self, kind: &str, name: &Name) -> PathBuf {
        let hash = Digest(name.hash).to_string();
        let (first, rest) = hash.split_at(2);
        self.0.join(kind).join(first).join(rest)
    }

    /// Which of these are not there with their length.
    pub(crate) fn missing(&self, names: &[Name]) -> HashSet<Name> {
        let is_there = |name: &Name| {
            let found = fs::symlink_metadata(self.path(BLOBS, name));
            found.is_ok_and(|found| found.is_file() && found.len() == name.len)
        };
        names.iter().copied().filter(|name| !is_there(name)).collect()
    }

    /// The bytes of a blob, at most one more than it has.
    ///
    /// # Errors
    /// Why it cannot be read, as a server would say it.
    pub(crate) fn read(&self, name: &Name) -> Result<Vec<u8>, Status> {
        read(&self.path(BLOBS, name), name.len)
    }

    /// Writes a blob, also over one that is there.
    ///
    /// # Errors
    /// Why it cannot be written, as a server would say it.
    pub(crate) fn write(&self, name: &Name, bytes: &[u8], temporary: &str) -> Result<(), Status> {
        write(&self.path(BLOBS, name), bytes, temporary)
    }

    /// What is filed under an action.
    ///
    /// # Errors
    /// Why it cannot be read, as a server would say it.
    pub(crate) fn result(&self, action: &Name) -> Result<ActionResult, Status> {
        let bytes = read(&self.path(RESULTS, action), LONGEST_ANSWER as u64)?;
        // One that cannot be read has no record, which is told.
        Ok(ActionResult::decode(&bytes[..]).unwrap_or_default())
    }

    /// Files a result, also over one that is there.
    ///
    /// # Errors
    /// Why it cannot be written, as a server would say it.
    pub(crate) fn file(&self, action: &Name, result: &ActionResult, temporary: &str) -> Result<(), Status> {
        write(&self.path(RESULTS, action), &result.encode_to_vec(), temporary)
    }
}

fn read(path: &Path, len: u64) -> Result<Vec<u8>, Status> {
    let read = || {
        // A pipe would be waited for, and a link leads elsewhere.
        if !fs::symlink_metadata(path)?.is_file() {
            return Err(io::Error::from(ErrorKind::NotFound));
        }
        let mut bytes = Vec::new();
        File::open(path)?.take(len.saturating_add(1)).read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    read().map_err(|error| said(&error))
}

fn write(path: &Path, bytes: &[u8], temporary: &str) -> Result<(), Status> {
    let written = || {
        let folder = path.parent().unwrap_or(Path::new("."));
        fs::create_dir_all(folder)?;
        let temporary = folder.join(format!(".{temporary}"));
        let mut file = OpenOptions::new().write(true).create_new(true).open(&temporary)?;
        let renamed = file.write_all(bytes).and_then(|()| fs::rename(&temporary, path));
        if renamed.is_err() {
            // The first error is the one to tell.
            let _ = fs::remove_file(&temporary);
        }
        renamed
    };
    written().map_err(|error| said(&error))
}

/// An error of the file system as a server says it: what nobody may do, or nobody can, is refused once for all.
fn said(error: &io::Error) -> Status {
    let code = match error.kind() {
        ErrorKind::NotFound => Code::NotFound,
        ErrorKind::PermissionDenied => Code::PermissionDenied,
        ErrorKind::ReadOnlyFilesystem | ErrorKind::StorageFull | ErrorKind::QuotaExceeded => Code::FailedPrecondition,
        _ => Code::DataLoss,
    };
    Status::new(code, error.to_string())
}
