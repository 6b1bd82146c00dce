//! Operations of `edit` about interfaces: extracting one from a type, and adding stubs for members that the bases of a type require.

use super::edit::{Edit, defines_of};
use super::edit_by_symbol::{Planned, SymbolEdit, file_of, path_and_text, rewriting, wrong_argument};
use super::rename::RenameSubject;
use super::rewriting::Rewriting;
use super::{Method, symbols};
use crate::desk::Desk;
use crate::failed::Failed;
use crate::render::plural;
use engine::seams::world::World;
use producers::csharp::deps::dotnet;
use producers::csharp::types::symbol_of;
use std::collections::BTreeSet;
use std::sync::Arc;
use workbench::edit::extracting_interfaces::{RequestedInterface, extract};
use workbench::edit::implementing::{TypeNames, with_stubs};
use workbench::edit::order::Rewritten;
use workbench::edit::response::Response;
use workbench::edit::symbol::Refused;
use workbench::rename::Obstacles;
use workbench::symbols::index::is_within;
use workbench::symbols::unimplemented::{MissingMembers, missing_members};

fn of_file(path: &str, why: &Refused) -> Failed {
    wrong_argument(&format!("{path}: {}", why.why), &why.hint)
}

/// Returns the members that a type with stubs still lacks, as obstacles.
fn check_no_member_missing(found: &MissingMembers, named: &BTreeSet<String>) -> Result<(), Obstacles> {
    let missing = found.members.iter().filter(|one| named.contains(&one.path));
    let way: BTreeSet<String> = missing.map(|one| format!("{} would not be implemented by it", one.path)).collect();
    if way.is_empty() { Ok(()) } else { Err(Obstacles(way)) }
}

impl SymbolEdit<'_> {
    /// Extracts an interface from the public members of a type, into a file of its own; the type then implements it.
    pub fn extract_interface(&self, desk: &mut Desk<'_>) -> Result<Response, Failed> {
        let refusal = format!("{} gets no interface", self.symbol);
        let rewriting = rewriting(
            "extract_interface",
            &refusal,
            "nothing was changed; first change the code that is named, or name other members: NAME: MEMBER, MEMBER",
        );
        let (planned, target, interface) = self.to.plan_in(desk, Edit::NAME, |desk| {
            let subject = RenameSubject::from_symbol(desk, self.symbol)?;
            let of = &subject.candidate;
            let (path, before) = path_and_text(desk, &file_of(of, self.path)?)?;
            let request = RequestedInterface::from_text(self.new).map_err(|why| of_file(&path, &why))?;
            let defines = defines_of(desk, &path)?;
            let made = extract(&before, symbol_of(&of.path), &request, &defines).map_err(|why| of_file(&path, &why))?;
            if let Some(at) = subject.names.symbols.find(&made.symbol) {
                let files = subject.names.symbols.type_row(at)?.files.join(", ");
                return Err(rewriting.refused(&Obstacles(BTreeSet::from([format!("{files}: there is a {} already", made.symbol)]))));
            }
            let target = self.target_file(desk, &path, &made.symbol, None)?;
            let summary = format!(
                "extracted {} with {} to {target}",
                made.symbol,
                plural(made.members.len() as u64, "member")
            );
            let new = Rewritten {
                path: target.clone(),
                before: None,
                after: Some(made.own),
                like: Some(path.clone()),
            };
            let files = vec![Rewritten::of(path, before, made.text), new];
            Ok((Planned { files, summary }, target, made.symbol))
        })?;
        self.saved_if(desk, &rewriting, planned, |_, names| {
            let row = names.symbols.find(&interface).map(|at| names.symbols.type_row(at)).transpose()?;
            let is_there = row.is_some_and(|row| row.files.contains(&target));
            let way = format!("{target}: {interface} would not be compiled with its project there");
            Ok(if is_there { Ok(()) } else { Err(Obstacles(BTreeSet::from([way]))) })
        })
    }

    /// Adds stubs for the members that the bases of a type require.
    pub fn implement_members(&self, desk: &mut Desk<'_>) -> Result<Response, Failed> {
        let refusal = format!("{} gets no stubs", self.symbol);
        let rewriting = rewriting(
            "implement_members",
            &refusal,
            "nothing was changed; write the members with `add_member`",
        );
        let (planned, key, missing) = self.to.plan_in(desk, Edit::NAME, |desk| self.plan_stubs(desk, &rewriting))?;
        self.saved_if(desk, &rewriting, planned, |inside, names| {
            let world: Arc<dyn World> = inside.open_to_build()?.0.engine.world.clone();
            Ok(check_no_member_missing(
                &missing_members(inside, &names.symbols, &*world, &key)?,
                &missing,
            ))
        })
    }

    fn plan_stubs(&self, desk: &mut Desk<'_>, rewriting: &Rewriting<'_>) -> Result<(Planned, String, BTreeSet<String>), Failed> {
        let names = desk.workspace_names()?;
        let (of, _) = symbols::resolve_for_edit(desk, &names, self.symbol)?;
        let symbols = &names.symbols;
        let (path, before) = path_and_text(desk, &file_of(&of, self.path)?)?;
        let kind = symbols.find(of.key()).map(|at| symbols.brief(at).kind).unwrap_or_default();
        if of.member().is_some() || !matches!(kind, "class" | "struct" | "record" | "record struct") {
            return Err(wrong_argument(
                &format!("{} is neither a class nor a struct, and owes no members", of.path),
                "name the type that has the bases",
            ));
        }
        let world: Arc<dyn World> = desk.open_to_build()?.0.engine.world.clone();
        let found = missing_members(desk, symbols, &*world, of.key())?;
        if !found.unknown.is_empty() {
            let way = found.unknown.into_iter().map(|why| format!("{}: {why}", of.path));
            return Err(rewriting.refused(&Obstacles(way.collect())));
        }
        let of_dotnet: Vec<&str> = found.of_dotnet.iter().map(String::as_str).collect();
        let mut left = match of_dotnet.is_empty() {
            true => String::new(),
            false => format!("; left to be written, of .NET: {}", of_dotnet.join(", ")),
        };
        for class in &found.undescribed {
            left.push_str(&format!("; whether {class} has abstract members is not known here"));
        }
        if found.members.is_empty() {
            let files = vec![Rewritten::of(path, before.clone(), before)];
            let summary = format!("{} has every member that the workspace's types ask of it{left}", of.path);
            return Ok((Planned { files, summary }, of.key().to_owned(), BTreeSet::new()));
        }
        let has_type = |space: &str, name: &str, arity: Option<u32>| {
            let plain = format!("{space}.{name}");
            let key = match arity {
                Some(arity) if arity > 0 => format!("{plain}`{arity}"),
                _ => plain,
            };
            symbols.has_symbol(&key) || dotnet::known(&key).is_some()
        };
        let is_namespace = |space: &str| dotnet::has_namespace(space) || symbols.namespaces().iter().any(|one| is_within(one, space));
        let known = TypeNames {
            has_type: &has_type,
            is_namespace: &is_namespace,
        };
        let defines = defines_of(desk, &path)?;
        let made = with_stubs(&before, symbol_of(of.key()), &found.members, &defines, &known).map_err(|why| of_file(&path, &why))?;
        let usings: String = made.usings.iter().map(|one| format!(", `using {one}`")).collect();
        let keys: Vec<&str> = made.keys.iter().map(String::as_str).collect();
        let planned = Planned {
            summary: format!("added {} to {}{usings}{left}", keys.join(", "), of.path),
            files: vec![Rewritten::of(path, before, made.text)],
        };
        Ok((
            planned,
            of.key().to_owned(),
            found.members.into_iter().map(|one| one.path).collect(),
        ))
    }
}
