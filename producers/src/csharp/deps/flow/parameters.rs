//! Which parameter an argument goes to.

use crate::csharp::deps::shape::Shape;

/// Whether so many arguments can be given.
pub(super) fn takes(parameters: &[(&str, Shape)], count: usize) -> bool {
    let needed = parameters.iter().filter(|(word, _)| !matches!(*word, "opt" | "params")).count();
    let many = parameters.last().is_some_and(|(word, _)| *word == "params");
    // Callers that know an extension method's receiver count it.
    count >= needed && (many || count <= parameters.len())
}

/// Returns the modifier and type of the parameter at `place` for an argument, and whether it is an element of `params`.
pub(super) fn parameter_at<'w>(
    parameters: &[(&'w str, Shape)],
    place: usize,
    count: usize,
    shape: Option<&Shape>,
) -> (&'w str, Shape, bool) {
    let Some((word, parameter)) = parameters.get(place).or_else(|| parameters.last()) else {
        return ("", Shape::Unknown, false);
    };
    match parameter {
        Shape::Array(element) if *word == "params" && (count > parameters.len() || !matches!(shape, Some(Shape::Array(_)))) => {
            (*word, (**element).clone(), true)
        }
        other => (*word, other.clone(), false),
    }
}
