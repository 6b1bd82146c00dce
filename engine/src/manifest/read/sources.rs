//! `[sources.NAME]`, and globs at any place.

use super::fields::{Fields, Text, check_name};
use super::report::Report;
use super::source::Span;
use crate::manifest::model::SourceSet;
use crate::values::codes::ErrorCode;
use crate::values::diagnostic::Diagnostic;
use std::collections::BTreeMap;

/// Maximum nesting of braces: globset compiles nested alternatives by recursion.
const MAX_BRACES: usize = 16;
/// Maximum length of a glob, in characters.
const MAX_GLOB: usize = 1000;

/// A source set while files are merged: an absent key keeps the earlier value.
#[derive(Default)]
pub(super) struct SourceDraft {
    include: Option<Vec<String>>,
    exclude: Option<Vec<String>>,
    gitignore: Option<bool>,
    span: Span,
}

/// Reads the `[sources]` table of one file over those of earlier files.
pub(super) fn read_sources(report: &mut Report<'_>, sets: Fields<'_, '_>, drafts: &mut BTreeMap<String, SourceDraft>) {
    for (name, item) in sets.entries() {
        let Some(fields) = Fields::from_item(report, item, "a source set") else {
            continue;
        };
        if !check_name(report, name, "a source set") {
            continue;
        }
        fields.report_unknown_keys(report, &["include", "exclude", "gitignore"]);
        let include = globs(report, fields, "include");
        let exclude = globs(report, fields, "exclude");
        let gitignore = fields.boolean(report, "gitignore");
        let draft = drafts.entry(name.text.to_owned()).or_default();
        draft.span = name.span;
        // A wrong value counts as present, so that the reader does not report it as missing, too.
        draft.include = include
            .or_else(|| fields.get("include").map(|_| Vec::new()))
            .or(draft.include.take());
        draft.exclude = exclude.or(draft.exclude.take());
        draft.gitignore = gitignore.or(draft.gitignore);
    }
}

pub(super) fn finish_sources(report: &mut Report<'_>, drafts: BTreeMap<String, SourceDraft>) -> BTreeMap<String, SourceSet> {
    let mut sets = BTreeMap::new();
    for (name, draft) in drafts {
        if draft.include.is_none() && !report.has_syntax_errors() {
            let diagnostic = Diagnostic::error(ErrorCode::E_MISSING, "a source set has no 'include'").hint("write include = [\"**/*.cs\"]");
            report.error(draft.span, diagnostic);
        }
        let set = SourceSet {
            include: draft.include.unwrap_or_default(),
            exclude: draft.exclude.unwrap_or_default(),
            gitignore: draft.gitignore.unwrap_or(true),
        };
        sets.insert(name, set);
    }
    sets
}

fn globs(report: &mut Report<'_>, fields: Fields<'_, '_>, key: &str) -> Option<Vec<String>> {
    let texts = fields.texts(report, key)?;
    let empty = fields
        .get(key)
        .filter(|item| key == "include" && item.value.as_array().is_some_and(|array| array.is_empty()));
    if let Some(item) = empty {
        report.error(
            item.span,
            Diagnostic::error(ErrorCode::E_GLOB, "a source set includes nothing").hint("write include = [\"**/*.cs\"]"),
        );
    }
    let good = texts
        .into_iter()
        .filter(|text| glob(report, *text))
        .map(|text| text.text.to_owned());
    Some(good.collect())
}

pub(super) fn glob(report: &mut Report<'_>, text: Text<'_>) -> bool {
    glob_part(report, text, 0)
}

/// Checks the glob that starts at byte `from` of a string.
pub(super) fn glob_part(report: &mut Report<'_>, whole: Text<'_>, from: usize) -> bool {
    let glob = &whole.text[from..];
    let mut refuse = |code: ErrorCode, message: String, hint: &str, at: usize, len: usize| {
        let span = report.span_in_value(whole.span, whole.text, from + at, len);
        report.error(span, Diagnostic::error(code, message).hint(hint));
        false
    };
    if glob.is_empty() {
        return refuse(
            ErrorCode::E_GLOB,
            "a glob is empty".into(),
            "write '**/*.cs', or '**' for every file",
            0,
            0,
        );
    }
    if glob.chars().nth(MAX_GLOB).is_some() {
        return refuse(
            ErrorCode::E_GLOB,
            format!("a glob has more than {MAX_GLOB} characters"),
            "write several globs",
            0,
            1,
        );
    }
    let drive = glob.as_bytes().get(1) == Some(&b':');
    if glob.starts_with(['/', '\\']) || drive {
        return refuse(
            ErrorCode::E_PATH,
            "a glob is relative to the workspace".into(),
            "remove the beginning",
            0,
            if drive { 2 } else { 1 },
        );
    }
    let mut at = 0;
    for part in glob.split(['/', '{', '}', ',']) {
        if part == ".." {
            return refuse(
                ErrorCode::E_PATH,
                "sources must be inside the workspace".into(),
                "remove '..', or move the workspace up",
                at,
                2,
            );
        }
        at += part.len() + 1;
    }
    let mut depth = 0_usize;
    for (at, c) in glob.char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth > MAX_BRACES {
            return refuse(
                ErrorCode::E_GLOB,
                "a glob nests its braces too deeply".into(),
                "write several globs",
                at,
                1,
            );
        }
    }
    match globset::GlobBuilder::new(glob).literal_separator(true).build() {
        Ok(_) => true,
        Err(error) => refuse(
            ErrorCode::E_GLOB,
            format!("this is not a glob: {}", error.kind()),
            "write a pattern such as '**/*.cs' or 'src/{a,b}/*.txt'",
            0,
            glob.len(),
        ),
    }
}
