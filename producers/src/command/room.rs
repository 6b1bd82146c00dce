//! How much room a folder takes up.

use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags};
use std::ffi::CString;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

/// Bytes that a file or folder counts for at least: an empty one takes up room, too.
const LEAST: u64 = 4 << 10;

const FOLDER: OFlags = OFlags::RDONLY
    .union(OFlags::DIRECTORY)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC);

/// Bytes that what is in a folder takes up, at any depth, [`LEAST`] for each; links are not followed. What goes while it is counted does not count.
///
/// One folder is open at a time, however deep they lie: of those above it only what is still to be looked at is kept.
pub(super) fn bytes_in_folder(folder: &Path) -> u64 {
    let mut bytes = 0;
    let Ok(mut at) = rustix::fs::openat(CWD, folder, FOLDER, Mode::empty()) else {
        return 0;
    };
    let mut left = vec![counted(&at, &mut bytes)];
    while let Some(names) = left.last_mut() {
        match names.pop() {
            Some(name) => {
                // One that cannot be opened went, or nobody may look into it.
                if let Ok(inner) = rustix::fs::openat(&at, name, FOLDER, Mode::empty()) {
                    left.push(counted(&inner, &mut bytes));
                    at = inner;
                }
            }
            None => {
                left.pop();
                let Ok(above) = rustix::fs::openat(&at, c"..", FOLDER, Mode::empty()) else {
                    break;
                };
                at = above;
            }
        }
    }
    bytes
}

/// Adds up what a folder holds itself; the names of the folders in it.
fn counted(folder: &OwnedFd, bytes: &mut u64) -> Vec<CString> {
    let Ok(entries) = Dir::read_from(folder.as_fd()) else {
        return Vec::new();
    };
    let mut folders = Vec::new();
    for entry in entries.flatten() {
        let name = entry.file_name();
        if matches!(name.to_bytes(), b"." | b"..") {
            continue;
        }
        let Ok(found) = rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) else {
            continue;
        };
        // What is allocated, not how long a file with holes says it is.
        let blocks = u64::try_from(found.st_blocks).unwrap_or(0);
        *bytes = bytes.saturating_add(blocks.saturating_mul(512).max(LEAST));
        if FileType::from_raw_mode(found.st_mode) == FileType::Directory {
            folders.push(name.to_owned());
        }
    }
    folders
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn what_a_folder_holds_counts_however_deep_and_empty_it_is() {
        let folder = tempfile::tempdir().expect("folder");
        for name in ["b", "c"] {
            std::fs::write(folder.path().join(name), "").expect("written");
        }
        std::os::unix::fs::symlink("/usr", folder.path().join("link")).expect("linked");
        assert_eq!(bytes_in_folder(folder.path()), 3 * LEAST);
        // Below where a path can reach, and beside it.
        let name = "d".repeat(200);
        let mut at = rustix::fs::openat(CWD, folder.path(), FOLDER, Mode::empty()).expect("opened");
        for _ in 0..40 {
            for name in [&name, "e"] {
                rustix::fs::mkdirat(&at, name, Mode::RWXU).expect("made");
            }
            at = rustix::fs::openat(&at, &name, FOLDER, Mode::empty()).expect("opened");
        }
        let big = rustix::fs::openat(&at, "big", OFlags::CREATE | OFlags::WRONLY, Mode::RWXU).expect("opened");
        std::fs::File::from(big).write_all(&vec![1; 1 << 20]).expect("written");
        let all = bytes_in_folder(folder.path());
        assert!((1 << 20..2 << 20).contains(&all), "{all}");
    }
}
