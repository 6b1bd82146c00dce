//! What a call tells of the overload that it means, for readers who know all overloads of a name.

use super::call::NOT_CALLABLE;
use super::{Call, Flow};
use crate::csharp::code::ast::{Argument, Expression, Name};
use crate::csharp::deps::shape::Shape;
use crate::csharp::deps::world::Candidate;

impl<'a> Flow<'_, 'a> {
    /// How well the name of methods of the type, or of one around it, suits a parameter.
    pub(super) fn suits_group(&self, parameter: &Shape, value: &Expression) -> i64 {
        let Expression::Name(name) = value else { return 0 };
        if !parameter.is_known() || self.find_local(&name.word.text).is_some() {
            return 0;
        }
        let groups = self.around.iter().map(|own| self.world.lookup(own, &name.word.text));
        let Some(group) = groups.into_iter().find(|group| !group.is_empty()) else {
            return 0;
        };
        let Some((wanted, _)) = self.world.delegate(parameter) else {
            return 0;
        };
        let suits = |method: &Candidate<'_>| {
            let own = method.parameters();
            let mut bindings = vec![Shape::Unknown; method.line.arity as usize];
            own.len() == wanted.len()
                && own
                    .iter()
                    .zip(&wanted)
                    .all(|((_, own), given)| self.conversion_rank(own, given, &mut bindings).is_some())
        };
        match group.iter().all(Candidate::is_method) {
            true if group.iter().any(suits) => 2,
            true => -100,
            false => 0,
        }
    }

    /// The type of an extension property on a value of that type.
    pub(super) fn extended(&self, property: &Candidate<'a>, on: &Shape) -> Shape {
        let mut bindings = vec![Shape::Unknown; property.line.arity as usize];
        if let Some((_, receiver)) = property.parameters().first() {
            self.conversion_rank(receiver, on, &mut bindings);
        }
        property.result().substitute(&[], &bindings).bounded()
    }

    /// The other types that declare a candidate which these arguments may mean as well as the chosen one.
    pub(super) fn others(
        &self,
        chosen: &Candidate<'a>,
        all: Vec<Candidate<'a>>,
        receiver: Option<&Shape>,
        explicit: &[Shape],
        args: &[Argument],
        shapes: &[Option<Shape>],
    ) -> Vec<Shape> {
        let own = chosen.parameters();
        let mut found: Vec<Shape> = Vec::new();
        // What a derived type declares and can be called hides what its bases declare.
        let sure = receiver.is_none() && shapes.iter().all(|shape| shape.as_ref().is_some_and(Shape::is_known));
        for other in all {
            let owner = other.owner.clone();
            // What overrides, implements or hides the other is no overload of it.
            let same = other.line.arity == chosen.line.arity && other.parameters() == own;
            let known = owner.key() == chosen.owner.key() || found.iter().any(|known| known.key() == owner.key());
            let hidden = sure && self.world.as_base(&chosen.owner, owner.key().unwrap_or("")).is_some();
            if same || known || hidden || !other.is_method() {
                continue;
            }
            if self
                .choose(vec![other], receiver, explicit, args, shapes)
                .is_some_and(|other| other.score > NOT_CALLABLE)
            {
                found.push(owner);
            }
        }
        found
    }
}

/// What a call tells of the overload that it means.
pub(super) fn called_with(name: &Name, args: &[Argument], shapes: &[Option<Shape>], extension: bool) -> Call {
    let known = |at: usize| -> Option<&str> { shapes.get(at)?.as_ref()?.key().filter(|key| key.starts_with('~')) };
    let is_literal = |at: &usize| matches!(args[*at].value, Expression::Literal(_)) && known(*at).is_some();
    Call {
        arguments: (0..args.len()).map(|at| known(at).unwrap_or("").to_owned()).collect(),
        exact: (0..args.len()).filter(is_literal).collect(),
        names: args.iter().filter_map(|arg| arg.name.clone()).collect(),
        types: name.args.len(),
        extension,
    }
}
