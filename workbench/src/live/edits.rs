//! Changes of a document by cortex itself. Saves of edit sessions become versions of the file; failed tries are recorded, too.
//! The versions of a session's buffer are the session's steps.

use super::difference::Difference;
use super::journal::{BETWEEN, ChangeReport, Journal, PATCH, SOMEBODY, Version, digest_of_text, operation};
use super::names::DocumentNames;
use super::stored_journals;
use crate::edit::contents::{self, Content, read_kept_content};
use crate::edit::encoding::decode;
use crate::edit::files::Files;
use crate::edit::session::{self, EditSession, NoSession};
use crate::edit::trail::{self, TrailStep};
use std::collections::BTreeSet;
use std::io;
use std::path::Path;

/// Author of edits in sessions and overlays.
const AGENT: &str = "agent";
/// Author of a file's change unless another one is reported.
pub const PERSON: &str = "person";

/// Limit of steps that the first look records: no more would be shown.
const STEPS: usize = 16;

/// Records the saves and failed tries of sessions since the last look at a document as versions of it. Returns the handles of the sessions that have
/// unsaved edits of it, the last used first.
///
/// # Errors
/// When stored data of sessions or of the document cannot be read or written.
pub fn take_over<F: Files>(files: &F, root: &Path, lock: &F::EditLock, path: &str) -> io::Result<Vec<String>> {
    let names = DocumentNames::from_path(files, root, path)?;
    let mut sessions = session::list_sessions(files)?;
    sessions.retain(|session| session.paths().iter().any(|known| names.has_path(known)));
    sessions.sort_by(|a, b| (b.used, &a.id).cmp(&(a.used, &b.id)));
    record_edits(files, lock, (path, &names), &sessions)?;
    let lasting = files.notes("sessions")?.into_iter();
    let lasting = lasting
        .filter_map(|(name, _)| Some(name.strip_suffix(".json")?.to_owned()))
        .collect();
    if stored_journals::read_journal(files, path)?.has_ended(&lasting) {
        stored_journals::change_journal(files, lock, path, &[], |journal| journal.drop_ended_sessions(&lasting))?;
    }
    let edited = |session: &&EditSession| session.documents.iter().any(|(path, one)| names.has_path(path) && one.is_edited());
    Ok(sessions.iter().filter(edited).map(|session| session.id.clone()).collect())
}

/// Records the steps of a session in the journals of observed documents, so that none is lost when the session ends.
///
/// # Errors
/// When stored data of the session or of its documents cannot be read or written.
pub fn hand_over<F: Files>(files: &F, root: &Path, handle: &str, now: u64) -> io::Result<()> {
    let session = match EditSession::load(files, handle, now) {
        Ok(session) => session,
        Err(NoSession::Io(error)) => return Err(error),
        Err(_) => return Ok(()),
    };
    let steps = session.trail.iter().filter(|step| concerns_file(step));
    let paths: BTreeSet<String> = steps.map(|step| step.path.clone()).collect();
    for path in paths {
        let path = DocumentNames::from_path(files, root, &path)?.path;
        if stored_journals::read_journal(files, &path)?.current().is_some() {
            take_over(files, root, &files.lock_for_editing()?, &path)?;
        }
    }
    Ok(())
}

/// Whether a step is a version of the file, or a failed try.
fn concerns_file(step: &TrailStep) -> bool {
    step.saved || step.failed.is_some()
}

/// Returns the steps of sessions on a document, under any of its names, that its journal has not recorded, in their order.
fn new_steps<'s>(sessions: &'s [EditSession], names: &DocumentNames, journal: &Journal) -> Vec<&'s TrailStep> {
    let steps = sessions.iter().flat_map(|session| &session.trail);
    let is_new = |step: &&TrailStep| concerns_file(step) && names.has_path(&step.path) && !journal.knows(&step.id);
    let mut steps: Vec<&TrailStep> = steps.filter(is_new).collect();
    steps.sort_by_key(|step| step.turn);
    steps
}

/// Records new steps of sessions.
fn record_edits<F: Files>(
    files: &F,
    lock: &F::EditLock,
    (path, names): (&str, &DocumentNames),
    sessions: &[EditSession],
) -> io::Result<()> {
    let mut journal = stored_journals::read_journal(files, path)?;
    let mut steps = new_steps(sessions, names, &journal);
    if journal.versions.is_empty() && steps.len() > STEPS {
        let last = steps.split_off(steps.len() - STEPS);
        let earlier = std::mem::replace(&mut steps, last);
        journal = stored_journals::change_journal(files, lock, path, &[], |journal| {
            earlier.iter().for_each(|step| journal.know(Some(&step.id)));
        })?;
    }
    for step in steps {
        let report = ChangeReport {
            author: AGENT.to_owned(),
            what: Some(step.operation.clone()),
            failed: step.failed.clone(),
            edit: Some(step.id.clone()),
        };
        journal = match report.failed {
            None => {
                let texts = [&step.over, &step.to].map(|content| text_of_content(files, content));
                record_write(files, lock, path, texts.each_ref().map(Option::as_deref), step.at, &report)?
            }
            // A failed try leaves the document unchanged.
            Some(_) => match journal
                .current()
                .and_then(|current| stored_journals::stored_text(files, &current.digest))
            {
                Some(text) => record_found_text(files, lock, path, &text, step.at, &report)?,
                None => continue,
            },
        };
    }
    Ok(())
}

fn record_found_text<F: Files>(
    files: &F,
    lock: &F::EditLock,
    path: &str,
    text: &str,
    at: u64,
    report: &ChangeReport,
) -> io::Result<Journal> {
    stored_journals::change_journal(files, lock, path, &[text], |journal| {
        let before = journal
            .current()
            .and_then(|current| stored_journals::stored_text(files, &current.digest));
        journal.record_found(text, before.as_deref(), at, report);
    })
}

/// Records the write of a file: its text before, if not yet recorded, is a person's version; its text after is a version of the writer.
fn record_write<F: Files>(
    files: &F,
    lock: &F::EditLock,
    path: &str,
    [before, after]: [Option<&str>; 2],
    at: u64,
    report: &ChangeReport,
) -> io::Result<Journal> {
    let journal = stored_journals::read_journal(files, path)?;
    let Some(after) = after else { return Ok(journal) };
    if journal.is_last(before, after, at) {
        return stored_journals::change_journal(files, lock, path, &[after], |journal| journal.claim(report));
    }
    if let Some(before) = before {
        let person = ChangeReport {
            author: PERSON.to_owned(),
            ..ChangeReport::default()
        };
        record_found_text(files, lock, path, before, at, &person)?;
    }
    record_found_text(files, lock, path, after, at, report)
}

/// Records a failed edit without a session, which no session remembers. Does nothing for a document that is not observed.
///
/// # Errors
/// When the document, or stored data of it, cannot be read or written.
pub fn record_failed_try<F: Files>(files: &F, root: &Path, path: &str, (operation, why): (&str, &str), now: u64) -> io::Result<()> {
    let path = &DocumentNames::from_path(files, root, path)?.path;
    let text = files.read(path)?.and_then(|found| decode(&found.bytes).ok());
    let Some((text, _)) = text.filter(|_| stored_journals::read_journal(files, path).is_ok_and(|journal| journal.current().is_some()))
    else {
        return Ok(());
    };
    let lock = files.lock_for_editing()?;
    take_over(files, root, &lock, path)?;
    let report = ChangeReport {
        author: AGENT.to_owned(),
        what: Some(operation.to_owned()),
        failed: Some(why.to_owned()),
        edit: None,
    };
    record_found_text(files, &lock, path, &text, now, &report).map(drop)
}

/// A document's buffer in a session.
#[derive(Clone, Debug)]
pub struct Buffer {
    /// Path of the document in the session.
    pub path: String,
    /// Text of the buffer.
    pub text: String,
    /// The session's steps; the number of a version is that of its operation.
    pub versions: Vec<Version>,
    /// The texts of the versions, in their order; `None` if a text is not stored.
    texts: Vec<Option<String>>,
    /// The first remembered version number, with its text: 0 and the initial text, unless the session dropped early steps.
    first: (u64, Option<String>),
    /// The digest of the base of the buffer, as [`digest_of_text`] returns it; `None` if there was no file.
    pub base: Option<String>,
}

impl Buffer {
    /// Returns the text of a version: the text after that operation of the session.
    pub fn text_of_version(&self, number: u64) -> Option<&str> {
        if number < self.first.0 || number > self.version() {
            return None;
        }
        let text = match self.versions.partition_point(|version| version.number <= number) {
            0 => &self.first.1,
            behind => &self.texts[behind - 1],
        };
        text.as_deref()
    }

    /// Returns the number of the first version that is remembered.
    pub fn first(&self) -> u64 {
        self.first.0
    }

    /// Returns the number of the version that is shown.
    pub fn version(&self) -> u64 {
        self.versions.last().map_or(self.first.0, |version| version.number)
    }

    /// Returns the version to compare with unless one is named: the newest that is at least 30 minutes old, or else the first.
    pub fn anchor(&self, now: u64) -> u64 {
        let old = self.versions.iter().rev().find(|version| now.saturating_sub(version.at) >= BETWEEN);
        old.map_or(self.first.0, |version| version.number)
    }
}

/// Returns the first of several names of a file under which a session has it.
///
/// # Errors
/// When there is no such session.
pub fn called<'n, F: Files>(
    files: &F,
    handle: &str,
    names: impl IntoIterator<Item = &'n String>,
    now: u64,
) -> Result<Option<&'n str>, NoSession> {
    let session = EditSession::load(files, handle, now)?;
    let known = |name: &&String| session.documents.contains_key(*name);
    Ok(names.into_iter().find(known).map(String::as_str))
}

/// Returns a document as it is in a session; `None` if the session does not have it, or it has no text there.
///
/// # Errors
/// When there is no such session.
pub fn buffer<F: Files>(files: &F, handle: &str, path: &str, now: u64) -> Result<Option<Buffer>, NoSession> {
    let session = EditSession::load(files, handle, now)?;
    let Some(document) = session.documents.get(path) else {
        return Ok(None);
    };
    // The text of a document that the session only read is nowhere but in the file.
    let file = files.read(path).ok().flatten().map(|found| found.bytes);
    let content = contents::content(file.as_deref());
    let known = |wanted: &Content| match wanted {
        None => Some(String::new()),
        Some(_) if *wanted == content => Some(decode(file.as_deref()?).ok()?.0),
        Some(_) => text_of_content(files, wanted),
    };
    let Some(text) = document.now.text.as_ref().and_then(|_| known(&document.now.text)) else {
        return Ok(None);
    };
    let (steps, is_cut) = trail::steps_of_document(&session, path);
    let first = steps
        .first()
        .filter(|_| is_cut)
        .map_or(0, |step| operation(&step.id).1.saturating_sub(1));
    let begun_with = steps.first().map_or_else(|| Some(text.clone()), |step| known(&step.from));
    let (versions, texts) = steps.iter().map(|step| version_of_step(step, known)).unzip();
    let base = document.now.base.as_ref().and_then(|_| known(&document.now.base));
    Ok(Some(Buffer {
        path: path.to_owned(),
        versions,
        texts,
        first: (first, begun_with),
        base: base.map(|base| digest_of_text(&base)),
        text,
    }))
}

/// Returns the version after a step of a session with its text, if that is stored.
fn version_of_step(step: &TrailStep, known: impl Fn(&Content) -> Option<String>) -> (Version, Option<String>) {
    let after = known(&step.to);
    let change = match (&after, step.from != step.to) {
        (Some(after), true) => known(&step.from).map(|before| Difference::between(&before, after).with_line_limit(PATCH)),
        _ => None,
    };
    let (author, what) = match step.foreign {
        true => (SOMEBODY, None),
        false => (AGENT, Some(step.operation.clone())),
    };
    let version = Version {
        number: operation(&step.id).1,
        at: step.at,
        author: author.to_owned(),
        what,
        failed: step.failed.clone(),
        edit: Some(step.id.clone()),
        same: step.from == step.to && step.failed.is_none(),
        digest: after.as_deref().map(digest_of_text).unwrap_or_default(),
        change: change.unwrap_or_default(),
    };
    (version, after)
}

/// The reason why a session has no text under a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Missing {
    /// The path is not a document of the session.
    Unknown,
    /// The document was removed in the session, or is not created yet.
    Away,
    /// The document was only read, and the file was written since: its earlier text is not stored.
    Moved,
}

/// Returns why [`buffer`] returns nothing for a path.
///
/// # Errors
/// When there is no such session.
pub fn why_missing<F: Files>(files: &F, handle: &str, path: &str, now: u64) -> Result<Missing, NoSession> {
    let session = EditSession::load(files, handle, now)?;
    Ok(match session.documents.get(path).map(|document| &document.now.text) {
        None => Missing::Unknown,
        Some(None) => Missing::Away,
        Some(Some(_)) => Missing::Moved,
    })
}

fn text_of_content<F: Files>(files: &F, content: &Content) -> Option<String> {
    let bytes = read_kept_content(files, content.as_deref()?).ok()??;
    Some(decode(&bytes).ok()?.0)
}
