//! `csharp/structure`: the canonical text of a type's accessible API; its digest is structureHash (seed 000 §3.3).
//!
//! JSON lines: the header, then one line per accessible member in the seed's order (nested types, fields, properties, events, methods; by
//! signature within a kind). A declaration under `#if` includes its condition, like an attribute. For a nested type only its head counts.
//! The text does not depend on documentation, default values, bodies, files or line numbers. It depends neither on the number of the type's
//! parts, nor on the order of members, modifiers or attributes.

use super::complete::{self, Complete};
use super::flags::{check_flags, flag};
use super::hashes::{Access, api_modifiers, member_access, signature};
use super::ids::{MEMBER_FORM, kind_rank, kind_word, member_hash, member_key, member_kind_word};
use super::model::{Member, TypeKind};
use super::syntax_table::Nested;
use super::xmldoc::{Docs, docs};
use engine::seams::producer::{Failure, Input, Inputs, Output, ParamError, Params, Producer, ProducerId};
use engine::values::json;
use serde::{Deserialize, Serialize};

/// First line of a structure: the type itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Header {
    pub symbol: String,
    /// `class`, `record struct` …
    pub kind: String,
    /// Modifiers in fixed order, including the effective accessibility.
    pub modifiers: Vec<String>,
    /// Attributes, sorted.
    pub attributes: Vec<String>,
    /// Own type parameters.
    pub type_parameters: Vec<String>,
    /// One-line declaration.
    pub signature: String,
    pub bases: Vec<String>,
    /// `where` clauses, sorted.
    pub constraints: Vec<String>,
    /// The `#if` condition under which it is compiled; omitted if unconditional.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub condition: String,
    /// Declaration with the attributes of parameters and type parameters; omitted without such attributes.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub attributed: String,
    /// Documentation of the type and of its accessible members by key, if structures include it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub docs: Option<Docs>,
}

/// A further line: one accessible member.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApiMember {
    pub kind: String,
    pub name: String,
    /// Key inside the type, as labels write it after `#`.
    pub key: String,
    /// Member part of the identifier; empty for nested types, which have type identifiers.
    pub id: String,
    /// Number of own type parameters.
    pub arity: u32,
    pub parameters: Vec<String>,
    /// Modifiers in fixed order.
    pub modifiers: Vec<String>,
    /// Attributes, sorted.
    pub attributes: Vec<String>,
    /// One-line declaration.
    pub signature: String,
    /// The `#if` condition under which it is compiled; omitted if only its type has one.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub condition: String,
    /// Declaration with the attributes of parameters, type parameters and accessors; omitted without such attributes.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub attributed: String,
}

/// A decoded structure.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TypeStructure {
    pub header: Header,
    /// Accessible members in canonical order.
    pub members: Vec<ApiMember>,
}

/// Parameters of structures, which `index.json` repeats: the producer's output without an input.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Config {
    /// Whether internal members count.
    pub include_internal: bool,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub include_xml_doc: bool,
}

/// The producer `csharp/structure`. Parameter `include_internal` (false): whether internal declarations count, so that their changes affect
/// dependents (the seed's `includeInternalForDependencies`, 000 §3.1 and §5.2). Parameter `include_xml_doc` (false): whether documentation counts
/// (the seed's `structureHashIncludesXmlDoc`, 000 §3.3). Without an input, the output is its [`Config`].
#[derive(Debug)]
pub struct Structure;

impl Producer for Structure {
    fn id(&self) -> ProducerId {
        ProducerId::new("csharp/structure", 2)
    }

    fn check(&self, params: &Params) -> Result<(), Vec<ParamError>> {
        check_flags(params, &["include_internal", "include_xml_doc"])
    }

    fn produce(&self, inputs: &Inputs<'_>) -> Result<Output, Failure> {
        let config = Config {
            include_internal: flag(inputs.params, "include_internal", false),
            include_xml_doc: flag(inputs.params, "include_xml_doc", false),
        };
        if inputs.roles.is_empty() {
            return Ok(Output::new(json::encode(&config)));
        }
        let whole = complete::decode_complete(inputs.single("complete")?)?;
        let mut structure = structure(&whole, config.include_internal);
        if config.include_xml_doc {
            let mut docs = docs(&whole);
            docs.members
                .retain(|key, _| structure.members.iter().any(|member| member.key == *key));
            structure.header.docs = Some(docs);
        }
        Ok(Output::new(encode_structure(&structure)))
    }
}

/// Returns the accessible API of a type; with `include_internal`, also the members that only its own assembly sees.
pub fn structure(whole: &Complete, include_internal: bool) -> TypeStructure {
    let mut members: Vec<(u8, ApiMember)> = whole
        .members
        .iter()
        .zip(member_ids(whole))
        .filter(|(placed, _)| member_access(&placed.member, whole.kind).is_api(include_internal))
        .map(|(placed, id)| (kind_rank(placed.member.kind), api_member(&placed.member, whole.kind, id)))
        .collect();
    members.sort_by(|(rank_a, a), (rank_b, b)| (rank_a, &a.signature, &a.key).cmp(&(rank_b, &b.signature, &b.key)));
    let nested = whole
        .nested
        .iter()
        .filter(|nested| Access::parse(&nested.access).is_api(include_internal))
        .map(api_nested);
    TypeStructure {
        header: header(whole),
        members: nested.chain(members.into_iter().map(|(_, member)| member)).collect(),
    }
}

/// Returns the member parts of the identifiers of a type's members, in order.
pub(super) fn member_ids(whole: &Complete) -> Vec<String> {
    let hashes: Vec<[u8; 32]> = whole
        .members
        .iter()
        .map(|placed| member_hash(&whole.symbol, &placed.member))
        .collect();
    MEMBER_FORM.assign(&hashes).into_iter().map(|id| id.text).collect()
}

pub(super) fn header(whole: &Complete) -> Header {
    Header {
        symbol: whole.symbol.clone(),
        kind: kind_word(whole.kind).to_owned(),
        modifiers: whole.api_modifiers(),
        attributes: whole.attributes.clone(),
        type_parameters: whole.type_parameters.clone(),
        signature: whole.signature(),
        bases: canonical_bases(whole),
        constraints: whole.constraints.clone(),
        condition: whole.condition.clone(),
        attributed: whole.attributed(),
        docs: None,
    }
}

/// Returns the blob of [`Structure`]; its digest is structureHash (seed 000 §3.3).
pub fn encode_structure(structure: &TypeStructure) -> Vec<u8> {
    let mut lines = json::encode(&structure.header);
    for member in &structure.members {
        lines.push(b'\n');
        lines.extend(json::encode(member));
    }
    lines.push(b'\n');
    lines
}

/// Returns the bases in an order independent of the type's parts. For a type that may have a base class, a part's first base stays first
/// if it can be a class (no `I` followed by a capital); the others are sorted.
fn canonical_bases(whole: &Complete) -> Vec<String> {
    let mut bases = whole.bases.clone();
    let class = |base: &str| {
        let simple = base.split('<').next().unwrap_or(base);
        let simple = simple.rsplit(['.', ':']).next().unwrap_or(simple);
        let mut chars = simple.chars();
        let interface = chars.next() == Some('I') && chars.next().is_some_and(char::is_uppercase);
        !interface && matches!(whole.kind, TypeKind::Class | TypeKind::Record | TypeKind::Enum)
    };
    bases.sort_by(|a, b| (!class(a), a).cmp(&(!class(b), b)));
    bases
}

/// Returns a nested type as a member of its enclosing type: only its head.
pub(super) fn api_nested(nested: &Nested) -> ApiMember {
    let modifiers = api_modifiers(nested.access.split(' ').chain(nested.modifiers.iter().map(String::as_str)));
    ApiMember {
        kind: kind_word(nested.kind).to_owned(),
        name: nested.name.split('`').next().unwrap_or(&nested.name).to_owned(),
        key: format!("+{}", nested.name),
        id: String::new(),
        arity: nested.name.split_once('`').and_then(|(_, arity)| arity.parse().ok()).unwrap_or(0),
        parameters: Vec::new(),
        attributes: Vec::new(),
        signature: signature(&nested.header, &[], &modifiers),
        condition: String::new(),
        attributed: String::new(),
        modifiers,
    }
}

/// Returns a member as in its type's structure.
pub(super) fn api_member(member: &Member, owner: TypeKind, id: String) -> ApiMember {
    let access = member_access(member, owner);
    // Members of interfaces and enums are public by default, written or not.
    let implied = access == Access::Public && matches!(owner, TypeKind::Interface | TypeKind::Enum);
    let modifiers = api_modifiers(
        member
            .modifiers
            .iter()
            .map(String::as_str)
            .filter(|word| !(implied && *word == "public")),
    );
    ApiMember {
        kind: member_kind_word(member.kind).to_owned(),
        name: member.name.clone(),
        key: member_key(member),
        id,
        arity: member.arity,
        parameters: member.parameters.clone(),
        attributes: member.attributes.clone(),
        signature: signature(&member.signature, &member.modifiers, &modifiers),
        condition: member.condition.clone(),
        attributed: if member.attributed.is_empty() {
            String::new()
        } else {
            signature(&member.attributed, &member.modifiers, &modifiers)
        },
        modifiers,
    }
}

/// Reads the blob of [`Structure`]. Fails if the blob is no output of [`Structure`].
pub fn decode_structure(input: &Input) -> Result<TypeStructure, Failure> {
    parse_structure(&input.bytes).map_err(|error| Failure::permanent(format!("a structure cannot be read: {error}")))
}

/// Reads the bytes of the blob.
///
/// # Errors
/// If they are no output of [`Structure`].
pub fn parse_structure(bytes: &[u8]) -> Result<TypeStructure, serde_json::Error> {
    let mut lines = bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    let header = serde_json::from_slice(lines.next().unwrap_or_default())?;
    let members = lines.map(serde_json::from_slice).collect::<Result<_, _>>()?;
    Ok(TypeStructure { header, members })
}
