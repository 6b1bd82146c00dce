//! Finds the file of a program, and checks whether it can run.

use std::path::{Path, PathBuf};

/// Returns the `PATH` that programs get; without one, the default of shells.
#[expect(clippy::disallowed_methods, reason = "programs are given PATH, and found by it")]
pub(super) fn path_of_programs() -> String {
    let path = std::env::var_os("PATH").and_then(|path| path.into_string().ok());
    path.filter(|path| !path.is_empty()).unwrap_or_else(|| "/usr/bin:/bin".to_owned())
}

/// Returns the program's file: a name is searched in the absolute folders of `PATH`, a path is relative to the folder, whether or not it exists.
/// `None` when there is no program of that name.
pub(super) fn find_program(program: &str, folder: &Path) -> Option<PathBuf> {
    if program.contains('/') {
        return Some(folder.join(program));
    }
    std::env::split_paths(&path_of_programs())
        .filter(|folder| folder.is_absolute())
        .map(|folder| folder.join(program))
        .find(|file| runs(file).is_ok())
}

/// Checks without running it whether a file is executable.
///
/// # Errors
/// The obstacle and its remedy.
pub(super) fn runs(file: &Path) -> Result<(), (&'static str, &'static str)> {
    match file.metadata() {
        Err(_) => Err(("it is not there", "install it, or name another")),
        Ok(metadata) if metadata.is_dir() => Err(("it is a folder", "name a program in it")),
        Ok(metadata) if !metadata.is_file() => Err(("it is not a file", "name a program")),
        Ok(_) if !os::modes::may_run(file) => Err((
            "its file may not be executed",
            "make it executable (`chmod +x`), or name its interpreter in `argv`: [\"sh\", \"FILE\"]",
        )),
        Ok(_) => Ok(()),
    }
}
