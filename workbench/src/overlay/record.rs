//! Records of overlays: opened, found by name, listed, and ended by discarding or by time.

use super::OverlayError;
use super::{session_overlays, texts};
use crate::edit::expiry::end_expired;
use crate::edit::files::Files;
use crate::edit::overlay_record::{OpenedOn, Overlay, is_overlay_name, list_overlays, overlay_note_name, read_overlay_record};
use crate::edit::saving::finish_merges;
use crate::edit::session::LIFETIME;
use engine::values::codes::ErrorCode;
use engine::values::quantity::plural;
use engine::values::suggest::nearest;
use std::collections::BTreeMap;
use std::io;

/// Longest lifetime, in seconds: ten years.
pub const LONGEST_LIFE: u64 = 10 * 365 * 24 * 3600;
/// Least age in seconds of the recorded last use before it is updated; shorter for lifetimes below a quarter of an hour.
const RENEWED: u64 = 60;

/// Checks whether a text can name an overlay.
fn check_name(name: &str) -> Result<(), OverlayError> {
    if !is_overlay_name(name) {
        let hint = "use up to 64 letters, digits, '-', '_' and '.', and a letter or a digit first";
        return Err(OverlayError::refused(
            ErrorCode::E_OVERLAY,
            "this cannot name an overlay",
            name,
            hint,
        ));
    }
    Ok(())
}

fn no_such_overlay<F: Files>(files: &F, name: &str, now: u64) -> OverlayError {
    if session_overlays::overlay(files, name, now).is_ok_and(|session| session.is_some()) {
        return session_overlays::no_overlay(name);
    }
    let known = list_overlays(files).unwrap_or_default();
    let alive = known
        .iter()
        .filter(|one| one.overlay.as_ref().is_some_and(|overlay| !overlay.is_over(now)));
    let near = nearest(name, alive.map(|one| one.name.as_str()), 5);
    let hint = match near.first() {
        Some(first) => format!("did you mean {first}?"),
        None => "`cortex overlay open NAME` opens one, `cortex overlay list` names those that there are, `cortex edit list` edit sessions"
            .to_owned(),
    };
    match OverlayError::refused(ErrorCode::E_NO_OVERLAY, "there is no overlay of this name", name, hint) {
        OverlayError::Asked(why) => OverlayError::Asked(Box::new(why.candidates(near))),
        other => other,
    }
}

fn expired_overlay(name: &str, overlay: &Overlay) -> OverlayError {
    let spans = [(86_400, "day"), (3_600, "hour"), (60, "minute"), (1, "second")];
    let (unit, word) = spans
        .into_iter()
        .find(|(unit, _)| overlay.lifetime.is_multiple_of(*unit))
        .unwrap_or((1, "second"));
    let count = overlay.lifetime / unit;
    let why = format!("the overlay {name} has ended: it was not used for {}", plural(count as usize, word));
    let hint = format!("`cortex overlay open {name}` opens a new one; --expires (expires) sets its lifetime");
    OverlayError::refused(ErrorCode::E_NO_OVERLAY, why, "", hint)
}

/// Returns the unexpired overlay of a name. Fails when the overlay does not exist, has expired or cannot be read.
pub fn unexpired_overlay<F: Files>(files: &F, name: &str, now: u64) -> Result<Overlay, OverlayError> {
    check_name(name)?;
    match read_overlay_record(files, name)? {
        None => Err(no_such_overlay(files, name, now)),
        Some(None) => {
            let why = format!("the record of the overlay {name} is damaged");
            let hint = format!("`cortex overlay discard {name}` removes it");
            Err(OverlayError::refused(ErrorCode::E_OVERLAY, why, "", hint))
        }
        Some(Some(overlay)) if overlay.is_over(now) => Err(expired_overlay(name, &overlay)),
        Some(Some(overlay)) => Ok(overlay),
    }
}

/// Whether a name does not belong to an overlay, so that it can only be an edit session's.
pub fn is_session<F: Files>(files: &F, name: &str) -> Result<bool, OverlayError> {
    Ok(files.read_note(&overlay_note_name(name))?.is_none())
}

/// Returns the documents that replace files under a name: an overlay, or the unsaved documents of an edit session. Fails when no overlay
/// has the name, or it has expired, or it cannot be read.
pub(super) fn overlay_or_session<F: Files>(files: &F, name: &str, now: u64) -> Result<Overlay, OverlayError> {
    match unexpired_overlay(files, name, now) {
        Err(why) if is_session(files, name).is_ok_and(|is| is) => session_overlays::overlay(files, name, now)?.ok_or(why),
        found => found,
    }
}

/// Whether results built under a name are still needed.
pub(super) fn lives<F: Files>(files: &F, name: &str, now: u64) -> Result<bool, OverlayError> {
    Ok(match read_overlay_record(files, name)? {
        Some(overlay) => overlay.is_none_or(|overlay| !overlay.is_over(now)),
        None => session_overlays::overlay(files, name, now).is_ok_and(|session| session.is_some()),
    })
}

pub(super) fn store<F: Files>(files: &F, name: &str, overlay: &Overlay) -> Result<(), OverlayError> {
    Ok(files.write_note(
        &overlay_note_name(name),
        &serde_json::to_vec_pretty(overlay).map_err(io::Error::from)?,
    )?)
}

/// Opens an overlay, or continues the one of that name; `lifetime` in seconds. Returns whether it is new. Removes expired overlays. Fails
/// when the name is invalid, or the overlay cannot be stored.
pub fn open_or_continue<F: Files>(files: &F, name: &str, lifetime: Option<u64>, now: u64) -> Result<(Overlay, bool), OverlayError> {
    check_name(name)?;
    if let Some(wrong) = lifetime.filter(|lifetime| !(1..=LONGEST_LIFE).contains(lifetime)) {
        let hint = "give a time between a second and ten years, such as 12h, 7d or 4w";
        return Err(OverlayError::refused(
            ErrorCode::E_PARAM,
            "an overlay cannot live for so long",
            &format!("{wrong} s"),
            hint,
        ));
    }
    let _alone = files.lock_for_editing()?;
    if is_session(files, name)? && session_overlays::overlay(files, name, now).is_ok_and(|session| session.is_some()) {
        return Err(session_overlays::no_overlay(name));
    }
    remove_expired(files, now)?;
    let known = match read_overlay_record(files, name)? {
        None => None,
        Some(_) => Some(unexpired_overlay(files, name, now)?),
    };
    let is_new = known.is_none();
    let mut overlay = match known {
        Some(overlay) => overlay,
        None => Overlay {
            opened_at: now,
            opened_on: Some(OpenedOn::from_present_files(files)?),
            used_at: now,
            lifetime: LIFETIME,
            documents: BTreeMap::new(),
        },
    };
    overlay.used_at = overlay.used_at.max(now);
    overlay.lifetime = lifetime.unwrap_or(overlay.lifetime);
    store(files, name, &overlay)?;
    Ok((overlay, is_new))
}

/// Records the use of an overlay, unless that was recorded a moment ago or nothing can be written. A session, which only edits keep alive, instead
/// takes over writes of other processes. Fails when no overlay has the name.
pub fn note_use<F: Files>(files: &F, name: &str, now: u64) -> Result<(), OverlayError> {
    let overlay = overlay_or_session(files, name, now)?;
    if is_session(files, name)? {
        session_overlays::read_foreign_writes(files, name, now);
        return Ok(());
    }
    if now.saturating_sub(overlay.used_at) < RENEWED.min(overlay.lifetime / 16 + 1) {
        return Ok(());
    }
    match renew(files, name, now) {
        Err(OverlayError::Io(_)) => Ok(()),
        renewed => renewed,
    }
}

fn renew<F: Files>(files: &F, name: &str, now: u64) -> Result<(), OverlayError> {
    let _alone = files.lock_for_editing()?;
    let mut overlay = unexpired_overlay(files, name, now)?;
    overlay.used_at = overlay.used_at.max(now);
    store(files, name, &overlay)
}

/// Ends an overlay: removes its documents and leaves the workspace unchanged. Returns the number of its documents, as far as known. Fails
/// when no overlay has the name, or it cannot be removed.
pub fn discard<F: Files>(files: &F, name: &str, now: u64) -> Result<usize, OverlayError> {
    check_name(name)?;
    let _alone = files.lock_for_editing()?;
    let overlay = read_overlay_record(files, name)?.ok_or_else(|| no_such_overlay(files, name, now))?;
    finish_merges(files, now)?;
    remove_record(files, name, now)?;
    Ok(overlay.map_or(0, |overlay| overlay.documents.len()))
}

/// Removes a record, and the texts that only it needed. The caller has acquired the editing lock.
pub(super) fn remove_record<F: Files>(files: &F, name: &str, now: u64) -> Result<(), OverlayError> {
    files.drop_note(&overlay_note_name(name))?;
    remove_expired(files, now)
}

/// Removes expired drafts, and contents and results that no draft needs. The caller has acquired the editing lock.
pub(super) fn remove_expired<F: Files>(files: &F, now: u64) -> Result<(), OverlayError> {
    end_expired(files, now)?;
    for (name, _) in files.notes(texts::RESULTS)? {
        if !lives(files, &name, now)? {
            files.drop_note(&texts::results(&name))?;
        }
    }
    if texts::merged_results(files)?.is_some_and(|merged| merged.until <= now) {
        texts::forget_merged(files)?;
    }
    Ok(())
}
