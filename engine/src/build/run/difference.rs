//! Roots by difference: derives the roots of a request from its last current roots and the items that its sets gained and lost since. Reads no
//! labels of other nodes.

use super::tables::may_produce;
use super::{Run, RunError};
use crate::build::state::{CurrentRequest, KnownSet};
use crate::graph::NodeId;
use crate::graph::stale::NodeSet;
use crate::manifest::model::SetSpec;
use crate::manifest::template::Vars;
use crate::planning::expand;
use crate::values::digest::Digest;
use crate::values::event::Event;
use crate::values::label::unescape;
use crate::values::pages::Change;
use crate::values::pattern::{Pattern, PatternSet};
use rustc_hash::{FxHashMap, FxHashSet};

/// The nodes of a request that was current before.
pub struct KnownRoots {
    /// The nodes, sorted.
    pub nodes: Vec<NodeId>,
    /// Nodes that are new since then.
    pub added: FxHashSet<NodeId>,
}

/// A changed set, and the items that it gained or lost.
type ChangedSet = (NodeId, Vec<(String, Change)>);

impl Run<'_> {
    /// Returns the nodes of a request that was current before; `None` if all items of its sets must be visited.
    pub fn known_roots(&mut self, known: &CurrentRequest, patterns: &PatternSet) -> Result<Option<KnownRoots>, RunError> {
        let sets: Vec<NodeId> = known.sets.iter().map(|set| NodeId(set.node)).collect();
        let nodes: Vec<NodeId> = known.roots.iter().copied().map(NodeId).collect();
        if self.context.redefined || !sets.iter().chain(&nodes).all(|&id| self.graph.exists(id)) {
            return Ok(None);
        }
        let (inner, outer): (Vec<&KnownSet>, Vec<&KnownSet>) = known.sets.iter().partition(|set| self.is_inner_set(NodeId(set.node)));
        let Some(mut changed_sets) = self.settle_known_sets(&outer)? else {
            return Ok(None);
        };
        if !inner.is_empty() {
            // An inner set is gone with its item: do not request it after a change of the outer sets.
            if !changed_sets.is_empty() {
                return Ok(None);
            }
            let Some(changed) = self.settle_known_sets(&inner)? else {
                return Ok(None);
            };
            changed_sets = changed;
        }
        let roots = match changed_sets.is_empty() {
            true => Some(KnownRoots {
                nodes,
                added: FxHashSet::default(),
            }),
            false => self.update_roots(nodes, &changed_sets, patterns),
        };
        if let Some(roots) = &roots {
            sets.into_iter().for_each(|set| self.known_sets.add_root_set(set));
            self.emit(&Event::Requested {
                targets: roots.nodes.len(),
            });
        }
        Ok(roots)
    }

    /// Whether the node of a set is itself a target over a set.
    fn is_inner_set(&self, set: NodeId) -> bool {
        let rules = self.context.rules;
        let found = rules.find(&self.graph.node(set).label);
        found.is_some_and(|found| rules.rule(found.rule).each.is_some())
    }

    /// Settles sets and returns those that changed since the request was current; `None` if their items must be visited.
    fn settle_known_sets(&mut self, sets: &[&KnownSet]) -> Result<Option<Vec<ChangedSet>>, RunError> {
        let nodes: Vec<NodeId> = sets.iter().map(|set| NodeId(set.node)).collect();
        self.settle_all(&nodes)?;
        let mut changed_sets = Vec::new();
        for (set, id) in sets.iter().zip(nodes) {
            let (Some(output), Ok(before)) = (self.output(id), set.output.as_slice().try_into().map(Digest)) else {
                return Ok(None);
            };
            if before != output {
                let Some(changes) = self.changes(id, &before, &output) else {
                    return Ok(None);
                };
                changed_sets.push((id, changes));
            }
        }
        Ok(Some(changed_sets))
    }

    /// Removes the nodes of lost items from the roots and adds those of gained ones, in the order of a visit to all items.
    fn update_roots(&mut self, mut roots: Vec<NodeId>, changed_sets: &[ChangedSet], patterns: &PatternSet) -> Option<KnownRoots> {
        let [pattern] = patterns.patterns() else { return None };
        if pattern.is_negative() || pattern.plain_package().is_some() || pattern.joined_package().is_some() {
            return None;
        }
        let order = self.order_of_rules(pattern)?;
        let rules = self.context.rules;
        let mut gone: FxHashSet<NodeId> = FxHashSet::default();
        let mut fresh: Vec<(usize, &str, NodeId)> = Vec::new();
        for (&number, &at) in &order {
            let Some((_, set)) = &rules.rule(number).each else { continue };
            let Some(label) = expand::set_node(set, &Vars::new()).ok()? else {
                continue;
            };
            let node = self.graph.find(label.as_str());
            let Some((_, changes)) = changed_sets.iter().find(|(id, _)| Some(*id) == node) else {
                continue;
            };
            let is_all_keys = !matches!(set, SetSpec::Node { row: Some(_), .. } | SetSpec::Node { field: Some(_), .. });
            for (item, change) in is_all_keys.then_some(changes)? {
                // An item without a label gets a warning: visit all items.
                let label = rules.label(number, item)?;
                match change {
                    _ if !pattern.matches(label.package(), label.target()) => {}
                    Change::Changed => {}
                    Change::Removed => gone.extend(self.graph.find(label.as_str())),
                    Change::Added => fresh.push((at, item, self.graph.intern(label.as_str()))),
                }
            }
        }
        roots.retain(|id| !gone.contains(id));
        let known: NodeSet = roots.iter().copied().collect();
        fresh.retain(|(.., id)| !known.contains(*id));
        fresh.sort_unstable();
        fresh.dedup();
        let mut nodes = Vec::with_capacity(roots.len() + fresh.len());
        let (mut rest, mut distance) = (&roots[..], 0);
        for &(at, item, id) in &fresh {
            // Rules over one set have their nodes of one item at equal distances.
            distance = self.count_roots_before(rest, (at, item), &order, distance)?;
            let (before, behind) = rest.split_at(distance);
            nodes.extend_from_slice(before);
            nodes.push(id);
            rest = behind;
        }
        nodes.extend_from_slice(rest);
        // Only a visit to all items reports a pattern that matches nothing.
        (!nodes.is_empty()).then(|| KnownRoots {
            nodes,
            added: fresh.iter().map(|(.., id)| *id).collect(),
        })
    }

    /// Returns the order of the rules whose nodes the pattern may match; `None` if two of them may produce one label.
    fn order_of_rules(&self, pattern: &Pattern) -> Option<FxHashMap<u32, usize>> {
        let mut numbers = self.candidate_rules(pattern);
        // Patterns without the mark match no nodes with two variables.
        numbers.retain(|&number| self.context.rules.rule(number).inner.is_none());
        for (at, &one) in numbers.iter().enumerate() {
            let of_one = self.context.rules.rule(one);
            if numbers[at + 1..]
                .iter()
                .any(|&other| may_produce(of_one, &self.context.rules.rule(other).target))
            {
                return None;
            }
        }
        Some(numbers.into_iter().zip(0..).collect())
    }

    /// Returns how many roots precede the node of an item of a rule. Searches outwards from a guess: each label may be on a page of its own.
    fn count_roots_before(&self, roots: &[NodeId], wanted: (usize, &str), order: &FxHashMap<u32, usize>, guess: usize) -> Option<usize> {
        let precedes = |at: usize| {
            let label = &self.graph.node(roots[at]).label;
            let found = self.context.rules.find(label)?;
            let item = unescape(found.value);
            Some((*order.get(&found.rule)?, &*item) < wanted)
        };
        let (mut low, mut high) = (0, roots.len());
        let (mut at, mut step) = (guess.min(high), 1);
        while low < high {
            // Gallop away from the guess with doubling steps, then bisect.
            let look = at.clamp(low, high - 1);
            let is_behind = !precedes(look)?;
            if is_behind {
                high = look;
            } else {
                low = look + 1;
            }
            at = match (is_behind, low, high) {
                (true, 0, _) => look.saturating_sub(step),
                (false, _, high) if high == roots.len() => look.saturating_add(step),
                _ => usize::midpoint(low, high),
            };
            step = step.saturating_mul(2);
        }
        Some(low)
    }
}
