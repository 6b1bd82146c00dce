//! Exit codes, the same for every command, and the signals that have one.

use engine::seams::producer::Cancel;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use std::process::ExitCode;
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Exit code of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Code {
    /// All requested results exist.
    Ok = 0,
    /// A target failed.
    TargetFailed = 1,
    /// Wrong flags, manifest or label.
    Usage = 2,
    /// The store is damaged.
    StoreDamaged = 3,
    /// Another process held the store for too long.
    Busy = 4,
    /// Reading or writing failed, or the disk is full.
    Io = 5,
    /// The requested sandbox is not available.
    NoSandbox = 6,
    /// The remote cache is required and cannot be used.
    RemoteUnavailable = 7,
    /// A target built twice gave two different outputs.
    NotReproducible = 8,
    /// A limit was reached: money, calls, tokens.
    Limit = 9,
    /// A bug of cortex.
    Internal = 10,
    /// The terminal closed (SIGHUP).
    HungUp = 129,
    /// Interrupted (SIGINT, Ctrl-C).
    Interrupted = 130,
    /// Terminated (SIGTERM).
    Terminated = 143,
}

/// Signal that stopped this process; 0 before one arrives.
static STOPPED_BY: AtomicI32 = AtomicI32::new(0);

impl Code {
    /// Returns the code of a number.
    pub fn from_number(number: u8) -> Option<Self> {
        let all = [
            Self::Ok,
            Self::TargetFailed,
            Self::Usage,
            Self::StoreDamaged,
            Self::Busy,
            Self::Io,
            Self::NoSandbox,
            Self::RemoteUnavailable,
            Self::NotReproducible,
            Self::Limit,
            Self::Internal,
            Self::HungUp,
            Self::Interrupted,
            Self::Terminated,
        ];
        all.into_iter().find(|code| *code as u8 == number)
    }

    /// Returns the code of a command that a signal stopped: 128 plus the number of the signal, as shells define it.
    pub fn stopped() -> Self {
        match STOPPED_BY.load(Ordering::Relaxed) {
            SIGHUP => Self::HungUp,
            SIGTERM => Self::Terminated,
            _ => Self::Interrupted,
        }
    }
}

/// Callbacks for a signal: one cancels the work, one restores the terminal before the process ends.
type Listener = (Box<dyn Fn() + Send>, Box<dyn Fn() + Send>);

/// Callbacks of this process for a signal.
static LISTENERS: Mutex<Vec<Listener>> = Mutex::new(Vec::new());

/// Time between a signal and the forced end of the process. Safe at any point, because commits are atomic and results are committed along the way.
const DEADLINE: Duration = Duration::from_millis(900);

/// Additional time for a commit in progress.
const LAST_COMMIT: Duration = Duration::from_secs(5);

fn listeners() -> MutexGuard<'static, Vec<Listener>> {
    LISTENERS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Calls `stop` at the first signal, or at once if one arrived before. A second signal calls `restore` and ends the process; so does the
/// first, if the work does not end in time.
pub fn on_signal(stop: impl Fn() + Send + 'static, restore: impl Fn() + Send + 'static) {
    let mut listeners = listeners();
    if STOPPED_BY.load(Ordering::Relaxed) != 0 {
        stop();
    }
    let is_first = listeners.is_empty();
    listeners.push((Box::new(stop), Box::new(restore)));
    drop(listeners);
    if !is_first {
        return;
    }
    // Without a handler, the system ends the process itself; no committed result is lost either way.
    let Ok(mut signals) = Signals::new([SIGHUP, SIGINT, SIGTERM]) else {
        return;
    };
    std::thread::spawn(move || {
        for signal in signals.forever() {
            let first = STOPPED_BY.compare_exchange(0, signal, Ordering::Relaxed, Ordering::Relaxed);
            if first.is_err() {
                end_by_signal(signal);
            }
            std::thread::spawn(move || {
                let since = Instant::now();
                while since.elapsed() < DEADLINE || Cancel::is_keeping() && since.elapsed() < DEADLINE + LAST_COMMIT {
                    std::thread::sleep(Duration::from_millis(20));
                }
                end_by_signal(signal);
            });
            self::listeners().iter().for_each(|(stop, _)| stop());
        }
    });
}

/// Ends the process with the exit code of the signal.
fn end_by_signal(signal: i32) -> ! {
    // While a `stop` runs, the list is locked; the process ends all the same.
    if let Ok(listeners) = LISTENERS.try_lock() {
        listeners.iter().for_each(|(_, restore)| restore());
    }
    std::process::exit(128 + signal)
}

impl From<Code> for ExitCode {
    fn from(code: Code) -> Self {
        Self::from(code as u8)
    }
}

/// Silences panics over a damaged store: they are caught and reported as damage.
pub fn quiet_expected_panics() {
    let report = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        if !engine::store::disk::is_panic_expected() {
            report(panic);
        }
    }));
}
