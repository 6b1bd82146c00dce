//! The resources of `using` and `fixed` statements, and the members that dispose of them or pin them.

use super::parameters::takes;
use super::{Call, Flow, Local};
use crate::code::ast::{Expression, Statement, TypeRef, Word};
use crate::deps::resolve::predefined;
use crate::deps::shape::Shape;
use crate::deps::world::Candidate;
use std::rc::Rc;

/// A way to dispose of a value.
struct Disposal {
    method: &'static str,
    /// Key of the interface that declares it.
    contract: &'static str,
    /// Names of explicit implementations.
    explicit: [&'static str; 3],
}

/// `using`.
const NOW: Disposal = Disposal {
    method: "Dispose",
    contract: "~System.IDisposable",
    explicit: [
        "IDisposable.Dispose",
        "System.IDisposable.Dispose",
        "global::System.IDisposable.Dispose",
    ],
};

/// `await using`.
const LATER: Disposal = Disposal {
    method: "DisposeAsync",
    contract: "~System.IAsyncDisposable",
    explicit: [
        "IAsyncDisposable.DisposeAsync",
        "System.IAsyncDisposable.DisposeAsync",
        "global::System.IAsyncDisposable.DisposeAsync",
    ],
};

/// Whether a member of this name implements the method of an interface that disposes of a value, explicitly.
pub fn is_explicit_disposal(name: &str) -> bool {
    [NOW, LATER].iter().any(|disposal| disposal.explicit.contains(&name))
}

impl<'f, 'a> Flow<'f, 'a> {
    /// Binds the resource of a `using` or `fixed` statement, and records the member that disposes of it or pins it.
    pub(super) fn bind_resource(&mut self, resource: &'f Statement, keyword: &Word) {
        let disposal = if keyword.text == "await" { &LATER } else { &NOW };
        match resource {
            Statement::Local(kind, locals, _) if keyword.text == "fixed" => self.pin(kind, locals, keyword.place),
            Statement::Local(kind, locals, is_const) => {
                self.local(kind, locals, *is_const);
                for (name, _) in locals {
                    if let Some(Local::Value(shape)) = self.find_local(name) {
                        self.record_disposal(&shape, disposal, keyword.place);
                    }
                }
            }
            Statement::Expression(value) => {
                let shape = self.value(value, None);
                self.record_disposal(&shape, disposal, keyword.place);
            }
            other => self.statement(other),
        }
    }

    /// Binds `T* name = value` in `fixed (…)`. The method `GetPinnableReference` of the value, or an extension method, pins it. The language itself
    /// pins arrays and strings.
    fn pin(&mut self, kind: &'f TypeRef, locals: &'f [(String, Option<Expression>)], place: u32) {
        let declared = self.shape_of_type(kind);
        for (name, value) in locals {
            let shape = value.as_ref().map_or(Shape::Null, |value| self.value(value, None));
            if !matches!(shape, Shape::Array(_)) && shape.key() != Some("~System.String") {
                self.implied(&shape, "GetPinnableReference", &[], place);
            }
            self.locals.push((name, Local::Value(declared.clone())));
        }
    }

    /// Records the member that disposes of a value. `await using` prefers a method of the value's type with that name. `using` calls the
    /// implementation of the interface; without one, the method of a `ref struct`.
    fn record_disposal(&mut self, shape: &Shape, disposal: &Disposal, place: u32) {
        let Disposal { method, contract, .. } = *disposal;
        let shape = &self.disposed_as(shape, disposal);
        let key = shape.key().unwrap_or_default();
        if *shape == Shape::Unknown || key.starts_with('^') && !self.is_outside(shape) {
            self.record_possible(method, place, Some(Call::default()));
            return;
        }
        let implements = self.world.as_base(shape, contract).is_some();
        let of_type = self.disposing_method(shape, disposal, implements);
        let explicit = match of_type {
            Some(_) if disposal.method == LATER.method => None,
            _ => self.explicit_disposal(shape, disposal),
        };
        if let Some((owner, member)) = explicit {
            self.used(&Shape::of_key(&owner), member, place, true, Some(Call::default()));
        } else if let Some(one) = of_type {
            // No code names the type arguments of the type that declares the member.
            let owner = Shape::of_key(one.owner.key().unwrap_or_default());
            self.used(&owner, method, place, true, Some(Call::default()));
        } else if implements {
            self.used(&Shape::of_key(contract), method, place, true, Some(Call::default()));
            self.touch_implementer(shape, contract);
        }
    }

    /// Returns the type by which code disposes of a value: of `T?` the type `T`, of a type parameter a type in its constraints.
    fn disposed_as(&self, shape: &Shape, disposal: &Disposal) -> Shape {
        let Shape::Variable(variable) = shape else {
            return shape.without_null().clone();
        };
        let is_disposable = |bound: &&Shape| {
            let is_named = matches!(bound, Shape::Named(..));
            is_named && (self.world.as_base(bound, disposal.contract).is_some() || !self.seen(bound, disposal.method).is_empty())
        };
        let mut bounds = self.constraints.get(variable).into_iter().flatten();
        bounds.find(is_disposable).cloned().unwrap_or(Shape::Null)
    }

    /// Returns the method of a value's type that disposes of it: one without parameters, if it implements the interface. A method `Dispose` that
    /// returns a value does not.
    fn disposing_method(&self, shape: &Shape, disposal: &Disposal, implements: bool) -> Option<Candidate<'a>> {
        let is_awaited = disposal.method == LATER.method;
        // Code calls the interface's own method, whatever an interface that extends it declares.
        if implements && !is_awaited && self.world.kind(shape.key().unwrap_or_default()) == 'i' {
            return None;
        }
        let disposes = |one: &Candidate<'a>| {
            let parameters = one.parameters();
            let is_taken = parameters.is_empty() || (is_awaited || !implements) && takes(&parameters, 0);
            is_taken && one.is_method() && !one.is_static() && (is_awaited || one.result() == predefined("void"))
        };
        self.members_of(shape, disposal.method).into_iter().find(disposes)
    }

    /// Returns the explicit implementation that disposes of a value, with its type. The nearest class or struct that lists the interface decides:
    /// it implements the interface itself, or inherits the implementation.
    fn explicit_disposal(&self, shape: &Shape, disposal: &Disposal) -> Option<(Rc<str>, &'static str)> {
        let levels = self.world.levels(shape);
        let lists = |level: &&Shape| level.key().is_some_and(|key| self.lists_interface(key, disposal.contract));
        for level in levels.iter().skip_while(|level| !lists(level)) {
            let Shape::Named(key, _) = level else { continue };
            if self.world.type_line(key).is_none_or(|line| line.kind == 'i') {
                continue;
            }
            let declared = |name: &str| {
                let mut found = Vec::new();
                self.world.declared(level, name, &mut found);
                found
            };
            if let Some(name) = disposal.explicit.iter().find(|name| !declared(name).is_empty()) {
                return Some((key.clone(), *name));
            }
            let is_public = |one: &Candidate<'a>| one.parameters().is_empty() && one.is_method() && !one.is_private();
            if declared(disposal.method).iter().any(is_public) {
                return None;
            }
        }
        None
    }

    /// Whether a class or struct of the workspace lists an interface, or one that extends it.
    fn lists_interface(&self, key: &str, contract: &str) -> bool {
        let extends = |base: &Shape| {
            let is_interface = base.key().is_some_and(|key| self.world.kind(key) == 'i');
            is_interface && self.world.as_base(base, contract).is_some()
        };
        let line = self.world.type_line(key);
        line.is_some_and(|line| line.kind != 'i' && line.bases.iter().any(extends))
    }

    /// Records the type that implements an interface for a value. It is the nearest class or struct, among the value's type and its bases,
    /// that lists the interface or one that extends it.
    fn touch_implementer(&mut self, shape: &Shape, contract: &str) {
        let levels = self.world.levels(shape);
        let implementer = levels.iter().filter_map(Shape::key).find(|key| self.lists_interface(key, contract));
        if let Some(key) = implementer {
            self.record_inferred(&Shape::of_key(key));
        }
    }
}
