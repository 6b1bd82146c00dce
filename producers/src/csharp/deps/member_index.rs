//! `csharp/member-index`: who declares a member of a name, with everything that binding a use of it needs.
//!
//! One row per word: the types of that simple name with their constructors, and the members of that name of all types. Behind them
//! stand the types that any of these lines mentions, each with all its bases, so that a row is closed: following a member's type to
//! the next member needs only the row of the next name. Lines: `=key kind namespace id bases… result parameters` for a type (the last
//! part for delegates; classes with extension methods have the projects that compile them there), `key flags arity result parameters` for a member, `.key …` for a constructor.
//! Lines of types come first, and both they and those behind them are sorted by key: a reader of a row that thousands of types have a part in
//! finds its own without going through it.

use super::shape::Shape;
use crate::csharp::types::symbol_of;
use engine::seams::producer::{Failure, Inputs, Output, Producer, ProducerId};
use engine::values::table::write_table;
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::rc::Rc;

/// How many bases of a type are listed.
const MOST_BASES: usize = 64;

/// The producer `csharp/member-index`.
#[derive(Debug)]
pub struct MemberIndex;

impl Producer for MemberIndex {
    fn id(&self) -> ProducerId {
        ProducerId::new("csharp/member-index", 3)
    }

    fn produce(&self, inputs: &Inputs<'_>) -> Result<Output, Failure> {
        let mut texts = Vec::with_capacity(inputs.all("members").len());
        for input in inputs.all("members") {
            let text =
                std::str::from_utf8(&input.bytes).map_err(|_| Failure::permanent(format!("the members of {} are no text", input.item)))?;
            texts.push(text);
        }
        texts.sort_unstable_by_key(|text| key_of(text));
        Ok(Output::new(write_table(&rows(&texts))))
    }
}

/// The type that the signatures are of.
fn key_of(text: &str) -> &str {
    text.split(['\t', '\n']).next().unwrap_or_default()
}

struct Declared<'t> {
    kind: &'t str,
    namespace: &'t str,
    id: &'t str,
    bases: Vec<Shape>,
    invoke: Option<(&'t str, &'t str)>,
    projects: &'t str,
}

fn rows(texts: &[&str]) -> BTreeMap<String, Vec<u8>> {
    let mut types: FxHashMap<&str, Declared<'_>> = FxHashMap::default();
    for text in texts {
        let mut lines = text.lines();
        let Some(head) = lines.next() else { continue };
        let mut fields = head.split('\t');
        let mut field = || fields.next().unwrap_or("");
        let (key, kind, namespace, id, bases, projects) = (field(), field(), field(), field(), field(), field());
        let invoke = (kind == "d")
            .then(|| lines.find_map(|line| line.strip_prefix("\tInvoke\tm\t0\t")?.split_once('\t')))
            .flatten();
        let bases = bases.split(' ').filter(|base| !base.is_empty());
        types.insert(
            key,
            Declared {
                kind,
                namespace,
                id,
                bases: bases.map(|base| Shape::read(base, false)).collect(),
                invoke,
                projects,
            },
        );
    }
    let mut lines: FxHashMap<&str, String> = FxHashMap::default();
    for key in types.keys() {
        lines.insert(key, type_line(key, &types));
    }
    let values = values(texts);
    let mut rows: BTreeMap<String, Row<'_>> = BTreeMap::new();
    for text in texts {
        let mut members = text.lines();
        let Some(key) = members.next().and_then(|head| head.split('\t').next()) else {
            continue;
        };
        let simple = simple_name(key);
        let own = rows.entry(simple.to_owned()).or_default();
        own.types.insert(key);
        for line in members {
            let Some((name, rest)) = line.strip_prefix('\t').and_then(|line| line.split_once('\t')) else {
                continue;
            };
            if rest.starts_with("pr\t") && inherits_value(key, name, &types, &values) {
                continue;
            }
            let row = if name == ".ctor" {
                rows.get_mut(simple).expect("invariant: the row was made above")
            } else {
                match rows.get_mut(name) {
                    Some(row) => row,
                    None => rows.entry(name.to_owned()).or_default(),
                }
            };
            if name == ".ctor" {
                row.members.push('.');
            }
            row.members.push_str(key);
            row.members.push('\t');
            row.members.push_str(rest);
            row.members.push('\n');
            mentioned(rest, &types, &mut row.types);
            if rest.starts_with('x') {
                row.types.insert(key);
            }
        }
    }
    let arguments = base_arguments(&types);
    rows.into_iter().map(|(name, row)| (name, row.write(&lines, &arguments))).collect()
}

/// Type and name of every value member that heirs may have.
fn values<'t>(texts: &[&'t str]) -> FxHashSet<(&'t str, &'t str)> {
    let mut found = FxHashSet::default();
    for text in texts {
        let mut lines = text.lines();
        let Some(key) = lines.next().and_then(|head| head.split('\t').next()) else {
            continue;
        };
        let names = lines.filter_map(|line| line.strip_prefix('\t')?.split_once('\t'));
        found.extend(
            names
                .filter(|(_, rest)| {
                    let flags = rest.split('\t').next().unwrap_or_default();
                    flags.starts_with('p') && !flags.contains(['s', 'i'])
                })
                .map(|(name, _)| (key, name)),
        );
    }
    found
}

/// Whether a base class has a value of that name, so that a positional parameter makes none.
fn inherits_value<'t>(key: &'t str, name: &str, types: &FxHashMap<&'t str, Declared<'t>>, values: &FxHashSet<(&'t str, &'t str)>) -> bool {
    let mut seen = vec![key];
    let mut at = 0;
    while at < seen.len() && seen.len() <= MOST_BASES {
        for base in types.get(seen[at]).into_iter().flat_map(|declared| &declared.bases) {
            let known = base.key().and_then(|key| types.get_key_value(key));
            if let Some((base, _)) = known.filter(|(base, declared)| declared.kind != "i" && !seen.contains(base)) {
                if values.contains(&(*base, name)) {
                    return true;
                }
                seen.push(base);
            }
        }
        at += 1;
    }
    false
}

/// For every type the types that its bases have as arguments: what inherited members may give.
fn base_arguments<'t>(types: &FxHashMap<&'t str, Declared<'t>>) -> FxHashMap<&'t str, Vec<&'t str>> {
    let mut found: FxHashMap<&str, Vec<&str>> = FxHashMap::default();
    for (key, declared) in types {
        let mut into = Vec::new();
        for base in &declared.bases {
            for arg in base.args() {
                arg.keys(&mut |arg| {
                    if let Some((key, _)) = types.get_key_value(&**arg) {
                        into.push(*key);
                    }
                });
            }
        }
        if !into.is_empty() {
            found.insert(key, into);
        }
    }
    found
}

#[derive(Default)]
struct Row<'t> {
    types: FxHashSet<&'t str>,
    members: String,
}

impl<'t> Row<'t> {
    fn write(self, lines: &FxHashMap<&str, String>, arguments: &FxHashMap<&'t str, Vec<&'t str>>) -> Vec<u8> {
        let mut sorted: Vec<&str> = self.types.into_iter().collect();
        let further: Vec<&str> = sorted.iter().filter_map(|key| arguments.get(key)).flatten().copied().collect();
        sorted.extend(further);
        sorted.sort_unstable();
        sorted.dedup();
        let mut text = String::with_capacity(self.members.len() + 64 * sorted.len());
        for key in sorted {
            text.push_str(lines.get(key).map_or("", String::as_str));
        }
        text.push_str(&self.members);
        text.into_bytes()
    }
}

/// The last name of a key without its arity.
pub(super) fn simple_name(key: &str) -> &str {
    let symbol = symbol_of(key);
    let last = symbol.rsplit(['.', '+']).next().unwrap_or(symbol);
    last.split('`').next().unwrap_or(last)
}

/// Adds the types of the workspace that a line's shapes name.
fn mentioned<'t>(line: &'t str, types: &FxHashMap<&'t str, Declared<'t>>, into: &mut FxHashSet<&'t str>) {
    for word in line.split(|c: char| "{}(),;[]*? \t\n:".contains(c)) {
        if !word.is_empty()
            && !word.starts_with(['~', '^', '!'])
            && let Some((key, _)) = types.get_key_value(word)
        {
            into.insert(*key);
        }
    }
}

fn type_line(key: &str, types: &FxHashMap<&str, Declared<'_>>) -> String {
    let declared = &types[key];
    let mut bases: Vec<Shape> = Vec::new();
    let mut open: Vec<Shape> = declared.bases.clone();
    let mut at = 0;
    while at < open.len() && bases.len() < MOST_BASES {
        let base = open[at].clone();
        at += 1;
        if bases.contains(&base) {
            continue;
        }
        if let Some(next) = base.key().and_then(|key| types.get(key)) {
            for further in &next.bases {
                open.push(further.substitute(base.args(), &[]).bounded());
            }
        }
        bases.push(base);
        if open.len() > 4 * MOST_BASES {
            break;
        }
    }
    let mut text = format!("={key}\t{}\t{}\t{}\t", declared.kind, declared.namespace, declared.id);
    for (at, base) in bases.iter().enumerate() {
        if at > 0 {
            text.push(' ');
        }
        base.write(&mut text);
    }
    if let Some((result, parameters)) = declared.invoke {
        write!(text, "\t{result}\t{parameters}").expect("invariant: writing to memory cannot fail");
    } else if !declared.projects.is_empty() {
        text.push('\t');
        text.push_str(declared.projects);
    }
    text.push('\n');
    text
}

/// A type as rows describe it.
#[derive(Clone, Debug)]
pub struct TypeLine {
    /// Kind letter.
    pub kind: char,
    /// Namespace.
    pub namespace: Rc<str>,
    /// Identifier.
    pub id: Rc<str>,
    /// All bases, nearest first, in terms of the type's own parameters.
    pub bases: Rc<[Shape]>,
    /// Result and parameters of a delegate.
    pub invoke: Option<(String, String)>,
    /// Paths of the projects that compile a class with extension methods; none for loose files.
    pub projects: Vec<String>,
}

impl TypeLine {
    /// Reads what stands behind the key.
    pub fn read(rest: &str) -> Self {
        let mut fields = rest.split('\t');
        let kind = fields.next().and_then(|kind| kind.chars().next()).unwrap_or('c');
        let namespace = fields.next().unwrap_or("").into();
        let id = fields.next().unwrap_or("").into();
        let bases = fields.next().unwrap_or("").split(' ').filter(|base| !base.is_empty());
        let bases = bases.map(|base| Shape::read(base, false)).collect();
        let last = fields.next();
        let invoke = last
            .filter(|_| kind == 'd')
            .map(|result| (result.to_owned(), fields.next().unwrap_or("").to_owned()));
        let projects = last.filter(|_| kind != 'd').into_iter().flat_map(|paths| paths.split('|'));
        Self {
            kind,
            namespace,
            id,
            bases,
            invoke,
            projects: projects.map(str::to_owned).collect(),
        }
    }
}
