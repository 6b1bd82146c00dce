//! A place where one process at a time is asked: a Unix socket of this user alone, and a lock file beside it that says who has it.

use os::info::FileInfo;
use os::plain_files::MoreOptions;
use os::sockets::{self, Listener};
use std::fs::File;
use std::io::{self, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};

/// Why a place cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum SocketError {
    /// Another process has it.
    #[error("pid {pid} has it")]
    Taken {
        /// Which process, as it wrote itself down.
        pid: String,
    },
    /// The socket cannot be made.
    #[error("{path}: {reason}")]
    Io {
        /// Where.
        path: PathBuf,
        /// The system's words.
        reason: String,
    },
}

/// A place where questions come in. Only one process has it; it goes with the value.
#[derive(Debug)]
pub struct Socket {
    path: PathBuf,
    listener: Listener,
    /// Which file it is: device and number.
    file: (u64, u64),
    _lock: File,
}

impl Socket {
    /// Takes the place at `path`, next to which a lock file keeps others from it. A socket that a killed process left is taken over.
    ///
    /// # Errors
    /// When another process has it, or it cannot be made.
    pub fn bind(path: &Path) -> Result<Self, SocketError> {
        let failed = |error: io::Error| SocketError::Io {
            path: path.to_owned(),
            reason: error.to_string(),
        };
        if let Some(folder) = path.parent() {
            os::modes::create_folders(folder, 0o700).map_err(failed)?;
        }
        let mut lock = File::options()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .with_mode(0o600)
            .open(locked(path))
            .map_err(failed)?;
        if lock.try_lock().is_err() {
            let mut pid = String::new();
            lock.read_to_string(&mut pid).map_err(failed)?;
            let pid = pid.chars().filter(char::is_ascii_digit).collect();
            return Err(SocketError::Taken { pid });
        }
        lock.set_len(0)
            .and_then(|()| lock.write_all(std::process::id().to_string().as_bytes()))
            .map_err(failed)?;
        match std::fs::remove_file(path) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(failed(error)),
            _ => {}
        }
        let listener = sockets::listen(path).map_err(failed)?;
        Ok(Self {
            listener,
            file: number(path).map_err(failed)?,
            path: path.to_owned(),
            _lock: lock,
        })
    }

    /// Where questions are heard; it does not block.
    pub fn listener(&self) -> &Listener {
        &self.listener
    }

    /// Whether it is still found where it was made.
    pub fn is_in_place(&self) -> bool {
        number(&self.path).is_ok_and(|file| file == self.file)
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        // What stands there now may be another's. One that stays is taken over by the next process, and nobody answers at it.
        if self.is_in_place() {
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

/// The process that has the place at `path`, by its lock file; `None` when nobody has. To be asked only where somebody seems to listen: who
/// takes the place at this very moment may be kept from it.
pub fn holder(path: &Path) -> Option<i32> {
    let mut lock = File::open(locked(path)).ok()?;
    match lock.try_lock_shared() {
        Ok(()) => None,
        Err(_) => {
            let mut pid = String::new();
            lock.read_to_string(&mut pid).ok()?;
            pid.trim().parse().ok()
        }
    }
}

/// Which file a path names: device and number.
fn number(path: &Path) -> io::Result<(u64, u64)> {
    Ok(FileInfo::of_path(path)?.identity())
}

/// The lock file of a socket.
fn locked(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".lock");
    name.into()
}
