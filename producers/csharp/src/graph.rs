//! `csharp/graph`: groups, depths and reference counts over all types.
//!
//! Groups are the strongly connected components of more than one type over *structure* references. Invalidation follows structure (seed 000
//! §5.2), so only such a cycle makes types depend on each other's knowledge. Depth is the shortest path to a leaf over the same references (seed
//! 000 §7). A leaf is a type without references, or a group without references to other types. A type's reference count is the number of types
//! that name it, bodies included. All steps are linear and none is recursive.

use super::dependencies::DependencyRow;
use super::ids::group_id;
use super::types::TypeRow;
use engine::seams::producer::{Failure, Inputs, Output, Producer, ProducerId};
use engine::seams::update::TableUpdate;
use engine::values::json;
use engine::values::table::{Table, write_table};
use petgraph::algo::kosaraju_scc;
use petgraph::graph::{DiGraph, NodeIndex};
use rayon::prelude::*;
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, VecDeque};

/// One row of `//index:graph`. Fields are in alphabetical order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GraphRow {
    /// Types that its structure names, sorted; empty for a type in a group, since the group has the dependencies.
    #[serde(default)]
    pub dependencies: Vec<String>,
    /// Length of the shortest path to a leaf.
    pub depth: u32,
    /// For a type in a group: the group's first type, so that readers need not load the group.
    #[serde(default)]
    pub first: Option<String>,
    /// Group of mutually dependent types.
    pub group: Option<String>,
    /// For a type in a group: the types outside the group that its structure names, sorted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub outside: Vec<String>,
    /// Number of types that name it.
    pub references: u32,
}

/// The producer `csharp/graph`.
#[derive(Debug)]
pub struct Graph;

impl Producer for Graph {
    fn id(&self) -> ProducerId {
        ProducerId::new("csharp/graph", 2)
    }

    fn update(&self) -> Option<&dyn TableUpdate> {
        Some(self)
    }

    fn produce(&self, inputs: &Inputs<'_>) -> Result<Output, Failure> {
        let types = inputs.single("types")?;
        let table = Table::open(&types.bytes).ok_or_else(|| Failure::permanent("input 'types' is not a table"))?;
        let keys: Vec<&str> = table.keys().collect();
        let at_key: FxHashMap<&str, usize> = keys.iter().enumerate().map(|(at, key)| (*key, at)).collect();
        let named = inputs.single("dependencies")?;
        let named = Table::open(&named.bytes).ok_or_else(|| Failure::permanent("input 'dependencies' is not a table"))?;
        let read = |(key, row)| DependencyRow::from_row(key, row).map(|row| (key, row));
        let named: Vec<(&str, DependencyRow)> = (0..named.len())
            .into_par_iter()
            .map(|at| read(named.row(at)))
            .collect::<Result<_, _>>()?;
        let mut structure = vec![Vec::new(); keys.len()];
        let mut references = vec![0_u32; keys.len()];
        for (own, found) in &named {
            let Some(&from) = at_key.get(own) else { continue };
            structure[from] = found.structure.iter().filter_map(|key| at_key.get(key.as_str()).copied()).collect();
            for to in found.structure.iter().chain(&found.body).filter_map(|key| at_key.get(key.as_str())) {
                references[*to] += 1;
            }
        }
        let (groups, depths) = measure(&structure);
        let mut rows = BTreeMap::new();
        let names = group_names(&groups, table)?;
        let mut firsts: FxHashMap<usize, &str> = FxHashMap::default();
        for (at, key) in keys.iter().enumerate().filter(|(at, _)| names.contains_key(&groups[*at])) {
            firsts.entry(groups[at]).or_insert(key);
        }
        for (at, key) in keys.iter().enumerate() {
            let group = names.get(&groups[at]).cloned();
            let beyond = structure[at].iter().filter(|&&to| groups[to] != groups[at]);
            let beyond: Vec<String> = beyond.map(|&to| keys[to].to_owned()).collect();
            let (dependencies, outside) = if group.is_some() { (vec![], beyond) } else { (beyond, vec![]) };
            let row = GraphRow {
                dependencies,
                depth: depths[at],
                first: firsts.get(&groups[at]).map(|first| (*first).to_owned()),
                group,
                outside,
                references: references[at],
            };
            rows.insert(*key, json::encode(&row));
        }
        Ok(Output::new(write_table(&rows)))
    }
}

/// Returns the names of the groups with more than one type.
fn group_names(groups: &[usize], table: Table<'_>) -> Result<FxHashMap<usize, String>, Failure> {
    let mut members: FxHashMap<usize, Vec<usize>> = FxHashMap::default();
    for (at, group) in groups.iter().enumerate() {
        members.entry(*group).or_default().push(at);
    }
    let mut names = FxHashMap::default();
    for (group, rows) in members.into_iter().filter(|(_, rows)| rows.len() > 1) {
        let mut ids = Vec::with_capacity(rows.len());
        for row in rows {
            let (key, value) = table.row(row);
            let row: TypeRow =
                serde_json::from_slice(value).map_err(|error| Failure::permanent(format!("the row of {key} cannot be read: {error}")))?;
            ids.push(row.id);
        }
        ids.sort();
        names.insert(group, group_id(&ids.iter().map(String::as_str).collect::<Vec<_>>()));
    }
    Ok(names)
}

/// Returns component and depth of every node of a graph, given as lists of successors.
fn measure(successors: &[Vec<usize>]) -> (Vec<usize>, Vec<u32>) {
    let mut graph: DiGraph<(), (), usize> = DiGraph::with_capacity(successors.len(), successors.len());
    for _ in successors {
        graph.add_node(());
    }
    let mut predecessors = vec![Vec::new(); successors.len()];
    for (from, targets) in successors.iter().enumerate() {
        for &to in targets {
            graph.add_edge(NodeIndex::new(from), NodeIndex::new(to), ());
            predecessors[to].push(from);
        }
    }
    let components = kosaraju_scc(&graph);
    let mut component = vec![0; successors.len()];
    for (at, nodes) in components.iter().enumerate() {
        for node in nodes {
            component[node.index()] = at;
        }
    }
    let mut leaf = vec![true; components.len()];
    for (from, targets) in successors.iter().enumerate() {
        if targets.iter().any(|&to| component[to] != component[from]) {
            leaf[component[from]] = false;
        }
    }
    let mut depths = vec![u32::MAX; successors.len()];
    let mut open: VecDeque<usize> = (0..successors.len()).filter(|&node| leaf[component[node]]).collect();
    for &node in &open {
        depths[node] = 0;
    }
    while let Some(node) = open.pop_front() {
        for &reader in &predecessors[node] {
            if depths[reader] == u32::MAX {
                depths[reader] = depths[node] + 1;
                open.push_back(reader);
            }
        }
    }
    (component, depths)
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{World, blob, decl, file, name, run};
    use super::*;
    use crate::model::{MemberKind, NamePlace};
    use proptest::prelude::*;

    #[test]
    fn a_chain_of_a_hundred_thousand_types() {
        let n = 100_000;
        let chain: Vec<Vec<usize>> = (0..n).map(|at| if at + 1 < n { vec![at + 1] } else { vec![] }).collect();
        let (_, depths) = measure(&chain);
        assert_eq!((depths[0], depths[n - 1]), (99_999, 0));
        let ring: Vec<Vec<usize>> = (0..n).map(|at| vec![(at + 1) % n]).collect();
        let (groups, depths) = measure(&ring);
        assert!(groups.iter().all(|group| *group == groups[0]) && depths.iter().all(|depth| *depth == 0));
    }

    proptest! {
        #[test]
        fn depth_is_one_more_than_the_nearest_successor(edges in proptest::collection::vec((0_usize..12, 0_usize..12), 0..30)) {
            let mut successors = vec![Vec::new(); 12];
            for (from, to) in edges {
                successors[from].push(to);
            }
            let (groups, depths) = measure(&successors);
            for (node, targets) in successors.iter().enumerate() {
                prop_assert!(depths[node] < 12);
                let nearest = targets.iter().map(|&to| depths[to]).min();
                if depths[node] > 0 {
                    prop_assert_eq!(Some(depths[node] - 1), nearest);
                } else {
                    prop_assert!((0..12).filter(|&other| groups[other] == groups[node]).all(|other| successors[other].iter().all(|&to| groups[to] == groups[node])));
                }
            }
        }
    }

    #[test]
    fn a_cycle_is_a_group() {
        let mut types = vec![decl("", "A"), decl("", "B"), decl("", "C"), decl("", "Leaf")];
        for (at, to, place) in [
            (0, "B", NamePlace::Base),
            (1, "A", NamePlace::Signature),
            (2, "A", NamePlace::Signature),
            (0, "Leaf", NamePlace::Signature),
        ] {
            types[at].names.push(name(to, place));
        }
        let body = crate::fixture::member(MemberKind::Method, "M", "void M()", "{ new C(); }");
        types[3].members.push(body);
        let world = World::new(&[("a.cs", file(types))], &[]);
        let roles = vec![
            ("types", vec![blob("", world.types.clone())]),
            ("dependencies", vec![world.dependencies()]),
        ];
        let table = run(&Graph, "", "{}", roles).expect("a table").bytes;
        let row = |key: &str| -> GraphRow {
            serde_json::from_slice(Table::open(&table).expect("a table").get(key).expect("a row")).expect("a row")
        };
        let group = row("A").group.expect("a group");
        assert!(group.starts_with("G_") && group.len() == 10, "{group}");
        assert_eq!(
            row("B"),
            GraphRow {
                depth: 2,
                first: Some("A".into()),
                group: Some(group),
                references: 1,
                ..GraphRow::default()
            }
        );
        assert_eq!(
            row("C"),
            GraphRow {
                dependencies: vec!["A".into()],
                depth: 2,
                references: 1,
                ..GraphRow::default()
            }
        );
        assert_eq!((row("Leaf").depth, row("A").depth, row("A").references), (0, 1, 2));
        assert_eq!((row("A").outside, row("A").dependencies), (vec!["Leaf".to_owned()], vec![]));
        let groups = run(
            &super::super::groups::Groups,
            "",
            "{}",
            vec![("graph", vec![blob("", table.clone())])],
        )
        .expect("groups");
        let groups = Table::open(&groups.bytes)
            .expect("a table")
            .rows()
            .map(|(key, row)| (key.to_owned(), String::from_utf8_lossy(row).into_owned()))
            .collect::<Vec<_>>();
        assert_eq!(
            groups,
            [(
                row("A").group.expect("a group"),
                r#"{"dependencies":["Leaf"],"types":["A","B"]}"#.to_owned()
            )]
        );
    }

    /// Returns the groups by identifier; `names` lists which type names which in a signature.
    fn groups(names: &[(&str, &str)]) -> BTreeMap<String, Vec<String>> {
        let mut types: Vec<_> = ["A", "B", "C", "D", "E"].map(|name| decl("N", name)).into();
        for (from, to) in names {
            let of = types.iter_mut().find(|of| of.name == *from).expect("one of them");
            of.names.push(name(to, NamePlace::Signature));
        }
        let world = World::new(&[("a.cs", file(types))], &[]);
        let roles = vec![
            ("types", vec![blob("", world.types.clone())]),
            ("dependencies", vec![world.dependencies()]),
        ];
        let table = run(&Graph, "", "{}", roles).expect("a table").bytes;
        let mut groups: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for (key, row) in Table::open(&table).expect("a table").rows() {
            let row: GraphRow = serde_json::from_slice(row).expect("a row");
            if let Some(group) = row.group {
                groups.entry(group).or_default().push(key.trim_start_matches("N.").to_owned());
            }
        }
        groups
    }

    fn members(groups: &BTreeMap<String, Vec<String>>) -> Vec<String> {
        let mut members: Vec<String> = groups.values().map(|members| members.concat()).collect();
        members.sort();
        members
    }

    #[test]
    fn a_group_keeps_its_identifier_while_its_members_stay() {
        let ring = [("A", "B"), ("B", "C"), ("C", "A")];
        let first = groups(&ring);
        assert_eq!(members(&first), ["ABC"]);
        for (why, more) in [
            ("another reference inside", vec![("A", "C")]),
            ("the other way round", vec![("B", "A"), ("C", "B"), ("A", "C")]),
            ("something that it reads", vec![("A", "D"), ("D", "E")]),
            ("something that reads it", vec![("E", "A"), ("D", "E")]),
            ("another group beside it", vec![("D", "E"), ("E", "D"), ("A", "D")]),
        ] {
            let now = groups(&[ring.to_vec(), more].concat());
            let same = first.iter().all(|(id, members)| now.get(id) == Some(members));
            assert!(same, "{why}: {first:?} → {now:?}");
        }
        let without_a_detour = groups(&[("A", "C"), ("C", "B"), ("B", "A")]);
        assert_eq!(first, without_a_detour);
    }

    #[test]
    fn groups_split_and_merge() {
        let pairs = [("A", "B"), ("B", "A"), ("C", "D"), ("D", "C")];
        let two = groups(&pairs);
        assert_eq!(members(&two), ["AB", "CD"]);
        let bridged = groups(&[&pairs[..], &[("B", "C")]].concat());
        assert_eq!(bridged, two, "a reference one way joins nothing");
        let merged = groups(&[&pairs[..], &[("B", "C"), ("D", "A")]].concat());
        assert_eq!(members(&merged), ["ABCD"]);
        assert!(merged.keys().all(|id| !two.contains_key(id)), "another membership is another group");
        let grown = groups(&[&pairs[..], &[("B", "E"), ("E", "B")]].concat());
        assert_eq!(members(&grown), ["ABE", "CD"]);
        assert_eq!(
            two.keys().filter(|id| grown.contains_key(*id)).count(),
            1,
            "the other group is what it was"
        );
        // Split again, the groups equal the earlier ones.
        assert_eq!(groups(&pairs), two);
        assert_eq!(members(&groups(&pairs[..3])), ["AB"]);
    }

    proptest! {
        #[test]
        fn an_identifier_says_exactly_who_is_in_the_group(one in edges(), other in edges()) {
            let (one, other) = (groups(&one), groups(&other));
            for (id, members) in &one {
                match other.get(id) {
                    Some(theirs) => prop_assert_eq!(theirs, members),
                    None => prop_assert!(!other.values().any(|theirs| theirs == members)),
                }
            }
        }
    }

    fn edges() -> impl Strategy<Value = Vec<(&'static str, &'static str)>> {
        let name = || proptest::sample::select(vec!["A", "B", "C", "D", "E"]);
        proptest::collection::vec((name(), name()), 0..9)
    }
}
