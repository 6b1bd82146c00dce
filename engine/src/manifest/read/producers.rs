//! `[producer.NAME]`: merging over rulesets, and the producer's own check of its parameters.

use super::fields::{Fields, Item, Text, check_name};
use super::json::{Spans, json, merge};
use super::report::Report;
use super::source::Span;
use crate::manifest::model::ProducerDef;
use crate::seams::producer::{Params, Registry};
use crate::values::diagnostic::Diagnostic;
use serde_json::Value;
use std::collections::{BTreeMap, HashMap};

/// The producer whose parameters stand directly in its table.
const COMMAND: &str = "command";
const KEYS: [&str; 3] = ["uses", "params", "keep"];

/// A producer while files are laid over each other.
#[derive(Default)]
pub(super) struct Draft {
    uses: Option<(String, Span)>,
    params: Params,
    keep: Option<bool>,
    span: Span,
    spans: Spans,
    /// Parameters could not all be read: the producer's own check would complain about what is missing.
    partial: bool,
}

/// The finished producers, sorted by name, and their index by name.
pub(super) struct Producers {
    pub(super) list: Vec<ProducerDef>,
    pub(super) index: HashMap<String, u32>,
    /// Where each was last defined.
    pub(super) spans: Vec<Span>,
}

/// Reads the `[producer]` table of one file over those of earlier files.
pub(super) fn read(report: &mut Report<'_>, producers: Fields<'_, '_>, drafts: &mut BTreeMap<String, Draft>) {
    for (name, item) in producers.entries() {
        let Some(fields) = Fields::of(report, item, "a producer") else {
            continue;
        };
        if check_name(report, name, "a producer") {
            read_one(report, name, fields, drafts.entry(name.text.to_owned()).or_default());
        }
    }
}

fn read_one(report: &mut Report<'_>, name: Text<'_>, fields: Fields<'_, '_>, draft: &mut Draft) {
    draft.span = name.span;
    if let Some(item) = fields.get("uses") {
        match item.text(report, "'uses'") {
            Some(uses) => draft.uses = Some((uses.text.to_owned(), uses.span)),
            None => draft.partial = true,
        }
    }
    draft.keep = fields.boolean(report, "keep").or(draft.keep);
    let mut given = Params::new();
    if let Some(item) = fields.get("params") {
        match Fields::of(report, item, "'params'") {
            Some(params) => params.entries().for_each(|(key, item)| param(report, draft, &mut given, key, item)),
            None => draft.partial = true,
        }
    }
    let command = draft.uses.as_ref().is_some_and(|(uses, _)| uses == COMMAND);
    for (key, item) in fields.entries().filter(|(key, _)| !KEYS.contains(&key.text)) {
        if !command {
            fields.unknown_key(report, key, &KEYS);
        } else if given.contains_key(key.text) {
            let diagnostic = Diagnostic::error("E_DUPLICATE", "this parameter is given twice").hint("remove it here or under 'params'");
            report.error(key.span, diagnostic);
        } else {
            param(report, draft, &mut given, key, item);
        }
    }
    merge(&mut draft.params, given);
}

fn param(report: &mut Report<'_>, draft: &mut Draft, given: &mut Params, key: Text<'_>, item: Item<'_, '_>) {
    match json(report, item, key.text, &mut draft.spans) {
        Some(value) => drop(given.insert(key.text.to_owned(), value)),
        None => draft.partial = true,
    }
}

/// Checks every producer against the registry and the models.
pub(super) fn finish(
    report: &mut Report<'_>,
    drafts: BTreeMap<String, Draft>,
    models: &BTreeMap<String, Params>,
    registry: &Registry,
) -> Producers {
    let mut producers = Producers {
        list: Vec::new(),
        index: HashMap::new(),
        spans: Vec::new(),
    };
    for (name, draft) in drafts {
        check(report, &draft, models, registry);
        producers.index.insert(
            name.clone(),
            u32::try_from(producers.list.len()).expect("invariant: a manifest is below 64 MiB"),
        );
        producers.spans.push(draft.span);
        let uses = draft.uses.map(|(uses, _)| uses).unwrap_or_default();
        producers.list.push(ProducerDef {
            name,
            uses,
            params: draft.params,
            keep: draft.keep.unwrap_or(true),
        });
    }
    producers
}

fn check(report: &mut Report<'_>, draft: &Draft, models: &BTreeMap<String, Params>, registry: &Registry) {
    match &draft.uses {
        None if draft.partial || report.has_syntax_errors() => {}
        None => {
            let diagnostic = Diagnostic::error("E_MISSING", "a producer has no 'uses'").hint("write uses = \"command\" and an argv");
            report.error(draft.span, diagnostic);
        }
        Some((uses, span)) => match registry.get(uses) {
            Some(_) if draft.partial => {}
            Some(producer) => {
                for error in producer.check(&draft.params).err().unwrap_or_default() {
                    let diagnostic = Diagnostic::error("E_PARAM", error.message);
                    report.error(
                        place(draft, &error.param),
                        Diagnostic {
                            hint: error.hint,
                            ..diagnostic
                        },
                    );
                }
            }
            None => {
                let diagnostic = Diagnostic::error("E_UNKNOWN_PRODUCER", "there is no producer of this name to use");
                report.unknown(
                    *span,
                    diagnostic,
                    uses,
                    registry.names(),
                    "'cortex rules show csharp' shows those in use",
                );
            }
        },
    }
    if let Some(Value::String(model)) = draft.params.get("model")
        && model != super::models::BUILT_IN
        && !models.contains_key(model)
    {
        let diagnostic = Diagnostic::error("E_UNKNOWN_MODEL", "there is no model of this name");
        let known = models.keys().map(String::as_str).chain([super::models::BUILT_IN]);
        report.unknown(
            place(draft, "model"),
            diagnostic,
            model,
            known,
            &format!("define it: [model.{}]", super::source::cut(model)),
        );
    }
}

/// The parameter's place, or that of the innermost table around it that is known.
fn place(draft: &Draft, param: &str) -> Span {
    let mut path = param;
    loop {
        if let Some(span) = draft.spans.get(path) {
            return *span;
        }
        match path.rsplit_once('.') {
            Some((outer, _)) => path = outer,
            None => return draft.span,
        }
    }
}
