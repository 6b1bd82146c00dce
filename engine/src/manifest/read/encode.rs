//! The digest of a rule, which changes only if the rule or its producer's definition changes, and the digest of everything that enters
//! keys. Both are digests of JSON; different rules never have the same encoding.

use crate::manifest::model::{Manifest, ProducerDef, Rule};
use crate::seams::producer::Params;
use crate::values::digest::Digest;
use crate::values::json;
use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeSet;

const DOMAIN: &str = "cortex rule 2";
const KEYED: &str = "cortex keyed 2";

/// Computes the digest of everything in `rule`, except its own digest and its producer's number, and of the producer.
pub(super) fn digest_of_rule(rule: &Rule, producer: &ProducerDef) -> Digest {
    let ProducerDef { name, keep, .. } = producer;
    digest_of_json(&(DOMAIN, digest_of_products(rule, producer), name, keep, &rule.out))
}

/// Computes the digest of everything in a manifest that enters keys: nodes, their inputs, producers and parameters, and source files. It ignores
/// comments, the order of tables, and settings of stores, caches, limits and laid-out files.
pub fn digest_of_keyed_parts(manifest: &Manifest) -> Digest {
    let sources = manifest.sources.iter().map(|(name, set)| {
        let [include, exclude] = [&set.include, &set.exclude].map(|globs| globs.iter().collect::<BTreeSet<_>>());
        (name, include, exclude, set.gitignore)
    });
    let sources: Vec<_> = sources.collect();
    let rules = manifest.rules.iter();
    let mut rules: Vec<Digest> = rules
        .map(|rule| digest_of_products(rule, &manifest.producers[rule.producer as usize]))
        .collect();
    rules.sort_unstable();
    digest_of_json(&(KEYED, sources, rules))
}

/// Computes the digest of a rule's targets, inputs and producer.
fn digest_of_products(rule: &Rule, producer: &ProducerDef) -> Digest {
    let (bound, params) = ((&rule.each, &rule.inner), sorted(&producer.params));
    digest_of_json(&(&rule.target, bound, &producer.uses, params, &rule.inputs))
}

/// Returns parameters with their keys sorted, in whatever order the maps store them.
fn sorted(params: &Params) -> Value {
    let mut value = Value::Object(params.clone());
    value.sort_all_objects();
    value
}

fn digest_of_json(value: &impl Serialize) -> Digest {
    Digest::of(&json::encode(value))
}
