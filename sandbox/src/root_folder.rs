//! The root of a program at [`crate::Level::Strict`]: system programs and libraries, its folder, named paths, and devices without data.
//!
//! `/etc` contains only what the loader and fonts need, and a list of users with one entry.

use crate::spec::{Spec, WORK};
use rustix::fs::symlink;
use rustix::mount::{
    MountFlags, MountPropagationFlags, UnmountFlags, mount, mount_bind, mount_bind_recursive, mount_change, mount_remount, unmount,
};
use rustix::process::pivot_root;
use std::ffi::CStr;
use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};

/// Paths that every program may read: programs, libraries and system settings for them.
pub(crate) const SYSTEM: [&str; 12] = [
    "/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc/alternatives", "/etc/fonts", "/etc/ld.so.cache",
    "/etc/ld.so.conf", "/etc/ld.so.conf.d",
];

/// Devices without data of the machine.
pub(crate) const DEVICES: [&str; 5] = ["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"];

/// Mount point of the new root: a folder that every machine has and that the program does not see. Only this process sees it covered.
const ROOT: &str = "/sys";

type Failed = (String, io::Error);

fn name_failed_step<T, E: Into<io::Error>>(what: impl Into<String>, done: Result<T, E>) -> Result<T, Failed> {
    done.map_err(|error| (what.into(), error.into()))
}

/// Builds the root and changes this process to it. Errors: the failed step, and its error.
pub(crate) fn change_root(spec: &Spec) -> Result<(), Failed> {
    let root = Path::new(ROOT);
    let mounts = mounts();
    let private = MountPropagationFlags::PRIVATE | MountPropagationFlags::REC;
    name_failed_step("mounts cannot be made private", mount_change("/", private))?;
    let plain = MountFlags::NOSUID | MountFlags::NODEV;
    name_failed_step("its root cannot be mounted", tmpfs(root, plain, c"mode=0755,size=16m"))?;
    for path in SYSTEM {
        show(root, Path::new(path), &mounts)?;
    }
    devices(root)?;
    name_failed_step("its users cannot be written", users(root))?;
    // Read-only: writes to machine settings (`/proc/sys`) are checked by user number alone, and a superuser keeps its own number in here.
    let proc = root.join("proc");
    let made = fs::create_dir_all(&proc);
    name_failed_step("/proc cannot be made", made)?;
    name_failed_step(
        "/proc cannot be mounted",
        mount("proc", &proc, "proc", plain | MountFlags::NOEXEC | MountFlags::RDONLY, None),
    )?;
    for (path, size) in [("tmp", c"mode=1777,size=1g"), ("dev/shm", c"mode=1777,size=64m")] {
        let path = root.join(path);
        name_failed_step("a temporary folder cannot be made", fs::create_dir_all(&path))?;
        name_failed_step("a temporary folder cannot be mounted", tmpfs(&path, plain, size))?;
    }
    // After the temporary folders, which may contain these paths.
    for path in &spec.readable {
        show(root, path, &mounts)?;
    }
    let work = root.join(&WORK[1..]);
    name_failed_step("its folder cannot be made", fs::create_dir_all(&work))?;
    name_failed_step("its folder cannot be mounted", mount_bind(&spec.folder, &work))?;
    name_failed_step(
        "its folder cannot be bounded",
        mount_remount(&work, MountFlags::BIND | plain | locked_flags(&spec.folder, &mounts), ""),
    )?;

    name_failed_step("its root cannot be entered", std::env::set_current_dir(root))?;
    name_failed_step("its root cannot become the root", pivot_root(".", "."))?;
    name_failed_step("the old root cannot be left", unmount(".", UnmountFlags::DETACH))?;
    let sealed = MountFlags::BIND | MountFlags::RDONLY | plain;
    name_failed_step("its root cannot be sealed", mount_remount("/", sealed, ""))
}

fn tmpfs(path: &Path, flags: MountFlags, options: &CStr) -> io::Result<()> {
    Ok(mount("tmpfs", path, "tmpfs", flags, Some(options))?)
}

/// Mounts a file or folder of the machine at the same path, read-only; skips it if it does not exist.
fn show(root: &Path, path: &Path, mounts: &[Mount]) -> Result<(), Failed> {
    let Ok(metadata) = path.symlink_metadata() else { return Ok(()) };
    let Some(inside) = inside(root, path) else { return Ok(()) };
    let what = || format!("{} cannot be shown", path.display());
    if inside.symlink_metadata().is_ok() {
        // A mounted folder above it already shows it.
        return Ok(());
    }
    let parent = inside.parent().unwrap_or(root);
    name_failed_step(what(), fs::create_dir_all(parent))?;
    if metadata.is_symlink() {
        let target = name_failed_step(what(), fs::read_link(path))?;
        return name_failed_step(what(), symlink(target, &inside));
    }
    if metadata.is_dir() {
        name_failed_step(what(), fs::create_dir(&inside))?;
        name_failed_step(what(), mount_bind_recursive(path, &inside))?;
    } else {
        name_failed_step(what(), fs::write(&inside, ""))?;
        name_failed_step(what(), mount_bind(path, &inside))?;
    }
    for mount in mounts_below(path, mounts) {
        let place = match mount.strip_prefix(path) {
            Ok(below) if below.as_os_str().is_empty() => inside.clone(),
            Ok(below) => inside.join(below),
            Err(_) => continue,
        };
        let flags = MountFlags::BIND | MountFlags::RDONLY | MountFlags::NOSUID | MountFlags::NODEV | locked_flags(mount, mounts);
        name_failed_step(what(), mount_remount(&place, flags, ""))?;
    }
    Ok(())
}

/// Returns the place of a path below the root; `None` for a path that is not plain.
fn inside(root: &Path, path: &Path) -> Option<PathBuf> {
    let mut inside = root.to_owned();
    for part in path.components() {
        match part {
            Component::RootDir => {}
            Component::Normal(name) => inside.push(name),
            _ => return None,
        }
    }
    Some(inside)
}

fn devices(root: &Path) -> Result<(), Failed> {
    let folder = root.join("dev");
    name_failed_step("/dev cannot be made", fs::create_dir_all(&folder))?;
    for device in DEVICES {
        let inside = root.join(&device[1..]);
        let what = || format!("{device} cannot be shown");
        name_failed_step(what(), fs::write(&inside, ""))?;
        name_failed_step(what(), mount_bind(device, &inside))?;
    }
    for (name, target) in [("fd", "/proc/self/fd"), ("stdin", "fd/0"), ("stdout", "fd/1"), ("stderr", "fd/2")] {
        name_failed_step("a link in /dev cannot be made", symlink(target, folder.join(name)))?;
    }
    Ok(())
}

fn users(root: &Path) -> io::Result<()> {
    let etc = root.join("etc");
    fs::create_dir_all(&etc)?;
    fs::write(etc.join("passwd"), format!("root:x:0:0::{WORK}:/bin/sh\n"))?;
    fs::write(etc.join("group"), "root:x:0:\n")
}

/// A mount of the machine: its place and its options.
type Mount = (PathBuf, String);

/// Returns the mounts at and below a path, the path first: their places in the shown tree.
fn mounts_below<'m>(path: &'m Path, mounts: &'m [Mount]) -> impl Iterator<Item = &'m Path> {
    let places = mounts.iter().map(|(place, _)| place.as_path());
    std::iter::once(path).chain(places.filter(move |place| *place != path && place.starts_with(path)))
}

/// Returns the flags of the mount with a path. Only the owner of a mount may remove them.
fn locked_flags(path: &Path, mounts: &[Mount]) -> MountFlags {
    // Of several mounts at one place, the last one covers the others.
    let holding = mounts.iter().filter(|(place, _)| path.starts_with(place));
    let options = holding
        .max_by_key(|(place, _)| place.as_os_str().len())
        .map(|(_, options)| options.as_str());
    let mut flags = MountFlags::empty();
    for option in options.unwrap_or_default().split(',') {
        flags |= match option {
            "ro" => MountFlags::RDONLY,
            "nosuid" => MountFlags::NOSUID,
            "nodev" => MountFlags::NODEV,
            "noexec" => MountFlags::NOEXEC,
            "noatime" => MountFlags::NOATIME,
            "nodiratime" => MountFlags::NODIRATIME,
            "relatime" => MountFlags::RELATIME,
            _ => MountFlags::empty(),
        };
    }
    flags
}

/// Returns place and options of every mount, from `/proc/self/mountinfo` (proc(5)).
fn mounts() -> Vec<Mount> {
    let text = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    let row = |line: &str| {
        let mut fields = line.split(' ').skip(4);
        let place = fields.next()?.replace("\\040", " ").replace("\\011", "\t").replace("\\012", "\n");
        Some((PathBuf::from(place.replace("\\134", "\\")), fields.next()?.to_owned()))
    };
    text.lines().filter_map(row).collect()
}
