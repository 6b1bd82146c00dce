//! How much room a folder takes up.

use os::folders::Folder;
use os::info::Kind;
use std::ffi::OsString;
use std::path::Path;

/// Bytes that a file or folder counts for at least: an empty one takes up room, too.
const LEAST: u64 = 4 << 10;

/// Bytes that what is in a folder takes up, at any depth, [`LEAST`] for each; links are not followed. What goes while it is counted does not count.
///
/// One folder is open at a time, however deep they lie: of those above it only what is still to be looked at is kept.
pub(super) fn bytes_in_folder(folder: &Path) -> u64 {
    let mut bytes = 0;
    let Ok(mut at) = Folder::open_no_link(folder) else {
        return 0;
    };
    let mut left = vec![counted(&at, &mut bytes)];
    while let Some(names) = left.last_mut() {
        match names.pop() {
            Some(name) => {
                // One that cannot be opened went, or nobody may look into it.
                if let Ok(inner) = at.open_folder(name) {
                    left.push(counted(&inner, &mut bytes));
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

/// Adds up what a folder holds itself; the names of the folders in it.
fn counted(folder: &Folder, bytes: &mut u64) -> Vec<OsString> {
    let Ok(entries) = folder.entries() else { return Vec::new() };
    let mut folders = Vec::new();
    for entry in entries.flatten() {
        let Ok(found) = folder.info_of(entry.name()) else { continue };
        // What is allocated, not how long a file with holes says it is.
        *bytes = bytes.saturating_add(found.allocated.max(LEAST));
        if found.kind() == Kind::Folder {
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
    fn what_a_folder_holds_counts_however_deep_and_empty_it_is() {
        let folder = tempfile::tempdir().expect("folder");
        for name in ["b", "c"] {
            std::fs::write(folder.path().join(name), "").expect("written");
        }
        std::os::unix::fs::symlink("/usr", folder.path().join("link")).expect("linked");
        assert_eq!(bytes_in_folder(folder.path()), 3 * LEAST);
        // Below where a path can reach, and beside it.
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
