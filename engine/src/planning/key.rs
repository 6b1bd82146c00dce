//! Action keys: one description of everything that a result depends on, and two writers of it.
//!
//! [`describe`] walks producer, parameters, variables and inputs once; [`action_key`] feeds it to a BLAKE3 hasher, [`fields`] to a list for
//! `explain`. Neither can contain a field that the other lacks. Encoding: domain-separated (`derive_key`), every field is tag, length (u64
//! little-endian), bytes; lists start with their length, so that no two descriptions share an encoding.

use crate::manifest::template::Vars;
use crate::seams::producer::{Params, ProducerId};
use crate::values::digest::{ActionKey, Digest};

/// One input as the key describes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyInput<'a> {
    pub role: &'a str,
    /// Item of a list input, else empty.
    pub item: &'a str,
    /// Digest of the blob, or of the chosen rows.
    pub digest: Digest,
}

/// Everything a result depends on.
#[derive(Clone, Copy, Debug)]
pub struct KeyDescription<'a> {
    pub producer: &'a ProducerId,
    pub params: &'a Params,
    /// The rule's variables, if the producer sees them.
    pub vars: &'a Vars,
    /// The label, for the few producers that see it.
    pub label: Option<&'a str>,
    /// The inputs, in the order of the rule's roles and their items.
    pub inputs: &'a [KeyInput<'a>],
}

/// Receives the fields of a description in order.
pub trait KeyWriter {
    /// Starts a list of `len` entries of `tag`.
    fn begin_list(&mut self, tag: &'static str, len: usize);
    fn field(&mut self, tag: &'static str, bytes: &[u8]);
    fn digest(&mut self, tag: &'static str, digest: &Digest) {
        self.field(tag, &digest.0);
    }
}

pub fn describe(description: &KeyDescription<'_>, writer: &mut impl KeyWriter) {
    writer.field("producer", description.producer.name.as_bytes());
    writer.field("version", &description.producer.version.to_le_bytes());
    writer.begin_list("params", description.params.len());
    for (name, value) in description.params {
        writer.field("param", name.as_bytes());
        writer.field("value", value.to_string().as_bytes());
    }
    writer.begin_list("vars", description.vars.len());
    for (name, value) in description.vars {
        writer.field("var", name.as_bytes());
        writer.field("value", value.as_bytes());
    }
    writer.begin_list("label", usize::from(description.label.is_some()));
    if let Some(label) = description.label {
        writer.field("label", label.as_bytes());
    }
    writer.begin_list("inputs", description.inputs.len());
    for input in description.inputs {
        writer.field("role", input.role.as_bytes());
        writer.field("item", input.item.as_bytes());
        writer.digest("digest", &input.digest);
    }
}

struct Hashing(blake3::Hasher);

impl KeyWriter for Hashing {
    fn begin_list(&mut self, tag: &'static str, len: usize) {
        self.0
            .update(&[1, tag.len() as u8])
            .update(tag.as_bytes())
            .update(&(len as u64).to_le_bytes());
    }

    fn field(&mut self, tag: &'static str, bytes: &[u8]) {
        self.0
            .update(&[2, tag.len() as u8])
            .update(tag.as_bytes())
            .update(&(bytes.len() as u64).to_le_bytes())
            .update(bytes);
    }
}

pub fn action_key(description: &KeyDescription<'_>) -> ActionKey {
    let mut writer = Hashing(blake3::Hasher::new_derive_key("cortex 2026-11 action key 1"));
    describe(description, &mut writer);
    ActionKey(Digest(*writer.0.finalize().as_bytes()))
}

/// One line of an explained key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyField {
    /// Its name: `producer`, `param model`, `input structure` …
    pub name: &'static str,
    /// Its value, digests in hexadecimal.
    pub value: String,
}

struct Explaining(Vec<KeyField>);

impl KeyWriter for Explaining {
    fn begin_list(&mut self, tag: &'static str, len: usize) {
        self.0.push(KeyField {
            name: tag,
            value: format!("[{len}]"),
        });
    }

    fn field(&mut self, tag: &'static str, bytes: &[u8]) {
        let value = match (tag, <[u8; 4]>::try_from(bytes)) {
            ("version", Ok(bytes)) => u32::from_le_bytes(bytes).to_string(),
            _ => String::from_utf8_lossy(bytes).into_owned(),
        };
        self.0.push(KeyField { name: tag, value });
    }

    fn digest(&mut self, tag: &'static str, digest: &Digest) {
        self.0.push(KeyField {
            name: tag,
            value: digest.to_string(),
        });
    }
}

/// Returns the fields of a description, for people.
pub fn fields(description: &KeyDescription<'_>) -> Vec<KeyField> {
    let mut writer = Explaining(Vec::new());
    describe(description, &mut writer);
    writer.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    #[derive(Clone, Debug, PartialEq)]
    struct Owned {
        producer: ProducerId,
        params: BTreeMap<String, String>,
        vars: BTreeMap<String, String>,
        label: Option<String>,
        inputs: Vec<(String, String, u8)>,
    }

    fn owned() -> impl Strategy<Value = Owned> {
        let text = || "[ab|:]{0,3}";
        (
            (text(), 0u32..3),
            proptest::collection::btree_map(text(), text(), 0..3),
            proptest::collection::btree_map(text(), text(), 0..3),
            proptest::option::of(text()),
            proptest::collection::vec((text(), text(), 0u8..3), 0..4),
        )
            .prop_map(|((name, version), params, vars, label, inputs)| Owned {
                producer: ProducerId { name, version },
                params,
                vars,
                label,
                inputs,
            })
    }

    fn both(owned: &Owned) -> (ActionKey, Vec<KeyField>) {
        let params: Params = owned.params.iter().map(|(k, v)| (k.clone(), v.clone().into())).collect();
        let vars: Vars = owned.vars.iter().map(|(k, v)| (k.as_str().into(), v.as_str().into())).collect();
        let inputs: Vec<KeyInput<'_>> = owned
            .inputs
            .iter()
            .map(|(role, item, byte)| KeyInput {
                role,
                item,
                digest: Digest::of(&[*byte]),
            })
            .collect();
        let description = KeyDescription {
            producer: &owned.producer,
            params: &params,
            vars: &vars,
            label: owned.label.as_deref(),
            inputs: &inputs,
        };
        (action_key(&description), fields(&description))
    }

    proptest! {
        #[test]
        fn keys_are_equal_exactly_when_descriptions_are(a in owned(), b in owned(), nudge in 0usize..6) {
            let ((key_a, fields_a), (key_b, fields_b)) = (both(&a), both(&b));
            prop_assert_eq!(a == b, key_a == key_b);
            prop_assert_eq!(a == b, fields_a == fields_b);
            let mut moved = a.clone();
            match nudge {
                0 => moved.producer.version += 1,
                1 => moved.producer.name.push('a'),
                2 => { moved.params.insert("new".into(), String::new()); }
                3 => { moved.vars.insert("new".into(), String::new()); }
                4 => moved.inputs.push((String::new(), String::new(), 0)),
                _ => moved.label = Some(moved.label.unwrap_or_default() + "x"),
            }
            prop_assert_ne!(both(&moved).0, key_a);
        }
    }

    #[test]
    fn the_encoding_is_pinned() {
        let owned = Owned {
            producer: ProducerId::new("p", 1),
            params: BTreeMap::new(),
            vars: BTreeMap::new(),
            label: None,
            inputs: vec![("r".into(), "i".into(), 0)],
        };
        insta::assert_snapshot!(both(&owned).0, @"7f5d10c6b17286f8bc599773741f2a492605ec24cad2d0ddfc765fb0d8c62f65");
    }
}
