//! Points in time as arguments.

use std::time::UNIX_EPOCH;

/// A point in time, or a span before now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Since {
    /// Seconds since 1970.
    At(u64),
    /// Seconds before now.
    Before(u64),
}

impl Since {
    /// Returns the point in time in seconds since 1970.
    pub fn seconds_since_1970_at(self, now: u64) -> u64 {
        match self {
            Self::At(at) => at,
            Self::Before(span) => now.saturating_sub(span),
        }
    }

    /// Parses a date, a point in time or a span. Errors: how it is written.
    pub fn parse_since(text: &str) -> Result<Self, String> {
        let day = humantime::parse_rfc3339_weak(&format!("{text} 00:00:00"));
        let at = day.ok().and_then(|day| day.duration_since(UNIX_EPOCH).ok());
        if let Some(at) = at {
            return Ok(Self::At(at.as_secs()));
        }
        humantime::parse_duration(text)
            .map(|span| Self::Before(span.as_secs()))
            .map_err(|_| "write a day such as 2026-11-01, or a span such as 12h, 7d or 4w".to_owned())
    }
}
