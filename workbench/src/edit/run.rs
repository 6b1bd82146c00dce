//! One operation on a session, from the present files to its answer. Carries out the effects of the state machine in an order such that a crash at
//! any point loses nothing reported.

use super::allowed_tools::{Tool, allows, tools_allowed_in};
use super::contents::{Content, content, read_kept_content, write_content};
use super::draft_log::Step;
use super::edit_log::OperationEvents;
use super::files::{FileWithBytes as Read, Files, Stamp};
use super::session::{Document, Edit, EditSession, FileEdit, Version};
use super::state::{Effect, Event, FileRelation, Mode, Status, WorkflowState, transition};
use crate::code_text::encoding::{Encoding, PLAIN, Unreadable, Written, decode, encode, length};
use crate::editable_paths::Refused;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::rc::Rc;

/// Failure of an operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trouble {
    pub status: Status,
    /// Reason, on one line.
    pub summary: String,
    /// Next step for the caller; `None` for that of the state.
    pub guidance: Option<String>,
    /// Lines with details.
    pub detail: Option<String>,
    /// The document concerned.
    pub path: Option<String>,
}

impl Trouble {
    /// Returns a failure with status `Exception`.
    pub fn new(summary: impl Into<String>, guidance: impl Into<String>) -> Self {
        Self {
            status: Status::Exception,
            summary: summary.into(),
            guidance: Some(guidance.into()),
            detail: None,
            path: None,
        }
    }

    /// Adds the document concerned.
    pub fn at(mut self, path: &str) -> Self {
        self.path = Some(path.to_owned());
        self
    }
}

impl From<io::Error> for Trouble {
    fn from(error: io::Error) -> Self {
        let why = format!("the sessions in .cortex/edit cannot be read or written: {error}");
        let hint = "free some space on the disk and check the permissions of .cortex, then try again: nothing was changed";
        Self {
            status: Status::PersistFailure,
            ..Self::new(why, hint)
        }
    }
}

/// Result of this operation's read of a file.
pub(super) struct Looked {
    pub(super) stamp: Option<Stamp>,
    pub(super) bytes: Option<Rc<Vec<u8>>>,
    pub(super) mode: Option<u32>,
    pub(super) content: Content,
}

/// A session during an operation.
pub struct EditRun<'f, F: Files> {
    pub files: &'f F,
    pub session: EditSession,
    /// Present time, in seconds.
    pub now: u64,
    /// Order of the operation among those of all sessions.
    pub(super) turn: u64,
    /// Notes for the answer, one sentence each.
    pub notes: Vec<String>,
    /// Whether the notes mention new contents of files that buffers without edits take over.
    pub(super) tells_taken: bool,
    /// Events for the logs.
    pub met: OperationEvents,
    /// Its steps, for the log of drafts.
    pub(super) steps: Vec<Step>,
    /// Files that must not be edited, with reasons.
    barred: BTreeMap<String, Refused>,
    /// Whether pending candidates were dropped.
    pub(super) ended: bool,
    /// Growth of the buffers in characters.
    pub delta: i64,
    pub(super) looked: BTreeMap<String, Looked>,
    /// Whether the running save is recorded in the journal.
    pub(super) is_saving: bool,
    /// Bytes in memory, by digest.
    contents: BTreeMap<String, Rc<Vec<u8>>>,
    /// Decoded texts by digest, so that large files are decoded once.
    texts: RefCell<BTreeMap<String, (Rc<String>, Encoding)>>,
}

impl<'f, F: Files> EditRun<'f, F> {
    /// Begins an operation. Session files that must not, or no longer, be edited are neither read nor written.
    pub fn start_run(files: &'f F, mut session: EditSession, now: u64) -> Self {
        let mut barred = BTreeMap::new();
        // The session file may come from the author of the checkout, so its paths are checked again.
        for path in session.paths() {
            match files.resolve(path) {
                Ok(_) | Err(Refused::NoFile(_) | Refused::BelowFile(_) | Refused::System { .. }) => {}
                Err(why) => drop(barred.insert(path.clone(), why)),
            }
        }
        Self {
            files,
            barred,
            notes: std::mem::take(&mut session.news),
            tells_taken: true,
            session,
            now,
            turn: files.increasing_number(),
            met: OperationEvents::default(),
            steps: Vec::new(),
            ended: false,
            delta: 0,
            looked: BTreeMap::new(),
            is_saving: false,
            contents: BTreeMap::new(),
            texts: RefCell::default(),
        }
    }

    /// Allows the manifest for a recovery: the interrupted operation had permission.
    pub(super) fn allow_manifest(&mut self) {
        self.barred.retain(|_, why| !matches!(why, Refused::Manifest(_)));
    }

    /// Returns the operation's identifier in the log.
    pub fn id(&self) -> String {
        format!("{}-{}", self.session.id, self.session.operations)
    }

    /// Returns a document of the session. Fails when the session has no such document.
    pub fn document(&self, path: &str) -> Result<&Document, Trouble> {
        self.session.documents.get(path).ok_or_else(|| {
            Trouble::new(
                format!("{path} is not a document of this session"),
                "name it with path, and it becomes one",
            )
        })
    }

    pub(super) fn document_mut(&mut self, path: &str) -> &mut Document {
        self.session.documents.get_mut(path).expect("invariant: it was opened")
    }

    /// Applies an event to a document, and those effects that concern only its notes; returns the rest.
    pub fn apply_event(&mut self, path: &str, event: Event) -> (Status, Vec<Effect>) {
        let mode = self.session.mode;
        let document = self.document_mut(path);
        let done = transition(document.state, mode, event);
        document.state = done.state;
        if done.effects.contains(&Effect::ForgetSelection) {
            document.selection = None;
        }
        (done.status, done.effects)
    }

    pub(super) fn read(&self, path: &str) -> io::Result<Option<Read>> {
        match self.barred.get(path) {
            Some(why) => Err(io::Error::other(why.clone())),
            None => self.files.read(path),
        }
    }

    /// Whether a file must not be edited; that may have changed since it was opened.
    pub(super) fn is_barred(&self, path: &str) -> bool {
        self.barred.contains_key(path)
    }

    /// Returns the failure for the manifest if this operation must not edit it; the file itself is unchanged.
    pub(super) fn not_allowed(&self, path: &str) -> Option<Trouble> {
        let why = self.barred.get(path).filter(|why| matches!(why, Refused::Manifest(_)))?;
        Some(Trouble::new(why.to_string(), why.hint()).at(path))
    }

    /// Reads a file and remembers its stamp.
    pub(super) fn see(&mut self, path: &str) -> io::Result<Content> {
        let found = self.read(path)?;
        let (stamp, mode) = (found.as_ref().map(|found| found.stamp), found.as_ref().map(|found| found.mode));
        let bytes = found.map(|found| Rc::new(found.bytes));
        let content = self.at_hand(bytes.as_ref());
        let looked = Looked {
            stamp,
            bytes,
            mode,
            content: content.clone(),
        };
        self.looked.insert(path.to_owned(), looked);
        Ok(content)
    }

    /// Keeps bytes in memory; returns their digest.
    pub(super) fn at_hand(&mut self, bytes: Option<&Rc<Vec<u8>>>) -> Content {
        let content = content(bytes.map(|bytes| bytes.as_slice()));
        if let (Some(content), Some(bytes)) = (&content, bytes) {
            self.contents.insert(content.clone(), bytes.clone());
        }
        content
    }

    /// Returns the file as read as a version; a missing file gets the encoding `usual`. Fails when the file is not text.
    pub(super) fn version_on_disk(&self, path: &str, usual: Encoding) -> Result<Version, Trouble> {
        let encoding = match self.looked_text(path).transpose() {
            Ok(text) => text.map_or(usual, |(_, encoding)| encoding),
            Err(why) => return Err(no_text(path, &why)),
        };
        let looked = self.looked.get(path);
        let content = looked.and_then(|looked| looked.content.clone());
        Ok(Version::of(content, encoding, looked.and_then(|looked| looked.mode)))
    }

    /// Opens a file as a document of the session, if it is not one yet. Fails when it is not text, or does not exist.
    pub fn open(&mut self, path: &str) -> Result<(), Trouble> {
        if self.session.documents.contains_key(path) {
            return Ok(());
        }
        if self.see(path).map_err(|error| unread(path, &error))?.is_none() {
            let why = Trouble::new(
                format!("there is no file {path}"),
                "check the path, which is relative to the workspace's root; `create` creates a new file",
            );
            return Err(why);
        }
        let document = Document::of(self.version_on_disk(path, PLAIN)?);
        self.session.documents.insert(path.to_owned(), document);
        Ok(())
    }

    /// Whether a text exists: in the buffer of a document, or else in the file.
    pub(super) fn is_there(&mut self, path: &str) -> Result<bool, Trouble> {
        match self.session.documents.get(path) {
            Some(document) => Ok(document.now.text.is_some()),
            None => Ok(self.see(path).map_err(|error| unread(path, &error))?.is_some()),
        }
    }

    /// Checks that no new file's path is the parent of another new file's or a buffer's path, or vice versa.
    pub(super) fn check_disjoint(&self, new: &[String]) -> Result<(), Trouble> {
        let held = self.session.documents.iter().filter(|(_, document)| document.now.text.is_some());
        let all: BTreeSet<&String> = held.map(|(path, _)| path).chain(new).collect();
        let lies_below = |path: &str, folder: &str| path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'));
        for one in new {
            let meets = |other: &&&String| lies_below(one, other) || lies_below(other, one);
            if let Some(other) = all.iter().find(meets) {
                let (folder, path) = if one < *other { (one, *other) } else { (*other, one) };
                let why = format!("{folder} cannot be both a file and the folder of {path}; nothing was changed");
                return Err(Trouble::new(why, "name another path for one of them").at(path));
            }
        }
        Ok(())
    }

    /// Checks that a path is free for a new file. Fails when a file or a document with a text has the path.
    pub(super) fn check_free(&mut self, path: &str) -> Result<(), Trouble> {
        let seen = self.see(path).map_err(|error| unread(path, &error))?;
        let is_free = match self.session.documents.get(path).map(|document| &document.now) {
            // A file with an unsaved deletion counts as deleted.
            Some(now) => now.text.is_none() && (seen.is_none() || seen == now.base),
            None => seen.is_none(),
        };
        if is_free { Ok(()) } else { Err(path_taken(path)) }
    }

    /// Opens a path without a file as a new document. Fails when the file exists, or is a document already.
    pub fn open_new(&mut self, path: &str) -> Result<(), Trouble> {
        self.check_free(path)?;
        self.check_disjoint(&[path.to_owned()])?;
        self.session
            .documents
            .entry(path.to_owned())
            .or_insert_with(|| Document::of(Version::of(None, PLAIN, None)));
        Ok(())
    }

    /// Opens a path without a file as a new document with the encoding and permissions of another one. Fails as [`Self::open_new`] does.
    pub fn open_like(&mut self, path: &str, other: &str) -> Result<(), Trouble> {
        let like = self.document(other)?.now.clone();
        self.open_new(path)?;
        let own = &mut self.document_mut(path).now;
        (own.encoding, own.mode) = (like.encoding, like.mode);
        Ok(())
    }

    /// Returns the bytes of a document's version.
    pub(super) fn bytes(&self, path: &str, wanted: &Content) -> Result<Option<Rc<Vec<u8>>>, Trouble> {
        let Some(wanted) = wanted else { return Ok(None) };
        if let Some(bytes) = self.contents.get(wanted) {
            return Ok(Some(bytes.clone()));
        }
        let bytes = read_kept_content(self.files, wanted)?;
        bytes.map(|bytes| Some(Rc::new(bytes))).ok_or_else(|| {
            let own = self.session.documents.get(path);
            if own.is_some_and(|own| !own.is_edited() && own.now.text.as_ref() == Some(wanted)) {
                let why = format!("the buffer of {path} had no edits, and its content was removed with the file");
                return Trouble {
                    guidance: None,
                    ..Trouble::new(why, "").at(path)
                };
            }
            Trouble::new(
                format!("a version of {path} that this session needs is damaged or missing in .cortex/edit"),
                "`discard` reads the file again",
            )
        })
    }

    /// Returns the text of a document's version; `None` if the file did not exist. Fails when the stored bytes were lost.
    pub fn text_of(&self, path: &str, wanted: &Content) -> Result<Option<(Rc<String>, Encoding)>, Trouble> {
        let Some(content) = wanted else { return Ok(None) };
        if let Some(known) = self.texts.borrow().get(content) {
            return Ok(Some(known.clone()));
        }
        let Some(bytes) = self.bytes(path, wanted)? else { return Ok(None) };
        let (text, encoding) = decode(&bytes).map_err(|why| no_text(path, &why))?;
        let text = (Rc::new(text), encoding);
        self.texts.borrow_mut().insert(content.clone(), text.clone());
        Ok(Some(text))
    }

    /// Returns the text of a buffer. Fails when the buffer has no text.
    pub fn text(&self, path: &str) -> Result<Rc<String>, Trouble> {
        let text = self.text_of(path, &self.document(path)?.now.text)?;
        text.map(|(text, _)| text).ok_or_else(|| {
            let guidance = match self.has_undo(path) {
                true => "`undo` restores the buffer; `create` creates the file again",
                false => "`create` creates the file again; `close` ends the session",
            };
            Trouble {
                guidance: Some(guidance.to_owned()),
                ..Trouble::new(format!("{path} no longer exists"), "").at(path)
            }
        })
    }

    /// Whether a choice between matches is pending.
    pub(super) fn offers(&self) -> bool {
        self.session.documents.values().any(|document| document.selection.is_some())
    }

    /// Whether a document's state allows a tool.
    pub(super) fn allows(&self, path: &str, tool: Tool) -> bool {
        let document = self.session.documents.get(path);
        document.is_some_and(|document| allows(document.state.workflow_state(), self.session.mode, tool))
    }

    pub(super) fn allowed_tools(&self, state: WorkflowState) -> Vec<Tool> {
        let mut tools = tools_allowed_in(state, self.session.mode);
        // Closing depends on all documents: another one may be unsaved, and one out of sync may have no edits.
        tools.retain(|tool| *tool != Tool::Close);
        if self.session.is_saved() && state != WorkflowState::Refreshing {
            tools.push(Tool::Close);
        }
        tools
    }

    /// Whether an edit of a document can be undone now.
    pub(super) fn has_undo(&self, path: &str) -> bool {
        let mut changes = self.session.done.iter().flat_map(|edit| &edit.changes);
        self.allows(path, Tool::Undo) && changes.any(|change| change.path == path)
    }

    /// Returns the guidance for a document whose file cannot be read and whose buffer had no edits, so that its text was lost with the file. `None`
    /// if the buffer has text, or the file can be read.
    pub(super) fn guide_after_lost_file(&self, path: &str) -> Option<String> {
        let document = self.session.documents.get(path)?;
        let is_unread = document.state.file_relation() == (FileRelation::OutOfSync { conflict: false });
        let is_gone = is_unread && !document.is_edited() && self.bytes(path, &document.now.text).is_err();
        let close = if self.session.is_saved() { ", or `close`" } else { "" };
        is_gone.then(|| format!("fix the file, then call `refresh`{close}: this session has no edits in it to lose"))
    }

    /// Adjusts a failure of a file to its document, which has a buffer.
    pub(super) fn of_document(&self, trouble: Trouble) -> Trouble {
        if let Some(guidance) = trouble.path.as_ref().and_then(|path| self.guide_after_lost_file(path)) {
            return Trouble {
                guidance: Some(guidance),
                ..trouble
            };
        }
        let elsewhere = match self.session.mode {
            Mode::Disabled => "",
            Mode::Immediate | Mode::Manual => "; `persist_as` saves the buffer under another path",
        };
        let guidance = trouble.guidance.unwrap_or_default();
        Trouble {
            guidance: Some(format!("{guidance}, then call `refresh`{elsewhere}")),
            ..trouble
        }
    }

    /// Sets the texts of buffers (`None` deletes the file) as one edit, and saves those in immediate mode. All are edited, or none. Fails
    /// when a text cannot be encoded as its file is, or there is no room to store it.
    pub fn edit(&mut self, operation: &str, texts: Vec<(String, Option<Written>)>) -> Result<Status, Trouble> {
        let mut versions = Vec::new();
        for (path, written) in texts {
            let now = self.document(&path)?.now.clone();
            let encoding = written.as_ref().map_or(now.encoding, |written| written.encoding);
            let bytes = written.map(|written| encode(written.text, encoding).map(Rc::new)).transpose();
            let bytes = bytes.map_err(|why| Trouble::new(format!("{path}: {why}"), "nothing was changed").at(&path))?;
            let text = self.at_hand(bytes.as_ref());
            versions.push((path, Version { text, encoding, ..now }));
        }
        self.put_versions(operation, versions)
    }

    /// Sets buffers to other versions, as [`Self::edit`] does with texts. Fails when there is no room to store them.
    pub(super) fn put_versions(&mut self, operation: &str, versions: Vec<(String, Version)>) -> Result<Status, Trouble> {
        let changes = self.become_all(versions)?;
        self.remember(operation, changes.clone());
        self.settle_all(&changes)
    }

    pub(super) fn remember(&mut self, operation: &str, changes: Vec<FileEdit>) {
        let edit = Edit {
            operation: operation.to_owned(),
            id: self.id(),
            at: self.now,
            turn: self.turn,
            changes,
        };
        self.session.remember(edit);
    }

    /// Sets buffers to other versions, whose bytes are in memory or stored. The old versions are stored, too.
    pub(super) fn become_all(&mut self, versions: Vec<(String, Version)>) -> Result<Vec<FileEdit>, Trouble> {
        let mut changes = Vec::new();
        for (path, to) in versions {
            let from = self.document(&path)?.now.clone();
            let mut lengths = [0; 2];
            for (length_of, text) in lengths.iter_mut().zip([&from.text, &to.text]) {
                if let Some(bytes) = self.bytes(&path, text)? {
                    write_content(self.files, text, &bytes)?;
                    *length_of = i64::try_from(length(&bytes)).unwrap_or(i64::MAX);
                }
            }
            self.delta += lengths[1] - lengths[0];
            changes.push(FileEdit { path, from, to });
        }
        for change in &changes {
            self.document_mut(&change.path).now.clone_from(&change.to);
            self.add_step(Step::from_change(&change.path, &change.from.text, &change.to.text));
        }
        Ok(changes)
    }

    /// Applies the edits to the documents' states, and saves as the states demand.
    pub(super) fn settle_all(&mut self, changes: &[FileEdit]) -> Result<Status, Trouble> {
        let mut saves = Vec::new();
        for change in changes {
            let document = self.document(&change.path)?;
            // If the file already equals the buffer, there is nothing to save.
            let differs = document.is_edited();
            let (_, effects) = self.apply_event(&change.path, Event::Edited { differs });
            if effects.contains(&Effect::Save) {
                saves.push(change.path.clone());
            }
        }
        if saves.is_empty() { Ok(Status::Success) } else { self.save(&saves) }
    }
}

pub(super) fn path_taken(path: &str) -> Trouble {
    let hint = "name another path, edit the existing file, or replace its text with `write`";
    Trouble::new(format!("{path} already exists, and is not overwritten"), hint)
}

pub(super) fn unread(path: &str, error: &io::Error) -> Trouble {
    let hint = match error.kind() {
        io::ErrorKind::FileTooLarge => "edit it with another tool, or move the text to separate files",
        _ => "fix the file or its permissions",
    };
    Trouble::new(format!("{path} cannot be read: {error}"), hint).at(path)
}

pub(crate) fn no_text(path: &str, why: &Unreadable) -> Trouble {
    let hint = "edit another file, or fix this one with another tool";
    Trouble::new(format!("{path} is not an editable text: {why}"), hint).at(path)
}
