//! `store.lock`: one process at a time, each telling the others who it is. It knows nothing of what it guards.
//!
//! The kernel gives the lock back when its holder dies, so a stale file means nothing. The file itself is never removed: removing it
//! would let two processes lock two files of one name.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::{Duration, Instant};

/// Bytes of the text about a holder, filled up with spaces.
const HOLDER_LEN: usize = 120;

/// A held lock; dropping it gives it back.
#[derive(Debug)]
pub(super) struct Lock {
    _file: File,
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

/// Takes the lock at `path` for `purpose` (`cortex build`), waiting up to `timeout`; `on_wait` hears once of every holder waited for.
pub(super) fn take(path: &Path, purpose: &str, timeout: Duration, on_wait: Option<&dyn Fn(&str)>) -> Result<Lock, Refusal> {
    let mut file = OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .open(path)?;
    let start = Instant::now();
    let mut pause = Duration::from_millis(2);
    let mut told = None;
    loop {
        match file.try_lock() {
            Ok(()) => break,
            Err(TryLockError::Error(error)) => return Err(error.into()),
            Err(TryLockError::WouldBlock) => {}
        }
        let holder = holder(&mut file)?;
        let left = timeout.saturating_sub(start.elapsed());
        if left.is_zero() {
            return Err(Refusal::Busy(holder));
        }
        if told.as_ref() != Some(&holder) {
            if let Some(on_wait) = on_wait {
                on_wait(&holder);
            }
            told = Some(holder);
        }
        std::thread::sleep(pause.min(left));
        pause = (pause * 2).min(Duration::from_millis(100));
    }
    let mut text = format!("pid {} ({purpose})", std::process::id());
    text.truncate(text.floor_char_boundary(HOLDER_LEN));
    // Written over at its full length: some file systems flush a file that was truncated when it is closed, which takes milliseconds.
    file.rewind()?;
    file.write_all(format!("{text:<HOLDER_LEN$}").as_bytes())?;
    Ok(Lock { _file: file })
}

/// What the holder wrote down, without control characters.
fn holder(file: &mut File) -> io::Result<String> {
    let mut bytes = Vec::new();
    file.rewind()?;
    file.take(HOLDER_LEN as u64).read_to_end(&mut bytes)?;
    let text: String = String::from_utf8_lossy(&bytes).chars().filter(|c| !c.is_control()).collect();
    let text = text.trim_end();
    Ok(if text.is_empty() { "another process" } else { text }.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Mutex;

    #[test]
    fn the_second_is_told_who_holds_it_and_gets_it_afterwards() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("store.lock");
        let first = take(&path, "cortex build", Duration::ZERO, None).unwrap();
        let told = Mutex::new(Vec::new());
        let refusal = take(
            &path,
            "cortex gc",
            Duration::from_millis(5),
            Some(&|holder| told.lock().unwrap().push(holder.to_owned())),
        )
        .unwrap_err();
        let holder = format!("pid {} (cortex build)", std::process::id());
        assert!(matches!(refusal, Refusal::Busy(busy) if busy == holder));
        assert_eq!(*told.lock().unwrap(), [holder]);

        let waiting = std::thread::spawn({
            let path = path.clone();
            move || take(&path, "x", Duration::from_secs(60), None).is_ok()
        });
        drop(first);
        assert!(waiting.join().unwrap());
    }

    #[test]
    fn a_holder_cannot_write_to_the_terminal() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("store.lock");
        let lock = take(&path, "\u{1b}[2J\n", Duration::ZERO, None).unwrap();
        let Err(Refusal::Busy(holder)) = take(&path, "x", Duration::ZERO, None) else {
            panic!("taken twice")
        };
        assert!(!holder.contains('\u{1b}') && !holder.contains('\n'));
        drop(lock);
    }
}
