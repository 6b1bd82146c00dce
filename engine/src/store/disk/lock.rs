//! Lock files: one process holds the lock and writes its process id and start time into the file. Knows nothing about what a lock guards.
//!
//! The kernel releases a lock when its holder dies, so a stale file means nothing. The file itself is never removed: removing it
//! would let two processes lock two files of one name.
//!
//! A waiting process holds a *shared* lock on a second file, so that a holder that can release the lock detects it with one system call.

use os::plain_files::{self, Links, MoreOptions};
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::path::Path;
use std::time::{Duration, Instant, SystemTime};

/// Length in bytes of the text about a holder, padded with spaces.
const HOLDER_LEN: usize = 120;

/// Maximum length in bytes of a holder's purpose.
const PURPOSE_LEN: usize = 60;

/// Minimum wait that is reported: most holders release the lock much sooner.
pub(super) const TELL_AFTER: Duration = Duration::from_millis(300);

/// Time after which a holder is reported again, so that a reader that skips reports still learns of a holder that stays.
const TELL_AGAIN: Duration = Duration::from_secs(10);

/// Time for which a process that released the lock leaves it to waiting processes.
const TURN: Duration = Duration::from_millis(250);

/// A held lock; dropping it releases it.
#[derive(Debug)]
pub(super) struct Lock {
    /// Modification times of the file: before the lock was acquired, and after this holder was noted in it.
    pub times: [Option<SystemTime>; 2],
    _file: File,
}

/// Terms on which a process acquires a lock.
pub(super) struct Terms<'a> {
    /// The command, as waiting processes report it: `cortex build`.
    pub purpose: &'a str,
    /// Maximum time to wait.
    pub timeout: Duration,
    /// The file that a waiting process locks so that the holder can detect it.
    pub waiting: Option<&'a Path>,
    /// Called with every holder that keeps this process waiting for at least [`TELL_AFTER`], and again every [`TELL_AGAIN`].
    pub on_wait: Option<&'a dyn Fn(&str)>,
    /// Whether to lock a file even if it is not writable: enough for a process that only reads.
    pub is_read_only: bool,
}

/// Reason why the lock was not acquired.
#[derive(Debug)]
pub(super) enum Refusal {
    /// Another holder kept it until the time-out; its description.
    Busy(String),
    /// The file could not be opened or locked.
    Io(io::Error),
}

impl From<io::Error> for Refusal {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// Opens a lock file, creating it if it does not exist.
pub(super) fn open_lock_file(path: &Path) -> io::Result<File> {
    open_as(path, OpenOptions::new().create(true).truncate(false))
}

pub(super) fn open_there(path: &Path) -> io::Result<File> {
    open_as(path, &mut OpenOptions::new())
}

/// Opens a lock file, creating it as the options say.
pub(super) fn open_as(path: &Path, options: &mut OpenOptions) -> io::Result<File> {
    options.read(true).write(true).with_mode(0o600);
    // The holder is written into the file, so never follow a link: it could lead to any file.
    plain_files::open_plain_file(path, options, Links::Refused)
}

/// Whether a file could not be opened for writing because of a read-only file system or its permissions.
pub(super) fn is_unwritable(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::ReadOnlyFilesystem | io::ErrorKind::PermissionDenied)
}

/// Tries once to lock a file; returns whether this handle holds the lock now.
pub(super) fn try_take(file: &File) -> io::Result<bool> {
    match file.try_lock() {
        Ok(()) => Ok(true),
        Err(TryLockError::WouldBlock) => Ok(false),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

pub(super) fn acquire_lock(path: &Path, terms: &Terms<'_>) -> Result<Lock, Refusal> {
    let mut file = match open_lock_file(path) {
        Err(error) if terms.is_read_only && is_unwritable(&error) => plain_files::open_to_read(path)?,
        opened => opened?,
    };
    let start = Instant::now();
    let mut pause = Duration::from_millis(1);
    let (mut reported, mut shown): (Option<(Holder, Instant)>, _) = (None, None);
    let mut tries = 0;
    while !try_take(&file)? {
        let waited = start.elapsed();
        let left = terms.timeout.saturating_sub(waited);
        tries += 1;
        // Try once more even without time: another process may only be testing whether the lock is held.
        if left.is_zero() && tries > 1 {
            return Err(Refusal::Busy(holder(&mut file)?.to_string()));
        }
        if let (None, Some(waiting)) = (&shown, terms.waiting) {
            // A holder that tests this file locks it for a moment; the next round tries again. If the file cannot be created, this process
            // stays unseen and gets the lock when the holder ends.
            shown = open_lock_file(waiting).ok().filter(|waiting| waiting.try_lock_shared().is_ok());
        }
        if let Some(on_wait) = terms.on_wait.filter(|_| waited >= TELL_AFTER) {
            let holder = holder(&mut file)?;
            let is_known = |(known, at): &(Holder, Instant)| *known == holder && at.elapsed() < TELL_AGAIN;
            if !reported.as_ref().is_some_and(is_known) {
                on_wait(&holder.to_string());
                reported = Some((holder, Instant::now()));
            }
        }
        std::thread::sleep(if tries == 1 { pause } else { pause.min(left) });
        // Poll fast at first, because holders release the lock soon; slow down so that a wait of minutes does not cost a core.
        pause = (pause + Duration::from_millis(1)).min(Duration::from_millis(if waited < TELL_AFTER * 10 { 5 } else { 25 }));
    }
    let written = |file: &File| file.metadata().and_then(|found| found.modified()).ok();
    let before = written(&file);
    // Only waiting processes read the text. On a full disk it cannot be written; the lock is valid without it.
    let _ = write_lock_holder(&mut file, terms.purpose);
    Ok(Lock {
        times: [before, written(&file)],
        _file: file,
    })
}

/// Leaves the lock to waiting processes: returns when none waits any more, or [`TURN`] after `released_at`.
pub(super) fn leave_turn(waiting: &Path, released_at: Instant) -> io::Result<()> {
    if released_at.elapsed() >= TURN {
        return Ok(());
    }
    let file = open_lock_file(waiting)?;
    while !try_take(&file)? && released_at.elapsed() < TURN {
        std::thread::sleep(Duration::from_millis(2));
    }
    Ok(())
}

/// Whether another process waits. `file` is the file of [`Terms::waiting`].
pub(super) fn is_waited_for(file: &File) -> io::Result<bool> {
    let free = try_take(file)?;
    if free {
        file.unlock()?;
    }
    Ok(!free)
}

/// Writes this process, its purpose and the time into the lock file.
pub(super) fn write_lock_holder(file: &mut File, purpose: &str) -> io::Result<()> {
    let mut purpose = purpose.to_owned();
    purpose.truncate(purpose.floor_char_boundary(PURPOSE_LEN));
    let text = format!("pid {} ({purpose}) since {}", std::process::id(), seconds_since_1970());
    // Overwrite at full length instead of truncating: some file systems flush a truncated file on close, which takes milliseconds.
    file.rewind()?;
    file.write_all(format!("{text:<HOLDER_LEN$}").as_bytes())
}

fn seconds_since_1970() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    since.map_or(0, |since| since.as_secs())
}

/// A lock's holder, as the lock file describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Holder {
    /// Process id and purpose, without control characters.
    who: String,
    /// Time at which it acquired the lock, in seconds since 1970; `None` if not legible.
    pub since: Option<u64>,
}

impl Holder {
    pub(super) fn is_this_process(&self) -> bool {
        self.who.starts_with(&format!("pid {} ", std::process::id()))
    }
}

impl std::fmt::Display for Holder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (who, seconds) = (&self.who, self.since.and_then(|since| seconds_since_1970().checked_sub(since)));
        match (who.strip_suffix(')'), seconds) {
            // After a change of the clock the age would be wrong; show it only if it is plausible.
            (Some(open), Some(seconds @ 0..=599)) => write!(f, "{open}, {seconds} s)"),
            (Some(open), Some(seconds @ 600..=8_640_000)) => write!(f, "{open}, {} min)", seconds / 60),
            _ => f.write_str(who),
        }
    }
}

/// Reads the holder from the lock file.
pub(super) fn holder(file: &mut File) -> io::Result<Holder> {
    let mut bytes = Vec::new();
    file.rewind()?;
    file.take(HOLDER_LEN as u64).read_to_end(&mut bytes)?;
    let text: String = String::from_utf8_lossy(&bytes).chars().filter(|c| !c.is_control()).collect();
    let text = text.trim_end();
    let (who, since) = match text.rsplit_once(" since ") {
        Some((who, since)) if since.parse::<u64>().is_ok() => (who, since.parse().ok()),
        _ => (text, None),
    };
    let who = if who.is_empty() { "another process" } else { who }.to_owned();
    Ok(Holder { who, since })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;

    fn terms(timeout: Duration) -> Terms<'static> {
        Terms {
            purpose: "cortex build",
            timeout,
            waiting: None,
            on_wait: None,
            is_read_only: false,
        }
    }

    const LONG: Duration = Duration::from_secs(300);

    #[test]
    fn a_waiting_process_learns_the_holder_and_gets_the_lock() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("store.lock");
        let first = acquire_lock(&path, &terms(Duration::ZERO)).unwrap();
        let Err(Refusal::Busy(busy)) = acquire_lock(&path, &terms(Duration::ZERO)) else {
            panic!("taken twice")
        };
        let who = format!("pid {} (cortex build, ", std::process::id());
        assert!(busy.starts_with(&who) && busy.ends_with(" s)"), "{busy}");
        let (tell, messages) = mpsc::channel();
        let waiting = std::thread::spawn({
            let path = path.clone();
            move || {
                let on_wait = |holder: &str| tell.send(holder.to_owned()).unwrap();
                let waits = Terms {
                    on_wait: Some(&on_wait),
                    ..terms(LONG)
                };
                acquire_lock(&path, &waits).is_ok()
            }
        });
        assert!(messages.recv().unwrap().starts_with(&who));
        drop(first);
        assert!(waiting.join().unwrap());
        assert!(messages.recv().is_err(), "it is told once");
    }

    #[test]
    fn a_holder_detects_waiting_processes_and_leaves_them_a_turn() {
        let dir = tempfile::tempdir().unwrap();
        let (path, waiting) = (dir.path().join("store.lock"), dir.path().join("store.waiting"));
        let first = acquire_lock(&path, &terms(Duration::ZERO)).unwrap();
        let look = open_lock_file(&waiting).unwrap();
        assert!(!is_waited_for(&look).unwrap());
        let (got, gets) = mpsc::channel();
        let other = std::thread::spawn({
            let (path, waiting) = (path.clone(), waiting.clone());
            move || {
                let waits = Terms {
                    waiting: Some(&waiting),
                    ..terms(LONG)
                };
                let lock = acquire_lock(&path, &waits).unwrap();
                got.send(()).unwrap();
                lock
            }
        });
        while !is_waited_for(&look).unwrap() {
            std::thread::yield_now();
        }
        drop(first);
        let released_at = Instant::now();
        leave_turn(&waiting, released_at).unwrap();
        // Either the other thread acquired the lock, or it had the whole turn for it.
        assert!(gets.try_recv().is_ok() || released_at.elapsed() >= TURN);
        drop(other.join().unwrap());
        assert!(!is_waited_for(&look).unwrap());
    }

    #[test]
    fn a_holder_cannot_write_to_the_terminal_and_an_old_text_is_legible() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("store.lock");
        let rude = Terms {
            purpose: "\u{1b}[2J\n",
            ..terms(Duration::ZERO)
        };
        let lock = acquire_lock(&path, &rude).unwrap();
        let Err(Refusal::Busy(busy)) = acquire_lock(&path, &terms(Duration::ZERO)) else {
            panic!("taken twice")
        };
        assert!(!busy.contains('\u{1b}') && !busy.contains('\n'), "{busy:?}");
        for (text, expected) in [
            ("pid 7 (cortex gc)", "pid 7 (cortex gc)"),
            ("pid 7 (cortex gc) since 99999999999", "pid 7 (cortex gc)"),
            ("pid 7 (cortex gc) since x", "pid 7 (cortex gc) since x"),
            ("", "another process"),
        ] {
            std::fs::write(&path, text).unwrap();
            assert_eq!(holder(&mut open_lock_file(&path).unwrap()).unwrap().to_string(), expected);
        }
        drop(lock);
    }
}
