//! Where a program lies.

use std::path::{Path, PathBuf};

/// The `PATH` that programs get.
#[expect(clippy::disallowed_methods, reason = "programs are given PATH, and found by it")]
pub(super) fn path() -> Option<String> {
    std::env::var_os("PATH")?.into_string().ok()
}

/// The program's file: a name is looked for in `PATH`, a path is taken from the folder. A program that is not found is left as it was
/// written: starting it tells why.
pub(super) fn find(program: &str, folder: &Path) -> PathBuf {
    if program.contains('/') {
        return folder.join(program);
    }
    let runs = |file: &PathBuf| file.is_file() && rustix::fs::access(file, rustix::fs::Access::EXEC_OK).is_ok();
    let path = path().unwrap_or_default();
    std::env::split_paths(&path)
        .take_while(|folder| folder.is_absolute())
        .map(|folder| folder.join(program))
        .find(runs)
        .unwrap_or_else(|| program.into())
}
