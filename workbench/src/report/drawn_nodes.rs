//! Chooses the nodes near one node for a drawing: few, and the most significant ones. Works on numbers; it knows no graph.

use std::collections::{HashMap, HashSet};

/// Limit of drawn nodes.
pub const MOST: usize = 120;

/// Number of nodes taken at each step towards inputs: the first few steps matter most, and the path leads down to the files.
const INPUTS: [usize; 7] = [16, 16, 12, 10, 8, 6, 4];

/// Number of nodes taken at each step towards readers.
const READERS: [usize; 3] = [12, 10, 6];

/// Limit of nodes of a path.
const WAY: usize = 16;

/// The nodes to draw, with the edges among them.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Neighbourhood {
    /// The nodes, the focus first.
    pub nodes: Vec<usize>,
    /// For each node, the number of its inputs and of its readers that are not drawn.
    pub more: Vec<(usize, usize)>,
    /// Edges from an input to its reader, as indices of `nodes`.
    pub edges: Vec<(usize, usize)>,
}

/// Chooses the nodes near `focus`. `way` is always included; of the others those of most weight come first, lower numbers before higher. `inputs` and
/// `readers` return each neighbour once.
pub fn neighbourhood<W: Ord>(
    focus: usize,
    way: &[usize],
    inputs: &dyn Fn(usize) -> Vec<usize>,
    readers: &dyn Fn(usize) -> Vec<usize>,
    weight: &dyn Fn(usize) -> W,
) -> Neighbourhood {
    let mut nodes = vec![focus];
    let mut seen: HashSet<usize> = [focus].into();
    for &step in way.iter().take(WAY) {
        if seen.insert(step) {
            nodes.push(step);
        }
    }
    for (next, sizes) in [(inputs, &INPUTS[..]), (readers, &READERS[..])] {
        let mut edge = vec![focus];
        for &size in sizes {
            edge = step_outwards(&edge, size, &mut nodes, &mut seen, next, weight);
        }
    }
    let place: HashMap<usize, usize> = nodes.iter().copied().zip(0..).collect();
    let mut edges = Vec::new();
    let mut more = Vec::with_capacity(nodes.len());
    for (at, &node) in nodes.iter().enumerate() {
        let read = inputs(node);
        let before = edges.len();
        edges.extend(
            read.iter()
                .filter_map(|read| Some((*place.get(read)?, at)))
                .filter(|(from, to)| from != to),
        );
        let reading = readers(node);
        let drawn = reading.iter().filter(|reader| place.contains_key(reader)).count();
        more.push((read.len().saturating_sub(edges.len() - before), reading.len() - drawn));
    }
    edges.sort_unstable();
    edges.dedup();
    Neighbourhood { nodes, more, edges }
}

/// Takes one step outwards. The nodes of `edge` take turns, so that none of them gets all places.
fn step_outwards<W: Ord>(
    edge: &[usize],
    size: usize,
    nodes: &mut Vec<usize>,
    seen: &mut HashSet<usize>,
    next: &dyn Fn(usize) -> Vec<usize>,
    weight: &dyn Fn(usize) -> W,
) -> Vec<usize> {
    let mut reached = Vec::new();
    let mut offers: Vec<std::vec::IntoIter<usize>> = Vec::new();
    for &node in edge {
        let (known, mut new): (Vec<usize>, Vec<usize>) = next(node).into_iter().partition(|other| seen.contains(other));
        // A node that is drawn already continues the walk too.
        reached.extend(known.into_iter().filter(|other| nodes.contains(other) && !edge.contains(other)));
        new.sort_by(|a, b| weight(*b).cmp(&weight(*a)).then(a.cmp(b)));
        offers.push(new.into_iter());
    }
    reached.sort_unstable();
    reached.dedup();
    let mut taken = 0;
    while taken < size && nodes.len() < MOST {
        let before = taken;
        for offer in &mut offers {
            if taken == size || nodes.len() == MOST {
                break;
            }
            if let Some(node) = offer.find(|node| seen.insert(*node)) {
                nodes.push(node);
                reached.push(node);
                taken += 1;
            }
        }
        if taken == before {
            break;
        }
    }
    reached
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(count: usize, reads: &[(usize, usize)], focus: usize, way: &[usize]) -> Neighbourhood {
        let mut reads = reads.to_vec();
        reads.sort_unstable();
        reads.dedup();
        let inputs = |at: usize| reads.iter().filter(|(reader, _)| *reader == at).map(|(_, read)| *read).collect();
        let readers = |at: usize| reads.iter().filter(|(_, read)| *read == at).map(|(reader, _)| *reader).collect();
        assert!(focus < count);
        neighbourhood(focus, way, &inputs, &readers, &|at| at % 3)
    }

    proptest! {
        #[test]
        fn few_nodes_and_true_edges(count in 1usize..400, raw in proptest::collection::vec((0usize..400, 0usize..400), 0..900), way in proptest::collection::vec(0usize..400, 0..30)) {
            let reads: Vec<(usize, usize)> = raw.into_iter().map(|(reader, read)| (reader % count, read % count)).filter(|(reader, read)| reader != read).collect();
            let way: Vec<usize> = way.into_iter().map(|at| at % count).collect();
            let found = of(count, &reads, 0, &way);
            prop_assert!(found.nodes.len() <= MOST);
            prop_assert_eq!(found.nodes[0], 0);
            prop_assert_eq!(found.nodes.iter().collect::<HashSet<_>>().len(), found.nodes.len());
            for step in way.iter().take(WAY) {
                prop_assert!(found.nodes.contains(step));
            }
            for &(from, to) in &found.edges {
                prop_assert!(reads.contains(&(found.nodes[to], found.nodes[from])));
            }
            for (at, &(more_inputs, more_readers)) in found.more.iter().enumerate() {
                let all = reads.iter().filter(|(reader, _)| *reader == found.nodes[at]).collect::<HashSet<_>>().len();
                prop_assert_eq!(all, more_inputs + found.edges.iter().filter(|(_, to)| *to == at).count());
                let all = reads.iter().filter(|(_, read)| *read == found.nodes[at]).collect::<HashSet<_>>().len();
                prop_assert_eq!(all, more_readers + found.edges.iter().filter(|(from, _)| *from == at).count());
            }
            prop_assert_eq!(&of(count, &reads, 0, &way), &found);
        }
    }

    #[test]
    fn a_hub_is_cut_and_the_way_down_is_not() {
        // 0 reads 1 and 1,000 others; 1 reads 2, 2 reads 3.
        let mut reads: Vec<(usize, usize)> = (10..1_010).map(|other| (0, other)).collect();
        reads.extend([(0, 1), (1, 2), (2, 3)]);
        let found = of(1_010, &reads, 0, &[0, 1, 2, 3]);
        assert!(found.nodes.starts_with(&[0, 1, 2, 3]));
        assert_eq!(found.more[0].0, 1_001 - 17, "sixteen, and the one on the way");
    }
}
