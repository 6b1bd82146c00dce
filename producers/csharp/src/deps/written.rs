//! Compares written types with bound types, for readers that must match the two.

use super::resolve::predefined;
use super::shape::Shape;
use crate::code::ast::TypeRef;
use crate::code::type_ref;
use crate::types::simple_name;

/// Returns a path behind `global::` or an extern alias, and whether it is one behind an extern alias, which stands for referenced assemblies.
pub(super) fn from_root(path: &str) -> (&str, bool) {
    path.split_once("::").map_or((path, false), |(root, rest)| (rest, root != "global"))
}

/// Splits an inner name of a path from its number of type arguments: ``A`1``.
pub(super) fn name_and_count(segment: &str) -> (&str, u32) {
    let (name, count) = segment.split_once('`').unwrap_or((segment, ""));
    (name, count.parse().unwrap_or(0))
}

/// Returns how many names in a parameter's written type, without modifiers such as `ref`, refer to type parameters; `None` if the written type does
/// not refer to `shape`. An alias with another name matches nothing; any simple name may be that of a type parameter.
pub fn type_parameters_in(written: &str, shape: &Shape) -> Option<usize> {
    agreement(&type_ref(written)?, shape)
}

fn agreement(written: &TypeRef, shape: &Shape) -> Option<usize> {
    match (written, shape) {
        (TypeRef::Named(segments), Shape::Named(key, args)) => {
            let last = segments.last().filter(|last| simple_name(key) == last.word.text)?;
            // Arguments of enclosing types come first.
            let around = args.len().checked_sub(last.args.len())?;
            last.args
                .iter()
                .zip(&args[around..])
                .map(|(written, arg)| agreement(written, arg))
                .sum()
        }
        (TypeRef::Named(segments), Shape::Own(_) | Shape::Method(_)) => {
            matches!(segments.as_slice(), [only] if only.args.is_empty()).then_some(1)
        }
        (TypeRef::Predefined(word), shape) => (*shape == predefined(word)).then_some(0),
        (TypeRef::Array(element) | TypeRef::Pointer(element), Shape::Array(of)) => agreement(element, of),
        (TypeRef::Nullable(inner), shape) => agreement(inner, shape.without_null()),
        (TypeRef::Tuple(parts), Shape::Tuple(of)) if parts.len() == of.len() => {
            let mut pairs = parts.iter().zip(of.iter());
            pairs.try_fold(0, |sum, ((_, written), (_, part))| Some(sum + agreement(written, part)?))
        }
        (TypeRef::Function(_), Shape::Unknown) => Some(0),
        _ => None,
    }
}

/// Returns the dotted path and the arity of the last segment of a type as written (`A.B<C, D>.E<F>` → `A.B.E`, 1).
pub fn written_name(text: &str) -> (String, u32) {
    let (mut path, mut arity, mut depth, mut commas) = (String::new(), 0, 0_u32, 0);
    for c in text.chars() {
        match c {
            '<' => {
                depth += 1;
                if depth == 1 {
                    commas = 0;
                }
            }
            '>' => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    arity = commas + 1;
                }
            }
            ',' if depth == 1 => commas += 1,
            '(' | '[' if depth == 0 => break,
            _ if depth > 0 || c.is_whitespace() || c == '?' || c == '@' => {}
            '.' => {
                arity = 0;
                path.push(c);
            }
            c => path.push(c),
        }
    }
    (path, arity)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn written_types_and_what_they_were_bound_to() {
        for (written, bound, expected) in [
            ("CancellationToken", "~System.Threading.CancellationToken", true),
            ("System.Threading.CancellationToken", "~System.Threading.CancellationToken", true),
            ("Token", "~System.Threading.CancellationToken", false),
            ("string?", "~System.String", true),
            ("int?", "~System.Nullable`1{~System.Int32}", true),
            ("int", "~System.Nullable`1{~System.Int32}", false),
            ("Foo<int>.Bar", "N.Foo`1+Bar{~System.Int32}", true),
            ("List<Foo>[]", "~System.Collections.Generic.List`1{^Foo}[]", true),
            ("List<Foo>[]", "~System.Collections.Generic.List`1{^Bar}[]", false),
            ("T", "!0", true),
            ("T[]", "!!1[]", true),
            ("(int a, Foo)", "(a:~System.Int32,^Foo)", true),
            ("Foo", "N.Foo@src/a.csproj", true),
        ] {
            let found = type_parameters_in(written, &Shape::read(bound, false));
            assert_eq!(found.is_some(), expected, "{written} {bound}");
        }
    }

    #[test]
    fn written_names() {
        for (text, expected) in [
            ("A", ("A", 0)),
            ("A.B<C, D>", ("A.B", 2)),
            ("A<B<C, D>>.E", ("A.E", 0)),
            ("global::A.B", ("global::A.B", 0)),
            ("A<,>", ("A", 2)),
            ("A(x, y)", ("A", 0)),
            ("A<<<", ("A", 0)),
        ] {
            let (path, arity) = written_name(text);
            assert_eq!((path.as_str(), arity), expected, "{text}");
        }
    }
}
