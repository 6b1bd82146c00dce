//! Search by meaning: types in the order of their vectors' similarity, with the filters of every search.

use super::index::Symbols;
use super::outputs::{SymbolError, Trouble};
use super::search::{Hit, MOST, Matched, NameMatch, Page, ParsedQuery, Query, hit_of_symbol};
use crate::similar_types::to_two_digits;
use engine::values::codes::ErrorCode;
use engine::values::diagnostic::Diagnostic;

/// Returns the first `limit` of the types that pass the query's filters; each has its similarity, and the order is kept. Fails when the
/// kind is unknown or not of types, or the limit too high.
pub fn chosen_types(symbols: &Symbols, query: &Query<'_>, types: &[(f32, &str)]) -> Result<Page, SymbolError> {
    // The query's text is not a name here.
    let asked = ParsedQuery::from_query(&Query { text: "*", ..*query })?;
    if asked.wants_members_only() {
        let why = Diagnostic::error(ErrorCode::InvalidFilter, "a search by meaning finds types alone");
        let why = why
            .found(query.kind.unwrap_or_default())
            .hint("leave the kind out, or name one of types: class, interface, enum");
        return Err(SymbolError::new(Trouble::Asked, why));
    }
    let mut page = Page::default();
    for (likeness, key) in types {
        let passes = |at: &usize| asked.wants_type(symbols.brief(*at).kind) && asked.is_within(key);
        let Some(at) = symbols.find(key).filter(passes) else {
            page.filtered += 1;
            continue;
        };
        if !asked.generated && symbols.is_generated(key) {
            page.filtered += 1;
            page.generated += 1;
            continue;
        }
        page.total += 1;
        if page.hits.len() < query.limit.min(MOST) {
            page.hits.push(Hit {
                likeness: Some(to_two_digits(*likeness)),
                place: None,
                ..hit_of_symbol(symbols, Matched::Semantic, &NameMatch::Type(at))?
            });
        }
    }
    Ok(page)
}
