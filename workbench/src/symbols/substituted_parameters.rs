//! Compares the parameters and the result of a member with those of a base's member, after substituting type arguments for the base's type
//! parameters.

use super::overloads::Overload;
use producers::csharp::deps::resolve::all_parameters;
use producers::csharp::deps::shape::Shape;
use producers::csharp::deps::world::World;

/// Returns a base with type arguments in terms of the heir's parameters; a generic interface that the heir implements for several types appears
/// several times.
pub(super) fn base_levels(world: &World<'_>, heir: &str, base: &str) -> Vec<Shape> {
    let own = (0..all_parameters(heir)).map(Shape::Own).collect();
    let levels = world.levels(&Shape::Named(heir.into(), own));
    levels.into_iter().filter(|level| level.key() == Some(base)).collect()
}

/// Whether the parameters of an heir's member certainly differ from those of the base's member, as far as their types are bound.
pub(super) fn parameters_differ(of_base: &Overload, levels: &[Shape], of_heir: &Overload) -> bool {
    let is_bound = !of_base.bound.is_empty() && of_base.bound.len() == of_heir.bound.len();
    let differs_by = |level: &Shape| {
        let mut pairs = of_base.bound.iter().zip(&of_heir.bound);
        pairs.any(|(base, heir)| are_different(&substituted(&Shape::read(base, false), level.args()), &Shape::read(heir, false)))
    };
    is_bound && !levels.is_empty() && levels.iter().all(differs_by)
}

/// Whether the result of an heir's member certainly differs from that of the base's member, as far as both are bound.
pub(super) fn differs_in_result(of_base: &Overload, levels: &[Shape], of_heir: &Overload) -> bool {
    let is_bound = !of_base.bound_result.is_empty() && !of_heir.bound_result.is_empty();
    let (base, heir) = (Shape::read(&of_base.bound_result, false), Shape::read(&of_heir.bound_result, false));
    let differs_by = |level: &Shape| are_different(&substituted(&base, level.args()), &heir);
    is_bound && !levels.is_empty() && levels.iter().all(differs_by)
}

/// Whether the results of a required member and of a class's member certainly differ in every instantiation of their types, as far as both are bound.
pub(super) fn results_differ((required, of_required): (&Overload, &[Shape]), (one, of_one): (&Overload, &[Shape])) -> bool {
    let is_bound = !required.bound_result.is_empty() && !one.bound_result.is_empty();
    let (wanted, given) = (Shape::read(&required.bound_result, false), Shape::read(&one.bound_result, false));
    let differ = |level: &Shape, of: &Shape| are_different(&substituted(&wanted, level.args()), &substituted(&given, of.args()));
    let differs_by = |level: &Shape| of_one.iter().all(|of| differ(level, of));
    is_bound && !of_required.is_empty() && !of_one.is_empty() && of_required.iter().all(differs_by)
}

/// Substitutes type arguments for the parameters of the declaring type; those of the method stay.
fn substituted(shape: &Shape, own: &[Shape]) -> Shape {
    /// Limit of distinguished type parameters of a method.
    const MOST: u32 = 16;
    let method: Vec<Shape> = (0..MOST).map(Shape::Method).collect();
    shape.substitute(own, &method)
}

/// Whether two types are known and different. Nullability is not compared, because `T?` exists for both kinds of types.
fn are_different(one: &Shape, other: &Shape) -> bool {
    let is_open = |shape: &Shape| !shape.is_known() || shape.key().is_some_and(|key| key.starts_with('^'));
    let (one, other) = (one.without_null(), other.without_null());
    match (one, other) {
        _ if is_open(one) || is_open(other) => false,
        (Shape::Named(key, args), Shape::Named(other, others)) => {
            key != other || args.len() != others.len() || args.iter().zip(others.iter()).any(|(one, other)| are_different(one, other))
        }
        (Shape::Array(one), Shape::Array(other)) => are_different(one, other),
        (Shape::Tuple(parts), Shape::Tuple(others)) => {
            parts.len() != others.len()
                || parts
                    .iter()
                    .zip(others.iter())
                    .any(|((_, one), (_, other))| are_different(one, other))
        }
        (Shape::Tuple(_), _) | (_, Shape::Tuple(_)) => false,
        (one, other) => one != other,
    }
}
