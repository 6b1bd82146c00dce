//! Tables of the whole workspace: they are settled before their readers. If few rows of a table changed, only nodes that looked up one of them
//! become stale.
//!
//! A table here is the output of a rule without a variable that some rule reads by rows or runs over, such as `//index:types`, or a set of source
//! files, whose rows are paths. Nearly every node depends on one, so that otherwise a build would check all nodes for one changed row.

use super::leftover::SetChanges;
use super::source_nodes::{Leaf, leaf};
use super::{Run, RunError, Step};
use crate::build::blobs::Unavailable;
use crate::graph::NodeId;
use crate::graph::lookups::{Lookup, LookupSet};
use crate::manifest::model::{InputFrom, Manifest, Rule, SetSpec};
use crate::manifest::template::{Piece, Template, Vars};
use crate::planning::expand;
use crate::planning::rules::{RuleIndex, target_name};
use crate::values::digest::Digest;
use crate::values::event::{Event, Reason};
use crate::values::label::halves;
use crate::values::pages::{self, Change};
use crate::values::pattern::PatternSet;
use rustc_hash::{FxHashMap, FxHashSet};
use std::sync::Arc;

/// Maximum number of changed rows; with more, all readers are checked, because most lookups would match anyway.
const MOST_CHANGES: usize = 1_000;

/// Maximum number of readers of a one-file table for which checking them is faster than comparing the table.
const FEW_READERS: usize = 8;

/// The tables of the workspace, derived from the rules.
#[derive(Default)]
pub(super) struct Tables {
    /// Labels of the tables, with the numbers of the rules that have a node for each of their rows.
    row_rules: FxHashMap<Box<str>, Vec<u32>>,
    /// By rule: whether its nodes exist as long as a table has their rows.
    by_row: Vec<bool>,
    /// By rule: whether other rules read rows of its outputs, one table per item of a set.
    is_read_by_row: Vec<bool>,
}

impl Tables {
    /// Finds the tables that rules read.
    pub(super) fn of_rules(rules: &RuleIndex) -> Self {
        let manifest = rules.manifest();
        let mut tables = Self::default();
        for rule in &manifest.rules {
            let made = table_labels(rule)
                .filter_map(Template::literal)
                .filter(|label| rules.find(label).is_some());
            let made = made.map(str::to_owned);
            for label in made.chain(sets(rule).filter_map(source_label)) {
                tables.row_rules.entry(label.into()).or_default();
            }
        }
        let inputs = manifest.rules.iter().flat_map(|rule| &rule.inputs);
        let of_sets = inputs.filter_map(|input| match &input.from {
            InputFrom::Rows { table, .. } => Some(table),
            _ => None,
        });
        let of_sets: FxHashSet<&Template> = of_sets.collect();
        for (number, rule) in (0u32..).zip(&manifest.rules) {
            let by_row = exists_by_row(manifest, rule);
            tables.by_row.push(by_row);
            tables.is_read_by_row.push(of_sets.iter().any(|table| may_produce(rule, table)));
            if let (true, None, Some((_, set))) = (by_row, &rule.inner, &rule.each)
                && let Ok(Some(table)) = expand::set_node(set, &Vars::new())
                && let Some(numbers) = tables.row_rules.get_mut(table.as_str())
            {
                numbers.push(number);
            }
        }
        tables
    }

    /// Whether a label, produced by `rule` if any, is a table.
    pub(super) fn is_table(&self, label: &str, rule: Option<u32>) -> bool {
        self.row_rules.contains_key(label) || rule.is_some_and(|rule| self.is_read_by_row[rule as usize])
    }
}

impl Run<'_> {
    pub(super) fn tables(&mut self) -> Arc<Tables> {
        self.known_sets.tables(self.context.rules)
    }

    /// Whether nodes of this rule exist as long as a table has their rows.
    pub(super) fn exists_by_row(&mut self, rule: u32) -> bool {
        self.tables().by_row[rule as usize]
    }

    /// Returns the row on which a node's existence depends, as it appears in the node's label.
    pub(super) fn row_of<'v>(&self, rule: u32, value: &'v str) -> &'v str {
        match self.context.rules.rule(rule).inner {
            Some(_) => halves(value).map_or(value, |(outer, _)| outer),
            None => value,
        }
    }

    /// Settles the tables that nodes of `patterns` may read, in dependency order. Then all marks due to their changed rows are known before any
    /// other node is visited.
    pub fn settle_tables(&mut self, patterns: &PatternSet) -> Result<(), RunError> {
        if self.context.options.mode.is_dry()
            || self.context.redefined
            || self.graph.stale().next().is_none()
            || self.tables().row_rules.is_empty()
        {
            return Ok(());
        }
        let tables = self.tables();
        let sources = tables.row_rules.keys().filter(|label| leaf(label).is_some());
        let mut sources: Vec<NodeId> = sources.filter_map(|label| self.graph.find(label)).collect();
        sources.retain(|&id| self.graph.is_stale(id));
        sources.sort_unstable();
        self.settle_all(&sources)?;
        let mut is_fresh = false;
        for table in self.tables_for(patterns) {
            if self.stopping() {
                break;
            }
            if !is_fresh {
                self.output_changes.set_reach(self.spread_stale_marks());
                is_fresh = true;
            }
            if self.graph.has_result(table) && self.output_changes.may_reach(table) && !self.nodes.has_ended(table) {
                self.nodes.add_step(Step::Demand(table));
                self.work()?;
                is_fresh = false;
            }
        }
        Ok(())
    }

    /// Returns the tables that rules of `patterns` read directly or indirectly, in dependency order.
    fn tables_for(&mut self, patterns: &PatternSet) -> Vec<NodeId> {
        let wanted: FxHashSet<u32> = patterns
            .patterns()
            .iter()
            .filter(|pattern| !pattern.is_negative())
            .flat_map(|pattern| self.candidate_rules(pattern))
            .collect();
        let mut wanted: Vec<u32> = wanted.into_iter().collect();
        wanted.sort_unstable();
        let manifest = self.context.rules.manifest().clone();
        let order = dependency_order(self.context.rules, &wanted);
        let tables = self.tables();
        let labels = order.iter().filter_map(|&rule| manifest.rules[rule as usize].target.literal());
        let labels = labels.filter(|label| tables.row_rules.contains_key(*label));
        labels.filter_map(|label| self.graph.find(label)).collect()
    }

    /// A node's output changed: marks its readers stale; for a table, only those that looked up a changed row.
    pub(super) fn mark_affected_readers(&mut self, id: NodeId, before: Option<Digest>, after: Digest) {
        let tables = self.tables();
        let label = self.graph.node(id).label.clone();
        let rules = tables.row_rules.get(&*label).map(Vec::as_slice);
        let is_read_by_row = || {
            let rule = self.context.rules.find(&label).map(|found| found.rule);
            self.context.links.reader_count(id) > FEW_READERS && tables.is_table(&label, rule)
        };
        let changes = match before {
            Some(before) if rules.is_some() || is_read_by_row() => self.changes(id, &before, &after),
            _ => None,
        };
        self.output_changes.set_rows(id, None);
        let Some(changes) = changes else {
            return self.mark_direct_readers(id);
        };
        let rules = rules.unwrap_or_default();
        let mut concerned = LookupSet::default();
        concerned.add(&label, Lookup::Whole);
        for (key, change) in &changes {
            concerned.add(&label, Lookup::Row(key));
            if *change == Change::Changed {
                continue;
            }
            concerned.add(&label, Lookup::Key(key));
            concerned.add(&label, Lookup::Keys);
            for &rule in rules {
                let node = self
                    .context
                    .rules
                    .label(rule, key)
                    .and_then(|label| self.graph.find(label.as_str()));
                node.into_iter().for_each(|node| self.mark_stale(node, &label));
            }
        }
        let concerned = concerned.filter();
        let links = self.context.links;
        for reader in links.readers(id) {
            if self.graph.lookups(reader).is_none_or(|lookups| concerned.matches_any(lookups)) {
                self.mark_stale(reader, &label);
            }
        }
        let set_of_unknown = (0u32..)
            .zip(&tables.by_row)
            .any(|(rule, by_row)| !by_row && self.set_of(rule) == Some(id));
        self.output_changes.set_marked_by_row(id, !set_of_unknown);
        if tables.row_rules.contains_key(&*label) {
            self.output_changes.set_rows(id, Some(changes));
        }
    }

    /// Returns the changed rows between two versions of a table; `None` if there are too many, or a version is no table or missing.
    pub(super) fn changes(&self, id: NodeId, before: &Digest, after: &Digest) -> Option<Vec<(String, Change)>> {
        let label = &*self.graph.node(id).label;
        if leaf(label) == Some(Leaf::Set) {
            return self
                .context
                .leaves
                .set_changes(label, before)
                .filter(|changes| changes.len() <= MOST_CHANGES);
        }
        let blobs = &self.context.shared.blobs;
        let root = |digest: &Digest| blobs.get(digest).ok().flatten();
        let mut changes = Vec::new();
        let count = std::cell::Cell::new(0);
        let fetch = |digest: &Digest| match count.get() <= MOST_CHANGES {
            true => blobs.get(digest).map_err(Unavailable::Broken),
            false => Err(Unavailable::Piece),
        };
        let compared = pages::each_change(&root(before)?, &root(after)?, fetch, |key, change| {
            count.set(count.get() + 1);
            if count.get() <= MOST_CHANGES {
                changes.push((key.to_owned(), change));
            }
        });
        (compared.is_ok() && count.get() <= MOST_CHANGES).then_some(changes)
    }

    /// Marks a node because an input changed.
    pub(super) fn mark_stale(&mut self, reader: NodeId, changed: &Arc<str>) {
        if !self.graph.exists(reader) || self.graph.is_stale(reader) || self.nodes.has_ended(reader) {
            return;
        }
        self.graph.set_stale(reader, true);
        let reason = Reason::InputMoved {
            label: changed.to_string(),
        };
        self.graph
            .with_label(reader, |label| self.emit(&Event::Marked { label, reason: &reason }));
    }

    /// Returns the changed rows of a table or set, if known.
    pub(in crate::build) fn changed_rows(&self, id: NodeId) -> Option<&[(String, Change)]> {
        self.output_changes.rows_of(id)
    }

    /// Returns the items that sets gained and lost, if known and all rules over the set have a node for each item.
    pub(super) fn set_changes(&mut self) -> SetChanges {
        let marked = self.output_changes.take_marked_rows();
        marked.map(|(id, changes)| (self.graph.node(id).label.clone(), changes)).collect()
    }

    /// Whether unmarked nodes over a changed set are unchanged.
    pub(super) fn is_marked_by_row(&self, set: NodeId) -> bool {
        self.output_changes.is_marked_by_row(set) && self.nodes.has_ended(set)
    }
}

/// Returns the sets that a rule reads.
fn sets(rule: &Rule) -> impl Iterator<Item = &SetSpec> {
    let sets = rule.each.iter().chain(&rule.inner).map(|(_, set)| set);
    sets.chain(rule.inputs.iter().filter_map(|input| match &input.from {
        InputFrom::Many { each, .. } | InputFrom::Rows { each, .. } => Some(each),
        InputFrom::Slice { keys, .. } => Some(keys),
        InputFrom::One(_) => None,
    }))
}

/// Returns the label of a set of source files.
fn source_label(set: &SetSpec) -> Option<String> {
    match set {
        SetSpec::Sources(name) => Some(expand::sources_label(name)),
        SetSpec::Glob(pattern) => Some(expand::glob_label(pattern)),
        SetSpec::Node { .. } | SetSpec::List(_) | SetSpec::Asked => None,
    }
}

/// Returns the labels that a rule reads as tables or sets.
fn table_labels(rule: &Rule) -> impl Iterator<Item = &Template> {
    let labels = sets(rule).filter_map(|set| match set {
        SetSpec::Node { label, .. } => Some(label),
        _ => None,
    });
    labels.chain(rule.inputs.iter().filter_map(|input| match &input.from {
        InputFrom::Slice { node, .. } => Some(node),
        _ => None,
    }))
}

/// Whether a rule's nodes exist as long as its set has their rows. The set must be all paths of a set of source files or all keys of a table; with
/// two variables, the second one's set must be the output of a node that exists by the same row.
fn exists_by_row(manifest: &Manifest, rule: &Rule) -> bool {
    let all_keys = |rule: &Rule| match &rule.each {
        Some((
            _,
            SetSpec::Node {
                label,
                row: None,
                field: None,
            },
        )) => label.literal().map(str::to_owned),
        Some((_, set)) => source_label(set),
        None => None,
    };
    let Some(table) = all_keys(rule) else { return rule.each.is_none() };
    match &rule.inner {
        None => true,
        Some((_, SetSpec::Node { label, .. })) => manifest.rules.iter().any(|of| {
            let name = |rule: &Rule| rule.each.as_ref().map(|(name, _)| name.clone());
            of.target == *label && of.inner.is_none() && all_keys(of) == Some(table.clone()) && name(of) == name(rule)
        }),
        Some(_) => false,
    }
}

/// Returns the rules that `wanted` read directly or indirectly, and these, in dependency order.
fn dependency_order(rules: &RuleIndex, wanted: &[u32]) -> Vec<u32> {
    let manifest = rules.manifest();
    let mut by_name: FxHashMap<&str, Vec<u32>> = FxHashMap::default();
    for (number, rule) in (0u32..).zip(&manifest.rules) {
        by_name.entry(target_name(rule)).or_default().push(number);
    }
    let read_by = |number: u32| {
        let rule = rules.rule(number);
        let targets = rule.inputs.iter().filter_map(|input| match &input.from {
            InputFrom::One(target) | InputFrom::Many { target, .. } | InputFrom::Rows { table: target, .. } => Some(target),
            InputFrom::Slice { .. } => None,
        });
        let mut read: Vec<u32> = Vec::new();
        for template in table_labels(rule).chain(targets) {
            match template.literal() {
                Some(label) => read.extend(rules.find(label).map(|found| found.rule)),
                None => {
                    let named = target_of(template).and_then(|name| by_name.get(name)).into_iter().flatten();
                    read.extend(named.copied().filter(|&number| may_produce(rules.rule(number), template)));
                }
            }
        }
        read
    };
    let mut seen = vec![false; manifest.rules.len()];
    let mut order = Vec::new();
    // A rule and its dependencies not visited yet. A chain of rules costs heap, not stack.
    let mut stack: Vec<(u32, Vec<u32>)> = Vec::new();
    for &rule in wanted {
        let mut next = Some(rule);
        loop {
            if let Some(rule) = next.take().filter(|&rule| !std::mem::replace(&mut seen[rule as usize], true)) {
                let mut read = read_by(rule);
                read.reverse();
                stack.push((rule, read));
            }
            match stack.last_mut() {
                None => break,
                Some((_, read)) if !read.is_empty() => next = read.pop(),
                Some(_) => order.extend(stack.pop().map(|(rule, _)| rule)),
            }
        }
    }
    order
}

/// Returns the target name of a template's labels, if it has no variable.
fn target_of(template: &Template) -> Option<&str> {
    match template.pieces.last()? {
        Piece::Text(text) => text.rfind(':').map(|colon| &text[colon + 1..]),
        Piece::Var(_) => None,
    }
}

/// Whether a rule may produce a label of a template.
pub(super) fn may_produce(rule: &Rule, read: &Template) -> bool {
    let head = |template: &Template| match template.pieces.first() {
        Some(Piece::Text(text)) => text.to_string(),
        _ => String::new(),
    };
    let (made, wanted) = (head(&rule.target), head(read));
    target_of(read) == Some(target_name(rule)) && (made.starts_with(&wanted) || wanted.starts_with(&made))
}
