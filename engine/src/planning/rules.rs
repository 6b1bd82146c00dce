//! Which rule makes a label: literal targets by hash, templates by target name.

use crate::manifest::model::{Manifest, Rule};
use crate::manifest::template::Vars;
use crate::values::label::Label;
use hashbrown::HashTable;
use rustc_hash::{FxBuildHasher, FxHashMap};
use std::hash::BuildHasher;
use std::sync::Arc;

/// An index over a manifest's rules.
pub struct RuleIndex {
    manifest: Arc<Manifest>,
    /// Numbers of rules without a variable, by their label, which the manifest has.
    literal: HashTable<u32>,
    by_target: FxHashMap<Box<str>, Vec<u32>>,
}

/// A rule and the value of its variable for one label.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Match<'a> {
    /// Index into the manifest's rules.
    pub rule: u32,
    /// Value of the rule's variable, empty for literal rules.
    pub value: &'a str,
}

impl RuleIndex {
    /// Indexes the rules.
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
        Self {
            manifest,
            literal,
            by_target,
        }
    }

    /// The manifest.
    pub fn manifest(&self) -> &Arc<Manifest> {
        &self.manifest
    }

    /// A rule by its number.
    pub fn rule(&self, number: u32) -> &Rule {
        &self.manifest.rules[number as usize]
    }

    /// The rule that makes `label`, if one does. Whether the value is in the rule's set is for the caller to see.
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

    /// The variables of a rule bound to `value`.
    pub fn vars(&self, rule: u32, value: &str) -> Vars {
        match &self.rule(rule).each {
            Some((name, _)) => Vars::from([(name.clone(), Arc::from(crate::values::label::unescape(value)))]),
            None => Vars::new(),
        }
    }

    /// The label of a rule for a value of its variable (not yet escaped).
    pub fn label(&self, rule: u32, value: &str) -> Option<Label> {
        let escaped = crate::values::label::escape(value);
        let text = self.rule(rule).target.fill(|_| Some(&escaped)).ok()?;
        Label::parse(&text).ok()
    }
}

fn hash(label: &str) -> u64 {
    FxBuildHasher.hash_one(label)
}

fn literal_of(manifest: &Manifest, rule: u32) -> &str {
    manifest.rules[rule as usize].target.literal().unwrap_or_default()
}

/// The part of a rule's target template after its last colon (literal by the manifest's checks).
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
