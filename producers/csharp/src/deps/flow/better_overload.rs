//! The better one of two overloads for the arguments of a call (C# specification, Better function member).

use super::Flow;
use super::numbers::{is_narrowing, is_signed_over, numeric};
use super::overload_resolution::{Chosen, NOT_CALLABLE};
use crate::code::ast::{Argument, Passing};
use crate::code::integer_range::IntegerRange;
use crate::deps::shape::Shape;

/// Comparison of the conversions of one argument to two parameters.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fit {
    /// Both parameters have the same type.
    Same,
    /// The conversion to the first parameter is better.
    First,
    /// The conversion to the second parameter is better.
    Second,
    /// Neither conversion is better.
    Neither,
    /// Too little is known of the types to decide.
    Open,
}

impl<'a> Flow<'_, 'a> {
    /// Whether C# prefers the first of two candidates (`true`) or the second (`false`) for arguments of these types; `None` if it prefers
    /// neither, or if too little is known. A candidate is better if no conversion of an argument is worse and one is better. Of two with the same
    /// parameter types, one without type parameters is better, then one without `params` and without omitted optional parameters,
    /// then one that takes values.
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
            Some(at) => shapes.get(at)?.as_ref(),
        };
        let constant = |at: usize| args.get(at.checked_sub(extended)?).and_then(|arg| self.range_of(&arg.value));
        let (mut is_first, mut is_second, mut is_same) = (false, false, true);
        for (at, (own, others)) in own.iter().zip(&others).enumerate() {
            match given(at).map_or_else(
                || self.known_same(own, others),
                |given| self.better_fit(given, constant(at), own, others),
            ) {
                Fit::Same => {}
                Fit::First => is_first = true,
                Fit::Second => is_second = true,
                Fit::Neither => is_same = false,
                Fit::Open => return None,
            }
        }
        // A candidate whose constraints may be violated may not be applicable.
        let is_certain = |of: &Chosen<'a>| self.meets_limits(&of.candidate, &of.bindings);
        let verdict = match (is_first, is_second) {
            (true, true) => None,
            (true, false) => Some(true),
            (false, true) => Some(false),
            (false, false) if is_same => preferred_of_same(one, other, own.len()),
            (false, false) => preferred_by_passing(one, other),
        };
        verdict.filter(|first| is_certain(if *first { one } else { other }))
    }

    /// Compares the conversions of a value to two parameters (C# specification, Better conversion from expression). `constant`: the range of the value
    /// if it is a constant of the type `int`.
    fn better_fit(&self, given: &Shape, constant: Option<IntegerRange>, own: &Shape, others: &Shape) -> Fit {
        if own == others {
            return Fit::Same;
        }
        let is_complete = is_complete(own) && is_complete(others);
        if *given == Shape::Unknown || !is_complete && own.key() == others.key() {
            return Fit::Open;
        }
        if given == own {
            return Fit::First;
        }
        if given == others {
            return Fit::Second;
        }
        // An undeclared type may convert to both, or to only one of them.
        if given.key().is_some_and(|key| key.starts_with('^')) {
            return Fit::Open;
        }
        // The value may be `default`, which converts to every type.
        if *given == Shape::Null && !(self.takes_null(own) && self.takes_null(others)) {
            return Fit::Open;
        }
        // Only constants convert to narrower numeric types, and only values of `int` constants are known here.
        let holds = |to: &Shape| constant.is_some_and(|range| to.key().is_some_and(|key| range.converts_to(key)));
        let is_open = |to: &Shape| is_narrowing(given, to) && !holds(to);
        if is_open(own.without_null()) || is_open(others.without_null()) {
            return Fit::Open;
        }
        let is_signed = |one: &Shape, other: &Shape| {
            let keys = one.without_null().key().zip(other.without_null().key());
            keys.is_some_and(|(one, other)| is_signed_over(one, other))
        };
        match (self.becomes(own, others), self.becomes(others, own)) {
            (Some(true), Some(false)) => Fit::First,
            (Some(false), Some(true)) => Fit::Second,
            (Some(false), Some(false)) if is_signed(own, others) => Fit::First,
            (Some(false), Some(false)) if is_signed(others, own) => Fit::Second,
            (Some(_), Some(_)) => Fit::Neither,
            _ => Fit::Open,
        }
    }

    /// Returns the one of two bounds of a type parameter to which the other converts, the first if that is not known, and `None` if neither does:
    /// then C# infers no type.
    pub(super) fn common_bound(&self, one: &Shape, other: &Shape) -> Option<Shape> {
        match (self.becomes(other, one), self.becomes(one, other)) {
            (Some(true), _) => Some(one.clone()),
            (_, Some(true)) => Some(other.clone()),
            (Some(false), Some(false)) => None,
            _ => Some(one.clone()),
        }
    }

    /// Whether values of one type convert implicitly to another; `None` if that is not known.
    pub(super) fn becomes(&self, from: &Shape, to: &Shape) -> Option<bool> {
        if from == to || to.key() == Some("~System.Object") {
            return Some(true);
        }
        // The declarations alone may decide: every `IQueryable<T>` is an `IEnumerable<T>`, and not the other way round.
        if !is_complete(from) || !is_complete(to) {
            let (from_key, to_key) = (from.key()?, to.key()?);
            let are_known = self.is_known_type(from_key) && self.is_known_type(to_key) && !from.is_nullable() && !to.is_nullable();
            return match self.world.as_base(from, to_key).filter(|_| are_known) {
                Some(base) => (base == *to).then_some(true),
                None if are_known && self.world.as_base(to, from_key).is_some() => Some(false),
                None => None,
            };
        }
        if to.is_nullable() {
            return self.becomes(from.without_null(), to.without_null());
        }
        if from.is_nullable() {
            return match self.world.kind(to.key()?) {
                's' | 'e' => Some(false),
                // A nullable value is boxed as its underlying value.
                'i' | 'c' => self.becomes(from.without_null(), to),
                _ => None,
            };
        }
        let (from_key, to_key) = match (from, to) {
            (Shape::Named(from, _), Shape::Named(to, _)) => (from, to),
            (Shape::Tuple(from), Shape::Tuple(to)) if from.len() == to.len() => {
                let mut parts = from.iter().zip(to.iter());
                return parts.try_fold(true, |all, ((_, from), (_, to))| Some(all && self.becomes(from, to)?));
            }
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
            // With other type arguments, the conversion depends on variance.
            return (base == *to).then_some(true);
        }
        self.declared_conversion(from, to)
    }

    /// Whether values of a type convert implicitly to one that is no base of it, because one of the two declares a conversion.
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

    /// Whether a type of .NET may be a base that the compiler adds: to a struct, an enum, a delegate or a record.
    fn has_unwritten_base(&self, from: &Shape, to: &Shape) -> bool {
        let is_special = from.key().is_some_and(|key| matches!(self.world.kind(key), 's' | 'e' | 'd'));
        to.key()
            .is_some_and(|key| key.starts_with('~') && (is_special || key == "~System.IEquatable`1"))
    }

    /// Compares two parameters for an argument without a known type. A delegate and an expression tree of that delegate take the same lambdas.
    fn known_same(&self, own: &Shape, others: &Shape) -> Fit {
        let has_same_signature = || {
            self.world
                .delegate(own)
                .is_some_and(|delegate| self.world.delegate(others) == Some(delegate))
        };
        if own == others || has_same_signature() {
            Fit::Same
        } else {
            Fit::Open
        }
    }

    /// Whether the workspace or .NET declares the type of a key.
    fn is_known_type(&self, key: &str) -> bool {
        self.world.kind(key) != ' '
    }
}

/// Whether every part of a type is known.
fn is_complete(shape: &Shape) -> bool {
    match shape {
        Shape::Named(key, args) => !key.starts_with('^') && args.iter().all(is_complete),
        Shape::Array(element) => is_complete(element),
        Shape::Tuple(parts) => parts.iter().all(|(_, part)| is_complete(part)),
        Shape::Variable(_) | Shape::Own(_) => true,
        Shape::Unknown | Shape::Null | Shape::Method(_) | Shape::Anonymous(_) => false,
    }
}

/// Whether the first of two candidates with the same parameter types is better (`true`), or the second (`false`).
fn preferred_of_same(one: &Chosen<'_>, other: &Chosen<'_>, count: usize) -> Option<bool> {
    let is_plain = |of: &Chosen<'_>| {
        let parameters = of.candidate.parameters();
        parameters.len() == count && !parameters.iter().any(|(own, _)| own.many)
    };
    match (one.candidate.line.arity > 0, other.candidate.line.arity > 0) {
        (false, true) => Some(true),
        (true, false) => Some(false),
        (false, false) => match (is_plain(one), is_plain(other)) {
            (true, false) => Some(true),
            (false, true) => Some(false),
            _ => preferred_by_passing(one, other),
        },
        (true, true) => preferred_by_passing(one, other),
    }
}

/// Whether the first of two otherwise equally good candidates is better (`true`), or the second (`false`): it takes a value where the other takes
/// `in`.
fn preferred_by_passing(one: &Chosen<'_>, other: &Chosen<'_>) -> Option<bool> {
    let takes_value = |own: &Chosen<'_>, others: &Chosen<'_>| {
        let mut pairs = own.passings.iter().zip(&others.passings);
        pairs.any(|(own, other)| (own, other) == (&Passing::Value, &Passing::In))
    };
    match (takes_value(one, other), takes_value(other, one)) {
        (true, false) => Some(true),
        (false, true) => Some(false),
        _ => None,
    }
}
