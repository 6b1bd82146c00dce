//! The critical path of a build: the chain of jobs, each waiting for the one before it, whose durations have the largest sum. With any number
//! of workers, no build with the same jobs is shorter.
//!
//! Finding a node's inputs waits for the nodes that decide them; building its output waits for that and for all inputs. A node without a job
//! (unchanged, or found by its action key) passes its own waits on.

use std::collections::HashMap;
use std::hash::Hash;

#[derive(Clone, Copy, Debug)]
pub struct NodeJob<N> {
    pub node: N,
    /// Whether the job finds the node's inputs, instead of building its output.
    pub finds_inputs: bool,
    /// Number that orders the jobs of one node in time.
    pub began: u64,
    pub took: u64,
}

/// Nodes that a node waits for.
#[derive(Clone, Debug)]
pub struct Waits<N> {
    /// Nodes to wait for before finding its inputs.
    pub deciders: Vec<N>,
    /// Nodes to wait for before building its output: these and all inputs.
    pub reads: Vec<N>,
}

/// Duration of a chain, and its last job, if it has any.
type Chain = (u64, Option<usize>);

/// Returns the indices of the critical path's jobs, in order of time.
pub fn critical<N: Copy + Eq + Hash>(steps: &[NodeJob<N>], waits: &dyn Fn(N) -> Waits<N>) -> Vec<usize> {
    let mut of: HashMap<N, Vec<usize>> = HashMap::new();
    for (at, step) in steps.iter().enumerate() {
        of.entry(step.node).or_default().push(at);
    }
    for jobs in of.values_mut() {
        jobs.sort_by_key(|&at| (steps[at].began, !steps[at].finds_inputs, at));
    }
    let mut before: Vec<Option<usize>> = vec![None; steps.len()];
    // Longest chain up to a node's output; `None` while it is being computed.
    let mut known: HashMap<N, Option<Chain>> = HashMap::new();
    for step in steps {
        let mut stack = vec![step.node];
        while let Some(&node) = stack.last() {
            if matches!(known.get(&node), Some(Some(_))) {
                stack.pop();
                continue;
            }
            let waits = waits(node);
            if known.insert(node, None).is_none() {
                stack.extend(waits.reads.iter().filter(|read| !known.contains_key(read)));
                continue;
            }
            let longest = |nodes: &[N]| {
                let chains = nodes.iter().filter_map(|read| known.get(read).copied().flatten());
                chains.max_by_key(|(took, _)| *took).unwrap_or_default()
            };
            let (found, read) = (longest(&waits.deciders), longest(&waits.reads));
            let mut chain = (0, None);
            for &at in of.get(&node).into_iter().flatten() {
                let inputs = if steps[at].finds_inputs { found } else { read };
                let (took, last) = longer(chain, inputs);
                before[at] = last;
                chain = (took.saturating_add(steps[at].took), Some(at));
            }
            known.insert(node, Some(longer(chain, read)));
            stack.pop();
        }
    }
    let chains = known.into_values().flatten();
    let mut last = chains.max_by_key(|&(took, last)| (took, last)).and_then(|(_, last)| last);
    let mut path = Vec::new();
    while let Some(at) = last {
        path.push(at);
        last = before[at];
    }
    path.reverse();
    path
}

/// Returns the longer of two chains; of equal ones, one with jobs.
fn longer(one: Chain, other: Chain) -> Chain {
    if (other.0, other.1.is_some()) > (one.0, one.1.is_some()) {
        other
    } else {
        one
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A node; it reads only nodes of smaller numbers.
    #[derive(Clone, Debug)]
    struct SketchNode {
        deciders: Vec<usize>,
        inputs: Vec<usize>,
        finding: Option<u64>,
        making: Option<u64>,
    }

    fn nodes() -> impl Strategy<Value = Vec<SketchNode>> {
        let some = || proptest::collection::vec(any::<proptest::sample::Index>(), 0..3);
        let node = (some(), some(), proptest::option::of(0_u64..9), proptest::option::of(0_u64..9));
        proptest::collection::vec(node, 1..9).prop_map(|nodes| {
            let below = |at: usize, picks: Vec<proptest::sample::Index>| match at {
                0 => Vec::new(),
                _ => picks.into_iter().map(|pick| pick.index(at)).collect(),
            };
            let node = |(at, (deciders, inputs, finding, making))| SketchNode {
                deciders: below(at, deciders),
                inputs: below(at, inputs),
                finding,
                making,
            };
            nodes.into_iter().enumerate().map(node).collect()
        })
    }

    impl SketchNode {
        fn reads(&self) -> Vec<usize> {
            self.deciders.iter().chain(&self.inputs).copied().collect()
        }
    }

    /// End of a path whose longest way back to the beginning is found by trying all.
    #[derive(Clone, Copy)]
    enum From {
        Finding(usize),
        Making(usize),
        Output(usize),
    }

    fn naive(nodes: &[SketchNode], from: From) -> u64 {
        let of = |outputs: &[usize]| outputs.iter().map(|&at| naive(nodes, From::Output(at))).max().unwrap_or(0);
        match from {
            From::Finding(at) => nodes[at].finding.unwrap_or(0) + of(&nodes[at].deciders),
            From::Making(at) => nodes[at].making.unwrap_or(0) + naive(nodes, From::Finding(at)).max(of(&nodes[at].inputs)),
            From::Output(at) => naive(nodes, From::Making(at)),
        }
    }

    /// Returns whether the output of a node waits for that of another, directly or through others.
    fn waits_for(nodes: &[SketchNode], at: usize, other: usize, through: &dyn Fn(&SketchNode) -> Vec<usize>) -> bool {
        through(&nodes[at])
            .iter()
            .any(|&read| read == other || waits_for(nodes, read, other, &SketchNode::reads))
    }

    proptest! {
        #[test]
        fn it_is_the_longest_of_all_ways(nodes in nodes()) {
            let mut steps = Vec::new();
            for (node, of) in nodes.iter().enumerate() {
                let step = |finds_inputs, began, took: Option<u64>| took.map(|took| NodeJob { node, finds_inputs, began, took });
                steps.extend(step(true, 0, of.finding));
                steps.extend(step(false, 1, of.making));
            }
            // The order of the jobs must not matter.
            steps.reverse();
            let path = critical(&steps, &|node: usize| Waits { deciders: nodes[node].deciders.clone(), reads: nodes[node].reads() });
            let longest = (0..nodes.len()).map(|at| naive(&nodes, From::Output(at))).max().unwrap_or(0);
            prop_assert_eq!(path.iter().map(|&at| steps[at].took).sum::<u64>(), longest);
            // Each waited for the one before it.
            for pair in path.windows(2) {
                let (first, then) = (steps[pair[0]], steps[pair[1]]);
                let own = first.node == then.node && first.finds_inputs && !then.finds_inputs;
                let through: &dyn Fn(&SketchNode) -> Vec<usize> = if then.finds_inputs { &|node| node.deciders.clone() } else { &SketchNode::reads };
                prop_assert!(own || waits_for(&nodes, then.node, first.node, through), "{:?} {:?}", first, then);
            }
        }
    }

    #[test]
    fn a_long_chain_and_nothing_end() {
        let steps: Vec<NodeJob<usize>> = (0..100_000)
            .map(|node| NodeJob {
                node,
                finds_inputs: false,
                began: 0,
                took: 1,
            })
            .collect();
        let before = |node: usize| Waits {
            deciders: Vec::new(),
            reads: node.checked_sub(1).into_iter().collect(),
        };
        assert_eq!(critical(&steps, &before).len(), 100_000);
        assert_eq!(critical(&[], &before), Vec::<usize>::new());
    }
}
