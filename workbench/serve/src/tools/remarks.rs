//! Remarks of an answer, and failures, as a model reads them.

use super::definitions::tool_name;
use engine::values::codes::ErrorCode;
use engine::values::diagnostic::{Diagnostic, Severity};
use methods::catalog::MethodEntry;
use methods::failed::Failed;
use methods::render::{Style, diagnostic, printable};
use serde_json::Value;

/// Limit of remarks per answer, and of candidates per remark.
const REMARKS: usize = 20;

/// Counts the remarks about the repository as a whole in one remark, because `status` has them.
pub fn without_repository(entry: &MethodEntry, diagnostics: Vec<Diagnostic>) -> Vec<Diagnostic> {
    let codes = [
        ErrorCode::CS_PARSE_PARTIAL,
        ErrorCode::CS_PACK_BUDGET,
        ErrorCode::CS_PACK_EMPTY,
        ErrorCode::CS_PACK_NOTHING,
    ];
    let is_of_repository = |one: &Diagnostic| {
        let is_about_what_was_asked = codes.iter().any(|code| one.code == *code);
        one.severity != Severity::Error && one.code.starts_with("CS-") && !is_about_what_was_asked
    };
    if tool_name(entry).starts_with("status") || tool_name(entry).starts_with("doctor") {
        return diagnostics;
    }
    let (of_repository, mut diagnostics): (Vec<Diagnostic>, Vec<Diagnostic>) = diagnostics.into_iter().partition(is_of_repository);
    if !of_repository.is_empty() {
        let words = match of_repository.len() {
            1 => "1 remark".to_owned(),
            several => format!("{several} remarks"),
        };
        let message = format!("{words} about the repository as a whole: ask `status` with op = \"doctor\"");
        diagnostics.push(Diagnostic::new(Severity::Note, ErrorCode::N_REPOSITORY, message));
    }
    diagnostics
}

/// Formats a failure for a model: the error, candidates, what to do next.
pub fn failure_text(entry: &MethodEntry, failed: &Failed, diagnostics: &[Diagnostic]) -> String {
    if failed.diagnostics.is_empty() && diagnostics.is_empty() {
        return "error[E_FAILED]: the method gave no answer".to_owned();
    }
    let mut text = diagnostics_text(failed.diagnostics.iter().chain(diagnostics));
    if failed.diagnostics.iter().any(|why| why.code == ErrorCode::E_PARAM) {
        text.push_str(&format!("\n  reference: cortex://method/{}", tool_name(entry)));
    }
    text
}

pub fn diagnostics_text<'d>(diagnostics: impl Iterator<Item = &'d Diagnostic> + Clone) -> String {
    let count = diagnostics.clone().count();
    let mut texts: Vec<String> = diagnostics.take(REMARKS).map(with_candidates).collect();
    if count > REMARKS {
        texts.push(format!("… {count} such remarks in all"));
    }
    texts.join("\n")
}

/// Formats a diagnostic with one candidate per line.
fn with_candidates(diagnostic: &Diagnostic) -> String {
    let count = diagnostic.candidates.len();
    let mut text = diagnostic::format_diagnostic(&cut_candidates(diagnostic, 0), Style::plain());
    if count > 0 {
        // For an ambiguous name the candidates all match; for an unknown one they are only similar.
        text.push_str(if diagnostic.code == ErrorCode::AmbiguousSymbol {
            "\n  candidates:"
        } else {
            "\n  suggestions:"
        });
        for candidate in diagnostic.candidates.iter().take(REMARKS) {
            text.push_str(&format!("\n    {}", printable(candidate)));
        }
        if count > REMARKS {
            text.push_str(&format!("\n    … {count} in all"));
        }
    }
    text
}

fn cut_candidates(diagnostic: &Diagnostic, candidates: usize) -> Diagnostic {
    let mut cut = diagnostic.clone();
    cut.candidates.truncate(candidates);
    cut
}

/// Adds the diagnostics and the exit code of a failure to the fields of an answer.
pub fn with_remarks(mut data: Value, exit_code: Option<u8>, diagnostics: &[Diagnostic]) -> Value {
    if let Some(fields) = data.as_object_mut() {
        if !diagnostics.is_empty() {
            let diagnostics = diagnostics
                .iter()
                .take(REMARKS)
                .map(|one| diagnostic::diagnostic_json(&cut_candidates(one, REMARKS)));
            fields.insert("diagnostics".to_owned(), diagnostics.collect::<Vec<_>>().into());
        }
        if let Some(code) = exit_code {
            fields.insert("exitCode".to_owned(), code.into());
        }
    }
    data
}

#[cfg(test)]
mod tests {
    use super::*;
    use methods::catalog::find_method;
    use methods::code::Code;

    #[test]
    fn remarks_about_the_repository_are_counted() {
        let note = |code| Diagnostic::new(Severity::Note, code, "a remark");
        let remarks = || {
            vec![
                note(ErrorCode::CS_PARSE_PARTIAL),
                note(ErrorCode::CS_PROJECT_IMPORT),
                note(ErrorCode::CS_PROJECT_IMPORT),
            ]
        };
        let outline = find_method("outline").expect("a method");
        let codes = |found: Vec<Diagnostic>| found.into_iter().map(|one| one.code).collect::<Vec<_>>();
        assert_eq!(codes(without_repository(outline, remarks())), ["CS-PARSE-PARTIAL", "N_REPOSITORY"]);
        let doctor = find_method("doctor").expect("a method");
        assert_eq!(without_repository(doctor, remarks()).len(), 3);
    }

    #[test]
    fn a_wrong_argument_refers_to_the_reference() {
        let outline = find_method("outline").expect("a method");
        let text = |code| failure_text(outline, &Failed::new(Code::Usage, Diagnostic::error(code, "it is wrong")), &[]);
        assert!(text(ErrorCode::E_PARAM).ends_with("reference: cortex://method/outline"));
        assert!(!text(ErrorCode::E_LABEL).contains("reference"));
    }

    #[test]
    fn candidates_are_listed_one_by_one() {
        let ambiguous = Diagnostic {
            candidates: (0..25).map(|number| format!("N.Type{number}")).collect(),
            ..Diagnostic::error(ErrorCode::AmbiguousSymbol, "the name is ambiguous")
        };
        let text = with_candidates(&ambiguous);
        assert!(text.contains("\n  candidates:\n    N.Type0\n    N.Type1\n"), "{text}");
        assert!(text.ends_with("\n    … 25 in all"), "{text}");
    }
}
