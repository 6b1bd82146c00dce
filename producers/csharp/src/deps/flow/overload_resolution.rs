//! Calls: selects the overload, infers its type arguments, and gives lambdas their types.

use super::candidate_rules::{certainly_takes, placed};
use super::deferred::is_deferred;
use super::extensions::{is_undeclared, result_like, returns_vary};
use super::numbers::numeric;
use super::parameters::takes;
use super::rivals::Given;
use super::{Flow, Local};
use crate::code::ast::{Argument, LocalFunction, Name, Parameter, Passing};
use crate::deps::modifiers::Modifiers;
use crate::deps::resolve::TypeParameter;
use crate::deps::shape::Shape;
use crate::deps::world::Candidate;

/// Highest score of a candidate that the arguments do not fit.
pub(super) const NOT_CALLABLE: i64 = -50;

/// Types of .NET to which an array converts implicitly: spans and memory.
pub(super) const SPANS: [&str; 4] = [
    "~System.ReadOnlySpan`1", "~System.Span`1", "~System.ReadOnlyMemory`1", "~System.Memory`1",
];

/// The candidate that overload resolution selects.
pub(super) struct Chosen<'a> {
    /// How well the arguments fit.
    pub(super) score: i64,
    pub(super) candidate: Candidate<'a>,
    pub(super) bindings: Bindings,
    /// Type of the parameter of an extension method that takes the receiver.
    pub(super) receiver: Option<Shape>,
    /// Type of the parameter of each argument.
    pub(super) parameters: Vec<Shape>,
    /// How the parameter of the receiver, if there is one, and that of each argument take their values.
    pub(super) passings: Vec<Passing>,
}

impl Chosen<'_> {
    /// Returns the parameter types of the arguments, with type parameters bound.
    pub(super) fn parameter_types(&self) -> Vec<Shape> {
        let substituted = |parameter: &Shape| parameter.substitute(&[], &self.bindings);
        self.parameters.iter().map(substituted).collect()
    }
}

/// Type arguments inferred so far.
pub(super) type Bindings = Vec<Shape>;

impl<'f, 'a> Flow<'f, 'a> {
    /// Binds arguments outside of overload resolution, with `targets` as far as they are known, and returns their types.
    pub(super) fn arguments(&mut self, args: &'f [Argument], targets: &[Shape]) -> Vec<Shape> {
        args.iter()
            .enumerate()
            .map(|(at, arg)| match targets.get(at).filter(|_| arg.name.is_none()) {
                Some(target) => self.converted(&arg.value, target),
                None => self.value(&arg.value, None),
            })
            .collect()
    }

    /// Binds a call of a simple name.
    pub(super) fn call_simple(&mut self, name: &'f Name, args: &'f [Argument], target: Option<&Shape>) -> Shape {
        let text = name.word.text.as_str();
        match self.find_local(text) {
            Some(Local::Value(shape)) => {
                self.record_non_member(name.word.place);
                return self.invoke(&shape, args);
            }
            // Another number of type arguments means a method.
            Some(Local::Function(function)) if name.args.is_empty() || name.args.len() == function.type_parameters.len() => {
                self.record_non_member(name.word.place);
                self.type_arguments(name);
                return self.call_local(function, name, args);
            }
            _ => {}
        }
        let found = self.called_members(self.around.iter().chain(&self.statics), name);
        if !found.is_empty() {
            return self.called(found, None, None, name, args, target);
        }
        if !self.is_open_scope() {
            self.record_unbound(None, text, name.word.place, super::UseKind::Name);
        }
        self.unknown_call(name, args)
    }

    /// Binds a call of a local function.
    fn call_local(&mut self, function: &'f LocalFunction, name: &Name, args: &'f [Argument]) -> Shape {
        let methods = self.methods.len();
        let given: Vec<Shape> = name.args.iter().map(|arg| self.shape_unrecorded(Some(arg))).collect();
        for (at, parameter) in function.type_parameters.iter().enumerate() {
            let stands_for = given.get(at).cloned().unwrap_or_else(|| Shape::Variable(parameter.as_str().into()));
            self.methods.push(TypeParameter::new(parameter, stands_for, &[]));
        }
        let kind = |parameter: &Parameter| {
            (
                Modifiers {
                    passing: parameter.passing,
                    many: parameter.many,
                    optional: parameter.default.is_some(),
                },
                self.shape_unrecorded(parameter.kind.as_ref()),
            )
        };
        let kinds: Vec<(Modifiers, Shape)> = function.parameters.iter().map(kind).collect();
        let result = self.shape_unrecorded(Some(&function.result));
        self.methods.truncate(methods);
        let names: Vec<&str> = function.parameters.iter().map(|parameter| parameter.name.as_str()).collect();
        let places = placed(args, &names).unwrap_or_else(|| vec![None; args.len()]);
        for (arg, place) in args.iter().zip(places) {
            match place.map(|place| self.parameter_of(&kinds, place, args.len(), (&arg.value, None))) {
                Some((_, target, _)) => self.converted(&arg.value, &target),
                None => self.value(&arg.value, None),
            };
        }
        result
    }

    /// Records the types that a name's type arguments name.
    pub(super) fn type_arguments(&mut self, name: &Name) {
        for arg in &name.args {
            self.shape_of_type(arg);
        }
    }

    /// Binds a call of a member.
    pub(super) fn call(&mut self, on: &Shape, is_type: bool, name: &'f Name, args: &'f [Argument], target: Option<&Shape>) -> Shape {
        let text = name.word.text.as_str();
        let found = match on {
            Shape::Variable(variable) => {
                let bounds = self.constraints.get(variable).into_iter().flatten();
                self.called_members(bounds.filter(|bound| !matches!(bound, Shape::Variable(_))), name)
            }
            Shape::Tuple(parts) if parts.iter().any(|(own, _)| own.as_deref() == Some(text)) => {
                let delegate = self.value_member(on, text, name.word.place);
                return self.invoke(&delegate, args);
            }
            Shape::Tuple(_) | Shape::Anonymous(_) | Shape::Null | Shape::Unknown => Vec::new(),
            on => self.called_members([on], name),
        };
        let fits = |candidate: &Candidate<'a>| {
            if !candidate.is_method() {
                // After a value that code cannot call, the search continues.
                return self.may_be_called(candidate);
            }
            let generic = match name.args.len() {
                0 => candidate.is_inferable(count_for_inference(args)),
                count => candidate.line.arity as usize == count,
            };
            // A value is never the receiver of a static method.
            let is_of_kind = is_type || !candidate.is_static();
            generic && is_of_kind && takes(&candidate.parameters(), args.len()) && placed(args, &candidate.names()).is_some()
        };
        if found.iter().any(|one| fits(one) && self.sees(one)) {
            return self.called(found, None, (!is_type).then_some(on), name, args, target);
        }
        // If the receiver's type is unknown, a name alone does not decide which extension method the code calls.
        if on.is_known() {
            let extensions = self.extensions(on, text, is_type);
            // Not all members of a type outside are known. If no extension method takes this many arguments, the call may bind to an unknown member.
            let is_taken = |one: &Candidate<'_>| one.parameters().split_first().is_some_and(|(_, rest)| takes(rest, args.len()));
            if extensions.iter().any(|one| !self.is_outside(on) || is_taken(one)) {
                return self.called(extensions, Some(on), None, name, args, target);
            }
        }
        if !found.is_empty() {
            return self.called(found, None, None, name, args, target);
        }
        if text == "GetValueOrDefault" && self.is_value_type(on) {
            self.record_inferred(on);
            self.record_non_member(name.word.place);
            self.arguments(args, &[]);
            return on.clone();
        }
        // `unknown_call` binds the arguments below; their types are not known yet.
        let call = self.called_with(name, args, &[], false);
        match is_type && self.is_closed(on) {
            // Code cannot call an extension method on a type.
            true => {
                self.record_unbound(Some(on), text, name.word.place, super::UseKind::Name);
                self.record_possible(text, name.word.place, Some(call));
            }
            false => self.record_missing_member(on, text, name.word.place, Some(call)),
        }
        self.unknown_call(name, args);
        self.requested_service(on, name)
    }

    /// Binds a call of one of several candidates. `receiver` is the first argument of extension methods. `value` is the receiver of the call,
    /// whose extension methods are candidates if the arguments fit none of `found`.
    fn called(
        &mut self,
        mut found: Vec<Candidate<'a>>,
        receiver: Option<&Shape>,
        value: Option<&Shape>,
        name: &'f Name,
        args: &'f [Argument],
        target: Option<&Shape>,
    ) -> Shape {
        let text = name.word.text.as_str();
        let explicit: Vec<Shape> = name.args.iter().map(|arg| self.shape_of_type(arg)).collect();
        if let Some(first) = found.first().filter(|first| !first.is_method()) {
            self.used(&first.owner.clone(), text, name.word.place, true, None);
            let shape = first.result();
            return self.invoke(&shape, args);
        }
        let shapes = self.shapes(args);
        // Every type inherits the members of `object`.
        if receiver.is_none() && !found.iter().any(|one| one.owner.key() == Some("~System.Object")) {
            self.world.declared(&Shape::of_key("~System.Object"), text, &mut found);
        }
        self.prefer_by_priority(&mut found, receiver, &explicit, args, &shapes);
        if let Some(receiver) = receiver {
            self.prefer_nearest(&mut found, receiver, &explicit, args, &shapes);
        }
        let mut all = found.clone();
        let mut extended = receiver;
        let mut chosen = self.choose(found, receiver, &explicit, args, &shapes);
        if let Some(value) = value
            && let Some((other, others)) = self.extension_instead(chosen.as_ref(), value, name, (&explicit, args, &shapes))
        {
            (chosen, all, extended) = (Some(other), others, Some(value));
        }
        let Some(chosen) = chosen else { return Shape::Unknown };
        let chosen = self.prefer_by_lambda(chosen, &mut all, extended, &explicit, args, &shapes);
        let given = Given {
            receiver: extended,
            explicit: &explicit,
            args,
            shapes: &shapes,
        };
        let (chosen, rivals) = self.rivals(chosen, &mut all, given);
        let origin = extended.filter(|shape| is_undeclared(shape) && returns_vary(&chosen.candidate, &all, args.len()));
        let others = match self.found.uses {
            Some(_) => self.others(&chosen, all, extended, &explicit, args, &shapes),
            None => Vec::new(),
        };
        let Chosen {
            candidate,
            mut bindings,
            parameters,
            score,
            ..
        } = chosen;
        let call = self.called_with(name, args, &shapes, extended.is_some());
        let decided = others.is_empty();
        for owner in &others {
            self.used(owner, text, name.word.place, false, Some(call.clone()));
        }
        self.record_inferred(&candidate.owner);
        self.used(&candidate.owner, text, name.word.place, decided, Some(call));
        let is_sure = decided && score > NOT_CALLABLE;
        let is_result_open = rivals.is_result_open;
        self.convert(args, &shapes, (&parameters, &mut bindings), rivals, is_sure);
        let result = self.world.result_of(&candidate);
        if let Some(origin) = origin {
            return result_like(origin, &result.substitute(&[], &bindings));
        }
        if is_result_open {
            return Shape::Unknown;
        }
        if let Some(target) = target
            && bindings.iter().any(|binding| !binding.is_known())
        {
            self.conversion_rank(&result, target, &mut bindings);
        }
        result.substitute(&[], &bindings).bounded()
    }

    /// Binds a call of a delegate; returns the type of its result.
    pub(super) fn invoke(&mut self, shape: &Shape, args: &'f [Argument]) -> Shape {
        match self.world.delegate(shape) {
            Some((parameters, result)) => {
                self.arguments(args, &parameters);
                result
            }
            None => {
                if self.is_closed(shape) {
                    self.fault(super::rivals::Faults::Certain);
                }
                self.arguments(args, &[]);
                Shape::Unknown
            }
        }
    }

    /// Binds the arguments that need no target; `None` for those that do.
    pub(super) fn shapes(&mut self, args: &'f [Argument]) -> Vec<Option<Shape>> {
        let shape = |arg: &'f Argument| {
            self.note_first_element(&arg.value);
            (!is_deferred(&arg.value)).then(|| self.value(&arg.value, None))
        };
        args.iter().map(shape).collect()
    }

    /// Picks the best candidate for arguments of these shapes.
    pub(super) fn choose(
        &self,
        found: Vec<Candidate<'a>>,
        receiver: Option<&Shape>,
        explicit: &[Shape],
        args: &[Argument],
        shapes: &[Option<Shape>],
    ) -> Option<Chosen<'a>> {
        let mut best: Option<Chosen<'a>> = None;
        for candidate in found.iter().filter(|one| one.is_method()).cloned() {
            // A callable member of a derived type hides those of its bases.
            if receiver.is_none()
                && let Some(best) = &best
                && best.score > NOT_CALLABLE
                && self.hides(&best.candidate, &candidate, &found)
                && certainly_takes(best, shapes)
            {
                continue;
            }
            let found = self.fit(candidate, receiver, explicit, args, shapes);
            let score = found.score;
            let is_best = |other: &Chosen<'a>| {
                let preferred = self.preferred(&found, other, receiver, (args, shapes));
                preferred.unwrap_or(score > other.score)
            };
            if best.as_ref().is_none_or(is_best) {
                best = Some(found);
            }
        }
        best
    }

    /// Scores a call of one candidate with arguments of these shapes.
    fn fit(
        &self,
        candidate: Candidate<'a>,
        receiver: Option<&Shape>,
        explicit: &[Shape],
        args: &[Argument],
        shapes: &[Option<Shape>],
    ) -> Chosen<'a> {
        let mut parameters = candidate.parameters().into_owned();
        let mut bindings = vec![Shape::Unknown; candidate.line.arity as usize];
        let mut score = 0_i64;
        if explicit.len() == bindings.len() {
            bindings.clone_from_slice(explicit);
            parameters.iter_mut().for_each(|(_, kind)| *kind = kind.substitute(&[], explicit));
        } else if !explicit.is_empty() {
            score -= 1_000;
        } else if !candidate.is_inferable(count_for_inference(args).saturating_add(usize::from(receiver.is_some()))) {
            score -= 500;
        }
        let mut names = candidate.names();
        let mut extended = None;
        if let Some(receiver) = receiver
            && !parameters.is_empty()
        {
            names.drain(..names.len().min(1));
            let first = parameters.remove(0);
            match self.conversion_rank(&first.1, receiver, &mut bindings) {
                Some(fit) => score += 4 * i64::from(fit),
                None => score -= 500,
            }
            extended = Some(first);
        }
        if !takes(&parameters, args.len()) {
            score -= 2_000;
        }
        let places = placed(args, &names);
        if places.is_none() {
            score -= 2_000;
        }
        let places = places.unwrap_or_else(|| vec![None; args.len()]);
        let (mut of_args, mut passings) = (
            Vec::with_capacity(args.len()),
            Vec::from_iter(extended.as_ref().map(|(own, _)| own.passing)),
        );
        for (at, arg) in args.iter().enumerate() {
            let Some(place) = places[at] else {
                of_args.push(Shape::Unknown);
                passings.push(Passing::Value);
                continue;
            };
            let (modifiers, parameter, is_spread) = self.parameter_of(&parameters, place, args.len(), (&arg.value, shapes[at].as_ref()));
            score -= i64::from(is_spread);
            score += match modifiers.passing.takes(arg.passing) {
                true => self.argument_fit(arg, shapes[at].as_ref(), &parameter, &mut bindings),
                false => -100,
            };
            of_args.push(parameter);
            passings.push(modifiers.passing);
        }
        let extended = extended.map(|(_, first)| first);
        if self.breaks_limits(&candidate, &bindings) || !self.may_infer(&bindings, extended.as_ref(), args, &of_args) {
            score -= 500;
        }
        Chosen {
            score,
            candidate,
            bindings,
            receiver: extended,
            parameters: of_args,
            passings,
        }
    }

    /// Scores one argument of a call. `shape`: its type, if it has one of its own.
    fn argument_fit(&self, arg: &Argument, shape: Option<&Shape>, parameter: &Shape, bindings: &mut Bindings) -> i64 {
        match shape {
            // An argument that is passed by reference has exactly the type of the parameter.
            Some(shape) if arg.passing != Passing::Value && is_other(parameter, shape) => -100,
            Some(shape) if self.narrows(&arg.value, shape, parameter) => -100,
            Some(shape) => match self.conversion_rank(parameter, shape, bindings) {
                Some(fit) if *shape == Shape::Unknown => i64::from(fit) + self.suits_group(parameter, &arg.value),
                Some(fit) => i64::from(fit),
                // A declared conversion is better than the conversion to `object`, which takes every value.
                None if self.converts(shape, parameter) => 2,
                None => -100,
            },
            None => match parameter {
                Shape::Method(_) => self.suits(&parameter.substitute(&[], bindings), &arg.value),
                parameter => self.suits(parameter, &arg.value),
            },
        }
    }

    /// Returns how well a value of a type converts to a parameter, or `None` if it does not. Infers type parameters of the method on the way.
    pub(super) fn conversion_rank(&self, parameter: &Shape, arg: &Shape, bindings: &mut [Shape]) -> Option<u32> {
        match (parameter, arg) {
            (Shape::Method(index), arg) => {
                match bindings.get_mut(*index as usize) {
                    Some(binding) if binding.is_known() && arg.is_known() => *binding = self.common_bound(binding, arg)?,
                    Some(binding) if !binding.is_known() => *binding = arg.clone(),
                    _ => {}
                }
                Some(1)
            }
            (Shape::Unknown, _) | (_, Shape::Unknown | Shape::Null) => Some(0),
            (Shape::Array(parameter), Shape::Array(arg)) => self.conversion_rank(parameter, arg, bindings).map(|fit| fit + 2),
            (Shape::Tuple(parameters), Shape::Tuple(args)) if parameters.len() == args.len() => {
                for ((_, parameter), (_, arg)) in parameters.iter().zip(args.iter()) {
                    self.conversion_rank(parameter, arg, bindings)?;
                }
                Some(3)
            }
            (Shape::Named(key, parameters), arg) => self.rank_as_named(parameter, (key, parameters), arg, bindings),
            (Shape::Variable(parameter), Shape::Variable(arg)) => (parameter == arg).then_some(3),
            // No declared type, array or tuple converts to a type parameter.
            (Shape::Variable(_), Shape::Array(_) | Shape::Tuple(_)) => None,
            (Shape::Variable(_), Shape::Named(key, _)) => key.starts_with('^').then_some(0),
            (Shape::Variable(_) | Shape::Own(_), _) => Some(0),
            _ => None,
        }
    }

    /// Returns how well a type argument converts to that of a parameter, or `None`: numeric conversions do not apply to type arguments.
    fn rank_as_argument(&self, parameter: &Shape, arg: &Shape, bindings: &mut [Shape]) -> Option<u32> {
        let is_number = |shape: &Shape| shape.key().is_some_and(numeric);
        let differs = is_number(parameter) && is_number(arg) && parameter.key() != arg.key();
        self.conversion_rank(parameter, arg, bindings).filter(|_| !differs)
    }

    /// Returns how well a value of a type converts to a parameter of a named type, or `None` if it does not.
    fn rank_as_named(&self, parameter: &Shape, (key, parameters): (&str, &[Shape]), arg: &Shape, bindings: &mut [Shape]) -> Option<u32> {
        if key == "~System.Object" {
            return Some(1);
        }
        if let Shape::Variable(variable) = arg {
            let bounds = self.constraints.get(variable).map(Vec::as_slice).unwrap_or_default();
            return bounds
                .iter()
                .filter(|bound| !matches!(bound, Shape::Variable(_)))
                .filter_map(|bound| self.conversion_rank(parameter, bound, bindings))
                .max();
        }
        if let Some(base) = self.world.as_base(arg, key) {
            for (parameter, arg) in parameters.iter().zip(base.args()) {
                // No type argument converts to a nullable one.
                if parameter.is_nullable() && arg.is_known() && !arg.is_nullable() {
                    return None;
                }
                let takes = is_contravariant(key) && self.conversion_rank(arg, parameter, &mut []).is_some();
                if !takes && self.rank_as_argument(parameter, arg, bindings).is_none() && !matches!(arg, Shape::Variable(_)) {
                    return None;
                }
            }
            return Some(if arg.key() == Some(key) { 4 } else { 3 });
        }
        if parameter.is_nullable() {
            return self.conversion_rank(parameters.first()?, arg, bindings);
        }
        let arg_key = arg.key().unwrap_or("");
        if arg.is_nullable() {
            // A nullable value does not convert implicitly to a value type.
            if matches!(self.world.kind(key), 's' | 'e') {
                return None;
            }
            return self
                .conversion_rank(parameter, arg.args().first()?, bindings)
                .map(|fit| fit.saturating_sub(1));
        }
        if SPANS.contains(&key) {
            let is_read_only = |name: &str| arg_key.strip_prefix("~System.") == Some(name);
            let element = match arg {
                Shape::Array(element) => (**element).clone(),
                _ if arg_key == "~System.String" && key.starts_with("~System.ReadOnlySpan") => Shape::of_key("~System.Char"),
                arg if key.strip_prefix("~System.ReadOnly").is_some_and(is_read_only) => arg.args().first()?.clone(),
                _ => return None,
            };
            return self.rank_as_argument(parameters.first()?, &element, bindings).map(|_| 1);
        }
        if numeric(key) && numeric(arg_key) {
            // No numeric type converts implicitly to `char`.
            return (key != "~System.Char").then_some(1);
        }
        // The bases and conversions of an undeclared type are unknown.
        let open = |key: &str| key.starts_with('^');
        let outside = |key: &str| key.starts_with(['~', '^']);
        if open(arg_key) && outside(key) || open(key) && outside(arg_key) && !arg_key.starts_with("~System.String") {
            return Some(0);
        }
        let is_outside = key.starts_with('~') && arg_key.starts_with('~');
        (is_outside && self.converts_outside(arg, parameter)).then_some(1)
    }
}

/// Returns how many parameters, from the first, take part in the inference of type parameters: all if an argument is named.
fn count_for_inference(args: &[Argument]) -> usize {
    match args.iter().any(|arg| arg.name.is_some()) {
        true => usize::MAX,
        false => args.len(),
    }
}

/// Whether a type of .NET is contravariant: its value for a base type converts to one for an heir of that type.
fn is_contravariant(key: &str) -> bool {
    let names = [
        "Action`",
        "Predicate`",
        "Comparison`",
        "Collections.Generic.IComparer`",
        "Collections.Generic.IEqualityComparer`",
    ];
    key.strip_prefix("~System.")
        .is_some_and(|name| names.iter().any(|own| name.starts_with(own)))
}

/// Whether two types are known and differ.
fn is_other(one: &Shape, other: &Shape) -> bool {
    let is_known = |shape: &Shape| shape.key().is_some_and(|key| !key.starts_with('^'));
    is_known(one) && is_known(other) && one.key() != other.key()
}
