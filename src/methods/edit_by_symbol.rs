//! Operations of `edit` that are about a symbol in all of the workspace: looked at before they are saved, and refused with what is in the way.

use super::edit::{Edit, defines_of};
use super::rename::RenameSubject;
use super::rewriting::Rewriting;
use super::symbols::{Names, resolve_one};
use super::{Method, window};
use crate::context::Failed;
use crate::desk::Desk;
use crate::exit::Code;
use engine::values::codes::ErrorCode;
use engine::values::diagnostic::Diagnostic;
use producers::csharp::deps::dotnet;
use producers::csharp::model::Using;
use producers::csharp::types::symbol_of;
use std::collections::BTreeSet;
use workbench::edit::disk::Disk;
use workbench::edit::encoding::decode;
use workbench::edit::files::Files;
use workbench::edit::lines::{Ends, fit};
use workbench::edit::response::Response;
use workbench::edit::symbol::{Refused, requires_csharp};
use workbench::edit::{adding_members, adding_usings};
use workbench::rename::{self, InTheWay, Rewritten};
use workbench::symbols::hierarchy::{implementations, locate};
use workbench::symbols::index::is_within;
use workbench::symbols::overloads;
use workbench::symbols::unbound::Bound;

/// Deletes a type or a member that nothing uses.
pub(super) fn safe_delete(desk: &mut Desk<'_>, symbol: &str) -> Result<Response, Failed> {
    let refusal = format!("{symbol} is not deleted");
    let rewriting = rewriting("safe_delete", &refusal, "nothing was changed; mend what is named first");
    let subject = RenameSubject::read(desk, symbol)?;
    let asked = subject.request("", false);
    let files = rename::delete(desk, &subject.names.symbols, &*subject.world, asked)?.map_err(|way| rewriting.refused(&way))?;
    let done = saved(desk, &rewriting, &files)?;
    Ok(Response {
        summary: format!("deleted {}, which nothing uses", subject.candidate.path),
        ..done
    })
}

/// Adds a using directive to a file.
pub(super) fn add_using(desk: &mut Desk<'_>, path: &str, given: &str) -> Result<Response, Failed> {
    let (path, before) = text_of(desk, path)?;
    let refusal = format!("{path} gets no `{given}`");
    let rewriting = rewriting(
        "add_using",
        &refusal,
        "nothing was changed; write whole names, or give a type another name with `NAME = TYPE`",
    );
    let names = desk.names()?;
    let refused = |why: Refused| refused(&format!("{path}: {}", why.why), &why.hint);
    let using = adding_usings::directive(given).map_err(refused)?;
    if !is_known(&names, &using) {
        let why = format!("{path}: the workspace declares no {}", using.target);
        return Err(rewriting.refused(&InTheWay(BTreeSet::from([why]))));
    }
    let defines = defines_of(desk, &path)?;
    let made = adding_usings::with_using(&before, given, &defines).map_err(refused)?;
    let file = Rewritten {
        after: made.clone().unwrap_or_else(|| before.clone()),
        path,
        before,
    };
    let done = saved(desk, &rewriting, std::slice::from_ref(&file))?;
    let summary = match made {
        Some(_) => format!("added `using {}`", using.target),
        None => format!("{} has it already", file.path),
    };
    Ok(Response { summary, ..done })
}

/// Adds a member to the part of a type that a file has.
pub(super) fn add_member(desk: &mut Desk<'_>, path: &str, symbol: &str, new: &str) -> Result<Response, Failed> {
    let refusal = format!("{symbol} gets no new member");
    let rewriting = rewriting(
        "add_member",
        &refusal,
        "nothing was changed; mend the text, add what it names first, or put it there with `insert_after`",
    );
    let names = desk.names()?;
    let (of, _) = resolve_one(desk, &names, symbol)?;
    let (path, before) = text_of(desk, path)?;
    let new = fit(new, Ends::of(&before).most_frequent());
    let defines = defines_of(desk, &path)?;
    let added = adding_members::with_member(&before, symbol_of(&of.path), &new, &defines);
    let added = added.map_err(|why| refused(&format!("{path}: {}", why.why), &why.hint))?;
    let mut way = BTreeSet::new();
    // Other parts of the type.
    for own in overloads::of(desk, &[of.key()])?.into_iter().flatten() {
        if added.keys.contains(&own.key) {
            way.insert(format!("{}: there is a {}#{} already", own.files.join(", "), of.path, own.key));
        }
    }
    if added.is_owed {
        let mut heirs = implementations(desk, &names.symbols, &of, true)?;
        locate(desk, &names.symbols, &mut heirs)?;
        for heir in heirs {
            let at = heir.place.map(|at| format!("{}:{}:{}: ", at.file, at.line, at.column));
            way.insert(format!("{}{} would have to declare it, too", at.unwrap_or_default(), heir.path));
        }
    }
    if !way.is_empty() {
        return Err(rewriting.refused(&InTheWay(way)));
    }
    let file = Rewritten {
        path,
        before,
        after: added.text,
    };
    let done = saved(desk, &rewriting, std::slice::from_ref(&file))?;
    let keys: Vec<&str> = added.keys.iter().map(String::as_str).collect();
    Ok(Response {
        summary: format!("added {} to {}", keys.join(", "), of.path),
        ..done
    })
}

fn rewriting<'r>(operation: &'static str, refusal: &'r str, hint: &'r str) -> Rewriting<'r> {
    Rewriting {
        method: Edit::NAME,
        operation,
        code: ErrorCode::E_IN_THE_WAY,
        refusal,
        hint,
    }
}

/// The real path of a file, and its text.
fn text_of(desk: &mut Desk<'_>, path: &str) -> Result<(String, String), Failed> {
    let disk = Disk::new(&window::root(desk)?);
    let path = disk.resolve(path).map_err(|why| refused(&why.to_string(), why.hint()))?;
    requires_csharp(&path).map_err(|why| refused(&format!("{path}: {}", why.why), &why.hint))?;
    let read = disk.read(&path).ok().flatten().and_then(|found| decode(&found.bytes).ok());
    match read {
        Some((text, _)) => Ok((path, text)),
        None => Err(refused(&format!("{path} is no text file of the workspace"), "name a file of C#")),
    }
}

/// Whether what a directive names is there, or may be of a package: what begins as names of the workspace do is of it.
fn is_known(names: &Names, using: &Using) -> bool {
    let target = using.target.strip_prefix("global::").unwrap_or(&using.target);
    let target = target.split('<').next().unwrap_or(target);
    let root = |name: &str| name.split('.').next().map(str::to_owned);
    let plain = |key: &str| symbol_of(key).split('`').next().unwrap_or_default().replace('+', ".");
    let namespaces = names.symbols.namespaces();
    let is_type = || (using.is_static || using.alias.is_some()) && names.symbols.keys().any(|key| plain(key) == target);
    let is_space = !using.is_static && (namespaces.iter().any(|name| is_within(name, target)) || dotnet::has_namespace(target));
    is_space || is_type() || !namespaces.iter().any(|name| root(name) == root(target))
}

/// What an argument lacks.
fn refused(why: &str, hint: &str) -> Failed {
    Failed::new(Code::Usage, Diagnostic::error(ErrorCode::E_PARAM, why).hint(hint))
}

/// Saves new texts of files, if every name of a type still means what it meant.
pub(super) fn saved(desk: &mut Desk<'_>, rewriting: &Rewriting<'_>, files: &[Rewritten]) -> Result<Response, Failed> {
    let before = Bound::read(desk)?;
    let root = window::root(desk)?;
    let disk = Disk::new(&root);
    let read = |path: &str| match files.iter().find(|file| file.path == path) {
        Some(file) => Some(file.after.clone()),
        None => Some(decode(&disk.read(path).ok()??.bytes).ok()?.0),
    };
    let looked = |inside: &mut Desk<'_>| {
        let names: Names = inside.names()?;
        let lost = Bound::read(inside)?.lost(&before, &names.symbols, read)?;
        Ok(if lost.is_empty() { Ok(()) } else { Err(InTheWay(lost)) })
    };
    let done = rewriting.perform(desk, files, true, looked)?;
    done.ok_or_else(|| Failed::bug(&"an edit that is saved has no answer"))
}
