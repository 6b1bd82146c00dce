//! The built-in model `extractive`: draws claims from the code itself, needs no network, and always gives the same answer. Each claim names its
//! member; a section without claims says so.

use super::extractive_sections::{Sections, TypeFacts, sections};
use csharp::ids::short_hash;
use csharp::outline_info::type_row;
use csharp::{deps, implementation, structure, xmldoc};
use engine::seams::producer::{Failure, Inputs, Output};
use std::fmt::Write;

/// Limit of claims of one section; a type of thousands of members stays readable.
const MOST_CLAIMS: usize = 20;

/// The text of an empty section.
const NOTHING: &str = "None found in the code.";

/// Writes the summary of a type.
pub(super) fn produce(inputs: &Inputs<'_>) -> Result<Output, Failure> {
    let (key, row) = type_row(inputs)?;
    let (structure_input, impl_input) = (inputs.single("structure")?, inputs.single("impl")?);
    let structure = structure::decode_structure(structure_input)?;
    let (header, members) = implementation::decode_implementation(impl_input)?;
    let docs = inputs.maybe("xmldoc").map(xmldoc::decode_docs).transpose()?;
    let deps = deps::decode_dependencies(inputs.single("deps")?)?;
    let dependencies: Vec<&str> = deps
        .structure
        .iter()
        .filter_map(|key| deps.ids.get(key))
        .map(String::as_str)
        .collect();
    let known = TypeFacts {
        structure: &structure,
        header: &header,
        members: &members,
        docs: docs.as_ref(),
        row: &row,
        dependencies: dependencies.len(),
    };
    let mut text = String::new();
    let mut line = |line: std::fmt::Arguments<'_>| writeln!(text, "{line}").expect("invariant: writing to memory cannot fail");
    line(format_args!("# Semantic: {key} {}", row.id));
    line(format_args!("StructureHash: {}", short_hash(&structure_input.digest)));
    line(format_args!("ImplHash: {}", short_hash(&impl_input.digest)));
    line(format_args!(
        "Dependencies: {}",
        if dependencies.is_empty() {
            "none".to_owned()
        } else {
            dependencies.join(", ")
        }
    ));
    line(format_args!("Source: extracted from code, no model"));
    let Sections {
        role,
        lifecycle,
        edge_cases,
        limitations,
        recommendations,
    } = sections(&known);
    for (title, claims) in [
        ("ROLE", role),
        ("LIFECYCLE", lifecycle),
        ("EDGE_CASES", edge_cases),
        ("LIMITATIONS", limitations),
        ("RECOMMENDATIONS", recommendations),
    ] {
        line(format_args!("\n{title}:\n{}", list_of_claims(claims)));
    }
    Ok(Output::new(text))
}

/// Returns claims as a list, each once, at most [`MOST_CLAIMS`].
fn list_of_claims(claims: Vec<String>) -> String {
    let mut lines: Vec<String> = Vec::new();
    let mut seen = std::collections::BTreeSet::new();
    for claim in claims {
        if seen.insert(claim.clone()) {
            lines.push(format!("- {claim}"));
        }
    }
    if lines.is_empty() {
        return NOTHING.to_owned();
    }
    let more = lines.len().saturating_sub(MOST_CLAIMS);
    if more > 0 {
        lines.truncate(MOST_CLAIMS);
        lines.push(format!("- … and {more} more."));
    }
    lines.join("\n")
}
