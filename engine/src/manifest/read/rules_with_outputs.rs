//! Rules with several outputs. The named target `//docs/{doc}:render` is the tree of all outputs; each output also gets a target
//! `//docs/{doc}:render.NAME`. A change of one output does not rebuild the readers of another.

use super::producers::Producers;
use super::rules::RuleDraft;
use super::sets::{Dependency, Reference};
use crate::manifest::model::{InputFrom, InputSpec, ProducerDef};
use crate::manifest::template::{Piece, Template};
use crate::seams::producer::{Params, Registry};

/// The producer that extracts an entry of a tree: its parameter is the entry's name, its input the role `tree`.
pub const ENTRY: &str = "tree/entry";

/// Adds the rules, and the producers that extract the outputs from the tree.
pub(super) fn add_extracting_rules(drafts: &mut Vec<RuleDraft>, producers: &mut Producers, registry: &Registry) {
    let mut more = Vec::new();
    for draft in drafts.iter() {
        let (Some(producer), Some((target, span))) = (draft.producer, &draft.target) else {
            continue;
        };
        let definition = &producers.list[producer as usize];
        let names = registry
            .get(&definition.uses)
            .map(|implementation| implementation.outputs(&definition.params));
        let owner = definition.name.clone();
        for name in names.unwrap_or_default() {
            let producer = producers.define(
                ProducerDef {
                    name: format!("{owner}.{name}"),
                    uses: ENTRY.to_owned(),
                    params: Params::from_iter([("entry".to_owned(), name.clone().into())]),
                    settings: Params::new(),
                    keep: true,
                },
                *span,
            );
            more.push(RuleDraft {
                target: Some((with_suffix(target, &name), *span)),
                wrong_target: None,
                each: draft.each.clone(),
                inner: draft.inner.clone(),
                producer: Some(producer),
                inputs: vec![InputSpec {
                    role: "tree".into(),
                    from: InputFrom::One(target.clone()),
                    digest_only: false,
                }],
                out: None,
                references: vec![Reference {
                    template: target.clone(),
                    span: *span,
                    need: Dependency::Own,
                }],
                off: draft.off,
            });
        }
    }
    drafts.extend(more);
}

/// Appends `.NAME` to a label.
fn with_suffix(target: &Template, name: &str) -> Template {
    let mut pieces = target.pieces.clone();
    match pieces.last_mut() {
        Some(Piece::Text(text)) => *text = format!("{text}.{name}").into(),
        _ => pieces.push(Piece::Text(format!(".{name}").into())),
    }
    Template { pieces }
}
