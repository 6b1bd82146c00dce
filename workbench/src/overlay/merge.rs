//! Merging an overlay into its workspace: each document three ways against what it was made of. Either all files are written and the overlay ends, or
//! none is, and what stands in the way is told by its lines.
//!
//! What is being written is noted first, so that a merge that is cut short is brought to its end by the next one.

use super::OverlayError;
use super::record::{Document, LIFETIME, Overlay, find, remove_record, store};
use super::texts;
use super::three_way::join;
use crate::edit::encoding::{decode, encode};
use crate::edit::files::{FileWithBytes, Files, Save, SaveError, is_torn};
use crate::edit::lines::{Ends, body, split};
use engine::values::digest::Digest;
use std::collections::BTreeMap;
use std::ops::Range;
use std::rc::Rc;

/// So often a merge is tried again that somebody else's write came between.
const TRIES: usize = 3;
/// Lines of each side that a conflict shows.
const SHOWN: usize = 12;

/// What a merge came to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Merged {
    /// The files, in order, and what became of each; where there are conflicts, what would.
    pub files: Vec<(String, How)>,
    /// What stands in the way; if anything does, nothing was written.
    pub conflicts: Vec<Conflict>,
    /// The files that were there and were written anew, for who looks on.
    pub writes: Vec<Write>,
}

/// What a file held before, and since.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Write {
    /// The file.
    pub path: String,
    /// Its bytes of before.
    pub before: Vec<u8>,
    /// Its bytes of now.
    pub after: Rc<Vec<u8>>,
}

/// What a merge does with a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    /// The file becomes the document.
    Written,
    /// The file has what was changed on both sides.
    Joined,
    /// The file goes.
    Removed,
    /// The file is so already.
    Same,
}

/// Lines of one side.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Span {
    /// The first, from 1.
    pub line: usize,
    /// How many.
    pub lines: usize,
    /// The first of them, as text.
    pub text: String,
}

/// A place that both sides changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conflict {
    /// The file.
    pub path: String,
    /// What is wrong, in a sentence.
    pub why: String,
    /// The lines that both were made of; `None` where it is not about lines.
    pub base: Option<Span>,
    /// Those of the overlay.
    pub ours: Option<Span>,
    /// Those of the workspace.
    pub theirs: Option<Span>,
}

/// How one document merges: the bytes that its file is to have, if it is to have others.
pub(super) enum Outcome {
    Leave,
    Become(How, Option<Vec<u8>>),
    Clash(Vec<Conflict>),
}

/// Merges an overlay and ends it, unless there are conflicts.
///
/// # Errors
/// When there is no such overlay, its texts are gone, or files cannot be written; then none is.
pub fn merge<F: Files>(files: &F, name: &str, now: u64) -> Result<Merged, OverlayError> {
    find(files, name, now)?;
    let _alone = files.lock_for_editing()?;
    let mut tries = TRIES;
    loop {
        let mut overlay = find(files, name, now)?;
        // Where a merge was cut short, what it was writing is what is left to write: the workspace has some of it.
        let documents = match overlay.merging.is_empty() {
            true => overlay.documents.clone(),
            false => overlay.merging.clone(),
        };
        let (mut merged, saves) = planned(files, &documents)?;
        if !merged.conflicts.is_empty() {
            return Ok(merged);
        }
        if !saves.is_empty() {
            note(files, name, &mut overlay, &saves)?;
            match files.save(&saves.iter().map(|planned| planned.save.clone()).collect::<Vec<_>>()) {
                Ok(()) => {}
                Err(error) => {
                    let is_back = back(files, &saves, &error);
                    if is_back {
                        overlay.merging.clear();
                        store(files, name, &overlay)?;
                    }
                    if matches!(error, SaveError::Moved { .. }) && tries > 0 {
                        tries -= 1;
                        continue;
                    }
                    return Err(error.into());
                }
            }
        }
        texts::leave_merged(files, name, now.saturating_add(LIFETIME))?;
        remove_record(files, name, now)?;
        merged.writes = saves.into_iter().filter_map(Planned::into_write).collect();
        return Ok(merged);
    }
}

/// A save, and what it replaces.
struct Planned {
    save: Save,
    /// What the file holds before, and its permissions.
    before: Option<(Vec<u8>, u32)>,
}

impl Planned {
    fn theirs(&self) -> Option<&[u8]> {
        self.before.as_ref().map(|(bytes, _)| bytes.as_slice())
    }

    fn into_write(self) -> Option<Write> {
        Some(Write {
            path: self.save.path,
            before: self.before?.0,
            after: self.save.bytes?,
        })
    }
}

/// What a merge of documents would do.
fn planned<F: Files>(files: &F, documents: &BTreeMap<String, Document>) -> Result<(Merged, Vec<Planned>), OverlayError> {
    let (mut merged, mut saves) = (Merged::default(), Vec::new());
    for (path, document) in documents {
        let clash = |why: String| Conflict {
            path: path.clone(),
            why,
            base: None,
            ours: None,
            theirs: None,
        };
        let found = match standing(files, path) {
            Ok(found) => found,
            Err(why) => {
                merged.conflicts.push(clash(why));
                continue;
            }
        };
        let seen = found.as_ref().map(|found| found.stamp);
        let theirs = found.as_ref().map(|found| found.bytes.as_slice());
        match outcome(files, path, document, theirs)? {
            Outcome::Leave => merged.files.push((path.clone(), How::Same)),
            Outcome::Clash(conflicts) => merged.conflicts.extend(conflicts),
            Outcome::Become(how, bytes) => {
                merged.files.push((path.clone(), how));
                let bytes = bytes.map(Rc::new);
                let save = Save {
                    path: path.clone(),
                    seen,
                    bytes,
                    mode: document.mode,
                };
                let before = found.map(|found| (found.bytes, found.mode));
                saves.push(Planned { save, before });
            }
        }
    }
    Ok((merged, saves))
}

/// What stands in the place of a document now; `Err`: why nothing can be merged there, in a sentence. Whoever made the checkout may have made the
/// record, and what was a file may be a link by now.
pub(super) fn standing<F: Files>(files: &F, path: &str) -> Result<Option<FileWithBytes>, String> {
    match files.resolve(path) {
        Ok(real) if real == path => {}
        Ok(real) => return Err(format!("it leads to {real} now")),
        Err(why) => return Err(why.to_string()),
    }
    files.read(path).map_err(|error| format!("it cannot be read: {error}"))
}

/// Notes what is about to be written, with what each file holds.
fn note<F: Files>(files: &F, name: &str, overlay: &mut Overlay, saves: &[Planned]) -> Result<(), OverlayError> {
    let mut merging = BTreeMap::new();
    for planned in saves {
        let save = &planned.save;
        let document = Document {
            base: texts::write_text(files, planned.theirs())?,
            now: texts::write_text(files, save.bytes.as_ref().map(|bytes| bytes.as_slice()))?,
            mode: save.mode,
        };
        merging.insert(save.path.clone(), document);
    }
    overlay.merging = merging;
    store(files, name, overlay)
}

/// Takes back what was written before something could not be. Whether all is as it was.
fn back<F: Files>(files: &F, saves: &[Planned], error: &SaveError) -> bool {
    // The one that could not be written may hold all of it, or some.
    let tried = match error {
        SaveError::Io { saved, .. } => saves.len().min(saved + 1),
        _ => 0,
    };
    let mut undone = Vec::new();
    let mut is_known = true;
    for Planned { save, before } in &saves[..tried] {
        let Ok(found) = files.read(&save.path) else { return false };
        let (is, was) = (found.as_ref().map(|found| &found.bytes), before.as_ref().map(|(bytes, _)| bytes));
        let to = save.bytes.as_deref();
        let is_ours = is == to || matches!((is, was, to), (Some(is), Some(was), Some(to)) if is_torn(is, was, to));
        is_known &= is == was || is_ours;
        if is != was && is_ours {
            undone.push(Save {
                path: save.path.clone(),
                seen: found.map(|found| found.stamp),
                bytes: before.as_ref().map(|(bytes, _)| Rc::new(bytes.clone())),
                mode: before.as_ref().map(|(_, mode)| *mode),
            });
        }
    }
    let is_back = undone.is_empty() || files.save(&undone).is_ok();
    saves.iter().for_each(|planned| files.unstage(&planned.save.path));
    is_known && is_back
}

/// How a document merges with what its file is now.
pub(super) fn outcome<F: Files>(files: &F, path: &str, document: &Document, theirs: Option<&[u8]>) -> Result<Outcome, OverlayError> {
    let is = theirs.map(Digest::of);
    if is == document.now || document.now == document.base {
        return Ok(Outcome::Leave);
    }
    let ours = texts::read_overlay_text(files, document.now.as_ref())?;
    if is == document.base {
        let how = if ours.is_some() { How::Written } else { How::Removed };
        return Ok(Outcome::Become(how, ours));
    }
    let base = texts::read_overlay_text(files, document.base.as_ref())?;
    let why = match (&base, &ours, theirs) {
        (Some(base), Some(ours), Some(theirs)) => return Ok(joined(path, base, ours, theirs)),
        (_, None, _) => "it is removed in the overlay and was changed in the workspace",
        (_, Some(_), None) => "it is changed in the overlay and was removed in the workspace",
        (None, Some(_), Some(_)) => "it is new in the overlay, and another one is in the workspace",
    };
    let whole = |bytes: Option<&[u8]>| {
        let (text, _) = decode(bytes?).ok()?;
        let lines: Vec<&str> = split(&text).collect();
        Some(span(&lines, &(0..lines.len())))
    };
    Ok(Outcome::Clash(vec![Conflict {
        path: path.to_owned(),
        why: why.to_owned(),
        base: whole(base.as_deref()),
        ours: whole(ours.as_deref()),
        theirs: whole(theirs),
    }]))
}

/// Joins three texts; they are read as they are written.
fn joined(path: &str, base: &[u8], ours: &[u8], theirs: &[u8]) -> Outcome {
    let clash = |why: String| {
        Outcome::Clash(vec![Conflict {
            path: path.to_owned(),
            why,
            base: None,
            ours: None,
            theirs: None,
        }])
    };
    let texts = match (decode(base), decode(ours), decode(theirs)) {
        (Ok(base), Ok(ours), Ok(theirs)) => [base, ours, theirs],
        (.., Err(why)) => return clash(format!("it was changed in the workspace and is no text there: {why}")),
        _ => return clash("it was no text when the overlay changed it, and was changed in the workspace".to_owned()),
    };
    let [(base, was), (ours, mine), (theirs, yours)] = &texts;
    let encoding = match () {
        () if mine == was || mine == yours => yours,
        () if yours == was => mine,
        () => return clash(format!("it is {} in the overlay and {} in the workspace", mine.form, yours.form)),
    };
    match join(base, ours, theirs) {
        Ok(text) if text == *theirs && encoding == yours => Outcome::Leave,
        Ok(text) => match encode(text, *encoding) {
            Ok(bytes) => Outcome::Become(How::Joined, Some(bytes)),
            Err(why) => clash(format!("what both sides changed cannot be written: {why}")),
        },
        Err(clashes) => {
            let [base, ours, theirs] = [base, ours, theirs].map(|text| split(text).collect::<Vec<&str>>());
            let conflicts = clashes.iter().map(|clash| Conflict {
                path: path.to_owned(),
                why: why(&ours[clash.ours.clone()], &theirs[clash.theirs.clone()]),
                base: Some(span(&base, &clash.base)),
                ours: Some(span(&ours, &clash.ours)),
                theirs: Some(span(&theirs, &clash.theirs)),
            });
            Outcome::Clash(conflicts.collect())
        }
    }
}

/// What both sides did to some lines, of which they have these now.
fn why(ours: &[&str], theirs: &[&str]) -> String {
    let bodies = |lines: &[&str]| lines.iter().map(|line| body(line).to_owned()).collect::<Vec<_>>();
    match bodies(ours) == bodies(theirs) {
        true => {
            let [ours, theirs] = [ours, theirs].map(|lines| Ends::of(&lines.concat()));
            format!("both sides changed the ends of these lines: {ours} in the overlay, {theirs} in the workspace")
        }
        false => "both sides changed these lines".to_owned(),
    }
}

fn span(lines: &[&str], range: &Range<usize>) -> Span {
    let shown = range.start..range.end.min(range.start + SHOWN);
    Span {
        line: range.start + 1,
        lines: range.len(),
        text: lines[shown].concat(),
    }
}
