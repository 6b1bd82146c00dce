//! Locals in scope, by name: the time of a lookup does not depend on their number.

use super::Local;
use crate::code::integer_range::IntegerRange;
use rustc_hash::{FxHashMap, FxHashSet};

/// A local in scope.
#[derive(Clone)]
struct Declared<'f> {
    name: &'f str,
    local: Local<'f>,
    is_constant: bool,
    /// The range of the value of a constant of the type `int`.
    range: Option<IntegerRange>,
}

/// The locals of all open scopes, outermost scope first.
#[derive(Default)]
pub(super) struct Locals<'f> {
    all: Vec<Declared<'f>>,
    /// Indexes in `all` of the locals with a name, the innermost last.
    by_name: FxHashMap<&'f str, Vec<usize>>,
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

    pub(super) fn push(&mut self, (name, local): (&'f str, Local<'f>)) {
        self.declare(Declared {
            name,
            local,
            is_constant: false,
            range: None,
        });
    }

    /// Declares a local that is a constant; `range`: that of its value if it has the type `int`.
    pub(super) fn push_constant(&mut self, (name, local): (&'f str, Local<'f>), range: Option<IntegerRange>) {
        self.declare(Declared {
            name,
            local,
            is_constant: true,
            range,
        });
    }

    fn declare(&mut self, declared: Declared<'f>) {
        self.by_name.entry(declared.name).or_default().push(self.all.len());
        self.all.push(declared);
    }

    fn innermost(&self, name: &str) -> Option<(usize, &Declared<'f>)> {
        let at = *self.by_name.get(name)?.last()?;
        self.all.get(at).map(|declared| (at, declared))
    }

    /// Whether the innermost local of a name is a constant.
    pub(super) fn is_constant(&self, name: &str) -> bool {
        self.innermost(name).is_some_and(|(_, declared)| declared.is_constant)
    }

    /// Returns the range of the value of the innermost local of a name, if it is a constant of the type `int`.
    pub(super) fn range_of_constant(&self, name: &str) -> Option<IntegerRange> {
        self.innermost(name).and_then(|(_, declared)| declared.range)
    }

    /// Leaves inner scopes: removes all locals but the first `len`.
    pub(super) fn truncate(&mut self, len: usize) {
        for declared in self.all.drain(len.min(self.all.len())..) {
            if let Some(places) = self.by_name.get_mut(declared.name) {
                places.pop();
            }
        }
    }

    /// Removes the locals from one number of locals up to another; those after them stay in scope.
    pub(super) fn remove_range(&mut self, from: usize, to: usize) {
        let later = self.all[to.min(self.all.len())..].to_vec();
        self.truncate(from);
        later.into_iter().for_each(|declared| self.declare(declared));
    }

    /// Returns the innermost local of a name, and how many were declared before it.
    pub(super) fn find(&self, name: &str) -> Option<(usize, &Local<'f>)> {
        self.innermost(name).map(|(at, declared)| (at, &declared.local))
    }
}
