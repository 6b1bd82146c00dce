//! Leftovers of killed builds below the output folder: files with temporary names from [`super::exports`].

use super::exports::{OUT_DIR, process_of};
use os::folders::Folder;
use os::info::FileKind;
use os::processes::is_alive;
use std::path::Path;

/// Age in seconds below which a temporary file may still get its final name.
const AGE: u64 = 3_600;

/// Maximum depth of folders searched.
const DEEPEST: usize = 128;

/// Removes leftovers of dead processes directly in a folder. A build calls it before it writes the first file.
pub(super) fn sweep(folder: &Folder) {
    for entry in folder.entries().into_iter().flatten().flatten() {
        if let Some(name) = entry.name().to_str()
            && process_of(name).is_some_and(|process| !is_alive(process))
        {
            // A leftover that cannot be removed is harmless.
            let _ = folder.remove(name);
        }
    }
}

/// Removes leftovers of dead processes, and those unwritten for an hour, as of `now` in seconds since 1970; returns their number. Keeps
/// those that it cannot read or remove: they are harmless. Follows no link.
pub fn tidy(root: &Path, now: u64) -> usize {
    let folder = Folder::open(root).and_then(|root| OUT_DIR.split('/').try_fold(root, |folder, name| folder.open_folder(name)));
    folder.map_or(0, |folder| tidy_folder(&folder, now, 0))
}

fn tidy_folder(folder: &Folder, now: u64, depth: usize) -> usize {
    let Ok(entries) = folder.entries() else { return 0 };
    let mut removed = 0;
    for entry in entries.flatten() {
        let Some(name) = entry.name().to_str() else { continue };
        if process_of(name).is_some_and(|process| !is_alive(process) || is_old(folder, name, now)) {
            removed += usize::from(folder.remove(name).is_ok());
        } else if depth < DEEPEST
            && matches!(entry.kind(), FileKind::Folder | FileKind::Unknown)
            && let Ok(inner) = folder.open_folder(name)
        {
            removed += tidy_folder(&inner, now, depth + 1);
        }
    }
    removed
}

fn is_old(folder: &Folder, name: &str, now: u64) -> bool {
    let found = folder.info_of(name);
    found.is_ok_and(|found| u64::try_from(found.modified.seconds).unwrap_or(0).saturating_add(AGE) <= now)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;
    use std::time::{SystemTime, UNIX_EPOCH};

    #[test]
    fn leftovers_of_killed_builds_are_removed_once_old() {
        let place = tempfile::tempdir().unwrap();
        let (root, other) = (place.path().join("ws"), place.path().join("other"));
        let out = root.join(OUT_DIR);
        fs::create_dir_all(out.join("types")).unwrap();
        fs::create_dir_all(&other).unwrap();
        let own = std::process::id();
        let files = [
            out.join(format!(".cortex-{own}-0.tmp")),
            out.join(format!("types/.cortex-{own}-9.tmp")),
            other.join(".cortex-1-1.tmp"),
        ];
        let kept = [out.join("a.md"), out.join(".cortex-x-0.tmp"), out.join("types/cortex-7-0.tmp")];
        files.iter().chain(&kept).for_each(|file| fs::write(file, "x").unwrap());
        symlink(&other, out.join("link")).unwrap();
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
        assert_eq!(tidy(&root, now), 0, "they may still get their names");
        assert_eq!(tidy(&root, now + 2 * AGE), 2);
        assert_eq!(files.map(|file| file.exists()), [false, false, true]);
        assert!(kept.iter().all(|file| file.exists()));
        assert_eq!(tidy(&other, now + 2 * AGE), 0);
        // No process has this number.
        fs::write(out.join("types/.cortex-4294967295-1.tmp"), "x").unwrap();
        assert_eq!(tidy(&root, now), 1);
    }
}
