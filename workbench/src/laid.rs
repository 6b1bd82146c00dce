//! Files of a checkout that are not outputs of the graph: written below `.cortex/`, whole or not at all.

use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

/// Writes a file below the root's `.cortex/` unless it holds these bytes already. No link is followed: its name is taken, whatever it led to.
///
/// # Errors
/// When it cannot be written, or its folder leads out of the workspace.
pub fn write(root: &Path, below: &str, bytes: &[u8]) -> io::Result<PathBuf> {
    let path = root.join(below);
    let folder = path.parent().ok_or(ErrorKind::InvalidInput)?;
    std::fs::create_dir_all(folder)?;
    let meant = root.canonicalize()?.join(below);
    if meant.parent() != Some(&folder.canonicalize()?) {
        return Err(io::Error::other("it leads out of the workspace"));
    }
    if read(&path).as_deref() == Some(bytes) {
        return Ok(path);
    }
    let mut copy = tempfile::Builder::new().prefix(".new-").tempfile_in(folder)?;
    copy.write_all(bytes)?;
    copy.persist(&path).map_err(|error| error.error)?;
    Ok(path)
}

/// The bytes of a file that is no link.
pub fn read(path: &Path) -> Option<Vec<u8>> {
    let is_file = std::fs::symlink_metadata(path).is_ok_and(|found| found.is_file());
    is_file.then(|| std::fs::read(path).ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_written_through_links() {
        let folder = tempfile::tempdir().expect("folder");
        let root = folder.path().join("ws");
        let outside = folder.path().join("outside");
        std::fs::create_dir_all(root.join(".cortex")).expect("folders");
        std::fs::create_dir(&outside).expect("folder");
        std::fs::write(outside.join("file"), "theirs").expect("file");
        std::os::unix::fs::symlink(outside.join("file"), root.join(".cortex/one")).expect("a link");
        write(&root, ".cortex/one", b"ours").expect("written");
        assert_eq!(std::fs::read(outside.join("file")).expect("file"), b"theirs");
        assert_eq!(read(&root.join(".cortex/one")).as_deref(), Some(b"ours".as_slice()));
        std::os::unix::fs::symlink(&outside, root.join(".cortex/out")).expect("a link");
        assert!(write(&root, ".cortex/out/two", b"ours").is_err());
        assert!(!outside.join("two").exists());
    }
}
