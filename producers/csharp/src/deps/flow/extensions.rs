//! Extension members of a call: those in scope, and what they return for a receiver of an undeclared type.

use super::Flow;
use super::overload_resolution::{Chosen, NOT_CALLABLE, SPANS};
use super::parameters::takes;
use crate::code::ast::{Argument, Name};
use crate::deps::shape::Shape;
use crate::deps::world::Candidate;

impl<'f, 'a> Flow<'f, 'a> {
    /// Returns the extension members of a name that using directives open and that take the receiver: a value, or the type itself
    /// (`of_type`).
    pub(super) fn extensions(&self, on: &Shape, name: &str, of_type: bool) -> Vec<Candidate<'a>> {
        let mut found: Vec<(u32, Candidate<'a>)> = Vec::new();
        let allowed = |candidate: &Candidate<'a>| -> Option<u32> {
            let parameters = candidate.parameters();
            let (_, receiver) = parameters.first()?;
            let mut bindings = vec![Shape::Unknown; candidate.line.arity as usize];
            self.conversion_rank(receiver, on, &mut bindings)
                .filter(|_| !self.breaks_limits(candidate, &bindings))
        };
        for candidate in self.open_extensions(name).filter(|one| one.extends_type() == of_type) {
            if let Some(score) = allowed(&candidate) {
                found.push((score, candidate));
            }
        }
        for candidate in self.world.outside_extensions(name).iter().filter(|_| !of_type) {
            let owner = candidate.owner.key().unwrap_or_default().trim_start_matches('~');
            let namespace = owner.rsplit_once('.').map_or("", |(namespace, _)| namespace);
            if !self.opened.contains_key(namespace) && !crate::deps::resolve::IMPLICIT.contains(&namespace) {
                continue;
            }
            if let Some(score) = allowed(candidate) {
                found.push((score, candidate.clone()));
            }
        }
        // If some are known to accept the receiver, drop those for which it is unknown.
        let known = found.iter().any(|(score, _)| *score > 0);
        found.retain(|(score, _)| *score > 0 || !known);
        // A receiver is converted to a span only if no extension method takes it as it is.
        let is_span = |shape: &Shape| shape.key().is_some_and(|key| SPANS.contains(&key));
        let becomes = |one: &Candidate<'a>| !is_span(on) && one.parameters().first().is_some_and(|(_, receiver)| is_span(receiver));
        let all = found.iter().all(|(_, one)| becomes(one));
        found.retain(|(_, one)| all || !becomes(one));
        found.into_iter().map(|(_, candidate)| candidate).collect()
    }

    /// Returns the extension method, and all candidates for it, to which a call on `value` binds instead of a method of the value's type:
    /// the arguments do not fit that method, or the code of a lambda compiles only with the extension method.
    pub(super) fn extension_instead(
        &mut self,
        chosen: Option<&Chosen<'a>>,
        value: &Shape,
        name: &Name,
        (explicit, args, shapes): (&[Shape], &'f [Argument], &[Option<Shape>]),
    ) -> Option<(Chosen<'a>, Vec<Candidate<'a>>)> {
        let mut others = self.extensions(value, &name.word.text, false);
        if others.is_empty() {
            return None;
        }
        let is_doubtful = chosen.is_some_and(|chosen| self.has_faults(chosen, args));
        if !is_doubtful && chosen.is_some_and(|chosen| !self.is_refused(chosen, args)) {
            return None;
        }
        self.prefer_by_priority(&mut others, Some(value), explicit, args, shapes);
        self.prefer_nearest(&mut others, value, explicit, args, shapes);
        let other = self.choose(others.clone(), Some(value), explicit, args, shapes)?;
        let takes_all = other.score > NOT_CALLABLE && !(is_doubtful && self.has_faults(&other, args));
        takes_all.then_some((other, others))
    }
}

/// Whether neither the workspace nor .NET declares a type.
pub(super) fn is_undeclared(shape: &Shape) -> bool {
    shape.key().is_some_and(|key| key.starts_with('^'))
}

/// Whether other extension methods than the chosen one take a value of an undeclared type and return another type. The bases of the type
/// are not known: it may be a sequence or queryable.
pub(super) fn returns_vary(chosen: &Candidate<'_>, all: &[Candidate<'_>], arguments: usize) -> bool {
    let result = chosen.result();
    let differs = |other: &Candidate<'_>| {
        let parameters = other.parameters();
        let takes_all = parameters.split_first().is_some_and(|(_, rest)| takes(rest, arguments));
        other.is_method() && takes_all && other.result().key() != result.key()
    };
    !result.args().is_empty() && all.iter().any(differs)
}

/// Returns the type of the result of such a method: the type of the value with the type argument of the result, if both have one argument.
pub(super) fn result_like(origin: &Shape, result: &Shape) -> Shape {
    match (origin, result) {
        (Shape::Named(key, own), Shape::Named(_, given)) if own.len() == 1 && given.len() == 1 => {
            Shape::Named(key.clone(), given.clone()).bounded()
        }
        _ => Shape::Unknown,
    }
}
