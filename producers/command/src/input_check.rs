//! Checks after a program's run that its inputs are as staged, in names, kinds, modes and contents.

use super::scratch::Modes;
use super::stage::Staged;
use engine::values::tree::File;
use os::errors::SystemError;
use os::info::{FileInfo, FileKind};
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::Path;

/// Describes the first change of an input: `removed its input 'text'`. `None` when there is none. Fails when an input that still exists
/// cannot be read: the program is not to blame for that.
pub(super) fn spoilt(folder: &Path, staged: &[(String, Staged<'_>)], modes: Modes) -> io::Result<Option<String>> {
    for (name, staged) in staged {
        let why = match staged {
            Staged::File(bytes) => write_spoilt_file(folder, name, modes.file, bytes)?,
            Staged::Tree { files, folders } => write_spoilt_tree(folder, name, files, folders, modes)?,
        };
        if why.is_some() {
            return Ok(why);
        }
    }
    Ok(None)
}

fn write_spoilt_file(folder: &Path, name: &str, mode: u32, bytes: &[u8]) -> io::Result<Option<String>> {
    let path = folder.join(name);
    let there = info_if_exists(&path)?;
    if let Some(why) = otherwise(name, there.as_ref(), FileKind::File, mode) {
        return Ok(Some(why));
    }
    let same = there.is_some_and(|there| there.size == bytes.len() as u64) && std::fs::read(path)? == bytes;
    Ok((!same).then(|| format!("changed its input '{name}'")))
}

/// Returns the entry at a path; `None` when it does not exist.
fn info_if_exists(path: &Path) -> io::Result<Option<FileInfo>> {
    match FileInfo::of_path(path) {
        Ok(there) => Ok(Some(there)),
        Err(SystemError::NOT_FOUND | SystemError::NO_FOLDER) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Describes a difference of an entry apart from its contents.
fn otherwise(name: &str, there: Option<&FileInfo>, kind: FileKind, mode: u32) -> Option<String> {
    match there {
        None => Some(format!("removed its input '{name}'")),
        Some(there) if there.kind() != kind => Some(format!("put something else into the place of its input '{name}'")),
        Some(there) if there.mode != mode => Some(format!("changed the mode of its input '{name}'")),
        Some(_) => None,
    }
}

fn write_spoilt_tree(
    folder: &Path,
    name: &str,
    files: &BTreeMap<String, File>,
    folders: &BTreeSet<&str>,
    modes: Modes,
) -> io::Result<Option<String>> {
    let inner = |path: &str| format!("{name}/{path}");
    // Check a folder before its entries: no link is followed.
    for place in std::iter::once(name.to_owned()).chain(folders.iter().map(|path| inner(path))) {
        let there = info_if_exists(&folder.join(&place))?;
        if let Some(why) = otherwise(&place, there.as_ref(), FileKind::Folder, modes.folder) {
            return Ok(Some(why));
        }
    }
    for (path, is) in files {
        let mode = if is.program { modes.program } else { modes.file };
        if let Some(why) = write_spoilt_file(folder, &inner(path), mode, &is.bytes)? {
            return Ok(Some(why));
        }
    }
    for path in std::iter::once("").chain(folders.iter().copied()) {
        if let Some(why) = describe_unstaged(folder, name, path, files, folders)? {
            return Ok(Some(why));
        }
    }
    Ok(None)
}

/// Describes an entry of a tree's folder that was not staged.
fn describe_unstaged(
    folder: &Path,
    name: &str,
    path: &str,
    files: &BTreeMap<String, File>,
    folders: &BTreeSet<&str>,
) -> io::Result<Option<String>> {
    let at = folder.join(name).join(path);
    let names: io::Result<Vec<_>> = std::fs::read_dir(at)?.map(|entry| Ok(entry?.file_name())).collect();
    let mut names = names?;
    names.sort();
    Ok(names.into_iter().find_map(|own| {
        let shown = own.to_string_lossy();
        let inner = if path.is_empty() {
            shown.to_string()
        } else {
            format!("{path}/{shown}")
        };
        let known = own.to_str().is_some() && (files.contains_key(&inner) || folders.contains(&*inner));
        (!known).then(|| format!("added '{inner}' to its input '{name}'"))
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::Scratch;
    use crate::stage::stage_input;
    use engine::seams::producer::Input;
    use std::os::unix::fs::{PermissionsExt, symlink};
    use std::sync::Arc;

    /// Returns the report about a file `text` and a tree `pages` after a change of their folder.
    fn report_after(change: impl FnOnce(&Path)) -> Option<String> {
        let file = |program: bool| File {
            program,
            bytes: b"text".as_slice().into(),
        };
        let files = [("a", false), ("deep/b", true), ("deep/er/c", false)];
        let files: BTreeMap<String, File> = files.into_iter().map(|(path, program)| (path.to_owned(), file(program))).collect();
        let text = Input::of("", b"text".as_slice());
        let pages = Input {
            tree: Some(Arc::new(files)),
            ..Input::of("", b"".as_slice())
        };
        let mut scratch = Scratch::of_this_thread().expect("a folder");
        let inputs = [("text", &text), ("pages", &pages)];
        let staged: Vec<_> = inputs
            .into_iter()
            .map(|(name, input)| (name.to_owned(), stage_input(&mut scratch, name, input).expect("staged")))
            .collect();
        scratch.remove_leftover_files().expect("settled");
        change(scratch.path());
        let report = spoilt(scratch.path(), &staged, scratch.modes());
        scratch.give_back();
        report.expect("readable")
    }

    #[test]
    fn whatever_is_done_to_an_input_is_told() {
        use std::fs::{create_dir, remove_dir, remove_file, rename, set_permissions, write};
        assert_eq!(report_after(|_| ()), None);
        assert_eq!(report_after(|folder| write(folder.join("made"), "x").expect("written")), None);
        let mode = |path: &str, mode: u32| {
            let path = path.to_owned();
            report_after(move |folder| set_permissions(folder.join(path), PermissionsExt::from_mode(mode)).expect("changed"))
        };
        let changed = |path: &str, text: &str| {
            let (path, text) = (path.to_owned(), text.to_owned());
            report_after(move |folder| write(folder.join(path), text).expect("written"))
        };
        let cases = [
            (
                report_after(|folder| remove_file(folder.join("text")).expect("removed")),
                "removed its input 'text'",
            ),
            (changed("text", "next"), "changed its input 'text'"),
            (changed("pages/deep/b", "longer"), "changed its input 'pages/deep/b'"),
            (changed("pages/new", ""), "added 'new' to its input 'pages'"),
            (changed("pages/deep/er/new", ""), "added 'deep/er/new' to its input 'pages'"),
            (
                report_after(|folder| create_dir(folder.join("pages/deep/new")).expect("made")),
                "added 'deep/new' to its input 'pages'",
            ),
            (mode("text", 0o755), "changed the mode of its input 'text'"),
            (mode("pages/a", 0o600), "changed the mode of its input 'pages/a'"),
            (mode("pages/deep/b", 0o644), "changed the mode of its input 'pages/deep/b'"),
            (mode("pages/deep/er", 0o700), "changed the mode of its input 'pages/deep/er'"),
            (mode("pages", 0o555), "changed the mode of its input 'pages'"),
            (
                report_after(|folder| {
                    remove_file(folder.join("pages/deep/er/c")).expect("removed");
                    remove_dir(folder.join("pages/deep/er")).expect("removed");
                }),
                "removed its input 'pages/deep/er'",
            ),
            (
                report_after(|folder| {
                    rename(folder.join("pages/deep"), folder.join("elsewhere")).expect("moved");
                    symlink("../elsewhere", folder.join("pages/deep")).expect("linked");
                }),
                "put something else into the place of its input 'pages/deep'",
            ),
            (
                report_after(|folder| {
                    remove_file(folder.join("text")).expect("removed");
                    symlink("pages/a", folder.join("text")).expect("linked");
                }),
                "put something else into the place of its input 'text'",
            ),
        ];
        for (report, expected) in cases {
            assert_eq!(report.as_deref(), Some(expected));
        }
    }
}
