//! Operators and assignments.

use super::numbers::{Constancy, arithmetic, numeric, signed, wider};
use super::value::pointed;
use super::{CONSTRUCTOR, Flow, UseKind, unnamed_calls};
use crate::code::ast::{Designation, Expression, Link, Literal, Name, Operator, Word};
use crate::deps::resolve::{Meaning, predefined};
use crate::deps::shape::Shape;
use crate::deps::world::Candidate;
use crate::mention_model::Place;
use std::rc::Rc;

/// The elements of a tuple, each with its name if it has one.
type TupleParts = [(Option<Rc<str>>, Shape)];

impl<'f> Flow<'f, '_> {
    pub(super) fn operation(&mut self, class: Operator, operands: &'f [Expression], signs: &[Word], target: Option<&Shape>) -> Shape {
        let mut first = Shape::Unknown;
        let mut own = None;
        // Type of everything left of the next sign.
        let mut left = Shape::Unknown;
        for (at, operand) in operands.iter().enumerate() {
            let hint = if class == Operator::Coalesce && first.is_known() {
                Some(first.clone())
            } else {
                target.cloned()
            };
            let shape = self.value(operand, hint.as_ref());
            let before = std::mem::replace(&mut left, shape.clone());
            if let Some(sign) = at.checked_sub(1).and_then(|before| signs.get(before)) {
                let sides = [&operands[..at], std::slice::from_ref(operand)];
                left = self.binary(class, sign, sides, &before, &shape, (&own, &first));
            }
            if own.is_none() && is_own(&shape) {
                own = Some(shape.clone());
            }
            first = match class {
                Operator::Coalesce if first.is_known() && !self.note_conversion(operand, &shape, &first, true) => {
                    self.coalesced(&first, &shape, operand)
                }
                _ if first.is_known() => first,
                _ => shape,
            };
        }
        match class {
            Operator::Truth => left,
            Operator::Coalesce => first,
            Operator::Arithmetic if !signs.is_empty() => left,
            Operator::Arithmetic => own.unwrap_or(first),
            Operator::Range => Shape::of_key("~System.Range"),
        }
    }

    /// Returns the type of `one ?? other` (C# specification, The null coalescing operator). `value`: the other one's expression.
    fn coalesced(&self, one: &Shape, other: &Shape, value: &Expression) -> Shape {
        let plain = one.without_null();
        let becomes = |from: &Shape, to: &Shape| from == to || self.becomes(from, to) == Some(true);
        let is_constant = || other.key().is_some_and(numeric) && plain.key().is_some_and(numeric) && !self.is_variable(value);
        let becomes_plain = || becomes(other, plain) || is_constant() && !self.narrows(value, other, plain);
        match other {
            Shape::Null if !matches!(value, Expression::Literal(Literal::Default, _)) => one.clone(),
            Shape::Null | Shape::Unknown => plain.clone(),
            other if becomes_plain() => match other.is_nullable() {
                true => other.clone(),
                false => plain.clone(),
            },
            other if becomes(other, one) => one.clone(),
            other if becomes(plain, other) => other.clone(),
            _ => plain.clone(),
        }
    }

    /// Returns the shape of an operator's result. `all`: the operands before the sign, and the one after it. `known` contains, of the operands so far, the first whose type is of the workspace (or
    /// `string`), and the first whose type is known.
    fn binary(
        &mut self,
        class: Operator,
        sign: &Word,
        all: [&'f [Expression]; 2],
        left: &Shape,
        right: &Shape,
        known: (&Option<Shape>, &Shape),
    ) -> Shape {
        let sides = all.map(|side| &side[0]);
        let given = unnamed_calls::binary_name(&sign.text).and_then(|name| self.operator(name, &sides, &[left, right], sign.place));
        let short = short_circuit_operator(&sign.text);
        if let (Shape::Tuple(one), Shape::Tuple(other), "==" | "!=") = (left, right, sign.text.as_str()) {
            self.compare_tuples(sides, one, other, sign);
        }
        let given = given.or_else(|| {
            let name = short.filter(|_| left.key().is_some_and(|key| !key.starts_with(['~', '^'])))?;
            let given = self.operator(name, &sides, &[left, right], sign.place)?;
            self.note_truth_test(&sign.text, left, sign.place);
            Some(given)
        });
        if given.is_none() && short.is_some() {
            self.note_conversion(sides[0], left, &predefined("bool"), true);
            self.note_conversion(sides[1], right, &predefined("bool"), true);
        } else if given.is_none() && sign.text == "+" && (is_text(left) || is_text(right)) {
            // A string plus any value is a string.
            _ = self.note_conversion(sides[0], left, &predefined("string"), true)
                || self.note_conversion(sides[1], right, &predefined("string"), true);
            return predefined("string");
        } else if given.is_none() && self.may_compare_either(&sign.text, left, right) {
            self.note_conversion(sides[0], left, right, false);
            self.note_conversion(sides[1], right, left, false);
        } else if given.is_none() && class != Operator::Coalesce && class != Operator::Range {
            // An operator of the language or of .NET may convert one operand to the type of the other. Try the operand of a workspace type
            // first.
            let order = if self.is_outside(left) { [1, 0] } else { [0, 1] };
            let pair = |at: usize| if at == 0 { (left, right) } else { (right, left) };
            let taken = order.into_iter().find_map(|at| {
                let (from, to) = pair(at);
                // The language widens the other operand if this one converts only to a wider numeric type, and lifts it if this one
                // converts only to a nullable type.
                let lifted = (!to.is_nullable() && to.key().is_some_and(numeric)).then(|| Shape::nullable(to.clone()));
                let mut targets = std::iter::once(to.clone()).chain(wider(to)).chain(lifted);
                targets.find(|to| self.note_conversion(sides[at], from, to, true))
            });
            let taken = match taken {
                None => {
                    let noted = self.note_predefined(&sign.text, sides, [left, right]);
                    noted.or_else(|| self.note_text(&sign.text, sides, [left, right]))
                }
                taken => taken,
            };
            if let Some(to) = taken.filter(|to| class == Operator::Arithmetic && self.is_outside(to)) {
                return arithmetic(&sign.text, [(&to, Constancy::Open); 2]).unwrap_or(to);
            }
        }
        match (class, given) {
            (_, Some(given)) => given,
            (Operator::Truth, None) => predefined("bool"),
            // The result of an operator with an unknown operand is not known; a shift returns the type of its left operand.
            (Operator::Arithmetic, None) if !left.is_known() || !right.is_known() => match sign.text.as_str() {
                "<<" | ">>" | ">>>" => signed("~", left),
                _ => Shape::Unknown,
            },
            (_, None) => {
                let (own, first) = known;
                let result = self.arithmetic_of(&sign.text, [(left, all[0]), (right, all[1])]);
                let result = result.or_else(|| self.enum_arithmetic(&sign.text, left, right));
                if let Some(result) = result.or_else(|| self.outside_operator(&sign.text, left, right)) {
                    return result;
                }
                // A lifted operator of `bool`.
                if right.is_nullable() && right.without_null() == left {
                    return right.clone();
                }
                let own = own.clone().or_else(|| is_own(right).then(|| right.clone()));
                own.unwrap_or_else(|| if first.is_known() { first.clone() } else { right.clone() })
            }
        }
    }

    /// Records the conversions of operands to `string`, to which the language adds any value.
    fn note_text(&mut self, sign: &str, sides: [&'f Expression; 2], shapes: [&Shape; 2]) -> Option<Shape> {
        let is_open = |shape: &&Shape| !shape.is_known() || shape.key().is_some_and(|key| key.starts_with('^'));
        if sign != "+" || shapes.iter().any(is_open) {
            return None;
        }
        let text = predefined("string");
        let noted = [0, 1].map(|at| self.note_conversion(sides[at], shapes[at], &text, true));
        noted.contains(&true).then_some(text)
    }

    /// Records the operator that tests the left operand first: `&&` stops if it is false, `||` if it is true.
    fn note_truth_test(&mut self, sign: &str, left: &Shape, place: u32) {
        let name = if sign == "&&" { "op_False" } else { "op_True" };
        let owner = self.members_of(left.without_null(), name).first().map(|one| one.owner.clone());
        if let Some(owner) = owner {
            self.used(
                &owner,
                name,
                place,
                true,
                Some(unnamed_calls::call_of(std::slice::from_ref(left), false)),
            );
        }
    }

    /// Whether `==` may compare two values as either of their types. Each must convert to the other, and one must be a struct, to which the
    /// compiler may add the operator (record structs).
    fn may_compare_either(&self, sign: &str, left: &Shape, right: &Shape) -> bool {
        let is_struct = |shape: &Shape| self.is_value_type(shape.without_null());
        let is_equality = matches!(sign, "==" | "!=") && (is_struct(left) || is_struct(right));
        is_equality && self.conversion(left, right).is_some() && self.conversion(right, left).is_some()
    }

    /// Records the conversions of two values of the workspace's types to one type that an operator of the language takes; returns that type, with
    /// `?` if an operand has it.
    fn note_predefined(&mut self, sign: &str, sides: [&Expression; 2], values: [&Shape; 2]) -> Option<Shape> {
        const NUMBERS: [&str; 7] = ["int", "uint", "long", "ulong", "float", "double", "decimal"];
        let taken: Vec<&str> = match sign {
            "&" | "|" | "^" => [&NUMBERS[..4], &["bool"]].concat(),
            "==" | "!=" => [&NUMBERS[..], &["bool", "string"]].concat(),
            "+" | "-" | "*" | "/" | "%" | "<" | ">" | "<=" | ">=" => NUMBERS.to_vec(),
            _ => return None,
        };
        let is_equality = matches!(sign, "==" | "!=");
        let has_conversions = |shape: &&Shape| {
            let shape = shape.without_null();
            // The language compares two objects by reference.
            let is_compared = is_equality && self.world.kind(shape.key().unwrap_or_default()) != 's';
            is_own(shape) && !is_text(shape) && !is_compared
        };
        if !values.iter().all(has_conversions) {
            return None;
        }
        let is_reached = |to: &Shape| values.iter().all(|from| self.conversion(from, to).is_some());
        // The language lifts its operators to nullable operands, except those of `string`.
        let with_lifted = |name: &str| {
            let plain = predefined(name);
            let lifted = (!is_text(&plain)).then(|| Shape::nullable(plain.clone()));
            std::iter::once(plain).chain(lifted)
        };
        let to = taken.into_iter().flat_map(with_lifted).find(is_reached)?;
        for (side, from) in sides.into_iter().zip(values) {
            self.note_conversion(side, from, &to, true);
        }
        let is_lifted = values.iter().any(|from| from.is_nullable()) && !to.is_nullable() && !is_text(&to);
        Some(if is_lifted { Shape::nullable(to) } else { to })
    }

    /// Returns the result of an operator that a type of .NET declares, unless the type is numeric.
    fn outside_operator(&self, sign: &str, left: &Shape, right: &Shape) -> Option<Shape> {
        let name = unnamed_calls::binary_name(sign)?;
        let is_declared = |side: &&&Shape| side.key().is_some_and(|key| key.starts_with('~') && !numeric(key));
        let found = [left, right]
            .iter()
            .filter(is_declared)
            .flat_map(|side| self.world.lookup(side, name))
            .collect::<Vec<_>>();
        let rank = |one: &Candidate<'_>| -> Option<u32> {
            let parameters = one.parameters();
            let [(_, first), (_, second)] = &*parameters else {
                return None;
            };
            Some(self.conversion_rank(first, left.without_null(), &mut [])? + self.conversion_rank(second, right.without_null(), &mut [])?)
        };
        let best = found.iter().filter_map(|one| Some((rank(one)?, one))).max_by_key(|(rank, _)| *rank);
        best.map(|(_, one)| one.result())
    }

    /// Records the operators and conversions that compare two tuples, part by part.
    fn compare_tuples(&mut self, sides: [&'f Expression; 2], one: &TupleParts, other: &TupleParts, sign: &Word) {
        for (at, ((_, left), (_, right))) in one.iter().zip(other).enumerate() {
            let parts = sides.map(|side| match side {
                Expression::Tuple(parts) => parts.get(at).map(|part| &part.value),
                _ => None,
            });
            match (parts, left, right) {
                ([Some(first), Some(second)], Shape::Tuple(one), Shape::Tuple(other)) => {
                    self.compare_tuples([first, second], one, other, sign);
                }
                ([Some(first), Some(second)], ..) => {
                    let sides = [first, second].map(std::slice::from_ref);
                    self.binary(Operator::Truth, sign, sides, left, right, (&None, left));
                }
                _ => {
                    let name = unnamed_calls::binary_name(&sign.text);
                    let given = name.and_then(|name| self.operator(name, &[], &[left, right], sign.place));
                    if given.is_none() {
                        _ = self.note_conversion_at(sign.place, left, right, true)
                            || self.note_conversion_at(sign.place, right, left, true);
                    }
                }
            }
        }
    }

    /// Binds a unary operator; returns the type of its result.
    pub(super) fn unary(&mut self, sign: &Word, inner: &'f Expression, target: Option<&Shape>) -> Shape {
        if matches!(sign.text.as_str(), "checked" | "unchecked") {
            let outer = self.is_checked.replace(sign.text == "checked");
            let shape = self.value(inner, target);
            self.is_checked = outer;
            return shape;
        }
        let changes = matches!(sign.text.as_str(), "++" | "--");
        let shape = match changes {
            true => self.assigned(inner, None),
            false => self.value(inner, target.filter(|_| sign.text != "!")),
        };
        let assigns = match sign.text.as_str() {
            "++" => Some("op_IncrementAssignment"),
            "--" => Some("op_DecrementAssignment"),
            _ => None,
        };
        if assigns.is_some_and(|name| self.assigning_operator(name, &shape, &[], &[], sign.place)) {
            return shape;
        }
        let given = unnamed_calls::unary_name(&sign.text).and_then(|name| self.operator(name, &[inner], &[&shape], sign.place));
        match given {
            Some(given) => given,
            None if sign.text == "*" => pointed(shape),
            None if sign.text == "^" => {
                self.note_index(sign.place);
                shape
            }
            None if sign.text == "sizeof" => predefined("int"),
            None if sign.text == "!" => {
                self.note_conversion(inner, &shape, &predefined("bool"), true);
                predefined("bool")
            }
            None => signed(&sign.text, &shape),
        }
    }

    /// Records the constructor of the workspace's own `System.Index`, if the name binds to such a type.
    fn note_index(&mut self, place: u32) {
        let names = ["global", "System", "Index"].map(|text| {
            let word = Word {
                text: text.to_owned(),
                place,
            };
            Name { word, args: Vec::new() }
        });
        if let Meaning::Type(key, _) = self.resolver.meaning(&names, 0, Place::Body) {
            let arguments = [predefined("int"), predefined("bool")];
            let call = unnamed_calls::call_of(&arguments, false);
            self.used(&Shape::of_key(&key), CONSTRUCTOR, place, true, Some(call));
        }
    }

    pub(super) fn assignment(&mut self, left: &'f Expression, right: &'f Expression, sign: &Word) -> Shape {
        match left {
            Expression::Declaration(_, Designation::Tuple(names)) => {
                let shape = self.value(right, None);
                self.split(&shape, names, sign.place);
                self.value(left, Some(&shape));
                shape
            }
            Expression::Tuple(parts) => {
                let shape = self.value(right, None);
                let shapes = self.deconstructed(&shape, parts.len(), sign.place);
                self.assign_parts(parts, &shapes, Some(right), sign.place);
                shape
            }
            _ => {
                let target = self.assigned(left, None);
                let is_operand =
                    matches!(right, Expression::Lambda(..)) && self.is_closed(&target) && self.world.delegate(&target).is_none();
                let shape = match sign.text.as_str() {
                    "=" | "??=" => self.converted(right, &target),
                    // The parameter of the operator gives the lambda its type.
                    _ if is_operand => Shape::Unknown,
                    _ => self.value(right, Some(&target)),
                };
                let assigns = unnamed_calls::assignment_name(&sign.text);
                let is_compound = assigns.is_some_and(|name| self.assigning_operator(name, &target, &[right], &[&shape], sign.place));
                let extended = assigns.filter(|_| !is_compound);
                let extended = extended.and_then(|name| self.extension_operator(name, &[&target, &shape], sign.place));
                match is_compound || extended.is_some() {
                    true => {}
                    false => {
                        let name = sign.text.strip_suffix('=').and_then(unnamed_calls::binary_name);
                        let given = name.and_then(|name| self.operator(name, &[left, right], &[&target, &shape], sign.place));
                        match given {
                            None if is_operand => _ = self.value(right, None),
                            None if name.is_some() => _ = self.note_conversion(right, &shape, &target, true),
                            _ => {}
                        }
                    }
                }
                match sign.text.as_str() {
                    "??=" if target.is_known() => self.coalesced(&target, &shape, right),
                    _ if target.is_known() => target,
                    _ => shape,
                }
            }
        }
    }

    /// Binds the left side of an assignment, and records its use as a write; returns its type.
    pub(super) fn assigned(&mut self, left: &'f Expression, target: Option<&Shape>) -> Shape {
        let from = self.uses();
        let shape = self.value(left, target);
        let last = match left {
            Expression::Name(name) => Some(name.word.place),
            Expression::Chain(_, links) => match links.last() {
                Some(Link::Member(name)) => Some(name.word.place),
                Some(Link::Index(_, place)) => Some(*place),
                _ => None,
            },
            _ => None,
        };
        if let Some(place) = last {
            self.set_use_kind(UseKind::Write, from, Some(place));
        }
        shape
    }

    /// Returns the type of a task's result; other types stay as they are.
    pub(super) fn awaited(&self, shape: &Shape) -> Shape {
        match shape {
            Shape::Named(key, args) if is_task(key) => match args.first() {
                Some(inner) => inner.clone(),
                None => Shape::Unknown,
            },
            other => other.clone(),
        }
    }
}

/// Returns the operator that `a && b` or `a || b` calls for a type with user-defined operators.
fn short_circuit_operator(sign: &str) -> Option<&'static str> {
    match sign {
        "&&" => Some("op_BitwiseAnd"),
        "||" => Some("op_BitwiseOr"),
        _ => None,
    }
}

/// Whether an operand's type is the result of an operator that nothing declares: a type of the workspace, or `string`.
fn is_own(shape: &Shape) -> bool {
    shape.key().is_some_and(|key| !key.starts_with(['~', '^']) || is_text(shape))
}

fn is_text(shape: &Shape) -> bool {
    shape.key() == Some("~System.String")
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
