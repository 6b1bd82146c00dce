//! Compares the evaluator with a naive one, over drawn graphs: both get the same texts, so the parser is tested too.

use super::eval::Evaluation;
use super::{Attribute, QueryGraph, parse};
use engine::build::engine::EngineError;
use engine::graph::NodeId;
use proptest::prelude::*;
use std::collections::BTreeSet;

const NODES: u32 = 12;

/// A drawn graph: the pattern `//n/I:KIND` matches node I.
#[derive(Clone, Debug)]
struct Drawn {
    /// Reader and its input.
    edges: Vec<(u32, u32)>,
    stale: BTreeSet<u32>,
    meant: Vec<Vec<NodeId>>,
}

fn kind(id: u32) -> &'static str {
    ["csharp/outline", "csharp/names", "command"][id as usize % 3]
}

fn label(id: u32) -> String {
    format!("//n/{id}:{}", ["x", "y"][id as usize % 2])
}

impl QueryGraph for Drawn {
    fn matched_nodes(&self, pattern: usize) -> &[NodeId] {
        &self.meant[pattern]
    }

    fn reads(&self, id: NodeId) -> Vec<NodeId> {
        let reads = self.edges.iter().filter(|(reader, _)| *reader == id.0);
        reads.map(|(_, read)| NodeId(*read)).collect()
    }

    fn readers(&self, id: NodeId) -> Vec<NodeId> {
        let readers = self.edges.iter().filter(|(_, read)| *read == id.0);
        readers.map(|(reader, _)| NodeId(*reader)).collect()
    }

    fn label(&self, id: NodeId) -> String {
        label(id.0)
    }

    fn kind(&self, id: NodeId) -> String {
        kind(id.0).to_owned()
    }

    fn attribute(&self, id: NodeId, attribute: &Attribute) -> Option<String> {
        match attribute {
            Attribute::Paid => Some(id.0.is_multiple_of(4).to_string()),
            _ => None,
        }
    }

    fn stale(&mut self, nodes: &[NodeId]) -> Result<Vec<NodeId>, EngineError> {
        Ok(nodes.iter().copied().filter(|id| self.stale.contains(&id.0)).collect())
    }
}

/// The meaning of a query, in the simplest terms.
#[derive(Clone, Debug)]
enum Meaning {
    Node(u32),
    Union(Box<Meaning>, Box<Meaning>),
    Except(Box<Meaning>, Box<Meaning>),
    Intersect(Box<Meaning>, Box<Meaning>),
    Deps(Box<Meaning>, Option<u32>),
    Rdeps(Option<Box<Meaning>>, Box<Meaning>, Option<u32>),
    AllPaths(Box<Meaning>, Box<Meaning>),
    SomePath(Box<Meaning>, Box<Meaning>),
    Outlines(Box<Meaning>),
    Paid(Box<Meaning>),
    Odd(Box<Meaning>),
    Stale(Box<Meaning>),
    /// `let v = … in $v OP deps($v, 1)`.
    Twice(Box<Meaning>),
}

fn meaning() -> impl Strategy<Value = Meaning> {
    let leaf = (0..NODES).prop_map(Meaning::Node);
    leaf.prop_recursive(5, 40, 2, |inner| {
        let one = inner.clone().prop_map(Box::new);
        let two = (one.clone(), one.clone());
        let depth = proptest::option::of(0u32..4);
        prop_oneof![
            two.clone().prop_map(|(a, b)| Meaning::Union(a, b)),
            two.clone().prop_map(|(a, b)| Meaning::Except(a, b)),
            two.clone().prop_map(|(a, b)| Meaning::Intersect(a, b)),
            (one.clone(), depth.clone()).prop_map(|(a, depth)| Meaning::Deps(a, depth)),
            (proptest::option::of(one.clone()), one.clone(), depth).prop_map(|(u, a, depth)| Meaning::Rdeps(u, a, depth)),
            two.clone().prop_map(|(a, b)| Meaning::AllPaths(a, b)),
            two.prop_map(|(a, b)| Meaning::SomePath(a, b)),
            one.clone().prop_map(Meaning::Outlines),
            one.clone().prop_map(Meaning::Paid),
            one.clone().prop_map(Meaning::Odd),
            one.clone().prop_map(Meaning::Stale),
            one.prop_map(Meaning::Twice),
        ]
    })
}

fn steps(depth: Option<u32>) -> String {
    depth.map_or_else(String::new, |depth| format!(", {depth}"))
}

/// Returns a query with a meaning.
fn text(meaning: &Meaning, names: usize) -> String {
    let of = |inner: &Meaning| text(inner, names);
    match meaning {
        Meaning::Node(id) => label(*id),
        Meaning::Union(a, b) => format!("({} + {})", of(a), of(b)),
        Meaning::Except(a, b) => format!("({} except ({}))", of(a), of(b)),
        Meaning::Intersect(a, b) => format!("(({}) ^ {})", of(a), of(b)),
        Meaning::Deps(a, depth) => format!("deps({}{})", of(a), steps(*depth)),
        Meaning::Rdeps(None, a, depth) => format!("rdeps({}{})", of(a), steps(*depth)),
        Meaning::Rdeps(Some(universe), a, depth) => format!("rdeps({}, {}{})", of(universe), of(a), steps(*depth)),
        Meaning::AllPaths(a, b) => format!("allpaths({}, {})", of(a), of(b)),
        Meaning::SomePath(a, b) => format!("somepath({}, {})", of(a), of(b)),
        Meaning::Outlines(a) => format!("kind(csharp/out*, {})", of(a)),
        Meaning::Paid(a) => format!("attr(paid, ^t(r|,)ue$, {})", of(a)),
        Meaning::Odd(a) => format!("filter('[13579]:', {})", of(a)),
        Meaning::Stale(a) => format!("stale({})", of(a)),
        Meaning::Twice(a) => format!("(let v{names} = {} in $v{names} + deps($v{names}, 1))", text(a, names + 1)),
    }
}

type Set = BTreeSet<u32>;

/// Adds one step from each node, forward or back, until nothing is new or the steps are used up.
fn closed(drawn: &Drawn, mut set: Set, depth: Option<u32>, back: bool, within: Option<&Set>) -> Set {
    for _ in 0..depth.unwrap_or(NODES) {
        let next = drawn.edges.iter().filter_map(|&(reader, read)| match back {
            false => set.contains(&reader).then_some(read),
            true => set.contains(&read).then_some(reader),
        });
        let next: Set = next.filter(|id| within.is_none_or(|within| within.contains(id))).collect();
        set.extend(next);
    }
    set
}

fn naive(drawn: &Drawn, meaning: &Meaning) -> Set {
    let of = |inner: &Meaning| naive(drawn, inner);
    match meaning {
        Meaning::Node(id) => [*id].into(),
        Meaning::Union(a, b) => &of(a) | &of(b),
        Meaning::Except(a, b) => &of(a) - &of(b),
        Meaning::Intersect(a, b) => &of(a) & &of(b),
        Meaning::Deps(a, depth) => closed(drawn, of(a), *depth, false, None),
        Meaning::Rdeps(None, a, depth) => closed(drawn, of(a), *depth, true, None),
        Meaning::Rdeps(Some(universe), a, depth) => {
            let universe = closed(drawn, of(universe), None, false, None);
            closed(drawn, &of(a) & &universe, *depth, true, Some(&universe))
        }
        // A node is on a path if it is reachable from the first and reaches the second.
        Meaning::AllPaths(a, b) => &closed(drawn, of(a), None, false, None) & &closed(drawn, of(b), None, true, None),
        Meaning::SomePath(a, b) => shortest(drawn, &of(a), &of(b)),
        Meaning::Outlines(a) => of(a).into_iter().filter(|id| kind(*id) == "csharp/outline").collect(),
        Meaning::Paid(a) => of(a).into_iter().filter(|id| id % 4 == 0).collect(),
        Meaning::Odd(a) => of(a).into_iter().filter(|id| id % 2 == 1).collect(),
        Meaning::Stale(a) => of(a).into_iter().filter(|id| drawn.stale.contains(id)).collect(),
        Meaning::Twice(a) => closed(drawn, of(a), Some(1), false, None),
    }
}

/// Which of the shortest paths is returned does not matter: their properties are compared. Applies the evaluator's rule by trying lengths.
fn shortest(drawn: &Drawn, from: &Set, to: &Set) -> Set {
    // All paths of a length, in the order of a breadth-first search: by the index of the path that they extend, then by number.
    let mut ways: Vec<Vec<u32>> = from.iter().map(|&id| vec![id]).collect();
    let mut seen = from.clone();
    while !ways.is_empty() {
        if let Some(way) = ways.iter().find(|way| to.contains(way.last().expect("a node"))) {
            return way.iter().copied().collect();
        }
        let mut longer = Vec::new();
        for way in &ways {
            for next in 0..NODES {
                if drawn.edges.contains(&(*way.last().expect("a node"), next)) && seen.insert(next) {
                    longer.push(way.iter().copied().chain([next]).collect());
                }
            }
        }
        ways = longer;
    }
    Set::new()
}

fn graph() -> impl Strategy<Value = Drawn> {
    let edges = proptest::collection::vec((0..NODES, 0..NODES), 0..30);
    (edges, proptest::collection::btree_set(0..NODES, 0..6)).prop_map(|(edges, stale)| Drawn {
        edges,
        stale,
        meant: Vec::new(),
    })
}

/// Returns the number in a drawn label.
fn number(label: &str) -> u32 {
    let digits: String = label.chars().filter(char::is_ascii_digit).collect();
    digits.parse().expect("a number")
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]
    #[test]
    fn queries_mean_what_the_naive_evaluation_says(drawn in graph(), meaning in meaning()) {
        let text = text(&meaning, 0);
        let query = parse(&text).map_err(|error| TestCaseError::fail(format!("{text}: {error:?}")))?;
        let mut graph = drawn.clone();
        graph.meant = query.patterns.iter().map(|pattern| vec![NodeId(number(&pattern.to_string()))]).collect();
        let found = Evaluation::new(&mut graph, query.variables).set(&query.expr).expect("no store");
        let found: Set = found.iter().map(|id| id.0).collect();
        prop_assert_eq!(&found, &naive(&drawn, &meaning), "{}", text);
        let mut ordered = Evaluation::new(&mut graph, query.variables).ordered_nodes(&query.expr).expect("no store");
        ordered.sort_unstable();
        prop_assert!(ordered.into_iter().map(|id| id.0).eq(found), "{}", text);
    }
}

#[test]
fn a_path_is_told_in_its_order() {
    let mut graph = Drawn {
        edges: vec![(7, 3), (3, 9)],
        stale: Set::new(),
        meant: vec![vec![NodeId(7)], vec![NodeId(9)]],
    };
    for text in ["somepath(//a:a, //b:b)", "let x = //a:a in somepath($x, //b:b)"] {
        let query = parse(text).expect("well-formed");
        let path = Evaluation::new(&mut graph, query.variables)
            .ordered_nodes(&query.expr)
            .expect("no store");
        assert_eq!(path, [NodeId(7), NodeId(3), NodeId(9)], "{text}");
    }
}

#[test]
fn the_inner_of_two_equal_names_counts() {
    let query = parse("let x = //n/1:y in (let x = //n/2:x in $x) + $x").expect("well-formed");
    let mut graph = Drawn {
        edges: Vec::new(),
        stale: Set::new(),
        meant: vec![vec![NodeId(1)], vec![NodeId(2)]],
    };
    let found = Evaluation::new(&mut graph, query.variables).set(&query.expr).expect("no store");
    assert_eq!(found.iter().collect::<Vec<_>>(), [NodeId(1), NodeId(2)]);
}
