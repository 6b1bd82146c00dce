//! The reserve: disk space that the store keeps for a full disk, because a database needs space to remove anything. Knows only its file.
//!
//! A store smaller than the reserve has none: it does not fill the disk. Nothing ever fails for lack of a reserve.

use os::plain_files::MoreOptions;
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::Path;

/// Name of its file.
pub(super) const RESERVE: &str = "store.reserve";

/// Its length in bytes. A transaction that removes [`super::sweep::FEW`] results writes less than one MiB. The rest is for redb's list of free
/// pages, saved with each commit, which grows with the database.
pub(super) const BYTES: u64 = 4 << 20;

/// Minimum of bytes that stay free when the reserve is created: on a nearly full disk, it must not take space from other programs.
const LEFT: u64 = 4 * BYTES;

/// Creates the reserve of a store with a database of this length, if it is large enough to need one, has none, and there is enough space.
pub(super) fn create_reserve(folder: &Path, database: u64) {
    let path = folder.join(RESERVE);
    if database <= BYTES || fs::symlink_metadata(&path).is_ok_and(|file| file.len() == BYTES) {
        return;
    }
    if os::disks::free_bytes(folder) < BYTES + LEFT {
        return;
    }
    // A reserve of another length is useless.
    let _ = fs::remove_file(&path);
    if write_reserve(&path).is_err() {
        let _ = fs::remove_file(&path);
    }
}

/// Writes the file in full: a hole takes no space, nor do zeros on a compressing disk.
fn write_reserve(path: &Path) -> io::Result<()> {
    let mut noise = vec![0; usize::try_from(BYTES).map_err(io::Error::other)?];
    blake3::Hasher::new().finalize_xof().fill(&mut noise);
    OpenOptions::new()
        .write(true)
        .create_new(true)
        .with_mode(0o600)
        .open(path)?
        .write_all(&noise)
}

/// Frees the reserve for the database; returns whether there was one.
pub(super) fn give_up(folder: &Path) -> bool {
    fs::remove_file(folder.join(RESERVE)).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::MetadataExt;

    #[test]
    fn the_reserve_takes_space_and_is_recreated() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join(RESERVE);
        create_reserve(folder.path(), BYTES);
        assert!(!file.exists() && !give_up(folder.path()), "a small store has none");
        create_reserve(folder.path(), BYTES + 1);
        let made = fs::metadata(&file).unwrap();
        assert_eq!((made.len(), made.mode() & 0o777), (BYTES, 0o600));
        fs::File::open(&file).unwrap().sync_all().unwrap();
        assert!(fs::metadata(&file).unwrap().blocks() * 512 >= BYTES, "it has holes");
        // A reserve cut short by a kill is completed.
        fs::write(&file, "short").unwrap();
        create_reserve(folder.path(), BYTES + 1);
        assert_eq!(fs::metadata(&file).unwrap().len(), BYTES);
        assert!(give_up(folder.path()) && !file.exists());
        create_reserve(&folder.path().join("nowhere"), BYTES + 1);
    }
}
