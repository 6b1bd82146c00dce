//! Operators, assignments and queries.

use super::{Flow, Local, UseKind};
use crate::csharp::code::ast::{Clause, Designation, Expression, Link, Operator};
use crate::csharp::deps::resolve::predefined;
use crate::csharp::deps::shape::Shape;
use std::rc::Rc;

impl<'f> Flow<'f, '_> {
    pub(super) fn operation(&mut self, class: Operator, operands: &'f [Expression], target: Option<&Shape>) -> Shape {
        let mut first = Shape::Unknown;
        let mut own = None;
        for operand in operands {
            let hint = if class == Operator::Coalesce && first.is_known() {
                Some(first.clone())
            } else {
                target.cloned()
            };
            let shape = self.value(operand, hint.as_ref());
            if own.is_none() && (shape.key().is_some_and(|key| !key.starts_with(['~', '^'])) || shape.key() == Some("~System.String")) {
                own = Some(shape.clone());
            }
            if !first.is_known() {
                first = shape;
            }
        }
        match class {
            Operator::Truth => predefined("bool"),
            Operator::Coalesce => match &first {
                Shape::Named(key, args) if &**key == "~System.Nullable`1" => args.first().cloned().unwrap_or_default(),
                _ => first,
            },
            Operator::Arithmetic => own.unwrap_or(first),
            Operator::Range => Shape::plain("~System.Range"),
        }
    }

    pub(super) fn assignment(&mut self, left: &'f Expression, right: &'f Expression) -> Shape {
        match left {
            Expression::Declaration(_, Designation::Tuple(_)) => {
                let shape = self.value(right, None);
                self.value(left, Some(&shape));
                shape
            }
            Expression::Tuple(parts) => {
                let shape = self.value(right, None);
                let shapes = self.parts(&shape, parts.len());
                for (part, shape) in parts.iter().zip(&shapes) {
                    self.assigned(&part.value, Some(shape));
                }
                shape
            }
            _ => {
                let target = self.assigned(left, None);
                let shape = self.value(right, Some(&target));
                if target.is_known() { target } else { shape }
            }
        }
    }

    /// The type of what an assignment gives a value.
    fn assigned(&mut self, left: &'f Expression, target: Option<&Shape>) -> Shape {
        let from = self.uses();
        let shape = self.value(left, target);
        let last = match left {
            Expression::Name(name) => Some(name),
            Expression::Chain(_, links) => match links.last() {
                Some(Link::Member(name)) => Some(name),
                _ => None,
            },
            _ => None,
        };
        if let Some(name) = last {
            self.done(UseKind::Write, from, Some(name.word.place));
        }
        shape
    }

    /// What waiting for a task gives; other shapes stay.
    pub(super) fn awaited(&self, shape: &Shape) -> Shape {
        match shape {
            Shape::Named(key, args) if is_task(key) => match args.first() {
                Some(inner) => inner.clone(),
                None => Shape::Unknown,
            },
            other => other.clone(),
        }
    }

    pub(super) fn query(&mut self, clauses: &'f [Clause]) -> Shape {
        let locals = self.locals.len();
        let mut result = Shape::Unknown;
        for clause in clauses {
            match clause {
                Clause::From(kind, name, source) => {
                    let source = self.value(source, None);
                    let element = match kind {
                        Some(kind) => self.written(kind),
                        None => self.world.element(&source),
                    };
                    self.locals.push((name, Local::Value(element)));
                }
                Clause::Let(name, value) => {
                    let shape = self.value(value, None);
                    self.locals.push((name, Local::Value(shape)));
                }
                Clause::Value(value) => {
                    self.value(value, None);
                }
                Clause::Select(value) => {
                    let shape = self.value(value, None);
                    result = Shape::Named("~System.Collections.Generic.IEnumerable`1".into(), Rc::from([shape])).bounded();
                }
                Clause::Into(name) => {
                    let shape = self.world.element(&result);
                    self.locals.push((name, Local::Value(shape)));
                }
            }
        }
        self.locals.truncate(locals);
        result
    }
}

fn is_task(key: &str) -> bool {
    matches!(
        key,
        "~System.Threading.Tasks.Task`1"
            | "~System.Threading.Tasks.ValueTask`1"
            | "~System.Threading.Tasks.Task"
            | "~System.Threading.Tasks.ValueTask"
            | "~System.Runtime.CompilerServices.ConfiguredTaskAwaitable`1"
            | "~System.Runtime.CompilerServices.ConfiguredValueTaskAwaitable`1"
    )
}
