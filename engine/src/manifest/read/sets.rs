//! Sets: sources of the items of a rule or an input; also the labels referred to.

use super::fields::{Fields, Item, Text};
use super::labels::{parse_bound_label, template};
use super::report::Report;
use super::source::Span;
use crate::manifest::model::{SetSpec, SourceSet};
use crate::manifest::template::Template;
use crate::values::codes::ErrorCode;
use crate::values::diagnostic::Diagnostic;
use std::collections::BTreeMap;
use toml::de::DeValue;

const FORMS: &str = "write \"sources:NAME\", \"glob:PATTERN\", a label such as \"//index:types\", or an array";

/// A label that a rule refers to.
#[derive(Clone)]
pub(super) struct Reference {
    pub(super) template: Template,
    pub(super) span: Span,
    pub(super) need: Dependency,
}

/// How a rule depends on a label that it refers to.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Dependency {
    /// Every node of the rule needs the node with its own variable.
    Own,
    /// Every node of the rule needs all nodes of the form, over `{item}`.
    All,
    /// A node needs some nodes of the form; only a build determines which.
    Some,
    /// The label must exist, but no node depends on it.
    Named,
    /// A node needs some nodes of the form, but a rule for them is optional: without one, the set of their items is empty.
    Optional,
}

/// Reads the sets at one place of a manifest.
pub(super) struct SetReader<'s> {
    pub(super) sources: &'s BTreeMap<String, SourceSet>,
    pub(super) bound: &'s [&'s str],
    /// How the rule needs the nodes of these sets.
    pub(super) need: Dependency,
}

impl SetReader<'_> {
    /// Reads a set: a string, an array, or a table with `each`, `row` and `field`.
    pub(super) fn any(&self, report: &mut Report<'_>, item: Item<'_, '_>, references: &mut Vec<Reference>) -> Option<SetSpec> {
        if !item.value.is_table() {
            return self.read_plain_set(report, item, references);
        }
        let fields = Fields::from_item(report, item, "a set")?;
        fields.report_unknown_keys(report, &["each", "row", "field"]);
        self.narrowed(report, fields, references)
    }

    /// Reads the set that `each` of a table names, narrowed by its `row` and `field`.
    pub(super) fn narrowed(&self, report: &mut Report<'_>, fields: Fields<'_, '_>, references: &mut Vec<Reference>) -> Option<SetSpec> {
        let row = fields
            .text(report, "row")
            .map(|text| (text.span, template(report, text, self.bound)));
        let field = fields.text(report, "field");
        let Some(each) = fields.get("each") else {
            fields.report_missing(report, "each", FORMS);
            return None;
        };
        let set = self.read_plain_set(report, each, references)?;
        match set {
            SetSpec::Node { label, .. } => {
                let row = match row {
                    Some((_, row)) => Some(row?),
                    None => None,
                };
                Some(SetSpec::Node {
                    label,
                    row,
                    field: field.map(|field| field.text.to_owned()),
                })
            }
            other => {
                if let Some(span) = row.map(|(span, _)| span).or(field.map(|field| field.span)) {
                    let hint = "name a node in 'each', or remove 'row' and 'field'";
                    report.error(
                        span,
                        Diagnostic::error(ErrorCode::E_SET, "only the output of a node has rows and fields").hint(hint),
                    );
                }
                Some(other)
            }
        }
    }

    fn read_plain_set(&self, report: &mut Report<'_>, item: Item<'_, '_>, references: &mut Vec<Reference>) -> Option<SetSpec> {
        match item.value {
            DeValue::Array(_) => {
                let texts = item.texts(report, "an item of a set")?;
                let items: Vec<_> = texts.iter().filter_map(|text| template(report, *text, self.bound)).collect();
                (items.len() == texts.len()).then_some(SetSpec::List(items))
            }
            DeValue::String(text) => self.read_set(report, Text { span: item.span, text }, references),
            _ => {
                item.report_wrong_type(report, "a set", "a string or an array");
                None
            }
        }
    }

    fn read_set(&self, report: &mut Report<'_>, text: Text<'_>, references: &mut Vec<Reference>) -> Option<SetSpec> {
        if let Some(name) = text.text.strip_prefix("sources:") {
            if !self.sources.contains_key(name) {
                let span = report.span_in_value(text.span, text.text, "sources:".len(), name.len());
                let diagnostic = Diagnostic::error(ErrorCode::E_UNKNOWN_SOURCES, "there is no source set of this name");
                let known = self.sources.keys().map(String::as_str);
                report.report_unknown_name(
                    span,
                    diagnostic,
                    name,
                    known,
                    &format!("define it: [sources.{}]", super::source::cut_value(name)),
                );
                return None;
            }
            return Some(SetSpec::Sources(name.to_owned()));
        }
        if let Some(glob) = text.text.strip_prefix("glob:") {
            return super::sources::glob_part(report, text, "glob:".len()).then(|| SetSpec::Glob(glob.to_owned()));
        }
        if text.text.starts_with("//") {
            let label = parse_bound_label(report, text, self.bound)?;
            references.push(Reference {
                template: label.clone(),
                span: text.span,
                need: self.need,
            });
            return Some(SetSpec::Node {
                label,
                row: None,
                field: None,
            });
        }
        report.error(text.span, Diagnostic::error(ErrorCode::E_SET, "this is not a set").hint(FORMS));
        None
    }
}
