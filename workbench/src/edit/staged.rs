//! Files that are ready to be saved: what is to take a file's place lies whole beside it first, with the mode, the owner and the attributes of the
//! old one. Of several files each has something beside it until it is saved, which tells whoever comes after a crash how far it came.

use super::attributes::carry_over;
use super::disk::{Disk, stamp, stat_if_exists};
use super::files::{Save, SaveError};
use crate::checkout::fresh;
use crate::kill;
use rustix::fs::{AtFlags, Gid, Mode, OFlags, Stat, Uid};
use rustix::io::Errno;
use std::fs::File;
use std::io::{self, ErrorKind};
use std::os::fd::OwnedFd;

/// A file that waits to be saved.
pub(super) struct Staged<'s> {
    folder: OwnedFd,
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
            let _ = rustix::fs::unlinkat(&self.folder, &**beside, AtFlags::empty());
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
        if before.is_some_and(|before| before.st_mode & 0o222 == 0) {
            return Err(SaveError::ReadOnly { path: save.path.clone() });
        }
        let how = match (&save.bytes, before) {
            (None, _) => How::Remove,
            (Some(_), Some(before)) if before.st_nlink > 1 => How::InPlace,
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
            How::Replace => rustix::fs::renameat(&self.folder, &*staged(self.name), &self.folder, self.name)?,
            How::Remove => rustix::fs::unlinkat(&self.folder, self.name, AtFlags::empty())?,
            How::InPlace => {
                let bytes = self.save.bytes.as_ref().map_or(&[][..], |bytes| bytes);
                let flags = OFlags::WRONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
                let mut file = File::from(rustix::fs::openat(&self.folder, self.name, flags, Mode::empty())?);
                // What it needs is asked for first: a full disk leaves it as it was.
                if let Err(errno) = rustix::fs::fallocate(&file, rustix::fs::FallocateFlags::KEEP_SIZE, 0, bytes.len().max(1) as u64)
                    && matches!(errno, Errno::NOSPC | Errno::DQUOT)
                {
                    return Err(errno.into());
                }
                kill::write(&mut file, bytes)?;
                kill::check_killed()?;
                file.set_len(bytes.len() as u64)?;
                kill::sync(&file)?;
            }
        }
        if let (How::InPlace | How::Remove, Some(beside)) = (&self.how, &self.beside) {
            kill::check_killed()?;
            rustix::fs::unlinkat(&self.folder, &**beside, AtFlags::empty())?;
        }
        kill::sync(&self.folder)
    }
}

/// The name of the file that is to take the place of one.
pub(super) fn staged(name: &str) -> String {
    format!(".{}.cortex-new", &blake3::hash(name.as_bytes()).to_hex()[..16])
}

/// Writes a new file beside the one whose place it is to take.
fn stage(folder: &OwnedFd, name: &str, bytes: &[u8], save: &Save, before: Option<&Stat>) -> io::Result<How> {
    // Nobody else edits here.
    let new = staged(name);
    let mut file = fresh(folder, &new)?;
    let written = (|| {
        if let Some(before) = before {
            let own = rustix::fs::fstat(&file)?;
            let given = (own.st_uid, own.st_gid) == (before.st_uid, before.st_gid)
                || rustix::fs::fchown(&file, Some(Uid::from_raw(before.st_uid)), Some(Gid::from_raw(before.st_gid))).is_ok();
            if !given {
                return Ok(false);
            }
            rustix::fs::fchmod(&file, Mode::from_raw_mode(before.st_mode & 0o7777))?;
            let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
            let old = File::from(rustix::fs::openat(folder, name, flags, Mode::empty())?);
            if !carry_over(&old, &file)? {
                return Ok(false);
            }
        }
        if let (None, Some(mode)) = (before, save.mode) {
            rustix::fs::fchmod(&file, Mode::from_raw_mode(mode & 0o777))?;
        }
        kill::write(&mut file, bytes)?;
        if let Some(before) = before {
            // Of what is written the system takes the right to run as its owner.
            rustix::fs::fchmod(&file, Mode::from_raw_mode(before.st_mode & 0o7777))?;
        }
        kill::sync(&file)?;
        Ok::<_, io::Error>(true)
    })();
    if !matches!(written, Ok(true)) && kill::check_killed().is_ok() {
        // As above.
        let _ = rustix::fs::unlinkat(folder, &*new, AtFlags::empty());
    }
    Ok(if written? { How::Replace } else { How::InPlace })
}
