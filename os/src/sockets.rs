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

/// How often one tries to be heard.
const PAUSE: Duration = Duration::from_millis(10);

/// Connects to whoever listens at a path.
///
/// # Errors
/// When nobody does; as a time-out when so many want to be heard that there is no room to wait for so long.
pub fn connect(socket: &Path, patience: Duration) -> io::Result<Stream> {
    let until = Instant::now() + patience;
    with_short_name(socket, |path| {
        let address = SocketAddrUnix::new(path)?;
        let stream = Stream::from(new_socket()?);
        stream.set_nonblocking(true)?;
        // Who blocks here blocks until the other end takes him, which may be never.
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

/// Programs that are started between the two calls inherit it.
#[cfg(not(target_os = "linux"))]
fn new_socket() -> Result<OwnedFd, Errno> {
    let socket = rustix::net::socket(AddressFamily::UNIX, SocketType::STREAM, None)?;
    rustix::io::fcntl_setfd(&socket, rustix::io::FdFlags::CLOEXEC)?;
    Ok(socket)
}

/// Listens at a path, for this user alone; who accepts there does not wait.
///
/// # Errors
/// The system's; also when something has that name.
pub fn listen(socket: &Path) -> io::Result<Listener> {
    let listener = with_short_name(socket, |path| Listener::bind(path))?;
    set_mode(socket, 0o600)?;
    listener.set_nonblocking(true)?;
    Ok(listener)
}

/// Runs with a name of the socket that is short enough.
fn with_short_name<T>(socket: &Path, run: impl Fn(&Path) -> io::Result<T>) -> io::Result<T> {
    let (_folder, name) = short_name(socket)?;
    run(&name)
}

/// Names of sockets are short: in a folder that is deep they are named by its open handle, which has to live as long as the name.
///
/// # Errors
/// When the folder cannot be opened.
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
