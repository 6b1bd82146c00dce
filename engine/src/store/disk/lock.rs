//! Lock files: one process at a time, each telling the others who it is and since when. It knows nothing of what it guards.
//!
//! The kernel gives a lock back when its holder dies, so a stale file means nothing. The file itself is never removed: removing it
//! would let two processes lock two files of one name.
//!
//! Who waits holds a *shared* lock on a second file, so that a holder that can do without learns of it with one system call.

use os::plain_files::{self, Links, MoreOptions};
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::path::Path;
use std::time::{Duration, Instant, SystemTime};

/// Bytes of the text about a holder, filled up with spaces.
const HOLDER_LEN: usize = 120;

/// Most bytes of what a holder is doing.
const PURPOSE_LEN: usize = 60;

/// Nobody is told of a wait that is over sooner: holders give way within a fraction of it.
pub(super) const TELL_AFTER: Duration = Duration::from_millis(300);

/// How long who gave way leaves the lock to those who wait.
const TURN: Duration = Duration::from_millis(250);

/// A held lock; dropping it gives it back.
#[derive(Debug)]
pub(super) struct Lock {
    /// When the file was written before, and when its holder wrote down who it is.
    pub times: [Option<SystemTime>; 2],
    _file: File,
}

/// How a lock is taken.
pub(super) struct Terms<'a> {
    /// What the others are told: `cortex build`.
    pub purpose: &'a str,
    /// How long to wait.
    pub timeout: Duration,
    /// The file by which holders see that somebody waits.
    pub waiting: Option<&'a Path>,
    /// Hears of every holder that is waited for long enough to be worth a word.
    pub on_wait: Option<&'a dyn Fn(&str)>,
    /// Whether a file that may not be written is locked all the same: enough for who only looks.
    pub looks: bool,
}

/// Why the lock was not taken.
#[derive(Debug)]
pub(super) enum Refusal {
    /// It was held until the time ran out.
    Busy(String),
    /// The file could not be opened or locked.
    Io(io::Error),
}

impl From<io::Error> for Refusal {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// Opens a lock file, making it if need be.
pub(super) fn open(path: &Path) -> io::Result<File> {
    open_as(path, OpenOptions::new().create(true).truncate(false))
}

/// Opens a lock file that is there.
pub(super) fn open_there(path: &Path) -> io::Result<File> {
    open_as(path, &mut OpenOptions::new())
}

/// Opens a lock file, making it as the options say.
pub(super) fn open_as(path: &Path, options: &mut OpenOptions) -> io::Result<File> {
    options.read(true).write(true).with_mode(0o600);
    // Who holds the lock is written into it: never into a file that somebody's link leads to.
    plain_files::open(path, options, Links::Refused)
}

/// Whether a file could not be opened for writing because of where it lies or what it allows.
pub(super) fn is_unwritable(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::ReadOnlyFilesystem | io::ErrorKind::PermissionDenied)
}

/// Tries once to lock a file; whether it is locked by this handle now.
pub(super) fn try_take(file: &File) -> io::Result<bool> {
    match file.try_lock() {
        Ok(()) => Ok(true),
        Err(TryLockError::WouldBlock) => Ok(false),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

/// Takes the lock at `path`.
pub(super) fn take(path: &Path, terms: &Terms<'_>) -> Result<Lock, Refusal> {
    let mut file = match open(path) {
        Err(error) if terms.looks && is_unwritable(&error) => plain_files::open_to_read(path)?,
        opened => opened?,
    };
    let start = Instant::now();
    let mut pause = Duration::from_millis(1);
    let (mut told, mut shown) = (None, None);
    let mut tries = 0;
    while !try_take(&file)? {
        let waited = start.elapsed();
        let left = terms.timeout.saturating_sub(waited);
        tries += 1;
        // Once more even without time: someone may only be looking whether it is held.
        if left.is_zero() && tries > 1 {
            return Err(Refusal::Busy(holder(&mut file)?.to_string()));
        }
        if let (None, Some(waiting)) = (&shown, terms.waiting) {
            // A holder that is just looking has it for a moment: then it is tried again in the next round. So it is where the file cannot be
            // made: the lock comes when the holder ends.
            shown = open(waiting).ok().filter(|waiting| waiting.try_lock_shared().is_ok());
        }
        if let Some(on_wait) = terms.on_wait.filter(|_| waited >= TELL_AFTER) {
            let holder = holder(&mut file)?;
            if told.as_ref() != Some(&holder) {
                on_wait(&holder.to_string());
                told = Some(holder);
            }
        }
        std::thread::sleep(if tries == 1 { pause } else { pause.min(left) });
        // Quick at first, because holders give way; then a wait of minutes must not cost a core.
        pause = (pause + Duration::from_millis(1)).min(Duration::from_millis(if waited < TELL_AFTER * 10 { 5 } else { 25 }));
    }
    let written = |file: &File| file.metadata().and_then(|found| found.modified()).ok();
    let before = written(&file);
    // The text is for those who wait. On a full disk it cannot be written, and the lock holds all the same.
    let _ = note(&mut file, terms.purpose);
    Ok(Lock {
        times: [before, written(&file)],
        _file: file,
    })
}

/// Leaves the lock to those who wait: returns when nobody does any more, or when they had their time since `gave_way`.
pub(super) fn leave_turn(waiting: &Path, gave_way: Instant) -> io::Result<()> {
    if gave_way.elapsed() >= TURN {
        return Ok(());
    }
    let file = open(waiting)?;
    while !try_take(&file)? && gave_way.elapsed() < TURN {
        std::thread::sleep(Duration::from_millis(2));
    }
    Ok(())
}

/// Whether somebody shows that he waits. `file` is the file of [`Terms::waiting`].
pub(super) fn is_waited_for(file: &File) -> io::Result<bool> {
    let free = try_take(file)?;
    if free {
        file.unlock()?;
    }
    Ok(!free)
}

/// Writes down who holds the lock.
pub(super) fn note(file: &mut File, purpose: &str) -> io::Result<()> {
    let mut purpose = purpose.to_owned();
    purpose.truncate(purpose.floor_char_boundary(PURPOSE_LEN));
    let text = format!("pid {} ({purpose}) since {}", std::process::id(), now());
    // Written over at its full length: some file systems flush a file that was truncated when it is closed, which takes milliseconds.
    file.rewind()?;
    file.write_all(format!("{text:<HOLDER_LEN$}").as_bytes())
}

fn now() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    since.map_or(0, |since| since.as_secs())
}

/// What a holder wrote down.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Holder {
    /// Who, without control characters.
    who: String,
    /// Seconds since 1970 when it took the lock; `None` when that is not legible.
    pub since: Option<u64>,
}

impl Holder {
    /// Whether it is the process that asks.
    pub(super) fn is_this_process(&self) -> bool {
        self.who.starts_with(&format!("pid {} ", std::process::id()))
    }
}

impl std::fmt::Display for Holder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (who, held) = (&self.who, self.since.and_then(|since| now().checked_sub(since)));
        match (who.strip_suffix(')'), held) {
            // A clock that was set would tell nonsense.
            (Some(open), Some(held @ 0..=599)) => write!(f, "{open}, {held} s)"),
            (Some(open), Some(held @ 600..=8_640_000)) => write!(f, "{open}, {} min)", held / 60),
            _ => f.write_str(who),
        }
    }
}

/// What the holder wrote down.
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
            looks: false,
        }
    }

    const LONG: Duration = Duration::from_secs(300);

    #[test]
    fn the_second_is_told_who_holds_it_and_gets_it_afterwards() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("store.lock");
        let first = take(&path, &terms(Duration::ZERO)).unwrap();
        let Err(Refusal::Busy(busy)) = take(&path, &terms(Duration::ZERO)) else {
            panic!("taken twice")
        };
        let who = format!("pid {} (cortex build, ", std::process::id());
        assert!(busy.starts_with(&who) && busy.ends_with(" s)"), "{busy}");
        let (tell, told) = mpsc::channel();
        let waiting = std::thread::spawn({
            let path = path.clone();
            move || {
                let on_wait = |holder: &str| tell.send(holder.to_owned()).unwrap();
                let waits = Terms {
                    on_wait: Some(&on_wait),
                    ..terms(LONG)
                };
                take(&path, &waits).is_ok()
            }
        });
        assert!(told.recv().unwrap().starts_with(&who));
        drop(first);
        assert!(waiting.join().unwrap());
        assert!(told.recv().is_err(), "it is told once");
    }

    #[test]
    fn a_holder_sees_who_waits_and_leaves_it_the_turn() {
        let dir = tempfile::tempdir().unwrap();
        let (path, waiting) = (dir.path().join("store.lock"), dir.path().join("store.waiting"));
        let first = take(&path, &terms(Duration::ZERO)).unwrap();
        let look = open(&waiting).unwrap();
        assert!(!is_waited_for(&look).unwrap());
        let (got, gets) = mpsc::channel();
        let other = std::thread::spawn({
            let (path, waiting) = (path.clone(), waiting.clone());
            move || {
                let waits = Terms {
                    waiting: Some(&waiting),
                    ..terms(LONG)
                };
                let lock = take(&path, &waits).unwrap();
                got.send(()).unwrap();
                lock
            }
        });
        while !is_waited_for(&look).unwrap() {
            std::thread::yield_now();
        }
        drop(first);
        let gave_way = Instant::now();
        leave_turn(&waiting, gave_way).unwrap();
        // Either the other had its turn, or it was left all its time.
        assert!(gets.try_recv().is_ok() || gave_way.elapsed() >= TURN);
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
        let lock = take(&path, &rude).unwrap();
        let Err(Refusal::Busy(busy)) = take(&path, &terms(Duration::ZERO)) else {
            panic!("taken twice")
        };
        assert!(!busy.contains('\u{1b}') && !busy.contains('\n'), "{busy:?}");
        for (text, told) in [
            ("pid 7 (cortex gc)", "pid 7 (cortex gc)"),
            ("pid 7 (cortex gc) since 99999999999", "pid 7 (cortex gc)"),
            ("pid 7 (cortex gc) since x", "pid 7 (cortex gc) since x"),
            ("", "another process"),
        ] {
            std::fs::write(&path, text).unwrap();
            assert_eq!(holder(&mut open(&path).unwrap()).unwrap().to_string(), told);
        }
        drop(lock);
    }
}
