//! Stamps: a file's metadata, and the conditions under which it proves that the content is unchanged.
//!
//! A recorded digest counts only if the stamp is equal in every field **and** was settled when the file was read. A stamp is settled once
//! its times are more than [`RACY_NS`] before the moment of reading. A later edit then gets a different time, however coarse the clock of
//! the file system. Both the change time and the modification time count, because programs can set the latter.

use os::info::{FileInfo, Time};

/// Times closer than this to the moment of reading prove nothing. Two seconds is the coarsest resolution in use (FAT).
pub const RACY_NS: i64 = 2_000_000_000;

pub(crate) const STAMP_LEN: usize = 40;

/// Size, times and identity of a file or directory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stamp {
    /// Size in bytes.
    pub size: u64,
    /// Modification time in nanoseconds since 1970 (saturating: times outside the years 1677 to 2262 are clamped).
    pub mtime_ns: i64,
    /// Change time, likewise; programs cannot set it.
    pub ctime_ns: i64,
    pub dev: u64,
    pub ino: u64,
}

impl Stamp {
    /// Returns the stamp in a file's metadata.
    pub fn from_info(info: &FileInfo) -> Self {
        let nanos = |time: Time| time.seconds.saturating_mul(1_000_000_000).saturating_add(time.nanoseconds);
        Self {
            size: info.size,
            mtime_ns: nanos(info.modified),
            ctime_ns: nanos(info.changed),
            dev: info.device,
            ino: info.number,
        }
    }

    /// Whether a file with this stamp, read at `now`, cannot change later without a change of its stamp.
    pub fn settled(&self, now: i64) -> bool {
        self.mtime_ns.max(self.ctime_ns) < now.saturating_sub(RACY_NS)
    }

    /// Encodes as five little-endian words: size, mtime, ctime, dev, ino.
    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.size.to_le_bytes());
        out.extend_from_slice(&self.mtime_ns.to_le_bytes());
        out.extend_from_slice(&self.ctime_ns.to_le_bytes());
        out.extend_from_slice(&self.dev.to_le_bytes());
        out.extend_from_slice(&self.ino.to_le_bytes());
    }

    /// Decodes [`Stamp::encode`] at the front of `bytes`, which has at least [`STAMP_LEN`] bytes.
    pub(crate) fn decode(bytes: &[u8]) -> Self {
        let word = |at: usize| u64_at(bytes, at);
        Self {
            size: word(0),
            mtime_ns: word(8).cast_signed(),
            ctime_ns: word(16).cast_signed(),
            dev: word(24),
            ino: word(32),
        }
    }
}

/// Reads the little-endian word at `at`; 0 beyond the end, which callers exclude.
pub(crate) fn u64_at(bytes: &[u8], at: usize) -> u64 {
    bytes.get(at..at + 8).and_then(|b| b.try_into().ok()).map_or(0, u64::from_le_bytes)
}

/// Reads the little-endian half word at `at`; 0 beyond the end, which callers exclude.
pub(crate) fn u32_at(bytes: &[u8], at: usize) -> u32 {
    bytes.get(at..at + 4).and_then(|b| b.try_into().ok()).map_or(0, u32::from_le_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn encoding_round_trips(size: u64, mtime_ns: i64, ctime_ns: i64, dev: u64, ino: u64) {
            let stamp = Stamp { size, mtime_ns, ctime_ns, dev, ino };
            let mut bytes = Vec::new();
            stamp.encode(&mut bytes);
            prop_assert_eq!(bytes.len(), STAMP_LEN);
            prop_assert_eq!(Stamp::decode(&bytes), stamp);
        }
    }

    #[test]
    fn recent_times_are_not_settled() {
        let stamp = Stamp {
            mtime_ns: 10 * RACY_NS,
            ctime_ns: 0,
            ..Stamp::default()
        };
        assert!(!stamp.settled(11 * RACY_NS), "exactly two seconds is still racy");
        assert!(stamp.settled(11 * RACY_NS + 1));
        assert!(
            !Stamp {
                ctime_ns: 12 * RACY_NS,
                ..stamp
            }
            .settled(11 * RACY_NS + 1),
            "the change time counts too"
        );
        assert!(!stamp.settled(i64::MIN), "a clock before all times settles nothing");
    }
}
