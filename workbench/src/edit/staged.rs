//! Staged files of a save: the complete new file is first written next to the old one, with its mode, owner and attributes. In a save of
//! several files each has a staged file until it is saved, which shows the next process after a crash how far the save got.

use super::disk::{Disk, stamp, stat_if_exists};
use super::files::{Save, SaveError};
use crate::checkout::create_empty;
use crate::kill_points;
use os::attributes::carry_over;
use os::errors::SystemError;
use os::folders::Folder;
use os::info::FileInfo;
use os::{disks, modes};
use std::io::{self, ErrorKind};

/// A file ready to be saved.
pub(super) struct Staged<'s> {
    folder: Folder,
    name: &'s str,
    /// The file to write.
    pub(super) save: &'s Save,
    how: How,
    /// Name of the staged file, until it is saved.
    beside: Option<String>,
}

enum How {
    /// Rename the complete staged file over the old one.
    Replace,
    /// Write the file in place.
    InPlace,
    Remove,
}

impl Drop for Staged<'_> {
    fn drop(&mut self) {
        if let (Some(beside), Ok(())) = (&self.beside, kill_points::check_killed()) {
            // After the rename the staged file no longer exists; a failed removal has no remedy.
            let _ = self.folder.remove(beside);
        }
    }
}

/// Files staged for one save. They are dropped last to first: a missing staged file before an existing one marks a saved file.
pub(super) struct Batch<'s>(pub(super) Vec<Staged<'s>>);

impl Batch<'_> {
    /// Keeps the staged files on disk: the saved files still have to be restored.
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
    /// Stages a file, with a staged file in every case if it is one of several. Fails when it cannot be staged, or its stamp changed.
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
            create_empty(&folder, &staged_name(name)).map_err(failed)?;
        }
        let beside = (several || is_whole).then(|| staged_name(name));
        Ok(Self {
            folder,
            name,
            save,
            how,
            beside,
        })
    }

    /// Whether the file's stamp is unchanged.
    pub(super) fn is_as_seen(&self) -> bool {
        stat_if_exists(&self.folder, self.name).is_ok_and(|now| now.as_ref().map(stamp) == self.save.seen)
    }

    pub(super) fn save(&self) -> io::Result<()> {
        kill_points::check_killed()?;
        match &self.how {
            How::Replace => self.folder.rename(staged_name(self.name), &self.folder, self.name)?,
            How::Remove => self.folder.remove(self.name)?,
            How::InPlace => {
                let bytes = self.save.bytes.as_ref().map_or(&[][..], |bytes| bytes);
                let mut file = self.folder.open_to_write(self.name)?;
                // Reserve the space first: a full disk then leaves the file unchanged.
                if let Err(error) = disks::keep_room(&file, bytes.len().max(1) as u64)
                    && matches!(error, SystemError::NO_SPACE | SystemError::QUOTA)
                {
                    return Err(error.into());
                }
                kill_points::write(&mut file, bytes)?;
                kill_points::check_killed()?;
                file.set_len(bytes.len() as u64)?;
                kill_points::sync(&file)?;
            }
        }
        if let (How::InPlace | How::Remove, Some(beside)) = (&self.how, &self.beside) {
            kill_points::check_killed()?;
            self.folder.remove(beside)?;
        }
        kill_points::sync(&self.folder)
    }
}

/// Returns the name of the staged file of a file.
pub(super) fn staged_name(name: &str) -> String {
    format!(".{}.cortex-new", &blake3::hash(name.as_bytes()).to_hex()[..16])
}

/// Writes the staged file next to the old one.
fn stage(folder: &Folder, name: &str, bytes: &[u8], save: &Save, before: Option<&FileInfo>) -> io::Result<How> {
    // The lock excludes other editing processes.
    let new = staged_name(name);
    let mut file = create_empty(folder, &new)?;
    let written = (|| {
        if let Some(before) = before {
            let own = FileInfo::from_handle(&file)?;
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
        kill_points::write(&mut file, bytes)?;
        if let Some(before) = before {
            // A write clears the set-user-ID bits, so set the mode after it.
            modes::set_mode_of(&file, before.mode & 0o7777)?;
        }
        kill_points::sync(&file)?;
        Ok::<_, io::Error>(true)
    })();
    if !matches!(written, Ok(true)) && kill_points::check_killed().is_ok() {
        // A failed removal has no remedy, as above.
        let _ = folder.remove(&new);
    }
    Ok(if written? { How::Replace } else { How::InPlace })
}
