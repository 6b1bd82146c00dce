//! The program that workers run: this program if it is statically linked, else another one.

use engine::manifest::remote::RemoteDef;
use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};

/// File name of the static program next to this one.
const BESIDE: &str = "cortex-static";
/// Number of bytes at the start of a program that contain its headers.
const HEAD: u64 = 4 << 10;
/// ELF program header that names the dynamic loader.
const INTERPRETER: u32 = 3;

/// Returns the path of the worker program: the one in the manifest at `root`, else this program, else [`BESIDE`]. Errors: a sentence, if no
/// program is suitable.
pub fn program(def: &RemoteDef, root: &Path) -> Result<PathBuf, String> {
    if let Some(path) = &def.worker {
        return fit(root.join(path));
    }
    let own = std::env::current_exe().map_err(|error| format!("this program's path is not known: {error}"))?;
    if let Ok(own) = fit(own.clone()) {
        return Ok(own);
    }
    fit(own.with_file_name(BESIDE)).map_err(|why| format!("{why}; scripts/static.sh builds it"))
}

fn fit(path: PathBuf) -> Result<PathBuf, String> {
    let mut head = Vec::new();
    let read = File::open(&path).and_then(|file| file.take(HEAD).read_to_end(&mut head));
    match read {
        Err(error) if error.kind() == ErrorKind::NotFound => Err(format!("there is no program for workers at {}", path.display())),
        Err(error) => Err(format!("the program for workers, {}, cannot be read: {error}", path.display())),
        Ok(_) => match needs_libraries(&head) {
            Some(false) => Ok(path),
            Some(true) => Err(format!(
                "the program for workers, {}, needs libraries that they may not have",
                path.display()
            )),
            None => Err(format!("{} is not a program that workers can run", path.display())),
        },
    }
}

/// Returns whether a program is dynamically linked; `None` if it is not a 64-bit Linux program.
fn needs_libraries(head: &[u8]) -> Option<bool> {
    let number = |at: usize, len: usize| {
        let mut bytes = [0; 8];
        bytes[..len].copy_from_slice(head.get(at..at.checked_add(len)?)?);
        usize::try_from(u64::from_le_bytes(bytes)).ok()
    };
    // ELF, 64 bits, little-endian.
    if !head.starts_with(b"\x7fELF\x02\x01") {
        return None;
    }
    let (first, size, count) = (number(32, 8)?, number(54, 2)?, number(56, 2)?);
    for header in 0..count {
        let at = size.checked_mul(header)?.checked_add(first)?;
        if number(at, 4)? == INTERPRETER as usize {
            return Some(true);
        }
    }
    Some(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn def(worker: Option<&str>) -> RemoteDef {
        RemoteDef {
            worker: worker.map(str::to_owned),
            ..RemoteDef::default()
        }
    }

    /// Builds a program with headers of these kinds.
    fn elf(kinds: &[u32]) -> Vec<u8> {
        let mut bytes = b"\x7fELF\x02\x01".to_vec();
        bytes.resize(64, 0);
        bytes[32] = 64;
        bytes[54] = 56;
        bytes[56] = kinds.len() as u8;
        for kind in kinds {
            bytes.extend(kind.to_le_bytes());
            bytes.resize(bytes.len() + 52, 0);
        }
        bytes
    }

    #[test]
    fn a_program_that_needs_libraries_is_not_sent() {
        assert_eq!(needs_libraries(&elf(&[1, 2, 1])), Some(false));
        assert_eq!(needs_libraries(&elf(&[1, 3, 1])), Some(true));
        assert_eq!(needs_libraries(b"#!/bin/sh\n"), None);
        assert_eq!(needs_libraries(b""), None);
        let whole = elf(&[1, 2]);
        assert_eq!(needs_libraries(&whole[..100]), None, "cut");
    }

    #[test]
    fn why_there_is_none_is_told() {
        let folder = tempfile::tempdir().unwrap();
        for (name, bytes) in [("good", elf(&[1])), ("bound", elf(&[3])), ("script", b"#!/bin/sh".to_vec())] {
            std::fs::write(folder.path().join(name), bytes).unwrap();
        }
        let found =
            |name: &str| program(&def(Some(name)), folder.path()).map_err(|why| why.replace(&folder.path().display().to_string(), "."));
        assert_eq!(found("good"), Ok(folder.path().join("good")));
        assert_eq!(
            found("bound"),
            Err("the program for workers, ./bound, needs libraries that they may not have".to_owned())
        );
        assert_eq!(found("script"), Err("./script is not a program that workers can run".to_owned()));
        assert_eq!(found("none"), Err("there is no program for workers at ./none".to_owned()));
        // The test program is dynamically linked, and no static one is next to it.
        let why = program(&def(None), folder.path()).unwrap_err();
        assert!(why.ends_with("/cortex-static; scripts/static.sh builds it"), "{why}");
    }
}
