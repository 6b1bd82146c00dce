//! Clocks of processor time.

use rustix::time::{ClockId, Timespec, clock_gettime};
use std::time::Duration;

/// Returns the processor time of all threads of this process.
pub fn process_time() -> Duration {
    duration(clock_gettime(ClockId::ProcessCPUTime))
}

/// Returns the processor time of this thread.
pub fn thread_time() -> Duration {
    duration(clock_gettime(ClockId::ThreadCPUTime))
}

fn duration(time: Timespec) -> Duration {
    Duration::new(
        u64::try_from(time.tv_sec).unwrap_or_default(),
        u32::try_from(time.tv_nsec).unwrap_or_default(),
    )
}
