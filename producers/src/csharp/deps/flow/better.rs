//! Which of two overloads the arguments fit better (C# specification, Better function member).

use super::Flow;
use super::call::{Chosen, NOT_CALLABLE};
use super::numbers::{is_narrowing, numeric};
use super::overload::is_exact;
use crate::csharp::code::ast::Argument;
use crate::csharp::deps::shape::Shape;

/// How two parameters take one argument.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fit {
    /// Both are of one type.
    Same,
    /// The first takes it better.
    First,
    /// The second takes it better.
    Second,
    /// Neither takes it better.
    Neither,
    /// What is known of the types does not tell.
    Open,
}

impl<'a> Flow<'_, 'a> {
    /// Whether the language prefers the first of two candidates (`true`) or the second (`false`) for arguments of these types; `None` where
    /// it prefers neither, or where too little is known. One is better that takes no argument worse and one of them better; of two that take
    /// the same types the one goes first that has no type parameters, then the one that takes just these arguments.
    pub(super) fn preferred(
        &self,
        one: &Chosen<'a>,
        other: &Chosen<'a>,
        receiver: Option<&Shape>,
        (args, shapes): (&[Argument], &[Option<Shape>]),
    ) -> Option<bool> {
        if one.score <= NOT_CALLABLE || other.score <= NOT_CALLABLE {
            return None;
        }
        let types = |of: &Chosen<'a>| -> Vec<Shape> {
            let all = of.receiver.iter().chain(&of.parameters);
            all.map(|parameter| parameter.substitute(&[], &of.bindings)).collect()
        };
        let (own, others) = (types(one), types(other));
        if own.len() != others.len() {
            return None;
        }
        let extended = own.len().saturating_sub(args.len());
        let given = |at: usize| match at.checked_sub(extended) {
            None => receiver.filter(|shape| shape.is_known()),
            Some(at) => shapes.get(at)?.as_ref().filter(|shape| is_exact(&args[at], shape)),
        };
        let (mut is_first, mut is_second) = (false, false);
        for (at, (own, others)) in own.iter().zip(&others).enumerate() {
            match given(at).map_or_else(|| known_same(own, others), |given| self.better_fit(given, own, others)) {
                Fit::Same => {}
                Fit::First => is_first = true,
                Fit::Second => is_second = true,
                Fit::Neither | Fit::Open => return None,
            }
        }
        // What constrains its type parameters may not take part.
        let is_certain = |of: &Chosen<'a>| of.candidate.line.limits.is_empty();
        let verdict = match (is_first, is_second) {
            (true, true) => None,
            (true, false) => Some(true),
            (false, true) => Some(false),
            (false, false) => preferred_of_same(one, other, own.len()),
        };
        verdict.filter(|first| is_certain(if *first { one } else { other }))
    }

    /// How two parameters take a value of a type (C# specification, Better conversion from expression).
    fn better_fit(&self, given: &Shape, own: &Shape, others: &Shape) -> Fit {
        if own == others {
            return Fit::Same;
        }
        if *given == Shape::Unknown || !is_complete(own) || !is_complete(others) {
            return Fit::Open;
        }
        if given == own {
            return Fit::First;
        }
        if given == others {
            return Fit::Second;
        }
        // `default` is a value of each type.
        if *given == Shape::Null && !(self.takes_null(own) && self.takes_null(others)) {
            return Fit::Open;
        }
        // Only constants become smaller numbers; which do is not followed.
        if is_narrowing(given, own.without_null()) || is_narrowing(given, others.without_null()) {
            return Fit::Open;
        }
        match (self.becomes(own, others), self.becomes(others, own)) {
            (Some(true), Some(false)) => Fit::First,
            (Some(false), Some(true)) => Fit::Second,
            (Some(_), Some(_)) => Fit::Neither,
            _ => Fit::Open,
        }
    }

    /// Whether an implicit conversion takes values of one type to another; `None` where that is not known.
    pub(super) fn becomes(&self, from: &Shape, to: &Shape) -> Option<bool> {
        if from == to || to.key() == Some("~System.Object") {
            return Some(true);
        }
        if !is_complete(from) || !is_complete(to) {
            return None;
        }
        if to.is_nullable() {
            return self.becomes(from.without_null(), to.without_null());
        }
        if from.is_nullable() {
            return match self.world.kind(to.key()?) {
                's' | 'e' => Some(false),
                // A value that may be none is boxed like the value.
                'i' => self.becomes(from.without_null(), to),
                _ => None,
            };
        }
        let (from_key, to_key) = match (from, to) {
            (Shape::Named(from, _), Shape::Named(to, _)) => (from, to),
            (Shape::Tuple(_) | Shape::Array(_), Shape::Named(..)) if self.conversion(from, to).is_some() => return Some(true),
            (Shape::Named(..), Shape::Tuple(_) | Shape::Array(_)) => return self.declared_conversion(from, to),
            (Shape::Array(_), Shape::Named(key, _)) if !self.is_known_type(key) => return None,
            (Shape::Array(_), Shape::Named(key, args)) => match self.world.as_base(from, key) {
                Some(base) if base.args() == &**args => return Some(true),
                Some(_) => return None,
                None if key.starts_with('~') => return None,
                None => return Some(false),
            },
            _ => return None,
        };
        if numeric(from_key) && numeric(to_key) {
            return Some(!is_narrowing(from, to));
        }
        if !self.is_known_type(from_key) || !self.is_known_type(to_key) {
            return None;
        }
        if let Some(base) = self.world.as_base(from, to_key) {
            // Of other type arguments it may be a variant or not.
            return (base == *to).then_some(true);
        }
        self.declared_conversion(from, to)
    }

    /// Whether a conversion takes values of a type to one that is no base of it: only a declared one does.
    fn declared_conversion(&self, from: &Shape, to: &Shape) -> Option<bool> {
        if self.conversion(from, to).is_some() || self.converts_outside(from, to) {
            return Some(true);
        }
        let is_open = |shape: &Shape| {
            let levels = self.world.levels(shape);
            levels.iter().any(|level| level.key().is_none_or(|key| key.starts_with('^')))
        };
        (!is_open(from) && !self.has_unwritten_base(from, to)).then_some(false)
    }

    /// Whether a type of .NET may be a base of a type that nothing writes: those of structs, enums, delegates and records.
    fn has_unwritten_base(&self, from: &Shape, to: &Shape) -> bool {
        let is_special = from.key().is_some_and(|key| matches!(self.world.kind(key), 's' | 'e' | 'd'));
        to.key()
            .is_some_and(|key| key.starts_with('~') && (is_special || key == "~System.IEquatable`1"))
    }

    /// Whether the workspace or .NET declares the type of a key.
    fn is_known_type(&self, key: &str) -> bool {
        self.world.kind(key) != ' '
    }
}

/// Whether two parameters are of one type where nothing is known of the argument.
fn known_same(own: &Shape, others: &Shape) -> Fit {
    if own == others { Fit::Same } else { Fit::Open }
}

/// Whether all of a type is known.
fn is_complete(shape: &Shape) -> bool {
    match shape {
        Shape::Named(key, args) => !key.starts_with('^') && args.iter().all(is_complete),
        Shape::Array(element) => is_complete(element),
        Shape::Tuple(parts) => parts.iter().all(|(_, part)| is_complete(part)),
        Shape::Variable(_) | Shape::Own(_) => true,
        Shape::Unknown | Shape::Null | Shape::Method(_) | Shape::Anonymous(_) => false,
    }
}

/// Which of two candidates goes first that take the same types for all arguments.
fn preferred_of_same(one: &Chosen<'_>, other: &Chosen<'_>, count: usize) -> Option<bool> {
    let is_plain = |of: &Chosen<'_>| {
        let parameters = of.candidate.parameters();
        parameters.len() == count && !parameters.iter().any(|(word, _)| *word == "params")
    };
    match (one.candidate.line.arity > 0, other.candidate.line.arity > 0) {
        (false, true) => Some(true),
        (true, false) => Some(false),
        (false, false) => match (is_plain(one), is_plain(other)) {
            (true, false) => Some(true),
            (false, true) => Some(false),
            _ => None,
        },
        (true, true) => None,
    }
}
