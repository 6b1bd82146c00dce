//! Overloads that the arguments leave open, and what lambdas and other arguments without a type of their own use with each of them.
//!
//! A lambda is bound with the parameter types of each overload (C# specification, Anonymous function conversions): an overload with which its
//! body names a member that does not exist is not applicable. What the overloads that remain disagree on is possible, not certain.

use super::call::{Bindings, Chosen, NOT_CALLABLE};
use super::deferred::{is_deferred, known_or_self};
use super::{Flow, NO_MEMBER, NOTHING, UNKNOWN, Use, UsesFound};
use crate::csharp::code::ast::{Argument, Expression};
use crate::csharp::deps::shape::Shape;
use crate::csharp::deps::world::Candidate;
use rustc_hash::FxHashSet;

/// Most overloads that the arguments of one call are bound with.
const MOST_BOUND: usize = 5;

/// Most trials, each within another, in which overloads are bound.
const MOST_TRIALS: u32 = 2;

/// What a call is given.
#[derive(Clone, Copy)]
pub(super) struct Given<'g, 'f> {
    /// What an extension method is called on.
    pub(super) receiver: Option<&'g Shape>,
    /// The type arguments that are written.
    pub(super) explicit: &'g [Shape],
    pub(super) args: &'f [Argument],
    /// The types of those arguments that have one of their own.
    pub(super) shapes: &'g [Option<Shape>],
}

/// Overloads that a call may mean beside the chosen one.
#[derive(Default)]
pub(super) struct Rivals {
    /// What each takes; unknown where that is what the chosen one takes.
    parameters: Vec<Vec<Shape>>,
    /// What the arguments without a type of their own use with those that give them other types than the chosen one.
    uses: Vec<Vec<Use>>,
    /// Whether some of those were not bound.
    are_unbound: bool,
    /// Whether those give values of other types than the chosen one.
    pub(super) is_result_open: bool,
}

/// Arguments without a type of their own as an overload takes them.
#[derive(Default)]
struct Bound {
    /// What they use.
    uses: Vec<Use>,
    faults: Faults,
}

/// What the compiler would say of code.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Faults {
    /// Nothing: all of its names are known.
    #[default]
    Nothing,
    /// A member may be missing: of a type that is not known, or a method that a package may declare as an extension.
    Likely,
    /// A member is missing, or a value has another type.
    Certain,
}

impl<'f, 'a> Flow<'f, 'a> {
    /// The overload that is meant, as far as the arguments decide, and those that it may be as well. Candidates that are not applicable are
    /// removed from `all`.
    pub(super) fn rivals(&mut self, chosen: Chosen<'a>, all: &mut Vec<Candidate<'a>>, given: Given<'_, 'f>) -> (Chosen<'a>, Rivals) {
        let waits = given.args.iter().any(|arg| is_deferred(&arg.value));
        let is_converted = self.found.uses.is_some() && given.shapes.iter().flatten().any(Shape::is_known);
        if all.len() < 2 || !waits && !is_converted {
            return (chosen, Rivals::default());
        }
        let is_open = |other: &Chosen<'a>| {
            other.score > NOT_CALLABLE
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
        rivals.is_result_open = is_open && overloads.iter().any(|other| result(other) != result(&chosen));
        rivals.parameters = overloads.iter().map(|other| differing(&chosen, other)).collect();
        (chosen, rivals)
    }

    /// Binds the arguments without a type of their own with each of the overloads, the best of which stands first, and returns those that
    /// may be meant.
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
            let at = by_target.iter().position(|(known, _)| *known == targets).unwrap_or(by_target.len());
            if at == by_target.len() {
                by_target.push((targets, Bound::default()));
            }
            overloads.push((one, at));
        }
        let mut rivals = Rivals::default();
        // Each lambda within another is bound once more for each trial around it.
        if by_target.len() == 1 || self.trials >= MOST_TRIALS || by_target.len() > MOST_BOUND {
            rivals.are_unbound = by_target.len() > 1;
            return (overloads.into_iter().map(|(one, _)| one).collect(), rivals);
        }
        for (at, (_, bound)) in by_target.iter_mut().enumerate() {
            if let Some((one, _)) = overloads.iter().find(|(_, of)| *of == at) {
                *bound = self.bound(&one.parameters, one.bindings.clone(), given.args);
            }
        }
        // Just one overload applies to code that compiles. Where one has no fault, the others do not; which of several with faults does is open:
        // generated code may declare a member that is missing.
        if by_target.iter().any(|(_, bound)| bound.faults == Faults::Nothing) {
            let applies = |(_, at): &(Chosen<'a>, usize)| by_target[*at].1.faults == Faults::Nothing;
            let is_same = |of: &Candidate<'a>, one: &Candidate<'a>| of.owner == one.owner && of.parameters() == one.parameters();
            all.retain(|one| !overloads.iter().any(|of| !applies(of) && is_same(&of.0.candidate, one)));
            let is_first = overloads.first().is_some_and(applies);
            overloads.retain(applies);
            if !is_first {
                overloads.sort_by_key(|(one, _)| std::cmp::Reverse(one.score));
            }
            // An overload of a base takes no part where one of the type itself applies.
            let is_known = given.shapes.iter().flatten().all(Shape::is_known);
            if let [(first, _), ..] = overloads.as_slice()
                && given.receiver.is_none()
                && is_known
            {
                let first = first.candidate.clone();
                overloads.retain(|(one, _)| !self.hides(&first, &one.candidate, all));
                let hidden: Vec<bool> = all.iter().map(|one| self.hides(&first, one, all)).collect();
                let mut hidden = hidden.into_iter();
                all.retain(|_| !hidden.next().unwrap_or_default());
            }
        }
        let own = overloads.first().map(|(_, at)| *at);
        let is_rival = |at: usize| Some(at) != own && overloads.iter().any(|(_, of)| *of == at);
        let uses = by_target.into_iter().enumerate().filter(|(at, _)| is_rival(*at));
        rivals.uses = uses.map(|(_, (_, bound))| bound.uses).collect();
        (overloads.into_iter().map(|(one, _)| one).collect(), rivals)
    }

    /// What the arguments without a type of their own get from their parameters: of a delegate the types of its parameters.
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

    /// What the arguments without a type of their own use where they go to these parameters.
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

    /// Goes through a lambda that is an operand; `are_unbound`: it suits several operators.
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

    /// Notes a fault of the present trial.
    pub(super) fn fault(&mut self, fault: Faults) {
        self.faults = self.faults.max(fault);
    }

    /// Goes through code whose types are not sure: no fault in it is certain.
    pub(super) fn in_doubt<R>(&mut self, code: impl FnOnce(&mut Self) -> R) -> R {
        let before = std::mem::take(&mut self.faults);
        let given = code(self);
        self.faults = self.faults.min(Faults::Likely).max(before);
        given
    }

    /// Goes through the arguments as they become what the chosen overload takes. `is_sure`: whether the code is sure to mean it.
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

    /// Notes what the arguments use with rivals, after they were gone through with the chosen overload since there were `from` uses: what not
    /// all agree on is possible.
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
        // Names for which no use is left are found to be undecided.
        let is_settled = |used: &Use| used.certain || ![NO_MEMBER, NOTHING].contains(&&*used.owner);
        own.retain(is_settled);
        uses.append(&mut own);
    }
}

/// What an overload takes where the chosen one takes another type; unknown where it takes the same. Empty if all is the same.
fn differing(chosen: &Chosen<'_>, other: &Chosen<'_>) -> Vec<Shape> {
    let pairs = other.parameter_types().into_iter().zip(chosen.parameter_types());
    let pairs: Vec<Shape> = pairs
        .map(|(other, own)| if other == own { Shape::Unknown } else { other })
        .collect();
    if pairs.iter().any(Shape::is_known) { pairs } else { Vec::new() }
}
