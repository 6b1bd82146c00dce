//! The order of a pack: dependencies first, mutually dependent types together, otherwise by name.

use petgraph::algo::kosaraju_scc;
use petgraph::graph::{DiGraph, NodeIndex};
use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};

/// Returns the nodes `0..dependencies.len()`, each after its dependencies. Ties go to the smaller number; a group has the number of its smallest
/// member. Linear except for a heap, and not recursive.
pub fn topological(dependencies: &[Vec<usize>]) -> Vec<usize> {
    let mut graph: DiGraph<(), (), usize> = DiGraph::with_capacity(dependencies.len(), 0);
    for _ in dependencies {
        graph.add_node(());
    }
    for (from, targets) in dependencies.iter().enumerate() {
        for &to in targets {
            graph.add_edge(NodeIndex::new(from), NodeIndex::new(to), ());
        }
    }
    let mut groups: Vec<Vec<usize>> = kosaraju_scc(&graph)
        .into_iter()
        .map(|nodes| nodes.into_iter().map(NodeIndex::index).collect())
        .collect();
    groups.iter_mut().for_each(|members| members.sort_unstable());
    groups.sort_unstable();
    let mut group_of = vec![0; dependencies.len()];
    for (group, members) in groups.iter().enumerate() {
        members.iter().for_each(|&member| group_of[member] = group);
    }
    let mut readers = vec![Vec::new(); groups.len()];
    let mut missing = vec![0_usize; groups.len()];
    for (group, members) in groups.iter().enumerate() {
        let below: BTreeSet<usize> = members
            .iter()
            .flat_map(|&member| &dependencies[member])
            .map(|&to| group_of[to])
            .collect();
        for &other in below.iter().filter(|&&other| other != group) {
            readers[other].push(group);
            missing[group] += 1;
        }
    }
    let mut ready: BinaryHeap<Reverse<usize>> = (0..groups.len()).filter(|&group| missing[group] == 0).map(Reverse).collect();
    let mut order = Vec::with_capacity(dependencies.len());
    while let Some(Reverse(group)) = ready.pop() {
        order.extend(&groups[group]);
        for &reader in &readers[group] {
            missing[reader] -= 1;
            if missing[reader] == 0 {
                ready.push(Reverse(reader));
            }
        }
    }
    order
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn dependencies_first_groups_together_ties_by_number() {
        assert_eq!(topological(&[vec![2], vec![], vec![]]), [1, 2, 0]);
        // 0 and 3 depend on each other and on 2.
        assert_eq!(topological(&[vec![3, 2], vec![0], vec![], vec![0]]), [2, 0, 3, 1]);
        let n = 100_000;
        let chain: Vec<Vec<usize>> = (0..n).map(|at| if at + 1 < n { vec![at + 1] } else { vec![] }).collect();
        assert!(topological(&chain).into_iter().eq((0..n).rev()));
    }

    proptest! {
        #[test]
        fn every_node_once_and_after_what_it_needs(edges in prop::collection::vec((0_usize..9, 0_usize..9), 0..20)) {
            let mut dependencies = vec![Vec::new(); 9];
            for (from, to) in edges {
                dependencies[from].push(to);
            }
            let reaches = |from: usize, to: usize| {
                let (mut seen, mut todo) = (BTreeSet::from([from]), vec![from]);
                while let Some(at) = todo.pop() {
                    todo.extend(dependencies[at].iter().copied().filter(|next| seen.insert(*next)));
                }
                seen.contains(&to)
            };
            let order = topological(&dependencies);
            let place = |node: usize| order.iter().position(|other| *other == node).expect("every node");
            prop_assert_eq!(order.len(), 9);
            for from in 0..9 {
                for to in (0..9).filter(|to| reaches(from, *to)) {
                    if reaches(to, from) {
                        let between = &order[place(from).min(place(to))..place(from).max(place(to))];
                        prop_assert!(between.iter().all(|other| reaches(from, *other) && reaches(*other, from)));
                    } else {
                        prop_assert!(place(to) < place(from));
                    }
                }
            }
        }
    }
}
