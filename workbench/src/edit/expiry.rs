//! The end of drafts: expired edit sessions and overlays are removed, and contents that neither a draft nor the log of drafts names.

use super::contents;
use super::draft_log::DraftLog;
use super::files::Files;
use super::overlay_record::{Listed, list_overlays, overlay_note_name};
use super::session::{EditSession, list_sessions};
use std::collections::{BTreeMap, BTreeSet};
use std::io;

/// Number of sessions at which opening another one triggers a cleanup.
const MANY: usize = 64;
/// Most saved sessions kept that were not opened explicitly: each is an edit without a handle.
const KEPT: usize = 256;
/// Most bytes of stored contents.
const ROOM: u64 = 256 << 20;
/// Most ended sessions that a note names.
const ENDED: usize = 5;

/// Runs [`collect`] if there are many sessions or large contents.
pub fn tidy(files: &impl Files, now: u64) -> io::Result<Vec<String>> {
    let large = || -> io::Result<bool> { Ok(files.notes(contents::FOLDER)?.iter().map(|(_, length)| length).sum::<u64>() > ROOM) };
    match files.notes("sessions")?.len() >= MANY || large()? {
        true => collect(files, now),
        false => Ok(Vec::new()),
    }
}

/// Ends expired drafts, and the oldest saved sessions that were not opened explicitly, above the limits of number and bytes; returns sentences about
/// the latter.
pub fn collect(files: &impl Files, now: u64) -> io::Result<Vec<String>> {
    let ended = collect_beyond(files, now, KEPT, ROOM)?;
    let shown = ended.iter().take(ENDED).cloned().collect::<Vec<_>>().join(", ");
    let more = match ended.len().saturating_sub(ENDED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let note = format!("to free space, the oldest sessions of single edits were removed and can no longer be reverted: {shown}{more}");
    Ok(if ended.is_empty() { Vec::new() } else { vec![note] })
}

/// Ends expired drafts only.
pub fn end_expired(files: &impl Files, now: u64) -> io::Result<()> {
    collect_beyond(files, now, usize::MAX, u64::MAX).map(drop)
}

/// As [`collect`], with `most` unopened sessions and `room` bytes of contents; the last one always stays. Returns the ended handles. Drops contents
/// that no record names; a record that cannot be read stays, and then all contents stay.
pub(super) fn collect_beyond(files: &impl Files, now: u64, most: usize, room: u64) -> io::Result<Vec<String>> {
    let lengths: BTreeMap<String, u64> = files.notes(contents::FOLDER)?.into_iter().collect();
    let names = files.notes("sessions")?;
    let sessions = list_sessions(files)?;
    let (mut wanted, mut single, mut taken) = (BTreeSet::new(), 0, 0);
    let mut ended = Vec::new();
    for session in &sessions {
        let own: BTreeSet<&String> = session.contents().filter(|content| !wanted.contains(*content)).collect();
        if session.has_expired(now) {
            session.end_session(files)?;
            continue;
        }
        if !session.opened && session.is_saved() {
            let length: u64 = own.iter().filter_map(|content| lengths.get(*content)).sum();
            if single == most || single > 0 && taken + length > room {
                session.end_session(files)?;
                ended.push(session.id.clone());
                continue;
            }
            single += 1;
            taken += length;
        }
        wanted.extend(own.into_iter().cloned());
    }
    let mut is_complete = sessions.len() == names.len();
    is_complete &= add_interrupted_saves(files, &mut wanted)?;
    is_complete &= end_overlays(files, now, &mut wanted)?;
    DraftLog::from_files(files)?.collect_contents(files, &mut wanted);
    if is_complete {
        for name in lengths.keys().filter(|name| !wanted.contains(*name)) {
            files.drop_note(&contents::note_name(name))?;
        }
    }
    Ok(ended)
}

/// Adds the contents of sessions whose process was killed during a save. Returns whether all could be read.
fn add_interrupted_saves(files: &impl Files, wanted: &mut BTreeSet<String>) -> io::Result<bool> {
    let mut is_complete = true;
    for (name, _) in files.notes("saving")? {
        let bytes = files.read_note(&format!("saving/{name}"))?.unwrap_or_default();
        match serde_json::from_slice::<EditSession>(&bytes) {
            Ok(session) => wanted.extend(session.contents().cloned()),
            Err(_) => is_complete = false,
        }
    }
    Ok(is_complete)
}

/// Removes expired overlays, and adds the contents of the others. Returns whether all could be read.
fn end_overlays(files: &impl Files, now: u64, wanted: &mut BTreeSet<String>) -> io::Result<bool> {
    let mut is_complete = true;
    for Listed { name, overlay } in list_overlays(files)? {
        match overlay {
            Some(overlay) if overlay.is_over(now) => files.drop_note(&overlay_note_name(&name))?,
            Some(overlay) => wanted.extend(overlay.contents().map(|digest| digest.to_string())),
            None => is_complete = false,
        }
    }
    Ok(is_complete)
}

#[cfg(test)]
mod tests {
    use super::super::contents::{Content, content, read_kept_content, write_content};
    use super::super::memory::Memory;
    use super::super::session::{Document, Version};
    use super::super::state::Mode;
    use super::*;
    use crate::code_text::encoding::PLAIN;
    use serde_json::json;

    #[test]
    fn a_content_stays_as_long_as_a_draft_names_it() {
        let files = Memory::default();
        let write = |text: &str| {
            let named = content(Some(text.as_bytes()));
            write_content(&files, &named, text.as_bytes()).expect("written");
            named
        };
        let all = ["of a session", "of a save", "of an overlay", "of none"].map(write);
        let with = |id: &str, text: &Content| {
            let mut session = EditSession::new(id.to_owned(), Mode::Manual, 1);
            let document = Document::of(Version::of(text.clone(), PLAIN, None));
            session.documents.insert("a.cs".to_owned(), document);
            session
        };
        with("one", &all[0]).store(&files).expect("stored");
        with("two", &all[1]).begin_saving(&files).expect("stored");
        let documents = json!({"a.cs": {"base": null, "now": all[2]}});
        let overlay = json!({"openedAt": 1, "usedAt": 1, "lifetime": 100, "documents": documents});
        files
            .write_note("overlays/o.json", overlay.to_string().as_bytes())
            .expect("written");
        let kept = || {
            let read = |content: &Content| read_kept_content(&files, content.as_deref().expect("a content")).expect("readable");
            all.each_ref().map(|content| read(content).is_some())
        };
        end_expired(&files, 100).expect("collected");
        assert_eq!(kept(), [true, true, true, false]);
        end_expired(&files, 101).expect("collected");
        assert_eq!(kept(), [true, true, false, false]);
        // A record that cannot be read may name any content.
        files.write_note("overlays/damaged.json", b"{").expect("written");
        with("two", &all[1]).end_saving(&files).expect("dropped");
        end_expired(&files, 102).expect("collected");
        assert_eq!(kept(), [true, true, false, false]);
        files.drop_note("overlays/damaged.json").expect("dropped");
        end_expired(&files, 103).expect("collected");
        assert_eq!(kept(), [true, false, false, false]);
    }
}
