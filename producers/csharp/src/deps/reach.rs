//! `csharp/reach`: the types that the code of a type uses, and the declarations that binding looks up to find them.
//!
//! Binding proceeds from the types that the code names to their members, from these to their types, and so on. The rows that it looks up
//! are all declarations of the workspace that binding, and [`Usages`](crate::usages::Usages) after it, need. Their number does not
//! depend on the size of the workspace.

use super::flow::UsesFound;
use super::lookups::{Lookups, TableRows};
use super::world::World;
use super::{OWN, Subject, used};
use crate::code::facts;
use engine::seams::producer::{Failure, Input, Inputs, Output, Params, Producer, ProducerId, RowSource, Sees};
use engine::values::json;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

/// Types and members that binding of the code reached. Fields are in the order of their names.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reached {
    /// Types that the arguments of attributes name.
    pub attributed: BTreeSet<String>,
    /// Full names of types of .NET, and last names of undeclared types, that the code names.
    pub external: BTreeSet<String>,
    /// Identifiers of the workspace's types among these.
    pub ids: BTreeMap<String, String>,
    /// Types whose members the code uses, and types of its values.
    pub inferred: BTreeSet<String>,
    /// Keys of the existing rows of `//index:declarations` that were looked up.
    pub keys: Vec<String>,
    /// Types that the code names.
    pub named: BTreeSet<String>,
}

/// Reads the blob of [`Reach`].
///
/// # Errors
/// When the blob is not an output of [`Reach`].
pub fn decode_reached(input: &Input) -> Result<Reached, Failure> {
    serde_json::from_slice(&input.bytes).map_err(|error| Failure::permanent(format!("what code reaches cannot be read: {error}")))
}

/// The producer `csharp/reach`.
#[derive(Debug)]
pub struct Reach;

impl Producer for Reach {
    fn id(&self) -> ProducerId {
        ProducerId::new("csharp/reach", 34)
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
        Ok(Some(Output::new(json::encode(&reached))))
    }

    fn produce(&self, inputs: &Inputs<'_>) -> Result<Output, Failure> {
        let rows = TableRows::read(&inputs.single("declarations")?.bytes)?;
        self.ask(inputs, "declarations", &rows).map(Option::unwrap_or_default)
    }
}
