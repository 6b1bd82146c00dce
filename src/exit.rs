//! Exit codes, the same for every command, and the signals that have one.

use engine::seams::producer::Cancel;
use methods::code::Code;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use std::process::ExitCode;
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Signal that stopped this process; 0 before one arrives.
static STOPPED_BY: AtomicI32 = AtomicI32::new(0);

/// Codes that another process of cortex may give as numbers.
const CODES: [Code; 12] = [
    Code::Ok,
    Code::TargetFailed,
    Code::Usage,
    Code::StoreDamaged,
    Code::Busy,
    Code::Io,
    Code::NoSandbox,
    Code::RemoteUnavailable,
    Code::NotReproducible,
    Code::Limit,
    Code::Internal,
    Code::Interrupted,
];

/// Exit codes of stopped processes: 128 plus the number of the signal, as shells define it.
const HUNG_UP: u8 = 129;
const INTERRUPTED: u8 = 130;
const TERMINATED: u8 = 143;

/// Returns the number of a code. Stopped work has the number of the signal that stopped this process.
pub fn exit_number(code: Code) -> u8 {
    match code {
        Code::Ok => 0,
        Code::TargetFailed => 1,
        Code::Usage => 2,
        Code::StoreDamaged => 3,
        Code::Busy => 4,
        Code::Io => 5,
        Code::NoSandbox => 6,
        Code::RemoteUnavailable => 7,
        Code::NotReproducible => 8,
        Code::Limit => 9,
        Code::Internal => 10,
        Code::Interrupted => match STOPPED_BY.load(Ordering::Relaxed) {
            SIGHUP => HUNG_UP,
            SIGTERM => TERMINATED,
            _ => INTERRUPTED,
        },
    }
}

/// Returns the code of a number that another process of cortex gave.
pub fn code_of_number(number: u8) -> Option<Code> {
    match number {
        HUNG_UP | INTERRUPTED | TERMINATED => Some(Code::Interrupted),
        _ => CODES.into_iter().find(|code| exit_number(*code) == number),
    }
}

/// Returns the exit code of the process.
pub fn exit_code(code: Code) -> ExitCode {
    ExitCode::from(exit_number(code))
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
    // While a `stop` runs, the list is locked; the process ends nevertheless.
    if let Ok(listeners) = LISTENERS.try_lock() {
        listeners.iter().for_each(|(_, restore)| restore());
    }
    std::process::exit(128 + signal)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_is_found_by_its_number() {
        for code in CODES {
            assert_eq!(code_of_number(exit_number(code)), Some(code));
        }
        assert_eq!([HUNG_UP, TERMINATED].map(code_of_number), [Some(Code::Interrupted); 2]);
        assert_eq!(code_of_number(11), None);
    }
}
