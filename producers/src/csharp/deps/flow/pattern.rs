//! Patterns: the names in them, and the variables that they declare.

use super::Flow;
use crate::csharp::code::ast::{Pattern, TypeRef, Word};
use crate::csharp::deps::resolve::Meaning;
use crate::csharp::deps::shape::Shape;
use crate::csharp::mentions::Place;

impl<'f> Flow<'f, '_> {
    /// Binds a pattern that is matched against a value of the type `subject`.
    pub(super) fn pattern(&mut self, pattern: &'f Pattern, subject: &Shape) {
        match pattern {
            Pattern::Value(value) => {
                self.value(value, Some(subject));
            }
            Pattern::Type(kind, name) => {
                let shape = self.type_or_value(kind);
                if let Some(name) = name {
                    self.declare(name, &shape);
                }
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
            }
            Pattern::List(parts, name) => {
                let element = self.world.element(subject);
                for part in parts {
                    self.pattern(part, &element);
                }
                if let Some(name) = name {
                    self.declare(name, subject);
                }
            }
            Pattern::Several(parts) => {
                for part in parts {
                    self.pattern(part, subject);
                }
            }
            Pattern::Var(name) => self.declare(name, subject),
            Pattern::Any => {}
        }
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
