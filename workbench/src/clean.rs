//! Deletes the files laid out below `.cortex/out`, which the next build writes again. Follows no link.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::io;
use std::path::Path;

/// The deleted files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Removed {
    /// Number of files.
    pub files: u64,
    /// Total size of the files in bytes.
    pub bytes: u64,
}

/// Deletes the files. Fails when a folder cannot be read or deleted, or a link or a file is in its place.
pub fn clean(root: &Path) -> io::Result<Removed> {
    let (parent, out) = (root.join(".cortex"), root.join(".cortex/out"));
    for folder in [&parent, &out] {
        match std::fs::symlink_metadata(folder) {
            Ok(found) if found.is_dir() => {}
            Ok(_) => return Err(io::Error::other("a link or a file is in its place")),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Removed::default()),
            Err(error) => return Err(error),
        }
    }
    let mut removed = Removed::default();
    count_removed(&out, &mut removed)?;
    std::fs::remove_dir_all(&out)?;
    Ok(removed)
}

fn count_removed(folder: &Path, removed: &mut Removed) -> io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let found = entry.metadata()?;
        if found.is_dir() {
            count_removed(&entry.path(), removed)?;
        } else {
            removed.files += 1;
            removed.bytes += found.len();
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{Removed, clean};

    #[test]
    fn files_go_and_links_stay() {
        let temp = tempfile::tempdir().expect("folder");
        let (root, beside) = (temp.path().join("ws"), temp.path().join("beside"));
        std::fs::create_dir_all(root.join(".cortex/out/types")).expect("folders");
        std::fs::create_dir(&beside).expect("folder");
        std::fs::write(beside.join("kept"), "kept").expect("file");
        std::fs::write(root.join(".cortex/out/types/a.md"), "12345").expect("file");
        std::fs::write(root.join(".cortex/packs.toml"), "").expect("file");
        std::os::unix::fs::symlink(&beside, root.join(".cortex/out/link")).expect("link");
        let removed = clean(&root).expect("clean");
        assert_eq!(removed.files, 2);
        assert!(!root.join(".cortex/out").exists() && root.join(".cortex/packs.toml").exists() && beside.join("kept").exists());
        assert_eq!(clean(&root).expect("clean"), Removed::default());
        std::os::unix::fs::symlink(&beside, root.join(".cortex/out")).expect("link");
        assert!(clean(&root).is_err() && beside.join("kept").exists());
    }
}
