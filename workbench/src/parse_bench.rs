//! Measures the cost of the bare grammar on the C# files of a folder, for comparison with the cost of the producers.

use crate::code_survey::csharp_sources;
use engine::files::disk::Disk;
use engine::seams::world::{World, WorldError};
use os::clocks::process_time;
use producers::csharp::parse::parse_only;
use std::path::Path;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Instant;

/// The measurement.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize)]
pub struct Parsed {
    pub files: usize,
    /// Total size of the files in bytes.
    pub bytes: u64,
    /// Number of nodes in the trees of the files.
    pub nodes: u64,
    /// Processor seconds of all threads while parsing, including reading the files.
    pub cpu_seconds: f64,
    /// Wall-clock seconds.
    pub wall_seconds: f64,
}

/// Parses every C# file below `folder`, without any other work.
pub fn measure(folder: &Path, jobs: usize) -> Result<Parsed, WorldError> {
    let root = folder
        .canonicalize()
        .map_err(|error| WorldError::Root { reason: error.to_string() })?;
    let world = Disk::new(root);
    let mut sources = world.sources(Vec::new());
    sources.refresh(&[csharp_sources()])?;
    let paths = sources.set(0);
    let (next, files) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let (bytes, nodes) = (AtomicU64::new(0), AtomicU64::new(0));
    let work = || {
        while let Some(path) = paths.get(next.fetch_add(1, Ordering::Relaxed)) {
            let Ok(read) = world.read(path) else { continue };
            let text = String::from_utf8_lossy(&read);
            files.fetch_add(1, Ordering::Relaxed);
            bytes.fetch_add(read.len() as u64, Ordering::Relaxed);
            nodes.fetch_add(parse_only(&text) as u64, Ordering::Relaxed);
        }
    };
    let (wall, cpu) = (Instant::now(), process_time());
    std::thread::scope(|scope| {
        for _ in 0..jobs.clamp(1, 256) {
            scope.spawn(work);
        }
    });
    Ok(Parsed {
        files: files.into_inner(),
        bytes: bytes.into_inner(),
        nodes: nodes.into_inner(),
        cpu_seconds: process_time().saturating_sub(cpu).as_secs_f64(),
        wall_seconds: wall.elapsed().as_secs_f64(),
    })
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_file_is_parsed_once() {
        let temp = tempfile::tempdir().expect("folder");
        for name in ["a.cs", "b.cs", "c.txt", "d.g.cs"] {
            std::fs::write(temp.path().join(name), "class A { }\n").expect("file");
        }
        let parsed = super::measure(temp.path(), 3).expect("measured");
        assert_eq!((parsed.files, parsed.bytes), (3, 36), "generated code is code");
        assert!(parsed.nodes >= 8, "{parsed:?}");
    }
}
