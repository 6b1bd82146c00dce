//! Resolves paths and checks that a file may be edited: inside the workspace after following links, and not git's, cortex's own, or the store's; the
//! manifest only by permission.

use crate::location::MANIFEST;
use os::info::FileInfo;
use std::io::ErrorKind;
use std::path::{Component, Path, PathBuf};

/// Longest accepted path, in bytes.
const LONGEST: usize = 4096;

/// Reason why a file is not edited or shown.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// The path is empty.
    #[error("no path is given")]
    Empty,
    /// The real path of the file is outside the workspace.
    #[error("{0} leads out of the workspace")]
    Outside(String),
    /// The file is in a folder `.git`, or is one.
    #[error("{0} belongs to git")]
    Git(String),
    /// The file is in `.cortex`.
    #[error("{0} belongs to cortex, which keeps it itself")]
    Own(String),
    /// The file is `cortex.toml` or the target of its link, under any name.
    #[error("{0} is the manifest, which is edited only where that is allowed")]
    Manifest(String),
    /// The file is in the store.
    #[error("{0} belongs to the store")]
    Store(String),
    /// The path is a folder, a pipe, a device …
    #[error("{0} is not a regular file")]
    NoFile(String),
    /// A parent of the path is a file.
    #[error("{0} is below something that is not a folder")]
    BelowFile(String),
    /// The path has a control character or is not UTF-8.
    #[error("the path contains control characters, or bytes that are not UTF-8")]
    Odd,
    /// The operating system reports an error.
    #[error("{path} cannot be read: {reason}")]
    System { path: String, reason: String },
}

impl Refused {
    /// Returns the next step for the user.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Manifest(_) => "say that it is with `--manifest` (JSON: manifest); nothing was changed",
            _ => "only files of the workspace are edited; nothing was changed",
        }
    }
}

/// Permissions of edits.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Guard {
    /// The store's folder, wherever it is.
    pub store: Option<PathBuf>,
    /// Whether the manifest may be edited.
    pub manifest: bool,
}

/// Returns the canonical path of the real file below the canonical root. The file may not exist yet. Fails when the file must not be
/// edited.
pub fn resolve(root: &Path, given: &str, guard: &Guard) -> Result<String, Refused> {
    if given.is_empty() {
        return Err(Refused::Empty);
    }
    if given.len() > LONGEST || given.chars().any(char::is_control) {
        return Err(Refused::Odd);
    }
    // Such a path is a folder's, whether the folder exists or not.
    if given.ends_with('/') || given.ends_with("/.") {
        return Err(Refused::NoFile(given.to_owned()));
    }
    let real = real(&root.join(given), given)?;
    let below = real.strip_prefix(root).map_err(|_| Refused::Outside(given.to_owned()))?;
    if below.as_os_str().is_empty() {
        return Err(Refused::NoFile(given.to_owned()));
    }
    let path = below.to_str().ok_or(Refused::Odd)?.to_owned();
    // Compare without regard to case, as some file systems do.
    let mut parts = below.components().map(|part| part.as_os_str().to_string_lossy().to_lowercase());
    let first = parts.clone().next().unwrap_or_default();
    if parts.any(|part| part == ".git") {
        return Err(Refused::Git(given.to_owned()));
    }
    if first == ".cortex" {
        return Err(Refused::Own(given.to_owned()));
    }
    if !guard.manifest && (path.to_lowercase() == MANIFEST || is_one(&root.join(MANIFEST), &real)) {
        return Err(Refused::Manifest(given.to_owned()));
    }
    let store = guard
        .store
        .as_ref()
        .map(|store| store.canonicalize().unwrap_or_else(|_| store.clone()));
    if store.is_some_and(|store| real.starts_with(store)) {
        return Err(Refused::Store(given.to_owned()));
    }
    Ok(path)
}

/// Whether two paths refer to the same file, by symbolic or hard links.
pub fn is_one(path: &Path, other: &Path) -> bool {
    let file = |path: &Path| FileInfo::of_target(path).ok().map(|found| found.identity());
    file(path).is_some_and(|own| file(other) == Some(own))
}

/// Returns the size of the file at a path below the root; `None` if it does not exist.
pub fn size(root: &Path, path: &str) -> Option<u64> {
    let found = std::fs::metadata(root.join(path)).ok()?;
    found.is_file().then_some(found.len())
}

/// Follows all links. A missing file is resolved against its nearest existing folder.
fn real(path: &Path, given: &str) -> Result<PathBuf, Refused> {
    let system = |error: &std::io::Error| Refused::System {
        path: given.to_owned(),
        reason: error.to_string(),
    };
    match path.canonicalize() {
        Ok(real) => match std::fs::metadata(&real) {
            Ok(found) if found.is_file() => Ok(real),
            Ok(_) => Err(Refused::NoFile(given.to_owned())),
            Err(error) => Err(system(&error)),
        },
        Err(error) if error.kind() == ErrorKind::NotADirectory => Err(Refused::BelowFile(given.to_owned())),
        Err(error) if error.kind() == ErrorKind::NotFound => {
            // A dangling link: a write through it would create its target.
            if let Ok(target) = std::fs::read_link(path) {
                let folder = path.parent().unwrap_or(path);
                return path_not_found(&folder.join(target), given);
            }
            path_not_found(path, given)
        }
        Err(error) => Err(system(&error)),
    }
}

fn path_not_found(path: &Path, given: &str) -> Result<PathBuf, Refused> {
    let outside = || Refused::Outside(given.to_owned());
    let mut rest = Vec::new();
    let mut above = path;
    loop {
        match above.components().next_back() {
            Some(Component::Normal(name)) => rest.push(name),
            // `missing/..` does not exist.
            _ => return Err(outside()),
        }
        above = above.parent().ok_or_else(outside)?;
        match above.canonicalize() {
            Ok(folder) if folder.is_dir() => return Ok(rest.iter().rev().fold(folder, |path, name| path.join(name))),
            Ok(_) => return Err(Refused::BelowFile(given.to_owned())),
            // A dangling link is not followed further.
            Err(_) if above.is_symlink() => return Err(outside()),
            Err(_) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    fn refusal_name(refused: &Refused) -> &'static str {
        match refused {
            Refused::Empty => "empty",
            Refused::Outside(_) => "outside",
            Refused::Git(_) => "git",
            Refused::Own(_) => "own",
            Refused::Manifest(_) => "manifest",
            Refused::Store(_) => "store",
            Refused::NoFile(_) => "no file",
            Refused::BelowFile(_) => "below file",
            Refused::Odd => "odd",
            Refused::System { .. } => "system",
        }
    }

    #[test]
    fn only_files_of_the_workspace_are_meant() {
        let temp = tempfile::tempdir().expect("folder");
        let base = temp.path().canonicalize().expect("canonical");
        let root = base.join("ws");
        for folder in ["ws/src/.git", "ws/.git", "ws/.cortex", "ws/store", "out"] {
            std::fs::create_dir_all(base.join(folder)).expect("folders");
        }
        for file in ["ws/src/a.cs", "ws/.git/config", "ws/cortex.toml", "ws/store/store.redb", "out/b.cs"] {
            std::fs::write(base.join(file), "x").expect("file");
        }
        for (target, link) in [
            ("a.cs", "src/link.cs"),
            ("../../out/b.cs", "src/away.cs"),
            ("../../out", "src/folder"),
            ("../.git/config", "src/config"),
            ("../../out/new.cs", "src/dangling.cs"),
            ("new.cs", "src/soon.cs"),
            ("loop", "src/loop"),
        ] {
            symlink(target, root.join(link)).expect("link");
        }
        let guard = Guard {
            store: Some(root.join("store")),
            manifest: false,
        };
        let meant = |given: &str| resolve(&root, given, &guard);
        let absolute = root.join("src/a.cs").to_string_lossy().into_owned();
        for given in ["src/a.cs", "./src/../src/a.cs", "src/link.cs", &absolute] {
            assert_eq!(meant(given).as_deref(), Ok("src/a.cs"), "{given}");
        }
        assert_eq!(meant("src/new/deep.cs").as_deref(), Ok("src/new/deep.cs"));
        assert_eq!(meant("src/soon.cs").as_deref(), Ok("src/new.cs"));
        for (given, why) in [
            ("", "empty"),
            ("../out/b.cs", "outside"),
            ("/etc/hostname", "outside"),
            ("src/away.cs", "outside"),
            ("src/folder/b.cs", "outside"),
            ("src/folder/new.cs", "outside"),
            ("src/dangling.cs", "outside"),
            ("nowhere/../../out/b.cs", "outside"),
            ("src/config", "git"),
            (".git/config", "git"),
            ("src/.git/new", "git"),
            (".GIT/hooks/x", "git"),
            (".cortex/window.json", "own"),
            ("cortex.toml", "manifest"),
            ("store/store.redb", "store"),
            ("store/new", "store"),
            ("src", "no file"),
            (".", "no file"),
            ("src/", "no file"),
            ("new/", "no file"),
            ("new/.", "no file"),
            ("src/a.cs/b", "below file"),
            ("a\nb", "odd"),
            ("src/loop", "system"),
        ] {
            assert_eq!(meant(given).as_ref().map_err(refusal_name), Err(why), "{given}");
        }
        let allowed = Guard {
            manifest: true,
            ..guard.clone()
        };
        assert_eq!(resolve(&root, "cortex.toml", &allowed).as_deref(), Ok("cortex.toml"));
    }

    #[test]
    fn the_manifest_is_one_under_all_of_its_names() {
        let temp = tempfile::tempdir().expect("folder");
        let root = temp.path().canonicalize().expect("canonical");
        std::fs::create_dir(root.join("conf")).expect("folder");
        std::fs::write(root.join("conf/real.toml"), "x").expect("file");
        std::fs::write(root.join("conf/other.toml"), "x").expect("file");
        symlink("conf/real.toml", root.join("cortex.toml")).expect("link");
        std::fs::hard_link(root.join("conf/real.toml"), root.join("m.toml")).expect("link");
        let meant = |given: &str, manifest: bool| resolve(&root, given, &Guard { store: None, manifest });
        for given in ["cortex.toml", "conf/real.toml", "m.toml"] {
            assert_eq!(meant(given, false).as_ref().map_err(refusal_name), Err("manifest"), "{given}");
            assert!(meant(given, true).is_ok(), "{given}");
        }
        assert_eq!(meant("conf/other.toml", false).as_deref(), Ok("conf/other.toml"));
    }
}
