//! `csharp/outline-info`: what a reader is told about a type, as JSON.
//!
//! It holds no hash of a body and no line number, so that body edits and shifted lines end at it. It is drawn from the whole type at
//! once: nodes of its own for API and documentation would be decoded and filed for nothing here.

use super::complete::{self, Complete};
use super::deps::{self, Dependencies};
use super::mentions::Place;
use super::render::doc;
use super::structure::{self, Header, TypeStructure, check_flags, flag};
use super::types::TypeRow;
use super::xmldoc::{self, Docs};
use engine::seams::producer::{Failure, Input, Inputs, Output, ParamError, Params, Producer, ProducerId};
use engine::values::table::Table;
use serde::{Deserialize, Serialize};

/// How many dependencies an outline names.
const MOST_DEPENDENCIES: usize = 10;

/// A type for readers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Info {
    /// Type identifier.
    pub id: String,
    /// Key in `//index:types`.
    pub fqn: String,
    /// `class`, `record struct` …
    pub kind: String,
    /// Files with a part of it.
    pub files: Vec<String>,
    /// Assembly, `""` for loose files.
    pub assembly: String,
    /// Namespace.
    pub namespace: String,
    /// Accessibility in effect.
    pub accessibility: String,
    /// The declaration in one line, bases and constraints left out.
    pub signature: String,
    /// Attributes.
    pub attributes: Vec<String>,
    /// Bases as written.
    pub bases: Vec<String>,
    /// `where` clauses.
    pub constraints: Vec<String>,
    /// First sentence of the documentation.
    pub summary: String,
    /// All of the documentation as readable text.
    pub doc: String,
    /// Accessible members in canonical order.
    pub members: Vec<InfoMember>,
    /// Interfaces among the bases, by their names.
    pub implements: Vec<String>,
    /// The first types that its API names: bases, then signatures, then attributes.
    pub depends_on: Vec<String>,
    /// How many types its API names.
    pub depends_on_count: usize,
}

/// A member for readers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct InfoMember {
    /// Member identifier.
    pub id: String,
    /// Key inside the type, as labels write it behind `#`.
    pub key: String,
    /// Kind in words.
    pub kind: String,
    /// Simple name.
    pub name: String,
    /// The declaration in one line.
    pub signature: String,
    /// Attributes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attributes: Vec<String>,
    /// First sentence of its documentation.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub summary: String,
    /// All of its documentation as readable text, where it says more than the first sentence.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub doc: String,
}

/// The producer `csharp/outline-info`.
#[derive(Debug)]
pub struct OutlineInfo;

impl Producer for OutlineInfo {
    fn id(&self) -> ProducerId {
        ProducerId::new("csharp/outline-info", 1)
    }

    fn check(&self, params: &Params) -> Result<(), Vec<ParamError>> {
        check_flags(params, &["include_internal"])
    }

    fn produce(&self, inputs: &Inputs<'_>) -> Result<Output, Failure> {
        let read = Facts::read(inputs)?;
        let mut bytes = serde_json::to_vec_pretty(&read.info()?).expect("invariant: our values have text keys");
        bytes.push(b'\n');
        Ok(Output::new(bytes))
    }
}

/// What outlines are drawn from.
pub struct Facts<'i> {
    inputs: &'i Inputs<'i>,
    /// The whole type.
    pub whole: Complete,
    /// Its API; with the producer's param `include_internal` also what only its own assembly sees.
    pub structure: TypeStructure,
    /// Its documentation.
    pub docs: Docs,
}

impl<'i> Facts<'i> {
    /// Reads the inputs `complete`, `deps` and `type`.
    ///
    /// # Errors
    /// When a blob is not of our making.
    pub fn read(inputs: &'i Inputs<'i>) -> Result<Self, Failure> {
        let whole = complete::read(inputs.one("complete")?)?;
        Ok(Self {
            structure: structure::structure(&whole, flag(inputs.params, "include_internal", false)),
            docs: xmldoc::docs(&whole),
            whole,
            inputs,
        })
    }

    /// What a reader is told.
    ///
    /// # Errors
    /// When a blob is not of our making.
    pub fn info(self) -> Result<Info, Failure> {
        let (key, row) = type_row(self.inputs)?;
        let deps = deps::read(self.inputs.one("deps")?)?;
        Ok(info(key, row, self.structure, &self.docs, &deps))
    }
}

/// The only row of the role `type` with its key.
///
/// # Errors
/// When the role is not a slice of one row.
pub fn type_row(inputs: &Inputs<'_>) -> Result<(String, TypeRow), Failure> {
    let slice = inputs.one("type")?;
    let broken = || Failure::permanent("input 'type' is not one row of //index:types");
    let table = Table::open(&slice.bytes).ok_or_else(broken)?;
    let (key, value) = table.rows().next().ok_or_else(broken)?;
    Ok((key.to_owned(), serde_json::from_slice(value).map_err(|_| broken())?))
}

/// Reads the blob of [`OutlineInfo`].
///
/// # Errors
/// When the blob is not of our making.
pub fn read(input: &Input) -> Result<Info, Failure> {
    serde_json::from_slice(&input.bytes).map_err(|error| Failure::permanent(format!("an outline's facts cannot be read: {error}")))
}

fn info(key: String, row: TypeRow, structure: TypeStructure, docs: &Docs, deps: &Dependencies) -> Info {
    let own = doc::read(&docs.own);
    let members = structure.members.into_iter().map(|member| {
        let text = docs.members.get(&member.key).map(|xml| doc::read(xml)).unwrap_or_default();
        let (summary, full) = (text.first_sentence(), text.full_text());
        InfoMember {
            id: format!("{}_{}", row.id, member.id),
            key: member.key,
            kind: member.kind,
            name: member.name,
            signature: member.signature,
            attributes: member.attributes,
            doc: if full == summary { String::new() } else { full },
            summary,
        }
    });
    let members = members.collect();
    let header = structure.header;
    Info {
        implements: interfaces(&header),
        depends_on: depends_on(deps),
        depends_on_count: deps.structure.len(),
        id: row.id,
        fqn: key,
        kind: row.kind,
        files: row.files,
        assembly: row.assembly,
        namespace: row.namespace,
        accessibility: row.accessibility,
        signature: header.signature,
        attributes: header.attributes,
        bases: header.bases,
        constraints: header.constraints,
        summary: own.first_sentence(),
        doc: own.full_text(),
        members,
    }
}

/// Bases that are interfaces: all of a struct or an interface, none of an enum, else those named like one (`I` and a capital).
pub fn interfaces(header: &Header) -> Vec<String> {
    let all = matches!(header.kind.as_str(), "struct" | "record struct" | "interface");
    let none = header.kind == "enum";
    header
        .bases
        .iter()
        .filter(|base| !none && (all || is_interface_name(base)))
        .cloned()
        .collect()
}

/// Whether a written type is named like an interface.
pub fn is_interface_name(written: &str) -> bool {
    let simple = written.split('<').next().unwrap_or(written);
    let simple = simple.rsplit(['.', ':']).next().unwrap_or(simple).trim();
    let mut chars = simple.chars();
    chars.next() == Some('I') && chars.next().is_some_and(char::is_uppercase)
}

fn depends_on(deps: &Dependencies) -> Vec<String> {
    let strongest = |key: &String| {
        deps.evidence
            .get(key)
            .and_then(|places| places.first().copied())
            .unwrap_or(Place::Body)
    };
    let mut keys: Vec<&String> = deps.structure.iter().collect();
    keys.sort_by_key(|key| (strongest(key), *key));
    keys.into_iter().take(MOST_DEPENDENCIES).cloned().collect()
}
