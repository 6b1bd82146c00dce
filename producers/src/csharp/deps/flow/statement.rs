//! Statements: scopes, locals, loops, what a body returns.

use super::{Flow, Local, implied};
use crate::csharp::code::ast::{Designation, Expression, Parameter, Statement, TypeRef};
use crate::csharp::deps::shape::Shape;

impl<'f> Flow<'f, '_> {
    /// A body whose values are returned as `result`.
    pub(super) fn body(&mut self, body: &'f [Statement], result: &Shape, constructor: bool) {
        let locals = self.locals.len();
        let outer = std::mem::take(&mut self.returns);
        let target = self.awaited(result);
        // A result of an async method is the argument of its task; which one is meant the value itself tells.
        self.returns = vec![if constructor { Shape::Unknown } else { target }];
        self.statements(body);
        self.returns = outer;
        self.locals.truncate(locals);
    }

    fn block(&mut self, body: &'f [Statement]) {
        let locals = self.locals.len();
        self.statements(body);
        self.locals.truncate(locals);
    }

    /// Statements of one scope: the functions among them are known before they are declared.
    pub(super) fn statements(&mut self, body: &'f [Statement]) {
        for statement in body {
            if let Statement::Function(function) = statement {
                self.locals.push((&function.name, Local::Function(function)));
            }
        }
        for statement in body {
            self.statement(statement);
        }
    }

    pub(super) fn statement(&mut self, statement: &'f Statement) {
        match statement {
            Statement::Expression(value) => {
                self.value(value, None);
            }
            Statement::Condition(value) => self.condition(value),
            Statement::Return(value) => {
                let target = self.returns.first().cloned().unwrap_or_default();
                let shape = self.converted(value, &target);
                if !self.returns.is_empty() && shape.is_known() {
                    self.returns.push(shape);
                }
            }
            Statement::Yield(value) => {
                let target = self.returns.first().map(|shape| self.world.element(shape)).unwrap_or_default();
                self.converted(value, &target);
            }
            Statement::Local(kind, locals) => self.local(kind, locals),
            Statement::Block(body) => self.block(body),
            Statement::Foreach(kind, designation, source, body, keyword) => {
                let locals = self.locals.len();
                let source = self.value(source, None);
                self.looped(&source, keyword.text == "await", keyword.place);
                let element = self.world.element(&source);
                let element = self.loop_variable(kind, element);
                if let Designation::Tuple(names) = designation {
                    self.split(&element, names, keyword.place);
                }
                self.declare(designation, &element);
                self.statements(body);
                self.locals.truncate(locals);
            }
            Statement::Function(function) => self.function(function),
            Statement::Attributes(attributes) => self.attributes_in_code(attributes),
            Statement::Using(resource, keyword) => {
                let awaited = keyword.text == "await";
                match &**resource {
                    Statement::Local(kind, locals) => {
                        let before = self.locals.len();
                        self.local(kind, locals);
                        for shape in self.locals.types_declared_since(before) {
                            self.disposed(&shape, awaited, keyword.place);
                        }
                    }
                    Statement::Expression(value) => {
                        let shape = self.value(value, None);
                        self.disposed(&shape, awaited, keyword.place);
                    }
                    other => self.statement(other),
                }
            }
            Statement::Switch(value, sections) => {
                let subject = self.value(value, None);
                let outside = self.locals.len();
                for (labels, body) in sections {
                    let locals = self.locals.len();
                    for (pattern, when) in labels {
                        self.pattern(pattern, &subject);
                        if let Some(when) = when {
                            self.condition(when);
                        }
                    }
                    let declared = self.locals.len();
                    self.statements(body);
                    // All sections see declarations of one section, but not those of its patterns.
                    let shared = self.locals.since(declared);
                    self.locals.truncate(locals);
                    shared.into_iter().for_each(|local| self.locals.push(local));
                }
                self.locals.truncate(outside);
            }
        }
    }

    fn loop_variable(&mut self, kind: &'f TypeRef, element: Shape) -> Shape {
        match kind {
            TypeRef::Var(_) => {
                self.touch(&element);
                element
            }
            written => self.shape_of_type(written),
        }
    }

    fn local(&mut self, kind: &'f TypeRef, locals: &'f [(String, Option<Expression>)]) {
        let declared = match kind {
            TypeRef::Var(_) => None,
            written => Some(self.shape_of_type(written)),
        };
        for (name, value) in locals {
            let shape = match (&declared, value) {
                (Some(declared), Some(value)) => {
                    self.converted(value, declared);
                    declared.clone()
                }
                (Some(declared), None) => declared.clone(),
                (None, Some(value)) => {
                    let shape = self.value(value, None);
                    self.touch(&shape);
                    shape
                }
                // Parameter of an accessor.
                (None, None) => self.result.clone(),
            };
            self.locals.push((name, Local::Value(shape)));
        }
    }

    fn function(&mut self, function: &'f crate::csharp::code::ast::LocalFunction) {
        self.locals.push((&function.name, Local::Function(function)));
        let (locals, methods) = (self.locals.len(), self.methods.len());
        for name in &function.type_parameters {
            let name: std::rc::Rc<str> = name.as_str().into();
            self.methods.push((name.clone(), Shape::Variable(name)));
        }
        for parameter in &function.parameters {
            self.parameter_in_code(parameter, None);
        }
        let result = self.shape_of_type(&function.result);
        self.body(&function.body, &result, false);
        self.locals.truncate(locals);
        self.methods.truncate(methods);
    }

    /// Declares a parameter of a function or a lambda. `inferred` is its type if none is written.
    pub(super) fn parameter_in_code(&mut self, parameter: &'f Parameter, inferred: Option<Shape>) {
        self.attributes_in_code(&parameter.attributes);
        let shape = match &parameter.kind {
            Some(written) => self.shape_of_type(written),
            None => inferred.unwrap_or_default(),
        };
        if let Some(value) = &parameter.default {
            self.converted(value, &shape);
        }
        self.locals.push((&parameter.name, Local::Value(shape)));
    }

    /// Declares what a designation names.
    pub(super) fn declare(&mut self, designation: &'f Designation, shape: &Shape) {
        match designation {
            Designation::Name(name) => self.locals.push((name, Local::Value(shape.clone()))),
            Designation::Discard => {}
            Designation::Tuple(names) => {
                let parts = self.parts(shape, names.len());
                for (name, part) in names.iter().zip(parts) {
                    self.declare(name, &part);
                }
            }
        }
    }

    /// Notes what the deconstruction of a value into names calls.
    pub(super) fn split(&mut self, shape: &Shape, names: &[Designation], place: u32) {
        let parts = self.deconstructed(shape, names.len(), place);
        for (name, part) in names.iter().zip(&parts) {
            if let Designation::Tuple(inner) = name {
                self.split(part, inner, place);
            }
        }
    }

    /// Returns the parts of a deconstructed value, and notes the method that it calls.
    pub(super) fn deconstructed(&mut self, shape: &Shape, count: usize, place: u32) -> Vec<Shape> {
        let is_own = !self.is_outside(shape) && !matches!(shape, Shape::Tuple(_));
        if is_own && let Some(parts) = self.own_parts(shape, count, Some(place)) {
            return parts;
        }
        self.parts(shape, count)
    }

    /// Returns the parts that a method `Deconstruct` gives; notes its use at a place.
    fn own_parts(&mut self, shape: &Shape, count: usize, place: Option<u32>) -> Option<Vec<Shape>> {
        const NAME: &str = "Deconstruct";
        let found = self.members_of(shape, NAME);
        let mut chosen = found
            .into_iter()
            .find(|candidate| candidate.is_method() && candidate.parameters().len() == count);
        let mut skip = 0;
        if chosen.is_none() && shape.is_known() {
            let extensions = self.extensions(shape, NAME, false);
            chosen = extensions.into_iter().find(|candidate| candidate.parameters().len() == count + 1);
            skip = 1;
        }
        let call = implied::call_of(&vec![Shape::Unknown; count], skip > 0);
        match (&chosen, place) {
            (Some(chosen), Some(place)) => self.used(&chosen.owner, NAME, place, true, Some(call)),
            (None, Some(place)) if matches!(shape, Shape::Unknown) => self.guessed(NAME, place, Some(call)),
            _ => {}
        }
        let parameters = chosen?.parameters().into_iter();
        Some(parameters.skip(skip).map(|(_, shape)| shape).collect())
    }

    /// Returns the parts of a deconstructed value.
    pub(super) fn parts(&mut self, shape: &Shape, count: usize) -> Vec<Shape> {
        if !self.is_outside(shape)
            && let Some(parts) = self.own_parts(shape, count, None)
        {
            return parts;
        }
        match shape {
            Shape::Tuple(parts) if parts.len() == count => parts.iter().map(|(_, part)| part.clone()).collect(),
            Shape::Named(key, args) if &**key == "~System.Collections.Generic.KeyValuePair`2" => args.to_vec(),
            Shape::Named(key, _) if !key.starts_with(['~', '^']) => {
                let mut found = Vec::new();
                self.world.declared(shape, ".ctor", &mut found);
                let fitting = found.iter().find(|candidate| candidate.parameters().len() == count);
                fitting.map_or_else(
                    || vec![Shape::Unknown; count],
                    |candidate| candidate.parameters().into_iter().map(|(_, shape)| shape).collect(),
                )
            }
            _ => vec![Shape::Unknown; count],
        }
    }
}
