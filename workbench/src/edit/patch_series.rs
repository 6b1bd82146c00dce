//! Applies a patch to files. A series of mails is applied in order, as by `git am`, and is one edit. The parts of one mail refer to the files before
//! it, so that one file may take a path that another leaves. A second part for a file changes it again, as by `git apply`.

use super::files::Files;
use super::hunks::fit_hunks;
use super::patch::{FilePatch, Hunk, PatchOperation};
use super::run::{EditRun, Trouble, path_taken};
use super::search_miss::SearchedText;
use super::state::Status;
use crate::code_text::encoding::{Encoding, MARK, PLAIN, Written};
use std::collections::BTreeMap;

/// Permissions of a new executable file.
const PROGRAM: u32 = 0o755;

/// A patch's part for one file, with resolved paths.
struct FileStep<'p> {
    part: &'p FilePatch,
    path: String,
    to: Option<String>,
}

/// Origin of a file after a patch.
#[derive(Clone)]
enum Origin {
    /// The patch creates it.
    Made {
        /// Whether the new file is executable.
        executable: bool,
    },
    /// This file, edited or moved.
    File(String),
}

impl FileStep<'_> {
    fn removes_old_path(&self) -> bool {
        self.part.removes_old_path()
    }

    /// Returns the path of the file after the step.
    fn name_after(&self) -> Option<&str> {
        match self.part.kind {
            PatchOperation::Delete(_) => None,
            PatchOperation::Add(_) | PatchOperation::Update(_) => Some(self.to.as_ref().unwrap_or(&self.path)),
        }
    }

    /// Whether the file exists before and after the step, under one path.
    fn keeps_path(&self) -> bool {
        matches!(self.part.kind, PatchOperation::Update(_)) && self.to.is_none()
    }

    /// Whether a later step can refer to the same files as this one: those before both.
    fn refers_to_files_of(&self, other: &Self) -> bool {
        let is_after =
            |one: &Self, other: &Self| one.removes_old_path() && (other.removes_old_path() || other.keeps_path()) && one.path == other.path;
        let meet = self.name_after().is_some_and(|end| other.name_after() == Some(end));
        self.part.mail == other.part.mail && !meet && !is_after(self, other) && !is_after(other, self)
    }
}

/// Groups the steps of a patch; each group refers to the files before all of its steps.
fn series<'p, F: Files>(
    run: &EditRun<'_, F>,
    parts: &'p [FilePatch],
    resolve: impl Fn(&EditRun<'_, F>, &str) -> Result<String, Trouble>,
) -> Result<Vec<Vec<FileStep<'p>>>, Trouble> {
    let mut all: Vec<Vec<FileStep<'_>>> = Vec::new();
    for part in parts {
        let step = FileStep {
            part,
            path: resolve(run, &part.path)?,
            to: part.to.as_ref().map(|to| resolve(run, to)).transpose()?,
        };
        match all.last_mut() {
            Some(last) if last.iter().all(|one| one.refers_to_files_of(&step)) => last.push(step),
            _ => all.push(vec![step]),
        }
    }
    Ok(all)
}

/// The files of a series.
struct PatchSeries {
    /// Paths in the order of the series, with whether it expects them to exist.
    met: Vec<(String, bool)>,
    /// Origin of each path after the series.
    ends: BTreeMap<String, Option<Origin>>,
}

impl PatchSeries {
    /// Fails when the series contradicts itself: uses a file that it deleted, or creates one that it created.
    fn from_series(series: &[Vec<FileStep<'_>>]) -> Result<Self, Trouble> {
        let mut met = Vec::new();
        let mut ends: BTreeMap<String, Option<Origin>> = BTreeMap::new();
        for steps in series {
            let mut origins = Vec::new();
            for step in steps {
                let origin = match step.part.kind {
                    PatchOperation::Add(_) => Some(Origin::Made {
                        executable: step.part.executable,
                    }),
                    PatchOperation::Delete(_) | PatchOperation::Update(_) => match ends.get(&step.path) {
                        Some(known) => known.clone(),
                        None => {
                            met.push((step.path.clone(), true));
                            Some(Origin::File(step.path.clone()))
                        }
                    },
                };
                origins.push(origin.ok_or_else(|| {
                    let why = format!("{} no longer exists where the patch names it again; nothing was changed", step.path);
                    Trouble::new(why, "correct the patch")
                })?);
            }
            for step in steps.iter().filter(|step| step.removes_old_path()) {
                ends.insert(step.path.clone(), None);
            }
            for (step, origin) in steps.iter().zip(origins) {
                let Some(end) = step.name_after() else { continue };
                match ends.get(end) {
                    Some(Some(_)) if !step.keeps_path() => return Err(path_taken(end)),
                    None if !step.keeps_path() => met.push((end.to_owned(), false)),
                    _ => {}
                }
                ends.insert(end.to_owned(), Some(origin));
            }
        }
        Ok(Self { met, ends })
    }
}

/// Opens the files of a patch as documents of the session. Fails when a file must not be edited, or is not what the patch expects.
pub(super) fn open<F: Files>(
    run: &mut EditRun<'_, F>,
    parts: &[FilePatch],
    resolve: impl Fn(&EditRun<'_, F>, &str) -> Result<String, Trouble>,
) -> Result<Vec<String>, Trouble> {
    let series = series(run, parts, resolve)?;
    let PatchSeries { met, ends } = PatchSeries::from_series(&series)?;
    let end = |path: &String| ends.get(path).cloned().flatten();
    let new: Vec<String> = met
        .iter()
        .filter(|(path, is_there)| !is_there && end(path).is_some())
        .map(|(path, _)| path.clone())
        .collect();
    run.check_disjoint(&new)?;
    for step in series.iter().flatten() {
        if step.removes_old_path() && run.files.is_link(&step.part.path) {
            let why = format!("{} is a link to {}, and would lead nowhere without it", step.part.path, step.path);
            return Err(Trouble::new(why, format!("nothing was changed: name {} itself", step.path)));
        }
    }
    // Files whose properties others copy are opened first.
    for (path, is_there) in &met {
        match is_there {
            true => run.open(path)?,
            false => run.check_free(path)?,
        }
    }
    for (path, is_there) in &met {
        match (is_there, end(path)) {
            (true, Some(Origin::File(other))) if other != *path => check_same_attributes(run, &other, path)?,
            (false, Some(Origin::File(other))) => run.open_like(path, &other)?,
            (false, Some(Origin::Made { executable })) => {
                run.open_new(path)?;
                let mode = &mut run.document_mut(path).now.mode;
                *mode = executable.then_some(PROGRAM).or(*mode);
            }
            _ => {}
        }
    }
    let opened = met.into_iter().map(|(path, _)| path);
    Ok(opened.filter(|path| run.session.documents.contains_key(path)).collect())
}

/// Checks that a file can take the path of an existing one, whose permissions and encoding stay.
fn check_same_attributes<F: Files>(run: &EditRun<'_, F>, path: &str, to: &str) -> Result<(), Trouble> {
    let (own, other) = (&run.document(path)?.now, &run.document(to)?.now);
    let differs = match () {
        () if own.mode != other.mode => "other permissions",
        () if own.encoding.form != other.encoding.form => "another encoding",
        () => return Ok(()),
    };
    let why = format!("{path} takes the name of {to}, which has {differs}; nothing was changed");
    Err(Trouble::new(why, format!("move {to} away first, with a patch of its own")).at(path))
}

/// Returns the texts of files after a patch, with encodings. Fails when a hunk matches nowhere, or in several places.
pub(super) fn texts<F: Files>(
    run: &EditRun<'_, F>,
    parts: &[FilePatch],
    resolve: impl Fn(&EditRun<'_, F>, &str) -> Result<String, Trouble>,
) -> Result<Vec<(String, Option<Written>)>, Trouble> {
    let mut now = PatchedFiles::new();
    for steps in series(run, parts, resolve)? {
        let made: Vec<Option<Written>> = steps.iter().map(|step| text(run, &now, step)).collect::<Result<_, _>>()?;
        for step in steps.iter().filter(|step| step.removes_old_path()) {
            now.insert(step.path.clone(), None);
        }
        for (step, text) in steps.iter().zip(made) {
            now.extend(step.name_after().map(|end| (end.to_owned(), text)));
        }
    }
    // Drop files that the patch creates and deletes.
    now.retain(|path, _| run.session.documents.contains_key(path));
    Ok(now.into_iter().collect())
}

/// The files that the patch has changed so far.
type PatchedFiles = BTreeMap<String, Option<Written>>;

/// Returns the text of a file after a step.
fn text<F: Files>(run: &EditRun<'_, F>, now: &PatchedFiles, step: &FileStep<'_>) -> Result<Option<Written>, Trouble> {
    let path = &step.path;
    let after = |hunks: &[Hunk]| match now.get(path) {
        Some(Some(known)) => apply_hunks(&known.text, known.encoding, hunks, path, run.searched_text(path)),
        Some(None) | None => apply_hunks(
            &run.text(path)?,
            run.document(path)?.now.encoding,
            hunks,
            path,
            run.searched_text(path),
        ),
    };
    match &step.part.kind {
        PatchOperation::Add(text) => {
            let encoding = run.session.documents.get(path).map_or(PLAIN, |document| document.now.encoding);
            Ok(Some(Written::from_edit(text.clone(), None, encoding)))
        }
        PatchOperation::Update(hunks) => after(hunks).map(Some),
        // A diff that deletes a file must cover all of its lines.
        PatchOperation::Delete(hunks) if !hunks.is_empty() && !after(hunks)?.text.is_empty() => Err(Trouble {
            status: Status::NoMatch,
            summary: format!("{path}: the patch removes the file, and not all of its lines; nothing was changed"),
            guidance: Some("read the file again; `*** Delete File:` removes it whatever it holds".to_owned()),
            detail: None,
            path: Some(path.clone()),
        }),
        PatchOperation::Delete(_) => Ok(None),
    }
}

/// Applies hunks to a text. Hunks of git have the byte order mark in the first line; then they also decide whether it stays.
fn apply_hunks(text: &str, encoding: Encoding, hunks: &[Hunk], path: &str, held: SearchedText) -> Result<Written, Trouble> {
    let tells = hunks.iter().any(|hunk| hunk.old().any(|(line, _)| line.starts_with(MARK)));
    if !(encoding.mark && tells) {
        return Ok(Written::from_edit(fit_hunks(text, hunks, path, held)?, Some(text), encoding));
    }
    let made = fit_hunks(&format!("{MARK}{text}"), hunks, path, held)?;
    let rest = made.strip_prefix(MARK);
    Ok(Written {
        encoding: Encoding {
            mark: rest.is_some(),
            ..encoding
        },
        text: rest.unwrap_or(&made).to_owned(),
    })
}
