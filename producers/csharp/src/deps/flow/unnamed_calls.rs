//! Members that language constructs use without naming them: operators, and the members that loops, `await`, initializers, deconstruction and
//! queries call.

use super::candidate_rules::known_type;
use super::parameters::takes;
use super::{Call, Flow};
use crate::code::ast::Expression;
use crate::deps::modifiers::Modifiers;
use crate::deps::shape::Shape;
use crate::deps::world::Candidate;

impl<'f, 'a> Flow<'f, 'a> {
    /// Records that a construct uses the member `name` of a value with these arguments; returns the result's shape.
    pub(super) fn implied(&mut self, on: &Shape, name: &str, arguments: &[Shape], place: u32) -> Option<Shape> {
        let found = self.members_of(on, name);
        let fits = |candidate: &&Candidate<'_>| match candidate.is_method() {
            true => takes(&candidate.parameters(), arguments.len()),
            false => name == "Current" || name == "IsCompleted",
        };
        let mut extends = false;
        let are_known = arguments.iter().all(Shape::is_known);
        let best = are_known.then(|| self.best_taking(&found, arguments)).flatten();
        let mut chosen = best.or_else(|| found.iter().find(fits).cloned());
        let refuses = |one: &Candidate<'a>| one.is_method() && are_known && self.rank_of_values(one, arguments, false).is_none();
        if on.is_known() && chosen.as_ref().is_none_or(refuses) {
            let extensions = self.extensions(on, name, false).into_iter();
            let mut taking = extensions.filter(|one| takes(&one.parameters(), arguments.len() + 1));
            let other = match chosen.is_some() {
                true => taking.find(|one| self.rank_of_values(one, arguments, true).is_some()),
                false => taking.next(),
            };
            extends = other.is_some();
            chosen = other.or(chosen);
        }
        let call = call_of(arguments, extends);
        let Some(chosen) = chosen else {
            if matches!(on, Shape::Unknown) || !self.is_outside(on) && on.key().is_some_and(|key| key.starts_with('^')) {
                self.record_possible(name, place, Some(call));
            }
            return None;
        };
        // No code names the type arguments of the type that declares the member.
        let owner = Shape::of_key(chosen.owner.key().unwrap_or_default());
        self.used(&owner, name, place, true, chosen.is_method().then_some(call));
        let open = vec![Shape::Unknown; chosen.line.arity as usize];
        Some(chosen.result().substitute(&[], &open).bounded())
    }

    /// Returns the extension members named `name` that the workspace declares and the usings open.
    pub(super) fn open_extensions(&self, name: &str) -> impl Iterator<Item = Candidate<'a>> {
        let is_open = |candidate: &Candidate<'a>| {
            let key = candidate.owner.key().unwrap_or("");
            let line = self.world.type_line(key);
            let namespace = line.as_ref().map_or("", |line| &line.namespace);
            let opened = self.opened.contains_key(namespace) || self.statics.iter().any(|open| open.key() == Some(key));
            opened && line.as_ref().is_none_or(|line| self.resolver.sees(&line.projects))
        };
        let found = self.world.extensions(name);
        let open: Vec<Candidate<'a>> = found.iter().filter(|one| is_open(one)).cloned().collect();
        open.into_iter()
    }

    /// Records the operator of an extension block that takes these operands (also one of an assignment); returns the result's shape.
    pub(super) fn extension_operator(&mut self, name: &str, operands: &[&Shape], place: u32) -> Option<Shape> {
        if operands.iter().any(|operand| !operand.is_known()) {
            return None;
        }
        let fits = |candidate: &Candidate<'a>| -> Option<(u32, Shape)> {
            let mut parameters = candidate.parameters().into_owned();
            if candidate.is_static() && !parameters.is_empty() {
                // The first parameter is the extended type.
                parameters.remove(0);
            }
            let mut bindings = vec![Shape::Unknown; candidate.line.arity as usize];
            let mut score = 0;
            for ((_, parameter), operand) in parameters.iter().zip(operands) {
                score += self.conversion_rank(parameter, operand, &mut bindings)?;
            }
            (parameters.len() == operands.len()).then(|| (score, candidate.result().substitute(&[], &bindings).bounded()))
        };
        let found = self.open_extensions(name).filter(Candidate::is_extension_operator);
        let fitting = found.filter_map(|candidate| Some((fits(&candidate)?, candidate)));
        let ((_, result), chosen) = fitting.reduce(|one, other| if other.0.0 > one.0.0 { other } else { one })?;
        let arguments: Vec<Shape> = operands.iter().map(|operand| (*operand).clone()).collect();
        self.used(&chosen.owner, name, place, true, Some(call_of(&arguments, false)));
        Some(result)
    }

    /// Whether an operator is not applicable because it narrows a number, to its own parameter or to that of a conversion to it.
    fn narrows_variable(&self, candidate: &Candidate<'_>, values: &[&Expression], operands: &[&Shape]) -> bool {
        let parameters = candidate.parameters();
        let mut pairs = values.iter().zip(operands).zip(parameters.iter());
        pairs.any(|((value, operand), (_, parameter))| {
            let converted = || {
                self.conversion(operand, parameter)
                    .and_then(|(by, _)| by.parameters().into_owned().pop())
            };
            self.narrows(value, operand, parameter) || converted().is_some_and(|(_, by)| self.narrows(value, operand, &by))
        })
    }

    /// Returns how well operands convert to the parameters of an operator; `None` if they do not.
    fn operator_fit(&self, candidate: &Candidate<'_>, values: &[&Expression], operands: &[&Shape]) -> Option<u32> {
        let parameters = candidate.parameters();
        let mut lambdas = values.iter().zip(parameters.iter()).filter(|(value, _)| is_lambda(value));
        if !lambdas.all(|(value, (_, parameter))| self.suits(parameter, value) > 0) {
            return None;
        }
        let mut bindings = Vec::new();
        let fits = parameters.iter().zip(operands);
        let fits = fits.map(|((_, parameter), operand)| self.conversion_rank(parameter, lifted(parameter, operand), &mut bindings));
        (parameters.len() == operands.len()).then(|| fits.sum::<Option<u32>>()).flatten()
    }

    /// Records the operator that applies to the operands; returns the result's shape if the operator is user-defined.
    pub(super) fn operator(&mut self, name: &str, values: &[&'f Expression], operands: &[&Shape], place: u32) -> Option<Shape> {
        let mut found: Vec<Candidate<'a>> = Vec::new();
        for operand in operands {
            let operand = operand.without_null();
            if !self.is_outside(operand) {
                found.extend(self.members_of(operand, name));
            }
        }
        found.retain(|candidate| !self.narrows_variable(candidate, values, operands));
        let mut best: Option<(u32, usize)> = None;
        for (at, candidate) in found.iter().enumerate() {
            if let Some(score) = self.operator_fit(candidate, values, operands)
                && best.is_none_or(|(other, _)| score > other)
            {
                best = Some((score, at));
            }
        }
        let arguments: Vec<Shape> = operands.iter().map(|operand| (*operand).clone()).collect();
        // An operand may have a user-defined conversion to the operator's parameter. String concatenation takes any value, also one of unknown type.
        let is_text = |operand: &&Shape| operand.key() == Some("~System.String");
        let are_known = operands.iter().all(|operand| operand.is_known());
        if best.is_none() && (are_known || name != "op_Addition" || !operands.iter().any(is_text)) {
            best = found
                .iter()
                .position(|one| {
                    let parameters = one.parameters();
                    let becomes = |((_, parameter), operand): (&(Modifiers, Shape), &&Shape)| {
                        !operand.is_known()
                            || self.conversion_rank(parameter, lifted(parameter, operand), &mut []).is_some()
                            || self.conversion(operand, parameter).is_some()
                    };
                    parameters.len() == operands.len() && parameters.iter().zip(operands).all(becomes)
                })
                .map(|at| (0, at));
        }
        let Some((_, at)) = best else {
            if let Some(given) = self.extension_operator(name, operands, place) {
                return Some(given);
            }
            // With an operand of unknown type, the use may be of any operator.
            if operands.iter().any(|operand| matches!(operand, Shape::Unknown)) {
                self.record_possible(name, place, Some(call_of(&arguments, false)));
            }
            return None;
        };
        let fits = |one: &&Candidate<'a>| self.operator_fit(one, values, operands).is_some();
        let is_open = values.iter().any(|value| is_lambda(value)) && found.iter().filter(fits).count() > 1;
        let chosen = found.swap_remove(at);
        self.record_operator(&chosen, name, (values, operands), place, (true, is_open));
        let result = chosen.result();
        // A lifted operator takes nullable operands and returns a nullable value; a lifted comparison returns `bool`.
        let parameters = chosen.parameters();
        let lifts = |((_, parameter), operand): (&(Modifiers, Shape), &&Shape)| operand.is_nullable() && !parameter.is_nullable();
        let is_lifted = self.is_value_type(&result) && parameters.iter().zip(operands).any(lifts);
        Some(match is_lifted {
            true => Shape::nullable(result),
            false => result,
        })
    }

    /// Records the operator of a compound assignment, or of `++` and `--`, that the target's type declares as an instance member; returns
    /// whether one applies.
    pub(super) fn assigning_operator(
        &mut self,
        name: &str,
        target: &Shape,
        values: &[&'f Expression],
        operands: &[&Shape],
        place: u32,
    ) -> bool {
        if self.is_outside(target) {
            return false;
        }
        let takes_operands = |one: &&Candidate<'a>| {
            let parameters = one.parameters();
            let becomes = |((_, parameter), operand): (&(Modifiers, Shape), &&Shape)| {
                !operand.is_known()
                    || self.conversion_rank(parameter, operand, &mut []).is_some()
                    || self.conversion(operand, parameter).is_some()
            };
            parameters.len() == operands.len() && parameters.iter().zip(operands).all(becomes)
        };
        let found = self.members_of(target, name);
        let fitting: Vec<&Candidate<'a>> = found.iter().filter(takes_operands).collect();
        let is_open = fitting.len() > 1;
        let Some(chosen) = fitting
            .into_iter()
            .max_by_key(|one| self.operator_fit(one, values, operands))
            .cloned()
        else {
            return false;
        };
        let are_known = operands.iter().all(|operand| operand.is_known());
        self.record_operator(&chosen, name, (values, operands), place, (are_known, is_open));
        true
    }

    /// Records the use of an operator, and the conversions of its operands. `is_open`: several operators take the lambdas among them.
    fn record_operator(
        &mut self,
        chosen: &Candidate<'a>,
        name: &str,
        (values, operands): (&[&'f Expression], &[&Shape]),
        place: u32,
        (is_certain, is_open): (bool, bool),
    ) {
        let arguments: Vec<Shape> = operands.iter().map(|operand| (*operand).clone()).collect();
        self.record_by_overflow(chosen, name, place, is_certain, call_of(&arguments, false));
        for ((value, operand), (_, parameter)) in values.iter().zip(operands).zip(chosen.parameters().into_owned()) {
            match is_lambda(value) {
                true => self.operand_lambda(value, &parameter, is_open),
                false => _ = self.note_conversion(value, operand, &parameter, true),
            }
        }
    }

    /// Records the use of an operator or a conversion. In a `checked` context, code calls the `checked` one with the same signature if the type
    /// declares it. Where the context is not known, it may call either.
    pub(super) fn record_by_overflow(&mut self, chosen: &Candidate<'a>, name: &str, place: u32, is_certain: bool, call: Call) {
        let checked = name.replacen("op_", "op_Checked", 1);
        let is_same = |one: &Candidate<'a>| one.parameters() == chosen.parameters() && one.result() == chosen.result();
        let has_checked = self.members_of(&chosen.owner, &checked).iter().any(is_same);
        let names = match self.is_checked {
            _ if !has_checked => vec![name],
            Some(true) => vec![checked.as_str()],
            Some(false) => vec![name],
            None => vec![name, checked.as_str()],
        };
        if has_checked {
            self.record_inferred(&chosen.owner);
        }
        let is_decided = names.len() == 1;
        for called in names {
            self.used(&chosen.owner, called, place, is_certain && is_decided, Some(call.clone()));
        }
    }

    /// Records the members that a loop calls on its source.
    pub(super) fn record_loop(&mut self, source: &Shape, awaited: bool, place: u32) {
        let names = match awaited {
            true => ["GetAsyncEnumerator", "MoveNextAsync", "Current", "DisposeAsync"],
            false => ["GetEnumerator", "MoveNext", "Current", "Dispose"],
        };
        let Some(walker) = self.implied(source, names[0], &[], place) else {
            if matches!(source, Shape::Unknown) {
                self.record_possible(names[1], place, Some(Call::default()));
                self.record_possible(names[2], place, None);
            }
            return;
        };
        if self.is_outside(&walker) {
            return;
        }
        self.implied(&walker, names[1], &[], place);
        self.implied(&walker, names[2], &[], place);
        if !self.members_of(&walker, names[3]).is_empty() {
            self.implied(&walker, names[3], &[], place);
        }
    }

    /// Returns the shape of an awaited value and records the members that `await` calls.
    pub(super) fn record_await(&mut self, shape: &Shape, place: u32) -> Shape {
        let has_own = || !self.world.lookup(shape, "GetAwaiter").is_empty() || !shape.key().is_some_and(|key| key.starts_with('~'));
        if self.is_outside(shape) && (has_own() || self.extensions(shape, "GetAwaiter", false).is_empty()) {
            return self.awaited(shape);
        }
        let Some(waiter) = self.implied(shape, "GetAwaiter", &[], place) else {
            if *shape == Shape::Unknown {
                self.record_possible("IsCompleted", place, None);
                self.record_possible("GetResult", place, Some(Call::default()));
            }
            return self.awaited(shape);
        };
        self.implied(&waiter, "IsCompleted", &[], place);
        self.implied(&waiter, "GetResult", &[], place).unwrap_or_default()
    }
}

/// Returns the type of an operand as an operator takes it: a lifted operator takes the underlying values of nullable operands.
fn lifted<'s>(parameter: &Shape, operand: &'s Shape) -> &'s Shape {
    if parameter.is_nullable() { operand } else { operand.without_null() }
}

/// Returns the facts about an implicit call by which a reader selects its overload.
pub(super) fn call_of(arguments: &[Shape], extension: bool) -> Call {
    Call {
        arguments: arguments.iter().map(known_type).collect(),
        extension,
        ..Call::default()
    }
}

/// Returns the name of the operator with this sign and number of operands.
pub fn operator_of(sign: &str, operands: usize) -> Option<&'static str> {
    match sign {
        "true" => Some("op_True"),
        "false" => Some("op_False"),
        _ if operands == 1 => unary_name(sign),
        _ => binary_name(sign),
    }
}

/// Returns the name of the binary operator with this sign.
pub(super) fn binary_name(sign: &str) -> Option<&'static str> {
    Some(match sign {
        "+" => "op_Addition",
        "-" => "op_Subtraction",
        "*" => "op_Multiply",
        "/" => "op_Division",
        "%" => "op_Modulus",
        "&" => "op_BitwiseAnd",
        "|" => "op_BitwiseOr",
        "^" => "op_ExclusiveOr",
        "==" => "op_Equality",
        "!=" => "op_Inequality",
        "<" => "op_LessThan",
        ">" => "op_GreaterThan",
        "<=" => "op_LessThanOrEqual",
        ">=" => "op_GreaterThanOrEqual",
        "<<" => "op_LeftShift",
        ">>" => "op_RightShift",
        ">>>" => "op_UnsignedRightShift",
        _ => return None,
    })
}

/// Returns the name of the unary operator with this sign.
pub(super) fn unary_name(sign: &str) -> Option<&'static str> {
    Some(match sign {
        "+" => "op_UnaryPlus",
        "-" => "op_UnaryNegation",
        "!" => "op_LogicalNot",
        "~" => "op_OnesComplement",
        "++" => "op_Increment",
        "--" => "op_Decrement",
        _ => return None,
    })
}

/// Returns the name of the operator that a compound assignment prefers to the binary operator of the sign.
pub(super) fn assignment_name(sign: &str) -> Option<&'static str> {
    Some(match sign {
        "+=" => "op_AdditionAssignment",
        "-=" => "op_SubtractionAssignment",
        "*=" => "op_MultiplicationAssignment",
        "/=" => "op_DivisionAssignment",
        "%=" => "op_ModulusAssignment",
        "&=" => "op_BitwiseAndAssignment",
        "|=" => "op_BitwiseOrAssignment",
        "^=" => "op_ExclusiveOrAssignment",
        "<<=" => "op_LeftShiftAssignment",
        ">>=" => "op_RightShiftAssignment",
        ">>>=" => "op_UnsignedRightShiftAssignment",
        _ => return None,
    })
}

fn is_lambda(value: &Expression) -> bool {
    matches!(value, Expression::Lambda(..))
}
