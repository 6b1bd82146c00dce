//! Encoding of a checked manifest, so that a text is parsed and checked only once. Does not know where the bytes are stored.
//!
//! Numbers are LEB128, texts a length and UTF-8, lists a count and their items, options a list of at most one item. The encoder writes a
//! shared text (a role, a variable) once, and then refers to it by number. Parameters and warnings are JSON, because they are few and have
//! any shape. Bytes that cannot be decoded completely count as absent. The decoder reserves memory only for bytes that exist.

use super::model::{InputFrom, InputSpec, Manifest, OutSpec, ProducerDef, Rule, SetSpec, SourceSet};
use super::read::Loaded;
use super::template::{Piece, Template};
use crate::seams::producer::Params;
use crate::values::digest::Digest;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// Name of this encoding and of the checks that a manifest has passed: increment it when either changes.
const DOMAIN: &str = "cortex 2026-11 compiled manifest 10";

/// Returns the key of a manifest: digest of its texts, digest of the registry it was checked against, and the encoding.
pub fn key(texts: &Digest, registry: &Digest) -> Vec<u8> {
    let mut hasher = blake3::Hasher::new_derive_key(DOMAIN);
    hasher
        .update(&texts.0)
        .update(&registry.0)
        .update(env!("CARGO_PKG_VERSION").as_bytes());
    hasher.finalize().as_bytes().to_vec()
}

/// Row key of the manifest before the present one; only `explain` reads it.
pub const BEFORE: &[u8] = b"before";

/// Encodes a manifest and its warnings.
pub fn encode_manifest(loaded: &Loaded) -> Vec<u8> {
    let mut out = Encoder::default();
    let Manifest {
        name,
        default,
        sources,
        producers,
        rules,
        models,
        store,
        remote,
    } = &loaded.manifest;
    out.write_json(&loaded.warnings);
    out.write_text(name);
    out.write_json(default);
    out.write_json(store);
    out.write_json(remote);
    out.encode_list(sources.len(), sources.iter(), |out, (name, set)| {
        out.write_text(name);
        out.encode_list(set.include.len(), &set.include, |out, glob| out.write_text(glob));
        out.encode_list(set.exclude.len(), &set.exclude, |out, glob| out.write_text(glob));
        out.flag(set.gitignore);
    });
    out.encode_list(models.len(), models.iter(), |out, (name, model)| {
        out.write_text(name);
        out.write_json(model);
    });
    out.encode_list(producers.len(), producers, |out, producer| {
        out.write_text(&producer.name);
        out.write_text(&producer.uses);
        out.write_json(&producer.params);
        out.write_json(&producer.settings);
        out.flag(producer.keep);
    });
    out.encode_list(rules.len(), rules, Encoder::rule);
    out.bytes
}

/// Decodes a manifest; `None` if the bytes are not from [`encode_manifest`].
pub fn decode(bytes: &[u8]) -> Option<Loaded> {
    let mut from = Decoder {
        rest: bytes,
        shared: Vec::new(),
    };
    let warnings = from.read_json()?;
    let name = from.read_text()?.to_owned();
    let default = from.read_json()?;
    let store = from.read_json()?;
    let remote = from.read_json()?;
    let sources = from.decode_list(|from| {
        let name = from.read_text()?.to_owned();
        let include = from.decode_list(|from| from.read_text().map(str::to_owned))?;
        let exclude = from.decode_list(|from| from.read_text().map(str::to_owned))?;
        Some((
            name,
            SourceSet {
                include,
                exclude,
                gitignore: from.flag()?,
            },
        ))
    })?;
    let models: Vec<(String, Params)> = from.decode_list(|from| Some((from.read_text()?.to_owned(), from.read_json()?)))?;
    let producers = from.decode_list(|from| {
        let (name, uses) = (from.read_text()?.to_owned(), from.read_text()?.to_owned());
        Some(ProducerDef {
            name,
            uses,
            params: from.read_json()?,
            settings: from.read_json()?,
            keep: from.flag()?,
        })
    })?;
    let rules = from.decode_list(|from| from.rule().filter(|rule| (rule.producer as usize) < producers.len()))?;
    let manifest = Manifest {
        name,
        default,
        store,
        remote,
        sources: BTreeMap::from_iter(sources),
        producers,
        rules,
        models: BTreeMap::from_iter(models),
    };
    from.rest.is_empty().then_some(Loaded { manifest, warnings })
}

#[derive(Default)]
struct Encoder {
    bytes: Vec<u8>,
    shared: HashMap<Arc<str>, usize>,
}

impl Encoder {
    fn write_number(&mut self, mut number: usize) {
        while number >= 0x80 {
            self.bytes.push((number & 0x7f) as u8 | 0x80);
            number >>= 7;
        }
        self.bytes.push(number as u8);
    }

    fn flag(&mut self, flag: bool) {
        self.bytes.push(u8::from(flag));
    }

    fn write_text(&mut self, text: &str) {
        self.write_number(text.len());
        self.bytes.extend_from_slice(text.as_bytes());
    }

    /// Writes 0 and the text the first time; afterwards its number, counted from 1.
    fn shared(&mut self, text: &Arc<str>) {
        if let Some(&number) = self.shared.get(text) {
            return self.write_number(number);
        }
        self.shared.insert(text.clone(), self.shared.len() + 1);
        self.write_number(0);
        self.write_text(text);
    }

    fn write_json(&mut self, value: &impl Serialize) {
        let json = serde_json::to_string(value).expect("invariant: parameters and diagnostics have text keys");
        self.write_text(&json);
    }

    fn encode_list<T>(&mut self, len: usize, items: impl IntoIterator<Item = T>, mut item: impl FnMut(&mut Self, T)) {
        self.write_number(len);
        items.into_iter().for_each(|each| item(self, each));
    }

    fn rule(&mut self, rule: &Rule) {
        let Rule {
            target,
            each,
            inner,
            producer,
            inputs,
            out,
            digest,
        } = rule;
        self.template(target);
        self.encode_list(each.iter().len(), each, Self::binding);
        self.encode_list(inner.iter().len(), inner, Self::binding);
        self.write_number(*producer as usize);
        self.encode_list(inputs.len(), inputs, |to, InputSpec { role, from, digest_only }| {
            to.shared(role);
            to.flag(*digest_only);
            to.input(from);
        });
        self.encode_list(out.iter().len(), out, |to, OutSpec { path, vars, with_readers }| {
            to.template(path);
            to.encode_list(vars.len(), vars, Self::binding);
            to.flag(*with_readers);
        });
        self.bytes.extend_from_slice(&digest.0);
    }

    fn binding(&mut self, (variable, set): &(Arc<str>, SetSpec)) {
        self.shared(variable);
        self.write_set(set);
    }

    fn template(&mut self, template: &Template) {
        self.encode_list(template.pieces.len(), &template.pieces, |to, piece| {
            let (tag, text) = match piece {
                Piece::Text(text) => (0, text),
                Piece::Var(name) => (1, name),
            };
            to.write_number(text.len() << 1 | tag);
            to.bytes.extend_from_slice(text.as_bytes());
        });
    }

    fn write_set(&mut self, set: &SetSpec) {
        match set {
            SetSpec::Sources(name) => {
                self.write_number(0);
                self.write_text(name);
            }
            SetSpec::Glob(glob) => {
                self.write_number(1);
                self.write_text(glob);
            }
            SetSpec::Node { label, row, field } => {
                self.write_number(2);
                self.template(label);
                self.encode_list(row.iter().len(), row, Self::template);
                self.encode_list(field.iter().len(), field, |to, field| to.write_text(field));
            }
            SetSpec::List(items) => {
                self.write_number(3);
                self.encode_list(items.len(), items, Self::template);
            }
            SetSpec::Asked => self.write_number(4),
        }
    }

    fn input(&mut self, from: &InputFrom) {
        match from {
            InputFrom::One(label) => {
                self.write_number(0);
                self.template(label);
            }
            InputFrom::Many { each, target } => {
                self.write_number(1);
                self.write_set(each);
                self.template(target);
            }
            InputFrom::Slice { node, keys } => {
                self.write_number(2);
                self.template(node);
                self.write_set(keys);
            }
            InputFrom::Rows { each, table, keys } => {
                self.write_number(3);
                self.write_set(each);
                self.template(table);
                self.write_set(keys);
            }
        }
    }
}

struct Decoder<'a> {
    rest: &'a [u8],
    shared: Vec<Arc<str>>,
}

impl<'a> Decoder<'a> {
    fn byte(&mut self) -> Option<u8> {
        let (&byte, rest) = self.rest.split_first()?;
        self.rest = rest;
        Some(byte)
    }

    fn read_number(&mut self) -> Option<usize> {
        let mut number = 0_u64;
        for shift in (0..63).step_by(7) {
            let byte = self.byte()?;
            number |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return usize::try_from(number).ok();
            }
        }
        None
    }

    fn flag(&mut self) -> Option<bool> {
        match self.byte()? {
            0 => Some(false),
            1 => Some(true),
            _ => None,
        }
    }

    fn next_text(&mut self, len: usize) -> Option<&'a str> {
        let (text, rest) = self.rest.split_at_checked(len)?;
        self.rest = rest;
        std::str::from_utf8(text).ok()
    }

    fn read_text(&mut self) -> Option<&'a str> {
        let len = self.read_number()?;
        self.next_text(len)
    }

    fn shared(&mut self) -> Option<Arc<str>> {
        match self.read_number()?.checked_sub(1) {
            Some(known) => self.shared.get(known).cloned(),
            None => {
                let text: Arc<str> = self.read_text()?.into();
                self.shared.push(text.clone());
                Some(text)
            }
        }
    }

    fn read_json<T: DeserializeOwned>(&mut self) -> Option<T> {
        serde_json::from_str(self.read_text()?).ok()
    }

    fn decode_list<T>(&mut self, mut item: impl FnMut(&mut Self) -> Option<T>) -> Option<Vec<T>> {
        let count = self.read_number()?;
        // Every item takes at least one byte. Never reserve more than that allows, however large an item is in memory.
        let mut items = Vec::with_capacity(count.min(self.rest.len() / size_of::<T>().max(1) + 4));
        for _ in 0..count {
            items.push(item(self)?);
        }
        Some(items)
    }

    fn option<T>(&mut self, mut item: impl FnMut(&mut Self) -> Option<T>) -> Option<Option<T>> {
        Some(if self.flag()? { Some(item(self)?) } else { None })
    }

    fn rule(&mut self) -> Option<Rule> {
        let target = self.template()?;
        let each = self.option(Self::binding)?;
        let inner = self.option(Self::binding)?;
        let producer = u32::try_from(self.read_number()?).ok()?;
        let inputs = self.decode_list(|from| {
            let role = from.shared()?;
            let digest_only = from.flag()?;
            Some(InputSpec {
                role,
                from: from.input()?,
                digest_only,
            })
        })?;
        let out = self.option(|from| {
            Some(OutSpec {
                path: from.template()?,
                vars: from.decode_list(Self::binding)?,
                with_readers: from.flag()?,
            })
        })?;
        let (digest, rest) = self.rest.split_first_chunk::<32>()?;
        self.rest = rest;
        Some(Rule {
            target,
            each,
            inner,
            producer,
            inputs,
            out,
            digest: Digest(*digest),
        })
    }

    fn binding(&mut self) -> Option<(Arc<str>, SetSpec)> {
        Some((self.shared()?, self.read_set()?))
    }

    fn template(&mut self) -> Option<Template> {
        let pieces = self.decode_list(|from| {
            let number = from.read_number()?;
            let text = from.next_text(number >> 1)?.into();
            Some(if number & 1 == 0 { Piece::Text(text) } else { Piece::Var(text) })
        })?;
        Some(Template { pieces })
    }

    fn read_set(&mut self) -> Option<SetSpec> {
        Some(match self.read_number()? {
            0 => SetSpec::Sources(self.read_text()?.to_owned()),
            1 => SetSpec::Glob(self.read_text()?.to_owned()),
            2 => {
                let (label, row) = (self.template()?, self.option(Self::template)?);
                SetSpec::Node {
                    label,
                    row,
                    field: self.option(|from| from.read_text().map(str::to_owned))?,
                }
            }
            3 => SetSpec::List(self.decode_list(Self::template)?),
            4 => SetSpec::Asked,
            _ => return None,
        })
    }

    fn input(&mut self) -> Option<InputFrom> {
        Some(match self.read_number()? {
            0 => InputFrom::One(self.template()?),
            1 => InputFrom::Many {
                each: self.read_set()?,
                target: self.template()?,
            },
            2 => InputFrom::Slice {
                node: self.template()?,
                keys: self.read_set()?,
            },
            3 => InputFrom::Rows {
                each: self.read_set()?,
                table: self.template()?,
                keys: self.read_set()?,
            },
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::manifest::model::StoreLimits;
    use crate::manifest::remote::{Credential, RemoteDef};
    use crate::values::diagnostic::Diagnostic;
    use proptest::collection::{btree_map, vec};
    use proptest::option::of;
    use proptest::prelude::*;

    fn template() -> impl Strategy<Value = Template> {
        let piece = prop_oneof![
            ".{0,6}".prop_map(|text| Piece::Text(text.into())),
            "[a-z]{1,3}".prop_map(|name| Piece::Var(name.into()))
        ];
        vec(piece, 0..4).prop_map(|pieces| Template { pieces })
    }

    fn set() -> impl Strategy<Value = SetSpec> {
        prop_oneof![
            ".{0,4}".prop_map(SetSpec::Sources),
            ".{0,4}".prop_map(SetSpec::Glob),
            (template(), of(template()), of(".{0,4}")).prop_map(|(label, row, field)| SetSpec::Node { label, row, field }),
            vec(template(), 0..3).prop_map(SetSpec::List),
            Just(SetSpec::Asked),
        ]
    }

    fn binding() -> impl Strategy<Value = (Arc<str>, SetSpec)> {
        ("[a-c]", set()).prop_map(|(name, set)| (name.into(), set))
    }

    fn input() -> impl Strategy<Value = InputSpec> {
        let from = prop_oneof![
            template().prop_map(InputFrom::One),
            (set(), template()).prop_map(|(each, target)| InputFrom::Many { each, target }),
            (template(), set()).prop_map(|(node, keys)| InputFrom::Slice { node, keys }),
            (set(), template(), set()).prop_map(|(each, table, keys)| InputFrom::Rows { each, table, keys }),
        ];
        ("[a-c]{1,2}", from, any::<bool>()).prop_map(|(role, from, digest_only)| InputSpec {
            role: role.into(),
            from,
            digest_only,
        })
    }

    fn rule() -> impl Strategy<Value = Rule> {
        let out = (template(), vec(binding(), 0..2), proptest::bool::ANY);
        let out = out.prop_map(|(path, vars, with_readers)| OutSpec { path, vars, with_readers });
        (
            template(),
            (of(binding()), of(binding())),
            0..2_u32,
            vec(input(), 0..3),
            of(out),
            any::<[u8; 32]>(),
        )
            .prop_map(|(target, (each, inner), producer, inputs, out, digest)| Rule {
                target,
                each,
                inner,
                producer,
                inputs,
                out,
                digest: Digest(digest),
            })
    }

    fn loaded() -> impl Strategy<Value = Loaded> {
        let params = || {
            btree_map(
                "[a-z]{1,3}",
                prop_oneof![any::<i64>().prop_map(Into::into), ".{0,5}".prop_map(serde_json::Value::from)],
                0..3,
            )
        };
        let params = move || params().prop_map(Params::from_iter);
        let source = (vec(".{0,4}", 0..3), vec(".{0,4}", 0..2), any::<bool>()).prop_map(|(include, exclude, gitignore)| SourceSet {
            include,
            exclude,
            gitignore,
        });
        let producer =
            ("[a-z]{1,3}", "[a-z/]{1,5}", params(), params(), any::<bool>()).prop_map(|(name, uses, params, settings, keep)| ProducerDef {
                name,
                uses,
                params,
                settings,
                keep,
            });
        let warning =
            (".{0,9}", any::<u32>()).prop_map(|(text, line)| Diagnostic::warning("W_UNUSED", text.clone()).at(text, line, 1).hint("so"));
        let parts = (
            ".{0,9}",
            btree_map(".{0,3}", source, 0..3),
            vec(producer, 2..4),
            vec(rule(), 0..6),
            btree_map(".{0,3}", params(), 0..3),
            vec(warning, 0..3),
        );
        parts.prop_map(|(name, sources, producers, rules, models, warnings)| Loaded {
            manifest: Manifest {
                store: StoreLimits {
                    max_size: Some(7),
                    ..StoreLimits::default()
                },
                remote: Some(RemoteDef {
                    endpoint: name.clone(),
                    credential: Some(Credential::Helper(vec![name.clone()])),
                    ..RemoteDef::default()
                }),
                default: vec![name.clone()],
                name,
                sources,
                producers,
                rules,
                models,
            },
            warnings,
        })
    }

    proptest! {
        #[test]
        fn a_manifest_round_trips(loaded in loaded()) {
            let bytes = encode_manifest(&loaded);
            prop_assert_eq!(decode(&bytes), Some(loaded));
            prop_assert_eq!(decode(&bytes[..bytes.len() - 1]), None);
            prop_assert_eq!(decode(&[&bytes[..], &[0]].concat()), None);
        }

        #[test]
        fn damaged_bytes_never_panic(loaded in loaded(), at in any::<prop::sample::Index>(), byte: u8) {
            let mut bytes = encode_manifest(&loaded);
            let at = at.index(bytes.len());
            bytes[at] = byte;
            if let Some(read) = decode(&bytes) {
                prop_assert!(read.manifest.rules.iter().all(|rule| (rule.producer as usize) < read.manifest.producers.len()));
            }
        }
    }

    #[test]
    fn a_false_count_reserves_no_memory() {
        let mut bytes = b"\x02[]\x00".to_vec();
        bytes.extend_from_slice(&[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f]);
        assert_eq!(decode(&bytes), None);
    }

    #[test]
    fn keys_depend_on_texts_and_registry() {
        let (a, b) = (Digest([1; 32]), Digest([2; 32]));
        let keys = [key(&a, &b), key(&b, &a), key(&a, &a)];
        assert!(keys[0] != keys[1] && keys[0] != keys[2] && keys[1] != keys[2]);
    }
}
