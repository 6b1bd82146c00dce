//! Types and members that no longer exist: identifies the one that a label was about, with the time and cause of its removal. Reads the log, History
//! and stored old outputs.

use super::removed_targets::{TargetRemoval, files_behind, target_removal};
use crate::last_good::{first_version_without, gone_member, is_type, label_of_type};
use engine::build::session::Session;
use engine::store::StoreError;
use engine::values::label::{escape_joined, unescape};

/// A former type or member.
#[derive(Debug, PartialEq, Eq)]
pub struct Vanished {
    /// Path of the symbol: the type's key, and after a `#` the member's.
    pub path: String,
    /// The label of the requested target.
    pub label: String,
    /// Cause of the target's removal.
    pub why: TargetRemoval,
    /// Whether History has versions of that target.
    pub kept: bool,
}

/// Returns the type of that key, or its member, that a target `rest` (`:target`, `#member:target`) was about; `None` when it exists, or when nothing
/// is known of it.
pub fn find_removed_symbol(session: &Session, key: &str, rest: &str) -> Result<Option<Vanished>, StoreError> {
    let found = match rest.strip_prefix('#').and_then(|rest| rest.rsplit_once(':')) {
        Some((member, target)) if is_type(session, key)? => of_member(session, key, &unescape(member), target)?,
        _ => of_type(session, key, rest)?,
    };
    let Some((path, label, why)) = found else { return Ok(None) };
    let kept = !session.engine.store.history(session.engine.view, &label)?.is_empty();
    Ok(Some(Vanished { path, label, why, kept }))
}

type LastRemoval = Option<(String, String, TargetRemoval)>;

fn of_type(session: &Session, key: &str, rest: &str) -> Result<LastRemoval, StoreError> {
    if is_type(session, key)? {
        return Ok(None);
    }
    let label = label_of_type(key, rest);
    let asked = target_removal(session, &label)?;
    // Every built type had this target; others may never have been built.
    let whole = target_removal(session, &self::label_of_type(key, ":complete"))?;
    let since = first_version_without(session, key)?;
    if asked.is_none() && whole.is_none() && since.is_none() {
        return Ok(None);
    }
    let (mut why, whole) = (asked.unwrap_or_default(), whole.unwrap_or_default());
    if !why.is_explained() {
        (why.removed, why.undeclared, why.unread, why.changed) = (whole.removed, whole.undeclared, whole.unread, whole.changed);
    }
    why.made = why.made.max(whole.made);
    (why.build, why.at) = (why.build.or(whole.build), why.at.or(whole.at));
    if let (None, Some(since)) = (why.at, since) {
        (why.build, why.at) = (since.build, Some(since.at));
    }
    Ok(Some((key.to_owned(), label, why)))
}

fn of_member(session: &Session, key: &str, member: &str, target: &str) -> Result<LastRemoval, StoreError> {
    let Some(gone) = gone_member(session, key, member)? else {
        return Ok(None);
    };
    let files = files_behind(session, &gone.told_by, gone.last.key)?;
    let why = TargetRemoval {
        build: gone.since.build,
        at: Some(gone.since.at),
        made: gone.last.at,
        changed: if files.removed.is_empty() { files.changed } else { Vec::new() },
        removed: files.removed,
        ..TargetRemoval::default()
    };
    let label = label_of_type(key, &format!("#{}:{target}", escape_joined(&gone.name)));
    Ok(Some((format!("{key}#{}", gone.name), label, why)))
}
