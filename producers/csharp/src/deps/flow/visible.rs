//! Accessibility of members.

use super::Flow;
use crate::code::ast::Name;
use crate::deps::shape::Shape;
use crate::deps::world::Candidate;
use crate::types::symbol_of;

impl<'a> Flow<'_, 'a> {
    /// Returns the accessible members of a type by their name; all of them if none is accessible.
    pub(super) fn seen(&self, shape: &Shape, name: &str) -> Vec<Candidate<'a>> {
        self.world.lookup_seen(shape, name, &|one| self.sees(one))
    }

    /// Returns the accessible members of a type to which a name may refer: one with written type arguments refers to a generic method.
    pub(super) fn seen_as(&self, shape: &Shape, name: &Name) -> Vec<Candidate<'a>> {
        let mut found = self.seen(shape, &name.word.text);
        if !name.args.is_empty() {
            found.retain(|one| one.is_method() && one.line.arity as usize == name.args.len());
        }
        found
    }

    /// Whether the code can access a member.
    pub(super) fn sees(&self, one: &Candidate<'a>) -> bool {
        let Some(owner) = one.owner.key() else { return true };
        let mut around = self.around.iter();
        if one.is_private() {
            around.any(|own| own.key() == Some(owner))
        } else if one.is_of_family() {
            let outermost = |key: &str| symbol_of(key).split('+').next().map(str::to_owned);
            around.any(|own| self.world.as_base(own, owner).is_some() || own.key().and_then(outermost) == outermost(owner))
        } else {
            !one.is_internal() || self.resolver.sees_internals(owner)
        }
    }
}
