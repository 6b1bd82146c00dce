//! `csharp/deps`: which types of the workspace a type depends on, and by what evidence.
//!
//! `structure` holds what the accessible and private signatures, bases, constraints and attributes name; `body` what only bodies,
//! initialisers and default values name. It sees written names only: types that appear by inference are not in it.

pub mod binder;
pub mod index;
#[cfg(test)]
mod tests;

use super::layout::ancestors;
use super::mentions::{MentionPart, Mentions, Place};
use super::structure::check_flags;
use super::types::json;
use binder::{Binder, Bound, Surroundings};
use engine::seams::producer::{Failure, Input, Inputs, Output, ParamError, Params, Producer, ProducerId};
use index::{Globals, NameIndex};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// Dependencies of one type. Fields stand in the order of their names.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Dependencies {
    /// Names with several meanings.
    pub ambiguous: Vec<Ambiguity>,
    /// Types that only bodies name, sorted.
    pub body: Vec<String>,
    /// Where each type is named.
    pub evidence: BTreeMap<String, BTreeSet<Place>>,
    /// Names of types that the workspace does not declare.
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
    /// Keys of the types it may mean.
    pub candidates: Vec<String>,
    /// As written.
    pub name: String,
}

/// The producer `csharp/deps`.
#[derive(Debug)]
pub struct Deps;

impl Producer for Deps {
    fn id(&self) -> ProducerId {
        ProducerId::new("csharp/deps", 2)
    }

    fn sees(&self, _: &engine::seams::producer::Params) -> engine::seams::producer::Sees {
        engine::seams::producer::Sees { vars: true, label: false }
    }

    fn check(&self, params: &Params) -> Result<(), Vec<ParamError>> {
        check_flags(params, &[])
    }

    fn produce(&self, inputs: &Inputs<'_>) -> Result<Output, Failure> {
        let own = inputs
            .var("type")
            .ok_or_else(|| Failure::permanent("the rule binds no variable 'type'"))?;
        let mentions: Mentions = serde_json::from_slice(&inputs.one("mentions")?.bytes)
            .map_err(|error| Failure::permanent(format!("the mentions of {own} cannot be read: {error}")))?;
        let index = NameIndex::read(&inputs.one("symbols")?.bytes)?;
        Ok(Output::new(json(&dependencies(own, &mentions, &index))))
    }
}

/// Reads the blob of [`Deps`].
///
/// # Errors
/// When the blob is not of our making.
pub fn read(input: &Input) -> Result<Dependencies, Failure> {
    serde_json::from_slice(&input.bytes).map_err(|error| Failure::permanent(format!("dependencies cannot be read: {error}")))
}

fn dependencies(own: &str, mentions: &Mentions, index: &NameIndex) -> Dependencies {
    let mut found = Dependencies {
        own: own.to_owned(),
        ..Dependencies::default()
    };
    let mut ambiguous: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for part in &mentions.parts {
        bind_part(part, mentions, index, &mut found, &mut ambiguous);
    }
    for (key, places) in &found.evidence {
        let list = if places.iter().any(|place| *place != Place::Body) {
            &mut found.structure
        } else {
            &mut found.body
        };
        list.push(key.clone());
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

fn bind_part(
    part: &MentionPart,
    mentions: &Mentions,
    index: &NameIndex,
    found: &mut Dependencies,
    ambiguous: &mut BTreeMap<String, BTreeSet<String>>,
) {
    let globals: Option<&Globals> = std::iter::once(part.file.as_str())
        .chain(ancestors(&part.file))
        .find_map(|place| index.globals.get(place))
        .or_else(|| index.globals.get("?"));
    let around = Surroundings {
        namespace: &mentions.namespace,
        usings: &part.usings,
        enclosing: &part.enclosing,
        project: globals.and_then(|globals| globals.project.as_deref()),
        file: &part.file,
        globals,
    };
    let binder = Binder { index };
    for name in &part.names {
        match binder.bind(&around, &name.path, name.arity, name.place, name.certain) {
            Bound::Type(entry) if entry.key == found.own => {}
            Bound::Type(entry) => {
                found.evidence.entry(entry.key.clone()).or_default().insert(name.place);
                found.ids.insert(entry.key.clone(), entry.id.clone());
            }
            Bound::External if name.certain => {
                let arity = if name.arity > 0 {
                    format!("`{}", name.arity)
                } else {
                    String::new()
                };
                found.external.insert(format!("{}{arity}", name.path));
            }
            Bound::Ambiguous(types) if name.certain => {
                ambiguous
                    .entry(name.path.clone())
                    .or_default()
                    .extend(types.into_iter().map(|entry| entry.key.clone()));
            }
            Bound::External | Bound::Ambiguous(_) => {}
        }
    }
}
