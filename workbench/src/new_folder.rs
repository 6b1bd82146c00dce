//! Writes the files of a tree to a new folder, which gets its name only when it is complete.

use engine::values::tree::File;
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;

/// Writes files to a new folder, through a temporary folder next to it. Fails when the folder has contents, or cannot be written.
pub fn write_new_folder(folder: &Path, files: &BTreeMap<String, File>) -> io::Result<()> {
    let above = folder
        .parent()
        .filter(|above| !above.as_os_str().is_empty())
        .unwrap_or(Path::new("."));
    fs::create_dir_all(above)?;
    let beside = tempfile::Builder::new().prefix(".cortex-").tempdir_in(above)?;
    for (path, file) in files {
        let place = beside.path().join(path);
        if let Some(inner) = place.parent() {
            fs::create_dir_all(inner)?;
        }
        fs::write(&place, &file.bytes)?;
        if file.program {
            os::modes::set_mode(&place, 0o755)?;
        }
    }
    os::modes::set_mode(beside.path(), 0o755)?;
    // The rename replaces a folder that another process created only if it is empty.
    fs::rename(beside.path(), folder)?;
    let _ = beside.keep();
    Ok(())
}
