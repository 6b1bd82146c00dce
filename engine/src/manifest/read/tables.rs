//! `[tables]`: data tables of a manifest, whose rows are data for rules: `[pack.core]` is the row `core` of `//manifest/pack:table`.
//!
//! A ruleset (or the manifest) declares the tables and the contents of their rows. The manifest writes the rows, each as a top-level table
//! of that name. Every table becomes one node without inputs. Its rows are the parameters of its producer, and so part of its key; rules
//! depend on the rows that they read. This module does not know the purpose of a table.

use super::fields::{Fields, Item, Text, check_name};
use super::json::{Spans, json_of_item};
use super::report::Report;
use super::rules::RuleDraft;
use super::source::{Span, cut_value};
use super::{Document, PERSONAL, TABLES, producers};
use crate::manifest::template::Template;
use crate::seams::producer::Params;
use crate::values::codes::ErrorCode;
use crate::values::diagnostic::Diagnostic;
use crate::values::label::{Label, escape};
use serde_json::Value;
use std::collections::BTreeMap;
use toml::de::DeValue;

/// The producer that builds a table from its parameters.
const PRODUCER: &str = "table";

/// Kinds of values, as written in `[tables]` and in messages.
const KINDS: [(&str, ValueKind); 5] = [
    ("string", ValueKind::String),
    ("path", ValueKind::Path),
    ("strings", ValueKind::Strings),
    ("integer", ValueKind::Integer),
    ("boolean", ValueKind::Boolean),
];

#[derive(Clone, Copy, PartialEq, Eq)]
enum ValueKind {
    String,
    /// A string that names a file below the root.
    Path,
    Strings,
    Integer,
    Boolean,
}

impl ValueKind {
    fn describe_kind(self) -> &'static str {
        match self {
            Self::String => "a string",
            Self::Path => "a path from the workspace's root, without '.' and '..'",
            Self::Strings => "an array of strings",
            Self::Integer => "a whole number from 0 on",
            Self::Boolean => "true or false",
        }
    }

    fn accepts(self, value: &DeValue<'_>) -> bool {
        match (self, value) {
            (Self::String, DeValue::String(_)) | (Self::Boolean, DeValue::Boolean(_)) => true,
            (Self::Path, DeValue::String(path)) => Label::parse(&format!("//files/{}:bytes", escape(path))).is_ok(),
            (Self::Strings, DeValue::Array(items)) => items.iter().all(|item| item.get_ref().is_str()),
            (Self::Integer, DeValue::Integer(number)) => u64::from_str_radix(number.as_str(), number.radix()).is_ok(),
            _ => false,
        }
    }
}

/// Contents of a row.
#[derive(PartialEq, Eq)]
enum Shape {
    Value(ValueKind),
    Keys(Vec<Key>),
}

#[derive(PartialEq, Eq)]
struct Key {
    name: String,
    kind: ValueKind,
    required: bool,
}

/// A table while files are merged.
struct Declared {
    shape: Shape,
    span: Span,
    rows: BTreeMap<String, (Value, Span)>,
}

#[derive(Default)]
pub(super) struct Tables {
    declared: BTreeMap<String, Declared>,
}

impl Tables {
    /// Reads the declared tables of some files.
    pub(super) fn from_documents(report: &mut Report<'_>, documents: &[Document<'_>]) -> Self {
        let mut tables = Self::default();
        for document in documents {
            let Some(fields) = document.table_of_key(report, "tables", "'tables'") else {
                continue;
            };
            for (name, item) in fields.entries() {
                let shape = read_shape(report, item);
                // Independent rulesets may declare the same table.
                let is_same = |earlier: &Declared| shape.as_ref() == Some(&earlier.shape);
                if tables.declared.get(name.text).is_some_and(is_same) {
                    continue;
                }
                if tables.check_table_name(report, name)
                    && let Some(shape) = shape
                {
                    let (span, rows) = (name.span, BTreeMap::new());
                    tables.declared.insert(name.text.to_owned(), Declared { shape, span, rows });
                }
            }
        }
        tables
    }

    fn check_table_name(&self, report: &mut Report<'_>, name: Text<'_>) -> bool {
        let is_reserved = TABLES.contains(&name.text) || PERSONAL.contains(&name.text);
        if is_reserved || name.text.contains('/') {
            let diagnostic = Diagnostic::error(ErrorCode::E_NAME, "this cannot be the name of a table");
            report.error(
                name.span,
                diagnostic.hint("choose another name without '/'; names of tables of the manifest are reserved"),
            );
            return false;
        }
        if let Some(earlier) = self.declared.get(name.text) {
            let hint = format!("the other is at {}; choose another name", report.place_of(earlier.span));
            report.error(
                name.span,
                Diagnostic::error(ErrorCode::E_DUPLICATE, "this table is declared twice").hint(hint),
            );
            return false;
        }
        check_name(report, name, "a table")
    }

    /// Returns their names, sorted.
    pub(super) fn table_names(&self) -> impl Iterator<Item = &str> {
        self.declared.keys().map(String::as_str)
    }

    /// Reads the rows of one file over those of earlier files; `over`: whether it may replace them.
    pub(super) fn read_rows(&mut self, report: &mut Report<'_>, document: &Document<'_>, over: bool) {
        for (table, declared) in &mut self.declared {
            let Some(item) = document.root_fields().get(table) else { continue };
            let Some(rows) = Fields::from_item(report, item, "a table of rows") else {
                continue;
            };
            for (name, item) in rows.entries() {
                let earlier = declared.rows.get(name.text).filter(|_| !over);
                if let Some((_, earlier)) = earlier {
                    let hint = format!("the other is at {}; remove one of them", report.place_of(*earlier));
                    report.error(
                        name.span,
                        Diagnostic::error(ErrorCode::E_DUPLICATE, "there is a row of this name already").hint(hint),
                    );
                } else if check_row_name(report, table, name)
                    && let Some(value) = declared.shape.read_table_row(report, item)
                {
                    declared.rows.insert(name.text.to_owned(), (value, name.span));
                }
            }
        }
    }

    /// Adds a producer and a rule for every table.
    pub(super) fn finish_tables(self, drafts: &mut BTreeMap<String, producers::ProducerDraft>) -> Vec<TableProducer> {
        let make = |(name, Declared { rows, span, .. }): (String, Declared)| {
            // No producer in a manifest can have this name.
            let producer = format!("table {name}");
            let rows: Params = rows.into_iter().map(|(row, (value, _))| (row, value)).collect();
            drafts.insert(producer.clone(), producers::ProducerDraft::undefined(PRODUCER, rows, span));
            TableProducer { producer, name, span }
        };
        self.declared.into_iter().map(make).collect()
    }
}

pub(super) struct TableProducer {
    producer: String,
    name: String,
    span: Span,
}

impl TableProducer {
    /// Returns the rule that produces its node.
    pub(super) fn rule(&self, producers: &producers::Producers) -> RuleDraft {
        let label = format!("//manifest/{}:table", escape(&self.name));
        let target = Template::parse(&label).expect("invariant: names of tables have no braces");
        RuleDraft {
            target: Some((target, self.span)),
            wrong_target: None,
            each: None,
            inner: None,
            producer: producers.index.get(&self.producer).copied(),
            inputs: Vec::new(),
            out: None,
            references: Vec::new(),
            off: false,
        }
    }
}

/// Whether the name of a row is valid in a label.
fn check_row_name(report: &mut Report<'_>, table: &str, name: Text<'_>) -> bool {
    if !check_name(report, name, "a row") {
        return false;
    }
    let label = Label::parse(&format!("//{table}/{}:table", escape(name.text)));
    if let Err(error) = &label {
        let message = format!("this cannot be the name of a row: {}", error.message);
        report.error(
            name.span,
            Diagnostic::error(ErrorCode::E_NAME, message).hint("write a name such as core or team/core"),
        );
    }
    label.is_ok()
}

/// Reads the declared contents of a row.
fn read_shape(report: &mut Report<'_>, item: Item<'_, '_>) -> Option<Shape> {
    if item.value.is_str() {
        return value_kind(report, item).map(|(kind, _)| Shape::Value(kind));
    }
    let fields = Fields::from_item(report, item, "the contents of a row")?;
    let key = |(name, item): (Text<'_>, Item<'_, '_>)| {
        let (kind, required) = value_kind(report, item)?;
        let name = name.text.to_owned();
        Some(Key { name, kind, required })
    };
    Some(Shape::Keys(fields.entries().filter_map(key).collect()))
}

/// Reads a kind of value, and whether it is required: `"integer?"` is optional.
fn value_kind(report: &mut Report<'_>, item: Item<'_, '_>) -> Option<(ValueKind, bool)> {
    let text = item.text(report, "the contents of a row")?;
    let name = text.text.strip_suffix('?').unwrap_or(text.text);
    let found = KINDS.iter().find(|(known, _)| *known == name);
    if found.is_none() {
        let known = KINDS.map(|(name, _)| name);
        let otherwise = format!("write one of {}; a '?' after it makes it optional", known.join(", "));
        let diagnostic = Diagnostic::error(ErrorCode::E_TYPE, "there is no kind of value of this name").found(cut_value(text.text));
        report.report_unknown_name(text.span, diagnostic, name, known.into_iter(), &otherwise);
    }
    found.map(|(_, kind)| (*kind, name.len() == text.text.len()))
}

impl Shape {
    /// Reads the row as JSON; reports errors.
    fn read_table_row(&self, report: &mut Report<'_>, item: Item<'_, '_>) -> Option<Value> {
        match self {
            Self::Value(kind) => checked_value(report, *kind, item, "a row of this table"),
            Self::Keys(keys) => {
                let fields = Fields::from_item(report, item, "a row of this table")?;
                table_row(report, keys, fields)
            }
        }
    }
}

fn table_row(report: &mut Report<'_>, keys: &[Key], fields: Fields<'_, '_>) -> Option<Value> {
    let names: Vec<&str> = keys.iter().map(|key| key.name.as_str()).collect();
    fields.report_unknown_keys(report, &names);
    let mut row = Params::new();
    let mut whole = true;
    for key in keys {
        match fields.get(&key.name) {
            Some(item) => match checked_value(report, key.kind, item, &format!("'{}'", key.name)) {
                Some(value) => drop(row.insert(key.name.clone(), value)),
                None => whole = false,
            },
            None if key.required => {
                fields.report_missing(report, &key.name, &format!("write {} = {}", key.name, key.kind.describe_kind()));
                whole = false;
            }
            None => {}
        }
    }
    whole.then_some(Value::Object(row))
}

fn checked_value(report: &mut Report<'_>, kind: ValueKind, item: Item<'_, '_>, what: &str) -> Option<Value> {
    if kind.accepts(item.value) {
        return json_of_item(report, item, "", &mut Spans::new());
    }
    match kind {
        // This call reports which item is no string.
        ValueKind::Strings => drop(item.texts(report, what)),
        ValueKind::Integer if item.value.is_integer() => {
            let diagnostic = Diagnostic::error(ErrorCode::E_TYPE, format!("{what} is {}", kind.describe_kind()));
            report.error(item.span, diagnostic.hint("write one such as 8000"));
        }
        ValueKind::Path if item.value.is_str() => {
            let diagnostic = Diagnostic::error(ErrorCode::E_PATH, format!("{what} names no file of the workspace"));
            report.error(item.span, diagnostic.hint(format!("write {}", kind.describe_kind())));
        }
        _ => item.report_wrong_type(report, what, kind.describe_kind()),
    }
    None
}
