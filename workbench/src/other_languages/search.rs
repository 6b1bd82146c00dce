//! Search among the definitions of other languages, with the same order of matches as among C#'s; their pages follow those.

use super::names::{OtherNames, OtherSymbol};
use crate::symbols::camel_humps::Humps;
use crate::symbols::path::{Glob, is_wild};
use crate::symbols::search::{Hit, Matched};
use engine::values::case_folding::folded;

/// Returns the definitions whose names match a query, best first. `kind`: `type` and `member` match any definition with, or inside of, another one.
pub fn search<'n>(names: &'n OtherNames, text: &str, kind: Option<&str>) -> Vec<(Matched, &'n OtherSymbol)> {
    let text = text.trim();
    let (around, name) = match text.rfind(['.', '#']) {
        Some(at) => (&text[..at], &text[at + 1..]),
        None => ("", text),
    };
    let (around, wanted) = (folded(around), folded(name));
    let (humps, glob) = (Humps::new(name), is_wild(name).then(|| Glob::new(name)));
    let matched = |one: &OtherSymbol| {
        let own = folded(&one.name);
        match &glob {
            Some(glob) => glob.matches(&one.name).then_some(Matched::Wildcard),
            None if wanted.is_empty() => Some(Matched::Prefix),
            None if own == wanted => Some(Matched::Exact),
            None if own.starts_with(&wanted) => Some(Matched::Prefix),
            None if humps.matches(&one.name) => Some(Matched::Humps),
            None => own.contains(&wanted).then_some(Matched::Substring),
        }
    };
    let is_kind = |one: &OtherSymbol| match kind.map(folded).as_deref() {
        None => true,
        Some("TYPE") => !one.within.contains('.') && is_type(&one.kind),
        Some("MEMBER") => one.within.contains('.'),
        Some(kind) => folded(&one.kind) == kind,
    };
    let is_around = |one: &OtherSymbol| around.is_empty() || folded(&one.path_in_requests()).contains(&around);
    let mut found: Vec<(Matched, &OtherSymbol)> = names
        .iter()
        .filter(|one| is_kind(one) && is_around(one))
        .filter_map(|one| Some((matched(one)?, one)))
        .collect();
    let skips_humps = |how: Matched, one: &OtherSymbol| how == Matched::Humps && !humps.matches_without_gaps(&one.name);
    found.sort_by_cached_key(|&(how, one)| (how, skips_humps(how, one), one.name.len(), &one.name, one));
    found
}

fn is_type(kind: &str) -> bool {
    matches!(
        kind,
        "class" | "interface" | "enum" | "struct" | "trait" | "type" | "type alias" | "union" | "record"
    )
}

/// Converts a definition to a hit of a page.
pub fn hit_of_other_language(matched: Matched, one: &OtherSymbol) -> Hit {
    Hit {
        path: one.path_in_requests(),
        type_id: String::new(),
        member_id: None,
        kind: one.kind.clone(),
        accessibility: String::new(),
        files: vec![one.file.clone()],
        matched,
        former: None,
        likeness: None,
        place: None,
    }
}
