//! The folder that a program runs in: one for each thread, emptied between programs, removed with the thread. It does not know the programs.
//!
//! Creating and removing a folder and its files for every program costs more than starting the program on file systems that do not reuse the number
//! of a deleted file for some seconds (ext4). So inputs overwrite those of the previous program, as long as they are plain files without another
//! link; all other entries are removed, and a folder that cannot be restored is not used again.

use super::scratch_root::{ScratchRoot, flatten};
use engine::seams::producer::Failure;
use os::info::{FileInfo, FileKind};
use os::modes;
use os::plain_files::MoreOptions;
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;
use tempfile::TempDir;

thread_local! {
    static IDLE: RefCell<Option<Scratch>> = const { RefCell::new(None) };
}

/// A folder with inputs in it.
pub(super) struct Scratch {
    folder: TempDir,
    owned: Folder,
    /// Files of the previous program that may be overwritten.
    reusable: BTreeSet<String>,
    /// Files of this program.
    staged: BTreeSet<String>,
    modes: Modes,
    /// Dropped after the folder inside it.
    _root: Arc<ScratchRoot>,
}

/// The modes that new files and folders get from the system; 0 until one was created.
#[derive(Clone, Copy, Default)]
pub(super) struct Modes {
    pub(super) file: u32,
    pub(super) program: u32,
    pub(super) folder: u32,
}

/// Removes a file, if it exists.
fn remove_if_exists(file: &Path) -> io::Result<()> {
    match std::fs::remove_file(file) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // Do not empty another folder, or a link, in its place.
        let there = Folder::open_at(self.folder.path());
        if !there.is_ok_and(|there| there.is_same_folder(&self.owned)) {
            return;
        }
        let _ = modes::set_mode(self.folder.path(), 0o700);
        // Flatten deep folders first; dropping `TempDir` removes them recursively.
        for entry in std::fs::read_dir(self.folder.path()).into_iter().flatten().flatten() {
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                let _ = flatten(self.folder.path(), &entry.path());
            }
        }
    }
}

/// The identity of a folder, to detect a replacement.
#[derive(PartialEq, Eq)]
struct Folder {
    identity: (u64, u64),
    mode: u32,
}

impl Folder {
    fn open_at(path: &Path) -> io::Result<Self> {
        let info = FileInfo::of_path(path)?;
        let (identity, mode) = (info.identity(), info.mode);
        Ok(Self { identity, mode })
    }

    /// Whether it is the same folder, whatever its mode is.
    fn is_same_folder(&self, other: &Self) -> bool {
        self.identity == other.identity
    }
}

impl Scratch {
    /// Returns this thread's folder, empty but for files that [`write_input`](Self::write_input) overwrites and
    /// [`remove_leftover_files`](Self::remove_leftover_files) removes. Fails when none can be created.
    pub(super) fn of_this_thread() -> Result<Self, Failure> {
        // Ignore a folder that was removed or replaced.
        if let Some(idle) = IDLE.take().filter(|idle| idle.is_whole().is_ok_and(|whole| whole)) {
            return Ok(idle);
        }
        let root = ScratchRoot::shared()?;
        let made = || {
            let folder = tempfile::Builder::new().prefix("run-").tempdir_in(root.path())?;
            Ok((Folder::open_at(folder.path())?, folder))
        };
        let (owned, folder) = made().map_err(|error| super::io("a folder for it cannot be made", root.path(), &error))?;
        Ok(Self {
            folder,
            owned,
            reusable: BTreeSet::new(),
            staged: BTreeSet::new(),
            modes: Modes::default(),
            _root: root,
        })
    }

    pub(super) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Returns the modes that its files and folders got.
    pub(super) fn modes(&self) -> Modes {
        self.modes
    }

    /// Writes an input. Call [`remove_leftover_files`](Self::remove_leftover_files) after the last.
    pub(super) fn write_input(&mut self, name: &str, bytes: &[u8]) -> io::Result<()> {
        if !self.reusable.remove(name) || !self.write_over(name, bytes)? {
            self.write_new(name, bytes, false)?;
        }
        self.staged.insert(name.to_owned());
        Ok(())
    }

    /// Overwrites a file. Returns whether it existed.
    fn write_over(&self, name: &str, bytes: &[u8]) -> io::Result<bool> {
        // Do not truncate before writing: some file systems then flush the file, to protect programs that save that way.
        let mut file = match OpenOptions::new().write(true).refuse_links().open(self.folder.path().join(name)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
            file => file?,
        };
        file.write_all(bytes)?;
        file.set_len(bytes.len() as u64)?;
        Ok(true)
    }

    /// Creates a folder for an input that is a tree, or for one inside it. It is removed with its contents.
    pub(super) fn create_folder(&mut self, path: &str) -> io::Result<()> {
        let place = self.folder.path().join(path);
        self.reusable.remove(path).then(|| remove_if_exists(&place)).transpose()?;
        modes::create_folder(&place, 0o755)?;
        if self.modes.folder == 0 {
            self.modes.folder = FileInfo::of_path(&place)?.mode;
        }
        Ok(())
    }

    /// Writes a file of a tree into a folder created for it.
    pub(super) fn write_new(&mut self, path: &str, bytes: &[u8], program: bool) -> io::Result<()> {
        let (wanted, mode) = match program {
            true => (0o755, &mut self.modes.program),
            false => (0o644, &mut self.modes.file),
        };
        let mut file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .with_mode(wanted)
            .open(self.folder.path().join(path))?;
        if *mode == 0 {
            *mode = FileInfo::from_handle(&file)?.mode;
        }
        file.write_all(bytes)
    }

    /// Removes files of the previous program that this one does not have.
    pub(super) fn remove_leftover_files(&mut self) -> io::Result<()> {
        while let Some(name) = self.reusable.pop_first() {
            remove_if_exists(&self.folder.path().join(name))?;
        }
        Ok(())
    }

    /// Whether the folder is the original one, with its permissions.
    fn is_whole(&self) -> io::Result<bool> {
        Ok(Folder::open_at(self.folder.path())? == self.owned)
    }

    /// Empties it for this thread's next program. Not allowed while a program may still run in it: drop it then, which removes the folder.
    pub(super) fn give_back(mut self) {
        if self.empty().is_ok_and(|whole| whole) {
            IDLE.set(Some(self));
        }
    }

    fn empty(&mut self) -> io::Result<bool> {
        if !self.is_whole()? {
            return Ok(false);
        }
        for entry in std::fs::read_dir(self.folder.path())? {
            let entry = entry?;
            let info = FileInfo::of_metadata(&entry.metadata()?);
            let name = entry.file_name().into_string().ok().filter(|name| self.staged.contains(name));
            match name {
                Some(name) if info.kind() == FileKind::File && info.links == 1 && info.mode == self.modes.file => {
                    self.reusable.insert(name);
                }
                _ if info.kind() == FileKind::Folder => flatten(self.folder.path(), &entry.path())?,
                _ => std::fs::remove_file(entry.path())?,
            }
        }
        self.staged.clear();
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{MetadataExt, PermissionsExt};

    fn names(scratch: &Scratch) -> Vec<String> {
        let mut names: Vec<String> = std::fs::read_dir(scratch.path())
            .expect("readable")
            .map(|entry| entry.expect("entry").file_name().into_string().expect("text"))
            .collect();
        names.sort();
        names
    }

    fn staged(inputs: &[(&str, &str)]) -> Scratch {
        let mut scratch = Scratch::of_this_thread().expect("a folder");
        for (name, text) in inputs {
            scratch.write_input(name, text.as_bytes()).expect("written");
        }
        scratch.remove_leftover_files().expect("settled");
        scratch
    }

    #[test]
    fn nothing_of_one_program_is_seen_by_the_next() {
        let outside = tempfile::tempdir().expect("folder");
        let victim = outside.path().join("victim");
        std::fs::write(&victim, "safe").expect("written");

        let scratch = staged(&[("a", "long text"), ("b", "b"), ("c", "c"), ("d", "d")]);
        let folder = scratch.path().to_owned();
        std::fs::write(folder.join("made"), "x").expect("written");
        std::fs::create_dir_all(folder.join("deep/er")).expect("made");
        std::fs::remove_file(folder.join("b")).expect("removed");
        std::os::unix::fs::symlink(&victim, folder.join("b")).expect("linked");
        std::fs::hard_link(folder.join("c"), outside.path().join("kept")).expect("linked");
        std::fs::set_permissions(folder.join("d"), PermissionsExt::from_mode(0o400)).expect("changed");
        scratch.give_back();

        let scratch = staged(&[("a", "short"), ("b", "new"), ("c", "new"), ("d", "new")]);
        assert_eq!(scratch.path(), folder);
        assert_eq!(names(&scratch), ["a", "b", "c", "d"]);
        for (name, text) in [("a", "short"), ("b", "new"), ("c", "new"), ("d", "new")] {
            assert_eq!(std::fs::read_to_string(folder.join(name)).expect("read"), text);
        }
        assert_eq!(std::fs::read_to_string(&victim).expect("read"), "safe");
        assert_eq!(std::fs::read_to_string(outside.path().join("kept")).expect("read"), "c");
        assert_eq!(
            folder.join("d").metadata().expect("there").mode(),
            folder.join("a").metadata().expect("there").mode()
        );
        scratch.give_back();

        let scratch = staged(&[("e", "")]);
        assert_eq!(names(&scratch), ["e"]);
    }

    #[test]
    fn a_removed_scratch_folder_is_created_again() {
        let scratch = staged(&[("a", "a"), ("b", "b"), ("c", "c")]);
        let folder = scratch.path().to_owned();
        scratch.give_back();
        for name in ["a", "b", "c"] {
            std::fs::remove_file(folder.join(name)).expect("removed");
        }
        let mut scratch = Scratch::of_this_thread().expect("a folder");
        scratch.write_input("a", b"new").expect("written");
        scratch.create_folder("b").expect("made");
        scratch.remove_leftover_files().expect("settled");
        assert_eq!((scratch.path(), names(&scratch)), (&*folder, vec!["a".to_owned(), "b".to_owned()]));
        scratch.give_back();
        std::fs::remove_dir_all(&folder).expect("removed");
        let scratch = staged(&[("a", "a")]);
        assert!(scratch.path() != folder && scratch.path().join("a").exists());
    }

    #[test]
    fn a_link_in_the_place_of_the_folder_leads_to_nothing_that_is_removed() {
        let outside = tempfile::tempdir().expect("folder");
        std::fs::create_dir(outside.path().join("kept")).expect("made");
        for gives_back in [true, false] {
            let scratch = staged(&[]);
            let folder = scratch.path().to_owned();
            std::fs::rename(&folder, outside.path().join(format!("moved {gives_back}"))).expect("moved");
            std::os::unix::fs::symlink(outside.path(), &folder).expect("linked");
            if gives_back {
                scratch.give_back();
            } else {
                drop(scratch);
            }
            assert!(outside.path().join("kept").exists());
        }
    }

    #[test]
    fn a_folder_that_was_moved_or_closed_is_not_used_again() {
        let scratch = staged(&[]);
        let (folder, outside) = (scratch.path().to_owned(), tempfile::tempdir().expect("folder"));
        std::fs::rename(&folder, outside.path().join("moved")).expect("moved");
        scratch.give_back();
        let scratch = staged(&[]);
        assert_ne!(scratch.path(), folder);
        let folder = scratch.path().to_owned();
        std::fs::set_permissions(&folder, PermissionsExt::from_mode(0o500)).expect("changed");
        scratch.give_back();
        assert_ne!(staged(&[]).path(), folder);
        assert!(!folder.exists());
    }
}
