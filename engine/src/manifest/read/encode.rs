//! The digest of a rule: it changes only if the rule or its producer's definition changes. Also a digest of everything that enters keys.
//!
//! Every field is a tag byte, a length (`u64`, little-endian) and its bytes; lists and options are counted. Different rules never have the same
//! encoding.

use crate::manifest::model::{InputFrom, Manifest, OutSpec, ProducerDef, Rule, SetSpec};
use crate::manifest::template::{Piece, Template};
use crate::values::digest::Digest;
use serde_json::Value;
use std::collections::BTreeSet;

const DOMAIN: &str = "cortex rule 1";
const KEYED: &str = "cortex keyed 1";

/// Computes the digest of everything in `rule`, except its own digest and its producer's number, and of the producer.
pub(super) fn digest(rule: &Rule, producer: &ProducerDef) -> Digest {
    let mut fields = Encoder(Vec::with_capacity(512));
    fields.text(b'D', DOMAIN);
    fields.template(&rule.target);
    fields.count(rule.each.iter().len());
    if let Some((variable, set)) = &rule.each {
        fields.text(b'v', variable);
        fields.set(set);
    }
    if let Some((variable, set)) = &rule.inner {
        fields.text(b'j', variable);
        fields.set(set);
    }
    fields.text(b'n', &producer.name);
    fields.text(b'u', &producer.uses);
    fields.count(producer.params.len());
    fields.object(&producer.params);
    fields.text(b'k', if producer.keep { "1" } else { "0" });
    fields.count(rule.inputs.len());
    for input in &rule.inputs {
        fields.text(b'r', &input.role);
        fields.text(b'd', if input.digest_only { "1" } else { "0" });
        fields.input(&input.from);
    }
    fields.count(rule.out.iter().len());
    if let Some(OutSpec { path, vars, with_readers }) = &rule.out {
        fields.template(path);
        fields.text(b'w', if *with_readers { "1" } else { "0" });
        fields.count(vars.len());
        for (variable, set) in vars {
            fields.text(b'v', variable);
            fields.set(set);
        }
    }
    Digest::of(&fields.0)
}

/// Computes the digest of everything in a manifest that enters keys: nodes, their inputs, producers and parameters, and source files. It ignores
/// comments, the order of tables, and settings of stores, caches, limits and laid-out files.
pub fn keyed(manifest: &Manifest) -> Digest {
    let mut fields = Encoder(Vec::new());
    fields.text(b'D', KEYED);
    fields.count(manifest.sources.len());
    for (name, set) in &manifest.sources {
        fields.text(b's', name);
        for globs in [&set.include, &set.exclude] {
            let globs: BTreeSet<&String> = globs.iter().collect();
            fields.count(globs.len());
            globs.into_iter().for_each(|glob| fields.text(b'g', glob));
        }
        fields.text(b'i', if set.gitignore { "1" } else { "0" });
    }
    let mut rules: Vec<Digest> = manifest
        .rules
        .iter()
        .map(|rule| made(rule, &manifest.producers[rule.producer as usize]))
        .collect();
    rules.sort_unstable();
    fields.count(rules.len());
    rules.iter().for_each(|rule| fields.0.extend_from_slice(&rule.0));
    Digest::of(&fields.0)
}

/// Computes the digest of a rule's targets, inputs and producer.
fn made(rule: &Rule, producer: &ProducerDef) -> Digest {
    let mut fields = Encoder(Vec::with_capacity(512));
    fields.template(&rule.target);
    for bound in [&rule.each, &rule.inner] {
        fields.count(bound.iter().len());
        if let Some((variable, set)) = bound {
            fields.text(b'v', variable);
            fields.set(set);
        }
    }
    fields.text(b'u', &producer.uses);
    fields.count(producer.params.len());
    fields.object(&producer.params);
    fields.count(rule.inputs.len());
    for input in &rule.inputs {
        fields.text(b'r', &input.role);
        fields.text(b'd', if input.digest_only { "1" } else { "0" });
        fields.input(&input.from);
    }
    Digest::of(&fields.0)
}

struct Encoder(Vec<u8>);

impl Encoder {
    fn text(&mut self, tag: u8, text: &str) {
        self.0.push(tag);
        self.0.extend_from_slice(&(text.len() as u64).to_le_bytes());
        self.0.extend_from_slice(text.as_bytes());
    }

    fn count(&mut self, count: usize) {
        self.0.push(b'#');
        self.0.extend_from_slice(&(count as u64).to_le_bytes());
    }

    fn template(&mut self, template: &Template) {
        self.count(template.pieces.len());
        for piece in &template.pieces {
            match piece {
                Piece::Text(text) => self.text(b't', text),
                Piece::Var(name) => self.text(b'v', name),
            }
        }
    }

    fn set(&mut self, set: &SetSpec) {
        match set {
            SetSpec::Sources(name) => self.text(b'S', name),
            SetSpec::Glob(glob) => self.text(b'G', glob),
            SetSpec::Node { label, row, field } => {
                self.text(b'N', "");
                self.template(label);
                self.count(row.iter().len());
                row.iter().for_each(|row| self.template(row));
                self.count(field.iter().len());
                field.iter().for_each(|field| self.text(b'f', field));
            }
            SetSpec::List(items) => {
                self.text(b'L', "");
                self.count(items.len());
                items.iter().for_each(|item| self.template(item));
            }
            SetSpec::Asked => self.text(b'A', ""),
        }
    }

    fn input(&mut self, from: &InputFrom) {
        match from {
            InputFrom::One(label) => {
                self.text(b'1', "");
                self.template(label);
            }
            InputFrom::Many { each, target } => {
                self.text(b'M', "");
                self.set(each);
                self.template(target);
            }
            InputFrom::Slice { node, keys } => {
                self.text(b'W', "");
                self.template(node);
                self.set(keys);
            }
            InputFrom::Rows { each, table, keys } => {
                self.text(b'R', "");
                self.set(each);
                self.template(table);
                self.set(keys);
            }
        }
    }

    /// Sorts keys by text, whatever order the map keeps.
    fn object(&mut self, map: &serde_json::Map<String, Value>) {
        let mut entries: Vec<_> = map.iter().collect();
        entries.sort_by_key(|(key, _)| *key);
        for (key, value) in entries {
            self.text(b'p', key);
            self.value(value);
        }
    }

    fn value(&mut self, value: &Value) {
        match value {
            Value::Null => self.text(b'0', ""),
            Value::Bool(value) => self.text(b'b', if *value { "1" } else { "0" }),
            Value::Number(number) => self.text(b'i', &number.to_string()),
            Value::String(text) => self.text(b's', text),
            Value::Array(items) => {
                self.text(b'[', "");
                self.count(items.len());
                items.iter().for_each(|item| self.value(item));
            }
            Value::Object(map) => {
                self.text(b'{', "");
                self.count(map.len());
                self.object(map);
            }
        }
    }
}
