//! `csharp/types`: the table of all types of the workspace, symbol path → JSON object.
//!
//! Partial declarations are one type per project. If two projects (or two files, for `file` types) declare the same symbol, each has a row
//! `Symbol@Scope`, and a note reports it. The table depends on declarations only, not on bodies or documentation.

use super::duplicates::{self, Duplicate, Kind};
use super::generated::is_generated;
use super::hashes::Access;
use super::ids::{TYPE_FORM, kind_word, type_hash};
use super::model::TypeKind;
use super::names::{self, Names};
use super::namespaces::join_path;
use super::project_ownership::{Layout, directory};
use super::short_ids::{ShortIds, id_in};
use engine::seams::producer::{Failure, Input, Inputs, Output, Producer, ProducerId};
use engine::seams::update::TableUpdate;
use engine::values::codes::ErrorCode;
use engine::values::diagnostic::{Diagnostic, Severity};
use engine::values::json;
use engine::values::table::write_table;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// One row of `//index:types`. Fields are in alphabetical order, so the JSON has sorted keys.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TypeRow {
    /// Accessibility in effect, as C# writes it.
    pub accessibility: String,
    /// Number of own type parameters.
    pub arity: usize,
    /// Assembly name; `""` for loose files.
    pub assembly: String,
    /// Files that declare a part of it, sorted.
    pub files: Vec<String>,
    /// Whether all its files are marked as generated code.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub generated: bool,
    pub id: String,
    /// `class`, `record struct` …
    pub kind: String,
    pub namespace: String,
    /// Identifier of the project (`P1`), if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// Namespace and path: the key without the scope that distinguishes types with equal symbols.
    #[serde(default)]
    pub symbol: String,
    /// Whether the identifier is longer than usual.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub widened: bool,
}

/// The producer `csharp/types`.
#[derive(Debug)]
pub struct Types;

/// Distinguishes declarations of one symbol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Scope<'a> {
    Loose,
    Project(usize),
    File(&'a str),
}

/// The parts of one type seen so far.
pub(super) struct PartsSoFar {
    kind: TypeKind,
    arity: usize,
    namespace: String,
    access: Access,
    files: BTreeSet<String>,
    /// Number of declarations, counting those within a file only if they differ.
    pub(super) parts: u32,
    /// Whether all of them are `partial`.
    pub(super) partial: bool,
    /// Whether all of them are generated.
    generated: bool,
}

/// All types by symbol and scope.
pub(super) type FoundTypes<'a> = BTreeMap<(String, Scope<'a>), PartsSoFar>;

impl Producer for Types {
    fn id(&self) -> ProducerId {
        ProducerId::new("csharp/types", 13)
    }

    fn update(&self) -> Option<&dyn TableUpdate> {
        Some(self)
    }

    fn produce(&self, inputs: &Inputs<'_>) -> Result<Output, Failure> {
        let files = decode_all(inputs.all("names"))?;
        let layout = Layout::from_inputs(inputs.all("projects"), inputs.maybe("files"))?;
        let found = gather(&files, &layout);
        let mut diagnostics = Vec::new();
        let rows = type_rows(&found, &layout, &mut diagnostics);
        Ok(Output {
            bytes: write_table(&rows),
            diagnostics,
            memo: ShortIds::of_ids(rows.values().map(|row| id_in(row).unwrap_or_default())).into_memo(),
            ..Output::default()
        })
    }
}

/// Decodes the names of all files. Fails if a blob is no output of `csharp/names`.
pub fn decode_all(inputs: &[Input]) -> Result<Vec<(&str, Names)>, Failure> {
    let read = |input| -> Result<(&str, Names), Failure> {
        let Input { item, bytes, .. }: &Input = input;
        Ok((&**item, names::decode_names(bytes)?))
    };
    inputs.par_iter().map(read).collect()
}

/// Returns the types that files declare, by symbol and scope.
pub(super) fn gather<'a>(files: &'a [(&'a str, Names)], layout: &Layout) -> FoundTypes<'a> {
    let mut found = FoundTypes::new();
    for (file, names) in files {
        let alone = if names.is_app { Scope::File(file) } else { Scope::Loose };
        let owner = layout.owner(file).map_or(alone, Scope::Project);
        let of_file: BTreeSet<(&str, &str)> = names
            .types
            .iter()
            .filter(|named| named.accessibility == "file")
            .map(|named| (named.namespace.as_str(), named.path.as_str()))
            .collect();
        for named in &names.types {
            let outermost = named.path.split('+').next().unwrap_or(&named.path);
            let scope = if of_file.contains(&(named.namespace.as_str(), outermost)) {
                Scope::File(file)
            } else if named.of.is_empty() {
                owner
            } else {
                layout.compiler(&named.of, file).map_or(owner, Scope::Project)
            };
            let part = found
                .entry((join_path(&named.namespace, &named.path), scope))
                .or_insert_with(|| PartsSoFar {
                    kind: named.kind,
                    arity: named.arity as usize,
                    namespace: named.namespace.clone(),
                    access: Access::Private,
                    files: BTreeSet::new(),
                    parts: 0,
                    partial: true,
                    generated: true,
                });
            part.parts += 1;
            part.partial &= named.is_partial;
            // The parser does not know its file's name.
            part.generated &= names.is_generated || is_generated(file, "") || layout.is_generated(file);
            // A part may omit an accessibility that another writes; a written one is never less than the default.
            part.access = part.access.min(Access::parse(&named.accessibility));
            part.files.insert((*file).to_owned());
        }
    }
    share_parts(&mut found, files, layout);
    found
}

/// Shares parts of partial types between projects. If another project also compiles a part's file and declares parts of the type itself,
/// its type gets the part, too.
fn share_parts(found: &mut FoundTypes<'_>, files: &[(&str, Names)], layout: &Layout) {
    for (file, names) in files {
        for named in names.types.iter().filter(|named| named.is_partial) {
            let others = layout.other_compilers(named, file);
            for project in others.filter_map(|path| layout.at_path(path)) {
                let key = (join_path(&named.namespace, &named.path), Scope::Project(project));
                if let Some(part) = found.get_mut(&key).filter(|part| part.partial) {
                    part.parts += 1;
                    part.access = part.access.min(Access::parse(&named.accessibility));
                    part.generated &= names.is_generated || is_generated(file, "") || layout.is_generated(file);
                    part.files.insert((*file).to_owned());
                }
            }
        }
    }
}

/// Returns the rows of these types; adds diagnostics about duplicates and lengthened identifiers.
pub(super) fn type_rows(found: &FoundTypes<'_>, layout: &Layout, diagnostics: &mut Vec<Diagnostic>) -> BTreeMap<String, Vec<u8>> {
    let mut times: BTreeMap<&str, usize> = BTreeMap::new();
    for (symbol, _) in found.keys() {
        *times.entry(symbol).or_default() += 1;
    }
    let names = layout.scope_names();
    let scope_name = |scope: Scope<'_>| match scope {
        Scope::Loose => "loose".to_owned(),
        Scope::File(file) => file.to_owned(),
        Scope::Project(at) => names[at].to_owned(),
    };
    let mut keys = Vec::with_capacity(found.len());
    let mut hashes = Vec::with_capacity(found.len());
    let mut duplicates: Vec<Duplicate<'_>> = Vec::new();
    for ((symbol, scope), part) in found {
        if times[symbol.as_str()] > 1 {
            let name = scope_name(*scope);
            hashes.push(type_hash(symbol, part.kind, part.arity, Some(&name)));
            let key = format!("{symbol}@{name}");
            apart(&mut duplicates, symbol, &key, *scope, part);
            keys.push(key);
        } else {
            hashes.push(type_hash(symbol, part.kind, part.arity, None));
            keys.push(symbol.clone());
        }
    }
    let merged = found.iter().filter(|(_, part)| part.parts > 1 && !part.partial);
    duplicates.extend(merged.map(|((symbol, scope), part)| merged_parts(symbol, *scope, &scope_name(*scope), part, layout)));
    let folders = layout.projects.iter().filter_map(|project| Some(project.path.rsplit_once('/')?.0));
    // Files that generators write for a project are no copies either.
    let kept = folders.chain(layout.generated().map(directory));
    diagnostics.extend(duplicates::summaries(&duplicates, &kept.collect()));
    let ids = TYPE_FORM.assign(&hashes);
    let widened = ids.iter().filter(|id| id.widened).count();
    if widened > 0 {
        let message = format!("{widened} type identifiers collided and were lengthened");
        diagnostics.push(Diagnostic::new(Severity::Note, ErrorCode::CS_ID_WIDENED, message).hint("see //index:conflicts"));
    }
    keys.into_iter()
        .zip(found)
        .zip(ids)
        .map(|((key, ((_, scope), part)), id)| {
            let file = part.files.first().map_or("", String::as_str);
            let project = match scope {
                Scope::Project(at) => Some(&layout.projects[*at]),
                Scope::File(_) | Scope::Loose => layout.owner(file).map(|at| &layout.projects[at]),
            };
            let row = TypeRow {
                accessibility: part.access.as_csharp().to_owned(),
                arity: part.arity,
                assembly: project.map_or_else(String::new, |project| project.assembly.clone()),
                files: part.files.iter().cloned().collect(),
                generated: part.generated,
                id: format!("T_{}", id.text),
                kind: kind_word(part.kind).to_owned(),
                namespace: part.namespace.clone(),
                project: project.map(|project| project.id.clone()),
                symbol: symbol_of(&key).to_owned(),
                widened: id.widened,
            };
            (key, json::encode(&row))
        })
        .collect()
}

/// Describes a type whose parts are not all `partial`.
fn merged_parts<'a>(symbol: &'a str, scope: Scope<'_>, name: &str, part: &'a PartsSoFar, layout: &Layout) -> Duplicate<'a> {
    let is_loose = matches!(scope, Scope::Loose);
    let files = part.files.iter().map(String::as_str);
    let (others, main): (BTreeSet<&str>, BTreeSet<&str>) = files.clone().partition(|file| layout.has_own_symbols(file));
    let is_of_frameworks = !is_loose && !others.is_empty() && main.len() == 1;
    let message = match is_of_frameworks {
        true => {
            format!("{symbol} is declared again in a file that only another target framework of {name} compiles; its parts were merged")
        }
        false => format!(
            "{symbol} is declared {} times in {name} without 'partial'; its parts were merged",
            part.parts
        ),
    };
    let kind = match (is_loose, is_of_frameworks) {
        (true, _) => Kind::MergedLoose,
        (false, true) => Kind::MergedFrameworks,
        (false, false) => Kind::Merged,
    };
    Duplicate {
        kind,
        symbol,
        candidates: part.files.iter().cloned().collect(),
        message,
        files: if is_of_frameworks { others } else { files.collect() },
        is_loose,
    }
}

/// Adds one of several separate types that share a symbol. The caller passes those of one symbol one after the other.
fn apart<'a>(duplicates: &mut Vec<Duplicate<'a>>, symbol: &'a str, key: &str, scope: Scope<'_>, part: &'a PartsSoFar) {
    if duplicates.last().is_none_or(|last| last.symbol != symbol) {
        duplicates.push(Duplicate {
            kind: Kind::Apart,
            symbol,
            candidates: Vec::new(),
            message: String::new(),
            files: BTreeSet::new(),
            is_loose: false,
        });
    }
    if let Some(all) = duplicates.last_mut() {
        all.candidates.push(key.to_owned());
        all.message = format!(
            "{symbol} is declared {} times, in different projects or files",
            all.candidates.len()
        );
        // If files without a project declare the type (they come first), a project's declaration is no copy.
        let is_loose = matches!(scope, Scope::Loose);
        all.is_loose |= is_loose;
        if is_loose || !all.is_loose {
            all.files.extend(part.files.iter().map(String::as_str));
        }
    }
}

/// Returns a name without the numbers of its type parameters: `N.Map.Row` of ``N.Map`2.Row``.
pub fn without_arities(name: &str) -> String {
    let mut parts = name.split('`');
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |before, part| before + part.trim_start_matches(|c: char| c.is_ascii_digit()))
}

/// Returns the text after `@` in a key: a project's name or path, a file, or `loose`.
pub fn scope_of(key: &str) -> Option<&str> {
    key.split_once('@').map(|(_, scope)| scope)
}

/// Returns the symbol without the scope after `@`.
pub fn symbol_of(key: &str) -> &str {
    key.split_once('@').map_or(key, |(symbol, _)| symbol)
}

/// Returns the last name of a symbol or a key, without its number of type parameters.
pub fn simple_name(key: &str) -> &str {
    let symbol = symbol_of(key).trim_start_matches(['~', '^']);
    let last = symbol.rsplit(['.', '+']).next().unwrap_or(symbol);
    last.split('`').next().unwrap_or(last)
}
