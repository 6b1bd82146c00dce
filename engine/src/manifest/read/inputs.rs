//! The inputs of a rule: one node, one node per item of a set, rows of one table or of one table per item of a set, or a file that a
//! parameter names.

use super::fields::{Fields, Item, Text};
use super::labels::parse_bound_label;
use super::report::Report;
use super::sets::{Dependency, Reference, SetReader};
use crate::manifest::model::{InputFrom, SetSpec, SourceSet};
use crate::manifest::template::{Piece, Template};
use crate::seams::producer::Params;
use crate::values::codes::ErrorCode;
use crate::values::diagnostic::Diagnostic;
use crate::values::label::{Label, escape};
use serde_json::Value;
use std::collections::BTreeMap;

/// Reads the inputs of one rule.
pub(super) struct InputReader<'s> {
    pub(super) sources: &'s BTreeMap<String, SourceSet>,
    /// The variable of the rule, if it has one.
    pub(super) bound: &'s [&'s str],
    /// The set that the rule runs over.
    pub(super) each: Option<&'s SetSpec>,
    /// The parameters of the rule's producer, if they are known.
    pub(super) params: Option<&'s Params>,
}

/// Whether a text is valid as the name of a role.
pub(super) fn is_role(text: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    text.len() <= 100 && text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') && text.chars().all(plain)
}

impl InputReader<'_> {
    /// Reads an input's source and whether only its digest matters; `None` if it is wrong or switched off.
    pub(super) fn read_input(
        &self,
        report: &mut Report<'_>,
        item: Item<'_, '_>,
        references: &mut Vec<Reference>,
    ) -> Option<(InputFrom, bool)> {
        if item.value.is_str() {
            let text = item.text(report, "an input")?;
            return self.read_single(report, text, references).map(|from| (from, false));
        }
        if !item.value.is_table() {
            item.report_wrong_type(report, "an input", "a label or a table");
            return None;
        }
        let fields = Fields::from_item(report, item, "an input")?;
        let first = references.len();
        let on = self.switched_on(report, fields);
        let from = self.read_input_table(report, fields, references);
        if on != Some(true) {
            references[first..]
                .iter_mut()
                .for_each(|reference| reference.need = Dependency::Named);
        }
        let digest = fields.boolean(report, "digest");
        let good = fields.get("digest").is_none() || digest.is_some();
        from.filter(|_| good && on == Some(true))
            .map(|from| (from, digest.unwrap_or(false)))
    }

    fn read_input_table(&self, report: &mut Report<'_>, fields: Fields<'_, '_>, references: &mut Vec<Reference>) -> Option<InputFrom> {
        let has = |key: &str| fields.get(key).is_some();
        if has("table") && has("keys") {
            let fields = Fields {
                what: "a list of rows",
                ..fields
            };
            fields.report_unknown_keys(report, &["table", "each", "row", "field", "keys", "if"]);
            let each = self.sets().narrowed(report, fields, references);
            let table = fields.text(report, "table");
            let table = table.and_then(|text| self.target(report, text).map(|table| (table, text)));
            let keys = fields.get("keys").and_then(|keys| self.sets().any(report, keys, references));
            let (each, (table, text), keys) = (each?, table?, keys?);
            self.mention_all(&each, &table, text, references);
            return Some(InputFrom::Rows { each, table, keys });
        }
        if has("table") {
            let fields = Fields {
                what: "an input of rows",
                ..fields
            };
            fields.report_unknown_keys(report, &["table", "each", "row", "field", "asked", "if"]);
            let node = fields
                .text(report, "table")
                .and_then(|text| self.read_own_template(report, text, references));
            let is_on_request = has("asked") && fields.boolean(report, "asked")?;
            let keys = match is_on_request {
                true => {
                    fields.report_unknown_keys(report, &["table", "asked", "if"]);
                    Some(SetSpec::Asked)
                }
                false => self.sets().narrowed(report, fields, references),
            };
            return Some(InputFrom::Slice { node: node?, keys: keys? });
        }
        if has("each") || has("target") {
            let fields = Fields {
                what: "a list of inputs",
                ..fields
            };
            fields.report_unknown_keys(report, &["each", "row", "field", "target", "digest", "optional", "if"]);
            let each = self.sets().narrowed(report, fields, references);
            let target = fields.required(report, "target", "write target = \"//types/{item}:role\"");
            let target = target.and_then(|text| self.target(report, text).map(|target| (target, text)));
            let optional = has("optional") && fields.boolean(report, "optional")?;
            let (each, (target, text)) = (each?, target?);
            let first = references.len();
            self.mention_all(&each, &target, text, references);
            if optional {
                references[first..]
                    .iter_mut()
                    .for_each(|reference| reference.need = Dependency::Optional);
            }
            return Some(InputFrom::Many { each, target });
        }
        if has("param") {
            fields.report_unknown_keys(report, &["param", "digest", "if"]);
            return self.named_file(report, fields, references);
        }
        fields.report_unknown_keys(report, &["node", "digest", "if"]);
        let text = fields.required(
            report,
            "node",
            "write node = \"//types/{type}:impl\", or each and target, or table and each, or param",
        )?;
        self.read_single(report, text, references)
    }

    /// Returns the workspace file whose path is a parameter of the producer; `null` means no file and no input.
    fn named_file(&self, report: &mut Report<'_>, fields: Fields<'_, '_>, references: &mut Vec<Reference>) -> Option<InputFrom> {
        let param = fields.text(report, "param")?;
        let path = match self.params?.get(param.text) {
            Some(Value::Null) => return None,
            Some(Value::String(path)) => path,
            Some(_) => {
                let hint = "name a parameter of the rule's producer that is the path of a file";
                report.error(
                    param.span,
                    Diagnostic::error(ErrorCode::E_TYPE, "this parameter is not the path of a file").hint(hint),
                );
                return None;
            }
            None => {
                let diagnostic = Diagnostic::error(ErrorCode::E_PARAM, "the rule's producer has no parameter of this name");
                let params = self.params.into_iter().flatten();
                let files = params
                    .filter(|(_, value)| value.is_string() || value.is_null())
                    .map(|(name, _)| name.as_str());
                let otherwise = "give the producer this parameter, the path of a file";
                report.report_unknown_name(param.span, diagnostic, param.text, files, otherwise);
                return None;
            }
        };
        let text = format!("//files/{}:bytes", escape(path));
        if path.is_empty() || Label::parse(&text).is_err() {
            let diagnostic = Diagnostic::error(ErrorCode::E_PATH, "this parameter is not a path below the workspace")
                .found(super::source::cut_value(path));
            report.error(param.span, diagnostic.hint("write a relative path such as \"prompts/semantic.md\""));
            return None;
        }
        let label = Template {
            pieces: vec![Piece::Text(text.into())],
        };
        references.push(Reference {
            template: label.clone(),
            span: param.span,
            need: Dependency::Own,
        });
        Some(InputFrom::One(label))
    }

    fn sets(&self) -> SetReader<'_> {
        SetReader {
            sources: self.sources,
            bound: self.bound,
            need: Dependency::Own,
        }
    }

    fn read_single(&self, report: &mut Report<'_>, text: Text<'_>, references: &mut Vec<Reference>) -> Option<InputFrom> {
        self.read_own_template(report, text, references).map(InputFrom::One)
    }

    fn read_own_template(&self, report: &mut Report<'_>, text: Text<'_>, references: &mut Vec<Reference>) -> Option<Template> {
        let template = parse_bound_label(report, text, self.bound)?;
        references.push(Reference {
            template: template.clone(),
            span: text.span,
            need: Dependency::Own,
        });
        Some(template)
    }

    fn target(&self, report: &mut Report<'_>, text: Text<'_>) -> Option<Template> {
        let bound: Vec<&str> = self.bound.iter().copied().chain(["item"]).collect();
        let target = parse_bound_label(report, text, &bound)?;
        if target.variables().all(|name| name != "item") {
            let diagnostic = Diagnostic::error(ErrorCode::E_VARIABLE, "the target is the same for every item").hint("use {item} in it");
            report.error(text.span, diagnostic);
            return None;
        }
        Some(target)
    }

    /// Records the labels of a list. Literal items give labels of their own.
    fn mention_all(&self, each: &SetSpec, target: &Template, text: Text<'_>, references: &mut Vec<Reference>) {
        let written = match each {
            SetSpec::List(items) if text.text.len() <= 100 && target.variables().eq(["item"]) => {
                items.iter().map(Template::literal).collect::<Option<Vec<_>>>()
            }
            _ => None,
        };
        let Some(items) = written else {
            let every = self.each.is_none_or(|set| set == each);
            let need = if every { Dependency::All } else { Dependency::Some };
            references.push(Reference {
                template: target.clone(),
                span: text.span,
                need,
            });
            return;
        };
        for item in items {
            let label = target
                .fill(|_| Some(item))
                .ok()
                .map(|label| label.replace('{', "{{").replace('}', "}}"));
            if let Some(template) = label.and_then(|label| Template::parse(&label).ok()) {
                references.push(Reference {
                    template,
                    span: text.span,
                    need: Dependency::Own,
                });
            }
        }
    }

    /// Evaluates `if`; `None` if unknown.
    pub(super) fn switched_on(&self, report: &mut Report<'_>, fields: Fields<'_, '_>) -> Option<bool> {
        if fields.get("if").is_none() {
            return Some(true);
        }
        let param = fields.text(report, "if")?;
        match self.params?.get(param.text) {
            None => {
                let diagnostic = Diagnostic::error(ErrorCode::E_PARAM, "the rule's producer has no parameter of this name");
                let params = self.params.into_iter().flatten();
                let switches = params.filter(|(_, value)| value.is_boolean()).map(|(name, _)| name.as_str());
                let otherwise = "give the producer this parameter, true or false";
                report.report_unknown_name(param.span, diagnostic, param.text, switches, otherwise);
                None
            }
            Some(Value::Bool(on)) => Some(*on),
            Some(_) => {
                let hint = "name a parameter of the rule's producer that is true or false";
                report.error(
                    param.span,
                    Diagnostic::error(ErrorCode::E_TYPE, "this parameter is neither true nor false").hint(hint),
                );
                None
            }
        }
    }
}
