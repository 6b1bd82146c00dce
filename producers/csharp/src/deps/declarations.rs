//! `csharp/declarations`: the types of the workspace and their members, with a row for each fact that binding looks up.
//!
//! Rows:
//! - `KEY` → kind letter, namespace, identifier and direct bases of a type. The result and parameters of a delegate follow, or, for a class
//!   with extension methods, the projects that compile it.
//! - `KEY#NAME` → a line for each member of that name that the type itself declares (`.ctor` for constructors): flags, arity, result,
//!   parameters and their names. `[]` is the builder of a collection type, `<>` the bounds of type parameters.
//! - `.NAME` → the extension methods of that name, each after the key of its class.
//!
//! Each row except those of the last kind comes from one type, so an edit of a type changes only rows of that type.

use super::chunk_signatures::{signatures, signatures_by_type};
use super::shape::Shape;
use engine::seams::fold::Fold;
use engine::seams::producer::{Failure, Input, Inputs, Output, Producer, ProducerId};
use engine::values::table::write_table;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

/// The producer `csharp/declarations`.
#[derive(Debug)]
pub struct Declarations;

impl Producer for Declarations {
    fn id(&self) -> ProducerId {
        ProducerId::new("csharp/declarations", 1)
    }

    fn fold(&self) -> Option<&dyn Fold> {
        Some(self)
    }

    fn produce(&self, inputs: &Inputs<'_>) -> Result<Output, Failure> {
        let mut rows: BTreeMap<String, String> = BTreeMap::new();
        for text in signatures(inputs)? {
            for (key, given) in rows_of_type(text) {
                rows.entry(key).or_default().push_str(&given);
            }
        }
        Ok(Output::new(write_table(&rows)))
    }
}

impl Fold for Declarations {
    fn role(&self) -> &'static str {
        "members"
    }

    fn rows_of_input(&self, input: &Input) -> Result<BTreeMap<String, Vec<u8>>, Failure> {
        let mut rows: BTreeMap<String, Vec<u8>> = BTreeMap::new();
        for text in signatures_by_type(input)? {
            for (key, given) in rows_of_type(text) {
                rows.entry(key).or_default().extend(given.into_bytes());
            }
        }
        Ok(rows)
    }

    fn remove_part(&self, key: &str, row: &[u8], _: &str, part: &[u8]) -> Option<Vec<u8>> {
        key.starts_with('.').then(|| remove_lines(row, part))?
    }

    fn add_part(&self, key: &str, row: Option<&[u8]>, _: &str, part: &[u8]) -> Vec<u8> {
        match key.starts_with('.') {
            true => insert_lines(row, part),
            false => part.to_vec(),
        }
    }
}

/// Returns the rows of one type.
fn rows_of_type(text: &str) -> BTreeMap<String, String> {
    let mut rows: BTreeMap<String, String> = BTreeMap::new();
    let mut lines = text.lines();
    let Some((key, head)) = lines.next().and_then(|head| head.split_once('\t')) else {
        return rows;
    };
    let mut fields = head.splitn(5, '\t');
    let mut row: Vec<&str> = fields.by_ref().take(4).collect();
    let members: Vec<(&str, &str)> = lines.filter_map(|line| line.strip_prefix('\t')?.split_once('\t')).collect();
    if row.first() == Some(&"d") {
        let invoke = members.iter().find(|(name, _)| *name == "Invoke");
        row.extend(invoke.and_then(|(_, line)| line.strip_prefix("m\t0\t")));
    } else {
        row.extend(fields.next().filter(|projects| !projects.is_empty()));
    }
    rows.insert(key.to_owned(), row.join("\t"));
    for (name, line) in members {
        let row = rows.entry(member_key(key, name)).or_default();
        *row = format!("{row}{line}\n");
        if line.starts_with('x') {
            let row = rows.entry(extension_key(name)).or_default();
            *row = format!("{row}{key}\t{line}\n");
        }
    }
    rows
}

/// Returns the key of the type at the beginning of a line, which may begin with a mark.
fn key_of_line(line: &[u8]) -> &[u8] {
    let line = line.strip_prefix(b"=").or_else(|| line.strip_prefix(b".")).unwrap_or(line);
    line.split(|byte| matches!(byte, b'\t' | b'\n')).next().unwrap_or_default()
}

fn lines_of_row(row: &[u8]) -> impl Iterator<Item = &[u8]> {
    row.split_inclusive(|byte| *byte == b'\n')
}

/// Removes the lines of the types of `part` from a row; `None` if none is left.
pub(super) fn remove_lines(row: &[u8], part: &[u8]) -> Option<Vec<u8>> {
    let removed: BTreeSet<&[u8]> = lines_of_row(part).map(key_of_line).collect();
    let left: Vec<&[u8]> = lines_of_row(row).filter(|line| !removed.contains(key_of_line(line))).collect();
    (!left.is_empty()).then(|| left.concat())
}

/// Inserts lines into a row whose lines are sorted by the keys of types. The row has no line of these types.
pub(super) fn insert_lines(row: Option<&[u8]>, part: &[u8]) -> Vec<u8> {
    let mut lines: Vec<&[u8]> = lines_of_row(row.unwrap_or_default()).chain(lines_of_row(part)).collect();
    // Stable: the lines of one type keep their order.
    lines.sort_by_key(|line| key_of_line(line));
    lines.concat()
}

/// Returns the key of the row with a type's own members of a name.
pub fn member_key(owner: &str, name: &str) -> String {
    format!("{owner}#{name}")
}

/// Returns the key of the row with the extension methods of a name.
pub fn extension_key(name: &str) -> String {
    format!(".{name}")
}

/// A type, as described by its row.
#[derive(Clone, Debug)]
pub struct TypeLine {
    /// Kind letter.
    pub kind: char,
    /// Whether the type is partial.
    pub is_partial: bool,
    /// Namespace.
    pub namespace: Rc<str>,
    /// Identifier.
    pub id: Rc<str>,
    /// Bases as the type names them, in terms of its own parameters.
    pub bases: Rc<[Shape]>,
    /// Result and parameters of a delegate.
    pub invoke: Option<(String, String)>,
    /// Paths of the projects that compile a class with extension methods; none for loose files.
    pub projects: Vec<String>,
}

/// Reads the field of a row that lists bases.
fn read_bases(field: Option<&str>) -> impl Iterator<Item = Shape> {
    let bases = field.unwrap_or("").split(' ').filter(|base| !base.is_empty());
    bases.map(|base| Shape::read(base, false))
}

impl TypeLine {
    /// Reads only the bases of a row.
    pub fn bases_in_row(row: &str) -> impl Iterator<Item = Shape> {
        read_bases(row.split('\t').nth(3))
    }

    /// Reads a row.
    pub fn from_row(row: &str) -> Self {
        let mut fields = row.split('\t');
        let mut letters = fields.next().unwrap_or_default().chars();
        let kind = letters.next().unwrap_or('c');
        let namespace = fields.next().unwrap_or("").into();
        let id = fields.next().unwrap_or("").into();
        let bases = read_bases(fields.next()).collect();
        let last = fields.next();
        let invoke = last
            .filter(|_| kind == 'd')
            .map(|result| (result.to_owned(), fields.next().unwrap_or("").to_owned()));
        let projects = last.filter(|_| kind != 'd').into_iter().flat_map(|paths| paths.split('|'));
        Self {
            kind,
            is_partial: letters.next() == Some('p'),
            namespace,
            id,
            bases,
            invoke,
            projects: projects.map(str::to_owned).collect(),
        }
    }
}
