//! Code without its grammar tree: what the bodies and headers of declarations say about types, read from their canonical texts.
//!
//! The parser is tolerant: whatever it does not understand is passed over, and it always ends in time linear in the text (each
//! token is looked at a bounded number of times by each level of nesting, and nesting is bounded). It knows no symbols.

pub mod ast;
mod attributes;
mod cursor;
mod expression;
pub mod facts;
mod pattern;
mod primary;
mod signature;
mod statement;
#[cfg(test)]
mod tests;
mod types;

use ast::{Argument, Statement, TypeRef};
pub use attributes::attributes_in_header;
use cursor::Cursor;
pub use signature::{Signature, header_parameters, signature};

/// The statements of a member's body as [`crate::csharp::model::Member::body`] holds it: default values, then accessors, a block,
/// `=> e`, an initialiser. `places` asks for byte offsets into the text.
pub fn body(text: &str, places: bool) -> Vec<Statement> {
    let mut cursor = Cursor::new(text, places.then_some(0), 0);
    cursor.member_body()
}

/// The statements at the top of a file. `places` asks for byte offsets into the text.
pub fn statements(text: &str, places: bool) -> Vec<Statement> {
    Cursor::new(text, places.then_some(0), 0).statements()
}

/// An attribute (`Name(args)`, with or without `target:`): its type and its arguments. `places` asks for byte offsets into the text.
pub fn attribute(text: &str, places: bool) -> Option<(TypeRef, Vec<Argument>)> {
    let mut cursor = Cursor::new(text, places.then_some(0), 0);
    if cursor.ahead(1) == ":" {
        cursor.at += 2;
    }
    let kind = cursor.type_ref(types::Around::Type)?;
    let arguments = if cursor.is("(") { cursor.attribute_list() } else { Vec::new() };
    Some((kind, arguments))
}

/// A type as written; `None` when the text is no type.
pub fn type_ref(text: &str) -> Option<TypeRef> {
    Cursor::new(text, None, 0).type_ref(types::Around::Type)
}

/// The words of a text that may be names, each once, sorted.
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
            Kind::Word if !crate::csharp::keywords::is_reserved(word) => {
                found.insert(word.strip_prefix('@').unwrap_or(word));
            }
            // Names in the values of interpolated text.
            Kind::Text if word.starts_with(['$', '@']) && depth < 8 => {
                if let Some(open) = word.find('{') {
                    words_of(&word[open + 1..], found, depth + 1);
                }
            }
            _ => {}
        }
    }
}
