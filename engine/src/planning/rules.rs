//! Finds the rule that produces a label: literal targets by hash, templates by target name.

use super::expand::{ExpandError, bind_set};
use crate::manifest::model::{Manifest, Rule, SetSpec};
use crate::manifest::template::Vars;
use crate::values::label::{Label, escape, escape_joined, halves, unescape};
use hashbrown::HashTable;
use rustc_hash::{FxBuildHasher, FxHashMap};
use std::borrow::Cow;
use std::hash::BuildHasher;
use std::sync::Arc;

/// An index over a manifest's rules.
pub struct RuleIndex {
    manifest: Arc<Manifest>,
    /// Numbers of rules without a variable, by label; the manifest stores the labels.
    literal: HashTable<u32>,
    by_target: FxHashMap<Box<str>, Vec<u32>>,
}

/// A set and one item of it.
pub type SetMembership<'a> = (Cow<'a, SetSpec>, Arc<str>);

/// A rule and the value of its variable for one label.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Match<'a> {
    /// Index into the manifest's rules.
    pub rule: u32,
    /// Value of the rule's variable; both values with their `#` if it has two; empty for literal rules.
    pub value: &'a str,
}

impl RuleIndex {
    pub fn new(manifest: Arc<Manifest>) -> Self {
        let mut literal: HashTable<u32> = HashTable::with_capacity(manifest.rules.len());
        let mut by_target: FxHashMap<Box<str>, Vec<u32>> = FxHashMap::default();
        for (number, rule) in (0u32..).zip(&manifest.rules) {
            if let Some(label) = rule.target.literal() {
                literal.insert_unique(hash(label), number, |&other| hash(literal_of(&manifest, other)));
            } else {
                by_target.entry(target_name(rule).into()).or_default().push(number);
            }
        }
        // A rule with one variable could match labels of two: the more specific rule goes first.
        for rules in by_target.values_mut() {
            rules.sort_by_key(|&rule| manifest.rules[rule as usize].inner.is_none());
        }
        Self {
            manifest,
            literal,
            by_target,
        }
    }

    pub fn manifest(&self) -> &Arc<Manifest> {
        &self.manifest
    }

    pub fn rule(&self, number: u32) -> &Rule {
        &self.manifest.rules[number as usize]
    }

    /// Returns the rule that produces `label`, if any. The caller checks whether the value is in the rule's set.
    pub fn find<'a>(&self, label: &'a str) -> Option<Match<'a>> {
        if let Some(&rule) = self.literal.find(hash(label), |&rule| literal_of(&self.manifest, rule) == label) {
            return Some(Match { rule, value: "" });
        }
        let target = &label[label.rfind(':')? + 1..];
        self.by_target
            .get(target)?
            .iter()
            .find_map(|&rule| self.rule(rule).target.capture(label).map(|value| Match { rule, value }))
    }

    /// Binds the variables of a rule to `value`, which is escaped as in a label.
    pub fn vars(&self, rule: u32, value: &str) -> Vars {
        bind_vars(self.rule(rule), value)
    }

    /// Returns the label of a rule with one variable for a value (not yet escaped).
    pub fn label(&self, rule: u32, value: &str) -> Option<Label> {
        let escaped = escape(value);
        let text = self.rule(rule).target.fill(|_| Some(&escaped)).ok()?;
        Label::parse(&text).ok()
    }

    /// Returns the label of a rule with two variables for their values (not yet escaped); `None` if they could not be separated again.
    pub fn joined_label(&self, rule: u32, first: &str, second: &str) -> Option<Label> {
        let Rule { target, inner, .. } = self.rule(rule);
        let (inner, _) = inner.as_ref()?;
        let (first, second) = (escape(first), escape_joined(second));
        let text = target.fill(|name| Some(if *name == **inner { &second } else { &first })).ok()?;
        (halves(target.capture(&text)?) == Some((&first, &second))).then_some(())?;
        Label::parse(&text).ok()
    }

    /// Returns the set on which a node's existence depends, and the node's item in it. Fails when a template's text is not a label.
    pub fn membership(&self, rule: u32, vars: &Vars) -> Result<Option<SetMembership<'_>>, ExpandError> {
        let rule = self.rule(rule);
        let value = |name: &Arc<str>| vars.get(name).cloned().unwrap_or_default();
        Ok(match (&rule.each, &rule.inner) {
            (_, Some((name, set))) => Some((Cow::Owned(bind_set(set, vars)?), value(name))),
            (Some((name, set)), None) => Some((Cow::Borrowed(set), value(name))),
            (None, None) => None,
        })
    }
}

/// Returns the variables of a rule for one of its labels.
pub fn vars_of_label(rule: &Rule, label: &str) -> Vars {
    bind_vars(rule, rule.target.capture(label).unwrap_or_default())
}

fn bind_vars(rule: &Rule, value: &str) -> Vars {
    let bind = |name: &Arc<str>, value: &str| (name.clone(), Arc::from(unescape(value)));
    match (&rule.each, &rule.inner) {
        (Some((name, _)), None) => Vars::from([bind(name, value)]),
        (Some((name, _)), Some((inner, _))) => {
            let (first, second) = halves(value).unwrap_or((value, ""));
            Vars::from([bind(name, first), bind(inner, second)])
        }
        (None, _) => Vars::new(),
    }
}

fn hash(label: &str) -> u64 {
    FxBuildHasher.hash_one(label)
}

fn literal_of(manifest: &Manifest, rule: u32) -> &str {
    manifest.rules[rule as usize].target.literal().unwrap_or_default()
}

/// Returns the part of a rule's target template after its last colon (literal by the manifest's checks).
pub fn target_name(rule: &Rule) -> &str {
    rule.target
        .pieces
        .iter()
        .rev()
        .find_map(|piece| match piece {
            crate::manifest::template::Piece::Text(text) => text.rfind(':').map(|colon| &text[colon + 1..]),
            crate::manifest::template::Piece::Var(_) => None,
        })
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::manifest::template::Template;
    use crate::values::digest::Digest;
    use proptest::prelude::*;

    fn rules() -> RuleIndex {
        let template = |text: &str| Template::parse(text).expect("a template");
        let set = |text: &str| SetSpec::Node {
            label: template(text),
            row: None,
            field: None,
        };
        let rule = |target: &str, inner: Option<SetSpec>| Rule {
            target: template(target),
            each: Some(("type".into(), set("//i:types"))),
            inner: inner.map(|set| ("member".into(), set)),
            producer: 0,
            inputs: Vec::new(),
            out: None,
            digest: Digest([0; 32]),
        };
        RuleIndex::new(Arc::new(Manifest {
            rules: vec![
                rule("//types/{type}:outline", None),
                rule("//types/{type}#{member}:outline", Some(set("//types/{type}:members"))),
            ],
            ..Manifest::default()
        }))
    }

    #[test]
    fn the_most_specific_rule_produces_a_label() {
        let rules = rules();
        let found = |label| rules.find(label).map(|found| (found.rule, found.value.to_owned()));
        assert_eq!(found("//types/A:outline"), Some((0, "A".into())));
        assert_eq!(found("//types/A#M(int%3F):outline"), Some((1, "A#M(int%3F)".into())));
        assert_eq!(found("//types/A@C%23/x%23y.cs:outline"), Some((0, "A@C%23/x%23y.cs".into())));
        let vars = rules.vars(1, "A#M(int%3F)");
        assert_eq!((&*vars["type"], &*vars["member"]), ("A", "M(int?)"));
        let (set, item) = rules.membership(1, &vars).expect("labels").expect("a set");
        assert_eq!(
            (
                crate::planning::expand::set_node(&set, &Vars::new()).map(|label| label.map(|label| label.to_string())),
                &*item
            ),
            (Ok(Some("//types/A:members".to_owned())), "M(int?)")
        );
    }

    proptest! {
        #[test]
        fn two_values_are_read_back_from_their_label(first in "[A-Z#/@.%?:]{1,8}", second in "[a-z/%?:*#(),`]{1,8}") {
            let rules = rules();
            if let Some(label) = rules.joined_label(1, &first, &second) {
                let found = rules.find(label.as_str()).expect("a rule");
                prop_assert_eq!(found.rule, 1);
                let vars = rules.vars(1, found.value);
                prop_assert_eq!((&*vars["type"], &*vars["member"]), (first.as_str(), second.as_str()));
            } else {
                prop_assert!(first.split('/').any(|part| matches!(part, "" | "." | ".." | "...")));
            }
        }
    }
}
