//! Opening files that may have been replaced by something else: opening or reading a pipe or a device could wait for ever. Also more options
//! for opening than the standard library has on all systems. Independent of what the files contain.

use std::fs::{self, File, FileType, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::Path;

/// Whether a link in place of a file is followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Links {
    Followed,
    /// A link is an error.
    Refused,
}

/// Additional options for opening a file.
pub trait MoreOptions {
    /// Sets the permissions of a new file, as systems write them: `0o600`.
    fn with_mode(&mut self, mode: u32) -> &mut Self;

    /// Fails if the name is a link.
    fn refuse_links(&mut self) -> &mut Self;
}

impl MoreOptions for OpenOptions {
    fn with_mode(&mut self, mode: u32) -> &mut Self {
        self.mode(mode)
    }

    fn refuse_links(&mut self) -> &mut Self {
        self.custom_flags(rustix::fs::OFlags::NOFOLLOW.bits().cast_signed())
    }
}

/// Opens a regular file; fails at once for anything else. Errors: the error of the system, also when it is not a regular file.
pub fn open_plain_file(path: &Path, options: &mut OpenOptions, links: Links) -> io::Result<File> {
    let never_waits = rustix::fs::OFlags::NONBLOCK | rustix::fs::OFlags::NOCTTY;
    let flags = match links {
        Links::Followed => never_waits,
        Links::Refused => never_waits | rustix::fs::OFlags::NOFOLLOW,
    };
    let file = match options.custom_flags(flags.bits().cast_signed()).open(path) {
        // A folder or socket cannot be opened at all; report its kind.
        Err(error) => return Err(require(path).err().unwrap_or(error)),
        Ok(file) => file,
    };
    check_is_plain(path, file.metadata()?.file_type())?;
    Ok(file)
}

/// Opens a file to read it, as [`open_plain_file`] does; follows links. Fails as [`open_plain_file`] does.
pub fn open_to_read(path: &Path) -> io::Result<File> {
    open_plain_file(path, OpenOptions::new().read(true), Links::Followed)
}

/// Reads a text file of at most `most` bytes; `None` if it does not exist or is longer.
pub fn read_text(path: &Path, most: u64) -> Option<String> {
    let mut text = String::new();
    open_to_read(path).ok()?.take(most + 1).read_to_string(&mut text).ok()?;
    (text.len() as u64 <= most).then_some(text)
}

/// Checks that a path, if it exists, is a regular file. Fails when it is not.
pub fn require(path: &Path) -> io::Result<()> {
    match fs::metadata(path) {
        Ok(found) => check_is_plain(path, found.file_type()),
        Err(_) => Ok(()),
    }
}

fn check_is_plain(path: &Path, found: FileType) -> io::Result<()> {
    if found.is_file() {
        return Ok(());
    }
    let kind = match () {
        () if found.is_dir() => "a folder",
        () if found.is_fifo() => "a named pipe",
        () if found.is_socket() => "a socket",
        () => "a device",
    };
    let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy();
    Err(io::Error::other(format!("{name} is {kind} and no file; move it away")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::{CWD, Mode, mkfifoat};

    #[test]
    fn anything_but_a_plain_file_is_refused_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::write(at("file"), "words").unwrap();
        fs::create_dir(at("folder")).unwrap();
        mkfifoat(CWD, at("pipe"), Mode::RWXU).unwrap();
        std::os::unix::fs::symlink("/dev/zero", at("zero")).unwrap();
        let _socket = std::os::unix::net::UnixListener::bind(at("socket")).unwrap();
        assert_eq!(read_text(&at("file"), 5).unwrap(), "words");
        assert_eq!(read_text(&at("file"), 4), None);
        assert_eq!(open_to_read(&at("none")).unwrap_err().kind(), io::ErrorKind::NotFound);
        for (name, kind) in [
            ("folder", "a folder"),
            ("pipe", "a named pipe"),
            ("zero", "a device"),
            ("socket", "a socket"),
        ] {
            let options = [
                OpenOptions::new().read(true).clone(),
                OpenOptions::new().read(true).write(true).clone(),
            ];
            for mut options in options {
                let refused = open_plain_file(&at(name), &mut options, Links::Followed).unwrap_err();
                assert_eq!(refused.to_string(), format!("{name} is {kind} and no file; move it away"));
            }
            assert_eq!(read_text(&at(name), 100), None);
        }
    }
}
