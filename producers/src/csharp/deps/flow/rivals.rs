//! Overloads that the arguments leave open, and what lambdas and other arguments without a type of their own use with each of them.
//!
//! A lambda is bound with the parameter types of each overload (C# specification, Anonymous function conversions): an overload with which its
//! body names a member that does not exist is not applicable. What the overloads that remain disagree on is possible, not certain.

use super::call::{Bindings, Chosen, NOT_CALLABLE};
use super::deferred::{is_deferred, known_or_self};
use super::{Flow, NO_MEMBER, NOTHING, UNKNOWN, Use, UseKind, UsesFound};
use crate::csharp::code::ast::{Argument, Expression};
use crate::csharp::deps::shape::Shape;
use crate::csharp::deps::world::Candidate;
use rustc_hash::FxHashSet;

/// Most overloads that the arguments of one call are bound with beside the chosen one.
const MOST_BOUND: usize = 4;

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
}

/// Arguments without a type of their own as an overload takes them.
#[derive(Default)]
struct Bound {
    /// What they use.
    uses: Vec<Use>,
    /// Whether the compiler would say that they cannot be taken so.
    fails: bool,
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
        let mut open: Vec<Chosen<'a>> = others.filter(is_open).collect();
        let mut chosen = chosen;
        let mut rivals = Rivals::default();
        if waits && chosen.score > NOT_CALLABLE && !open.is_empty() {
            rivals = self.bind_with_each(&mut chosen, &mut open, all, given.args);
        }
        rivals.parameters = open.iter().map(|other| differing(&chosen, other)).collect();
        (chosen, rivals)
    }

    /// Binds the arguments without a type of their own with the chosen overload and with the `open` ones; those with which they do not bind are
    /// removed unless none is left.
    fn bind_with_each(
        &mut self,
        chosen: &mut Chosen<'a>,
        open: &mut Vec<Chosen<'a>>,
        all: &mut Vec<Candidate<'a>>,
        args: &'f [Argument],
    ) -> Rivals {
        let mut rivals = Rivals::default();
        let targets = self.targets(chosen, args);
        let mut given = vec![(targets, Bound::default())];
        for other in open.iter() {
            let targets = self.targets(other, args);
            if given.iter().all(|(known, _)| *known != targets) {
                given.push((targets, Bound::default()));
            }
        }
        // Each lambda within another is bound once more for each trial around it.
        if given.len() == 1 || self.trials >= MOST_TRIALS || given.len() > MOST_BOUND + 1 {
            rivals.are_unbound = given.len() > 1;
            return rivals;
        }
        for (targets, bound) in &mut given {
            let of = std::iter::once(&*chosen)
                .chain(open.iter())
                .find(|of| self.targets(of, args) == *targets);
            if let Some((parameters, bindings)) = of.map(|of| (of.parameters.clone(), of.bindings.clone())) {
                *bound = self.bound(&parameters, bindings, args);
            }
        }
        if given.iter().any(|(_, bound)| !bound.fails) {
            given.retain(|(_, bound)| !bound.fails);
            let applies = |flow: &Self, of: &Chosen<'a>| given.iter().any(|(known, _)| *known == flow.targets(of, args));
            let removed: Vec<Candidate<'a>> = std::iter::once(&*chosen)
                .chain(open.iter())
                .filter(|of| !applies(self, of))
                .map(|of| of.candidate.clone())
                .collect();
            open.retain(|other| applies(self, other));
            if !applies(self, chosen)
                && let Some(best) = (0..open.len()).rev().max_by_key(|at| open[*at].score)
            {
                *chosen = open.remove(best);
            }
            let is_removed = |one: &Candidate<'a>| {
                removed
                    .iter()
                    .any(|gone| gone.owner == one.owner && gone.parameters() == one.parameters())
            };
            all.retain(|one| !is_removed(one));
        }
        let own = self.targets(chosen, args);
        rivals.uses = given
            .into_iter()
            .filter(|(targets, _)| *targets != own)
            .map(|(_, bound)| bound.uses)
            .collect();
        rivals
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
        let (locals, groups) = (self.locals.len(), self.groups.clone());
        let was_mistyped = std::mem::take(&mut self.is_mistyped);
        self.on_trial(&mut found, |flow| flow.deferred(parameters, &mut bindings, args));
        self.locals.truncate(locals);
        self.groups = groups;
        let uses = found.uses.unwrap_or_default();
        let is_error = |used: &Use| *used.owner == *NOTHING && used.kind != UseKind::Call;
        Bound {
            fails: std::mem::replace(&mut self.is_mistyped, was_mistyped) || uses.iter().any(is_error),
            uses,
        }
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
        self.deferred(parameters, bindings, args);
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
            let guesses: Vec<Use> = own
                .iter()
                .filter(is_member)
                .map(|used| Use {
                    owner: UNKNOWN.into(),
                    ..used.clone()
                })
                .collect();
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
    let pairs = other.types().into_iter().zip(chosen.types());
    let pairs: Vec<Shape> = pairs
        .map(|(other, own)| if other == own { Shape::Unknown } else { other })
        .collect();
    if pairs.iter().any(Shape::is_known) { pairs } else { Vec::new() }
}
