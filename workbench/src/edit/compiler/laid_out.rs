//! The copy of the sources on which a check runs the compiler. It stays between runs, and files with equal bytes are not rewritten, so that the
//! compiler builds only changes.

use super::FOLDER;
use crate::edit::tree::Tree;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Folders of compiler output; they stay.
const MADE: [&str; 2] = ["bin", "obj"];

pub(super) fn copy_folder(root: &Path) -> PathBuf {
    root.join(FOLDER).join("tree")
}

/// Updates the copy to the files of the workspace, with some texts replaced. Removes all other files except compiler output.
pub(super) fn lay_out(root: &Path, tree: &Tree, texts: &BTreeMap<&str, Option<&[u8]>>) -> io::Result<()> {
    let copy = copy_folder(root);
    fs::create_dir_all(&copy)?;
    let mut wanted: BTreeSet<PathBuf> = BTreeSet::new();
    for path in tree.keys().filter(|path| !texts.contains_key(path.as_str())) {
        // Skip a file that was deleted since the tree was read.
        if let Ok(bytes) = fs::read(root.join(path)) {
            put_file(&copy, path, &bytes)?;
            wanted.insert(copy.join(path));
        }
    }
    for (path, text) in texts {
        if let Some(text) = text {
            put_file(&copy, path, text)?;
            wanted.insert(copy.join(path));
        }
    }
    remove_others(&copy, &wanted)?;
    let folders: BTreeSet<&str> = tree
        .keys()
        .filter(|path| path.ends_with("proj"))
        .map(|path| path.rsplit_once('/').map_or("", |(folder, _)| folder))
        .collect();
    folders.into_iter().try_for_each(|folder| copy_restored(root, &copy, folder))
}

fn put_file(copy: &Path, path: &str, bytes: &[u8]) -> io::Result<()> {
    let target = copy.join(path);
    if fs::read(&target).is_ok_and(|now| now == bytes) {
        return Ok(());
    }
    if target.is_dir() {
        fs::remove_dir_all(&target)?;
    }
    if let Some(folder) = target.parent() {
        fs::create_dir_all(folder)?;
    }
    fs::write(&target, bytes)
}

/// Copies the results of a package restore from the `obj` folder of a project; `--no-restore` needs them.
fn copy_restored(root: &Path, copy: &Path, folder: &str) -> io::Result<()> {
    let Ok(entries) = fs::read_dir(root.join(folder).join("obj")) else {
        return Ok(());
    };
    for entry in entries.filter_map(Result::ok) {
        let name = entry.file_name().to_string_lossy().into_owned();
        let is_restored = name == "project.assets.json" || name == "project.nuget.cache" || name.contains(".nuget.");
        if let (true, Ok(bytes)) = (is_restored, fs::read(entry.path())) {
            let below = format!("obj/{name}");
            let path = if folder.is_empty() { below } else { format!("{folder}/{below}") };
            put_file(copy, &path, &bytes)?;
        }
    }
    Ok(())
}

fn remove_others(folder: &Path, wanted: &BTreeSet<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let (entry, path) = entry.map(|entry| (entry.file_type(), entry.path()))?;
        let is_made = path.file_name().is_some_and(|name| MADE.iter().any(|made| name == *made));
        if entry?.is_dir() {
            if !is_made {
                remove_others(&path, wanted)?;
            }
        } else if !wanted.contains(&path) {
            fs::remove_file(&path)?;
        }
    }
    Ok(())
}
