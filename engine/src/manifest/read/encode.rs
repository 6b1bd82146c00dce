//! The digest of a rule, which changes only if the rule or its producer's definition changes, and the digest of everything that enters
//! keys.
//!
//! Every field is a tag byte, a length (`u64`, little-endian) and its bytes. Lists and options start with a count. Different rules never
//! have the same encoding.

use crate::manifest::model::{InputFrom, Manifest, OutSpec, ProducerDef, Rule, SetSpec};
use crate::manifest::template::{Piece, Template};
use crate::values::digest::Digest;
use serde_json::Value;
use std::collections::BTreeSet;

const DOMAIN: &str = "cortex rule 1";
const KEYED: &str = "cortex keyed 1";

/// Computes the digest of everything in `rule`, except its own digest and its producer's number, and of the producer.
pub(super) fn digest_of_rule(rule: &Rule, producer: &ProducerDef) -> Digest {
    let mut fields = Encoder(Vec::with_capacity(512));
    fields.hash_text(b'D', DOMAIN);
    fields.template(&rule.target);
    fields.hash_count(rule.each.iter().len());
    if let Some((variable, set)) = &rule.each {
        fields.hash_text(b'v', variable);
        fields.hash_set(set);
    }
    if let Some((variable, set)) = &rule.inner {
        fields.hash_text(b'j', variable);
        fields.hash_set(set);
    }
    fields.hash_text(b'n', &producer.name);
    fields.hash_text(b'u', &producer.uses);
    fields.hash_count(producer.params.len());
    fields.object(&producer.params);
    fields.hash_text(b'k', if producer.keep { "1" } else { "0" });
    fields.hash_count(rule.inputs.len());
    for input in &rule.inputs {
        fields.hash_text(b'r', &input.role);
        fields.hash_text(b'd', if input.digest_only { "1" } else { "0" });
        fields.input(&input.from);
    }
    fields.hash_count(rule.out.iter().len());
    if let Some(OutSpec { path, vars, with_readers }) = &rule.out {
        fields.template(path);
        fields.hash_text(b'w', if *with_readers { "1" } else { "0" });
        fields.hash_count(vars.len());
        for (variable, set) in vars {
            fields.hash_text(b'v', variable);
            fields.hash_set(set);
        }
    }
    Digest::of(&fields.0)
}

/// Computes the digest of everything in a manifest that enters keys: nodes, their inputs, producers and parameters, and source files. It ignores
/// comments, the order of tables, and settings of stores, caches, limits and laid-out files.
pub fn digest_of_keyed_parts(manifest: &Manifest) -> Digest {
    let mut fields = Encoder(Vec::new());
    fields.hash_text(b'D', KEYED);
    fields.hash_count(manifest.sources.len());
    for (name, set) in &manifest.sources {
        fields.hash_text(b's', name);
        for globs in [&set.include, &set.exclude] {
            let globs: BTreeSet<&String> = globs.iter().collect();
            fields.hash_count(globs.len());
            globs.into_iter().for_each(|glob| fields.hash_text(b'g', glob));
        }
        fields.hash_text(b'i', if set.gitignore { "1" } else { "0" });
    }
    let mut rules: Vec<Digest> = manifest
        .rules
        .iter()
        .map(|rule| digest_of_products(rule, &manifest.producers[rule.producer as usize]))
        .collect();
    rules.sort_unstable();
    fields.hash_count(rules.len());
    rules.iter().for_each(|rule| fields.0.extend_from_slice(&rule.0));
    Digest::of(&fields.0)
}

/// Computes the digest of a rule's targets, inputs and producer.
fn digest_of_products(rule: &Rule, producer: &ProducerDef) -> Digest {
    let mut fields = Encoder(Vec::with_capacity(512));
    fields.template(&rule.target);
    for bound in [&rule.each, &rule.inner] {
        fields.hash_count(bound.iter().len());
        if let Some((variable, set)) = bound {
            fields.hash_text(b'v', variable);
            fields.hash_set(set);
        }
    }
    fields.hash_text(b'u', &producer.uses);
    fields.hash_count(producer.params.len());
    fields.object(&producer.params);
    fields.hash_count(rule.inputs.len());
    for input in &rule.inputs {
        fields.hash_text(b'r', &input.role);
        fields.hash_text(b'd', if input.digest_only { "1" } else { "0" });
        fields.input(&input.from);
    }
    Digest::of(&fields.0)
}

struct Encoder(Vec<u8>);

impl Encoder {
    fn hash_text(&mut self, tag: u8, text: &str) {
        self.0.push(tag);
        self.0.extend_from_slice(&(text.len() as u64).to_le_bytes());
        self.0.extend_from_slice(text.as_bytes());
    }

    fn hash_count(&mut self, count: usize) {
        self.0.push(b'#');
        self.0.extend_from_slice(&(count as u64).to_le_bytes());
    }

    fn template(&mut self, template: &Template) {
        self.hash_count(template.pieces.len());
        for piece in &template.pieces {
            match piece {
                Piece::Text(text) => self.hash_text(b't', text),
                Piece::Var(name) => self.hash_text(b'v', name),
            }
        }
    }

    fn hash_set(&mut self, set: &SetSpec) {
        match set {
            SetSpec::Sources(name) => self.hash_text(b'S', name),
            SetSpec::Glob(glob) => self.hash_text(b'G', glob),
            SetSpec::Node { label, row, field } => {
                self.hash_text(b'N', "");
                self.template(label);
                self.hash_count(row.iter().len());
                row.iter().for_each(|row| self.template(row));
                self.hash_count(field.iter().len());
                field.iter().for_each(|field| self.hash_text(b'f', field));
            }
            SetSpec::List(items) => {
                self.hash_text(b'L', "");
                self.hash_count(items.len());
                items.iter().for_each(|item| self.template(item));
            }
            SetSpec::Asked => self.hash_text(b'A', ""),
        }
    }

    fn input(&mut self, from: &InputFrom) {
        match from {
            InputFrom::One(label) => {
                self.hash_text(b'1', "");
                self.template(label);
            }
            InputFrom::Many { each, target } => {
                self.hash_text(b'M', "");
                self.hash_set(each);
                self.template(target);
            }
            InputFrom::Slice { node, keys } => {
                self.hash_text(b'W', "");
                self.template(node);
                self.hash_set(keys);
            }
            InputFrom::Rows { each, table, keys } => {
                self.hash_text(b'R', "");
                self.hash_set(each);
                self.template(table);
                self.hash_set(keys);
            }
        }
    }

    /// Sorts keys by text, in whatever order the map stores them.
    fn object(&mut self, map: &serde_json::Map<String, Value>) {
        let mut entries: Vec<_> = map.iter().collect();
        entries.sort_by_key(|(key, _)| *key);
        for (key, value) in entries {
            self.hash_text(b'p', key);
            self.hash_value(value);
        }
    }

    fn hash_value(&mut self, value: &Value) {
        match value {
            Value::Null => self.hash_text(b'0', ""),
            Value::Bool(value) => self.hash_text(b'b', if *value { "1" } else { "0" }),
            Value::Number(number) => self.hash_text(b'i', &number.to_string()),
            Value::String(text) => self.hash_text(b's', text),
            Value::Array(items) => {
                self.hash_text(b'[', "");
                self.hash_count(items.len());
                items.iter().for_each(|item| self.hash_value(item));
            }
            Value::Object(map) => {
                self.hash_text(b'{', "");
                self.hash_count(map.len());
                self.object(map);
            }
        }
    }
}
