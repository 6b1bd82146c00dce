//! Operations of `edit` that change the structure of code: parameters of members, files of types, using directives.

use super::edit::{Edit, defines_of};
use super::edit_by_symbol::{BREAKS, Planned, SymbolEdit, file_of, path_and_text, rewriting, wrong_argument};
use super::edit_check::names_lost;
use super::rename::RenameSubject;
use super::symbols::resolve_for_edit;
use super::{Method, window};
use crate::desk::Desk;
use crate::desk::workspace_names::WorkspaceNames;
use crate::failed::Failed;
use crate::render::plural;
use producers::csharp::types::symbol_of;
use std::collections::BTreeSet;
use workbench::code_text::encoding::LARGEST;
use workbench::edit::disk::Disk;
use workbench::edit::moving_types::move_to_own_file;
use workbench::edit::order::Rewritten;
use workbench::edit::organizing_usings::organize_usings;
use workbench::edit::response::Response;
use workbench::edit::symbol::Refused;
use workbench::rename::{self, Obstacles};
use workbench::symbols::index::simple_name;

/// Most notes in the summary of an answer.
const NOTES: usize = 5;

impl SymbolEdit<'_> {
    /// Changes the parameters of a method or a constructor; callers, overrides, implementations and references follow.
    pub fn change_signature(&self, desk: &mut Desk<'_>) -> Result<Response, Failed> {
        let refusal = format!("{} keeps its parameters", self.symbol);
        let rewriting = rewriting(
            "change_signature",
            &refusal,
            "nothing was changed; change the code that is named first, or give other parameters",
        );
        let plan = self.to.plan_in(desk, Edit::NAME, |desk| {
            let subject = RenameSubject::from_symbol(desk, self.symbol)?;
            let request = subject.request(self.new);
            let plan = rename::change_signature(desk, &subject.names.symbols, &*subject.world, request)?;
            plan.map_err(|way| rewriting.refused(&way))
        })?;
        let (places, files) = (plural(plan.places as u64, "place"), plural(plan.files.len() as u64, "file"));
        let left: String = plan.left.iter().take(NOTES).map(|note| format!("; {note}")).collect();
        let more = match plan.left.len().saturating_sub(NOTES) {
            0 => String::new(),
            more => format!("; {more} more arguments are no longer passed"),
        };
        let planned = Planned {
            summary: format!("changed {places} in {files}{left}{more}"),
            files: plan.files.clone(),
        };
        self.saved_if(desk, &rewriting, planned, |inside, names| {
            let gaps = inside.health()?.gaps();
            match rename::verify(inside, &names.symbols, &plan, &gaps)? {
                // The value that callers pass for a new parameter must be defined there.
                Ok(()) => names_lost(inside, &names.symbols, &plan.files),
                refused => Ok(refused),
            }
        })
    }

    /// Moves a type to a file of its own.
    pub fn move_type(&self, desk: &mut Desk<'_>) -> Result<Response, Failed> {
        let refusal = format!("{} stays in its file", self.symbol);
        let rewriting = rewriting(
            "move_type",
            &refusal,
            "nothing was changed; first change the code that is named, or name another file",
        );
        let (planned, key, target) = self.to.plan_in(desk, Edit::NAME, |desk| {
            let names = desk.workspace_names()?;
            let (of, _) = resolve_for_edit(desk, &names, self.symbol)?;
            let (path, before) = path_and_text(desk, &file_of(&of, self.path)?)?;
            let defines = defines_of(desk, &path)?;
            let made = move_to_own_file(&before, symbol_of(&of.path), &defines);
            let made = made.map_err(|why: Refused| rewriting.refused(&Obstacles(BTreeSet::from([format!("{path}: {}", why.why)]))))?;
            let target = self.target_file(desk, &path, of.key(), Some(self.new.trim()).filter(|given| !given.is_empty()))?;
            let new = Rewritten {
                path: target.clone(),
                before: None,
                after: Some(made.own),
                like: Some(path.clone()),
            };
            let planned = Planned {
                summary: format!("moved {} to {target}", of.path),
                files: vec![Rewritten::of(path, before, made.rest), new],
            };
            Ok((planned, of.key().to_owned(), target))
        })?;
        self.saved_if(desk, &rewriting, planned, |_, names| {
            let row = names.symbols.find(&key).map(|at| names.symbols.type_row(at)).transpose()?;
            let is_there = row.is_some_and(|row| row.files.contains(&target));
            let way = format!("{target}: {key} would not be compiled with its project there");
            Ok(if is_there { Ok(()) } else { Err(Obstacles(BTreeSet::from([way]))) })
        })
    }

    /// Returns the file to which a type is moved: the requested one, or one named after it, next to the old file. The name has the number of type
    /// parameters if a file of the name without it exists.
    pub(super) fn target_file(&self, desk: &mut Desk<'_>, path: &str, key: &str, given: Option<&str>) -> Result<String, Failed> {
        let named = match given {
            Some(given) => vec![given.to_owned()],
            None => files_named_after(key, path),
        };
        let root = window::root_of_workspace(desk)?;
        let disk = Disk::new(&root);
        let world = desk.open_to_build()?.0.engine.world.clone();
        let mut taken = None;
        for target in named {
            let resolved = workbench::edit::files::Files::resolve(&disk, &target);
            let target = resolved.map_err(|why| wrong_argument(&why.to_string(), why.hint()))?;
            if !target.ends_with(".cs") {
                return Err(wrong_argument(&format!("{target} is not a C# file"), "name one that ends in .cs"));
            }
            if world.read_at_most(&target, LARGEST).is_err() && !root.join(&target).exists() {
                return Ok(target);
            }
            taken.get_or_insert(target);
        }
        Err(wrong_argument(
            &format!("{} exists already; nothing was changed", taken.unwrap_or_default()),
            "name another file: --new-text (newText)",
        ))
    }

    /// Sorts the using directives of a file.
    pub fn organize_usings(&self, desk: &mut Desk<'_>) -> Result<Response, Failed> {
        let path = self.path.unwrap_or_default();
        let refusal = format!("{path} keeps the order of its directives");
        let rewriting = rewriting("organize_usings", &refusal, BREAKS);
        let planned = self.to.plan_in(desk, Edit::NAME, |desk| {
            let (path, before) = path_and_text(desk, path)?;
            let defines = defines_of(desk, &path)?;
            let made = organize_usings(&before, &defines).map_err(|why| wrong_argument(&format!("{path}: {}", why.why), &why.hint))?;
            let summary = match made {
                Some(_) => "put the using directives in order".to_owned(),
                None => format!("the using directives of {path} are in order"),
            };
            let after = made.unwrap_or_else(|| before.clone());
            let files = vec![Rewritten::of(path, before, after)];
            Ok(Planned { files, summary })
        })?;
        self.saved_if(desk, &rewriting, planned, |_: &mut Desk<'_>, _: &WorkspaceNames| Ok(Ok(())))
    }
}

/// Returns the files beside `path` that a type may be moved to, in order of preference: `Map.cs`; then, for a generic type, `` Map`2.cs ``, as the
/// move of a type by Roslyn names it.
fn files_named_after(key: &str, path: &str) -> Vec<String> {
    let folder = &path[..path.rfind('/').map_or(0, |end| end + 1)];
    let name = simple_name(key);
    let arity = symbol_of(key).rsplit(['.', '+']).next().and_then(|last| last.split_once('`'));
    let with_arity = arity.map(|(_, arity)| format!("{folder}{name}`{arity}.cs"));
    std::iter::once(format!("{folder}{name}.cs")).chain(with_arity).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_generic_type_has_a_second_file_name() {
        assert_eq!(files_named_after("N.Map", "Old.cs"), ["Map.cs"]);
        assert_eq!(files_named_after("N.Map`2@App", "a/b/Old.cs"), ["a/b/Map.cs", "a/b/Map`2.cs"]);
    }
}
