//! Outcome of a command or a request. The program converts it to an exit code, or to a number for another program.

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

/// Number of stopped work: 128 plus the number of SIGINT, as shells define it.
const INTERRUPTED: u8 = 130;

/// Outcome of a command or a request, from good to bad.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Code {
    /// All requested results exist.
    Ok,
    TargetFailed,
    /// Wrong flags, manifest or label.
    Usage,
    StoreDamaged,
    /// Another process held the store for too long.
    Busy,
    /// Reading or writing failed, or the disk is full.
    Io,
    /// The requested sandbox is not available.
    NoSandbox,
    /// The remote cache is required and cannot be used.
    RemoteUnavailable,
    /// A target built twice gave two different outputs.
    NotReproducible,
    /// A limit was reached: money, calls, tokens.
    Limit,
    /// A bug of cortex.
    Internal,
    /// The work was stopped: by a signal, or by the program that asked for it.
    Interrupted,
}

impl Code {
    /// Returns the number of the code, for other programs.
    pub fn number(self) -> u8 {
        match self {
            Self::Ok => 0,
            Self::TargetFailed => 1,
            Self::Usage => 2,
            Self::StoreDamaged => 3,
            Self::Busy => 4,
            Self::Io => 5,
            Self::NoSandbox => 6,
            Self::RemoteUnavailable => 7,
            Self::NotReproducible => 8,
            Self::Limit => 9,
            Self::Internal => 10,
            Self::Interrupted => INTERRUPTED,
        }
    }

    pub fn from_number(number: u8) -> Option<Self> {
        CODES.into_iter().find(|code| code.number() == number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_is_found_by_its_number() {
        for code in CODES {
            assert_eq!(Code::from_number(code.number()), Some(code));
        }
        assert_eq!(Code::from_number(11), None);
    }
}
