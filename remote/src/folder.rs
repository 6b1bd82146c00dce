//! A folder as a cache: machines that mount it share its files. A file is written under a temporary name and renamed.

use crate::objects::Objects;
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};
use tonic::{Code, Status};

/// A folder that machines share.
#[derive(Debug)]
pub(crate) struct Folder(PathBuf);

impl Folder {
    /// Opens the folder of an endpoint. Creates it if `writes`; its parent must exist. Errors: a sentence, when the folder does not exist
    /// or cannot be created.
    pub(crate) fn open_endpoint(path: &Path, writes: bool) -> Result<Self, String> {
        match fs::metadata(path) {
            Ok(found) if !found.is_dir() => return Err(format!("{} is a file, not a folder", path.display())),
            Err(error) if error.kind() == ErrorKind::NotFound && writes => {
                let parent = path.parent().unwrap_or(path);
                fs::create_dir(path)
                    .or_else(|error| if path.is_dir() { Ok(()) } else { Err(error) })
                    .map_err(|error| match error.kind() {
                        ErrorKind::NotFound => format!("{} does not exist", parent.display()),
                        _ => format!("{} cannot be made: {error}", path.display()),
                    })?;
            }
            Err(error) if error.kind() == ErrorKind::NotFound => return Err(format!("{} does not exist", path.display())),
            Err(error) => return Err(format!("its folder cannot be read: {error}")),
            Ok(_) => {}
        }
        Ok(Self(path.to_path_buf()))
    }
}

impl Objects for Folder {
    fn length(&self, name: &str) -> Result<Option<u64>, Status> {
        let found = fs::symlink_metadata(self.0.join(name)).ok();
        Ok(found.filter(fs::Metadata::is_file).map(|found| found.len()))
    }

    fn read(&self, name: &str, most: u64) -> Result<Vec<u8>, Status> {
        let path = self.0.join(name);
        let read = || {
            // Opening a pipe would wait, and a link leads elsewhere.
            if !fs::symlink_metadata(&path)?.is_file() {
                return Err(io::Error::from(ErrorKind::NotFound));
            }
            let mut bytes = Vec::new();
            File::open(&path)?.take(most).read_to_end(&mut bytes)?;
            Ok(bytes)
        };
        read().map_err(|error| status(&error))
    }

    fn write(&self, name: &str, bytes: &[u8], unique: &str) -> Result<(), Status> {
        let path = self.0.join(name);
        let written = || {
            let folder = path.parent().unwrap_or(Path::new("."));
            fs::create_dir_all(folder)?;
            let temporary = folder.join(format!(".{unique}"));
            let mut file = OpenOptions::new().write(true).create_new(true).open(&temporary)?;
            let renamed = file.write_all(bytes).and_then(|()| fs::rename(&temporary, &path));
            if renamed.is_err() {
                // Report the first error, not this one.
                let _ = fs::remove_file(&temporary);
            }
            renamed
        };
        written().map_err(|error| status(&error))
    }

    fn at_once(&self) -> usize {
        1
    }
}

/// Converts an error of the file system to that of a server; lasting errors become refusals.
fn status(error: &io::Error) -> Status {
    let code = match error.kind() {
        ErrorKind::NotFound => Code::NotFound,
        ErrorKind::PermissionDenied => Code::PermissionDenied,
        ErrorKind::ReadOnlyFilesystem | ErrorKind::StorageFull | ErrorKind::QuotaExceeded => Code::FailedPrecondition,
        _ => Code::DataLoss,
    };
    Status::new(code, error.to_string())
}
