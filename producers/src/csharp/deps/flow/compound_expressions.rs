//! Composed values: `switch` expressions, tuples, collections and declarations in expressions.

use super::{Flow, UseKind};
use crate::csharp::code::ast::{Argument, Designation, Expression, Link, Pattern, TypeRef};
use crate::csharp::deps::resolve::predefined;
use crate::csharp::deps::shape::Shape;
use std::rc::Rc;

impl<'f> Flow<'f, '_> {
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

    /// Returns the shape of a tuple.
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
    pub(super) fn collection_value(&mut self, parts: &'f [Expression], target: Option<&Shape>) -> Shape {
        let element = target.map(|target| self.world.element(target)).unwrap_or_default();
        // In `..values`, each element is converted, not `values` itself.
        let target_type = target
            .map(Shape::without_null)
            .filter(|target| target.is_known() && !self.is_outside(target))
            .cloned();
        let target_type = target_type.filter(|target| matches!(self.world.kind(target.key().unwrap_or_default()), 'c' | 's'));
        self.in_doubt(|flow| {
            for part in parts {
                let given = flow.converted(part, &element);
                // If the type has a builder, C# calls that instead of `Add`. So these uses are in doubt.
                if let (Some(target), Some(place)) = (&target_type, part.first_place())
                    && !flow.members_of(target, "Add").is_empty()
                {
                    flow.implied(target, "Add", &[given], place);
                }
            }
        });
        target.cloned().unwrap_or_default()
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
