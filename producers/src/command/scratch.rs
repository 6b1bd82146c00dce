//! The folder that a program runs in: one for each thread, emptied between programs, gone with the thread. It does not know what runs.
//!
//! Making and removing a folder and its files for every program costs more than starting the program on file systems that do not use a
//! deleted file's number again for some seconds (ext4). So inputs are written over those of the program before, as long as they are plain
//! files that nothing else names; everything else in the folder is removed, and a folder that cannot be brought back is not used again.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;
use tempfile::TempDir;

thread_local! {
    static IDLE: RefCell<Option<Scratch>> = const { RefCell::new(None) };
}

/// A folder with inputs in it.
pub(super) struct Scratch {
    folder: TempDir,
    owned: Folder,
    /// Files of the program before that may be written over.
    reusable: BTreeSet<String>,
    /// Files of this program.
    staged: BTreeSet<String>,
    /// The mode of a file made here.
    mode: Option<u32>,
}

/// Removes a folder with all that is in it, however deep: folders in it are moved up before they are emptied, so that neither paths nor
/// the stack grow with what a program has made.
fn flatten(root: &Path, folder: &Path) -> io::Result<()> {
    let mut left = vec![folder.to_owned()];
    let mut moved = 0_u64;
    while let Some(folder) = left.pop() {
        // Whoever made it may have taken its own rights to it away.
        std::fs::set_permissions(&folder, PermissionsExt::from_mode(0o700))?;
        for entry in std::fs::read_dir(&folder)? {
            let entry = entry?;
            if !entry.file_type()?.is_dir() {
                std::fs::remove_file(entry.path())?;
                continue;
            }
            std::fs::set_permissions(entry.path(), PermissionsExt::from_mode(0o700))?;
            let up = loop {
                moved += 1;
                let up = root.join(format!(".cortex-going-{moved}"));
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

impl Drop for Scratch {
    fn drop(&mut self) {
        // What is deep is taken apart here; the folder's own way goes down into it.
        for entry in std::fs::read_dir(self.folder.path()).into_iter().flatten().flatten() {
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                let _ = flatten(self.folder.path(), &entry.path());
            }
        }
    }
}

/// What tells a folder from another that was put into its place.
#[derive(PartialEq, Eq)]
struct Folder {
    inode: u64,
    device: u64,
    mode: u32,
}

impl Folder {
    fn of(metadata: &Metadata) -> Self {
        Self {
            inode: metadata.ino(),
            device: metadata.dev(),
            mode: metadata.mode(),
        }
    }
}

impl Scratch {
    /// This thread's folder, empty but for files that [`put`](Self::put) writes over and [`settle`](Self::settle) removes.
    pub(super) fn take() -> io::Result<Self> {
        if let Some(idle) = IDLE.take() {
            return Ok(idle);
        }
        let folder = tempfile::Builder::new().prefix("cortex-").tempdir()?;
        let owned = Folder::of(&folder.path().symlink_metadata()?);
        Ok(Self {
            folder,
            owned,
            reusable: BTreeSet::new(),
            staged: BTreeSet::new(),
            mode: None,
        })
    }

    /// Where it is.
    pub(super) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Bytes of the files in it, at any depth; links are not followed. What goes while it is counted does not count.
    pub(super) fn holds(&self) -> u64 {
        let (mut bytes, mut folders) = (0_u64, vec![self.folder.path().to_owned()]);
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
                match entry.metadata() {
                    Ok(metadata) if metadata.is_dir() => folders.push(entry.path()),
                    // What is allocated, not how long a file with holes says it is.
                    Ok(metadata) => bytes = bytes.saturating_add(metadata.blocks().saturating_mul(512)),
                    Err(_) => {}
                }
            }
        }
        bytes
    }

    /// Writes an input. Call [`settle`](Self::settle) after the last.
    pub(super) fn put(&mut self, name: &str, bytes: &[u8]) -> io::Result<()> {
        let path = self.folder.path().join(name);
        if self.reusable.remove(name) {
            // Not truncated before writing: some file systems flush files that were, to save those who save that way.
            let mut file = OpenOptions::new()
                .write(true)
                .custom_flags(rustix::fs::OFlags::NOFOLLOW.bits().cast_signed())
                .open(path)?;
            file.write_all(bytes)?;
            file.set_len(bytes.len() as u64)?;
        } else {
            let mut file = File::create_new(path)?;
            file.write_all(bytes)?;
            if self.mode.is_none() {
                self.mode = Some(file.metadata()?.mode());
            }
        }
        self.staged.insert(name.to_owned());
        Ok(())
    }

    /// Makes a folder for an input that is a tree. What lies in it is removed with it.
    pub(super) fn folder(&mut self, name: &str) -> io::Result<()> {
        self.reusable
            .remove(name)
            .then(|| std::fs::remove_file(self.folder.path().join(name)))
            .transpose()?;
        std::fs::create_dir(self.folder.path().join(name))
    }

    /// Writes a file of a tree, whose paths stay inside it.
    pub(super) fn put_below(&mut self, path: &str, bytes: &[u8], program: bool) -> io::Result<()> {
        let path = self.folder.path().join(path);
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder)?;
        }
        let mode = if program { 0o755 } else { 0o644 };
        OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(mode)
            .open(path)?
            .write_all(bytes)
    }

    /// Removes what the program before had and this one has not.
    pub(super) fn settle(&mut self) -> io::Result<()> {
        while let Some(name) = self.reusable.pop_first() {
            std::fs::remove_file(self.folder.path().join(name))?;
        }
        Ok(())
    }

    /// Empties it for this thread's next program. Not to be called while a program may still run in it; a folder that is dropped instead
    /// is removed.
    pub(super) fn give_back(mut self) {
        if self.empty().is_ok_and(|whole| whole) {
            IDLE.set(Some(self));
        }
    }

    fn empty(&mut self) -> io::Result<bool> {
        if Folder::of(&self.folder.path().symlink_metadata()?) != self.owned {
            return Ok(false);
        }
        for entry in std::fs::read_dir(self.folder.path())? {
            let entry = entry?;
            let metadata = entry.metadata()?;
            let name = entry.file_name().into_string().ok().filter(|name| self.staged.contains(name));
            match name {
                Some(name) if metadata.is_file() && metadata.nlink() == 1 && Some(metadata.mode()) == self.mode => {
                    self.reusable.insert(name);
                }
                _ if metadata.is_dir() => flatten(self.folder.path(), &entry.path())?,
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

    fn names(scratch: &Scratch) -> Vec<String> {
        let mut names: Vec<String> = std::fs::read_dir(scratch.path())
            .expect("readable")
            .map(|entry| entry.expect("entry").file_name().into_string().expect("text"))
            .collect();
        names.sort();
        names
    }

    fn staged(inputs: &[(&str, &str)]) -> Scratch {
        let mut scratch = Scratch::take().expect("a folder");
        for (name, text) in inputs {
            scratch.put(name, text.as_bytes()).expect("written");
        }
        scratch.settle().expect("settled");
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
