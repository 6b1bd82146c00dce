//! Deconstruction: the methods that it calls, and the types of the parts.

use super::{Call, Flow, Local, unnamed_calls};
use crate::code::ast::{Argument, Designation, Expression, Passing};
use crate::deps::shape::Shape;
use crate::deps::world::Candidate;

/// Name of the methods that a deconstruction calls.
const NAME: &str = "Deconstruct";

impl<'f, 'a> Flow<'f, 'a> {
    /// Declares the variables of a designation.
    pub(super) fn declare(&mut self, designation: &'f Designation, shape: &Shape) {
        match designation {
            Designation::Name(name) => self.locals.push((name, Local::Value(shape.clone()))),
            Designation::Discard => {}
            Designation::Tuple(names) => {
                let parts = self.parts(shape, names.len());
                for (name, part) in names.iter().zip(parts) {
                    self.declare(name, &part);
                }
            }
        }
    }

    /// Records the methods that the deconstruction of a value into names calls.
    pub(super) fn split(&mut self, shape: &Shape, names: &[Designation], place: u32) {
        let parts = self.deconstructed(shape, names.len(), place);
        for (name, part) in names.iter().zip(&parts) {
            if let Designation::Tuple(inner) = name {
                self.split(part, inner, place);
            }
        }
    }

    /// Returns the types of the parts of a deconstructed value, and records the method that it calls.
    pub(super) fn deconstructed(&mut self, shape: &Shape, count: usize, place: u32) -> Vec<Shape> {
        if let Some(parts) = self.own_parts(shape, count, Some(place)) {
            return parts;
        }
        self.parts(shape, count)
    }

    /// Returns the types of the parts that a method `Deconstruct` of the workspace returns; records its use if there is a place.
    fn own_parts(&mut self, shape: &Shape, count: usize, place: Option<u32>) -> Option<Vec<Shape>> {
        if matches!(shape, Shape::Tuple(_)) {
            return None;
        }
        let is_outside = self.is_outside(shape);
        let mut found = self.members_of(shape, NAME).into_iter();
        let declared = found.find(|candidate| candidate.is_method() && candidate.parameters().len() == count);
        let extension = match (declared.is_none() || is_outside) && shape.is_known() {
            true => {
                let extensions = self.extensions(shape, NAME, false).into_iter();
                let mut fitting = extensions.filter(|candidate| candidate.parameters().len() == count + 1);
                fitting.next()
            }
            false => None,
        };
        // The type may have the method in one target framework of the project and lack it in another.
        let is_certain = !(is_outside && declared.is_some());
        let extends = extension.is_some();
        let chosen = extension.or_else(|| declared.filter(|_| !is_outside));
        let call = Call {
            passed: vec![Passing::Out; count],
            ..unnamed_calls::call_of(&vec![Shape::Unknown; count], extends)
        };
        match (&chosen, place) {
            (Some(chosen), Some(place)) => self.used(&chosen.owner, NAME, place, is_certain, Some(call)),
            (None, Some(place)) if self.may_declare(shape) => self.record_possible(NAME, place, Some(call)),
            _ => {}
        }
        let chosen = chosen?;
        Some(if extends {
            self.extended_parts(&chosen, shape)
        } else {
            types_of(&chosen)
        })
    }

    /// Whether a type is not known and may have members of the workspace.
    fn may_declare(&self, shape: &Shape) -> bool {
        matches!(shape, Shape::Unknown) || !self.is_outside(shape) && shape.key().is_some_and(|key| key.starts_with('^'))
    }

    /// Returns the types of the parts that an extension method returns for a value of this type.
    fn extended_parts(&self, candidate: &Candidate<'a>, shape: &Shape) -> Vec<Shape> {
        let mut bindings = vec![Shape::Unknown; candidate.line.arity as usize];
        let mut types = types_of(candidate).into_iter();
        if let Some(receiver) = types.next() {
            self.conversion_rank(&receiver, shape, &mut bindings);
        }
        types.map(|part| part.substitute(&[], &bindings).bounded()).collect()
    }

    /// Returns the types of the parts of a deconstructed value, without recording a use.
    pub(super) fn parts(&mut self, shape: &Shape, count: usize) -> Vec<Shape> {
        if let Some(parts) = self.own_parts(shape, count, None) {
            return parts;
        }
        match shape {
            Shape::Tuple(parts) if parts.len() == count => parts.iter().map(|(_, part)| part.clone()).collect(),
            Shape::Named(key, args) if &**key == "~System.Collections.Generic.KeyValuePair`2" => args.to_vec(),
            Shape::Named(key, _) if !key.starts_with(['~', '^']) => {
                let mut found = Vec::new();
                self.world.declared(shape, ".ctor", &mut found);
                let fitting = found.iter().find(|candidate| candidate.parameters().len() == count);
                fitting.map_or_else(
                    || vec![Shape::Unknown; count],
                    |candidate| candidate.parameters().into_owned().into_iter().map(|(_, shape)| shape).collect(),
                )
            }
            _ => vec![Shape::Unknown; count],
        }
    }

    /// Binds the assignment to the parts of a tuple. Records the conversions at the values if the right side is a tuple, else at the sign.
    pub(super) fn assign_parts(&mut self, parts: &'f [Argument], shapes: &[Shape], right: Option<&'f Expression>, sign: u32) {
        for (at, (part, shape)) in parts.iter().zip(shapes).enumerate() {
            let value = match right {
                Some(Expression::Tuple(values)) => values.get(at).map(|value| &value.value),
                _ => None,
            };
            if let Expression::Tuple(inner) = &part.value {
                let shapes = self.deconstructed(shape, inner.len(), sign);
                self.assign_parts(inner, &shapes, value, sign);
                continue;
            }
            if let Expression::Declaration(_, Designation::Tuple(names)) = &part.value {
                self.split(shape, names, sign);
            }
            let target = self.assigned(&part.value, Some(shape));
            match value {
                Some(value) => self.note_conversion(value, shape, &target, true),
                None => self.note_conversion_at(sign, shape, &target, true),
            };
        }
    }
}

/// Returns the types of the parameters.
fn types_of(candidate: &Candidate<'_>) -> Vec<Shape> {
    candidate.parameters().into_owned().into_iter().map(|(_, shape)| shape).collect()
}
