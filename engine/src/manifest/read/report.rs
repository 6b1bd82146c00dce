//! The report: collects all errors in a manifest, to report them at once, in order of place.

use super::source::{Source, Span, cut_value};
use crate::values::codes::ErrorCode;
use crate::values::diagnostic::{Diagnostic, SourceLocation};
use crate::values::suggest::nearest;
use std::collections::HashSet;

/// Maximum number of errors reported; more are counted.
const MAX_ERRORS: usize = 500;
/// Maximum number of names compared for suggestions in one load; bounds the time for a manifest full of wrong names.
const MAX_COMPARED: usize = 3_000_000;

/// Errors and warnings found so far.
pub(super) struct Report<'a> {
    sources: Vec<Source<'a>>,
    errors: Vec<(Span, Diagnostic)>,
    warnings: Vec<(Span, Diagnostic)>,
    left_out: usize,
    compared: usize,
    /// Lines with a syntax error: other errors in them would be guesses.
    broken: HashSet<(u32, usize)>,
}

impl<'a> Report<'a> {
    pub(super) fn new() -> Self {
        Self {
            sources: Vec::new(),
            errors: Vec::new(),
            warnings: Vec::new(),
            left_out: 0,
            compared: 0,
            broken: HashSet::new(),
        }
    }

    /// Adds a file; returns its number for spans.
    pub(super) fn add_source(&mut self, name: &str, text: &'a str) -> u32 {
        self.sources.push(Source::new(name, text));
        u32::try_from(self.sources.len() - 1).expect("invariant: a manifest has few rulesets")
    }

    /// Returns the start of a span, for hints that refer to another place.
    pub(super) fn place_of(&self, span: Span) -> SourceLocation {
        self.sources[span.file as usize].place_of(span)
    }

    /// Hides these bytes from all later messages.
    pub(super) fn hide(&mut self, span: Span) {
        self.sources[span.file as usize].hide(span);
    }

    /// Whether any file has a TOML syntax error. Then nothing is reported as missing.
    pub(super) fn has_syntax_errors(&self) -> bool {
        !self.broken.is_empty()
    }

    pub(super) fn has_errors(&self) -> bool {
        !self.errors.is_empty()
    }

    pub(super) fn syntax(&mut self, span: Span, diagnostic: Diagnostic) {
        let line = self.sources[span.file as usize].line_at(span.start).0;
        if self.broken.insert((span.file, line)) {
            self.push_diagnostic(span, diagnostic);
        }
    }

    /// Adds an error at its place, with the offending text.
    pub(super) fn error(&mut self, span: Span, diagnostic: Diagnostic) {
        // For an unreadable value, the parser inserts an empty placeholder, and has already reported it.
        let placeholder = span.end == 0 && self.has_syntax_errors();
        if placeholder
            || self
                .broken
                .contains(&(span.file, self.sources[span.file as usize].line_at(span.start).0))
        {
            return;
        }
        self.push_diagnostic(span, diagnostic);
    }

    fn push_diagnostic(&mut self, span: Span, diagnostic: Diagnostic) {
        if self.errors.len() >= MAX_ERRORS {
            self.left_out += 1;
            return;
        }
        let placed = self.placed(span, diagnostic);
        self.errors.push((span, placed));
    }

    /// Adds a warning at its place.
    pub(super) fn warning(&mut self, span: Span, diagnostic: Diagnostic) {
        if self.warnings.len() < MAX_ERRORS {
            let placed = self.placed(span, diagnostic);
            self.warnings.push((span, placed));
        }
    }

    fn placed(&self, span: Span, mut diagnostic: Diagnostic) -> Diagnostic {
        let source = &self.sources[span.file as usize];
        diagnostic.place = Some(source.place_of(span));
        diagnostic.excerpt = Some(source.excerpt(span));
        if diagnostic.found.is_none() {
            diagnostic.found = Some(source.excerpt_of(span)).filter(|found| !found.is_empty());
        }
        diagnostic
    }

    /// Reports an unknown name, with the nearest known ones; `otherwise` is the hint if none is near.
    pub(super) fn report_unknown_name<'k>(
        &mut self,
        span: Span,
        diagnostic: Diagnostic,
        wanted: &str,
        known: impl Iterator<Item = &'k str>,
        otherwise: &str,
    ) {
        let mut near = Vec::new();
        if self.errors.len() < MAX_ERRORS {
            let mut compared = self.compared;
            near = nearest(
                wanted,
                known.take(MAX_COMPARED.saturating_sub(compared)).inspect(|_| compared += 1),
                3,
            );
            self.compared = compared;
        }
        let hint = near
            .first()
            .map_or_else(|| otherwise.to_owned(), |best| format!("did you mean '{}'?", cut_value(best)));
        let near = near.iter().map(|name| cut_value(name)).collect();
        self.error(span, diagnostic.hint(hint).candidates(near));
    }

    /// Returns the span of `len` bytes of a string value from byte `at` on; of the whole value if it contains escapes.
    pub(super) fn span_in_value(&self, span: Span, value: &str, at: usize, len: usize) -> Span {
        let written = self.sources[span.file as usize]
            .text()
            .get(span.start as usize..span.end as usize)
            .unwrap_or_default();
        let inner = written.get(1..written.len().saturating_sub(1)).unwrap_or_default();
        if inner != value || at > value.len() {
            return span;
        }
        let start = span.start as usize + 1 + at;
        Span::new(span.file, start..start + len.min(value.len() - at))
    }

    /// Returns everything, in order of place: errors if any, otherwise warnings.
    pub(super) fn errors_or_warnings(mut self) -> Result<Vec<Diagnostic>, Vec<Diagnostic>> {
        let sorted = |mut found: Vec<(Span, Diagnostic)>| {
            found.sort();
            found.dedup();
            found.into_iter().map(|(_, diagnostic)| diagnostic).collect::<Vec<_>>()
        };
        if self.errors.is_empty() {
            return Ok(sorted(self.warnings));
        }
        let mut errors = sorted(std::mem::take(&mut self.errors));
        if self.left_out > 0 {
            let message = format!("{} more errors are not shown", self.left_out);
            errors.push(Diagnostic::error(ErrorCode::E_MORE, message).hint("correct these first and check again"));
        }
        Err(errors)
    }
}
