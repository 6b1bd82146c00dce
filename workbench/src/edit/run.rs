//! One operation on a session, from the files as they are now to its answer: what the state machine asks for is carried out here, in the order
//! in which a crash at any point loses nothing that was told.

use super::diagnostics::Met;
use super::encoding::{Encoding, PLAIN, Unreadable, Written, decode, encode, length};
use super::files::{FileWithBytes as Read, Files, Stamp};
use super::place::Refused;
use super::session::{Change, Content, Document, Edit, Session, Version, content, read_kept_content, write_content};
use super::state::{Effect, Event, Ground, Mode, Status, WorkflowState, transition};
use super::tools::{Tool, allowed, allows};
use super::trail::Moved;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::rc::Rc;

/// Why an operation cannot be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trouble {
    /// What it came to.
    pub status: Status,
    /// Why, on one line.
    pub summary: String,
    /// What to do instead; that of the state if nothing better is known.
    pub guidance: Option<String>,
    /// Lines to look at.
    pub detail: Option<String>,
    /// The document that it is about.
    pub path: Option<String>,
}

impl Trouble {
    /// An exception.
    pub fn new(summary: impl Into<String>, guidance: impl Into<String>) -> Self {
        Self {
            status: Status::Exception,
            summary: summary.into(),
            guidance: Some(guidance.into()),
            detail: None,
            path: None,
        }
    }

    /// About a document.
    pub fn at(mut self, path: &str) -> Self {
        self.path = Some(path.to_owned());
        self
    }
}

impl From<io::Error> for Trouble {
    fn from(error: io::Error) -> Self {
        let why = format!("what is kept of sessions in .cortex/edit cannot be read or written: {error}");
        let hint = "make room on the disk and look at the permissions of .cortex, then do it again: nothing was changed";
        Self {
            status: Status::PersistFailure,
            ..Self::new(why, hint)
        }
    }
}

/// What was seen of a file in this operation.
pub(super) struct Looked {
    pub(super) stamp: Option<Stamp>,
    pub(super) bytes: Option<Rc<Vec<u8>>>,
    pub(super) mode: Option<u32>,
    pub(super) content: Content,
}

/// A session in an operation.
pub struct Run<'f, F: Files> {
    /// The world.
    pub files: &'f F,
    /// The session.
    pub session: Session,
    /// When, in seconds.
    pub now: u64,
    /// What happened besides, each a sentence.
    pub notes: Vec<String>,
    /// What it met, for the logs.
    pub met: Met,
    /// What befell its documents, by path.
    pub(super) moves: Vec<(String, Moved)>,
    /// Files that may not be edited, and why.
    barred: BTreeMap<String, Refused>,
    /// Whether candidates that had been offered count no more.
    pub(super) ended: bool,
    /// By how many characters buffers grew.
    pub delta: i64,
    pub(super) looked: BTreeMap<String, Looked>,
    /// Whether what is being saved was written down.
    pub(super) is_saving: bool,
    /// Bytes that are at hand.
    contents: BTreeMap<String, Rc<Vec<u8>>>,
    /// What they are as texts, where that was asked for: large files are decoded once.
    texts: RefCell<BTreeMap<String, (Rc<String>, Encoding)>>,
}

impl<'f, F: Files> Run<'f, F> {
    /// Begins one. Files of the session that may not be edited, or not any more, are neither read nor written.
    pub fn start_run(files: &'f F, mut session: Session, now: u64) -> Self {
        let mut barred = BTreeMap::new();
        // Whoever made the checkout may have made the session, too.
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
            session,
            now,
            met: Met::default(),
            moves: Vec::new(),
            ended: false,
            delta: 0,
            looked: BTreeMap::new(),
            is_saving: false,
            contents: BTreeMap::new(),
            texts: RefCell::default(),
        }
    }

    /// The manifest may be edited, whoever asks: what is finished was allowed when it was begun.
    pub(super) fn allow_manifest(&mut self) {
        self.barred.retain(|_, why| !matches!(why, Refused::Manifest(_)));
    }

    /// The name of this operation in the log.
    pub fn id(&self) -> String {
        format!("{}-{}", self.session.id, self.session.operations)
    }

    /// A document of the session.
    ///
    /// # Errors
    /// When it is none of the session.
    pub fn document(&self, path: &str) -> Result<&Document, Trouble> {
        self.session.documents.get(path).ok_or_else(|| {
            Trouble::new(
                format!("{path} is no document of this session"),
                "name it with path, and it becomes one",
            )
        })
    }

    pub(super) fn document_mut(&mut self, path: &str) -> &mut Document {
        self.session.documents.get_mut(path).expect("invariant: it was opened")
    }

    /// Lets something happen to a document; carries out what only concerns what is remembered of it.
    pub fn happen(&mut self, path: &str, event: Event) -> (Status, Vec<Effect>) {
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

    /// Whether a file may be edited; it may have been otherwise when it was opened.
    pub(super) fn is_barred(&self, path: &str) -> bool {
        self.barred.contains_key(path)
    }

    /// That a document is the manifest, which this operation may not edit; as a file nothing became of it.
    pub(super) fn not_allowed(&self, path: &str) -> Option<Trouble> {
        let why = self.barred.get(path).filter(|why| matches!(why, Refused::Manifest(_)))?;
        Some(Trouble::new(why.to_string(), why.hint()).at(path))
    }

    /// Reads a file and remembers how it looked.
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

    /// The content that some bytes are, which are at hand from now on.
    pub(super) fn at_hand(&mut self, bytes: Option<&Rc<Vec<u8>>>) -> Content {
        let content = content(bytes.map(|bytes| bytes.as_slice()));
        if let (Some(content), Some(bytes)) = (&content, bytes) {
            self.contents.insert(content.clone(), bytes.clone());
        }
        content
    }

    /// The file as it was seen, as a version; what is not there is written as `usual`.
    ///
    /// # Errors
    /// When it is no text.
    pub(super) fn seen(&self, path: &str, usual: Encoding) -> Result<Version, Trouble> {
        let encoding = match self.looked_text(path).transpose() {
            Ok(text) => text.map_or(usual, |(_, encoding)| encoding),
            Err(why) => return Err(no_text(path, &why)),
        };
        let looked = self.looked.get(path);
        let content = looked.and_then(|looked| looked.content.clone());
        Ok(Version::of(content, encoding, looked.and_then(|looked| looked.mode)))
    }

    /// Makes a file a document of the session, if it is none yet.
    ///
    /// # Errors
    /// When it is no text, or not there.
    pub fn open(&mut self, path: &str) -> Result<(), Trouble> {
        if self.session.documents.contains_key(path) {
            return Ok(());
        }
        if self.see(path).map_err(|error| unread(path, &error))?.is_none() {
            let why = Trouble::new(
                format!("there is no file {path}"),
                "check the path, which is meant from the workspace's root; `create` makes a new one",
            );
            return Err(why);
        }
        let document = Document::of(self.seen(path, PLAIN)?);
        self.session.documents.insert(path.to_owned(), document);
        Ok(())
    }

    /// Whether there is a text: in the buffer of a document, or else in the file.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub(super) fn is_there(&mut self, path: &str) -> Result<bool, Trouble> {
        match self.session.documents.get(path) {
            Some(document) => Ok(document.now.text.is_some()),
            None => Ok(self.see(path).map_err(|error| unread(path, &error))?.is_some()),
        }
    }

    /// Looks whether a new file would be the folder of another one: of a new one too, or of one that a buffer holds.
    ///
    /// # Errors
    /// When it would.
    pub(super) fn apart(&self, new: &[String]) -> Result<(), Trouble> {
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

    /// Looks whether a name is free for a new file.
    ///
    /// # Errors
    /// When a file is there, or a document with a text is.
    pub(super) fn free(&mut self, path: &str) -> Result<(), Trouble> {
        let seen = self.see(path).map_err(|error| unread(path, &error))?;
        let is_free = match self.session.documents.get(path).map(|document| &document.now) {
            // One whose removal is not saved yet is as good as gone.
            Some(now) => now.text.is_none() && (seen.is_none() || seen == now.base),
            None => seen.is_none(),
        };
        if is_free { Ok(()) } else { Err(path_taken(path)) }
    }

    /// Makes a file that is not there yet a document of the session.
    ///
    /// # Errors
    /// When it is there, or is a document already.
    pub fn open_new(&mut self, path: &str) -> Result<(), Trouble> {
        self.free(path)?;
        self.apart(&[path.to_owned()])?;
        self.session
            .documents
            .entry(path.to_owned())
            .or_insert_with(|| Document::of(Version::of(None, PLAIN, None)));
        Ok(())
    }

    /// Makes a file that is not there yet a document that is written as another one is, and may do what that one may.
    ///
    /// # Errors
    /// As [`Self::open_new`].
    pub fn open_like(&mut self, path: &str, other: &str) -> Result<(), Trouble> {
        let like = self.document(other)?.now.clone();
        self.open_new(path)?;
        let own = &mut self.document_mut(path).now;
        (own.encoding, own.mode) = (like.encoding, like.mode);
        Ok(())
    }

    /// The bytes that a document held.
    pub(super) fn bytes(&self, path: &str, wanted: &Content) -> Result<Option<Rc<Vec<u8>>>, Trouble> {
        let Some(wanted) = wanted else { return Ok(None) };
        if let Some(bytes) = self.contents.get(wanted) {
            return Ok(Some(bytes.clone()));
        }
        let bytes = read_kept_content(self.files, wanted)?;
        bytes.map(|bytes| Some(Rc::new(bytes))).ok_or_else(|| {
            let own = self.session.documents.get(path);
            if own.is_some_and(|own| !own.is_edited() && own.now.text.as_ref() == Some(wanted)) {
                let why = format!("the buffer of {path} had no edits, and what it held went with the file");
                return Trouble {
                    guidance: None,
                    ..Trouble::new(why, "").at(path)
                };
            }
            Trouble::new(
                format!("a version of {path} that this session needs is damaged or gone from .cortex/edit"),
                "`discard` takes the file as it is",
            )
        })
    }

    /// The text that a document held; `None` where there was no file.
    ///
    /// # Errors
    /// When it was lost.
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

    /// The text of a buffer.
    ///
    /// # Errors
    /// When there is none.
    pub fn text(&self, path: &str) -> Result<Rc<String>, Trouble> {
        let text = self.text_of(path, &self.document(path)?.now.text)?;
        text.map(|(text, _)| text).ok_or_else(|| {
            let guidance = match self.has_undo(path) {
                true => "`undo` gives the buffer back what it held; `create` makes the file anew",
                false => "`create` makes the file anew; `close` ends the session",
            };
            Trouble {
                guidance: Some(guidance.to_owned()),
                ..Trouble::new(format!("{path} is not there any more"), "").at(path)
            }
        })
    }

    /// Whether one of several matches is to be chosen.
    pub(super) fn offers(&self) -> bool {
        self.session.documents.values().any(|document| document.selection.is_some())
    }

    /// Whether a document allows an operation now.
    pub(super) fn allows(&self, path: &str, tool: Tool) -> bool {
        let document = self.session.documents.get(path);
        document.is_some_and(|document| allows(document.state.workflow_state(), self.session.mode, tool))
    }

    /// What can be asked of a document in such a state.
    pub(super) fn possible(&self, state: WorkflowState) -> Vec<Tool> {
        let mut tools = allowed(state, self.session.mode);
        // Other documents may have what is not saved, and one that is out of sync may have nothing.
        tools.retain(|tool| *tool != Tool::Close);
        if self.session.is_saved() && state != WorkflowState::Refreshing {
            tools.push(Tool::Close);
        }
        tools
    }

    /// Whether there is an edit of a document that can be taken back now.
    pub(super) fn has_undo(&self, path: &str) -> bool {
        let mut changes = self.session.done.iter().flat_map(|edit| &edit.changes);
        self.allows(path, Tool::Undo) && changes.any(|change| change.path == path)
    }

    /// What leads on where the file of a document cannot be read, and the buffer had nothing that the file had not: what it held went with the
    /// file. `None` where it holds something, or the file can be read.
    pub(super) fn went(&self, path: &str) -> Option<String> {
        let document = self.session.documents.get(path)?;
        let is_unread = document.state.ground() == (Ground::OutOfSync { conflict: false });
        let is_gone = is_unread && !document.is_edited() && self.bytes(path, &document.now.text).is_err();
        let close = if self.session.is_saved() { ", or `close`" } else { "" };
        is_gone.then(|| format!("mend the file, then call `refresh`{close}: this session has edited nothing in it that could be lost"))
    }

    /// What stands in the way of a file, told of its document: that has a buffer.
    pub(super) fn of_document(&self, trouble: Trouble) -> Trouble {
        if let Some(guidance) = trouble.path.as_ref().and_then(|path| self.went(path)) {
            return Trouble {
                guidance: Some(guidance),
                ..trouble
            };
        }
        let elsewhere = match self.session.mode {
            Mode::Disabled => "",
            Mode::Immediate | Mode::Manual => "; what the buffer holds can be saved elsewhere with `persist_as`",
        };
        let guidance = trouble.guidance.unwrap_or_default();
        Trouble {
            guidance: Some(format!("{guidance}, then call `refresh`{elsewhere}")),
            ..trouble
        }
    }

    /// Buffers get other texts (`None` takes the file away), as one edit, and what is to be saved at once is. All are edited, or none.
    ///
    /// # Errors
    /// When a text cannot be written in the encoding of its file, or there is no room to keep it.
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

    /// Buffers become other versions, as [`Self::edit`] says.
    ///
    /// # Errors
    /// When there is no room to keep them.
    pub(super) fn put_versions(&mut self, operation: &str, versions: Vec<(String, Version)>) -> Result<Status, Trouble> {
        let changes = self.become_all(versions)?;
        self.remember(operation, changes.clone());
        self.settle_all(&changes)
    }

    pub(super) fn remember(&mut self, operation: &str, changes: Vec<Change>) {
        let edit = Edit {
            operation: operation.to_owned(),
            id: self.id(),
            at: self.now,
            turn: self.files.turn(),
            changes,
        };
        self.session.remember(edit);
    }

    /// Buffers become other versions, whose bytes are at hand or kept. Those of before are kept with them.
    pub(super) fn become_all(&mut self, versions: Vec<(String, Version)>) -> Result<Vec<Change>, Trouble> {
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
            changes.push(Change { path, from, to });
        }
        for change in &changes {
            self.document_mut(&change.path).now.clone_from(&change.to);
            let (from, to) = (change.from.text.clone(), change.to.text.clone());
            self.moves.push((change.path.clone(), Moved::Own { from, to }));
        }
        Ok(changes)
    }

    /// Tells documents that they were edited, and saves those that are to be saved.
    pub(super) fn settle_all(&mut self, changes: &[Change]) -> Result<Status, Trouble> {
        let mut saves = Vec::new();
        for change in changes {
            let document = self.document(&change.path)?;
            // Where the file is what the buffer became there is nothing to save.
            let differs = document.is_edited();
            let (_, effects) = self.happen(&change.path, Event::Edited { differs });
            if effects.contains(&Effect::Save) {
                saves.push(change.path.clone());
            }
        }
        if saves.is_empty() { Ok(Status::Success) } else { self.save(&saves) }
    }
}

pub(super) fn path_taken(path: &str) -> Trouble {
    let hint = "name another path, edit the file that is there, or give it a whole new text with `write`";
    Trouble::new(format!("{path} is there already, and is not overwritten"), hint)
}

pub(super) fn unread(path: &str, error: &io::Error) -> Trouble {
    let hint = match error.kind() {
        io::ErrorKind::FileTooLarge => "edit it with another tool, or keep in it what is to be edited in files of its own",
        _ => "mend the file or its permissions",
    };
    Trouble::new(format!("{path} cannot be read: {error}"), hint).at(path)
}

pub(crate) fn no_text(path: &str, why: &Unreadable) -> Trouble {
    let hint = "edit another file, or mend this one outside";
    Trouble::new(format!("{path} is no text that can be edited: {why}"), hint).at(path)
}
