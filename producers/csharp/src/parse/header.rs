//! Parses the common parts of declarations from tokens: attributes, modifiers, type parameters, parameter lists, constraints.
//!
//! Texts from tokens, unlike those from grammar nodes, stay the same when the grammar changes.

use super::tokens::Tokens;
use crate::canonical;
use crate::lexer::Token;
use std::ops::Range;

/// The parts before the type or keyword of a declaration.
pub(crate) struct Opening {
    pub(crate) attributes: Vec<String>,
    /// Modifiers in source order.
    pub(crate) modifiers: Vec<String>,
    /// First token after the attributes.
    pub(crate) start: usize,
    /// First token after the modifiers.
    pub(crate) after: usize,
}

/// Parses attributes and modifiers at the head of a declaration.
pub(crate) fn opening(tokens: &Tokens<'_>, range: &Range<usize>) -> Opening {
    let mut attributes = Vec::new();
    let start = self::attributes(tokens, range.clone(), &mut attributes);
    let mut after = start;
    let mut modifiers = Vec::new();
    while after < range.end && is_modifier(tokens, after) {
        modifiers.push(tokens.text(after).to_owned());
        after += 1;
    }
    Opening {
        attributes,
        modifiers,
        start,
        after,
    }
}

fn is_modifier(tokens: &Tokens<'_>, at: usize) -> bool {
    let next_is_head = || tokens.is_word(at + 1) || tokens.is(at + 1, "(");
    match tokens.text(at) {
        "public" | "private" | "protected" | "internal" | "static" | "abstract" | "sealed" | "virtual" | "override" | "readonly"
        | "const" | "extern" | "unsafe" | "volatile" | "new" | "fixed" => true,
        "partial" | "async" | "required" | "file" => next_is_head(),
        "ref" => (1..=3).any(|ahead| matches!(tokens.text(at + ahead), "struct")) && tokens.is_word(at + 1),
        _ => false,
    }
}

/// Collects the attribute lists at the start of `range`; returns the first token after them. An attribute with another target than the
/// declaration begins with that target (`return: NotNull`).
pub(crate) fn attributes(tokens: &Tokens<'_>, range: Range<usize>, into: &mut Vec<String>) -> usize {
    let mut at = range.start;
    while at < range.end && tokens.is(at, "[") {
        let Some(close) = tokens.mate(at).filter(|close| *close < range.end) else {
            return at;
        };
        let mut inner = at + 1;
        let mut prefix = "";
        if tokens.is_word(inner) && tokens.is(inner + 1, ":") {
            prefix = tokens.text(inner);
            inner += 2;
        }
        for part in tokens.split_range(inner..close) {
            let text = tokens.canonical(part);
            into.push(if prefix.is_empty() { text } else { format!("{prefix}: {text}") });
        }
        at = close + 1;
    }
    at
}

/// A parsed parameter list.
#[derive(Default)]
pub(crate) struct Parameters {
    /// Types as written, with ref kinds.
    pub(crate) types: Vec<String>,
    /// One entry per parameter.
    pub(crate) each: Vec<Parameter>,
    /// The list with the attributes of its parameters; empty without attributes.
    pub(crate) attributed: Vec<Token>,
    /// `name = value` for each default value.
    pub(crate) defaults: Vec<String>,
    /// The list for the signature, with brackets.
    pub(crate) signature: Vec<Token>,
}

pub(crate) struct Parameter {
    /// Name without `@`.
    pub(crate) name: String,
    /// Tokens of its type, without `this`, `params`, `scoped`.
    pub(crate) kind: Range<usize>,
    pub(crate) range: Range<usize>,
    /// Its attributes, `target: Attribute`.
    pub(crate) attributes: Vec<String>,
}

/// Parses the parameter list between `open` and `close`.
pub(crate) fn parameters(tokens: &Tokens<'_>, open: usize, close: usize) -> Parameters {
    let mut list = Parameters::default();
    let mut has_attributes = false;
    list.signature.push(tokens.all[open]);
    list.attributed.push(tokens.all[open]);
    for part in tokens.split_range(open + 1..close) {
        if list.signature.len() > 1 {
            // The comma before this part; only its text matters, not its position.
            list.signature.push(tokens.all[part.start - 1]);
            list.attributed.push(tokens.all[part.start - 1]);
        }
        has_attributes |= add_parameter(tokens, part, &mut list);
    }
    list.signature.push(tokens.all[close]);
    list.attributed.push(tokens.all[close]);
    if !has_attributes {
        list.attributed.clear();
    }
    list
}

/// Adds a parameter; returns whether it has attributes.
fn add_parameter(tokens: &Tokens<'_>, part: Range<usize>, list: &mut Parameters) -> bool {
    let mut attributes = Vec::new();
    let start = self::attributes(tokens, part.clone(), &mut attributes);
    let end = tokens
        .find_outside_brackets(start..part.end, |at| tokens.is(at, "="))
        .unwrap_or(part.end);
    list.signature.extend_from_slice(&tokens.all[start..end]);
    list.attributed.extend_from_slice(&tokens.all[part.start..end]);
    let named = end > start + 1 && tokens.is_word(end - 1);
    let name = if named { without_at_sign(tokens.text(end - 1)) } else { "" };
    let mut first = start;
    while first + 1 < end && matches!(tokens.text(first), "this" | "params" | "scoped") {
        first += 1;
    }
    let kind = first..if named { end - 1 } else { end };
    list.types.push(tokens.canonical(kind.clone()));
    if end < part.end {
        list.defaults.push(format!("{name} = {}", tokens.canonical(end + 1..part.end)));
    }
    let has_attributes = start > part.start;
    list.each.push(Parameter {
        name: name.to_owned(),
        kind,
        range: part,
        attributes,
    });
    has_attributes
}

/// Returns a name without its `@`.
pub(crate) fn without_at_sign(word: &str) -> &str {
    word.strip_prefix('@').unwrap_or(word)
}

/// A parsed type parameter list.
#[derive(Default)]
pub(crate) struct TypeParameters {
    /// Names without variance.
    pub(crate) names: Vec<String>,
    /// The list for the signature, with brackets.
    pub(crate) signature: Vec<Token>,
    /// The list with attributes; empty without attributes.
    pub(crate) attributed: Vec<Token>,
}

/// Parses the type parameter list at `at`, if any; returns it and the first token after it.
pub(crate) fn type_parameters(tokens: &Tokens<'_>, at: usize, limit: usize) -> (TypeParameters, usize) {
    let mut list = TypeParameters::default();
    if !(tokens.is(at, "<") && tokens.is_angle(at)) {
        return (list, at);
    }
    let Some(close) = tokens.angle_end(at, limit) else {
        return (list, at);
    };
    let mut has_attributes = false;
    list.signature.push(tokens.all[at]);
    list.attributed.push(tokens.all[at]);
    for part in tokens.split_range(at + 1..close) {
        if list.signature.len() > 1 {
            list.signature.push(tokens.all[part.start - 1]);
            list.attributed.push(tokens.all[part.start - 1]);
        }
        let start = self::attributes(tokens, part.clone(), &mut Vec::new());
        has_attributes |= start > part.start;
        list.signature.extend_from_slice(&tokens.all[start..part.end]);
        list.attributed.extend_from_slice(&tokens.all[part.clone()]);
        list.names.push(without_at_sign(tokens.text(part.end - 1)).to_owned());
    }
    list.signature.push(tokens.all[close]);
    list.attributed.push(tokens.all[close]);
    if !has_attributes {
        list.attributed.clear();
    }
    (list, close + 1)
}

/// Returns the list with attributes if it has any, otherwise the plain list.
pub(crate) fn attributed_or_plain<'a>(attributed: &'a [Token], plain: &'a [Token]) -> &'a [Token] {
    if attributed.is_empty() { plain } else { attributed }
}

/// Returns the end of the part of a declaration that readers see: the `{`, `=>` or `;` outside brackets.
pub(crate) fn header_end(tokens: &Tokens<'_>, range: Range<usize>) -> usize {
    tokens
        .find_outside_brackets(range.clone(), |at| matches!(tokens.text(at), "{" | "=>" | ";"))
        .unwrap_or(range.end)
}

/// Returns the `where` clauses of a token range, canonical and sorted.
pub(crate) fn constraints(tokens: &Tokens<'_>, range: Range<usize>) -> Vec<String> {
    let mut clauses = Vec::new();
    let mut start = range.start;
    while start < range.end {
        let next = tokens
            .find_outside_brackets(start + 1..range.end, |at| is_where(tokens, at))
            .unwrap_or(range.end);
        if is_where(tokens, start) {
            clauses.push(tokens.canonical(start..next));
        }
        start = next;
    }
    clauses.sort();
    clauses
}

/// Whether a `where` clause begins at `at`.
pub(crate) fn is_where(tokens: &Tokens<'_>, at: usize) -> bool {
    tokens.is(at, "where") && tokens.is_word(at + 1) && tokens.is(at + 2, ":")
}

/// Joins token ranges into a signature.
pub(crate) fn signature(tokens: &Tokens<'_>, pieces: &[&[Token]]) -> String {
    canonical::canonical_text(tokens.source, &pieces.concat())
}

/// Joins texts of the implementation, one per line, without empty ones.
pub(crate) fn join_body(parts: &[String]) -> String {
    parts
        .iter()
        .filter(|part| !part.is_empty())
        .map(String::as_str)
        .collect::<Vec<_>>()
        .join("\n")
}

/// Returns the canonical text of a body: from `{` or `=>` to the end of the declaration, without a closing `;`.
pub(crate) fn body_text(tokens: &Tokens<'_>, range: Range<usize>) -> String {
    let end = if range.end > range.start && tokens.is(range.end - 1, ";") {
        range.end - 1
    } else {
        range.end
    };
    tokens.canonical(range.start..end.max(range.start))
}
