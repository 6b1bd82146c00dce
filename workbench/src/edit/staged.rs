//! Files that are ready to be saved: what is to take a file's place lies whole beside it first, with the mode, the owner and the attributes of the
//! old one. Of several files each has something beside it until it is saved, which tells whoever comes after a crash how far it came.

use super::disk::{Disk, stamp, stat_if_exists};
use super::files::{Save, SaveError};
use crate::checkout::fresh;
use crate::kill;
use os::attributes::carry_over;
use os::errors::SystemError;
use os::folders::Folder;
use os::info::FileInfo;
use os::{disks, modes};
use std::io::{self, ErrorKind};

/// A file that waits to be saved.
pub(super) struct Staged<'s> {
    folder: Folder,
    name: &'s str,
    /// What it is to become.
    pub(super) save: &'s Save,
    how: How,
    /// What lies beside it until it is saved.
    beside: Option<String>,
}

enum How {
    /// What lies beside it, which is whole, takes its name.
    Replace,
    /// The file is written where it is.
    InPlace,
    /// The file goes.
    Remove,
}

impl Drop for Staged<'_> {
    fn drop(&mut self) {
        if let (Some(beside), Ok(())) = (&self.beside, kill::check_killed()) {
            // Where it took the file's name there is none; else nothing more can be done about one that stays.
            let _ = self.folder.remove(beside);
        }
    }
}

/// Files that wait to be saved at once. The last one is given up first: whoever finds that one waits and an earlier one does not knows that that
/// was saved.
pub(super) struct Batch<'s>(pub(super) Vec<Staged<'s>>);

impl Batch<'_> {
    /// Lets what waits lie beside the files: what was saved of them is yet to be taken back.
    pub(super) fn leave(&mut self) {
        self.0.iter_mut().for_each(|staged| staged.beside = None);
    }
}

impl Drop for Batch<'_> {
    fn drop(&mut self) {
        while self.0.pop().is_some() {}
    }
}

impl<'s> Staged<'s> {
    /// Makes a file ready, one of several that are saved at once where that is so.
    ///
    /// # Errors
    /// When it cannot be, or is not what it was.
    pub(super) fn stage_file(disk: &Disk, save: &'s Save, several: bool) -> Result<Self, SaveError> {
        let failed = |error: io::Error| SaveError::Io {
            path: save.path.clone(),
            saved: 0,
            error,
        };
        let opened = disk.folder(&save.path, save.bytes.is_some());
        let (folder, name) = match (opened, save.bytes.is_some()) {
            (Err(error), false) if error.kind() == ErrorKind::NotFound => {
                return Err(SaveError::Moved { path: save.path.clone() });
            }
            (opened, _) => opened.map_err(failed)?,
        };
        let before = stat_if_exists(&folder, name).map_err(failed)?;
        if before.as_ref().map(stamp) != save.seen {
            return Err(SaveError::Moved { path: save.path.clone() });
        }
        if before.is_some_and(|before| before.mode & 0o222 == 0) {
            return Err(SaveError::ReadOnly { path: save.path.clone() });
        }
        let how = match (&save.bytes, before) {
            (None, _) => How::Remove,
            (Some(_), Some(before)) if before.links > 1 => How::InPlace,
            (Some(bytes), before) => stage(&folder, name, bytes, save, before.as_ref()).map_err(failed)?,
        };
        let is_whole = matches!(how, How::Replace);
        if several && !is_whole {
            fresh(&folder, &staged(name)).map_err(failed)?;
        }
        let beside = (several || is_whole).then(|| staged(name));
        Ok(Self {
            folder,
            name,
            save,
            how,
            beside,
        })
    }

    /// Whether the file looks as it did.
    pub(super) fn is_as_seen(&self) -> bool {
        stat_if_exists(&self.folder, self.name).is_ok_and(|now| now.as_ref().map(stamp) == self.save.seen)
    }

    /// Saves it.
    ///
    /// # Errors
    /// The system's.
    pub(super) fn save(&self) -> io::Result<()> {
        kill::check_killed()?;
        match &self.how {
            How::Replace => self.folder.rename(staged(self.name), &self.folder, self.name)?,
            How::Remove => self.folder.remove(self.name)?,
            How::InPlace => {
                let bytes = self.save.bytes.as_ref().map_or(&[][..], |bytes| bytes);
                let mut file = self.folder.open_to_write(self.name)?;
                // What it needs is asked for first: a full disk leaves it as it was.
                if let Err(error) = disks::keep_room(&file, bytes.len().max(1) as u64)
                    && matches!(error, SystemError::NO_SPACE | SystemError::QUOTA)
                {
                    return Err(error.into());
                }
                kill::write(&mut file, bytes)?;
                kill::check_killed()?;
                file.set_len(bytes.len() as u64)?;
                kill::sync(&file)?;
            }
        }
        if let (How::InPlace | How::Remove, Some(beside)) = (&self.how, &self.beside) {
            kill::check_killed()?;
            self.folder.remove(beside)?;
        }
        kill::sync(&self.folder)
    }
}

/// The name of the file that is to take the place of one.
pub(super) fn staged(name: &str) -> String {
    format!(".{}.cortex-new", &blake3::hash(name.as_bytes()).to_hex()[..16])
}

/// Writes a new file beside the one whose place it is to take.
fn stage(folder: &Folder, name: &str, bytes: &[u8], save: &Save, before: Option<&FileInfo>) -> io::Result<How> {
    // Nobody else edits here.
    let new = staged(name);
    let mut file = fresh(folder, &new)?;
    let written = (|| {
        if let Some(before) = before {
            let own = FileInfo::of(&file)?;
            let given = (own.owner, own.group) == (before.owner, before.group) || modes::give_to(&file, before.owner, before.group).is_ok();
            if !given {
                return Ok(false);
            }
            modes::set_mode_of(&file, before.mode & 0o7777)?;
            let old = folder.open_to_read(name)?;
            if !carry_over(&old, &file)? {
                return Ok(false);
            }
        }
        if let (None, Some(mode)) = (before, save.mode) {
            modes::set_mode_of(&file, mode & 0o777)?;
        }
        kill::write(&mut file, bytes)?;
        if let Some(before) = before {
            // Of what is written the system takes the right to run as its owner.
            modes::set_mode_of(&file, before.mode & 0o7777)?;
        }
        kill::sync(&file)?;
        Ok::<_, io::Error>(true)
    })();
    if !matches!(written, Ok(true)) && kill::check_killed().is_ok() {
        // As above.
        let _ = folder.remove(&new);
    }
    Ok(if written? { How::Replace } else { How::InPlace })
}
