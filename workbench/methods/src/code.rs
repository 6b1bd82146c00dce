//! Outcome of a command or a request. The program converts it to an exit code, or to a number for another program.

/// Outcome of a command or a request, from good to bad.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Code {
    /// All requested results exist.
    Ok,
    /// A target failed.
    TargetFailed,
    /// Wrong flags, manifest or label.
    Usage,
    /// The store is damaged.
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
