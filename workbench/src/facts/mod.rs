//! Facts about a C# workspace in the record shape of the compiler's facts, as JSON lines: projects, types, members, edges.
//!
//! They depend only on outputs of nodes: the same nodes give the same lines in any folder. Signatures are in the comparable form of [`written`],
//! because a reader without references cannot know the full names of external types.

mod member;
mod written;

use engine::seams::producer::{Failure, Input};
use engine::values::label::{Label, unescape};
use engine::values::table::Table;
use member::{Canonical, canonical};
use producers::csharp::complete::{self, Complete};
use producers::csharp::defines;
use producers::csharp::deps::{self, Dependencies};
use producers::csharp::mention_model::Place as Evidence;
use producers::csharp::model::{MemberKind, TypeKind};
use producers::csharp::names::{self, Names};
use producers::csharp::project_ownership::Layout;
use producers::csharp::symbols::friends;
use producers::csharp::types::{TypeRow, symbol_of};
use producers::csharp::usages::Place;
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use written::{Aliases, keyword, simple_text};

/// Targets whose outputs [`fact_lines`] reads.
pub const TARGETS: [&str; 8] = [
    "//index:types", "//index:files", "//projects/...:project", "//files/...:names", "//files/...:defines", "//types/...:complete",
    "//types/...:deps", "//types/...:usages",
];

/// The error that an output cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("the output of {label} cannot be read: {reason}")]
pub struct FactsError {
    pub label: String,
    pub reason: String,
}

/// The outputs by target and the rest of the label.
#[derive(Default)]
struct Outputs {
    rows: BTreeMap<String, TypeRow>,
    projects: Vec<Input>,
    owners: Option<Input>,
    files: Vec<(String, Names)>,
    /// Symbols that a file mentions and is read under.
    defines: BTreeMap<String, Vec<String>>,
    complete: BTreeMap<String, Complete>,
    deps: BTreeMap<String, Dependencies>,
    uses: BTreeMap<String, Arc<[u8]>>,
}

/// Returns the facts as JSON lines, sorted by kind of record and then by subject.
pub fn fact_lines(outputs: impl IntoIterator<Item = (Label, Arc<[u8]>)>) -> Result<String, FactsError> {
    let mut read = Outputs::default();
    for (label, bytes) in outputs {
        let failed = |reason: String| FactsError {
            label: label.to_string(),
            reason,
        };
        read.add_output(&label, bytes).map_err(failed)?;
    }
    let layout = Layout::from_inputs(&read.projects, read.owners.as_ref()).map_err(|failure| FactsError {
        label: "//projects/...:project".to_owned(),
        reason: failure_message(failure),
    })?;
    let mut out = String::new();
    projects(&read, &layout, &mut out);
    for (key, row) in &read.rows {
        let of = project_path(row, &layout);
        if let Some(whole) = read.complete.get(key) {
            type_lines(of, whole, row, &read.aliases((of, key), &layout, whole), &mut out);
        }
        if let Some(dependencies) = read.deps.get(key) {
            edges(of, key, dependencies, &mut out);
        }
        if let Some(table) = read.uses.get(key).and_then(|bytes| Table::open(bytes)) {
            write_uses(of, &table, &mut out);
        }
    }
    let mut lines: Vec<&str> = out.lines().collect();
    lines.sort_unstable();
    Ok(lines.into_iter().fold(String::with_capacity(out.len()), |mut all, line| {
        all.push_str(line);
        all.push('\n');
        all
    }))
}

impl Outputs {
    fn add_output(&mut self, label: &Label, bytes: Arc<[u8]>) -> Result<(), String> {
        let name = label.package().split_once('/').map_or_else(String::new, |(_, rest)| unescape(rest));
        let input = Input::of(&name, bytes);
        match label.target() {
            "types" => {
                let table = Table::open(&input.bytes).ok_or("it is not a table")?;
                for (key, value) in table.rows() {
                    let row = serde_json::from_slice(value).map_err(|error| error.to_string())?;
                    self.rows.insert(key.to_owned(), row);
                }
            }
            "files" => self.owners = Some(input),
            "project" => self.projects.push(input),
            "names" => {
                let names = names::decode_names(&input.bytes).map_err(failure_message)?;
                self.files.push((name, names));
            }
            "defines" if label.package().starts_with("files/") => {
                let symbols = defines::read(&input.bytes).map_err(failure_message)?;
                self.defines.insert(name, symbols.own);
            }
            "complete" => {
                let whole = complete::decode_complete(&input).map_err(failure_message)?;
                self.complete.insert(name, whole);
            }
            "deps" => {
                let dependencies = deps::decode_dependencies(&input).map_err(failure_message)?;
                self.deps.insert(name, dependencies);
            }
            "usages" => _ = self.uses.insert(name, input.bytes.clone()),
            _ => {}
        }
        Ok(())
    }

    /// Returns the aliases in effect for a type of a project: of the project, of its files' global usings, of the type's own files. A type of the
    /// workspace that has the name of one with a keyword is its own alias.
    fn aliases(&self, (of, key): (&str, &str), layout: &Layout, whole: &Complete) -> Aliases {
        let mut found = Aliases::new();
        let project = layout.projects.iter().find(|project| project.path == of);
        for (alias, target, _) in project.iter().flat_map(|project| &project.usings) {
            if let Some(alias) = alias {
                found.insert(alias.clone(), simple_text(target, &Aliases::new()));
            }
        }
        let global = self
            .files
            .iter()
            .filter(|(file, _)| owner(file, layout) == of)
            .flat_map(|(_, names)| &names.global_usings);
        for using in global.chain(whole.parts.iter().flat_map(|part| &part.usings)) {
            if let Some(alias) = &using.alias {
                found.insert(alias.clone(), simple_text(&using.target, &Aliases::new()));
            }
        }
        let named = self
            .deps
            .get(key)
            .into_iter()
            .flat_map(|deps| deps.structure.iter().chain([&deps.own]));
        let simple = named.filter_map(|named| symbol_of(named).rsplit(['.', '+']).next());
        for name in simple.filter(|name| keyword(name) != *name) {
            found.entry(name.to_owned()).or_insert_with(|| name.to_owned());
        }
        found
    }
}

fn failure_message(failure: Failure) -> String {
    match failure {
        Failure::Permanent(diagnostic) | Failure::Transient(diagnostic) | Failure::Limit(diagnostic) => diagnostic.message,
        Failure::Rejected(rejected) => rejected.why.message,
        Failure::Deferred | Failure::Awaited => "it was put off".to_owned(),
        Failure::Cancelled => "it was cancelled".to_owned(),
    }
}

fn owner<'l>(file: &str, layout: &'l Layout) -> &'l str {
    layout.owner(file).map_or("", |at| layout.projects[at].path.as_str())
}

fn project_path<'l>(row: &TypeRow, layout: &'l Layout) -> &'l str {
    let of = row
        .project
        .as_ref()
        .and_then(|id| layout.projects.iter().find(|project| project.id == *id));
    of.map_or("", |project| project.path.as_str())
}

/// Writes one record for each project and, under the name `""`, one for loose files.
fn projects(read: &Outputs, layout: &Layout, out: &mut String) {
    let mut files: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    let mut linked: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (file, _) in &read.files {
        files.entry(owner(file, layout)).or_default().push(file);
        for project in layout.also(file) {
            linked.entry(project).or_default().push(file);
        }
    }
    let friends = friends(&read.files, layout);
    for project in &layout.projects {
        let usings: BTreeSet<String> = project
            .usings
            .iter()
            .map(|(alias, target, is_static)| match alias {
                Some(alias) => format!("{alias} = {target}"),
                None if *is_static => format!("static {target}"),
                None => target.clone(),
            })
            .collect();
        let own = files.remove(project.path.as_str()).unwrap_or_default();
        let linked = linked.remove(project.path.as_str()).unwrap_or_default();
        // Files that only another framework compiles are read under its symbols.
        let under: BTreeMap<&str, &[String]> = own
            .iter()
            .chain(&linked)
            .filter(|file| layout.has_own_symbols(file))
            .filter_map(|file| Some((*file, read.defines.get(*file)?.as_slice())))
            .collect();
        append_record(
            out,
            &json!({"k": "project", "p": project.path, "assembly": project.assembly, "defines": project.defines, "friends": friends.get(project.path.as_str()), "usings": usings, "refs": project.references, "files": own, "linked": linked, "under": under}),
        );
    }
    if let Some(loose) = files.remove("") {
        append_record(
            out,
            &json!({"k": "project", "p": "", "assembly": "", "defines": ["DEBUG", "TRACE"], "friends": [], "usings": [], "refs": [], "files": loose}),
        );
    }
}

fn type_lines(of: &str, whole: &Complete, row: &TypeRow, aliases: &Aliases, out: &mut String) {
    let name = whole.symbol.replace('+', ".");
    let id = format!("T:{name}");
    let file = whole.modifiers.iter().any(|word| word == "file");
    let known = ["abstract", "file", "partial", "readonly", "ref", "sealed", "static"];
    let modifiers: Vec<&str> = known
        .into_iter()
        .filter(|word| whole.modifiers.iter().any(|other| other == word))
        .collect();
    let bases: BTreeSet<String> = whole
        .bases
        .iter()
        .map(|base| simple_text(base, aliases))
        .filter(|base| !is_trivial(whole.kind, base))
        .collect();
    append_record(
        out,
        &json!({"k": "type", "p": of, "id": id, "kind": row.kind, "arity": row.arity, "acc": if file { "internal" } else { &row.accessibility },
            "mods": modifiers, "bases": bases, "marks": marks(&whole.attributes), "parts": row.files,
            "head": member::header_parts(whole.kind, &whole.header, &whole.constraints, aliases)}),
    );
    let mut constructors = BTreeSet::new();
    // The method of top-level statements has no name that code could use.
    for placed in whole.members.iter().filter(|placed| !placed.member.name.starts_with('<')) {
        let found = canonical(&placed.member, &name, whole.kind, aliases);
        constructors.insert(found.key.clone());
        let kind = producers::csharp::ids::member_kind_word(placed.member.kind);
        member_line(of, &id, kind, &found, &marks(&placed.member.attributes), out);
    }
    let has_primary = matches!(
        whole.kind,
        TypeKind::Class | TypeKind::Struct | TypeKind::Record | TypeKind::RecordStruct
    );
    if let Some(parameters) = member::primary(&whole.header, aliases).filter(|_| has_primary) {
        let key = format!(
            ".ctor({})",
            parameters
                .iter()
                .map(|one| member::without_modifiers(one))
                .collect::<Vec<_>>()
                .join(",")
        );
        let access = if modifiers.contains(&"abstract") { "protected" } else { "public" };
        if constructors.insert(key.clone()) {
            let found = Canonical {
                text: format!("{access} .ctor({})", parameters.join(",")),
                access: access.to_owned(),
                id: format!("M:{name}.#{}", key.trim_start_matches('.')),
                key,
            };
            member_line(
                of,
                &id,
                producers::csharp::ids::member_kind_word(MemberKind::Constructor),
                &found,
                &[],
                out,
            );
        }
    }
}

fn member_line(of: &str, id: &str, kind: &str, found: &Canonical, marks: &[String], out: &mut String) {
    append_record(
        out,
        &json!({"k": "member", "p": of, "type": id, "id": found.id, "kind": kind, "key": found.key, "acc": found.access, "sig": found.text, "marks": marks}),
    );
}

/// Whether every type of the kind has this base.
fn is_trivial(kind: TypeKind, base: &str) -> bool {
    base == "object" || kind == TypeKind::Enum && base == "int"
}

fn marks(attributes: &[String]) -> Vec<String> {
    let mut found: Vec<String> = attributes
        .iter()
        .filter_map(|attribute| member::comparable_attribute(attribute))
        .collect();
    found.sort();
    found
}

fn edges(of: &str, key: &str, dependencies: &Dependencies, out: &mut String) {
    let id = |key: &str| format!("T:{}", symbol_of(key).replace('+', "."));
    let from = id(key);
    for (target, places) in &dependencies.evidence {
        for place in places {
            let category = match place {
                Evidence::Base => "base",
                Evidence::Signature => "sig",
                Evidence::Attribute | Evidence::Argument => "attr",
                Evidence::Body => "body",
                Evidence::Inferred => "inferred",
            };
            append_record(out, &json!({"k": "edge", "p": of, "from": from, "to": id(target), "cat": category}));
        }
    }
}

/// Writes a record for each certain or possible use of a type or a member: `to` is the type, and after `#` the member; `?` is an unknown type.
fn write_uses(of: &str, table: &Table<'_>, out: &mut String) {
    for (key, places) in table.rows() {
        let (owner, member) = key.split_once('#').map_or((key, None), |(owner, member)| (owner, Some(member)));
        let Ok(places) = serde_json::from_slice::<Vec<Place>>(places) else {
            continue;
        };
        let owner_name = symbol_of(owner).replace('+', ".");
        let to = member.map_or(owner_name.clone(), |member| format!("{owner_name}#{member}"));
        // A member of .NET's may be one that a type of the workspace implements.
        for place in &places {
            let maybe = place.elsewhere || owner == "?" || owner.starts_with('~');
            append_record(
                out,
                &json!({"k": "use", "p": of, "f": place.file, "l": place.line, "c": place.column, "to": to, "u": place.kind.as_str(), "maybe": maybe}),
            );
        }
    }
}

fn append_record(out: &mut String, record: &serde_json::Value) {
    out.push_str(&record.to_string());
    out.push('\n');
}
