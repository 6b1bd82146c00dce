//! Limits of a process and of what it starts.

use crate::spec::Limits;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::io;

/// Takes them on for this process. A limit never rises above the one that is there.
pub(crate) fn take(limits: &Limits) -> io::Result<()> {
    let wanted = [
        (Resource::As, limits.memory),
        (Resource::Cpu, limits.cpu),
        (Resource::Fsize, limits.file),
        (Resource::Nproc, limits.processes),
        // What a program dies of is told by its signal; its memory stays out of its folder.
        (Resource::Core, Some(0)),
    ];
    for (resource, limit) in wanted {
        let Some(limit) = limit else { continue };
        let there = getrlimit(resource).maximum;
        let within = |limit: u64| Some(there.map_or(limit, |there| there.min(limit)));
        // A second before it is killed, a program is told by a signal of its own that its time is over.
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
