//! `[edit] check`: runs the workspace's compiler on the texts after an edit, and reports the errors that the texts before it did not have. The
//! sources are copied to a folder below `.cortex`, with the edited texts in place; the user's files are only read.

mod laid_out;
pub mod messages;
mod run;

use super::answer_settings::CheckSetting;
use super::contents::{Content, read_kept_content};
use super::disk::Disk;
use super::files::Files;
use super::session::{EditSession, FileEdit};
use super::tree::Tree;
use crate::checkout;
use engine::seams::producer::Cancel;
use engine::values::digest::Digest;
use messages::{CompilerError, new_errors};
use run::Ended;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::Path;

/// Folder of the copy and of the errors of earlier runs.
pub(super) const FOLDER: &str = ".cortex/check";
/// Most runs whose errors are remembered.
const REMEMBERED: usize = 8;
/// Most bytes of the file with these errors.
const MOST_BYTES: usize = 16 << 20;
/// Extensions of files that a compiler may read.
const COMPILED: [&str; 8] = [".cs", ".csproj", ".props", ".targets", ".razor", ".cshtml", ".xaml", ".resx"];
/// Placeholder of the projects in a command.
const PROJECTS: &str = "{projects}";

/// An edited file with its bytes before and after; `None` if it does not exist.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EditedBytes {
    pub path: String,
    pub before: Option<Vec<u8>>,
    pub after: Option<Vec<u8>>,
}

/// Result of a check.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Compiled {
    /// Errors that the edit adds.
    pub errors: Vec<String>,
    /// Reason why the errors are unknown.
    pub note: Option<String>,
}

/// Errors of an earlier run, with the digest of its command and texts.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct KnownRun {
    key: String,
    errors: Vec<CompilerError>,
}

/// Returns the files of the last edit of a session.
pub fn files_of_last_edit(disk: &Disk, session: &EditSession) -> Vec<EditedBytes> {
    let changes = session.done.last().map_or(&[][..], |edit| &edit.changes);
    let of = |change: &FileEdit| edited_bytes(disk, &change.path, (&change.from.text, &change.to.text));
    changes.iter().map(of).collect()
}

/// Returns the files that a commit of a session saves; with `only`, that file alone.
pub fn files_to_commit(disk: &Disk, session: &EditSession, only: Option<&str>) -> Vec<EditedBytes> {
    let edited = session.documents.iter().filter(|(_, document)| document.is_edited());
    let edited = edited.filter(|(path, _)| only.is_none_or(|only| *path == only));
    edited
        .map(|(path, document)| edited_bytes(disk, path, (&document.now.base, &document.now.text)))
        .collect()
}

fn edited_bytes(disk: &Disk, path: &str, (before, after): (&Content, &Content)) -> EditedBytes {
    let read = |content: &Content| read_kept_content(disk, content.as_deref()?).ok().flatten();
    EditedBytes {
        path: path.to_owned(),
        before: read(before),
        after: read(after),
    }
}

/// Whether a compiler may read one of the files.
pub fn may_be_compiled(files: &[EditedBytes]) -> bool {
    files.iter().any(|file| COMPILED.iter().any(|end| file.path.ends_with(end)))
}

/// Runs the check on the workspace with the texts after an edit; if there are errors, also with the texts before, to find the new ones. The caller
/// has checked that the command is trusted.
pub fn check_edit(root: &Path, disk: &Disk, setting: &CheckSetting, files: &[EditedBytes], cancel: &Cancel) -> io::Result<Compiled> {
    let _alone = checkout::lock_folder(root, FOLDER)?;
    let tree = disk.tree()?;
    let projects = projects_of_files(&tree, files);
    if setting.command.contains(PROJECTS) && projects.is_empty() {
        return Ok(unknown("no project file is above what was edited".to_owned()));
    }
    let names: Vec<String> = projects.iter().map(|project| quoted_for_shell(project)).collect();
    let line = setting.command.replace(PROJECTS, &names.join(" "));
    let mut known = known_runs(root);
    let mut errors = |is_after: bool| -> io::Result<Result<Vec<CompilerError>, String>> {
        let texts: BTreeMap<&str, Option<&[u8]>> = files
            .iter()
            .map(|file| (file.path.as_str(), if is_after { &file.after } else { &file.before }.as_deref()))
            .collect();
        let key = key_of_run(&line, &tree, &texts);
        if let Some(run) = known.iter().find(|run| run.key == key) {
            return Ok(Ok(run.errors.clone()));
        }
        laid_out::lay_out(root, &tree, &texts)?;
        let errors = match run::run_line(root, &line, setting.seconds, cancel)? {
            Ended::Errors(errors) => errors,
            Ended::Unknown(why) => return Ok(Err(why)),
        };
        known.push(KnownRun {
            key,
            errors: errors.clone(),
        });
        remember_runs(root, &mut known);
        Ok(Ok(errors))
    };
    let after = match errors(true)? {
        Ok(after) if after.is_empty() => return Ok(Compiled::default()),
        Ok(after) => after,
        Err(why) => return Ok(unknown(why)),
    };
    Ok(match errors(false)? {
        Ok(before) => Compiled {
            errors: new_errors(&before, &after).iter().map(ToString::to_string).collect(),
            note: None,
        },
        Err(why) => unknown(format!("before the edit, {why}")),
    })
}

fn unknown(why: String) -> Compiled {
    Compiled {
        errors: Vec::new(),
        note: Some(why),
    }
}

/// Returns the project files in the nearest folder at or above each file that has any.
fn projects_of_files(tree: &Tree, files: &[EditedBytes]) -> BTreeSet<String> {
    let is_project = |path: &&String| path.ends_with(".csproj");
    let folder = |path: &str| path.rsplit_once('/').map_or(String::new(), |(folder, _)| folder.to_owned());
    let mut projects = BTreeSet::new();
    for file in files.iter().filter(|file| COMPILED.iter().any(|end| file.path.ends_with(end))) {
        let mut at = folder(&file.path);
        loop {
            let here: Vec<&String> = tree.keys().filter(is_project).filter(|path| folder(path) == at).collect();
            projects.extend(here.iter().map(|path| (*path).clone()));
            if !here.is_empty() || at.is_empty() {
                break;
            }
            at = folder(&at);
        }
    }
    projects
}

fn quoted_for_shell(path: &str) -> String {
    format!("'{}'", path.replace('\'', "'\\''"))
}

fn key_of_run(line: &str, tree: &Tree, texts: &BTreeMap<&str, Option<&[u8]>>) -> String {
    let mut digests: BTreeMap<&str, Digest> = tree.iter().map(|(path, digest)| (path.as_str(), *digest)).collect();
    for (path, text) in texts {
        match text {
            Some(text) => drop(digests.insert(path, Digest::of(text))),
            None => drop(digests.remove(path)),
        }
    }
    let mut all = format!("{line}\n");
    digests
        .iter()
        .for_each(|(path, digest)| all.push_str(&format!("{digest} {path}\n")));
    Digest::of(all.as_bytes()).to_string()
}

const KNOWN: &str = ".cortex/check/known/runs.json";

fn known_runs(root: &Path) -> Vec<KnownRun> {
    let bytes = checkout::read_file(root, KNOWN, MOST_BYTES).ok().flatten();
    bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default()
}

/// Stores the errors of the last runs. If that fails, the next check runs the compiler again.
fn remember_runs(root: &Path, known: &mut Vec<KnownRun>) {
    known.drain(..known.len().saturating_sub(REMEMBERED));
    let bytes = serde_json::to_vec(&known).expect("invariant: errors are plain values");
    let _ = checkout::write_file(root, KNOWN, &bytes);
}
