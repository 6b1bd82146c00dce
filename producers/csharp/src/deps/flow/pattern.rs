//! Patterns: the names in them, and the variables that they declare.

use super::Flow;
use super::indexers::RANGE;
use super::parameters::takes;
use crate::code::ast::{Pattern, TypeRef, Word};
use crate::deps::resolve::{Meaning, predefined};
use crate::deps::shape::Shape;
use crate::deps::world::{Candidate, INDEXER};
use crate::mention_model::Place;

impl<'f> Flow<'f, '_> {
    /// Binds a pattern that is matched against a value of the type `subject`. Returns the type that a value has which matches (C# specification,
    /// narrowed type).
    pub(super) fn pattern(&mut self, pattern: &'f Pattern, subject: &Shape) -> Shape {
        match pattern {
            Pattern::Value(value) => known_or(self.value(value, Some(subject)), subject),
            Pattern::Type(kind, name) => {
                let shape = self.type_or_value(kind);
                if let Some(name) = name {
                    self.declare(name, &shape);
                }
                known_or(shape, subject)
            }
            Pattern::Recursive(kind, positional, properties, name, place) => {
                let shape = match kind {
                    Some(kind) => self.shape_of_type(kind),
                    None => subject.without_null().clone(),
                };
                if !positional.is_empty() {
                    let parts = self.deconstructed(&shape, positional.len(), *place);
                    for (pattern, part) in positional.iter().zip(parts) {
                        self.pattern(pattern, &part);
                    }
                }
                for (path, pattern) in properties {
                    let part = self.property_path(&shape, path);
                    self.pattern(pattern, &part);
                }
                if let Some(name) = name {
                    self.declare(name, &shape);
                }
                shape
            }
            Pattern::List(parts, name, place) => {
                let list = subject.without_null();
                self.note_list_pattern(list, parts, *place);
                let element = known_or(self.world.element(list), &self.indexed_element(list));
                for part in parts {
                    match part {
                        Pattern::Slice(inner) => self.pattern(inner, &self.sliced(list)),
                        part => self.pattern(part, &element),
                    };
                }
                if let Some(name) = name {
                    self.declare(name, list);
                }
                list.clone()
            }
            Pattern::And(parts) => parts.iter().fold(subject.clone(), |narrowed, part| self.pattern(part, &narrowed)),
            Pattern::Or(parts) => {
                let narrowed: Vec<Shape> = parts.iter().map(|part| self.pattern(part, subject)).collect();
                let takes_all = |one: &&Shape| narrowed.iter().all(|other| self.becomes(other, one) == Some(true));
                narrowed.iter().find(takes_all).unwrap_or(subject).clone()
            }
            Pattern::Not(inner) | Pattern::Slice(inner) => {
                self.pattern(inner, subject);
                subject.clone()
            }
            Pattern::Var(name) => {
                self.declare(name, subject);
                subject.clone()
            }
            Pattern::Any => subject.clone(),
        }
    }

    /// Records the members of a workspace type that a list pattern calls: its count, its indexer, and `Slice`.
    fn note_list_pattern(&mut self, list: &Shape, parts: &[Pattern], place: u32) {
        if !list.is_known() || self.is_outside(list) {
            return;
        }
        self.note_count(list, place);
        if parts.iter().any(|part| !matches!(part, Pattern::Any | Pattern::Slice(_))) {
            self.indexed(list, &[], &[predefined("int")], place);
        }
        let has_slice = parts.iter().any(|part| matches!(part, Pattern::Slice(_)));
        let takes_range = |one: &Candidate<'_>| matches!(one.parameters().as_slice(), [(_, only)] if only.key() == Some(RANGE));
        if has_slice && !self.members_of(list, INDEXER).iter().any(takes_range) {
            self.implied(list, "Slice", &[predefined("int"), predefined("int")], place);
        }
    }

    /// Records the property `Length` or `Count` of a workspace type that an index from the end, a range or a list pattern reads.
    pub(super) fn note_count(&mut self, list: &Shape, place: u32) {
        if !list.is_known() || self.is_outside(list) {
            return;
        }
        for name in ["Length", "Count"] {
            let found = self.members_of(list, name).into_iter().find(|one| !one.is_method());
            if let Some(found) = found {
                let owner = Shape::of_key(found.owner.key().unwrap_or_default());
                self.used(&owner, name, place, true, None);
                return;
            }
        }
    }

    /// Returns the type of the elements that an indexer of numbers returns.
    fn indexed_element(&self, list: &Shape) -> Shape {
        let takes_number = |one: &&Candidate<'_>| matches!(one.parameters().as_slice(), [(_, only)] if only.key() != Some(RANGE));
        let found = self.members_of(list, INDEXER);
        found.iter().find(takes_number).map_or(Shape::Unknown, Candidate::result)
    }

    /// Returns the type of a slice of a list pattern: that of an indexer of ranges, or of `Slice`.
    fn sliced(&self, list: &Shape) -> Shape {
        if matches!(list, Shape::Array(_)) || list.key() == Some("~System.String") {
            return list.clone();
        }
        let takes_range = |one: &Candidate<'_>| matches!(one.parameters().as_slice(), [(_, only)] if only.key() == Some(RANGE));
        let indexers = self.members_of(list, INDEXER);
        let slices = self.members_of(list, "Slice").into_iter();
        let mut found = indexers
            .into_iter()
            .filter(takes_range)
            .chain(slices.filter(|one| takes(&one.parameters(), 2)));
        found.next().map_or(Shape::Unknown, |one| one.result())
    }

    fn property_path(&mut self, shape: &Shape, path: &'f [Word]) -> Shape {
        let mut shape = shape.clone();
        for word in path {
            shape = self.value_member(shape.without_null(), &word.text, word.place);
        }
        shape
    }

    /// Returns the shape of `A.B` in a pattern: a type if the name binds to one, otherwise a constant.
    fn type_or_value(&mut self, kind: &'f TypeRef) -> Shape {
        let TypeRef::Named(segments) = kind else {
            return self.shape_of_type(kind);
        };
        let arity = segments.last().map_or(0, |last| last.args.len() as u32);
        let parameter = segments.len() == 1
            && self
                .methods
                .iter()
                .chain(&self.resolver.own)
                .any(|own| *own.name == segments[0].word.text);
        let is_constant = || {
            let opened = self.statics.iter().chain(&self.around);
            let mut found = opened.flat_map(|own| self.world.lookup(own, &segments[0].word.text));
            segments.len() == 1 && found.any(|one| !one.is_method())
        };
        let is_own_constant = || {
            let mut found = self.around.iter().flat_map(|own| self.seen(own, &segments[0].word.text));
            segments.len() == 1 && found.any(|one| one.is_constant())
        };
        let is_type = match self.resolver.meaning(segments, arity, Place::Body) {
            Meaning::Nothing => false,
            // A constant wins: no directive opens the type, or only one as far out as the constant's directive.
            Meaning::Outside(_) => !is_constant(),
            // A constant of the type itself, or of one around it, hides a type of a namespace.
            Meaning::Type(..) | Meaning::Ambiguous => !is_own_constant(),
        };
        if parameter || arity > 0 || is_type {
            return self.shape_of_type(kind);
        }
        self.path(segments)
    }
}

/// Returns a type, or the other one if it is not known.
fn known_or(shape: Shape, other: &Shape) -> Shape {
    if shape.is_known() { shape } else { other.clone() }
}
