//! `csharp/reach`: what the code of a type leads to: the types that it uses, and the declarations that were looked up to find them.
//!
//! Binding goes from the types that the code names to their members, from these to their types, and on. What it looks up on that way is all
//! that it, and [`Usages`](crate::csharp::usages::Usages) after it, need of the workspace's declarations, however many there are.

use super::flow::UsesFound;
use super::lookups::{Lookups, TableRows};
use super::world::World;
use super::{OWN, Subject, used};
use crate::csharp::code::facts;
use crate::csharp::types::json;
use engine::seams::producer::{Failure, Input, Inputs, Output, Params, Producer, ProducerId, RowSource, Sees};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

/// Types and members that code leads to. Fields are in the order of their names.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reached {
    /// Types that the arguments of attributes name.
    pub attributed: BTreeSet<String>,
    /// Full names of types of .NET, and the last names of types of nowhere, that are named.
    pub external: BTreeSet<String>,
    /// Identifiers of the workspace's types among these.
    pub ids: BTreeMap<String, String>,
    /// Types whose members are used, or that are the type of something.
    pub inferred: BTreeSet<String>,
    /// Keys of the rows of `//index:declarations` that were looked up and are there.
    pub keys: Vec<String>,
    /// Types that are named.
    pub named: BTreeSet<String>,
}

/// Reads the blob of [`Reach`].
///
/// # Errors
/// When the blob is not of our making.
pub fn decode_reached(input: &Input) -> Result<Reached, Failure> {
    serde_json::from_slice(&input.bytes).map_err(|error| Failure::permanent(format!("what code reaches cannot be read: {error}")))
}

/// The producer `csharp/reach`.
#[derive(Debug)]
pub struct Reach;

impl Producer for Reach {
    fn id(&self) -> ProducerId {
        ProducerId::new("csharp/reach", 21)
    }

    fn sees(&self, _: &Params) -> Sees {
        OWN
    }

    fn ask(&self, inputs: &Inputs<'_>, _: &str, rows: &dyn RowSource) -> Result<Option<Output>, Failure> {
        let Subject { own, mentions, index } = Subject::read(inputs)?;
        let facts = facts::decode_facts(inputs.single("facts")?)?;
        let lookups = Lookups::seen_from(rows, super::scopes(&mentions, &index));
        let world = World::new(&lookups);
        let UsesFound {
            named,
            inferred,
            attributed,
            external,
            ..
        } = used(own, &mentions, &facts, &index, &world);
        let texts = |keys: BTreeSet<Rc<str>>| keys.iter().map(|key| key.to_string()).collect::<BTreeSet<String>>();
        let all = named.iter().chain(&inferred).chain(&attributed);
        let ids = all
            .filter_map(|key| Some((key.to_string(), world.type_line(key)?.id.to_string())))
            .collect();
        let reached = Reached {
            attributed: texts(attributed),
            external: texts(external),
            ids,
            inferred: texts(inferred),
            keys: lookups.keys(),
            named: texts(named),
        };
        Ok(Some(Output::new(json(&reached))))
    }

    fn produce(&self, inputs: &Inputs<'_>) -> Result<Output, Failure> {
        let rows = TableRows::read(&inputs.single("declarations")?.bytes)?;
        self.ask(inputs, "declarations", &rows).map(Option::unwrap_or_default)
    }
}
