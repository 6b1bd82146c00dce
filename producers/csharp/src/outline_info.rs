//! `csharp/outline-info`: a type's facts for readers, as JSON.
//!
//! It contains no hash of a body and no line number, so body edits and shifted lines do not change it. The producer reads the whole type at once:
//! separate nodes for API and documentation would only be decoded and stored again. Inherited documentation comes from the nearest documented base,
//! at any distance. Nested types come first, then members in source order, overloads next to the first of them. The parameter `access` selects
//! the members: `public`, `internal`, `all`; a non-public type shows all members. The form is published as `producers/schemas/outline-info.json`.

use super::complete::{self, Complete};
use super::defaults;
use super::deps::{self, Dependencies};
use super::flags::check_flags;
use super::hashes::{Access, member_access};
use super::mention_model::Place;
use super::render::doc::{self, Reading};
use super::structure::{self, ApiMember, Header};
use super::types::TypeRow;
use super::xmldoc::{self, Docs};
use engine::seams::producer::{Failure, Input, Inputs, Output, ParamError, Params, Producer, ProducerId};
use engine::values::table::Table;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Maximum number of dependencies in an outline.
const MOST_DEPENDENCIES: usize = 10;

/// A type for readers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Info {
    pub id: String,
    /// Key in `//index:types`.
    pub fqn: String,
    /// `class`, `record struct` …
    pub kind: String,
    /// Files that contain a part of the type.
    pub files: Vec<String>,
    /// Assembly; `""` for loose files.
    pub assembly: String,
    pub namespace: String,
    pub accessibility: String,
    /// The `#if` condition under which it is compiled; omitted if unconditional.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub condition: String,
    /// One-line declaration with the attributes of parameters, without bases and constraints.
    pub signature: String,
    pub attributes: Vec<String>,
    /// Targets of the using aliases in its signatures: `NAME = TARGET`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub aliases: Vec<String>,
    pub bases: Vec<String>,
    /// `where` clauses.
    pub constraints: Vec<String>,
    /// First sentence of the documentation.
    pub summary: String,
    /// Full documentation as readable text.
    pub doc: String,
    /// Nested types, then members in source order, overloads together.
    pub members: Vec<InfoMember>,
    /// Names of the interfaces among the bases.
    pub implements: Vec<String>,
    /// The first types that its API names: bases, then signatures, then attributes.
    pub depends_on: Vec<String>,
    /// Number of types that its API names.
    pub depends_on_count: usize,
}

/// A member for readers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct InfoMember {
    /// Member identifier; omitted for nested types and for members outside the accessible API.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub id: String,
    /// Whether it is outside the shown API; omitted if false.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub hidden: bool,
    /// Key inside the type, as labels write it after `#`.
    pub key: String,
    pub kind: String,
    pub name: String,
    /// One-line declaration with attributes and default values of parameters, or with its value.
    pub signature: String,
    /// The `#if` condition under which it is compiled; omitted if only its type has one.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub condition: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attributes: Vec<String>,
    /// First sentence of its documentation.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub summary: String,
    /// Full documentation as readable text, if longer than the first sentence.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub doc: String,
}

/// The producer `csharp/outline-info`.
#[derive(Debug)]
pub struct OutlineInfo;

impl Producer for OutlineInfo {
    fn id(&self) -> ProducerId {
        ProducerId::new("csharp/outline-info", 3)
    }

    fn check(&self, params: &Params) -> Result<(), Vec<ParamError>> {
        check_access(params, &[])
    }

    fn produce(&self, inputs: &Inputs<'_>) -> Result<Output, Failure> {
        let read = Facts::from_inputs(inputs)?;
        let mut bytes = serde_json::to_vec_pretty(&read.info()?).expect("invariant: our values have text keys");
        bytes.push(b'\n');
        Ok(Output::new(bytes))
    }
}

/// A base of a type, with its documentation and that of its members.
struct Base<'b> {
    key: &'b str,
    docs: Docs,
}

/// The members that an outline shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Audience {
    /// Members that all code or derived types can use.
    Public,
    /// Also members that the own assembly can use.
    Internal,
    All,
}

impl Audience {
    /// Reads the parameter `access`.
    pub fn from_params(params: &Params) -> Self {
        match params.get("access").and_then(serde_json::Value::as_str) {
            Some("all") => Self::All,
            Some("internal") => Self::Internal,
            _ => Self::Public,
        }
    }

    /// Returns the audience for this type: for a non-public type, all members.
    fn for_type(self, whole: &Complete) -> Self {
        match Access::parse(&whole.access).is_api(false) {
            true => self,
            false => Self::All,
        }
    }

    /// Returns `None` if a member is not shown, otherwise whether it is hidden from the audience's code.
    fn shows(self, access: Access) -> Option<bool> {
        match access.is_api(self > Self::Public) {
            true => Some(false),
            false => (self == Self::All).then_some(true),
        }
    }
}

/// Checks the parameter `access`, and further boolean parameters. Errors: all errors in them.
pub fn check_access(params: &Params, flags: &[&str]) -> Result<(), Vec<ParamError>> {
    let is_known = |value: &serde_json::Value| matches!(value.as_str(), Some("public" | "internal" | "all"));
    let mut known = vec!["access"];
    known.extend(flags);
    let mut others = params.clone();
    let access = others.remove("access");
    let wrong = access.filter(|value| !is_known(value)).map(|_| ParamError {
        param: "access".to_owned(),
        message: "'access' has an unknown value".to_owned(),
        hint: Some("known: public, internal, all".to_owned()),
        unknown: false,
    });
    let mut errors: Vec<ParamError> = wrong.into_iter().collect();
    if let Err(more) = check_flags(&others, flags) {
        errors.extend(more.into_iter().map(|error| match error.unknown {
            true => ParamError::unknown_parameter(&error.param, &known),
            false => error,
        }));
    }
    if errors.is_empty() { Ok(()) } else { Err(errors) }
}

/// Input of outlines.
pub struct Facts<'i> {
    inputs: &'i Inputs<'i>,
    pub whole: Complete,
    pub docs: Docs,
}

impl<'i> Facts<'i> {
    /// Reads the inputs `complete`, `deps` and `type`.
    pub fn from_inputs(inputs: &'i Inputs<'i>) -> Result<Self, Failure> {
        let whole = complete::decode_complete(inputs.single("complete")?)?;
        Ok(Self {
            docs: xmldoc::docs(&whole),
            whole,
            inputs,
        })
    }

    pub fn info(self) -> Result<Info, Failure> {
        let (key, row) = type_row(self.inputs)?;
        let deps = deps::decode_dependencies(self.inputs.single("deps")?)?;
        let mut bases = Vec::new();
        for base in &deps.doc_bases {
            if let Some(input) = self.inputs.all("inherited").iter().find(|input| *input.item == **base) {
                bases.push(Base {
                    key: base,
                    docs: xmldoc::decode_docs(input)?,
                });
            }
        }
        let members = self.members_of_type(&row.id, &bases);
        Ok(info(key, row, &self.whole, members, &self.docs, &deps, &bases))
    }

    /// Returns nested types, then members in source order, overloads next to the first of them.
    fn members_of_type(&self, id: &str, bases: &[Base<'_>]) -> Vec<InfoMember> {
        let whole = &self.whole;
        let audience = Audience::from_params(self.inputs.params).for_type(whole);
        let nested = whole.nested.iter().filter_map(|nested| {
            let hidden = audience.shows(Access::parse(&nested.access))?;
            Some(self.info_of_member(structure::api_nested(nested), hidden, id, bases))
        });
        let mut members: Vec<InfoMember> = nested.collect();
        let ordinals = defaults::ordinals(whole.members.iter().map(|placed| &placed.member));
        let mut first: BTreeMap<&str, usize> = BTreeMap::new();
        let mut declared: Vec<(usize, InfoMember)> = Vec::new();
        let ids = structure::member_ids(whole).into_iter().zip(ordinals);
        for (at, (placed, (part, ordinal))) in whole.members.iter().zip(ids).enumerate() {
            let Some(hidden) = audience.shows(member_access(&placed.member, whole.kind)) else {
                continue;
            };
            let mut member = self.info_of_member(structure::api_member(&placed.member, whole.kind, part), hidden, id, bases);
            member.signature = defaults::with_values(&member.signature, &placed.member, ordinal);
            declared.push((*first.entry(&placed.member.name).or_insert(at), member));
        }
        declared.sort_by_key(|(first, _)| *first);
        members.extend(declared.into_iter().map(|(_, member)| member));
        members
    }

    fn info_of_member(&self, member: ApiMember, hidden: bool, id: &str, bases: &[Base<'_>]) -> InfoMember {
        let (summary, doc) = member_doc(&self.docs, &member.key, &member.name, bases);
        InfoMember {
            id: match hidden || member.id.is_empty() {
                true => String::new(),
                false => format!("{id}_{}", member.id),
            },
            hidden,
            key: member.key,
            kind: member.kind,
            name: member.name,
            signature: with_attributes(member.attributed, member.signature),
            condition: member.condition,
            attributes: member.attributes,
            doc,
            summary,
        }
    }
}

/// Returns the only row of the role `type`, with its key. Fails if the role is not a slice of one row.
pub fn type_row(inputs: &Inputs<'_>) -> Result<(String, TypeRow), Failure> {
    let slice = inputs.single("type")?;
    let broken = || Failure::permanent("input 'type' is not one row of //index:types");
    let table = Table::open(&slice.bytes).ok_or_else(broken)?;
    let (key, value) = table.rows().next().ok_or_else(broken)?;
    Ok((key.to_owned(), serde_json::from_slice(value).map_err(|_| broken())?))
}

/// Reads the blob of [`OutlineInfo`]. Fails if the blob is no output of [`OutlineInfo`].
pub fn decode_info(input: &Input) -> Result<Info, Failure> {
    serde_json::from_slice(&input.bytes).map_err(|error| Failure::permanent(format!("an outline's facts cannot be read: {error}")))
}

fn info(
    key: String,
    row: TypeRow,
    whole: &Complete,
    members: Vec<InfoMember>,
    docs: &Docs,
    deps: &Dependencies,
    bases: &[Base<'_>],
) -> Info {
    let own = doc::parse_doc_comment(&docs.own);
    let header = structure::header(whole);
    let (mut summary, mut doc) = (own.first_sentence(), own.full_text());
    if let Some(base) = inherited_type(&own, bases) {
        (summary, doc) = (base.first_sentence(), join_documentation(&base.full_text(), &own));
    }
    let signature = with_attributes(header.attributed.clone(), header.signature.clone());
    let signature = whole
        .bodies
        .iter()
        .fold(signature, |signature, body| defaults::with_defaults(&signature, body));
    let texts = members.iter().map(|member| &member.signature);
    let texts: Vec<&String> = texts.chain([&signature]).chain(&header.bases).chain(&header.constraints).collect();
    let aliases = deps
        .aliases
        .iter()
        .filter(|(alias, _)| texts.iter().any(|text| contains_word(text, alias)));
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
        condition: header.condition,
        aliases: aliases.map(|(alias, target)| format!("{alias} = {target}")).collect(),
        signature,
        attributes: header.attributes,
        bases: header.bases,
        constraints: header.constraints,
        summary,
        doc,
        members,
    }
}

fn contains_word(text: &str, word: &str) -> bool {
    text.split(|c: char| !c.is_alphanumeric() && c != '_').any(|known| known == word)
}

/// Returns the declaration with attributes if it has any.
fn with_attributes(attributed: String, signature: String) -> String {
    if attributed.is_empty() { signature } else { attributed }
}

/// Returns the first sentence and, if longer, the full text of a member's documentation, own or inherited.
fn member_doc(docs: &Docs, key: &str, name: &str, bases: &[Base<'_>]) -> (String, String) {
    let own = docs.members.get(key).map(|xml| doc::parse_doc_comment(xml)).unwrap_or_default();
    let (mut summary, mut full) = (own.first_sentence(), own.full_text());
    if let Some(base) = inherited_member(&own, key, name, bases) {
        (summary, full) = (base.first_sentence(), join_documentation(&base.full_text(), &own));
    }
    if full == summary {
        full.clear();
    }
    (summary, full)
}

/// Whether a comment takes its summary from a base.
fn hands_over(own: &Reading) -> bool {
    own.inherited && own.summary.is_empty()
}

/// Reads a comment with a summary of its own.
fn read_comment(xml: &str) -> Option<Reading> {
    let reading = doc::parse_doc_comment(xml);
    (!reading.summary.is_empty()).then_some(reading)
}

/// Joins a base's documentation with the text that a comment adds to `<inheritdoc/>`.
fn join_documentation(base: &str, own: &Reading) -> String {
    let more = Reading {
        inherited: false,
        ..own.clone()
    };
    let more = more.full_text();
    if more.is_empty() {
        base.to_owned()
    } else {
        format!("{base}\n\n{more}")
    }
}

/// Returns the documentation that a type inherits: from the base that its comment names, otherwise from the nearest documented base.
fn inherited_type(own: &Reading, bases: &[Base<'_>]) -> Option<Reading> {
    let named = |base: &&Base<'_>| own.inherited_from.is_empty() || is_named(&own.inherited_from, base.key);
    let mut candidates = bases.iter().filter(|_| hands_over(own)).filter(named);
    candidates.find_map(|base| read_comment(&base.docs.own))
}

/// Returns the documentation that a member inherits from a base's member: the named one; else the one with the same key; else the only one with
/// the same name and number of parameters (type arguments of a base change parameter types). The nearest documented base wins.
fn inherited_member(own: &Reading, key: &str, name: &str, bases: &[Base<'_>]) -> Option<Reading> {
    if !hands_over(own) {
        return None;
    }
    let own_name = name.rsplit('.').next().unwrap_or(name);
    if !own.inherited_from.is_empty() {
        let target = own.inherited_from.split('(').next().unwrap_or_default();
        let target = target.rsplit('.').next().unwrap_or(target);
        let target = target.split('<').next().unwrap_or(target);
        let mut members = bases.iter().flat_map(|base| &base.docs.members);
        return members.find_map(|(key, xml)| read_comment(xml).filter(|_| name_of(key) == target));
    }
    let own_key = key
        .strip_prefix(name)
        .map_or_else(|| key.to_owned(), |rest| format!("{own_name}{rest}"));
    bases.iter().find_map(|base| {
        let same = base.docs.members.get(&own_key).and_then(|xml| read_comment(xml));
        same.or_else(|| {
            let members = base.docs.members.iter();
            let alike = members.filter(|(other, _)| name_of(other) == own_name && parameters(other) == parameters(key));
            let mut alike = alike.filter_map(|(_, xml)| read_comment(xml));
            alike.next().filter(|_| alike.next().is_none())
        })
    })
}

/// Returns the name in a member's key, without arity and parameters.
fn name_of(key: &str) -> &str {
    let name = key.split('(').next().unwrap_or(key);
    name.split('`').next().unwrap_or(name)
}

/// Counts the parameters in a member's key.
fn parameters(key: &str) -> usize {
    let Some((_, list)) = key.split_once('(') else { return 0 };
    let mut depth = 0_i32;
    let mut count = usize::from(!list.starts_with(')'));
    for c in list.chars() {
        match c {
            '<' | '(' | '[' => depth += 1,
            '>' | ')' | ']' => depth -= 1,
            ',' if depth == 0 => count += 1,
            _ => {}
        }
    }
    count
}

/// Whether a written type may be the type with this key: the last segments are equal.
fn is_named(written: &str, key: &str) -> bool {
    let last = |text: &str| {
        let text = text.split(['<', '`', '@']).next().unwrap_or(text);
        text.rsplit(['.', '+', ':']).next().unwrap_or(text).to_owned()
    };
    last(written) == last(key)
}

/// Returns the bases that are interfaces: all of a struct or interface, none of an enum, otherwise those named like one (`I` and a capital).
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

/// Whether a written type has the name of an interface.
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
