//! Packages that projects of the workspace publish: a `PackageReference` to one is a reference to that project.
//!
//! The package that a build restores may be an older release; its sources here are the nearest to it.

use super::expression::Properties;
use super::facts::{Evaluated, Reference};
use super::items::{Item, ItemLists};
use super::path::folder_of_path;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

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

/// Adds to each project's references the projects whose packages it references.
pub fn resolve_packages(projects: &mut BTreeMap<&str, Evaluated>) {
    let mut publishers: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (&path, project) in projects.iter().filter(|(_, project)| project.facts.compiles) {
        if let Some(id) = &project.package {
            publishers.entry(id.clone()).or_default().push(path.to_owned());
        }
    }
    for (&path, project) in projects.iter_mut() {
        let found = project.package_references.iter().filter_map(|reference| {
            Some(Reference {
                aliases: Vec::new(),
                path: nearest_publisher(path, publishers.get(&reference.id)?)?.to_owned(),
                private: reference.private,
            })
        });
        let found: Vec<Reference> = found.filter(|reference| reference.path != path).collect();
        project.references.extend(found);
    }
}

/// Returns the publisher that shares the most folders with a project; of several the one with the shortest path.
fn nearest_publisher<'p>(project: &str, publishers: &'p [String]) -> Option<&'p str> {
    let shared = |other: &str| {
        let (own, other) = (folder_of_path(project).split('/'), folder_of_path(other).split('/'));
        own.zip(other).take_while(|(own, other)| own == other).count()
    };
    let farness = |publisher: &&str| (std::cmp::Reverse(shared(publisher)), publisher.len(), publisher.to_string());
    publishers.iter().map(String::as_str).min_by_key(farness)
}
