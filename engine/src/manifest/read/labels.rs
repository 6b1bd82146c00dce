//! Templates in a manifest: checks that variables are bound, labels well-formed, and paths within the output folder.

use super::fields::Text;
use super::report::Report;
use crate::manifest::template::{Piece, Template};
use crate::values::codes::ErrorCode;
use crate::values::diagnostic::Diagnostic;
use crate::values::label::Label;
use std::fmt::Write as _;

/// Maximum length of a label or path template, in bytes. Bounds the work of finding the rule that produces a label.
const MAX_LEN: usize = 1000;

/// Parses a template whose variables are among `bound`; `None` after an error.
pub(super) fn template(report: &mut Report<'_>, text: Text<'_>, bound: &[&str]) -> Option<Template> {
    let template = parse_label_template(report, text)?;
    let mut good = true;
    for name in template.variables().filter(|name| !bound.contains(name)) {
        report_unbound(report, text, name, bound);
        good = false;
    }
    good.then_some(template)
}

pub(super) fn parse_label_template(report: &mut Report<'_>, text: Text<'_>) -> Option<Template> {
    if text.text.len() > MAX_LEN {
        let diagnostic = Diagnostic::error(ErrorCode::E_TEMPLATE, format!("this has more than {MAX_LEN} bytes")).hint("shorten it");
        report.error(report.span_in_value(text.span, text.text, 0, 1), diagnostic);
        return None;
    }
    let parsed = Template::parse(text.text);
    if let Err(error) = &parsed {
        let len = text.text[error.at..].find('}').map_or(1, |end| end + 1);
        let span = report.span_in_value(text.span, text.text, error.at, len);
        let hint = "a variable is {name} in lower-case letters, digits and '_'; a brace itself is written twice";
        report.error(span, Diagnostic::error(ErrorCode::E_TEMPLATE, error.message.clone()).hint(hint));
    }
    parsed.ok()
}

/// Parses a label template whose variables are among `bound`.
pub(super) fn parse_bound_label(report: &mut Report<'_>, text: Text<'_>, bound: &[&str]) -> Option<Template> {
    let template = template(report, text, bound)?;
    check_label(report, text, &template).then_some(template)
}

/// Whether every filling of the template with a plain name is a label.
pub(super) fn check_label(report: &mut Report<'_>, text: Text<'_>, template: &Template) -> bool {
    let Err(error) = Label::parse(&fill_with_letters(template)) else {
        return true;
    };
    let at = offset_in_template(template, error.at);
    let span = report.span_in_value(
        text.span,
        text.text,
        at,
        text.text.get(at..).and_then(|rest| rest.chars().next()).map_or(1, char::len_utf8),
    );
    let diagnostic = Diagnostic::error(ErrorCode::E_LABEL, error.message).found(super::source::cut_value(text.text));
    report.error(
        span,
        Diagnostic {
            hint: error.hint,
            ..diagnostic
        },
    );
    false
}

/// Whether every filling with a plain name is a path below the output folder.
pub(super) fn check_path(report: &mut Report<'_>, text: Text<'_>, template: &Template) -> bool {
    let sample = fill_with_letters(template);
    let (at, message, hint) = match path_problem(&sample) {
        Some(problem) => problem,
        None => return true,
    };
    let span = report.span_in_value(text.span, text.text, offset_in_template(template, at), 1);
    report.error(
        span,
        Diagnostic::error(ErrorCode::E_PATH, message)
            .found(super::source::cut_value(text.text))
            .hint(hint),
    );
    false
}

fn path_problem(path: &str) -> Option<(usize, &'static str, &'static str)> {
    const RELATIVE: &str = "write a path below .cortex/out/, such as notes/{doc}.md";
    if path.is_empty() {
        return Some((0, "a path is empty", RELATIVE));
    }
    if path.starts_with(['/', '\\', '~']) || path.as_bytes().get(1) == Some(&b':') {
        return Some((0, "outputs are laid out below .cortex/out/", RELATIVE));
    }
    if let Some((at, _)) = path
        .char_indices()
        .find(|(_, c)| c.is_control() || matches!(c, '\\' | ':' | '*' | '?' | '"' | '<' | '>' | '|'))
    {
        return Some((
            at,
            "a path must not contain this character",
            "use letters, digits, '.', '-', '_' and '/'",
        ));
    }
    let mut at = 0;
    for segment in path.split('/') {
        match segment {
            "" => return Some((at, "a path has an empty segment", RELATIVE)),
            "." | ".." => return Some((at, "a path stays below .cortex/out/", RELATIVE)),
            _ => at += segment.len() + 1,
        }
    }
    None
}

pub(super) fn report_unbound(report: &mut Report<'_>, text: Text<'_>, name: &str, bound: &[&str]) {
    let written = format!("{{{name}}}");
    let at = text.text.find(&written).unwrap_or(0);
    let span = report.span_in_value(text.span, text.text, at, written.len());
    let otherwise = match bound {
        [] => "no variable is bound here; 'each' of the rule binds one".to_owned(),
        bound => format!(
            "bound here: {}",
            bound.iter().map(|name| format!("{{{name}}}")).collect::<Vec<_>>().join(", ")
        ),
    };
    let diagnostic = Diagnostic::error(ErrorCode::E_VARIABLE, format!("the variable {written} is not bound here")).found(written);
    report.report_unknown_name(span, diagnostic, name, bound.iter().copied(), &otherwise);
}

/// Whether a text is valid as the name of a variable.
pub(super) fn is_variable(name: &str) -> bool {
    Template::parse(&format!("{{{name}}}")).is_ok_and(|template| template.variables().eq([name]))
}

pub(super) fn template_as_written(template: &Template) -> String {
    let mut text = String::new();
    for piece in &template.pieces {
        match piece {
            Piece::Text(plain) => text.push_str(&plain.replace('{', "{{").replace('}', "}}")),
            Piece::Var(name) => write!(text, "{{{name}}}").expect("invariant: writing to a string succeeds"),
        }
    }
    text
}

/// Fills every variable with a plain letter.
fn fill_with_letters(template: &Template) -> String {
    template.fill(|_| Some("x")).expect("invariant: every variable is filled")
}

/// Maps an offset in a template's sample to one in its text.
fn offset_in_template(template: &Template, at: usize) -> usize {
    let (mut filled, mut written) = (0, 0);
    for piece in &template.pieces {
        let (short, long) = match piece {
            Piece::Text(text) => (text.len(), text.len() + text.matches(['{', '}']).count()),
            Piece::Var(name) => (1, name.len() + 2),
        };
        if at < filled + short {
            return written + (at - filled).min(long);
        }
        filled += short;
        written += long;
    }
    written + at.saturating_sub(filled)
}
