//! Statements: scopes, locals, loops, and the results of bodies.

use super::{Flow, Local};
use crate::code::ast::{Argument, Designation, Expression, Parameter, Statement, TypeRef, Word};
use crate::deps::resolve::{TypeParameter, predefined};
use crate::deps::shape::Shape;

impl<'f> Flow<'f, '_> {
    /// Binds the body of a member or function whose result is of the type `result`.
    pub(super) fn body(&mut self, body: &'f [Statement], result: &Shape, is_async: bool) {
        let locals = self.locals.len();
        let outer = std::mem::take(&mut self.returns);
        self.returns = vec![self.returned(result, is_async)];
        self.statements(body);
        self.returns = outer;
        self.locals.truncate(locals);
    }

    /// Returns the type of the values that code with the type `result` returns: for async code, the type argument of its task.
    pub(super) fn returned(&self, result: &Shape, is_async: bool) -> Shape {
        if !is_async {
            return result.clone();
        }
        let is_own = |key: &str| !key.starts_with(['~', '^']) && matches!(self.world.kind(key), 'c' | 's');
        match result {
            Shape::Named(key, args) if is_own(key) && args.len() < 2 => args.first().cloned().unwrap_or_default(),
            result => self.awaited(result),
        }
    }

    fn block(&mut self, body: &'f [Statement]) {
        let locals = self.locals.len();
        self.statements(body);
        self.locals.truncate(locals);
    }

    /// Binds the statements of one scope, in which local functions are known before their declarations.
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
            Statement::Local(kind, locals, is_const) => self.local(kind, locals, *is_const),
            Statement::Block(body) => self.block(body),
            Statement::Overflow(is_checked, body) => {
                let outer = self.is_checked.replace(*is_checked);
                self.block(body);
                self.is_checked = outer;
            }
            Statement::Foreach(kind, designation, source, body, keyword) => self.each(kind, designation, source, body, keyword),
            Statement::ForeachParts(parts, source, body, keyword) => self.each_in_parts(parts, source, body, keyword),
            Statement::Function(function) => self.function(function),
            Statement::Attributes(attributes) => self.attributes_in_code(attributes),
            Statement::Using(resource, keyword) => self.bind_resource(resource, keyword),
            Statement::Switch(value, sections) => {
                let subject = self.value(value, None);
                let subject = self.governing(value, subject);
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
                    // Declarations in one section are in scope in all sections; those of its patterns are not.
                    self.locals.remove_range(locals, declared);
                }
                self.locals.truncate(outside);
            }
        }
    }

    /// Binds `foreach (T x in source)`.
    fn each(&mut self, kind: &'f TypeRef, variable: &'f Designation, source: &'f Expression, body: &'f [Statement], keyword: &Word) {
        let locals = self.locals.len();
        let element = self.element(source, keyword);
        let element = self.loop_variable(kind, element, keyword.place);
        if let Designation::Tuple(names) = variable {
            self.split(&element, names, keyword.place);
        }
        self.declare(variable, &element);
        self.statements(body);
        self.locals.truncate(locals);
    }

    /// Binds `foreach ((a, T b) in source)`.
    fn each_in_parts(&mut self, parts: &'f [Argument], source: &'f Expression, body: &'f [Statement], keyword: &Word) {
        let locals = self.locals.len();
        let element = self.element(source, keyword);
        let shapes = self.deconstructed(&element, parts.len(), keyword.place);
        self.assign_parts(parts, &shapes, None, keyword.place);
        self.statements(body);
        self.locals.truncate(locals);
    }

    /// Returns the type of the elements of a loop's source, and records the members that the loop calls.
    fn element(&mut self, source: &'f Expression, keyword: &Word) -> Shape {
        let source = self.value(source, None);
        self.record_loop(&source, keyword.text == "await", keyword.place);
        self.world.element(&source)
    }

    fn loop_variable(&mut self, kind: &'f TypeRef, element: Shape, place: u32) -> Shape {
        match kind {
            TypeRef::Var(_) => {
                self.record_inferred(&element);
                element
            }
            written => {
                let shape = self.shape_of_type(written);
                self.note_loop_conversion(place, &element, &shape);
                shape
            }
        }
    }

    pub(super) fn local(&mut self, kind: &'f TypeRef, locals: &'f [(String, Option<Expression>)], is_const: bool) {
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
                    self.record_inferred(&shape);
                    shape
                }
                // The parameter of an accessor has the type of the member.
                (None, None) => self.result.clone(),
            };
            match is_const {
                true => {
                    let range = value.as_ref().filter(|_| shape == predefined("int"));
                    let range = range.and_then(|value| self.range_of(value));
                    self.locals.push_constant((name, Local::Value(shape)), range);
                }
                false => self.locals.push((name, Local::Value(shape))),
            }
        }
    }

    fn function(&mut self, function: &'f crate::code::ast::LocalFunction) {
        self.locals.push((&function.name, Local::Function(function)));
        let (locals, methods) = (self.locals.len(), self.methods.len());
        let own = function.type_parameters.iter();
        self.methods.extend(own.map(|name| TypeParameter::variable(name, &[])));
        for parameter in &function.parameters {
            self.parameter_in_code(parameter, None);
        }
        let result = self.shape_of_type(&function.result);
        self.body(&function.body, &result, function.is_async);
        self.locals.truncate(locals);
        self.methods.truncate(methods);
    }

    /// Declares a parameter of a local function or a lambda. `inferred`: its type if none is written.
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
}
