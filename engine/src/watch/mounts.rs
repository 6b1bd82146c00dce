//! Mounts at and below a folder. A file system that other machines change cannot be watched, and a mount over a watched directory hides it
//! without an event.

use std::path::Path;

/// Kinds of file systems whose files other machines, or programs that bypass the kernel, may change.
const UNWATCHABLE_FILE_SYSTEMS: [&str; 13] = [
    "9p", "afs", "ceph", "cifs", "drvfs", "gfs2", "glusterfs", "lustre", "nfs", "nfs4", "ocfs2", "smb3", "virtiofs",
];

/// The mounts relevant to a folder.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Mounts {
    lines: Vec<String>,
    /// Kind of a file system that cannot be watched, if any.
    pub(crate) elsewhere: Option<String>,
}

impl Mounts {
    /// Reads the mounts from the system; empty if unavailable.
    pub(crate) fn from_system(root: &Path) -> Self {
        std::fs::read_to_string("/proc/self/mountinfo").map_or_else(|_| Self::default(), |text| Self::from_mountinfo(&text, root))
    }

    fn from_mountinfo(text: &str, root: &Path) -> Self {
        let mut mounts = Self::default();
        let mut at_root: Option<(usize, &str)> = None;
        let mut kinds = Vec::new();
        for line in text.lines() {
            let (Some(point), Some(kind)) = (
                line.split(' ').nth(4),
                line.split_once(" - ").and_then(|(_, rest)| rest.split(' ').next()),
            ) else {
                continue;
            };
            let point = unescape(point);
            let point = Path::new(&point);
            if point != root && point.starts_with(root) {
                mounts.lines.push(line.to_owned());
                kinds.push(kind);
            } else if root.starts_with(point) {
                let depth = point.components().count();
                // Of two mounts at one place, the later one is visible.
                if at_root.is_none_or(|(deepest, _)| depth >= deepest) {
                    at_root = Some((depth, kind));
                }
            }
        }
        kinds.extend(at_root.map(|(_, kind)| kind));
        mounts.elsewhere = kinds
            .into_iter()
            .find(|kind| UNWATCHABLE_FILE_SYSTEMS.contains(kind) || kind.starts_with("fuse"))
            .map(str::to_owned);
        mounts.lines.extend(at_root.map(|(depth, kind)| format!("{depth} {kind}")));
        mounts
    }
}

/// Decodes spaces and the like, which are written as three octal digits.
fn unescape(text: &str) -> String {
    let mut out = Vec::new();
    let mut bytes = text.as_bytes();
    while let [first, rest @ ..] = bytes {
        let octal = rest
            .get(..3)
            .filter(|_| *first == b'\\')
            .and_then(|digits| std::str::from_utf8(digits).ok());
        match octal.and_then(|digits| u8::from_str_radix(digits, 8).ok()) {
            Some(byte) => {
                out.push(byte);
                bytes = &rest[3..];
            }
            None => {
                out.push(*first);
                bytes = rest;
            }
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
22 1 8:1 / / rw shared:1 - ext4 /dev/sda1 rw
23 22 0:20 / /proc rw - proc proc rw
30 22 0:44 / /srv/a\\040b rw - nfs4 server:/x rw
31 22 0:45 / /data/net rw shared:3 - fuse.sshfs host rw
short line
";

    #[test]
    fn the_deepest_mount_counts_and_those_below() {
        let elsewhere = |root: &str| Mounts::from_mountinfo(TEXT, Path::new(root)).elsewhere;
        assert_eq!(elsewhere("/data/ws"), None);
        assert_eq!(elsewhere("/srv/a b/ws").as_deref(), Some("nfs4"));
        assert_eq!(elsewhere("/data").as_deref(), Some("fuse.sshfs"));
        assert_eq!(elsewhere("/data/netz"), None);
    }

    #[test]
    fn only_mounts_that_matter_make_a_difference() {
        let root = Path::new("/data/ws");
        let before = Mounts::from_mountinfo(TEXT, root);
        let far = format!("{TEXT}40 22 0:50 / /mnt rw - tmpfs tmpfs rw\n");
        assert_eq!(Mounts::from_mountinfo(&far, root), before);
        let over = format!("{TEXT}40 22 0:50 / /data/ws/src rw - tmpfs tmpfs rw\n");
        assert_ne!(Mounts::from_mountinfo(&over, root), before);
    }
}
