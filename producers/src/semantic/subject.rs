//! The subject of a summary: one type, a group of mutually dependent types, or one member, as read from the inputs of the node.

use super::corrections::PersonsCorrections;
use super::document::SummaryHead;
use super::parameters::SummaryParameters;
use super::prompt_slots::{self, Blobs, Slot, SlotKind, WITHHELD};
use super::renames::Renames;
use super::secrets::{matches_any, withholding_glob};
use super::template::Template;
use super::test_methods;
use csharp::deps;
use csharp::ids::group_id;
use csharp::types::TypeRow;
use engine::seams::paid::FormerName;
use engine::seams::producer::{Failure, Input, Inputs};
use engine::values::digest::Digest;
use engine::values::label::{escape, unescape};
use engine::values::table::Table;
use std::collections::{BTreeMap, BTreeSet};

/// The reason why no model is asked about a subject.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Withholding {
    /// It is a member without code: its declaration is complete.
    Declaration,
    /// All of it is generated code.
    Generated,
    /// Its source matches this glob and is never sent.
    Secret(String),
}

impl Withholding {
    /// Returns the reason as a sentence about the type.
    pub(super) fn reason(&self) -> String {
        match self {
            Self::Secret(glob) => format!("its source matches '{glob}' and is never sent"),
            Self::Generated => "it is generated code".to_owned(),
            Self::Declaration => "it has no code".to_owned(),
        }
    }

    /// Returns the text of each section of the summary.
    pub(super) fn summary(&self) -> &'static str {
        match self {
            Self::Secret(_) => WITHHELD,
            Self::Generated => "Generated code: no model was asked.",
            Self::Declaration => "A declaration without code: no model was asked.",
        }
    }
}

/// The subject of a question.
pub(super) struct Subject {
    /// Identifier of the group, when it is one.
    pub(super) group: Option<String>,
    /// The types (or the member), in the order of their keys.
    pub(super) heads: Vec<SummaryHead>,
    /// Keys of the types, in the same order.
    pub(super) keys: Vec<String>,
    /// Types that no model is asked about, by key, each with the reason.
    pub(super) withheld: BTreeMap<String, Withholding>,
    /// Types whose code the prompt omits, because `declarations_only` covers all their files.
    bare: BTreeSet<String>,
    /// Whether bodies of tests are shown.
    test_bodies: bool,
    /// The inputs.
    pub(super) blobs: Blobs,
    /// Dependencies whose declarations no model may see.
    pub(super) hidden: BTreeSet<String>,
    /// A person's corrections of its summary.
    pub(super) theirs: PersonsCorrections,
}

impl Subject {
    /// Reads the inputs.
    ///
    /// # Errors
    /// When one is missing or malformed.
    pub(super) fn from_inputs(inputs: &Inputs<'_>, parameters: &SummaryParameters) -> Result<Self, Failure> {
        let rows = type_rows_of_inputs(inputs)?;
        let own = rows.first().map(|(key, _)| key.clone()).unwrap_or_default();
        let blobs = prompt_slots::present_inputs(inputs, &own);
        let several = inputs.all("structure").iter().any(|input| !input.item.is_empty());
        let digest = |role: &str, key: &str| blobs.get(role)?.get(key).map(|input| input.digest);
        let (mut heads, mut keys, mut never, mut bare) = (Vec::new(), Vec::new(), BTreeMap::new(), BTreeSet::new());
        for (key, row) in &rows {
            let lacks = |role: &str| Failure::permanent(format!("input '{role}' has nothing about {key}"));
            let structure = digest("structure", key).ok_or_else(|| lacks("structure"))?;
            let code = digest("code", key).or_else(|| digest("impl", key)).ok_or_else(|| lacks("impl"))?;
            if let Some(glob) = row.files.iter().find_map(|file| withholding_glob(file, &parameters.never_send)) {
                never.insert(key.clone(), Withholding::Secret(glob.to_owned()));
            } else if row.generated && !parameters.generated {
                never.insert(key.clone(), Withholding::Generated);
            }
            if row.files.iter().all(|file| matches_any(file, &parameters.declarations_only)) {
                bare.insert(key.clone());
            }
            let member = inputs.var("member").filter(|_| inputs.roles.contains_key("code"));
            let declaration = blobs.get("code").and_then(|code| code.get(key));
            if declaration.is_some_and(|code| !prompt_slots::holds_code(&String::from_utf8_lossy(&code.bytes))) {
                never.entry(key.clone()).or_insert(Withholding::Declaration);
            }
            heads.push(SummaryHead {
                key: member.map_or_else(|| key.clone(), |member| format!("{key}#{member}")),
                id: row.id.clone(),
                structure,
                code,
                dependencies: dependencies(blobs.get("deps").and_then(|deps| deps.get(key)))?,
            });
            keys.push(key.clone());
        }
        let mut ids: Vec<&str> = heads.iter().map(|head| head.id.as_str()).collect();
        ids.sort_unstable();
        Ok(Self {
            group: several.then(|| group_id(&ids)),
            theirs: PersonsCorrections::from_inputs(inputs, &heads, &parameters.sections),
            hidden: withheld_dependencies(inputs, parameters)?,
            heads,
            keys,
            withheld: never,
            bare,
            test_bodies: parameters.test_bodies,
            blobs,
        })
    }

    /// Returns the heads of the types that a model may see.
    pub(super) fn visible_heads(&self) -> Vec<SummaryHead> {
        let shown = self
            .heads
            .iter()
            .zip(&self.keys)
            .filter(|(_, key)| !self.withheld.contains_key(*key));
        shown.map(|(head, _)| head.clone()).collect()
    }

    /// Returns the texts that a prompt shows, from these inputs or earlier ones.
    ///
    /// # Errors
    /// When a blob is malformed.
    pub(super) fn slots(&self, blobs: &Blobs) -> Result<Vec<Slot>, Failure> {
        let about: Vec<&str> = self
            .keys
            .iter()
            .map(String::as_str)
            .filter(|key| !self.withheld.contains_key(*key))
            .collect();
        Ok(self.without_hidden_code(prompt_slots::slots(blobs, &about, &self.hidden)?))
    }

    /// Returns the texts without code that the parameters hide. The question about a member shows its code.
    pub(super) fn without_hidden_code(&self, mut slots: Vec<Slot>) -> Vec<Slot> {
        if self.blobs.contains_key("code") {
            return slots;
        }
        slots.retain(|slot| slot.kind != SlotKind::Code || !self.bare.contains(&slot.key));
        if !self.test_bodies {
            test_methods::leave_out_bodies(&mut slots);
        }
        slots
    }

    /// Returns the types of which only the role may be shown.
    pub(super) fn unseen(&self) -> BTreeSet<&str> {
        self.withheld.keys().map(String::as_str).collect()
    }
}

/// Returns the key of the type of a head, without its member.
pub(super) fn type_key(key: &str) -> &str {
    key.split('#').next().unwrap_or(key)
}

/// Returns the labels that a summary may have had before its types or its member were renamed.
pub(super) fn former_labels(inputs: &Inputs<'_>) -> Vec<String> {
    let Ok(rows) = type_rows_of_inputs(inputs) else { return Vec::new() };
    let names_of = |key: &str| -> Vec<&FormerName> {
        let names = inputs.former.get(key).into_iter().flatten();
        names.filter(|name| !name.is_origin).collect()
    };
    if !inputs.label.starts_with("//groups/") {
        let Some((key, _)) = rows.first() else { return Vec::new() };
        let former = |key: &str| names_of(key).into_iter().map(|name| name.item.clone()).collect::<Vec<_>>();
        let mut items = former(key);
        if let Some(member) = member_of(inputs.label) {
            let then = Renames::from_former(inputs.former).former_member(&member);
            let of = items.iter().chain([key]);
            let keys: Vec<String> = of.flat_map(|of| [format!("{of}#{member}"), format!("{of}#{then}")]).collect();
            items = former(&format!("{key}#{member}"));
            items.extend(keys);
        }
        let labels = items.iter().filter_map(|item| label_of(inputs.label, item));
        return labels.filter(|label| label != inputs.label).collect();
    }
    // The label of a group depends on the identifiers of its types.
    let most = rows.iter().map(|(key, _)| names_of(key).len()).max().unwrap_or(0);
    let group = |at: usize| {
        let id = |(key, row): &(String, TypeRow)| {
            let names = names_of(key);
            let name = names.get(at).or(names.last());
            name.map_or_else(|| row.id.clone(), |name| name.id.clone())
        };
        let mut ids: Vec<String> = rows.iter().map(id).collect();
        ids.sort_unstable();
        let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
        format!("//groups/{}:semantic", escape(&group_id(&ids)))
    };
    (0..most).map(group).collect()
}

/// Returns the label of a target under another key of the type or of the member.
fn label_of(label: &str, key: &str) -> Option<String> {
    let (_, target) = label.rsplit_once(':')?;
    Some(match key.split_once('#') {
        Some((of, member)) => format!("//types/{}#{}:{target}", escape(of), escape(member)),
        None => format!("//types/{}:{target}", escape(key)),
    })
}

/// Returns the key of the member that a label names.
fn member_of(label: &str) -> Option<String> {
    let (package, _) = label.rsplit_once(':')?;
    package.split_once('#').map(|(_, member)| unescape(member))
}

/// Returns the template: the user's, or the built-in one.
///
/// # Errors
/// When it is invalid.
pub(super) fn template(inputs: &Inputs<'_>, parameters: &SummaryParameters) -> Result<Template, Failure> {
    match inputs.maybe("template") {
        Some(input) => Template::from_bytes(parameters.template.as_deref().unwrap_or("the template"), &input.bytes),
        None => Template::built_in(),
    }
}

pub(super) fn type_rows_of_inputs(inputs: &Inputs<'_>) -> Result<Vec<(String, TypeRow)>, Failure> {
    let broken = || Failure::permanent("input 'type' is not rows of //index:types");
    let rows = rows_in(inputs.single("type")?).ok_or_else(broken)?;
    if rows.is_empty() { Err(broken()) } else { Ok(rows) }
}

fn rows_in(input: &Input) -> Option<Vec<(String, TypeRow)>> {
    let table = Table::open(&input.bytes)?;
    let row = |(key, value): (&str, &[u8])| Some((key.to_owned(), serde_json::from_slice(value).ok()?));
    table.rows().map(row).collect()
}

/// Returns the dependencies with a file that no model may see.
fn withheld_dependencies(inputs: &Inputs<'_>, parameters: &SummaryParameters) -> Result<BTreeSet<String>, Failure> {
    let Some(input) = inputs.maybe("places") else {
        return Ok(BTreeSet::new());
    };
    let rows = rows_in(input).ok_or_else(|| Failure::permanent("input 'places' is not rows of //index:types"))?;
    let secret = |row: &TypeRow| {
        row.files
            .iter()
            .any(|file| withholding_glob(file, &parameters.never_send).is_some())
    };
    Ok(rows.into_iter().filter(|(_, row)| secret(row)).map(|(key, _)| key).collect())
}

fn dependencies(input: Option<&Input>) -> Result<Vec<String>, Failure> {
    let Some(input) = input else { return Ok(Vec::new()) };
    let deps = deps::decode_dependencies(input)?;
    Ok(deps.structure.iter().filter_map(|key| deps.ids.get(key)).cloned().collect())
}

/// Returns the digest of a text in the form of notes.
pub(super) fn note_digest(text: &str) -> String {
    Digest::of(text.as_bytes()).short()
}
