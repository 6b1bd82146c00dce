//! Packages that projects of the workspace publish: a `PackageReference` to one is a reference to that project.
//!
//! The package that a build restores may be an older release; its sources here are the nearest to it.

use super::facts::{Evaluated, Reference};
use super::path::folder_of_path;
use std::collections::BTreeMap;

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
