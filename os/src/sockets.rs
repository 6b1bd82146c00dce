//! Sockets that other processes of this user find by a path.

use crate::modes::set_mode;
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketType};
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

pub use std::os::unix::net::{UnixListener as Listener, UnixStream as Stream};

/// Pause between attempts to connect.
const PAUSE: Duration = Duration::from_millis(10);

/// Connects to the process that listens at a path. Fails when no process listens; as a time-out when its queue of connections stays full.
pub fn connect(socket: &Path, patience: Duration) -> io::Result<Stream> {
    let until = Instant::now() + patience;
    with_short_name(socket, |path| {
        let address = SocketAddrUnix::new(path)?;
        let stream = Stream::from(new_socket()?);
        stream.set_nonblocking(true)?;
        // A blocking connect would wait until the listener accepts, possibly for ever.
        while let Err(errno) = rustix::net::connect(&stream, &address) {
            match errno {
                Errno::AGAIN if Instant::now() < until => std::thread::sleep(PAUSE),
                Errno::AGAIN => return Err(io::ErrorKind::TimedOut.into()),
                errno => return Err(errno.into()),
            }
        }
        stream.set_nonblocking(false)?;
        Ok(stream)
    })
}

#[cfg(target_os = "linux")]
fn new_socket() -> Result<OwnedFd, Errno> {
    use rustix::net::{SocketFlags, socket_with};
    socket_with(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)
}

/// A program started between the two calls inherits the socket.
#[cfg(not(target_os = "linux"))]
fn new_socket() -> Result<OwnedFd, Errno> {
    let socket = rustix::net::socket(AddressFamily::UNIX, SocketType::STREAM, None)?;
    rustix::io::fcntl_setfd(&socket, rustix::io::FdFlags::CLOEXEC)?;
    Ok(socket)
}

/// Listens at a path, for this user only; accepting does not block. Errors: the error of the system; also when the name exists.
pub fn listen_privately(socket: &Path) -> io::Result<Listener> {
    let listener = with_short_name(socket, |path| Listener::bind(path))?;
    set_mode(socket, 0o600)?;
    listener.set_nonblocking(true)?;
    Ok(listener)
}

/// Calls `run` with a short name of the socket.
fn with_short_name<T>(socket: &Path, run: impl Fn(&Path) -> io::Result<T>) -> io::Result<T> {
    let (_folder, name) = short_name(socket)?;
    run(&name)
}

/// Shortens the name of a socket, whose length is limited: in a deep folder, uses the folder's open handle, which must outlive the name.
pub fn short_name(socket: &Path) -> io::Result<(Option<File>, PathBuf)> {
    if socket.as_os_str().len() < 100 {
        return Ok((None, socket.to_owned()));
    }
    let (Some(folder), Some(name)) = (socket.parent(), socket.file_name()) else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    let folder = File::open(folder)?;
    let number = folder.as_raw_fd().to_string();
    Ok((Some(folder), Path::new("/proc/self/fd").join(number).join(name)))
}
