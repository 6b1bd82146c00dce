//! Composed values: `switch` expressions, tuples, collections and declarations in expressions.

use super::unnamed_calls::call_of;
use super::{Flow, UseKind};
use crate::code::ast::{Argument, Designation, Expression, Link, Pattern, TypeRef};
use crate::deps::resolve::predefined;
use crate::deps::shape::Shape;
use crate::deps::world::{BUILDER, Candidate};
use std::rc::Rc;

/// The type of the elements that a builder of collections takes.
const SPAN: &str = "~System.ReadOnlySpan`1";

impl<'f, 'a> Flow<'f, 'a> {
    /// Returns the shape of `subject switch { arms }`.
    pub(super) fn switch_value(
        &mut self,
        subject: &'f Expression,
        arms: &'f [(Pattern, Option<Expression>, Expression)],
        target: Option<&Shape>,
    ) -> Shape {
        let subject = self.value(subject, None);
        let mut results = Vec::with_capacity(arms.len());
        for (pattern, when, arm) in arms {
            let locals = self.locals.len();
            self.pattern(pattern, &subject);
            if let Some(when) = when {
                self.condition(when);
            }
            let shape = self.value(arm, target);
            results.push((arm, shape));
            self.locals.truncate(locals);
        }
        self.joined(&results, target)
    }

    pub(super) fn tuple_value(&mut self, parts: &'f [Argument], target: Option<&Shape>) -> Shape {
        let targets: Vec<Shape> = match target {
            Some(Shape::Tuple(targets)) if targets.len() == parts.len() => targets.iter().map(|(_, part)| part.clone()).collect(),
            _ => vec![Shape::Unknown; parts.len()],
        };
        let names: Vec<Option<&str>> = parts.iter().map(element_name).collect();
        let is_unique = |name: &&str| names.iter().filter(|other| **other == Some(name)).count() == 1;
        let parts = parts.iter().zip(&targets).zip(&names).map(|((part, target), name)| {
            let shape = self.converted(&part.value, target);
            (name.filter(is_unique).map(Rc::from), shape)
        });
        Shape::Tuple(parts.collect()).bounded()
    }

    /// Returns the shape of a collection expression, which is its target.
    pub(super) fn collection_value(&mut self, parts: &'f [Expression], place: u32, target: Option<&Shape>) -> Shape {
        let target_type = target.map(Shape::without_null);
        let element = target_type.map(|target| self.world.element(target)).unwrap_or_default();
        let target_type = target_type.filter(|target| target.is_known() && !self.is_outside(target)).cloned();
        let is_built = target_type
            .as_ref()
            .is_some_and(|target| self.note_builder(target, &element, place));
        // Without a builder, C# calls `Add`.
        let is_filled = |target: &Shape| !is_built && matches!(self.world.kind(target.key().unwrap_or_default()), 'c' | 's');
        let target_type = target_type.filter(is_filled);
        // In `..values`, each element is converted, not `values` itself.
        self.in_doubt(|flow| {
            for part in parts {
                let given = flow.converted(part, &element);
                if let (Some(target), Some(place)) = (&target_type, part.first_place())
                    && !flow.members_of(target, "Add").is_empty()
                {
                    flow.implied(target, "Add", &[given], place);
                }
            }
        });
        target.cloned().unwrap_or_default()
    }

    /// Records the method that creates a collection of this type from elements, if an attribute of the type names one; returns whether it does.
    fn note_builder(&mut self, target: &Shape, element: &Shape, place: u32) -> bool {
        let mut named = Vec::new();
        self.world.declared(target, BUILDER, &mut named);
        let Some(named) = named.first() else { return false };
        let (owner, method) = (named.result(), named.line.names);
        let span = Shape::Named(SPAN.into(), Rc::from([element.clone()]));
        let call = call_of(&[span], false);
        let takes_elements = |one: &Candidate<'a>| {
            let parameters = one.parameters();
            let takes_span = parameters.last().is_some_and(|(_, last)| last.key() == Some(SPAN));
            takes_span && one.is_method() && one.is_static() && one.line.arity as usize == target.args().len()
        };
        match self.members_of(&owner, method).into_iter().find(takes_elements) {
            Some(one) => {
                let owner = Shape::of_key(one.owner.key().unwrap_or_default());
                self.used(&owner, method, place, true, Some(call));
            }
            None => self.record_possible(method, place, Some(call)),
        }
        true
    }

    /// Declares the variables of `var x` or `T x` in an expression; returns their shape.
    pub(super) fn declaration_value(&mut self, kind: &'f TypeRef, designation: &'f Designation, target: Option<&Shape>) -> Shape {
        let shape = match kind {
            TypeRef::Var(_) => {
                let shape = target.cloned().unwrap_or_default();
                if matches!(designation, Designation::Name(_)) {
                    self.record_inferred(&shape);
                }
                shape
            }
            written => self.shape_of_type(written),
        };
        self.declare(designation, &shape);
        shape
    }

    /// Returns the shape of an anonymous object.
    pub(super) fn anonymous_value(&mut self, members: &'f [(String, Expression)]) -> Shape {
        let members = members
            .iter()
            .map(|(name, value)| (name.as_str().into(), self.value(value, None)))
            .collect();
        Shape::Anonymous(members).bounded()
    }

    /// Returns the shape of `nameof(inner)`, which only names its operand.
    pub(super) fn name_of(&mut self, inner: &'f Expression) -> Shape {
        let from = self.uses();
        self.value(inner, None);
        self.set_use_kind(UseKind::Name, from, None);
        predefined("string")
    }
}

/// Returns the name of an element of a tuple: the written one, else that of the variable or member which is its value.
fn element_name(part: &Argument) -> Option<&str> {
    let inferred = || match &part.value {
        Expression::Name(name) => Some(name.word.text.as_str()),
        Expression::Chain(_, links) => match links.last() {
            Some(Link::Member(name)) => Some(name.word.text.as_str()),
            _ => None,
        },
        _ => None,
    };
    let is_reserved = |name: &&str| {
        name.strip_prefix("Item").is_some_and(|number| number.parse::<u32>().is_ok())
            || matches!(*name, "Rest" | "ToString" | "Equals" | "GetHashCode" | "CompareTo")
    };
    part.name.as_deref().or_else(|| inferred().filter(|name| !is_reserved(name)))
}
