//! Locals in scope, by name: the time of a lookup does not depend on their number.

use super::Local;
use crate::csharp::deps::shape::Shape;
use rustc_hash::{FxHashMap, FxHashSet};

/// The locals of all open scopes, outermost scope first.
#[derive(Default)]
pub(super) struct Locals<'f> {
    all: Vec<(&'f str, Local<'f>)>,
    /// Indexes in `all` of the locals with a name, the innermost last.
    by_name: FxHashMap<&'f str, Vec<usize>>,
    /// Indexes in `all` of the locals that may be constants, in order.
    constants: Vec<usize>,
}

impl<'f> Locals<'f> {
    /// Returns the number of locals in scope.
    pub(super) fn len(&self) -> usize {
        self.all.len()
    }

    /// Returns the names of all locals that were ever in scope.
    pub(super) fn names(&self) -> FxHashSet<String> {
        self.by_name.keys().map(|name| (*name).to_owned()).collect()
    }

    /// Declares a local.
    pub(super) fn push(&mut self, (name, local): (&'f str, Local<'f>)) {
        self.by_name.entry(name).or_default().push(self.all.len());
        self.all.push((name, local));
    }

    /// Declares a local that may be a constant.
    pub(super) fn push_constant(&mut self, local: (&'f str, Local<'f>)) {
        self.constants.push(self.all.len());
        self.push(local);
    }

    /// Whether the innermost local of a name may be a constant.
    pub(super) fn may_be_constant(&self, name: &str) -> bool {
        self.find(name).is_some_and(|(at, _)| self.constants.contains(&at))
    }

    /// Leaves inner scopes: removes all locals but the first `len`.
    pub(super) fn truncate(&mut self, len: usize) {
        for (name, _) in self.all.drain(len.min(self.all.len())..) {
            if let Some(places) = self.by_name.get_mut(name) {
                places.pop();
            }
        }
        while self.constants.last().is_some_and(|at| *at >= len) {
            self.constants.pop();
        }
    }

    /// Removes the locals from one number of locals up to another; those after them stay in scope.
    pub(super) fn remove_range(&mut self, from: usize, to: usize) {
        let to = to.min(self.all.len());
        let later: Vec<(bool, (&'f str, Local<'f>))> = (to..)
            .zip(&self.all[to..])
            .map(|(at, local)| (self.constants.contains(&at), local.clone()))
            .collect();
        self.truncate(from);
        for (is_constant, local) in later {
            match is_constant {
                true => self.push_constant(local),
                false => self.push(local),
            }
        }
    }

    /// Returns the types of the locals after the first `len`.
    pub(super) fn types_declared_since(&self, len: usize) -> Vec<Shape> {
        let value = |(_, local): &(&str, Local<'f>)| match local {
            Local::Value(shape) => shape.clone(),
            Local::Function(_) => Shape::Unknown,
        };
        self.all[len.min(self.all.len())..].iter().map(value).collect()
    }

    /// Returns the innermost local of a name, and how many were declared before it.
    pub(super) fn find(&self, name: &str) -> Option<(usize, &Local<'f>)> {
        let at = *self.by_name.get(name)?.last()?;
        self.all.get(at).map(|(_, local)| (at, local))
    }
}
