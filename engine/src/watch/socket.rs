//! An exclusive server socket: a Unix socket of this user alone, and a lock file next to it that names its process.

use os::info::FileInfo;
use os::plain_files::MoreOptions;
use os::sockets::{self, Listener};
use std::fs::File;
use std::io::{self, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};

/// Reason why a socket is not available.
#[derive(Debug, thiserror::Error)]
pub enum SocketError {
    /// Another process has it.
    #[error("pid {pid} has it")]
    Taken {
        /// That process, as the lock file names it.
        pid: String,
    },
    /// The socket cannot be created.
    #[error("{path}: {reason}")]
    Io {
        path: PathBuf,
        /// The operating system's error message.
        reason: String,
    },
}

/// A listening socket. Only one process has it; dropping it removes it.
#[derive(Debug)]
pub struct Socket {
    path: PathBuf,
    listener: Listener,
    /// Identity of its file: device and number.
    file: (u64, u64),
    _lock: File,
}

impl Socket {
    /// Binds the socket at `path`, with a lock file next to it that excludes other processes. Takes over the socket of a killed process.
    /// Fails when another process has it, or it cannot be created.
    pub fn bind_exclusively(path: &Path) -> Result<Self, SocketError> {
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
        let listener = sockets::listen_privately(path).map_err(failed)?;
        Ok(Self {
            listener,
            file: file_identity(path).map_err(failed)?,
            path: path.to_owned(),
            _lock: lock,
        })
    }

    /// Returns the listener, which does not block.
    pub fn listener(&self) -> &Listener {
        &self.listener
    }

    /// Whether the path still leads to this socket.
    pub fn is_in_place(&self) -> bool {
        file_identity(&self.path).is_ok_and(|file| file == self.file)
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        // The path may belong to another process now. If this file stays, the next process takes it over, and nothing answers there
        // until then.
        if self.is_in_place() {
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

/// Returns the process that has the socket at `path`, by its lock file; `None` if none has. Call it only if a listener seems to exist: the
/// test can make a concurrent [`Socket::bind_exclusively`] fail.
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

/// Returns the identity of the file at a path: device and number.
fn file_identity(path: &Path) -> io::Result<(u64, u64)> {
    Ok(FileInfo::of_path(path)?.identity())
}

/// Returns the lock file of a socket.
fn locked(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".lock");
    name.into()
}
