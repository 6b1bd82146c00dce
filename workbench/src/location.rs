//! The locations of a workspace and its store.
//!
//! A cloned repository must not choose the store's folder (it could lead to shared secrets and other people's files): the folder comes from a flag,
//! from `CORTEX_STORE`, or is in the user's cache folder. Worktrees of one repository share a store; each is a view of its own.

use engine::store::ViewId;
use engine::values::digest::Digest;
use std::path::{Path, PathBuf};

/// The manifest's file name.
pub const MANIFEST: &str = "cortex.toml";

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StoreChoice {
    /// No store: everything works, and nothing is stored.
    None,
    Folder(PathBuf),
    /// A store per repository, in a folder below this cache folder.
    Cache(PathBuf),
}

impl StoreChoice {
    /// Returns the store's folder for a workspace; `None` without a store.
    pub fn store_folder(&self, root: &Path) -> Option<PathBuf> {
        match self {
            Self::None => None,
            Self::Folder(folder) => Some(folder.clone()),
            Self::Cache(cache) => {
                let id = Digest::of(os::names::name_bytes(&repository(root))).to_string();
                Some(cache.join("cortex").join("stores").join(&id[..16]))
            }
        }
    }
}

/// Returns the nearest folder at or above `from` with a manifest.
pub fn find_root(from: &Path) -> Option<PathBuf> {
    from.ancestors()
        .find(|folder| folder.join(MANIFEST).is_file())
        .map(Path::to_path_buf)
}

/// Returns the view of a checkout: the digest of its root's path, which must be canonical, cut to 64 bits.
pub fn view(root: &Path) -> ViewId {
    let Digest([a, b, c, d, e, f, g, h, ..]) = Digest::of(os::names::name_bytes(root));
    ViewId(u64::from_be_bytes([a, b, c, d, e, f, g, h]))
}

/// Returns the socket of a checkout's watch.
pub fn watch_socket(store: &Path, view: ViewId) -> PathBuf {
    store.join("views").join(format!("{:016x}.watch", view.0))
}

/// Returns the socket of a checkout's service.
pub fn service_socket(store: &Path, view: ViewId) -> PathBuf {
    store.join("views").join(format!("{:016x}.serve", view.0))
}

/// Returns the folder that all worktrees of a repository share: git's common folder, or the root itself outside of git.
pub(crate) fn repository(root: &Path) -> PathBuf {
    let Some(git) = root.ancestors().map(|folder| folder.join(".git")).find(|git| git.exists()) else {
        return root.to_path_buf();
    };
    let common = if git.is_file() { worktree_common(&git) } else { None };
    let common = common.unwrap_or(git);
    common.canonicalize().unwrap_or(common)
}

/// Follows a worktree's `.git` file (`gitdir: …`) and its `commondir`.
fn worktree_common(git: &Path) -> Option<PathBuf> {
    let text = std::fs::read_to_string(git).ok()?;
    let folder = git.parent()?.join(text.strip_prefix("gitdir:")?.trim());
    let common = std::fs::read_to_string(folder.join("commondir")).ok()?;
    Some(folder.join(common.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn worktrees_share_a_store_and_not_a_view() {
        let temp = tempfile::tempdir().expect("folder");
        let root = temp.path().canonicalize().expect("canonical");
        let (main, other) = (root.join("main"), root.join("other"));
        std::fs::create_dir_all(main.join(".git/worktrees/other")).expect("folders");
        std::fs::create_dir_all(&other).expect("folder");
        std::fs::write(other.join(".git"), "gitdir: ../main/.git/worktrees/other\n").expect("file");
        std::fs::write(main.join(".git/worktrees/other/commondir"), "../..\n").expect("file");
        let choice = StoreChoice::Cache(root.join("cache"));
        assert_eq!(choice.store_folder(&main), choice.store_folder(&other));
        assert_ne!(choice.store_folder(&main), choice.store_folder(&root));
        assert_ne!(view(&main), view(&other));
    }
}
