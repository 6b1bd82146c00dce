//! Landlock: restricts the files that a program can reach, and its reach to other processes.

use crate::root_folder::{DEVICES, SYSTEM};
use crate::spec::{Spec, WORK};
use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, PathBeneath, PathFd, Ruleset, RulesetAttr, RulesetCreated,
    RulesetCreatedAttr, RulesetStatus, Scope,
};
use std::path::Path;

/// Highest requested Landlock version; a kernel may support less, but at least the rules for files.
const KNOWN: ABI = ABI::V6;

/// Restricts this process. Errors: the reason why that failed.
pub(crate) fn restrict_process(spec: &Spec) -> Result<(), String> {
    let read = AccessFs::from_read(KNOWN);
    let tried = || -> Result<RulesetStatus, Box<dyn std::error::Error>> {
        let rules = Ruleset::default()
            .set_compatibility(CompatLevel::HardRequirement)
            .handle_access(AccessFs::from_all(ABI::V1))?
            .set_compatibility(CompatLevel::BestEffort)
            .handle_access(AccessFs::from_all(KNOWN))?
            .handle_access(AccessNet::from_all(KNOWN))?
            .scope(Scope::from_all(KNOWN))?;
        let mut rules = rules.create()?;
        for path in SYSTEM
            .iter()
            .chain(&["/proc"])
            .map(Path::new)
            .chain(spec.readable.iter().map(|path| path.as_path()))
        {
            rules = allow(rules, path, read)?;
        }
        for device in DEVICES {
            rules = allow(rules, Path::new(device), read | AccessFs::WriteFile)?;
        }
        rules = allow(rules, &spec.folder, AccessFs::from_all(KNOWN))?;
        Ok(rules.restrict_self()?.ruleset)
    };
    match tried() {
        Ok(RulesetStatus::NotEnforced) => Err("this kernel has no Landlock".to_owned()),
        Ok(_) => Ok(()),
        Err(error) => Err(format!("Landlock: {error}")),
    }
}

/// Restricts a process that already has its own root, if the kernel can: it may write only to its folders. Errors: the reason why a kernel
/// with Landlock failed.
pub(crate) fn close_within() -> Result<(), String> {
    let tried = || -> Result<(), Box<dyn std::error::Error>> {
        let rules = Ruleset::default().set_compatibility(CompatLevel::BestEffort);
        let mut rules = rules.handle_access(AccessFs::from_all(KNOWN))?.create()?;
        rules = allow(rules, Path::new("/"), AccessFs::from_read(KNOWN))?;
        for device in DEVICES {
            rules = allow(rules, Path::new(device), AccessFs::from_read(KNOWN) | AccessFs::WriteFile)?;
        }
        for folder in [WORK, "/tmp", "/dev/shm"] {
            rules = allow(rules, Path::new(folder), AccessFs::from_all(KNOWN))?;
        }
        rules.restrict_self()?;
        Ok(())
    };
    tried().map_err(|error| format!("Landlock: {error}"))
}

fn allow(rules: RulesetCreated, path: &Path, access: BitFlags<AccessFs>) -> Result<RulesetCreated, Box<dyn std::error::Error>> {
    let Ok(file) = PathFd::new(path) else {
        // A path that does not exist needs no rule.
        return Ok(rules);
    };
    let access = if path.is_dir() {
        access
    } else {
        access & AccessFs::from_file(KNOWN)
    };
    Ok(rules.add_rule(PathBeneath::new(file, access))?)
}
