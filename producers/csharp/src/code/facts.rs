//! `csharp/facts`: the code of one type, as the syntax that determines types. Edits of literals, comments or layout do not change the
//! output.

use super::ast::{Argument, Parameter, Statement, TypeRef};
use super::{Signature, attributes_in_header, body, header_parameters, signature, statements};
use crate::complete::{self, Complete};
use crate::model::{Member, MemberKind, TOP_LEVEL, TypeKind};
use engine::seams::producer::{Failure, Input, Inputs, Output, Producer, ProducerId};
use engine::values::cbor;
use minicbor::{Decode, Encode};

/// Code of one type.
#[derive(Clone, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub struct Facts {
    /// Parameters of the primary constructor, in scope everywhere in the type.
    #[n(0)]
    pub header: Vec<Parameter>,
    /// Constraints of the type's own parameters, as in [`Signature`].
    #[n(1)]
    pub constraints: Vec<(String, TypeRef)>,
    /// Code in the header: default values, arguments for the base constructor, arguments of attributes.
    #[n(2)]
    pub around: Vec<Statement>,
    #[n(3)]
    pub attributes: Vec<(TypeRef, Vec<Argument>)>,
    /// Members with code or parameters.
    #[n(4)]
    pub members: Vec<MemberCode>,
}

#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct MemberCode {
    /// Number of the part that contains it.
    #[n(0)]
    pub part: u32,
    #[n(1)]
    pub name: String,
    #[n(2)]
    pub signature: Signature,
    /// Own type parameters.
    #[n(3)]
    pub type_parameters: Vec<String>,
    #[n(4)]
    pub attributes: Vec<(TypeRef, Vec<Argument>)>,
    #[n(5)]
    pub body: Vec<Statement>,
    #[n(6)]
    pub of_enum: bool,
}

/// The producer `csharp/facts`.
#[derive(Debug)]
pub struct FactsOf;

impl Producer for FactsOf {
    fn id(&self) -> ProducerId {
        ProducerId::new("csharp/facts", 27)
    }

    fn produce(&self, inputs: &Inputs<'_>) -> Result<Output, Failure> {
        let facts = facts(&complete::decode_complete(inputs.single("complete")?)?, false);
        Ok(Output::new(cbor::encode(&facts)))
    }
}

/// Reads the blob of [`FactsOf`]. Fails if the blob is no output of [`FactsOf`].
pub fn decode_facts(input: &Input) -> Result<Facts, Failure> {
    minicbor::decode(&input.bytes).map_err(|error| Failure::permanent(format!("the facts of a type cannot be decoded: {error}")))
}

/// Returns the facts of a type. With `places`, words carry byte offsets into each member's body and each text of the header.
pub fn facts(whole: &Complete, places: bool) -> Facts {
    let header = header_parameters(&whole.header, false);
    let members = whole.members.iter().filter_map(|placed| {
        let member = &placed.member;
        let attributes = attribute_arguments(&attributes_of(member));
        (!member.body.is_empty() || !attributes.is_empty()).then(|| MemberCode {
            part: placed.part,
            name: member.name.clone(),
            signature: if member.body.is_empty() {
                Signature::default()
            } else {
                signature(member.kind, callable_signature(member))
            },
            type_parameters: member.type_parameters.clone(),
            attributes,
            body: match member.name == TOP_LEVEL {
                true => statements(&member.body, places),
                false => body(&member.body, places),
            },
            of_enum: member.kind == MemberKind::EnumMember,
        })
    });
    let clauses = whole.constraints.join(" ");
    Facts {
        header: if whole.kind == TypeKind::Delegate {
            Vec::new()
        } else {
            header.parameters
        },
        constraints: header_parameters(&clauses, false).constraints,
        around: whole.bodies.iter().flat_map(|text| body(text, places)).collect(),
        attributes: attribute_arguments(&attributes_of_type(whole)),
        members: members.collect(),
    }
}

/// Returns the attributes of a member, of its parameters and of its type parameters.
pub fn attributes_of(member: &Member) -> Vec<String> {
    let inside = attributes_in_header(&member.attributed);
    member.attributes.iter().cloned().chain(inside).collect()
}

/// Returns the attributes of a type, and those in its header.
pub fn attributes_of_type(whole: &Complete) -> Vec<String> {
    let inside = attributes_in_header(&whole.attributed);
    whole.attributes.iter().cloned().chain(inside).collect()
}

/// Returns the signature as C# writes it: the method of top-level statements has a name that no code can contain.
fn callable_signature(member: &Member) -> &str {
    match member.name == TOP_LEVEL {
        true => "void Main(string[] args)",
        false => &member.signature,
    }
}

/// Parses the canonical text of an attribute; `None` if the attribute has no arguments.
pub fn attribute(text: &str, places: bool) -> Option<(TypeRef, Vec<Argument>)> {
    super::parse_attribute(text, places).filter(|_| text.contains('('))
}

fn attribute_arguments(attributes: &[String]) -> Vec<(TypeRef, Vec<Argument>)> {
    attributes.iter().filter_map(|text| attribute(text, false)).collect()
}
