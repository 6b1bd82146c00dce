//! `[producer.NAME]`: merging over rulesets, and the producer's own check of its parameters.

use super::fields::{Fields, Item, Text, check_name};
use super::json::{Spans, json_of_item, merge};
use super::report::Report;
use super::source::Span;
use crate::manifest::model::ProducerDef;
use crate::seams::producer::{Bound, Params, Registry};
use crate::values::codes::ErrorCode;
use crate::values::diagnostic::Diagnostic;
use serde_json::Value;
use std::collections::{BTreeMap, HashMap};

/// The producer whose table contains its parameters directly.
const COMMAND: &str = "command";
const COMMAND_KEYS: [&str; 2] = ["argv", "timeout"];
const KEYS: [&str; 3] = ["uses", "params", "keep"];

/// A producer while files are merged.
#[derive(Default)]
pub(super) struct ProducerDraft {
    uses: Option<(String, Span)>,
    params: Params,
    keep: Option<bool>,
    span: Span,
    spans: Spans,
    keys: HashMap<String, Span>,
    /// Whether some parameters could not be read. The producer's own check would report them as missing.
    partial: bool,
}

impl ProducerDraft {
    /// Creates a producer that no manifest defines.
    pub(super) fn undefined(uses: &str, params: Params, span: Span) -> Self {
        Self {
            uses: Some((uses.to_owned(), span)),
            params,
            span,
            ..Self::default()
        }
    }
}

/// The finished producers, sorted by name, and their index by name.
pub(super) struct Producers {
    pub(super) list: Vec<ProducerDef>,
    pub(super) index: HashMap<String, u32>,
    /// Place of each one's last definition.
    pub(super) spans: Vec<Span>,
    /// Places of each one's parameters; `None` if some could not be read.
    places: Vec<Option<Spans>>,
}

impl Producers {
    /// Whether everything written about the producer could be read.
    pub(super) fn is_whole(&self, producer: u32) -> bool {
        self.places[producer as usize].is_some()
    }

    /// Adds a producer that no manifest names; returns its number.
    pub(super) fn define(&mut self, definition: ProducerDef, span: Span) -> u32 {
        let number = u32::try_from(self.list.len()).expect("invariant: fewer than 2^32 producers");
        self.list.push(definition);
        self.spans.push(span);
        self.places.push(None);
        number
    }

    /// Returns the inputs `{in.ROLE}` named in the arguments of a command, or its shell line, with the place of the argument.
    pub(super) fn named_inputs(&self, producer: u32) -> Vec<(&str, Span)> {
        let definition = &self.list[producer as usize];
        let Some(places) = self.places[producer as usize].as_ref().filter(|_| definition.uses == COMMAND) else {
            return Vec::new();
        };
        let argv = definition.params.get("argv").and_then(Value::as_array).into_iter().flatten();
        let arguments = argv.enumerate().map(|(at, argument)| (format!("argv.{at}"), "argv", argument));
        let shell = definition.params.get("shell").map(|line| ("shell".to_owned(), "shell", line));
        let named = arguments.chain(shell).flat_map(|(place, whole, text)| {
            let span = places.get(&place).or_else(|| places.get(whole)).copied();
            let text = text.as_str().unwrap_or_default();
            let roles = text.split("{in.").skip(1).filter_map(|rest| rest.split_once('}'));
            roles.map(move |(role, _)| (role, span.unwrap_or(self.spans[producer as usize])))
        });
        named.collect()
    }
}

/// Reads the `[producer]` table of one file over those of earlier files.
pub(super) fn read_producers(
    report: &mut Report<'_>,
    producers: Fields<'_, '_>,
    registry: &Registry,
    drafts: &mut BTreeMap<String, ProducerDraft>,
) {
    for (name, item) in producers.entries() {
        let Some(fields) = Fields::from_item(report, item, "a producer") else {
            continue;
        };
        if check_name(report, name, "a producer") {
            read_one(report, name, fields, registry, drafts.entry(name.text.to_owned()).or_default());
        }
    }
}

fn read_one(report: &mut Report<'_>, name: Text<'_>, fields: Fields<'_, '_>, registry: &Registry, draft: &mut ProducerDraft) {
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
        match Fields::from_item(report, item, "'params'") {
            Some(params) => params.entries().for_each(|(key, item)| param(report, draft, &mut given, key, item)),
            None => draft.partial = true,
        }
    }
    let command = draft.uses.as_ref().is_some_and(|(uses, _)| uses == COMMAND);
    // The author may have intended an unknown producer as a command, whose parameters are keys.
    let unsure = !command && draft.uses.as_ref().is_none_or(|(uses, _)| registry.get(uses).is_none());
    for (key, item) in fields.entries().filter(|(key, _)| !KEYS.contains(&key.text)) {
        if unsure && COMMAND_KEYS.contains(&key.text) {
            continue;
        }
        if !command {
            fields.unknown_key(report, key, &KEYS);
        } else if given.contains_key(key.text) {
            let diagnostic =
                Diagnostic::error(ErrorCode::E_DUPLICATE, "this parameter is given twice").hint("remove it here or under 'params'");
            report.error(key.span, diagnostic);
        } else {
            param(report, draft, &mut given, key, item);
        }
    }
    merge(&mut draft.params, given);
}

fn param(report: &mut Report<'_>, draft: &mut ProducerDraft, given: &mut Params, key: Text<'_>, item: Item<'_, '_>) {
    draft.keys.insert(key.text.to_owned(), key.span);
    match json_of_item(report, item, key.text, &mut draft.spans) {
        Some(value) => drop(given.insert(key.text.to_owned(), value)),
        None => draft.partial = true,
    }
}

/// Checks every producer against the registry and the models.
pub(super) fn finish_producers(
    report: &mut Report<'_>,
    drafts: BTreeMap<String, ProducerDraft>,
    models: &BTreeMap<String, Params>,
    registry: &Registry,
) -> Producers {
    let mut producers = Producers {
        list: Vec::new(),
        index: HashMap::new(),
        spans: Vec::new(),
        places: Vec::new(),
    };
    for (name, draft) in drafts {
        check_parameters(report, &draft, models, registry);
        producers.index.insert(
            name.clone(),
            u32::try_from(producers.list.len()).expect("invariant: a manifest is below 64 MiB"),
        );
        producers.spans.push(draft.span);
        producers.places.push((!draft.partial).then_some(draft.spans));
        let uses = draft.uses.map(|(uses, _)| uses).unwrap_or_default();
        let bound = match registry.get(&uses) {
            Some(producer) => producer.bind(&draft.params, models),
            None => Bound {
                params: draft.params,
                ..Bound::default()
            },
        };
        producers.list.push(ProducerDef {
            name,
            uses,
            params: bound.params,
            settings: bound.settings,
            keep: draft.keep.unwrap_or(true),
        });
    }
    producers
}

fn check_parameters(report: &mut Report<'_>, draft: &ProducerDraft, models: &BTreeMap<String, Params>, registry: &Registry) {
    let no_model = unknown_model(report, draft, models);
    match &draft.uses {
        None if draft.partial || report.has_syntax_errors() => {}
        None => {
            let diagnostic =
                Diagnostic::error(ErrorCode::E_MISSING, "a producer has no 'uses'").hint("write uses = \"command\" and an argv");
            report.error(draft.span, diagnostic);
        }
        Some((uses, span)) => match registry.get(uses) {
            Some(_) if draft.partial => {}
            Some(producer) => {
                let errors = producer.check(&draft.params).err().unwrap_or_default();
                // If the model does not exist, the producer's own error about it says nothing new.
                for error in errors.into_iter().filter(|error| !(no_model && error.param == "model")) {
                    let diagnostic = Diagnostic::error(ErrorCode::E_PARAM, error.message);
                    let key = draft.keys.get(&error.param).filter(|_| error.unknown).copied();
                    report.error(
                        key.unwrap_or_else(|| span_of_parameter(draft, &error.param)),
                        Diagnostic {
                            hint: error.hint,
                            ..diagnostic
                        },
                    );
                }
            }
            None => {
                let diagnostic = Diagnostic::error(ErrorCode::E_UNKNOWN_PRODUCER, "there is no producer of this name to use");
                report.report_unknown_name(
                    *span,
                    diagnostic,
                    uses,
                    registry.names(),
                    "'cortex rules show csharp' shows those in use",
                );
            }
        },
    }
}

/// Reports a model that is not defined.
fn unknown_model(report: &mut Report<'_>, draft: &ProducerDraft, models: &BTreeMap<String, Params>) -> bool {
    let Some(Value::String(model)) = draft.params.get("model") else {
        return false;
    };
    let unknown = model != super::models::BUILT_IN && !models.contains_key(model);
    if unknown {
        let diagnostic = Diagnostic::error(ErrorCode::E_UNKNOWN_MODEL, "there is no model of this name");
        let known = models.keys().map(String::as_str).chain([super::models::BUILT_IN]);
        let otherwise = format!(
            "define it as a table [model.NAME], or write model = \"{}\" for the built-in one",
            super::models::BUILT_IN
        );
        report.report_unknown_name(span_of_parameter(draft, "model"), diagnostic, model, known, &otherwise);
    }
    unknown
}

/// Returns the parameter's place, or that of the innermost known table around it.
fn span_of_parameter(draft: &ProducerDraft, param: &str) -> Span {
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
