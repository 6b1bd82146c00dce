//! `csharp/outline`: a type's outline as Markdown, in the seed's format (000 §3.4).
//!
//! Compact form: the first API line is the type's own declaration with bases and constraints. Attributes precede their declaration, and its
//! `#if` condition precedes them. The first sentence of a member's documentation follows an em dash (omitted with the parameter `docs = false`).
//! Empty lists are written as `none`. Members that other code cannot use, if shown, begin with `-` instead of `+` and have only a signature. A
//! last line lists the targets of using aliases.

use super::flags::flag;
use super::ids::short_hash;
use super::implementation;
use super::outline_info::{Audience, Facts, Info, InfoMember, check_access};
use super::structure;
use super::xmldoc;
use engine::seams::producer::{Failure, Inputs, Output, ParamError, Params, Producer, ProducerId};
use engine::values::digest::Digest;
use std::fmt::Write;

/// The producer `csharp/outline`.
#[derive(Debug)]
pub struct Outline;

impl Producer for Outline {
    fn id(&self) -> ProducerId {
        ProducerId::new("csharp/outline", 3)
    }

    fn check(&self, params: &Params) -> Result<(), Vec<ParamError>> {
        check_access(params, &["docs"])
    }

    fn produce(&self, inputs: &Inputs<'_>) -> Result<Output, Failure> {
        let facts = Facts::from_inputs(inputs)?;
        let internal = Audience::from_params(inputs.params) > Audience::Public;
        let structure = Digest::of(&structure::encode_structure(&structure::structure(&facts.whole, internal)));
        let implementation = Digest::of(&implementation::encode_implementation(&facts.whole));
        let xmldoc = Digest::of(&xmldoc::encode_docs(&facts.docs));
        let docs = flag(inputs.params, "docs", true);
        Ok(Output::new(markdown(&facts.info()?, &structure, &implementation, &xmldoc, docs)))
    }
}

/// Returns the outline of a type with its three hashes, with or without the first sentences of its documentation.
pub fn markdown(info: &Info, structure: &Digest, implementation: &Digest, xmldoc: &Digest, docs: bool) -> String {
    let mut text = String::new();
    let mut line = |line: std::fmt::Arguments<'_>| {
        text.write_fmt(line).expect("invariant: writing to memory cannot fail");
        text.push('\n');
    };
    line(format_args!("# {} {}", info.fqn, info.id));
    line(format_args!(
        "Kind: {} | File: {} | Assembly: {} | StructureHash: {} | ImplHash: {}",
        info.kind,
        or_none(&info.files.join(", ")),
        or_none(&info.assembly),
        short_hash(structure),
        short_hash(implementation)
    ));
    line(format_args!("XmlDocHash: {}", short_hash(xmldoc)));
    if docs {
        line(format_args!("XMLDOC: {}", or_none(&info.summary)));
    }
    text.push_str(&api(info, docs));
    text
}

/// Returns the outline below its head: members, interfaces, dependencies.
pub fn api(info: &Info, docs: bool) -> String {
    let mut text = String::new();
    let mut line = |line: std::fmt::Arguments<'_>| {
        text.write_fmt(line).expect("invariant: writing to memory cannot fail");
        text.push('\n');
    };
    line(format_args!("\nPublic API:"));
    line(format_args!("  + {}", declaration(info)));
    for member in &info.members {
        line(format_args!("  {}", member_line(member, docs)));
    }
    line(format_args!("\nImplements: {}", or_none(&info.implements.join(", "))));
    let more = match info.depends_on_count.saturating_sub(info.depends_on.len()) {
        0 => String::new(),
        more => format!(", and {more} more"),
    };
    line(format_args!("DependsOn: {}{more}", or_none(&info.depends_on.join(", "))));
    if !info.aliases.is_empty() {
        line(format_args!("Aliases: {}", info.aliases.join("; ")));
    }
    text
}

/// Returns a member in one line; in short form if other code cannot use it.
fn member_line(member: &InfoMember, docs: bool) -> String {
    let condition = condition(&member.condition);
    if member.hidden {
        return format!("- {condition}{}", member.signature);
    }
    let doc = if member.summary.is_empty() || !docs {
        String::new()
    } else {
        format!("  — {}", member.summary)
    };
    format!("+ {condition}{}{}{doc}", attributes(&member.attributes), member.signature)
}

/// Returns the text, or `none` if it is empty.
pub fn or_none(text: &str) -> &str {
    if text.is_empty() { "none" } else { text }
}

fn declaration(info: &Info) -> String {
    let mut text = condition(&info.condition);
    text.push_str(&attributes(&info.attributes));
    text.push_str(&info.signature);
    if !info.bases.is_empty() {
        text.push_str(" : ");
        text.push_str(&info.bases.join(", "));
    }
    for constraint in &info.constraints {
        text.push(' ');
        text.push_str(constraint);
    }
    text
}

fn condition(condition: &str) -> String {
    if condition.is_empty() {
        String::new()
    } else {
        format!("#if {condition}: ")
    }
}

fn attributes(attributes: &[String]) -> String {
    attributes
        .iter()
        .map(|attribute| {
            if attribute.starts_with('[') {
                format!("{attribute} ")
            } else {
                format!("[{attribute}] ")
            }
        })
        .collect()
}
