//! Type arguments that code does not write: those of the outer type, for a nested type that an enclosing type inherits from a generic base.

use super::resolve::all_parameters;
use super::shape::Shape;
use super::world::{Candidate, World};
use crate::types::symbol_of;
use std::rc::Rc;

/// Maximum nesting of types whose arguments depend on each other; code with circular bases exceeds it.
const DEEPEST: u32 = 8;

impl World<'_> {
    /// Completes a type that code in the types `around` names; these are innermost first.
    pub fn complete(&self, shape: Shape, around: &[Shape]) -> Shape {
        if !is_incomplete(&shape) {
            return shape;
        }
        self.within_depth(shape, |shape| self.with_outer_arguments(shape, around))
    }

    /// Returns the type or result of a member; nested types that its type inherits from a generic base have the arguments of that base.
    pub fn result_of(&self, member: &Candidate<'_>) -> Shape {
        self.complete(member.result(), std::slice::from_ref(&member.owner))
    }

    /// Completes a base of a type, which is named outside of the type's body.
    pub(super) fn complete_base(&self, base: &Shape, of: &str) -> Shape {
        if !is_incomplete(base) {
            return base.clone();
        }
        self.within_depth(base.clone(), |base| self.with_outer_arguments(base, &self.types_around(of)))
    }

    /// Calls `complete` with a type, unless calls are nested too deep.
    fn within_depth(&self, shape: Shape, complete: impl Fn(&Shape) -> Shape) -> Shape {
        let depth = self.depth.get();
        if depth == DEEPEST {
            return shape;
        }
        self.depth.set(depth + 1);
        let found = complete(&shape).bounded();
        self.depth.set(depth);
        found
    }

    fn with_outer_arguments(&self, shape: &Shape, around: &[Shape]) -> Shape {
        match shape {
            Shape::Named(key, args) => {
                let mut args: Vec<Shape> = args.iter().map(|arg| self.with_outer_arguments(arg, around)).collect();
                if let Some(outer) = self.outer_arguments(key, &args, around) {
                    args.iter_mut().zip(outer).for_each(|(arg, outer)| *arg = outer);
                }
                Shape::Named(key.clone(), args.into())
            }
            Shape::Array(element) => Shape::Array(Rc::new(self.with_outer_arguments(element, around))),
            Shape::Tuple(parts) => {
                let parts = parts
                    .iter()
                    .map(|(name, part)| (name.clone(), self.with_outer_arguments(part, around)));
                Shape::Tuple(parts.collect())
            }
            shape => shape.clone(),
        }
    }

    /// Returns the arguments of the base that declares a nested type, if none of them is known.
    fn outer_arguments(&self, key: &str, args: &[Shape], around: &[Shape]) -> Option<Vec<Shape>> {
        let mut symbol = symbol_of(key);
        while let Some((outer, _)) = symbol.rsplit_once('+') {
            let count = all_parameters(outer) as usize;
            if count == 0 || args.len() < count || args[..count].iter().any(|arg| *arg != Shape::Unknown) {
                return None;
            }
            let is_outer = |level: &Shape| level.key().map(symbol_of) == Some(outer) && level.args().len() == count;
            if let Some(base) = around.iter().flat_map(|own| self.levels(own)).find(is_outer) {
                return Some(base.args().to_vec());
            }
            symbol = outer;
        }
        None
    }

    /// Returns the types around a type, innermost first, in terms of its own parameters.
    fn types_around(&self, key: &str) -> Vec<Shape> {
        let (mut symbol, mut found) = (symbol_of(key), Vec::new());
        let scope = &key[symbol.len()..];
        while let Some((outer, _)) = symbol.rsplit_once('+') {
            let scoped = format!("{outer}{scope}");
            let key = if self.type_line(&scoped).is_some() {
                scoped.as_str()
            } else {
                outer
            };
            let args: Vec<Shape> = (0..all_parameters(outer)).map(Shape::Own).collect();
            found.push(Shape::Named(key.into(), args.into()));
            symbol = outer;
        }
        found
    }
}

/// Whether an argument of an outer type is not known.
fn is_incomplete(shape: &Shape) -> bool {
    match shape {
        Shape::Named(key, args) => args.first() == Some(&Shape::Unknown) && key.contains('+') || args.iter().any(is_incomplete),
        Shape::Array(element) => is_incomplete(element),
        Shape::Tuple(parts) => parts.iter().any(|(_, part)| is_incomplete(part)),
        _ => false,
    }
}
