//! What builds that were killed left behind below the output folder: files under the temporary names that [`super::exports`] gives.

use super::exports::{DIRECTORY, OUT_DIR, process_of};
use rustix::fd::OwnedFd;
use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags};
use rustix::io::Errno;
use rustix::process::{Pid, test_kill_process};
use std::path::Path;

/// A file that was written within so many seconds may still get its name.
const AGE: u64 = 3_600;

/// Folders are looked through no deeper.
const DEEPEST: usize = 128;

/// Removes what processes that are gone left behind right in a folder. Builds call it before they write the first file.
pub(super) fn sweep(folder: &OwnedFd) {
    for entry in Dir::read_from(folder).into_iter().flatten().flatten() {
        if let Ok(name) = entry.file_name().to_str()
            && process_of(name).is_some_and(is_gone)
        {
            // What cannot be removed harms nobody.
            let _ = rustix::fs::unlinkat(folder, name, AtFlags::empty());
        }
    }
}

fn is_gone(process: u32) -> bool {
    let process = i32::try_from(process).ok().and_then(Pid::from_raw);
    process.is_none_or(|process| test_kill_process(process) == Err(Errno::SRCH))
}

/// Removes what processes that are gone left behind, and what nobody has written to for an hour, as of `now` in seconds since 1970; how many files. What cannot be looked at or removed stays: it
/// harms nobody. No link is followed.
pub fn tidy(root: &Path, now: u64) -> usize {
    let opened = rustix::fs::open(root, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty());
    let folder = OUT_DIR
        .split('/')
        .try_fold(opened.ok(), |folder, name| {
            Some(folder.and_then(|folder| open_below(&folder, name)))
        })
        .flatten();
    folder.map_or(0, |folder| tidy_folder(&folder, now, 0))
}

fn open_below(folder: &OwnedFd, name: &str) -> Option<OwnedFd> {
    rustix::fs::openat(folder, name, DIRECTORY, Mode::empty()).ok()
}

fn tidy_folder(folder: &OwnedFd, now: u64, depth: usize) -> usize {
    let Ok(entries) = Dir::read_from(folder) else { return 0 };
    let mut removed = 0;
    for entry in entries.flatten() {
        let Ok(name) = entry.file_name().to_str() else { continue };
        if name == "." || name == ".." {
            continue;
        }
        if process_of(name).is_some_and(|process| is_gone(process) || is_old(folder, name, now)) {
            removed += usize::from(rustix::fs::unlinkat(folder, name, AtFlags::empty()).is_ok());
        } else if depth < DEEPEST
            && matches!(entry.file_type(), FileType::Directory | FileType::Unknown)
            && let Some(inner) = open_below(folder, name)
        {
            removed += tidy_folder(&inner, now, depth + 1);
        }
    }
    removed
}

fn is_old(folder: &OwnedFd, name: &str, now: u64) -> bool {
    let found = rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW);
    found.is_ok_and(|found| u64::try_from(found.st_mtime).unwrap_or(0).saturating_add(AGE) <= now)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;
    use std::time::{SystemTime, UNIX_EPOCH};

    #[test]
    fn what_a_killed_build_left_goes_once_it_is_old() {
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
