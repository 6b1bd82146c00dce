//! Accessibility of members.

use super::Flow;
use super::extensions::is_undeclared;
use crate::code::ast::Name;
use crate::deps::shape::Shape;
use crate::deps::world::Candidate;
use crate::types::symbol_of;

/// Whether a member is a method with as many type parameters as a name has type arguments.
fn is_generic_as(one: &Candidate<'_>, name: &Name) -> bool {
    one.is_method() && one.line.arity as usize == name.args.len()
}

impl<'a> Flow<'_, 'a> {
    /// Returns the accessible members of a type by their name; all of them if none is accessible.
    pub(super) fn seen(&self, shape: &Shape, name: &str) -> Vec<Candidate<'a>> {
        self.world.lookup_seen(shape, name, &|one| self.sees(one))
    }

    /// Returns the accessible members of a type to which a name may refer: one with written type arguments refers to a generic method.
    pub(super) fn seen_as(&self, shape: &Shape, name: &Name) -> Vec<Candidate<'a>> {
        let mut found = self.seen(shape, &name.word.text);
        if !name.args.is_empty() {
            found.retain(|one| is_generic_as(one, name));
        }
        found
    }

    /// Returns the members that a called name may refer to in the first of these types that has any: values that code cannot call hide no
    /// methods. Without a member that code can call, the first that were found.
    pub(super) fn called_members<'o>(&self, owners: impl IntoIterator<Item = &'o Shape>, name: &Name) -> Vec<Candidate<'a>> {
        let mut first = Vec::new();
        for owner in owners {
            let mut found = self.seen_as(owner, name);
            if !found.iter().any(|one| self.may_be_called(one)) {
                let is_named = |one: &Candidate<'a>| name.args.is_empty() || is_generic_as(one, name);
                let sees = |one: &Candidate<'a>| self.sees(one) && self.may_be_called(one) && is_named(one);
                let others = self.world.lookup_seen(owner, &name.word.text, &sees);
                if !others.iter().any(&sees) {
                    first = if first.is_empty() { found } else { first };
                    continue;
                }
                found = others;
            }
            return found;
        }
        first
    }

    /// Whether code may call a member: a method, or a value unless its type is known and no delegate.
    pub(super) fn may_be_called(&self, one: &Candidate<'a>) -> bool {
        if one.is_method() {
            return true;
        }
        let kind = one.result();
        !kind.is_known() || matches!(kind, Shape::Variable(_)) || is_undeclared(&kind) || self.world.delegate(&kind).is_some()
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
