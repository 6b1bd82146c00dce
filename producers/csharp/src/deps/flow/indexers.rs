//! Indexers: which one an access to an element calls.

use super::extensions::is_undeclared;
use super::{Flow, unnamed_calls};
use crate::code::ast::{Argument, Expression};
use crate::deps::resolve::predefined;
use crate::deps::shape::Shape;
use crate::deps::world::{Candidate, INDEXER};

/// Key of the type of `a..b`.
pub(super) const RANGE: &str = "~System.Range";

impl<'f, 'a> Flow<'f, 'a> {
    /// Binds an access to an element, and returns the type of the element.
    pub(super) fn index(&mut self, shape: &Shape, args: &'f [Argument], place: u32) -> Shape {
        let given = self.arguments(args, &[]);
        match shape {
            Shape::Array(element) => {
                for (arg, given) in args.iter().zip(&given) {
                    self.note_conversion(&arg.value, given, &predefined("int"), true);
                }
                (**element).clone()
            }
            Shape::Tuple(_) | Shape::Null | Shape::Anonymous(_) => Shape::Unknown,
            shape => {
                let values: Vec<&Expression> = args.iter().map(|arg| &arg.value).collect();
                self.indexed(shape, &values, &given, place)
            }
        }
    }

    /// Returns the type of the element that an indexer returns, and records the use of the indexer.
    pub(super) fn indexed(&mut self, shape: &Shape, values: &[&Expression], given: &[Shape], place: u32) -> Shape {
        let found = self.members_of(shape, INDEXER);
        let takes = |one: &Candidate<'_>, key: &str| {
            let parameters = one.parameters();
            parameters.iter().any(|(_, kind)| !kind.is_known() || kind.key() == Some(key))
        };
        let is_cut = matches!(given, [only] if only.key() == Some(RANGE));
        if is_cut && shape.key() == Some("~System.String") {
            return shape.clone();
        }
        if is_cut
            && !found.iter().any(|one| takes(one, RANGE))
            && let Some(cut) = self.implied(shape, "Slice", &[predefined("int"), predefined("int")], place)
        {
            self.note_count(shape, place);
            return cut;
        }
        if matches!(values, [Expression::Unary(sign, _)] if sign.text == "^") && !found.iter().any(|one| takes(one, "~System.Index")) {
            self.note_count(shape, place);
        }
        if found.is_empty() {
            self.record_missing_member(shape, INDEXER, place, None);
            return Shape::Unknown;
        }
        let score = |candidate: &Candidate<'_>| -> Option<u32> {
            let parameters = candidate.parameters();
            let fits = parameters.iter().zip(given).enumerate().map(|(at, ((_, own), given))| {
                let narrows = values.get(at).is_some_and(|value| self.narrows(value, given, own));
                let rank = self.conversion_rank(own, given, &mut []).filter(|_| !narrows);
                // A declared conversion is better than the conversion to `object`, which takes every value.
                rank.or_else(|| self.converts(given, own).then_some(2))
            });
            (parameters.len() == given.len()).then(|| fits.sum()).flatten()
        };
        // A callable indexer of a derived type hides those of its bases, and their overrides.
        let is_open = given.iter().any(|shape| !shape.is_known() || is_undeclared(shape));
        let is_certain = |one: &Candidate<'a>| {
            let parameters = one.parameters();
            parameters.iter().all(|(_, kind)| kind.is_known() && !is_undeclared(kind))
        };
        let hides = |nearer: &Candidate<'a>, other: &Candidate<'a>| {
            let overridden = || self.overridden(other, &found).filter(|_| is_certain(nearer));
            !is_open && (self.hides(nearer, other, &found) || overridden().is_some_and(|first| self.hides(nearer, first, &found)))
        };
        let mut best: Option<(u32, &Candidate<'a>)> = None;
        for one in &found {
            let is_hidden = best.is_some_and(|(_, best)| hides(best, one));
            let Some(fit) = score(one).filter(|_| !is_hidden) else { continue };
            if best.is_none_or(|(known, best)| fit > known || hides(one, best)) {
                best = Some((fit, one));
            }
        }
        let same = || found.iter().find(|candidate| candidate.parameters().len() == given.len());
        let chosen = best.map(|(_, one)| one).or_else(same).unwrap_or(&found[0]).clone();
        let own = chosen.parameters();
        let is_other = |one: &&Candidate<'a>| one.owner.key() != chosen.owner.key() && one.parameters() != own && score(one).is_some();
        let mut others: Vec<Shape> = found
            .iter()
            .filter(|_| is_open)
            .filter(is_other)
            .map(|one| one.owner.clone())
            .collect();
        others.dedup_by(|one, other| one.key() == other.key());
        let call = unnamed_calls::call_of(given, false);
        for owner in &others {
            self.used(owner, INDEXER, place, false, Some(call.clone()));
        }
        self.used(&chosen.owner, INDEXER, place, others.is_empty(), Some(call));
        for ((value, given), (_, parameter)) in values.iter().zip(given).zip(own.into_owned()) {
            self.note_conversion(value, given, &parameter, true);
        }
        self.world.result_of(&chosen)
    }
}
