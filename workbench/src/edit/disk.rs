//! Edits on the disk. A save writes a complete new file and renames it over the old one, with the old mode, owner and attributes, following links. A
//! file with several hard links, or with attributes that cannot be kept, is written in place instead; only then can a crash leave a mixture, and the
//! session has the whole text.

use super::edit_log::Category;
use super::files::{FileWithBytes, Files, Save, SaveError, Stamp};
use super::staged::{Batch, Staged, staged_name};
use super::tree::{self, KNOWN, Tree};
use crate::checkout::{self, FolderLock};
use crate::code_text::encoding::{LARGEST, Unreadable};
use crate::editable_paths::{Guard, Refused, is_one, resolve};
use crate::kill_points;
use os::errors::SystemError;
use os::folders::Folder;
use os::info::{FileInfo, FileKind, Time};
use std::collections::BTreeMap;
use std::hash::{BuildHasher, RandomState};
use std::io::{self, ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

/// Folder of notes, below the workspace's root.
pub const FOLDER: &str = ".cortex/edit";

/// Size in bytes above which a log is restarted.
const LONGEST_LOG: u64 = 4 << 20;

/// The files of a checkout.
#[derive(Clone, Debug)]
pub struct Disk {
    root: PathBuf,
    guard: Guard,
    logs: Vec<Category>,
}

impl Disk {
    /// Returns the files of the workspace at a canonical root.
    pub fn new(root: &Path) -> Self {
        Self {
            root: root.to_owned(),
            guard: Guard::default(),
            logs: Vec::new(),
        }
    }

    /// Sets the guard of files that must not be edited.
    pub fn with_guard(self, guard: Guard) -> Self {
        Self { guard, ..self }
    }

    pub fn logging(self, logs: Vec<Category>) -> Self {
        Self { logs, ..self }
    }

    /// Removes the folders of a deleted file, as far up as they are empty: git stores no empty folders either.
    fn remove_empty_folders(&self, mut path: &str) {
        while let Some((folder, _)) = path.rsplit_once('/') {
            let removed = self.folder(folder, false).map(|(outer, name)| outer.remove_empty_folder(name));
            if !matches!(removed, Ok(Ok(()))) {
                return;
            }
            path = folder;
        }
    }

    /// Opens the folder of a file; returns it with the file's name. A resolved path has no links: a link found now was added since.
    pub(super) fn folder<'p>(&self, path: &'p str, make: bool) -> io::Result<(Folder, &'p str)> {
        let (folders, name) = path.rsplit_once('/').unwrap_or(("", path));
        let mut folder = Folder::open(&self.root)?;
        for part in folders.split('/').filter(|part| !part.is_empty()) {
            if part == ".." {
                return Err(ErrorKind::InvalidInput.into());
            }
            folder = match folder.open_folder(part) {
                Err(SystemError::NOT_FOUND) if make => {
                    kill_points::check_killed()?;
                    folder.make_folder(part, 0o777)?;
                    kill_points::sync(&folder)?;
                    folder.open_folder(part)?
                }
                opened => opened?,
            };
        }
        Ok((folder, name))
    }
}

fn note_path(name: &str) -> String {
    format!("{FOLDER}/{name}")
}

pub(super) fn stamp(found: &FileInfo) -> Stamp {
    let nanos = |time: Time| i128::from(time.seconds) * 1_000_000_000 + i128::from(time.nanoseconds);
    let (written, changed) = (nanos(found.modified), nanos(found.changed));
    Stamp {
        of: (found.device, found.number, found.size, written, changed),
    }
}

/// Returns the information of a name; `None` if it does not exist.
pub(super) fn stat_if_exists(folder: &Folder, name: &str) -> io::Result<Option<FileInfo>> {
    match folder.info_of(name) {
        Ok(found) if found.kind() == FileKind::File => Ok(Some(found)),
        Ok(_) => Err(io::Error::other("it is not a regular file")),
        Err(SystemError::NOT_FOUND) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Refuses to save a file under two of its hard links: a write to one changes the other.
fn one_name_each(saves: &[Save]) -> Result<(), SaveError> {
    let mut names = BTreeMap::new();
    for save in saves {
        let Some(seen) = save.seen else { continue };
        let first = names.entry((seen.of.0, seen.of.1)).or_insert(&save.path);
        if **first != save.path {
            return Err(SaveError::OneFile {
                path: (*first).clone(),
                other: save.path.clone(),
            });
        }
    }
    Ok(())
}

impl Files for Disk {
    type EditLock = FolderLock;

    fn lock_for_editing(&self) -> io::Result<FolderLock> {
        checkout::hold_private(&self.root, FOLDER)
    }

    fn resolve(&self, given: &str) -> Result<String, Refused> {
        resolve(&self.root, given, &self.guard)
    }

    fn is_link(&self, given: &str) -> bool {
        self.root.join(given).is_symlink()
    }

    fn unique_number(&self) -> u64 {
        RandomState::new().hash_one(std::process::id())
    }

    fn increasing_number(&self) -> u64 {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
    }

    fn tree(&self) -> io::Result<Tree> {
        let (tree, known) = tree::read_tree(&self.root, &self.guard, self.read_note(KNOWN)?.as_deref())?;
        if let Some(known) = known {
            // An unwritten note only costs reading again.
            let _ = self.write_note(KNOWN, &known);
        }
        Ok(tree)
    }

    fn is_in_tree(&self, path: &str) -> io::Result<bool> {
        tree::contains_file(&self.root, &self.guard, path)
    }

    fn log_line(&self, category: Category, line: &str) {
        if self.logs.contains(&category) {
            // A failed log write does not prevent the edit.
            let _ = checkout::append(&self.root, &note_path(&format!("log/{category}.log")), line.as_bytes(), LONGEST_LOG);
        }
    }

    fn is_logging(&self) -> bool {
        !self.logs.is_empty()
    }

    fn read(&self, path: &str) -> io::Result<Option<FileWithBytes>> {
        let (folder, name) = match self.folder(path, false) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            opened => opened?,
        };
        let file = match folder.open_to_read(name) {
            Err(SystemError::NOT_FOUND) => return Ok(None),
            Err(SystemError::LINK) => return Err(io::Error::other("it is not a regular file")),
            opened => opened?,
        };
        // Stat before reading, so that a write in between shows as a different stamp.
        let looked = FileInfo::from_handle(&file)?;
        if looked.kind() != FileKind::File {
            return Err(io::Error::other("it is not a regular file"));
        }
        let (stamp, mode) = (stamp(&looked), looked.mode & 0o7777);
        let large = |length: u64| io::Error::new(ErrorKind::FileTooLarge, Unreadable::Large { bytes: length });
        if stamp.of.2 > LARGEST as u64 {
            return Err(large(stamp.of.2));
        }
        let mut bytes = Vec::with_capacity(usize::try_from(stamp.of.2).unwrap_or(0) + 1);
        // The file may grow during the read.
        file.take(LARGEST as u64 + 1).read_to_end(&mut bytes)?;
        if bytes.len() > LARGEST {
            return Err(large(bytes.len() as u64));
        }
        Ok(Some(FileWithBytes { bytes, stamp, mode }))
    }

    fn save(&self, files: &[Save]) -> Result<(), SaveError> {
        let mut batch = Batch(Vec::new());
        for save in files {
            batch.0.push(Staged::stage_file(self, save, files.len() > 1)?);
        }
        one_name_each(files)?;
        if let Some(moved) = batch.0.iter().find(|staged| !staged.is_as_seen()) {
            return Err(SaveError::Moved {
                path: moved.save.path.clone(),
            });
        }
        for saved in 0..files.len() {
            let one = &batch.0[saved];
            // Another program may have written it while the earlier ones were saved.
            let placed = match one.is_as_seen() {
                true => one.save(),
                false => Err(io::Error::other("it was changed by another program at this moment")),
            };
            if let Err(error) = placed {
                let path = one.save.path.clone();
                batch.leave();
                return Err(SaveError::Io { path, saved, error });
            }
        }
        for save in files.iter().filter(|save| save.bytes.is_none()) {
            self.remove_empty_folders(&save.path);
        }
        Ok(())
    }

    fn is_staged(&self, path: &str) -> bool {
        let looked = self
            .folder(path, false)
            .and_then(|(folder, name)| stat_if_exists(&folder, &staged_name(name)));
        looked.is_ok_and(|found| found.is_some())
    }

    fn unstage(&self, path: &str) {
        if let (Ok((folder, name)), Ok(())) = (self.folder(path, false), kill_points::check_killed()) {
            // The staged file may not exist yet.
            let _ = folder.remove(staged_name(name));
        }
    }

    fn is_in_place(&self, path: &str) -> bool {
        let seen = self.folder(path, false).and_then(|(folder, name)| Ok(folder.info_of(name)?));
        seen.is_ok_and(|seen| seen.links > 1)
    }

    fn is_one(&self, path: &str, other: &str) -> bool {
        is_one(&self.root.join(path), &self.root.join(other))
    }

    fn read_note(&self, name: &str) -> io::Result<Option<Vec<u8>>> {
        checkout::read_file(&self.root, &note_path(name), LARGEST)
    }

    fn write_note(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        checkout::write_file(&self.root, &note_path(name), bytes)
    }

    fn append_note(&self, name: &str, bytes: &str) -> io::Result<u64> {
        let file = checkout::append(&self.root, &note_path(name), bytes.as_bytes(), u64::MAX)?;
        kill_points::sync(&file)?;
        Ok(file.metadata()?.len())
    }

    fn drop_note(&self, name: &str) -> io::Result<()> {
        checkout::remove(&self.root, &note_path(name)).map(|_| ())
    }

    fn notes(&self, folder: &str) -> io::Result<Vec<(String, u64)>> {
        checkout::list_files(&self.root, &note_path(folder))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
    use std::rc::Rc;

    struct Place {
        temp: tempfile::TempDir,
        disk: Disk,
    }

    impl Place {
        fn new() -> Self {
            let temp = tempfile::tempdir().expect("folder");
            let disk = Disk::new(&temp.path().canonicalize().expect("canonical"));
            Self { temp, disk }
        }

        fn path(&self, path: &str) -> PathBuf {
            self.temp.path().join(path)
        }

        fn save(&self, path: &str, bytes: Option<&[u8]>) -> Save {
            Save {
                path: path.to_owned(),
                seen: self.disk.read(path).expect("readable").map(|found| found.stamp),
                bytes: bytes.map(|bytes| Rc::new(bytes.to_vec())),
                mode: None,
            }
        }

        fn names(&self, folder: &str) -> usize {
            fs::read_dir(self.path(folder)).expect("folder").count()
        }
    }

    #[test]
    fn a_saved_file_keeps_its_mode_and_its_links() {
        let place = Place::new();
        fs::write(place.path("a.sh"), "old").expect("file");
        fs::set_permissions(place.path("a.sh"), fs::Permissions::from_mode(0o4751)).expect("mode");
        symlink("a.sh", place.path("link.sh")).expect("link");
        let (attribute, flags) = ("user.note", rustix::fs::XattrFlags::empty());
        // Not every file system supports attributes.
        let has_attributes = rustix::fs::setxattr(place.path("a.sh"), attribute, b"kept", flags).is_ok();
        let before = fs::metadata(place.path("a.sh")).expect("file").ino();
        place.disk.save(&[place.save("a.sh", Some(b"new"))]).expect("saved");
        let mut kept = [0; 4];
        let read = rustix::fs::getxattr(place.path("a.sh"), attribute, &mut kept);
        assert_eq!((read.is_ok(), &kept == b"kept"), (has_attributes, has_attributes));
        let after = fs::metadata(place.path("a.sh")).expect("file");
        assert_eq!((after.mode() & 0o7777, after.ino() == before), (0o4751, false));
        assert_eq!(fs::read(place.path("link.sh")).expect("file"), b"new");
        assert!(fs::symlink_metadata(place.path("link.sh")).expect("link").is_symlink());
        // Other hard links of the file see the edit, too.
        fs::hard_link(place.path("a.sh"), place.path("b.sh")).expect("link");
        place.disk.save(&[place.save("b.sh", Some(b"short"))]).expect("saved");
        place.disk.save(&[place.save("b.sh", Some(b"x"))]).expect("saved");
        assert_eq!(fs::read(place.path("a.sh")).expect("file"), b"x");
        assert_eq!(place.names("."), 3);
    }

    #[test]
    fn files_come_and_go() {
        let place = Place::new();
        let save = Save {
            mode: Some(0o4740),
            ..place.save("new/deep/a.cs", Some(b"1"))
        };
        place.disk.save(&[save]).expect("saved");
        assert_eq!(fs::read(place.path("new/deep/a.cs")).expect("file"), b"1");
        let mode = fs::metadata(place.path("new/deep/a.cs")).expect("file").mode();
        assert_eq!(mode & 0o7777, 0o740, "nobody else's program is made to run as its owner");
        place.disk.save(&[place.save("new/deep/a.cs", None)]).expect("removed");
        assert_eq!(place.disk.read("new/deep/a.cs").expect("none"), None);
    }

    #[test]
    fn nothing_is_saved_when_one_cannot_be() {
        let place = Place::new();
        for name in ["a", "b", "c"] {
            fs::write(place.path(name), "old").expect("file");
        }
        let good = place.save("a", Some(b"new"));
        let stale = place.save("b", Some(b"new"));
        fs::write(place.path("b"), "other").expect("file");
        let moved = place.disk.save(&[good.clone(), stale]);
        assert!(matches!(moved, Err(SaveError::Moved { path }) if path == "b"));
        fs::set_permissions(place.path("c"), fs::Permissions::from_mode(0o444)).expect("mode");
        let read_only = place.disk.save(&[good.clone(), place.save("c", Some(b"new"))]);
        assert!(matches!(read_only, Err(SaveError::ReadOnly { path }) if path == "c"));
        fs::remove_file(place.path("b")).expect("removed");
        fs::create_dir(place.path("b")).expect("folder");
        assert!(place.disk.read("b").is_err());
        let folder = Save {
            path: "b".to_owned(),
            seen: None,
            bytes: Some(Rc::default()),
            mode: None,
        };
        assert!(place.disk.save(&[good, folder]).is_err());
        assert_eq!(fs::read(place.path("a")).expect("file"), b"old");
        assert_eq!(place.names("."), 3, "nothing is left lying about");
    }

    #[test]
    fn folders_go_with_the_last_file_in_them() {
        let place = Place::new();
        fs::create_dir_all(place.path("a/b/c")).expect("folders");
        fs::write(place.path("a/one"), "one").expect("file");
        fs::write(place.path("a/b/c/two"), "two").expect("file");
        place.disk.save(&[place.save("a/b/c/two", None)]).expect("removed");
        assert!(place.path("a/one").exists() && !place.path("a/b").exists());
        place.disk.save(&[place.save("a/one", None)]).expect("removed");
        assert!(!place.path("a").exists());
    }

    #[test]
    fn a_file_that_changes_during_a_save_is_not_overwritten() {
        let place = Place::new();
        fs::write(place.path("a"), "old").expect("file");
        fs::hard_link(place.path("a"), place.path("b")).expect("link");
        let both = [place.save("a", Some(b"one")), place.save("a", Some(b"two"))];
        let error = place.disk.save(&both);
        assert!(matches!(error, Err(SaveError::Io { saved: 1, .. })), "{error:?}");
        assert_eq!(fs::read(place.path("b")).expect("file"), b"one");
    }

    #[test]
    fn one_file_under_two_names_is_refused_by_name() {
        let place = Place::new();
        fs::write(place.path("a"), "old").expect("file");
        fs::hard_link(place.path("a"), place.path("b")).expect("link");
        let both = [Some(&b"new"[..]), None].map(|other| [place.save("a", Some(b"new")), place.save("b", other)]);
        for both in both {
            let why = place.disk.save(&both).expect_err("refused").to_string();
            let named = "a and b are one file under two names (hard links)";
            assert!(why.starts_with(named), "{why}");
            assert_eq!(fs::read(place.path("b")).expect("file"), b"old");
        }
        for name in ["a", "b"] {
            place
                .disk
                .save(&[place.save(name, Some(name.as_bytes()))])
                .expect("alone it is saved");
            assert_eq!(fs::read(place.path("a")).expect("file"), name.as_bytes());
        }
    }

    #[test]
    fn refusals_of_too_large_files_state_the_size() {
        let place = Place::new();
        let file = fs::File::create(place.path("a")).expect("file");
        file.set_len(300 << 20).expect("sparse");
        let error = place.disk.read("a").expect_err("refused");
        assert!(error.to_string().contains("314572800 bytes"), "{error}");
        let way = super::super::run::unread("a", &error).guidance;
        assert!(way.is_some_and(|way| way.starts_with("edit it with another tool")));
    }

    #[test]
    fn no_link_that_came_meanwhile_is_followed() {
        let (place, elsewhere) = (Place::new(), tempfile::tempdir().expect("folder"));
        fs::write(elsewhere.path().join("a"), "secret").expect("file");
        symlink(elsewhere.path(), place.path("folder")).expect("link");
        symlink(elsewhere.path().join("a"), place.path("a")).expect("link");
        assert!(place.disk.is_link("a") && !place.disk.is_link("folder/a"));
        assert!(place.disk.read("folder/a").is_err() && place.disk.read("a").is_err());
        for path in ["folder/a", "folder/new", "a", "x/../../a"] {
            let save = Save {
                path: path.to_owned(),
                seen: None,
                bytes: Some(Rc::new(b"x".to_vec())),
                mode: None,
            };
            assert!(place.disk.save(&[save]).is_err(), "{path}");
        }
        assert_eq!(fs::read(elsewhere.path().join("a")).expect("file"), b"secret");
        assert_eq!(fs::read_dir(elsewhere.path()).expect("folder").count(), 1);
    }

    #[test]
    fn staged_files_of_a_killed_process_are_no_obstacle() {
        let place = Place::new();
        fs::write(place.path("a"), "old").expect("file");
        let save = place.save("a", Some(b"new"));
        let Ok(left) = Staged::stage_file(&place.disk, &save, false) else {
            panic!("not staged")
        };
        std::mem::forget(left);
        assert_eq!(place.names("."), 2);
        place.disk.save(&[save]).expect("saved");
        assert_eq!((fs::read(place.path("a")).expect("file"), place.names(".")), (b"new".to_vec(), 1));
    }

    #[test]
    fn notes_are_kept_beside_the_workspace() {
        let place = Place::new();
        fs::create_dir_all(place.path(FOLDER)).expect("folder");
        let _alone = place.disk.lock_for_editing().expect("alone");
        let mode = fs::metadata(place.path(FOLDER)).expect("folder").mode();
        assert_eq!(mode & 0o777, 0o700, "what is kept of files is its owner's");
        assert_eq!(place.disk.read_note("sessions/s.json").expect("none"), None);
        place.disk.write_note("sessions/s.json", b"{}").expect("kept");
        assert_eq!(
            place.disk.read_note("sessions/s.json").expect("a note").as_deref(),
            Some(&b"{}"[..])
        );
        assert_eq!(place.disk.notes("sessions").expect("notes"), [("s.json".to_owned(), 2)]);
        place.disk.drop_note("sessions/s.json").expect("dropped");
        assert_eq!(place.disk.notes("sessions").expect("notes"), []);
    }
}
