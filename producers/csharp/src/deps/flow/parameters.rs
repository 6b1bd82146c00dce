//! The parameter of each argument, and how well values convert to the parameters of a method.

use super::Flow;
use crate::code::ast::Expression;
use crate::deps::modifiers::Modifiers;
use crate::deps::shape::Shape;
use crate::deps::world::Candidate;

impl<'a> Flow<'_, 'a> {
    /// Returns how well values of these types convert to the parameters of a method, or `None` if they do not. `extends`: the first parameter
    /// is for the receiver, which is not among the values.
    pub(super) fn rank_of_values(&self, method: &Candidate<'a>, values: &[Shape], extends: bool) -> Option<u32> {
        let parameters = method.parameters();
        let parameters = parameters.get(usize::from(extends)..).unwrap_or(&[]);
        let mut bindings = vec![Shape::Unknown; method.line.arity as usize];
        if !method.is_method() || !takes(parameters, values.len()) {
            return None;
        }
        values.iter().enumerate().try_fold(0, |sum, (at, value)| {
            let (_, parameter, _) = parameter_at(parameters, at, values.len(), Some(value));
            let rank = self.conversion_rank(&parameter, value, &mut bindings);
            // A declared conversion is better than the conversion to `object`, which takes every value.
            rank.or_else(|| self.converts(value, &parameter).then_some(2))
                .map(|rank| sum + rank)
        })
    }

    /// Returns the parameter of an argument, as [`parameter_at`] does. The only collection expression for `params` is all of its elements, unless
    /// these are collections.
    pub(super) fn parameter_of(
        &self,
        parameters: &[(Modifiers, Shape)],
        place: usize,
        count: usize,
        (value, shape): (&Expression, Option<&Shape>),
    ) -> (Modifiers, Shape, bool) {
        let (modifiers, parameter, is_spread) = parameter_at(parameters, place, count, shape);
        match parameters.get(place) {
            Some((_, whole))
                if is_spread
                    && count <= parameters.len()
                    && matches!(value, Expression::Collection(..))
                    && !self.world.element(&parameter).is_known() =>
            {
                (modifiers, whole.clone(), false)
            }
            _ => (modifiers, parameter, is_spread),
        }
    }

    /// Returns the method that takes values of these types best; of equally good ones the first, which is that of the nearest type.
    pub(super) fn best_taking(&self, found: &[Candidate<'a>], values: &[Shape]) -> Option<Candidate<'a>> {
        if found.len() < 2 || values.is_empty() {
            return None;
        }
        let ranked = found.iter().filter_map(|one| Some((self.rank_of_values(one, values, false)?, one)));
        let best = ranked.reduce(|best, other| if other.0 > best.0 { other } else { best });
        best.map(|(_, one)| one.clone())
    }
}

/// Whether parameters take `count` arguments.
pub(super) fn takes(parameters: &[(Modifiers, Shape)], count: usize) -> bool {
    let needed = parameters.iter().filter(|(own, _)| !own.optional && !own.many).count();
    let many = parameters.last().is_some_and(|(own, _)| own.many);
    // Callers either leave out an extension method's first parameter, or count the receiver as an argument.
    count >= needed && (many || count <= parameters.len())
}

/// Returns the modifiers and type of the parameter at `place` for an argument, and whether it is an element of `params`.
fn parameter_at(parameters: &[(Modifiers, Shape)], place: usize, count: usize, shape: Option<&Shape>) -> (Modifiers, Shape, bool) {
    let Some((modifiers, parameter)) = parameters.get(place).or_else(|| parameters.last()) else {
        return (Modifiers::default(), Shape::Unknown, false);
    };
    match parameter {
        Shape::Array(element) if modifiers.many && (count > parameters.len() || !matches!(shape, Some(Shape::Array(_)))) => {
            (*modifiers, (**element).clone(), true)
        }
        other => (*modifiers, other.clone(), false),
    }
}
