//! Facts from git about the workspace's checkout: the commit, whether files differ from it, and files of a commit. Annotations only: no key and no
//! output depends on them.
//!
//! A build starts no program for this; [`crate::nearby_trees`] does. The commit is read from `HEAD` and the refs. Whether files differ is read from
//! git's index: a tracked file below the workspace counts as changed if its size or time differs from the index, if it is missing, or if anything is
//! staged. So a touched file counts until git refreshes its index (`git status`), and untracked files never count. Stores of refs other than files
//! are not supported: then nothing is known. Only valid names of commits are taken from these files.

use engine::seams::annotate::{Annotate, Revision};
use os::info::FileInfo;
use os::names;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Limit of bytes of a ref or `HEAD`, which is one line.
const LONGEST_REF: u64 = 4_096;
/// Limit of bytes of `packed-refs` and index that are read.
const LARGEST: u64 = 512 << 20;

/// Annotations of builds: the command, and facts from git.
pub struct Notes {
    pub root: PathBuf,
    /// The command, as in `build`.
    pub command: String,
}

impl Annotate for Notes {
    fn command(&self) -> String {
        self.command.clone()
    }

    fn revision(&self, changed: &[String]) -> Option<Revision> {
        revision_after(&self.root, changed)
    }
}

/// The folders of a checkout.
struct Checkout {
    /// Top folder of the checkout.
    top: PathBuf,
    /// Folder of the checkout's `HEAD` and index.
    own: PathBuf,
    /// The folder of the refs of all worktrees.
    common: PathBuf,
}

/// Returns the revision checked out in a folder; `None` outside of checkouts, before the first commit, or if it is unknown.
pub fn revision(root: &Path) -> Option<Revision> {
    revision_after(root, &[])
}

/// As [`revision`], compares the files of these paths first: one that differs decides.
fn revision_after(root: &Path, first: &[String]) -> Option<Revision> {
    let checkout = checkout(root)?;
    let commit = commit(&checkout)?;
    let dirty = read_git_file(&checkout.own.join("index"), LARGEST)
        .and_then(|index| Index::from_bytes(&index, commit.len() / 2))
        .map(|index| index.differs(&checkout.top, root, first));
    Some(Revision { commit, dirty })
}

/// Returns the bytes of a workspace's file in a commit, by `git cat-file`, which runs no filter and no hook.
pub fn file_at(root: &Path, commit: &str, path: &str) -> Option<Vec<u8>> {
    if !is_name(commit) {
        return None;
    }
    output_of_git(root, &["cat-file", "blob", &format!("{commit}:./{path}")])
}

/// Returns the output of git, run without fetching or locking; `None` if it fails.
fn output_of_git(folder: &Path, args: &[&str]) -> Option<Vec<u8>> {
    let output = Command::new("git")
        .args(args)
        .current_dir(folder)
        .env("GIT_NO_LAZY_FETCH", "1")
        .env("GIT_OPTIONAL_LOCKS", "0")
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output()
        .ok()?;
    output.status.success().then_some(output.stdout)
}

/// Returns the author of a commit, as git shows the name; `None` if the commit is unknown.
pub fn author(root: &Path, commit: &str) -> Option<String> {
    if !is_name(commit) {
        return None;
    }
    let commit = output_of_git(root, &["cat-file", "commit", commit])?;
    let text = String::from_utf8_lossy(&commit);
    let line = text
        .lines()
        .take_while(|line| !line.is_empty())
        .find_map(|line| line.strip_prefix("author "))?;
    Some(line.split_once(" <").map_or(line, |(name, _)| name).to_owned())
}

/// Returns the commit that is checked out, and the files below a workspace that may differ from it: tracked ones, and untracked ones in `sources`.
/// `None` outside of checkouts or if git's index cannot be read.
pub fn changed_files(root: &Path, sources: &[String]) -> Option<(String, BTreeSet<String>)> {
    let checkout = checkout(root)?;
    let commit = commit(&checkout)?;
    let index = read_git_file(&checkout.own.join("index"), LARGEST).and_then(|index| Index::from_bytes(&index, commit.len() / 2))?;
    let committed = if index.staged {
        tree_of_commit(&checkout.top, &commit)?
    } else {
        BTreeMap::new()
    };
    let below = |path: &[u8]| {
        let path = checkout.top.join(names::path_of_bytes(path));
        path.strip_prefix(root).ok().and_then(Path::to_str).map(str::to_owned)
    };
    let is_staged = |entry: &GitIndexEntry| index.staged && committed.get(&entry.path) != Some(&entry.id);
    let differing = index
        .entries
        .iter()
        .filter(|entry| is_staged(entry) || entry.differs(&checkout.top));
    let mut changed: BTreeSet<String> = differing.filter_map(|entry| below(&entry.path)).collect();
    let tracked: BTreeSet<String> = index.entries.iter().filter_map(|entry| below(&entry.path)).collect();
    changed.extend(sources.iter().filter(|source| !tracked.contains(*source)).cloned());
    Some((commit, changed))
}

/// Returns the object names of all files of a commit, by `git ls-tree`, which runs no filter and no hook.
fn tree_of_commit(top: &Path, commit: &str) -> Option<BTreeMap<Vec<u8>, Vec<u8>>> {
    let listed = output_of_git(top, &["ls-tree", "-r", "-z", "--full-tree", commit])?;
    let line = |line: &[u8]| {
        let tab = line.iter().position(|byte| *byte == b'\t')?;
        let name = std::str::from_utf8(&line[..tab]).ok()?.rsplit(' ').next()?;
        let pairs = name
            .as_bytes()
            .chunks(2)
            .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok());
        Some((line[tab + 1..].to_vec(), pairs.collect::<Option<Vec<u8>>>()?))
    };
    Some(listed.split(|byte| *byte == 0).filter_map(line).collect())
}

fn read_git_file(path: &Path, largest: u64) -> Option<Vec<u8>> {
    let found = fs::metadata(path).ok()?;
    (found.is_file() && found.len() <= largest).then(|| fs::read(path).ok()).flatten()
}

fn first_line(path: &Path) -> Option<String> {
    let text = String::from_utf8(read_git_file(path, LONGEST_REF)?).ok()?;
    Some(text.trim_end().to_owned())
}

fn checkout(root: &Path) -> Option<Checkout> {
    let top = root.ancestors().find(|folder| folder.join(".git").exists())?;
    let dot_git = top.join(".git");
    let own = if dot_git.is_dir() {
        dot_git
    } else {
        top.join(first_line(&dot_git)?.strip_prefix("gitdir: ")?)
    };
    let common = first_line(&own.join("commondir")).map_or_else(|| own.clone(), |common| own.join(common));
    let top = top.to_path_buf();
    Some(Checkout { top, own, common })
}

fn commit(checkout: &Checkout) -> Option<String> {
    let mut name = first_line(&checkout.own.join("HEAD"))?;
    // A ref may refer to another one; a cycle of refs has no commit.
    for _ in 0..5 {
        let Some(reference) = name.strip_prefix("ref: ") else { break };
        if !reference.starts_with("refs/") || reference.split('/').any(|part| part == "..") {
            return None;
        }
        let loose = [&checkout.own, &checkout.common]
            .into_iter()
            .find_map(|folder| first_line(&folder.join(reference)));
        name = match loose {
            Some(name) => name,
            None => packed_reference(checkout, reference)?,
        };
    }
    is_name(&name).then_some(name)
}

fn packed_reference(checkout: &Checkout, reference: &str) -> Option<String> {
    let text = read_git_file(&checkout.common.join("packed-refs"), LARGEST)?;
    let text = String::from_utf8_lossy(&text);
    let named = |line: &str| {
        line.split_once(' ')
            .filter(|(_, name)| *name == reference)
            .map(|(id, _)| id.to_owned())
    };
    text.lines().find_map(named)
}

/// Whether a text is the full name of a commit: SHA-1 or SHA-256.
pub(crate) fn is_name(text: &str) -> bool {
    matches!(text.len(), 40 | 64) && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

/// The needed part of git's index (gitformat-index).
#[derive(Debug, Default, PartialEq, Eq)]
struct Index {
    entries: Vec<GitIndexEntry>,
    /// Whether files are staged that no commit or tree has yet, or a merge is unresolved.
    staged: bool,
}

#[derive(Debug, PartialEq, Eq)]
struct GitIndexEntry {
    path: Vec<u8>,
    seconds: u32,
    nanos: u32,
    size: u32,
    /// Name of the file's content.
    id: Vec<u8>,
}

impl GitIndexEntry {
    /// Whether the entry's file differs from the recorded state.
    fn differs(&self, top: &Path) -> bool {
        let Ok(found) = FileInfo::of_path(&top.join(names::path_of_bytes(&self.path))) else {
            return true;
        };
        // Both are cut to 32 bits, as git does it. A git built without fractions of seconds records none.
        let (size, seconds) = (found.size & 0xffff_ffff, found.modified.seconds & 0xffff_ffff);
        size != u64::from(self.size)
            || seconds != i64::from(self.seconds)
            || self.nanos != 0 && found.modified.nanoseconds != i64::from(self.nanos)
    }
}

/// The remaining bytes of an index.
struct Bytes<'a>(&'a [u8]);

impl<'a> Bytes<'a> {
    fn split_bytes(&mut self, len: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(len)?;
        self.0 = rest;
        Some(taken)
    }

    fn u32(&mut self) -> Option<u32> {
        Some(u32::from_be_bytes(self.split_bytes(4)?.try_into().ok()?))
    }

    fn u16(&mut self) -> Option<u16> {
        Some(u16::from_be_bytes(self.split_bytes(2)?.try_into().ok()?))
    }

    fn until_nul(&mut self) -> Option<&'a [u8]> {
        let end = self.0.iter().position(|byte| *byte == 0)?;
        let taken = self.split_bytes(end)?;
        self.split_bytes(1)?;
        Some(taken)
    }

    /// Reads a number in the encoding of offsets in pack files.
    fn varint(&mut self) -> Option<usize> {
        let mut byte = *self.split_bytes(1)?.first()?;
        let mut value = usize::from(byte & 0x7f);
        while byte & 0x80 != 0 {
            byte = *self.split_bytes(1)?.first()?;
            value = value.checked_add(1)?.checked_mul(128)?.checked_add(usize::from(byte & 0x7f))?;
        }
        Some(value)
    }
}

impl Index {
    /// Parses an index with names of `id` bytes. `None` for unsupported forms, such as a split index.
    fn from_bytes(bytes: &[u8], id: usize) -> Option<Self> {
        let body = bytes.len().checked_sub(id)?;
        let mut rest = Bytes(&bytes[..body]);
        if rest.split_bytes(4)? != b"DIRC" {
            return None;
        }
        let version = rest.u32().filter(|version| (2..=4).contains(version))?;
        let count = rest.u32()?;
        let mut index = Self::default();
        let mut path: Vec<u8> = Vec::new();
        for _ in 0..count {
            let start = rest.0.len();
            rest.split_bytes(8)?;
            let (seconds, nanos) = (rest.u32()?, rest.u32()?);
            rest.split_bytes(8)?;
            let mode = rest.u32()?;
            rest.split_bytes(8)?;
            let size = rest.u32()?;
            let name = rest.split_bytes(id)?.to_vec();
            let flags = rest.u16()?;
            let more = if version >= 3 && flags & 0x4000 != 0 { rest.u16()? } else { 0 };
            if version == 4 {
                let kept = path.len().checked_sub(rest.varint()?)?;
                path.truncate(kept);
                path.extend_from_slice(rest.until_nul()?);
            } else {
                path = rest.until_nul()?.to_vec();
                // Entries are padded to a multiple of eight bytes; the name's own NUL is part of the padding.
                let len = start - rest.0.len();
                rest.split_bytes(len.next_multiple_of(8) - len)?;
            }
            index.staged |= flags & 0x3000 != 0 || more & 0x2000 != 0;
            let assumed = flags & 0x8000 != 0 || more & 0x4000 != 0;
            let is_file = matches!(mode & 0o170_000, 0o100_000 | 0o120_000);
            if is_file && !assumed {
                index.entries.push(GitIndexEntry {
                    path: path.clone(),
                    seconds,
                    nanos,
                    size,
                    id: name,
                });
            }
        }
        while !rest.0.is_empty() {
            let name = rest.split_bytes(4)?;
            let len = usize::try_from(rest.u32()?).ok()?;
            let body = rest.split_bytes(len)?;
            match name {
                // The tree that the index was last equal to; if it no longer is, its count of entries is negative.
                b"TREE" => index.staged |= body.starts_with(b"\0-"),
                b"link" => return None,
                _ => {}
            }
        }
        Some(index)
    }

    /// Whether something is staged, or a file below `root` differs from its recorded state. Compares those of the paths `first` before the others.
    fn differs(&self, top: &Path, root: &Path, first: &[String]) -> bool {
        let workspace = root.strip_prefix(top).unwrap_or(root);
        let first: Vec<PathBuf> = first.iter().map(|path| workspace.join(path)).collect();
        let is_first = |entry: &&GitIndexEntry| first.iter().any(|path| names::name_bytes(path) == &entry.path[..]);
        let is_below = |entry: &&GitIndexEntry| names::path_of_bytes(&entry.path).starts_with(workspace);
        let differs = |entry: &GitIndexEntry| entry.differs(top);
        self.staged || self.entries.iter().filter(is_first).any(differs) || self.entries.iter().filter(is_below).any(differs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Runs git in a folder, without its user's settings; returns whether it succeeded.
    fn git(folder: &Path, args: &[&str]) -> bool {
        let run = Command::new("git")
            .args([
                "-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false", "-c", "init.defaultBranch=main",
            ])
            .args(args)
            .current_dir(folder)
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("HOME", folder)
            .output();
        run.is_ok_and(|output| output.status.success())
    }

    #[test]
    fn a_checkout_is_read_as_git_left_it() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        assert_eq!(revision(root), None, "no checkout");
        assert!(git(root, &["init"]), "git is there");
        assert_eq!(revision(root), None, "no commit");
        fs::create_dir(root.join("in")).unwrap();
        for path in ["a.txt", "in/b.txt", "in/a-much-longer-name-for-the-prefix.txt"] {
            fs::write(root.join(path), path).unwrap();
        }
        assert!(git(root, &["add", "."]) && git(root, &["commit", "-m", "one"]));
        let first = revision(root).expect("a commit");
        assert_eq!(first.dirty, Some(false));
        assert_eq!(file_at(root, &first.commit, "in/b.txt").as_deref(), Some(&b"in/b.txt"[..]));
        assert_eq!(file_at(&root.join("in"), &first.commit, "b.txt").as_deref(), Some(&b"in/b.txt"[..]));
        assert_eq!(file_at(root, &first.commit, "none"), None);
        assert_eq!(file_at(root, "--batch", "a.txt"), None);

        for version in ["4", "2"] {
            assert!(git(root, &["update-index", "--index-version", version]));
            assert_eq!(revision(root), Some(first.clone()), "version {version}");
        }
        // Packed refs; untracked files do not count.
        assert!(git(root, &["pack-refs", "--all"]));
        fs::write(root.join("untracked"), "x").unwrap();
        assert_eq!(revision(root), Some(first.clone()));

        fs::write(root.join("a.txt"), "longer than before").unwrap();
        assert_eq!(revision(root).and_then(|found| found.dirty), Some(true));
        for first in ["a.txt", "in/b.txt", "none"] {
            assert_eq!(revision_after(root, &[first.to_owned()]), revision(root), "{first}");
        }
        // Outside of the workspace it does not count, unless it is staged.
        assert_eq!(revision(&root.join("in")).and_then(|found| found.dirty), Some(false));
        assert!(git(root, &["add", "a.txt"]));
        assert_eq!(revision(&root.join("in")).and_then(|found| found.dirty), Some(true));
        assert!(git(root, &["commit", "-m", "two"]));
        let second = revision(root).expect("a commit");
        assert_eq!(second.dirty, Some(false));
        assert_ne!(second.commit, first.commit);
        fs::remove_file(root.join("in/b.txt")).unwrap();
        assert_eq!(revision(root).and_then(|found| found.dirty), Some(true));
        assert!(git(root, &["checkout", "--", "in/b.txt"]));

        // A worktree with a detached commit, and one on a branch.
        assert!(git(root, &["worktree", "add", "--detach", "tree", &first.commit]));
        assert_eq!(revision(&root.join("tree")), Some(first.clone()));
        assert!(git(root, &["worktree", "add", "-b", "side", "tree2"]));
        assert_eq!(revision(&root.join("tree2")), Some(second));
    }

    #[test]
    fn a_head_that_leads_to_no_commit_has_no_revision() {
        let folder = tempfile::tempdir().unwrap();
        let git = folder.path().join(".git");
        fs::create_dir_all(&git).unwrap();
        for head in [
            "ref: ../../secret",
            "ref: refs/heads/../../../secret",
            "ref: refs/heads/.invalid",
            "not hexadecimal",
            "ref: refs/ring",
        ] {
            fs::create_dir_all(git.join("refs")).unwrap();
            fs::write(git.join("refs/ring"), "ref: refs/ring\n").unwrap();
            fs::write(git.join("HEAD"), head).unwrap();
            assert_eq!(revision(folder.path()), None, "{head}");
        }
        let commit = "0123456789abcdef0123456789abcdef01234567";
        fs::write(git.join("HEAD"), commit).unwrap();
        let found = revision(folder.path()).expect("a commit");
        assert_eq!((found.commit.as_str(), found.dirty), (commit, None), "there is no index");
    }

    proptest! {
        #[test]
        fn no_index_makes_it_panic(tail in proptest::collection::vec(any::<u8>(), 0..300), version in 0u32..6, count in 0u32..5) {
            let mut bytes = b"DIRC".to_vec();
            bytes.extend(version.to_be_bytes());
            bytes.extend(count.to_be_bytes());
            bytes.extend(tail);
            let _ = Index::from_bytes(&bytes, 20);
        }
    }
}
