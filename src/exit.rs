//! Exit codes, the same for every command.

use crate::signals::stopping_signal;
use methods::code::Code;
use signal_hook::consts::{SIGHUP, SIGTERM};
use std::process::ExitCode;

/// Exit codes of processes that other signals than SIGINT stopped: 128 plus the number of the signal, as shells define it.
const HUNG_UP: u8 = 129;
const TERMINATED: u8 = 143;

/// Returns the number of a code. Stopped work has the number of the signal that stopped this process.
pub fn exit_number(code: Code) -> u8 {
    match (code, stopping_signal()) {
        (Code::Interrupted, SIGHUP) => HUNG_UP,
        (Code::Interrupted, SIGTERM) => TERMINATED,
        _ => code.number(),
    }
}

/// Returns the code of a number that another process of cortex gave.
pub fn code_of_number(number: u8) -> Option<Code> {
    match number {
        HUNG_UP | TERMINATED => Some(Code::Interrupted),
        _ => Code::from_number(number),
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
    fn each_signal_has_the_code_of_stopped_work() {
        let stopped = exit_number(Code::Interrupted);
        assert_eq!([HUNG_UP, TERMINATED, stopped].map(code_of_number), [Some(Code::Interrupted); 3]);
        assert_eq!(code_of_number(exit_number(Code::Busy)), Some(Code::Busy));
    }
}
