//! The watcher: watched directories, received events, and the changes since a moment. Runs no thread.
//!
//! Invariants. The watcher adds a directory's watch before it lists the directory, from the root down. It notes each newly watched one
//! *after* that, with everything below it, so a client that scanned in between scans again. It answers only if it has processed all
//! received events.

use super::journal::Journal;
use super::mounts::Mounts;
use super::outputs::{self, Outputs};
use super::watched_directories::{WatchEvent, WatchedDirectories};
use super::{Batch, at_and_below};
use crate::files::globs::{Globs, NEVER, fingerprint};
use crate::files::ignores::{EXCLUDE_FILE, RULE_FILES};
use crate::files::read::{Root, error_text};
use crate::files::scan::{Context, Scan, join};
use crate::files::stamp::Stamp;
use crate::seams::world::{SetDef, Watched, WorldError};
use os::errors::SystemError;
use os::handles::BorrowedFd;
use os::info::{FileInfo, FileKind};
use os::listening::IS_PROMPT;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Maximum number of files with several names that are reported individually; with more, everything must be checked.
const MOST_LINKED: usize = 1_000;

/// Maximum time for an answer; a later one is useless.
const PATIENCE: Duration = Duration::from_millis(150);

/// Reason why a folder cannot be watched, so that everything must be checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WatchProblem {
    /// The system's limit of watched directories for this user is reached.
    Limit {
        /// Number of watched directories.
        watched: usize,
    },
    /// A file system that other machines change.
    Elsewhere { kind: String },
    /// A directory that cannot be watched.
    Directory {
        path: String,
        /// The operating system's error message.
        reason: String,
    },
    /// The folder is no longer at its path.
    Gone,
}

/// A watched workspace folder.
pub struct Watcher {
    path: PathBuf,
    root: Root,
    identity: (u64, u64),
    directories: WatchedDirectories,
    globs: Globs,
    print: u64,
    /// The directories that may contain sources.
    covered: BTreeMap<String, Context>,
    /// Files that may change under another name.
    linked: BTreeSet<String>,
    journal: Journal,
    outputs: Outputs,
    /// Stamp of the file of rows when last checked.
    rows: Option<Stamp>,
    mounts: Mounts,
    problem: Option<WatchProblem>,
    /// Directories to scan again, with everything below.
    again: BTreeSet<String>,
    batch: Batch,
    /// Git's folder of the checkout, relative to the root or not.
    git: PathBuf,
}

impl Watcher {
    /// Watches the folder `path` as far as these sets may have files in it. Fails when it cannot be opened, a set is malformed, or the
    /// system does not allow watching.
    pub fn new(path: &Path, sets: &[SetDef]) -> Result<Self, WorldError> {
        let root = Root::open_root(path)?;
        let failed = |error| WorldError::Root { reason: error_text(error) };
        let mut watcher = Self {
            identity: identity(&root).map_err(failed)?,
            root,
            directories: WatchedDirectories::new().map_err(|error| WorldError::Io {
                path: ".".to_owned(),
                what: "watched",
                reason: error_text(error),
                no_space: false,
                missing: false,
            })?,
            globs: Globs::new(sets)?,
            print: fingerprint(sets),
            covered: BTreeMap::new(),
            linked: BTreeSet::new(),
            journal: Journal::new(),
            outputs: Outputs::new(),
            rows: None,
            mounts: Mounts::from_system(path),
            problem: None,
            again: BTreeSet::from([String::new()]),
            batch: Batch::default(),
            git: path.join(".git"),
            path: path.to_owned(),
        };
        watcher.process_events(None);
        watcher.check_rows_file();
        watcher.batch = Batch::default();
        Ok(watcher)
    }

    /// Watches directories that may contain files of other sets. Invalidates earlier answers. Fails when a set is malformed; then nothing
    /// changes.
    pub fn cover(&mut self, sets: &[SetDef]) -> Result<(), WorldError> {
        if fingerprint(sets) != self.print {
            self.globs = Globs::new(sets)?;
            self.print = fingerprint(sets);
            self.again.insert(String::new());
        }
        Ok(())
    }

    /// Returns a descriptor that becomes readable on an event.
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.directories.fd()
    }

    /// Returns why everything must be checked, if so.
    pub fn problem(&self) -> Option<&WatchProblem> {
        self.problem.as_ref()
    }

    pub fn directories(&self) -> usize {
        self.directories.watched_count()
    }

    /// Whether git is writing files.
    pub fn is_checking_out(&self) -> bool {
        self.git.join("index.lock").exists()
    }

    /// Processes received events. The returned number differs after every change.
    pub fn process_received(&mut self) -> u64 {
        self.process_events(Some(PATIENCE));
        self.journal.now()
    }

    /// Returns the number of the last change.
    pub fn moment(&self) -> u64 {
        self.journal.now()
    }

    /// Returns the changes since the last batch.
    pub fn take_batch(&mut self) -> Batch {
        std::mem::take(&mut self.batch)
    }

    /// Starts again, after a problem that may have passed.
    pub fn restart(&mut self) {
        self.again.insert(String::new());
    }

    /// Reads the mounts again after the system reported a change.
    pub fn reread_mounts(&mut self) {
        let mounts = Mounts::from_system(&self.path);
        if mounts != self.mounts {
            self.mounts = mounts;
            self.again.insert(String::new());
        }
    }

    /// Returns the changes since a token was issued, up to now; `None` if they are unknown for these sets.
    pub fn since(&mut self, sets: u64, token: Option<&[u8]>) -> Option<Watched> {
        let settled = self.process_events(Some(PATIENCE));
        self.check_root_moved();
        self.check_rows_file();
        // If events arrive late, their absence does not prove that nothing changed.
        if !IS_PROMPT || !settled || self.problem.is_some() || sets != self.print {
            return None;
        }
        if self.outputs.take_changed(&self.path) {
            self.journal.note_outputs();
        }
        let mut changed = token
            .and_then(|token| self.journal.paths_since(token))
            .filter(|_| self.linked.len() <= MOST_LINKED);
        if let Some(changed) = &mut changed {
            changed.extend(self.linked.iter().cloned());
        }
        Some(Watched {
            token: self.journal.token(),
            changed,
            outputs_changed: token.is_none_or(|token| self.journal.outputs_since(token)),
        })
    }

    /// Detects that another folder has taken this one's path: clients ask about that one.
    fn check_root_moved(&mut self) {
        let here = Root::open_root(&self.path).ok().and_then(|root| identity(&root).ok());
        if here != Some(self.identity) {
            self.problem = Some(WatchProblem::Gone);
        }
    }

    /// Notes a change of the file of rows.
    fn check_rows_file(&mut self) {
        let now = self.root.stat(super::ROWS).ok().map(|(stamp, _)| stamp);
        if now != self.rows {
            self.rows = now;
            self.note_path(super::ROWS);
        }
    }

    /// Processes all received events; returns whether none is left.
    fn process_events(&mut self, patience: Option<Duration>) -> bool {
        let start = Instant::now();
        loop {
            if !self.drain_events() {
                return false;
            }
            if self.again.is_empty() {
                return true;
            }
            self.rescan_directories();
            if patience.is_some_and(|patience| start.elapsed() > patience) {
                return false;
            }
        }
    }

    fn drain_events(&mut self) -> bool {
        let mut event = Vec::new();
        let all = self.directories.pass_events(|one| event.push(one));
        for one in event {
            self.process_event(one);
        }
        match all {
            Ok(all) => all,
            Err(error) => {
                self.problem = Some(WatchProblem::Directory {
                    path: ".".to_owned(),
                    reason: error_text(error),
                });
                false
            }
        }
    }

    fn process_event(&mut self, event: WatchEvent) {
        let (directory, name, is_dir, written) = match event {
            WatchEvent::Lost => {
                self.again.insert(String::new());
                return;
            }
            WatchEvent::Gone(directory) => {
                self.again.insert(directory.to_string());
                return;
            }
            WatchEvent::Name {
                directory,
                name,
                is_dir,
                written,
            } => (directory, name, is_dir, written),
        };
        let path = join(&directory, &name);
        if directory.starts_with(".git") && !self.covered.contains_key(&*directory) {
            match path.as_str() {
                ".git/HEAD" => {
                    self.batch.head = true;
                    self.journal.record_event();
                }
                ".git/info" | EXCLUDE_FILE => {
                    self.again.insert(String::new());
                }
                _ => {}
            }
            return;
        }
        if NEVER.contains(&name.as_str()) {
            // A created or removed `.git` adds or removes ignore rules.
            if directory.is_empty() && name == ".git" && !written {
                self.again.insert(String::new());
            }
            if directory.is_empty() && name == outputs::HOME {
                self.outputs.mark_stale();
            }
            return;
        }
        let Some(context) = self.covered.get(&*directory) else { return };
        if is_dir || self.covered.contains_key(&path) {
            self.again.insert(path);
            return;
        }
        let is_rules = RULE_FILES.contains(&name.as_str());
        if is_rules {
            self.again.insert(directory.to_string());
        }
        if directory.is_empty() && name == super::MANIFEST {
            self.batch.paths.insert(path.clone());
            self.journal.record_path(&path);
        }
        // Ignore rules are not applied: a superfluous path costs only one check.
        if !is_rules && self.globs.sets_of(&context.reach, &path, || false) == 0 {
            return;
        }
        if !written {
            self.check_link_count(&path);
        }
        self.note_path(&path);
    }

    /// Detects other names of a file by its present link count.
    fn check_link_count(&mut self, path: &str) {
        let info = self.root.folder.info_of(path);
        let several = info.is_ok_and(|info| info.links > 1 && info.kind() == FileKind::File);
        if several {
            // Its other name may be a source, too, and has no event. An earlier entry in `linked` proves nothing: the path may belong to
            // another file now.
            self.linked.insert(path.to_owned());
            self.again.insert(String::new());
        } else {
            self.linked.remove(path);
        }
    }

    fn note_path(&mut self, path: &str) {
        if path.is_empty() {
            self.journal.record_unknown_changes();
            self.batch.whole = true;
        } else {
            self.journal.record_path(path);
            self.batch.paths.insert(path.to_owned());
        }
    }

    /// Scans directories again: watches those that exist now, and drops the others.
    fn rescan_directories(&mut self) {
        let again = std::mem::take(&mut self.again);
        if again.contains("") {
            self.forget_directory("");
            self.problem = self.mounts.elsewhere.clone().map(|kind| WatchProblem::Elsewhere { kind });
            if self.problem.is_none() {
                let outer = Context {
                    reach: self.globs.reach_at_root(),
                    ignores: None,
                };
                self.watch_directory(String::new(), outer);
                self.watch_git();
            }
            if self.problem.is_some() {
                // Release unusable watches for other programs.
                self.forget_directory("");
            }
            self.check_root_moved();
            self.note_path("");
            return;
        }
        // Changed names by parent directory: each directory is listed once, however many changed in it.
        let mut above: BTreeMap<String, Vec<String>> = BTreeMap::new();
        let mut last: Option<String> = None;
        for path in again {
            let inside = |last: &String| path.strip_prefix(last.as_str()).is_some_and(|rest| rest.starts_with('/'));
            if last.as_ref().is_some_and(inside) {
                continue;
            }
            let was_covered = self.covered.contains_key(&path);
            self.forget_directory(&path);
            if was_covered {
                self.note_path(&path);
            }
            let (up, name) = path.rsplit_once('/').unwrap_or(("", &path));
            above.entry(up.to_owned()).or_default().push(name.to_owned());
            last = Some(path);
        }
        for (up, names) in above {
            let Some(outer) = self.covered.get(&up).cloned() else { continue };
            let Some(found) = self.scan().list_directory(&up, &outer, None) else {
                continue;
            };
            let linked = self.linked.len();
            for (name, context) in found.listing.subdirs.iter().zip(found.contexts) {
                if names.contains(name) {
                    let path = join(&up, name);
                    self.watch_directory(path.clone(), context);
                    self.note_path(&path);
                }
            }
            if self.linked.len() > linked {
                // A file in a new directory may be another name of a file that had only one name before.
                self.again.insert(String::new());
            }
        }
    }

    fn scan(&self) -> Scan<'_> {
        Scan {
            root: &self.root,
            globs: &self.globs,
            fingerprint: self.print,
            now: 0,
        }
    }

    fn forget_directory(&mut self, directory: &str) {
        self.directories.unwatch_directory(directory);
        let gone: Vec<String> = at_and_below(&self.covered, directory).map(|(path, _)| path.clone()).collect();
        for path in gone {
            self.covered.remove(&path);
        }
        let below = format!("{directory}/");
        self.linked.retain(|path| !directory.is_empty() && !path.starts_with(&below));
        if directory.is_empty() {
            self.covered.clear();
        }
    }

    /// Watches a directory and everything below it that may contain sources.
    fn watch_directory(&mut self, directory: String, context: Context) {
        let mut todo = vec![(directory, context)];
        while let Some((directory, context)) = todo.pop() {
            match self.directories.watch_directory(&self.path, &directory) {
                Ok(()) => {}
                // Gone by now; the parent directory has an event.
                Err(SystemError::NOT_FOUND | SystemError::NO_FOLDER | SystemError::LINK) => continue,
                Err(SystemError::NO_SPACE) => {
                    self.problem = Some(WatchProblem::Limit {
                        watched: self.directories.watched_count(),
                    });
                    return;
                }
                Err(error) => {
                    self.problem.get_or_insert(WatchProblem::Directory {
                        path: directory,
                        reason: error_text(error),
                    });
                    continue;
                }
            }
            let Some(found) = self.scan().list_directory(&directory, &context, None) else {
                continue;
            };
            for (name, context) in found.listing.subdirs.iter().zip(found.contexts) {
                todo.push((join(&directory, name), context));
            }
            self.linked.extend(found.linked);
            self.covered.insert(directory, context);
        }
    }

    /// Watches git's files that name the checked-out commit, and its ignore rules.
    fn watch_git(&mut self) {
        self.git = self.path.join(".git");
        match self.root.stat(".git") {
            Ok((_, FileKind::Folder)) => {
                for directory in [".git", ".git/info"] {
                    match self.directories.watch_directory(&self.path, directory) {
                        Ok(()) | Err(SystemError::NOT_FOUND | SystemError::NO_FOLDER) => {}
                        Err(SystemError::NO_SPACE) => {
                            self.problem = Some(WatchProblem::Limit {
                                watched: self.directories.watched_count(),
                            })
                        }
                        Err(error) => {
                            self.problem.get_or_insert(WatchProblem::Directory {
                                path: directory.to_owned(),
                                reason: error_text(error),
                            });
                        }
                    }
                }
            }
            // In a worktree of a repository, these files are elsewhere. They contain no rules; missing their events costs only a second
            // batch.
            Ok((_, FileKind::File)) => {
                let text = self.root.read_source_file(".git", 4096).unwrap_or_default();
                if let Some(path) = std::str::from_utf8(&text).ok().and_then(|text| text.strip_prefix("gitdir: ")) {
                    self.git = self.path.join(path.trim_end());
                }
            }
            _ => {}
        }
    }
}

fn identity(root: &Root) -> Result<(u64, u64), SystemError> {
    Ok(FileInfo::from_handle(&root.folder)?.identity())
}
