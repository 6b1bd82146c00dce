//! Trees near the present one, by git: the committed one, the merge base with the main line, its ancestors; and by name the latest of its branch and
//! of the main line, for checkouts without a history (a job's shallow clone).
//!
//! Git runs only when there is no bundle of the exact tree, and when one is stored. Names are hints; results are used by their keys.

use crate::git;
use engine::seams::nearby::Nearby;
use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::Arc;

/// Number of ancestors, along first parents.
const ANCESTORS: &str = "--max-count=32";
/// Default names of main lines.
const MAIN: [&str; 2] = ["main", "master"];
/// Variables of jobs: the built branch.
const BRANCH: [&str; 2] = ["GITHUB_REF", "CI_COMMIT_BRANCH"];
/// Variables of jobs: the branch that the built branch is to be merged into.
const BASE: [&str; 2] = ["GITHUB_BASE_REF", "CI_MERGE_REQUEST_TARGET_BRANCH_NAME"];
/// Variables of jobs: the main line.
const DEFAULT: [&str; 1] = ["CI_DEFAULT_BRANCH"];

/// Returns the value of an environment variable.
pub type Variables = Arc<dyn Fn(&str) -> Option<String> + Send + Sync>;

/// A workspace in a checkout of git.
pub struct GitTrees {
    pub root: PathBuf,
    /// Lookup of environment variables.
    pub variables: Variables,
}

impl GitTrees {
    /// Returns the output of git, without the last line's end; `None` when it fails.
    fn git(&self, args: &[&str], input: &str) -> Option<String> {
        let mut child = Command::new("git")
            .args(args)
            .current_dir(&self.root)
            .env("GIT_NO_LAZY_FETCH", "1")
            .env("GIT_OPTIONAL_LOCKS", "0")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .ok()?;
        let mut standard_input = child.stdin.take()?;
        // A few lines, which fit into the pipe's buffer. If git does not read them, its exit code reports the failure.
        let _ = standard_input.write_all(input.as_bytes());
        drop(standard_input);
        let output = child.wait_with_output().ok()?;
        let text = String::from_utf8(output.stdout).ok()?;
        output.status.success().then(|| text.trim_end().to_owned())
    }

    fn variable(&self, names: &[&str]) -> Option<String> {
        let mut values = names.iter().filter_map(|name| (self.variables)(name));
        values.find(|value| !value.is_empty())
    }

    /// Returns the workspace's tree in each of these commits, in order.
    fn trees(&self, commits: &[String]) -> Vec<String> {
        let Some(prefix) = self.git(&["rev-parse", "--show-prefix"], "") else {
            return Vec::new();
        };
        let request: String = commits
            .iter()
            .map(|commit| format!("{commit}:{}\n", prefix.trim_end_matches('/')))
            .collect();
        let listed = self.git(&["cat-file", "--batch-check=%(objectname)"], &request).unwrap_or_default();
        // Git reports a missing object by its name and a word.
        let ids = listed.lines().filter(|line| git::is_name(line));
        ids.map(|id| format!("tree {id}")).collect()
    }

    /// Returns the branch that is checked out, or that a job builds.
    fn branch(&self) -> Option<String> {
        let checked_out = self.git(&["symbolic-ref", "--quiet", "--short", "HEAD"], "");
        checked_out.or_else(|| {
            let name = self.variable(&BRANCH)?;
            // A merge request is not a branch.
            match name.strip_prefix("refs/") {
                Some(rest) => rest.strip_prefix("heads/").map(str::to_owned),
                None => Some(name),
            }
        })
    }

    /// Returns the main line, if it is configured.
    fn main_line(&self) -> Option<String> {
        let head = self.git(&["symbolic-ref", "--quiet", "--short", "refs/remotes/origin/HEAD"], "");
        let head = head.and_then(|name| name.strip_prefix("origin/").map(str::to_owned));
        head.or_else(|| self.variable(&DEFAULT))
    }

    /// Returns the commit at which this branch left its base.
    fn base_commit(&self, base: Option<&str>) -> Option<String> {
        let lines = base.into_iter().chain(MAIN);
        let remote = lines.clone().map(|line| format!("refs/remotes/origin/{line}"));
        let mut refs = remote.chain(lines.map(|line| format!("refs/heads/{line}")));
        refs.find_map(|line| self.git(&["merge-base", "HEAD", &line], ""))
    }
}

impl Nearby for GitTrees {
    fn bundle_names(&self) -> Vec<String> {
        let mut names = Vec::new();
        if git::revision(&self.root).is_some_and(|revision| revision.dirty == Some(false)) {
            names.extend(self.trees(&["HEAD".to_owned()]));
        }
        let (branch, main) = (self.branch(), self.main_line());
        let is_main = match (&branch, &main) {
            (Some(branch), Some(main)) => branch == main,
            (Some(branch), None) => MAIN.contains(&&**branch),
            (None, _) => git::revision(&self.root).is_none(),
        };
        names.extend(branch.map(|branch| format!("branch {branch}")));
        names.extend(is_main.then(|| "latest".to_owned()));
        names
    }

    fn merge_base(&self) -> Option<String> {
        let line = self.variable(&BASE).or_else(|| self.main_line());
        self.trees(&[self.base_commit(line.as_deref())?]).pop()
    }

    fn near(&self) -> Vec<String> {
        let (base, main) = (self.variable(&BASE), self.main_line());
        let line = base.clone().or_else(|| main.clone());
        let ancestors = self.git(&["rev-list", "--first-parent", ANCESTORS, "HEAD"], "").unwrap_or_default();
        let mut commits: Vec<String> = ancestors.lines().map(str::to_owned).collect();
        if let Some(merge_base) = self.base_commit(line.as_deref()) {
            commits.insert(commits.len().min(1), merge_base);
        }
        let mut names = self.trees(&commits);
        let branches = [self.branch(), base, main].into_iter().flatten().chain(MAIN.map(str::to_owned));
        names.extend(branches.map(|branch| format!("branch {branch}")));
        names.push("latest".to_owned());
        let mut seen = std::collections::HashSet::new();
        names.retain(|name| seen.insert(name.clone()));
        names
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;
    use std::fs;
    use std::path::Path;

    fn git(folder: &Path, args: &[&str]) -> String {
        let settings = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "init.defaultBranch=main"];
        let run = Command::new("git")
            .args(settings)
            .args(args)
            .current_dir(folder)
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("HOME", folder)
            .output()
            .unwrap();
        assert!(run.status.success(), "{args:?}: {}", String::from_utf8_lossy(&run.stderr));
        String::from_utf8(run.stdout).unwrap().trim().to_owned()
    }

    fn trees_of(root: &Path, variables: &[(&'static str, &'static str)]) -> GitTrees {
        let variables: BTreeMap<&str, &str> = variables.iter().copied().collect();
        GitTrees {
            root: root.to_path_buf(),
            variables: Arc::new(move |name| variables.get(name).map(|value| (*value).to_owned())),
        }
    }

    fn commit(root: &Path, text: &str) -> String {
        fs::create_dir_all(root.join("in")).unwrap();
        fs::write(root.join("in/a.txt"), text).unwrap();
        git(root, &["add", "."]);
        git(root, &["commit", "-m", text]);
        format!("tree {}", git(root, &["rev-parse", "HEAD:in"]))
    }

    #[test]
    fn the_nearest_tree_stands_first() {
        let folder = tempfile::tempdir().unwrap();
        let (root, inner) = (folder.path(), folder.path().join("in"));
        fs::create_dir(&inner).unwrap();
        let all = trees_of(&inner, &[]);
        assert_eq!(
            (all.bundle_names(), all.near()[0].as_str()),
            (vec!["latest".to_owned()], "branch main"),
            "no checkout"
        );
        git(root, &["init"]);
        let (one, two) = (commit(root, "one"), commit(root, "two"));
        assert_eq!(all.bundle_names(), [two.clone(), "branch main".to_owned(), "latest".to_owned()]);
        git(root, &["checkout", "-b", "side"]);
        let (three, four) = (commit(root, "three"), commit(root, "four"));
        assert_eq!(
            all.near()[..6],
            [
                four.clone(),
                two.clone(),
                three,
                one,
                "branch side".to_owned(),
                "branch main".to_owned()
            ]
        );
        assert_eq!(
            all.bundle_names(),
            [four, "branch side".to_owned()],
            "not the latest of the main line"
        );
        assert_eq!(all.merge_base(), Some(two));
        fs::write(root.join("in/a.txt"), "edited, and longer").unwrap();
        assert_eq!(all.bundle_names(), ["branch side"], "the files are not those of a commit");
        // A commit outside of the workspace does not change its tree.
        fs::write(root.join("b.txt"), "b").unwrap();
        git(root, &["add", "b.txt"]);
        git(root, &["commit", "-m", "beside"]);
        assert_eq!(
            all.near()[0],
            all.near().iter().find(|name| name.starts_with("tree")).unwrap().clone()
        );
    }

    #[test]
    fn a_job_says_what_a_shallow_clone_does_not_know() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        git(root, &["init"]);
        commit(root, "one");
        git(root, &["checkout", "--detach"]);
        let merging = trees_of(root, &[("GITHUB_REF", "refs/pull/7/merge"), ("GITHUB_BASE_REF", "next")]);
        assert!(
            !merging
                .bundle_names()
                .iter()
                .any(|name| name.starts_with("branch") || name == "latest"),
            "{:?}",
            merging.bundle_names()
        );
        assert!(merging.near().contains(&"branch next".to_owned()));
        let built = trees_of(root, &[("CI_COMMIT_BRANCH", "next"), ("CI_DEFAULT_BRANCH", "next")]);
        assert_eq!(built.bundle_names()[1..], ["branch next".to_owned(), "latest".to_owned()]);
        let other = trees_of(root, &[("CI_COMMIT_BRANCH", "side"), ("CI_DEFAULT_BRANCH", "next")]);
        assert_eq!(other.bundle_names()[1..], ["branch side".to_owned()]);
    }
}
