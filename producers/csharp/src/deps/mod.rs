//! `csharp/deps`: the types of the workspace on which a type depends, with the evidence for each.
//!
//! `structure` lists the types named in signatures (of any accessibility), bases, constraints and attributes; `body` the types named only in
//! bodies, initializers and default values. Uses in code count as far as the types of values are known: [`flow`] propagates declared types.

pub mod api;
pub mod binder;
pub mod candidate;
pub mod chunk_signatures;
pub mod crefs;
pub mod declarations;
pub mod dotnet;
mod extern_aliases;
pub mod flow;
pub mod index;
pub mod lookups;
pub mod member_index;
pub mod modifiers;
mod outer_arguments;
mod reach;
pub mod resolve;
pub mod shape;
pub mod signatures;
#[cfg(test)]
mod tests;
pub mod world;
pub mod written;

use super::code;
use super::code::ast::{Name, TypeRef, Word};
use super::code::facts::Facts;
use super::flags::check_flags;
use super::mention_model::{MentionPart, Mentions, Place};
use super::project_ownership::ancestors;
use binder::{Binder, Bound, Surroundings};
use engine::seams::producer::{Failure, Input, Inputs, Output, ParamError, Params, Producer, ProducerId, Sees};
use engine::values::json;
use flow::{Flow, UsesFound};
use index::{Globals, NameIndex};
pub use reach::Reach;
use reach::Reached;
use resolve::Resolver;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use world::World;

/// Dependencies of one type. Fields are in alphabetical order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Dependencies {
    /// Targets of the using aliases that its declarations name; filled for declarations only.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub aliases: BTreeMap<String, String>,
    /// Names with several meanings.
    pub ambiguous: Vec<Ambiguity>,
    /// Types named only in bodies, sorted.
    pub body: Vec<String>,
    /// Types whose documentation it may inherit, nearest first: all its bases if any of its comments contains `<inheritdoc/>`; filled for
    /// declarations only.
    pub doc_bases: Vec<String>,
    /// Places where each type is named.
    pub evidence: BTreeMap<String, BTreeSet<Place>>,
    /// Names of types outside the workspace: in full for types of .NET, otherwise as written.
    pub external: BTreeSet<String>,
    /// Type identifiers.
    pub ids: BTreeMap<String, String>,
    /// Types that signatures, bases, constraints or attributes name, sorted.
    pub structure: Vec<String>,
    /// Key of the type itself.
    #[serde(rename = "type")]
    pub own: String,
}

/// A name with several meanings.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Ambiguity {
    /// Keys of the candidate types.
    pub candidates: Vec<String>,
    /// The name as written.
    pub name: String,
}

/// Facts about the node that a producer of bound names reads: its variables, which name the type.
pub(crate) const OWN: Sees = Sees { vars: true, label: false };

/// Input of all binding: a type, its mentions, and the symbol rows that decide their meaning.
pub(crate) struct Subject<'i> {
    /// Key of the type.
    pub own: &'i str,
    /// Its mentions.
    pub mentions: Mentions,
    /// The symbols of the mentioned names.
    pub index: NameIndex,
}

impl<'i> Subject<'i> {
    /// Reads the variable `type` and the inputs `mentions` and `symbols`.
    ///
    /// # Errors
    /// If one is missing or invalid.
    pub fn read(inputs: &'i Inputs<'_>) -> Result<Self, Failure> {
        let own = inputs
            .var("type")
            .ok_or_else(|| Failure::permanent("the rule binds no variable 'type'"))?;
        let mentions = serde_json::from_slice(&inputs.single("mentions")?.bytes)
            .map_err(|error| Failure::permanent(format!("the mentions of {own} cannot be read: {error}")))?;
        let index = NameIndex::from_blob(&inputs.single("symbols")?.bytes)?;
        Ok(Self { own, mentions, index })
    }
}

/// The producer `csharp/deps`.
#[derive(Debug)]
pub struct Deps;

impl Producer for Deps {
    fn id(&self) -> ProducerId {
        ProducerId::new("csharp/deps", 36)
    }

    fn sees(&self, _: &Params) -> Sees {
        OWN
    }

    fn check(&self, params: &Params) -> Result<(), Vec<ParamError>> {
        check_flags(params, &[])
    }

    fn produce(&self, inputs: &Inputs<'_>) -> Result<Output, Failure> {
        let Subject { own, mentions, index } = Subject::read(inputs)?;
        let reached = reach::decode_reached(inputs.single("reach")?)?;
        Ok(Output::new(json::encode(&dependencies(own, &mentions, &index, &reached))))
    }
}

/// Reads the blob of [`Deps`].
///
/// # Errors
/// If the blob is no output of [`Deps`].
pub fn decode_dependencies(input: &Input) -> Result<Dependencies, Failure> {
    serde_json::from_slice(&input.bytes).map_err(|error| Failure::permanent(format!("dependencies cannot be read: {error}")))
}

/// Returns the types that a type's code uses, and each use, including the lookups for references in documentation.
pub(crate) fn used(own: &str, mentions: &Mentions, facts: &Facts, index: &NameIndex, world: &World<'_>) -> UsesFound {
    let mut found = UsesFound {
        uses: Some(Vec::new()),
        ..UsesFound::default()
    };
    for (at, part) in mentions.parts.iter().enumerate() {
        let resolver = Resolver::new(surroundings(part, mentions, index), index, &part.type_parameters, false);
        let around = surroundings(part, mentions, index);
        let scope = crefs::Scope {
            own,
            around: &around,
            index,
            world,
        };
        // References in documentation are not dependencies, but the world records their lookups.
        for reference in mentions.references.iter().filter_map(|text| crefs::read(text)) {
            scope.meanings(&reference);
        }
        let mut flow = Flow::new(world, &resolver, own, facts, &mut found);
        flow.attributes(&facts.attributes);
        flow.header(&facts.around);
        for member in facts.members.iter().filter(|member| member.part as usize == at) {
            flow.attributes(&member.attributes);
            flow.member(member);
        }
    }
    found
}

fn dependencies(own: &str, mentions: &Mentions, index: &NameIndex, reached: &Reached) -> Dependencies {
    let mut found = dependencies_of_mentions(own, mentions, index);
    for (keys, place) in [
        (&reached.attributed, Place::Attribute),
        (&reached.named, Place::Body),
        (&reached.inferred, Place::Inferred),
    ] {
        for key in keys.iter().filter(|key| *key != own) {
            if let Some(id) = reached.ids.get(key) {
                found.ids.insert(key.clone(), id.clone());
            }
            found.evidence.entry(key.clone()).or_default().insert(place);
        }
    }
    found.external.extend(reached.external.iter().cloned());
    found.sorted()
}

impl Dependencies {
    /// Sorts the types into the lists, by the places that name each.
    fn sorted(mut self) -> Self {
        for (key, places) in &self.evidence {
            let list = if places.iter().any(|place| *place < Place::Body) {
                &mut self.structure
            } else {
                &mut self.body
            };
            list.push(key.clone());
        }
        self
    }
}

/// Returns the dependencies from mentioned names, not yet sorted into lists.
fn dependencies_of_mentions(own: &str, mentions: &Mentions, index: &NameIndex) -> Dependencies {
    let mut found = Dependencies {
        own: own.to_owned(),
        ..Dependencies::default()
    };
    let mut ambiguous: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for part in &mentions.parts {
        bind_part(part, mentions, index, &mut found, &mut ambiguous);
    }
    found.ambiguous = ambiguous
        .into_iter()
        .map(|(name, candidates)| Ambiguity {
            candidates: candidates.into_iter().collect(),
            name,
        })
        .collect();
    found
}

/// Returns the using aliases that declarations name, with their targets.
fn aliases(mentions: &Mentions, index: &NameIndex) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    for part in &mentions.parts {
        let around = surroundings(part, mentions, index);
        let own = part.usings.iter().map(|using| (&using.alias, &using.target));
        let globals = around.globals.iter().flat_map(|globals| &globals.usings);
        let all = own.chain(globals.map(|using| (&using.alias, &using.target)));
        let named: BTreeSet<&str> = part
            .names
            .iter()
            .filter_map(|name| name.path.split(['.', ':', '`']).next())
            .collect();
        for (alias, target) in all {
            if let Some(alias) = alias.as_ref().filter(|alias| named.contains(alias.as_str())) {
                found.entry(alias.clone()).or_insert_with(|| target.clone());
            }
        }
    }
    found
}

/// Returns the surroundings of a part's names. If several projects each have a type with this part, reads the part as the type's project
/// does.
pub(crate) fn surroundings<'a>(part: &'a MentionPart, mentions: &'a Mentions, index: &'a NameIndex) -> Surroundings<'a> {
    let scope = Some(&mentions.scope).filter(|scope| !scope.is_empty());
    let scopes = scope.into_iter().chain(&part.of);
    let globals: Option<&Globals> = scopes
        .map(|scope| Cow::Owned(format!("@{scope}")))
        .chain([Cow::Borrowed(part.file.as_str())])
        .chain(ancestors(&part.file).map(Cow::Borrowed))
        .find_map(|place| index.globals.get(&*place))
        .or_else(|| index.globals.get("?"));
    Surroundings {
        namespace: &mentions.namespace,
        usings: &part.usings,
        enclosing: &part.enclosing,
        project: globals.and_then(|globals| globals.project.as_deref()),
        file: &part.file,
        globals,
    }
}

/// Returns the text after `@` in keys of the types in sight of a type's code, nearest first.
pub(crate) fn scopes<'a>(mentions: &'a Mentions, index: &'a NameIndex) -> &'a [String] {
    let first = mentions.parts.first().and_then(|part| surroundings(part, mentions, index).globals);
    first.map_or(&[], |globals| &globals.scopes)
}

fn bind_part(
    part: &MentionPart,
    mentions: &Mentions,
    index: &NameIndex,
    found: &mut Dependencies,
    ambiguous: &mut BTreeMap<String, BTreeSet<String>>,
) {
    let around = surroundings(part, mentions, index);
    let binder = Binder::new(index);
    let resolver = Resolver::new(around, index, &part.type_parameters, false);
    for name in &part.names {
        match binder.bind(&around, &name.path, name.arity, name.place, name.certain) {
            Bound::Type(entry) if entry.key == found.own => {}
            Bound::Type(entry) => {
                found
                    .evidence
                    .entry(entry.key.clone())
                    .or_default()
                    .insert(name.place.as_evidence());
                found.ids.insert(entry.key.clone(), entry.id.clone());
            }
            Bound::External if name.certain => {
                found.external.insert(external(&name.path, name.arity, &resolver));
            }
            Bound::Ambiguous(types) if name.certain => {
                ambiguous
                    .entry(name.path.clone())
                    .or_default()
                    .extend(types.into_iter().map(|entry| entry.key.clone()));
            }
            Bound::External | Bound::Ambiguous(_) => {}
        }
        // An alias also names the type arguments of its target.
        let own = part.usings.iter().map(|using| (&using.alias, &using.target));
        let globals = around.globals.into_iter().flat_map(|globals| &globals.usings);
        let mut aliases = own.chain(globals.map(|using| (&using.alias, &using.target)));
        if let Some((_, target)) = aliases.find(|(alias, _)| alias.as_deref() == Some(&name.path))
            && target.contains(['<', '(', '['])
            && let Some(written) = code::type_ref(target)
        {
            resolver.shape(&written, &[], &mut |shape, _| {
                shape.keys(&mut |key| {
                    if let Some(entry) = index.by_key(key).filter(|entry| entry.key != found.own) {
                        found
                            .evidence
                            .entry(entry.key.clone())
                            .or_default()
                            .insert(name.place.as_evidence());
                        found.ids.insert(entry.key.clone(), entry.id.clone());
                    }
                });
            });
        }
    }
}

/// Returns the full name of a .NET type, or the name as written.
fn external(path: &str, arity: u32, resolver: &Resolver<'_>) -> String {
    let mut segments: Vec<Name> = path
        .split(['.', ':'])
        .filter(|segment| !segment.is_empty())
        .map(|segment| {
            let (name, count) = written::name_and_count(segment);
            Name {
                word: Word {
                    text: name.to_owned(),
                    place: 0,
                },
                args: vec![TypeRef::Predefined(String::new()); count as usize],
            }
        })
        .collect();
    if let Some(last) = segments.last_mut() {
        last.args = vec![TypeRef::Predefined(String::new()); arity as usize];
    }
    let suffixed = |suffix: &str| -> Option<String> {
        let mut segments = segments.clone();
        segments.last_mut()?.word.text.push_str(suffix);
        resolver.outside(&segments).map(|key| key[1..].to_owned())
    };
    suffixed("")
        .or_else(|| suffixed("Attribute"))
        .unwrap_or_else(|| if arity > 0 { format!("{path}`{arity}") } else { path.to_owned() })
}
