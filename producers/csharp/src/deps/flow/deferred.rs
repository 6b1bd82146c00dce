//! Arguments that get their type from their parameter: lambdas, `new(…)`, collection expressions.

use super::numbers::numeric;
use super::overload_resolution::{Bindings, Chosen, NOT_CALLABLE};
use super::parameters::takes;
use super::{CONSTRUCTOR, Flow, UsesFound};
use crate::code::ast::{Argument, Expression, Link, Literal, Parameter, Statement, TypeRef};
use crate::deps::resolve::predefined;
use crate::deps::shape::Shape;
use crate::deps::world::Candidate;

impl<'f, 'a> Flow<'f, 'a> {
    /// Returns how well a lambda or another argument without a type of its own converts to a parameter.
    pub(super) fn suits(&self, parameter: &Shape, value: &Expression) -> i64 {
        if let Expression::New(None, args, ..) = value {
            return if self.can_make(parameter, args.len()) { 0 } else { NOT_CALLABLE };
        }
        if let Expression::Collection(parts, _) = value {
            return if self.takes_elements(parameter, parts) { 0 } else { -100 };
        }
        let Expression::Lambda(names, body, ..) = value else { return 0 };
        let is_other = |written: &TypeRef, given: &Shape| {
            let written = self.shape_unrecorded(Some(written));
            let is_known = |shape: &Shape| shape.key().is_some_and(|key| !key.starts_with('^'));
            is_known(&written) && is_known(given) && written.key() != given.key()
        };
        let differs = |(name, given): (&Parameter, &Shape)| name.kind.as_ref().is_some_and(|kind| is_other(kind, given));
        match self.world.delegate(parameter) {
            Some((parameters, _)) if names.iter().zip(&parameters).any(differs) => -100,
            Some((_, result)) if result == predefined("void") && returns_plain_value(body) => -100,
            Some((parameters, _)) if parameters.len() == names.len() || matches!(names.as_slice(), [only] if only.is_any_list()) => 2,
            Some(_) => -100,
            None if parameter.is_known()
                && !matches!(parameter, Shape::Method(_))
                && !parameter.key().is_some_and(|key| key.starts_with('^')) =>
            {
                -100
            }
            None => 0,
        }
    }

    /// Binds the arguments that need a target, and infers type parameters from lambdas and method groups.
    pub(super) fn deferred(&mut self, parameters: &[Shape], bindings: &mut Bindings, args: &'f [Argument]) {
        for (arg, parameter) in args.iter().zip(parameters) {
            if !is_deferred(&arg.value) {
                self.bind_group(parameter, bindings, &arg.value);
                self.note_extension_group(&arg.value, &parameter.substitute(&[], bindings));
                continue;
            }
            if matches!(arg.value, Expression::Lambda(..)) {
                let shape = parameter.substitute(&[], &known_or_self(bindings));
                let given = self.lambda(&arg.value, &shape.substitute(&[], bindings));
                // A lambda whose parameters do not depend on type parameters bounds those of its result.
                let is_open = |input: &Shape| (0..).zip(bindings.iter()).any(|(at, _)| input.has_parameter(at));
                let is_free = |(inputs, _): &(Vec<Shape>, Shape)| !inputs.iter().any(is_open);
                let free = self.world.delegate(parameter).filter(is_free);
                if let Some((_, result)) = free.or_else(|| self.world.delegate(&shape)) {
                    // A type parameter stands for the task that an async lambda returns. Those without parameters often have an overload for tasks.
                    let is_async = matches!(&arg.value, Expression::Lambda(names, _, true, None) if !names.is_empty());
                    let is_task = is_async && matches!(result, Shape::Method(_));
                    let given = match is_task && given.is_known() {
                        true => task_of(given),
                        false => given,
                    };
                    let plain = self.conversion_rank(&result, &given, bindings);
                    if plain.is_none() {
                        // An async lambda returns a task of the value that its body returns.
                        let inner = self.awaited(&result);
                        self.conversion_rank(&inner, &given, bindings);
                    } else if let Shape::Named(key, args) = &result
                        && key.starts_with("~System.Threading.Tasks.")
                        && let Some(inner) = args.first()
                    {
                        self.conversion_rank(inner, &given, bindings);
                    }
                }
            } else {
                let shape = parameter.substitute(&[], bindings);
                self.converted(&arg.value, &shape);
            }
        }
    }

    /// Binds a lambda that converts to the delegate type `target`; returns the type of the values that its body returns.
    pub(super) fn lambda(&mut self, lambda: &'f Expression, target: &Shape) -> Shape {
        let Expression::Lambda(parameters, body, is_async, written) = lambda else {
            return Shape::Unknown;
        };
        let signature = self.world.delegate(target);
        let locals = self.locals.len();
        for (at, parameter) in parameters.iter().enumerate() {
            let inferred = signature.as_ref().and_then(|(shapes, _)| shapes.get(at));
            self.parameter_in_code(parameter, inferred.cloned());
        }
        let outer = std::mem::take(&mut self.returns);
        let written = written.as_ref().map(|written| self.shape_of_type(written));
        let result = written.clone().or(signature.map(|(_, result)| result)).unwrap_or_default();
        self.returns = vec![self.returned(&result, *is_async)];
        self.statements(body);
        let returns = std::mem::replace(&mut self.returns, outer);
        self.locals.truncate(locals);
        written.unwrap_or_else(|| returns.into_iter().skip(1).find(Shape::is_known).unwrap_or_default())
    }

    /// Among the candidates with the score of the chosen one, returns the one whose delegate returns what the arguments' first lambda
    /// returns. Removes those that take the lambda without its value from `all`.
    pub(super) fn prefer_by_lambda(
        &mut self,
        chosen: Chosen<'a>,
        all: &mut Vec<Candidate<'a>>,
        receiver: Option<&Shape>,
        explicit: &[Shape],
        args: &'f [Argument],
        shapes: &[Option<Shape>],
    ) -> Chosen<'a> {
        let first = args.iter().enumerate().find_map(|(at, arg)| match &arg.value {
            lambda @ Expression::Lambda(_, _, is_async, written) => Some((at, lambda, *is_async && written.is_none())),
            _ => None,
        });
        let Some((at, lambda, is_async)) = first.filter(|_| all.len() > 1 && self.trials == 0) else {
            return chosen;
        };
        let delegate_of = |flow: &Self, of: &Chosen<'a>| {
            let shape = of.parameters.get(at)?.substitute(&[], &known_or_self(&of.bindings));
            flow.world.delegate(&shape)
        };
        let Some(own) = delegate_of(self, &chosen) else { return chosen };
        let target = chosen.parameters[at].substitute(&[], &chosen.bindings);
        let score = chosen.score;
        let mut tied = vec![(chosen, own)];
        for one in all.iter() {
            let other = self.choose(vec![one.clone()], receiver, explicit, args, shapes);
            if let Some(other) = other.filter(|other| other.score == score)
                && let Some(delegate) = delegate_of(self, &other).filter(|(_, result)| *result != tied[0].1.1)
            {
                tied.push((other, delegate));
            }
        }
        let given = match tied.len() {
            1 => Shape::Unknown,
            _ => self.on_trial(&mut UsesFound::default(), |flow| flow.lambda(lambda, &target)),
        };
        if !given.is_known() {
            return tied.swap_remove(0).0;
        }
        let given = match is_async {
            true => Shape::Named("~System.Threading.Tasks.Task`1".into(), std::rc::Rc::from([given])),
            false => given,
        };
        // Of two that return exactly what the lambda returns, the one is better whose result is more than a type parameter.
        let rank = |(of, (_, result)): &(Chosen<'a>, (Vec<Shape>, Shape))| -> (u32, bool) {
            let mut bindings = of.bindings.clone();
            let fit = self.conversion_rank(result, &given, &mut bindings);
            match result.substitute(&[], &bindings) == given {
                true => (10, !matches!(result, Shape::Method(_))),
                false => (fit.unwrap_or_else(|| u32::from(self.converts(&given, result))), false),
            }
        };
        let ranks: Vec<(u32, bool)> = tied.iter().map(rank).collect();
        let best = (0..tied.len()).rev().max_by_key(|at| ranks[*at]).unwrap_or(0);
        // Of two delegates with the same parameters, the one that returns a value is better.
        let (parameters, result) = &tied[best].1;
        if ranks[best].0 > 0 && *result != predefined("void") {
            let is_without = |(_, (own, result)): &&(Chosen<'a>, (Vec<Shape>, Shape))| own == parameters && *result == predefined("void");
            let without: Vec<&Candidate<'a>> = tied.iter().filter(is_without).map(|(of, _)| &of.candidate).collect();
            let is_same = |of: &Candidate<'a>, one: &Candidate<'a>| of.owner == one.owner && of.parameters() == one.parameters();
            all.retain(|one| !without.iter().any(|&of| is_same(of, one)));
        }
        tied.swap_remove(best).0
    }

    /// Whether a candidate is not applicable, perhaps because a lambda returns a value that certainly does not convert to the result of its
    /// parameter's delegate.
    pub(super) fn is_refused(&mut self, chosen: &Chosen<'a>, args: &'f [Argument]) -> bool {
        chosen.score <= NOT_CALLABLE
            || self.trials == 0
                && args.iter().zip(&chosen.parameters).any(|(arg, parameter)| {
                    let lambda @ Expression::Lambda(_, _, is_async, _) = &arg.value else {
                        return false;
                    };
                    let target = parameter.substitute(&[], &chosen.bindings);
                    let Some((_, result)) = self.world.delegate(&target) else {
                        return false;
                    };
                    let wanted = if *is_async { self.awaited(&result) } else { result };
                    let given = self.on_trial(&mut UsesFound::default(), |flow| flow.lambda(lambda, &target));
                    // A constant may convert to a narrower number.
                    let is_number = given.key().is_some_and(numeric);
                    wanted != predefined("void") && !is_number && self.becomes(&given, &wanted) == Some(false)
                })
    }

    /// Stores the type of the first element of a collection expression, without recording its uses.
    pub(super) fn note_first_element(&mut self, value: &'f Expression) {
        let Expression::Collection(parts, _) = value else { return };
        if let Some(first) = parts.first().filter(|first| self.trials == 0 && !is_deferred(first)) {
            let locals = self.locals.len();
            let shape = self.on_trial(&mut UsesFound::default(), |flow| flow.value(first, None));
            self.locals.truncate(locals);
            self.first_elements.insert(parts.as_ptr() as usize, shape);
        }
    }

    /// Whether a collection expression may convert to a type, as far as its first element decides.
    fn takes_elements(&self, parameter: &Shape, parts: &[Expression]) -> bool {
        let element = self.world.element(parameter);
        // A type whose bases are all known, and that is no collection.
        let is_no_collection = |key: &str| {
            let is_closed = |level: &Shape| level.key().is_some_and(|key| !key.starts_with('^'));
            self.world.kind(key) != ' ' && (key.starts_with('~') || self.world.levels(parameter).iter().all(is_closed))
        };
        if parameter.key() == Some("~System.String") || !element.is_known() && parameter.key().is_some_and(is_no_collection) {
            return false;
        }
        let first = self.first_elements.get(&(parts.as_ptr() as usize));
        first.is_none_or(|first| {
            let mut open = vec![Shape::Unknown; 16];
            !element.is_known() || self.conversion_rank(&element, first, &mut open).is_some() || self.converts(first, &element)
        })
    }

    /// Binds code on trial and returns its result; its uses are recorded in `found`.
    pub(super) fn on_trial<T>(&mut self, found: &mut UsesFound, code: impl FnOnce(&mut Self) -> T) -> T {
        self.trials += 1;
        std::mem::swap(&mut *self.found, found);
        let given = code(self);
        std::mem::swap(&mut *self.found, found);
        self.trials -= 1;
        given
    }

    /// Whether open type parameters may be inferred from the arguments. A lambda whose parameters have no types determines only those of its result.
    pub(super) fn may_infer(&self, bindings: &[Shape], receiver: Option<&Shape>, args: &[Argument], parameters: &[Shape]) -> bool {
        let tells = |at: u32, arg: &Argument, parameter: &Shape| match &arg.value {
            Expression::Lambda(names, ..) if !names.is_empty() && names.iter().all(|name| name.kind.is_none()) => {
                self.world.delegate(parameter).is_none_or(|(_, result)| result.has_parameter(at))
            }
            _ => parameter.has_parameter(at),
        };
        let mut open = (0..).zip(bindings).filter(|(_, binding)| !binding.is_known());
        open.all(|(at, _)| {
            receiver.is_some_and(|receiver| receiver.has_parameter(at))
                || args.iter().zip(parameters).any(|(arg, parameter)| tells(at, arg, parameter))
        })
    }

    /// Whether `new(…)` with this many arguments can create a value of a type; true if that is not known.
    fn can_make(&self, target: &Shape, count: usize) -> bool {
        let Some(key) = target.key() else { return true };
        // A delegate is created from one method.
        match self.world.kind(key) {
            'i' => return false,
            'd' => return count == 1,
            _ if key.starts_with(['~', '^']) => return true,
            _ => {}
        }
        let mut found = Vec::new();
        self.world.declared(target, CONSTRUCTOR, &mut found);
        let is_value = self.is_value_type(target);
        found.iter().any(|one| takes(&one.parameters(), count)) || count == 0 && (is_value || found.is_empty())
    }
}

/// Whether a lambda's body is an expression that is no statement, such as `x.Y`: a delegate without a result does not take it.
fn returns_plain_value(body: &[Statement]) -> bool {
    match body {
        [Statement::Return(Expression::Chain(_, links))] => matches!(links.last(), Some(Link::Member(_) | Link::Index(..))),
        [Statement::Return(value)] => matches!(
            value,
            Expression::Name(_) | Expression::Literal(..) | Expression::Operation(..) | Expression::Conditional(..) | Expression::Is(..)
        ),
        _ => false,
    }
}

/// Returns the task that an async lambda returns whose body returns such a value.
fn task_of(value: Shape) -> Shape {
    match value == predefined("void") {
        true => Shape::of_key("~System.Threading.Tasks.Task"),
        false => Shape::Named("~System.Threading.Tasks.Task`1".into(), std::rc::Rc::from([value])),
    }
}

/// Returns the bindings, with each open type parameter bound to itself.
pub(super) fn known_or_self(bindings: &[Shape]) -> Vec<Shape> {
    bindings
        .iter()
        .enumerate()
        .map(|(at, binding)| {
            if binding.is_known() {
                binding.clone()
            } else {
                Shape::Method(at as u32)
            }
        })
        .collect()
}

/// Whether an expression gets its type from its target.
pub(super) fn is_deferred(value: &Expression) -> bool {
    match value {
        Expression::Lambda(..) | Expression::New(None, ..) | Expression::Collection(..) => true,
        Expression::Declaration(kind, _) => matches!(kind, crate::code::ast::TypeRef::Var(_)),
        // If one branch has a type of its own, the other gets that type.
        Expression::Conditional(_, yes, no) => {
            let is_null = |value: &Expression| matches!(value, Expression::Literal(Literal::Null | Literal::Default, _));
            let (first, second) = (is_deferred(yes), is_deferred(no));
            (first || is_null(yes)) && (second || is_null(no)) && (first || second)
        }
        _ => false,
    }
}
