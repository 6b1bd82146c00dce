//! Cycles visible in the rules alone, before any set is known. Planning the graph finds those that depend on sets.

use super::labels::template_as_written;
use super::report::Report;
use super::rules::RuleDraft;
use super::sets::Dependency;
use super::source::{Span, cut_value};
use super::targets::{Form, Targets};
use crate::values::codes::ErrorCode;
use crate::values::diagnostic::Diagnostic;
use petgraph::algo::kosaraju_scc;
use petgraph::graph::{DiGraph, NodeIndex};
use petgraph::visit::EdgeRef;
use std::collections::{HashMap, HashSet, VecDeque};

/// Longer cycles are shortened to their beginning and end.
const MAX_SHOWN: usize = 8;

/// Reports one cycle of every group of rules that depend on each other.
pub(super) fn report_cycles(report: &mut Report<'_>, rules: &[RuleDraft], targets: &Targets<'_>) {
    let mut graph: DiGraph<(), Span> = DiGraph::with_capacity(rules.len(), rules.len());
    for _ in rules {
        graph.add_node(());
    }
    for (index, rule) in rules.iter().enumerate() {
        let sure = rule
            .references
            .iter()
            .filter(|reference| matches!(reference.need, Dependency::Own | Dependency::All));
        for reference in sure {
            if let Some(maker) = targets.producing_rule(Form::from_template(&reference.template)) {
                graph.add_edge(NodeIndex::new(index), NodeIndex::new(maker as usize), reference.span);
            }
        }
    }
    // Not Tarjan: that one recurses, and a chain of rules can be as long as the manifest.
    for group in kosaraju_scc(&graph) {
        let first = group.iter().copied().min().expect("invariant: a component has a node");
        if group.len() > 1 || graph.contains_edge(first, first) {
            let cycle = shortest_cycle(&graph, first, &group);
            report_cycle(report, rules, &cycle);
        }
    }
}

/// Finds a shortest cycle through `first`: each rule with the place that refers to the next.
fn shortest_cycle(graph: &DiGraph<(), Span>, first: NodeIndex, group: &[NodeIndex]) -> Vec<(NodeIndex, Span)> {
    let group: HashSet<NodeIndex> = group.iter().copied().collect();
    let mut came: HashMap<NodeIndex, (NodeIndex, Span)> = HashMap::new();
    let mut queue = VecDeque::from([first]);
    while let Some(node) = queue.pop_front() {
        if came.contains_key(&first) {
            break;
        }
        let mut edges: Vec<(NodeIndex, Span)> = graph.edges(node).map(|edge| (edge.target(), *edge.weight())).collect();
        edges.sort();
        for (next, span) in edges {
            if group.contains(&next) && !came.contains_key(&next) {
                came.insert(next, (node, span));
                queue.push_back(next);
            }
        }
    }
    let mut cycle = Vec::new();
    let mut node = first;
    while let Some((previous, span)) = came.get(&node) {
        cycle.push((*previous, *span));
        node = *previous;
        if node == first {
            break;
        }
    }
    cycle.reverse();
    cycle
}

fn report_cycle(report: &mut Report<'_>, rules: &[RuleDraft], cycle: &[(NodeIndex, Span)]) {
    let Some((_, span)) = cycle.first() else {
        return;
    };
    let name = |index: usize| {
        rules[cycle[index % cycle.len()].0.index()]
            .target
            .as_ref()
            .map(|(target, _)| cut_value(&template_as_written(target)))
            .unwrap_or_default()
    };
    let mut path: Vec<String> = Vec::new();
    if cycle.len() <= MAX_SHOWN {
        path.extend((0..=cycle.len()).map(name));
    } else {
        path.extend((0..MAX_SHOWN - 2).map(name));
        path.push(format!("… {} more …", cycle.len() + 1 - MAX_SHOWN));
        path.extend((cycle.len() - 1..=cycle.len()).map(name));
    }
    let message = format!("these targets need each other: {}", path.join(" → "));
    report.error(
        *span,
        Diagnostic::error(ErrorCode::E_CYCLE, message)
            .hint("remove one of these inputs, or declare a separate target for the part that both need"),
    );
}
