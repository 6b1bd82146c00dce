//! Exports an index of the workspace in the format SCIP: definitions, uses, documentation and relations.
//!
//! All facts come from outputs of targets: the same sources give the same bytes, without paths of the machine. A call whose arguments fit several
//! overloads is an occurrence of each. Uses on values of unknown type, and of types outside of the workspace, are left out.

mod documents;
mod names;

use crate::symbols::calls::{counterparts, possible_overloads};
use crate::symbols::index::{Symbols, simple_name};
use crate::symbols::locations::{SourceLocation, declared_parts};
use crate::symbols::meaning::Candidate;
use crate::symbols::outputs::{Outputs, SymbolError};
use crate::symbols::overloads::{Overload, short_of};
use documents::{CSHARP, Documents};
use engine::values::label::halves;
use engine::values::table::Table;
use names::{NamedType, TypesByKey, outputs_of_types};
use producers::csharp::deps::lookups::{Lookups, TableRows};
use producers::csharp::deps::shape::Shape;
use producers::csharp::deps::world::World;
use producers::csharp::usages::{Place, UseKind};
use producers::scip::kind;
use producers::scip::messages::{Index, Metadata, Relationship, Signature, SymbolInformation, ToolInfo, UTF8, role};
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

/// Number of types whose sources are in memory at once.
const TYPES_AT_ONCE: usize = 256;

/// An exported index.
#[derive(Clone, Debug, Default)]
pub struct Exported {
    /// The encoded index.
    pub bytes: Vec<u8>,
    pub documents: usize,
    /// Number of definitions; each part of a partial type counts.
    pub symbols: usize,
    pub occurrences: usize,
    /// Labels of missing outputs, whose facts are missing.
    pub unread: Vec<String>,
}

/// Exports the index of a workspace. `project_root`: the URI that its paths are relative to; `version`: of the program.
pub fn export<O: Outputs>(outputs: &mut O, symbols: &Symbols, project_root: &str, version: &str) -> Result<Exported, O::Error> {
    let mut unread = Vec::new();
    let mut documents = Vec::new();
    if !symbols.is_empty() {
        let names = names::name_all_symbols(outputs, symbols, &mut unread)?;
        let files: BTreeSet<&String> = names.values().flat_map(|named| &named.row.files).collect();
        let mut open = Documents::from_outputs(outputs, &files, &mut unread)?;
        define(outputs, &names, &mut open)?;
        add_uses(outputs, &names, &mut open, &mut unread)?;
        let rows = TableRows::read(symbols.declarations()).map_err(|_| SymbolError::damaged())?;
        let lookups = Lookups::new(&rows);
        let world = World::new(&lookups);
        let described: BTreeMap<Rc<str>, SymbolInformation> =
            names.iter().flat_map(|(key, named)| describe(key, named, &names, &world)).collect();
        documents = open.into_documents(|symbol| described.get(symbol).cloned());
    }
    let index = Index {
        metadata: Some(Metadata {
            tool_info: Some(ToolInfo {
                name: "cortex".to_owned(),
                version: version.to_owned(),
                arguments: Vec::new(),
            }),
            project_root: project_root.to_owned(),
            text_document_encoding: UTF8,
            ..Metadata::default()
        }),
        documents,
        external_symbols: Vec::new(),
    };
    Ok(Exported {
        bytes: index.to_bytes(),
        documents: index.documents.len(),
        symbols: index.documents.iter().map(|one| one.symbols.len()).sum(),
        occurrences: index.documents.iter().map(|one| one.occurrences.len()).sum(),
        unread,
    })
}

fn define<O: Outputs>(outputs: &mut O, names: &TypesByKey, open: &mut Documents) -> Result<(), O::Error> {
    let all: Vec<(&String, &NamedType)> = names.iter().collect();
    for some in all.chunks(TYPES_AT_ONCE) {
        let mut candidates: Vec<(Candidate, &Rc<str>, i32)> = Vec::new();
        for (key, named) in some {
            let roles = if named.row.generated { role::GENERATED } else { 0 };
            candidates.push((Candidate::from_path(key, &named.row.files), &named.symbol, roles));
            candidates.extend(named.members.iter().map(|member| {
                let path = format!("{key}#{}", member.overload.key);
                (Candidate::from_path(&path, &member.overload.files), &member.symbol, roles)
            }));
        }
        let asked: Vec<&Candidate> = candidates.iter().map(|(candidate, ..)| candidate).collect();
        for (parts, (_, symbol, roles)) in declared_parts(outputs, &asked)?.iter().zip(&candidates) {
            parts.iter().for_each(|(at, part)| open.define(symbol, at, part, *roles));
        }
    }
    Ok(())
}

fn add_uses<O: Outputs>(outputs: &mut O, names: &TypesByKey, open: &mut Documents, unread: &mut Vec<String>) -> Result<(), O::Error> {
    for (label, _, bytes) in outputs_of_types(outputs, "usages", unread)? {
        let damaged = || SymbolError::damaged().at_label(&label);
        for (key, row) in Table::open(&bytes).ok_or_else(damaged)?.rows() {
            let (owner, member) = halves(key).map_or((key, None), |(owner, member)| (owner, Some(member)));
            let Some(named) = names.get(owner) else { continue };
            let places: Vec<Place> = serde_json::from_slice(row).map_err(|_| damaged())?;
            for place in places {
                let roles = match place.kind {
                    UseKind::Read => role::READ,
                    UseKind::Write => role::WRITE,
                    UseKind::Call | UseKind::Construct | UseKind::Convert | UseKind::Cref | UseKind::Name => 0,
                    // Relationships express these.
                    UseKind::Implement | UseKind::Override => continue,
                };
                let at = SourceLocation {
                    file: place.file.clone(),
                    line: place.line,
                    column: place.column,
                };
                match member {
                    None => open.refer(&named.symbol, &at, roles),
                    Some(name) => members_of_use(named, name, &place)
                        .into_iter()
                        .for_each(|symbol| open.refer(symbol, &at, roles)),
                }
            }
        }
    }
    Ok(())
}

/// Returns the members that a use of a name may refer to.
fn members_of_use<'n>(named: &'n NamedType, name: &str, place: &Place) -> Vec<&'n Rc<str>> {
    let overloads = named.overloads.get(name).map_or(&[][..], Vec::as_slice);
    let left: Vec<&Overload> = match &place.call {
        Some(call) if overloads.len() > 1 => possible_overloads(overloads, call),
        _ => overloads.iter().collect(),
    };
    let left = if left.is_empty() { overloads.iter().collect() } else { left };
    left.into_iter().filter_map(|one| Some(&named.member(&one.key)?.symbol)).collect()
}

/// Returns the information about a type and its members, by symbol.
fn describe(key: &str, named: &NamedType, names: &TypesByKey, world: &World<'_>) -> Vec<(Rc<str>, SymbolInformation)> {
    let levels = world.levels(&Shape::of_key(key));
    let keys = levels.iter().skip(1).filter_map(|base| base.key());
    let bases: Vec<(&str, &NamedType)> = keys.filter_map(|key| Some((key, names.get(key)?))).collect();
    let implements = |symbol: &Rc<str>, is_reference: bool| Relationship {
        symbol: symbol.to_string(),
        is_implementation: true,
        is_reference,
        ..Relationship::default()
    };
    let information = |symbol: &Rc<str>, described: &names::Described, kind: &str, name: &str, mut relationships: Vec<Relationship>| {
        relationships.sort();
        relationships.dedup();
        SymbolInformation {
            symbol: symbol.to_string(),
            documentation: Some(described.doc.clone()).filter(|doc| !doc.is_empty()).into_iter().collect(),
            relationships,
            kind: kind::kind_number(kind),
            display_name: name.to_owned(),
            signature_documentation: Some(Signature {
                language: CSHARP.to_owned(),
                text: described.signature.clone(),
            }),
            enclosing_symbol: String::new(),
        }
    };
    let own = bases.iter().map(|(_, base)| implements(&base.symbol, false)).collect();
    let mut found = vec![(
        named.symbol.clone(),
        information(&named.symbol, &named.described, &named.row.kind, simple_name(key), own),
    )];
    let is_interface = named.row.kind == "interface";
    for member in &named.members {
        let overload = &member.overload;
        let mut relationships = Vec::new();
        for (base_key, base) in bases.iter().filter(|_| overload.kind != "constructor") {
            let of_interface = base.row.kind == "interface";
            let name = match short_of(&overload.name) {
                Some(short) if of_interface && is_explicit(&overload.name, base_key) => short,
                None if overload.is_override && !of_interface => &overload.name,
                None if of_interface && !is_interface && overload.accessibility == "public" => &overload.name,
                _ => continue,
            };
            let theirs = base.overloads.get(name).map_or(&[][..], Vec::as_slice);
            let same = counterparts(overload, theirs);
            let symbols = same.iter().filter_map(|one| Some(&base.member(&one.key)?.symbol));
            relationships.extend(symbols.map(|symbol| implements(symbol, true)));
        }
        relationships.extend(type_of(key, overload, names, world).map(|symbol| Relationship {
            symbol: symbol.to_string(),
            is_type_definition: true,
            ..Relationship::default()
        }));
        let name = match overload.kind.as_str() {
            "constructor" | "finalizer" => simple_name(key),
            _ => &overload.name,
        };
        found.push((
            member.symbol.clone(),
            information(&member.symbol, &member.described, &overload.kind, name, relationships),
        ));
    }
    found
}

/// Whether the interface in the name of an explicit implementation has this key.
fn is_explicit(name: &str, key: &str) -> bool {
    let start = name.len() - short_of(name).map_or(0, str::len);
    let interface = name[..start].trim_end_matches('.');
    let plain = interface.split('<').next().unwrap_or(interface);
    plain.rsplit(['.', ':']).next() == Some(simple_name(key))
}

/// Returns the type of a member with a value, if the workspace declares it.
fn type_of<'n>(key: &str, overload: &Overload, names: &'n TypesByKey, world: &World<'_>) -> Option<&'n Rc<str>> {
    if !matches!(overload.kind.as_str(), "property" | "indexer" | "event" | "field" | "constant") {
        return None;
    }
    let mut lines = Vec::new();
    world.declared(&Shape::of_key(key), &overload.name, &mut lines);
    Some(&names.get(lines.first()?.result().key()?)?.symbol)
}

#[cfg(test)]
mod tests;
