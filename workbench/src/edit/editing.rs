//! The operations that change a buffer.

use super::candidate;
use super::changed::Changed;
use super::edit_log::TRACED;
use super::files::Files;
use super::guidance::by_state;
use super::line_ends::{adapt_line_ends, note_line_ends, with_line_ends_of_file};
use super::match_failure;
use super::matching::find_occurrences;
use super::order::{BatchEdit, Rewritten};
use super::perform::Done;
use super::run::{EditRun, Trouble};
use super::session::{ENDS, Selection};
use super::state::{Event, Mode, Status, WorkflowState};
use super::symbol;
use super::targets::resolve_path;
use crate::code_text::encoding::Written;
use crate::code_text::lines::{Ends, fit, split};
use crate::code_text::merge::unified_diff;
use engine::values::quantity::plural;
use serde_json::json;

/// Most bytes of a difference that an answer shows.
const MOST_SHOWN: usize = 128 << 10;

pub(super) fn open_document<F: Files>(run: &EditRun<'_, F>, path: &str) -> Result<Done, Trouble> {
    let text = run.text(path)?;
    let document = run.document(path)?;
    let mark = if document.now.encoding.mark {
        " with a byte order mark"
    } else {
        ""
    };
    let end = if text.is_empty() || text.ends_with(['\n', '\r']) {
        ""
    } else {
        ", no end of its last line"
    };
    let summary = format!(
        "{path} is open: {} lines, {}{mark}, {}{end}; edits are {}",
        split(&text).count(),
        document.now.encoding.form,
        Ends::from_text(&text),
        match run.session.mode {
            Mode::Immediate => "saved at once",
            Mode::Manual => "saved by `commit`",
            Mode::Disabled => "never saved",
        }
    );
    Ok(Done {
        guidance: Some(format!("edit with `replace`; {ENDS}")),
        ..Done::of(Status::Success, summary)
    })
}

/// Applies an edit and returns its answer; encodings stay.
pub(super) fn apply_edit<F: Files>(
    run: &mut EditRun<'_, F>,
    operation: &str,
    texts: Vec<(String, Option<String>)>,
    what: &str,
) -> Result<Done, Trouble> {
    let mut all = Vec::new();
    for (path, text) in texts {
        let now = &run.document(&path)?.now;
        let before = run.text_of(&path, &now.text)?.map(|(text, _)| text);
        let of = |text| Written::from_edit(text, before.as_deref().map(String::as_str), now.encoding);
        let text = text.map(of);
        all.push((path, text));
    }
    edit_with_encoding(run, operation, all, what)
}

/// Applies an edit with given encodings and returns its answer.
pub(super) fn edit_with_encoding<F: Files>(
    run: &mut EditRun<'_, F>,
    operation: &str,
    texts: Vec<(String, Option<Written>)>,
    what: &str,
) -> Result<Done, Trouble> {
    let mut before = Vec::new();
    for (path, _) in &texts {
        let now = run.document(path)?.now.text.clone();
        before.push((path.clone(), run.text_of(path, &now)?.map(|(text, _)| text)));
    }
    let mut changed = Vec::new();
    for ((path, written), (_, before)) in texts.into_iter().zip(&before) {
        let encoding = run.document(&path)?.now.encoding;
        let is_new = match (&written, before) {
            (Some(written), Some(before)) => written.text != **before || written.encoding != encoding,
            (written, before) => written.is_some() || before.is_some(),
        };
        if is_new {
            changed.push((path, written));
        }
    }
    let texts = changed;
    if texts.is_empty() {
        for (path, _) in &before {
            run.apply_event(path, Event::Nothing);
        }
        return Ok(Done::of(Status::NoOp, "old and new are the same: nothing was changed"));
    }
    let paths: Vec<String> = texts.iter().map(|(path, _)| path.clone()).collect();
    let (mut detail, mut changed) = (String::new(), Vec::new());
    for (path, text) in &texts {
        let old = before.iter().find(|(other, _)| other == path).and_then(|(_, text)| text.as_ref());
        let old = old.map(|text| text.as_str());
        let new = text.as_ref().map(|written| written.text.as_str());
        changed.push(Changed::from_texts(path, old, new));
        detail.push_str(&unified_diff(
            old.unwrap_or_default(),
            new.unwrap_or_default(),
            &describe_file(path, old),
            &describe_file(path, new),
        ));
    }
    let status = run.edit(operation, texts)?;
    let mut done = Done::of(status, format!("{what}{}", saved_or_buffered(run, &paths, status))).with(cut_difference(detail));
    (done.paths, done.changed) = (paths, changed);
    if status == Status::PersistFailure {
        done.guidance = Some("remove the obstacle, then call `commit` to save, `persist_as` to save elsewhere, or `discard`".to_owned());
    }
    Ok(done)
}

/// Truncates a long difference.
fn cut_difference(mut detail: String) -> String {
    let at = detail.floor_char_boundary(MOST_SHOWN);
    let rest = detail.len() - at;
    if rest > 0 {
        detail.truncate(at);
        detail.push_str(&format!("\n… and {rest} bytes more, which are not shown\n"));
    }
    detail
}

pub(super) fn describe_file(path: &str, text: Option<&str>) -> String {
    if text.is_some() { path.to_owned() } else { "/dev/null".to_owned() }
}

/// Returns the end of a summary: whether the edit was saved.
pub(super) fn saved_or_buffered<F: Files>(run: &EditRun<'_, F>, paths: &[String], status: Status) -> &'static str {
    let is_out = |path: &String| {
        run.document(path)
            .is_ok_and(|document| document.state.workflow_state() == WorkflowState::OutOfSync)
    };
    match (status, run.session.mode) {
        (Status::Success, Mode::Immediate | Mode::Manual) if paths.iter().any(is_out) => {
            " in the buffer; not saved, because the file differs from the base of the buffer"
        }
        // Nothing was written, so the file already equals the buffer.
        (Status::Success, Mode::Immediate) if run.met.saves.is_empty() => " in the buffer; the file holds that already and was not written",
        (Status::Success, Mode::Immediate) => ", saved",
        (Status::Success, Mode::Manual) => " in the buffer",
        (Status::Success, Mode::Disabled) => " in the buffer, which is not saved",
        (Status::PersistFailure, _) => " in the buffer; it could not be saved",
        (Status::ExternalConflict, _) => " in the buffer; the file was changed by another program at the same place and is not saved",
        _ => "",
    }
}

pub(super) fn replace<F: Files>(run: &mut EditRun<'_, F>, path: &str, old: &str, new: &str, fits: bool) -> Result<Done, Trouble> {
    let text = run.text(path)?;
    let (old, new) = adapt_line_ends(run, path, &text, (old, new), fits);
    place_one(run, path, &text, &old, &new, "replaced one occurrence of oldText")
}

/// Replaces all occurrences of a text.
pub(super) fn replace_all<F: Files>(run: &mut EditRun<'_, F>, path: &str, old: &str, new: &str, fits: bool) -> Result<Done, Trouble> {
    let text = run.text(path)?;
    let (old, new) = adapt_line_ends(run, path, &text, (old, new), fits);
    let count = if old.is_empty() { 0 } else { text.matches(&old).count() };
    if count == 0 {
        return place_one(run, path, &text, &old, &new, "");
    }
    trace(run, path, &text, &old);
    let what = format!("replaced {} of oldText", plural(count, "occurrence"));
    apply_edit(run, "replace", vec![(path.to_owned(), Some(text.replace(&old, &new)))], &what)
}

/// Replaces the only occurrence of a text; offers candidates if there are several.
pub(super) fn place_one<F: Files>(
    run: &mut EditRun<'_, F>,
    path: &str,
    text: &str,
    old: &str,
    new: &str,
    what: &str,
) -> Result<Done, Trouble> {
    let found = find_occurrences(text, old, 0, candidate::SHOWN);
    trace(run, path, text, old);
    match found.count {
        0 => {
            run.apply_event(path, Event::Nowhere);
            let held = run.searched_text(path);
            let miss = match_failure::explain(held.name(), text, old);
            let way = match old.is_empty() {
                true => "give the text to replace as oldText",
                false => held.way(),
            };
            Ok(Done {
                guidance: Some(way.to_owned()),
                ..Done::of(
                    Status::NoMatch,
                    format!("no match in {}: {}", held.describe_with_path(path), miss.why),
                )
                .with(miss.near.join("\n"))
            })
        }
        1 => {
            let at = found.at[0];
            let made = [&text[..at], new, &text[at + old.len()..]].concat();
            apply_edit(run, "replace", vec![(path.to_owned(), Some(made))], what)
        }
        count => {
            let snapshot = run.document(path)?.now.text.clone();
            run.apply_event(path, Event::Several);
            if let Some(document) = run.session.documents.get_mut(path) {
                document.selection = Some(Selection {
                    snapshot,
                    needle: old.to_owned(),
                    replacement: new.to_owned(),
                    count,
                });
            }
            list_candidates(run, path, 0)
        }
    }
}

/// Records the occurrences of a text (byte offsets) and the version searched, so that the log shows how a choice came about.
fn trace<F: Files>(run: &mut EditRun<'_, F>, path: &str, text: &str, needle: &str) {
    if run.files.is_logging() {
        let found = find_occurrences(text, needle, 0, TRACED);
        let snapshot = run.session.documents.get(path).map(|document| document.now.text.clone());
        run.met.matches = Some(json!({"snapshot": snapshot, "count": found.count, "at": found.at}));
    }
}

/// Lists the candidates of the selection from a number on (from 0).
pub(super) fn list_candidates<F: Files>(run: &mut EditRun<'_, F>, path: &str, from: usize) -> Result<Done, Trouble> {
    let text = run.text(path)?;
    let selection = selection(run, path)?;
    let found = find_occurrences(&text, &selection.needle, from, candidate::SHOWN);
    let candidates = candidate::candidates(&text, selection.needle.len(), &found.at, from);
    let lines = candidate::mark_matches(&text, selection.needle.len(), &found.at, &candidates, 1);
    let summary = match (candidates.first(), candidates.last()) {
        (Some(first), Some(last)) if candidates.len() < found.count => {
            format!("{} matches in {path}; {} to {} are shown", found.count, first.id, last.id)
        }
        (None, _) => format!("{} matches in {path}; there is none with number {}", found.count, from + 1),
        _ => format!("{} matches in {path}", found.count),
    };
    let more = candidates.last().is_some_and(|last| last.id < found.count);
    let guidance = by_state(WorkflowState::SelectionPending, run.session.mode).unwrap_or_default();
    Ok(Done {
        candidates: (!candidates.is_empty()).then_some(candidates),
        count: Some(found.count),
        guidance: Some(if more {
            format!("{guidance}; `candidates` with from shows more")
        } else {
            guidance
        }),
        ..Done::of(Status::MultiMatch, summary).with(lines)
    })
}

pub(super) fn selection<F: Files>(run: &mut EditRun<'_, F>, path: &str) -> Result<Selection, Trouble> {
    let document = run.document(path)?;
    match document
        .selection
        .clone()
        .filter(|selection| selection.snapshot == document.now.text)
    {
        Some(selection) => Ok(selection),
        None => {
            run.apply_event(path, Event::Stale);
            Err(Trouble::new("the selection has ended with the text that it was made on", "call `replace` again").at(path))
        }
    }
}

pub(super) fn select<F: Files>(run: &mut EditRun<'_, F>, path: &str, id: usize, new: Option<&str>) -> Result<Done, Trouble> {
    let text = run.text(path)?;
    let selection = selection(run, path)?;
    let found = find_occurrences(&text, &selection.needle, id.wrapping_sub(1), 1);
    trace(run, path, &text, &selection.needle);
    let Some(at) = found.at.first() else {
        run.apply_event(path, Event::Refused);
        let why = format!("there is no candidate {id}: candidates have numbers from 1 to {}", found.count);
        return Err(Trouble::new(why, "call `replace_selection` with one of them, or `discard`").at(path));
    };
    let new = new.unwrap_or(&selection.replacement);
    let made = [&text[..*at], new, &text[at + selection.needle.len()..]].concat();
    if made == *text {
        run.apply_event(path, Event::Stale);
        return Ok(Done::of(Status::NoOp, "old and new are the same: nothing was changed"));
    }
    apply_edit(
        run,
        "replace_selection",
        vec![(path.to_owned(), Some(made))],
        &format!("replaced match {id} of {}", found.count),
    )
}

pub(super) fn append<F: Files>(run: &mut EditRun<'_, F>, path: &str, anchor: &str, new: &str, fits: bool) -> Result<Done, Trouble> {
    let text = run.text(path)?;
    let (anchor, new) = adapt_line_ends(run, path, &text, (anchor, new), fits);
    if anchor.is_empty() {
        run.apply_event(path, Event::Refused);
        return Err(Trouble::new(
            "no anchor is named",
            "name the text after which to insert the new one; `^` is the beginning of the file, `$` its end",
        )
        .at(path));
    }
    let made = match anchor.as_str() {
        "^" => format!("{new}{text}"),
        "$" => format!("{text}{new}"),
        _ => {
            let both = format!("{anchor}{new}");
            return place_one(run, path, &text, &anchor, &both, "put the text behind its anchor");
        }
    };
    apply_edit(run, "append", vec![(path.to_owned(), Some(made))], "put the text there")
}

/// Replaces the whole text of a file; the summary tells a new file from an overwritten one.
pub(super) fn replace_all_text<F: Files>(run: &mut EditRun<'_, F>, path: &str, new: &str, fits: bool) -> Result<Done, Trouble> {
    let lines = |text: &str| match split(text).count() {
        1 => "1 line".to_owned(),
        lines => format!("{lines} lines"),
    };
    let before = run.text_of(path, &run.document(path)?.now.text)?;
    let given = Ends::from_text(new);
    let Some((before, _)) = before else {
        let what = format!("{path} is new and has {}", lines(new));
        return apply_edit(run, "create", vec![(path.to_owned(), Some(new.to_owned()))], &what);
    };
    let ends = Ends::from_text(&before);
    let new = match fits && ends != Ends::default() {
        true => fit(new, ends.most_frequent()),
        false => new.to_owned(),
    };
    if Ends::from_text(&new) != given {
        note_line_ends(run, path, &before);
    }
    let what = format!(
        "{path} was there and is written over: {} before, {} now",
        lines(&before),
        lines(&new)
    );
    apply_edit(run, "write", vec![(path.to_owned(), Some(new))], &what)
}

pub(super) fn symbol_edit<F: Files>(
    run: &mut EditRun<'_, F>,
    path: &str,
    wanted: &symbol::SymbolEdit,
    fits: bool,
) -> Result<Done, Trouble> {
    let text = run.text(path)?;
    let mut wanted = wanted.clone();
    let ends = Ends::from_text(&text);
    if fits && ends != Ends::default() {
        let fitted = fit(&wanted.new, ends.most_frequent());
        if fitted != wanted.new {
            note_line_ends(run, path, &text);
        }
        wanted.new = fitted;
    }
    let made = symbol::requires_csharp(path).and_then(|()| symbol::edit_symbol(&text, &wanted));
    let (made, what) = made.map_err(|why| {
        run.apply_event(path, Event::Refused);
        Trouble {
            detail: (!why.candidates.is_empty()).then(|| why.candidates.join("\n")),
            ..Trouble::new(format!("{path}: {}", why.why), why.hint).at(path)
        }
    })?;
    let operation = match wanted.at {
        symbol::Where::Replace => "replace_symbol",
        symbol::Where::Before => "insert_before",
        symbol::Where::After => "insert_after",
    };
    apply_edit(run, operation, vec![(path.to_owned(), Some(made))], &what)
}

/// Replaces the whole texts of files; nothing is changed if one differs from the text that its new text is based on.
pub(super) fn rewrite<F: Files>(run: &mut EditRun<'_, F>, operation: &str, texts: &[Rewritten], paths: &[String]) -> Result<Done, Trouble> {
    let mut made = Vec::new();
    for (file, path) in texts.iter().zip(paths) {
        let now = run.document(path)?.now.text.clone();
        let is = run.text_of(path, &now)?.map(|(text, _)| text);
        if is.as_deref().map(String::as_str) != file.before.as_deref() {
            let why = format!("{path} was changed meanwhile; nothing was changed");
            return Err(Trouble::new(why, "run it again: it then uses the present file").at(path));
        }
        made.push((path.clone(), file.after.clone()));
    }
    apply_edit(run, operation, made, operation)
}

pub(super) fn batch<F: Files>(run: &mut EditRun<'_, F>, edits: &[BatchEdit], paths: &[String], fits: bool) -> Result<Done, Trouble> {
    let mut adapted_any = false;
    let mut texts: Vec<(String, Option<String>)> = Vec::new();
    for path in paths {
        texts.push((path.clone(), Some(run.text(path)?.to_string())));
    }
    for (number, edit) in (1..).zip(edits) {
        let path = match &edit.path {
            Some(given) => resolve_path(run.files, given)?,
            None => paths[0].clone(),
        };
        let text = texts
            .iter_mut()
            .find(|(other, _)| *other == path)
            .and_then(|(_, text)| text.as_mut());
        let Some(text) = text else { continue };
        let (old, new) = with_line_ends_of_file(text, &edit.old, &edit.new, fits);
        adapted_any |= old != edit.old || new != edit.new;
        let found = find_occurrences(text, &old, 0, candidate::SHOWN);
        match found.at.as_slice() {
            [at] => text.replace_range(*at..at + old.len(), &new),
            [] => {
                let held = run.searched_text(&path);
                let miss = match_failure::explain(held.name(), text, &old);
                let why = match find_occurrences(&run.text(&path)?, &old, 0, 1).count {
                    0 => miss.why,
                    _ => "it stood there until the edits before it changed that place".to_owned(),
                };
                run.apply_event(&path, Event::Nowhere);
                return Err(Trouble {
                    status: Status::NoMatch,
                    summary: format!(
                        "edit {number} has no match in {}: {why}; nothing was changed",
                        held.describe_with_path(&path)
                    ),
                    guidance: Some("give oldText exactly as it is after the preceding edits".to_owned()),
                    detail: (!miss.near.is_empty()).then(|| miss.near.join("\n")),
                    path: Some(path),
                });
            }
            several => {
                let candidates = candidate::candidates(text, old.len(), several, 0);
                let lines = candidate::mark_matches(text, old.len(), several, &candidates, 1);
                let why = format!(
                    "edit {number} has {} matches in {path}, and must have one; nothing was changed",
                    found.count
                );
                run.apply_event(&path, Event::Refused);
                return Ok(Done {
                    candidates: Some(candidates),
                    count: Some(found.count),
                    guidance: Some(format!("give edit {number} a longer oldText that occurs once")),
                    paths: vec![path],
                    ..Done::of(Status::MultiMatch, why).with(lines)
                });
            }
        }
    }
    if adapted_any {
        run.notes.push("line ends made those of the files".to_owned());
    }
    apply_edit(run, "batch", texts, &format!("applied {} as one", plural(edits.len(), "edit")))
}
