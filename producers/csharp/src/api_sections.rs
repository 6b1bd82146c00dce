//! `csharp/api-sections`: the lines of the types of a chunk in `//index:api` as one table: type → lines. It is a fold, so an edit of a type
//! re-reads only that type.
//!
//! The table has a row for each public or protected type. The first line is the namespace, the second the declaration. `= A, B` lists the names
//! of an enum; an indented line is a member. Documentation follows a tab. Declarations are public unless marked `protected`, so `public` is
//! omitted. A sentence that another overload already has is written as `″`. Attributes that concern only compilers and debuggers are omitted,
//! as are hashes and identifiers, which the outlines contain.

use super::attributes::attribute_name;
use super::outline_info::{self, Info, InfoMember};
use super::types::symbol_of;
use engine::seams::fold::Fold;
use engine::seams::producer::{Failure, Input, Inputs, Output, Producer, ProducerId};
use engine::values::table::write_table;
use rayon::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

/// Attributes without meaning for a caller.
const NO_API: [&str; 14] = [
    "AggressiveInlining", "AsyncStateMachine", "CompilerGenerated", "DebuggerBrowsable", "DebuggerDisplay", "DebuggerHidden",
    "DebuggerNonUserCode", "DebuggerStepThrough", "DebuggerTypeProxy", "EditorBrowsable", "ExcludeFromCodeCoverage", "GeneratedCode",
    "MethodImpl", "SuppressMessage",
];

/// The producer `csharp/api-sections`.
#[derive(Debug)]
pub struct ApiSections;

impl Producer for ApiSections {
    fn id(&self) -> ProducerId {
        ProducerId::new("csharp/api-sections", 1)
    }

    fn fold(&self) -> Option<&dyn Fold> {
        Some(self)
    }

    fn produce(&self, inputs: &Inputs<'_>) -> Result<Output, Failure> {
        let rows: Vec<Option<(String, String)>> = inputs.all("types").par_iter().map(type_row).collect::<Result<_, _>>()?;
        let rows: BTreeMap<String, String> = rows.into_iter().flatten().collect();
        Ok(Output::new(write_table(&rows)))
    }
}

impl Fold for ApiSections {
    fn role(&self) -> &'static str {
        "types"
    }

    fn rows_of_input(&self, input: &Input) -> Result<BTreeMap<String, Vec<u8>>, Failure> {
        Ok(type_row(input)?.into_iter().map(|(key, row)| (key, row.into_bytes())).collect())
    }
}

/// The lines of a type, as its row contains them.
#[derive(Clone, Copy, Debug)]
pub struct Section<'a> {
    pub namespace: &'a str,
    lines: &'a str,
}

impl<'a> Section<'a> {
    /// Reads a row; `None` if the bytes are no row.
    pub fn from_row(row: &'a str) -> Option<Self> {
        let (namespace, lines) = row.split_once('\n')?;
        Some(Self { namespace, lines })
    }

    /// Appends the lines to a text, with or without documentation. Without it, the names of an enum share a line.
    pub fn append_lines(&self, text: &mut String, docs: bool) {
        let enum_names = self.lines.lines().nth(1).and_then(|line| line.strip_prefix("= "));
        if docs && enum_names.is_none() {
            // Only the separators of documentation differ.
            for (at, part) in self.lines.split('\t').enumerate() {
                text.push_str(if at > 0 { " — " } else { "" });
                text.push_str(part);
            }
            return;
        }
        for line in self.lines.lines().filter(|line| !line.starts_with("= ")) {
            let (line, doc) = line.split_once('\t').unwrap_or((line, ""));
            if enum_names.is_some() && !docs && line.starts_with("  ") {
                continue;
            }
            text.push_str(line);
            if docs && !doc.is_empty() {
                text.push_str(" — ");
                text.push_str(doc);
            }
            text.push('\n');
        }
        if let Some(names) = enum_names.filter(|names| !docs && !names.is_empty()) {
            text.push_str(&format!("  {names}\n"));
        }
    }
}

/// Returns the row of one type if other assemblies can see the type.
fn type_row(input: &Input) -> Result<Option<(String, String)>, Failure> {
    let info = outline_info::decode_info(input)?;
    let is_visible = matches!(info.accessibility.as_str(), "public" | "protected" | "protected internal");
    Ok(is_visible.then(|| {
        let row = lines_of_info(&info);
        (info.fqn, row)
    }))
}

fn lines_of_info(info: &Info) -> String {
    let symbol = symbol_of(&info.fqn);
    let path = symbol
        .strip_prefix(info.namespace.as_str())
        .unwrap_or(symbol)
        .trim_start_matches('.');
    // A nested type is shown with its path: `Outer.Inner` instead of `Inner`.
    let around = path
        .rsplit_once('+')
        .map(|(outer, _)| format!(" (in {})", outer.replace('+', ".")))
        .unwrap_or_default();
    let mut head = declaration(&info.condition, &info.attributes, &info.signature);
    if !info.bases.is_empty() {
        head.push_str(&format!(" : {}", info.bases.join(", ")));
    }
    for constraint in &info.constraints {
        head.push(' ');
        head.push_str(constraint);
    }
    head.push_str(&around);
    let mut text = format!("{}\n", info.namespace);
    push_line(&mut text, &head, &info.summary);
    if info.kind == "enum" {
        let names: Vec<&str> = info.members.iter().map(|member| member.signature.as_str()).collect();
        push_line(&mut text, &format!("= {}", names.join(", ")), "");
    }
    let mut seen: BTreeSet<(&str, &str)> = BTreeSet::new();
    // Nested types have rows of their own.
    for member in info.members.iter().filter(|member| !member.hidden && !member.key.starts_with('+')) {
        let is_first = member.summary.is_empty() || seen.insert((&member.name, &member.summary));
        push_line(
            &mut text,
            &format!("  {}", of_member(member)),
            if is_first { &member.summary } else { "″" },
        );
    }
    text
}

/// Appends a line. Line ends and tabs are separators, so they become spaces.
fn push_line(text: &mut String, line: &str, doc: &str) {
    let plain = |c: char| if matches!(c, '\t' | '\n' | '\r') { ' ' } else { c };
    text.extend(line.chars().map(plain));
    if !doc.is_empty() {
        text.push('\t');
        text.extend(doc.chars().map(plain));
    }
    text.push('\n');
}

fn of_member(member: &InfoMember) -> String {
    declaration(&member.condition, &member.attributes, &member.signature)
}

fn declaration(condition: &str, attributes: &[String], signature: &str) -> String {
    let mut line = if condition.is_empty() {
        String::new()
    } else {
        format!("#if {condition}: ")
    };
    for attribute in attributes {
        if !NO_API.contains(&attribute_name(attribute)) {
            line.push_str(&format!("[{attribute}] "));
        }
    }
    line.push_str(signature.strip_prefix("public ").unwrap_or(signature));
    line
}
