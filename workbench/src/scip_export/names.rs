//! The SCIP symbols of a workspace's types and members, each with its description.
//!
//! A type is `cortex nuget ASSEMBLY . Namespace/Outer#Inner#`; types of loose files have no package. Generic types keep the arity of metadata
//! (``Cache`2``). Overloads are numbered `+1`, `+2` …, in the order of their keys.

use crate::symbols::index::Symbols;
use crate::symbols::outputs::{Outputs, SymbolError};
use crate::symbols::overloads::{self, Overload};
use engine::values::label::unescape;
use engine::values::table::Table;
use producers::csharp::members::MemberRow;
use producers::csharp::types::{TypeRow, symbol_of};
use producers::scip_symbol::{Suffix, append_descriptor, package};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

/// The scheme of the symbols.
const SCHEME: &str = "cortex";

/// All types of a workspace, by their keys.
pub(super) type TypesByKey = BTreeMap<String, NamedType>;

/// A type with its symbols.
pub(super) struct NamedType {
    pub(super) symbol: Rc<str>,
    pub(super) row: TypeRow,
    /// Declaration and documentation of the type.
    pub(super) described: Described,
    /// Members of the type, in the order of their keys.
    pub(super) members: Vec<NamedMember>,
    /// Overloads of the type's members by name.
    pub(super) overloads: BTreeMap<String, Vec<Overload>>,
}

/// A member with its symbol.
pub(super) struct NamedMember {
    pub(super) symbol: Rc<str>,
    /// The data that distinguishes overloads.
    pub(super) overload: Overload,
    /// Declaration and documentation of the member.
    pub(super) described: Described,
}

/// The description of a symbol.
#[derive(Default, Deserialize)]
pub(super) struct Described {
    /// The declaration in one line.
    pub(super) signature: String,
    pub(super) doc: String,
}

impl NamedType {
    pub(super) fn member(&self, key: &str) -> Option<&NamedMember> {
        let at = self.members.binary_search_by(|member| member.overload.key.as_str().cmp(key)).ok()?;
        self.members.get(at)
    }
}

/// Names all types and members; adds the labels of missing outputs to `unread`.
pub(super) fn name_all_symbols<O: Outputs>(outputs: &mut O, symbols: &Symbols, unread: &mut Vec<String>) -> Result<TypesByKey, O::Error> {
    let mut names = TypesByKey::new();
    for (at, key) in symbols.keys().enumerate() {
        let row = symbols.type_row(at)?;
        let named = NamedType {
            symbol: of_type(key, &row).into(),
            row,
            described: Described::default(),
            members: Vec::new(),
            overloads: BTreeMap::new(),
        };
        names.insert(key.to_owned(), named);
    }
    for (label, key, bytes) in outputs_of_types(outputs, "outline-info", unread)? {
        let damaged = |_| SymbolError::damaged().at_label(&label);
        if let Some(named) = names.get_mut(&key) {
            named.described = serde_json::from_slice(&bytes).map_err(damaged)?;
        }
    }
    for (label, key, bytes) in outputs_of_types(outputs, "members", unread)? {
        let damaged = || SymbolError::damaged().at_label(&label);
        let Some(named) = names.get_mut(&key) else { continue };
        let table = Table::open(&bytes).ok_or_else(damaged)?;
        for (key, row) in table.rows() {
            let mut row: MemberRow = serde_json::from_slice(row).map_err(|_| damaged())?;
            let shown = std::mem::take(&mut row.shown);
            let described = Described {
                signature: if shown.is_empty() { row.signature.clone() } else { shown },
                doc: std::mem::take(&mut row.doc),
            };
            let overload = Overload::of_row(key, row);
            named.overloads.entry(overload.name.clone()).or_default().push(overload.clone());
            named.members.push(NamedMember {
                symbol: "".into(),
                overload,
                described,
            });
        }
        for overloads in named.overloads.values_mut() {
            overloads::bind(symbols, &key, overloads)?;
        }
        named.name_members();
    }
    Ok(names)
}

/// The label of an output, the key of its type, its bytes.
pub(super) type OutputOfType = (String, String, Arc<[u8]>);

/// Returns the outputs of one target of all types: label, key, bytes.
pub(super) fn outputs_of_types<O: Outputs>(outputs: &mut O, target: &str, unread: &mut Vec<String>) -> Result<Vec<OutputOfType>, O::Error> {
    let mut found = Vec::new();
    for output in outputs.read(&[format!("//types/...:{target}")])? {
        let key = output.label.strip_prefix("//types/").and_then(|rest| rest.rsplit_once(':'));
        match (key.map(|(key, _)| unescape(key)), output.bytes) {
            (Some(key), Some(bytes)) => found.push((output.label, key, bytes)),
            _ => unread.push(output.label),
        }
    }
    Ok(found)
}

fn of_type(key: &str, row: &TypeRow) -> String {
    let manager = if row.assembly.is_empty() { "" } else { "nuget" };
    let mut symbol = package(SCHEME, manager, &row.assembly, "");
    for name in row.namespace.split('.').filter(|name| !name.is_empty()) {
        append_descriptor(&mut symbol, name, &Suffix::Namespace);
    }
    let full = symbol_of(key);
    let path = full.strip_prefix(&row.namespace).map_or(full, |path| path.trim_start_matches('.'));
    let scope = key[full.len()..].strip_prefix('@').filter(|scope| *scope != row.assembly);
    let mut names = path.split('+').peekable();
    while let Some(name) = names.next() {
        match scope.filter(|_| names.peek().is_none()) {
            // Types that only one file sees, or whose projects share an assembly name.
            Some(scope) => append_descriptor(&mut symbol, &format!("{name}@{scope}"), &Suffix::Type),
            None => append_descriptor(&mut symbol, name, &Suffix::Type),
        }
    }
    symbol
}

impl NamedType {
    fn name_members(&mut self) {
        let mut counts: BTreeMap<String, usize> = BTreeMap::new();
        for member in &mut self.members {
            let overload = &member.overload;
            let count = counts.entry(overload.name.clone()).or_default();
            let disambiguator = if *count == 0 { String::new() } else { format!("+{count}") };
            *count += 1;
            let mut symbol = self.symbol.to_string();
            match overload.kind.as_str() {
                "method" | "constructor" | "finalizer" | "operator" | "conversion" => {
                    append_descriptor(&mut symbol, &overload.name, &Suffix::Method(disambiguator));
                }
                // C# indexers differ by their parameters.
                _ if disambiguator.is_empty() => append_descriptor(&mut symbol, &overload.name, &Suffix::Term),
                _ => append_descriptor(&mut symbol, &overload.key, &Suffix::Term),
            }
            member.symbol = symbol.into();
        }
    }
}
