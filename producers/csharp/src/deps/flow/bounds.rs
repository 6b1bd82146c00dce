//! Bounds of type parameters: the types in their constraints, which an override inherits.

use super::Flow;
use crate::code::ast::TypeRef;
use crate::code::facts::MemberCode;
use crate::deps::shape::Shape;
use crate::deps::world::Candidate;
use std::rc::Rc;

impl Flow<'_, '_> {
    /// Returns the types in the constraints of type parameters.
    pub(super) fn bounds(&self, constraints: &[(String, TypeRef)]) -> Vec<(Rc<str>, Shape)> {
        let bound = |(name, written): &(String, TypeRef)| (name.as_str().into(), self.shape_unrecorded(Some(written)));
        base_constraints(constraints).map(bound).collect()
    }

    /// Returns the types in the constraints of the method that a member overrides, which an override does not repeat.
    pub(super) fn inherited_bounds(&self, member: &MemberCode) -> Vec<(Rc<str>, Shape)> {
        let names: Vec<Rc<str>> = member.type_parameters.iter().map(|name| name.as_str().into()).collect();
        let overridden = |candidate: &Candidate<'_>| {
            let is_alike = candidate.line.arity as usize == names.len();
            is_alike && candidate.parameters().len() == member.signature.parameters.len()
        };
        let candidates = if names.is_empty() {
            Vec::new()
        } else {
            self.seen(&self.base(), &member.name)
        };
        let Some(method) = candidates.into_iter().find(overridden) else {
            return Vec::new();
        };
        let own: Vec<Shape> = names.iter().cloned().map(Shape::Variable).collect();
        let limits = method.limits().filter(|(_, limit)| !matches!(*limit, "class" | "struct"));
        let bound = |(at, limit): (usize, &str)| {
            let shape = Shape::read(limit, method.outside).substitute(method.owner.args(), &own);
            Some((names.get(at)?.clone(), shape))
        };
        limits.filter_map(bound).collect()
    }

    /// Returns the types in the constraints of a type's own type parameters, and of those of enclosing types.
    pub(super) fn bounds_in_scope(&self, own: &[(String, TypeRef)]) -> Vec<(Rc<str>, Shape)> {
        let outer = self.around.iter().skip(1).filter(|outer| !outer.args().is_empty());
        let bounds = outer.flat_map(|outer| self.world.bounds(outer));
        let named = bounds.filter_map(|(at, bound)| Some((self.resolver.own.get(at)?.name.clone(), bound)));
        self.bounds(own).into_iter().chain(named).collect()
    }

    /// Adds bounds of type parameters, until [`Flow::release_bounds`].
    pub(super) fn constrain(&mut self, bounds: &[(Rc<str>, Shape)]) {
        for (name, shape) in bounds {
            self.constraints.entry(name.clone()).or_default().push(shape.clone());
        }
    }

    /// Removes bounds that [`Flow::constrain`] added.
    pub(super) fn release_bounds(&mut self, bounds: Vec<(Rc<str>, Shape)>) {
        for (name, _) in bounds {
            if let Some(list) = self.constraints.get_mut(&name) {
                list.pop();
            }
        }
    }
}

/// Returns the constraints that name a type, without `class` and `struct`.
fn base_constraints(constraints: &[(String, TypeRef)]) -> impl Iterator<Item = &(String, TypeRef)> {
    constraints.iter().filter(|(_, written)| matches!(written, TypeRef::Named(_)))
}
