//! Packages that a project references, and the one that it publishes.

use super::items::{Item, ItemLists};
use super::properties::Properties;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// A reference to a package whose types the project sees.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct PackageReference {
    /// Identifier of the package in lower case: identifiers differ by more than case.
    pub id: String,
    /// Whether projects that reference this project do not get the reference too (`PrivateAssets`).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub private: bool,
}

/// Returns the references to packages with assemblies to compile against, sorted.
pub fn package_references(items: &ItemLists) -> Vec<PackageReference> {
    let found: BTreeSet<PackageReference> = items
        .items("packagereference")
        .filter(|item| item.get("includeassets").trim().is_empty() || has_compile(item, "includeassets"))
        .filter(|item| !has_compile(item, "excludeassets"))
        .map(|item| PackageReference {
            id: item.text.trim().to_ascii_lowercase(),
            private: has_compile(item, "privateassets"),
        })
        .collect();
    found.into_iter().collect()
}

/// Whether a list of assets covers the assemblies to compile against.
pub fn has_compile(item: &Item, metadata: &str) -> bool {
    item.get(metadata)
        .split(';')
        .any(|asset| ["all", "compile"].iter().any(|name| asset.trim().eq_ignore_ascii_case(name)))
}

/// Returns the identifier of the package that a project publishes, in lower case; `None` if it publishes none.
pub fn published_package(properties: &Properties, assembly: &str) -> Option<String> {
    if properties.get("IsPackable").trim().eq_ignore_ascii_case("false") {
        return None;
    }
    let id = properties.get("PackageId").trim();
    Some(if id.is_empty() { assembly } else { id }.to_ascii_lowercase())
}
