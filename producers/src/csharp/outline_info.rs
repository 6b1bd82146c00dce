//! `csharp/outline-info`: what a reader is told about a type, as JSON.
//!
//! It holds no hash of a body and no line number, so that body edits and shifted lines end at it. It is drawn from the whole type at
//! once: nodes of its own for API and documentation would be decoded and filed for nothing here. Documentation that a type inherits is
//! taken from what its bases tell their readers. With the parameters `include_internal` and `include_private` other members follow. The
//! form is published as `producers/schemas/outline-info.json`.

use super::complete::{self, Complete};
use super::deps::{self, Dependencies};
use super::hashes::{api_modifiers, member_access, signature};
use super::ids::{member_key, member_kind_word};
use super::mentions::Place;
use super::render::doc::{self, Reading};
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
    /// The `#if` condition under which it is compiled, left out when always.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub condition: String,
    /// The declaration in one line with the attributes of parameters, bases and constraints left out.
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
    /// Member identifier; left out for nested types and for members outside the accessible API.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub id: String,
    /// Whether it is outside the API that is shown; left out when it is not.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub hidden: bool,
    /// Key inside the type, as labels write it behind `#`.
    pub key: String,
    /// Kind in words.
    pub kind: String,
    /// Simple name.
    pub name: String,
    /// The declaration in one line with the attributes of parameters.
    pub signature: String,
    /// The `#if` condition under which it is compiled, left out when there is none but that of its type.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub condition: String,
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
        ProducerId::new("csharp/outline-info", 2)
    }

    fn check(&self, params: &Params) -> Result<(), Vec<ParamError>> {
        check_flags(params, &["include_internal", "include_private"])
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
        let bases: Vec<Info> = self.inputs.all("inherited").iter().map(read).collect::<Result<_, _>>()?;
        let mut info = info(key, row, self.structure, &self.docs, &deps, &bases);
        if flag(self.inputs.params, "include_private", false) {
            let internal = flag(self.inputs.params, "include_internal", false);
            info.members.extend(hidden(&self.whole, internal, &self.docs, &bases));
        }
        Ok(info)
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

fn info(key: String, row: TypeRow, structure: TypeStructure, docs: &Docs, deps: &Dependencies, bases: &[Info]) -> Info {
    let own = doc::read(&docs.own);
    let members = structure.members.into_iter().map(|member| {
        let (summary, doc) = member_doc(docs, &member.key, &member.name, bases);
        InfoMember {
            id: if member.id.is_empty() {
                String::new()
            } else {
                format!("{}_{}", row.id, member.id)
            },
            hidden: false,
            key: member.key,
            kind: member.kind,
            name: member.name,
            signature: shown(member.attributed, member.signature),
            condition: member.condition,
            attributes: member.attributes,
            doc,
            summary,
        }
    });
    let members = members.collect();
    let header = structure.header;
    let (mut summary, mut doc) = (own.first_sentence(), own.full_text());
    if let Some(base) = inherited_type(&own, &header.bases, bases) {
        summary.clone_from(&base.summary);
        doc = joined(&base.doc, &own);
    }
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
        signature: shown(header.attributed, header.signature),
        attributes: header.attributes,
        bases: header.bases,
        constraints: header.constraints,
        summary,
        doc,
        members,
    }
}

/// The declaration with attributes where there are any.
fn shown(attributed: String, signature: String) -> String {
    if attributed.is_empty() { signature } else { attributed }
}

/// Members outside the API that is shown, in written order.
fn hidden(whole: &Complete, internal: bool, docs: &Docs, bases: &[Info]) -> Vec<InfoMember> {
    let hidden = whole
        .members
        .iter()
        .filter(|placed| !member_access(&placed.member, whole.kind).is_api(internal));
    let of_member = hidden.map(|placed| {
        let member = &placed.member;
        let key = member_key(member);
        let (summary, doc) = member_doc(docs, &key, &member.name, bases);
        let words = api_modifiers(member.modifiers.iter().map(String::as_str));
        let written = if member.attributed.is_empty() {
            &member.signature
        } else {
            &member.attributed
        };
        InfoMember {
            id: String::new(),
            hidden: true,
            key,
            kind: member_kind_word(member.kind).to_owned(),
            name: member.name.clone(),
            signature: signature(written, &member.modifiers, &words),
            condition: member.condition.clone(),
            attributes: member.attributes.clone(),
            summary,
            doc,
        }
    });
    of_member.collect()
}

/// First sentence and, where it says more, full text of a member's documentation, its own or that which it inherits.
fn member_doc(docs: &Docs, key: &str, name: &str, bases: &[Info]) -> (String, String) {
    let own = docs.members.get(key).map(|xml| doc::read(xml)).unwrap_or_default();
    let (mut summary, mut full) = (own.first_sentence(), own.full_text());
    if let Some(base) = inherited_member(&own, key, name, bases) {
        summary.clone_from(&base.summary);
        full = joined(if base.doc.is_empty() { &base.summary } else { &base.doc }, &own);
    }
    if full == summary {
        full.clear();
    }
    (summary, full)
}

/// Whether a reading hands its summary over to a base.
fn hands_over(own: &Reading) -> bool {
    own.inherited && own.summary.is_empty()
}

/// Documentation that was found, not one that is inherited from elsewhere in turn.
fn is_found(summary: &str) -> bool {
    !summary.is_empty() && !summary.starts_with("(documentation inherited")
}

/// What a base says, and what a comment adds to `<inheritdoc/>`.
fn joined(base: &str, own: &Reading) -> String {
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

/// The base that a type takes its documentation from: the one it names, else the first in the order of its base list.
fn inherited_type<'a>(own: &Reading, written: &[String], bases: &'a [Info]) -> Option<&'a Info> {
    let told = |base: &&Info| is_found(&base.summary);
    if !hands_over(own) {
        return None;
    }
    if !own.inherited_from.is_empty() {
        return bases.iter().filter(told).find(|base| is_named(&own.inherited_from, &base.fqn));
    }
    let place = |base: &Info| {
        written
            .iter()
            .position(|written| is_named(written, &base.fqn))
            .unwrap_or(usize::MAX)
    };
    bases.iter().filter(told).min_by_key(|base| place(base))
}

/// The member of a base that a member takes its documentation from: the one it names, that of the same key, else the only one of the
/// same name and number of parameters (type arguments of a base change the types of parameters).
fn inherited_member<'a>(own: &Reading, key: &str, name: &str, bases: &'a [Info]) -> Option<&'a InfoMember> {
    if !hands_over(own) {
        return None;
    }
    let simple = |name: &str| name.rsplit('.').next().unwrap_or(name).to_owned();
    let own_name = simple(name);
    let all = || {
        bases
            .iter()
            .flat_map(|base| &base.members)
            .filter(|member| is_found(&member.summary))
    };
    if !own.inherited_from.is_empty() {
        let target = own.inherited_from.split('(').next().unwrap_or_default();
        return all().find(|member| simple(target) == member.name);
    }
    let own_key = key
        .strip_prefix(name)
        .map_or_else(|| key.to_owned(), |rest| format!("{own_name}{rest}"));
    all().find(|member| member.key == own_key).or_else(|| {
        let mut alike = all().filter(|member| member.name == own_name && parameters(&member.key) == parameters(key));
        alike.next().filter(|_| alike.next().is_none())
    })
}

/// Number of parameters of a member's key.
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

/// Whether a written type may be the one of this key: the last segments are equal.
fn is_named(written: &str, key: &str) -> bool {
    let last = |text: &str| {
        let text = text.split(['<', '`', '@']).next().unwrap_or(text);
        text.rsplit(['.', '+', ':']).next().unwrap_or(text).to_owned()
    };
    last(written) == last(key)
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
