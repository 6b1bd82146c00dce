//! Exit codes, the same for every command.

use crate::signals::stopping_signal;
use methods::code::Code;
use signal_hook::consts::{SIGHUP, SIGTERM};
use std::process::ExitCode;

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
        Code::Interrupted => match stopping_signal() {
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
