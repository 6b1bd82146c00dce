//! Overloads among which the arguments do not decide. Collects, for each overload, the uses in lambdas and other arguments without a type
//! of their own.
//!
//! A lambda is bound with the parameter types of each overload (C# specification, Anonymous function conversions). An overload is not
//! applicable if the lambda's body then names a member that does not exist. Uses on which the remaining overloads disagree are possible, not
//! certain.

use super::candidate_rules::{are_known, certainly_takes};
use super::deferred::{is_deferred, known_or_self};
use super::overload_resolution::{Bindings, Chosen, NOT_CALLABLE};
use super::{Flow, NO_MEMBER, NOTHING, UNKNOWN, Use, UsesFound};
use crate::code::ast::{Argument, Expression};
use crate::deps::shape::Shape;
use crate::deps::world::Candidate;
use rustc_hash::FxHashSet;

/// Maximum number of distinct lists of target types with which the arguments of one call are bound.
const MOST_BOUND: usize = 5;

/// Maximum depth of nested trials in which overloads are bound.
const MOST_TRIALS: u32 = 2;

/// The receiver and the arguments of a call.
#[derive(Clone, Copy)]
pub(super) struct Given<'g, 'f> {
    /// The receiver of an extension method.
    pub(super) receiver: Option<&'g Shape>,
    pub(super) explicit: &'g [Shape],
    pub(super) args: &'f [Argument],
    /// The types of the arguments that have one of their own.
    pub(super) shapes: &'g [Option<Shape>],
}

/// Overloads to which a call may bind instead of the chosen one.
#[derive(Default)]
pub(super) struct Rivals {
    /// Parameter types of each overload; unknown where the chosen one has the same type.
    parameters: Vec<Vec<Shape>>,
    /// Uses in the arguments without a type of their own, for each list of target types that may differ from that of the chosen overload.
    uses: Vec<Vec<Use>>,
    /// Whether the arguments were not bound with some of those target types.
    are_unbound: bool,
    /// Whether some overload that fits as well returns another type than the chosen one.
    pub(super) is_result_open: bool,
}

/// Arguments without a type of their own, bound with the parameters of an overload.
#[derive(Default)]
struct Bound {
    uses: Vec<Use>,
    faults: Faults,
}

/// Errors that the compiler would report for code.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Faults {
    /// None: all names bind.
    #[default]
    Nothing,
    /// A member may be missing: its type is not known, or a package may declare it as an extension method.
    Likely,
    /// A member is missing, or a value does not convert to its target.
    Certain,
}

impl<'f, 'a> Flow<'f, 'a> {
    /// Returns the overload to which the call binds as far as the arguments decide, and those to which it may bind instead. Removes candidates
    /// that are not applicable from `all`.
    pub(super) fn rivals(&mut self, chosen: Chosen<'a>, all: &mut Vec<Candidate<'a>>, given: Given<'_, 'f>) -> (Chosen<'a>, Rivals) {
        let waits = given.args.iter().any(|arg| is_deferred(&arg.value));
        let is_converted = self.found.uses.is_some() && !given.shapes.is_empty();
        if all.len() < 2 || !waits && !is_converted {
            return (chosen, Rivals::default());
        }
        let is_sure = given.receiver.is_none() && are_known(given.args, given.shapes) && certainly_takes(&chosen, given.shapes);
        let is_open = |other: &Chosen<'a>| {
            other.score > NOT_CALLABLE
                && !(is_sure && self.hides(&chosen.candidate, &other.candidate, all))
                && !differing(&chosen, other).is_empty()
                && self.preferred(&chosen, other, given.receiver, (given.args, given.shapes)) != Some(true)
        };
        let others = all
            .iter()
            .filter_map(|one| self.choose(vec![one.clone()], given.receiver, given.explicit, given.args, given.shapes));
        let open: Vec<Chosen<'a>> = others.filter(is_open).collect();
        let is_bound = waits && chosen.score > NOT_CALLABLE && !open.is_empty();
        let overloads: Vec<Chosen<'a>> = std::iter::once(chosen).chain(open).collect();
        let (mut overloads, mut rivals) = match is_bound {
            true => self.bind_with_each(overloads, all, given),
            false => (overloads, Rivals::default()),
        };
        let chosen = overloads.remove(0);
        let result = |of: &Chosen<'a>| of.candidate.result().substitute(&[], &known_or_self(&of.bindings));
        let is_open = !rivals.uses.is_empty() || rivals.are_unbound;
        let is_equal = |other: &Chosen<'a>| is_open || !waits && other.score >= chosen.score;
        rivals.is_result_open = overloads.iter().any(|other| is_equal(other) && result(other) != result(&chosen));
        rivals.parameters = overloads.iter().map(|other| differing(&chosen, other)).collect();
        (chosen, rivals)
    }

    /// Binds the arguments without a type of their own with each overload. Returns the overloads to which the call may bind, the best one first.
    fn bind_with_each(
        &mut self,
        all_open: Vec<Chosen<'a>>,
        all: &mut Vec<Candidate<'a>>,
        given: Given<'_, 'f>,
    ) -> (Vec<Chosen<'a>>, Rivals) {
        let mut by_target: Vec<(Vec<Vec<Shape>>, Bound)> = Vec::new();
        let mut overloads: Vec<(Chosen<'a>, usize)> = Vec::new();
        for one in all_open {
            let targets = self.targets(&one, given.args);
            // Types that are still open depend on the overload.
            let is_open = targets
                .iter()
                .flatten()
                .any(|shape| (0..).zip(&one.bindings).any(|(at, _)| shape.has_parameter(at)));
            let known = by_target.iter().position(|(known, _)| !is_open && *known == targets);
            let at = known.unwrap_or(by_target.len());
            if at == by_target.len() {
                by_target.push((targets, Bound::default()));
            }
            overloads.push((one, at));
        }
        let mut rivals = Rivals::default();
        // The number of times that a nested lambda is bound multiplies with each trial around it.
        if by_target.len() == 1 || self.trials >= MOST_TRIALS || by_target.len() > MOST_BOUND {
            rivals.are_unbound = by_target.len() > 1;
            return (overloads.into_iter().map(|(one, _)| one).collect(), rivals);
        }
        for (at, (_, bound)) in by_target.iter_mut().enumerate() {
            if let Some((one, _)) = overloads.iter().find(|(_, of)| *of == at) {
                *bound = self.bound(&one.parameters, one.bindings.clone(), given.args);
            }
        }
        // In code that compiles, the call binds to exactly one overload. If some have no fault, those with faults are not applicable. If all have
        // faults, none is excluded: generated code may declare the missing member.
        if by_target.iter().any(|(_, bound)| bound.faults == Faults::Nothing) {
            let applies = |(_, at): &(Chosen<'a>, usize)| by_target[*at].1.faults == Faults::Nothing;
            let is_same = |of: &Candidate<'a>, one: &Candidate<'a>| of.owner == one.owner && of.parameters() == one.parameters();
            all.retain(|one| !overloads.iter().any(|of| !applies(of) && is_same(&of.0.candidate, one)));
            let is_first = overloads.first().is_some_and(applies);
            overloads.retain(applies);
            if !is_first {
                overloads.sort_by_key(|(one, _)| std::cmp::Reverse(one.score));
            }
            // If an overload of the type itself is applicable, those of its bases are not considered.
            let is_known = given.shapes.iter().flatten().all(Shape::is_known);
            if let [(first, _), ..] = overloads.as_slice()
                && given.receiver.is_none()
                && is_known
            {
                let (first, declared) = (first.candidate.clone(), all.clone());
                overloads.retain(|(one, _)| !self.hides(&first, &one.candidate, &declared));
                all.retain(|one| !self.hides(&first, one, &declared));
            }
        }
        let own = overloads.first().map(|(_, at)| *at);
        let is_rival = |at: usize| Some(at) != own && overloads.iter().any(|(_, of)| *of == at);
        let uses = by_target.into_iter().enumerate().filter(|(at, _)| is_rival(*at));
        rivals.uses = uses.map(|(_, (_, bound))| bound.uses).collect();
        (overloads.into_iter().map(|(one, _)| one).collect(), rivals)
    }

    /// Returns the targets of the arguments without a type of their own: for a lambda, the parameter types of its delegate.
    fn targets(&self, of: &Chosen<'a>, args: &[Argument]) -> Vec<Vec<Shape>> {
        let target = |(arg, parameter): (&Argument, &Shape)| {
            let shape = parameter.substitute(&[], &known_or_self(&of.bindings));
            match &arg.value {
                Expression::Lambda(..) => self.world.delegate(&shape).map_or_else(Vec::new, |(parameters, _)| parameters),
                Expression::Declaration(..) => Vec::new(),
                value if is_deferred(value) => vec![shape],
                _ => Vec::new(),
            }
        };
        args.iter().zip(&of.parameters).map(target).collect()
    }

    /// Binds the arguments without a type of their own with these parameters, on trial.
    fn bound(&mut self, parameters: &[Shape], mut bindings: Bindings, args: &'f [Argument]) -> Bound {
        let mut found = UsesFound {
            uses: Some(Vec::new()),
            ..UsesFound::default()
        };
        let (locals, groups) = (self.locals.len(), self.tried_groups.len());
        let before = std::mem::take(&mut self.faults);
        self.on_trial(&mut found, |flow| flow.deferred(parameters, &mut bindings, args));
        self.locals.truncate(locals);
        for key in self.tried_groups.drain(groups..) {
            self.groups.remove(&key);
        }
        Bound {
            uses: found.uses.unwrap_or_default(),
            faults: std::mem::replace(&mut self.faults, before),
        }
    }

    /// Whether a candidate may take the arguments without a type of their own: their code has no certain fault with its parameters.
    pub(super) fn may_take_deferred(&mut self, chosen: &Chosen<'a>, args: &'f [Argument]) -> bool {
        let is_tried = self.trials < MOST_TRIALS && args.iter().any(|arg| is_deferred(&arg.value));
        !is_tried || self.bound(&chosen.parameters, chosen.bindings.clone(), args).faults != Faults::Certain
    }

    /// Whether code of a lambda among the arguments seems not to compile with the parameters of a candidate.
    pub(super) fn has_faults(&mut self, chosen: &Chosen<'a>, args: &'f [Argument]) -> bool {
        let is_tried = self.trials < MOST_TRIALS && args.iter().any(|arg| matches!(arg.value, Expression::Lambda(..)));
        is_tried && self.bound(&chosen.parameters, chosen.bindings.clone(), args).faults != Faults::Nothing
    }

    /// Binds a lambda that is an operand. `are_unbound`: several operators take it.
    pub(super) fn operand_lambda(&mut self, lambda: &'f Expression, parameter: &Shape, are_unbound: bool) {
        let from = self.uses();
        self.in_doubt(|flow| flow.lambda(lambda, parameter));
        self.note_rivals(
            from,
            &mut Rivals {
                are_unbound,
                ..Rivals::default()
            },
        );
    }

    /// Records a fault of the present trial.
    pub(super) fn fault(&mut self, fault: Faults) {
        self.faults = self.faults.max(fault);
    }

    /// Binds code whose types are not certain: none of its faults is certain either.
    pub(super) fn in_doubt<R>(&mut self, code: impl FnOnce(&mut Self) -> R) -> R {
        let before = std::mem::take(&mut self.faults);
        let given = code(self);
        self.faults = self.faults.min(Faults::Likely).max(before);
        given
    }

    /// Binds the remaining arguments and records the conversions of all arguments to the parameters of the chosen overload. `is_sure`: whether
    /// the call certainly binds to it.
    pub(super) fn convert(
        &mut self,
        args: &'f [Argument],
        shapes: &[Option<Shape>],
        (parameters, bindings): (&[Shape], &mut Bindings),
        mut rivals: Rivals,
        is_sure: bool,
    ) {
        let from = self.uses();
        match rivals.uses.is_empty() && !rivals.are_unbound {
            true => self.deferred(parameters, bindings, args),
            false => self.in_doubt(|flow| {
                flow.fault(Faults::Likely);
                flow.deferred(parameters, bindings, args);
            }),
        }
        self.note_rivals(from, &mut rivals);
        self.note_conversions(args, shapes, parameters, bindings, is_sure);
        for parameters in &rivals.parameters {
            self.note_conversions(args, shapes, parameters, &[], false);
        }
    }

    /// Adds the uses in the arguments for rivals to those for the chosen overload, which follow the first `from` uses. Uses on which not
    /// all overloads agree are possible.
    fn note_rivals(&mut self, from: usize, rivals: &mut Rivals) {
        if rivals.uses.is_empty() && !rivals.are_unbound {
            return;
        }
        let Some(uses) = self.found.uses.as_mut() else { return };
        let key = |used: &Use| (used.place, used.owner.clone(), used.member.clone());
        let mut own = uses.split_off(from);
        for others in &rivals.uses {
            let theirs: FxHashSet<_> = others.iter().map(key).collect();
            own.iter_mut().for_each(|used| used.certain &= theirs.contains(&key(used)));
        }
        let mut known: FxHashSet<_> = own.iter().map(key).collect();
        for other in rivals.uses.drain(..).flatten() {
            if known.insert(key(&other)) {
                own.push(Use { certain: false, ..other });
            }
        }
        if rivals.are_unbound {
            own.iter_mut().for_each(|used| used.certain = false);
            let is_member = |used: &&Use| used.member.as_ref().is_some_and(|name| !name.is_empty());
            let guesses = own.iter().filter(is_member).map(|used| Use {
                owner: UNKNOWN.into(),
                ..used.clone()
            });
            let guesses: Vec<Use> = guesses.filter(|guess| known.insert(key(guess))).collect();
            own.extend(guesses);
        }
        // A name that is left without a use counts as undecided.
        let is_settled = |used: &Use| used.certain || *used.owner != *NO_MEMBER && !used.owner.starts_with(NOTHING);
        own.retain(is_settled);
        uses.append(&mut own);
    }
}

/// Returns the parameter types of an overload where they differ from those of the chosen one, and unknown elsewhere; empty if none differs.
fn differing(chosen: &Chosen<'_>, other: &Chosen<'_>) -> Vec<Shape> {
    let pairs = other.parameter_types().into_iter().zip(chosen.parameter_types());
    let pairs: Vec<Shape> = pairs
        .map(|(other, own)| if other == own { Shape::Unknown } else { other })
        .collect();
    if pairs.iter().any(Shape::is_known) { pairs } else { Vec::new() }
}
