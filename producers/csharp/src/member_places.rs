//! Positions of a type's members in a file, and of their bodies.

use super::ids::member_key;
use super::lexer::Token;
use super::model::{Member, MemberKind, Span, TypeDecl};
use rustc_hash::FxHashMap;
use std::ops::Range;

/// Maximum equal members of a file that are distinguished: parts of a partial member, branches of an `#if`.
const MOST_EQUAL: usize = 8;

/// Positions of the members in a file.
#[derive(Default)]
pub(super) struct MemberPlaces<'f> {
    /// Spans by name and signature.
    spans: FxHashMap<(&'f str, &'f str), Vec<Span>>,
    /// Spans of partial members by key: their declarations may be written differently.
    partial: FxHashMap<String, Vec<Span>>,
    /// Indexes of the `=` tokens, by the name before each.
    assigned: FxHashMap<&'f str, Vec<usize>>,
}

impl<'f> MemberPlaces<'f> {
    /// Collects the members of `parts`; `tokens` are those of `text`.
    pub(super) fn new(parts: &'f [TypeDecl], tokens: &[Token], text: &'f str) -> Self {
        let mut found = Self::default();
        for member in parts.iter().flat_map(|decl| &decl.members) {
            let spans = found.spans.entry((member.name.as_str(), member.signature.as_str())).or_default();
            if spans.len() < MOST_EQUAL {
                spans.push(member.span);
            }
            if is_partial(member) {
                let spans = found.partial.entry(member_key(member)).or_default();
                if spans.len() < MOST_EQUAL {
                    spans.push(member.span);
                }
            }
        }
        for (at, pair) in tokens.windows(2).enumerate() {
            if pair[1].text(text) == "=" {
                let name = pair[0].text(text);
                found
                    .assigned
                    .entry(name.strip_prefix('@').unwrap_or(name))
                    .or_default()
                    .push(at + 1);
            }
        }
        found
    }

    pub(super) fn spans_of<'s>(&'s self, member: &'s Member) -> &'s [Span] {
        let found: Option<&Vec<Span>> = match is_partial(member) {
            true => self.partial.get(&member_key(member)),
            false => self.spans.get(&(member.name.as_str(), member.signature.as_str())),
        };
        found.map(Vec::as_slice).unwrap_or_default()
    }

    /// Returns the tokens of a declaration to search for the member's body: one declaration may have several declarators.
    pub(super) fn body(&self, member: &Member, range: &Range<usize>) -> Range<usize> {
        let is_declarator = matches!(member.kind, MemberKind::Field | MemberKind::Constant | MemberKind::Event);
        let assigned = self.assigned.get(member.name.as_str()).filter(|_| is_declarator);
        let value = assigned.and_then(|all| all.get(all.partition_point(|at| *at < range.start)));
        match value.filter(|at| **at < range.end) {
            Some(at) => at + 1..range.end,
            None => range.clone(),
        }
    }
}

fn is_partial(member: &Member) -> bool {
    member.modifiers.iter().any(|word| word == "partial")
}
