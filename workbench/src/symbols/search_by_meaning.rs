//! Hits of a search by meaning: types in an order that their vectors gave, through the filters of every search.

use super::index::Symbols;
use super::outputs::SymbolError;
use super::search::{Entry, MOST, Matched, Page, ParsedQuery, Query, hit};

/// The types of `keys` that pass the filters of a query, in their order: the first `limit` of them.
///
/// # Errors
/// When the kind is unknown or the limit too high.
pub fn chosen_types(symbols: &Symbols, query: &Query<'_>, keys: &[&str]) -> Result<Page, SymbolError> {
    // The text of the query is no name here.
    let asked = ParsedQuery::read(&Query { text: "*", ..*query })?;
    let mut page = Page::default();
    for key in keys {
        let passes = |at: &usize| asked.wants_type(symbols.glance(*at).kind) && asked.is_within(key);
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
            page.hits.push(hit(symbols, Matched::Semantic, &Entry::Type(at))?);
        }
    }
    Ok(page)
}
