//! Declarations of a text.

use super::lines::{fit, split};
use producers::csharp::ids::{kind_word, member_key, member_kind_word};
use producers::csharp::model::{Span, Syntax, TypeDecl};
use producers::csharp::parse;
use std::collections::BTreeSet;
use std::ops::Range;

/// A declaration of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Declared {
    /// Properties that edits of other declarations must not change.
    pub(crate) is: DeclarationProperties,
    /// First line, from 1.
    pub(crate) line: u32,
    /// Byte range in the text, with its documentation.
    pub(crate) range: Range<usize>,
    /// Containing type; empty for a type.
    pub(crate) owner: String,
    /// Name of a member without its type and parameters; full name of a type.
    pub(crate) simple: String,
    /// Parameter types; for a property in an extension block, the receiver.
    parameters: Vec<String>,
    /// Whether the declaration is `partial`, so that other parts may exist.
    is_partial: bool,
    /// `#if` condition of the containing type; empty for a type.
    condition_of_owner: String,
}

/// Properties of a declaration that edits of others must not change.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct DeclarationProperties {
    /// `Namespace.Type` or `Namespace.Type#Member(int)`; together with the kind, the identifier.
    pub(crate) name: String,
    /// Kind, as a word.
    pub(crate) kind: &'static str,
    doc: String,
    attributes: Vec<String>,
    /// `#if` condition of the declaration.
    condition: String,
}

/// Returns the names of all declarations of a text, compiled without `#if` symbols: `Namespace.Type` and `Namespace.Type#Member(int)`.
pub(crate) fn declared_names(text: &str) -> BTreeSet<String> {
    let syntax = parse_code(text, &BTreeSet::new());
    list_declarations(text, &syntax).into_iter().map(|one| one.is.name).collect()
}

/// Parses a text, compiled with `#if` symbols.
pub(crate) fn parse_code(text: &str, defines: &BTreeSet<String>) -> Syntax {
    // Normalize line ends, as every reader of sources does.
    let plain = fit(text, "\n");
    parse::read(&plain, defines, "").0
}

/// Returns all declarations of a parsed text; each type precedes its members.
pub(crate) fn list_declarations(text: &str, syntax: &Syntax) -> Vec<Declared> {
    let lines = starts(text);
    // Spans count bytes within lines, so normalized line ends do not shift them.
    let bytes = |span: &Span| {
        let line = |number: u32| lines.get((number as usize).wrapping_sub(1)).copied().unwrap_or(text.len());
        let end = (line(span.last) + span.to as usize).min(text.len());
        (line(span.first) + span.from as usize).min(end)..end
    };
    let of = |decl: &TypeDecl| {
        let own = decl.symbol();
        let members = decl.members.iter().map(|member| Declared {
            is: DeclarationProperties {
                name: format!("{own}#{}", member_key(member)),
                kind: member_kind_word(member.kind),
                doc: member.doc.clone(),
                attributes: member.attributes.clone(),
                condition: member.condition.clone(),
            },
            line: member.span.first,
            range: bytes(&member.span),
            owner: own.clone(),
            simple: member.name.clone(),
            parameters: member.parameters.clone(),
            is_partial: is_partial(&member.modifiers),
            condition_of_owner: decl.condition.clone(),
        });
        let members: Vec<Declared> = members.collect();
        let own = Declared {
            is: DeclarationProperties {
                name: own.clone(),
                kind: kind_word(decl.kind),
                doc: decl.doc.clone(),
                attributes: decl.attributes.clone(),
                condition: decl.condition.clone(),
            },
            line: decl.span.first,
            range: bytes(&decl.span),
            owner: String::new(),
            simple: own,
            parameters: Vec::new(),
            is_partial: is_partial(&decl.modifiers),
            condition_of_owner: String::new(),
        };
        std::iter::once(own).chain(members)
    };
    syntax.types.iter().flat_map(of).collect()
}

/// Returns the offsets at which lines start.
fn starts(text: &str) -> Vec<usize> {
    let begin = |at: &mut usize, line: &str| {
        let start = *at;
        *at += line.len();
        Some(start)
    };
    split(text).scan(0, begin).collect()
}

fn is_partial(modifiers: &[String]) -> bool {
    modifiers.iter().any(|modifier| modifier == "partial")
}

impl Declared {
    /// Whether two declarations cannot coexist: same name and parameters, or a shared name that one of them cannot overload.
    pub(crate) fn clashes(&self, other: &Self) -> bool {
        let meets = |one: &str, other: &str| one == other || one.is_empty() || other.is_empty();
        if !meets(&self.is.condition, &other.is.condition) || !meets(&self.condition_of_owner, &other.condition_of_owner) {
            return false;
        }
        let is_same = (&self.is.name, &self.parameters) == (&other.is.name, &other.parameters);
        let are_parts = self.is_partial && other.is_partial && self.is.kind == other.is.kind;
        // A member of an extension block has a receiver, and does not take a name in its own type.
        let takes_name = |one: &Self| !one.overloads() && one.parameters.is_empty();
        let shares_name = (&self.owner, &self.simple) == (&other.owner, &other.simple) && takes_name(self) != takes_name(other);
        is_same && !are_parts || shares_name && self.overloads() != other.overloads()
    }

    /// Whether `other` is this declaration or inside this type.
    pub(crate) fn has(&self, other: &Self) -> bool {
        self == other || self.owner.is_empty() && encloses(&self.range, other)
    }

    /// Whether members with the same name and other parameters are allowed.
    fn overloads(&self) -> bool {
        !matches!(self.is.kind, "field" | "constant" | "enum member" | "property" | "event")
    }
}

/// Whether a range contains a whole declaration.
pub(crate) fn encloses(outer: &Range<usize>, inner: &Declared) -> bool {
    outer.start <= inner.range.start && inner.range.end <= outer.end
}
