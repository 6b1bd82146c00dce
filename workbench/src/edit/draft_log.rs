//! The log of a checkout's drafts: one line of JSON for each step of an edit session and each look of a live context, oldest first. The steps of a
//! session and the journal of a document are folds over it.
//!
//! A step is durable before the session that it belongs to, and after the contents that it names. A line that does not parse was cut by a kill.

use super::contents::Content;
use super::document_names::journal_name;
use super::expiry::end_expired;
use super::files::Files;
use super::journal::{Journal, Look};
use super::run::EditRun;
use super::session::EditSession;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::io;

/// Name of the note with the log.
const LOG: &str = "drafts/log";
/// Bytes by which the log grows from one collection to the next.
const MANY: u64 = 1 << 20;
/// Most operations per document of a session whose steps are remembered.
const REMEMBERED: usize = 32;

/// A line of the log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Entry {
    /// An operation of a session on a document.
    Step(Step),
    /// A call of `context live`.
    Look(Look),
    /// The journal of a document up to here.
    Journal(Journal),
}

/// Change of a session's document by an operation, including undo and redo, or its failed try.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Step {
    pub session: String,
    /// Number of the operation in the session.
    pub number: u64,
    pub operation: String,
    /// Time, in seconds.
    pub at: u64,
    /// Order among the operations of all sessions, in nanoseconds.
    pub turn: u64,
    /// Path of the document in the session.
    pub path: String,
    /// Another name of the file, under which its journal is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub document: Option<String>,
    /// Content of the buffer before.
    pub from: Content,
    /// Content of the buffer after.
    pub to: Content,
    /// Whether the step's content was saved to the file.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub saved: bool,
    /// Content of the file before that save; other programs' changes in it are not the session's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub over: Content,
    /// Whether the step is a foreign write that the buffer took over.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub foreign: bool,
    /// Reason why the operation failed, as a sentence, if it did; the buffer is then unchanged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed: Option<String>,
}

impl Step {
    pub(super) fn from_change(path: &str, from: &Content, to: &Content) -> Self {
        Self {
            path: path.to_owned(),
            from: from.clone(),
            to: to.clone(),
            ..Self::default()
        }
    }
}

impl<F: Files> EditRun<'_, F> {
    /// Adds a step of the operation, unless it changes nothing. A save belongs to the session's step that it saves.
    pub(super) fn add_step(&mut self, step: Step) {
        let own = self.steps.iter_mut().rfind(|own| own.path == step.path);
        let own = own.filter(|own| step.failed.is_none() && !step.foreign && !own.foreign && !own.saved && own.to == step.from);
        match own {
            Some(own) => (own.to, own.saved, own.over) = (step.to, step.saved, step.over),
            None if step.saved || step.failed.is_some() || step.from != step.to => self.steps.push(step),
            None => {}
        }
    }

    /// Appends the steps of the operation to the log, and stores the session.
    pub(super) fn store_session(&mut self, operation: &str) -> io::Result<()> {
        let files = self.files;
        let is_linked = self.steps.iter().any(|step| files.is_in_place(&step.path));
        let log = is_linked.then(|| DraftLog::from_files(files)).transpose()?;
        for step in &mut self.steps {
            let log = log.as_ref().filter(|_| files.is_in_place(&step.path));
            let name = log
                .map(|log| journal_name(files, log, &step.path))
                .filter(|name| *name != step.path);
            *step = Step {
                session: self.session.id.clone(),
                number: self.session.operations,
                operation: operation.to_owned(),
                at: self.now,
                turn: self.turn,
                document: name,
                ..std::mem::take(step)
            };
        }
        let is_due = append_entries(self.files, std::mem::take(&mut self.steps).into_iter().map(Entry::Step))?;
        self.session.store(self.files)?;
        if is_due {
            // Contents that cannot be removed take space, but do no harm.
            let _ = end_expired(self.files, self.now);
        }
        Ok(())
    }
}

/// Appends entries to the log. Returns whether it has grown so much that a collection is due.
pub(crate) fn append_entries(files: &impl Files, entries: impl IntoIterator<Item = Entry>) -> io::Result<bool> {
    // The line end before each line ends one that a kill cut.
    let line = |entry: Entry| Ok::<_, io::Error>(format!("\n{}", serde_json::to_string(&entry)?));
    let lines: String = entries.into_iter().map(line).collect::<io::Result<_>>()?;
    if lines.is_empty() {
        return Ok(false);
    }
    let length = files.append_note(LOG, &lines)?;
    Ok(length / MANY > length.saturating_sub(lines.len() as u64) / MANY)
}

/// The log as read.
pub struct DraftLog {
    entries: Vec<Entry>,
    /// Handles of the sessions that have not ended.
    sessions: BTreeSet<String>,
    /// Length in bytes.
    length: usize,
}

impl DraftLog {
    /// Reads the log. Skips steps of an operation that was killed before its session was stored, if the session has made the operation again.
    pub fn from_files(files: &impl Files) -> io::Result<Self> {
        let bytes = files.read_note(LOG)?.unwrap_or_default();
        let (mut entries, mut last) = (Vec::new(), BTreeMap::new());
        for line in bytes.split(|byte| *byte == b'\n') {
            let Ok(entry) = serde_json::from_slice::<Entry>(line) else {
                continue;
            };
            if let Entry::Step(step) = &entry {
                let before = last.insert(step.session.clone(), (step.number, step.turn));
                let is_again = |number, turn| number >= step.number && turn != step.turn;
                if before.is_some_and(|(number, turn)| is_again(number, turn)) {
                    let is_undone = |one: &Step| one.session == step.session && is_again(one.number, one.turn);
                    entries.retain(|entry| !matches!(entry, Entry::Step(one) if is_undone(one)));
                }
            }
            entries.push(entry);
        }
        let names = files.notes("sessions")?.into_iter();
        Ok(Self {
            entries,
            sessions: names.filter_map(|(name, _)| Some(name.strip_suffix(".json")?.to_owned())).collect(),
            length: bytes.len(),
        })
    }

    /// Returns the versions of a document of a session, whose numbers are those of its operations.
    pub fn journal_of_session(&self, session: &EditSession, path: &str) -> Journal {
        let mut steps = self.remembered_steps(|step| step.session == session.id && step.path == path);
        steps.retain(|step| step.number <= session.operations);
        let is_cut = steps.chunk_by(|one, other| one.number == other.number).count() >= REMEMBERED;
        let begin = steps.first().filter(|_| is_cut).map_or(0, |step| step.number.saturating_sub(1));
        let now = session.documents.get(path).map(|document| &document.now.text);
        let content = steps.first().map(|step| &step.from).or(now);
        let mut journal = Journal {
            path: path.to_owned(),
            given: begin,
            begin: Some((begin, content.cloned().flatten().unwrap_or_default())),
            ..Journal::default()
        };
        steps.into_iter().for_each(|step| journal.record_own_step(step));
        journal
    }

    /// Returns the wanted steps of each document's last operations in a session, complete for each operation, oldest first.
    fn remembered_steps(&self, is_wanted: impl Fn(&Step) -> bool) -> Vec<&Step> {
        let mut operations: BTreeMap<(&str, &str), (usize, u64)> = BTreeMap::new();
        let mut steps = Vec::new();
        for entry in self.entries.iter().rev() {
            let Entry::Step(step) = entry else { continue };
            if !is_wanted(step) {
                continue;
            }
            let (count, last) = operations.entry((&step.session, &step.path)).or_default();
            if *last != step.number {
                (*count, *last) = (*count + 1, step.number);
            }
            if *count <= REMEMBERED {
                steps.push(step);
            }
        }
        steps.reverse();
        steps
    }

    /// Returns the paths of all documents that a live context has shown.
    pub fn observed_documents(&self) -> BTreeSet<&String> {
        let journals = self.entries.iter().filter_map(|entry| match entry {
            Entry::Journal(journal) => Some(&journal.path),
            _ => None,
        });
        journals.collect()
    }

    /// Whether a live context has shown a document.
    pub fn has_journal(&self, path: &str) -> bool {
        self.entries
            .iter()
            .any(|entry| matches!(entry, Entry::Journal(journal) if journal.path == path))
    }

    /// Returns the journal of a document. The first look at a document finds the steps of the sessions that have not ended.
    pub fn journal(&self, path: &str) -> Journal {
        let last = self.entries.iter().enumerate().rev().find_map(|(at, entry)| match entry {
            Entry::Journal(journal) if journal.path == path => Some((at, journal)),
            _ => None,
        });
        let new = || Journal {
            path: path.to_owned(),
            ..Journal::default()
        };
        let (begin, mut journal) = last.map_or_else(|| (0, new()), |(at, journal)| (at + 1, journal.clone()));
        for entry in &self.entries[begin..] {
            match entry {
                Entry::Step(step) => {
                    let is_known = last.is_some() || self.sessions.contains(&step.session);
                    if is_known && step.document.as_ref().unwrap_or(&step.path) == path {
                        journal.record_step(step);
                    }
                }
                Entry::Look(look) if look.path == path => drop(journal.record_look(look)),
                _ => {}
            }
        }
        journal.drop_ended_sessions(&self.sessions);
        journal
    }

    /// Adds the contents that the folds name to `wanted`, and writes the log anew if it shrinks by half.
    pub(super) fn collect_contents(&self, files: &impl Files, wanted: &mut BTreeSet<String>) {
        let steps = self.remembered_steps(|step| self.sessions.contains(&step.session));
        let steps = steps.into_iter().map(|step| Entry::Step(step.clone()));
        let journals = self.observed_documents().into_iter().map(|path| Entry::Journal(self.journal(path)));
        let mut lines = String::new();
        for entry in steps.chain(journals) {
            match &entry {
                Entry::Step(step) => wanted.extend([&step.from, &step.to, &step.over].into_iter().flatten().cloned()),
                Entry::Journal(journal) => wanted.extend(journal.digests().into_iter().map(str::to_owned)),
                Entry::Look(_) => {}
            }
            lines.extend(serde_json::to_string(&entry).map(|line| format!("\n{line}")));
        }
        if lines.len() < self.length / 2 {
            // The longer log has the same folds.
            let _ = files.write_note(LOG, lines.as_bytes());
        }
    }
}
