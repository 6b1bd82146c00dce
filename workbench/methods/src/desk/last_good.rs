//! Remarks of `show` and `outline` on types whose files do not parse, and their `--last-good`.

use super::one_output::{LabelledOutput, build_and_read};
use super::outputs::build_outputs;
use crate::code::Code;
use crate::desk::request_context::RequestContext;
use crate::failed::Failed;
use crate::render;
use engine::build::session::Session;
use engine::values::codes::ErrorCode;
use engine::values::diagnostic::{Diagnostic, Severity};
use engine::values::label::{escape_joined, unescape};
use engine::values::table::Table;
use std::collections::BTreeSet;
use workbench::builds::{TargetRemoval, find_removed_symbol, target_removal};
use workbench::last_good::{
    behind, files_with_errors, label_of_type, last_good, meant_member, newest_type_of_name, note_of_lost_parts, parts,
};
use workbench::workspace::Workspace;

/// The flag as written.
const FLAG: &str = "--last-good";

/// Reports which of the shown labels may be incomplete, because a file behind them does not parse. `command` is the command that shows them.
pub fn remark<'l>(context: &RequestContext, session: &Session, command: &str, labels: impl Iterator<Item = &'l str>) -> Result<(), Failed> {
    let broken = files_with_errors(session)?;
    if broken.is_empty() {
        return Ok(());
    }
    let labels: Vec<(&str, String)> = labels.filter_map(|label| Some((label, parts(label)?.0))).collect();
    let keys: BTreeSet<String> = labels.iter().map(|(_, key)| key.clone()).collect();
    let found = behind(session, &keys, &broken)?;
    let notes: Vec<Diagnostic> = labels
        .iter()
        .filter_map(|(label, key)| note_of_lost_parts(label, found.get(key)?, &retry_command(command, label)))
        .collect();
    context.say(&notes);
    Ok(())
}

/// Reports the new name of a label's type, if it was renamed. Returns whether it was.
pub fn remark_renamed(context: &RequestContext, workspace: &Workspace, session: &Session, label: &str) -> Result<bool, Failed> {
    let Some((name, rest)) = parts(label) else { return Ok(false) };
    let Some(key) = workbench::former_types::present_name(&workspace.root, session, &name)? else {
        return Ok(false);
    };
    let plain = producers::csharp::types::symbol_of;
    let what = match plain(&key) == plain(&name) {
        // The arity mark after `@` changed because another type of the name was added or removed.
        true => format!("this type is now written {key}"),
        false => format!("the type {name} was renamed to {key}"),
    };
    let why = Diagnostic::new(Severity::Note, ErrorCode::N_RENAMED, what);
    context.say(&[why.hint(format!("did you mean {}?", self::label_of_type(&key, rest)))]);
    Ok(true)
}

/// Reports why a label names nothing: its type was renamed, a file does not parse, or the type or member is gone. `command` is the running
/// command, if it has a `--last-good`. Returns whether anything was reported.
pub fn remark_missing(
    context: &RequestContext,
    workspace: &Workspace,
    session: &Session,
    command: Option<&str>,
    label: &str,
) -> Result<bool, Failed> {
    // A type without a target names all of its targets.
    let whole = if label.starts_with("//types/") && !label.contains(':') {
        &format!("{label}:complete")
    } else {
        label
    };
    let Some((name, rest)) = parts(whole) else {
        return remark_made(context, session, label);
    };
    if remark_renamed(context, workspace, session, label)? {
        return Ok(true);
    }
    let Some(key) = newest_type_of_name(session, &name)? else {
        return Ok(false);
    };
    let broken = files_with_errors(session)?;
    let found = behind(session, &BTreeSet::from([key.clone()]), &broken)?;
    let Some(first) = found.get(&key).and_then(|places| places.first()) else {
        let gone = find_removed_symbol(session, &key, rest)?;
        if let Some(gone) = &gone {
            context.say(&[describe_removal(&gone.path, &gone.why, gone.kept.then_some(&gone.label))]);
        }
        return Ok(gone.is_some());
    };
    let message = format!("{} does not parse; {key} was read from it before", first.file);
    let why = Diagnostic::new(Severity::Note, ErrorCode::N_NOT_WHOLE, message).at(first.file.clone(), first.line, first.column);
    let command = command.unwrap_or("show");
    context.say(&[why.hint(format!("`{}` shows the last version from before", retry_command(command, label)))]);
    Ok(true)
}

/// Reports since when and why a label that is not of a type is gone, or when it was last built. Returns whether it reported anything.
fn remark_made(context: &RequestContext, session: &Session, label: &str) -> Result<bool, Failed> {
    let Some(why) = target_removal(session, label)? else {
        return Ok(false);
    };
    let has_versions = !session.engine.store.history(session.engine.view, label)?.is_empty();
    context.say(&[describe_removal("it", &why, has_versions.then_some(label)).label(label)]);
    Ok(true)
}

/// Limit of files listed as the cause of a missing target.
const FILES: usize = 3;

/// `N.Box is gone since build 4, 2026-11-22 10:08 UTC: src/Box.cs was removed`. `kept`: a label that still has versions.
fn describe_removal(what: &str, why: &TargetRemoval, has_versions: Option<impl AsRef<str>>) -> Diagnostic {
    let build = why.build.map_or(String::new(), |build| format!("build {build}, "));
    let list = |files: &[String], one: &str, many: &str| {
        let named = files.iter().take(FILES).cloned().collect::<Vec<_>>().join(", ");
        match (files.len(), files.len().saturating_sub(FILES)) {
            (0, _) => String::new(),
            (1, _) => format!(": {named} {one}"),
            (_, 0) => format!(": {named} {many}"),
            (_, more) => format!(": {named} and {more} more {many}"),
        }
    };
    let removed = list(&why.removed, "was removed", "were removed");
    let unread = list(&why.unread, "is no longer read", "are no longer read");
    let changed = list(&why.changed, "was changed", "were changed");
    let undeclared = match why.undeclared.join(" or ") {
        files if files.is_empty() => files,
        files => format!(
            "{} no rule declares it ({files} changed)",
            if removed.is_empty() { ":" } else { ";" }
        ),
    };
    let files = format!("{removed}{undeclared}{unread}{changed}");
    let text = match why.at {
        Some(at) => format!("{what} is gone since {build}{}{files}", render::moment(at)),
        None => format!("{what} was last built {}{files}", render::moment(why.made)),
    };
    let why = Diagnostic::new(Severity::Note, ErrorCode::N_GONE, text);
    match has_versions {
        Some(label) => why.hint(format!("`cortex history '{}'` lists its versions", label.as_ref())),
        None => why,
    }
}

fn retry_command(command: &str, label: &str) -> String {
    format!("cortex {command} {FLAG} '{label}'")
}

/// Returns the newest version of the target from files that parsed; reports its age if it is not the current one.
pub fn last_good_output(context: &RequestContext, session: &mut Session, command: &str, wanted: &str) -> Result<LabelledOutput, Failed> {
    let refuse = |code: ErrorCode, why: String, hint: &str| Failed::new(Code::Usage, Diagnostic::error(code, why).label(wanted).hint(hint));
    let types = build_and_read(context, session, "//index:types")?.bytes;
    let Some((name, rest)) = parts(wanted) else {
        return Err(refuse(
            ErrorCode::E_LABEL,
            format!("{FLAG} is for targets of one type or member"),
            "write //types/TYPE:target or //types/TYPE#MEMBER:target",
        ));
    };
    let none = || {
        let why = format!("'{name}' does not name exactly one type, present or former");
        refuse(
            ErrorCode::SymbolNotFound,
            why,
            "write the whole name; History keeps the newest 16 states",
        )
    };
    let key = newest_type_of_name(session, &name)?.ok_or_else(none)?;
    let mut exists = Table::open(&types).is_some_and(|table| table.get(&key).is_some());
    let mut full = label_of_type(&key, rest);
    if let Some((member, target)) = rest.strip_prefix('#').and_then(|rest| rest.rsplit_once(':')) {
        let members = label_of_type(&key, ":members");
        let table = match exists {
            true => Some(build_and_read(context, session, &members)?.bytes),
            false => None,
        };
        let none = || {
            let why = format!("'{member}' does not name exactly one member of {key}, present or former");
            refuse(ErrorCode::SymbolNotFound, why, &format!("`cortex show '{members}'` lists them"))
        };
        let member = meant_member(session, &key, &unescape(member))?.ok_or_else(none)?;
        exists = table
            .as_deref()
            .and_then(Table::open)
            .is_some_and(|table| table.get(&member).is_some());
        full = label_of_type(&key, &format!("#{}:{target}", escape_joined(&member)));
    }
    if exists {
        build_outputs(context, session, command, std::slice::from_ref(&full), false)?;
    }
    let none = || {
        let hint = "the store keeps the newest 16 versions of each target, until the store is deleted";
        refuse(
            ErrorCode::E_NO_LAST_GOOD,
            "History has no version from files that parsed".to_owned(),
            hint,
        )
    };
    let found = last_good(session, &full)?.ok_or_else(none)?;
    if !found.present || !exists {
        let old = format!(
            "this is the version of {}, from before a file stopped parsing",
            render::moment(found.at)
        );
        context.say(&[Diagnostic::new(Severity::Note, ErrorCode::N_LAST_GOOD, old).label(&full)]);
    }
    Ok(LabelledOutput {
        label: full,
        digest: found.digest,
        bytes: found.bytes,
    })
}
