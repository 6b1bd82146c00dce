//! `csharp/api-deps`: the types that a type's declarations depend on, the targets of the aliases in them, and the types whose documentation it
//! may inherit. It ignores bodies, so outlines depend on names only.

use super::lookups::{Lookups, TableRows};
use super::shape::Shape;
use super::world::World;
use super::{Dependencies, OWN, Subject, aliases, dependencies_of_mentions};
use crate::flags::check_flags;
use engine::seams::producer::{Failure, Inputs, Output, ParamError, Params, Producer, ProducerId, RowSource, Sees};
use engine::values::json;

/// The producer `csharp/api-deps`. [`super::decode_dependencies`] reads its output.
#[derive(Debug)]
pub struct ApiDeps;

impl Producer for ApiDeps {
    fn id(&self) -> ProducerId {
        ProducerId::new("csharp/api-deps", 10)
    }

    fn sees(&self, _: &Params) -> Sees {
        OWN
    }

    fn check(&self, params: &Params) -> Result<(), Vec<ParamError>> {
        check_flags(params, &[])
    }

    fn ask(&self, inputs: &Inputs<'_>, _: &str, rows: &dyn RowSource) -> Result<Option<Output>, Failure> {
        let Subject { own, mentions, index } = Subject::read(inputs)?;
        let doc_bases = match mentions.inherits_docs {
            true => bases(own, rows),
            false => Vec::new(),
        };
        let found = Dependencies {
            aliases: aliases(&mentions, &index),
            doc_bases,
            ..dependencies_of_mentions(own, &mentions, &index)
        };
        Ok(Some(Output::new(json::encode(&found.sorted()))))
    }

    fn produce(&self, inputs: &Inputs<'_>) -> Result<Output, Failure> {
        let rows = TableRows::read(&inputs.single("declarations")?.bytes)?;
        self.ask(inputs, "declarations", &rows).map(Option::unwrap_or_default)
    }
}

/// Returns the bases of a type that the workspace declares, direct and indirect, nearest first.
fn bases(own: &str, rows: &dyn RowSource) -> Vec<String> {
    let lookups = Lookups::new(rows);
    let world = World::new(&lookups);
    let levels = world.levels(&Shape::of_key(own));
    let keys = levels.iter().skip(1).filter_map(Shape::key);
    let mut found: Vec<String> = Vec::new();
    for key in keys.filter(|key| *key != own && world.type_line(key).is_some()) {
        if !found.iter().any(|known| known == key) {
            found.push(key.to_owned());
        }
    }
    found
}
