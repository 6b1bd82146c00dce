//! Typed reading of TOML tables: each reader reports errors and continues.

use super::report::Report;
use super::source::Span;
use crate::values::codes::ErrorCode;
use crate::values::diagnostic::Diagnostic;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

#[derive(Clone, Copy)]
pub(super) struct Item<'t, 'i> {
    pub(super) span: Span,
    pub(super) value: &'t DeValue<'i>,
}

#[derive(Clone, Copy)]
pub(super) struct Text<'t> {
    pub(super) span: Span,
    pub(super) text: &'t str,
}

#[derive(Clone, Copy)]
pub(super) struct Fields<'t, 'i> {
    pub(super) span: Span,
    /// Its name in messages, such as `a rule`.
    pub(super) what: &'static str,
    pub(super) table: &'t DeTable<'i>,
}

impl<'t, 'i> Item<'t, 'i> {
    pub(super) fn new(file: u32, value: &'t Spanned<DeValue<'i>>) -> Self {
        Self {
            span: Span::new(file, value.span()),
            value: value.get_ref(),
        }
    }

    /// Returns the string, or reports an error.
    pub(super) fn text(self, report: &mut Report<'_>, what: &str) -> Option<Text<'t>> {
        let text = self.value.as_str();
        if text.is_none() {
            self.report_wrong_type(report, what, "a string");
        }
        text.map(|text| Text { span: self.span, text })
    }

    /// Returns the strings of an array; reports all other items.
    pub(super) fn texts(self, report: &mut Report<'_>, what: &str) -> Option<Vec<Text<'t>>> {
        let Some(array) = self.value.as_array() else {
            self.report_wrong_type(report, what, "an array of strings");
            return None;
        };
        Some(
            array
                .iter()
                .filter_map(|item| Item::new(self.span.file, item).text(report, what))
                .collect(),
        )
    }

    /// Reports a value of a wrong type.
    pub(super) fn report_wrong_type(self, report: &mut Report<'_>, what: &str, wanted: &str) {
        // For a number out of its bounds, show the number instead of the type.
        let number = self.value.as_integer().filter(|_| wanted.contains("number"));
        let found = number.map_or(type_name(self.value), |number| number.as_str());
        let message = format!("{what} is {wanted}, not {found}");
        report.error(
            self.span,
            Diagnostic::error(ErrorCode::E_TYPE, message).hint(format!("write {wanted}")),
        );
    }
}

impl<'t, 'i> Fields<'t, 'i> {
    pub(super) fn from_document(file: u32, table: &'t DeTable<'i>) -> Self {
        Self {
            span: Span::new(file, 0..0),
            what: "the manifest",
            table,
        }
    }

    /// Returns the table in `item`, or reports an error.
    pub(super) fn from_item(report: &mut Report<'_>, item: Item<'t, 'i>, what: &'static str) -> Option<Self> {
        let table = item.value.as_table();
        if table.is_none() {
            item.report_wrong_type(report, what, "a table");
        }
        table.map(|table| Self {
            span: item.span,
            what,
            table,
        })
    }

    pub(super) fn get(&self, key: &str) -> Option<Item<'t, 'i>> {
        self.table.get(key).map(|value| Item::new(self.span.file, value))
    }

    /// Iterates over keys with their values, sorted by key.
    pub(super) fn entries(&self) -> impl Iterator<Item = (Text<'t>, Item<'t, 'i>)> + use<'t, 'i> {
        let file = self.span.file;
        let key_of = move |key: &'t Spanned<toml::de::DeString<'i>>| Text {
            span: Span::new(file, key.span()),
            text: key.get_ref(),
        };
        self.table.iter().map(move |(key, value)| (key_of(key), Item::new(file, value)))
    }

    pub(super) fn text(&self, report: &mut Report<'_>, key: &str) -> Option<Text<'t>> {
        self.get(key)?.text(report, &format!("'{key}'"))
    }

    pub(super) fn required(&self, report: &mut Report<'_>, key: &str, hint: &str) -> Option<Text<'t>> {
        if self.get(key).is_none() {
            self.report_missing(report, key, hint);
        }
        self.text(report, key)
    }

    pub(super) fn report_missing(&self, report: &mut Report<'_>, key: &str, hint: &str) {
        if !report.has_syntax_errors() {
            report.error(
                self.span,
                Diagnostic::error(ErrorCode::E_MISSING, format!("{} has no '{key}'", self.what)).hint(hint),
            );
        }
    }

    pub(super) fn texts(&self, report: &mut Report<'_>, key: &str) -> Option<Vec<Text<'t>>> {
        self.get(key)?.texts(report, &format!("'{key}'"))
    }

    pub(super) fn boolean(&self, report: &mut Report<'_>, key: &str) -> Option<bool> {
        let item = self.get(key)?;
        let value = item.value.as_bool();
        if value.is_none() {
            item.report_wrong_type(report, &format!("'{key}'"), "true or false");
        }
        value
    }

    /// Reports every key that is not in `known`.
    pub(super) fn report_unknown_keys(&self, report: &mut Report<'_>, known: &[&str]) {
        for (key, _) in self.entries() {
            if !known.contains(&key.text) {
                self.unknown_key(report, key, known);
            }
        }
    }

    pub(super) fn unknown_key(&self, report: &mut Report<'_>, key: Text<'_>, known: &[&str]) {
        let diagnostic = Diagnostic::error(ErrorCode::E_UNKNOWN_KEY, format!("{} has no key of this name", self.what));
        let otherwise = if known.is_empty() {
            "remove it".to_owned()
        } else {
            format!("its keys are {}", known.join(", "))
        };
        report.report_unknown_name(key.span, diagnostic, key.text, known.iter().copied(), &otherwise);
    }
}

/// Checks the name of a producer, source set, model or role.
pub(super) fn check_name(report: &mut Report<'_>, name: Text<'_>, what: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '/');
    let good = !name.text.is_empty() && name.text.len() <= 100 && name.text.chars().all(plain);
    if !good {
        let hint = "use up to 100 letters, digits, '_', '-', '.' and '/'";
        report.error(
            name.span,
            Diagnostic::error(ErrorCode::E_NAME, format!("this cannot be the name of {what}")).hint(hint),
        );
    }
    good
}

fn type_name(value: &DeValue<'_>) -> &'static str {
    match value {
        DeValue::String(_) => "a string",
        DeValue::Integer(_) | DeValue::Float(_) => "a number",
        DeValue::Boolean(_) => "true or false",
        DeValue::Datetime(_) => "a date",
        DeValue::Array(_) => "an array",
        DeValue::Table(_) => "a table",
    }
}
