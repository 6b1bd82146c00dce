//! What edit sessions did to a document. Of the file what they saved is versions of it, and their tries that failed are told; of a session
//! its own steps are the versions.

use super::difference::Difference;
use super::journal::{Journal, PATCH, Said, Version, digest};
use super::kept;
use crate::edit::encoding::decode;
use crate::edit::files::Files;
use crate::edit::session::{self, Content, NoSession, Session};
use std::collections::BTreeSet;
use std::io;
use std::path::Path;

/// Who edits in sessions.
const AGENT: &str = "agent";

/// So many steps are taken over at once: no more would be shown.
const STEPS: usize = 16;

/// One thing that a session did, or tried.
struct Step {
    at: u64,
    id: String,
    what: String,
    /// The text that came of it; `None` when it failed.
    text: Option<String>,
    failed: Option<String>,
}

/// Takes over what sessions saved of a document since it was last looked at, and what they failed to do, as versions of it. Gives the handles of
/// those that hold edits of it which are not saved, that of the last used first.
///
/// # Errors
/// When what is kept of sessions or of the document cannot be read or written.
pub fn take_over<F: Files>(files: &F, root: &Path, path: &str) -> io::Result<Vec<String>> {
    let mut sessions = session::all(files)?;
    sessions.retain(|session| session.paths().iter().any(|known| *known == path));
    sessions.sort_by(|a, b| (b.used, &a.id).cmp(&(a.used, &b.id)));
    let journal = kept::read(root, path)?;
    for step in steps(files, &sessions, path, &journal) {
        let said = Said {
            author: AGENT.to_owned(),
            what: Some(step.what),
            failed: step.failed,
            edit: Some(step.id),
        };
        let text = match step.text {
            Some(text) => text,
            // What failed left the document as it was.
            None => match kept::read(root, path)?
                .current()
                .and_then(|current| kept::text(root, path, &current.digest))
            {
                Some(text) => text,
                None => continue,
            },
        };
        kept::change(root, path, Some(&text), |journal| {
            let before = journal.current().and_then(|current| kept::text(root, path, &current.digest));
            journal.found(&text, before.as_deref(), step.at, &said);
        })?;
    }
    let edited = |session: &&Session| session.documents.get(path).is_some_and(session::Document::is_edited);
    Ok(sessions.iter().filter(edited).map(|session| session.id.clone()).collect())
}

/// What is new to a journal, in the order of time.
fn steps<F: Files>(files: &F, sessions: &[Session], path: &str, journal: &Journal) -> Vec<Step> {
    let known: BTreeSet<&str> = journal.versions.iter().filter_map(|version| version.edit.as_deref()).collect();
    let since = journal.current().map_or(0, |current| current.at);
    let is_new = |at: u64, id: &str| at >= since && !known.contains(id);
    let mut steps = Vec::new();
    for session in sessions {
        let saved = session
            .trail
            .iter()
            .filter(|step| step.saved && step.path == path && is_new(step.at, &step.id));
        steps.extend(saved.filter_map(|step| {
            Some(Step {
                at: step.at,
                id: step.id.clone(),
                what: step.operation.clone(),
                text: Some(text_of(files, &step.to)?),
                failed: None,
            })
        }));
        let failed = session
            .failed
            .iter()
            .filter(|failed| failed.path == path && is_new(failed.at, &failed.id));
        steps.extend(failed.map(|failed| Step {
            at: failed.at,
            id: failed.id.clone(),
            what: failed.operation.clone(),
            text: None,
            failed: Some(failed.why.clone()),
        }));
    }
    // Operations of a session are numbered: behind its handle, without leading zeros.
    steps.sort_by(|a, b| (a.at, a.id.len(), &a.id).cmp(&(b.at, b.id.len(), &b.id)));
    let old = steps.len().saturating_sub(STEPS);
    steps.split_off(old)
}

/// A document as it is in a session.
#[derive(Clone, Debug)]
pub struct Buffer {
    /// Its text.
    pub text: String,
    /// The session's steps; the number of a version is that of the operation which made it.
    pub versions: Vec<Version>,
    /// The texts of the versions, in their order.
    texts: Vec<String>,
    /// The digest of what the buffer was made of, as [`digest`] has it; `None` where there was no file.
    pub base: Option<String>,
}

impl Buffer {
    /// The text of a version.
    pub fn text_of(&self, number: u64) -> Option<&str> {
        let at = self.versions.iter().position(|version| version.number == number)?;
        Some(&self.texts[at])
    }

    /// The number of the version that is shown.
    pub fn version(&self) -> u64 {
        self.versions.last().map_or(0, |version| version.number)
    }
}

/// A document as it is in a session; `None` where it is no document of it, or has no text there.
///
/// # Errors
/// When there is no such session.
pub fn buffer<F: Files>(files: &F, handle: &str, path: &str, now: u64) -> Result<Option<Buffer>, NoSession> {
    let session = Session::load(files, handle, now)?;
    let Some(document) = session.documents.get(path) else {
        return Ok(None);
    };
    let Some(text) = text_of(files, &document.now.text) else {
        return Ok(None);
    };
    let of_operation = |operation: &str, id: &str, at: u64, failed: Option<&str>| Version {
        number: id.rsplit_once('-').and_then(|(_, number)| number.parse().ok()).unwrap_or(0),
        at,
        author: AGENT.to_owned(),
        what: Some(operation.to_owned()),
        failed: failed.map(str::to_owned),
        edit: Some(id.to_owned()),
        digest: String::new(),
        change: Difference::default(),
    };
    let steps = session.trail.iter().filter(|step| step.path == path);
    let first = steps.clone().next().and_then(|step| text_of(files, &step.from));
    let mut told: Vec<(Version, Option<String>)> = Vec::new();
    for step in steps {
        if let Some(after) = text_of(files, &step.to) {
            let before = text_of(files, &step.from).unwrap_or_default();
            let change = Difference::of(&before, &after).cut(PATCH);
            let version = of_operation(&step.operation, &step.id, step.at, None);
            told.push((Version { change, ..version }, Some(after)));
        }
    }
    let failed = session.failed.iter().filter(|failed| failed.path == path);
    told.extend(failed.map(|failed| (of_operation(&failed.operation, &failed.id, failed.at, Some(&failed.why)), None)));
    told.sort_by_key(|(version, _)| version.number);
    let mut buffer = Buffer {
        versions: Vec::new(),
        texts: Vec::new(),
        base: text_of(files, &document.now.base).map(|base| digest(&base)),
        text,
    };
    for (version, text) in told {
        // What failed left the text as it was.
        let before = || buffer.texts.last().or(first.as_ref()).unwrap_or(&buffer.text).clone();
        let text = text.unwrap_or_else(before);
        buffer.versions.push(Version {
            digest: digest(&text),
            ..version
        });
        buffer.texts.push(text);
    }
    Ok(Some(buffer))
}

fn text_of<F: Files>(files: &F, content: &Content) -> Option<String> {
    let bytes = session::kept(files, content.as_deref()?).ok()??;
    Some(decode(&bytes).ok()?.0)
}
