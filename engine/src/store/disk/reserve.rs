//! The reserve: room on the disk that the store keeps for the day when the disk is full, because a database needs room to remove anything. It
//! knows only its file.
//!
//! A store that is smaller than the reserve has none: it is not what fills the disk. Nothing ever fails for want of a reserve.

use os::plain_files::MoreOptions;
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::Path;

/// Its file.
pub(super) const RESERVE: &str = "store.reserve";

/// Its length. A transaction that removes [`super::sweep::FEW`] results writes less than one MiB; the rest is for what redb saves of its free
/// pages with each commit, which grows with the database.
pub(super) const BYTES: u64 = 4 << 20;

/// So much room is left beside it when it is made: what others may want of a disk that is nearly full is not taken from them.
const LEFT: u64 = 4 * BYTES;

/// Makes the reserve of a store of which the database has so many bytes, if it is large enough to need one, has none, and there is plenty of room.
pub(super) fn create_reserve(folder: &Path, database: u64) {
    let path = folder.join(RESERVE);
    if database <= BYTES || fs::symlink_metadata(&path).is_ok_and(|file| file.len() == BYTES) {
        return;
    }
    if os::disks::free_bytes(folder) < BYTES + LEFT {
        return;
    }
    // What is cut short is of no use to anybody.
    let _ = fs::remove_file(&path);
    if make(&path).is_err() {
        let _ = fs::remove_file(&path);
    }
}

/// Writes the file in full: a hole takes no room, and neither do zeros where the disk compresses.
fn make(path: &Path) -> io::Result<()> {
    let mut noise = vec![0; usize::try_from(BYTES).map_err(io::Error::other)?];
    blake3::Hasher::new().finalize_xof().fill(&mut noise);
    OpenOptions::new()
        .write(true)
        .create_new(true)
        .with_mode(0o600)
        .open(path)?
        .write_all(&noise)
}

/// Gives the room of the reserve to the database; whether there was any.
pub(super) fn give_up(folder: &Path) -> bool {
    fs::remove_file(folder.join(RESERVE)).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::MetadataExt;

    #[test]
    fn it_takes_room_and_is_made_again() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join(RESERVE);
        create_reserve(folder.path(), BYTES);
        assert!(!file.exists() && !give_up(folder.path()), "a small store has none");
        create_reserve(folder.path(), BYTES + 1);
        let made = fs::metadata(&file).unwrap();
        assert_eq!((made.len(), made.mode() & 0o777), (BYTES, 0o600));
        fs::File::open(&file).unwrap().sync_all().unwrap();
        assert!(fs::metadata(&file).unwrap().blocks() * 512 >= BYTES, "it has holes");
        // What a kill left of it is made whole.
        fs::write(&file, "short").unwrap();
        create_reserve(folder.path(), BYTES + 1);
        assert_eq!(fs::metadata(&file).unwrap().len(), BYTES);
        assert!(give_up(folder.path()) && !file.exists());
        create_reserve(&folder.path().join("nowhere"), BYTES + 1);
    }
}
