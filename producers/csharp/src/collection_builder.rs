//! `[CollectionBuilder(typeof(B), nameof(B.Create))]`: a collection expression of the type calls that method.

use super::attributes::attribute_name;
use serde::{Deserialize, Serialize};

/// The name of the attribute, without its suffix `Attribute`.
const NAME: &str = "CollectionBuilder";

/// The method that creates a collection from the elements of a collection expression.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CollectionBuilder {
    pub method: String,
    /// The type that declares it, as written.
    pub owner: String,
}

/// Returns the collection builder that the attributes of a type name.
pub fn collection_builder(attributes: &[String]) -> Option<CollectionBuilder> {
    attributes.iter().find_map(|text| parse_builder(text))
}

fn parse_builder(text: &str) -> Option<CollectionBuilder> {
    let (_, rest) = text.split_once('(')?;
    if attribute_name(text) != NAME {
        return None;
    }
    let (owner, rest) = rest.split_once("typeof")?.1.trim_start().strip_prefix('(')?.split_once(')')?;
    let method = match rest.split_once("nameof") {
        Some((_, named)) => named.trim_start_matches([' ', '(']).split(')').next()?.rsplit('.').next()?,
        None => rest.split('"').nth(1)?,
    };
    Some(CollectionBuilder {
        method: method.trim().trim_start_matches('@').to_owned(),
        owner: owner.trim().to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn builders_are_read() {
        for (text, expected) in [
            ("CollectionBuilder(typeof(Bags), nameof(Bags.Make))", Some("Bags Make")),
            ("CollectionBuilder(typeof(Bags),\"Make\")", Some("Bags Make")),
            (
                "System.Runtime.CompilerServices.CollectionBuilderAttribute(builderType: typeof(Lib.Bags), methodName: nameof(Make))",
                Some("Lib.Bags Make"),
            ),
            ("CollectionBuilder(typeof(Bags), Name)", None),
            ("CollectionBuilderNot(typeof(Bags), \"Make\")", None),
            ("Obsolete(\"1\")", None),
        ] {
            let found = collection_builder(&[text.to_owned()]).map(|found| format!("{} {}", found.owner, found.method));
            assert_eq!(found.as_deref(), expected, "{text}");
        }
    }
}
