//! The token of the HTTP server: a secret in a file that only this user can read, created on first use.

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use os::info::{FileInfo, FileKind};
use os::plain_files::MoreOptions;
use ring::hmac;
use ring::rand::{SecureRandom, SystemRandom};
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::Path;

/// Random bytes of a token.
const BYTES: usize = 32;

/// Secret that can be compared but not read.
pub struct Token {
    key: hmac::Key,
    mark: hmac::Tag,
}

impl Token {
    /// Creates the secret of a text.
    pub fn from_text(text: &str) -> Self {
        // The key need not be secret: comparing tags only keeps the time independent of a common prefix.
        let key = hmac::Key::new(hmac::HMAC_SHA256, b"cortex token");
        let mark = hmac::sign(&key, text.as_bytes());
        Self { key, mark }
    }

    /// Returns whether `text` is the secret; the time does not depend on how much of it is right.
    pub fn matches(&self, text: &str) -> bool {
        hmac::verify(&self.key, text.as_bytes(), self.mark.as_ref()).is_ok()
    }
}

/// Returns the token's text in a file; creates the file if it does not exist. Fails when the file cannot be read or created, or other users
/// could read or replace it.
pub fn text_at(path: &Path) -> io::Result<String> {
    if fs::symlink_metadata(path).is_err_and(|error| error.kind() == io::ErrorKind::NotFound) {
        make(path)?;
    }
    let info = FileInfo::of_path(path)?;
    if info.kind() != FileKind::File || info.owner != os::processes::own_user() || info.mode & 0o077 != 0 {
        return Err(io::Error::new(
            io::ErrorKind::PermissionDenied,
            "others than this user could read or replace it",
        ));
    }
    let mut text = String::new();
    File::open(path)?.take(1024).read_to_string(&mut text)?;
    let text = text.trim();
    if text.len() < BYTES {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "it holds no token"));
    }
    Ok(text.to_owned())
}

/// Creates the file atomically; a file that another process created first stays.
fn make(path: &Path) -> io::Result<()> {
    let mut bytes = [0; BYTES];
    SystemRandom::new()
        .fill(&mut bytes)
        .map_err(|_| io::Error::other("the system gives no random numbers"))?;
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    let begun = path.with_extension(format!("token-{}", std::process::id()));
    let mut file = File::options().write(true).create_new(true).with_mode(0o600).open(&begun)?;
    let written = writeln!(file, "{}", BASE64_URL_SAFE_NO_PAD.encode(bytes)).and_then(|()| file.sync_all());
    let linked = written.and_then(|()| match fs::hard_link(&begun, path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        linked => linked,
    });
    fs::remove_file(&begun)?;
    linked
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};

    #[test]
    fn it_is_made_once_and_only_for_its_user() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("views").join("mcp.token");
        let first = Token::from_text(&text_at(&path).expect("it is made"));
        let text = fs::read_to_string(&path).expect("it is there");
        assert_eq!(fs::metadata(&path).expect("it is there").mode() & 0o777, 0o600);
        assert!(first.matches(text.trim()) && !first.matches(&text) && !first.matches("") && !first.matches(&text.trim()[1..]));
        assert_eq!(text_at(&path).expect("it is read"), text.trim(), "it stays the same");
        let names = fs::read_dir(folder.path().join("views")).expect("the folder").count();
        assert_eq!(names, 1, "nothing else is left");
    }

    #[test]
    fn a_token_file_that_others_can_read_is_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("mcp.token");
        text_at(&path).expect("it is made");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).expect("its mode is set");
        assert_eq!(
            text_at(&path).err().map(|error| error.kind()),
            Some(io::ErrorKind::PermissionDenied)
        );
        let link = folder.path().join("link");
        std::os::unix::fs::symlink(&path, &link).expect("a link");
        assert_eq!(
            text_at(&link).err().map(|error| error.kind()),
            Some(io::ErrorKind::PermissionDenied)
        );
    }

    #[test]
    fn an_empty_file_holds_none() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("mcp.token");
        File::options()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&path)
            .expect("a file");
        assert_eq!(text_at(&path).err().map(|error| error.kind()), Some(io::ErrorKind::InvalidData));
    }
}
