//! `semantic`: role, life cycle, edge cases, limitations and recommendations of a type, in the seed's format (000 §3.5).
//!
//! Only the built-in model `extractive` lives here: it draws claims from the code itself, needs no network, and gives the same answer
//! every time. Each claim names its member; a section without claims says so.

mod claims;
mod facts;
pub(crate) mod fence;
mod lifecycle;
mod tokens;

use crate::csharp::ids::short_hash;
use crate::csharp::outline_info::type_row;
use crate::csharp::{deps, implementation, structure, xmldoc};
use claims::{Known, Sections, sections};
use engine::seams::producer::{Failure, Inputs, Output, ParamError, Params, Producer, ProducerId, Registry};
use std::fmt::Write;

/// Most claims of one section; a type of thousands of members stays readable.
const MOST_CLAIMS: usize = 20;

/// What an empty section says.
const NOTHING: &str = "None found in the code.";

/// Registers the producers of this module.
pub fn register(registry: &mut Registry) {
    registry.add(Semantic);
    registry.add(Role);
}

/// The producer `semantic`; parameters `model` ("extractive") and `docs` (true: documentation may be quoted).
#[derive(Debug)]
pub struct Semantic;

impl Producer for Semantic {
    fn id(&self) -> ProducerId {
        ProducerId::new("semantic", 2)
    }

    fn check(&self, params: &Params) -> Result<(), Vec<ParamError>> {
        let mut errors = Vec::new();
        for (name, value) in params {
            let (message, hint) = match name.as_str() {
                "model" if value == "extractive" => continue,
                "model" if value.is_string() => (
                    "only the built-in model makes summaries yet".to_owned(),
                    "write model = \"extractive\"",
                ),
                "model" => ("'model' is the name of a model".to_owned(), "write model = \"extractive\""),
                "docs" if value.is_boolean() => continue,
                "docs" => (
                    "'docs' is true or false".to_owned(),
                    "true lets the model read documentation comments",
                ),
                other => {
                    errors.push(ParamError::unknown(other, &["model", "docs"]));
                    continue;
                }
            };
            errors.push(ParamError {
                param: name.clone(),
                message,
                hint: Some(hint.to_owned()),
                unknown: false,
            });
        }
        if errors.is_empty() { Ok(()) } else { Err(errors) }
    }

    fn produce(&self, inputs: &Inputs<'_>) -> Result<Output, Failure> {
        let (key, row) = type_row(inputs)?;
        let (structure_input, impl_input) = (inputs.one("structure")?, inputs.one("impl")?);
        let structure = structure::read(structure_input)?;
        let (header, members) = implementation::read(impl_input)?;
        let docs = inputs.maybe("xmldoc").map(xmldoc::read).transpose()?;
        let deps = deps::read(inputs.one("deps")?)?;
        let dependencies: Vec<&str> = deps
            .structure
            .iter()
            .filter_map(|key| deps.ids.get(key))
            .map(String::as_str)
            .collect();
        let known = Known {
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
            line(format_args!("\n{title}:\n{}", section(claims)));
        }
        Ok(Output::new(text))
    }
}

/// Claims as a list, each once, at most [`MOST_CLAIMS`].
fn section(claims: Vec<String>) -> String {
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

/// The producer `semantic/role`: the text of the ROLE section.
#[derive(Debug)]
pub struct Role;

impl Producer for Role {
    fn id(&self) -> ProducerId {
        ProducerId::new("semantic/role", 1)
    }

    fn check(&self, params: &Params) -> Result<(), Vec<ParamError>> {
        crate::csharp::structure::check_flags(params, &[])
    }

    fn produce(&self, inputs: &Inputs<'_>) -> Result<Output, Failure> {
        let semantic = &inputs.one("semantic")?.bytes;
        let text = std::str::from_utf8(semantic).map_err(|_| Failure::permanent("input 'semantic' is not UTF-8 text"))?;
        let role = text
            .split_once("\nROLE:")
            .map(|(_, rest)| rest.split("\nLIFECYCLE:").next().unwrap_or(rest).trim());
        let role = role.ok_or_else(|| Failure::permanent("input 'semantic' has no ROLE section"))?;
        Ok(Output::new(format!("{role}\n")))
    }
}
