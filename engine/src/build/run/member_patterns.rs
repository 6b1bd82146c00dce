//! Roots of rules with two variables: resolves patterns with a `#`.
//!
//! The text before the mark names items of the rule's set, as elsewhere; the text after it names items of each of their inner sets. Patterns
//! without the mark never match such nodes, so that only a request for them builds these sets.

use super::roots::{PatternResolution, SUGGESTIONS, ambiguity_error};
use super::{Run, RunError};
use crate::graph::NodeId;
use crate::manifest::model::SetSpec;
use crate::planning::expand;
use crate::planning::rules::target_name;
use crate::planning::symbol::{Resolution, name_of, resolve, resolve_inner};
use crate::values::label::{escape, escape_joined, unescape};
use crate::values::pattern::Pattern;
use crate::values::suggest::nearest;
use std::borrow::Cow;
use std::collections::BTreeSet;

/// The parts of a pattern before and after its mark.
struct Wanted {
    package: String,
    item: String,
}

impl Wanted {
    fn is_wild(text: &str) -> bool {
        text.contains(['*', '?']) || text.ends_with("...")
    }
}

impl Run<'_> {
    /// Adds the nodes that `pattern` matches under the rule `number`, which has two variables.
    pub(super) fn add_joined_nodes(&mut self, number: u32, pattern: &Pattern, resolution: &mut PatternResolution) -> Result<(), RunError> {
        let rules = self.context.rules;
        let Some((package, item)) = pattern.joined_package() else {
            return Ok(());
        };
        let wanted = Wanted { package, item };
        let Some((_, set)) = &rules.rule(number).each else { return Ok(()) };
        let Some(items) = self.set_items(set)? else {
            resolution.errors.push(self.set_error(set));
            return Ok(());
        };
        resolution.is_open |= self.is_open(set);
        let firsts = self.first_values(number, &wanted, &items, resolution);
        let mut sets: Vec<(String, SetSpec, NodeId)> = Vec::new();
        for first in firsts {
            // The inner set does not depend on the second value.
            let vars = rules.vars(number, &format!("{}#_", escape(&first)));
            if let Ok(Some((set, _))) = rules.membership(number, &vars)
                && let Ok(Some(label)) = expand::set_node(&set, &vars)
            {
                sets.push((first, Cow::into_owned(set), self.graph.intern(label.as_str())));
            }
        }
        let nodes: Vec<NodeId> = sets.iter().map(|(_, _, node)| *node).collect();
        self.settle_all(&nodes)?;
        let one = sets.len() == 1;
        for (first, set, node) in &sets {
            if self.is_stopped() {
                break;
            }
            resolution.is_open |= self.nodes.is_unknown(*node);
            self.known_sets.add_root_set(*node);
            self.blob(*node)?;
            match self.read_set(*node, set)? {
                Some(items) => self.add_inner_nodes(number, &wanted, (first, one), &items, resolution),
                None => resolution.errors.push(self.set_error(set)),
            }
        }
        Ok(())
    }

    /// Returns the matching values of the first variable.
    fn first_values(&self, number: u32, wanted: &Wanted, items: &[String], resolution: &mut PatternResolution) -> Vec<String> {
        let rule = self.context.rules.rule(number);
        let Some(head) = rule.target.pieces.first().and_then(|piece| match piece {
            crate::manifest::template::Piece::Text(text) => text.strip_prefix("//"),
            crate::manifest::template::Piece::Var(_) => None,
        }) else {
            return Vec::new();
        };
        if Wanted::is_wild(&wanted.package) {
            let Ok(pattern) = Pattern::parse(&format!("//{}", wanted.package)) else {
                return Vec::new();
            };
            let fits = |item: &&String| pattern.matches_package(&format!("{head}{}", escape(item)));
            return items.iter().filter(fits).cloned().collect();
        }
        let Some(value) = wanted.package.strip_prefix(head).map(unescape) else {
            return Vec::new();
        };
        let target = target_name(rule);
        let text = |first: &str| format!("//{head}{}#{}:{target}", escape(first), wanted.item);
        match resolve(&value, items) {
            Resolution::One(item) => vec![item.to_owned()],
            Resolution::Many(items) => {
                let labels = items.into_iter().map(text).collect();
                resolution.errors.push(ambiguity_error(&value, &text(&value), labels));
                Vec::new()
            }
            Resolution::None => {
                let near = nearest(&value, items.iter().map(String::as_str), SUGGESTIONS);
                resolution.near.extend(near.iter().map(|first| text(first)));
                Vec::new()
            }
        }
    }

    /// Adds the nodes of the matching items of one inner set. `first.1`: it is the only set, so that short names are allowed.
    fn add_inner_nodes(&mut self, number: u32, wanted: &Wanted, first: (&str, bool), items: &[String], resolution: &mut PatternResolution) {
        let rules = self.context.rules;
        let label = |item: &str| rules.joined_label(number, first.0, item);
        let plain = unescape(&wanted.item);
        let named: BTreeSet<&str> = match resolve_inner(&plain, items) {
            // A `?` may also belong to a nullable type.
            Resolution::One(item) if item == plain || first.1 && !Wanted::is_wild(&wanted.item) => BTreeSet::from([item]),
            _ if Wanted::is_wild(&wanted.item) => {
                let pattern = Pattern::parse(&format!("//{}", wanted.item));
                let fits = |item: &&str| pattern.as_ref().is_ok_and(|pattern| pattern.matches_package(&escape_joined(item)));
                items.iter().map(String::as_str).filter(fits).collect()
            }
            Resolution::Many(items) if first.1 => {
                let labels: Vec<String> = items.iter().filter_map(|item| label(item)).map(|label| label.to_string()).collect();
                let text = label(&plain).map_or_else(|| plain.clone(), |label| label.to_string());
                resolution.errors.push(ambiguity_error(&plain, &text, labels));
                return;
            }
            _ => BTreeSet::new(),
        };
        for label in named.iter().filter_map(|item| label(item)) {
            resolution.nodes.push(self.graph.intern(label.as_str()));
        }
        if named.is_empty() && first.1 {
            // A mistyped name seldom includes its parameters.
            let wanted = name_of(&plain);
            let near = nearest(wanted, items.iter().map(|item| name_of(item)), SUGGESTIONS);
            let matches = near.iter().flat_map(|name| items.iter().filter(move |item| name_of(item) == name));
            resolution
                .near
                .extend(matches.filter_map(|item| label(item)).map(|label| label.to_string()));
        }
    }
}
