//! The folder that contains the scratch folders of programs: one for each process, below the folder for temporary files. The process keeps a lock in
//! it while it lives. The next process removes folders whose lock is free: their process was killed.

use engine::seams::producer::Failure;
use engine::values::codes::ErrorCode;
use engine::values::diagnostic::Diagnostic;
use os::info::FileInfo;
use os::modes;
use os::plain_files::MoreOptions;
use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, Once, PoisonError, Weak};
use tempfile::TempDir;

/// Prefix of the names of these folders.
const PREFIX: &str = "cortex-programs-";
/// A folder of such a name without this file belongs to another program.
const LOCK: &str = ".cortex-lock";

/// The folder of this process. Dropping it removes it.
pub(super) struct ScratchRoot {
    folder: TempDir,
    /// Locked until it is closed.
    lock: File,
}

impl ScratchRoot {
    /// Returns the folder of this process: created on first use, kept while a caller refers to it. Fails when it cannot be created; then no
    /// program can run.
    pub(super) fn shared() -> Result<Arc<Self>, Failure> {
        static SHARED: Mutex<Weak<ScratchRoot>> = Mutex::new(Weak::new());
        static SWEPT: Once = Once::new();
        let mut shared = SHARED.lock().unwrap_or_else(PoisonError::into_inner);
        // Another program may clean the folder for temporary files while this process lives.
        if let Some(root) = shared.upgrade().filter(|root| is_there(&root.lock)) {
            return Ok(root);
        }
        let below = temporary_folder();
        if below.to_str().is_none() {
            return Err(cannot(&below, "its name is not UTF-8"));
        }
        SWEPT.call_once(|| remove_abandoned(&below));
        let root = Self::make(&below).map_err(|error| cannot(&below, &error.to_string()))?;
        let root = Arc::new(root);
        *shared = Arc::downgrade(&root);
        Ok(root)
    }

    pub(super) fn path(&self) -> &Path {
        self.folder.path()
    }

    fn make(below: &Path) -> io::Result<Self> {
        loop {
            let folder = tempfile::Builder::new().prefix(PREFIX).tempdir_in(below)?;
            let lock = OpenOptions::new().write(true).create_new(true).open(folder.path().join(LOCK));
            let lock = match lock {
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                lock => lock?,
            };
            match lock.try_lock() {
                // A sweep of another process locked it first.
                Err(TryLockError::WouldBlock) => continue,
                // Without locks no process sweeps.
                Ok(()) | Err(TryLockError::Error(_)) => {}
            }
            if is_there(&lock) {
                return Ok(Self { folder, lock });
            }
        }
    }
}

/// Whether a file still has a name.
fn is_there(lock: &File) -> bool {
    FileInfo::from_handle(lock).is_ok_and(|info| info.links > 0)
}

/// Returns the folder for temporary files; an empty name counts as none.
fn temporary_folder() -> PathBuf {
    let folder = std::env::temp_dir();
    if folder.as_os_str().is_empty() { "/tmp".into() } else { folder }
}

/// Removes folders of this user's ended processes.
fn remove_abandoned(below: &Path) {
    let own = os::processes::own_user();
    for entry in std::fs::read_dir(below).into_iter().flatten().flatten() {
        let named = entry.file_name().to_string_lossy().starts_with(PREFIX);
        if named
            && entry
                .metadata()
                .is_ok_and(|metadata| metadata.is_dir() && FileInfo::of_metadata(&metadata).owner == own)
        {
            // A folder that cannot be removed does no harm.
            let _ = remove_unlocked(&entry.path());
        }
    }
}

/// Removes one folder, unless a living process has locked it.
fn remove_unlocked(folder: &Path) -> io::Result<()> {
    let lock = OpenOptions::new().write(true).refuse_links().open(folder.join(LOCK))?;
    lock.try_lock()?;
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            flatten(folder, &entry.path())?;
        }
    }
    std::fs::remove_dir_all(folder)
}

/// Removes a folder with all its entries, however deep: inner folders are moved up before they are emptied, so that neither paths nor the stack grow
/// with the depth that a program has created.
pub(super) fn flatten(root: &Path, folder: &Path) -> io::Result<()> {
    let mut left = vec![folder.to_owned()];
    let mut offset = 0_u64;
    while let Some(folder) = left.pop() {
        // The program may have removed its own permissions.
        modes::set_mode(&folder, 0o700)?;
        for entry in std::fs::read_dir(&folder)? {
            let entry = entry?;
            if !entry.file_type()?.is_dir() {
                std::fs::remove_file(entry.path())?;
                continue;
            }
            modes::set_mode(&entry.path(), 0o700)?;
            let up = loop {
                offset += 1;
                let up = root.join(format!(".cortex-going-{offset}"));
                if up.symlink_metadata().is_err() {
                    break up;
                }
            };
            std::fs::rename(entry.path(), &up)?;
            left.push(up);
        }
        std::fs::remove_dir(&folder)?;
    }
    Ok(())
}

fn cannot(below: &Path, why: &str) -> Failure {
    let what = format!(
        "programs run in folders below {} (TMPDIR), where none can be made: {why}",
        below.display()
    );
    let hint = "make that a folder that can be written and has room, or set TMPDIR to one";
    Failure::Limit(Box::new(Diagnostic::error(ErrorCode::E_TMPDIR, what).hint(hint)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_unlocked_folders_of_cortex_are_removed() {
        let below = tempfile::tempdir().expect("folder");
        let at = |name: &str| below.path().join(name);
        let live = ScratchRoot::make(below.path()).expect("made");
        for name in ["cortex-programs-dead", "cortex-programs-of-mine", "other"] {
            std::fs::create_dir_all(at(name).join("run/deep/er")).expect("made");
            std::fs::write(at(name).join("run/deep/er/file"), "x").expect("written");
        }
        for name in ["cortex-programs-dead", "other"] {
            std::fs::write(at(name).join(LOCK), "").expect("written");
        }
        std::os::unix::fs::symlink(at("other"), at("cortex-programs-link")).expect("linked");
        remove_abandoned(below.path());
        assert!(live.path().join(LOCK).exists() && at("other/run/deep/er/file").exists());
        assert!(at("cortex-programs-of-mine/run").exists() && at("cortex-programs-link").exists());
        assert!(!at("cortex-programs-dead").exists());
        let path = live.path().to_owned();
        drop(live);
        assert!(!path.exists());
        let tidied = ScratchRoot::make(below.path()).expect("made");
        assert!(is_there(&tidied.lock));
        std::fs::remove_dir_all(tidied.path()).expect("removed");
        assert!(!is_there(&tidied.lock));
    }
}
