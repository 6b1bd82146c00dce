//! Answers of the methods about files of other languages than C#: for names unknown to C#, and names of such files.

use super::symbols::{lines_of_notes, resolution};
use crate::code::Code;
use crate::desk::Desk;
use crate::failed::Failed;
use engine::values::case_folding::same;
use engine::values::codes::ErrorCode;
use engine::values::diagnostic::Diagnostic;
use producers::languages::model::FileSymbols;
use std::collections::BTreeMap;
use workbench::other_languages::files::{definitions, outline_text, provenance, symbols_of_file};
use workbench::other_languages::names::{OtherNames, OtherSymbol};
use workbench::other_languages::search::{hit_of_other_language, search};
use workbench::symbols::answer_state::AnswerState;
use workbench::symbols::file::FileRequest;
use workbench::symbols::index::Symbols;
use workbench::symbols::meaning::Candidate;
use workbench::symbols::outputs::{SymbolError, Trouble};
use workbench::symbols::resolve::{How, Resolved};
use workbench::symbols::search::{KINDS, MOST, Matched, Page, Query, cursor};

/// Most candidates that an error names.
const SHOWN: usize = 5;

/// A resolved definition, and the index of all.
pub struct Meant {
    pub names: OtherNames,
    pub symbol: OtherSymbol,
}

/// Resolves a text to a definition of another language, if it is unknown to C#.
pub fn resolve_other(desk: &mut Desk<'_>, text: &str) -> Result<Option<Meant>, Failed> {
    let names = desk.other_names()?;
    let mut found: Vec<OtherSymbol> = names.resolve_definitions(text).into_iter().cloned().collect();
    // A declaration and its overloads have the same path.
    found.dedup_by(|one, other| one.path_in_requests() == other.path_in_requests());
    if found.is_empty() || text.starts_with("//") || !text.contains('#') && is_of_csharp(desk, text)? {
        return Ok(None);
    }
    if found.len() == 1 {
        return Ok(found.pop().map(|symbol| Meant { names, symbol }));
    }
    let shown: Vec<String> = found.iter().take(SHOWN).map(OtherSymbol::path_in_requests).collect();
    let why = Diagnostic::error(ErrorCode::AmbiguousSymbol, format!("{} definitions have this name", found.len()));
    let why = why.found(text.chars().take(120).collect::<String>()).candidates(shown);
    Err(SymbolError::new(Trouble::Ambiguous, why.hint("write more of it, or one of these")).into())
}

/// Whether a text is the name of a C# symbol.
fn is_of_csharp(desk: &mut Desk<'_>, text: &str) -> Result<bool, Failed> {
    let names = desk.workspace_names()?;
    if names.symbols.is_empty() {
        return Ok(false);
    }
    match resolution(desk, &names, text, 1) {
        Ok(found) => Ok(!matches!(found.how, None | Some(How::Fuzzy))),
        // A name unknown to C# may belong to another language.
        Err(why) if why.code == Code::Usage => Ok(false),
        Err(why) => Err(why),
    }
}

impl Meant {
    /// Returns the definitions and uses of its file.
    pub fn file_symbols(&self, desk: &mut Desk<'_>) -> Result<FileSymbols, Failed> {
        Ok(symbols_of_file(desk, &self.names, &self.symbol.file)?.unwrap_or_default())
    }

    /// Returns its form in answers.
    pub fn resolved(&self) -> Resolved {
        Resolved::gone(&self.symbol.path_in_requests())
    }

    /// Returns the state of an answer about it.
    pub fn state_of_file(&self, symbols: &FileSymbols) -> AnswerState {
        let mut state = AnswerState::default().unread(&self.names.unread);
        state.notes.extend(provenance(&self.symbol.file, symbols));
        state
    }

    /// Returns it as a candidate of a resolution.
    pub fn candidate(&self) -> Candidate {
        Candidate {
            kind: self.symbol.kind.clone(),
            ..Candidate::from_path(&self.symbol.path_in_requests(), std::slice::from_ref(&self.symbol.file))
        }
    }

    /// Returns its line ranges; adjacent ranges of overloads and accessors are merged.
    pub fn line_ranges(&self, symbols: &FileSymbols) -> Vec<FileRequest> {
        let mut stretches: Vec<(u64, u64)> = Vec::new();
        for one in definitions(symbols, &self.symbol) {
            let (start, end) = (u64::from(one.start), u64::from(one.end));
            match stretches.last_mut().filter(|(from, to)| (*from..=*to + 1).contains(&start)) {
                Some((_, to)) => *to = end.max(*to),
                None => stretches.push((start, end)),
            }
        }
        let request = |(start, end)| FileRequest {
            path: self.symbol.file.clone(),
            lines: Some((start, Some(end))),
        };
        stretches.into_iter().map(request).collect()
    }
}

/// Outlines a file of another language, or a definition in one, with the source of the facts; `None` if the text names neither.
pub fn outline(desk: &mut Desk<'_>, text: &str) -> Result<Option<(Resolved, String, AnswerState)>, Failed> {
    let names = desk.other_names()?;
    if let Some(file) = names.known_file(text) {
        let symbols = symbols_of_file(desk, &names, file)?.unwrap_or_default();
        let mut state = AnswerState::default().unread(&names.unread);
        state.notes.extend(provenance(file, &symbols));
        let shown = outline_text(file, &symbols, None) + &lines_of_notes(&state);
        return Ok(Some((Resolved::gone(file), shown, state)));
    }
    let Some(one) = resolve_other(desk, text)? else { return Ok(None) };
    let symbols = one.file_symbols(desk)?;
    let state = one.state_of_file(&symbols);
    let shown = outline_text(&one.symbol.file, &symbols, Some(&one.symbol.within)) + &lines_of_notes(&state);
    Ok(Some((one.resolved(), shown, state)))
}

/// Lists the files of other languages in a folder, each with its first definitions; `None` for a folder without any.
pub fn folder_outline(desk: &mut Desk<'_>, text: &str) -> Result<Option<(Resolved, String, AnswerState)>, Failed> {
    let names = desk.other_names()?;
    let folder = text.replace('\\', "/");
    let folder = folder.trim_start_matches("./").trim_end_matches('/');
    let mut files: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    let first = names.iter().filter(|one| one.within == one.name);
    for one in first.filter(|one| one.file.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'))) {
        files.entry(&one.file).or_default().push(&one.name);
    }
    if folder.is_empty() || files.is_empty() {
        return Ok(None);
    }
    let mut shown = format!("# folder {folder}: {} files of other languages\n", files.len());
    for (file, defined) in &files {
        let more = if defined.len() > SHOWN { " …" } else { "" };
        shown.push_str(&format!("{file}: {}{more}\n", defined[..defined.len().min(SHOWN)].join(", ")));
    }
    let state = AnswerState::default().unread(&names.unread);
    shown.push_str(&lines_of_notes(&state));
    Ok(Some((Resolved::gone(folder), shown, state)))
}

/// Extends the failure of a C#-only method for a name of another language.
pub fn explain_unknown_name(desk: &mut Desk<'_>, mut failed: Failed) -> Failed {
    for why in failed.diagnostics.iter_mut().filter(|why| why.code == ErrorCode::SymbolNotFound) {
        let names = desk.other_names().unwrap_or_default();
        let found = why.found.clone().unwrap_or_default();
        if let [one, ..] = names.resolve_definitions(&found).as_slice() {
            why.message = format!("this is known of C# alone, and {} is of another language", one.path_in_requests());
            why.hint = Some("`search`, `resolve`, `outline`, `source`, `usages` and `context build` answer for it".to_owned());
            why.candidates.clear();
        }
    }
    failed
}

/// Appends the matching definitions to a page of C# hits, of which it shows `shown`; returns the new number of shown hits. Definitions of other
/// languages replace hits of C# that are only similarly spelled.
pub fn add_hits(names: &OtherNames, symbols: &Symbols, query: &Query<'_>, page: &mut Page, mut shown: usize) -> usize {
    let found = search(names, query.text, query.kind);
    // A query with a namespace concerns C# only.
    if found.is_empty() || query.namespace.is_some() {
        return shown;
    }
    if !page.hits.is_empty() && page.hits.iter().all(|hit| hit.matched == Matched::Fuzzy) {
        (shown, page.total) = (0, 0);
        page.hits.clear();
    }
    let of_csharp = page.total;
    page.total += found.len();
    let behind = page.start.saturating_sub(of_csharp);
    let room = query.limit.min(MOST).saturating_sub(shown);
    let before = page.hits.len();
    page.hits.extend(
        found
            .into_iter()
            .skip(behind)
            .take(room)
            .map(|(matched, one)| hit_of_other_language(matched, one)),
    );
    shown += page.hits.len() - before;
    let kind = query.kind.and_then(|kind| KINDS.into_iter().find(|known| same(known, kind.trim())));
    let end = page.start + shown;
    page.next = (query.limit > 0 && end < page.total).then(|| cursor(symbols, query, kind, end));
    shown
}
