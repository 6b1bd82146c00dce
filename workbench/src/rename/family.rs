//! The family of symbols that are renamed together: a type, or a member with all members that override or implement it.

use super::{Obstacles, RenameRequest};
use crate::symbols::calls::counterparts;
use crate::symbols::hierarchy::implementations;
use crate::symbols::index::{Symbols, simple_name};
use crate::symbols::meaning::Candidate;
use crate::symbols::outputs::{Outputs, SymbolError, file_label};
use crate::symbols::overloads::{self, Overload, short_of};
use engine::values::label::halves;
use producers::csharp::deps::dotnet;
use producers::csharp::deps::lookups::{Lookups, TableRows};
use producers::csharp::deps::shape::Shape;
use producers::csharp::deps::world::World;
use producers::csharp::model::{Tier, TypeKind};
use producers::csharp::parse;
use producers::csharp::related_types::{dotnet_bases_with_member, related_types};
use producers::csharp::syntax;
use producers::csharp::types::symbol_of;
use std::collections::{BTreeMap, BTreeSet};

/// Kinds of members that have names.
pub(super) const NAMED: [&str; 6] = ["method", "property", "event", "field", "constant", "enum member"];

/// Symbols that are renamed together.
pub(super) struct Family {
    /// Paths: the key of a type, or key and member.
    pub(super) paths: BTreeSet<String>,
    pub(super) old: String,
    pub(super) is_type: bool,
}

/// Whether C# forbids a word as the name of a type, or the name would change the meaning of other code.
fn has_meaning_as_type(word: &str) -> bool {
    matches!(
        word,
        "var"
            | "dynamic"
            | "nint"
            | "nuint"
            | "record"
            | "required"
            | "scoped"
            | "file"
            | "field"
            | "extension"
            | "partial"
            | "where"
            | "await"
            | "async"
            | "yield"
            | "unmanaged"
            | "notnull"
            | "allows"
            | "nameof"
    )
}

/// Returns the property or event whose accessor has this name.
pub(super) fn accessed_by(name: &str) -> Option<&str> {
    ["get_", "set_", "add_", "remove_"]
        .iter()
        .find_map(|prefix| name.strip_prefix(prefix))
}

/// Adds obstacles for an invalid new name, and for a symbol whose name cannot change.
pub(super) fn check_name(symbols: &Symbols, request: RenameRequest<'_>, way: &mut Obstacles) {
    let (candidate, new) = (request.candidate, request.new);
    // A new name is valid if C# parses it as the name of a field.
    let source = format!("class C__ {{ int {new}; }}");
    let (read, _) = parse::read(&source, &BTreeSet::new(), "");
    let is_name = !new.contains(char::is_whitespace) && read.tier == Tier::Whole && {
        let members: Vec<&str> = read
            .types
            .iter()
            .flat_map(|decl| &decl.members)
            .map(|member| member.name.as_str())
            .collect();
        read.types.len() == 1 && members == [new]
    };
    let is_of_type = candidate.member().is_none();
    if is_of_type && has_meaning_as_type(new) || !is_of_type && new == "nameof" {
        way.add_obstacle(format!("'{new}' has a meaning of its own in C#"));
    }
    if !is_name {
        way.add_obstacle(format!("C# does not allow the name '{new}' for a type or a member"));
    }
    way.refuse_inherited(candidate);
    let old = match candidate.member_name() {
        None => simple_name(candidate.key()),
        Some(name) => short_of(name).unwrap_or(name),
    };
    if candidate.member().is_some() && !NAMED.contains(&candidate.kind.as_str()) {
        let article = if candidate.kind.starts_with(['a', 'e', 'i', 'o', 'u']) {
            "an"
        } else {
            "a"
        };
        way.add_obstacle(format!("{article} {} has no name of its own", candidate.kind));
    }
    if old == new {
        way.add_obstacle(format!("{} has this name already", candidate.path));
    }
    if symbols.is_generated(candidate.key()) {
        way.add_obstacle(format!("{} is generated", candidate.key()));
    }
}

impl Family {
    /// Returns a family of one symbol, without the members that override or implement it.
    pub(super) fn of_symbol(candidate: &Candidate) -> Self {
        let name = candidate.member_name();
        Self {
            paths: BTreeSet::from([candidate.path.clone()]),
            old: name
                .map_or_else(|| simple_name(candidate.key()), |name| short_of(name).unwrap_or(name))
                .to_owned(),
            is_type: name.is_none(),
        }
    }

    pub(super) fn from_symbol<O: Outputs>(
        outputs: &mut O,
        symbols: &Symbols,
        candidate: &Candidate,
        way: &mut Obstacles,
    ) -> Result<Self, O::Error> {
        let mut family = Self::of_symbol(candidate);
        if family.is_type {
            return Ok(family);
        }
        let mut open: Vec<String> = std::mem::take(&mut family.paths).into_iter().collect();
        while let Some(path) = open.pop() {
            if family.paths.insert(path.clone()) {
                open.extend(family.beside(outputs, symbols, &path, way)?);
            }
        }
        Ok(family)
    }

    /// Returns the members that override or implement a member, and those that it overrides or implements.
    fn beside<O: Outputs>(&self, outputs: &mut O, symbols: &Symbols, path: &str, way: &mut Obstacles) -> Result<Vec<String>, O::Error> {
        let Some((key, member)) = halves(path) else { return Ok(Vec::new()) };
        let damaged = |_| SymbolError::damaged();
        let mut found: Vec<String> = carried_on(outputs, symbols, path)?.into_iter().collect();
        let owners = symbols.owners(&self.old);
        let others: Vec<String> = related_types(symbols.declarations(), key, &owners)
            .map_err(damaged)?
            .into_iter()
            .collect();
        let keys: Vec<&str> = std::iter::once(key).chain(others.iter().map(String::as_str)).collect();
        let mut rows = overloads::read_overloads(outputs, &keys)?.into_iter();
        let own = rows.next().unwrap_or_default().into_iter().find(|one| one.key == member);
        let Some(own) = own else { return Ok(found) };
        let mut has_base = false;
        for (other, mut rows) in others.iter().zip(rows) {
            rows.retain(|one| one.name == self.old || short_of(&one.name) == Some(self.old.as_str()));
            for one in counterparts(&own, &rows) {
                let base = format!("{other}#{}", one.key);
                if carried_on(outputs, symbols, &base)?.contains(path) {
                    has_base = true;
                    found.push(base);
                }
            }
        }
        let is_explicit = short_of(&own.name).is_some();
        if (own.is_override || is_explicit) && !has_base {
            way.add_obstacle(format!("{path}: what it overrides or implements is not in this workspace"));
        }
        self.check_bases(outputs, symbols, (key, path), &own, way)?;
        Ok(found)
    }

    /// Adds an obstacle if a base outside of the workspace declares the member, too.
    fn check_bases<O: Outputs>(
        &self,
        outputs: &mut O,
        symbols: &Symbols,
        (key, path): (&str, &str),
        own: &Overload,
        way: &mut Obstacles,
    ) -> Result<(), O::Error> {
        for base in dotnet_bases_with_member(symbols.declarations(), key, &self.old).map_err(|_| SymbolError::damaged())? {
            way.add_obstacle(format!(
                "{path} overrides or implements a member of {base}, which is outside this workspace"
            ));
        }
        if own.is_static || own.accessibility == "private" {
            return Ok(());
        }
        if has_unknown_base(outputs, symbols, key)? {
            way.add_obstacle(format!("{path}: a base of its type is not known, and may declare it"));
        }
        Ok(())
    }

    /// Returns the new paths by old path.
    pub(super) fn new_paths(&self, new: &str) -> BTreeMap<String, String> {
        let renamed = |path: &String| match halves(path) {
            None => renamed_key(path, new),
            Some((key, member)) => {
                let end = member.find(['`', '(']).unwrap_or(member.len());
                let (name, rest) = member.split_at(end);
                let qualified = name.len() - short_of(name).unwrap_or(name).len();
                format!("{key}#{}{new}{rest}", &name[..qualified])
            }
        };
        self.paths.iter().map(|path| (path.clone(), renamed(path))).collect()
    }
}

/// Returns the members that override or implement a member, at any distance.
fn carried_on<O: Outputs>(outputs: &mut O, symbols: &Symbols, path: &str) -> Result<BTreeSet<String>, O::Error> {
    let found = implementations(outputs, symbols, &Candidate::from_path(path, &[]), true)?;
    Ok(found.into_iter().map(|one| one.path).collect())
}

/// Whether a type, or a base of it in the workspace, has an unknown base.
fn has_unknown_base<O: Outputs>(outputs: &mut O, symbols: &Symbols, key: &str) -> Result<bool, O::Error> {
    let levels = {
        let rows = TableRows::read(symbols.declarations()).map_err(|_| SymbolError::damaged())?;
        let lookups = Lookups::new(&rows);
        let world = World::new(&lookups);
        let levels = world.levels(&Shape::of_key(key));
        let is_unknown = |base: &Shape| match base.key() {
            None => true,
            Some(base) => base.strip_prefix('~').is_some_and(|base| dotnet::get(base).is_none()),
        };
        if levels.iter().any(is_unknown) {
            return Ok(true);
        }
        let own = levels.iter().filter_map(Shape::key).filter(|base| !base.starts_with('~'));
        own.map(|base| (base.to_owned(), world.type_line(base).map_or(0, |line| line.bases.len())))
            .collect::<Vec<_>>()
    };
    for (base, known) in levels {
        let Some(at) = symbols.find(&base) else { return Ok(true) };
        let labels: Vec<String> = symbols.type_row(at)?.files.iter().map(|file| file_label(file, "syntax")).collect();
        let mut written: BTreeSet<String> = BTreeSet::new();
        for output in outputs.read(&labels)? {
            let Some(bytes) = output.bytes else { return Ok(true) };
            let tree = syntax::decode(&bytes).map_err(|_| SymbolError::damaged().at_label(&output.label))?;
            let parts = tree.types.into_iter().filter(|decl| decl.symbol() == symbol_of(&base));
            // The underlying type of an enumeration is not a base.
            written.extend(parts.filter(|decl| decl.kind != TypeKind::Enum).flat_map(|decl| decl.bases));
        }
        if written.len() > known {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Returns a type's key with another name, without the `@` mark: it distinguishes types of one name, and no other type has the new name.
pub(super) fn renamed_key(key: &str, new: &str) -> String {
    let (old, symbol) = (simple_name(key), symbol_of(key));
    let at = symbol.rfind(old).unwrap_or(0);
    format!("{}{new}{}", &symbol[..at], &symbol[at + old.len()..])
}
