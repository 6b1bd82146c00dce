//! MoreOptions files that may have been replaced by something else: a pipe or a device would be waited for, or read, for ever. And what more can be said
//! of how a file is opened than the standard library asks for. It knows nothing of what the files hold.

use std::fs::{self, File, FileType, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::Path;

/// Whether a link under a file's name is followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Links {
    /// It is.
    Followed,
    /// It is an error.
    Refused,
}

/// What more can be said of how a file is opened.
pub trait MoreOptions {
    /// Who may do what with the file if it is made: permissions as systems write them, `0o600`.
    fn with_mode(&mut self, mode: u32) -> &mut Self;

    /// A link under its name is an error.
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

/// Opens a file; refuses at once what is none.
///
/// # Errors
/// The system's, and that it is no file.
pub fn open(path: &Path, options: &mut OpenOptions, links: Links) -> io::Result<File> {
    let never_waits = rustix::fs::OFlags::NONBLOCK | rustix::fs::OFlags::NOCTTY;
    let flags = match links {
        Links::Followed => never_waits,
        Links::Refused => never_waits | rustix::fs::OFlags::NOFOLLOW,
    };
    let file = match options.custom_flags(flags.bits().cast_signed()).open(path) {
        // A folder, or a socket, cannot be opened at all: the reason is what it is.
        Err(error) => return Err(require(path).err().unwrap_or(error)),
        Ok(file) => file,
    };
    is_plain(path, file.metadata()?.file_type())?;
    Ok(file)
}

/// Opens a file to read it, as [`open`] does; links are followed.
///
/// # Errors
/// As [`open`].
pub fn open_to_read(path: &Path) -> io::Result<File> {
    open(path, OpenOptions::new().read(true), Links::Followed)
}

/// The text of a small file, of at most `most` bytes; `None` where there is no file, or a longer one.
pub fn read_text(path: &Path, most: u64) -> Option<String> {
    let mut text = String::new();
    open_to_read(path).ok()?.take(most + 1).read_to_string(&mut text).ok()?;
    (text.len() as u64 <= most).then_some(text)
}

/// Looks whether what is there, if anything is, is a file.
///
/// # Errors
/// That it is none.
pub fn require(path: &Path) -> io::Result<()> {
    match fs::metadata(path) {
        Ok(found) => is_plain(path, found.file_type()),
        Err(_) => Ok(()),
    }
}

fn is_plain(path: &Path, found: FileType) -> io::Result<()> {
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
    fn what_is_no_file_is_refused_at_once() {
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
                let refused = open(&at(name), &mut options, Links::Followed).unwrap_err();
                assert_eq!(refused.to_string(), format!("{name} is {kind} and no file; move it away"));
            }
            assert_eq!(read_text(&at(name), 100), None);
        }
    }
}
