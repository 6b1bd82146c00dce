//! `[workspace]`: the name, the rulesets, and the default set.

use super::fields::{Item, Text};
use super::report::Report;
use super::{Document, refuse_personal};
use crate::values::codes::ErrorCode;
use crate::values::diagnostic::Diagnostic;
use crate::values::pattern::PatternSet;

#[derive(Default)]
pub(super) struct WorkspaceTable {
    pub(super) name: Option<String>,
    pub(super) default: Option<Vec<String>>,
}

impl WorkspaceTable {
    /// Returns these values, with absent ones from an earlier document.
    pub(super) fn or_earlier(self, before: Self) -> Self {
        Self {
            name: self.name.or(before.name),
            default: self.default.or(before.default),
        }
    }
}

pub(super) fn read_workspace(report: &mut Report<'_>, document: &Document<'_>) -> WorkspaceTable {
    let Some(fields) = document.table_of_key(report, "workspace", "'workspace'") else {
        return WorkspaceTable::default();
    };
    for (key, item) in fields.entries() {
        match key.text {
            "name" | "default" => {}
            "rulesets" => drop(item.texts(report, "'rulesets'")),
            _ if refuse_personal(report, key) => {}
            _ => fields.unknown_key(report, key, &["name", "rulesets", "default"]),
        }
    }
    WorkspaceTable {
        name: fields.text(report, "name").and_then(|name| workspace_name(report, name)),
        default: fields.get("default").and_then(|item| default_set(report, item)),
    }
}

fn workspace_name(report: &mut Report<'_>, name: Text<'_>) -> Option<String> {
    let good = !name.text.trim().is_empty() && name.text.chars().count() <= 100 && !name.text.chars().any(char::is_control);
    if !good {
        let hint = "write up to 100 characters on one line";
        report.error(
            name.span,
            Diagnostic::error(ErrorCode::E_NAME, "this cannot be the name of a workspace").hint(hint),
        );
    }
    good.then(|| name.text.to_owned())
}

/// Reads the patterns of `default`, which must be well-formed and start with one that includes targets.
fn default_set(report: &mut Report<'_>, item: Item<'_, '_>) -> Option<Vec<String>> {
    let texts = item.texts(report, "'default'")?;
    let patterns: Vec<String> = texts.iter().map(|pattern| pattern.text.to_owned()).collect();
    let hint = "write patterns, as in default = [\"//types/...:outline\", \"//index:json\"]";
    if patterns.is_empty() {
        let why = Diagnostic::error(ErrorCode::E_LABEL, "the default set has no pattern");
        report.error(item.span, why.hint(hint));
        return None;
    }
    let wrong = PatternSet::parse(&patterns).err().unwrap_or_default();
    for (index, error) in &wrong {
        let why = Diagnostic::error(ErrorCode::E_LABEL, error.message.clone());
        report.error(texts[*index].span, why.hint(error.hint.as_deref().unwrap_or(hint)));
    }
    wrong.is_empty().then_some(patterns)
}
