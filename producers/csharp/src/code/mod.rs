//! Parses bodies and headers of declarations from their canonical texts, without a grammar tree, for the types that they use.
//!
//! The parser is tolerant: it skips unknown syntax and always ends in time linear in the text. Each nesting level looks at a token a bounded
//! number of times, and nesting is bounded. The parser knows no symbols.

pub mod ast;
mod attributes;
pub mod constants;
mod cursor;
mod expression;
pub mod facts;
pub mod integer_range;
mod parameter;
mod pattern;
mod primary;
mod signature;
mod statement;
#[cfg(test)]
mod tests;
mod types;

use ast::{Attribute, Statement, TypeRef};
pub use attributes::{attributes_in_body, attributes_in_header};
use cursor::Cursor;
pub use signature::{Signature, header_parameters, signature};

/// Parses a member's body as in [`crate::model::Member::body`]: default values, then accessors, a block, `=> e`, or an initializer.
/// With `places`, words carry byte offsets into the text.
pub fn body(text: &str, places: bool) -> Vec<Statement> {
    let mut cursor = Cursor::new(text, places.then_some(0), 0);
    cursor.member_body()
}

/// Parses the top-level statements of a file. With `places`, words carry byte offsets into the text.
pub fn statements(text: &str, places: bool) -> Vec<Statement> {
    Cursor::new(text, places.then_some(0), 0).statements()
}

/// Parses an attribute (`Name(args)`, with or without `target:`) into type and arguments. With `places`, words carry byte offsets into the text.
pub fn parse_attribute(text: &str, places: bool) -> Option<Attribute> {
    Cursor::new(text, places.then_some(0), 0).parse_attribute_at_cursor()
}

/// Parses a written type; `None` if the text is no type.
pub fn type_ref(text: &str) -> Option<TypeRef> {
    Cursor::new(text, None, 0).type_ref(types::Around::Type)
}

/// Returns the distinct words of texts that may be names, sorted.
pub fn distinct_names<'t>(texts: impl Iterator<Item = &'t str>) -> Vec<&'t str> {
    let mut found = std::collections::BTreeSet::new();
    for text in texts {
        words_of(text, &mut found, 0);
    }
    found.into_iter().collect()
}

fn words_of<'t>(text: &'t str, found: &mut std::collections::BTreeSet<&'t str>, depth: u32) {
    use super::lexer::{Kind, lex};
    for token in lex(text).tokens {
        let word = token.text(text);
        match token.kind {
            Kind::Word if !crate::keywords::is_reserved(word) => {
                found.insert(word.strip_prefix('@').unwrap_or(word));
            }
            // The values of an interpolated string contain names.
            Kind::Text if depth < 8 => {
                for hole in primary::holes(word) {
                    words_of(&word[hole], found, depth + 1);
                }
            }
            _ => {}
        }
    }
}
