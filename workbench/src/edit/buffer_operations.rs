//! Operations between buffer and file: save, discard, diff, reread, undo.

use super::allowed_tools::Tool;
use super::changed::Changed;
use super::editing::{describe_file, saved_or_buffered};
use super::files::Files;
use super::guidance::both_seen;
use super::perform::Done;
use super::refusals::how_moved;
use super::run::{EditRun, Trouble};
use super::session::{Document, Version};
use super::state::{FileRelation, Mode, Reread, Status, WorkflowState};
use super::targets::resolve_path;
use crate::code_text::merge::unified_diff;

/// State of a file that cannot be read.
const UNREAD: FileRelation = FileRelation::OutOfSync { conflict: false };

pub(super) fn commit<F: Files>(run: &mut EditRun<'_, F>, paths: &[String]) -> Result<Done, Trouble> {
    let edited: Vec<String> = paths
        .iter()
        .filter(|path| run.document(path).is_ok_and(|document| document.is_edited()))
        .cloned()
        .collect();
    if edited.is_empty() {
        return Ok(Done::of(Status::NoOp, "there is nothing to save"));
    }
    let status = run.save(&edited)?;
    let mut done = match status {
        Status::Success => Done::of(status, format!("saved {}", edited.join(", "))),
        Status::ExternalConflict => Done::of(status, "not saved: the file was changed by another program where it is edited here"),
        _ => {
            let waits = edited.iter().filter(|path| run.document(path).is_ok_and(Document::is_edited));
            let waits: Vec<&str> = waits.map(String::as_str).collect();
            let (what, guidance) = match (waits.len() == edited.len(), waits.is_empty()) {
                (true, _) => ("nothing was saved, the edits are in the buffer".to_owned(), true),
                (_, true) => ("the files contain the edits, but may not survive a crash".to_owned(), false),
                _ => (format!("not saved, with the edits in the buffer: {}", waits.join(", ")), true),
            };
            let guidance = guidance.then(|| "remove the obstacle, then `commit` again; `persist_as` saves elsewhere".to_owned());
            Done {
                guidance,
                ..Done::of(status, what)
            }
        }
    };
    done.paths = edited;
    Ok(done)
}

/// Drops candidates that were `offered` before the files were checked; otherwise drops unsaved edits.
pub(super) fn discard<F: Files>(run: &mut EditRun<'_, F>, paths: &[String], offered: &[String]) -> Result<Done, Trouble> {
    let (mut dropped, mut changes, mut stopped) = (Vec::new(), Vec::new(), None);
    for path in paths {
        let chooses = run.document(path)?.state.workflow_state() == WorkflowState::SelectionPending;
        if offered.contains(path) && !chooses {
            // A foreign write already ended the candidates; the unsaved edits must stay.
            dropped.push(path.clone());
            continue;
        }
        let (status, change) = match run.discard(path) {
            Ok(done) => done,
            Err(trouble) => {
                stopped = Some(trouble);
                break;
            }
        };
        changes.extend(change);
        if status == Status::Success {
            dropped.push(path.clone());
        }
    }
    // All paths are one operation, so remember the discarded documents even after a failure.
    if !changes.is_empty() {
        run.remember("discard", changes);
    }
    if let Some(trouble) = stopped {
        return Err(trouble);
    }
    if dropped.is_empty() {
        return Ok(Done::of(Status::NoOp, "there is nothing to discard"));
    }
    let any = |paths: &[String], holds: fn(&Document) -> bool| paths.iter().any(|path| run.document(path).is_ok_and(holds));
    let (selections, edits): (Vec<String>, Vec<String>) = dropped.iter().cloned().partition(|path| offered.contains(path));
    let back = match any(&edits, |document| document.state.workflow_state() == WorkflowState::OutOfSync) {
        true => "back, once the file can be read",
        false => "back",
    };
    let what = match (selections.is_empty(), edits.is_empty()) {
        (true, _) => format!("dropped the unsaved edits; `undo` gives them {back}"),
        (false, false) => format!("dropped the selection, and unsaved edits in other files; `undo` gives these {back}"),
        (false, true) if any(&selections, Document::is_edited) => "dropped the selection; edits that are not saved stay".to_owned(),
        (false, true) => "dropped the selection".to_owned(),
    };
    Ok(Done {
        paths: dropped,
        ..Done::of(Status::Success, what)
    })
}

/// Returns both sides' changes against their common base.
pub(super) fn both_changes<F: Files>(run: &EditRun<'_, F>, path: &str) -> Result<String, Trouble> {
    let document = run.document(path)?;
    let text = |version| Ok::<_, Trouble>(run.text_of(path, version)?.map(|(text, _)| text).unwrap_or_default());
    let mut diffs = String::new();
    if document.is_edited() {
        let (base, ours) = (text(&document.now.base)?, text(&document.now.text)?);
        diffs = unified_diff(&base, &ours, path, &format!("{path} (buffer)"));
    }
    if document.seen != document.now.base {
        let theirs = text(&document.seen).and_then(|theirs| Ok((text(&document.now.base)?, theirs)));
        match theirs {
            Ok((base, theirs)) => diffs.push_str(&unified_diff(&base, &theirs, path, &format!("{path} (file)"))),
            Err(trouble) => diffs.push_str(&format!("{}\n", trouble.summary)),
        }
    }
    Ok(diffs)
}

pub(super) fn diff<F: Files>(run: &mut EditRun<'_, F>, paths: &[String]) -> Result<Done, Trouble> {
    let mut detail = String::new();
    for path in paths {
        detail.push_str(&both_changes(run, path)?);
    }
    let out = paths
        .iter()
        .any(|path| run.document(path).is_ok_and(|document| document.seen != document.now.base));
    let is_unread = |path: &String| run.document(path).is_ok_and(|document| document.state.file_relation() == UNREAD);
    let is_edited = |path: &String| run.document(path).is_ok_and(Document::is_edited);
    let summary = match (detail.is_empty(), out) {
        _ if paths.iter().any(is_unread) => match paths.iter().any(is_edited) {
            true => "what the buffer has",
            false => "the buffer has no edits",
        },
        (true, _) => "buffer and file are the same",
        (false, true) => "what the buffer has, and what another program did to the file",
        (false, false) => "what the buffer has and the file has not",
    };
    Ok(Done {
        guidance: paths
            .iter()
            .find_map(|path| both_seen(run.document(path).ok()?.state, run.session.mode)),
        ..Done::of(Status::Success, summary).with(detail)
    })
}

pub(super) fn refresh<F: Files>(run: &mut EditRun<'_, F>, paths: Vec<String>) -> Result<Done, Trouble> {
    let (mut sentences, mut detail) = (Vec::new(), String::new());
    let (mut status, mut guidance) = (Status::NoOp, None);
    for path in &paths {
        let (found, dropped) = run.refresh(path)?;
        match found {
            Reread::Same { .. } => continue,
            Reread::Taken if dropped => sentences.push(match run.document(path)?.now.text {
                Some(_) => format!("{path} has the file's text; `undo` gives the edits back"),
                None => format!("{path} was deleted, and its buffer is empty; `undo` restores the edits"),
            }),
            // The edit log already has the change of the buffer.
            Reread::Taken | Reread::Carried => {}
            Reread::Conflict => {
                sentences.push(how_moved(run, path)?);
                detail.push_str(&both_changes(run, path)?);
                guidance = both_seen(run.document(path)?.state, run.session.mode);
            }
        }
        if status != Status::ExternalConflict {
            status = if found == Reread::Conflict {
                Status::ExternalConflict
            } else {
                Status::Success
            };
        }
    }
    if status == Status::NoOp {
        let edits = paths.iter().any(|path| run.document(path).is_ok_and(Document::is_edited));
        let stay = if edits { "; edits that are not saved stay" } else { "" };
        let is_gone = |path: &String| run.document(path).is_ok_and(|own| own.now.text.is_none() && own.seen.is_none());
        sentences.push(match &paths[..] {
            [path] if is_gone(path) => {
                guidance = Some("`create` creates the file again; `close` ends the session".to_owned());
                format!("there is still no file {path}")
            }
            [_] => format!("the file has not changed{stay}"),
            _ => format!("the files have not changed{stay}"),
        });
    }
    Ok(Done {
        guidance,
        paths,
        ..Done::of(status, sentences.join("; ")).with(detail)
    })
}

pub(super) fn persist_as<F: Files>(run: &mut EditRun<'_, F>, path: &str, given: &str) -> Result<Done, Trouble> {
    let other = resolve_path(run.files, given)?;
    let text = run.document(path)?.now.text.clone();
    if run.bytes(path, &text)?.is_none() {
        let why = Trouble::new(format!("there is nothing to save: {path} was deleted, and its buffer is empty"), "");
        let guidance = match run.has_undo(path) {
            true => "restore the buffer with `undo`, then call `persist_as`",
            false => "`create` creates the file again; `close` ends the session",
        };
        let guidance = Some(guidance.to_owned());
        return Err(Trouble { guidance, ..why }.at(path));
    }
    run.open_like(&other, path)?;
    let copy = Version {
        text,
        ..run.document(&other)?.now.clone()
    };
    let mut status = run.put_versions("persist_as", vec![(other.clone(), copy)])?;
    if run.session.mode == Mode::Manual {
        status = run.save(std::slice::from_ref(&other))?;
    }
    let what = if status == Status::Success { "saved" } else { "could not be saved" };
    Ok(Done {
        paths: vec![other.clone()],
        ..Done::of(status, format!("the buffer of {path} is {what} as {other}; {path} is as it was"))
    })
}

/// Most lines of a difference that the answer to an undo shows; of a longer one it lists the files, unless the answer has the full form.
const MOST_SHOWN: usize = 60;

/// Undoes or redoes an edit. If the request named none, `shown` adds the resulting changes.
pub(super) fn undo_or_redo<F: Files>(run: &mut EditRun<'_, F>, redo: bool, only: Option<&str>, shown: bool) -> Result<Done, Trouble> {
    let mut before = Vec::new();
    for (path, document) in run.session.documents.iter().filter(|_| shown) {
        before.push((path.clone(), run.text_of(path, &document.now.text)?.map(|(text, _)| text)));
    }
    let taken = run.undo_or_redo(redo, only)?;
    let what = if redo { "redone" } else { "undone" };
    let summary = format!("{what}: {}{}", taken.operation, saved_or_buffered(run, &taken.paths, taken.status));
    let (mut detail, mut changed) = (String::new(), Vec::new());
    for path in taken.paths.iter().filter(|_| taken.status == Status::ExternalConflict) {
        detail.push_str(&both_changes(run, path)?);
    }
    for (path, before) in before
        .iter()
        .filter(|(path, _)| taken.paths.contains(path) && taken.status == Status::Success)
    {
        let after = run.text_of(path, &run.document(path)?.now.text)?.map(|(text, _)| text);
        let (old, new) = (before.as_deref().map(String::as_str), after.as_deref().map(String::as_str));
        detail.push_str(&unified_diff(
            old.unwrap_or_default(),
            new.unwrap_or_default(),
            &describe_file(path, old),
            &describe_file(path, new),
        ));
        changed.push(Changed::from_texts(path, old, new));
    }
    if detail.lines().count() <= MOST_SHOWN {
        // The answer shows the difference instead.
        changed.clear();
    }
    Ok(Done {
        paths: taken.paths,
        changed,
        ..Done::of(taken.status, summary).with(detail)
    })
}

pub(super) fn close<F: Files>(run: &mut EditRun<'_, F>, paths: &[String]) -> Result<Done, Trouble> {
    if run.session.is_saved() {
        return Ok(Done::of(Status::Success, "the session has ended"));
    }
    let edited = paths
        .iter()
        .find(|path| run.document(path).is_ok_and(|document| document.is_edited()));
    let path = edited.cloned().unwrap_or_default();
    let ways = [(Tool::Commit, "`commit`"), (Tool::Discard, "`discard`")].into_iter();
    let ways: Vec<&str> = ways.filter(|(tool, _)| run.allows(&path, *tool)).map(|(_, name)| name).collect();
    let hint = format!("call {} first", ways.join(" or "));
    Err(Trouble::new("the session has edits that are not saved", hint).at(&path))
}
