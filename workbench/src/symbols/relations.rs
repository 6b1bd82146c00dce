//! Dependencies between types, in both directions.
//!
//! Declarations (`structure`: bases, signatures, constraints, attributes) and code (`body`) are kept apart, as in `//types/T:deps`. The graph is
//! read as far as the steps go; longer paths follow only the requested kinds of edges.

use super::index::Symbols;
use super::locations::{SourceLocation, declarations_of_paths};
use super::outputs::{Outputs, SymbolError, type_label};
use super::word_index::WordSource;
use producers::csharp::deps::Dependencies;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// Direction of a walk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum WalkDirection {
    /// To the types that a type uses.
    Deps,
    /// To the types that use it.
    Rdeps,
}

/// Kinds of edges that a walk follows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Edges {
    /// Declarations and code.
    #[default]
    All,
    /// Declarations only.
    Structure,
    /// Code only: dependencies that no declaration names.
    Body,
}

/// A type that is reached.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Related {
    /// Its key.
    pub path: String,
    /// Steps to it.
    pub distance: u32,
    /// Whether the last step is by a declaration.
    pub structure: bool,
    /// Place of its first declaration, if [`locate`](Relations::locate) set it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<SourceLocation>,
}

/// The types reached from a type.
#[derive(Clone, Debug, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Relations {
    /// The types, nearest first, those by declarations before those by code alone, then by key.
    pub types: Vec<Related>,
    /// Number of direct dependencies by declarations, whatever edges were requested.
    pub structure: usize,
    /// Number of direct dependencies by code alone.
    pub body: usize,
    /// Names that the type uses but the workspace does not declare.
    pub external: Vec<String>,
    /// Types whose dependencies could not be read, so that the types they use are missing.
    pub unread: Vec<String>,
}

/// Dependencies between types of the workspace, as far as they were read.
#[derive(Debug, Default)]
pub struct Graph {
    own: BTreeMap<String, Dependencies>,
    users: BTreeMap<String, BTreeMap<String, bool>>,
    unread: Vec<String>,
}

impl Relations {
    /// Adds the places of the types' declarations.
    pub fn locate<O: Outputs>(&mut self, outputs: &mut O, symbols: &Symbols) -> Result<(), O::Error> {
        let paths: Vec<&str> = self.types.iter().map(|one| one.path.as_str()).collect();
        let places = declarations_of_paths(outputs, symbols, &paths)?;
        for (one, place) in self.types.iter_mut().zip(places) {
            one.place = place;
        }
        Ok(())
    }
}

impl Graph {
    /// Reads the dependencies that decide what is reached from a type in at most `depth` steps.
    pub fn around<O: Outputs>(outputs: &mut O, symbols: &Symbols, key: &str, way: WalkDirection, depth: u32) -> Result<Self, O::Error> {
        let mut graph = Self::default();
        if way == WalkDirection::Rdeps {
            graph.unread = outputs.word_index(WordSource::Dependencies)?.unread().map(str::to_owned).collect();
        }
        let (mut here, mut seen) = (BTreeSet::from([key.to_owned()]), BTreeSet::from([key.to_owned()]));
        for _ in 0..depth {
            graph.read_dependencies(outputs, &here, way)?;
            let next: BTreeSet<&str> = here.iter().flat_map(|from| graph.neighbours(from, way).into_keys()).collect();
            let is_new = |to: &&str| !seen.contains(*to) && symbols.find(to).is_some();
            here = next.into_iter().filter(is_new).map(str::to_owned).collect();
            seen.extend(here.iter().cloned());
            if here.is_empty() {
                break;
            }
        }
        Ok(graph)
    }

    /// Reads the dependencies of types, or those of their users.
    fn read_dependencies<O: Outputs>(&mut self, outputs: &mut O, keys: &BTreeSet<String>, way: WalkDirection) -> Result<(), O::Error> {
        let labels: BTreeSet<String> = match way {
            WalkDirection::Deps => keys.iter().map(|key| type_label(key, "deps")).collect(),
            WalkDirection::Rdeps => {
                let words = outputs.word_index(WordSource::Dependencies)?;
                let users = keys.iter().flat_map(|key| words.holders(key, ""));
                users.map(|(user, _)| user.label("deps")).collect()
            }
        };
        let labels: Vec<String> = labels.into_iter().collect();
        if labels.is_empty() {
            return Ok(());
        }
        for output in outputs.read(&labels)? {
            match output.bytes {
                Some(bytes) => {
                    let deps: Dependencies = serde_json::from_slice(&bytes).map_err(|_| SymbolError::damaged().at_label(&output.label))?;
                    self.add_dependencies(deps);
                }
                None if !self.unread.contains(&output.label) => self.unread.push(output.label),
                None => {}
            }
        }
        Ok(())
    }

    fn add_dependencies(&mut self, deps: Dependencies) {
        let edges = deps
            .structure
            .iter()
            .map(|key| (key, true))
            .chain(deps.body.iter().map(|key| (key, false)));
        for (key, structure) in edges.filter(|(key, _)| **key != deps.own) {
            let users = self.users.entry(key.clone()).or_default();
            *users.entry(deps.own.clone()).or_default() |= structure;
        }
        self.own.insert(deps.own.clone(), deps);
    }

    /// Returns the types one step away, and whether the step is by a declaration.
    fn neighbours(&self, key: &str, way: WalkDirection) -> BTreeMap<&str, bool> {
        match way {
            WalkDirection::Deps => {
                let Some(deps) = self.own.get(key) else { return BTreeMap::new() };
                let body = deps.body.iter().map(|to| (to.as_str(), false));
                let edges = body.chain(deps.structure.iter().map(|to| (to.as_str(), true)));
                edges.filter(|(to, _)| *to != key).collect()
            }
            WalkDirection::Rdeps => {
                let users = self.users.get(key).into_iter().flatten();
                users.map(|(from, structure)| (from.as_str(), *structure)).collect()
            }
        }
    }

    /// Returns the types reached from a type in at most `depth` steps.
    pub fn relations(&self, key: &str, way: WalkDirection, edges: Edges, depth: u32) -> Relations {
        let direct = self.neighbours(key, way);
        let structure = direct.values().filter(|structure| **structure).count();
        let mut seen = BTreeSet::from([key]);
        let mut types = Vec::new();
        let mut here: Vec<&str> = vec![key];
        for distance in 1..=depth {
            let mut next: BTreeMap<&str, bool> = BTreeMap::new();
            for from in here {
                for (to, structure) in self.neighbours(from, way) {
                    let counts = match edges {
                        Edges::All => true,
                        Edges::Structure => structure,
                        Edges::Body => !structure,
                    };
                    if counts && !seen.contains(to) {
                        *next.entry(to).or_default() |= structure;
                    }
                }
            }
            if next.is_empty() {
                break;
            }
            let mut level: Vec<(bool, &str)> = next.iter().map(|(to, structure)| (!structure, *to)).collect();
            level.sort_unstable();
            types.extend(level.into_iter().map(|(body, to)| Related {
                path: to.to_owned(),
                distance,
                structure: !body,
                place: None,
            }));
            here = next.into_keys().collect();
            seen.extend(here.iter().copied());
        }
        let external = self.own.get(key).filter(|_| way == WalkDirection::Deps);
        Relations {
            types,
            structure,
            body: direct.len() - structure,
            external: external.map(|deps| deps.external.iter().cloned().collect()).unwrap_or_default(),
            unread: self.unread.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::samples::Sample;
    use super::*;
    use proptest::prelude::*;

    fn relations_text(relations: &Relations) -> String {
        let words = relations.types.iter().map(|to| {
            let mark = if to.structure { "" } else { "~" };
            format!("{mark}{}:{}", to.path, to.distance)
        });
        words.collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn of_a_workspace() {
        let mut sample = Sample::from_files(&[(
            "a.cs",
            "class A : B { C c; void M() { new D(); } } class B { E e; } class C { } class D { B b; } class E { void M() { new A(); System.Console.Write(1); } }",
        )]);
        let symbols = sample.names();
        let mut relations = |key: &str, way: WalkDirection, edges: Edges, depth: u32| {
            let graph = Graph::around(&mut sample, &symbols, key, way, depth).expect("a graph");
            graph.relations(key, way, edges, depth)
        };
        let deps = relations("A", WalkDirection::Deps, Edges::All, 1);
        assert_eq!((relations_text(&deps).as_str(), deps.structure, deps.body), ("B:1 C:1 ~D:1", 2, 1));
        assert_eq!(
            relations_text(&relations("A", WalkDirection::Deps, Edges::All, 9)),
            "B:1 C:1 ~D:1 E:2"
        );
        assert_eq!(
            relations_text(&relations("A", WalkDirection::Deps, Edges::Structure, 9)),
            "B:1 C:1 E:2"
        );
        assert_eq!(relations_text(&relations("A", WalkDirection::Deps, Edges::Body, 9)), "~D:1");
        let rdeps = relations("B", WalkDirection::Rdeps, Edges::All, 1);
        assert_eq!((relations_text(&rdeps).as_str(), rdeps.structure, rdeps.body), ("A:1 D:1", 2, 0));
        assert_eq!(
            relations_text(&relations("B", WalkDirection::Rdeps, Edges::All, u32::MAX)),
            "A:1 D:1 ~E:2"
        );
        assert_eq!(relations_text(&relations("Nope", WalkDirection::Rdeps, Edges::All, 9)), "");
        let external = relations("E", WalkDirection::Deps, Edges::All, 1).external;
        assert_eq!(external, ["System.Console"]);
    }

    /// Reference: distances from one type to the others, by trying all paths of each length.
    fn naive(edges: &BTreeSet<(usize, usize)>, from: usize, depth: u32) -> BTreeMap<usize, u32> {
        let mut found = BTreeMap::new();
        let mut ends = BTreeSet::from([from]);
        for distance in 1..=depth {
            ends = edges
                .iter()
                .filter(|(start, _)| ends.contains(start))
                .map(|(_, end)| *end)
                .collect();
            for &end in ends.iter().filter(|end| **end != from) {
                found.entry(end).or_insert(distance);
            }
        }
        found
    }

    proptest! {
        #[test]
        fn both_ways_reach_what_all_ways_reach(edges in proptest::collection::btree_set((0..6_usize, 0..6_usize), 0..14), from in 0..6_usize, depth in 0..7_u32) {
            let mut graph = Graph::default();
            for own in 0..6 {
                let structure = edges.iter().filter(|(start, _)| *start == own).map(|(_, end)| end.to_string()).collect();
                graph.add_dependencies(Dependencies { own: own.to_string(), structure, ..Dependencies::default() });
            }
            let turned: BTreeSet<(usize, usize)> = edges.iter().map(|(start, end)| (*end, *start)).collect();
            for (way, edges) in [(WalkDirection::Deps, &edges), (WalkDirection::Rdeps, &turned)] {
                let found = graph.relations(&from.to_string(), way, Edges::All, depth);
                let found: BTreeMap<usize, u32> = found.types.iter().map(|to| (to.path.parse().expect("a number"), to.distance)).collect();
                prop_assert_eq!(found, naive(edges, from, depth));
            }
        }
    }
}
