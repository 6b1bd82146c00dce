//! Exit codes, the same for every command.

use std::process::ExitCode;

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
    /// A bug of cortex.
    Internal = 10,
    /// Interrupted (SIGINT).
    Interrupted = 130,
}

impl From<Code> for ExitCode {
    fn from(code: Code) -> Self {
        Self::from(code as u8)
    }
}

/// A reader that goes away (`cortex query … | head`) ends the program quietly instead of with a panic.
pub fn quiet_pipes() {
    let report = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        let words = panic.payload().downcast_ref::<String>().map_or("", String::as_str);
        // What `println!` and `eprintln!` say when their reader has gone; nothing else of ours speaks of broken pipes.
        if words.starts_with("failed printing to") && words.contains("Broken pipe") {
            std::process::exit(i32::from(Code::Ok as u8));
        }
        report(panic);
    }));
}
