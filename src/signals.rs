//! Signals that end the process: SIGHUP, SIGINT and SIGTERM.

use engine::seams::producer::Cancel;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Signal that stopped this process; 0 before one arrives.
static STOPPED_BY: AtomicI32 = AtomicI32::new(0);

/// Callbacks for a signal: one cancels the work, one restores the terminal before the process ends.
type Listener = (Box<dyn Fn() + Send>, Box<dyn Fn() + Send>);

/// Callbacks of this process for a signal.
static LISTENERS: Mutex<Vec<Listener>> = Mutex::new(Vec::new());

/// Time between a signal and the forced end of the process. Safe at any point, because commits are atomic and results are committed along the way.
const DEADLINE: Duration = Duration::from_millis(900);

/// Additional time for a commit in progress.
const LAST_COMMIT: Duration = Duration::from_secs(5);

/// Returns the signal that stopped this process; 0 before one arrives.
pub fn stopping_signal() -> i32 {
    STOPPED_BY.load(Ordering::Relaxed)
}

fn listeners() -> MutexGuard<'static, Vec<Listener>> {
    LISTENERS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Calls `stop` at the first signal, or at once if one arrived before. A second signal calls `restore` and ends the process; so does the
/// first, if the work does not end in time.
pub fn on_signal(stop: impl Fn() + Send + 'static, restore: impl Fn() + Send + 'static) {
    let mut listeners = listeners();
    if stopping_signal() != 0 {
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
    // While a `stop` runs, the list is locked; the process ends nevertheless.
    if let Ok(listeners) = LISTENERS.try_lock() {
        listeners.iter().for_each(|(_, restore)| restore());
    }
    std::process::exit(128 + signal)
}
