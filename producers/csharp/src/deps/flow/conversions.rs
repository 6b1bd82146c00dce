//! Conversions that types of the workspace declare: those that a cast calls, and implicit conversions, which no token of the code shows.

use super::numbers::{is_narrowing, numeric};
use super::rivals::Faults;
use super::unnamed_calls::call_of;
use super::{Call, Flow, UseKind};
use crate::code::ast::{Argument, Expression, Literal};
use crate::deps::modifiers::Modifiers;
use crate::deps::resolve::predefined;
use crate::deps::shape::{NULLABLE, Shape};
use crate::deps::world::Candidate;

/// A `switch` statement converts its value implicitly to one of these types.
const SWITCHED: [&str; 11] = [
    "sbyte", "byte", "short", "ushort", "int", "uint", "long", "ulong", "bool", "char", "string",
];

/// Name of implicit conversion operators.
pub const IMPLICIT: &str = "op_Implicit";

/// Maximum depth of conversions of tuples within tuples, because each level tries the parameter of every declared conversion.
const MOST_CONVERSIONS: u32 = 2;

impl<'f, 'a> Flow<'f, 'a> {
    /// Binds an expression whose context expects the type `target`; returns its own type and records its conversion to the target.
    pub(super) fn converted(&mut self, value: &'f Expression, target: &Shape) -> Shape {
        let shape = self.value(value, Some(target));
        self.note_extension_group(value, target);
        // A constant may convert to a narrower numeric type or an enum, and an interpolated string to a handler that formats it. A lambda
        // for a delegate that returns `void` may discard its value.
        let is_special = matches!(value, Expression::Interpolated(..)) || shape.key().is_some_and(numeric) || *target == predefined("void");
        let is_noted = self.note_conversion(value, &shape, target, true);
        if self.trials > 0 && !is_noted && !is_special && self.becomes(&shape, target) == Some(false) {
            self.fault(Faults::Certain);
        }
        shape
    }

    /// Records the implicit conversion of a value from one type to another if one of the two types declares it; returns whether there is one.
    /// `certain`: whether the code certainly calls it.
    pub(super) fn note_conversion(&mut self, value: &Expression, from: &Shape, to: &Shape, certain: bool) -> bool {
        if let (Shape::Tuple(given), Shape::Tuple(wanted), Expression::Tuple(parts)) = (from, to.without_null(), value) {
            let noted = parts.iter().zip(given.iter().zip(wanted.iter()));
            let noted = noted.map(|(part, ((_, from), (_, to)))| self.note_conversion(&part.value, from, to, certain));
            return noted.fold(false, |any, noted| any | noted);
        }
        self.note_handler(value, to, certain);
        let place = value
            .first_place()
            .filter(|_| !matches!(value, Expression::Literal(Literal::Default, _)));
        let is_noted = place.is_some_and(|place| self.note_conversion_at(place, from, to, certain));
        // The parts of a tuple may be converted before the tuple itself.
        if is_noted
            && let (Shape::Tuple(_), Expression::Tuple(_)) = (from, value)
            && let Some((by, _)) = self.conversion(from, to)
            && let Some((_, parameter @ Shape::Tuple(_))) = by.parameters().into_owned().pop()
        {
            self.note_conversion(value, from, &parameter, certain);
        }
        is_noted
    }

    /// Records the members of a workspace type that an interpolated string calls if it converts to that handler.
    fn note_handler(&mut self, value: &Expression, to: &Shape, certain: bool) {
        let Expression::Interpolated(parts, place) = value else { return };
        if !to.is_known() || self.is_outside(to) {
            return;
        }
        let mut appending = self
            .members_of(to, "AppendFormatted")
            .into_iter()
            .chain(self.members_of(to, "AppendLiteral"));
        let Some(handler) = appending.next() else { return };
        let owner = Shape::of_key(handler.owner.key().unwrap_or_default());
        self.used(&owner, super::CONSTRUCTOR, *place, certain, None);
        // Whether the string has text between its values is not known.
        self.used(&owner, "AppendLiteral", *place, false, None);
        if !parts.is_empty() {
            self.used(&owner, "AppendFormatted", *place, certain, None);
        }
    }

    /// Like [`Self::note_conversion`], for a value without an expression of its own.
    pub(super) fn note_conversion_at(&mut self, place: u32, from: &Shape, to: &Shape, certain: bool) -> bool {
        if let (Shape::Tuple(given), Shape::Tuple(wanted)) = (from.without_null(), to.without_null()) {
            let noted = given.iter().zip(wanted.iter());
            let noted = noted.map(|((_, from), (_, to))| self.note_conversion_at(place, from, to, certain));
            return noted.fold(false, |any, noted| any | noted);
        }
        let Some((candidate, is_sure)) = self.conversion(from, to) else {
            return false;
        };
        let call = call_of_conversion(&candidate);
        let noted = self.uses();
        // No code names the type arguments of the type that declares the conversion.
        let owner = Shape::of_key(candidate.owner.key().unwrap_or_default());
        self.used(&owner, IMPLICIT, place, certain && is_sure, Some(call));
        self.set_use_kind(UseKind::Convert, noted, Some(place));
        true
    }

    /// Records the conversion, implicit or explicit, of the elements of a loop to the type of its variable.
    pub(super) fn note_loop_conversion(&mut self, place: u32, from: &Shape, to: &Shape) {
        if !self.note_conversion_at(place, from, to, true) && from.is_known() {
            let noted = self.uses();
            self.cast(from, to, place);
            self.set_use_kind(UseKind::Convert, noted, Some(place));
        }
    }

    /// Returns the governing type of a `switch` statement: the target of the value's only declared conversion to one of [`SWITCHED`], else the
    /// value's own type.
    pub(super) fn governing(&mut self, value: &'f Expression, subject: Shape) -> Shape {
        let is_constant = |shape: &Shape| SWITCHED.iter().any(|name| predefined(name) == *shape.without_null());
        let from_subject = |candidate: &Candidate<'a>| {
            let parameters = candidate.parameters();
            parameters.first().is_some_and(|(_, own)| own.key() == subject.without_null().key())
        };
        let found = self.own_members(subject.without_null(), IMPLICIT).into_iter();
        let mut found = found.filter(from_subject).map(|candidate| candidate.result()).filter(is_constant);
        let (Some(only), None) = (found.next(), found.next()) else {
            return subject;
        };
        self.note_conversion(value, &subject, &only, true);
        only
    }

    /// Records the conversions of arguments of these types to the parameters.
    pub(super) fn note_conversions(
        &mut self,
        args: &[Argument],
        shapes: &[Option<Shape>],
        parameters: &[Shape],
        bindings: &[Shape],
        certain: bool,
    ) {
        for ((arg, shape), parameter) in args.iter().zip(shapes).zip(parameters) {
            if let Some(shape) = shape {
                self.note_conversion(&arg.value, shape, &parameter.substitute(&[], bindings), certain);
            }
        }
    }

    /// Binds a condition, and records its conversion to `bool` or its operator `true`.
    pub(super) fn condition(&mut self, value: &'f Expression) {
        let shape = self.value(value, None);
        if !self.note_conversion(value, &shape, &predefined("bool"), true)
            && let Some(place) = value.first_place()
            && let Some(decides) = self.own_members(&shape, "op_True").first()
        {
            let call = call_of(std::slice::from_ref(&shape), false);
            self.used(&decides.owner, "op_True", place, true, Some(call));
        }
    }

    /// Returns the members of a type by their name if the workspace declares the type.
    fn own_members(&self, shape: &Shape, name: &str) -> Vec<Candidate<'a>> {
        match shape.is_known() && !self.is_outside(shape) {
            true => self.members_of(shape, name),
            false => Vec::new(),
        }
    }

    /// Returns the common type of alternative expressions: one to which all of them convert, else the target. Records their conversions to it.
    pub(super) fn joined(&mut self, values: &[(&'f Expression, Shape)], target: Option<&Shape>) -> Shape {
        let common = values
            .iter()
            .fold(Shape::Unknown, |known, (_, shape)| self.common_type(known, shape.clone()));
        let becomes = |from: &Shape, to: &Shape| {
            let is_to = is_nullable_of(to, from)
                || !from.is_known()
                || !to.is_known()
                || from == to
                || to.key().is_some_and(|key| self.world.as_base(from, key).is_some());
            let is_number = |shape: &Shape| shape.key().is_some_and(numeric);
            is_to
                || is_number(from) && is_number(to) && !is_narrowing(from, to)
                || self.converts(from, to)
                || self.becomes(from, to) == Some(true)
        };
        let takes_all = |to: &Shape| values.iter().all(|(_, from)| becomes(from, to));
        let all = std::iter::once(&common).chain(values.iter().map(|(_, shape)| shape));
        let mut natural = all.filter(|to| to.is_known() && takes_all(to));
        let first = natural.next();
        // Two types that convert to each other have no common type: the target decides.
        let is_one = natural.all(|other| Some(other) == first || first.is_some_and(|first| self.is_related(first, other)));
        let Some(to) = first.filter(|_| is_one || target.is_none()).or(target).cloned() else {
            return common;
        };
        for (value, shape) in values {
            self.note_conversion(value, shape, &to, true);
        }
        if to.is_known() { to } else { common }
    }

    /// Returns the second of two types if it is a base of the first, the first with `?`, or the first is not known; otherwise the first.
    pub(super) fn common_type(&self, one: Shape, other: Shape) -> Shape {
        let is_base = one != other && other.key().is_some_and(|key| self.world.as_base(&one, key).is_some());
        if is_base || is_nullable_of(&other, &one) || !one.is_known() {
            other
        } else {
            one
        }
    }

    /// Returns the implicit conversion from one type to another that either declares, and whether the types are known enough to decide it.
    pub(super) fn conversion(&self, from: &Shape, to: &Shape) -> Option<(Candidate<'a>, bool)> {
        self.conversion_within(from, to, MOST_CONVERSIONS)
    }

    /// Like [`Self::conversion`], with at most `depth` levels of declared conversions of tuple parts.
    fn conversion_within(&self, from: &Shape, to: &Shape, depth: u32) -> Option<(Candidate<'a>, bool)> {
        let (target, from, to) = (to, from.without_null(), to.without_null());
        let is_own = |shape: &Shape| shape.key().is_some_and(|key| !key.starts_with(['~', '^']));
        let (from_own, to_own) = (is_own(from), is_own(to));
        // For `null`, it is not certain that a declared conversion applies.
        let is_null = *from == Shape::Null && self.world.kind(to.key().unwrap_or_default()) == 's';
        let is_value = is_null
            || matches!(
                from,
                Shape::Named(..) | Shape::Array(_) | Shape::Tuple(_) | Shape::Variable(_) | Shape::Unknown
            );
        let is_target = matches!(to, Shape::Named(..) | Shape::Array(_) | Shape::Tuple(_)) || matches!(to, Shape::Variable(_)) && from_own;
        if from == to || !is_value || !(from_own || to_own) || !is_target {
            return None;
        }
        let mut found: Vec<Candidate<'a>> = Vec::new();
        for (shape, is_own) in [(to, to_own), (from, from_own)] {
            if is_own && matches!(self.world.kind(shape.key().unwrap_or_default()), 'c' | 's') {
                found.extend(self.members_of(shape, IMPLICIT));
            }
        }
        // A declared conversion applies neither where the language itself converts nor where the target is an interface.
        if found.is_empty() || self.is_related(from, to) || self.world.kind(to.key().unwrap_or_default()) == 'i' {
            return None;
        }
        let rank = |candidate: &Candidate<'a>| -> Option<(u32, u32)> {
            let parameters = candidate.parameters();
            let (_, parameter) = parameters.first()?;
            if is_null && !self.takes_null(parameter) {
                return None;
            }
            let is_tuple = matches!((from, parameter), (Shape::Tuple(_), Shape::Tuple(_)));
            let converts_parts = || is_tuple && depth > 0 && self.converts_within(from, parameter, depth - 1);
            let taken = self.conversion_rank(parameter, from, &mut []);
            let taken = taken.or_else(|| converts_parts().then_some(1))?;
            let result = candidate.result();
            let given = self.conversion_rank(target, &result, &mut []);
            let given = given.filter(|_| !is_narrowing(result.without_null(), to));
            Some((taken, given?))
        };
        let fitting = found.iter().filter_map(|candidate| Some((rank(candidate)?, candidate)));
        let (rank, best) = fitting.reduce(|one, other| if other.0 > one.0 { other } else { one })?;
        let is_open = |shape: &Shape| !shape.is_known() || shape.key().is_some_and(|key| key.starts_with('^'));
        Some((best.clone(), !is_open(from) && !is_open(to) && rank.0 > 0 && rank.1 > 0))
    }

    /// Whether a declared conversion converts values of one type to the other; for tuples, whether all of their parts convert.
    pub(super) fn converts(&self, from: &Shape, to: &Shape) -> bool {
        self.converts_within(from, to, MOST_CONVERSIONS)
    }

    fn converts_within(&self, from: &Shape, to: &Shape, depth: u32) -> bool {
        match (from, to.without_null()) {
            (Shape::Tuple(given), Shape::Tuple(wanted)) if given.len() == wanted.len() => {
                let mut parts = given.iter().zip(wanted.iter());
                parts.all(|((_, from), (_, to))| self.conversion_rank(to, from, &mut []).is_some() || self.converts_within(from, to, depth))
            }
            _ => self.conversion_within(from, to, depth).is_some(),
        }
    }

    /// Whether one of two types of .NET declares an implicit conversion from the first to the second.
    pub(super) fn converts_outside(&self, from: &Shape, to: &Shape) -> bool {
        let mut found = Vec::new();
        self.world.declared(from, IMPLICIT, &mut found);
        self.world.declared(to, IMPLICIT, &mut found);
        found.iter().any(|one| {
            let takes = one.parameters().first().is_some_and(|(_, own)| own.key() == from.key());
            takes && one.result().key() == to.key()
        })
    }

    /// Whether `null` is a value of a type.
    pub(super) fn takes_null(&self, shape: &Shape) -> bool {
        let is_reference = |key: &str| key == NULLABLE || matches!(self.world.kind(key), 'c' | 'i' | 'd');
        matches!(shape, Shape::Array(_)) || shape.key().is_some_and(is_reference)
    }

    /// Whether one of two types is the other, a base of it, or `object`.
    fn is_related(&self, from: &Shape, to: &Shape) -> bool {
        let is_base = |one: &Shape, other: &Shape| {
            one.key()
                .is_some_and(|key| key == "~System.Object" || self.world.as_base(other, key).is_some())
        };
        is_base(to, from) || is_base(from, to)
    }

    /// Records the conversion that a cast calls, if one of the two types declares it.
    pub(super) fn cast(&mut self, from: &Shape, to: &Shape, place: u32) {
        let (from, to) = (from.without_null(), to.without_null());
        let mut found: Vec<(&str, Candidate<'a>)> = Vec::new();
        for name in ["op_Explicit", IMPLICIT] {
            for side in [to, from] {
                if !self.is_outside(side) {
                    found.extend(self.members_of(side, name).into_iter().map(|candidate| (name, candidate)));
                }
            }
        }
        let converts = |(_, candidate): &&(&str, Candidate<'_>)| {
            let parameters = candidate.parameters();
            let takes = parameters
                .first()
                .is_some_and(|(_, own)| self.conversion_rank(own, from, &mut []).is_some());
            takes && candidate.result().without_null().key() == to.key()
        };
        let certain = from.is_known();
        let is_base = from.key().is_some_and(|key| self.world.as_base(to, key).is_some())
            || to.key().is_some_and(|key| self.world.as_base(from, key).is_some());
        if let Some((name, candidate)) = found.iter().find(converts).cloned().filter(|_| !is_base) {
            self.record_by_overflow(&candidate, name, place, certain, call_of_conversion(&candidate));
        }
    }
}

/// Returns the call of a declared conversion, whose overloads differ by parameter and result.
fn call_of_conversion(candidate: &Candidate<'_>) -> Call {
    let parameter = candidate.line.parameters.split(';').next().unwrap_or_default();
    Call {
        arguments: vec![Modifiers::split_from_type(parameter).1.to_owned()],
        result: candidate.line.result.to_owned(),
        ..Call::default()
    }
}

/// Whether a type is `T?` of the value type `T`.
fn is_nullable_of(nullable: &Shape, value: &Shape) -> bool {
    nullable.is_nullable() && nullable != value && nullable.without_null() == value
}
