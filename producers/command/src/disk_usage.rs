//! Disk usage of a folder.

use os::folders::Folder;
use os::info::FileKind;
use std::ffi::OsString;
use std::path::Path;

/// Least bytes that a file or folder counts for: an empty one uses disk space too.
const LEAST: u64 = 4 << 10;

/// Returns the bytes on disk of a folder's entries at any depth, at least [`LEAST`] for each; follows no link. Ignores entries that disappear.
///
/// Opens one folder at a time, at any depth: of the folders above it only the entries still to be visited are kept.
pub(super) fn bytes_in_folder(folder: &Path) -> u64 {
    let mut bytes = 0;
    let Ok(mut at) = Folder::open_no_link(folder) else {
        return 0;
    };
    let mut left = vec![count_entries(&at, &mut bytes)];
    while let Some(names) = left.last_mut() {
        match names.pop() {
            Some(name) => {
                // Skip a folder that was removed or cannot be read.
                if let Ok(inner) = at.open_folder(name) {
                    left.push(count_entries(&inner, &mut bytes));
                    at = inner;
                }
            }
            None => {
                left.pop();
                let Ok(above) = at.open_folder("..") else { break };
                at = above;
            }
        }
    }
    bytes
}

/// Adds the bytes of a folder's entries, and returns the names of its folders.
fn count_entries(folder: &Folder, bytes: &mut u64) -> Vec<OsString> {
    let Ok(entries) = folder.entries() else { return Vec::new() };
    let mut folders = Vec::new();
    for entry in entries.flatten() {
        let Ok(found) = folder.info_of(entry.name()) else { continue };
        // Allocated bytes, not the length, which is larger for a file with holes.
        *bytes = bytes.saturating_add(found.allocated.max(LEAST));
        if found.kind() == FileKind::Folder {
            folders.push(entry.name().to_owned());
        }
    }
    folders
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn deep_and_empty_entries_of_a_folder_are_counted() {
        let folder = tempfile::tempdir().expect("folder");
        for name in ["b", "c"] {
            std::fs::write(folder.path().join(name), "").expect("written");
        }
        std::os::unix::fs::symlink("/usr", folder.path().join("link")).expect("linked");
        assert_eq!(bytes_in_folder(folder.path()), 3 * LEAST);
        // Below the limit of path lengths, and beside it.
        let name = "d".repeat(200);
        let mut at = Folder::open(folder.path()).expect("opened");
        for _ in 0..40 {
            for name in [&name, "e"] {
                at.make_folder(name, 0o700).expect("made");
            }
            at = at.open_folder(&name).expect("opened");
        }
        let mut big = at.create_new("big", 0o700).expect("opened");
        big.write_all(&vec![1; 1 << 20]).expect("written");
        let all = bytes_in_folder(folder.path());
        assert!((1 << 20..2 << 20).contains(&all), "{all}");
    }
}
