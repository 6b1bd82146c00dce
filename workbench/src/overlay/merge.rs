//! Merges an overlay into its workspace: a three-way merge of each document against its base. Either all files are written and the overlay ends, or
//! no file is written and the merge reports the conflicts by their lines.
//!
//! The files are saved as an edit of a session: `edit undo` reverts a merge, and an interrupted one is completed, or rolled back and merged again.

use super::OverlayError;
use super::record::{remove_record, store, unexpired_overlay};
use super::texts;
use crate::code_text::encoding::{decode, encode};
use crate::code_text::lines::{Ends, body, split};
use crate::code_text::merge::{AdjacentChanges, join};
use crate::edit::files::{FileWithBytes, Files, Save, SaveError};
use crate::edit::overlay_record::{Overlay, OverlayDocument};
use crate::edit::saving::{finish, save_merge};
use crate::edit::session::{LIFETIME, Saving};
use engine::values::digest::Digest;
use std::collections::BTreeMap;
use std::ops::Range;
use std::rc::Rc;

/// Retries of a merge when another process wrote a file in between.
const TRIES: usize = 3;
/// Lines of each side that a conflict shows.
const SHOWN: usize = 12;

/// The result of a merge.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Merged {
    /// The files, in order, each with its result; with conflicts, the result that it would have.
    pub files: Vec<(String, How)>,
    /// The conflicts; if there are any, nothing was written.
    pub conflicts: Vec<Conflict>,
    /// The edit session that contains the merge as its edit, if the merge wrote files.
    pub session: Option<String>,
    /// Sentences about saves that were cut short before.
    pub notes: Vec<String>,
}

/// The result of a merge for one file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    /// The file becomes the document.
    Written,
    /// The file gets the changes of both sides.
    Joined,
    Removed,
    /// The file already equals the document.
    Same,
}

/// Lines of one side.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Span {
    /// The first line, from 1.
    pub line: usize,
    /// The number of lines.
    pub lines: usize,
    /// The first of the lines, as text.
    pub text: String,
}

/// A region that both sides changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conflict {
    pub path: String,
    /// The cause, in one sentence.
    pub why: String,
    /// The lines of the common base; `None` if the conflict is not about lines.
    pub base: Option<Span>,
    /// The lines of the overlay.
    pub ours: Option<Span>,
    /// The lines of the workspace.
    pub theirs: Option<Span>,
}

/// The result of merging one document: the new bytes of its file, if they change.
pub(super) enum Outcome {
    Leave,
    Become(How, Option<Vec<u8>>),
    Clash(Vec<Conflict>),
}

/// Merges an overlay and ends it, unless there are conflicts. Fails when there is no such overlay, its texts are missing, or files cannot
/// be written; then no file is written.
pub fn merge<F: Files>(files: &F, name: &str, now: u64) -> Result<Merged, OverlayError> {
    unexpired_overlay(files, name, now)?;
    let _alone = files.lock_for_editing()?;
    // A save that was cut short has staged files, which this save would replace.
    let notes = finish(files, now)?;
    let mut tries = TRIES;
    loop {
        let mut overlay = unexpired_overlay(files, name, now)?;
        let (mut merged, planned) = plan_merge(files, &overlay.documents)?;
        merged.notes.clone_from(&notes);
        if !merged.conflicts.is_empty() {
            return Ok(merged);
        }
        if !planned.is_empty() {
            let saving = rebase_documents(files, name, &mut overlay, &planned)?;
            let saves: Vec<Save> = planned.iter().map(|planned| planned.save.clone()).collect();
            match save_merge(files, name, &saves, &saving, now)? {
                Ok(session) => merged.session = Some(session),
                Err(SaveError::Moved { .. }) if tries > 0 => {
                    tries -= 1;
                    continue;
                }
                Err(error) => return Err(error.into()),
            }
        }
        texts::leave_merged(files, name, now.saturating_add(LIFETIME))?;
        remove_record(files, name, now)?;
        return Ok(merged);
    }
}

/// A save with the contents that it replaces.
struct Planned {
    save: Save,
    /// The bytes of the file before, and its permissions.
    before: Option<(Vec<u8>, u32)>,
}

/// Computes the merge of documents without writing files.
fn plan_merge<F: Files>(files: &F, documents: &BTreeMap<String, OverlayDocument>) -> Result<(Merged, Vec<Planned>), OverlayError> {
    let (mut merged, mut saves) = (Merged::default(), Vec::new());
    for (path, document) in documents {
        let clash = |why: String| Conflict {
            path: path.clone(),
            why,
            base: None,
            ours: None,
            theirs: None,
        };
        let found = match read_target_file(files, path) {
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

/// Returns the file in the place of a document; `Err`: why the document cannot be merged there, in a sentence. Do not trust the path: the checkout's
/// author may have written the record, and a link may have replaced the file.
pub(super) fn read_target_file<F: Files>(files: &F, path: &str) -> Result<Option<FileWithBytes>, String> {
    match files.resolve(path) {
        Ok(real) if real == path => {}
        Ok(real) => return Err(format!("it leads to {real} now")),
        Err(why) => return Err(why.to_string()),
    }
    files.read(path).map_err(|error| format!("it cannot be read: {error}"))
}

/// Bases documents on the present files, so that an interrupted merge leaves an overlay that can be merged again. Returns the files to save.
fn rebase_documents<F: Files>(files: &F, name: &str, overlay: &mut Overlay, planned: &[Planned]) -> Result<Vec<Saving>, OverlayError> {
    let mut saving = Vec::new();
    for Planned { save, before } in planned {
        let document = OverlayDocument {
            base: texts::write_text(files, before.as_ref().map(|(bytes, _)| bytes.as_slice()))?,
            now: texts::write_text(files, save.bytes.as_ref().map(|bytes| bytes.as_slice()))?,
            mode: save.mode,
        };
        saving.push(Saving {
            path: save.path.clone(),
            from: document.base.map(|digest| digest.to_string()),
            to: document.now.map(|digest| digest.to_string()),
            mode: save.mode.or(before.as_ref().map(|(_, mode)| *mode)),
        });
        overlay.documents.insert(save.path.clone(), document);
    }
    store(files, name, overlay)?;
    Ok(saving)
}

/// Merges a document with the present bytes of its file.
pub(super) fn outcome<F: Files>(files: &F, path: &str, document: &OverlayDocument, theirs: Option<&[u8]>) -> Result<Outcome, OverlayError> {
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
        (Some(base), Some(ours), Some(theirs)) => return Ok(merge_three_texts(path, base, ours, theirs)),
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

/// Joins three texts, compared in their encoded form.
fn merge_three_texts(path: &str, base: &[u8], ours: &[u8], theirs: &[u8]) -> Outcome {
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
        (.., Err(why)) => return clash(format!("it was changed in the workspace and is not text there: {why}")),
        _ => return clash("it was no text when the overlay changed it, and was changed in the workspace".to_owned()),
    };
    let [(base, was), (ours, mine), (theirs, yours)] = &texts;
    let encoding = match () {
        () if mine == was || mine == yours => yours,
        () if yours == was => mine,
        () => return clash(format!("it is {} in the overlay and {} in the workspace", mine.form, yours.form)),
    };
    match join(base, ours, theirs, AdjacentChanges::Conflict) {
        Ok(joined) if joined.text == *theirs && encoding == yours => Outcome::Leave,
        Ok(joined) => match encode(joined.text, *encoding) {
            Ok(bytes) => Outcome::Become(How::Joined, Some(bytes)),
            Err(why) => clash(format!("what both sides changed cannot be written: {why}")),
        },
        Err(clashes) => {
            let [base, ours, theirs] = [base, ours, theirs].map(|text| split(text).collect::<Vec<&str>>());
            let conflicts = clashes.iter().map(|clash| Conflict {
                path: path.to_owned(),
                why: describe_conflict(&ours[clash.ours.clone()], &theirs[clash.theirs.clone()]),
                base: Some(span(&base, &clash.base)),
                ours: Some(span(&ours, &clash.ours)),
                theirs: Some(span(&theirs, &clash.theirs)),
            });
            Outcome::Clash(conflicts.collect())
        }
    }
}

/// Describes how both sides changed the same lines, given the present lines of each.
fn describe_conflict(ours: &[&str], theirs: &[&str]) -> String {
    let bodies = |lines: &[&str]| lines.iter().map(|line| body(line).to_owned()).collect::<Vec<_>>();
    match bodies(ours) == bodies(theirs) {
        true => {
            let [ours, theirs] = [ours, theirs].map(|lines| Ends::from_text(&lines.concat()));
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
