//! Patterns that begin with `-//`, as a command line gives them: behind a NUL, which no argument can contain, so that no parser reads them as flags.

/// Character before the pattern.
pub const GUARD: char = '\0';

/// Removes the guard. Errors: never; parsers of arguments demand a result.
pub fn unguard_label(text: &str) -> Result<String, std::convert::Infallible> {
    Ok(text.strip_prefix(GUARD).unwrap_or(text).to_owned())
}
