//! Exit codes, the same for every command, and the signals that have one.

use engine::seams::producer::Cancel;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use std::process::ExitCode;
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Code {
    /// Everything asked for is there.
    Ok = 0,
    /// A target failed.
    TargetFailed = 1,
    /// Wrong flags, manifest or label.
    Usage = 2,
    /// The store is damaged.
    StoreDamaged = 3,
    /// The store was held by another process for too long.
    Busy = 4,
    /// Reading, writing or space failed.
    Io = 5,
    /// The sandbox that was asked for cannot be had.
    NoSandbox = 6,
    /// The remote cache is required and cannot be used.
    RemoteUnavailable = 7,
    /// Made again, a target came out different.
    NotReproducible = 8,
    /// A limit was reached: money, calls, tokens.
    Limit = 9,
    /// A bug of cortex.
    Internal = 10,
    /// Stopped because the terminal went away (SIGHUP).
    HungUp = 129,
    /// Interrupted (SIGINT, Ctrl-C).
    Interrupted = 130,
    /// Told to end (SIGTERM).
    Terminated = 143,
}

/// The signal that told this process to stop; 0 before there is one.
static STOPPED_BY: AtomicI32 = AtomicI32::new(0);

impl Code {
    /// The code of that number.
    pub fn of(number: u8) -> Option<Self> {
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

    /// The code of a command that stopped because it was told to: 128 and the number of the signal, as shells say it.
    pub fn stopped() -> Self {
        match STOPPED_BY.load(Ordering::Relaxed) {
            SIGHUP => Self::HungUp,
            SIGTERM => Self::Terminated,
            _ => Self::Interrupted,
        }
    }
}

/// What ends the work, and what puts the terminal back before the process ends.
type Listener = (Box<dyn Fn() + Send>, Box<dyn Fn() + Send>);

/// Everybody in this process who is told of a signal.
static LISTENERS: Mutex<Vec<Listener>> = Mutex::new(Vec::new());

/// So long after a signal the process ends, whatever it is at: every commit is atomic, and what finished was committed along the way.
const DEADLINE: Duration = Duration::from_millis(900);

/// It waits so much longer for a commit that is under way.
const LAST_COMMIT: Duration = Duration::from_secs(5);

fn listeners() -> MutexGuard<'static, Vec<Listener>> {
    LISTENERS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Calls `stop` at the first signal that asks for the end, and at once if there was one. A second one ends the process at once, after `restore`;
/// so does the first one, when the work has not ended in time.
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
    // A system that lets no handler be set ends the process itself: nothing acknowledged is lost either way.
    let Ok(mut signals) = Signals::new([SIGHUP, SIGINT, SIGTERM]) else {
        return;
    };
    std::thread::spawn(move || {
        for signal in signals.forever() {
            let first = STOPPED_BY.compare_exchange(0, signal, Ordering::Relaxed, Ordering::Relaxed);
            if first.is_err() {
                end_by_signal(signal);
            }
            self::listeners().iter().for_each(|(stop, _)| stop());
            std::thread::spawn(move || {
                let since = Instant::now();
                while since.elapsed() < DEADLINE || Cancel::is_keeping() && since.elapsed() < DEADLINE + LAST_COMMIT {
                    std::thread::sleep(Duration::from_millis(20));
                }
                end_by_signal(signal);
            });
        }
    });
}

/// Ends the process as the signal would have.
fn end_by_signal(signal: i32) -> ! {
    listeners().iter().for_each(|(_, restore)| restore());
    std::process::exit(128 + signal)
}

impl From<Code> for ExitCode {
    fn from(code: Code) -> Self {
        Self::from(code as u8)
    }
}

/// Panics over a damaged store are caught and told as damage, and nothing else is said about them.
pub fn quiet_expected_panics() {
    let report = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        if !engine::store::disk::is_panic_expected() {
            report(panic);
        }
    }));
}
