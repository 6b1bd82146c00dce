//! Encoding of a checked manifest, so that a text is parsed and checked only once. Does not know where the bytes are stored.

use super::read::Loaded;
use crate::values::digest::Digest;
use crate::values::json;

/// Name of this encoding and of the checks that a manifest has passed: increment it when either changes.
const DOMAIN: &str = "cortex 2026-11 compiled manifest 12";

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

/// Encodes a manifest and its warnings as JSON.
pub fn encode_manifest(loaded: &Loaded) -> Vec<u8> {
    json::encode(loaded)
}

/// Decodes a manifest; `None` if the bytes are not from [`encode_manifest`].
pub fn decode_manifest(bytes: &[u8]) -> Option<Loaded> {
    let loaded: Loaded = serde_json::from_slice(bytes).ok()?;
    let Loaded { manifest, .. } = &loaded;
    let producers = manifest.producers.len();
    manifest
        .rules
        .iter()
        .all(|rule| (rule.producer as usize) < producers)
        .then_some(loaded)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::manifest::model::{InputFrom, InputSpec, Manifest, OutSpec, ProducerDef, Rule, SetSpec, SourceSet, StoreLimits};
    use crate::manifest::remote::{Credential, RemoteDef};
    use crate::manifest::template::{Piece, Template};
    use crate::seams::producer::Params;
    use crate::values::diagnostic::Diagnostic;
    use proptest::collection::{btree_map, vec};
    use proptest::option::of;
    use proptest::prelude::*;
    use std::sync::Arc;

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
            prop_assert_eq!(decode_manifest(&bytes), Some(loaded));
            prop_assert_eq!(decode_manifest(&bytes[..bytes.len() - 1]), None);
            prop_assert_eq!(decode_manifest(&[&bytes[..], &[0]].concat()), None);
        }

        #[test]
        fn damaged_bytes_never_panic(loaded in loaded(), at in any::<prop::sample::Index>(), byte: u8) {
            let mut bytes = encode_manifest(&loaded);
            let at = at.index(bytes.len());
            bytes[at] = byte;
            if let Some(read) = decode_manifest(&bytes) {
                prop_assert!(read.manifest.rules.iter().all(|rule| (rule.producer as usize) < read.manifest.producers.len()));
            }
        }
    }

    #[test]
    fn keys_depend_on_texts_and_registry() {
        let (a, b) = (Digest([1; 32]), Digest([2; 32]));
        let keys = [key(&a, &b), key(&b, &a), key(&a, &a)];
        assert!(keys[0] != keys[1] && keys[0] != keys[2] && keys[1] != keys[2]);
    }
}
