//! `csharp/impl`: the canonical text of the non-API parts of a type; its digest is implHash (seed 000 §3.3).
//!
//! JSON lines: a header (base constructor arguments, defaults of a primary constructor), then one line per member with content. A line has
//! the member's body, initializer, constant or default values, and the whole signature of a member outside the accessible API. Order:
//! fields and members with initializers as written (layout and initialization depend on it), all others sorted. An enum member without a
//! value has the last member with a value and the distance to it, which together determine its value.

use super::complete::{self, Complete};
use super::hashes::{impl_modifiers, member_access, order_counts, signature};
use super::ids::{kind_rank, member_key, member_kind_word};
use super::model::{Member, MemberKind, TypeKind};
use engine::seams::producer::{Failure, Input, Inputs, Output, Producer, ProducerId};
use engine::values::json;
use serde::{Deserialize, Serialize};

/// First line: the parts of the type itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImplHeader {
    /// `unsafe`.
    pub modifiers: Vec<String>,
    /// Base constructor arguments and defaults, one per part that has any.
    pub body: Vec<String>,
}

/// A further line: one member.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImplMember {
    pub kind: String,
    pub name: String,
    /// Key inside the type.
    pub key: String,
    /// Whether it belongs to the accessible API; its signature is then part of the structure.
    pub accessible: bool,
    /// `async`, `unsafe`, `extern`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub modifiers: Vec<String>,
    /// Declaration of a member outside the API.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub signature: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attributes: Vec<String>,
    /// Body, initializer, values; canonical text.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub body: String,
    /// For an enum member without a value: the last preceding member with a value (`""`: none), and the distance to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub follows: Option<(String, usize)>,
}

/// The producer `csharp/impl`.
#[derive(Debug)]
pub struct Implementation;

impl Producer for Implementation {
    fn id(&self) -> ProducerId {
        ProducerId::new("csharp/impl", 2)
    }

    fn produce(&self, inputs: &Inputs<'_>) -> Result<Output, Failure> {
        Ok(Output::new(encode_implementation(&complete::decode_complete(
            inputs.single("complete")?,
        )?)))
    }
}

/// Returns the blob of [`Implementation`]; its digest is implHash (seed 000 §3.3).
pub fn encode_implementation(whole: &Complete) -> Vec<u8> {
    let mut written = Vec::new();
    let mut sorted = Vec::new();
    let mut last_value: (String, usize) = (String::new(), 0);
    for placed in &whole.members {
        let member = &placed.member;
        let follows = (member.kind == MemberKind::EnumMember)
            .then(|| enum_place(member, &mut last_value))
            .flatten();
        let line = impl_member(member, whole.kind, follows);
        if order_counts(member) {
            written.push(line);
        } else if !line.body.is_empty() || !line.accessible || !line.modifiers.is_empty() || line.follows.is_some() {
            sorted.push((kind_rank(member.kind), line));
        }
    }
    sorted.sort_by(|(rank_a, a), (rank_b, b)| (rank_a, &a.key, &a.signature, &a.body).cmp(&(rank_b, &b.key, &b.signature, &b.body)));
    let header = ImplHeader {
        modifiers: impl_modifiers(whole.modifiers.iter().map(String::as_str)),
        body: whole.bodies.clone(),
    };
    let mut lines = json::encode(&header);
    for line in written.into_iter().chain(sorted.into_iter().map(|(_, line)| line)) {
        lines.push(b'\n');
        lines.extend(json::encode(&line));
    }
    lines.push(b'\n');
    lines
}

fn enum_place(member: &Member, last_value: &mut (String, usize)) -> Option<(String, usize)> {
    if member.has_value {
        *last_value = (member.name.clone(), 1);
        return None;
    }
    let place = last_value.clone();
    last_value.1 += 1;
    Some(place)
}

fn impl_member(member: &Member, owner: TypeKind, follows: Option<(String, usize)>) -> ImplMember {
    let accessible = member_access(member, owner).is_api(false);
    let mut words = member.modifiers.clone();
    words.retain(|word| word != "partial");
    let words = super::hashes::api_modifiers(words.iter().map(String::as_str));
    ImplMember {
        kind: member_kind_word(member.kind).to_owned(),
        name: member.name.clone(),
        key: member_key(member),
        accessible,
        modifiers: impl_modifiers(member.modifiers.iter().map(String::as_str)),
        signature: match (accessible, member.attributed.is_empty()) {
            (true, _) => String::new(),
            (false, true) => signature(&member.signature, &member.modifiers, &words),
            (false, false) => signature(&member.attributed, &member.modifiers, &words),
        },
        attributes: if accessible { Vec::new() } else { member.attributes.clone() },
        body: member.body.clone(),
        follows,
    }
}

/// Reads the blob of [`Implementation`]. Fails if the blob is no output of [`Implementation`].
pub fn decode_implementation(input: &Input) -> Result<(ImplHeader, Vec<ImplMember>), Failure> {
    parse_implementation(&input.bytes).map_err(|error| Failure::permanent(format!("an implementation cannot be read: {error}")))
}

/// Reads the bytes of the blob. Fails if they are no output of [`Implementation`].
pub fn parse_implementation(bytes: &[u8]) -> Result<(ImplHeader, Vec<ImplMember>), serde_json::Error> {
    let mut lines = bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    let header = serde_json::from_slice(lines.next().unwrap_or_default())?;
    Ok((header, lines.map(serde_json::from_slice).collect::<Result<_, _>>()?))
}
