//! Resource limits of a process and its children.

use crate::spec::Limits;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::io;

/// Sets the limits of this process. Never raises an existing limit.
pub(crate) fn set_limits(limits: &Limits) -> io::Result<()> {
    let wanted = [
        (Resource::As, limits.memory),
        (Resource::Cpu, limits.cpu),
        (Resource::Fsize, limits.file),
        (Resource::Nproc, limits.processes),
        // No core dumps: the signal already tells how a program died, and its memory must not fill its folder.
        (Resource::Core, Some(0)),
    ];
    for (resource, limit) in wanted {
        let Some(limit) = limit else { continue };
        let there = getrlimit(resource).maximum;
        let within = |limit: u64| Some(there.map_or(limit, |there| there.min(limit)));
        // A second before the program is killed, a signal of its own reports the end of its time.
        let grace = u64::from(resource == Resource::Cpu);
        setrlimit(
            resource,
            Rlimit {
                current: within(limit),
                maximum: within(limit.saturating_add(grace)),
            },
        )?;
    }
    Ok(())
}
