//! Operations of `edit` on symbols. The workspace with the new texts is checked before they are saved; obstacles refuse the edit.

use super::edit::{Edit, defines_of};
use super::edit_check::{names_lost, with_compiler};
use super::rename::RenameSubject;
use super::rewriting::{Destination, Rewriting};
use super::symbols::resolve_for_edit;
use super::{Method, window};
use crate::code::Code;
use crate::desk::Desk;
use crate::desk::workspace_names::WorkspaceNames;
use crate::failed::Failed;
use engine::values::codes::ErrorCode;
use engine::values::diagnostic::Diagnostic;
use producers::csharp::deps::dotnet;
use producers::csharp::model::Using;
use producers::csharp::types::symbol_of;
use std::collections::BTreeSet;
use workbench::code_text::encoding::{LARGEST, decode};
use workbench::code_text::lines::{Ends, fit};
use workbench::edit::disk::Disk;
use workbench::edit::files::Files;
use workbench::edit::response::Response;
use workbench::edit::symbol::{Refused, requires_csharp};
use workbench::edit::{adding_members, adding_usings};
use workbench::rename::{self, Obstacles, Rewritten};
use workbench::symbols::hierarchy::{implementations, locate};
use workbench::symbols::index::is_within;
use workbench::symbols::meaning::Candidate;
use workbench::symbols::overloads;
use workbench::symbols::unbound::Bound;

/// An edit of symbols: the request, and the destination of the new texts.
#[derive(Clone, Copy)]
pub(super) struct SymbolEdit<'e> {
    /// A type or a member.
    pub symbol: &'e str,
    pub path: Option<&'e str>,
    pub new: &'e str,
    /// Destination of the new texts.
    pub to: Destination<'e>,
}

/// Hint of a refused edit that would break the code that its obstacles name.
pub(super) const BREAKS: &str = "nothing was changed; first change the code that is named";

/// New texts of files, with a summary of the edit.
pub(super) struct Planned {
    pub files: Vec<Rewritten>,
    pub summary: String,
}

impl SymbolEdit<'_> {
    /// Deletes a type or a member that nothing uses.
    pub fn safe_delete(&self, desk: &mut Desk<'_>) -> Result<Response, Failed> {
        let symbol = self.symbol;
        let refusal = format!("{symbol} is not deleted");
        let rewriting = rewriting("safe_delete", &refusal, BREAKS);
        let planned = self.to.plan_in(desk, Edit::NAME, |desk| {
            let subject = RenameSubject::from_symbol(desk, symbol)?;
            let request = subject.request("");
            let files = rename::delete(desk, &subject.names.symbols, &*subject.world, request)?;
            let advised = |way: &Obstacles| Rewriting {
                hint: rename::advice_of_deletion(way),
                ..rewriting
            };
            let files = files.map_err(|way| advised(&way).refused(&way))?;
            let emptied = files.iter().filter(|file| file.after.is_none());
            let emptied: String = emptied.map(|file| format!(", and {}, which would be empty", file.path)).collect();
            Ok(Planned {
                summary: format!("deleted {}, which nothing uses{emptied}", subject.candidate.path),
                files,
            })
        })?;
        self.save_planned(desk, &rewriting, planned)
    }

    /// Adds a using directive to a file.
    pub fn add_using(&self, desk: &mut Desk<'_>) -> Result<Response, Failed> {
        let given = self.new;
        let refusal = format!("{} gets no `{given}`", self.path.unwrap_or_default());
        let rewriting = rewriting(
            "add_using",
            &refusal,
            "nothing was changed; write whole names, or give a type another name with `NAME = TYPE`",
        );
        let planned = self.to.plan_in(desk, Edit::NAME, |desk| {
            let (path, before) = path_and_text(desk, self.path.unwrap_or_default())?;
            let names = desk.workspace_names()?;
            let refused = |why: Refused| wrong_argument(&format!("{path}: {}", why.why), &why.hint);
            let using = adding_usings::directive(given).map_err(refused)?;
            if !is_known(&names, &using) {
                let why = format!("{path}: the workspace declares no {}", using.target);
                return Err(rewriting.refused(&Obstacles(BTreeSet::from([why]))));
            }
            let defines = defines_of(desk, &path)?;
            let made = adding_usings::with_using(&before, given, &defines).map_err(refused)?;
            let summary = match made {
                Some(_) => format!("added `{}`", adding_usings::directive_code(given)),
                None => format!("{path} has it already"),
            };
            let after = made.unwrap_or_else(|| before.clone());
            let files = vec![Rewritten::of(path, before, after)];
            Ok(Planned { files, summary })
        })?;
        self.save_planned(desk, &rewriting, planned)
    }

    /// Adds a member to the part of a type that a file has.
    pub fn add_member(&self, desk: &mut Desk<'_>) -> Result<Response, Failed> {
        let refusal = format!("{} gets no new member", self.symbol);
        let rewriting = rewriting(
            "add_member",
            &refusal,
            "nothing was changed; fix the text, first add the declarations that it names, or insert it with `insert_after`",
        );
        let planned = self.to.plan_in(desk, Edit::NAME, |desk| self.plan_member(desk, &rewriting))?;
        let files = planned.files.clone();
        self.saved_if(desk, &rewriting, planned, |inside, names| {
            names_lost(inside, &names.symbols, &files)
        })
    }

    fn plan_member(&self, desk: &mut Desk<'_>, rewriting: &Rewriting<'_>) -> Result<Planned, Failed> {
        let names = desk.workspace_names()?;
        let (of, _) = resolve_for_edit(desk, &names, self.symbol)?;
        let (path, before) = path_and_text(desk, &file_of(&of, self.path)?)?;
        let new = fit(self.new, Ends::from_text(&before).most_frequent());
        let defines = defines_of(desk, &path)?;
        let added = adding_members::with_member(&before, symbol_of(&of.path), &new, &defines);
        let added = added.map_err(|why| wrong_argument(&format!("{path}: {}", why.why), &why.hint))?;
        let mut way = BTreeSet::new();
        // Other parts of the type.
        for own in overloads::read_overloads(desk, &[of.key()])?.into_iter().flatten() {
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
            return Err(rewriting.refused(&Obstacles(way)));
        }
        let keys: Vec<&str> = added.keys.iter().map(String::as_str).collect();
        Ok(Planned {
            summary: format!("added {} to {}", keys.join(", "), of.path),
            files: vec![Rewritten::of(path, before, added.text)],
        })
    }

    /// Saves planned texts, if all names of types keep their meaning.
    fn save_planned(&self, desk: &mut Desk<'_>, rewriting: &Rewriting<'_>, planned: Planned) -> Result<Response, Failed> {
        self.saved_if(desk, rewriting, planned, |_, _| Ok(Ok(())))
    }

    /// As [`Self::save_planned`], if `also` finds no obstacle in the workspace with the new texts.
    pub(super) fn saved_if(
        &self,
        desk: &mut Desk<'_>,
        rewriting: &Rewriting<'_>,
        planned: Planned,
        also: impl FnOnce(&mut Desk<'_>, &WorkspaceNames) -> Result<Result<(), Obstacles>, Failed>,
    ) -> Result<Response, Failed> {
        let done = save_rewritten(desk, rewriting, &planned.files, self.to, also)?;
        let is_dry = self.to.is_dry && done.changed.is_empty() && done.detail.is_some();
        let summary = match is_dry {
            true => format!("{}: a dry run, nothing was changed", planned.summary),
            false => planned.summary,
        };
        let done = Response { summary, ..done };
        Ok(if is_dry { done } else { with_compiler(desk, done, false) })
    }
}

/// Returns the requested file of a type, or its only file.
pub(super) fn file_of(of: &Candidate, named: Option<&str>) -> Result<String, Failed> {
    match (named, of.files.as_slice()) {
        (Some(path), _) => Ok(path.to_owned()),
        (None, [file]) => Ok(file.clone()),
        (None, several) => {
            let mut why = Diagnostic::error(ErrorCode::E_PARAM, format!("{} is declared in {} files", of.path, several.len()));
            why.candidates = several.to_vec();
            Err(Failed::new(Code::Usage, why.hint("select one with path")))
        }
    }
}

pub(super) fn rewriting<'r>(operation: &'static str, refusal: &'r str, hint: &'r str) -> Rewriting<'r> {
    Rewriting {
        method: Edit::NAME,
        operation,
        code: ErrorCode::E_IN_THE_WAY,
        refusal,
        hint,
    }
}

/// Returns the real path of a C# file, and its text in the opened workspace.
pub(super) fn path_and_text(desk: &mut Desk<'_>, path: &str) -> Result<(String, String), Failed> {
    let disk = Disk::new(&window::root_of_workspace(desk)?);
    let path = disk.resolve(path).map_err(|why| wrong_argument(&why.to_string(), why.hint()))?;
    requires_csharp(&path).map_err(|why| wrong_argument(&format!("{path}: {}", why.why), &why.hint))?;
    match text_in_workspace(desk, &path)? {
        Some(text) => Ok((path, text)),
        None => Err(wrong_argument(
            &format!("{path} is not a text file of the workspace"),
            "name a file of C#",
        )),
    }
}

/// Returns the text of a file in the opened workspace, if it is a text file.
pub(super) fn text_in_workspace(desk: &mut Desk<'_>, path: &str) -> Result<Option<String>, Failed> {
    let world = desk.open_to_build()?.0.engine.world.clone();
    let read = world.read_at_most(path, LARGEST).ok();
    Ok(read.and_then(|bytes| Some(decode(&bytes).ok()?.0)))
}

/// Whether the target of a directive exists, or may belong to a package: a name that shares its first part with a namespace of the workspace does
/// not.
fn is_known(names: &WorkspaceNames, using: &Using) -> bool {
    let target = using.target.strip_prefix("global::").unwrap_or(&using.target);
    let target = target.split('<').next().unwrap_or(target);
    let root = |name: &str| name.split('.').next().map(str::to_owned);
    let plain = |key: &str| symbol_of(key).split('`').next().unwrap_or_default().replace('+', ".");
    let namespaces = names.symbols.namespaces();
    let is_type = || (using.is_static || using.alias.is_some()) && names.symbols.keys().any(|key| plain(key) == target);
    let is_space = !using.is_static && (namespaces.iter().any(|name| is_within(name, target)) || dotnet::has_namespace(target));
    is_space || is_type() || !namespaces.iter().any(|name| root(name) == root(target))
}

/// Returns the failure for an invalid argument.
pub(super) fn wrong_argument(why: &str, hint: &str) -> Failed {
    Failed::new(Code::Usage, Diagnostic::error(ErrorCode::E_PARAM, why).hint(hint))
}

/// Saves new texts of files, if all names of types keep their meaning and `also` finds no obstacle.
fn save_rewritten(
    desk: &mut Desk<'_>,
    rewriting: &Rewriting<'_>,
    files: &[Rewritten],
    to: Destination<'_>,
    also: impl FnOnce(&mut Desk<'_>, &WorkspaceNames) -> Result<Result<(), Obstacles>, Failed>,
) -> Result<Response, Failed> {
    let (before, world) = to.plan_in(desk, Edit::NAME, |desk| {
        Ok((Bound::from_outputs(desk)?, desk.open_to_build()?.0.engine.world.clone()))
    })?;
    let read = |path: &str| match files.iter().find(|file| file.path == path) {
        Some(file) => file.after.clone(),
        None => Some(decode(&world.read_at_most(path, LARGEST).ok()?).ok()?.0),
    };
    let looked = |inside: &mut Desk<'_>| {
        let names: WorkspaceNames = inside.workspace_names()?;
        let lost = Bound::from_outputs(inside)?.lost(&before, &names.symbols, read)?;
        match lost.is_empty() {
            true => also(inside, &names),
            false => Ok(Err(Obstacles(lost))),
        }
    };
    rewriting.perform(desk, files, to, looked)
}
